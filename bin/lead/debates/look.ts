/** Commands that show debates: list, show. */
import { type ProcessContext, printFramed, printJson, screenOf } from "../../process-context.ts";
import { projectOf } from "../../project.ts";
import { exitCodes, withDaemon } from "../../with-daemon.ts";
import { debatesView, debateView } from "../view/debates.ts";
import { debatesOf, wholeDebate } from "./rows.ts";

export interface ListFlags {
  readonly project?: string;
  readonly json?: boolean;
}

/** Returns the exit code, as `show` does. */
export async function list(world: ProcessContext, flags: ListFlags): Promise<number> {
  const project = flags.project ?? (await projectOf(world.cwd));
  return withDaemon(world, flags.json === true, async client => {
    const rows = await debatesOf(client, project);
    if (flags.json === true) printJson(world, { rows });
    else printFramed(world, debatesView(rows, screenOf(world)));
    return exitCodes.done;
  });
}

export async function show(world: ProcessContext, debate: string, flags: ListFlags): Promise<number> {
  const json = flags.json === true;
  const project = flags.project ?? (await projectOf(world.cwd));
  return withDaemon(world, json, async client => {
    const whole = await wholeDebate(client, { debate, project });
    if (json) printJson(world, whole);
    else printFramed(world, debateView(whole, screenOf(world)));
    return exitCodes.done;
  });
}
