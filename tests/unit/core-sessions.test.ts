import { describe, expect, it } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { World, waits } from "./core-world.ts";

const one = { pid: 10, startTime: "100" };
const two = { pid: 20, startTime: "200" };

describe("names", () => {
  it("are the first eight of the id, and unique in a project", () => {
    const w = new World();
    expect(w.begin("0123456789")).toMatchObject({ name: "01234567", anchored: false });
    expect(w.begin("b", { name: "alice" })).toMatchObject({ name: "alice" });
    expect(w.begin("c", { name: "alice" })).toMatchObject({ name: "alice-2" });
    expect(w.begin("d", { name: "alice", project: "/other" })).toMatchObject({ name: "alice" });
    expect(w.begin("c", { name: "alice" })).toMatchObject({ name: "alice-2" });
  });
});

describe("incarnations", () => {
  it("of the same process are one", () => {
    const w = new World();
    w.begin("a", { anchor: one });
    w.begin("a", { anchor: one });
    w.begin("a", { anchor: null });
    expect(w.state.sessions.live.get("a")?.incarnations).toEqual([{ ordinal: 0, begun: 2, anchor: one }]);
  });

  it("in two terminals contend, and the session ends with the last", () => {
    const w = new World();
    w.begin("a", { anchor: one });
    const step = w.step({
      type: "session_begin",
      session: "a",
      anchor: two,
      cwd: "/p",
      project: "/p",
      worktree: "/p",
      branch: null,
      name: null,
      revive: true,
      wallMs: 0,
    });
    expect(step.events).toMatchObject([{ event: { event: "session_duplicated", incarnations: 2 } }]);
    w.lock({ session: "a", agent: null, incarnation: 0 }, "x");
    expect(w.lock({ session: "a", agent: null, incarnation: 1 }, "x")).toBe(waits);
    w.do({ type: "session_end", session: "a", incarnation: 0, cause: "anchor_gone" });
    expect(w.state.locks.holds.get("n:/p/x")?.actor.incarnation).toBe(1);
    expect(w.lock({ session: "a", agent: null, incarnation: 0 }, "y")).toMatchObject({
      code: "session_ended",
    });
    w.do({ type: "session_end", session: "a", incarnation: 1, cause: "anchor_gone" });
    expect(w.state.sessions.live.size).toBe(0);
    expect(w.state.locks.holds.size).toBe(0);
  });
});

describe("ended ids", () => {
  it("are not brought back by a late event for an hour, but by a registration", () => {
    const w = new World();
    w.begin("a");
    w.do({ type: "session_end", session: "a", incarnation: null, cause: "ended" });
    expect(w.begin("a", { revive: false })).toMatchObject({ code: "session_ended" });
    expect(w.lock("a", "x")).toMatchObject({ code: "session_ended" });
    expect(w.begin("a", { revive: true })).toMatchObject({ ok: true });
    w.do({ type: "session_end", session: "a", incarnation: null, cause: "ended" });
    w.pass(limits.endedMs);
    expect(w.begin("a", { revive: false })).toMatchObject({ ok: true });
  });

  it("that were never known are refused by name", () => {
    const w = new World();
    expect(w.do({ type: "session_end", session: "no", incarnation: null, cause: "ended" })).toMatchObject({
      code: "unknown_session",
    });
  });
});

it("an ended part of a session locks nothing, even when nobody remembers its end", () => {
  const w = new World();
  w.begin("a", { anchor: one });
  w.begin("a", { anchor: two });
  w.do({ type: "session_end", session: "a", incarnation: null, cause: "ended" });
  w.pass(limits.endedMs);
  expect(w.lock({ session: "a", agent: null, incarnation: 1 }, "x")).toMatchObject({ code: "session_ended" });
});

describe("a lost session", () => {
  function lost(): World {
    const w = new World();
    w.begin("a");
    w.lock("a", "turn", { kind: "turn" });
    w.lock("a", "explicit");
    const begun = w.state.sessions.live.get("a")?.begun ?? -1;
    w.do({ type: "session_lost", session: "a", begun });
    return w;
  }

  it("loses its turn holds after the lock-delay and its explicit locks with their lease", () => {
    const w = lost();
    w.pass(limits.lockDelayMs - 1);
    expect(w.holder("turn")).toBe("a");
    w.pass(1);
    expect([w.holder("turn"), w.holder("explicit")]).toEqual([null, "a"]);
    w.pass(limits.explicitLeaseMs - limits.silenceMs);
    expect(w.holder("explicit")).toBeNull();
    expect(w.state.sessions.live.has("a")).toBe(true);
    w.pass(limits.lostMs);
    expect(w.state.sessions.live.has("a")).toBe(false);
  });

  it("that is heard of again keeps everything", () => {
    const w = lost();
    w.do({ type: "session_found", session: "a" });
    w.pass(limits.turnLeaseMs - 1);
    expect([w.holder("turn"), w.holder("explicit")]).toEqual(["a", "a"]);
  });

  it("is not one whose request waits for an answer", () => {
    const w = new World();
    w.begin("a");
    w.lock("b", "x");
    w.lock("a", "x");
    const begun = w.state.sessions.live.get("a")?.begun ?? -1;
    w.do({ type: "session_lost", session: "a", begun });
    expect(w.state.sessions.live.get("a")?.lostAt).toBeNull();
  });

  it("is only one without anchor, and only the very session meant", () => {
    const w = new World();
    w.begin("a", { anchor: one });
    w.begin("b");
    const begun = w.state.sessions.live.get("a")?.begun ?? -1;
    w.do({ type: "session_lost", session: "a", begun });
    w.do({ type: "session_lost", session: "b", begun });
    expect([...w.state.sessions.live.values()].map(s => s.lostAt)).toEqual([null, null]);
  });
});

it("a lock by an id that nobody registered makes a session without anchor", () => {
  const w = new World();
  w.lock("stranger", "x", { project: "/q" });
  expect(w.state.sessions.live.get("stranger")).toMatchObject({ name: "stranger", project: "/q" });
});

it("time never goes back, whatever the proposer's clock says", () => {
  const w = new World();
  w.begin("a");
  w.now -= 500_000;
  w.begin("b");
  expect(w.state.t).toBe(1_000_000);
});
