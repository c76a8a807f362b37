import { describe, expect, it } from "vitest";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { limits } from "../../protocol/limits.ts";
import { SimulatedClock } from "../simulation/host.ts";

function world() {
  const clock = new SimulatedClock(1000);
  return { clock, presence: new PresenceTable(clock) };
}

describe("presence", () => {
  it("counts silence from the last sign of life", () => {
    const { clock, presence } = world();
    presence.seen("a");
    clock.pass(500);
    expect(presence.silentMs("a")).toBe(500);
    presence.seen("a");
    expect(presence.silentMs("a")).toBe(0);
  });

  it("gives who is not known yet a fresh grace", () => {
    const { clock, presence } = world();
    clock.pass(10_000);
    expect(presence.silentMs("never seen")).toBe(0);
    clock.pass(10);
    expect(presence.silentMs("never seen")).toBe(10);
  });

  it("knows the agents of a session, up to a bound; those it knows go on being seen", () => {
    const { clock, presence } = world();
    for (let i = 0; i <= limits.agentsPerSessionMax; i += 1) presence.seen("a", `agent ${i}`);
    expect(presence.of("a").agents.size).toBe(limits.agentsPerSessionMax);
    clock.pass(5);
    presence.seen("a", "agent 0");
    expect(presence.of("a").agents.get("agent 0")?.seenAt).toBe(1005);
  });

  it("remembers the files open, the latest last, and forgets the oldest", () => {
    const { presence } = world();
    for (let i = 0; i < limits.touchedMax; i += 1) presence.touched("a", `/p/${i}`, `/p/${i}`);
    presence.touched("a", "/p/0", "/p/0");
    presence.touched("a", "/p/new", "/p/new");
    const files = [...presence.of("a").files.values()];
    expect(files).toHaveLength(limits.touchedMax);
    expect(files.slice(-2)).toEqual(["/p/0", "/p/new"]);
    expect(files).not.toContain("/p/1");
  });

  it("keeps no more rows than there are sessions, whoever was heard of or asked for", () => {
    const { clock, presence } = world();
    const live = new Map([["a", null]]);
    presence.touched("a", "/p/x", "/p/x");
    for (let i = 0; i < 3; i += 1) presence.touched(`nobody ${i}`, "/p/x", "/p/x");
    presence.keepOnly(live);
    expect([...presence.alsoOpen("another", "/p/x")]).toEqual(["a"]);
    clock.pass(5);
    expect(presence.silentMs("a")).toBe(5);
  });

  it("tells who else has a file open, until they are forgotten", () => {
    const { presence } = world();
    for (const session of ["a", "b", "c"]) presence.touched(session, "/p/x", "/p/x");
    expect([...presence.alsoOpen("a", "/p/x")]).toEqual(["b", "c"]);
    presence.forget("b");
    expect([...presence.alsoOpen("a", "/p/x")]).toEqual(["c"]);
    expect([...presence.alsoOpen("a", "/p/y")]).toEqual([]);
  });

  it("finds who else has a file open, whatever was evicted and forgotten since", () => {
    const { presence } = world();
    const other = () => [...presence.alsoOpen("a", "k")];
    for (const session of ["a", "b", "c", "d"]) presence.touched(session, "/k", "k");
    expect(other()).toEqual(["b", "c", "d"]);
    for (let n = 0; n < limits.touchedMax; n += 1) presence.touched("b", `/${n}`, `${n}`);
    expect(other()).toEqual(["c", "d"]);
    presence.touched("c", "/k", "k");
    presence.forget("d");
    expect(other()).toEqual(["c"]);
    presence.keepOnly(new Map([["a", 1]]));
    expect(other()).toEqual([]);
  });
});
