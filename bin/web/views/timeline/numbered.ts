/** Names tasks in a timeline by their numbers, as all of Kite's texts for people do. The trail has their ids. */
import { inNumbers, numbersOf } from "../../../tasks/numbers.ts";
import type { Timeline } from "../../timeline.ts";
import type { Rows } from "../../wire.ts";

/** Returns the timeline with the number of each task that `tasks` know. */
export function numbered(timeline: Timeline, tasks: readonly Rows["tasks"][]): Timeline {
  if (tasks.length === 0) return timeline;
  const projects = [...new Set(tasks.map(({ project }) => project))];
  const numbers = new Map(projects.flatMap(project => [...numbersOf(tasks, project)]));
  const inWords = <I extends { readonly says: string; readonly why: string | null }>(item: I): I => {
    const { says, why } = item;
    return { ...item, says: inNumbers(says, numbers), why: why === null ? null : inNumbers(why, numbers) };
  };
  const lanes = timeline.lanes.map(lane => ({
    ...lane,
    spans: lane.spans.map(inWords),
    marks: lane.marks.map(inWords),
  }));
  return { ...timeline, lanes };
}
