import { describe, expect, it } from "vitest";
import { latestAt } from "../../daemon/core/sessions/table.ts";
import { limits } from "../../protocol/limits.ts";
import { begin, Crowd, type Scenario, scenario, upTo } from "../bench/growth-steps.ts";
import { WorkCount } from "./work-count.ts";

/** Few, and so many that whatever walks through all of them stands out. */
const [few, many] = [20, 400];
const looks = 10;

const requests: readonly Scenario[] = [
  scenario("whoami", "by a process, others have one each", limits.sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`, { anchor: { pid: i + 1, startTime: "1" } }));
    for (const i of upTo(looks)) crowd.look(() => latestAt(crowd.state.sessions, i + 1));
    return looks;
  }),
];

describe("a look costs what it finds, however many others there are", () => {
  it.each(requests.map(one => [`${one.kind}: ${one.what}`, one] as const))("%s", (_name, { run, most }) => {
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
