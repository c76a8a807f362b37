import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KitePaths, kitePaths } from "../../protocol/paths.ts";
import { FakeDaemon, helloReply } from "../unit/fake-daemon.ts";

const kite = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));
const daemon = fileURLToPath(new URL("../../dist/daemon.mjs", import.meta.url));
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

let folder: string;
let paths: KitePaths;
const running = new Set<ChildProcess>();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kite-up-"));
  paths = kitePaths({ KITE_HOME: join(folder, "home") });
});

afterEach(async () => {
  await run("down");
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function begin(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const all = { PATH: process.env["PATH"], HOME: folder, KITE_HOME: paths.home, ...env };
  const child = spawn(process.execPath, [kite, ...args], {
    cwd: folder,
    env: all,
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

async function run(args: string, env: Record<string, string> = {}): Promise<Ended> {
  const child = begin(args.split(" "), env);
  const texts = { out: "", err: "" };
  child.stdout?.on("data", chunk => {
    texts.out += chunk;
  });
  child.stderr?.on("data", chunk => {
    texts.err += chunk;
  });
  await once(child, "close");
  return { code: child.exitCode, ...texts };
}

function daemonFile(): { pid: number } {
  return JSON.parse(readFileSync(paths.daemonFile, "utf8"));
}

/** Ended, even where nobody has waited for it. */
function hasEnded(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return true;
  return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}

describe("kite up", () => {
  it("starts a daemon and says so; the second time it says that one runs", async () => {
    const first = await run("up");
    const { pid } = daemonFile();
    expect(first).toEqual({
      code: 0,
      err: "",
      out: `kite started: version ${version}, pid ${pid}, ${paths.socket}\n`,
    });
    const second = await run("up");
    expect(second.out).toBe(`kite was running already: version ${version}, pid ${pid}, ${paths.socket}\n`);
    const { out } = await run("up --json");
    expect(JSON.parse(out)).toEqual({
      started: false,
      replaced: null,
      rebuilt: false,
      version,
      pid,
      socket: paths.socket,
    });
  });

  it("twenty times at once gives one daemon", async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => run("up --json")));
    expect(all.map(({ code, err }) => [code, err])).toEqual(all.map(() => [0, ""]));
    const answers = all.map(({ out }) => JSON.parse(out));
    expect(new Set(answers.map(({ pid }) => pid)).size).toBe(1);
    expect(answers.filter(({ started }) => started)).toHaveLength(1);
  });

  it("right after the daemon was killed starts the next one", async () => {
    await run("up");
    const { pid } = daemonFile();
    process.kill(pid, "SIGKILL");
    const { code, out } = await run("up --json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ started: true });
    expect(JSON.parse(out).pid).not.toBe(pid);
  });

  it("hands the daemon nothing of its own surroundings", async () => {
    const secrets = { ANTHROPIC_API_KEY: "k-123", CLAUDE_PID: "1", NODE_OPTIONS: "--no-warnings" };
    await run("up", secrets);
    const proc = `/proc/${daemonFile().pid}`;
    const names = readFileSync(`${proc}/environ`, "utf8")
      .split("\0")
      .filter(Boolean)
      .map(pair => pair.split("=")[0]);
    expect(names.sort()).toEqual(["HOME", "KITE_HOME", "KITE_READY_FD", "PATH", "UV_THREADPOOL_SIZE"]);
    expect(readlinkSync(`${proc}/cwd`)).toBe("/");
    const open = readdirSync(`${proc}/fd`).map(fd => readlinkSync(`${proc}/fd/${fd}`));
    expect(open.filter(target => target.startsWith(folder) && !target.startsWith(paths.home))).toEqual([]);
  });

  it("ends the stay that `kite down` asked for", async () => {
    await run("down");
    expect(existsSync(paths.downFile)).toBe(true);
    await run("up");
    expect(existsSync(paths.downFile)).toBe(false);
  });

  it("--unless-down leaves it at that", async () => {
    await run("down");
    expect(await run("up --unless-down")).toMatchObject({
      code: 0,
      err: "",
      out: expect.stringMatching(/^kite stays down: /),
    });
    expect(existsSync(paths.downFile)).toBe(true);
    expect(existsSync(paths.socket)).toBe(false);
  });

  it("--unless-down: a daemon that finds it was said while it started ends before it answers", async () => {
    await run("down");
    const child = spawn(process.execPath, [daemon, "--unless-down"], {
      env: { PATH: process.env["PATH"], HOME: folder, KITE_HOME: paths.home },
      stdio: "ignore",
    });
    running.add(child);
    expect(await once(child, "exit")).toEqual([1, null]);
    expect(existsSync(paths.downFile)).toBe(true);
    expect(existsSync(paths.socket)).toBe(false);
  });

  it("--unless-down does not outrun a `kite down` that is said meanwhile", async () => {
    // Whichever comes first: in the end it is down, and stays so.
    const [down] = await Promise.all([run("down"), run("up --unless-down"), run("up --unless-down")]);
    expect(down).toMatchObject({ code: 0, err: "" });
    expect(existsSync(paths.downFile)).toBe(true);
    expect(existsSync(paths.socket)).toBe(false);
  });

  it("says why it cannot, in one line", async () => {
    const relative = await run("up", { KITE_HOME: "here" });
    expect(relative).toEqual({ code: 1, out: "", err: expect.stringMatching(/^kite: KITE_HOME .*\n$/) });
    writeFileSync(paths.home, "");
    expect(await run("up")).toEqual({
      code: 1,
      out: "",
      err: expect.stringMatching(/^kite: .* directory.*\n$/),
    });
    expect(await run("down")).toEqual({ code: 1, out: "", err: expect.stringMatching(/^kite: .*\n$/) });
    rmSync(paths.home);
  });

  it("asks an older daemon to hand over, once, and starts its own in its place", async () => {
    // The fake one stands for another version; its "process" is one that has ended already.
    const gone = begin(["--version"]);
    await once(gone, "exit");
    mkdirSync(paths.home, { mode: 0o700 });
    const old = await FakeDaemon.listen(paths.socket, ({ type }) => {
      if (type === "hello") return { ...helloReply, version: "0.0.1", pid: gone.pid };
      setImmediate(() => void old.stop());
      return { ok: true };
    });
    const { code, out } = await run("up --json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ started: true, replaced: "0.0.1", version });
    expect(old.received).toMatchObject([{ type: "hello" }, { type: "shutdown", handover: true }]);
  });

  it("lets a newer daemon be", async () => {
    mkdirSync(paths.home, { mode: 0o700 });
    const newer = await FakeDaemon.listen(paths.socket, ({ type }) =>
      type === "hello" ? { ...helloReply, version: "99.0.0" } : undefined,
    );
    const { out } = await run("up --json");
    expect(JSON.parse(out)).toMatchObject({ started: false, replaced: null, version: "99.0.0" });
    expect(newer.types).toEqual(["hello"]);
    await newer.stop();
  });

  it("--foreground is the daemon itself, until interrupted", async () => {
    const child = begin(["up", "--foreground"]);
    // Its first words tell that it is up.
    await once(child.stderr ?? child, "data");
    expect(JSON.parse((await run("up --json")).out)).toMatchObject({ started: false, pid: child.pid });
    child.kill("SIGINT");
    const [code] = await once(child, "exit");
    expect(code).toBe(0);
  });
});

describe("kite down", () => {
  it("without a daemon is fine", async () => {
    expect(await run("down")).toEqual({ code: 0, err: "", out: "kite was not running\n" });
    expect(existsSync(paths.downFile)).toBe(true);
  });

  it("ends when the daemon has ended", async () => {
    await run("up");
    const { pid } = daemonFile();
    expect(await run("down --json")).toEqual({
      code: 0,
      err: "",
      out: `{"stopped":true,"pid":${pid},"atWork":[]}\n`,
    });
    expect(hasEnded(pid)).toBe(true);
    expect(existsSync(paths.socket)).toBe(false);
  });
});
