import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { KiteClient } from "../../client/client.ts";
import type { EventLine } from "../../protocol/events.ts";
import type { LockRow } from "../../protocol/lock.ts";
import { kitePaths } from "../../protocol/paths.ts";
import type { SessionRow } from "../../protocol/session.ts";

/**
 * A recorded session of the real client, replayed for several sessions in one repository through the commands that
 * `kite install` wrote: read back from the settings, run as the client runs them, against the real daemon.
 */
const kite = fileURLToPath(new URL("../../dist/kite.mjs", import.meta.url));
const recording = new URL("../fixtures/payloads/sequence-a-plain-session.ndjson", import.meta.url);

type Payload = Readonly<Record<string, unknown>> & { readonly hook_event_name: string };

interface Ran {
  readonly event: string;
  readonly tool: unknown;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Entry {
  readonly command: string;
  readonly args: readonly string[];
}

const recorded: readonly Payload[] = readFileSync(recording, "utf8")
  .trim()
  .split("\n")
  .map(line => JSON.parse(line).payload);

let root: string;
let repo: string;
let paths: ReturnType<typeof kitePaths>;
let settings: string;
let watcher: Watcher | null;
let standIns: ChildProcess[];

beforeEach(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "kite-replay-")));
  repo = join(root, "project");
  mkdirSync(repo);
  await promisify(execFile)("git", ["init", "-q", repo], { env: scrubbed() });
  writeFileSync(join(repo, "a.txt"), "one\ntwo\nthree\n");
  paths = kitePaths({ KITE_HOME: join(root, "kite") });
  settings = join(repo, ".claude", "settings.local.json");
  watcher = null;
  standIns = [];
  await run("install", "--project", repo);
});

afterEach(async () => {
  watcher?.client.close();
  for (const child of standIns)
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  if (existsSync(paths.daemonFile)) await run("down");
  rmSync(root, { recursive: true, force: true });
});

/** Nothing of the surroundings but where programs are; the installed entries carry KITE_HOME themselves. */
function scrubbed(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", HOME: join(root, "home"), ...more };
}

/** Runs the command line; throws unless it exits with 0. */
async function run(...args: string[]): Promise<string> {
  const env = scrubbed({ KITE_HOME: paths.home });
  const { stdout } = await promisify(execFile)(process.execPath, [kite, ...args], { env, cwd: root });
  return stdout;
}

/** What the client would start for this event: every entry of every group whose matcher fits. */
function entriesFor(payload: Payload): Entry[] {
  const { hooks } = JSON.parse(readFileSync(settings, "utf8"));
  const groups: { matcher?: string; hooks: Entry[] }[] = hooks[payload.hook_event_name] ?? [];
  return groups
    .filter(g => g.matcher === undefined || new RegExp(`^(?:${g.matcher})$`).test(`${payload["tool_name"]}`))
    .flatMap(g => g.hooks);
}

/** One session of the recording, with ids of its own, in this repository. */
class Replay {
  readonly id = randomUUID();
  readonly envFile: string;
  readonly ran: Ran[] = [];
  readonly #standIn: ChildProcess;
  readonly #payloads: Payload[];

  constructor() {
    this.envFile = join(root, `env-${this.id}`);
    this.#standIn = spawn(process.execPath, ["-e", "setInterval(() => {}, 1 << 30)"], {
      env: scrubbed(),
      stdio: "ignore",
    });
    standIns.push(this.#standIn);
    const prompt = randomUUID();
    this.#payloads = recorded.map(payload => {
      const text = JSON.stringify(payload)
        .replaceAll("/home/dev/project", repo)
        .replaceAll(String(payload["session_id"]), this.id)
        .replaceAll("86b3ab47-4100-472d-b139-65b8b1505389", prompt)
        .replaceAll("toolu_", `toolu_${this.id}_`);
      return JSON.parse(text);
    });
  }

  /** The next events up to, and without, the first one of this name. */
  async until(name: string): Promise<void> {
    while (this.#payloads[0] !== undefined && this.#payloads[0].hook_event_name !== name) await this.next();
  }

  async toTheEnd(): Promise<void> {
    while (this.#payloads.length > 0) await this.next();
  }

  /** Runs the hooks of the next event side by side, as the client does, and does what the tool would do. */
  async next(): Promise<Ran[]> {
    const payload = this.#payloads.shift();
    if (payload === undefined) throw new Error("the recording is over");
    return await this.send(payload);
  }

  async send(payload: Payload): Promise<Ran[]> {
    const ran = await Promise.all(entriesFor(payload).map(entry => this.#runEntry(entry, payload)));
    this.ran.push(...ran);
    return ran;
  }

  /** An event of a tool, made from the recorded one. */
  edit(tool: string, file: string): Payload {
    const model = recorded.find(p => p.hook_event_name === "PreToolUse" && p["tool_name"] === tool);
    if (model === undefined) throw new Error(`no ${tool} was recorded`);
    return {
      ...model,
      session_id: this.id,
      cwd: repo,
      tool_input: { file_path: join(repo, file), content: "x" },
      tool_use_id: `toolu_${randomUUID()}`,
    };
  }

  kill(): void {
    this.#standIn.kill("SIGKILL");
  }

  async #runEntry(entry: Entry, payload: Payload): Promise<Ran> {
    const child = spawn(entry.command, entry.args, {
      cwd: String(payload["cwd"]),
      env: scrubbed({
        CLAUDECODE: "1",
        CLAUDE_PID: String(this.#standIn.pid),
        CLAUDE_PROJECT_DIR: repo,
        CLAUDE_CODE_SESSION_ID: this.id,
        CLAUDE_CODE_ENTRYPOINT: "cli",
        CLAUDE_CODE_SESSION_ATTENDED: "1",
        ...(payload.hook_event_name === "SessionStart" ? { CLAUDE_ENV_FILE: this.envFile } : {}),
      }),
      stdio: "pipe",
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", chunk => {
      stdout += chunk;
    });
    child.stderr.setEncoding("utf8").on("data", chunk => {
      stderr += chunk;
    });
    child.stdin.end(JSON.stringify(payload));
    const [code] = await once(child, "close");
    return { event: payload.hook_event_name, tool: payload["tool_name"], code, stdout, stderr };
  }
}

/** A second connection that sees what happens. */
class Watcher {
  readonly client: KiteClient;
  readonly #seen: EventLine[] = [];
  readonly #wanted = new Set<() => void>();

  static async start(): Promise<Watcher> {
    const client = await KiteClient.connect({ paths });
    const made = new Watcher(client);
    await client.subscribe();
    watcher = made;
    return made;
  }

  private constructor(client: KiteClient) {
    this.client = client;
    client.onEvent(event => {
      this.#seen.push(event);
      for (const look of this.#wanted) look();
    });
  }

  /** The first event, past or to come, that `fits`. */
  async event(fits: (event: EventLine) => boolean): Promise<EventLine> {
    const found = this.#seen.find(fits);
    if (found !== undefined) return found;
    return await new Promise(resolve => {
      const look = () => {
        const event = this.#seen.find(fits);
        if (event === undefined) return;
        this.#wanted.delete(look);
        resolve(event);
      };
      this.#wanted.add(look);
    });
  }

  queued = (id: string) => this.event(e => e.event === "lock_queued" && e.waiter.id === id);
  ended = (id: string) => this.event(e => e.event === "session_ended" && e.id === id);

  /** Until the session waits, with its connection. An attachment has no event of its own, so this asks again. */
  async attached(id: string): Promise<void> {
    for (;;) {
      const waiters = (await this.locks()).flatMap(l => l.waiters);
      if (waiters.some(w => w.id === id && w.attached)) return;
    }
  }

  async locks(): Promise<readonly LockRow[]> {
    return await this.#rows<LockRow>("locks");
  }

  async sessions(): Promise<readonly SessionRow[]> {
    return await this.#rows<SessionRow>("sessions");
  }

  async #rows<Row>(target: "locks" | "sessions"): Promise<readonly Row[]> {
    const reply = await this.client.request("query", { target });
    if (!reply.ok) throw new Error(reply.error);
    return reply.rows as readonly Row[];
  }
}

const quiet = (ran: Ran) => expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" });

describe("with the daemon", () => {
  test("the second session's edit waits for the first one's Stop and goes through", async () => {
    await run("up");
    const watch = await Watcher.start();
    const first = new Replay();
    const second = new Replay();

    await first.until("Stop");
    expect((await watch.locks()).map(l => [l.path, l.kind, l.holder?.id]).sort()).toEqual(
      ["a.txt", "b.txt", "n.ipynb"].map(f => [join(repo, f), "turn", first.id]),
    );

    let secondDone = false;
    const rest = second.toTheEnd().then(() => {
      secondDone = true;
    });
    await watch.queued(second.id);
    const waiting = (await watch.locks()).find(l => l.waiters.length > 0);
    expect(waiting).toMatchObject({ path: join(repo, "b.txt"), holder: { id: first.id } });
    expect(waiting?.waiters).toMatchObject([{ id: second.id, attached: true }]);
    const status = await run("status", "--json");
    expect(status).toContain(first.id);
    expect(status).toContain(second.id);
    expect(status).toContain(join(repo, "b.txt"));
    const sessions = await watch.sessions();
    expect(sessions.map(s => [s.id, s.status, s.project]).sort()).toEqual(
      [first.id, second.id].map(id => [id, "active", sessions[0]?.project]).sort(),
    );
    expect(secondDone).toBe(false);

    const [stop] = await first.next();
    expect(stop).toMatchObject({ event: "Stop", code: 0, stdout: "" });
    await rest;
    await first.toTheEnd();

    for (const ran of first.ran) quiet(ran);
    const [start, ...others] = second.ran;
    for (const ran of others) quiet(ran);
    const told = JSON.parse(start?.stdout ?? "").hookSpecificOutput;
    expect(start?.code).toBe(0);
    expect(told.hookEventName).toBe("SessionStart");
    expect(told.additionalContext).toContain(`"a.txt" is held by "${first.id.slice(0, 8)}"`);
    expect(others.map(r => [r.event, r.tool])).toEqual([
      ["UserPromptSubmit", undefined],
      ["PreToolUse", "Write"],
      ["PreToolUse", "Edit"],
      ["PreToolUse", "NotebookEdit"],
      ["Stop", undefined],
      ["SessionEnd", undefined],
    ]);
    for (const { id, envFile } of [first, second]) {
      expect(readFileSync(envFile, "utf8")).toBe(
        `export KITE_SESSION='${id}'\nexport KITE_SOCKET='${paths.socket}'\n`,
      );
    }
    expect(await watch.locks()).toEqual([]);
    expect(await watch.sessions()).toEqual([]);
  });

  test("a file that changed meanwhile: an Edit is told, a Write is to read again and then goes through", async () => {
    await run("up");
    const watch = await Watcher.start();
    const [first, second, third] = [new Replay(), new Replay(), new Replay()];
    for (const session of [first, second, third]) await session.until("PreToolUse");
    await first.send(first.edit("Edit", "a.txt"));
    await first.send(first.edit("Write", "b.txt"));

    const edit = second.send(second.edit("Edit", "a.txt"));
    const write = third.send(third.edit("Write", "b.txt"));
    await Promise.all([watch.queued(second.id), watch.queued(third.id)]);
    // The file's stamp is taken when the wait begins; a hook that was answered after that has begun to wait.
    await run("status");
    writeFileSync(join(repo, "a.txt"), "ONE\ntwo\nthree\n");
    writeFileSync(join(repo, "b.txt"), "new\n");
    await first.until("Stop");
    await first.next();

    const [edited] = await edit;
    const [written] = await write;
    const name = first.id.slice(0, 8);
    expect(edited?.code).toBe(0);
    const context = JSON.parse(edited?.stdout ?? "").hookSpecificOutput;
    expect(context).not.toHaveProperty("permissionDecision");
    expect(context.additionalContext).toContain(`"${name}" held "a.txt" before you.`);
    expect(written?.code).toBe(0);
    expect(JSON.parse(written?.stdout ?? "").hookSpecificOutput).toMatchObject({
      permissionDecision: "deny",
      permissionDecisionReason: expect.stringContaining(
        "read it again, then write; the lock is kept for you.",
      ),
    });
    for (const ran of await third.send(third.edit("Write", "b.txt"))) quiet(ran);
  });

  test("the daemon restarted while an edit waits: it goes on waiting, and not past the holder", async () => {
    await run("up");
    let watch = await Watcher.start();
    const [first, second] = [new Replay(), new Replay()];
    for (const session of [first, second]) await session.until("PreToolUse");
    await first.send(first.edit("Edit", "a.txt"));
    const edit = second.send(second.edit("Edit", "a.txt"));
    const through = edit.then(ran => Promise.reject(new Error(`it went through: ${JSON.stringify(ran)}`)));
    through.catch(() => undefined);
    await watch.queued(second.id);
    watch.client.close();
    await run("down");
    await run("up");
    watch = await Watcher.start();
    await Promise.race([watch.attached(second.id), through]);
    await first.until("Stop");
    await first.next();
    for (const ran of await edit) quiet(ran);
    expect((await watch.locks()).map(l => l.holder?.id)).toEqual([second.id]);
  });

  test("a client that is killed lets go of what it holds", async () => {
    await run("up");
    const watch = await Watcher.start();
    const [first, second] = [new Replay(), new Replay()];
    for (const session of [first, second]) await session.until("PreToolUse");
    await first.send(first.edit("Edit", "a.txt"));
    const edit = second.send(second.edit("Edit", "a.txt"));
    await watch.queued(second.id);
    first.kill();
    await watch.ended(first.id);
    for (const ran of await edit) quiet(ran);
    expect((await watch.locks()).map(l => l.holder?.id)).toEqual([second.id]);
  });
});

test("with the daemon absent every hook exits 0; a session's first edit says so to the person, nothing else", async () => {
  const sessions = [new Replay(), new Replay()];
  await Promise.all(sessions.map(s => s.toTheEnd()));
  for (const { ran } of sessions) {
    expect(ran).toHaveLength(7);
    const [first, ...others] = ran.filter(r => r.event === "PreToolUse");
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(first?.stdout ?? "")).toEqual({
      systemMessage: expect.stringContaining("edits of this session are not coordinated"),
    });
    expect(others).toHaveLength(2);
    for (const one of ran) if (one !== first) quiet(one);
  }
  expect(readdirSync(paths.home).sort()).toEqual(["bin", "installs.json", "unreached"]);
});

test("uninstalled, nothing is started any more and nothing is left", async () => {
  expect(JSON.parse(await run("uninstall", "--all", "--json")).results).toEqual([
    { file: settings, result: "restored" },
  ]);
  expect(readdirSync(repo).sort()).toEqual([".git", "a.txt"]);
  expect(readdirSync(paths.home)).toEqual([]);
  expect(await run("uninstall", "--all")).toBe("nothing was installed\n");
});
