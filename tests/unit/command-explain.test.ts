/** kite explain: what a file, an agent and a task are told to be, with a daemon and from the trail alone. */

import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { explain } from "../../bin/commands/explain.ts";
import { encode, fileName, type TrailLine } from "../../daemon/trail/line.ts";
import { personName } from "../../protocol/names.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { WriteRow } from "../../protocol/work.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type FakeDaemon, type FakeWorld, fakeDaemon, fakeWorld } from "./command-world.ts";
import { lock, needed, now, task as rowOfTask, session } from "./view-rows.ts";

const shop = "/home/ana/code/shop";
const project = `${shop}/.git`;

function line(name: string, secondsAgo: number, more: Partial<TrailLine> = {}): TrailLine {
  return {
    at: now - secondsAgo * 1000,
    event: "PreToolUse",
    id: `${name}-0000-4000`,
    agent: null,
    name,
    project,
    type: "Edit",
    file: `${shop}/src/auth.ts`,
    decision: "allow",
    rule: "lock",
    ms: 2,
    ...more,
  };
}

const timeout = {
  decision: "deny",
  code: "lock_timeout",
  why: "lock queue timeout (50s)",
  ms: 50_000,
  waitedMs: 50_000,
} as const;
const task = { project: shop, file: null, rule: "task", ms: undefined } as const;

const lines: readonly TrailLine[] = [
  line("carol", 4_000, { ...task, event: "task_create", type: "task_create", task: "t-mhx3-1a" }),
  line("dave", 3_900, { ...task, event: "task_claim", type: "task_claim", task: "t-mhx3-1a" }),
  line("dave", 3_800, {
    ...task,
    event: "task_released",
    decision: "note",
    type: "anchor_gone",
    task: "t-mhx3-1a",
    why: "its process ended, t-mhx3-1a can be claimed again",
  }),
  line("dave", 3_800, { event: "session_ended", file: null, decision: "note", why: "its process ended" }),
  line("alice", 100),
  line("alice", 95, { event: "PostToolUse", decision: "event", rule: "write", ms: undefined }),
  line("alice", 94, { event: "PostToolUse", file: null, decision: "event", ms: 1.2 }),
  line("bob", 70, { event: "lock_queued", type: null, decision: "wait", why: "behind alice" }),
  line("bob", 20, timeout),
  line("alice", 10, { ...task, event: "task_claim", type: "task_claim", task: "t-mhx3-2b" }),
];

function taskRow(more: Partial<TaskRow> = {}): TaskRow {
  return rowOfTask("t-mhx3-1a", "Build the API", {
    project,
    dependsOn: ["t-mhx3-2b"],
    blockedBy: [needed("t-mhx3-2b", "active")],
    createdBy: "carol",
    createdAt: now - 4_000_000,
    updatedAt: now - 3_800_000,
    attempts: 1,
    ...more,
  });
}

const waiter = { id: "bob-0000-4000", agent: null, name: "bob", waitedMs: 8_000, attached: true };
const work: WriteRow = {
  file: "src/auth.ts",
  path: `${shop}/src/auth.ts`,
  project,
  worktree: shop,
  state: "changed",
  writers: [{ id: "alice-0000-4000", agent: null, name: "alice", live: true, by: "edit", at: now - 90_000 }],
  holder: null,
};
const freeze = {
  hold: "h-1",
  files: ["src/"],
  paths: [`${shop}/src`],
  project,
  by: null,
  text: "wait",
  heldMs: 1,
  leftMs: 40_000,
};

let root: string;
let daemon: FakeDaemon;

beforeEach(() => {
  root = temporaryFolder("kite-explain-");
  mkdirSync(join(root, "trail"), { recursive: true });
  appendFileSync(join(root, "trail", fileName(1)), lines.map(encode).join(""));
  const held = lock("src/auth.ts", "alice", { heldMs: 100_000, waiters: [waiter] });
  const unknown = { ok: false, code: "unknown_task", error: "no task t-9; nearest: t-mhx3-1a" };
  const tasks: Record<string, TaskRow> = {
    "t-mhx3-1a": taskRow(),
    "#46": taskRow(),
    "t-mhx3-2b": taskRow({ id: "t-mhx3-2b", status: "active", assigneeName: "alice", blockedBy: [] }),
  };
  daemon = fakeDaemon({
    "query sessions": ({ id }) => {
      const rows = [session("alice"), session("bob", { branch: null })];
      return { ok: true, rows: rows.filter(row => id === undefined || row.id === id) };
    },
    "query locks": { ok: true, rows: [held, lock("README.md", "carol")] },
    "query declarations": { ok: true, rows: [] },
    "query tasks": { ok: true, rows: [] },
    "query messages": { ok: true, rows: [] },
    "query holds": { ok: true, rows: [freeze] },
    "query writes": { ok: true, rows: [work, { ...work, path: `${shop}/b.ts`, file: "b.ts" }] },
    task_get: asked => {
      const found = tasks[String(asked["task"])];
      return found === undefined ? unknown : { ok: true, task: found };
    },
  });
});

/** Runs the command on 80 columns; returns its exit code and what it printed. */
async function run(
  what: string | undefined,
  flags: Partial<Parameters<typeof explain>[2]> = {},
  more: { readonly alone?: true; readonly cwd?: string } = {},
): Promise<{ code: number; out: string; err: string }> {
  const base = more.alone ? fakeWorld({ home: root }) : fakeWorld({ home: root, daemon });
  const world: FakeWorld = { ...base, cwd: more.cwd ?? shop };
  const code = await explain(world, what, { lines: "20", ...flags });
  for (const text of world.out().split("\n"))
    if (!flags.json) expect(text.length, text).toBeLessThanOrEqual(80);
  return { code, out: world.out(), err: world.err() };
}

/** The text between the backquotes, without the line breaks at its ends. */
function text(strings: TemplateStringsArray): string {
  return (strings[0] ?? "").slice(1);
}

describe("a file", () => {
  it("has holders, waiters, freezes, a last writer, and its latest decisions", async () => {
    expect(await run("src/auth.ts")).toEqual({
      code: 0,
      err: "",
      out: text`
alice holds src/auth.ts since 13:58:20: its edit lock ends when alice has
  answered its prompt.
bob waits for src/auth.ts since 13:59:52 behind alice, queue position 1.
a person at a terminal froze src for another 40s: others may not edit it.
alice wrote src/auth.ts last, at 13:58:30; that work is not committed.

Latest decisions
13:58:20  alice took src/auth.ts at once.
13:59:40  bob was denied src/auth.ts after 50s: the file did not get free within
          50 s. alice had taken it at 13:58:20.
`.replace("a person at a terminal", personName()),
    });
    expect(daemon.asked.find(one => one["target"] === "writes")).toMatchObject({ project });
  });

  it("has only its trail without a daemon, which is said", async () => {
    expect((await run("src/", { lines: "1" }, { alone: true })).out).toBe(text`
No daemon runs: this is what the log alone tells. It ends at 13:59:50.
alice took src/auth.ts at 13:58:20, and the log tells of no release.
alice wrote src/auth.ts last, at 13:58:25.

Latest decisions
13:59:40  bob was denied src/auth.ts after 50s: the file did not get free within
          50 s. alice had taken it at 13:58:20.
`);
  });

  it("may be free, and unknown to the trail, if it exists", async () => {
    writeFileSync(join(root, "new.ts"), "");
    daemon.answers["query holds"] = { ok: true, rows: [] };
    expect((await run(join(root, "new.ts"))).out).toBe(text`
Nobody holds it or waits for it.
The log tells of no write.

The log has no decision about it.
`);
  });
});

it("a name that nobody knows brings the nearest file", async () => {
  const unknown = "kite: nothing is known of a file, agent or task ";
  expect((await run("src/auht.ts")).err).toBe(`${unknown}src/auht.ts; did you mean src/auth.ts?\n`);
  expect((await run("auth.ts")).err).toBe(`${unknown}auth.ts; did you mean src/auth.ts?\n`);
  expect((await run("zzzzz")).err).toBe(`${unknown}zzzzz; see kite log\n`);
  expect((await run(undefined, { file: "src/auht.ts" })).err).toBe(
    "kite: nothing is known of a file src/auht.ts; did you mean src/auth.ts?\n",
  );
});

describe("an agent", () => {
  it("is somewhere, holds and waits, and is told what to do about its latest refusal", async () => {
    expect((await run("bob")).out).toBe(text`
bob is active in ~/code/shop, heard of just now.
bob waits for src/auth.ts since 13:59:52 behind alice, queue position 1.
bob was last denied src/auth.ts at 13:59:40: the file did not get free within 50
  s. To do: try again, which waits in the queue

  session    bob, pid 4800, since 12:55:00, seen 0s ago
  project    shop
  directory  ~/code/shop
  declared   nothing

Latest decisions
13:59:40  bob was denied src/auth.ts after 50s: the file did not get free within
          50 s. alice had taken it at 13:58:20.
`);
  });

  it("has nothing left to do once it got what it was refused", async () => {
    const got = line("bob", 5, { ms: 4_000, waitedMs: 4_000 });
    const stash = {
      type: "git stash push",
      rule: "guard",
      decision: "deny",
      why: "would reach work",
    } as const;
    appendFileSync(join(root, "trail", fileName(1)), encode(got));
    const told = async () => (await run("bob", { lines: "1" })).out.replace(/\s+/g, " ");
    expect(await told()).toContain("It got it at 13:59:55: nothing is left to do.");
    appendFileSync(join(root, "trail", fileName(1)), encode(line("bob", 4, { ...stash, file: null })));
    expect(await told()).toContain(
      "bob was last denied `git stash push` at 13:59:56: would reach work. To do: commit its own files by name",
    );
  });

  it("is told which task it was refused, and what to do", async () => {
    const denied = { decision: "deny", code: "task_blocked", why: "blocked by t-mhx3-2b" } as const;
    const claim = { ...task, ...denied, event: "task_claim", task: "t-mhx3-1a" } as const;
    appendFileSync(join(root, "trail", fileName(1)), encode(line("alice", 4, claim)));
    expect((await run("alice", { lines: "1" })).out.replace(/\s+/g, " ")).toContain(
      "alice was last denied a task claim of t-mhx3-1a at 13:59:56: blocked by t-mhx3-2b. " +
        "To do: finish the tasks that it waits for first: kite task graph",
    );
  });

  it("of another machine is known by its name there, and what only that machine knows is not guessed", async () => {
    const far = { id: "b-1@desk.1.1", name: "bo@desk", machine: "desk", project, branch: "main", tasks: [] };
    const busy = { id: "t-mhx3-2b", description: "Build" };
    const rows = [
      { ...far, state: "there", tasks: [busy] },
      { ...far, name: "zed@desk", state: "lost" },
    ];
    daemon.answers["query elsewhere"] = { ok: true, rows };
    const hello = { ...daemon.client.daemon, sharedStoreId: "s1" };
    daemon = { ...daemon, client: { ...daemon.client, daemon: hello } };
    appendFileSync(join(root, "trail", fileName(1)), encode(line("bo@desk", 4)));
    const told = (await run("bo@desk")).out;
    expect(told).toContain("bo@desk is of the machine desk on branch main.\nbo@desk works on t-mhx3-2b.\n");
    expect(told).toContain("Its locks, waits and refusals are known on that machine alone.");
    expect(told).not.toContain("is not live");
    expect((await run("bo")).out).toContain("bo@desk is of the machine desk");
    expect((await run("zed@desk")).out).toContain("zed@desk is of the machine desk on branch main: lost.");
    expect((await run("bob")).out).toContain("bob is active");
  });

  it("is the one of this project, where another project has one of the same name", async () => {
    const elsewhere = { project: "/home/ana/code/bank/.git", worktree: "/home/ana/code/bank" };
    const rows = [
      session("alice", { ...elsewhere, id: "other-0000-4000" }),
      session("alice", { project: shop }),
    ];
    daemon.answers["query sessions"] = ({ id }) => ({
      ok: true,
      rows: rows.filter(row => id === undefined || row.id === id),
    });
    const other = line("alice", 3, { ...timeout, id: "other-0000-4000", ...elsewhere });
    appendFileSync(join(root, "trail", fileName(1)), encode(other));
    const { out, err } = await run("alice");
    expect(err).toBe("");
    expect(out).toContain("~/code/shop");
    expect(out).not.toMatch(/bank|was last denied/);
  });

  it("may have ended, and how is said", async () => {
    expect((await run("dave")).out).toBe(text`
dave's session ended at 12:56:40 (its process ended).
The log tells of no refusal.

Latest decisions
12:55:00  dave claimed t-mhx3-1a.
12:56:40  dave lost t-mhx3-1a: its process ended, t-mhx3-1a can be claimed
          again.
12:56:40  dave's session ended (its process ended).
`);
  });

  it("comes before a file of its name, and both are named", async () => {
    writeFileSync(join(root, "alice"), "");
    const both = await run("alice", {}, { cwd: root });
    expect(both.out).toContain("alice holds src/auth.ts since 13:58:20");
    expect(both.out).toMatch(/\nalice is also a file\. To explain that: kite explain --file alice\n$/);
    const file = await run(undefined, { file: "alice", json: true }, { cwd: root });
    expect(JSON.parse(file.out)).toMatchObject({
      about: "file",
      name: "alice",
      also: [],
      daemon: true,
      now: { path: join(root, "alice"), holders: [], waiters: [], freezes: [], lastWrite: null },
      explained: [],
    });
    expect((await run("./alice", {}, { cwd: root })).out).not.toContain("is also");
  });

  it("is looked for among those that the trail knows", async () => {
    const eve = await run(undefined, { agent: "eve" });
    expect(eve).toMatchObject({ code: 1, out: "" });
    expect(eve.err).toBe("kite: the log knows no agent eve; it knows alice, bob, dave, carol\n");
  });
});

describe("a task", () => {
  it("has a history, and what blocks it now", async () => {
    expect((await run("t-mhx3-1a")).out).toBe(text`
carol created t-mhx3-1a at 12:53:20: Build the API.
It waits for t-mhx3-2b: alice works on that.

Latest decisions
12:53:20  carol created it.
12:55:00  dave claimed it.
12:56:40  dave lost it: its process ended, t-mhx3-1a can be claimed again.
`);
  });

  it("is known by its number, unless an agent or a file has that name: then both are listed", async () => {
    const whole = (await run("t-mhx3-1a")).out;
    expect((await run("46")).out).toBe(whole);
    expect((await run("#46")).out).toBe(whole);
    expect((await run(undefined, { task: "46" })).out).toBe(whole);
    expect((await run("46", {}, { alone: true })).out).toContain("carol created it.");
    const create = { ...task, event: "task_create", type: "task_create", task: "t-mhx3-3" } as const;
    appendFileSync(join(root, "trail", fileName(1)), encode(line("46", 5, create)));
    expect(await run("46")).toMatchObject({
      code: 1,
      err: "kite: 46 names several things; say which: kite explain --task 46, kite explain --agent 46\n",
    });
    expect((await run(undefined, { task: "46" })).out).toBe(whole);
  });

  it("is known by its last part, and to the trail alone", async () => {
    expect((await run(undefined, { task: "1a" }, { alone: true })).out).toBe(text`
No daemon runs: this is what the log alone tells. It ends at 13:59:50.
What blocks it now, only a daemon knows. Start it: kite up

Latest decisions
12:53:20  carol created it.
12:55:00  dave claimed it.
12:56:40  dave lost it: its process ended, t-mhx3-1a can be claimed again.
`);
    const several = await run("t-mhx3", {}, { alone: true });
    expect(several.err).toBe("kite: t-mhx3 may be t-mhx3-1a or t-mhx3-2b; give more of the id\n");
    expect(several.code).toBe(1);
  });

  it("is by a part of its id one of this project, and by a whole id any", async () => {
    const other = { ...task, project: "/home/ana/code/blog", event: "task_create", task: "t-mhx4-1a" };
    const nowhere = { ...task, project: null, event: "task_update", type: "done", task: "t-mhx5-1a" };
    const own = { ...task, project: null, event: "task_update", type: "done", task: "t-mhx3-1a" };
    const more = [line("erin", 9, other), line("frank", 8, nowhere), line("gina", 7, own)];
    appendFileSync(join(root, "trail", fileName(1)), more.map(encode).join(""));
    const short = await run(undefined, { task: "1a" }, { alone: true });
    expect(short.out).toContain("gina finished it");
    expect(short.out).not.toMatch(/erin|frank/);
    expect((await run("t-mhx4-1a", {}, { alone: true })).out).toContain("erin created it.");
    const { err } = await run(undefined, { task: "1a" }, { alone: true, cwd: root });
    expect(err).toBe(
      "kite: nothing is known of a task 1a in this project; a task of another project needs its whole id\n",
    );
  });

  it.each([
    [taskRow({ blockedBy: [] }), "Nothing blocks it. To claim it: kite task claim t-mhx3-1a"],
    [taskRow({ status: "active", assigneeName: "bob" }), "It is active since 12:56:40: bob works on it."],
    [
      taskRow({ status: "active", assigneeName: "bob", assigneeLost: true }),
      "It is active since 12:56:40: bob has it and is lost, so nothing is heard of it.",
    ],
    [taskRow({ status: "done", result: "four tables" }), "It is done since 12:56:40: four tables."],
    [taskRow({ status: "failed", result: "no server" }), "It failed at 12:56:40: no server."],
  ])("stands somewhere %#", async (row, said) => {
    daemon.answers["task_get"] = { ok: true, task: row };
    expect((await run("t-mhx3-1a")).out.split("\n")[1]).toBe(said);
  });

  it("that nobody knows is refused as the daemon refuses it", async () => {
    expect(await run(undefined, { task: "t-9" })).toEqual({
      code: 1,
      out: "",
      err: "kite: no task t-9; nearest: t-mhx3-1a\n",
    });
    expect((await run("t-9")).err).toBe(
      "kite: nothing is known of a file, agent or task t-9; see kite log\n",
    );
  });
});

it("takes one thing to explain, and a number of lines", async () => {
  expect((await run(undefined)).err).toBe("kite: give one thing to explain: a file, an agent or a task\n");
  expect((await run("a", { agent: "b" })).err).toContain("give one thing");
  expect((await run("bob", { lines: "0" })).err).toContain("-n takes a number from 1 to");
  const json = await run("nobody", { json: true });
  expect(JSON.parse(json.out)).toMatchObject({ ok: false, code: "nothing_known" });
});
