/** What other steps do to declarations: a write touches declared files, an end moves a declaration to the history. */
import type { Actor } from "../actor.ts";
import type { BaseState } from "../base-state.ts";
import { noteKey } from "../messages/notice-table.ts";
import { tellNodes } from "./compare.ts";
import { takeBackOverlaps } from "./overlaps.ts";
import {
  addDeclaration,
  type Declaration,
  type DeclaredFile,
  declarationsOf,
  endDeclaration,
  removeDeclaration,
  touch,
} from "./table.ts";

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
    tellNodes(state, declaration);
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
    for (const { actorChanges } of state.points) actorChanges?.(state, oldest.session, oldest.agent);
  }
}

/** Moves a declaration to the history. */
export function end(state: BaseState, declaration: Declaration): void {
  takeBackOverlaps(state, declaration, declaration.files);
  endDeclaration(state.declarations, declaration, state.t);
  tellNodes(state, declaration);
}

/**
 * Moves the main agent's declaration to the id under which the session's process goes on. Those of its other agents end
 * before that: an overlap within a session is none between two.
 */
export function moveDeclaration(state: BaseState, from: string, to: string): void {
  const { declarations } = state;
  for (const declaration of declarationsOf(declarations, from))
    if (declaration.agent !== null) end(state, declaration);
  const declaration = declarations.live.get(noteKey({ session: from, agent: null }));
  if (declaration === undefined) return;
  removeDeclaration(declarations, declaration);
  addDeclaration(declarations, { ...declaration, session: to });
}
