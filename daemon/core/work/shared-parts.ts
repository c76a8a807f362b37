/**
 * Gives the parts of a shared project to the slices that say and show them.
 *
 * Invariants: only a copy of a shared project has parts. A part's row is the truth, and what slices have of it in their own
 * tables is derived from it. A part goes with its agent, or with its session.
 */
import type { JsonValue } from "../../../protocol/schemas/context.ts";
import type { BaseState } from "../tables/base-state.ts";
import type { MachinePart, Part, Step } from "../tables/entries.ts";
import { type PartRow, partKey, partRecords } from "../tables/parts.ts";

/** Returns the rules of agents' parts, by name. */
export function partRules({ points }: Pick<BaseState, "points">): ReadonlyMap<string, Part<BaseState>> {
  return new Map(points.flatMap(({ parts = {} }) => Object.entries(parts)));
}

/** Returns the rules of machines' parts, by name. */
export function machinePartRules({
  points,
}: Pick<BaseState, "points">): ReadonlyMap<string, MachinePart<BaseState>> {
  return new Map(points.flatMap(({ machineParts = {} }) => Object.entries(machineParts)));
}

/** Puts a part in place of the one before. `step` null: nobody has to hear of it. */
export function putPart(state: BaseState, row: PartRow, step: Step | null): void {
  partRecords.put(state.parts, row);
  give(state, row, row.told, step);
}

/** Removes a part, if it is there. */
export function dropPart(state: BaseState, key: string, step: Step | null): void {
  const row = state.parts.all.get(key);
  if (row === undefined) return;
  partRecords.drop(state.parts, row);
  give(state, row, null, step);
}

/** Tells the other machines that something of a session of one of them is another one now. */
export function tellChanged({ sessions }: BaseState, id: string, step: Step | null): void {
  const session = sessions.live.get(id);
  if (session === undefined || step === null) return;
  const { project, node } = session;
  const event = { event: "elsewhere_changed", session: id, project } as const;
  step.events.push({ event, about: [], project, from: node });
}

/** Gives the slice whose part it is what is known now. A part that this program does not know stays a row. */
function give(state: BaseState, row: PartRow, told: JsonValue, step: Step | null): void {
  const { session, agent, part } = row;
  if (session === null) machinePartRules(state).get(part)?.take(state, row, told, step);
  else if (told === null || state.sessions.live.has(session))
    partRules(state).get(part)?.take(state, { session, agent }, told, step);
}

/** The agent has ended (undefined: the whole session): slices forget what they have of it themselves. */
export function forgetParts({ parts }: BaseState, session: string, agent?: string): void {
  const keys = [...(parts.bySession.get(session) ?? [])];
  partRecords.dropAll(
    parts,
    keys.filter(key => agent === undefined || parts.all.get(key)?.agent === agent),
  );
}

/** Yields a sentence for each broken invariant. */
export function* checkParts(state: BaseState): Generator<string> {
  const { parts, sessions, declarations, isShared } = state;
  yield* partRecords.check(parts, "parts");
  if (parts.all.size > 0 && !isShared) yield "the log of one machine has parts";
  for (const [key, { session, node }] of parts.all)
    if (session !== null && sessions.live.get(session)?.node !== node)
      yield `the part ${JSON.stringify(key)} is of no session of ${node}`;
  if (!isShared) return;
  for (const { session, agent } of declarations.live.values())
    if (!parts.all.has(partKey({ session, node: "", agent, part: "declaration" })))
      yield `the declaration of ${session} is no part`;
}
