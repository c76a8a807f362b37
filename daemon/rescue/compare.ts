/**
 * Compares files with uncommitted work with what is kept of them: an editor, `make` or a person's own git command gives no
 * event. What differs is kept; what was lost is noted as a wipe of nobody's.
 */
import { limits } from "../../protocol/limits.ts";
import type { DirtyFile } from "../core/base-state.ts";
import { latestOf, pathOfWork } from "../core/files/dirty-files.ts";
import { worksIn } from "../worktree/uncommitted.ts";
import { type Loss, noteWipes } from "./ended-line.ts";
import { candidateOf } from "./losses.ts";
import type { Rescue, RescueServices } from "./services.ts";

/** The command of a wipe that no tool use explains. */
const outsideKite = "changed outside Kite";

/**
 * Compares the files of a worktree; null: of all. `isStart`: the daemon has just started, and the last writes before it ended
 * may not be kept; then a file that merely has other lines is no loss. A file that did not change since the last look costs a
 * stat. Resolves when what was found is kept and noted.
 */
export function compareWithKept(
  services: RescueServices,
  rescue: Rescue,
  worktree: string | null,
  isStart = false,
): Promise<void> {
  return rescue.later(() => compare(services, rescue, worktree, isStart));
}

async function compare(
  services: RescueServices,
  rescue: Rescue,
  worktree: string | null,
  isStart: boolean,
): Promise<void> {
  await rescue.archive.ready;
  const { files, byWorktree } = services.engine.state.writes;
  const works = worktree === null ? [...files.values()] : worksIn(services, worktree);
  const lost: Loss[] = [];
  for (const work of works.slice(0, limits.shellFilesMax)) {
    if (!byWorktree.has(work.worktree)) continue;
    const loss = await compareOne(services, rescue, work, isStart);
    if (loss !== null) lost.push(loss);
  }
  const how = { by: null, command: outsideKite, atMs: services.clock.wall() };
  await noteWipes(rescue, how, lost);
}

async function compareOne(
  { engine, facts, clock }: RescueServices,
  { archive, keeper, losses }: Rescue,
  work: DirtyFile,
  isStart: boolean,
): Promise<Loss | null> {
  const path = pathOfWork(work);
  // Its writer is at it: the end of that write is kept.
  if ((engine.state.locks.holds.get(work.key)?.flights.length ?? 0) > 0) return null;
  const [seen, now] = [keeper.seen(path), await facts.stamped(path)];
  const latest = archive.versions.latestOf(path);
  if (now === null || (seen !== undefined && seen.stamp === now.stamp && latest !== null)) return null;
  // It was noted before.
  if (latest !== null && archive.wipes.names(latest.n) && now.stamp === null) return null;
  const candidate = { ...candidateOf(work), version: latest };
  const loss = await losses.of(candidate);
  const { actor, name, wallMs } = latestOf(work);
  // The change time is that of the latest write, which was not kept: the daemon ended just then.
  const isKept = latest?.by?.session === actor.session && latest.atMs >= wallMs - limits.shellSlackMs;
  const isKnown = isStart && !isKept && Math.abs(now.changedAt - wallMs) < limits.aftermathMs;
  const by = isKnown ? { session: actor.session, agent: actor.agent, name } : null;
  const kind = isKnown ? "write" : "outside";
  const what = { path, key: work.key, by, tool: null, kind, isEdit: true, session: actor.session } as const;
  await keeper.keep({ ...what, text: null, atMs: clock.wall() }, () => false);
  return loss === null || (isStart && loss.how === "changed") ? null : { candidate, loss };
}
