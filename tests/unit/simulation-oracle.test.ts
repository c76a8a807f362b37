/** The simulation's oracle: what it tells of, and what it must not take for wrong. */

import { expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { limits } from "../../protocol/limits.ts";
import { wrongs } from "../simulation/oracle.ts";
import { actor, World, waits } from "./core-world.ts";

const child: Actor = { session: "a", agent: "child", incarnation: 0 };
const other: Actor = { session: "a", agent: "other", incarnation: 0 };
const wait = { waitMs: limits.waitMaxMs, depth: 16 } as const;

it("tells of a grant that went past one who waited for longer", () => {
  const w = new World();
  w.lock("b", "x");
  const granted = w.origin(w.n);
  expect(w.lock("c", "x", wait)).toBe(waits);
  const grants = [{ origin: granted, ticket: w.state.seq + 1, inherited: false }];
  expect([...wrongs(w.state, grants)]).toEqual([`n:/p/x went past ticket ${w.state.seq}`]);
});

it("tells of nothing where the granted file lies in a folder that its holder had, and lends in the same step", () => {
  const w = new World();
  w.lock("a", "d/");
  w.lock(child, "d/", { ancestors: [null] });
  expect(w.lock("b", "d/x", wait)).toBe(waits);
  expect(w.lock("a", "d/x", wait)).toBe(waits);
  const [origin, ticket] = [w.origin(w.n), w.state.seq];
  expect(w.lock(other, "d/", { ...wait, ancestors: [null] })).toBe(waits);
  w.do({ type: "lock_release", actor: child, files: "all" });
  const held = [...w.state.locks.holds.values()].map(({ file, actor: who }) => [file, who]);
  expect(held).toEqual(
    expect.arrayContaining([
      ["d/", other],
      ["d/x", actor("a")],
    ]),
  );
  expect([...wrongs(w.state, [{ origin, ticket, inherited: false }])]).toEqual([]);
});
