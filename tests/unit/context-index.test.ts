import { describe, expect, it } from "vitest";
import { countItems, itemsOf, itemsSince, latestItem } from "../../daemon/core/tables/context.ts";
import { World } from "./core-world.ts";

/** Keys, each with the wall time at which it is set (ms) and its time to live (ms). */
function world(...keys: readonly (readonly [string, number, number?])[]): World {
  const w = new World();
  for (const [key, wallMs, ttlMs = null] of keys) {
    const value = { value: 1, bytes: 1, durable: false, ifVersion: null };
    w.do({ type: "context_set", actor: null, project: "/p", key, ...value, ttlMs, wallMs });
  }
  return w;
}

const names = (items: Iterable<{ readonly key: string }>) => [...items].map(({ key }) => key);

describe("the keys of a project", () => {
  it("come in order, those set after a time in the order of setting", () => {
    const { state, now } = world(["b", 10], ["a", 20], ["c", 30], ["b", 40]);
    expect(names(itemsOf(state.context, "/p", now))).toEqual(["a", "b", "c"]);
    expect(names(itemsSince(state.context, "/p", 10, now))).toEqual(["a", "c", "b"]);
    expect(names(itemsSince(state.context, "/p", 30, now))).toEqual(["b"]);
    expect(latestItem(state.context, "/p", now)?.key).toBe("b");
    expect(countItems(state.context, "/p")).toBe(3);
  });

  it("are not those of another one, nor of one whose name begins the same", () => {
    const { state, now } = world(["a", 10]);
    for (const project of ["/", "/p2", "/p\na"]) {
      expect(names(itemsOf(state.context, project, now))).toEqual([]);
      expect(names(itemsSince(state.context, project, 0, now))).toEqual([]);
      expect(latestItem(state.context, project, now)).toBeUndefined();
    }
  });

  it("are not seen after they expired, even before the log has their end", () => {
    const { state, now } = world(["a", 10], ["b", 20, 100]);
    expect(latestItem(state.context, "/p", now + 99)?.key).toBe("b");
    expect(latestItem(state.context, "/p", now + 100)?.key).toBe("a");
    expect(names(itemsOf(state.context, "/p", now + 100))).toEqual(["a"]);
    expect(names(itemsSince(state.context, "/p", 0, now + 100))).toEqual(["a"]);
  });
});
