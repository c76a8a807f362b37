/** The format of the trail: its lines and the names of its files. */

import { readdir } from "node:fs/promises";
import type { EventName, KiteEvent } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";

/**
 * The kinds of lines. `allow`, `deny` and `wait` are decisions; `wait` is the start of a wait, whose end is a line of its
 * own. `note`: something changed without a request. `event`: a hook was answered, or a write ended; nothing was decided.
 */
export const trailDecisions = ["allow", "deny", "wait", "note", "event"] as const;
export type TrailDecision = (typeof trailDecisions)[number];

/**
 * What Kite would have done if it did not only observe: hold the step up until others are done, refuse it, or tell its
 * agent.
 */
export const trailWoulds = ["wait", "deny", "tell"] as const;
export type TrailWould = (typeof trailWoulds)[number];

/**
 * One line. It has no field for content: no prompt, no file's text, and of a shell command at most its first word
 * (in `type`). Only these fields are written, even if an object has others. Lines of earlier versions lack `rule`,
 * `task`, `holder`, `waitedMs`, `heldMs`, `chars`, `files` and `lines`.
 */
export interface TrailLine {
  /** Wall time in milliseconds. */
  readonly at: number;
  /** The request's type, the hook's event, or the event of the log. */
  readonly event: string;
  readonly id: string | null;
  readonly agent: string | null;
  readonly name: string | null;
  readonly project: string | null;
  /** The tool, the git command, or the cause of an event. */
  readonly type: string | null;
  /** A real path; in lines of earlier versions also one as typed, relative to the project. */
  readonly file: string | null;
  readonly decision: TrailDecision;
  /** The rule that decided: `lock`, `stale`, `freeze`, `guard`, `rescue`, `task`, `message`, or the names of gates with commas between. Of a note, its topic. */
  readonly rule?: string;
  /** The refusal's code. */
  readonly code?: string;
  /** A short reason, for a person. */
  readonly why?: string;
  /** Of a refused lock: the name of the actor that had the file. */
  readonly holder?: string | undefined;
  /** The id of the task that the line is about, or its name in a refused request. */
  readonly task?: string | undefined;
  /** Milliseconds from the request to the decision, or to a hook's answer. */
  readonly ms?: number | undefined;
  /** Milliseconds that the actor waited for others before the decision; absent if it did not wait. */
  readonly waitedMs?: number | undefined;
  /** Milliseconds from a lock's grant to its end. */
  readonly heldMs?: number | undefined;
  /** Who probably acted, in words: the client does not say. A guess, and no name of an agent. */
  readonly perhaps?: string | undefined;
  /** Of a `note`: nothing was held up, since Kite only observed. */
  readonly would?: TrailWould | undefined;
  /** Of a hook's answer: its length in UTF-16 units. The client puts a part of it into its agent's context. */
  readonly chars?: number | undefined;
  /** Of `work_spared`: files with uncommitted work of others that a denied command would have wiped. */
  readonly files?: number | undefined;
  /** The lines of these files that no commit has; absent: they could not be counted. */
  readonly lines?: number | undefined;
}

export const newline = 0x0a;

/** Returns the name of trail file `n`; the newest file has the highest number. */
export function fileName(n: number): string {
  return `trail-${n}.ndjson`;
}

/** Numbers of the trail's files, newest first. */
export async function trailFiles(dir: string): Promise<number[]> {
  try {
    const names = await readdir(dir);
    return names
      .map(name => Number(name.match(/^trail-(\d{1,15})\.ndjson$/)?.[1] ?? Number.NaN))
      .filter(n => !Number.isNaN(n))
      .sort((a, b) => b - a);
  } catch (error) {
    // The trail was never written.
    if (isAbsence(error)) return [];
    throw error;
  }
}

/** Whether the error says that a file does not exist. */
export function isAbsence(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

/** Returns the line as it is stored, without undefined fields. */
export function encode(line: TrailLine): string {
  const known = {
    at: line.at,
    event: clip(line.event),
    id: clip(line.id),
    agent: clip(line.agent),
    name: clip(line.name),
    project: clip(line.project),
    type: clip(line.type),
    file: clip(line.file),
    decision: line.decision,
    rule: clip(line.rule),
    code: line.code,
    why: clip(line.why),
    holder: clip(line.holder),
    task: clip(line.task),
    ms: line.ms,
    waitedMs: line.waitedMs,
    heldMs: line.heldMs,
    perhaps: clip(line.perhaps),
    would: line.would,
    chars: line.chars,
    files: line.files,
    lines: line.lines,
  };
  return `${JSON.stringify(known)}\n`;
}

/** Returns a text of at most `limits.trailFieldChars`; any other value as it is. */
function clip<T extends string | null | undefined>(text: T): T | string {
  return typeof text === "string" && text.length > limits.trailFieldChars
    ? text.slice(0, limits.trailFieldChars)
    : text;
}

const decisions: ReadonlySet<unknown> = new Set(trailDecisions);
const woulds: ReadonlySet<unknown> = new Set(trailWoulds);

/** Parses a stored line; null if it is invalid (torn by a crash, or of a later version). */
export function decode(text: string): TrailLine | null {
  try {
    const value: unknown = JSON.parse(text);
    return isTrailLine(value) ? value : null;
  } catch {
    // Torn by a crash.
    return null;
  }
}

function isTrailLine(value: unknown): value is TrailLine {
  if (typeof value !== "object" || value === null) return false;
  const line: Partial<Record<keyof TrailLine, unknown>> = value;
  return (
    typeof line.at === "number" &&
    typeof line.event === "string" &&
    decisions.has(line.decision) &&
    isText(line.id) &&
    isText(line.agent) &&
    isText(line.name) &&
    isText(line.project) &&
    isText(line.type) &&
    isText(line.file) &&
    (line.rule === undefined || typeof line.rule === "string") &&
    (line.code === undefined || typeof line.code === "string") &&
    (line.why === undefined || typeof line.why === "string") &&
    (line.holder === undefined || typeof line.holder === "string") &&
    (line.task === undefined || typeof line.task === "string") &&
    (line.ms === undefined || typeof line.ms === "number") &&
    (line.waitedMs === undefined || typeof line.waitedMs === "number") &&
    (line.heldMs === undefined || typeof line.heldMs === "number") &&
    (line.perhaps === undefined || typeof line.perhaps === "string") &&
    (line.would === undefined || woulds.has(line.would)) &&
    (line.chars === undefined || typeof line.chars === "number") &&
    (line.files === undefined || typeof line.files === "number") &&
    (line.lines === undefined || typeof line.lines === "number")
  );
}

function isText(value: unknown): boolean {
  return value === null || typeof value === "string";
}

// What a trail line says of an event of the log: the point at which features describe their own events.

/** The fields of a line in which one event differs from the next. */
export interface EventFields extends Partial<Pick<TrailLine, "type" | "file" | "decision" | "task">> {
  /** Null: nobody in particular. */
  readonly by: { readonly id: string | null; readonly agent?: string | null; readonly name: string } | null;
  readonly rule: string;
  readonly why: string;
}

/** The lines of events by their names; an event without any has no line. */
export type EventLines = {
  readonly [E in EventName]?: (event: Extract<KiteEvent, { readonly event: E }>) => readonly EventFields[];
};
