/**
 * Tasks of the clients' own lists, as their hooks report them. They are in memory only, because the client keeps the truth
 * in files of its own. A daemon that restarts learns of a task with its next event.
 *
 * A report that a task is completed counts if it comes in a turn. The client reports a teammate's tasks in progress the same
 * way, after the teammate's turn and before it calls the teammate idle. These tasks stay open. An agent whose turn is not
 * known to have ended is at work, because no event begins a turn that a message starts.
 */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { noteKey, type Whose } from "../core/tables/messages.ts";

export interface ClientTask {
  readonly list: string;
  readonly task: string;
  readonly subject: string;
  /** The teammate that the latest report of its completion or progress named, and which agent that is. */
  readonly owner: string | null;
  readonly by: Whose | null;
  readonly state: "open" | "completed";
  readonly project: string;
  /** Wall time in milliseconds: of the first report, and of the latest one that changed something. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface TaskReport extends Pick<ClientTask, "list" | "task" | "subject" | "owner" | "project"> {
  /** Whose event it is. */
  readonly actor: Whose;
  /** The list ends with the actor's session. */
  readonly isOwnList: boolean;
  readonly state: "created" | "completed";
  readonly wallMs: number;
}

/** A list that ended, and how many of its tasks were open. */
export interface EndedList {
  readonly list: string;
  readonly tasks: number;
  readonly open: number;
}

interface List {
  /** Its number, in the order in which lists began; unlike a count of lists it never falls. */
  readonly n: number;
  readonly tasks: Map<string, ClientTask & { readonly n: number }>;
  nextTask: number;
  /** The session with which it ends; null if no event said. */
  session: string | null;
  /** The sessions that reported it and have not ended. Without any of them it is forgotten. */
  readonly reporters: Set<string>;
}

export class ClientTasks {
  readonly #lists = new Map<string, List>();
  readonly #listsOf = new Map<string, Set<string>>();
  #nextList = 0;
  /** `ended`: its tasks in progress may be reported. `idle`: they were. Absent: at work, as nearly every agent that acts. */
  readonly resting = new BoundedMap<string, "ended" | "idle">({ entriesMax: limits.clientTurnsMax });

  report(report: TaskReport): void {
    const { actor, task, subject, owner, project, wallMs } = report;
    const isAtRest = owner !== null && this.isAtRest(actor);
    const list = this.#listOf(report);
    const known = list.tasks.get(task);
    if (!isAtRest) this.atWork(actor);
    const isOpen = report.state === "created" ? known?.state !== "completed" : isAtRest;
    const next = {
      subject,
      owner: owner ?? known?.owner ?? null,
      by: owner === null ? (known?.by ?? null) : { session: actor.session, agent: actor.agent },
      state: isOpen ? "open" : "completed",
    } as const;
    if (known !== undefined && isSame(known, next)) return;
    const { n = list.nextTask++, createdAt = wallMs } = known ?? {};
    list.tasks.set(task, { list: report.list, task, ...next, project, n, createdAt, updatedAt: wallMs });
    if (list.tasks.size > limits.clientTasksPerListMax) forgetOldest(list.tasks);
  }

  /** The agent is in a turn. */
  atWork(actor: Whose): void {
    this.resting.delete(noteKey(actor));
  }

  turnEnded(actor: Whose): void {
    this.resting.set(noteKey(actor), "ended");
  }

  /** The client calls the agent idle, or the agent has ended. A task that it reports completed from now on is completed. */
  idle(actor: Whose): void {
    this.resting.set(noteKey(actor), "idle");
  }

  /** Whether the agent's turn has ended and the client may still report its tasks in progress. */
  isAtRest(actor: Whose): boolean {
    return this.resting.get(noteKey(actor)) === "ended";
  }

  /** Whether the task is open while its owner is in no turn. */
  isResting({ state, by }: ClientTask): boolean {
    return state === "open" && by !== null && this.resting.has(noteKey(by));
  }

  /** The session has ended: forgets its own list, and lists that no other session reports. Returns these. */
  sessionEnded(session: string): readonly EndedList[] {
    const ended: EndedList[] = [];
    this.resting.set(noteKey({ session, agent: null }), "idle");
    for (const name of this.#listsOf.get(session) ?? []) {
      const list = this.#lists.get(name);
      if (list === undefined) continue;
      list.reporters.delete(session);
      if (list.session !== session && list.reporters.size > 0) continue;
      const open = [...list.tasks.values()].filter(task => task.state === "open").length;
      ended.push({ list: name, tasks: list.tasks.size, open });
      this.#forget(name, list);
    }
    this.#listsOf.delete(session);
    return ended;
  }

  /** Every task with its position: lists in the order in which they began, tasks likewise. */
  *placed(): Generator<readonly [place: number, task: ClientTask], void> {
    for (const { n, tasks } of this.#lists.values())
      for (const task of tasks.values()) yield [n * placesPerList + task.n, task];
  }

  /** The project's tasks with this id. Looks into each list once. */
  named(id: string, project: string): readonly ClientTask[] {
    const found = [...this.#lists.values()].map(({ tasks }) => tasks.get(id));
    return found.filter(task => task !== undefined && task.project === project) as ClientTask[];
  }

  #listOf({ list: name, actor: { session }, isOwnList }: TaskReport): List {
    const list = this.#lists.get(name) ?? this.#begin(name);
    if (isOwnList) list.session = session;
    if (!isOwnList && list.reporters.size >= limits.clientListSessionsMax) return list;
    list.reporters.add(session);
    const names = this.#listsOf.get(session);
    if (names === undefined) this.#listsOf.set(session, new Set([name]));
    else names.add(name);
    return list;
  }

  #begin(name: string): List {
    const list: List = {
      n: this.#nextList++,
      tasks: new Map(),
      nextTask: 0,
      session: null,
      reporters: new Set(),
    };
    this.#lists.set(name, list);
    const [oldest] = this.#lists;
    if (oldest !== undefined && this.#lists.size > limits.clientListsMax) this.#forget(...oldest);
    return list;
  }

  #forget(name: string, { reporters }: List): void {
    this.#lists.delete(name);
    for (const session of reporters) {
      const names = this.#listsOf.get(session);
      names?.delete(name);
      if (names?.size === 0) this.#listsOf.delete(session);
    }
  }
}

/** Positions of one list's tasks; a list would have to forget that many before two tasks get one position. */
const placesPerList = 1_000_000;

type ReportedFields = Pick<ClientTask, "subject" | "owner" | "by" | "state">;

function isSame(known: ReportedFields, next: ReportedFields): boolean {
  const { subject, owner, by, state } = known;
  const isSameAgent = by?.session === next.by?.session && by?.agent === next.by?.agent;
  return subject === next.subject && owner === next.owner && state === next.state && isSameAgent;
}

function forgetOldest(tasks: Map<string, unknown>): void {
  for (const oldest of tasks.keys()) {
    tasks.delete(oldest);
    return;
  }
}
