/**
 * Where the commands of a guarded line work.
 *
 * Where the line does not tell, a command counts for every worktree that it may work in and in which others are known to
 * have work: those around the session and, of one that may wipe, all of its project and those below its directory.
 */

import { dirname, isAbsolute, join, relative } from "node:path";
import type { GuardedCommand } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";
import type { Lineage } from "../core/sessions/kinship.ts";
import type { Services } from "../services.ts";
import { foreignKnown } from "../worktree/uncommitted.ts";
import type { ActionOf } from "./action.ts";
import type { Given } from "./git-guard-alias.ts";
import { splitAtTop, withTops } from "./git-guard-dir.ts";
import type { Placed } from "./git-guard-findings.ts";
import { supposedPlaces } from "./git-guard-unseen.ts";
import type { HookServices } from "./hook-services.ts";

type Guard = ActionOf<"guard">;
type Spot = Pick<Placed, "place" | "base" | "blind" | "isSupposed">;

/** One whose repository could not be looked at counts for where it seems to work; `unchecked` says why, a sentence. */
export async function placesOf(
  services: HookServices,
  me: Lineage,
  asked: Guard,
  commands: readonly Given[],
): Promise<{ readonly placed: readonly Placed[]; readonly unchecked: string | null }> {
  const placed: Placed[] = [];
  let unchecked: string | null = null;
  for (const [n, { unknown, ...command }] of commands.entries()) {
    const dir = dirOf(command);
    const spots = dir === null ? await openSpots(services, me, asked, command) : null;
    const found = spots ?? unknown ?? (await spotOf(services, dir ?? asked.cwd, command));
    if (typeof found === "string") {
      unchecked ??= `${command.name}: ${found}`;
      placed.push(...supposed(services, me, asked, n, { ...command, unknown: found }));
    } else {
      if (spots !== null) unchecked ??= `${command.name}: ${untold(spots)}`;
      placed.push(...found.map(spot => ({ n, command, ...spot })));
    }
  }
  return { placed, unchecked };
}

/** Where a command seems to work that could not be looked at; `unknown` of it says why. */
export function supposed(
  services: HookServices,
  me: Lineage,
  asked: Guard,
  n: number,
  given: Given,
): readonly Placed[] {
  const { unknown: blind, ...command } = given;
  if (blind === undefined) return [];
  const dir = dirOf(command);
  if (dir === null) {
    const at = command.dir === null ? command : { ...command, dir: splitAtTop(command.dir).from };
    const worktrees = openWorktrees(services, me, asked, at, [asked.cwd]);
    return worktrees.map(worktree => ({ n, command, blind, ...unlooked(worktree) }));
  }
  const { from, below } = splitAtTop(dir);
  const places = supposedPlaces(services, asked.session, from, command);
  return places.map(({ place, base }) => ({ n, command, blind, place, base: below ?? base }));
}

/** Where the command runs; null: only the shell knows. */
function dirOf({ dir, isBelow }: GuardedCommand): string | null {
  return isBelow ? null : dir;
}

function untold(spots: readonly Spot[]): string {
  const why = "where it runs cannot be told";
  if (spots.length === 0) return `${why}, and nobody else is known to have work where it may run`;
  return `${why}, so it counts for ${spots.map(({ place }) => place.worktree).join(" and ")}`;
}

async function openSpots(
  services: HookServices,
  me: Lineage,
  asked: Guard,
  command: GuardedCommand,
): Promise<readonly Spot[]> {
  const { facts } = services;
  const here = await facts.path("/", asked.cwd);
  const from = "unreachable" in here ? [asked.cwd] : [asked.cwd, here.real];
  const dir = command.dir === null ? null : await withTops(services, command.dir);
  const real = typeof dir === "string" ? await facts.path("/", dir) : null;
  const isKnown = real !== null && !("unreachable" in real);
  const at = isKnown ? { ...command, dir: real.real } : command;
  const spots: Spot[] = [];
  for (const worktree of openWorktrees(services, me, asked, at, from)) {
    const around = spots.length < limits.guardSupposedMax ? await facts.repository(worktree) : null;
    const isThere = around !== null && !("unreachable" in around) && around.worktree === worktree;
    if (!isThere || around.gitDir === null) {
      spots.push({ ...unlooked(worktree), blind: "it is one of many places, or cannot be looked at" });
    } else {
      spots.push({ place: { worktree, gitDir: around.gitDir }, base: null, isSupposed: true });
    }
  }
  return spots;
}

function unlooked(worktree: string): Pick<Placed, "place" | "base" | "isSupposed"> {
  return { place: { worktree, gitDir: join(worktree, ".git") }, base: null, isSupposed: true };
}

/** Worktrees with known work of others in which the command may run; `from` are the names of the line's directory. */
function openWorktrees(
  services: HookServices,
  me: Lineage,
  asked: Guard,
  { dir, gitDir, workTree, reach }: GuardedCommand,
  from: readonly string[],
): readonly string[] {
  const own = services.engine.state.sessions.live.get(asked.session);
  const near = dir !== null ? [dir] : [...from, ...(own === undefined ? [] : [own.cwd, own.worktree])];
  if (gitDir !== null && isAbsolute(gitDir)) near.push(dirname(gitDir));
  if (workTree !== null && isAbsolute(workTree)) near.push(workTree);
  const nowhere = { gitDir: null, workTree: null };
  const around = near.flatMap(path => supposedPlaces(services, asked.session, path, nowhere));
  const found = new Set(around.map(({ place }) => place.worktree));
  if (reach === "tree") {
    for (const [worktree, project] of knownWorktrees(services)) {
      const isNear = project === own?.project || from.some(path => isBelow(worktree, path));
      if (isNear && (dir === null || isBelow(worktree, dir))) found.add(worktree);
    }
  }
  return [...found].filter(worktree => foreignKnown(services, me, unlooked(worktree).place).length > 0);
}

/** Where sessions work or somebody has uncommitted work, each with its project. */
function knownWorktrees({ engine }: Services): ReadonlyMap<string, string> {
  const { sessions, writes } = engine.state;
  const found = new Map([...sessions.live.values()].map(one => [one.worktree, one.project]));
  for (const [worktree, [first]] of writes.byWorktree) {
    const work = first === undefined ? undefined : writes.files.get(first);
    if (work !== undefined) found.set(worktree, work.project);
  }
  return found;
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? folder : `${folder}/`);
}

/** The command's repository; none where there is none, a sentence where it could not be looked at. */
async function spotOf(
  services: HookServices,
  named: string,
  { gitDir, workTree }: GuardedCommand,
): Promise<readonly Spot[] | string> {
  const { facts } = services;
  const dir = await withTops(services, named);
  if (typeof dir !== "string") return dir.unreachable;
  const [here, around] = await Promise.all([facts.path("/", dir), facts.repository(dir)]);
  if ("unreachable" in here) return here.unreachable;
  if ("unreachable" in around) return around.unreachable;
  const given = gitDir === null ? null : await facts.path(dir, gitDir);
  const tree = workTree === null ? null : await facts.path(dir, workTree);
  if (given !== null && "unreachable" in given) return given.unreachable;
  if (tree !== null && "unreachable" in tree) return tree.unreachable;
  const git = given?.real ?? around.gitDir;
  if (git === null) return [];
  const top =
    tree?.real ?? (given === null ? around.worktree : await facts.worktreeOf(here.real, given.real));
  if (top === null) return [];
  if (typeof top !== "string") return top.unreachable;
  return [{ place: { worktree: top, gitDir: git }, base: relative(top, here.real) }];
}
