import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { World, waits } from "./core-world.ts";

const child: Actor = { session: "m", agent: "child", incarnation: 0 };
const grandchild: Actor = { session: "m", agent: "grandchild", incarnation: 0 };
const ofChild = { ancestors: [null] };
const ofGrandchild = { ancestors: ["child", null] };

/**
 * `x` waits for `src/a` and for `mine` of `whose`, who then waits for `src/a` and for what `y` has: in front of `x`,
 * as long as `src/` is his own or will be his again.
 */
function twoWait(
  w: World,
  whose: string | Actor,
  more: { readonly ancestors?: readonly (string | null)[] } = {},
) {
  w.lock("y", "other");
  w.lock(whose, "mine", more);
  expect(w.lock("x", ["src/a", "mine"])).toBe(waits);
  const x = w.n;
  expect(w.lock(whose, ["src/a", "other"], more)).toBe(waits);
  return { x, whose: w.n };
}

/** The request of who came to stand behind `x` has ended; `x` waits on. */
function endsOnly(w: World, waiting: { readonly x: number; readonly whose: number }, names: string): void {
  const reply = w.answers.get(waiting.whose)?.reply;
  expect(reply).toMatchObject({ code: "lock_deadlock", queued: false });
  expect(String(reply?.["error"])).toContain(`${names} waits for src/a behind x, x waits for`);
  expect(w.answers.has(waiting.x)).toBe(false);
}

// Every step is checked for a cycle that nobody saw.
describe("a wait that a change puts behind an older one, in a cycle, ends", () => {
  it("where a turn lock passes to a descendant", () => {
    const w = new World();
    w.lock("m", "src/", { kind: "turn" });
    const waiting = twoWait(w, "m");
    expect(w.lock(child, "src/", { kind: "turn", ...ofChild })).toMatchObject({ ok: true });
    endsOnly(w, waiting, "m");
  });

  it("where an explicit lock passes over one who works for its holder", () => {
    const w = new World();
    w.lock("m", "src/");
    const waiting = twoWait(w, child, ofChild);
    expect(w.lock(grandchild, "src/", ofGrandchild)).toMatchObject({ ok: true });
    endsOnly(w, waiting, "m/child");
  });

  it("where the lender gives up what a descendant uses", () => {
    const w = new World();
    w.lock("m", "src/");
    w.lock(child, "src/", { kind: "turn", ...ofChild });
    const waiting = twoWait(w, "m");
    expect(w.unlock("m", "src")).toMatchObject({ ok: true });
    endsOnly(w, waiting, "m");
  });

  it("where the lender gives up everything but its requests", () => {
    const w = new World();
    w.lock("m", "src/");
    w.lock(child, "src/", { kind: "turn", ...ofChild });
    const waiting = twoWait(w, "m");
    w.do({
      type: "lock_revoke",
      by: "a person",
      files: [{ file: "src", lexical: "/p/src", key: "n:/p/src" }],
    });
    endsOnly(w, waiting, "m");
  });

  it("where its ancestor begins to write", () => {
    const w = new World();
    w.lock("m", "src/", { kind: "turn" });
    const waiting = twoWait(w, child, ofChild);
    expect(w.lock("m", "src/", { kind: "turn", flight: "use1" })).toMatchObject({ ok: true });
    endsOnly(w, waiting, "m/child");
  });

  it("where its own lock yields", () => {
    const w = new World();
    w.lock("m", "src/", { kind: "turn" });
    const waiting = twoWait(w, "m");
    w.pass(0);
    endsOnly(w, waiting, "m");
  });

  it("and only there: who is in no cycle waits on", () => {
    const w = new World();
    w.lock("m", "src/", { kind: "turn" });
    w.lock("y", "other");
    expect(w.lock("x", "src/a")).toBe(waits);
    const x = w.n;
    expect(w.lock("m", ["src/a", "other"])).toBe(waits);
    const m = w.n;
    expect(w.lock(child, "src/", { kind: "turn", ...ofChild })).toMatchObject({ ok: true });
    expect([w.answers.has(m), w.answers.has(x)]).toEqual([false, false]);
  });
});
