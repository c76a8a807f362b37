import { expect, test } from "vitest";
import { DescriptorReserve } from "../../daemon/server/server.ts";

/** A process that may have so many files open. */
class Table {
  readonly open = new Set<number>();
  readonly #max: number;
  #next = 0;

  constructor(max: number) {
    this.#max = max;
  }

  take = (): number => {
    if (this.open.size >= this.#max) throw Object.assign(new Error("too many"), { code: "EMFILE" });
    this.#next += 1;
    this.open.add(this.#next);
    return this.#next;
  };

  give = (descriptor: number): void => {
    expect(this.open.delete(descriptor)).toBe(true);
  };

  reserve(size: number, spare: number): DescriptorReserve {
    return new DescriptorReserve({ size, spare, open: this.take, close: this.give });
  }
}

test("it is given up when others run short, and kept again when these are back", () => {
  const table = new Table(20);
  const reserve = table.reserve(8, 3);
  expect([reserve.size, table.open.size]).toEqual([8, 8]);
  const others = Array.from({ length: 9 }, table.take);
  reserve.check();
  expect([reserve.isGivenUp, table.open.size]).toEqual([false, 17]);
  others.push(table.take());
  reserve.check();
  reserve.check();
  expect([reserve.isGivenUp, table.open.size]).toEqual([true, 10]);
  // Back only with as many to spare as called for it, or it would come and go.
  reserve.restore();
  expect([reserve.isGivenUp, table.open.size]).toEqual([true, 10]);
  for (const one of others.splice(0, 1)) table.give(one);
  reserve.restore();
  expect([reserve.isGivenUp, table.open.size]).toEqual([false, 17]);
  reserve.close();
  expect(table.open.size).toBe(9);
});

test("where little is free it keeps half of it", () => {
  const table = new Table(9);
  const reserve = table.reserve(8, 2);
  expect([reserve.size, table.open.size]).toEqual([4, 4]);
});

test("another error is not taken for a full table", () => {
  const open = () => {
    throw Object.assign(new Error("no"), { code: "EACCES" });
  };
  expect(() => new DescriptorReserve({ size: 1, spare: 1, open })).toThrow("no");
});
