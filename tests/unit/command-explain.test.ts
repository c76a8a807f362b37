/** `kite explain`: its sentences, and the latest refusal. */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { explain } from "../../bin/commands/explain.ts";
import { type Explained, LockHistory, Story } from "../../bin/trail/explained.ts";
import { explainLines } from "../../bin/trail/sentences.ts";
import { encode, fileName, type TrailLine } from "../../daemon/trail/line.ts";
import { personName } from "../../protocol/names.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { WriteRow } from "../../protocol/work.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type FakeDaemon, type FakeWorld, fakeDaemon, fakeWorld } from "./command-world.ts";
import { lock, needed, now, task as rowOfTask, screen, session } from "./view-rows.ts";

// kite explain: what a file, an agent and a task are told to be, with a daemon and from the trail alone.
describe("kite explain", () => {
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
    writers: [
      { id: "alice-0000-4000", agent: null, name: "alice", live: true, by: "edit", at: now - 90_000 },
    ],
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
      const far = {
        id: "b-1@desk.1.1",
        name: "bo@desk",
        machine: "desk",
        project,
        branch: "main",
        tasks: [],
      };
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
});

// kite explain --last: the latest refusal of an agent or of a project, and the way out that holds now.
describe("kite explain --last", () => {
  let root: string;
  let shop: string;
  const flags = { lines: "20", last: true } as const;

  function line(name: string, secondsAgo: number, more: Partial<TrailLine> = {}): TrailLine {
    return {
      at: now - secondsAgo * 1000,
      event: "PreToolUse",
      id: `${name}-0000-4000`,
      agent: null,
      name,
      project: shop,
      type: "Edit",
      file: join(shop, "auth.ts"),
      decision: "allow",
      rule: "lock",
      ...more,
    };
  }

  const timeout = {
    decision: "deny",
    code: "lock_timeout",
    why: "lock queue timeout (50s)",
    holder: "alice",
  } as const;

  /** A person's terminal, or with a session the shell of its agent. */
  function worldWith(
    lines: readonly TrailLine[],
    locks?: readonly Partial<LockRow>[],
    session?: string,
  ): FakeWorld {
    const daemon =
      locks === undefined
        ? undefined
        : fakeDaemon({
            "query locks": { ok: true, rows: locks },
            whoami: { ok: false, code: "unknown_session", error: "none" },
          });
    const env = session === undefined ? {} : { KITE_SESSION: session };
    const world = fakeWorld({ home: join(root, ".kite"), env, ...(daemon === undefined ? {} : { daemon }) });
    mkdirSync(world.paths.trail, { recursive: true });
    writeFileSync(join(world.paths.trail, fileName(1)), lines.map(encode).join(""));
    return { ...world, cwd: shop, argv: ["node", "kite", "explain", "--last"] };
  }

  const lockOf = (name: string, more: Partial<LockRow> = {}): Partial<LockRow> => ({
    file: "auth.ts",
    path: join(shop, "auth.ts"),
    project: shop,
    kind: "turn",
    holder: { id: `${name}-0000-4000`, agent: null, name },
    waiters: [],
    ...more,
  });

  const said = (world: FakeWorld) => world.out().replaceAll(/\s+/g, " ");

  beforeEach(() => {
    root = temporaryFolder("kite-last-");
    shop = join(root, "shop");
    mkdirSync(shop);
  });

  describe("kite explain --last", () => {
    it("names the agent, the reason, what ends it, and one line that lets it through", async () => {
      const world = worldWith(
        [line("alice", 100), line("bob", 20, timeout), line("carol", 5)],
        [lockOf("alice")],
      );
      expect(await explain(world, undefined, flags)).toBe(0);
      expect(said(world)).toContain("bob was denied");
      expect(said(world)).toContain(
        "What ends it: alice's lock ends when alice has answered its prompt, or passes on 15 s after",
      );
      expect(said(world)).toContain(
        `To let it through once: kite unlock --force ${join(shop, "auth.ts")} (takes the lock from alice`,
      );
      expect(said(world)).toContain("kite help in-my-way");
    });

    it("promises no end by itself for a lock that is kept", async () => {
      const world = worldWith([line("bob", 20, timeout)], [lockOf("alice", { use: "kept" })]);
      await explain(world, undefined, flags);
      expect(said(world)).toContain("alice keeps the lock until its work is done");
    });

    it("says that nothing holds the file now, or that it is over", async () => {
      const free = worldWith([line("bob", 20, timeout)], []);
      await explain(free, undefined, flags);
      expect(said(free)).toContain("nobody else has the file now: the agent may try again");
      expect(said(free)).not.toContain("To let it through");
      const over = worldWith([line("bob", 20, timeout), line("bob", 10)], [lockOf("bob")]);
      await explain(over, undefined, flags);
      expect(said(over)).toMatch(/It is over: bob went on at/);
    });

    it("is an agent's own in its shell, whose user runs what lets it through", async () => {
      const lines = [
        line("bob", 30, timeout),
        line("carol", 20, { ...timeout, file: join(shop, "other.ts") }),
      ];
      const world = worldWith(lines, [lockOf("alice")], "bob-0000-4000");
      expect(await explain(world, undefined, flags)).toBe(0);
      expect(said(world)).toContain("bob was denied auth.ts");
      expect(said(world)).toContain("To let it through once, your user runs: kite unlock --force");
    });

    it("is of this project alone, and of refusals, waits and warnings", async () => {
      const lines = [
        line("bob", 90, {
          decision: "note",
          rule: "guard",
          type: "git stash",
          why: "it would stash alice's work",
        }),
        line("dave", 50, { ...timeout, project: "/elsewhere" }),
        line("bob", 40, { decision: "note", rule: "session" }),
      ];
      const world = worldWith(lines);
      expect(await explain(world, undefined, { ...flags, json: true })).toBe(0);
      expect(JSON.parse(world.out())).toMatchObject({
        about: "last",
        line: { type: "git stash", name: "bob" },
        solvedAt: null,
      });
      const none = worldWith(lines.slice(1));
      expect(await explain(none, undefined, flags)).toBe(1);
      expect(none.err()).toContain("Kite refused nothing in this project");
    });

    it.each([
      ["freeze", { decision: "deny", rule: "freeze", code: "edits_held" }, /kite thaw \S+auth\.ts$/],
      [
        "guard",
        { decision: "deny", rule: "guard", type: "git stash", file: null },
        /^kite off --session bob --for 5m$/,
      ],
      [
        "gate",
        { decision: "deny", rule: "declaration,role", file: null },
        /^kite off --session bob --for 5m$/,
      ],
    ] as const)("of a %s it gives the command that lets it through", async (_name, more, wanted) => {
      const world = worldWith([line("bob", 20, more)]);
      await explain(world, undefined, { ...flags, json: true });
      expect(JSON.parse(world.out()).letThrough).toMatch(wanted);
    });

    it("takes no name beside it", async () => {
      const world = worldWith([]);
      expect(await explain(world, "auth.ts", flags)).toBe(1);
      expect(world.err()).toContain("--last takes no name");
    });
  });
});

// kite explain: from lines of the trail to sentences.

function line(name: string, secondsAgo: number, more: Partial<TrailLine> = {}): TrailLine {
  return {
    at: now - secondsAgo * 1000,
    event: "PreToolUse",
    id: `${name}-0000-4000`,
    agent: null,
    name,
    project: "/home/ana/code/shop/.git",
    type: "PreToolUse",
    file: "/home/ana/code/shop/src/auth.ts",
    decision: "allow",
    ms: 2,
    ...more,
  };
}

/** What the lines tell, as the command reads them. */
function storyOf(
  lines: readonly TrailLine[],
  wanted: (line: TrailLine) => boolean = () => true,
  max = 100,
): readonly Explained[] {
  const history = new LockHistory();
  const story = new Story(wanted, max);
  for (const one of lines) {
    story.add(one, history);
    history.add(one);
  }
  return story.found;
}

const told = (lines: readonly TrailLine[], wanted?: (line: TrailLine) => boolean) =>
  storyOf(lines, wanted).flatMap(one => explainLines(one, screen(160)));

describe("the sentences", () => {
  it("tell who took a file, who waited for whom, who was denied, and how it ended", () => {
    const timeout = { decision: "deny", code: "lock_timeout", why: "lock queue timeout (50s)" } as const;
    expect(
      told([
        line("alice", 100),
        line("bob", 60, { ms: 12_300 }),
        line("carol", 10, { ...timeout, ms: 50_004 }),
        line("bob", 9, { event: "file_unlock" }),
        line("bob", 8, { event: "file_unlock", decision: "deny", why: "you do not hold it" }),
        line("alice", 5, { event: "SessionEnd", file: null, decision: "note", why: "logout" }),
        line("bob", 4, {
          event: "lock_yielded",
          decision: "note",
          why: "yielded to carol, untouched for 15s",
        }),
      ]),
    ).toEqual([
      "13:58:20  alice took src/auth.ts at once.",
      "13:59:00  bob waited 12s for src/auth.ts, then had it. alice had taken it at 13:58:20.",
      "13:59:50  carol was denied src/auth.ts after 50s: the file did not get free within 50 s. bob had taken it at 13:59:00.",
      "13:59:51  bob released src/auth.ts.",
      "13:59:52  bob could not release src/auth.ts: you do not hold it.",
      "13:59:55  alice's session ended (logout).",
      "13:59:56  bob, src/auth.ts: yielded to carol, untouched for 15s.",
    ]);
  });

  it("name the git command that was stopped or let run", () => {
    const index = { type: "git add -A", file: null } as const;
    const wipe = {
      type: "git stash push",
      decision: "deny",
      why: "would reach uncommitted work: src/auth.ts (bob)",
    } as const;
    expect(
      told([
        line("bob", 50),
        line("carol", 40, wipe),
        line("carol", 30, index),
        line("carol", 29, { ...index, ms: 2000 }),
      ]),
    ).toEqual([
      "13:59:10  bob took src/auth.ts at once.",
      "13:59:20  carol was denied `git stash push`: would reach uncommitted work: src/auth.ts (bob).",
      "13:59:30  carol ran `git add -A`, and again 1 time until 13:59:31.",
    ]);
    expect(told([line("carol", 29, { ...index, ms: 2000 })])).toEqual([
      "13:59:31  carol ran `git add -A` after 2s.",
    ]);
  });

  it("tell of a row of the same once, and of waits each", () => {
    expect(told([line("bob", 30), line("bob", 20), line("bob", 10), line("eve", 5), line("bob", 1)])).toEqual(
      [
        "13:59:30  bob took src/auth.ts at once, and again 2 times until 13:59:50.",
        "13:59:55  eve took src/auth.ts at once.",
        "13:59:59  bob took src/auth.ts at once.",
      ],
    );
    expect(told([line("bob", 30, { ms: 500 }), line("bob", 20, { ms: 500 })])).toHaveLength(2);
  });

  it("know from the others' lines who had the file, and forget who released it", () => {
    const isBob = (one: TrailLine) => one.name === "bob";
    const release = line("alice", 20, { event: "file_unlock" });
    const waited = line("bob", 10, { ms: 3_000, file: "src/auth.ts" });
    expect(told([line("alice", 30), waited], isBob)).toEqual([
      "13:59:50  bob waited 3s for src/auth.ts, then had it. alice had taken it at 13:59:30.",
    ]);
    expect(told([line("alice", 30), release, waited], isBob)).toEqual([
      "13:59:50  bob waited 3s for src/auth.ts, then had it.",
    ]);
  });

  it("name agents, strangers and files elsewhere, and nothing that moves the cursor", () => {
    expect(
      told([
        line("bob", 3, { agent: "a1b2c3d4e5", file: "/home/ana/x" }),
        line("", 2, { name: null, file: "/etc/\u001b[2Jhosts\u202e", project: null }),
        line("bob/Explore", 1, { agent: "a1b2c3d4e5", decision: "deny", why: "a\nb\u0007" }),
      ]),
    ).toEqual([
      "13:59:57  bob/a1b2c3d4 took ~/x at once.",
      "13:59:58  -0000-40 took /etc/ [2Jhosts at once.",
      "13:59:59  bob/Explore was denied src/auth.ts: a b.",
    ]);
  });

  it("keep to the width", () => {
    const [one] = storyOf([line("bob", 10, { ms: 3_000 })]);
    expect(one && explainLines(one, screen(40))).toEqual([
      "13:59:50  bob waited 3s for src/auth.ts,",
      "          then had it.",
    ]);
  });

  it("tell of a wait only until it is over, and how a lock ended after how long", () => {
    const wait = { event: "lock_queued", type: null, decision: "wait", rule: "lock" } as const;
    const behind = { ...wait, why: "behind alice, queue position 1" };
    const end = { event: "lock_released", decision: "note", rule: "lock" } as const;
    expect(
      told([
        line("alice", 100, { rule: "lock" }),
        line("bob", 90, behind),
        line("carol", 85, behind),
        line("alice", 80, { ...end, type: "turn ended", why: "its turn ended", heldMs: 20_000 }),
        line("bob", 80, { rule: "lock", ms: 10_000, waitedMs: 10_000 }),
        line("bob", 70, { rule: "lock", ms: 500 }),
        line("bob", 60, { ...end, type: "unlocked", why: "its holder unlocked it", heldMs: 20_000 }),
        line("dave", 50, {
          event: "session_started",
          file: null,
          decision: "note",
          why: "its session began",
        }),
        line("dave", 40, { event: "session_ended", file: null, decision: "note", why: "its process ended" }),
        line("", 30, {
          name: null,
          id: null,
          event: "hold_ended",
          decision: "note",
          why: "the freeze ended",
        }),
        line("eve", 20, { type: "Edit", rule: "ignore", why: "ignored: it needs no lock" }),
      ]),
    ).toEqual([
      "13:58:20  alice took src/auth.ts at once.",
      "13:58:35  carol began to wait for src/auth.ts: behind alice, queue position 1.",
      "13:58:40  alice's lock on src/auth.ts ended after 20s: its turn ended.",
      "13:58:40  bob waited 10s for src/auth.ts, then had it.",
      "13:58:50  bob took src/auth.ts at once.",
      "13:59:00  bob released src/auth.ts after 20s.",
      "13:59:10  dave's session began.",
      "13:59:20  dave's session ended (its process ended).",
      "13:59:30  src/auth.ts: the freeze ended.",
      "13:59:40  eve, src/auth.ts: ignored: it needs no lock.",
    ]);
  });

  it("tell what became of a task", () => {
    const task = { file: null, rule: "task", task: "t-1-1" } as const;
    const by = (name: string, event: string, more: Partial<TrailLine> = {}) =>
      line(name, 10, { ...task, event, type: event, ...more });
    expect(
      told([
        by("alice", "task_create"),
        by("bob", "task_claim"),
        by("carol", "task_claim", { decision: "deny", why: "bob works on t-1-1" }),
        by("bob", "task_released", {
          decision: "note",
          why: "its process ended, t-1-1 can be claimed again",
        }),
        by("carol", "task_update", { type: "done", why: "t-1-1 done" }),
        by("carol", "task_update"),
        by("carol", "task_release"),
        by("carol", "task_update", { type: "failed" }),
        by("dan", "task_release", { decision: "deny", why: "not his" }),
        by("dan", "task_update", { type: "pending" }),
        line("carol", 10, {
          file: null,
          rule: "task",
          event: "task_create",
          type: null,
          why: "t-1-2 pending",
        }),
      ]).map(text => text.slice(10)),
    ).toEqual([
      "alice created t-1-1.",
      "bob claimed t-1-1.",
      "carol could not claim t-1-1: bob works on t-1-1.",
      "bob lost t-1-1: its process ended, t-1-1 can be claimed again.",
      "carol finished t-1-1.",
      "carol changed t-1-1.",
      "carol gave t-1-1 back.",
      "carol gave t-1-1 up as failed.",
      "dan could not give t-1-1 back: not his.",
      "dan made t-1-1 pending again.",
      "carol created t-1-2 pending.",
    ]);
  });

  it("keep no more than is shown, however long the trail is", () => {
    const lines = Array.from({ length: 1_000 }, (_, i) => line("bob", 1_000 - i, { file: `/f${i}` }));
    expect(storyOf(lines, () => true, 3).map(({ file }) => file)).toEqual(["/f997", "/f998", "/f999"]);
  });
});
