/** Rows that come into a copy: in any order, gone, unfit and mended; and what a step costs. */
import { describe, expect, it, vi } from "vitest";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { Copy, type StoredRow } from "../../daemon/store/copy.ts";
import { Random } from "../simulation/random.ts";
import {
  desk,
  formsOf,
  laptop,
  mainAgent,
  orderOf,
  present,
  StoreWorld,
  storedFormsOf,
  wrongIn,
} from "./shared-copy-world.ts";
import { claimOf, createOf, updateOf } from "./task-world.ts";

const inShop = { project: laptop.project };

/** A project with two sessions, and tasks that depend on each other in a chain. */
function chain(count: number) {
  const world = new StoreWorld();
  const copy = world.join(laptop);
  const other = world.join(desk);
  world.compare(copy, present("ann"), present("bob"));
  const named = Array.from({ length: count }, (_, i) => ({
    ...{ name: `n${i}`, description: `task ${i}` },
    dependsOn: i === 0 ? [] : [`n${i - 1}`],
  }));
  world.do(copy, { ...createOf(named, "ann"), ...inShop } as never);
  return { world, copy, other, ids: [...copy.state.tasks.all.keys()] };
}

const rowOf = (world: StoreWorld, kind: string, key: string): StoredRow => {
  const row = world.rows.get(`${kind} ${key}`);
  if (row === undefined) throw new Error(`no row ${key}`);
  return row;
};

/** The row with some fields of another value. */
function changed([kind, key, value]: StoredRow, fields: object): StoredRow {
  return [kind, key, JSON.stringify({ ...JSON.parse(value ?? "null"), ...fields })];
}

const send = (from: string | null, to: string): Command => ({
  ...{ type: "message_send", actor: from === null ? null : mainAgent(from), to, text: "hi", bytes: 2 },
  ...{ replyTo: null, urgent: false, wallMs: 5, ...inShop },
});

describe("rows that come", () => {
  it("give the same copy in any order", () => {
    const { world, copy } = chain(30);
    for (let i = 0; i < 5; i += 1) world.do(copy, send("ann", "bob"), claimOf("ann", null, [], i) as never);
    for (let seed = 1; seed <= 20; seed += 1) {
      const fresh = world.fresh(laptop, new Random(seed));
      expect(storedFormsOf(fresh)).toEqual(storedFormsOf(copy));
      expect(orderOf(fresh)).toEqual(orderOf(copy));
      expect(wrongIn(fresh)).toEqual([]);
    }
  });

  it("give the same copy in pieces, each of them in any order", () => {
    const { world, copy } = chain(30);
    const random = new Random(1);
    const rows = [...world.rows.values()].sort(() => random.fraction() - 0.5);
    const fresh = new Copy(laptop);
    for (let at = 0; at < rows.length; at += 7) fresh.fill(rows.slice(at, at + 7));
    fresh.dropAllUnfit();
    fresh.settle(world.version, "s", world.head);
    expect(storedFormsOf(fresh)).toEqual(storedFormsOf(copy));
    expect(orderOf(fresh)).toEqual(orderOf(copy));
    expect(wrongIn(fresh)).toEqual([]);
  });

  it("give the same copy if they come twice", () => {
    const { world, other } = chain(10);
    const before = formsOf(other);
    other.take(world.version, "s", world.head, [...world.rows.values()]);
    expect(formsOf(other)).toEqual(before);
    expect(wrongIn(other)).toEqual([]);
  });

  it("take away what is gone, also what the copy never had", () => {
    const { world, copy, other, ids } = chain(3);
    for (const id of ids) world.do(copy, { ...updateOf(null, id, { status: "done" }), ...inShop } as Command);
    world.do(copy, { type: "task_remove", by: null, tasks: [...ids].reverse() });
    expect(other.state.tasks.all.size).toBe(0);
    other.take(world.version, "s", world.head, [
      ...[...world.rows.values()].filter(([, , value]) => value === null),
      ["tasks", "t-never-1", null],
      ["messages", "m-never-1", null],
      ["context", "never", null],
      ["debates", "d-never-1", null],
      ["sessions", "never@n2", null],
    ]);
    expect(wrongIn(other)).toEqual([]);
    expect(other.unfit).toEqual(new Map());
  });

  it("put a task that was removed and imported again in its new place", () => {
    const { world, copy, other, ids } = chain(3);
    const [first = "", , last = ""] = ids;
    const form = JSON.parse(rowOf(world, "tasks", last)[2] ?? "");
    for (const id of ids) world.do(copy, { ...updateOf(null, id, { status: "done" }), ...inShop } as Command);
    const changes = world.plan(copy, () => {
      copy.apply({ type: "task_remove", by: null, tasks: [last] });
      copy.apply({ type: "task_import", by: null, tasks: [{ ...form, dependsOn: [first], ...inShop }] });
    });
    world.commit(copy, changes);
    expect(wrongIn(copy)).toEqual([]);
    expect(wrongIn(other)).toEqual([]);
    expect(other.state.tasks.all.get(last)?.n).toBeGreaterThan(form.n);
    expect(storedFormsOf(other)).toEqual(storedFormsOf(copy));
    expect(orderOf(other)).toEqual(orderOf(copy));
  });

  it("leave a letter on its way as this machine knows it", () => {
    const { world, copy, other } = chain(0);
    world.do(copy, send("ann", "bob"));
    const taken = world.do(copy, { type: "inbox_take", actor: mainAgent("bob"), max: 5, chars: 100 });
    expect(taken).toMatchObject([{ reply: { ok: true } }]);
    const state = () =>
      [...copy.state.messages.all.values()].flatMap(one => [...one.letters.values()])[0]?.state;
    expect(state()).toBe("offered");
    const [row] = [...world.rows.values()].filter(([kind]) => kind === "messages");
    if (row === undefined) throw new Error("no message");
    copy.take(world.version, "s", world.head, [row]);
    expect(state()).toBe("offered");
    expect([...other.state.messages.all.values()].flatMap(one => [...one.letters.values()])).toMatchObject([
      { state: "unread" },
    ]);
  });
});

describe("a stored row that does not fit", () => {
  const garbage: readonly (readonly [string, (row: StoredRow) => StoredRow])[] = [
    ["is no JSON", ([kind, key]) => [kind, key, "{"]],
    ["has another form", row => changed(row, { dependsOn: "x" })],
    ["is another project's", row => changed(row, { project: "team/other" })],
    ["depends on a task that is not there", row => changed(row, { dependsOn: ["t-gone-1"] })],
    ["depends on itself", row => changed(row, { dependsOn: [row[1]] })],
    [
      "is claimed by a session that is not there",
      row =>
        changed(row, {
          state: { status: "active", claimer: { session: "zed@n2", agent: null, incarnation: 0 } },
        }),
    ],
  ];

  it.each(garbage)("%s: is left out and named, and all else is there", (_what, spoil) => {
    const { world, ids } = chain(3);
    const last = rowOf(world, "tasks", ids[2] ?? "");
    world.rows.set(`tasks ${last[1]}`, spoil(last));
    const copy = world.fresh(laptop);
    expect([...copy.state.tasks.all.keys()]).toEqual(ids.slice(0, 2));
    expect([...copy.unfit.keys()]).toEqual([`tasks ${last[1]}`]);
    expect(wrongIn(copy)).toEqual([]);
  });

  it.each(garbage)("%s: is there when it is mended, with those that need it", (_what, spoil) => {
    const { world, other, ids } = chain(3);
    const first = rowOf(world, "tasks", ids[0] ?? "");
    other.take(2, "s", world.head, [spoil(first)]);
    expect(other.state.tasks.all.size).toBe(0);
    expect(other.unfit.size).toBe(3);
    expect(wrongIn(other)).toEqual([]);
    other.take(3, "s", world.head, [first]);
    expect(other.unfit).toEqual(new Map());
    expect([...other.state.tasks.all.keys()]).toEqual(ids);
    expect(wrongIn(other)).toEqual([]);
  });

  it("is a message to nobody", () => {
    const { world, copy, other } = chain(0);
    world.do(copy, send("ann", "bob"));
    const [row] = [...world.rows.values()].filter(([kind]) => kind === "messages");
    if (row === undefined) throw new Error("no message");
    const letters = [
      { to: { id: "zed@n2", agent: null, name: "zed@desk" }, state: "unread", undelivered: null },
    ];
    other.take(2, "s", world.head, [["messages", row[1], null], changed(row, { letters })]);
    expect(other.state.messages.all.size).toBe(0);
    expect([...other.unfit.values()]).toEqual([`the message ${row[1]} is to zed, who is not there`]);
    expect(wrongIn(other)).toEqual([]);
    other.take(3, "s", world.head, [row]);
    expect(other.state.messages.all.size).toBe(1);
    expect(other.unfit).toEqual(new Map());
  });

  it("is what a session had whose row somebody took away, until it is back", () => {
    const { world, copy, other } = chain(1);
    world.do(copy, { ...claimOf("ann"), ...inShop } as Command, send("bob", "ann"));
    const row = rowOf(world, "sessions", "ann@n1");
    other.take(7, "s", world.head, [["sessions", "ann@n1", null]]);
    expect([other.state.tasks.all.size, other.state.messages.all.size, other.unfit.size]).toEqual([0, 0, 2]);
    expect(wrongIn(other)).toEqual([]);
    other.take(8, "s", world.head, [row]);
    expect([other.state.tasks.all.size, other.state.messages.all.size, other.unfit.size]).toEqual([1, 1, 0]);
    expect(wrongIn(other)).toEqual([]);
  });

  it("goes from the list when it is removed", () => {
    const { world, other, ids } = chain(1);
    const [id = ""] = ids;
    other.take(2, "s", world.head, [["tasks", id, "{"]]);
    expect(other.unfit.size).toBe(1);
    other.take(3, "s", world.head, [["tasks", id, null]]);
    expect(other.unfit).toEqual(new Map());
    expect(other.state.tasks.all.size).toBe(0);
  });
});

describe("what a step costs", () => {
  /** How often a map is changed, and rows are put in order, for what `work` does. */
  function calls(work: () => void): number {
    const spies = [
      vi.spyOn(Map.prototype, "set"),
      vi.spyOn(Map.prototype, "delete"),
      vi.spyOn(Map.prototype, "get"),
    ];
    let sorted = 0;
    const sort = vi.spyOn(Array.prototype, "sort").mockImplementation(function (this: unknown[], by) {
      sorted += this.length;
      return originalSort.call(this, by);
    });
    work();
    const count = spies.reduce((sum, { mock }) => sum + mock.calls.length, sorted);
    for (const spy of [...spies, sort]) spy.mockRestore();
    return count;
  }
  const originalSort = Array.prototype.sort;

  /** A project with so many tasks, done and pending ones, and so many messages. */
  function filled(count: number) {
    const { world, copy, other } = chain(0);
    const tasks = Array.from({ length: count }, (_, i) => ({ description: `task ${i}` }));
    for (let at = 0; at < count; at += 10)
      world.do(copy, { ...createOf(tasks.slice(at, at + 10), "ann"), ...inShop } as Command);
    for (let i = 0; i < count / 10; i += 1) {
      world.now += 60_000;
      world.do(copy, send("ann", "bob"));
      world.do(copy, send("bob", "ann"));
    }
    return { world, copy, other, ids: [...copy.state.tasks.all.keys()] };
  }

  const works: readonly (readonly [string, (one: ReturnType<typeof filled>) => Command[]])[] = [
    ["a task is created", () => [{ ...createOf([{ description: "new" }], "ann"), ...inShop } as Command]],
    ["a task is claimed", () => [{ ...claimOf("ann"), ...inShop } as Command]],
    [
      "the first task is done",
      ({ ids }) => [{ ...updateOf("ann", ids[0] ?? "", { status: "done" }), ...inShop } as Command],
    ],
    [
      "the first task is removed",
      ({ ids }) => [
        { ...updateOf(null, ids[0] ?? "", { status: "done" }), ...inShop } as Command,
        { type: "task_remove", by: null, tasks: [ids[0] ?? ""] },
      ],
    ],
    ["a message is sent", () => [send("ann", "bob")]],
    [
      "the first message is acknowledged",
      ({ copy }) => {
        const [first = ""] = copy.state.messages.all.keys();
        return [{ type: "message_ack", actor: mainAgent("bob"), messages: [first] }];
      },
    ],
    ["letters are given out", () => [{ type: "inbox_take", actor: mainAgent("bob"), max: 2, chars: 100 }]],
    [
      "a value is set",
      () => [
        {
          ...{
            type: "context_set",
            actor: null,
            key: "k",
            value: 1,
            bytes: 1,
            durable: true,
            ifVersion: null,
            ttlMs: null,
          },
          ...{ wallMs: 1, ...inShop },
        },
      ],
    ],
  ];

  it.each(works)("does not grow with the number of rows when %s", (_what, commands) => {
    const [few, many] = [10, 2_000].map(count => {
      const one = filled(count);
      const asked = commands(one);
      const done: boolean[] = [];
      const cost = calls(() => {
        one.world.commit(
          one.copy,
          one.world.plan(
            one.copy,
            () => void done.push(...asked.map(command => one.copy.apply(command).reply.ok)),
          ),
        );
      });
      expect(done).not.toContain(false);
      return cost;
    });
    expect(many).toBeLessThan((few ?? 0) + 60);
  });
});
