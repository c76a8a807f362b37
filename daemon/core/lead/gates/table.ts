/**
 * The table of gates: in which order they are asked, and when.
 *
 * Invariants: a gate is pure and knows no agent client; reading, and declaring itself, ask no gate; an agent that
 * supplies what the sentences of a gate ask for passes it; if a role that it was given forbids the step, an agent is
 * asked for nothing else.
 */
import { type GateFinding, type GateName, type Gates, gatesFor } from "../../../../protocol/lead/roles.ts";
import { codeView } from "./code-view.ts";
import { delegation } from "./delegation.ts";
import type { CompletionFacts, CreationFacts, ShellFacts, StopFacts, WriteFacts } from "./facts.ts";
import { identity } from "./identity.ts";
import { passedOver, quality } from "./quality.ts";
import { recovery } from "./recovery.ts";
import { roleAtCreation, roleAtShell, roleAtWrite } from "./role.ts";
import { understanding } from "./understanding.ts";

/** Returns what is missing, one sentence each; empty: the agent passes. */
export type Gate<Facts> = (facts: Facts) => readonly string[];

type Row<Facts> = readonly (readonly [GateName, Gate<Facts>])[];

const roleBeforeWrite: Row<WriteFacts> = [["role", roleAtWrite]];
const atShell: Row<ShellFacts> = [["role", roleAtShell]];
const atCreation: Row<CreationFacts> = [["role", roleAtCreation]];
const atWrite: Row<WriteFacts> = [
  ["delegation", delegation],
  ["identity", identity],
  ["understanding", understanding],
  ["codeView", codeView],
];
const atStop: Row<StopFacts> = [["recovery", recovery]];
const atCompletion: Row<CompletionFacts> = [["quality", quality]];

/** Whether any gate applies before a write, of an agent that was given no role. */
export function gatesWrites(modes: Gates): boolean {
  return [...roleBeforeWrite, ...atWrite].some(([gate]) => modes[gate] !== "off");
}

export function beforeWrite(gates: Gates, facts: WriteFacts): GateFinding[] {
  const modes = gatesFor(gates, facts.role.by);
  const role = find(roleBeforeWrite, modes, facts);
  // It cannot change that role itself, so that it declares the rest would be for nothing.
  if (facts.role.by !== "declared" && role.some(({ mode }) => mode === "enforce")) return role;
  const found = find(atWrite, modes, facts);
  return [...role, ...found.filter(({ gate }) => gate !== "codeView" || !givesAway(modes, found))];
}

/** Whether a lead is to give the file away, so that it need not view it: unless it may keep it once it did. */
function givesAway({ delegation, codeView }: Gates, found: readonly GateFinding[]): boolean {
  const isLeads = found.some(({ gate }) => gate === "delegation");
  return isLeads && (delegation === "enforce" || codeView !== "enforce");
}

export function beforeShell(gates: Gates, facts: ShellFacts): GateFinding[] {
  return find(atShell, gatesFor(gates, facts.role.by), facts);
}

export function beforeCreation(gates: Gates, facts: CreationFacts): GateFinding[] {
  return find(atCreation, gatesFor(gates, facts.role.by), facts);
}

export function beforeStop(modes: Gates, facts: StopFacts): GateFinding[] {
  return find(atStop, modes, facts);
}

/** With nothing missing, a finding tells what passes all the same. */
export function beforeCompletion(modes: Gates, facts: CompletionFacts): GateFinding[] {
  const found = find(atCompletion, modes, facts);
  if (found.length > 0 || modes.quality === "off") return found;
  const passed = passedOver(facts);
  return passed.length === 0 ? [] : [{ gate: "quality", mode: "warn", missing: passed }];
}

function find<Facts>(row: Row<Facts>, modes: Gates, facts: Facts): GateFinding[] {
  const found: GateFinding[] = [];
  for (const [gate, find] of row) {
    const mode = modes[gate];
    if (mode === "off") continue;
    const missing = find(facts);
    if (missing.length > 0) found.push({ gate, mode, missing });
  }
  return found;
}
