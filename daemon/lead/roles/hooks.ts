/** What an agent reads of its role and of red tasks: whether it is held to it, and their numbers, are looked up when it is told. */
import type { FileNote } from "../../../hooks/seam/slices.ts";
import { gatesFor } from "../../../protocol/lead/roles.ts";
import { numberOf } from "../../core/tables/tasks.ts";
import { logOfSession } from "../../engine/log-view.ts";
import type { HookPart } from "../../hooks/points.ts";
import type { LeadServices } from "../services.ts";

export const rolePart: HookPart<LeadServices> = {
  completed: (services, id, notes) =>
    withModes(
      services,
      id,
      notes.map(note => numbered(services, id, note)),
    ),
};

function numbered({ engine }: Pick<LeadServices, "engine">, session: string, note: FileNote): FileNote {
  if (note.what !== "risk") return note;
  const task = logOfSession(engine, session).state.tasks.all.get(note.task);
  return task === undefined ? note : { ...note, number: numberOf(task) };
}

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
