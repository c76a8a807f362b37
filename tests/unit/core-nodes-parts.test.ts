/** What a shared log knows of the agents and slices of another node. */
import { describe, expect, it } from "vitest";
import { roleOf } from "../../daemon/core/lead/roles.ts";
import type { Relayable } from "../../daemon/core/nodes/commands.ts";
import { relaysOf } from "../../daemon/core/outbox/publish.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import { rulesLevel } from "../../daemon/core/tables/base-state.ts";
import type { Command, Part } from "../../daemon/core/tables/entries.ts";
import { taskRow } from "../../daemon/core/tasks/replies.ts";
import type { Role } from "../../protocol/lead/roles.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World } from "./core-world.ts";
import { agentBegin, agentEnd, end, Local, Store, shared, two } from "./nodes-world.ts";

// What slices say of an actor in rows of their own, from its node's log to the shared one.

/** Notes of actors: the table of a slice that only this test has. */
class Notes {
  readonly all = new Map<string, string>();
  readonly part: Part<State> = {
    agentsWith: (_state, session) => this.#agentsOf(session),
    tell: (_state, session, agent) => this.of(session, agent) ?? null,
    take: (_state, session, agent, value) => {
      if (typeof value === "string") this.all.set(keyOf(session, agent), value);
      else this.all.delete(keyOf(session, agent));
    },
  };

  of(session: string, agent: string | null = null): string | undefined {
    return this.all.get(keyOf(session, agent));
  }

  in(state: State): State {
    return { ...state, points: [...state.points, { parts: { note: this.part } }] } as State;
  }

  *#agentsOf(session: string): Generator<string | null, void> {
    for (const key of this.all.keys()) {
      const [of, agent = ""] = key.split("\n");
      if (of === session) yield agent === "" ? null : agent;
    }
  }
}

function keyOf(session: string, agent: string | null): string {
  return `${session}\n${agent ?? ""}`;
}

function worlds(limits: Parameters<typeof bounded>[0] = {}) {
  const [here, there] = [new Notes(), new Notes()];
  const store = new Store(there.in(bounded({})));
  store.join("a", "a-machine");
  const a = new Local("a", here.in(bounded(limits)));
  store.take("a", a);
  const write = (session: string, text: string | null, agent: string | null = null) => {
    if (text === null) here.all.delete(keyOf(session, agent));
    else here.all.set(keyOf(session, agent), text);
    for (const { partChanges } of a.state.points) partChanges?.(a.state, session, agent, "note");
  };
  return { store, a, here, there, write };
}

describe("a part of an actor", () => {
  it("is in the shared log as it is last, behind its session, and goes when it is nothing", () => {
    const { store, a, there, write } = worlds();
    a.begin("s1");
    for (const text of ["one", "two"]) write("s1", text);
    expect(a.rows).toEqual(["session_begin", "actor_part"]);
    store.take("a", a, 2);
    expect(there.of(a.idOf("s1"))).toBe("two");
    write("s1", null);
    expect(a.rows).toEqual(["actor_part"]);
    store.take("a", a);
    expect([...there.all]).toEqual([]);
    write("s1", null);
    expect(a.rows).toEqual([]);
  });

  it("costs nothing when its session changes, and stays behind a row of it that waits", () => {
    const { store, a, there, write } = worlds();
    a.begin("s1", { name: "alice" });
    write("s1", "one");
    a.do({ type: "session_rename", by: null, of: "s1", name: "carol", project: "/p" });
    expect(a.rows).toEqual(["session_begin", "actor_part"]);
    store.take("a", a);
    expect(there.of(a.idOf("s1"))).toBe("one");
    a.do({ type: "session_rename", by: null, of: "s1", name: "dave", project: "/p" });
    expect(a.rows).toEqual(["session_begin"]);
  });

  it("is told once of a session with several terminals, and under the next one when the first is closed", () => {
    const { store, a, there, write } = worlds();
    const anchor = (pid: number) => ({ anchor: { pid, startTime: "1" } });
    a.begin("s1", anchor(1));
    a.begin("s1", anchor(2));
    write("s1", "one");
    store.take("a", a);
    expect([...there.all.keys()]).toEqual([keyOf(a.idOf("s1", 0), null)]);
    there.all.clear();
    a.do({ ...end("s1"), incarnation: 0 });
    expect(a.rows).toEqual(["session_end", "actor_part"]);
    store.take("a", a);
    expect([...there.all.keys()]).toEqual([keyOf(a.idOf("s1", 1), null)]);
  });

  it("comes along when the session enters a shared project, or goes on under another id", () => {
    const { store, a, here, there, write } = worlds();
    a.begin("s1", { project: "/elsewhere", anchor: { pid: 1, startTime: "1" } });
    write("s1", "one");
    expect(a.rows).toEqual([]);
    a.begin("s1", { project: "/p", anchor: { pid: 1, startTime: "1" } });
    store.take("a", a);
    expect(there.of(a.idOf("s1"))).toBe("one");
    a.do({ type: "session_suspend", session: "s1" });
    here.all.set(keyOf("s2", null), "two");
    a.begin("s2", { anchor: { pid: 1, startTime: "1" } });
    expect(a.rows).toEqual(["session_continue", "actor_part"]);
    store.take("a", a);
    expect(there.of(a.idOf("s2"))).toBe("two");
  });

  it("of an agent is its own", () => {
    const { store, a, there, write } = worlds();
    a.begin("s1");
    a.do(agentBegin("s1", "a1"));
    write("s1", "main");
    write("s1", "sub", "a1");
    store.take("a", a);
    const id = a.idOf("s1");
    expect([there.of(id), there.of(id, "a1")]).toEqual(["main", "sub"]);
    write("s1", null, "a1");
    a.do(agentEnd("s1", "a1"));
    store.take("a", a);
    expect([there.of(id), there.of(id, "a1")]).toEqual(["main", undefined]);
  });

  it("that a power cut took back is gone in the shared log with the next start; the others stay", () => {
    const { store, a, here, there, write } = worlds();
    a.begin("s1");
    write("s1", "kept");
    const saved = writeState(a.state);
    a.do(agentBegin("s1", "a1"));
    write("s1", "lost", "a1");
    store.take("a", a);
    here.all.delete(keyOf("s1", "a1"));
    const again = new Local("a", here.in(readState(saved)));
    expect(again.rows).toEqual(["session_begin", "actor_part", "node_sessions_are"]);
    store.take("a", again);
    expect([...there.all]).toEqual([[keyOf(again.idOf("s1"), null), "kept"]]);
  });

  it("waits until the shared log takes parts: a program that knows none would void the entry", () => {
    const { store, a, there, write } = worlds();
    const set = (level: number) =>
      a.do({ type: "sharing_set", node: "a", projects: [["/p", shared]], level });
    set(2);
    a.begin("s1");
    write("s1", "one");
    expect(a.rows).toEqual(["node_sessions_are", "session_begin"]);
    store.take("a", a);
    set(rulesLevel);
    store.take("a", a);
    expect(there.of(a.idOf("s1"))).toBe("one");
  });

  it("counts when the outbox is full: all is said anew then, once", () => {
    const { store, a, there, write } = worlds({ outboxMax: 4 });
    a.begin("s1");
    for (let n = 0; n < 9; n += 1) write("s1", `note ${n}`, `agent-${n}`);
    const parts = a.rows.filter(type => type === "actor_part");
    expect([parts.length, a.rows.length <= 2 * (2 + 9 + 1)]).toEqual([9, true]);
    store.take("a", a);
    expect(there.all.size).toBe(9);
  });

  it("is nobody's to enter by itself, nor of another node's session, nor of one that has ended", () => {
    const { store, a, write } = worlds();
    store.join("b", "b-machine");
    a.begin("s1");
    write("s1", "one");
    store.take("a", a);
    const said = {
      type: "actor_part",
      session: a.idOf("s1"),
      agent: null,
      part: "note",
      value: "x",
    } as const;
    const relayed = (command: Relayable) =>
      ({ type: "relayed", number: { epoch: 9_999_999, n: 1 }, command }) as const;
    expect(store.as("a", said)).toMatchObject({ code: "not_shared" });
    expect(store.as("b", relayed(said))).toMatchObject({ code: "not_yours" });
    const names = { sessions: [], parts: [[said.session, null, "note"]] } as const;
    expect(store.as("b", relayed({ type: "node_sessions_are", ...names }))).toMatchObject({
      code: "not_yours",
    });
    a.do(end("s1"));
    store.take("a", a);
    expect(store.as("a", relayed(said))).toMatchObject({ code: "session_ended" });
    expect([...relaysOf(a.state.outbox)]).toEqual([]);
  });
});

// What a shared log knows of the agents within a session.

describe("an agent within a session", () => {
  it("is known to the others by its name, also by one that came later, until it ends", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice" });
    a.do(agentBegin("s1", "0123456789"));
    store.take("a", a);
    expect(store.agents(a.idOf("s1"))).toEqual(["01234567"]);
    a.do(agentBegin("s1", "0123456789", "Explore"));
    a.do(agentBegin("s1", "x", "Plan"));
    expect(a.rows).toEqual(["agent_begin", "agent_begin"]);
    store.take("a", a, 2);
    expect(store.agents(a.idOf("s1"))).toEqual(["Explore", "Plan"]);
    a.do(agentEnd("s1", "0123456789"));
    expect(a.rows).toEqual(["agent_end"]);
    store.take("a", a);
    expect(store.agents(a.idOf("s1"))).toEqual(["Plan"]);
  });

  it("is told of by its node's own log alone", () => {
    const { store, a } = two();
    a.begin("s1");
    store.take("a", a);
    const id = a.idOf("s1");
    expect(store.as("a", agentBegin(id, "x"))).toMatchObject({ code: "not_shared" });
    expect(store.as("a", agentEnd(id, "x"))).toMatchObject({ code: "not_shared" });
    const number = { epoch: 9, n: 9 };
    for (const command of [agentBegin(id, "x"), agentEnd(id, "x")])
      expect(store.as("b", { type: "relayed", number, command } as Parameters<Store["as"]>[1])).toMatchObject(
        {
          code: "not_yours",
        },
      );
    expect(store.agents(id)).toEqual([]);
  });

  it("ends while the store is away: its messages go back when it is there again", () => {
    const { store, a, b } = two();
    a.begin("s1", { name: "alice" });
    a.do(agentBegin("s1", "x", "Explore"));
    b.begin("s2", { name: "bob" });
    for (const [node, local] of [
      ["a", a],
      ["b", b],
    ] as const)
      store.take(node, local);
    const sent = store.as("b", {
      ...{ type: "message_send", actor: actor(b.idOf("s2")), project: shared, to: "Explore" },
      ...{ text: "hello", bytes: 5, replyTo: null, urgent: false, wallMs: 7 },
    });
    expect(sent).toMatchObject({ ok: true });
    a.do(agentEnd("s1", "x"));
    const [message] = store.state.messages.all.values();
    expect([...(message?.letters.values() ?? [])]).toMatchObject([{ to: { agent: "x" } }]);
    store.take("a", a);
    expect([...(message?.letters.values() ?? [])]).toMatchObject([
      { to: { id: b.idOf("s2") }, undelivered: "alice@a-machine/Explore" },
    ]);
  });

  it("stands behind its session, however often that one is told of before", () => {
    const { store, a } = two();
    a.do({ type: "outbox_sent", node: "a", last: a.state.outbox.last });
    a.begin("s1", { name: "alice" });
    a.do(agentBegin("s1", "x", "Explore"));
    a.do({ type: "session_rename", by: null, of: "s1", name: "bob", project: "/p" });
    expect(a.rows).toEqual(["session_begin", "agent_begin"]);
    store.take("a", a);
    expect(store.names).toEqual(["bob@a-machine"]);
    expect(store.agents(a.idOf("s1"))).toEqual(["Explore"]);
  });

  it("is known in each terminal that has its session open", () => {
    const { store, a } = two();
    a.begin("s1", { anchor: { pid: 1, startTime: "1" } });
    a.do(agentBegin("s1", "x", "Explore"));
    a.begin("s1", { anchor: { pid: 2, startTime: "2" } });
    store.take("a", a);
    expect([0, 1].map(ordinal => store.agents(a.idOf("s1", ordinal)))).toEqual([["Explore"], ["Explore"]]);
    a.do({ type: "session_end", session: "s1", incarnation: 1, cause: "ended" });
    a.do(agentEnd("s1", "x"));
    expect(a.rows).toEqual(["session_end", "agent_end"]);
  });

  it("is told of anew by a start, and one that a power cut took ends", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice" });
    a.do(agentBegin("s1", "x", "Explore"));
    const saved = writeState(a.state);
    a.do(agentBegin("s1", "y", "Plan"));
    a.do(agentEnd("s1", "x"));
    store.take("a", a);
    const again = new World(readState(saved)) as Local;
    store.take("a", again);
    expect(store.agents(a.idOf("s1"))).toEqual(["Explore"]);
  });

  it("ends with a session that goes on under another id", () => {
    const { store, a } = two();
    const anchor = { pid: 1, startTime: "1" };
    a.begin("s1", { anchor });
    a.do(agentBegin("s1", "x", "Explore"));
    store.take("a", a);
    a.do({ type: "session_suspend", session: "s1" });
    a.begin("s2", { anchor });
    expect(a.rows).toEqual(["session_continue"]);
    store.take("a", a);
    expect(store.agents(a.idOf("s2"))).toEqual([]);
  });

  it("needs no more rows than there are agents, when the store is away for long", () => {
    const store = new Store();
    store.join("a");
    const a = new Local("a", bounded({ outboxMax: 20 }));
    a.begin("s1");
    for (let n = 0; n < 200; n += 1) {
      a.do(agentBegin("s1", `agent${n}`, `Explore${n}`));
      if (n > 2) a.do(agentEnd("s1", `agent${n - 3}`));
      expect(a.state.outbox.rows.size).toBeLessThanOrEqual(20);
    }
    store.take("a", a);
    expect(store.agents(a.idOf("s1"))).toEqual(["Explore197", "Explore198", "Explore199"]);
    a.do(end("s1"));
    expect([...relaysOf(a.state.outbox)]).toHaveLength(1);
    const text = writeState(a.state);
    expect(writeState(readState(text))).toBe(text);
  });
});

// What a shared log knows of roles: what the log of the actor's node has.

function roleSet(name: string, role: Role | null): Command {
  return { type: "role_set", by: null, name, role, project: "/p" };
}

function declare(session: string, role: string, agent: string | null = null): Command {
  const whose = { actor: { ...actor(session), agent }, ancestors: [], anew: false };
  return { type: "declare", ...whose, role, files: [], uncertainties: [], wallMs: 1 };
}

function rolesAt(store: Store, session: string): unknown {
  const agents = store.state.sessions.live.get(session)?.agents.keys() ?? [];
  return [null, ...agents].map(agent => {
    const { role, by } = roleOf(store.state, { session, agent });
    return `${role} by ${by}`;
  });
}

function begun(): { store: Store; a: Local; id: string } {
  const { store, a } = two();
  a.begin("s1", { name: "alice" });
  store.take("a", a);
  return { store, a, id: a.idOf("s1") };
}

describe("a role", () => {
  it("that a session has in its node's log bounds what it claims in the shared one", () => {
    const { store, a, id } = begun();
    const task = store.add("b", null);
    store.as("b", {
      ...{
        type: "task_update",
        by: null,
        task,
        status: null,
        result: null,
        dependsOn: null,
        description: null,
      },
      ...{ priority: null, labels: null, risk: "yellow", project: "example.com/app", cwd: "", wallMs: 5 },
    } as Command);
    a.do(roleSet("alice", "researcher"));
    expect(a.rows).toEqual(["session_begin"]);
    store.take("a", a);
    expect(rolesAt(store, id)).toEqual(["researcher by person"]);
    expect(store.claim("a", id, task)).toMatchObject({ code: "role_limit" });
    a.do(roleSet("alice", null));
    store.take("a", a);
    expect(store.claim("a", id, task)).toMatchObject({ ok: true });
  });

  it("waits as the latest alone, and is nobody's to enter into the shared log", () => {
    const { store, a, id } = begun();
    for (const role of ["tester", "reviewer", "architect"] as const) a.do(roleSet("alice", role));
    expect(a.rows).toEqual(["session_begin"]);
    store.take("a", a, 2);
    expect(rolesAt(store, id)).toEqual(["architect by person"]);
    expect(store.as("a", roleSet("alice", "tester"))).toMatchObject({ code: "not_shared" });
  });

  it("comes with the first row of a session that has it, and with a start that tells all anew", () => {
    const { store, a } = two();
    a.begin("s1", { name: "alice", project: "/elsewhere" });
    a.do({ ...roleSet("alice", "lead"), project: "/elsewhere" } as Command);
    a.begin("s1", { project: "/p" });
    store.take("a", a);
    expect(rolesAt(store, a.idOf("s1"))).toEqual(["lead by person"]);
    const saved = writeState(a.state);
    a.do(roleSet("alice", "tester"));
    store.take("a", a);
    const again = new World(readState(saved)) as Local;
    store.take("a", again);
    expect(rolesAt(store, a.idOf("s1"))).toEqual(["lead by person"]);
  });

  it("of an agent within a session is its own; that of the main agent counts for the others", () => {
    const { store, a, id } = begun();
    a.do(agentBegin("s1", "x", "Explore"));
    a.do(agentBegin("s1", "y", "Plan"));
    a.do(roleSet("Explore", "tester"));
    a.do(roleSet("alice", "reviewer"));
    store.take("a", a);
    expect(rolesAt(store, id)).toEqual(["reviewer by person", "tester by person", "reviewer by person"]);
    a.do(declare("s1", "implementer", "y"));
    store.take("a", a);
    expect(rolesAt(store, id)).toEqual(["reviewer by person", "tester by person", "reviewer by person"]);
    a.do(roleSet("alice", null));
    store.take("a", a);
    expect(rolesAt(store, id)).toEqual([
      "implementer by default",
      "tester by person",
      "implementer by declared",
    ]);
  });

  it("that an agent declares counts for itself alone, until it declares another one", () => {
    const { store, a, id } = begun();
    a.do(agentBegin("s1", "x", "Explore"));
    a.do(declare("s1", "tester"));
    store.take("a", a);
    expect(rolesAt(store, id)).toEqual(["tester by declared", "implementer by default"]);
    a.do(declare("s1", "no word for a role"));
    store.take("a", a);
    expect(rolesAt(store, id)).toEqual(["implementer by default", "implementer by default"]);
  });

  it("goes on with its session under another id", () => {
    const { store, a } = two();
    const anchor = { pid: 1, startTime: "1" };
    a.begin("s1", { name: "alice", anchor });
    a.do(roleSet("alice", "tester"));
    store.take("a", a);
    a.do({ type: "session_suspend", session: "s1" });
    a.begin("s2", { anchor });
    expect(a.rows).toEqual(["session_continue"]);
    store.take("a", a);
    expect(rolesAt(store, a.idOf("s2"))).toEqual(["tester by person"]);
  });

  it("that this program does not know is none", () => {
    const { store, a, id } = begun();
    a.do(roleSet("alice", "tester"));
    const [row] = relaysOf(a.state.outbox);
    const traits = { role: { role: "wizard", by: "person" } };
    const odd = { ...row, command: { ...row?.command, traits } } as Command;
    expect(store.as("a", odd)).toMatchObject({ ok: true });
    expect(rolesAt(store, id)).toEqual(["implementer by default"]);
  });
});

// What is known of tasks whose agent is on a machine that is silent.
describe("tasks of a silent machine", () => {
  it("whoever reads or claims them hears that the agent is lost, and how a person frees them", () => {
    const { store, a, b } = two();
    a.begin("s1", { name: "alice" });
    b.begin("s9", { name: "bob" });
    store.take("a", a);
    store.take("b", b);
    const id = store.add("a", null);
    const claimed = store.claim("a", a.idOf("s1"), id);
    expect(claimed).toMatchObject({ ok: true });
    expect((claimed as unknown as { task: object }).task).not.toHaveProperty("assigneeLost");
    const works = `alice@a-machine works on ${id}; claim another one, or ask them`;
    expect(store.claim("b", b.idOf("s9"), id)).toMatchObject({ code: "task_claimed", error: works });
    store.pass(limits.nodeLostMs);
    store.renew("b", "b-machine");
    const lost = `alice@a-machine has ${id} and is lost: nothing is heard of it; claim another one, or a person frees this one: kite task release ${id}`;
    const claim = store.claim("b", b.idOf("s9"), id);
    expect(claim).toMatchObject({ code: "task_claimed", error: lost, assigneeName: "alice@a-machine" });
    const task = store.state.tasks.all.get(id);
    expect(task && taskRow(store.state, task)).toMatchObject({ status: "active", assigneeLost: true });
    const release = { type: "task_release", by: null, task: id, project: shared, wallMs: 9 } as const;
    expect(store.as("b", release)).toMatchObject({ ok: true });
    expect(store.claim("b", b.idOf("s9"), id)).toMatchObject({ ok: true });
  });
});
