/** A task: what happened to it, and what blocks it now. */
import type { TrailLine } from "../../daemon/trail/line.ts";
import { storeUnknown } from "../../protocol/codes.ts";
import type { Answer } from "../../protocol/schemas/requests.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { Client } from "../process-context.ts";
import { refusalText } from "../refusal-text.ts";
import { taskNamed } from "../tasks/numbers.ts";
import { ask } from "../with-daemon.ts";
import type { About } from "./about.ts";
import { type Explained, Story } from "./explained.ts";
import type { LockHistory } from "./lock-history.ts";

export interface BlockerNow {
  readonly id: string;
  readonly status: TaskRow["status"];
  readonly assigneeName: string | null;
}

export interface TaskNow {
  readonly id: string;
  /** Null: no daemon runs, or the task was removed. */
  readonly task: TaskRow | null;
  /** The first of the tasks that block it. */
  readonly blockers: readonly BlockerNow[];
  /** Why a running daemon does not know whether it is there. Absent: it knows. */
  readonly unknown?: string;
}

/** Blockers of which the daemon is asked who works on them. */
const blockersMax = 5;
/** Ids of tasks that one name may mean, before it is too short. */
const idsMax = 10;

export class AboutTask implements About {
  readonly #name: string;
  readonly #project: string | null;
  readonly #row: TaskRow | null;
  readonly #unknown: string | null;
  readonly #story: Story;
  readonly #ids = new Set<string>();

  /**
   * `name`: a whole id, or of a task of `project` its number, the beginning of its id or its last part; `answer`: what the daemon says of the task; null: nothing.
   */
  constructor(name: string, project: string | null, answer: Answer<"task_get"> | null, max: number) {
    this.#name = lastPart(taskNamed(name));
    this.#project = project;
    this.#row = answer?.ok === true ? answer.task : null;
    this.#unknown =
      answer?.ok === false && answer.code === storeUnknown.code ? refusalText(answer, "terminal") : null;
    this.#story = new Story(line => this.#mentioned(line).length > 0, max);
  }

  get explained(): readonly Explained[] {
    return this.#story.found;
  }

  get isKnown(): boolean {
    return this.#row !== null || this.#ids.size > 0;
  }

  /** The tasks that the name may mean, if they are several. */
  get severalIds(): readonly string[] | null {
    return this.#row === null && this.#ids.size > 1 ? [...this.#ids] : null;
  }

  add(line: TrailLine, history: LockHistory): void {
    if (!line.event.startsWith("task_")) return;
    const mentioned = this.#mentioned(line);
    for (const id of mentioned) if (this.#ids.size < idsMax && isWhole(id)) this.#ids.add(id);
    if (mentioned.length > 0) this.#story.add(line, history);
  }

  #mentioned({ event, project, task, why = "" }: TrailLine): readonly string[] {
    if (!event.startsWith("task_")) return [];
    const ids = [
      ...(task === undefined ? [] : [this.#asTyped(task)]),
      ...(why.match(/\bt-[0-9a-z]+-[0-9a-z]+\b/g) ?? []),
    ];
    const known = this.#row?.id;
    return [...new Set(ids)].filter(id => {
      // A refused request names a task as it was typed.
      const [whole, named] = known === undefined ? [id, this.#name] : [known, id];
      const isHere = isWhole(named) || project === this.#project || this.#ids.has(id);
      return isHere && isNamed(whole, named);
    });
  }

  /** Returns the task that a refused request named by a number, or what it named. */
  #asTyped(task: string): string {
    if (!task.startsWith("#")) return task;
    return this.#row !== null && task === `#${this.#row.number}` ? this.#row.id : lastPart(task);
  }

  async now(client: Client | null): Promise<TaskNow> {
    const task = this.#row;
    const id = task?.id ?? [...this.#ids][0] ?? this.#name;
    const unknown = this.#unknown === null ? {} : { unknown: this.#unknown };
    if (client === null || task === null) return { id, task, blockers: [], ...unknown };
    const blockers: BlockerNow[] = [];
    for (const { task: other, status } of task.blockedBy.slice(0, blockersMax)) {
      const answer = await ask(client, "task_get", { task: other, project: task.project });
      blockers.push({ id: other, status, assigneeName: answer.task.assigneeName });
    }
    return { id, task, blockers };
  }
}

/** Returns the last part of the id that has the number behind `#`; the trail knows no numbers of imported tasks. */
function lastPart(name: string): string {
  return /^#\d{1,15}$/.test(name) ? Number(name.slice(1)).toString(36) : name;
}

/** Whether a name is the task's whole id, the beginning of it, or its last part. */
function isNamed(id: string, name: string): boolean {
  if (isWhole(name)) return id === name;
  return name.includes("-") ? id.startsWith(name) : id.endsWith(`-${name}`);
}

export function isWhole(id: string): boolean {
  return /^t-[0-9a-z]+-[0-9a-z]+$/.test(id);
}
