/** A hook that finds no daemon starts one, where a session or a turn begins and nobody said otherwise. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { KitePaths } from "../../protocol/paths.ts";
import { Home } from "./daemon.ts";
import { type Ended, ending, silent } from "./hook-clients.ts";

/** Whether somebody takes connections there. */
async function listens(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false; // Refused, or not there.
  } finally {
    socket.destroy();
  }
}

describe.each(["perl", "node"])("the %s client", client => {
  let home: Home;
  let root: string;
  let paths: KitePaths;
  let settings: string;
  /** The session's process. It is not above this one, which is a person's and ends the daemon. */
  let session: ChildProcess;

  beforeEach(async () => {
    home = new Home({ kite: ".kite" });
    ({ root, paths } = home);
    session = await home.bystander();
    mkdirSync(join(root, ".git"));
    settings = (JSON.parse(await kite("install", "--json", "--hook-program", client)) as { file: string })
      .file;
  });

  afterEach(() => home.dispose());

  /** Without KITE_HOME: where people have it. */
  function kite(...args: string[]): Promise<string> {
    return home.kiteAt(root, { PATH: process.env["PATH"] ?? "", HOME: root }, ...args);
  }

  /** Runs the hook as installed, with an event of a session that is here. */
  function hook(event: string, env: Record<string, string> = {}): Promise<Ended> {
    const [entry] = JSON.parse(readFileSync(settings, "utf8")).hooks[event].at(-1).hooks;
    // With more time than a start takes on a busy machine.
    const child = spawn(entry.command, [...entry.args.slice(0, -1), "30000"], {
      env: {
        PATH: process.env["PATH"],
        HOME: root,
        ANTHROPIC_API_KEY: "k",
        CLAUDE_PID: `${session.pid}`,
        ...env,
      },
      stdio: "pipe",
    });
    const payload = {
      hook_event_name: event,
      session_id: "s-1",
      cwd: root,
      prompt_id: "p",
      source: "startup",
    };
    // A client that has nothing to say may be gone before it has read anything.
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(payload));
    return ending(child);
  }

  const pid = () => (JSON.parse(readFileSync(paths.daemonFile, "utf8")) as { pid: number }).pid;
  const sessions = async () => JSON.parse(await kite("sessions", "--json")).sessions as { id: string }[];

  it.each(["SessionStart", "UserPromptSubmit"])("starts it at %s and hands the event over", async event => {
    expect(await hook(event)).toEqual(silent);
    expect((await sessions()).map(s => s.id)).toEqual(["s-1"]);
    if (process.platform !== "linux") return;
    const environment = readFileSync(`/proc/${pid()}/environ`, "utf8");
    expect(environment).toContain(`HOME=${root}\0`);
    expect(environment).not.toMatch(/ANTHROPIC|CLAUDE/);
  });

  it("starts one daemon, however many ask", async () => {
    expect(await Promise.all(Array.from({ length: 4 }, () => hook("SessionStart")))).toEqual(
      Array(4).fill(silent),
    );
    expect(await sessions()).toHaveLength(1);
  });

  it("starts it again after it was killed and left its socket behind", async () => {
    await hook("SessionStart");
    const first = pid();
    process.kill(first, "SIGKILL");
    await expect.poll(() => listens(paths.socket)).toBe(false);
    expect(existsSync(paths.socket)).toBe(true);
    expect(await hook("UserPromptSubmit")).toEqual(silent);
    expect(pid()).not.toBe(first);
    expect(await sessions()).toHaveLength(1);
  });

  it("does not start it at other events, in CI, nor after kite down", async () => {
    expect(await hook("Stop")).toEqual(silent);
    expect(await hook("SessionStart", { CI: "true" })).toEqual(silent);
    expect(existsSync(paths.socket)).toBe(false);
    expect(await hook("SessionStart", { CI: "true", KITE_AUTOSTART: "1" })).toEqual(silent);
    expect(existsSync(paths.socket)).toBe(true);
    await kite("down");
    expect(await hook("SessionStart")).toEqual(silent);
    expect(existsSync(paths.socket)).toBe(false);
  });

  it("asks nobody while Kite is off everywhere", async () => {
    await kite("off");
    expect(await hook("SessionStart")).toEqual(silent);
    expect(existsSync(paths.socket)).toBe(false);
    await kite("on");
    await kite("off", "--for", "1h");
    await hook("SessionStart");
    expect(existsSync(paths.socket)).toBe(false);
    await kite("on");
    await hook("SessionStart");
    expect(existsSync(paths.socket)).toBe(true);
  });
});
