/** Compares declarations with what the client says of their agents, when either changes. */
import type { KiteEvent } from "../../../protocol/events.ts";
import type { BaseState } from "../base-state.ts";
import { actorRow } from "../locks/replies.ts";
import { noteKey, type Whose } from "../messages/notice-table.ts";
import { isShared } from "../nodes/table.ts";
import type { Step } from "../outcome.ts";
import { isSame } from "../same-index.ts";
import { type Declaration, setMismatches } from "./table.ts";

/** The name under which other nodes hear of declarations: see `parts` in `core/points.ts`. */
const partName = "declaration";

/** The declaration is another one than before, or has ended: other nodes hear of it. */
export function tellNodes(state: BaseState, { session, agent }: Whose): void {
  for (const { partChanges } of state.points) partChanges?.(state, session, agent, partName);
}

/** Returns the declaration with its present mismatches. In a shared log its node has compared it. */
export function compared(state: BaseState, declaration: Declaration): Declaration {
  if (isShared(state)) return declaration;
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
  if (!isSame(before.mismatches, after.mismatches)) tellNodes(state, whose);
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
