import { describe, expect, it } from "vitest";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { lockRows, sessionRows, workedOn } from "../../daemon/views/sessions.ts";
import { limits } from "../../protocol/limits.ts";
import { oneLog } from "../one-log.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { World } from "./core-world.ts";
import { claimOf, TaskWorld } from "./task-world.ts";

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
