/** Finds the latest state that a damaged journal still proves. */
import { check } from "../core/invariants.ts";
import { copyOf, linesOf as linesOfState, readState } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import type { Entry } from "../core/tables/entries.ts";
import type { Snapshot } from "../journal/journal.ts";
import type { Remains } from "../journal/remains.ts";
import { GapReplay } from "./gap-replay.ts";
import { linesOf, rebuild } from "./replay.ts";

/** What can be saved of a journal, and what not. */
export interface Salvage {
  /** Null if nothing can be saved. */
  readonly state: State | null;
  readonly snapshot: Snapshot | null;
  /** At least so many entries were stored and are lost. */
  readonly lostEntries: number;
  /**
   * Types of entries behind the first lost one that can be read and change nothing, with their numbers: most of them
   * build on what is lost.
   */
  readonly readable: ReadonlyMap<string, number>;
  /** Whether the state comes from a damaged snapshot: single lists of it may be incomplete. */
  readonly isPartial: boolean;
}

/**
 * Returns the newest state that is whole (an intact snapshot, or none), with all entries behind it that can be read. An
 * entry behind a gap is applied as if nobody had proposed the lost ones; it changes nothing if it builds on them. Only if
 * no intact snapshot and no beginning of the log is left, the readable lines of a damaged snapshot count, as far as the
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
  /** Entries behind a gap that changed nothing, by type. */
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
