/** Recognizes processes as anchors and reports when they end. */

import type {
  ClientStatus,
  LifeFiles,
  LikelySubagent,
  TranscriptEnd,
  WatchedAgent,
} from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import type { Anchor } from "../core/frame/actors.ts";
import type { BudgetedFs, Unreachable } from "./filesystem.ts";
import type { FileEnd } from "./prober.ts";
import { type ProcessRow, type ProcessTable, systemTable } from "./process-table.ts";

const table = systemTable();

/**
 * Returns the process as an anchor if this process sees it alive, with its own user and pid namespace. Null otherwise:
 * a container, another machine, or a wrong or dead pid.
 */
export function processAnchor(pid: number, from: ProcessTable = table): Anchor | null {
  if (!Number.isSafeInteger(pid) || pid <= 0 || !from.isOurs(pid)) return null;
  const row = from.row(pid);
  return typeof row === "string" || row.zombie ? null : { pid, startTime: row.startTime };
}

/**
 * Whether this very process still runs: not a zombie, nor another process with the same pid. If the process table
 * cannot be read it counts as alive.
 */
export function isAlive(anchor: Anchor, from: ProcessTable = table): boolean {
  const row = from.row(anchor.pid);
  return row === "unknown" || isOf(anchor, row);
}

/** Whether this is the row of the very process, and it runs. */
function isOf({ startTime }: Anchor, row: ProcessRow | "absent"): row is ProcessRow {
  return row !== "absent" && !row.zombie && row.startTime === startTime;
}

/** Returns the parent of a process, or null if it is unknown or missing. */
export function parentOf(pid: number, from: ProcessTable = table): number | null {
  const row = from.row(pid);
  return typeof row === "string" || row.parent <= 0 ? null : row.parent;
}

/** A process above another one. */
export type Ancestor = Pick<Anchor, "pid" | "startTime">;

/** Returns the processes above this one, the nearest first, at most `limits.ancestorsMax`. */
export function ancestorsOf(pid: number, from: ProcessTable = table): readonly Ancestor[] {
  const found: Ancestor[] = [];
  for (
    let at = parentOf(pid, from);
    at !== null && found.length < limits.ancestorsMax;
    at = parentOf(at, from)
  ) {
    const row = from.row(at);
    if (typeof row === "string") break;
    found.push({ pid: at, startTime: row.startTime });
  }
  return found;
}

/** How long the youngest child of this very process has run, in milliseconds; as `ProcessTable.youngestChildMs`. */
export function youngestChildMs(anchor: Anchor, from: ProcessTable = table): number | "none" | "unknown" {
  return isAlive(anchor, from) ? from.youngestChildMs(anchor.pid) : "unknown";
}

interface AnchorWatchOptions {
  readonly table?: ProcessTable;
}

/** A process and what is watched through it. */
interface Watched {
  readonly pid: number;
  readonly watches: Set<Watch>;
  /** What the last look saw; null: a watch came since, for which it has to be compared again. */
  row: ProcessRow | null;
}

interface Watch {
  readonly key: string;
  readonly anchor: Anchor;
  readonly process: Watched;
  /** The number of looks that had begun when it was added: one under way says nothing of it. */
  readonly since: number;
  isStopped: boolean;
}

/**
 * Checks processes when asked to and reports once which are gone. An unreadable table proves no death.
 * Several keys may share one process. A look at processes that show what they showed before costs nothing else.
 */
export class AnchorWatch {
  readonly #watches = new Map<string, Watch>();
  readonly #processes = new Map<number, Watched>();
  /** All processes as lists, the same ones until a process comes or goes; null: to be made. */
  #lists: { readonly processes: readonly Watched[]; readonly pids: readonly number[] } | null = null;
  readonly #callbacks: Array<(key: string, anchor: Anchor) => void> = [];
  readonly #stopCallbacks: Array<(key: string, isStopped: boolean) => void> = [];
  readonly #table: ProcessTable;
  #looks = 0;
  #looking: Promise<void> | null = null;

  constructor(options: AnchorWatchOptions = {}) {
    this.#table = options.table ?? table;
  }

  /** Watches a process for `key`, in place of its earlier one. */
  add(key: string, anchor: Anchor): void {
    this.remove(key);
    const { pid } = anchor;
    const process = this.#processes.get(pid) ?? { pid, watches: new Set(), row: null };
    if (process.watches.size === 0) this.#lists = null;
    process.row = null;
    const watch = { key, anchor, process, since: this.#looks, isStopped: false };
    process.watches.add(watch);
    this.#processes.set(pid, process);
    this.#watches.set(key, watch);
  }

  remove(key: string): void {
    const watch = this.#watches.get(key);
    if (watch === undefined) return;
    const { process } = watch;
    this.#watches.delete(key);
    process.watches.delete(watch);
    if (process.watches.size > 0) return;
    this.#processes.delete(process.pid);
    this.#lists = null;
  }

  /** `callback` gets every key whose process is gone; the watch of that key ends. */
  onGone(callback: (key: string, anchor: Anchor) => void): void {
    this.#callbacks.push(callback);
  }

  /** `callback` gets every key whose process a signal stopped, and again when it runs on. */
  onStopped(callback: (key: string, isStopped: boolean) => void): void {
    this.#stopCallbacks.push(callback);
  }

  /** Checks now; calls during a check share it. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  close(): void {
    this.#watches.clear();
    this.#processes.clear();
    this.#lists = null;
  }

  async #look(): Promise<void> {
    this.#lists ??= listsOf(this.#processes);
    const { processes, pids } = this.#lists;
    this.#looks += 1;
    const rows = await this.#table.rows(pids);
    let gone = 0;
    for (let i = 0; i < processes.length; i += 1) {
      const process = processes[i];
      const row = rows[i];
      if (process === undefined || row === undefined) continue;
      if (row === "unknown" || row === process.row) continue;
      process.row = row === "absent" ? null : row;
      for (const watch of [...process.watches]) {
        if (!process.watches.has(watch)) continue;
        if (watch.since === this.#looks) process.row = null;
        else if (isOf(watch.anchor, row)) this.#noteStopped(watch, row.stopped);
        else {
          this.remove(watch.key);
          for (const callback of this.#callbacks) callback(watch.key, watch.anchor);
          gone += 1;
          if (gone % limits.anchorBatchMax === 0) await new Promise(resolve => setImmediate(resolve));
        }
      }
    }
  }

  #noteStopped(watch: Watch, isStopped: boolean): void {
    if (watch.isStopped === isStopped) return;
    watch.isStopped = isStopped;
    for (const callback of this.#stopCallbacks) callback(watch.key, isStopped);
  }
}

function listsOf(watched: ReadonlyMap<number, Watched>) {
  const processes = [...watched.values()];
  return { processes, pids: processes.map(({ pid }) => pid) };
}

// Looks for signs of life of an agent in the files of its client and in the process table. It writes nothing.

/** An agent to look at. */
export interface LifeQuestion extends Omit<WatchedAgent, "pid" | "transcript"> {
  /** Null: no event named one. */
  readonly transcript: string | null;
  readonly anchor: Anchor | null;
}

/** What one look found. Null: the client has no such file, or it could not be read in time. */
export interface LifeSigns {
  readonly transcript: Transcript | null;
  readonly status: ClientStatus | null;
  /** How long the youngest child of its process has run, in milliseconds; time over which the machine slept counts. */
  readonly childMs: number | "none" | "unknown";
  /** One of the files did not answer in time, so a missing sign proves nothing. */
  readonly isUnreadable: boolean;
}

interface Transcript extends Pick<FileEnd, "sizeBytes" | "changedAt"> {
  readonly end: TranscriptEnd;
}

/** Reads at most the end of one file and one small file, of the client whose transcript it can be. */
export async function lifeSigns(
  outside: BudgetedFs,
  clients: readonly LifeFiles[],
  question: LifeQuestion,
): Promise<LifeSigns> {
  const { session, agent, transcript, anchor } = question;
  const pid = anchor?.pid ?? null;
  const childMs = anchor === null ? "unknown" : youngestChildMs(anchor);
  const own = transcript === null ? null : placesOf(clients, { session, agent, transcript, pid });
  if (own === null) return { transcript: null, status: null, childMs, isUnreadable: false };
  const { files, places } = own;
  const found = await tailOf(outside, places.transcript);
  const status = places.status === null ? null : await smallText(outside, places.status);
  return {
    transcript: found === null || isUnreachable(found) ? null : endOf(files, found),
    status: status === null || isUnreachable(status) ? null : files.readStatus(status.text ?? "", session),
    childMs,
    isUnreadable: [found, status].some(one => one !== null && isUnreachable(one)),
  };
}

function placesOf(clients: readonly LifeFiles[], agent: WatchedAgent) {
  for (const files of clients) {
    const places = files.of(agent);
    if (places !== null) return { files, places };
  }
  return null;
}

/**
 * Returns the subagent that probably acts in a session whose client does not say. Null: the main agent does, or the
 * transcript is missing, not the client's own, or not readable in time. Reads at most the end of one file.
 */
export async function likelySubagent(
  outside: BudgetedFs,
  clients: readonly LifeFiles[],
  { session, transcript }: Pick<WatchedAgent, "session" | "transcript">,
): Promise<LikelySubagent | null> {
  const own = placesOf(clients, { session, agent: null, transcript, pid: null });
  if (own === null) return null;
  const { files, places } = own;
  const found = await tailOf(outside, places.transcript);
  return found === null || isUnreachable(found) ? null : files.readSubagent(lastLines(found));
}

function endOf(files: LifeFiles, found: FileEnd): Transcript {
  const { sizeBytes, changedAt } = found;
  return { sizeBytes, changedAt, end: files.readEnd(lastLines(found)) };
}

function lastLines({ text }: FileEnd): readonly string[] {
  return text
    .split("\n")
    .filter(line => line !== "")
    .slice(-limits.transcriptTailLines);
}

const elsewhere = { maybeElsewhere: true } as const;

/** Null: there is no such file. */
function tailOf(outside: BudgetedFs, path: string): Promise<FileEnd | null | Unreachable> {
  return outside.fact(budget =>
    outside.look(path, null, budget, (prober, at) => prober.tail(at, limits.transcriptTailBytes), elsewhere),
  );
}

/** `text` is null if the file is no regular one, or too long. */
function smallText(
  outside: BudgetedFs,
  path: string,
): Promise<{ readonly text: string | null } | null | Unreachable> {
  return outside.fact(budget =>
    outside.look(
      path,
      null,
      budget,
      async (prober, at) => ({ text: await prober.readSmall(at, limits.smallFileBytes) }),
      elsewhere,
    ),
  );
}

function isUnreachable(found: object): found is Unreachable {
  return "unreachable" in found;
}
