/** Rows of locks and sessions, and what a session does. */
import { describe, expect, it } from "vitest";
import { sessionsView } from "../../bin/view/sessions.ts";
import { ownView } from "../../daemon/engine/log-view.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { postedRows } from "../../daemon/views/messages.ts";
import type { Keyed } from "../../daemon/views/paging.ts";
import { lockRows, sessionRows, workedOn } from "../../daemon/views/sessions.ts";
import { declarationRows, endedDeclarationRows, riskRows, writeRows } from "../../daemon/views/work.ts";
import { limits } from "../../protocol/limits.ts";
import { oneLog } from "../one-log.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { Random } from "../simulation/random.ts";
import { World } from "./core-world.ts";
import { plan } from "./hook-events.ts";
import { claimOf, TaskWorld } from "./task-world.ts";
import { screen, session } from "./view-rows.ts";

const source = (w: World, now = w.now, presence = new PresenceTable(new SimulatedClock(now))) => ({
  engine: oneLog({ state: w.state, now }),
  presence,
});
const locks = (w: World, now = w.now) => [...lockRows(source(w, now))].map(({ row }) => row());

describe("rows of locks", () => {
  it("name the file, its holder, how long it is held, and who waits in which order", () => {
    const w = new World();
    w.begin("a", { name: "alice", project: "/shop" });
    w.begin("b", { name: "bob", project: "/shop" });
    w.lock("a", "x");
    w.pass(1000);
    w.lock("b", "x");
    w.lock({ session: "b", agent: "sub", incarnation: 0 }, "x", { kind: "turn", placeMs: limits.placeMs });
    w.pass(500);
    expect(locks(w, w.now + 250)).toEqual([
      {
        file: "x",
        path: "/p/x",
        project: "/shop",
        kind: "explicit",
        holder: { id: "a", agent: null, name: "alice" },
        token: "store.1.1",
        heldMs: 1750,
        use: "kept",
        waiters: [
          { id: "b", agent: null, name: "bob", waitedMs: 750, attached: true },
          { id: "b", agent: "sub", name: "bob/sub", waitedMs: 750, attached: true },
        ],
      },
    ]);
  });

  it("tell who waits for a file by way of its directory", () => {
    const w = new World();
    w.lock("a", "src/one");
    w.lock("b", "src/");
    expect(locks(w)).toMatchObject([{ path: "/p/src/one", waiters: [{ id: "b" }] }]);
  });

  it("show a file that is free itself but waited for as part of a set", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("b", ["x", "y"]);
    w.lock("c", "y");
    expect(locks(w)).toMatchObject([
      { path: "/p/x", holder: { id: "a" }, waiters: [{ id: "b" }] },
      { path: "/p/y", holder: null, token: null, heldMs: 0, waiters: [{ id: "b" }, { id: "c" }] },
    ]);
  });

  it("show places that nobody answers for as such", () => {
    const w = new World();
    w.lock("a", "x", { kind: "turn" });
    w.lock("b", "x", { kind: "turn", placeMs: limits.placeMs, waitMs: 1000 });
    w.pass(1000);
    expect(locks(w)).toMatchObject([{ kind: "turn", waiters: [{ id: "b", attached: false }] }]);
  });
});

describe("rows of sessions", () => {
  function rows(w: World, presence: PresenceTable) {
    return [...sessionRows(source(w, w.now, presence))].map(({ row }) => row());
  }

  it("tell what is stored and what is only seen", () => {
    const w = new World();
    const clock = new SimulatedClock(w.now);
    const presence = new PresenceTable(clock);
    w.begin("a", { name: "alice", anchor: { pid: 7, startTime: "1" }, branch: "main" });
    w.begin("b");
    w.lock("b", "y");
    w.lock("a", ["x", "z"]);
    w.lock("a", "y");
    presence.seen("a", "agent-one-of-many").active = true;
    presence.touched("a", "/p/x", "/p/x");
    clock.pass(3000);
    w.pass(3000);
    expect(rows(w, presence)[0]).toMatchObject({
      id: "a",
      name: "alice",
      branch: "main",
      pid: 7,
      status: "active",
      lastSeenMs: 3000,
      incarnations: 1,
      agents: [{ agent: "agent-one-of-many", name: "agent-on", status: "active" }],
      files: ["/p/x"],
      locks: 2,
      waitingFor: "y",
      waitingForPath: "/p/y",
      attention: null,
    });
    expect(rows(w, presence)[1]).toMatchObject({ id: "b", pid: null, status: "idle", waitingFor: null });
  });

  it("tell what each agent declared, in short", () => {
    const w = new World();
    const nothing = { ancestors: [], anew: false, files: [], uncertainties: [], wallMs: 0 };
    const say = (agent: string | null, role: string, task: string) =>
      w.do({ type: "declare", actor: { session: "a", agent, incarnation: 0 }, ...nothing, role, task });
    w.begin("a");
    w.begin("b");
    w.do({ type: "agent_begin", session: "a", agent: "x1", name: "Explore" });
    say(null, "lead", "x".repeat(limits.quoteChars + 1));
    say("x1", "", "look");
    const [first, second] = rows(w, new PresenceTable(new SimulatedClock(w.now)));
    expect(first?.declared).toEqual({ role: "lead", task: "x".repeat(limits.quoteChars) });
    expect(first?.agents).toMatchObject([{ agent: "x1", declared: { role: "", task: "look" } }]);
    expect(second).not.toHaveProperty("declared");
  });

  it("call lost who is lost, whatever it did last", () => {
    const w = new World();
    const presence = new PresenceTable(new SimulatedClock(w.now));
    w.begin("a");
    presence.of("a").active = true;
    w.do({ type: "session_lost", session: "a", begun: w.state.sessions.live.get("a")?.begun ?? -1 });
    expect(rows(w, presence)).toMatchObject([{ status: "lost" }]);
  });
});

describe("what a session works on", () => {
  it("is the task it claimed last, its agents told apart", () => {
    const w = new TaskWorld();
    w.begin("a");
    w.create("one", "two", "three");
    w.do(claimOf("a", w.id("two"), [], 10));
    w.do(claimOf("a", w.id("one"), [], 20));
    w.do(claimOf({ session: "a", agent: "sub", incarnation: 0 }, w.id("three"), [], 15));
    const words = (agent?: string | null) => workedOn(oneLog(w), "a", agent).map(t => t.description);
    expect([words(), words(null), words("sub"), words("other")]).toEqual([
      ["one", "three", "two"],
      ["one", "two"],
      ["three"],
      [],
    ]);
    const [row] = [...sessionRows(source(w))].map(({ row }) => row());
    expect(row?.task).toEqual({ id: w.id("one"), description: "one" });
  });
});

const ids = ["a", "b", "c", "d"];
const built = <Row>(rows: Iterable<Keyed<Row>>) => [...rows].map(({ row }) => row());

/** A world in which sessions and their agents lock, release, write to each other and end at random. */
function world(seed: number): World {
  const random = new Random(seed);
  const w = new World();
  const who = () => random.pick(ids);
  for (let i = 0; i < 300; i += 1) {
    const session = who();
    const actor = { session, agent: random.int(0, 1) === 0 ? null : "x", incarnation: 0 };
    const message = { text: "x", bytes: 1, wallMs: i, agents: [], replyTo: null, urgent: false };
    w.now += 5_000;
    if (!w.state.sessions.live.has(session)) w.begin(session, { project: random.pick(["/p", "/q"]) });
    const kind = random.int(0, 15);
    if (kind > 11) {
      const worktree = random.pick(["/v", "/w"]);
      const files = [random.int(0, 5), random.int(6, 9)].map(n => {
        return { key: `n:${worktree}/f${n}`, file: `f${n}`, worktree, project: "/p" };
      });
      const noted = { files, by: "shell", ancestors: [], wallMs: i } as const;
      w.do({ type: "writes_noted", actor, noted });
    } else if (kind > 9) {
      const view = { files: [], uncertainties: [], ancestors: [], task: `t${i}`, wallMs: i };
      w.do({ type: "declare", actor, anew: random.chance(0.3), ...view });
    } else if (kind < 4) w.lock(actor, `f${random.int(0, 9)}`, { waitMs: 0 });
    else if (kind < 8) w.do({ type: "message_send", actor, project: "/p", to: who(), ...message });
    else if (kind === 8) w.do({ type: "lock_release", actor, files: "all" });
    else if (random.chance(0.3)) w.do({ type: "session_end", session, incarnation: null, cause: "ended" });
  }
  return w;
}

describe("the rows of one session", () => {
  it.each([1, 2, 3, 4, 5])("are those of all that name it, in the same order: seed %i", seed => {
    const { state, now } = world(seed);
    const clock = { now: () => now, wall: () => now, at: () => () => {} };
    const source = { engine: oneLog({ state, now }), presence: new PresenceTable(clock) };
    const [locks, posted] = [built(lockRows(source)), built(postedRows(ownView({ state, now })))];
    const services = source as unknown as Parameters<typeof writeRows>[0];
    const [writes, risks] = [built(writeRows(services, new Map())), built(riskRows(services))];
    const [declared, ended] = [
      built(declarationRows(source.engine)),
      built(endedDeclarationRows(source.engine)),
    ];
    for (const rows of [locks, posted, writes, risks, declared, ended])
      expect(rows.length).toBeGreaterThan(0);
    for (const id of ids) {
      expect(built(lockRows(source, { id }))).toEqual(locks.filter(row => row.holder?.id === id));
      const wrote = writes.filter(row => row.writers.some(writer => writer.id === id));
      expect(built(writeRows(services, new Map(), { id }))).toEqual(wrote);
      const atRisk = risks.filter(row => row.sides.some(side => side.id === id));
      expect(built(riskRows(services, { id }))).toEqual(atRisk);
      expect(built(declarationRows(source.engine, { id }))).toEqual(declared.filter(row => row.id === id));
      expect(built(endedDeclarationRows(source.engine, { id }))).toEqual(ended.filter(row => row.id === id));
      const names = (row: (typeof posted)[number]) => row.from?.id === id || row.to.some(to => to.id === id);
      expect(built(postedRows(ownView({ state, now }), { session: id }))).toEqual(posted.filter(names));
      for (const project of ["/p", "/q"]) {
        const rows = built(sessionRows(source)).filter(row => row.project === project);
        expect(built(sessionRows(source, { project }))).toEqual(rows);
        expect(built(sessionRows(source, { id, project }))).toEqual(rows.filter(row => row.id === id));
      }
    }
  });
});

// What a list of sessions says that an agent does: from the event to the row and the view.

const doingOf = (name: string, tool: string, input: object) => {
  const call = { tool_name: tool, tool_use_id: "t", tool_input: input };
  return plan({ hook_event_name: name, session_id: "s", cwd: "/p", ...call }).doing;
};

describe("an event", () => {
  it("says which file is written, before and after", () => {
    expect(doingOf("PreToolUse", "Edit", { file_path: "/p/a.ts" })).toEqual({
      verb: "writes",
      what: "/p/a.ts",
    });
    expect(doingOf("PostToolUse", "NotebookEdit", { notebook_path: "/p/n.ipynb" })).toEqual({
      verb: "wrote",
      what: "/p/n.ipynb",
    });
    expect(doingOf("PreToolUse", "Read", { file_path: "/p/a.ts" })).toBeNull();
    expect(doingOf("Stop", "Edit", { file_path: "/p/a.ts" })).toBeNull();
  });

  it("says how a call ended that did not do what it should", () => {
    const failed = (more: object) =>
      plan({
        hook_event_name: "PostToolUseFailure",
        ...{ session_id: "s", cwd: "/p", tool_name: "Bash", tool_use_id: "t", error: "Exit code 1", ...more },
        tool_input: { command: "git stash" },
      }).doing;
    expect(failed({ is_interrupt: false })).toEqual({ verb: "failed", what: "git" });
    expect(failed({ is_interrupt: true })).toEqual({ verb: "interrupted", what: "git" });
  });

  it.each([
    ["npm test -- --secret=abc", "npm"],
    ["cd /p && TOKEN=abc ./bin/build.sh --fast", "build.sh"],
    ["/usr/bin/make -j2; rm x", "make"],
    ["\n  git status", "git"],
    ["$(cat secret)", null],
    ["", null],
  ])("names of %j the program alone", (command, what) => {
    expect(doingOf("PreToolUse", "Bash", { command })?.what ?? null).toBe(what);
  });
});

describe("presence", () => {
  it("keeps what a turn does, not what comes late or after its end", () => {
    const clock = new SimulatedClock(1_000);
    const presence = new PresenceTable(clock);
    const doing = () => presence.of("s").doing;
    presence.did("s", null, { verb: "runs", what: "npm" });
    expect(doing() ?? null).toBeNull();
    presence.seen("s");
    presence.turn("s", null, true);
    presence.did("s", null, { verb: "writes", what: "/p/a" });
    clock.pass(1_000);
    presence.did("s", null, { verb: "ran", what: "npm" });
    expect(doing()).toEqual({ verb: "writes", what: "/p/a", at: 1_000 });
    presence.did("s", null, { verb: "wrote", what: "/p/a" });
    expect(doing()).toEqual({ verb: "wrote", what: "/p/a", at: 2_000 });
    presence.turn("s", null, false);
    expect(doing()).toBeNull();
  });

  it("forgets what an interrupted turn did once another prompt comes", () => {
    const presence = new PresenceTable(new SimulatedClock(1_000));
    presence.seen("s");
    presence.prompted("s", "p1");
    presence.turn("s", null, true);
    presence.did("s", null, { verb: "runs", what: "git" });
    presence.prompted("s", "p1");
    expect(presence.of("s").doing).toMatchObject({ verb: "runs" });
    presence.prompted("s", "p2");
    expect(presence.of("s").doing).toBeNull();
  });
});

describe("the row of a session", () => {
  const noteOf = (more: object) => {
    const lines = sessionsView({ sessions: [session("ann", more)], locks: [] }, screen(120));
    return lines[1]?.replace(/^.*now */, "") ?? "";
  };
  const doing = (verb: string, what: string, forMs: number) => ({ doing: { verb, what, forMs } });

  it("says what it does, or did last", () => {
    expect(noteOf(doing("writes", "/home/ana/code/shop/src/auth.ts", 50_000))).toBe("writes src/auth.ts");
    expect(noteOf(doing("runs", "npm", 50_000))).toBe("runs npm");
    expect(noteOf(doing("ran", "npm", 1_000))).toBe("ran npm");
    expect(noteOf(doing("ran", "npm", 50_000))).toBe("ran npm 50s ago");
    expect(noteOf(doing("refused", "git", 11_000))).toBe("git refused 11s ago");
    expect(noteOf(doing("failed", "/home/ana/code/shop/src/auth.ts", 0))).toBe("edit of src/auth.ts failed");
    expect(noteOf({ ...doing("ran", "npm", 1_000), status: "idle" })).toBe("");
  });
});
