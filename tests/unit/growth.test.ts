import { describe, expect, it } from "vitest";
import { Crowd, scenarios } from "../bench/growth-steps.ts";
import { WorkCount } from "./work-count.ts";

/** Few, and so many that whatever walks through all of them stands out. */
const few = 20;
const many = 400;

describe("a step costs what it changes, however many there are", () => {
  it.each(scenarios.map(one => [`${one.kind}: ${one.what}`, one] as const))("%s", (_name, { run, most }) => {
    const perUnit = (n: number) => {
      const work = new WorkCount();
      const units = run(new Crowd(work), n);
      expect(work.total).toBeGreaterThan(0);
      return work.total / units;
    };
    expect(most).toBeGreaterThanOrEqual(many);
    // What is kept in order takes a few more looks among more.
    expect(perUnit(many) / perUnit(few)).toBeLessThan(1.5);
  });
});
