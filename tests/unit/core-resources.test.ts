/** Locks on what is no file: keys of another form in the same table, and the lease that only they have. */

import { describe, expect, it } from "vitest";
import { allDue } from "../../daemon/core/apply.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { resourceRef } from "../../daemon/facts/facts.ts";
import { limits } from "../../protocol/limits.ts";
import { World, waits } from "./core-world.ts";

const lease = limits.resourceLeaseMs;
const on = (epoch: number, connection: number) => ({ node: "n", epoch, connection });
const child = { session: "a", agent: "child", incarnation: 0 };

const releases = (w: World) =>
  w.steps.flatMap(s =>
    s.events.flatMap(({ event }) => (event.event === "lock_released" ? [[event.paths, event.cause]] : [])),
  );

const notes = (w: World) =>
  [...w.state.notes.pending.values()].flatMap(({ session, agent, notes: told }) =>
    told.map(({ note }) => [session, agent, note]),
  );

describe("a lock on a resource", () => {
  it("has one holder and a queue, as one on a file", () => {
    const w = new World();
    expect(w.lock("a", "@db")).toMatchObject({ ok: true, file: "@db", path: "@db" });
    expect(w.lock("b", "@db", { waitMs: 0 })).toMatchObject({
      code: "lock_held",
      error: "@db locked by a; ask again with waitMs to wait for it",
      path: "@db",
    });
    expect(w.lock("b", "@db")).toBe(waits);
    const b = w.n;
    expect(w.lock("c", "@db")).toBe(waits);
    w.unlock("a", "@db");
    expect(w.holder("@db")).toBe("b");
    expect(w.answers.get(b)).toMatchObject({ grant: true, reply: { granted_from_queue: true } });
    w.unlock("b", "@db");
    expect(w.holder("@db")).toBe("c");
  });

  it("is one resource however it is written, and the reply repeats what was asked for", () => {
    const w = new World();
    expect(w.lock("a", "@DB")).toMatchObject({ ok: true, file: "@DB", path: "@db" });
    expect(w.lock("b", "@db", { waitMs: 0 })).toMatchObject({ code: "lock_held" });
    expect(w.unlock("a", "@Db")).toMatchObject({ ok: true });
    expect(w.holder("@db")).toBeNull();
  });

  it("keeps its holder's token when that asks again", () => {
    const w = new World();
    const { token } = w.lock("a", "@db") as { token?: string };
    expect(w.lock("a", "@db")).toMatchObject({ ok: true, token });
  });

  it("is no file, whatever the file is called, and no directory holds it", () => {
    const w = new World();
    w.lock("a", "@db");
    const file = { file: "@db", lexical: "/p/@db", key: "n:/p/@db", dir: false };
    expect(w.lock("b", "x", { files: [file], waitMs: 0 })).toMatchObject({ ok: true });
    const root = { file: "/", lexical: "/", key: "n:", dir: true };
    w.unlock("b", "all");
    expect(w.lock("b", "x", { files: [root], waitMs: 0 })).toMatchObject({ ok: true });
    expect(w.lock("c", "@browser", { waitMs: 0 })).toMatchObject({ ok: true });
  });

  it("counts for one project, but for a port and what the machine has", () => {
    const keyOf = (project: string, name: string) => resourceRef({ node: "n" }, project, name).key;
    for (const name of ["@db", "@port", "@port-forward", "@machine.gpu"])
      expect([name, keyOf("/p", name) === keyOf("/q", name)]).toEqual([name, false]);
    for (const name of ["@port-3000", "@machine/gpu", "@Machine/GPU"])
      expect([name, keyOf("/p", name) === keyOf("/q", name)]).toEqual([name, true]);
  });

  it("is taken with files, all or none", () => {
    const w = new World();
    w.lock("b", "@db");
    expect(w.lock("a", ["x", "@db"], { waitMs: 0 })).toMatchObject({ code: "lock_held", path: "@db" });
    expect(w.holder("x")).toBeNull();
    expect(w.lock("a", ["x", "@db"])).toBe(waits);
    const a = w.n;
    w.unlock("b", "@db");
    expect(w.answers.get(a)?.reply).toMatchObject({ files: ["x", "@db"], paths: ["/p/x", "@db"] });
  });

  it("closes a deadlock with a file, which names both", () => {
    const w = new World();
    w.lock("a", "x");
    w.lock("b", "@db");
    expect(w.lock("a", "@db")).toBe(waits);
    expect(w.lock("b", "x")).toMatchObject({
      code: "lock_deadlock",
      error: "deadlock: b waits for x behind a, a waits for @db behind b; release what you hold first",
    });
  });

  it("passes to an agent that works for its holder, and back at the end of that one's turn", () => {
    const w = new World();
    w.begin("a");
    w.lock("a", "@db");
    w.lock(child, "@db", { ancestors: [null] });
    expect(w.holder("@db")).toBe("a/child");
    w.do({ type: "turn_end", actor: child, keepPrompt: null });
    expect(w.holder("@db")).toBe("a");
  });

  it("ends with the session of its holder", () => {
    const w = new World();
    w.begin("a");
    w.lock("a", "@db");
    expect(w.lock("b", "@db")).toBe(waits);
    w.do({ type: "session_end", session: "a", incarnation: null, cause: "ended" });
    expect(w.holder("@db")).toBe("b");
  });
});

describe("the lease of a lock on a resource", () => {
  it("ends it, grants the next and tells the holder", () => {
    const w = new World();
    w.lock("a", "@db");
    expect(w.lock("b", "@db", { waitMs: lease })).toBe(waits);
    w.pass(lease - 1);
    expect(w.holder("@db")).toBe("a");
    w.pass(1);
    expect(w.holder("@db")).toBe("b");
    expect(releases(w)).toEqual([[["@db"], "lease over"]]);
    expect(notes(w)).toEqual([["a", null, { what: "lease_over", file: "@db" }]]);
  });

  it("is not one of a file's lock", () => {
    const w = new World();
    w.lock("a", ["x", "@db"]);
    w.pass(lease);
    expect([w.holder("x"), w.holder("@db")]).toEqual(["a", null]);
  });

  it("begins anew with each request of its holder", () => {
    const w = new World();
    w.lock("a", "@db");
    w.pass(lease - 1);
    w.lock("a", "@db");
    w.pass(lease - 1);
    expect(w.holder("@db")).toBe("a");
    w.pass(1);
    expect(w.holder("@db")).toBeNull();
  });

  it("begins with a grant from the queue", () => {
    const w = new World();
    w.lock("a", "@db");
    w.lock("b", "@db", { waitMs: lease });
    w.pass(1000);
    w.unlock("a", "@db");
    w.pass(lease - 1);
    expect(w.holder("@db")).toBe("b");
    w.pass(1);
    expect(w.holder("@db")).toBeNull();
  });

  it("is none while a connection binds it, and begins when its command gives it back", () => {
    const w = new World();
    w.lock("a", "@db");
    const command = { session: "a", agent: null, incarnation: 0, command: "7.x" };
    w.lock(command, "@db", { bound: on(1, 3) });
    w.pass(10 * lease);
    expect(w.state.locks.holds.get("n:@db@/p")?.actor.command).toBe("7.x");
    w.unlock(command, "@db");
    expect(w.state.locks.holds.get("n:@db@/p")?.actor.command).toBeUndefined();
    w.pass(lease - 1);
    expect(w.holder("@db")).toBe("a");
    w.pass(1);
    expect(w.holder("@db")).toBeNull();
  });

  it("begins where the holder asks for a bound one without a connection", () => {
    const w = new World();
    w.lock("a", "@db", { bound: on(1, 3) });
    w.pass(lease);
    w.lock("a", "@db");
    w.pass(lease - 1);
    expect(w.holder("@db")).toBe("a");
    w.pass(1);
    expect(w.holder("@db")).toBeNull();
  });

  it("goes on over a restart of the daemon", () => {
    const w = new World();
    w.lock("a", "@db");
    w.lock("a", "@browser", { bound: on(1, 3) });
    const copy = readState(writeState(w.state));
    const due = [...allDue(copy)].filter(one => one.due.what === "resource_lease_over");
    expect(due).toEqual([
      { at: w.now + lease, due: { what: "resource_lease_over", key: "n:@db@/p", first: 1 } },
    ]);
  });

  it("is told of no more once the holder has locked the resource again", () => {
    const w = new World();
    w.begin("a");
    w.lock("a", ["@db", "@browser"]);
    w.pass(lease);
    expect(notes(w)).toHaveLength(2);
    w.lock("a", "@db");
    expect(notes(w)).toEqual([["a", null, { what: "lease_over", file: "@browser" }]]);
  });
});
