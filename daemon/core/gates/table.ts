/**
 * The table of gates: in which order they are asked, and when.
 *
 * Invariants: a gate is pure and knows no agent client; reading, and declaring itself, ask no gate; an agent that
 * supplies what the sentences of a gate ask for passes it; if the actor is a guess, no gate holds it back.
 */
import type { GateFinding, GateName, Gates } from "../../../protocol/gates.ts";
import { codeView } from "./code-view.ts";
import { delegation } from "./delegation.ts";
import type { CompletionFacts, StopFacts, WriteFacts } from "./facts.ts";
import { identity } from "./identity.ts";
import { quality } from "./quality.ts";
import { recovery } from "./recovery.ts";
import { understanding } from "./understanding.ts";

/** Returns what is missing, one sentence each; empty: the agent passes. */
export type Gate<Facts> = (facts: Facts) => readonly string[];

type Row<Facts> = readonly (readonly [GateName, Gate<Facts>])[];

const atWrite: Row<WriteFacts> = [
  ["delegation", delegation],
  ["identity", identity],
  ["understanding", understanding],
  ["codeView", codeView],
];
const atStop: Row<StopFacts> = [["recovery", recovery]];
const atCompletion: Row<CompletionFacts> = [["quality", quality]];

/** Whether any gate applies before a write. */
export function gatesWrites(modes: Gates): boolean {
  return atWrite.some(([gate]) => modes[gate] !== "off");
}

export function beforeWrite(modes: Gates, facts: WriteFacts, isGuess = false): GateFinding[] {
  return find(atWrite, modes, facts, isGuess);
}

export function beforeStop(modes: Gates, facts: StopFacts, isGuess = false): GateFinding[] {
  return find(atStop, modes, facts, isGuess);
}

export function beforeCompletion(modes: Gates, facts: CompletionFacts, isGuess = false): GateFinding[] {
  return find(atCompletion, modes, facts, isGuess);
}

function find<Facts>(row: Row<Facts>, modes: Gates, facts: Facts, isGuess: boolean): GateFinding[] {
  const found: GateFinding[] = [];
  for (const [gate, find] of row) {
    const mode = modes[gate];
    if (mode === "off") continue;
    const missing = find(facts);
    if (missing.length > 0) found.push({ gate, mode: isGuess ? "warn" : mode, missing });
  }
  return found;
}
