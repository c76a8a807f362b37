/** What an agent reads of its role: whether it is held to it is looked up when it is told. */
import type { FileNote } from "../../../hooks/seam/slices.ts";
import { gatesFor } from "../../../protocol/lead/gates.ts";
import type { HookPart } from "../../hooks/points.ts";
import type { LeadServices } from "../services.ts";

export const rolePart: HookPart<LeadServices> = { completed: withModes };

async function withModes(
  { engine, rules }: Pick<LeadServices, "engine" | "rules">,
  id: string,
  notes: readonly FileNote[],
): Promise<readonly FileNote[]> {
  const session = engine.state.sessions.live.get(id);
  if (session === undefined || notes.every(({ what }) => what !== "role")) return notes;
  const { gates } = await rules.at(session);
  return notes.map(note => (note.what === "role" ? { ...note, mode: gatesFor(gates, note.by).role } : note));
}
