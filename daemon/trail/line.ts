/** The format of the trail: its lines and the names of its files. */
import { readdir } from "node:fs/promises";
import { limits } from "../../protocol/limits.ts";

/**
 * One decision. It has no field for content: no prompt, no file's text, and of a shell command at most its first word
 * (in `type`). Only these fields are written, even if an object has others.
 */
export interface TrailLine {
  /** Wall time in milliseconds. */
  readonly at: number;
  /** The request's type or the hook's event. */
  readonly event: string;
  readonly id: string | null;
  readonly agent: string | null;
  readonly name: string | null;
  readonly project: string | null;
  /** The tool, or the kind of lock. */
  readonly type: string | null;
  readonly file: string | null;
  readonly decision: "allow" | "deny" | "wait" | "note";
  /** The refusal's code. */
  readonly code?: string;
  /** The gates that decided, with commas between. */
  readonly gate?: string;
  /** A short reason, for a person. */
  readonly why?: string;
  /** Duration in milliseconds. */
  readonly ms?: number;
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
    code: line.code,
    gate: line.gate,
    why: clip(line.why),
    ms: line.ms,
  };
  return `${JSON.stringify(known)}\n`;
}

function clip<T extends string | null | undefined>(text: T): T | string {
  return typeof text === "string" && text.length > limits.trailFieldChars
    ? text.slice(0, limits.trailFieldChars)
    : text;
}

const decisions: ReadonlySet<unknown> = new Set(["allow", "deny", "wait", "note"]);

/** Parses a stored line; null if it is invalid (torn by a crash). */
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
  const line = new Map<string, unknown>(Object.entries(value));
  const texts = ["id", "agent", "name", "project", "type", "file"].map(name => line.get(name));
  return (
    typeof line.get("at") === "number" &&
    typeof line.get("event") === "string" &&
    decisions.has(line.get("decision")) &&
    texts.every(text => text === null || typeof text === "string")
  );
}
