import { type ChildProcess, execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { copyFileSync, existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { KiteClient } from "../../client/client.ts";
import { stopDaemon } from "../../client/launch.ts";
import { nameOfId } from "../session-name.ts";
import { type Client, Home } from "./daemon.ts";
import { type Ended, HookWorld, hookPrograms, silent } from "./hook-clients.ts";

/** The daemon's program, but of a version before every other. */
function olderDaemon(folder: string): string {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const text = readFileSync(Home.program, "utf8");
  const older = text.replace(`version: "${version}"`, 'version: "0.0.9"');
  expect(older).not.toBe(text);
  const program = join(folder, "older.mjs");
  writeFileSync(program, older);
  const dist = dirname(Home.program);
  for (const chunk of readdirSync(dist).filter(name => name.startsWith("daemon-")))
    copyFileSync(join(dist, chunk), join(folder, chunk));
  return program;
}

/** Both hook clients against the daemon they are made for. */
describe.each(hookPrograms)("the $name client and the real daemon", program => {
  let home: Home;
  let world: HookWorld;
  let watch: Client;
  let first: Session;
  let second: Session;

  beforeEach(async () => {
    home = new Home();
    world = new HookWorld(program);
    await home.start();
    watch = await watcher();
    [first, second] = [new Session(), new Session()];
  });

  afterEach(async () => {
    await world.dispose();
    await home.dispose();
  });

  /** A connection that sees every event. */
  async function watcher(): Promise<Client> {
    const client = await home.connect();
    expect(await client.ask({ type: "subscribe" })).toMatchObject({ ok: true });
    return client;
  }

  /** One session of the agent's client: its events, each through a hook of its own. */
  class Session {
    readonly id = randomUUID();
    #use: object = {};

    start(event: string, fields: object = {}, env: Record<string, string> = {}) {
      const common = { session_id: this.id, cwd: home.work, prompt_id: this.id, hook_event_name: event };
      return world.start({
        stdin: JSON.stringify({ ...common, ...fields }),
        env: { KITE_HOME: home.paths.home, ...env },
      });
    }

    edit(tool = "Edit") {
      const tool_input = { file_path: join(home.work, "a.txt"), content: 'é\n"x"' };
      this.#use = { tool_name: tool, tool_input, tool_use_id: `toolu_${randomUUID()}` };
      return this.start("PreToolUse", this.#use);
    }

    /** Another hook of its last edit: they are installed twice. */
    again() {
      return this.start("PreToolUse", this.#use);
    }

    /** The report of its last edit. */
    edited() {
      return this.start("PostToolUse", this.#use);
    }

    stop() {
      return this.start("Stop", { background_tasks: [] });
    }
  }

  const waiting = (session: Session) =>
    watch.event("lock_queued", ({ waiter }) => (waiter as { id?: unknown }).id === session.id);

  async function holders(): Promise<unknown[]> {
    const { rows } = await watch.ask({ type: "query", target: "locks" });
    return (rows as { holder: { id: string } | null }[]).map(row => row.holder?.id);
  }

  /** Who waits and is connected. */
  async function attached(): Promise<string[]> {
    const { rows } = await watch.ask({ type: "query", target: "locks" });
    const waiters = (rows as { waiters: { id: string; attached: boolean }[] }[]).flatMap(row => row.waiters);
    return waiters.filter(w => w.attached).map(w => w.id);
  }

  test("a session that starts hears of the others and gets its environment", async () => {
    const envFile = join(home.work, "env");
    expect(await first.start("SessionStart", { source: "startup" }).ended).toEqual(silent);
    expect(await first.edit().ended).toEqual(silent);
    const env = { CLAUDE_ENV_FILE: envFile };
    const { stdout, ...ended } = await second.start("SessionStart", { source: "startup" }, env).ended;
    expect({ ...ended, stdout: "" }).toEqual(silent);
    const { additionalContext } = JSON.parse(stdout).hookSpecificOutput;
    expect(additionalContext).toContain(nameOfId(first.id));
    expect(readFileSync(envFile, "utf8")).toContain(`export KITE_SESSION='${second.id}'\n`);
  });

  test("an edit of the same file waits for the other session's Stop", async () => {
    await first.edit().ended;
    const { ended } = second.edit();
    await waiting(second);
    expect(await holders()).toEqual([first.id]);
    expect(await first.stop().ended).toEqual(silent);
    expect(await ended).toEqual(silent);
    expect(await holders()).toEqual([second.id]);
  });

  test("the end of a shell command that changed another's file says so, though nobody waits for it", async () => {
    const file = join(home.work, "a.txt");
    execFileSync("git", ["init", "-q"], { cwd: home.work, env: home.environment });
    writeFileSync(file, "one\n");
    await first.edit().ended;
    writeFileSync(file, "two\n");
    await first.edited().ended;
    await first.stop().ended;
    writeFileSync(file, "three\n");
    const bash = {
      tool_name: "Bash",
      tool_input: { command: "sed" },
      tool_use_id: "toolu_b",
      duration_ms: 0,
    };
    await second.start("UserPromptSubmit").ended;
    const { stdout, ...rest } = await second.start("PostToolUse", bash).ended;
    expect({ ...rest, stdout: "" }).toEqual(silent);
    expect(JSON.parse(stdout).hookSpecificOutput).toEqual({
      hookEventName: "PostToolUse",
      additionalContext: expect.stringContaining("changed while your shell command ran"),
    });
  });

  test("what the daemon refuses is refused, in its words", async () => {
    writeFileSync(join(home.work, "a.txt"), "one\n");
    await first.edit().ended;
    const { ended } = second.edit("Write");
    await waiting(second);
    // The file's stamp is taken when the wait begins; who was answered after that came later.
    expect(await watch.ask({ type: "ping" })).toMatchObject({ ok: true });
    writeFileSync(join(home.work, "a.txt"), "two, and longer\n");
    await first.stop().ended;
    const { stdout, ...rest } = await ended;
    expect({ ...rest, stdout: "" }).toEqual(silent);
    expect(JSON.parse(stdout).hookSpecificOutput).toMatchObject({ permissionDecision: "deny" });
    // It only has to read the file again: nothing there for a person to let through.
    expect(JSON.parse(stdout)).not.toHaveProperty("systemMessage");
  });

  test("the first denial of a session tells its person, and what it names explains that denial", async () => {
    const file = join(home.work, "a.txt");
    execFileSync("git", ["init", "-q"], { cwd: home.work, env: home.environment });
    await home.kite("freeze", file);
    const denied = async (session: Session, tool?: string): Promise<Record<string, unknown>> => {
      const { stdout } = await session.edit(tool).ended;
      const said = JSON.parse(stdout);
      expect(said.hookSpecificOutput).toMatchObject({ permissionDecision: "deny" });
      return said;
    };
    for (const session of [first, second]) {
      const name = nameOfId(session.id);
      expect(await denied(session)).toMatchObject({
        systemMessage: `Kite stopped an edit of "a.txt" by "${name}". Why, and what to do: kite explain --last`,
      });
      // The daemon writes its log a moment later.
      await expect
        .poll(async () => JSON.parse((await home.command(["explain", "--last", "--json"])).out))
        .toMatchObject({
          line: { decision: "deny", name, file, code: "edits_held" },
          ends: expect.stringMatching(/freeze/),
        });
    }
    for (const tool of ["Edit", "Write"])
      expect(await denied(first, tool)).not.toHaveProperty("systemMessage");
  });

  test.each(["SIGTERM", "SIGKILL"] as const)(
    "%s to the daemon: the next one keeps the edit waiting",
    async signal => {
      await first.edit().ended;
      const { child, ended } = second.edit();
      await waiting(second);
      home.daemon.signal(signal);
      await home.daemon.exited;
      await home.start();
      watch = await watcher();
      // An attachment has no event of its own: this asks again.
      while ((await attached()).length === 0) expect(child.exitCode).toBeNull();
      await first.stop().ended;
      expect(await ended).toEqual(silent);
      expect(await holders()).toEqual([second.id]);
    },
  );

  test("the daemon replaced by a newer one while two hooks wait: neither edit passes unlocked", async () => {
    const third = new Session();
    await home.daemon.kill();
    await home.start([process.execPath, olderDaemon(home.work)]);
    watch = await watcher();
    await first.edit().ended;
    const hooks: {
      readonly session: Session;
      readonly child: ChildProcess;
      readonly ended: Promise<Ended>;
    }[] = [];
    for (const session of [second, third]) {
      hooks.push({ session, ...session.edit() });
      await waiting(session);
    }
    try {
      expect(await home.kite("up")).toContain(" in place of 0.0.9: ");
      await home.daemon.exited;
      watch = await watcher();
      // An attachment has no event of its own: this asks again.
      while ((await attached()).length < 2) {
        for (const { child } of hooks) expect(child.exitCode).toBeNull();
      }
      expect(await holders()).toEqual([first.id]);
      await first.stop().ended;
      for (const { session, ended } of hooks) {
        expect(await ended).toEqual(silent);
        expect(await holders()).toEqual([session.id]);
        await session.stop().ended;
      }
      expect(await holders()).toEqual([]);
    } finally {
      // It is no child of the test, and to kite down the test is its sessions' client.
      await stopDaemon(await KiteClient.connect({ paths: home.paths }), false);
    }
  });

  test("of two hooks of one edit one is killed while they wait: the other has the lock", async () => {
    await first.edit().ended;
    const [lost, left] = [second.edit(), second.again()];
    await waiting(second);
    // Both are there when both were counted; that has no event of its own, so this asks again.
    const counted = async () => (await watch.ask({ type: "stats" }))["hooks"] as { PreToolUse: number };
    while ((await counted()).PreToolUse < 3) expect(left.child.exitCode).toBeNull();
    lost.child.kill("SIGKILL");
    expect(await lost.ended).toEqual({ ...silent, code: null, signal: "SIGKILL" });
    await first.stop().ended;
    expect(await left.ended).toEqual(silent);
    expect(await holders()).toEqual([second.id]);
    const { child, ended } = first.edit();
    await waiting(first);
    child.kill("SIGTERM");
    await ended;
  });

  test("a hook that is ended while it waits leaves its place", async () => {
    await first.edit().ended;
    const { child, ended } = second.edit();
    await waiting(second);
    child.kill("SIGTERM");
    expect(await ended).toEqual({ ...silent, code: null, signal: "SIGTERM" });
    await first.stop().ended;
    expect(await holders()).toEqual([]);
  });

  const failures = () => join(home.paths.home, "hook-failures");

  /** The daemon stands still, and hooks that nothing of the work depends on got no answer: a Stop and two prompts. */
  async function failThrice(): Promise<void> {
    utimesSync(home.paths.socket, 1, 1);
    home.daemon.signal("SIGSTOP");
    const hooks = [first.stop(), first.start("UserPromptSubmit"), second.start("UserPromptSubmit")];
    expect(await Promise.all(hooks.map(({ ended }) => ended))).toEqual([silent, silent, silent]);
    expect(readFileSync(failures(), "latin1")).toMatch(/^(\d{10}\n){3}$/);
  }

  test("a stopped daemon is left alone after three tries, and asked again as soon as it goes on", async () => {
    await failThrice();
    expect(await first.start("SubagentStart").ended).toEqual(silent);
    home.daemon.signal("SIGCONT");
    // Nothing tells that the daemon has found the file: this asks again.
    while (existsSync(failures())) await watch.ask({ type: "ping" });
    expect(await first.start("SessionEnd", { reason: "other" }).ended).toEqual(silent);
    const { hooks } = await watch.ask({ type: "stats" });
    expect(hooks).toMatchObject({ SessionEnd: 1, Stop: 1, UserPromptSubmit: 2 });
    expect(hooks).not.toHaveProperty("SubagentStart");
  });

  test("the moment a stopped daemon goes on, two sessions that edit one file are coordinated", async () => {
    await failThrice();
    home.daemon.signal("SIGCONT");
    expect(await first.edit().ended).toEqual(silent);
    const { ended } = second.edit();
    await waiting(second);
    expect(await holders()).toEqual([first.id]);
    await first.stop().ended;
    expect(await ended).toEqual(silent);
  });

  test("failures do not add up while the daemon lives", async () => {
    for (let n = 0; n < 3; n += 1) {
      writeFileSync(failures(), `${Math.floor(Date.now() / 1000)}\n`.repeat(2));
      while (existsSync(failures())) await watch.ask({ type: "ping" });
    }
  });

  test("hostile payloads reach nothing but the adapter", async () => {
    const env = { KITE_HOME: home.paths.home };
    const payloads = [
      '{"a":1},"type":"shutdown","x":{"b":1}',
      '{"a":1}}\n{"type":"shutdown"}',
      '{"type":"shutdown","event":{"type":"shutdown"},"reply":"x","rid":7}',
      '{"__proto__":{"type":"shutdown"},"constructor":{"prototype":{"ok":true}}}',
      `{"session_id":"s","hook_event_name":"PreToolUse","x":"${"\\n{\\u0022type\\u0022:\\u0022shutdown\\u0022}".repeat(9)}"}`,
      '{"a":\\}, "type":"shutdown", "b":\\{}',
      `{"a":${"[".repeat(500)}${"]".repeat(500)}}`,
      Buffer.from('{"a":"\xed\xa0\x80"}', "latin1"),
    ];
    for (const stdin of payloads) expect(await world.run({ stdin, env })).toEqual(silent);
    expect(await watch.ask({ type: "ping" })).toMatchObject({ ok: true });
    expect(await watch.ask({ type: "query", target: "sessions" })).toMatchObject({ ok: true, rows: [] });
  });
});
