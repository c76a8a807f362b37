/**
 * Saves the ring of events at an orderly stop: the journal is replayed only from its snapshot and lacks earlier events.
 * The first new entry names the last event, and so shows whether the file fits the journal.
 */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { KiteEvent } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import { type Kept, Published } from "./ring.ts";

/** One event in the file. */
interface Stored {
  readonly cursor: string;
  readonly entry: number;
  readonly about: readonly string[];
  readonly project: string;
  readonly event: KiteEvent;
}

/** Replaces the file as a whole; null removes it. */
export function saveEvents(path: string, kept: Kept | null): void {
  if (kept === null) {
    rmSync(path, { force: true });
    return;
  }
  const lines = kept.events.map(({ cursor, entry, about, project, event }) =>
    JSON.stringify({ cursor, entry, about, project, event } satisfies Stored),
  );
  writeFileSync(`${path}.new`, `${[JSON.stringify({ floor: kept.floor }), ...lines].join("\n")}\n`, {
    mode: 0o600,
  });
  renameSync(`${path}.new`, path);
}

/** Returns null if no readable file exists: clients that come back then get `lagged`. */
export function loadEvents(path: string): Kept | null {
  try {
    const stat = statSync(path);
    if (!stat.isFile() || stat.size > limits.eventFileBytes) return null;
    const [head = "", ...lines] = readFileSync(path, "utf8").trimEnd().split("\n");
    const { floor }: { floor?: unknown } = JSON.parse(head);
    const stored: unknown[] = lines.map(line => JSON.parse(line));
    if (typeof floor !== "string" || !stored.every(isStored)) return null;
    return { floor, events: stored.map(one => new Published(one.cursor, one.entry, one)) };
  } catch {
    return null; // Missing and damaged are the same: nothing is lost but the cursors.
  }
}

function isStored(value: unknown): value is Stored {
  if (typeof value !== "object" || value === null) return false;
  const { cursor, entry, about, project, event }: Partial<Record<keyof Stored, unknown>> = value;
  const named = typeof event === "object" && event !== null && "event" in event;
  return (
    named &&
    typeof cursor === "string" &&
    typeof entry === "number" &&
    typeof project === "string" &&
    Array.isArray(about)
  );
}
