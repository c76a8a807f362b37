import { expect, it } from "vitest";
import { Crowd, type Scenario } from "../bench/growth-steps.ts";
import { WorkCount } from "./work-count.ts";

/** Adds a test for each scenario: a unit of its work costs the same among `few` and among `many`. */
export function costsTheSame(scenarios: readonly Scenario[], few: number, many: number): void {
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
}
