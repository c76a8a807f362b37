/** How locks, agents and sessions are named in replies. */
import { describe, expect, it } from "vitest";
import { emptyState, readState, writeState } from "../../daemon/core/snapshot.ts";
import { actorRow, fileLists, pathOf, tokenText } from "../../daemon/core/tables/naming.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, World } from "./core-world.ts";

describe("the names of the agents within a session", () => {
  const begin = (w: World, agent: string, name: string | null) =>
    w.do({ type: "agent_begin", session: "lead", agent, name });
  const nameOf = (w: World, agent: string) =>
    actorRow(w.state, { session: "lead", agent, incarnation: 0 }).name;

  function world(): World {
    const w = new World();
    w.begin("lead");
    return w;
  }

  it("are unique in it: a teammate's own, or a subagent's type with a number", () => {
    const w = world();
    for (const agent of ["a1", "a2", "a3"]) begin(w, agent, "Explore");
    begin(w, "a4", "alice");
    expect(["a1", "a2", "a3", "a4"].map(agent => nameOf(w, agent))).toEqual([
      "lead/Explore",
      "lead/Explore-2",
      "lead/Explore-3",
      "lead/alice",
    ]);
  });

  it("stay: only one that nobody had named gets a name later", () => {
    const w = world();
    begin(w, "a0123456789", null);
    expect(nameOf(w, "a0123456789")).toBe("lead/a0123456");
    begin(w, "a0123456789", "Plan");
    begin(w, "a0123456789", "Explore");
    begin(w, "a0123456789", null);
    expect(nameOf(w, "a0123456789")).toBe("lead/Plan");
  });

  it("outlive the agent where its work is shown, as many as may be, and come back from a snapshot", () => {
    const w = world();
    begin(w, "a1", "alice");
    const read = readState(writeState(w.state));
    expect(read.sessions.live.get("lead")?.agents).toEqual(new Map([["a1", "alice"]]));
    const end = (agent: string) =>
      w.do({ type: "agent_end", actor: { session: "lead", agent, incarnation: 0 } });
    end("a1");
    expect(nameOf(w, "a1")).toBe("lead/alice");
    expect(
      actorRow(readState(writeState(w.state)), { session: "lead", agent: "a1", incarnation: 0 }).name,
    ).toBe("lead/alice");
    begin(w, "a2", "alice");
    expect(nameOf(w, "a2")).toBe("lead/alice");
    // Nobody reaches it by that name.
    expect(w.do({ type: "agent_begin", session: "lead", agent: "a1", name: null })).toEqual({ ok: true });
    expect(nameOf(w, "a1")).toBe("lead/alice-2");
    for (let n = 0; n <= limits.endedAgentsMax; n += 1) {
      begin(w, `b${n}`, `bob${n}`);
      end(`b${n}`);
    }
    expect(w.state.sessions.live.get("lead")?.endedAgents.size).toBe(limits.endedAgentsMax);
    expect(nameOf(w, "b0")).toBe("lead/b0");
    expect(nameOf(w, "b1")).toBe("lead/bob1");
  });

  it("are not kept of an agent that has only its id, nor under the rules of before", () => {
    const w = world();
    begin(w, "a0123456789", null);
    w.do({ type: "agent_end", actor: { session: "lead", agent: "a0123456789", incarnation: 0 } });
    expect(w.state.sessions.live.get("lead")?.endedAgents.size).toBe(0);
    const before = new World(emptyState(1));
    before.begin("lead");
    begin(before, "a1", "alice");
    before.do({ type: "agent_end", actor: { session: "lead", agent: "a1", incarnation: 0 } });
    expect(nameOf(before, "a1")).toBe("lead/a1");
  });

  it("are bounded, and nobody's if the session is not live", () => {
    const w = world();
    for (let n = 0; n <= limits.agentsPerSessionMax; n += 1) begin(w, `a${n}`, "x");
    expect(w.state.sessions.live.get("lead")?.agents.size).toBe(limits.agentsPerSessionMax);
    expect(w.do({ type: "agent_begin", session: "gone", agent: "a1", name: "x" })).toEqual({ ok: true });
    expect(w.state.sessions.live.has("gone")).toBe(false);
  });

  it("stand in events", () => {
    const w = world();
    begin(w, "a1", "alice");
    w.lock({ session: "lead", agent: "a1", incarnation: 0 }, "x");
    w.begin("bob");
    w.lock("bob", "x");
    const queued = w.steps.flatMap(s => s.events).find(({ event }) => event.event === "lock_queued");
    expect(queued?.event).toMatchObject({ holder: { name: "lead/alice" }, waiter: { name: "bob" } });
  });

  describe("a team of sessions", () => {
    const named = (session: string, name: string) =>
      ({ type: "teammate_named", session, agent: null, name, team: "red", lead: "lead" }) as const;

    function team(): World {
      const w = new World();
      for (const id of ["lead", "m1", "m2"]) w.begin(id);
      w.do(named("m1", "ann"));
      w.do(named("m2", "bob"));
      return w;
    }
    const members = (w: World) => [...(w.state.members.get("lead") ?? [])];
    const told = (w: World) => (w.state.notes.pending.get("lead")?.notes ?? []).map(({ note }) => note);
    const end = (session: string, cause: "anchor_gone" | "ended") =>
      ({ type: "session_end", session, incarnation: null, cause }) as const;

    it("its lead keeps its members, and is told of one whose process dies", () => {
      const w = team();
      expect(members(w)).toEqual([
        ["ann", { session: "m1" }],
        ["bob", { session: "m2" }],
      ]);
      w.do(end("m1", "anchor_gone"));
      expect(members(w)).toMatchObject([
        ["bob", { session: "m2" }],
        ["ann", { session: "m1", gone: { how: "died" } }],
      ]);
      expect(told(w)).toEqual([{ what: "teammate_gone", other: "ann", team: "red", how: "died" }]);
      w.begin("m3");
      w.do(named("m3", "ann"));
      expect(members(w)).toContainEqual(["ann", { session: "m3" }]);
    });

    it("a live member keeps its name: another process with the same words proves no death by its end", () => {
      const w = team();
      w.begin("double");
      w.do(named("double", "ann"));
      expect(members(w)).toContainEqual(["ann", { session: "m1" }]);
      w.do(end("double", "anchor_gone"));
      expect(members(w)).toContainEqual(["ann", { session: "m1" }]);
      expect(told(w)).toEqual([]);
      w.begin("next");
      w.do(named("next", "ann"));
      w.do(end("m1", "anchor_gone"));
      expect(members(w)).toMatchObject([
        ["bob", {}],
        ["ann", { session: "m1", gone: { how: "died" } }],
      ]);
      // Its next event finds the name free.
      w.do(named("next", "ann"));
      expect(members(w)).toContainEqual(["ann", { session: "next" }]);
    });

    it("an event that names no lead changes nothing", () => {
      const w = team();
      w.do({ type: "teammate_named", session: "m1", agent: null, name: "ann", team: "red" });
      expect(w.state.teammates.get("m1")?.get(null)).toEqual({
        name: "ann",
        team: "red",
        lead: "lead",
      });
      expect(members(w)).toHaveLength(2);
    });

    it("a member that is called otherwise leaves its former place", () => {
      const w = team();
      w.do(named("m1", "cyd"));
      expect(members(w).map(([name]) => name)).toEqual(["bob", "cyd"]);
    });

    it("a lead keeps its latest members; those that are gone make room", () => {
      const w = new World();
      w.begin("lead");
      for (let n = 0; n <= limits.teamMembersMax; n += 1) {
        w.begin(`m${n}`);
        w.do(named(`m${n}`, `n${n}`));
      }
      expect(members(w)).toHaveLength(limits.teamMembersMax);
      expect(members(w).map(([name]) => name)).not.toContain(`n${limits.teamMembersMax}`);
      w.do(end("m7", "ended"));
      w.begin("late");
      w.do(named("late", "late"));
      expect(members(w)).toHaveLength(limits.teamMembersMax);
      expect(members(w).map(([name]) => name)).toContain("late");
    });

    it("survives a snapshot", () => {
      const w = team();
      w.do(end("m2", "anchor_gone"));
      const text = writeState(w.state);
      expect(writeState(readState(text))).toBe(text);
    });
  });

  it("the main agent is told of its teammate that was stopped, and of no other end", () => {
    const w = new World();
    w.begin("lead");
    for (const agent of ["a1", "a2"]) {
      w.do({ type: "agent_begin", session: "lead", agent, name: agent });
      w.do({ type: "teammate_named", session: "lead", agent, name: agent, team: "red" });
    }
    w.do({ type: "agent_end", actor: { session: "lead", agent: "a1", incarnation: 0 }, stopped: true });
    w.do({ type: "agent_end", actor: { session: "lead", agent: "a2", incarnation: 0 } });
    expect(w.state.notes.pending.get("lead")?.notes.map(({ note }) => note)).toEqual([
      { what: "teammate_gone", other: "a1", team: "red", how: "stopped" },
    ]);
  });

  it("a notice of an overlap that is over makes room for that of the teammate's end, and no other one goes", () => {
    const w = new World();
    w.begin("lead");
    const a1 = { session: "lead", agent: "a1", incarnation: 0 };
    w.do({ type: "agent_begin", session: "lead", agent: "a1", name: "a1" });
    w.do({ type: "teammate_named", session: "lead", agent: "a1", name: "a1", team: "red" });
    const file = "src/a.ts";
    const view = { ref: { file, lexical: `/p/${file}`, key: `local:/p/${file}`, dir: false } };
    const declare = { type: "declare", ancestors: [], anew: false, uncertainties: [], wallMs: 0 } as const;
    const lead = { session: "lead", agent: null, incarnation: 0 };
    const notes = () => w.state.notes.pending.get("lead")?.notes.map(({ note }) => note.what);
    for (let i = 1; i < limits.fileNotesMax; i += 1)
      w.do({ type: "role_set", by: null, name: "lead", role: i % 2 ? "tester" : "architect", project: "/p" });
    w.do({ ...declare, actor: lead, files: [view] });
    w.do({ ...declare, actor: a1, files: [view] });
    const before = notes() ?? [];
    w.do({ type: "agent_end", actor: a1, stopped: true });
    expect(notes()).toEqual([...before.slice(0, -1), "teammate_gone"]);
  });
});

describe("locks in words", () => {
  it("name an actor by its session, its terminal if it is a later one, and its agent", () => {
    const w = new World();
    w.begin("0123456789", { name: "alice" });
    const of = (agent: string | null, incarnation: number) =>
      actorRow(w.state, { session: "0123456789", agent, incarnation }).name;
    expect([of(null, 0), of("explorer-17", 0), of(null, 1), of("e", 2)]).toEqual([
      "alice",
      "alice/explorer",
      "alice#2",
      "alice#3/e",
    ]);
    expect(actorRow(w.state, actor("who-is-not-known")).name).toBe("who-is-n");
  });

  it("cut long lists of files and count the rest", () => {
    const files = (n: number) => Array.from({ length: n }, (_, i) => ({ file: `${i}`, key: `n:/p/${i}` }));
    expect(fileLists(files(2))).toEqual({ files: ["0", "1"], paths: ["/p/0", "/p/1"] });
    expect(fileLists(files(limits.eventFilesMax))).not.toHaveProperty("more");
    const long = fileLists(files(limits.eventFilesMax + 3));
    expect([long.files.length, long.paths.length, long.more]).toEqual([
      limits.eventFilesMax,
      limits.eventFilesMax,
      3,
    ]);
  });

  it("give a key's path back, the root's too", () => {
    const paths = ["n:/p/x", "n:", "n:/with:colon"].map(key => pathOf({ key }));
    expect(paths).toEqual(["/p/x", "/", "/with:colon"]);
    expect(pathOf({ key: "n:/p/readme", path: "/p/README" })).toBe("/p/README");
  });

  it("write a token as store, epoch and grant", () => {
    const w = new World();
    expect(tokenText(w.state, { epoch: 3, grant: 14 })).toBe("store.3.14");
  });

  it("keep the published words of a refusal, with whole seconds and the first eight of the id", () => {
    const w = new World();
    w.begin("0123456789", { name: "alice" });
    w.lock("0123456789", "x");
    w.pass(2999);
    expect(w.lock("b", "x", { depth: 0 })).toEqual({
      ok: false,
      code: "lock_queue_full",
      error: "file locked by 01234567, queue full",
      file: "x",
      path: "/p/x",
      locked_by: "0123456789",
      locked_by_name: "alice",
      locked_by_agent: null,
      locked_ago: 2,
      queued: false,
    });
    w.lock("b", "x", { waitMs: 1500 });
    const b = w.n;
    w.pass(1500);
    expect(w.answers.get(b)?.reply).toMatchObject({ error: "lock queue timeout (1.5s)", locked_ago: 4 });
  });

  it("name the whole cycle of a deadlock", () => {
    const w = new World();
    w.begin("a", { name: "alice" });
    w.begin("b", { name: "bob" });
    w.lock("a", "x");
    w.lock("b", "y");
    w.lock("a", "y");
    expect(w.lock("b", "x")).toMatchObject({
      error:
        "deadlock: bob waits for x behind alice, alice waits for y behind bob; release what you hold first",
      cycle: [
        { waits: "bob", file: "x", for: "alice" },
        { waits: "alice", file: "y", for: "bob" },
      ],
    });
  });
});
