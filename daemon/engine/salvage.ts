/** Finds the latest state that a damaged journal still proves. */
import { check } from "../core/check.ts";
import type { Entry } from "../core/commands.ts";
import { copyOf, linesOf as linesOfState, readState } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import type { Snapshot } from "../journal/journal.ts";
import type { Remains } from "../journal/remains.ts";
import { linesOf, rebuild } from "./replay.ts";

/** What can be saved of a journal, and what not. */
export interface Salvage {
  /** Null if nothing can be saved. */
  readonly state: State | null;
  readonly snapshot: Snapshot | null;
  /** At least so many entries behind the saved state were stored and are lost. */
  readonly lostEntries: number;
  /** Types of those lost entries that can still be read, with their numbers. They cannot be applied: others miss before. */
  readonly readable: ReadonlyMap<string, number>;
  /** Whether the state comes from a damaged snapshot: single lists of it may be incomplete. */
  readonly isPartial: boolean;
}

/**
 * Returns the state that reaches furthest: an intact snapshot, or none, and the unbroken entries behind it. An entry
 * behind a gap is never applied: it was decided on a state that is lost. Only if no entry and no intact snapshot is
 * left, the readable lines of a damaged snapshot count, as far as the invariants hold. Throws `RulesUnknown`.
 */
export function salvage(remains: Remains): Salvage {
  const starts: readonly (Snapshot | null)[] = [...remains.snapshots, null];
  let best: {
    readonly start: Snapshot | null;
    readonly entries: readonly Entry[];
    readonly seq: number;
  } | null = null;
  for (const start of starts) {
    const entries = unbroken(remains.entries, start?.seq ?? 0);
    const seq = entries.at(-1)?.seq ?? start?.seq ?? 0;
    if (best === null || seq > best.seq) best = { start, entries, seq };
  }
  const whole = best === null || best.seq === 0 ? null : rebuild(best.start, best.entries).state;
  const partial = whole === null ? fromDamaged(remains) : null;
  const state = whole ?? partial;
  const seq = state?.seq ?? 0;
  const lost = [...remains.entries.values()].filter(entry => entry.seq > seq);
  const readable = new Map<string, number>();
  for (const { command } of lost) readable.set(command.type, (readable.get(command.type) ?? 0) + 1);
  return {
    state,
    snapshot:
      state === null ? null : { seq, bytes: Buffer.from([...linesOfState(copyOf(state))].join("\n")) },
    lostEntries: Math.max(remains.lastSeq - seq, remains.badLines > 0 ? 1 : 0),
    readable,
    isPartial: partial !== null,
  };
}

function unbroken(entries: ReadonlyMap<number, Entry>, after: number): readonly Entry[] {
  const found: Entry[] = [];
  for (let seq = after + 1; ; seq += 1) {
    const entry = entries.get(seq);
    if (entry === undefined) return found;
    found.push(entry);
  }
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

function fromDamaged({ damagedSnapshots, entries }: Remains): State | null {
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
    const snapshot = { seq, bytes: Buffer.from([...linesOfState(copyOf(state))].join("\n")) };
    return rebuild(snapshot, unbroken(entries, seq)).state;
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
