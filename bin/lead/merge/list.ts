/** `kite merge --list` and `--cancel`. */
import type { MergeRow } from "../../../protocol/lead/merge.ts";
import { who } from "../../messages/who.ts";
import { type ProcessContext, print, printFramed, printJson, screenOf } from "../../process-context.ts";
import { projectOf } from "../../project.ts";
import { ask, exitCodes, printDone, rowsOf, withDaemon } from "../../with-daemon.ts";
import { elsewhereLines, mergeLines } from "../view/merges.ts";
import { spawnedReaders } from "./authors.ts";

/** Merges that have ended and are shown: the latest. */
const endedMax = 10;

export interface QueueFlags {
  /** Another project than the working directory's. */
  readonly project?: string;
  readonly json?: boolean;
}

/** Shows the merges of a project, in their order. Returns the exit code. */
export async function listMerges(world: ProcessContext, flags: QueueFlags): Promise<number> {
  const project = flags.project ?? (await projectOf(world.cwd));
  const json = flags.json === true;
  return withDaemon(world, json, async client => {
    const rows = await rowsOf(client, "merges", { project });
    const others = await rowsOf(client, "merges_elsewhere", { project });
    if (json) printJson(world, { merges: rows, ...(others.length === 0 ? {} : { elsewhere: others }) });
    else if (rows.length + others.length === 0) print(world, ["No merges."]);
    else {
      const screen = screenOf(world);
      const own = mergeLines(shown(rows), screen, await spawnedReaders(client, project, rows));
      printFramed(world, [...own, ...elsewhereLines(others, screen, own.length > 0)]);
    }
    return exitCodes.done;
  });
}

function shown(rows: readonly MergeRow[]): readonly MergeRow[] {
  const isOpen = ({ state }: MergeRow) => state === "queued" || state === "running";
  return [...rows.filter(row => !isOpen(row)).slice(-endedMax), ...rows.filter(isOpen)];
}

/**
 * Cancels one merge, by its id or a part of it that fits one of the project alone; the command that runs it goes on with
 * the next. Returns the exit code.
 */
export async function cancelMerge(world: ProcessContext, id: string, flags: QueueFlags): Promise<number> {
  const by = await who(world, flags.project);
  const json = flags.json === true;
  return withDaemon(world, json, async client => {
    const reply = await ask(client, "merge_cancel", { ...by, merge: id });
    return printDone(world, json, reply, () => reply.cancelled.map(one => `cancelled ${one}`));
  });
}
