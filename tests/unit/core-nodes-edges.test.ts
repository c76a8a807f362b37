/** Two logs where they are worn: long outages, snapshots at odd moments, entries that come late, nodes that leave. */
import { describe, expect, it } from "vitest";
import { relaysOf } from "../../daemon/core/outbox/publish.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { bounded, World } from "./core-world.ts";
import { end, Local, Store, two } from "./nodes-world.ts";

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

  it("goes on with its numbers when it was shared before, also from a snapshot", () => {
    const a = new Local("a");
    a.begin("s1");
    const { last } = a.state.outbox;
    a.share("");
    const again = new World(readState(writeState(a.state)));
    expect(again.state.outbox.last).toEqual(last);
  });
});
