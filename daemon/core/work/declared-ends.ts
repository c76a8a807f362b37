/** What other steps do to declarations: a write touches declared files, an end moves a declaration to the history. */

import type { KiteEvent } from "../../../protocol/events.ts";
import type { Actor } from "../frame/actors.ts";
import { isSame } from "../frame/records.ts";
import type { BaseState } from "../tables/base-state.ts";
import {
  addDeclaration,
  type Declaration,
  type DeclaredFile,
  declarationsOf,
  endDeclaration,
  removeDeclaration,
  setMismatches,
  touch,
} from "../tables/declarations.ts";
import type { Step } from "../tables/entries.ts";
import { noteKey, type Whose } from "../tables/messages.ts";
import { actorRow } from "../tables/naming.ts";
import { takeBackOverlaps } from "./overlaps.ts";

// Compares declarations with what the client says of their agents, when either changes.

/** Returns the declaration with its present mismatches. In a shared project its own machine has compared it. */
export function compared(state: BaseState, declaration: Declaration): Declaration {
  if (state.isShared) return declaration;
  const mismatches = state.points.flatMap(({ mismatchesIn }) => mismatchesIn?.(state, declaration) ?? []);
  return { ...declaration, mismatches };
}

/** The client said something new of an agent: compares its declaration again, if there is one. */
export function compareAgain(state: BaseState, whose: Whose, step: Step): void {
  const { declarations } = state;
  const before = declarations.live.get(noteKey(whose));
  if (before === undefined) return;
  const after = compared(state, before);
  setMismatches(declarations, before, after.mismatches);
  if (!isSame(before.mismatches, after.mismatches)) state.partsRevision += 1;
  if (newIn(before, after).length > 0) step.events.push(declaredEvent(state, before, after));
}

/** Returns the event of a declaration, with the mismatches that it did not have before. */
export function declaredEvent(state: BaseState, before: Declaration, after: Declaration) {
  const { session, agent, role, task: text, files, project } = after;
  const by = actorRow(state, { session, agent, incarnation: 0 });
  const mismatches = newIn(before, after);
  const event: KiteEvent = {
    event: "declared",
    by,
    project,
    role,
    text,
    fileCount: files.length,
    mismatches,
  };
  return { event, about: [session], project };
}

function newIn(before: Declaration, after: Declaration): string[] {
  return after.mismatches.filter(one => !before.mismatches.includes(one));
}

/** Records that the actor wrote these files: they count as touched for it and for the agents that it works for. */
export function touchDeclared(
  state: BaseState,
  { session, agent }: Actor,
  ancestors: readonly (string | null)[],
  keys: readonly string[],
): void {
  const { declarations } = state;
  if (!declarations.bySession.has(session)) return;
  for (const one of [agent, ...ancestors]) {
    const declaration = declarations.live.get(noteKey({ session, agent: one }));
    if (declaration === undefined) continue;
    const isIn = ({ key, dir, touched }: DeclaredFile) =>
      !touched && keys.some(written => written === key || (dir && written.startsWith(`${key}/`)));
    const files = new Set(declaration.files.filter(isIn).map(({ key }) => key));
    if (files.size === 0) continue;
    touch(declarations, declaration, files);
    state.partsRevision += 1;
  }
}

/** Ends the declarations of a session, or with `agent` those of that agent. */
export function endDeclarations(state: BaseState, session: string, agent?: string): void {
  for (const declaration of declarationsOf(state.declarations, session)) {
    if (agent === undefined || declaration.agent === agent) end(state, declaration);
  }
}

/** Ends the declarations that were changed longest ago, if there are more than may be. */
export function makeRoom(state: BaseState): void {
  const { live } = state.declarations;
  for (const oldest of live.values()) {
    if (live.size <= state.limits.declarationsMax) break;
    end(state, oldest);
  }
}

/** Moves a declaration to the history. In a copy, a step may be taken back: what comes from the store alone goes there. */
function end(state: BaseState, declaration: Declaration): void {
  if (state.isShared) {
    removeDeclaration(state.declarations, declaration);
    return;
  }
  takeBackOverlaps(state, declaration, declaration.files);
  endDeclaration(state.declarations, declaration, state.t);
  state.partsRevision += 1;
}

/**
 * Moves the main agent's declaration to the id under which the session's process goes on. The declarations of its other
 * agents end before that, because an overlap within a session is none between two.
 */
export function moveDeclaration(state: BaseState, from: string, to: string): void {
  const { declarations } = state;
  for (const declaration of declarationsOf(declarations, from))
    if (declaration.agent !== null || state.isShared) end(state, declaration);
  const declaration = declarations.live.get(noteKey({ session: from, agent: null }));
  if (declaration === undefined) return;
  removeDeclaration(declarations, declaration);
  addDeclaration(declarations, { ...declaration, session: to });
}
