/**
 * Counts work instead of time: every look into a map or set, every step through one, and every item that a list's own
 * methods go through, while `count` runs.
 */
import type { Meter } from "../bench/growth-steps.ts";

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Whose methods are counted, each as one. */
const single = [
  [Map.prototype, ["get", "has", "set", "delete"]],
  [Set.prototype, ["has", "add", "delete"]],
] as const;

/** What goes through a whole list. */
const whole = [
  "filter",
  "map",
  "flatMap",
  "find",
  "findLast",
  "some",
  "every",
  "forEach",
  "sort",
  "includes",
];

/** Those who give their items one by one. */
const giving = [
  [Map.prototype, [Symbol.iterator, "keys", "values", "entries"]],
  [Set.prototype, [Symbol.iterator, "keys", "values", "entries"]],
] as const;

export class WorkCount implements Meter {
  total = 0;

  step<T>(work: () => T): T {
    const undo = this.#watch();
    try {
      return work();
    } finally {
      for (const one of undo.reverse()) one();
    }
  }

  #watch(): (() => void)[] {
    const count = (items: number) => {
      this.total += items;
    };
    const undo: (() => void)[] = [];
    const replace = (owner: object, name: string | symbol, by: (method: Method) => Method) => {
      const known = Object.getOwnPropertyDescriptor(owner, name);
      const method: unknown = known?.value;
      if (known === undefined || typeof method !== "function") throw new Error(`no method ${String(name)}`);
      Object.defineProperty(owner, name, { ...known, value: by(method as Method) });
      undo.push(() => Object.defineProperty(owner, name, known));
    };
    for (const [owner, names] of single) {
      for (const name of names)
        replace(
          owner,
          name,
          method =>
            function (this: unknown, ...args) {
              count(1);
              return method.apply(this, args);
            },
        );
    }
    for (const name of whole) {
      replace(
        Array.prototype,
        name,
        method =>
          function (this: unknown, ...args) {
            count(Array.isArray(this) ? this.length : 0);
            return method.apply(this, args);
          },
      );
    }
    // A part of a list costs as much as there is in the part.
    replace(
      Array.prototype,
      "slice",
      method =>
        function (this: unknown, ...args) {
          const part = method.apply(this, args);
          count(Array.isArray(part) ? part.length : 0);
          return part;
        },
    );
    for (const [owner, names] of giving) {
      for (const name of names)
        replace(
          owner,
          name,
          method =>
            function (this: unknown, ...args) {
              return counted(method.apply(this, args) as Iterator<unknown>, count);
            },
        );
    }
    return undo;
  }
}

function counted(inner: Iterator<unknown>, count: (items: number) => void): IterableIterator<unknown> {
  const outer: IterableIterator<unknown> = {
    next: () => {
      count(1);
      return inner.next();
    },
    [Symbol.iterator]: () => outer,
  };
  return outer;
}
