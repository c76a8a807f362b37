/** Versions, wipes and files that are not kept, as `query` shows them: the latest first. */

import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { ActorRow } from "../../protocol/schemas/lock.ts";
import type { OverviewReply } from "../../protocol/schemas/overview.ts";
import type { UnkeptRow, VersionRow, WipeRow } from "../../protocol/schemas/rescue.ts";
import type { State } from "../core/state.ts";
import type { Facts } from "../facts/facts.ts";
import type { DaemonServices, Target, Wanted } from "../requests/handler.ts";
import type { Keyed } from "../views/paging.ts";
import type { Archive } from "./archive.ts";
import type { Rescue, RescueServices } from "./services.ts";
import { type Author, type Version, versionName, type Wipe, type WipedFile, wipeName } from "./versions.ts";
import { compareWithKept } from "./wiped.ts";

/** Positions rise, so that the latest comes first. */
const last = Number.MAX_SAFE_INTEGER;

type Shown = DaemonServices & Pick<RescueServices, "rescue">;
type Place = Pick<Version, "path" | "project" | "worktree"> & Partial<Pick<Version, "kind">>;

const versions: Target<VersionRow> = {
  open: async ({ rescue, engine, facts }: Shown, named) => {
    if (rescue === null) return nothing;
    const { archive } = rescue;
    // The answer has what was written just before the question.
    await rescue.settled();
    const paths = await pathsOf(facts, named.file);
    const { from, id } = named;
    const isShown = shownTo(engine.state, named, paths);
    return function* () {
      // The versions of a file have an index, those below a directory have none.
      const [path = null, ...others] = paths?.filter(one => archive.versions.latestOf(one) !== null) ?? [];
      const before = from === null ? Number.POSITIVE_INFINITY : last - from.place + 1;
      for (const version of archive.versions.latestFirst(others.length > 0 ? null : path, before)) {
        const isWanted = isShown(version) && (id === undefined || version.by?.session === id);
        const row = () => (isWanted ? versionRow(archive, version) : undefined);
        yield { place: last - version.n, key: "", row };
      }
    };
  },
};

const wipes: Target<WipeRow> = {
  open: async (services: Shown & RescueServices, named) => {
    const { rescue, engine, facts } = services;
    if (rescue === null) return nothing;
    // The answer has what changed outside of Kite until now.
    void compareWithKept(services, rescue, null);
    await rescue.settled();
    const isShown = shownTo(engine.state, named, await pathsOf(facts, named.file));
    const { archive } = rescue;
    const all = [...archive.wipes.all()].reverse();
    return function* () {
      for (const wipe of all) {
        const { project, worktree } = wipe;
        const isWanted = wipe.files.some(({ path }) => isShown({ path, project, worktree }));
        yield { place: last - wipe.n, key: "", row: () => (isWanted ? wipeRow(archive, wipe) : undefined) };
      }
    };
  },
  ids: row => [row.by?.id, ...row.files.flatMap(({ writers }) => writers.map(({ id }) => id))],
};

const unkept: Target<UnkeptRow> = {
  open: async ({ rescue, engine, facts }: Shown, named) => {
    if (rescue === null) return nothing;
    await rescue.settled();
    const isShown = shownTo(engine.state, named, await pathsOf(facts, named.file));
    const all = [...rescue.unkept.all()].reverse();
    return function* () {
      for (const { n, ...row } of all)
        yield { place: last - n, key: "", row: () => (isShown(row) ? row : undefined) };
    };
  },
};

export const rescueTargets = { versions, wipes, unkept };

function nothing(): readonly Keyed<never>[] {
  return [];
}

/**
 * Returns the real path of an absolute one, because versions have real paths. Also returns what that was before it, or a
 * folder on its way, became a link. A path that cannot be looked at stays as it is. Null: no path was named.
 */
export async function pathsOf(
  facts: Pick<Facts, "path">,
  file: string | undefined,
): Promise<readonly string[] | null> {
  if (file === undefined) return null;
  const [own, folder] = await Promise.all([facts.path("/", file), facts.path("/", dirname(file))]);
  const real = "unreachable" in own ? file : own.real;
  const beside = "unreachable" in folder ? file : join(folder.real, basename(file));
  return [...new Set([real, beside, file])];
}

/** Whether the path is one of these, or lies below one. */
export function isIn(path: string, places: readonly string[]): boolean {
  return places.some(place => path === place || path.startsWith(`${place}/`));
}

/** Returns a test of what the request names and its reader may see: what lies in its project, or in its worktree. */
function shownTo(
  { sessions }: State,
  { project, reader }: Wanted,
  paths: readonly string[] | null,
): (place: Place) => boolean {
  const session = reader === undefined ? undefined : sessions.live.get(reader);
  return place =>
    (reader === undefined || (session !== undefined && isOwn(session, place))) &&
    (project === undefined || place.project === project) &&
    (paths === null || isIn(place.path, paths));
}

/**
 * Whether the place belongs to the session's project. A client may name its project otherwise than git does. What was set aside
 * may be of any project, so no session sees it.
 */
export function isOwn(
  session: { readonly project: string; readonly worktree: string },
  place: Pick<Place, "project" | "worktree" | "kind">,
): boolean {
  if (place.kind === "set_aside") return false;
  return session.project === place.project || session.worktree === place.worktree;
}

export function versionRow(archive: Pick<Archive, "pathOf">, version: Version): VersionRow {
  const { path, file, worktree, project, by, tool, kind, atMs, base, mode, added, taken, asSent, hash } =
    version;
  const object = archive.pathOf(hash);
  return {
    version: versionName(version),
    path,
    file,
    worktree,
    project,
    by: by === null ? null : authorRow(by),
    tool,
    kind,
    at: atMs,
    base,
    bytes: version.sizeBytes,
    mode,
    added,
    taken,
    asSent,
    hash,
    object: existsSync(object) ? object : null,
  };
}

/** Names only versions that are kept: others may have been pruned or purged since. */
export function wipeRow(archive: Pick<Archive, "versions">, wipe: Wipe): WipeRow {
  const { project, worktree, by, command, atMs, files, more } = wipe;
  const rows = files.map(({ path, file, version, writers, lines, how }) => ({
    path,
    file,
    version: nameIfKept(archive, version),
    writers: writers.map(authorRow),
    lines,
    how,
  }));
  const who = by === null ? null : authorRow(by);
  return { wipe: wipeName(wipe), project, worktree, by: who, command, at: atMs, files: rows, more };
}

/** If a content is gone, the version's own row says so. */
function nameIfKept({ versions }: Pick<Archive, "versions">, n: number | null): string | null {
  return n === null || versions.get(n) === undefined ? null : versionName({ n });
}

function authorRow({ session, agent, name }: Author): ActorRow {
  return { id: session, agent, name };
}

// The recent wipes that are still lost, and the damage of the store: `kite status` shows them.

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
