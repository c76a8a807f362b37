/** What a shared log knows of roles: what the log of the actor's node has. */
import { describe, expect, it } from "vitest";
import { roleOf } from "../../daemon/core/lead/roles.ts";
import { relaysOf } from "../../daemon/core/outbox/publish.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { Role } from "../../protocol/lead/roles.ts";
import { actor, World } from "./core-world.ts";
import { agentBegin, type Local, type Store, two } from "./nodes-world.ts";

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
