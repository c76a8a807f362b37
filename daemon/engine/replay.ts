/** Rebuilds the state from a snapshot and the log entries after it. */
import { createHash } from "node:crypto";
import { apply, skip } from "../core/apply.ts";
import type { Entry } from "../core/commands.ts";
import type { Step } from "../core/outcome.ts";
import { copyOf, linesOf as linesOfState, readState } from "../core/snapshot.ts";
import { emptyState, rulesKnown, type State } from "../core/state.ts";
import type { Snapshot } from "../journal/journal.ts";

/** The journal uses rules that this program does not know. */
export class RulesUnknown extends Error {
  override readonly name = "RulesUnknown";
}

export interface Recovered {
  readonly state: State;
  /** Entries that threw and that the log has not voided yet. */
  readonly threw: readonly number[];
}

/** Returns the SHA-256 of the state's snapshot text, in hexadecimal; equal states have equal hashes. */
export function stateHash(state: State): string {
  const hash = createHash("sha256");
  let isFirst = true;
  for (const line of linesOfState(copyOf(state))) {
    hash.update(isFirst ? line : `\n${line}`);
    isFirst = false;
  }
  return hash.digest("hex");
}

/**
 * Returns the state after a snapshot and the entries behind it. Voided entries are skipped. If an entry throws, the
 * rebuild reports it and starts again without it. `onStep` sees every step of the last pass.
 */
export function rebuild(
  snapshot: Snapshot | null,
  entries: readonly Entry[],
  skipped: ReadonlySet<number> = new Set(),
  onStep: (entry: Entry, step: Step, state: State) => void = () => {},
): Recovered {
  const voided = new Set(skipped);
  for (const { command } of entries) if (command.type === "void") voided.add(command.seq);
  const threw: number[] = [];
  for (;;) {
    const state = snapshot === null ? emptyState() : readState(linesOf(snapshot.bytes));
    checkRules(state.rules);
    const failed = replay(state, entries, voided, onStep);
    if (failed === null) return { state, threw };
    voided.add(failed);
    threw.push(failed);
  }
}

function replay(
  state: State,
  entries: readonly Entry[],
  voided: ReadonlySet<number>,
  onStep: (entry: Entry, step: Step, state: State) => void,
): number | null {
  for (const entry of entries) {
    if (voided.has(entry.seq)) {
      skip(state, entry);
      continue;
    }
    if (entry.command.type === "rules") checkRules(entry.command.level);
    let step: Step;
    try {
      step = apply(state, entry);
    } catch {
      // A known bug: the caller gets the entry's number and proposes to void it.
      return entry.seq;
    }
    onStep(entry, step, state);
  }
  return null;
}

/** Yields the lines of a snapshot. */
export function* linesOf(bytes: Buffer): Generator<string, void> {
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(0x0a, start);
    const end = newline === -1 ? bytes.length : newline;
    yield bytes.toString("utf8", start, end);
    start = end + 1;
  }
}

function checkRules(level: number): void {
  if (rulesKnown.includes(level)) return;
  throw new RulesUnknown(
    `the journal follows rules ${level}, this program knows ${rulesKnown.join(", ")}: start a newer Kite`,
  );
}
