/**
 * The JSON of a batch: the entries of one write, with what they share told once.
 *
 *     {"seq":7,"at":T,"node":"local","epoch":3,"n":21,"batch":[RECORD,...]}
 *
 * `seq`, `at` and `n` are the first entry's. A record is a list: by how much its `at`, and its `n` beyond its place in
 * the batch, differ from the first one's, and its command, as JSON or in the short form.
 */
import { isObject } from "../../../protocol/wire.ts";
import type { Command, Entry } from "../../core/tables/entries.ts";
import type { KnownNames } from "./known-names.ts";
import { lengthen, shorten } from "./short-records.ts";

export const batchEnd = "]}\n";

/** What the entries of a batch share, and the numbers of the first one. */
export interface BatchHead {
  readonly seq: number;
  readonly at: number;
  readonly node: string;
  readonly epoch: number;
  readonly n: number;
}

export function batchHead({ seq, at, origin: { node, epoch, n } }: Entry): string {
  return `{"seq":${seq},"at":${at},"node":${JSON.stringify(node)},"epoch":${epoch},"n":${n},"batch":[`;
}

/** Whether `entry` can stand in a batch that begins with `first`. */
export function fitsBatch(first: Entry, entry: Entry): boolean {
  const [a, b] = [first.origin, entry.origin];
  return a.node === b.node && a.epoch === b.epoch && isExact(first.at) && isExact(entry.at);
}

/** Whether differences of such numbers are exact. */
function isExact(at: number): boolean {
  return Number.isSafeInteger(at) && at >= 0;
}

/** Returns the record of `entry`, the one at `place` in a batch that begins with `first`. */
export function recordText(first: Entry, entry: Entry, place: number): string {
  const short = shorten(entry.command);
  const beyond = entry.origin.n - first.origin.n - place;
  return `[${entry.at - first.at},${beyond},${short ?? JSON.stringify(entry.command)}]`;
}

/** Returns the entries of a line's JSON: a batch, or the one entry of a line of Kite before batches. Null: neither. */
export function entriesIn(value: unknown, known: KnownNames): readonly Entry[] | null {
  if (!isObject(value) || typeof value["seq"] !== "number" || typeof value["at"] !== "number") return null;
  const { batch } = value;
  if (batch === undefined) return isEntry(value) ? [value] : null;
  const { seq, at, node, epoch, n } = value;
  if (typeof node !== "string" || typeof epoch !== "number" || typeof n !== "number") return null;
  if (!Array.isArray(batch) || batch.length === 0) return null;
  const head = { seq, at, node, epoch, n };
  const entries: Entry[] = [];
  for (let place = 0; place < batch.length; place += 1) {
    const entry = entryIn(batch[place], head, place, known);
    if (entry === null) return null;
    entries.push(entry);
  }
  return entries;
}

/** Returns the entry of the record at `place`, or null if it is none. */
export function entryIn(record: unknown, head: BatchHead, place: number, known: KnownNames): Entry | null {
  if (!Array.isArray(record)) return null;
  const [later, beyond]: readonly unknown[] = record;
  if (typeof later !== "number" || typeof beyond !== "number") return null;
  const command = commandIn(record, known);
  return command === null ? null : entryOf(head, place, later, beyond, command);
}

export function entryOf(
  { seq, at, node, epoch, n }: BatchHead,
  place: number,
  later: number,
  beyond: number,
  command: Command,
): Entry {
  return { seq: seq + place, at: at + later, origin: { node, epoch, n: n + place + beyond }, command };
}

/** Checks the outer form only; the core checks the command under its rules level. */
function commandIn(record: readonly unknown[], known: KnownNames): Command | null {
  const what = record[2];
  if (typeof what === "number") return lengthen(record, 2, known);
  return isObject(what) && typeof what["type"] === "string" ? (what as unknown as Command) : null;
}

function isEntry(value: object): value is Entry {
  const { origin, command } = value as Partial<Entry>;
  if (!isObject(origin) || !isObject(command)) return false;
  const { node, epoch, n } = origin;
  return (
    typeof node === "string" &&
    typeof epoch === "number" &&
    typeof n === "number" &&
    typeof command["type"] === "string"
  );
}
