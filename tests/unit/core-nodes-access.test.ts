/** Which nodes take part in a shared log, since when and until when, under which rules, and with how many sessions. */
import { describe, expect, it } from "vitest";
import { relaysOf } from "../../daemon/core/outbox/publish.ts";
import { emptyState, readState, writeState } from "../../daemon/core/snapshot.ts";
import { rulesLevel } from "../../daemon/core/tables/base-state.ts";
import { limits } from "../../protocol/limits.ts";
import { bounded, World } from "./core-world.ts";
import { Local, Store, shared, two } from "./nodes-world.ts";

const levels = { from: 1, to: rulesLevel };
const renewal = { type: "node_renew", machine: "a", binding: "a's home", levels, wallMs: 5 } as const;

describe("a node that leaves", () => {
  it("enters nothing more in this start: what comes late neither brings it back nor ends what a later start began", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice" });
    store.take("a", a);
    expect(store.as("a", { type: "node_leave" })).toMatchObject({ ok: true });
    expect(store.renew("a")).toMatchObject({ code: "node_left" });
    expect(store.as("a", { type: "node_leave" })).toMatchObject({ code: "unknown_node" });
    expect([...store.state.leases.all.keys()]).toEqual(["b"]);
    const early = store.epoch;
    const again = readState(writeState(store.state));
    expect(new Store(again).state.nodes.get("a")).toMatchObject({ hasLeft: true });
    expect(store.join("a")).toMatchObject({ ok: true, isNew: true });
    a.share("a");
    store.take("a", a);
    const late = { node: "a", epoch: early };
    const now = { node: store.node, epoch: store.epoch };
    Object.assign(store, late);
    for (const command of [{ type: "node_leave" }, renewal] as const)
      expect(store.do(command)).toMatchObject({ code: "node_twice" });
    Object.assign(store, now);
    expect(store.names).toEqual(["alice@a"]);
  });

  it("is forgotten after many others, and those that are there are not", () => {
    const store = new Store(bounded({ nodeStartsMax: 5 }));
    store.join("a");
    for (let n = 0; n < 20; n += 1) {
      store.join(`n${n}`);
      store.as(`n${n}`, { type: "node_leave" });
    }
    expect([...store.state.nodes.keys()]).toEqual(["a", "n16", "n17", "n18", "n19"]);
    expect(store.renew("n19")).toMatchObject({ code: "node_left" });
    expect(store.join("n0")).toMatchObject({ ok: true });
  });

  it("takes its context along that is not durable", () => {
    const { store } = two();
    const value = {
      actor: null,
      project: shared,
      value: 1,
      bytes: 1,
      ifVersion: null,
      ttlMs: null,
      wallMs: 1,
    };
    for (const node of ["a", "b"])
      for (const durable of [true, false])
        store.as(node, { type: "context_set", key: `${node} ${durable}`, durable, ...value });
    store.as("a", { type: "node_leave" });
    expect([...store.state.context.items.values()].map(({ key }) => key)).toEqual([
      "a true",
      "b true",
      "b false",
    ]);
  });
});

describe("a node's id", () => {
  it.each(["", "a.b", "a@b", "a b", "a\nb", "n".repeat(65)])(
    "is refused where ids of sessions could not hold it: %j",
    id => {
      const { store, a } = two();
      expect(store.join(id, "laptop")).toMatchObject({ code: "invalid_request" });
      expect(store.state.leases.byMachine.has("laptop")).toBe(false);
      if (id === "") return;
      expect(a.do({ type: "sharing_set", node: id, projects: [["/p", shared]] })).toMatchObject({
        code: "invalid_request",
      });
      expect(a.state.outbox.node).toBe("a");
    },
  );
});

describe("the room for sessions", () => {
  const told = (store: Store, node: string, local: Local, ids: readonly string[]) => {
    for (const id of ids) local.begin(`${node}${id}`, { name: `${node}${id}` });
    store.take(node, local);
  };

  function full(): { store: Store; a: Local; b: Local } {
    const store = new Store(bounded({ sessionsMax: 8 }));
    for (const node of ["a", "b"]) store.join(node);
    const [a, b] = [new Local("a"), new Local("b")];
    told(store, "b", b, ["1", "2"]);
    told(store, "a", a, ["1", "2", "3", "4", "5", "6"]);
    return { store, a, b };
  }

  it("of a node with more than its share is made by its own sessions alone", () => {
    const { store, a } = full();
    told(store, "a", a, ["7", "8", "9"]);
    expect(store.names).toEqual(["b1@b", "b2@b", "a4@a", "a5@a", "a6@a", "a7@a", "a8@a", "a9@a"]);
  });

  it("of a node with less than its share is made by those with more, until each has its share", () => {
    const { store, b } = full();
    told(store, "b", b, ["3", "4"]);
    expect(store.names).toEqual(["b1@b", "b2@b", "a3@a", "a4@a", "a5@a", "a6@a", "b3@b", "b4@b"]);
    told(store, "b", b, ["5"]);
    expect(store.names).toEqual(["b2@b", "a3@a", "a4@a", "a5@a", "a6@a", "b3@b", "b4@b", "b5@b"]);
  });

  it("is refused while each session that could make it has something to lose", () => {
    const { store, a, b } = full();
    for (const id of ["1", "2", "3", "4", "5", "6"]) store.claim("a", a.idOf(`a${id}`), store.add("a", null));
    for (const id of ["1", "2"]) store.claim("b", b.idOf(`b${id}`), store.add("b", null));
    a.begin("a7");
    const [row] = relaysOf(a.state.outbox);
    if (row !== undefined)
      expect(store.as("a", row)).toMatchObject({
        code: "too_many_sessions",
        error: expect.stringContaining("8"),
      });
    expect(store.names).toHaveLength(8);
  });
});

describe("the level of rules", () => {
  const all = { from: 1, to: rulesLevel };
  const rules = (level: number) => ({ type: "rules", level }) as const;

  function lowStore(): Store {
    const store = new Store(emptyState(1));
    for (const node of ["a", "b"]) store.join(node);
    return store;
  }

  it("rises when every node of the last day knows the next one, and never falls", () => {
    const store = lowStore();
    store.renew("b", "b", "b's home", { from: 1, to: 1 });
    expect(store.as("a", rules(2))).toMatchObject({
      code: "level_unfit",
      error: expect.stringContaining("b (1.2.3)"),
    });
    expect(store.state.rules).toBe(1);
    store.pass(limits.nodeLevelsMs - limits.nodeRenewMs);
    store.renew("a");
    expect(store.as("a", rules(2))).toMatchObject({ code: "level_unfit" });
    store.pass(limits.nodeRenewMs);
    store.renew("a");
    expect(store.as("a", rules(2))).toMatchObject({ ok: true });
    expect(store.as("a", rules(1))).toMatchObject({ code: "level_unfit" });
    expect(store.state.rules).toBe(2);
    expect(store.renew("b", "b", "b's home", { from: 1, to: 1 })).toMatchObject({
      code: "level_unfit",
      error: expect.stringContaining("1.2.3"),
    });
    expect(store.renew("b", "b", "b's home", all)).toMatchObject({ ok: true });
  });

  it("that a program knows no more keeps its node out, and names the nodes that have to be updated", () => {
    const store = lowStore();
    store.renew("b", "b", "b's home", { from: 1, to: 1 });
    const join = () => store.renew("c", "c", "c's home", { from: 2, to: 3 });
    expect(join()).toMatchObject({
      code: "level_unfit",
      error: expect.stringContaining("update Kite on b (1.2.3)"),
    });
    store.renew("b");
    expect(join()).toMatchObject({ error: expect.stringContaining("one of a (1.2.3), b (1.2.3)") });
    store.as("a", rules(2));
    expect(store.renew("c", "c", "c's home", { from: 2, to: 3 })).toMatchObject({ ok: true });
  });

  it("that nobody here knows is refused like any other that one does not know", () => {
    const { store } = two();
    expect(store.as("a", rules(9))).toMatchObject({ code: "level_unfit" });
    expect(store.state.rules).toBe(rulesLevel);
  });

  it("of a log of one daemon is set as before", () => {
    const world = new World(emptyState(1));
    expect(world.do(rules(2))).toMatchObject({ ok: true });
    expect(world.do(rules(1))).toMatchObject({ ok: true });
  });
});

describe("an entry that is to be skipped", () => {
  it("is named by a node with a lease alone", () => {
    const { store } = two();
    const skipped = { type: "void", seq: 1 } as const;
    expect(store.as("a", skipped)).toMatchObject({ ok: true });
    expect(store.as("c", skipped)).toMatchObject({ code: "unknown_node" });
    store.pass(limits.nodeLostMs);
    expect(store.as("a", skipped)).toMatchObject({ code: "unknown_node" });
  });
});
