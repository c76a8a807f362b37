/** Finds the latest state that a damaged journal still proves. */

import { apply, skip } from "../core/apply.ts";
import { numberedKinds, numbersOf, passGap, passNumbers } from "../core/gap.ts";
import { check } from "../core/slices.ts";
import { copyOf, linesOf as linesOfState, readState } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import type { Entry } from "../core/tables/entries.ts";
import type { Snapshot } from "../journal/journal.ts";
import type { Remains } from "../journal/remains.ts";
import { checkRules, linesOf, rebuild, stateBefore } from "./replay.ts";

// Finds which numbers things had after a gap of the log. An id is made of its request's time and a number that counts on,
// and later entries name things by their ids.

/** The numbers in ids, by kind of id and the time in it. */
type NamedNumbers = ReadonlyMap<string, ReadonlySet<number>>;

/** Returns the numbers in the ids that the entries name. */
function namedNumbers(entries: readonly Entry[]): NamedNumbers {
  const named = new Map<string, Set<number>>();
  for (const { command } of entries) {
    // Entries of locks are most of a log, and name none.
    if (command.type.startsWith("lock_")) continue;
    for (const [, kind = "", ms = "", n = ""] of JSON.stringify(command).matchAll(idPattern)) {
      const key = keyOf(kind, Number.parseInt(ms, 36));
      const same = named.get(key) ?? new Set();
      named.set(key, same.add(Number.parseInt(n, 36)));
    }
  }
  return named;
}

/** Returns the last number of each counter before entry `from` of the list, if the ids after it tell it. */
function numbersBefore(entries: readonly Entry[], from: number, named: NamedNumbers) {
  const known = new Map<string, number>();
  for (const [counter, made] of madeBehind(entries, from)) {
    let [min, max, before] = [0, Number.POSITIVE_INFINITY, 0];
    for (const [key, count] of made) {
      for (const n of named.get(key) ?? []) {
        min = Math.max(min, n - before - count);
        max = Math.min(max, n - before - 1);
      }
      before += count;
    }
    if (min === max) known.set(counter, min);
  }
  return known;
}

/** Returns how many things each counter's requests made, by the key of their ids, from entry `from` to the next gap. */
function madeBehind(entries: readonly Entry[], from: number): Map<string, Map<string, number>> {
  const counters = new Map<string, Map<string, number>>();
  const retries = new Set<string>();
  const first = entries[from]?.seq ?? 0;
  for (const [i, { seq, command }] of entries.slice(from).entries()) {
    if (seq !== first + i) break;
    const numbers = numbersOf(command);
    if (numbers === null) continue;
    // A request that is sent again makes nothing.
    const retry = "retry" in command ? command.retry : undefined;
    const size = retries.size;
    if (retry !== undefined && retries.add(JSON.stringify(retry)).size === size) continue;
    const { kind, counter, count, wallMs } = numbers;
    const made = counters.get(counter) ?? new Map<string, number>();
    const key = keyOf(kind, wallMs);
    // Requests of one time are one: their ids do not tell which is whose.
    counters.set(counter, made.set(key, (made.get(key) ?? 0) + count));
  }
  return counters;
}

function keyOf(kind: string, ms: number): string {
  return `${kind} ${ms}`;
}

const idPattern = new RegExp(`"(${numberedKinds.join("|")})-([0-9a-z]{1,10})-([0-9a-z]{1,6})"`, "g");

// Replays a log with gaps.

/** Entries of one type that may throw after a gap before none of that type is applied there. */
const throwsMax = 3;

/**
 * Applies the entries that are left, in order. After a gap a handler may meet a state that the shell never asks it about,
 * and throw. The replay then begins again without that entry.
 */
class GapReplay {
  readonly #snapshot: Snapshot | null;
  readonly #entries: readonly Entry[];
  readonly #lastSeq: number;
  readonly #named: NamedNumbers;
  readonly #voided = new Set<number>();
  readonly #threw = new Set<number>();
  readonly #throws = new Map<string, number>();

  /** `entries` in the order of `seq`, all after the snapshot. */
  constructor(snapshot: Snapshot | null, entries: readonly Entry[], lastSeq: number) {
    this.#snapshot = snapshot;
    this.#entries = entries;
    this.#lastSeq = lastSeq;
    this.#named = namedNumbers(entries);
    for (const { command } of entries) if (command.type === "void") this.#voided.add(command.seq);
  }

  /** Returns the state, and the types of entries after the first gap that changed nothing, with their numbers. */
  run(): { readonly state: State; readonly idle: ReadonlyMap<string, number> } {
    for (;;) {
      const done = this.#pass();
      if (done !== null) return done;
    }
  }

  /** Returns null if an entry threw, which the next pass skips. */
  #pass() {
    const state = stateBefore(this.#snapshot);
    const idle = new Map<string, number>();
    let isBehindGap = false;
    for (const [i, entry] of this.#entries.entries()) {
      const { seq, command } = entry;
      const { type } = command;
      if (seq !== state.seq + 1) {
        isBehindGap = true;
        const numbers = numbersBefore(this.#entries, i, this.#named);
        passGap(state, { until: seq - 1, lastSeq: this.#lastSeq, numbers });
      }
      if (type === "rules") checkRules(command.level);
      if (this.#voided.has(seq)) {
        skip(state, entry);
        continue;
      }
      const isBarred = this.#threw.has(seq) || (isBehindGap && (this.#throws.get(type) ?? 0) >= throwsMax);
      if (isBarred) skip(state, entry);
      const isIdle = isBarred || this.#apply(state, entry);
      if (isIdle === null) return null;
      if (!isBehindGap || !isIdle) continue;
      idle.set(type, (idle.get(type) ?? 0) + 1);
      passNumbers(state, command);
    }
    return { state, idle };
  }

  /** Returns whether the entry changed nothing, or null if it threw: the state may be half changed. */
  #apply(state: State, entry: Entry): boolean | null {
    try {
      return apply(state, entry).reply?.ok === false;
    } catch {
      const { type } = entry.command;
      this.#threw.add(entry.seq);
      this.#throws.set(type, (this.#throws.get(type) ?? 0) + 1);
      return null;
    }
  }
}

/** What can be saved of a journal, and what not. */
export interface Salvage {
  /** Null if nothing can be saved. */
  readonly state: State | null;
  readonly snapshot: Snapshot | null;
  /** At least so many entries were stored and are lost. */
  readonly lostEntries: number;
  /**
   * Types of readable entries after the first lost one that change nothing, with their numbers. Most of them build on what
   * is lost.
   */
  readonly readable: ReadonlyMap<string, number>;
  /** Whether the state comes from a damaged snapshot: single lists of it may be incomplete. */
  readonly isPartial: boolean;
}

/**
 * Returns the newest state that is whole (an intact snapshot, or none), with all entries after it that can be read. An entry
 * after a gap is applied as if nobody had proposed the lost ones. It changes nothing if it builds on them. The readable
 * lines of a damaged snapshot count only if no intact snapshot and no beginning of the log is left. They count as far as the
 * invariants hold. Throws `RulesUnknown`.
 */
export function salvage(remains: Remains): Salvage {
  const [newest] = remains.snapshots;
  const begins = newest !== undefined || remains.entries.has(1);
  const partial = begins ? null : fromDamaged(remains);
  const snapshot = newest ?? partial;
  const found = snapshot === null && remains.entries.size === 0 ? null : replayed(snapshot, remains);
  const { state = null, lost = remains.lastSeq, idle = new Map() } = found ?? {};
  return {
    state,
    snapshot: state === null ? null : snapshotOf(state),
    lostEntries: Math.max(lost, remains.badLines > 0 ? 1 : 0),
    readable: idle,
    isPartial: partial !== null,
  };
}

interface Replayed {
  readonly state: State;
  /** How many entries are missing. */
  readonly lost: number;
  /** Entries after a gap that changed nothing, by type. */
  readonly idle: ReadonlyMap<string, number>;
}

/** Applies what is left; if the invariants do not hold then, only what is before the first gap. */
function replayed(snapshot: Snapshot | null, { entries, lastSeq }: Remains): Replayed {
  const after = snapshot?.seq ?? 0;
  const left = [...entries.values()].filter(({ seq }) => seq > after).sort((a, b) => a.seq - b.seq);
  const lost = lastSeq - after - left.length;
  const behindGap = left.findIndex(({ seq }, i) => seq !== after + 1 + i);
  if (behindGap === -1) return { state: rebuild(snapshot, left).state, lost, idle: new Map() };
  const found = new GapReplay(snapshot, left, lastSeq).run();
  if (check(found.state).length === 0) return { ...found, lost };
  const { state } = rebuild(snapshot, left.slice(0, behindGap));
  return { state, lost: lastSeq - state.seq, idle: countTypes(left.slice(behindGap)) };
}

function countTypes(entries: readonly Entry[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { command } of entries) counts.set(command.type, (counts.get(command.type) ?? 0) + 1);
  return counts;
}

function snapshotOf(state: State): Snapshot {
  return { seq: state.seq, bytes: Buffer.from([...linesOfState(copyOf(state))].join("\n")) };
}

/** Lists of a snapshot that refer to each other, the most valuable first: each group is added if the invariants then hold. */
const groups: readonly (readonly string[])[] = [
  ["sessions", "idle", "holds", "waiters"],
  ["tasks"],
  ["debates", "context"],
  ["context"],
  ["messages"],
  ["writes"],
  ["settled"],
  ["declarations"],
  ["endedDeclarations"],
  ["checks"],
  ["spawns"],
  ["merges"],
  ["replies"],
];

/** Returns the most that a damaged snapshot proves. */
function fromDamaged({ damagedSnapshots }: Remains): Snapshot | null {
  for (const { seq, bytes } of damagedSnapshots) {
    const [header = "", ...lines] = [...linesOf(bytes)].filter(isJson);
    const part = (names: ReadonlySet<string>) =>
      consistent([header, ...lines.filter(line => names.has(nameOf(line)))]);
    let names = new Set<string>();
    for (const group of groups) {
      const more = new Set([...names, ...group]);
      if (part(more) !== null) names = more;
    }
    const state = consistent([header, ...lines]) ?? part(names);
    if (state === null || state.seq !== seq) continue;
    return snapshotOf(state);
  }
  return null;
}

/** Returns the state of these lines, or null if they are none or break an invariant. */
function consistent(lines: readonly string[]): State | null {
  try {
    const state = readState(lines);
    return check(state).length === 0 ? state : null;
  } catch {
    return null; // The header is damaged, or a list refers to what is missing.
  }
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** The name of the list that a line holds. */
function nameOf(line: string): string {
  return /^\{"(\w+)"/.exec(line)?.[1] ?? "";
}
