/** Tasks and how long they took. */
import { BoundedMap } from "../../daemon/bounded-map.ts";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { Times } from "../trail/times.ts";
import type { TaskFigures } from "./figures.ts";

/** Tasks whose claim is remembered until they are done. */
const claimsMax = 10_000;

export class TaskCounter {
  readonly #claimedAt = new BoundedMap<string, number>({ entriesMax: claimsMax });
  readonly #times = new Times();
  #created = 0;
  #claimed = 0;
  #done = 0;
  #failed = 0;

  /** Takes a line of an event whose name begins with `task_`. */
  add(line: TrailLine): void {
    const { event, type, task, at } = line;
    if (event === "task_failed") this.#failed += 1;
    else if (event === "task_claimed") this.#claim(task, at);
    if (line.decision !== "allow") return;
    if (event === "task_create" || event === "task_import") this.#created += tasksIn(line);
    else if (event === "task_claim" || (event === "task_update" && type === "active")) this.#claim(task, at);
    else if (event === "task_update" && type === "failed") this.#failed += 1;
    else if (event === "task_update" && type === "done") this.#end(task, at);
  }

  #claim(task: string | undefined, at: number): void {
    this.#claimed += 1;
    if (task !== undefined) this.#claimedAt.set(task, at);
  }

  #end(task: string | undefined, at: number): void {
    this.#done += 1;
    const since = task === undefined ? undefined : this.#claimedAt.get(task);
    if (task === undefined || since === undefined) return;
    this.#times.add(at - since);
    this.#claimedAt.delete(task);
  }

  get figures(): TaskFigures {
    return {
      created: this.#created,
      claimed: this.#claimed,
      done: this.#done,
      failed: this.#failed,
      medianMs: this.#times.percentile(0.5),
    };
  }
}

/** How many tasks a line is about: it names the first ones, and counts the rest. */
function tasksIn({ why = "", task }: TrailLine): number {
  const named = why === "" ? [] : why.split(", ");
  const more = Number(/ and (\d+) more$/.exec(why)?.[1] ?? 0);
  return Math.max(named.length + more, task === undefined ? 0 : 1);
}
