/** What slices say of an actor in rows of their own, from its node's log to the shared one. */
import { describe, expect, it } from "vitest";
import type { Relayable } from "../../daemon/core/nodes/commands.ts";
import { relaysOf } from "../../daemon/core/outbox/publish.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import { rulesLevel } from "../../daemon/core/tables/base-state.ts";
import type { Part } from "../../daemon/core/tables/entries.ts";
import { bounded } from "./core-world.ts";
import { agentBegin, agentEnd, end, Local, Store, shared } from "./nodes-world.ts";

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
