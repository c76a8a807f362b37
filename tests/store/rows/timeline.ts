/**
 * What the store did to a project, step by step: of its events, and of the requests whose version is known.
 *
 * A refusal is true if it was true at some moment between what was acknowledged before it was asked for, and what began after it
 * was heard. Moments are places between two events of the store.
 */
import type { StoredStep } from "./database.ts";
import type { Asked } from "./workload.ts";

export type Status = "absent" | "pending" | "active" | "done" | "failed";

/** A task behind a moment. `by`: who works on it, as the store calls that session. */
export interface TaskThen {
  readonly status: Status;
  readonly by: string | null;
}

interface Moment {
  readonly version: number;
  readonly tasks: ReadonlyMap<string, TaskThen>;
}

/** Versions between which a request was done or refused; the last one is not among them. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** What an event does to its task. */
const statusAfter: ReadonlyMap<string, Status> = new Map([
  ["task_created", "pending"],
  ["task_claimed", "active"],
  ["task_released", "pending"],
  ["task_completed", "done"],
  ["task_failed", "failed"],
]);

const absent: TaskThen = { status: "absent", by: null };

export class Timeline {
  /** Behind each event, and before the first one. */
  readonly #moments: Moment[] = [{ version: 0, tasks: new Map() }];
  /** How often each event of a task or a message happened, by `eventKey`'s words, and at which versions. */
  readonly events = new Map<string, number[]>();
  /** Sentences on events that no history has. */
  readonly wrong: string[] = [];
  /** What each task depends on, from which version on. */
  readonly #dependencies = new Map<string, { readonly version: number; readonly on: readonly string[] }[]>();
  readonly #acknowledged: readonly Asked[];

  constructor(steps: readonly StoredStep[], asked: readonly Asked[]) {
    let tasks: ReadonlyMap<string, TaskThen> = new Map();
    for (const { version, events } of steps)
      for (const { event } of events) {
        const { event: name, task, message, by } = event as Partial<Readonly<Record<string, unknown>>>;
        const key = `${name} ${task ?? message}`;
        this.events.set(key, [...(this.events.get(key) ?? []), version]);
        if (typeof task === "string") tasks = this.#after(tasks, { name: String(name), task, by, version });
        this.#moments.push({ version, tasks });
      }
    this.#acknowledged = asked.filter(({ version, to }) => version !== null && to !== null);
    for (const { operation, reply, version } of this.#acknowledged) {
      if (operation.what !== "create" && operation.what !== "depend") continue;
      const { task: row } = reply as unknown as { readonly task: { readonly id: string } };
      const known = this.#dependencies.get(row.id) ?? [];
      known.push({ version: version ?? 0, on: operation.dependsOn });
      this.#dependencies.set(row.id, known);
    }
  }

  /** Returns the tasks behind an event of one of them. */
  #after(
    tasks: Moment["tasks"],
    { name, task, by, version }: { name: string; task: string; by: unknown; version: number },
  ): Moment["tasks"] {
    const status = statusAfter.get(name);
    if (status === undefined) return tasks;
    const before = tasks.get(task) ?? absent;
    if ((name === "task_created") !== (before.status === "absent"))
      this.wrong.push(`${name} of ${task}, which was ${before.status}, at ${version}`);
    if (name === "task_claimed" && before.status !== "pending")
      this.wrong.push(`${task} was claimed at ${version} while it was ${before.status} of ${before.by}`);
    const claimer = (by as { readonly id?: string } | null)?.id ?? null;
    return new Map(tasks).set(task, { status, by: status === "active" ? claimer : null });
  }

  /** What each task came to. */
  get last(): ReadonlyMap<string, TaskThen> {
    return this.#moments.at(-1)?.tasks ?? new Map();
  }

  /** Returns the versions between which a request was answered: by real time, and by what other requests came to. */
  rangeOf({ from, to }: Asked): Range {
    let [low, high] = [0, Number.POSITIVE_INFINITY];
    for (const one of this.#acknowledged) {
      const version = one.version ?? 0;
      if ((one.to ?? Number.POSITIVE_INFINITY) < from) low = Math.max(low, version);
      if (to !== null && one.from > to) high = Math.min(high, version);
    }
    return { from: low, to: high };
  }

  /** Whether a task was so at a moment within the range. */
  wasOnce(range: Range, task: string, isSo: (then: TaskThen) => boolean): boolean {
    return this.#within(range).some(({ tasks }) => isSo(tasks.get(task) ?? absent));
  }

  /** Whether a task had a dependency that was not done, at a moment within the range; `on`: with these dependencies. */
  wasBlockedOnce(range: Range, task: string, on?: readonly string[]): boolean {
    return this.#within(range).some(({ version, tasks }) =>
      (on === undefined ? this.#dependenciesAt(task, version) : [on]).some(all =>
        all.some(id => tasks.get(id)?.status !== "done"),
      ),
    );
  }

  /** Whether no task may have been ready, at a moment within the range. */
  hadNoneReadyOnce(range: Range): boolean {
    return this.#within(range).some(moment =>
      [...moment.tasks].every(([task, { status }]) => {
        const all = this.#dependenciesAt(task, moment.version);
        const isReady = all.every(on => on.every(id => moment.tasks.get(id)?.status === "done"));
        return status !== "pending" || !isReady;
      }),
    );
  }

  /** Returns the moments of the range: that at its beginning, and those behind each event within. */
  #within({ from, to }: Range): Moment[] {
    const first = this.#moments.findLastIndex(({ version }) => version <= from);
    const end = this.#moments.findIndex(({ version }) => version >= to);
    return this.#moments.slice(first, end === -1 ? undefined : Math.max(end, first + 1));
  }

  /** Returns what a task depended on in the course of a version: several, if that changed then. */
  #dependenciesAt(task: string, version: number): readonly (readonly string[])[] {
    const all = (this.#dependencies.get(task) ?? []).toSorted((a, b) => a.version - b.version);
    const before = all.findLast(one => one.version < version);
    const then = all.filter(one => one.version === version);
    const known = [...(before === undefined ? [] : [before]), ...then].map(({ on }) => on);
    return known.length === 0 ? [[]] : known;
  }
}
