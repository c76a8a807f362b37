/** Which tasks of the client's own list a teammate leaves behind, looked up when its lead is told. */

import type { TeammateNote } from "../../../hooks/lead/seam.ts";
import type { FileNote } from "../../../hooks/seam/slices.ts";
import { limits } from "../../../protocol/limits.ts";
import { bareName } from "../../core/lead/teams.ts";
import type { LeadServices } from "../services.ts";

/** The notes of `session`, with the open tasks of teammates that are gone. */
export async function withOrphans(
  services: Pick<LeadServices, "engine" | "teams">,
  session: string,
  notes: readonly FileNote[],
): Promise<readonly FileNote[]> {
  const all = await Promise.all(
    notes.map(async note => {
      if (note.what !== "teammate_gone") return [note];
      const tasks = await orphansOf(services, session, note);
      const isNews = note.how === "died" || tasks === null || tasks.length > 0;
      // An end that was agreed on, and left nothing behind, needs no word.
      return isNews ? [tasks === null ? note : { ...note, tasks }] : [];
    }),
  );
  return all.flat();
}

/** null: they could not be read. */
async function orphansOf(
  { engine, teams }: Pick<LeadServices, "engine" | "teams">,
  id: string,
  { other, team }: TeammateNote,
): Promise<NonNullable<TeammateNote["tasks"]> | null> {
  const session = engine.state.sessions.live.get(id);
  const home = session === undefined ? null : teams.homeOf(session);
  if (session === undefined || home === null || teams.looks === null) return null;
  const list = teams.processOf(session).list ?? team;
  const found = await teams.looks.tasks(home, list);
  if (found === null || "unreachable" in found || found.unreadable.length > 0) return null;
  const isTheirs = (owner: string | null) => owner !== null && bareName(owner) === other;
  return [...found.tasks.values()]
    .filter(({ owner, status }) => status !== "completed" && isTheirs(owner))
    .slice(0, limits.teamNamedMax + 1)
    .map(({ id: task, subject }) => ({ task, subject }));
}
