import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StartFailed, TimedOut, WrongOwner } from "../../client/errors.ts";
import { daemonEnvironment, ensureDaemon, type Launched, stopDaemon } from "../../client/launch.ts";
import { type KitePaths, kitePaths } from "../../protocol/paths.ts";
import { FakeDaemon } from "../unit/fake-daemon.ts";

const daemonProgram = fileURLToPath(new URL("launch-daemon.mjs", import.meta.url));

interface Facts {
  readonly pid: number;
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly fds: Record<string, string>;
  readonly session: number;
  readonly execArgv: readonly string[];
}

let folder: string;
let paths: KitePaths;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kite-launch-"));
  paths = kitePaths({ KITE_HOME: join(folder, "home") });
});

afterEach(() => {
  for (const { pid } of facts()) end(pid);
  // A killed process may still add a file with its last call.
  rmSync(folder, { recursive: true, force: true, maxRetries: 9 });
});

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

/** Builds a program of this folder into one file. */
async function bundled(name: string, outfile: string): Promise<void> {
  const entryPoints = [fileURLToPath(new URL(name, import.meta.url))];
  await build({ entryPoints, outfile, bundle: true, platform: "node", format: "esm", logLevel: "error" });
}

/** What the started processes saw of themselves. */
function facts(): Facts[] {
  if (!existsSync(paths.home)) return [];
  const names = readdirSync(paths.home).filter(name => name.startsWith("facts-"));
  return names.map(name => JSON.parse(readFileSync(join(paths.home, name), "utf8")));
}

function launch(
  fake: string,
  options: { waitMs?: number; env?: Record<string, string> } = {},
): Promise<Launched> {
  const { env, ...rest } = options;
  const all = { PATH: process.env["PATH"], KITE_HOME: paths.home, KITE_FAKE: fake, ...env };
  return ensureDaemon({ paths, daemonProgram, env: all, ...rest });
}

describe("a started daemon", () => {
  const secrets = { ANTHROPIC_API_KEY: "k", CLAUDE_PID: "1", NODE_OPTIONS: "--no-warnings", AWS_SECRET: "x" };

  it("gets what it needs of the environment, and nothing else", () => {
    const env = {
      ...secrets,
      PATH: "/bin",
      LC_ALL: "C",
      TZ: "UTC",
      KITE_HOME: "/k",
      KITE_SESSION: "s",
      NO: undefined,
    };
    expect(daemonEnvironment(env)).toEqual({
      PATH: "/bin",
      LC_ALL: "C",
      TZ: "UTC",
      KITE_HOME: "/k",
      KITE_READY_FD: "3",
      UV_THREADPOOL_SIZE: "16",
    });
  });

  it("is a session of its own in /, with the log for its words and one pipe to its starter", async () => {
    const { started, client } = await launch("ready", { env: secrets });
    const [seen] = facts();
    expect(started).toBe(true);
    expect(client.daemon.pid).toBe(seen?.pid);
    expect(seen).toMatchObject({ cwd: "/", session: seen?.pid });
    // Room for what a busy daemon needs for one turn only.
    expect(seen?.execArgv).toEqual(["--max-semi-space-size=32"]);
    expect(seen?.fds).toMatchObject({
      0: "/dev/null",
      1: paths.log,
      2: paths.log,
      3: expect.stringMatching(/^socket:/),
    });
    for (const secret of Object.keys(secrets)) expect(seen?.env).not.toHaveProperty(secret);
    expect(readFileSync(paths.log, "utf8")).toBe("a word on standard error\n");
    expect([statSync(paths.home).mode & 0o777, statSync(paths.log).mode & 0o777]).toEqual([0o700, 0o600]);
    client.close();
  });

  it("is not started twice", async () => {
    const first = await launch("ready");
    const second = await launch("ready");
    expect([first.started, second.started]).toEqual([true, false]);
    expect(second.client.daemon.pid).toBe(first.client.daemon.pid);
    expect(facts()).toHaveLength(1);
    first.client.close();
    second.client.close();
  });

  it("neither keeps its starter alive nor inherits from it", async () => {
    const starter = join(folder, "starter.mjs");
    await bundled("starter.ts", starter);
    const secret = openSync(starter, "r");
    const child: ChildProcess = spawn(process.execPath, [starter, JSON.stringify([paths, daemonProgram])], {
      env: { KITE_HOME: paths.home, KITE_FAKE: "ready" },
      stdio: ["pipe", "pipe", "inherit", secret, secret, secret, secret],
    });
    closeSync(secret);
    // The end of its output shows that the daemon holds no copy of that pipe either.
    await Promise.all([once(child, "exit"), once(child.stdout?.resume() ?? child, "end")]);
    expect(child.exitCode).toBe(0);
    const [seen] = facts();
    expect(seen && process.kill(seen.pid, 0)).toBe(true);
    expect(Object.values(seen?.fds ?? {})).not.toContain(starter);
  });
});

it("what a process was given beyond its own descriptors can be closed, however high it is", async () => {
  const program = join(folder, "inherited.mjs");
  await bundled("closes-inherited.ts", program);
  const file = openSync(program, "r");
  const unused = Array.from({ length: 37 }, () => "ignore" as const);
  const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit", ...unused, file] });
  closeSync(file);
  let output = "";
  child.stdout?.on("data", chunk => {
    output += chunk;
  });
  await once(child, "close");
  expect(JSON.parse(output)).toEqual([["40"], []]);
});

describe("a start that fails", () => {
  it("says why in the daemon's own words", async () => {
    await expect(launch("error")).rejects.toThrow(
      new StartFailed("the journal is damaged; see `kite doctor`"),
    );
  });

  it("says how the daemon ended, and where to look", async () => {
    const failure = await launch("dies").catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StartFailed);
    expect(`${failure}`).toContain("(code 7)");
    expect(`${failure}`).toContain(paths.log);
  });

  it("says so when the daemon closes the pipe without a word and ends", async () => {
    await expect(launch("closes")).rejects.toThrow(/code 0/);
  });

  it("gives up waiting for one that is not ready in time, and lets it go on", async () => {
    await expect(launch("silent", { waitMs: 300 })).rejects.toThrow(TimedOut);
    const [seen] = facts();
    if (seen !== undefined) expect(process.kill(seen.pid, 0)).toBe(true);
  });

  it("says so when there is no such program", async () => {
    const options = { paths, daemonProgram: join(folder, "none.mjs"), env: {} };
    await expect(ensureDaemon(options)).rejects.toThrow(StartFailed);
    expect(readFileSync(paths.log, "utf8")).toContain("none.mjs");
  });

  it("writes nothing into a home that is a link", async () => {
    const real = join(folder, "real");
    await ensureDaemon({ paths: kitePaths({ KITE_HOME: real }), daemonProgram, env: {} }).catch(() => {});
    rmSync(real, { recursive: true });
    symlinkSync(folder, paths.home);
    await expect(launch("ready")).rejects.toThrow(WrongOwner);
    expect(existsSync(join(folder, "daemon.log"))).toBe(false);
    rmSync(paths.home);
  });
});

describe("a start that finds the lock held", () => {
  it("connects to the daemon that is still coming up", async () => {
    const launched = launch("held");
    await expect.poll(facts).toHaveLength(1);
    const daemon = await FakeDaemon.listen(paths.socket, () => undefined);
    const { started, client } = await launched;
    expect([started, client.daemon.pid]).toEqual([false, 4711]);
    client.close();
    await daemon.stop();
  });

  it("starts one itself when the holder was only on its way out", async () => {
    const { started, client } = await launch("held-once");
    expect(started).toBe(true);
    expect(facts()).toHaveLength(2);
    client.close();
  });

  it("gives up, after a bounded number of tries, and names the lock", async () => {
    await expect(launch("held")).rejects.toThrow(paths.lockFile);
    expect(facts()).toHaveLength(3);
  });
});

describe("a daemon that is stopped", () => {
  it("has left when that is said, not just closed the connection", async () => {
    const { client } = await launch("ready");
    expect(await stopDaemon(client, false)).toBeNull();
    expect(existsSync(join(paths.home, "left"))).toBe(true);
  });

  it("and does not leave is named with its pid", async () => {
    const { client } = await launch("stays");
    const stopped = stopDaemon(client, false, 100);
    await expect(stopped).rejects.toThrow(TimedOut);
    await expect(stopped).rejects.toThrow(`${client.daemon.pid}`);
  });
});
