/** What a shared log knows of the agents within a session. */
import { describe, expect, it } from "vitest";
import { relaysOf } from "../../daemon/core/outbox/publish.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { actor, bounded, World } from "./core-world.ts";
import { agentBegin, agentEnd, end, Local, Store, shared, two } from "./nodes-world.ts";

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
