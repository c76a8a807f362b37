/** A plain user with a home of their own, to whom the system refuses what it refuses nobody as root. */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { own } from "../../bin/doctor/path.ts";
import { leaveBehind } from "../left-behind.ts";
import { kiteProgram, type Ran } from "./kite.ts";

/** Who runs the tests, unless that is root. */
const uid = process.getuid?.() === 0 ? 54321 : process.getuid?.();
const identity = uid === undefined ? {} : { uid, gid: uid };
const worker = fileURLToPath(new URL("plain-user.mjs", import.meta.url));

/** Runs the built commands in one process of the user, and shell lines. `kite` is on their PATH. */
export class PlainUser {
  /** What HOME is. */
  readonly home: string;
  /** Where all commands run: a project. */
  readonly project: string;
  readonly #env: Record<string, string>;
  readonly #worker: ChildProcess;

  static async enter(): Promise<PlainUser> {
    const home = realpathSync(mkdtempSync(join(tmpdir(), "kd-")));
    for (const folder of ["bin", "p"]) mkdirSync(join(home, folder));
    for (const path of [home, join(home, "bin"), join(home, "p")])
      if (uid !== undefined) chownSync(path, uid, uid);
    const env = { HOME: home, PATH: [join(home, "bin"), "/usr/bin", "/bin"].join(":") };
    const child = fork(worker, [kiteProgram, dirname(kiteProgram)], {
      ...identity,
      cwd: home,
      env,
      execArgv: [],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    await once(child, "message");
    const user = new PlainUser(home, env, child);
    user.sh(`ln -s '${own}' $HOME/bin/kite; git init -q`);
    return user;
  }

  private constructor(home: string, env: Record<string, string>, child: ChildProcess) {
    [this.home, this.project, this.#env, this.#worker] = [home, join(home, "p"), env, child];
  }

  /** Runs a command in the user's process to its end. */
  async kite(...argv: string[]): Promise<Ran> {
    const answer = once(this.#worker, "message");
    this.#worker.send({ argv, cwd: this.project });
    const [ran] = await answer;
    return ran;
  }

  /** Runs shell lines, in which `$K` is Kite's directory, `$F` is `path`, and `kite` is the program. */
  sh(lines: string, path = ""): { readonly out: string; readonly said: string } {
    const words = `K=$HOME/.kite
kite() { '${process.execPath}' '${kiteProgram}' "$@"; }
F=${path}
`;
    const ran = spawnSync("/bin/sh", ["-c", `${words}${lines}`], {
      cwd: this.project,
      env: this.#env,
      encoding: "utf8",
      ...identity,
    });
    return { out: ran.stdout, said: `${ran.stdout}${ran.stderr}` };
  }

  /** Follows lines of advice as they stand, up to the first that fails. Returns what that one said, or null. */
  async follow(lines: string): Promise<string | null> {
    for (const line of lines.split(" && ")) {
      const [first, ...argv] = line.split(" ");
      if (first === "kite") {
        const { code, out, err } = await this.kite(...argv);
        if (code !== 0) return `${line}: ${out}${err}`;
      } else {
        const { said } = this.sh(`{ ${line}; } || echo "ended with $?"`);
        if (said !== "") return `${line}: ${said}`;
      }
    }
    return null;
  }

  async leave(): Promise<void> {
    this.sh("chmod -R u+rwX $HOME");
    await this.kite("down", "--yes");
    const ended = once(this.#worker, "exit");
    this.#worker.disconnect();
    await ended;
    leaveBehind(join(this.home, ".kite"));
    rmSync(this.home, { recursive: true, force: true, maxRetries: 9 });
  }
}
