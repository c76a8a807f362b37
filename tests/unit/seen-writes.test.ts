import { beforeEach, describe, expect, test } from "vitest";
import type { Actor, Written } from "../../daemon/core/frame/actors.ts";
import { SeenWrites } from "../../daemon/worktree/writers.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, World } from "./core-world.ts";

const key = "n:/p/x";
const x: Written = { key, file: "x", worktree: "/p", project: "/p" };
const kid: Actor = { session: "ana", agent: "kid", incarnation: 0 };

let world: World;
let seen: SeenWrites;

beforeEach(() => {
  world = new World();
  seen = new SeenWrites();
  for (const session of ["ana", "bob"]) world.begin(session);
});

function wrote(who: string | Actor, wallMs = 1): void {
  const noted = { files: [x], by: "edit" as const, ancestors: [], wallMs };
  world.do({ type: "flight_end", actor: actor(who), flight: null, wrote: true, noted });
}

/** Whose change the actor does not know of. */
function unseenBy(who: string | Actor, readAtMs: number | null = null): string | null {
  return seen.unseen(world.state, actor(who), key, readAtMs)?.name ?? null;
}

const tell = (who: string) => seen.noteTold(actor(who), key, world.state.seq);

describe("a write of another actor is unseen", () => {
  test("from its end on, and by nobody else's but its own writer", () => {
    expect(unseenBy("ana")).toBeNull();
    wrote("bob");
    expect(unseenBy("ana")).toBe("bob");
    expect(unseenBy("bob")).toBeNull();
    expect(seen.unseen(world.state, actor("ana"), "n:/p/y", null)).toBeNull();
  });

  test("after an own write that came before it", () => {
    wrote("ana");
    wrote("bob");
    expect(unseenBy("ana")).toBe("bob");
  });

  test("also when it was committed since, and when its session has ended", () => {
    wrote("bob");
    world.do({ type: "writes_settled", settled: [{ key, seq: world.state.seq }] });
    expect(world.state.writes.files.has(key)).toBe(false);
    world.do({ type: "session_end", session: "bob", cause: "anchor_gone", incarnation: null });
    expect(unseenBy("ana")).toBe("bob");
  });

  test("by the agents of its session but itself: each has read for itself", () => {
    wrote(kid);
    expect(unseenBy("ana")).toBe("ana/kid");
    expect(unseenBy(kid)).toBeNull();
  });
});

describe("it is known", () => {
  test("to whoever wrote the file after it", () => {
    wrote("bob");
    wrote("ana");
    expect(unseenBy("ana")).toBeNull();
  });

  test("to whoever was told, until the next one", () => {
    wrote("bob");
    tell("ana");
    expect(unseenBy("ana")).toBeNull();
    wrote("bob");
    expect(unseenBy("ana")).toBe("bob");
  });

  test("to whoever read the file after it, and not before", () => {
    wrote("bob", 1_000);
    expect([1_000, 1_001].map(at => unseenBy("ana", at))).toEqual(["bob", null]);
  });

  test("to a session that began after it, also under an id that was there before", () => {
    tell("ana");
    wrote("bob");
    world.begin("cleo");
    expect(unseenBy("cleo")).toBeNull();
    world.do({ type: "session_end", session: "ana", cause: "ended", incarnation: null });
    world.begin("ana", { revive: true });
    expect(unseenBy("ana")).toBeNull();
  });
});

test("whoever changes a part of the file knows no more of the rest", () => {
  wrote("bob");
  seen.changesPart(world.state, actor("ana"), key);
  wrote("ana");
  expect(unseenBy("ana")).toBe("bob");
  tell("ana");
  seen.changesPart(world.state, actor("ana"), key);
  expect(unseenBy("ana")).toBeNull();
});

test("who has a notice of a change is found by the file's path", () => {
  wrote("ana");
  wrote("bob");
  const side = (name: string) => ({ actor: actor(name), name, prompt: null });
  world.do({ type: "conflict_noted", key, path: "/p/x", sides: [side("ana"), side("bob")] });
  const noticed = (who: string, path: string) => seen.noticed(world.state, actor(who), new Set([path]));
  expect(noticed("ana", "/p/x")).toEqual([key]);
  expect(noticed("ana", "/p/y")).toEqual([]);
  expect(noticed("bob", "/p/x")).toEqual([]);
});

test("what is remembered has a bound: the oldest goes", () => {
  wrote("bob");
  tell("ana");
  for (let n = 0; n < limits.writersMax; n += 1) seen.noteTold(actor("ana"), `n:/p/${n}`, 1);
  expect(unseenBy("ana")).toBe("bob");
});
