/** Saves what a damaged journal still holds. */
import { lstatSync, rmSync } from "node:fs";
import type { Salvage } from "../../daemon/engine/salvage.ts";
import { acquireInstance } from "../../daemon/instance/instance.ts";
import { inspectJournal, readRemains, replaceJournal, wholeUntil } from "../../daemon/journal/remains.ts";
import { journalBefore, lostStoreProblem, startWithout } from "../../daemon/journal/store-mark.ts";
import { type AskPerson, isYes } from "../ask-person.ts";
import { oddJournalFile } from "../doctor/journal-files.ts";
import { type RefuseOptions, refuseAgent } from "../person.ts";
import { type ProcessContext, print, printJson, screenOf } from "../process-context.ts";
import { repairLines, savedOf } from "../view/repair.ts";
import { exitCodes, fail, printDone } from "../with-daemon.ts";

export interface RepairFlags {
  /** The last entry before the damage: who names it gives up what cannot be saved behind it. */
  readonly discardAfter?: number;
  readonly json?: boolean;
}

/** Returns the exit code. `ask` is null without a terminal. */
export async function repair(
  world: ProcessContext,
  { discardAfter, json = false }: RepairFlags,
  ask: AskPerson | null,
  who: Pick<RefuseOptions, "isAgent"> = {},
): Promise<number> {
  const { paths } = world;
  const refused = (code: string, error: string) => fail(world, json, code, error);
  const stat = lstatSync(paths.journal, { throwIfNoEntry: false });
  const lost = lostStoreProblem(paths);
  if (lost !== null) return refused("journal_missing", lost);
  if (stat === undefined) return nothingToDo(world, json, "there is no journal yet");
  if (!stat.isDirectory())
    return refused(
      "not_a_journal",
      `${paths.journal} is not a folder; put it aside, then start Kite: ${startWithout(paths)}`,
    );
  const odd = oddJournalFile(paths.journal);
  if (odd !== null) {
    const error = `${odd.what}, so the journal cannot be read; ${odd.advice.todo}; then kite repair again`;
    return refused("not_a_journal", error);
  }
  const acquired = await acquireInstance(paths);
  if (acquired.is === "held") {
    const error = "the daemon runs and has everything in memory; to store it anew: kite down, then kite up";
    return refused("daemon_runs", error);
  }
  if (acquired.is === "refused") return refused(acquired.code, acquired.error);
  try {
    const found = inspectJournal(paths.journal);
    if (found.damage === null) return nothingToDo(world, json, "the journal is not damaged");
    // The daemon's own bundle has the state machine already.
    const { salvage } = await import("../daemon.ts");
    const remains = readRemains(paths.journal);
    const saved = salvage(remains);
    const copy = freeName(
      `${paths.journal}.damaged-${new Date(world.now()).toISOString().slice(0, 19).replaceAll(":", "-")}`,
    );
    const until = wholeUntil(remains);
    const line = `kite repair --discard-after ${until}`;
    if (!json) print(world, repairLines(found.damage, saved, copy, screenOf(world)));
    const agents = await refuseAgent(world, json, "repair", { line, ...who });
    if (agents !== null) return agents;
    if (discardAfter !== undefined && discardAfter !== until) {
      const error = `the journal is whole up to entry ${until}, not ${discardAfter}, so nothing was changed; to save what it holds: ${line}`;
      return refused("not_confirmed", error);
    }
    if (discardAfter === undefined && (json || ask === null || !isYes(await ask("Save this? [y/N] ")))) {
      const note = `Nothing was changed. To save this: ${line}`;
      if (json)
        printJson(world, {
          ok: false,
          code: "not_confirmed",
          error: note,
          ...outcome(saved, null, found.damage),
        });
      else print(world, [note]);
      return exitCodes.failed;
    }
    const epoch = Math.max(remains.epoch, journalBefore(paths).epoch);
    await replaceJournal(paths.journal, copy, epoch, saved.snapshot);
    // Both may tell of entries that a person gave up; subscribers start anew without the events.
    for (const path of [paths.events, paths.storeMark]) rmSync(path, { force: true });
    return printDone(world, json, { ok: true, ...outcome(saved, copy, found.damage) }, () => [
      `Saved. The damaged journal is kept in ${copy}`,
      "Start Kite: kite up",
    ]);
  } finally {
    await acquired.instance.release();
  }
}

function nothingToDo(world: ProcessContext, json: boolean, why: string): number {
  return printDone(world, json, { ok: true, repaired: false, why }, () => [
    `${why.slice(0, 1).toUpperCase()}${why.slice(1)}: there is nothing to repair.`,
  ]);
}

/** `copy`: where the damaged journal was put aside; null: nothing was changed. */
function outcome(saved: Salvage, copy: string | null, damage: string): Record<string, unknown> {
  const { lostEntries, readable, isPartial } = saved;
  return {
    repaired: copy !== null,
    damage,
    saved: savedOf(saved),
    lost: { entries: lostEntries, readable: Object.fromEntries(readable) },
    partial: isPartial,
    copy,
  };
}

function freeName(path: string): string {
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? path : `${path}-${n}`;
    if (lstatSync(name, { throwIfNoEntry: false }) === undefined) return name;
  }
}
