/**
 * Where the commands of a guarded line work.
 *
 * If the line does not tell, a command counts for every worktree that it may work in and that has known work of others:
 * those around the session. A command that may wipe also counts for all of its project and those below its directory.
 */

import { dirname, isAbsolute, join, relative } from "node:path";
import type { GuardedCommand } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { knownWorktrees } from "../../core/sessions/room.ts";
import type { Lineage } from "../../core/tables/naming.ts";
import type { Services } from "../../services.ts";
import { isWithin } from "../../worktree/pathspec.ts";
import { foreignKnown } from "../../worktree/uncommitted.ts";
import type { ActionOf } from "../action.ts";
import type { HookServices } from "../hook-services.ts";
import type { ResolvedCommand } from "./alias.ts";
import { splitAtTop, withTops } from "./dir.ts";
import { foreignSessionsIn } from "./displaced.ts";
import type { Placed } from "./findings.ts";
import { withoutTopPaths, withRealPaths, withTopPaths } from "./paths.ts";
import { supposedPlaces } from "./unseen.ts";

type Guard = ActionOf<"guard">;
type Spot = Pick<Placed, "place" | "base" | "blind" | "isSupposed">;

/** Each command's places. A repository that could not be checked is supposed; `unchecked` says why, in a sentence. */
export async function placesOf(
  services: HookServices,
  me: Lineage,
  asked: Guard,
  commands: readonly ResolvedCommand[],
): Promise<{ readonly placed: readonly Placed[]; readonly unchecked: string | null }> {
  const placed: Placed[] = [];
  let unchecked: string | null = null;
  for (const [n, given] of commands.entries()) {
    const { unknown, ...command } = await withTopPaths(services, given);
    const dir = dirOf(command);
    const isOpen = dir === null && command.elsewhere === undefined;
    const spots = isOpen ? await openSpots(services, me, asked, command) : null;
    const others = await namedSpots(services, me, asked, command);
    const found =
      spots ??
      unknown ??
      (dir === null ? [] : await spotOf(services, await staysAt(services, dir, command), command));
    if (typeof found === "string") {
      unchecked ??= `${command.name}: ${found}`;
      placed.push(...supposed(services, me, asked, n, { ...command, unknown: found }));
    } else {
      if (spots !== null) unchecked ??= `${command.name}: ${whyOpen(spots)}`;
      for (const spot of found) {
        const real = spots === null ? await withRealPaths(services, command, spot.place.worktree) : command;
        placed.push({ n, command: real, ...spot });
      }
    }
    placed.push(...others.map(spot => ({ n, command, ...spot })));
  }
  const further: Placed[] = [];
  for (const one of placed) further.push(...(await furtherIn(services, me, one)));
  const own = placed.filter(one => one.isSupposed || one.blind !== undefined || !one.command.further?.isOnly);
  return { placed: [...own, ...further], unchecked };
}

/** Where a command seems to work that could not be checked; its `unknown` says why. */
export function supposed(
  services: HookServices,
  me: Lineage,
  asked: Guard,
  n: number,
  given: ResolvedCommand,
): readonly Placed[] {
  const { unknown: blind, ...command } = withoutTopPaths(given);
  if (blind === undefined) return [];
  const dir = dirOf(command);
  if (dir === null) {
    const at = command.dir === null ? command : { ...command, dir: splitAtTop(command.dir).from };
    const worktrees = openWorktrees(services, me, asked, at, {
      from: [asked.cwd],
      projects: ownProject(services, asked),
    });
    const rest = { n, command, blind, base: null, isSupposed: true } as const;
    return worktrees.map(worktree => ({ ...rest, ...unlooked(worktree) }));
  }
  const { from, below } = splitAtTop(dir);
  const places = supposedPlaces(services, asked.session, from, command);
  return places.map(({ place, base }) => ({ n, command, blind, place, base: below ?? base }));
}

/** The folder in which a command that may wipe runs if the `cd` before it fails. */
async function staysAt(services: Services, dir: string, { stays, reach }: GuardedCommand): Promise<string> {
  if (stays === undefined || reach !== "tree" || dir.includes("[")) return dir;
  const named = await withTops(services, dir);
  const there = typeof named === "string" ? await services.facts.stamped(named) : null;
  return there !== null && there.stamp === null ? stays : dir;
}

/** The command's directory; null: only the shell knows it. */
function dirOf({ dir, isBelow }: GuardedCommand): string | null {
  return isBelow ? null : dir;
}

function whyOpen(spots: readonly Spot[]): string {
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
  const projects = await projectsOf(services, asked);
  const from = "unreachable" in here ? [asked.cwd] : [asked.cwd, here.real];
  const dir = command.dir === null ? null : await withTops(services, command.dir);
  const real = typeof dir === "string" ? await facts.path("/", dir) : null;
  const isKnown = real !== null && !("unreachable" in real);
  const at = isKnown ? { ...command, dir: real.real } : command;
  return spotsAt(services, openWorktrees(services, me, asked, at, { from, projects }), {
    base: null,
    isSupposed: true,
  });
}

/** Some worktrees; the guard checks the first `limits.guardSupposedMax` of them. */
async function spotsAt(
  { facts }: Services,
  worktrees: readonly string[],
  rest: Pick<Spot, "base" | "isSupposed">,
): Promise<readonly Spot[]> {
  const spots: Spot[] = [];
  for (const worktree of worktrees) {
    const around = spots.length < limits.guardSupposedMax ? await facts.repository(worktree) : null;
    const isThere = around !== null && !("unreachable" in around) && around.worktree === worktree;
    if (isThere && around.gitDir !== null) {
      spots.push({ ...rest, place: { worktree, gitDir: around.gitDir } });
    } else
      spots.push({ ...rest, ...unlooked(worktree), blind: "it is one of many places, or not to be found" });
  }
  return spots;
}

function unlooked(worktree: string): Pick<Placed, "place"> {
  return { place: { worktree, gitDir: join(worktree, ".git") } };
}

/** Worktrees that a command names (`git worktree remove`, `move`). The first one of a project has no name. */
async function namedSpots(
  services: HookServices,
  me: Lineage,
  asked: Guard,
  { elsewhere, dir, displaces }: GuardedCommand,
): Promise<readonly Spot[]> {
  if (elsewhere === undefined) return [];
  const projects = await projectsOf(services, asked);
  const end = elsewhere?.replace(/^(?:\.\.?\/)+|\/+$/g, "");
  const found = [...knownWorktrees(services.engine.state)].filter(([worktree, project]) => {
    if (worktree === project || worktree === dir) return false;
    return end === undefined ? projects.has(project) : worktree.endsWith(`/${end}`);
  });
  const worktrees = found
    .map(([worktree]) => worktree)
    .filter(
      one =>
        hasForeign(services, me, one) ||
        (displaces !== undefined && foreignSessionsIn(services, me, one).length > 0),
    );
  return spotsAt(services, worktrees, { base: "", ...(dir === null ? { isSupposed: true } : {}) });
}

/** Repositories below its worktree that the command reaches and that have known work of others. */
async function furtherIn(services: HookServices, me: Lineage, one: Placed): Promise<readonly Placed[]> {
  const { facts } = services;
  const { n, command, place, base, isSupposed } = one;
  const { further, paths } = command;
  if (further === undefined) return [];
  const around = await facts.repository(place.worktree);
  const inside = [...knownWorktrees(services.engine.state)].filter(([worktree, project]) => {
    if (worktree === place.worktree || !isBelow(worktree, place.worktree)) return false;
    // Another worktree of the same project is not a submodule of it.
    if (further.into !== "all" && !("unreachable" in around) && project === around.project) return false;
    const name = relative(place.worktree, worktree);
    const isNamed = paths === null || isWithin(name, paths, base, place.worktree);
    return isNamed && hasForeign(services, me, worktree);
  });
  if (inside.length === 0 || (further.isIfSet && !(await isRecursing(services, one)))) return [];
  const rest = { base: "", ...(isSupposed ? { isSupposed } : {}) };
  const spots = await spotsAt(
    services,
    inside.map(([worktree]) => worktree),
    rest,
  );
  const inner = { ...command, paths: null, ...(further.isWhole ? { untracked: true, ignored: true } : {}) };
  return spots.map(spot => ({ n, command: inner, ...spot }));
}

const recursion = {
  by: "target",
  revisions: [],
  orPath: false,
  loses: "nothing",
  during: [],
  stashes: ["submodule.recurse"],
} as const;

/** Whether the repository's settings take the command into submodules. */
async function isRecursing({ facts }: Services, { place }: Placed): Promise<boolean> {
  const changed = await facts.change(place, recursion, []);
  return "unreachable" in changed || changed.loses !== "nothing";
}

function hasForeign(services: Services, me: Lineage, worktree: string): boolean {
  return foreignKnown(services, me, unlooked(worktree).place).length > 0;
}

/** Where a line begins: the names of its directory, and the projects that it may concern. */
interface Beginning {
  readonly from: readonly string[];
  readonly projects: ReadonlySet<string>;
}

function ownProject({ engine }: Services, { session }: Guard): ReadonlySet<string> {
  const own = engine.state.sessions.live.get(session);
  return new Set(own === undefined ? [] : [own.project]);
}

/** The session's project, and the project of its current directory. */
async function projectsOf(services: Services, asked: Guard): Promise<ReadonlySet<string>> {
  const around = await services.facts.repository(asked.cwd);
  const own = ownProject(services, asked);
  return "unreachable" in around ? own : new Set([...own, around.project]);
}

/** Worktrees with known work of others in which the command may run. */
function openWorktrees(
  services: HookServices,
  me: Lineage,
  asked: Guard,
  { dir, gitDir, workTree, reach }: GuardedCommand,
  { from, projects }: Beginning,
): readonly string[] {
  const own = services.engine.state.sessions.live.get(asked.session);
  const near = dir !== null ? [dir] : [...from, ...(own === undefined ? [] : [own.cwd, own.worktree])];
  if (gitDir !== null && isAbsolute(gitDir)) near.push(dirname(gitDir));
  if (workTree !== null && isAbsolute(workTree)) near.push(workTree);
  const nowhere = { gitDir: null, workTree: null };
  const around = near.flatMap(path => supposedPlaces(services, asked.session, path, nowhere));
  const found = new Set(around.map(({ place }) => place.worktree));
  if (reach === "tree") {
    for (const [worktree, project] of knownWorktrees(services.engine.state)) {
      const isNear = projects.has(project) || from.some(path => isBelow(worktree, path));
      if (isNear && (dir === null || isBelow(worktree, dir))) found.add(worktree);
    }
  }
  return [...found].filter(worktree => hasForeign(services, me, worktree));
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? folder : `${folder}/`);
}

/** The command's repository; none if there is none; a sentence if it could not be checked. */
async function spotOf(
  services: HookServices,
  named: string,
  { gitDir, workTree }: GuardedCommand,
): Promise<readonly Spot[] | string> {
  const { facts } = services;
  const whole = await withTops(services, named);
  if (typeof whole !== "string") return whole.unreachable;
  const { dir, pattern } = await beforeSet(services, whole);
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
  // Outside of its worktree git begins at the top.
  const base = isBelow(here.real, top) ? relative(top, here.real) : "";
  return [{ place: { worktree: top, gitDir: git }, base: pattern === "" ? base : join(base, pattern) }];
}

/** A folder that is not there, with a set like `[ab]` in its name, is a pattern: `dir` is the folder before that. */
async function beforeSet({ facts }: Services, path: string): Promise<{ dir: string; pattern: string }> {
  const set = path.indexOf("[");
  const there = set === -1 ? null : await facts.stamped(path);
  if (there === null || there.stamp !== null) return { dir: path, pattern: "" };
  const at = path.lastIndexOf("/", set);
  return { dir: path.slice(0, at) || "/", pattern: path.slice(at + 1) };
}
