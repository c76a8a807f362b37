/** Tells of a wipe: to whose work it was, and to who did it. */
import type { WipedWork } from "../core/tables/uncommitted.ts";
import type { HookServices } from "../hooks/hook-services.ts";
import { actorOf } from "../sessions/commands.ts";
import type { Author } from "./versions.ts";
import { type Wipe, type WipedFile, wipeName } from "./wipes.ts";

/**
 * Tells of the files that a version brings back. `isNamed`: whether the line named the file, so that its agent knows what
 * became of its own work. A file that somebody outside of Kite deleted is only listed: whoever deletes a file sees that.
 */
export async function tellWipe(
  services: HookServices,
  wipe: Wipe,
  isNamed: (path: string) => boolean,
): Promise<void> {
  const { project, by, command, files, more } = wipe;
  const isTold = ({ path, version, writers, how }: WipedFile): boolean => {
    if (version === null) return false;
    if (by === null) return how !== "gone";
    const isOwn = writers.every(({ session, agent }) => session === by.session && agent === by.agent);
    // What a script deletes of its agent's own files is most often what the agent made it for.
    return !isOwn || (how === "reverted" && !isNamed(path));
  };
  const told = files.filter(isTold);
  if (told.length === 0) return;
  const isUnaware = told.some(({ path, how }) => how === "reverted" && !isNamed(path));
  const works = told.map(
    ({ path, file, lines, writers }): WipedWork => ({
      path,
      file,
      lines,
      writers: writers.map(author => inFamily(services, author)),
    }),
  );
  await services.engine.submitAndWait({
    type: "work_wiped",
    wipe: wipeName(wipe),
    project,
    doer: by === null ? null : { ...inFamily(services, by), name: by.name, isUnaware },
    command,
    files: works,
    others: files.length - told.length + more,
  });
}

function inFamily(services: HookServices, { session, agent }: Author): WipedWork["writers"][number] {
  const ancestors = services.presence.ancestors(session, agent);
  return { actor: actorOf(services, session, agent, null), ancestors: [...ancestors] };
}
