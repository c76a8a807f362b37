import { expect, it } from "vitest";
import type { Timeline } from "../../bin/web/timeline.ts";
import { numbered } from "../../bin/web/views/timeline/model.ts";
import { task } from "./view-rows.ts";

it("a timeline names tasks by their numbers, and one that is gone by its id", () => {
  const mark = { kind: "task", atMs: 1, n: 1, file: null, who: null, why: null, task: null } as const;
  const timeline: Timeline = {
    fromMs: 0,
    untilMs: 2,
    isCut: false,
    lanes: [
      {
        ...{
          id: "a",
          session: null,
          agent: null,
          name: "alice",
          project: "/shop",
          beganMs: null,
          endedMs: null,
        },
        spans: [],
        marks: [
          { ...mark, says: "alice claimed t-a1-1.", why: "blocked by t-b1-2" },
          { ...mark, n: 2, says: "alice finished task t-b1-2." },
        ],
      },
    ],
  };
  const known = task("t-a1-1", "Build", { project: "/shop", number: 4 });
  const [lane] = numbered(timeline, [known]).lanes;
  expect(lane?.marks.map(({ says, why }) => [says, why])).toEqual([
    ["alice claimed #4.", "blocked by t-b1-2"],
    ["alice finished task t-b1-2.", null],
  ]);
});
