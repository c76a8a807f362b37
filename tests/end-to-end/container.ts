/** A container of a test's own: mount and process namespaces in which a home's folders have other paths. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Home } from "./daemon.ts";
import { type Ended, ending } from "./hook-clients.ts";
import { kiteProgram } from "./kite.ts";

/** A user without rights over the machine needs a user namespace, too. */
const asUser = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
const isolation = [...asUser, "--mount", "--pid", "--fork", "--mount-proc"];

/** Why no container can be made here; null if one can. */
export function containerProblem(): string | null {
  const tried = spawnSync("unshare", [...isolation, "mount", "-t", "tmpfs", "none", "/tmp"], {
    encoding: "utf8",
  });
  if (tried.error !== undefined) return `unshare: ${tried.error.message}`;
  return tried.status === 0 ? null : tried.stderr.trim() || `unshare ended with ${tried.status}`;
}

export class Container {
  /** The container's paths of the home's `work`, of a HOME with Kite's own directory in it, and of a folder of its own. */
  readonly work: string;
  readonly root: string;
  readonly own: string;
  readonly #home: Home;
  readonly #starter: ChildProcess;
  readonly #init: number;

  /** Starts one whose first process does nothing, and resolves when its mounts are there. */
  static async start(home: Home): Promise<Container> {
    const [work, kite, own] = ["workspaces/app", "user/.kite", "own"].map(name => join(home.root, "c", name));
    for (const folder of [work, kite, own]) mkdirSync(folder ?? "", { recursive: true });
    // What is mounted elsewhere is covered where the host has it: there the container has nothing of it.
    const script = `mount --bind "$1" "$2" && mount --bind "$3" "$4" && mount -t tmpfs none "$5" &&
      mount -t tmpfs none "$1" && mount -t tmpfs none "$3" && echo there && exec sleep 1000`;
    const words = [home.work, work ?? "", home.paths.home, kite ?? "", own ?? ""];
    const starter = home.adopt(
      spawn("unshare", [...isolation, "--kill-child", "sh", "-c", script, "sh", ...words], {
        stdio: ["ignore", "pipe", "ignore"],
      }),
    );
    await once(starter.stdout, "data");
    return new Container(home, starter);
  }

  private constructor(home: Home, starter: ChildProcess) {
    this.#home = home;
    this.#starter = starter;
    const { pid } = starter;
    this.#init = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim());
    this.work = join(home.root, "c/workspaces/app");
    this.root = join(home.root, "c/user");
    this.own = join(home.root, "c/own");
  }

  get environment(): Record<string, string> {
    return { PATH: process.env["PATH"] ?? "", HOME: this.root };
  }

  /** Runs a command of `kite` in here to its end. */
  kite(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
    return this.run([process.execPath, kiteProgram, ...args], "", env);
  }

  /** A program that runs a command in here, in the project; the command follows. */
  get enter(): readonly [string, ...string[]] {
    const user = asUser.length === 0 ? [] : ["--user", "--preserve-credentials"];
    const inWork = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", this.work];
    return ["nsenter", "-t", `${this.#init}`, ...user, "--mount", "--pid", "--", ...inWork];
  }

  /** Runs a command in here to its end. */
  run(command: readonly string[], stdin = "", env: Record<string, string> = {}): Promise<Ended> {
    const [program, ...words] = this.enter;
    const child = this.#home.adopt(
      spawn(program, [...words, ...command], {
        env: { ...this.environment, ...env },
        stdio: "pipe",
      }),
    );
    child.stdin.on("error", () => undefined);
    child.stdin.end(stdin);
    return ending(child);
  }

  /** Mounts an empty folder over one of the container's. */
  async cover(folder: string): Promise<void> {
    const { code, stderr } = await this.run(["mount", "-t", "tmpfs", "none", folder]);
    if (code !== 0) throw new Error(stderr);
  }

  /** Ends its first process, and with it all others. */
  async kill(): Promise<void> {
    const ended = once(this.#starter, "exit");
    process.kill(this.#init, "SIGKILL");
    await ended;
  }
}
