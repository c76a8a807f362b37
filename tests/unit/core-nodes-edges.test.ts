/** Two logs where they are worn: long outages, snapshots at odd moments, entries that come late, nodes that leave. */
import { describe, expect, it } from "vitest";
import { emptyState } from "../../daemon/core/empty-state.ts";
import type { OutboxNumber } from "../../daemon/core/nodes/commands.ts";
import { isAfter } from "../../daemon/core/nodes/table.ts";
import { relaysOf } from "../../daemon/core/outbox/publish.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World } from "./core-world.ts";
import { end, Local, Store, shared, two } from "./nodes-world.ts";

describe("an outbox", () => {
  it("tells of no session that ends while it becomes too long", () => {
    const store = new Store();
    store.join("a");
    const a = new Local("a", bounded({ outboxMax: 5 }));
    const ids = Array.from({ length: 9 }, (_, n) => `s${n}`);
    for (const id of ids) a.begin(id);
    store.take("a", a);
    for (const id of ids) a.do(end(id));
    store.take("a", a);
    expect(store.names).toEqual([]);
  });

  it("keeps no row of a conversation whose last id has ended", () => {
    const store = new Store();
    store.join("a");
    const a = new Local("a", bounded({ outboxMax: 20 }));
    for (let n = 0; n < 100; n += 1) {
      const anchor = { pid: n + 1, startTime: `${n}` };
      a.begin(`s${n}`, { anchor });
      a.do({ type: "session_suspend", session: `s${n}` });
      a.begin(`t${n}`, { anchor });
      a.do(end(`t${n}`));
      expect(a.state.outbox.rows.size).toBeLessThanOrEqual(20);
    }
    store.take("a", a);
    expect(store.names).toEqual([]);
  });

  it("keeps the claims of a conversation that was cleared twice and told of late, also past a start", () => {
    const { store, a } = two();
    const anchor = { pid: 1, startTime: "1" };
    a.begin("s1", { name: "alice", anchor });
    store.take("a", a);
    const task = store.add("b", null);
    store.claim("a", a.idOf("s1"), task);
    for (const [from, to] of [
      ["s1", "s2"],
      ["s2", "s3"],
    ] as const) {
      a.do({ type: "session_suspend", session: from });
      a.begin(to, { anchor });
    }
    const [first] = relaysOf(a.state.outbox);
    if (first !== undefined) store.as("a", first);
    a.start();
    store.take("a", a);
    expect(store.names).toEqual(["alice@a-machine"]);
    expect([...store.state.tasks.claims.keys()]).toEqual([a.idOf("s3")]);
  });

  it("of a home restored from a backup goes on behind the numbers that the shared log has, under new ids", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice" });
    store.take("a", a);
    const backup = writeState(a.state);
    for (const [n, name] of ["bob", "carol", "dave"].entries()) a.begin(`s${n + 2}`, { name });
    a.do(end("s1"));
    store.take("a", a);
    a.start();
    a.begin("s1", { name: "eve" });
    store.take("a", a);
    const old = [...store.state.sessions.live.keys()];
    const restored = new World(readState(backup)) as Local;
    store.join("a", "a-machine");
    const renewed = store.renew("a", "a-machine");
    expect(renewed).toMatchObject({ relayed: store.state.leases.all.get("a")?.relayed });
    const { relayed } = renewed as unknown as { relayed: OutboxNumber };
    expect(isAfter(relayed, restored.state.outbox.last)).toBe(true);
    restored.do({ type: "sharing_set", node: "a", projects: [["/p", shared]], relayed });
    store.take("a", restored);
    expect(store.names).toEqual(["alice@a-machine"]);
    for (const id of store.state.sessions.live.keys()) expect(old).not.toContain(id);
    restored.begin("s9", { name: "zoe" });
    store.take("a", restored);
    expect(store.names).toEqual(["alice@a-machine", "zoe@a-machine"]);
    // A number that it gave itself changes nothing.
    const { last } = restored.state.outbox;
    restored.do({ type: "sharing_set", node: "a", projects: [["/p", shared]], relayed: last });
    store.take("a", restored);
    expect(store.names).toEqual(["alice@a-machine", "zoe@a-machine"]);
  });

  it("goes on with its numbers when it was shared before, also from a snapshot", () => {
    const a = new Local("a");
    a.begin("s1");
    const { last } = a.state.outbox;
    a.share("");
    const again = new World(readState(writeState(a.state)));
    expect(again.state.outbox.last).toEqual(last);
  });
});

describe("a node's lease", () => {
  it("that was lost is renewed before its sessions speak: a late claim finds none of them again", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice" });
    store.take("a", a);
    const task = store.add("b", null);
    store.pass(limits.nodeLostMs);
    expect(store.claim("a", a.idOf("s1"), task)).toMatchObject({ code: "unknown_node" });
    a.begin("s2");
    const [row] = relaysOf(a.state.outbox);
    if (row !== undefined) expect(store.as("a", row)).toMatchObject({ code: "unknown_node" });
    store.pass(limits.lostMs);
    expect(store.names).toEqual([]);
    store.renew("a");
    store.take("a", a);
    expect(store.names).toHaveLength(1);
  });

  it("is renewed by each start before that one speaks: a copy that was refused does not", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice" });
    store.take("a", a);
    expect(store.join("a", "copy", "a copy of the home")).toMatchObject({ code: "node_twice" });
    a.do(end("s1"));
    const [row] = relaysOf(a.state.outbox);
    if (row !== undefined) expect(store.as("a", row)).toMatchObject({ code: "unknown_node" });
    expect(store.names).toHaveLength(1);
  });

  it("has another machine's name: the node tells of its sessions anew", () => {
    const store = new Store();
    store.join("a", "laptop");
    store.join("b", "laptop");
    const b = new Local("b");
    b.begin("s1", { name: "bob" });
    store.take("b", b);
    expect(store.names).toEqual(["bob@laptop-2"]);
    store.as("a", { type: "node_leave" });
    expect(store.renew("b", "laptop")).toMatchObject({ machine: "laptop", isNew: true });
    b.share("b");
    store.take("b", b);
    expect(store.names).toEqual(["bob@laptop"]);
    expect(store.renew("b", "laptop")).toMatchObject({ isNew: false });
  });
});

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

describe("a log that nodes share", () => {
  it("stays one when its last node has left, also in a snapshot", () => {
    const { store, a } = two();
    a.begin("s1");
    store.take("a", a);
    for (const node of ["a", "b"]) store.as(node, { type: "node_leave" });
    for (const state of [store.state, readState(writeState(store.state))]) {
      const left = new Store(state);
      const late = end(a.idOf("s1"));
      expect(left.as("a", late)).toMatchObject({ code: "unknown_node" });
      expect(left.as("a", { ...begun, session: "s9" })).toMatchObject({ code: "unknown_node" });
      expect(left.names).toEqual([]);
      expect(left.join("a")).toMatchObject({ ok: true, isNew: true });
    }
  });
});

const where = { anchor: null, cwd: "", worktree: "", project: shared, branch: null } as const;
const begun = { type: "session_begin", ...where, name: null, revive: true, wallMs: 5 } as const;

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

describe("the level of rules", () => {
  const all = { from: 1, to: 2 };
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
    expect(store.state.rules).toBe(2);
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

const levels = { from: 1, to: 2 };
const renewal = { type: "node_renew", machine: "a", binding: "a's home", levels, wallMs: 5 } as const;

describe("a machine's name", () => {
  it.each([
    ["", "machine"],
    ["10.0.0.1", "machine"],
    ["ann@home/x\ny", "ann-home-x-y"],
    ["m".repeat(300), "m".repeat(limits.sayableChars)],
  ])("of any characters can be said: %j", (machine, name) => {
    const store = new Store();
    expect(store.join("a", machine)).toMatchObject({ ok: true, machine: name });
    expect(store.renew("a", machine)).toMatchObject({ isNew: false });
  });
});

describe("an import", () => {
  it("claims no task for a session of another node, or for one that ended", () => {
    const { store, a } = two();
    a.begin("s1");
    store.take("a", a);
    const [first] = store.state.sessions.live.keys();
    store.claim("a", first ?? "", store.add("b", null));
    const [task] = store.state.tasks.all.values();
    if (task === undefined) throw new Error("no task was made");
    const { n, createdBy, ...rest } = task;
    expect(task).toMatchObject({ n: 1, state: { status: "active" }, createdBy });
    const copy = { type: "task_import", by: null, tasks: [{ ...rest, id: `t-${n}0000000` }] } as const;
    expect(store.as("b", copy)).toMatchObject({ code: "not_yours" });
    expect(store.as("a", copy)).toMatchObject({ ok: true });
    a.do(end("s1"));
    store.take("a", a);
    expect(store.as("a", copy)).toMatchObject({ code: "session_ended" });
  });
});

describe("a request sent again", () => {
  it("is the same one from the same node alone", () => {
    const { store } = two();
    const retry = { by: "", requestId: "1", digest: "d" };
    const task = { name: null, description: "x", priority: "normal", labels: [], dependsOn: [] } as const;
    const where = { project: shared, wallMs: 5 };
    const create = { type: "task_create", by: null, tasks: [task], many: false, ...where, retry } as const;
    const first = store.as("a", create);
    expect(store.as("a", create)).toEqual(first);
    expect(store.as("b", create)).not.toEqual(first);
    expect(store.as("b", { ...create, retry: { ...retry, digest: "e" } })).toMatchObject({
      code: "request_conflict",
    });
    expect(store.state.tasks.all.size).toBe(2);
  });
});

describe("a name with an @", () => {
  it("is found by its whole name, and is nobody else's beginning", () => {
    const { store, a, b } = two();
    a.begin("s1", { name: "alice" });
    b.begin("s2", { name: "alice@a-machine" });
    b.begin("s3", { name: "bob" });
    store.take("a", a);
    store.take("b", b);
    const send = (to: string) =>
      store.as("b", {
        ...{ type: "message_send", actor: actor(b.idOf("s3")), project: shared, to },
        ...{ text: "hello", bytes: 5, replyTo: null, urgent: false, wallMs: 7 },
      });
    expect(send("alice")).toMatchObject({ ok: true });
    expect(send("alice@a-machine")).toMatchObject({ ok: true });
    expect(send("alice@a-machine@b-machine")).toMatchObject({ ok: true });
  });
});
