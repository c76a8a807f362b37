/** `kite check --list`: the project's checks, whether they are trusted, and their latest results. */

import { checkStatuses } from "../../../daemon/core/lead/checks.ts";
import { resultKey } from "../../../daemon/core/lead/tables/roles.ts";
import { commandHash } from "../../../daemon/lead/settings.ts";
import { actingSession } from "../../actor.ts";
import { type ProcessContext, print, printFramed, printJson, screenOf } from "../../process-context.ts";
import type { FindRepository } from "../../project.ts";
import { tilde } from "../../view/places.ts";
import { clean, wrap } from "../../view/text.ts";
import { exitCodes, rowsOf, withDaemon } from "../../with-daemon.ts";
import { listedLines, stateWords } from "../view/checks.ts";
import { checksAt } from "./read.ts";
import { stateAt } from "./states.ts";

const trustWords = {
  trusted: "trusted",
  changed: "changed since they were trusted: kite check --trust",
  untrusted: "not trusted yet: kite check --trust",
  none: "none",
} as const;

/** Returns the exit code. */
export async function listChecks(
  world: ProcessContext,
  json: boolean,
  find?: FindRepository,
): Promise<number> {
  const { file, checks, trust, problems, repository } = await checksAt(world, world.cwd, find);
  return withDaemon(world, json, async client => {
    const state = await stateAt(client, actingSession(world.env)?.id, repository.worktree);
    const place = { project: state.project, worktree: state.top };
    const rows = await rowsOf(client, "checks", { project: place.project });
    const results = new Map(rows.map(row => [resultKey(row), row]));
    const wanted = checks.map(({ name, command }) => ({ name, command: commandHash(command) }));
    const statuses = checkStatuses({ checks: { results } }, place, wanted, state);
    const listed = checks.map(one => {
      const last = results.get(resultKey({ ...place, name: one.name })) ?? null;
      const isOther = last !== null && last.command !== commandHash(one.command);
      return { ...one, status: statuses.get(one.name) ?? "unknown", last, isOther };
    });
    if (json) {
      const { commit, dirty, files, reason = null } = state;
      const shown = listed.map(({ isOther: _isOther, ...rest }) => rest);
      printJson(world, { file, trust, state: { commit, dirty, files, reason }, checks: shown, problems });
      return exitCodes.done;
    }
    const screen = screenOf(world);
    const told =
      state.dirty === null
        ? wrap(`! The state of the worktree is not known: ${clean(state.reason ?? "")}`, screen.width, 2)
        : [`State: ${stateWords(state)}`];
    print(world, [
      `Checks of ${clean(tilde(repository.project, screen.home))}: ${trustWords[trust]}`,
      ...told,
      ...problems.flatMap(problem => wrap(`! ${clean(problem)}`, screen.width, 2)),
    ]);
    printFramed(world, listedLines(listed, screen));
    return exitCodes.done;
  });
}
