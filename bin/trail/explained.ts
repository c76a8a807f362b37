/** Lines of the trail as things that happened, for `kite explain`. */
import type { TrailLine } from "../../daemon/trail/line.ts";
import { trailReason } from "../refusal-text.ts";
import { keyIn, pathIn } from "./filter.ts";
import { actorIn, isTaking, type LockHistory } from "./lock-history.ts";

/** One thing that happened. Times are wall time in milliseconds. */
export interface Explained {
  readonly at: number;
  readonly who: string;
  /** `waits`: a wait began, of which the trail has no end. `task`: something happened to a task. */
  readonly what:
    | "took"
    | "waits"
    | "waited"
    | "denied"
    | "released"
    | "not_released"
    | "began"
    | "ended"
    | "task"
    | "noted";
  /** The event of the line, and what it says further: a tool, a git command, a status, or the cause of an end. */
  readonly event: string;
  readonly type: string | null;
  /** Absolute, if the project's directory is known. */
  readonly file: string | null;
  readonly project: string | null;
  /** The git command of a shell line that the guard checked. */
  readonly command: string | null;
  readonly task: string | null;
  /** Whether the request was granted. */
  readonly isRefused: boolean;
  /** How long it took, in milliseconds; of a release, how long the lock was held. */
  readonly waitedMs: number;
  readonly heldMs: number | null;
  /** Number of equal decisions that followed directly, and the time of the last one. */
  readonly again: number;
  readonly until: number;
  /** The other agent that had the file, and since when. */
  readonly before: { readonly who: string; readonly at: number } | null;
  readonly code: string | null;
  readonly why: string | null;
  /** Of a refusal: who had the file, if the line says so. */
  readonly holder: string | null;
}

/** In lines of earlier versions, shorter waits than this, in milliseconds, are only the time of an answer. */
const noticedMs = 100;

/**
 * The latest things that happened to a file, an agent or a task.
 *
 * Equal decisions of one agent in a row (an agent edits one file many times) become one. The start of a wait is left out
 * when its end follows.
 */
export class Story {
  readonly #wanted: (line: TrailLine) => boolean;
  readonly #max: number;
  #found: Explained[] = [];

  /** Keeps the latest `max` things of the `wanted` lines. */
  constructor(wanted: (line: TrailLine) => boolean, max: number) {
    this.#wanted = wanted;
    this.#max = max;
  }

  /** Oldest first. */
  get found(): readonly Explained[] {
    return this.#found.slice(-this.#max);
  }

  /** Takes the next line; `history` knows the lines before it. */
  add(line: TrailLine, history: LockHistory): void {
    if (!this.#wanted(line)) return;
    const one = explained(line, history);
    const isOver = one.what === "took" || one.what === "waited" || one.what === "denied";
    if (isOver || isTaking(line)) this.#endWait(one);
    const last = this.#found.at(-1);
    if (last !== undefined && isSame(last, one)) {
      this.#found[this.#found.length - 1] = { ...last, again: last.again + 1, until: one.at };
    } else this.#found.push(one);
    if (this.#found.length > this.#max * 2) this.#found = this.#found.slice(-this.#max);
  }

  #endWait({ who, file }: Explained): void {
    const index = this.#found.findLastIndex(
      one => one.what === "waits" && one.who === who && one.file === file,
    );
    if (index !== -1) this.#found.splice(index, 1);
  }
}

/** Returns what happened by the line; `history` knows the lines before it. */
export function explained(line: TrailLine, history: LockHistory): Explained {
  const { at, event, type, project } = line;
  const who = actorIn(line);
  const [file, key] = [pathIn(line), keyIn(line)];
  const what = whatOf(line);
  const command = isGit(type) ? type : null;
  const asked = (what === "waited" || what === "denied") && command === null;
  return {
    ...{ at, who, what, event, type, file, project, command },
    task: line.task ?? null,
    isRefused: line.decision === "deny",
    waitedMs: line.waitedMs ?? line.ms ?? 0,
    heldMs: line.heldMs ?? null,
    again: 0,
    until: at,
    before: asked && key !== null ? history.otherHolder(key, who) : null,
    ...(line.would === undefined
      ? { code: line.code ?? null, why: line.why ?? null, holder: line.holder ?? null }
      : { code: null, why: trailReason(line), holder: null }),
  };
}

function isGit(type: string | null): type is string {
  return type?.startsWith("git ") === true;
}

function whatOf(line: TrailLine): Explained["what"] {
  const { event, type, decision, file, rule, ms = 0, waitedMs } = line;
  if (event === "SessionEnd" || event === "session_ended") return "ended";
  if (event === "session_started") return "began";
  if (event.startsWith("task_")) return "task";
  if (event === "lock_released") return "released";
  if (isGit(type)) return decision === "deny" ? "denied" : "noted";
  if (decision === "wait") return file === null ? "noted" : "waits";
  if (file === null || decision === "note") return "noted";
  if (event === "file_unlock") {
    if (decision === "deny") return "not_released";
    // With a rule, it is the line of an unlock by force.
    return rule === undefined ? "released" : "noted";
  }
  if (decision === "deny") return "denied";
  if (rule === "ignore") return "noted";
  const isNoticed = rule === undefined && ms >= noticedMs;
  return waitedMs !== undefined || isNoticed ? "waited" : "took";
}

function isSame(last: Explained, one: Explained): boolean {
  const alike = last.who === one.who && last.what === one.what && last.file === one.file;
  const same = alike && last.command === one.command && last.task === one.task && last.event === one.event;
  return same && one.what !== "waited" && last.why === one.why;
}
