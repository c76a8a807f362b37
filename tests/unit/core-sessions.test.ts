import { describe, expect, it } from "vitest";
import { emptyState, readState, writeState } from "../../daemon/core/snapshot.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, World, waits } from "./core-world.ts";

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

describe("the name of a session that nobody named", () => {
  const id = (n: number) => `8f14e45f-000${n}-4000-8000-000000000000`;
  const project = "/shop/.git";
  const at = (worktree: string, branch: string | null) => ({ project, worktree, branch });
  const nameOf = (w: World, session: string, more: object) =>
    (w.begin(session, more) as { name?: string }).name;

  it("is the branch, else a linked worktree, where that is telling, with a word that makes it the session's", () => {
    const w = new World();
    expect(nameOf(w, id(1), at("/shop", "feature/fix-auth"))).toMatch(/^fix-auth-[a-z]+$/);
    expect(nameOf(w, id(2), at("/shop-pay", "main"))).toMatch(/^shop-pay-[a-z]+$/);
    expect(nameOf(w, id(3), at("/x", "worktree-docs"))).toMatch(/^docs-[a-z]+$/);
    expect(nameOf(w, id(4), at("/shop", "a-branch-with-a-very-long-name"))).toMatch(
      /^a-branch-with-a-very-[a-z]+$/,
    );
  });

  it("is else a pair of words, always the same one, and no other session's", () => {
    const w = new World();
    const first = nameOf(w, id(1), at("/shop", "main"));
    expect(first).toMatch(/^[a-z]+-[a-z]+$/);
    expect(nameOf(new World(), id(1), at("/shop", null))).toBe(first);
    const [second, third] = [2, 3].map(n => nameOf(w, id(n), at("/shop", "fix-auth")));
    for (const name of [second, third]) expect(name).toMatch(/^fix-auth-[a-z]+$/);
    expect(second).not.toBe(third);
    const w2 = new World();
    w2.begin("x", { ...at("/shop", null), name: first ?? null });
    expect(nameOf(w2, id(1), at("/shop", null))).not.toMatch(new RegExp(`^${first}`));
    const many = Array.from({ length: 300 }, (_, n) =>
      nameOf(w, `8f14e45f-0000-4000-8000-${`${n}`.padStart(12, "0")}`, at("/shop", null)),
    );
    expect(new Set(many).size).toBe(300);
  });

  it("gives way to a title, whose number stays, and a title to a name that the client registers", () => {
    const w = new World();
    const titled = (session: string, name: string) =>
      nameOf(w, session, { ...at("/shop", null), name, named: "title" });
    w.begin(id(1), at("/shop", null));
    expect(titled(id(1), "auth")).toBe("auth");
    expect(titled(id(2), "auth")).toBe("auth-2");
    w.do({ type: "session_end", session: id(1), incarnation: null, cause: "ended" });
    expect(titled(id(2), "auth")).toBe("auth-2");
    expect(titled(id(2), "pay")).toBe("pay");
    expect(nameOf(w, id(2), { ...at("/shop", null), name: "bob" })).toBe("bob");
    expect(titled(id(2), "pay")).toBe("bob");
  });

  it("is the same when the session ends and is resumed, whatever its branch is then", () => {
    const w = new World();
    const name = nameOf(w, id(1), at("/shop", "fix-auth"));
    expect(name).toMatch(/^fix-auth-[a-z]+$/);
    w.do({ type: "session_end", session: id(1), incarnation: null, cause: "ended" });
    const w2 = new World(readState(writeState(w.state)));
    expect(nameOf(w2, id(1), at("/shop", "other"))).toBe(name);
    w2.do({ type: "session_end", session: id(1), incarnation: null, cause: "ended" });
    w2.begin(id(2), { ...at("/shop", null), name: name ?? null });
    expect(nameOf(w2, id(1), at("/shop", null))).toBe(`${name}-2`);
  });
});

describe("rename", () => {
  const project = "/p";
  const rename = (of: string, name: string, by: string | null = null) =>
    ({ type: "session_rename", by: by === null ? null : actor(by), of, name, project }) as const;

  it("holds against the client's names, over an end, and over /clear", () => {
    const w = new World();
    w.begin("a", { name: "old", anchor: one });
    expect(w.do(rename("old", "alice"))).toMatchObject({ ok: true, was: "old", name: "alice" });
    expect(w.steps.at(-1)?.events).toMatchObject([{ event: { event: "session_renamed", was: "old" } }]);
    expect(w.begin("a", { name: "old", anchor: one })).toMatchObject({ name: "alice" });
    w.do({ type: "session_suspend", session: "a" });
    expect(w.begin("b", { name: "new", anchor: one })).toMatchObject({ name: "alice" });
    w.do({ type: "session_end", session: "b", incarnation: null, cause: "ended" });
    expect(w.begin("b", { name: "new" })).toMatchObject({ name: "alice" });
  });

  it("is kept over an end if the name is the id, too: the client's next name does not count", () => {
    const w = new World();
    w.begin("bob", { name: "old" });
    expect(w.do(rename("old", "bob"))).toMatchObject({ ok: true });
    w.do({ type: "session_end", session: "bob", incarnation: null, cause: "ended" });
    expect(w.begin("bob", { name: "old" })).toMatchObject({ name: "bob" });
  });

  it.each([
    ["a person", null],
    ["the agent itself", "a"],
  ])("to the name that the session has makes it %s's to keep", (_who, by) => {
    const w = new World();
    w.begin("a", { name: "ann" });
    expect(w.do(rename("ann", "ann", by))).toMatchObject({ ok: true, was: "ann", name: "ann" });
    expect(w.steps.at(-1)?.events).toEqual([]);
    expect(w.begin("a", { name: "other" })).toMatchObject({ name: "ann" });
    w.do({ type: "session_end", session: "a", incarnation: null, cause: "ended" });
    const after = new World(readState(writeState(w.state)));
    expect(after.begin("a", { name: "other" })).toMatchObject({ name: "ann" });
  });

  it("takes the beginning of a name, and refuses one that another session has", () => {
    const w = new World();
    w.begin("a", { name: "calm-otter" });
    w.begin("b", { name: "calm-wolf" });
    expect(w.do(rename("calm", "x"))).toMatchObject({ code: "recipient_ambiguous" });
    expect(w.do(rename("calm-o", "calm-wolf"))).toMatchObject({ code: "name_taken" });
    expect(w.do(rename("calm-o", "alice"))).toMatchObject({ ok: true, id: "a" });
    expect(w.do(rename("calm", "bob"))).toMatchObject({ ok: true, id: "b" });
  });

  it("is a person's, or an agent's for its own session", () => {
    const w = new World();
    w.begin("a", { name: "ann" });
    w.begin("b", { name: "bob" });
    expect(w.do(rename("bob", "x", "a"))).toMatchObject({ code: "person_only" });
    expect(w.do(rename("a", "anna", "a"))).toMatchObject({ ok: true, name: "anna" });
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

  it("are brought back by an event of a process that was not theirs, which the daemon sees", () => {
    const w = new World();
    w.begin("a", { anchor: one });
    w.begin("a", { anchor: two });
    w.do({ type: "session_end", session: "a", incarnation: null, cause: "ended" });
    const late = { code: "session_ended" };
    for (const anchor of [null, one, two])
      expect(w.begin("a", { anchor, revive: false })).toMatchObject(late);
    const read = new World(readState(writeState(w.state)));
    expect(read.begin("a", { anchor: two, revive: false })).toMatchObject(late);
    for (const world of [w, read]) {
      const other = { pid: two.pid, startTime: "300" };
      expect(world.begin("a", { anchor: other, revive: false })).toMatchObject({ ok: true, anchored: true });
    }
  });

  it("are not brought back so under the rules of before, nor where these ended them", () => {
    const w = new World(emptyState(1));
    w.begin("a", { anchor: one });
    w.do({ type: "session_end", session: "a", incarnation: null, cause: "anchor_gone" });
    expect(w.begin("a", { anchor: two, revive: false })).toMatchObject({ code: "session_ended" });
    w.do({ type: "rules", level: 2 });
    expect(w.begin("a", { anchor: two, revive: false })).toMatchObject({ code: "session_ended" });
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
