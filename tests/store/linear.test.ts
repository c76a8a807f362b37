/** The checker of histories itself: what it takes, and what it refuses. */
import { describe, expect, it } from "vitest";
import { type Interval, isLinearizable } from "./linear.ts";
import { keyModel, type SetOp, type TaskOp, taskModel } from "./registers.ts";

function op<Op>(from: number, to: number | null, one: Op): Interval<Op> {
  return { op: one, from, to: to ?? Number.POSITIVE_INFINITY, isCertain: to !== null };
}

function task(what: TaskOp["what"], by: string, outcome: string | null = "ok"): TaskOp {
  return { what, by, outcome };
}

function set(ifVersion: number | null, version: number | null, outcome: SetOp["outcome"] = "ok"): SetOp {
  return { ifVersion, version, outcome };
}

describe("claims", () => {
  const fits = (...history: Interval<TaskOp>[]) => isLinearizable(history, taskModel(false));
  const made = op(1, 2, task("create", "a"));

  it("of one after the other fit when the task was released between", () => {
    const first = op(3, 4, task("claim", "a"));
    const second = op(7, 8, task("claim", "b"));
    expect(fits(made, first, op(5, 6, task("release", "a")), second)).toBe(true);
    expect(fits(made, first, second)).toBe(false);
  });

  it("fit a release that nobody heard of, if it can have come between", () => {
    const first = op(3, 4, task("claim", "a"));
    expect(fits(made, first, op(5, null, task("release", "a", null)), op(7, 8, task("claim", "b")))).toBe(
      true,
    );
    expect(fits(made, first, op(9, null, task("release", "a", null)), op(7, 8, task("claim", "b")))).toBe(
      false,
    );
  });

  it("end with their session, some time after its end was said, three times at most", () => {
    const end = (from: number, by: string): Interval<TaskOp> => ({
      ...op(from, null, task("end", by)),
      isCertain: true,
    });
    expect(fits(made, op(3, 4, task("claim", "a")), end(5, "a"), op(9, 10, task("claim", "b")))).toBe(true);
    const three = [1, 2, 3].flatMap(n => [
      op(10 * n, 10 * n + 1, task("claim", `${n}`)),
      end(10 * n + 2, `${n}`),
    ]);
    expect(fits(made, ...three, op(50, 51, task("claim", "b", "task_state")))).toBe(true);
    expect(fits(made, ...three, op(50, 51, task("claim", "b")), op(52, 53, task("done", "b")))).toBe(false);
  });

  it("at the same time give one of them the task", () => {
    const both = [op(3, 6, task("claim", "a")), op(4, 5, task("claim", "b", "task_claimed"))];
    expect(fits(made, ...both)).toBe(true);
    expect(fits(made, op(3, 6, task("claim", "a")), op(4, 5, task("claim", "b")))).toBe(false);
  });

  it("of what does not exist yet do not fit", () => {
    expect(fits(op(3, 4, task("create", "a")), op(1, 2, task("claim", "b")))).toBe(false);
  });
});

describe("compare-and-set", () => {
  const fits = (...history: Interval<SetOp>[]) => isLinearizable(history, keyModel);

  it("gives each version once, in a chain", () => {
    expect(fits(op(1, 2, set(0, 1)), op(3, 4, set(1, 2)), op(5, 6, set(null, 3)))).toBe(true);
    expect(fits(op(1, 4, set(0, 1)), op(2, 3, set(0, 1)))).toBe(false);
    expect(fits(op(1, 2, set(0, 1)), op(3, 4, set(0, 2)))).toBe(false);
  });

  it("refuses with the version that is there", () => {
    expect(fits(op(1, 2, set(0, 1)), op(3, 4, set(0, 1, "conflict")))).toBe(true);
    expect(fits(op(1, 2, set(0, 1)), op(3, 4, set(0, 0, "conflict")))).toBe(false);
    expect(fits(op(1, 2, set(0, 1)), op(3, 4, set(1, 1, "conflict")))).toBe(false);
  });

  it("takes one that nobody heard of as done or not", () => {
    const lost = op(3, null, set(null, null, null));
    expect(fits(op(1, 2, set(0, 1)), lost, op(5, 6, set(2, 3)))).toBe(true);
    expect(fits(op(1, 2, set(0, 1)), lost, op(5, 6, set(1, 2)))).toBe(true);
    expect(fits(op(1, 2, set(0, 1)), lost, op(5, 6, set(null, 4)))).toBe(false);
  });
});
