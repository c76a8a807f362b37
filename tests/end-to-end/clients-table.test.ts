/**
 * The table of `kite help clients`: what a cell says of a client is tried with that client's events or entries. A cell whose
 * words have no check here fails.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { adapters } from "../../bin/adapters.ts";
import { eventGroups } from "../../hooks/claude-code/settings/entries.ts";
import { codexEntries } from "../../hooks/install/codex.ts";
import { copilotHooks } from "../../hooks/install/copilot.ts";
import { geminiEntries } from "../../hooks/install/gemini.ts";
import { limits } from "../../protocol/limits.ts";
import { type ClientMaker, clientMakers, type Said } from "./client-makers.ts";
import { type Client, Home, type Message } from "./daemon.ts";
import { OpenCode } from "./opencode-client.ts";

const chapter = readFileSync(fileURLToPath(new URL("../../bin/man/clients.md", import.meta.url)), "utf8");
const [titles = [], , ...rows] = chapter
  .split("\n")
  .filter(line => line.startsWith("|"))
  .map(line =>
    line
      .split("|")
      .slice(1, -1)
      .map(cell => cell.trim()),
  );

let home: Home;
let watch: Client;
let count = 0;

beforeAll(async () => {
  home = new Home();
  await home.start();
  watch = await home.connect();
});
afterAll(() => home.dispose());

interface Column {
  readonly name: string;
  readonly of: ClientMaker;
}

const [claude] = clientMakers as readonly [ClientMaker];

/** A session of the client, and one of Claude Code, in a new project. */
class Scene {
  readonly of: ClientMaker;
  readonly project = home.folder();
  readonly own: string;
  readonly other: string;

  constructor({ of }: Column) {
    count += 1;
    this.of = of;
    this.own = `own-${count}`;
    this.other = `other-${count}`;
    mkdirSync(join(this.project, ".kite"));
    const git = (...args: readonly string[]) =>
      execFileSync("git", ["-C", this.project, "-c", "user.name=t", "-c", "user.email=t@t", ...args]);
    git("init", "-q");
    for (const file of ["a.ts", "b.ts"]) writeFileSync(this.path(file), "old\n");
    git("add", "-A");
    git("commit", "-qm", "first");
  }

  path(file: string): string {
    return join(this.project, file);
  }

  static async begun(column: Column): Promise<Scene> {
    const scene = new Scene(column);
    const { of } = scene;
    await scene.others(claude.start());
    await scene.owns(of.start());
    await scene.owns(of.prompt("turn-1"));
    onTestFinished(async () => {
      await scene.owns(of.end());
      await scene.others(claude.end());
    });
    return scene;
  }

  /** Sends an event of the client, by default of its session. */
  owns(event: Message, isWhole = false): Promise<Said> {
    return this.#answer(this.of, isWhole ? event : { ...event, session_id: this.own });
  }

  others(event: Message): Promise<Said> {
    return this.#answer(claude, { ...event, session_id: this.other });
  }

  async #answer(of: ClientMaker, event: Message): Promise<Said> {
    return (await this.asked(of, event)).answer;
  }

  async asked(of: ClientMaker, event: Message) {
    const client = await home.connect();
    const named = of.client === null ? {} : { client: of.client };
    client.send({ type: "hook", event: { ...event, cwd: this.project }, ppid: process.pid, ...named });
    const answer = client
      .next(({ ok }) => ok !== undefined)
      .then(reply => {
        expect(reply).toMatchObject({ ok: true });
        client.half();
        return of.said(String(reply["output"]));
      });
    return { client, answer };
  }

  async holderOf(file: string): Promise<{ readonly id: string; readonly agent: string | null } | null> {
    const { rows } = await watch.ask({ type: "query", target: "locks", limit: 1_000 });
    const all = rows as { path: string; holder: { id: string; agent: string | null } | null }[];
    return all.find(({ path }) => path === this.path(file))?.holder ?? null;
  }
}

const adapterOf = (name: string) => {
  const found = adapters.find(adapter => adapter.name === name);
  if (found === undefined) throw new Error(`no adapter ${name}`);
  return found;
};

/** What the client starts before a call of its shell tool: the rule that has to match, and the command where it is a shell's. */
function entriesBeforeLine(name: string): { readonly rule?: string; readonly command?: string }[] {
  const { shellTool } = adapterOf(name).words;
  const fits = (matcher = "") => new RegExp(matcher).test(shellTool);
  if (name === "opencode") return [];
  if (name === "copilot")
    return (copilotHooks(null).hooks["PreToolUse"] ?? []).flatMap(({ matcher, bash }) =>
      fits(matcher) ? [{ command: bash }] : [],
    );
  if (name === "claude-code")
    return eventGroups({ program: "/k/hook.cjs", node: "/k/node", home: null }).flatMap(
      ([event, { matcher, hooks }]) =>
        event === "PreToolUse" && matcher === "Bash"
          ? hooks.map(hook => (hook.if === undefined ? {} : { rule: hook.if }))
          : [],
    );
  const entries = name === "codex" ? codexEntries(null) : geminiEntries(null);
  return entries.flatMap(([event, { matcher, hooks }]) =>
    ["PreToolUse", "BeforeTool"].includes(event) && fits(matcher)
      ? hooks.map(hook => ({ command: String(Reflect.get(hook, "command")) }))
      : [],
  );
}

type Check = (column: Column) => unknown;

/** The edit waits while the other session writes the file, and then gets it. */
async function waits(column: Column): Promise<void> {
  const scene = await Scene.begun(column);
  const { of, own } = scene;
  await scene.others(claude.beforeEdit(scene.path("a.ts"), "o1"));
  const event = { ...of.beforeEdit(scene.path("a.ts"), "c1"), session_id: own };
  const { client, answer } = await scene.asked(of, event);
  if (client.blanks === 0) await client.blank();
  await scene.others(claude.afterEdit(scene.path("a.ts"), "o1"));
  await scene.others(claude.stop());
  expect((await answer).denial).toBeNull();
  expect(await scene.holderOf("a.ts")).toMatchObject({ id: own });
  const kept = await watch.ask({ type: "file_lock", id: scene.other, file: scene.path("b.ts") });
  expect(kept).toMatchObject({ ok: true });
  expect((await scene.owns(of.beforeEdit(scene.path("b.ts"), "c2"))).denial).toContain("b.ts");
}

const waitsUpTo =
  (ms: number): Check =>
  async column => {
    expect(adapterOf(column.name).limits.lockWaitMaxMs).toBe(ms);
    await waits(column);
  };
const longestMs = limits.hookWriteBudgetMs - limits.firstByteMs;

/** A patch over two files gets both, and holds none while the other session keeps one of them. */
async function patchGetsAll(column: Column): Promise<void> {
  const scene = await Scene.begun(column);
  await watch.ask({ type: "file_lock", id: scene.other, file: scene.path("b.ts") });
  const [one, two] = ["a.ts", "b.ts"].map(file => `*** Update File: ${file}\n@@\n-old\n+new\n`);
  const command = `*** Begin Patch\n${one}${two}*** End Patch`;
  const both = { ...scene.of.beforeEdit(scene.path("a.ts"), "c1"), tool_input: { command } };
  expect((await scene.owns(both)).denial).toContain("b.ts");
  expect(await scene.holderOf("a.ts")).toBeNull();
  await watch.ask({ type: "file_unlock", id: scene.other, all: true });
  expect((await scene.owns({ ...both, tool_use_id: "c2" })).denial).toBeNull();
  for (const file of ["a.ts", "b.ts"]) expect(await scene.holderOf(file)).toMatchObject({ id: scene.own });
}

/** The other session changes a file of which this client's agent has read nothing since. */
async function changedByOther(column: Column): Promise<Scene> {
  const scene = await Scene.begun(column);
  await scene.others(claude.beforeEdit(scene.path("a.ts"), "o1"));
  writeFileSync(scene.path("a.ts"), "other\n");
  await scene.others(claude.afterEdit(scene.path("a.ts"), "o1"));
  await scene.others(claude.stop());
  return scene;
}

async function refusedOnce(column: Column): Promise<void> {
  const scene = await changedByOther(column);
  const write = (call: string) => scene.owns(scene.of.beforeWhole(scene.path("a.ts"), call));
  expect((await write("c1")).denial).toContain(scene.other);
  expect((await write("c2")).denial).toBeNull();
}

async function runs(column: Column, event: "beforeEdit" | "beforeWhole"): Promise<void> {
  const scene = await changedByOther(column);
  expect((await scene.owns(scene.of[event](scene.path("a.ts"), "c1"))).denial).toBeNull();
}

async function wipesAreStopped(column: Column): Promise<void> {
  const scene = await changedByOther(column);
  for (const line of ["git stash", "rm a.ts"])
    expect((await scene.owns(scene.of.beforeLine(line, line))).denial).toContain("a.ts");
}

/** Who the session may be is set by a person; what an agent has to say first, by a project. */
async function roleHolds(column: Column): Promise<void> {
  const scene = await Scene.begun(column);
  const { of, own, project } = scene;
  const edit = (call: string) => of.beforeEdit(scene.path("a.ts"), call);
  const person = await home.connectPerson();
  const role = (one: string) => person.ask({ type: "role_set", name: own, project, role: one });
  expect(await role("researcher")).toMatchObject({ ok: true });
  expect((await scene.owns(edit("c1"))).denial).toContain("researcher");
}

async function gateHolds(column: Column, isOneOwner: boolean): Promise<void> {
  const scene = new Scene(column);
  writeFileSync(join(scene.project, ".kite", "config.json"), '{"gates": {"identity": "enforce"}}');
  await scene.owns(scene.of.start());
  await scene.owns(scene.of.prompt("turn-1"));
  expect((await scene.owns(scene.of.beforeEdit(scene.path("a.ts"), "c1"))).denial).toContain("declare");
  await watch.ask({ type: "declare", id: scene.own, identity: { role: "implementer" } });
  expect((await scene.owns(scene.of.beforeEdit(scene.path("a.ts"), "c2"))).denial).toBeNull();
  const { denial } = await scene.owns(
    scene.of.inSubagent(scene.of.beforeEdit(scene.path("b.ts"), "k1"), scene.own, "kid"),
    true,
  );
  if (isOneOwner) expect(denial).toBeNull();
  else expect(denial).toContain("declare");
}

const gates =
  (isOneOwner: boolean): Check =>
  async column => {
    await roleHolds(column);
    await gateHolds(column, isOneOwner);
  };

async function sessionIsTold(column: Column): Promise<Scene> {
  const scene = await Scene.begun(column);
  const later = { ...scene.of.start(), session_id: `${scene.own}-later` };
  expect((await scene.owns(later, true)).context).toContain("2 other sessions work in this project");
  await scene.owns({ ...scene.of.end(), session_id: `${scene.own}-later` }, true);
  return scene;
}

async function subagentIsTold(column: Column): Promise<void> {
  const scene = await sessionIsTold(column);
  const begins = scene.of.subagentStart(scene.own, "kid");
  expect(begins).not.toBeNull();
  if (begins !== null) expect((await scene.owns(begins, true)).context).toContain(scene.other);
}

const mail = "Leave b.ts to me.";

async function withMail(column: Column): Promise<readonly [before: string, after: string]> {
  const scene = await Scene.begun(column);
  const { of, own, other } = scene;
  await watch.ask({ type: "message_send", id: other, to: own, text: mail });
  const before = await scene.owns(of.beforeEdit(scene.path("a.ts"), "c1"));
  const after = await scene.owns(of.afterEdit(scene.path("a.ts"), "c1"));
  return [before.context, after.context];
}

/** OpenCode's plugin itself decides where its agent reads what the daemon says. */
async function mailBehindPluginsCall(): Promise<void> {
  const directory = home.folder();
  const open = await OpenCode.start(home, directory);
  onTestFinished(() => open.dispose());
  const sender = await home.session(`sender-${count}`, { cwd: directory, project: directory });
  onTestFinished(() => void sender.destroy());
  await open.session("s1");
  await open.prompt("s1");
  await sender.ask({ type: "message_send", id: `sender-${count}`, to: "s1", text: mail });
  expect((await open.call("s1", "bash", { command: "ls" })).result).toContain(mail);
}

/** Whether a hook beside that of the turn's end waits until the file is free: how it wakes is tested by client. */
const wakes =
  (is: boolean): Check =>
  ({ name, of }) => {
    const calls = { begins: (words: string) => words, ends: (words: string) => words };
    const around = { env: {}, ppid: 40, socket: "/s", home: "/k", waitMs: 0, wake: true, calls };
    const { actions } = adapterOf(name).plan({ ...of.stop(), session_id: "s1", cwd: "/p" }, around);
    expect(actions.some(action => action.do === "await_release")).toBe(is);
  };

/** `nested`: an agent that another one began holds in the name of their session. */
async function subagentsHold(column: Column, isOneOwner: boolean, nested: boolean): Promise<void> {
  const scene = await Scene.begun(column);
  const { of, own } = scene;
  const edit = (file: string) => of.beforeEdit(scene.path(file), file);
  const holder = (agent: string) => ({ id: own, agent: isOneOwner ? null : agent });
  for (const [agent, file] of [
    ["kid-1", "a.ts"],
    ["kid-2", "b.ts"],
  ] as const) {
    expect((await scene.owns(of.inSubagent(edit(file), own, agent), true)).denial).toBeNull();
    expect(await scene.holderOf(file)).toMatchObject(holder(agent));
  }
  await scene.owns(of.inNested(edit("c.ts"), own, "kid-1", "nested"), true);
  const held = await scene.holderOf("c.ts");
  if (nested) expect(held).toMatchObject(holder("nested"));
  else expect(held?.id).not.toBe(own);
}

/** How long such a write counts as under way is tested in `core-writes-in-flight.test.ts`. */
const untold =
  (write: boolean, patch: boolean): Check =>
  ({ name }) => {
    const { untoldWriteMs, untoldPatchMs } = adapterOf(name).limits;
    expect([untoldWriteMs !== null, untoldPatchMs !== null]).toEqual([write, patch]);
  };

/** Where the client runs a shell's command; a missing program and a plugin without a daemon are tested by client. */
const goesOn: Check = ({ name }) => {
  const env = { HOME: home.folder(), PATH: "/usr/bin:/bin" };
  for (const { command } of entriesBeforeLine(name)) {
    if (command === undefined) continue;
    const ran = spawnSync("/bin/sh", ["-c", command], { env, input: "{}", encoding: "utf8" });
    expect(ran).toMatchObject({ status: 0, stdout: "", stderr: "" });
  }
};

/** By row, and by what its cells say. */
const checks: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  "an edit waits, or is denied": {
    yes: waitsUpTo(longestMs),
    "yes; a patch gets all its files, or none": async column => {
      await waitsUpTo(longestMs)(column);
      await patchGetsAll(column);
    },
    "yes, 15 s at most": waitsUpTo(15_000),
  },
  "a write over lines that its agent has not read": {
    // Where the client refuses it itself, Kite has nothing to do.
    "refused by the client": column => runs(column, "beforeWhole"),
    "refused once": refusedOnce,
    "refused once, where a patch adds or deletes the file": async column => {
      await refusedOnce(column);
      await runs(column, "beforeEdit");
    },
  },
  "shell lines that wipe others' work are stopped": {
    "every line": async column => {
      expect(entriesBeforeLine(column.name).filter(({ rule }) => rule !== undefined)).toEqual([]);
      await wipesAreStopped(column);
    },
    "those that its rules match": async column => {
      expect(entriesBeforeLine(column.name).every(({ rule }) => rule !== undefined)).toBe(true);
      await wipesAreStopped(column);
    },
  },
  "a process a shell line": {
    one: ({ name }) => expect(entriesBeforeLine(name)).toHaveLength(1),
    none: ({ name }) => expect(entriesBeforeLine(name)).toEqual([]),
    "of those that its rules match": ({ name }) =>
      expect(entriesBeforeLine(name)).toContainEqual({ rule: "Bash(*git*)" }),
  },
  "gates and roles hold": {
    yes: gates(false),
    "yes, one for all agents of a session": gates(true),
  },
  "who is there, at the start": { "session, subagent": subagentIsTold, session: sessionIsTold },
  "messages reach the agent": {
    "before a call": async column => expect((await withMail(column))[0]).toContain(mail),
    "behind a call's result": async column => {
      if (column.name === "opencode") return await mailBehindPluginsCall();
      const [before, after] = await withMail(column);
      expect(before).not.toContain(mail);
      expect(after).toContain(mail);
    },
  },
  "goes on when a file is free": { yes: wakes(true), no: wakes(false) },
  "subagents have their own locks": {
    yes: column => subagentsHold(column, false, true),
    "yes, but nested ones": column => subagentsHold(column, false, false),
    "no, one owner": column => subagentsHold(column, true, true),
  },
  "a write whose end is not told": {
    none: untold(false, false),
    "a patch in a shell line": untold(false, true),
    "after Esc": untold(true, false),
  },
  "without a daemon, or without Kite": { "goes on": goesOn },
};

const columns = titles.slice(1).map((title, i): Column & { readonly title: string; readonly nth: number } => {
  const { name } = adapters.find(adapter => adapter.title === title) ?? adapterOf(title);
  const of = clientMakers.find(({ client }) => (client ?? "claude-code") === name) ?? claude;
  return { title, name, of, nth: i + 1 };
});

test("the table has a column for each client, and a row for each check", () => {
  expect(columns.map(({ name }) => name).sort()).toEqual(adapters.map(({ name }) => name).sort());
  expect(rows.map(([row]) => row)).toEqual(Object.keys(checks));
});

describe.each(columns.map(column => [column.title, column] as const))("%s", (_, column) => {
  test.each(rows.map(row => [row[0] ?? "", row[column.nth] ?? ""] as const))("%s: %s", async (row, cell) => {
    const check = checks[row]?.[cell];
    expect(check, `a check for "${cell}" in the row "${row}"`).toBeDefined();
    await check?.(column);
  });
});
