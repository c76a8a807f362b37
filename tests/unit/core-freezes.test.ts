import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { Reply } from "../../daemon/core/tables/entries.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, lockOf, World } from "./core-world.ts";

function hold(w: World, by: string | Actor | null, files: readonly string[], ttlMs = 60_000): Reply {
  return w.do({
    type: "broadcast",
    actor: by === null ? null : actor(by),
    project: "/p",
    text: "wait for the migration",
    bytes: 22,
    hold: { files: lockOf("x", files, 0).files, ttlMs },
    wallMs: w.now,
  });
}

const resume = (w: World, by: string | null, id: string | null = null, project = "/p") =>
  w.do({ type: "resume", actor: by === null ? null : actor(by), project, hold: id });

const freezesMax = 10;

function world(...sessions: string[]): World {
  const w = new World(bounded({ freezesMax }));
  for (const session of sessions) w.begin(session);
  return w;
}

describe("a hold", () => {
  it("refuses the edits of others, says who asked and why, and tells everybody", () => {
    const w = world("ann", "bob");
    expect(hold(w, "ann", ["src/"])).toMatchObject({
      ok: true,
      message: { to: [{ id: "bob" }] },
      hold: { hold: "h-1", files: ["src/"], leftMs: 60_000 },
    });
    expect(w.lock("bob", "src/a.ts", { kind: "turn" })).toMatchObject({
      code: "edits_held",
      hold: "h-1",
      file: "src/a.ts",
      by: { name: "ann" },
      text: "wait for the migration",
      leftMs: 60_000,
    });
    expect(w.lock("bob", "lib/a.ts")).toMatchObject({ ok: true });
    expect(w.lock("bob", "src/")).toMatchObject({ code: "edits_held" });
  });

  it("lets its actor and that one's descendants go on, siblings and strangers not", () => {
    const w = world("ann");
    const child = { session: "ann", agent: "child", incarnation: 0 };
    const mate = { session: "ann", agent: "mate", incarnation: 0 };
    hold(w, "ann", ["src/"]);
    expect(w.lock("ann", "src/a.ts")).toMatchObject({ ok: true });
    expect(w.lock(child, "src/b.ts", { ancestors: [null] })).toMatchObject({ ok: true });
    expect(w.lock(mate, "src/c.ts")).toMatchObject({ code: "edits_held" });
  });

  it("reaches nobody of another project", () => {
    const w = world("ann");
    w.begin("far", { project: "/q" });
    hold(w, "ann", ["src/"]);
    expect(w.lock("far", "src/a.ts")).toMatchObject({ ok: true });
  });

  it("sends away who waits in line, hooks with their place kept; who holds it asks anew before the next write", () => {
    const w = world("ann", "bob", "cyd", "dan");
    w.lock("bob", "src/a.ts");
    w.lock("cyd", "src/a.ts");
    const cyd = w.n;
    w.lock("dan", "src/a.ts", { kind: "turn", placeMs: limits.placeMs });
    const dan = w.n;
    hold(w, "ann", ["src/a.ts"]);
    expect(w.answers.get(cyd)?.reply).toMatchObject({ code: "edits_held" });
    expect(w.answers.get(dan)?.reply).toMatchObject({ code: "edits_held" });
    expect([...w.state.locks.waiters.values()].map(one => [one.actor.session, one.origin])).toEqual([
      ["dan", null],
    ]);
    expect(w.holder("src/a.ts")).toBe("bob");
    expect(w.lock("bob", "src/a.ts")).toMatchObject({ code: "edits_held" });
    w.unlock("bob", "src/a.ts");
    expect(w.holder("src/a.ts")).toBeNull();
  });

  it("gives the place before it to who waited behind somebody sent away", () => {
    const w = world("ann", "bob", "cyd");
    w.lock("bob", "src/a.ts");
    w.lock("cyd", ["src/a.ts", "lib/b.ts"]);
    w.lock("ann", "lib/b.ts");
    const ann = w.n;
    hold(w, "ann", ["src/a.ts"]);
    expect(w.answers.get(ann)?.grant).toBe(true);
  });

  it("ends with its time", () => {
    const w = world("ann", "bob");
    hold(w, "ann", ["src/"], 5000);
    w.pass(4999);
    expect(w.lock("bob", "src/a.ts")).toMatchObject({ code: "edits_held", leftMs: 1 });
    w.pass(1);
    expect(w.lock("bob", "src/a.ts")).toMatchObject({ ok: true });
    expect(w.steps.flatMap(s => s.events.map(e => e.event))).toContainEqual(
      expect.objectContaining({ event: "hold_ended", hold: "h-1", cause: "over" }),
    );
  });

  it("ends with its actor: the session, its terminal, its agent", () => {
    const w = world("bob");
    w.begin("ann", { anchor: { pid: 1, startTime: "1" } });
    w.begin("ann", { anchor: { pid: 2, startTime: "1" } });
    hold(w, { session: "ann", agent: null, incarnation: 1 }, ["src/"]);
    w.do({ type: "session_end", session: "ann", incarnation: 1, cause: "anchor_gone" });
    expect(w.state.freezes.all.size).toBe(0);
    hold(w, { session: "ann", agent: "x", incarnation: 0 }, ["src/"]);
    w.do({ type: "agent_end", actor: { session: "ann", agent: "x", incarnation: 0 } });
    expect(w.state.freezes.all.size).toBe(0);
    hold(w, "ann", ["src/"]);
    w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
    expect(w.lock("bob", "src/a.ts")).toMatchObject({ ok: true });
  });
});

describe("resume", () => {
  it("ends the actor's own holds, or the one it names", () => {
    const w = world("ann", "bob");
    hold(w, "ann", ["src/"]);
    hold(w, "ann", ["lib/"]);
    hold(w, "bob", ["doc/"]);
    expect(resume(w, "ann", "h-3")).toMatchObject({ code: "unknown_hold" });
    expect(resume(w, "ann", "h-2")).toEqual({ ok: true, resumed: ["h-2"] });
    expect(resume(w, "ann")).toEqual({ ok: true, resumed: ["h-1"] });
    expect([...w.state.freezes.all.keys()]).toEqual(["h-3"]);
  });

  it("of a person ends whichever it is", () => {
    const w = world("ann", "bob");
    hold(w, "ann", ["src/"]);
    hold(w, null, ["lib/"]);
    expect(w.lock("ann", "lib/a.ts")).toMatchObject({ code: "edits_held", by: null });
    expect(resume(w, null, null, "/q")).toEqual({ ok: true, resumed: [] });
    expect(resume(w, null, "h-1", "/q")).toEqual({ ok: true, resumed: ["h-1"] });
    expect(resume(w, null)).toEqual({ ok: true, resumed: ["h-2"] });
  });
});

describe("resume by files", () => {
  const byFiles = (w: World, by: string | null, ...files: string[]) =>
    w.do({
      ...{ type: "resume", actor: by === null ? null : actor(by), project: "/p", hold: null },
      files: lockOf("x", files, 0).files,
    } as const);

  it("ends the actor's own freezes over them, and a person's command ends anybody's", () => {
    const w = world("ann", "bob");
    hold(w, "ann", ["src/"]);
    hold(w, "bob", ["src/b.ts"]);
    hold(w, "bob", ["lib/"]);
    expect(byFiles(w, "ann", "src/a.ts")).toEqual({ ok: true, resumed: ["h-1"] });
    expect(byFiles(w, "ann", "src/b.ts")).toMatchObject({ code: "unknown_hold", file: "src/b.ts" });
    expect(byFiles(w, null, "lib/c.ts", "src/")).toEqual({ ok: true, resumed: ["h-2", "h-3"] });
  });

  it("is refused whole if one file is not frozen", () => {
    const w = world("ann", "bob");
    hold(w, "ann", ["src/"]);
    expect(byFiles(w, "ann", "src/", "doc/")).toMatchObject({ code: "unknown_hold", file: "doc/" });
    expect(w.state.freezes.all.size).toBe(1);
  });
});

describe("the message of a freeze", () => {
  const unread = (w: World, session: string) =>
    [...w.state.messages.all.values()].filter(({ letters }) =>
      [...letters.values()].some(({ to, state }) => to.id === session && state === "unread"),
    ).length;

  it.each<[how: string, end: (w: World) => unknown]>([
    ["by resume", w => resume(w, "ann")],
    ["by a person", w => resume(w, null)],
    ["when its time is over", w => w.pass(60_000)],
    [
      "with its session",
      w => w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" }),
    ],
  ])("is withdrawn where it is unread when the freeze ends: %s", (_, end) => {
    const w = world("ann", "bob", "cyd");
    hold(w, "ann", ["src/"]);
    w.do({ type: "inbox_take", actor: actor("cyd"), max: 3, chars: 100 });
    w.do({ type: "inbox_told", actor: actor("cyd"), messages: ["m-1"], heard: true });
    expect(unread(w, "bob")).toBe(1);
    end(w);
    expect(w.state.freezes.all.size).toBe(0);
    expect(unread(w, "bob")).toBe(0);
    // Cyd has read it.
    expect(w.state.messages.all.get("m-1")?.letters.size).toBe(1);
  });
});

it("there are so many holds at most, whoever asks", () => {
  const w = world("ann");
  const { files } = lockOf("x", ["a"], 0);
  const rest = { actor: null, text: "wait", bytes: 4, hold: { files, ttlMs: 60_000 }, wallMs: w.now };
  const ask = (project: string) => w.do({ type: "broadcast", ...rest, project });
  for (let i = 0; i < freezesMax; i += 1) ask(`/${i}`);
  expect(w.state.freezes.all.size).toBe(freezesMax);
  expect(ask("/p")).toMatchObject({ code: "too_many_holds" });
  expect(resume(w, null, null, "/0")).toMatchObject({ ok: true });
  expect(ask("/p")).toMatchObject({ ok: true });
});

it("an actor has two holds at most", () => {
  const w = world("ann");
  hold(w, "ann", ["a"]);
  hold(w, "ann", ["b"]);
  expect(hold(w, "ann", ["c"])).toMatchObject({ code: "too_many_holds" });
  expect(w.state.messages.count).toBe(2);
  resume(w, "ann", "h-1");
  expect(hold(w, "ann", ["c"])).toMatchObject({ ok: true });
});
