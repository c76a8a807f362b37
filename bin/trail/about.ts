/** What `kite explain` can explain. */

import { existsSync } from "node:fs";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { storeUnknown } from "../../protocol/codes.ts";
import { isResource, lockKey, nameInKey } from "../../protocol/names.ts";
import type { LockRow, WaiterRow } from "../../protocol/schemas/lock.ts";
import type { Answer } from "../../protocol/schemas/requests.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { ElsewhereRow, WriteRow } from "../../protocol/work.ts";
import type { Client } from "../context/process-context.ts";
import { ask, rowsOf } from "../context/with-daemon.ts";
import { refusalText } from "../refusal-text.ts";
import { projectRoot } from "../view/places.ts";
import { taskNamed } from "../view/task-names.ts";
import {
  actorIn,
  type Explained,
  isAbout,
  isOf,
  isWithin,
  type LockHistory,
  pathIn,
  Story,
  type Taken,
} from "./explained.ts";

export const kinds = ["task", "agent", "file"] as const;
export type Kind = (typeof kinds)[number];

/** One reading of the command's argument: it sees every line of the trail, oldest first. */
interface About {
  /** Whether the trail, the daemon or the file system knows it. */
  readonly isKnown: boolean;
  /** Takes the next line; `history` knows the lines before it. */
  add(line: TrailLine, history: LockHistory): void;
}

// A file, a directory or a resource: its holders, waiters, freezes and last writer.

/** A lock. `kind` is null if only the trail tells of it. */
export interface HolderNow {
  readonly file: string;
  readonly project: string | null;
  readonly who: string;
  readonly kind: LockRow["kind"] | null;
  readonly heldMs: number;
  /** As in `LockRow`. */
  readonly leaseLeftMs?: number;
}

export interface WaiterNow {
  readonly file: string;
  readonly project: string;
  readonly who: string;
  readonly waitedMs: number;
  /** From 1. */
  readonly position: number;
  readonly holder: string | null;
}

/** The present of a file, a directory or a resource, whose `path` is its name; `heldMs`, `waitedMs` and `leftMs` count from the answer. */
export interface FileNow {
  readonly path: string;
  readonly holders: readonly HolderNow[];
  readonly waiters: readonly WaiterNow[];
  readonly freezes: readonly {
    readonly file: string;
    readonly project: string;
    /** Null: a person. */
    readonly who: string | null;
    readonly leftMs: number;
  }[];
  readonly lastWrite: {
    readonly file: string;
    readonly project: string | null;
    readonly who: string;
    readonly at: number;
    readonly by: "edit" | "shell";
    /** Null: unknown. */
    readonly isCommitted: boolean | null;
  } | null;
}

export class AboutFile implements About {
  readonly #paths: readonly string[];
  readonly #story: Story;
  #lastWrite: TrailLine | null = null;
  #isInTrail = false;

  /** `paths`: all absolute names of the file, the last one its real path; or the key of a resource. */
  constructor(paths: readonly string[], max: number) {
    this.#paths = paths;
    this.#story = new Story(line => this.#isAbout(line), max);
  }

  get path(): string {
    return this.#paths.at(-1) ?? "/";
  }

  get explained(): readonly Explained[] {
    return this.#story.found;
  }

  get isKnown(): boolean {
    return this.#isInTrail || isResource(this.path) || existsSync(this.path);
  }

  add(line: TrailLine, history: LockHistory): void {
    if (!this.#isAbout(line)) return;
    this.#isInTrail = true;
    if (line.decision !== "event") this.#story.add(line, history);
    else if (line.rule === "write") this.#lastWrite = line;
  }

  #isAbout(line: TrailLine): boolean {
    return this.#paths.some(path => isAbout(line, path));
  }

  /** Without a daemon, the trail alone tells. */
  async now(client: Client | null, history: LockHistory, nowMs: number): Promise<FileNow> {
    const { path } = this;
    const isMine = (other: string) => isWithin(other, path) || isWithin(path, other);
    const lastWrite = this.#written();
    if (client === null) {
      const taken = history.holders(({ file }) =>
        this.#paths.some(one => isWithin(file, one) || isWithin(one, file)),
      );
      const holders = taken.map(one => takenNow(one, nowMs));
      return { path: nameInKey(path), holders, waiters: [], freezes: [], lastWrite };
    }
    const locks = (await rowsOf(client, "locks")).filter(row => isMine(lockKey(row)));
    const [holders, waiters] = [locks.flatMap(holderOf), locks.flatMap(row => waitersOf(row))];
    if (isResource(path)) return { path: nameInKey(path), holders, waiters, freezes: [], lastWrite: null };
    const holds = (await rowsOf(client, "holds")).flatMap(({ paths, project: of, by, leftMs }) =>
      paths.filter(isMine).map(file => ({ file, project: of, who: by?.name ?? null, leftMs })),
    );
    const sessions = await rowsOf(client, "sessions");
    const project = lastWrite?.project ?? sessions.find(row => isWithin(path, row.worktree))?.project;
    // The query runs git, so it is asked for one project only.
    const writes = project === undefined ? [] : await rowsOf(client, "writes", { project });
    return {
      path,
      holders,
      waiters,
      freezes: holds,
      lastWrite: latest(
        lastWrite,
        writes.filter(row => isWithin(row.path, path)),
      ),
    };
  }

  #written(): FileNow["lastWrite"] {
    const line = this.#lastWrite;
    if (line === null) return null;
    const { at, project } = line;
    return { file: pathIn(line) ?? "", project, who: actorIn(line), at, by: "edit", isCommitted: null };
  }
}

function holderOf({ path, project, holder, kind, heldMs, leaseLeftMs }: LockRow): HolderNow[] {
  if (holder === null) return [];
  const lease = leaseLeftMs === undefined ? {} : { leaseLeftMs };
  return [{ file: path, project, who: holder.name, kind, heldMs, ...lease }];
}

/** A lock of which only the trail tells. */
function takenNow({ file, project, who, at }: Taken, nowMs: number): HolderNow {
  return { file: nameInKey(file), project, who, kind: null, heldMs: nowMs - at };
}

/** The waiters that `isMeant` selects, in queue order. */
function waitersOf(
  { path, project, holder, waiters }: LockRow,
  isMeant: (waiter: WaiterRow) => boolean = () => true,
): WaiterNow[] {
  return waiters.flatMap((waiter, index) => {
    if (!isMeant(waiter)) return [];
    const { name: who, waitedMs } = waiter;
    return [{ file: path, project, who, waitedMs, position: index + 1, holder: holder?.name ?? null }];
  });
}

/** The later one of the trail's latest write and the uncommitted work that the daemon knows. */
function latest(trailWrite: FileNow["lastWrite"], rows: readonly WriteRow[]): FileNow["lastWrite"] {
  const works = rows.flatMap(({ path, project, state, writers }) =>
    writers.slice(0, 1).map(({ name, at, by }) => {
      return { file: path, project, who: name, at, by, isCommitted: state === "unknown" ? null : false };
    }),
  );
  const [work] = works.sort((a, b) => b.at - a.at);
  if (work === undefined) return trailWrite;
  // The work of a file is the later one: its entry follows the line of its write.
  return trailWrite === null || work.file === trailWrite.file || work.at >= trailWrite.at ? work : trailWrite;
}

// An agent: what it holds and waits for, and its latest refusal.

/** A refusal, and the time at which the agent got what it was refused; null: it did not. */
export interface RefusalNow {
  readonly at: number;
  readonly who: string;
  readonly event: string;
  readonly task: string | null;
  readonly rule: string | null;
  readonly code: string | null;
  readonly why: string | null;
  /** Who had the file, if the line says so. */
  readonly holder: string | null;
  readonly file: string | null;
  readonly project: string | null;
  readonly command: string | null;
  readonly resolvedAt: number | null;
}

export interface AgentNow {
  readonly name: string;
  /** Null: it is not live, or no daemon runs. */
  readonly session: SessionRow | null;
  /** It is of another machine that shares a store with this one; absent: it is not. */
  readonly elsewhere?: ElsewhereRow;
  readonly holds: readonly HolderNow[];
  readonly waits: readonly WaiterNow[];
  readonly refusal: RefusalNow | null;
  /** The latest line of the trail about it. */
  readonly lastSeenAt: number | null;
  /** The end of its session, if that is the latest that the trail tells. */
  readonly ended: { readonly at: number; readonly why: string | null } | null;
}

interface Actor {
  readonly id: string;
  readonly agent: string | null;
}

/** Ends of locks that the agent meant, which say nothing of what was decided. */
const ownEnds: ReadonlySet<string | null> = new Set(["unlocked", "turn ended", "deregistered", "ended"]);

export class AboutAgent implements About {
  readonly #subject: string;
  readonly #story: Story;
  readonly #session: SessionRow | null;
  readonly #elsewhere: ElsewhereRow | null;
  #refusal: RefusalNow | null = null;
  #ended: AgentNow["ended"] = null;
  #lastSeenAt: number | null = null;
  #inTrail: Actor | null = null;

  /**
   * `sessions`: the live ones; null if no daemon runs. Of several agents of one name, in several projects, it is that of the
   * project `here`. `elsewhere`: those of other machines.
   */
  constructor(
    subject: string,
    sessions: readonly SessionRow[] | null,
    {
      here,
      max,
      elsewhere = [],
    }: {
      readonly here: string | null;
      readonly max: number;
      readonly elsewhere?: readonly ElsewhereRow[];
    },
  ) {
    this.#subject = subject;
    const named = sessions?.filter(row => isAgentOf(row, subject)) ?? [];
    const isHere = ({ project }: { readonly project: string }) =>
      here !== null && projectRoot(project) === projectRoot(here);
    this.#session = named.find(isHere) ?? named[0] ?? null;
    const there = this.#session === null ? elsewhere.filter(row => isCalled(row, subject)) : [];
    this.#elsewhere = there.find(isHere) ?? there[0] ?? null;
    this.#story = new Story(line => this.#isIts(line) && !isRoutine(line), max);
  }

  /** Whether what is known of an agent is known of this one. Lines of earlier versions may lack the project. */
  #isIts(one: Pick<TrailLine, "name" | "id" | "agent" | "project">): boolean {
    const within = this.#session?.project ?? null;
    const isHere =
      within === null || one.project === null || projectRoot(one.project) === projectRoot(within);
    return isHere && isOf(one, this.#subject);
  }

  get explained(): readonly Explained[] {
    return this.#story.found;
  }

  /** Who it is by ids, live or as the trail's latest line says; null: unknown. */
  get actor(): Actor | null {
    const session = this.#session;
    if (session === null) return this.#inTrail;
    const { id, name, agents } = session;
    if (isOf({ id, name, agent: null }, this.#subject)) return { id, agent: null };
    const agent = agents.find(one =>
      isOf({ id, name: `${name}/${one.name}`, agent: one.agent }, this.#subject),
    );
    return { id, agent: agent?.agent ?? null };
  }

  get isKnown(): boolean {
    return this.#session !== null || this.#elsewhere !== null || this.#lastSeenAt !== null;
  }

  add(line: TrailLine, history: LockHistory): void {
    if (!this.#isIts(line)) return;
    const { at, event, decision, why = null } = line;
    this.#lastSeenAt = at;
    if (line.id !== null) this.#inTrail = { id: line.id, agent: line.agent };
    const isEnd = event === "SessionEnd" || event === "session_ended";
    this.#ended = isEnd ? { at, why } : decision === "event" ? this.#ended : null;
    if (decision === "event") return;
    if (decision === "deny") this.#refusal = refusalIn(line);
    else if (decision === "allow") this.#resolve(line);
    this.#story.add(line, history);
  }

  #resolve(line: TrailLine): void {
    const refusal = this.#refusal;
    if (refusal === null || refusal.resolvedAt !== null || refusal.file === null) return;
    if (pathIn(line) === refusal.file) this.#refusal = { ...refusal, resolvedAt: line.at };
  }

  /** Without a daemon, the trail alone tells. */
  async now(client: Client | null, history: LockHistory, nowMs: number): Promise<AgentNow> {
    const subject = this.#subject;
    const rest = { name: subject, refusal: this.#refusal, lastSeenAt: this.#lastSeenAt, ended: this.#ended };
    if (client === null) {
      const taken = history.holders(({ who, session }) =>
        isOf({ name: who, id: session, agent: null }, subject),
      );
      const holds = taken.map(one => takenNow(one, nowMs));
      return { ...rest, session: null, holds, waits: [] };
    }
    const locks = await rowsOf(client, "locks");
    const mine = locks.filter(
      ({ holder, project }) => holder !== null && this.#isIts({ ...holder, project }),
    );
    const waits = locks.flatMap(row =>
      waitersOf(row, waiter => this.#isIts({ ...waiter, project: row.project })),
    );
    const there = this.#elsewhere === null ? {} : { elsewhere: this.#elsewhere };
    return { ...rest, session: this.#session, ...there, holds: mine.flatMap(holderOf), waits };
  }
}

function isAgentOf({ id, name, agents }: SessionRow, subject: string): boolean {
  if (isOf({ id, name, agent: null }, subject)) return true;
  return agents.some(({ agent, name: own }) => isOf({ id, name: `${name}/${own}`, agent }, subject));
}

/** Whether a session of another machine is meant: by its id, or by its name with or without the machine. */
function isCalled({ id, name, machine }: ElsewhereRow, subject: string): boolean {
  return id === subject || name === subject || name === `${subject}@${machine}`;
}

function isRoutine({ event, type }: TrailLine): boolean {
  return event === "lock_released" && ownEnds.has(type);
}

function refusalIn(line: TrailLine): RefusalNow {
  const { at, event, task = null, rule = null, code = null, why = null, holder = null, type, project } = line;
  const command = type?.startsWith("git ") === true ? type : null;
  const what = { event, task, file: pathIn(line), project, command };
  return { at, who: actorIn(line), ...what, rule, code, why, holder, resolvedAt: null };
}

// A task: what happened to it, and what blocks it now.

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
   * `name`: a whole id; for a task of `project` also its number, the beginning of its id or its last part. `answer`:
   * what the daemon says of the task. Null: nothing.
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
