/** What was wiped lately and is still lost, and what of the store is damaged: `kite status` shows it. */
import { limits } from "../../protocol/limits.ts";
import type { OverviewReply } from "../../protocol/schemas/overview.ts";
import type { WipeRow } from "../../protocol/schemas/rescue.ts";
import { compareWithKept } from "./compare.ts";
import { wipeRow } from "./rows.ts";
import type { Rescue, RescueServices } from "./services.ts";
import type { Wipe, WipedFile } from "./wipes.ts";

/**
 * Returns the wipes of the last hour with the files that no commit and no file has again, the latest first; null: of all projects.
 * What an agent's own line did to its own work is left out. Looks at `limits.rescueStatusFilesMax` files at most;
 * `more` counts those at which it did not look.
 */
export async function lostNow(
  services: RescueServices,
  project: string | null,
): Promise<{ readonly wiped?: readonly WipeRow[] }> {
  const { rescue, engine, clock } = services;
  if (rescue === null) return {};
  const { files, settled } = engine.state.writes;
  const hasWork = files.size + settled.size > 0;
  if (!hasWork && rescue.archive.wipes.size === 0) return { wiped: [] };
  if (hasWork) void compareWithKept(services, rescue, null);
  await rescue.settled();
  const untilMs = clock.now() + limits.rescueSettleMs;
  const since = clock.wall() - limits.rescueStatusMs;
  const wiped: WipeRow[] = [];
  let looks = 0;
  for (const wipe of [...rescue.archive.wipes.all()].reverse()) {
    if (wipe.atMs < since) break;
    if (project !== null && wipe.project !== project) continue;
    const lost: WipedFile[] = [];
    let unseen = wipe.files.length;
    for (const file of wipe.files) {
      if (looks === limits.rescueStatusFilesMax || clock.now() > untilMs) break;
      looks += 1;
      unseen -= 1;
      if (await isLost(rescue, wipe, file)) lost.push(file);
    }
    const more = wipe.more + unseen;
    if (lost.length > 0) wiped.push(wipeRow(rescue.archive, { ...wipe, files: lost, more }));
  }
  return { wiped };
}

/** Returns what of the store is damaged now, or was found damaged in the last day; nothing if all is well. */
export function damageNow({ rescue, clock }: RescueServices): Pick<OverviewReply, "rescue"> {
  if (rescue === null) return {};
  const { trouble } = rescue.archive;
  const { atMs, ...damage } = rescue.archive.damage;
  const isNew = clock.wall() - atMs < limits.rescueDamageMs;
  if (trouble === null && !isNew && damage.setAside === 0) return {};
  return { rescue: { ...damage, ...(isNew ? {} : { recovered: 0, lost: 0 }), trouble } };
}

async function isLost({ archive, losses }: Rescue, wipe: Wipe, file: WipedFile): Promise<boolean> {
  const { by, project, worktree } = wipe;
  const version = file.version === null ? null : (archive.versions.get(file.version) ?? null);
  const isOwn = file.writers.every(one => one.session === by?.session && one.agent === by.agent);
  if (version === null || isOwn) return false;
  return (await losses.of({ ...file, project, worktree, version }, by)) !== null;
}
