import { describe, expect, it } from "vitest";
import { Batches } from "../../daemon/journal/journal.ts";
import { limits } from "../../protocol/limits.ts";
import { microtasks } from "./commands.ts";

/** Batches whose turns the test lets happen; `refuse` says how many at the end of a batch have to wait. */
function world(refuse: (size: number) => number = () => 0) {
  let tasks: (() => void)[] = [];
  const sizes: number[] = [];
  const committed: number[] = [];
  const passed: string[] = [];
  const batches = new Batches(
    task => tasks.push(task),
    batch => {
      const taken = batch.length - refuse(batch.length);
      sizes.push(taken);
      for (const { proposal } of batch.slice(0, taken)) committed.push(proposal.origin.n);
      return batch.slice(taken);
    },
  );
  let n = 0;
  const add = (count: number, cost?: number) => {
    for (let left = count; left > 0; left -= 1) {
      n += 1;
      const origin = { node: "n", epoch: 1, n };
      batches.add({ origin, at: 0, command: { type: "void", seq: 0 } }, () => {}, cost);
    }
  };
  const turn = async () => {
    const due = tasks;
    tasks = [];
    for (const task of due) task();
    await microtasks();
    return due.length;
  };
  const barrier = (name: string) => batches.barrier().then(() => void passed.push(name));
  return { batches, add, turn, barrier, sizes, committed, passed };
}

const { turnEntriesMax } = limits;

describe("a batch", () => {
  it("takes so many proposals a turn, in order", async () => {
    const { add, turn, sizes, committed } = world();
    add(2 * turnEntriesMax);
    add(7);
    while ((await turn()) > 0);
    expect(sizes).toEqual([turnEntriesMax, turnEntriesMax, 7]);
    expect(committed).toEqual(Array.from({ length: 2 * turnEntriesMax + 7 }, (_, i) => i + 1));
  });

  it("takes fewer of those that cost more, in order, and one whatever it costs", async () => {
    const { add, turn, sizes, committed } = world();
    add(3, turnEntriesMax / 2);
    add(1);
    add(1, 2 * turnEntriesMax);
    add(2);
    while ((await turn()) > 0);
    expect(sizes).toEqual([2, 2, 1, 2]);
    expect(committed).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it("that is committed lets those pass who waited for it, not for what was added later", async () => {
    const { add, turn, barrier, passed } = world();
    void barrier("none");
    add(1);
    void barrier("first");
    add(turnEntriesMax);
    void barrier("second");
    await turn();
    expect(passed).toEqual(["none", "first"]);
    add(turnEntriesMax);
    await turn();
    expect(passed).toEqual(["none", "first", "second"]);
  });

  it("that could not be stored whole begins the next one, and who waits for it goes on waiting", async () => {
    let holds = true;
    const { add, turn, barrier, passed, committed, sizes } = world(size => (holds ? size - 1 : 0));
    add(3);
    void barrier("all");
    await turn();
    add(1);
    holds = false;
    expect(passed).toEqual([]);
    await turn();
    expect([sizes, committed, passed]).toEqual([[1, 3], [1, 2, 3, 4], ["all"]]);
  });

  it("at a close is everything", async () => {
    const { batches, add, turn, barrier, sizes, passed } = world();
    batches.hold();
    add(2 * turnEntriesMax + 1);
    void barrier("all");
    expect(await turn()).toBe(0);
    batches.flush();
    await microtasks();
    expect([sizes, passed]).toEqual([[2 * turnEntriesMax + 1], ["all"]]);
  });
});
