/** Two logs where they are worn: long outages, snapshots at odd moments, entries that come late, nodes that leave. */
import { describe, expect, it } from "vitest";
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

  it("of a home restored from a backup is heard at once, though its log counts starts anew", () => {
    const { store, a } = two();
    const backup = writeState(a.state);
    a.start();
    for (const name of ["bob", "carol", "dave"]) a.begin(name, { name });
    store.take("a", a);
    const restored = new World(readState(backup), 2_000_000) as Local;
    restored.begin("s1", { name: "alice" });
    store.take("a", restored);
    expect(store.names).toEqual(["alice@a-machine"]);
  });

  it("of a home restored from a backup, whose clock was set back, goes on behind the numbers that the shared log has, under new ids", () => {
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

  it("has one row of a conversation that is cleared again and again while the store is away, and its claims go along", () => {
    const store = new Store();
    for (const node of ["a", "b"]) store.join(node);
    const a = new Local("a", bounded({ outboxMax: 20 }));
    const anchor = { pid: 1, startTime: "1" };
    a.begin("s0", { name: "alice", anchor });
    store.take("a", a);
    const task = store.add("b", null);
    store.claim("a", a.idOf("s0"), task);
    for (let n = 0; n < 100; n += 1) {
      a.do({ type: "session_suspend", session: `s${n}` });
      a.begin(`s${n + 1}`, { anchor });
      // What was sent, and not heard of.
      const [first] = relaysOf(a.state.outbox);
      if (n < 2 && first !== undefined) store.as("a", first);
      expect(a.rows.filter(type => type === "session_continue")).toHaveLength(1);
    }
    a.do({ type: "session_rename", by: null, of: "alice", name: "bob", project: "/p" });
    const text = writeState(a.state);
    expect(text.length).toBeLessThan(20_000);
    store.take("a", a);
    expect(store.names).toEqual(["bob@a"]);
    expect([...store.state.tasks.claims.keys()]).toEqual([a.idOf("s100")]);
    expect(store.state.tasks.all.get(task)).toMatchObject({ attempts: 0 });
  });

  it("takes the claims and messages of a session's other terminals along when it goes on, as its own log does", () => {
    const { store, a, b } = two();
    const anchors = [1, 2].map(pid => ({ pid, startTime: `${pid}` }));
    for (const anchor of anchors) a.begin("s1", { name: "alice", anchor });
    b.begin("s9", { name: "bob" });
    for (const [node, local] of [
      ["a", a],
      ["b", b],
    ] as const)
      store.take(node, local);
    const [first, second] = [a.idOf("s1"), a.idOf("s1", 1)];
    const tasks = [first, second].map(id => {
      const task = store.add("b", null);
      expect(store.claim("a", id, task)).toMatchObject({ ok: true });
      return task;
    });
    const send = (to: string) =>
      store.as("b", {
        ...{ type: "message_send", actor: actor(b.idOf("s9")), project: shared, to },
        ...{ text: "hello", bytes: 5, replyTo: null, urgent: false, wallMs: 7 },
      });
    expect(send("alice@a-machine-2")).toMatchObject({ ok: true });
    a.do({ type: "session_suspend", session: "s1" });
    a.begin("s2", { anchor: anchors[0] ?? null });
    expect(a.rows).toEqual(["session_continue"]);
    store.take("a", a, 2);
    expect(store.names).toEqual(["bob@b-machine", "alice@a-machine"]);
    const id = a.idOf("s2");
    expect([...(store.state.tasks.claims.get(id) ?? [])].sort()).toEqual(tasks.sort());
    for (const task of tasks) expect(store.state.tasks.all.get(task)).toMatchObject({ attempts: 0 });
    const [message] = store.state.messages.all.values();
    expect([...(message?.letters.values() ?? [])]).toMatchObject([{ to: { id }, undelivered: null }]);
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
    expect(store.renew("b", "desk")).toMatchObject({ machine: "desk", isNew: true });
    b.share("b");
    store.take("b", b);
    expect(store.names).toEqual(["bob@desk"]);
    expect(store.renew("b", "desk")).toMatchObject({ isNew: false });
  });

  it("keeps its machine's name when a lower one gets free, and takes that when it joins again", () => {
    const store = new Store();
    store.join("a", "laptop");
    store.join("b", "laptop");
    store.as("a", { type: "node_leave" });
    expect(store.renew("b", "laptop")).toMatchObject({ machine: "laptop-2", isNew: false });
    const saved = writeState(store.state);
    expect(writeState(readState(saved))).toBe(saved);
    expect(store.join("a", "laptop")).toMatchObject({ machine: "laptop" });
    expect(store.join("b", "laptop")).toMatchObject({ machine: "laptop-2", isNew: false });
    // A machine that has this name of its own asks for another one.
    expect(store.renew("b", "laptop-2")).toMatchObject({ machine: "laptop-2" });
    expect(store.renew("b", "laptop")).toMatchObject({ machine: "laptop-2" });
    store.as("a", { type: "node_leave" });
    store.as("b", { type: "node_leave" });
    expect(store.join("b", "laptop")).toMatchObject({ machine: "laptop" });
  });

  it("takes a lower name that gets free under earlier rules, as their journals have it", () => {
    const store = new Store();
    store.join("a", "laptop");
    store.join("b", "laptop");
    store.state.rules = 2;
    store.as("a", { type: "node_leave" });
    expect(store.renew("b", "laptop")).toMatchObject({ machine: "laptop", isNew: true });
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
