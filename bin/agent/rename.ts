/** `kite rename`: gives a session another name. */
import { actingSession } from "../actor.ts";
import { refuseAgent } from "../person.ts";
import type { ProcessContext } from "../process-context.ts";
import { projectOf } from "../project.ts";
import { clean } from "../view/text.ts";
import { ask, fail, printDone, withDaemon } from "../with-daemon.ts";

export interface RenameFlags {
  readonly project?: string;
  readonly json?: boolean;
}

/** Returns the exit code. With one name an agent renames its own session. */
export async function rename(
  world: ProcessContext,
  first: string,
  second: string | undefined,
  flags: RenameFlags,
): Promise<number> {
  const json = flags.json === true;
  const acting = actingSession(world.env);
  const of = second === undefined ? acting?.id : first;
  if (of === undefined) return fail(world, json, "usage", `say which session: kite rename SESSION ${first}`);
  const refused = await refuseAgent(world, json, "rename");
  if (refused !== null) return refused;
  const project = flags.project ?? (await projectOf(world.cwd));
  return withDaemon(world, json, async client => {
    const answer = await ask(client, "session_rename", { ...acting, of, name: second ?? first, project });
    return printDone(world, json, answer, () => [
      `${clean(answer.was)} is called ${clean(answer.name)} now.`,
    ]);
  });
}
