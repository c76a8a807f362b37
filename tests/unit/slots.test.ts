/** Slots: never more at a time than there are, whoever comes when one is handed over. */
import { expect, test } from "vitest";
import { Slots } from "../../daemon/facts/work-clock.ts";

/** So many steps of the queue of promises after the first one's end: one of them falls into the handing over. */
test.each([0, 1, 2, 3, 4])(
  "one that comes when a slot is handed over gets in between at no step: %i",
  async steps => {
    const slots = new Slots(1);
    const ran: string[] = [];
    let running = 0;
    let most = 0;
    const ends: (() => void)[] = [];
    const work = (name: string) => async () => {
      running += 1;
      most = Math.max(most, running);
      ran.push(name);
      await new Promise<void>(end => ends.push(end));
      running -= 1;
      if (name === "first") void after(steps).then(() => all.push(slots.run(work("late"))));
    };
    const all = [slots.run(work("first")), slots.run(work("second"))];
    for (let n = 0; n < 3; n += 1) {
      await after(10);
      ends.shift()?.();
      await after(10);
    }
    await Promise.all(all);
    expect([most, ran]).toEqual([1, ["first", "second", "late"]]);
    expect(all).toHaveLength(3);
  },
);

async function after(steps: number): Promise<void> {
  for (let n = 0; n < steps; n += 1) await Promise.resolve();
}

test("work that fails gives its slot back", async () => {
  const slots = new Slots(1);
  const fails = () => Promise.reject(new Error("no"));
  await expect(slots.run(fails)).rejects.toThrow("no");
  await expect(Promise.all([slots.run(async () => 1), slots.run(async () => 2)])).resolves.toEqual([1, 2]);
});
