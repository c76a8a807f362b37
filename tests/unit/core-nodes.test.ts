/** Nodes of a shared log, also where they are worn. */
import { describe, expect, it } from "vitest";
import { sharedCommands } from "../../daemon/core/apply.ts";
import type { OutboxNumber, Relayed } from "../../daemon/core/nodes/commands.ts";
import { nodeOf, ownIdOf, sharedId } from "../../daemon/core/nodes/shared-ids.ts";
import { isAfter } from "../../daemon/core/nodes/table.ts";
import { relaysOf } from "../../daemon/core/outbox/publish.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { rulesLevel } from "../../daemon/core/tables/base-state.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World } from "./core-world.ts";
import { end, Local, Store, shared, two } from "./nodes-world.ts";

// Nodes of a shared log: leases, what each may enter, and the outbox by which a node's own log tells of its sessions.

describe("an id of a shared log", () => {
  it("says which session of which node it is", () => {
    const id = sharedId("x@y.3@z", "n1", { epoch: 3, n: 12 });
    expect(nodeOf(id)).toBe("n1");
    expect(ownIdOf(id)).toBe("x@y.3@z");
    expect([nodeOf("s1"), ownIdOf("s1")]).toEqual([null, null]);
  });
});

describe("a node's sessions", () => {
  it("are known to the others by their name and machine, and end with the session", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice" });
    store.take("a", a);
    expect(store.names).toEqual(["alice@a-machine"]);
    const row = store.state.sessions.live.get(a.idOf("s1"));
    expect(row).toMatchObject({ node: "a", project: shared, cwd: "", worktree: "", branch: "main" });
    a.do({ type: "session_end", session: "s1", incarnation: null, cause: "ended" });
    store.take("a", a);
    expect(store.names).toEqual([]);
    expect(a.rows).toEqual([]);
  });

  it("come in the order of the outbox alone: one before its time is refused", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice" });
    a.begin("s2", { name: "bob" });
    const relays = [...relaysOf(a.state.outbox)];
    const last = relays.at(-1);
    if (last !== undefined) expect(store.as("a", last)).toMatchObject({ code: "outbox_gap" });
    expect(store.names).toEqual([]);
    store.take("a", a);
    expect(store.names).toEqual(["alice@a-machine", "bob@a-machine"]);
  });

  it("of projects that are not shared stay unknown", () => {
    const { store, a } = two();
    a.begin("s1", { project: "/other" });
    expect(a.rows).toEqual(["node_sessions_are"]);
    store.take("a", a);
    expect(store.names).toEqual([]);
  });

  it("change once, however often that is repeated", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice" });
    store.take("a", a, 3);
    const id = store.add("a", a.idOf("s1"));
    expect(store.claim("a", a.idOf("s1"), id)).toMatchObject({ ok: true });
    const late: Relayed = { number: { epoch: 0, n: 1 }, command: end(a.idOf("s1")) };
    store.as("a", { type: "relayed", ...late });
    expect(store.names).toEqual(["alice@a-machine"]);
    a.do({ type: "session_rename", by: null, of: "alice", name: "bob", project: "/p" });
    expect(a.rows).toEqual(["session_begin"]);
    store.take("a", a, 2);
    expect(store.names).toEqual(["bob@a-machine"]);
    expect(store.state.tasks.claims.get(a.idOf("s1"))?.size).toBe(1);
  });

  it("have one row in the outbox, whatever becomes of them", () => {
    const { a } = two();
    a.do({ type: "outbox_sent", node: "a", last: a.state.outbox.last });
    a.begin("s1", { name: "alice" });
    for (const name of ["b1", "b2", "b3"])
      a.do({ type: "session_rename", by: null, of: "s1", name, project: "/p" });
    expect(a.rows).toEqual(["session_begin"]);
    a.do({ type: "session_end", session: "s1", incarnation: null, cause: "ended" });
    expect(a.rows).toEqual(["session_end"]);
  });

  it("are one for each terminal that has them open: a claim ends with its own", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice", anchor: { pid: 1, startTime: "1" } });
    a.begin("s1", { name: "alice", anchor: { pid: 2, startTime: "2" } });
    store.take("a", a);
    expect(store.names).toEqual(["alice@a-machine", "alice@a-machine-2"]);
    const [first, second] = [a.idOf("s1"), a.idOf("s1", 1)];
    for (const id of [first, second]) {
      store.add("a", null);
      expect(store.claim("a", id)).toMatchObject({ ok: true });
    }
    a.do({ type: "session_end", session: "s1", incarnation: 1, cause: "ended" });
    store.take("a", a);
    expect([...store.state.tasks.claims.keys()]).toEqual([first]);
  });

  it("go on under another id with their claims and their name", () => {
    const { store, a } = two();
    const anchor = { pid: 1, startTime: "1" };
    a.begin("s1", { name: "alice", anchor });
    store.take("a", a);
    const task = store.add("b", null);
    store.claim("a", a.idOf("s1"), task);
    a.do({ type: "session_suspend", session: "s1" });
    a.begin("s2", { anchor });
    expect(a.rows).toEqual(["session_continue"]);
    store.take("a", a, 2);
    expect(store.names).toEqual(["alice@a-machine"]);
    expect([...store.state.tasks.claims.keys()]).toEqual([a.idOf("s2")]);
    expect(store.state.tasks.all.get(task)).toMatchObject({ attempts: 0 });
  });

  it("have the client that their own log knows, also one that it learns late or by a move", () => {
    const { store, a } = two();
    const anchor = { pid: 1, startTime: "1" };
    a.begin("s1", { name: "alice", anchor, client: "codex" });
    store.take("a", a);
    const clients = () => [...store.state.sessions.live.values()].map(({ client }) => client);
    expect(clients()).toEqual(["codex"]);
    a.do({ type: "session_suspend", session: "s1" });
    a.begin("s2", { anchor, client: "codex" });
    expect(a.rows).toEqual(["session_continue"]);
    store.take("a", a);
    expect(clients()).toEqual(["codex"]);
    a.begin("s2", { anchor, client: "gemini" });
    expect(a.rows).toEqual(["session_begin"]);
    store.take("a", a);
    expect(clients()).toEqual(["gemini"]);
  });

  it("are lost and found there as in their own log", () => {
    const { store, a, b } = two();
    a.begin("s1", { name: "alice" });
    store.take("a", a);
    const lost = () => store.state.sessions.live.get(a.idOf("s1"))?.lostAt;
    const begun = a.state.sessions.live.get("s1")?.begun ?? 0;
    a.do({ type: "session_lost", session: "s1", begun });
    expect(a.rows).toEqual(["session_begin"]);
    store.take("a", a, 2);
    expect(lost()).toBe(store.now);
    store.pass(limits.nodeRenewMs);
    store.renew("a", "a-machine");
    expect(lost()).not.toBeNull();
    a.do({ type: "session_found", session: "s1" });
    store.take("a", a);
    expect(lost()).toBeNull();
    a.do({ type: "session_lost", session: "s1", begun });
    a.lock("s1", "x.ts");
    expect(a.rows).toEqual(["session_begin"]);
    store.take("a", a);
    expect(lost()).toBeNull();
    b.begin("s9");
  });

  it("leave the shared world with their project", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice" });
    a.begin("s2", { name: "bob", project: "/q" });
    a.share("a", [
      ["/p", shared],
      ["/q", "example.com/other"],
    ]);
    store.take("a", a);
    expect(store.names).toEqual(["alice@a-machine", "bob@a-machine"]);
    a.share("a", [["/q", "example.com/other"]]);
    store.take("a", a);
    expect(store.names).toEqual(["bob@a-machine"]);
    a.begin("s2", { project: "/elsewhere" });
    store.take("a", a);
    expect(store.names).toEqual([]);
    a.share("");
    expect(a.rows).toEqual([]);
  });

  it("that a power cut took from the node's log end when its daemon starts", () => {
    const { store, a } = two();
    const saved = writeState(a.state);
    a.begin("s1", { name: "lost" });
    store.take("a", a);
    const again = new World(readState(saved));
    again.begin("s2", { name: "next" });
    store.take("a", again as Local);
    expect(store.names).toEqual(["next@a-machine"]);
  });

  it("need no more rows than there are sessions, when the store is away for long", () => {
    const store = new Store();
    store.join("a");
    const a = new Local("a", bounded({ outboxMax: 20 }));
    for (let n = 0; n < 200; n += 1) {
      a.begin(`s${n}`, { name: `agent${n}` });
      if (n > 2) a.do({ type: "session_end", session: `s${n - 3}`, incarnation: null, cause: "ended" });
      expect(a.state.outbox.rows.size).toBeLessThanOrEqual(20);
    }
    store.take("a", a);
    expect(store.names).toEqual(["agent197@a", "agent198@a", "agent199@a"]);
  });
});

describe("a name", () => {
  it("reaches the one session that has it, and is refused with the list if two machines have one", () => {
    const { store, a, b } = two();
    a.begin("s1", { name: "alice" });
    a.begin("s2", { name: "alicia" });
    b.begin("s1", { name: "bob" });
    for (const [node, local] of [
      ["a", a],
      ["b", b],
    ] as const)
      store.take(node, local);
    const send = (to: string) =>
      store.as("b", {
        ...{ type: "message_send", actor: actor(b.idOf("s1")), project: shared, to },
        ...{ text: "hello", bytes: 5, replyTo: null, urgent: false, wallMs: 7 },
      });
    expect(send("alice")).toMatchObject({ ok: true });
    b.begin("s3", { name: "alice" });
    store.take("b", b);
    const refused = send("alice");
    expect(refused).toMatchObject({ ok: false, code: "recipient_ambiguous" });
    expect((refused as { error: string }).error).toBe(
      "alice can be alice@a-machine, alice@b-machine; say which by its whole name",
    );
    expect(send("alice@b-machine")).toMatchObject({ ok: true });
  });
});

describe("a node", () => {
  it("speaks for its own sessions alone", () => {
    const { store, a, b } = two();
    a.begin("s1");
    b.begin("s1");
    for (const [node, local] of [
      ["a", a],
      ["b", b],
    ] as const)
      store.take(node, local);
    const task = store.add("a", null);
    const before = writeState(store.state).split("\n").slice(1);
    expect(store.claim("b", a.idOf("s1"), task)).toMatchObject({ code: "not_yours" });
    expect(store.claim("b", "s1", task)).toMatchObject({ code: "not_yours" });
    const command = end(a.idOf("s1"));
    const number = { epoch: 9, n: 9 };
    expect(store.as("b", { type: "relayed", number, command })).toMatchObject({ code: "not_yours" });
    const all = { type: "node_sessions_are", sessions: [a.idOf("s1")] } as const;
    expect(store.as("b", { type: "relayed", number, command: all })).toMatchObject({ code: "not_yours" });
    expect(writeState(store.state).split("\n").slice(1)).toEqual(before);
  });

  it("enters nothing that is about one machine's files", () => {
    const { store, a } = two();
    a.begin("s1");
    store.take("a", a);
    const files = [{ key: "n:/p/x", file: "x", lexical: "/p/x" }];
    const release = { type: "lock_release", actor: actor(a.idOf("s1")), files } as const;
    expect(store.as("a", release)).toMatchObject({ code: "not_shared" });
    const hold = { files: [], ttlMs: 1_000 };
    const text = { text: "stop", bytes: 4, wallMs: 5 };
    const freeze = { type: "broadcast", actor: actor(a.idOf("s1")), project: shared, hold, ...text } as const;
    expect(store.as("a", freeze)).toMatchObject({ code: "not_shared" });
    expect(store.as("a", { ...freeze, hold: null })).toMatchObject({ ok: true });
  });

  it("enters what all nodes share, and nothing that only its own log decides", () => {
    expect([...sharedCommands]).toEqual(expect.arrayContaining(["task_claim", "message_send", "node_leave"]));
    for (const own of ["session_begin", "session_end", "lock_request", "outbox_sent", "relayed"] as const)
      expect(sharedCommands.has(own), own).toBe(false);
  });

  it("tells of its sessions in the order of its own log alone", () => {
    const { store, a } = two();
    a.begin("s1");
    store.take("a", a);
    expect(store.as("a", end(a.idOf("s1")))).toMatchObject({ code: "not_shared" });
    expect(store.names).toHaveLength(1);
  });

  it("that nobody knows enters nothing but its lease", () => {
    const { store } = two();
    expect(store.claim("c", sharedId("s1", "c", { epoch: 1, n: 1 }))).toMatchObject({
      code: "unknown_node",
    });
    expect(store.join("c")).toMatchObject({ ok: true, machine: "c" });
    expect(store.claim("c", sharedId("s1", "c", { epoch: 1, n: 1 }))).toMatchObject({
      code: "unknown_session",
    });
  });

  it("has a machine's name of its own", () => {
    const { store } = two();
    expect(store.join("c", "a-machine")).toMatchObject({ machine: "a-machine-2" });
    expect(store.renew("c", "a-machine", "c's home")).toMatchObject({ machine: "a-machine-2" });
    expect(store.renew("a", "a-machine")).toMatchObject({ machine: "a-machine" });
  });

  it("lives twice no longer than its lease", () => {
    const { store } = two();
    expect(store.renew("a", "copy", "a copy of the home")).toMatchObject({ code: "node_twice" });
    store.pass(limits.nodeAwayMs);
    expect(store.renew("a", "copy", "a copy of the home")).toMatchObject({ ok: true, machine: "copy" });
  });

  it("has one daemon: an earlier one speaks no more", () => {
    const { store } = two();
    const early = store.state.leases.all.get("a")?.epoch ?? 0;
    store.join("a", "a-machine");
    const epoch = store.epoch;
    Object.assign(store, { node: "a", epoch: early });
    const renew = {
      machine: "a-machine",
      binding: "a's home",
      levels: { from: 1, to: rulesLevel },
      wallMs: 5,
    };
    expect(store.do({ type: "node_renew", ...renew })).toMatchObject({ code: "node_twice" });
    expect(store.do({ type: "node_leave" })).toMatchObject({ code: "node_twice" });
    Object.assign(store, { node: "n", epoch });
  });

  it("that is silent loses its sessions by and by, and has them again when it is back", () => {
    const { store, a, b } = two();
    a.begin("s1", { name: "alice" });
    store.take("a", a);
    const task = store.add("b", null);
    store.claim("a", a.idOf("s1"), task);
    for (let passed = 0; passed < limits.nodeLostMs; passed += limits.nodeRenewMs) {
      store.pass(limits.nodeRenewMs);
      store.renew("b", "b-machine");
    }
    expect(store.state.sessions.live.get(a.idOf("s1"))?.lostAt).not.toBeNull();
    expect(store.state.tasks.claims.has(a.idOf("s1"))).toBe(true);
    store.renew("a", "a-machine");
    expect(store.state.sessions.live.get(a.idOf("s1"))?.lostAt).toBeNull();
    store.pass(limits.nodeLostMs + limits.lostMs);
    expect(store.state.sessions.live.has(a.idOf("s1"))).toBe(false);
    expect(store.state.tasks.all.get(task)?.state).toEqual({ status: "pending" });
    b.begin("s9");
  });

  it("that leaves takes its sessions along", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice" });
    store.take("a", a);
    expect(store.as("a", { type: "node_leave" })).toMatchObject({ ok: true });
    expect(store.names).toEqual([]);
    expect([...store.state.leases.all.keys()]).toEqual(["b"]);
  });

  it("finds no room among too many that live, and takes that of the one lost for longest", () => {
    const store = new Store(bounded({ nodesMax: 2 }));
    store.join("a");
    store.pass(1_000);
    store.join("b");
    expect(store.join("c")).toMatchObject({ code: "too_many_nodes" });
    store.pass(limits.nodeLostMs);
    expect(store.join("c")).toMatchObject({ ok: true });
    expect([...store.state.leases.all.keys()]).toEqual(["b", "c"]);
  });

  it("may start in another order than the log has it", () => {
    const store = new Store();
    store.as("late", { type: "daemon_started", epoch: 7, storeId: "store" });
    expect(store.as("early", { type: "daemon_started", epoch: 5, storeId: "store" })).toMatchObject({
      ok: true,
    });
    expect(store.state.epoch).toBe(7);
    expect(store.as("early", { type: "daemon_started", epoch: 5, storeId: "store" })).toMatchObject({
      ok: false,
    });
  });
});

describe("a snapshot", () => {
  it("has leases, the outbox and what it told", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice" });
    for (const state of [a.state, store.state]) {
      const text = writeState(state);
      expect(writeState(readState(text))).toBe(text);
    }
    store.take("a", a);
    for (const state of [a.state, store.state]) {
      const text = writeState(state);
      expect(writeState(readState(text))).toBe(text);
    }
  });

  it("of a daemon alone says nothing of them", () => {
    const world = new World();
    world.begin("s1");
    expect(writeState(world.state)).not.toMatch(/outbox|leases/);
  });
});

// Two logs where they are worn: long outages, snapshots at odd moments, entries that come late, nodes that leave.

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
