/**
 * Where the commands of a guarded line work.
 *
 * If the line does not tell, a command counts for each worktree around the session that it may work in, and that has known
 * work of others. A command that may wipe also counts for all of its project and those below its directory.
 */

import { dirname, isAbsolute, join, posix, relative, resolve } from "node:path";
import type { Code } from "../../../protocol/codes.ts";
import {
  type AliasedUse,
  type ForeignSession,
  type GuardedCommand,
  type GuardFinding,
  type ShellUse,
  type ShellUses,
  topFolder,
} from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { knownWorktrees } from "../../core/sessions/room.ts";
import { idOfKey } from "../../core/tables/sessions.ts";
import type { Unreachable } from "../../facts/filesystem.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { Services } from "../../options.ts";
import { nameOf } from "../../views/sessions.ts";
import { isWithin } from "../../worktree/pathspec.ts";
import { type Asking, foreignKnown } from "../../worktree/uncommitted.ts";
import { type ActionOf, taskOf } from "../event.ts";
import type { Candidate, Placed } from "./findings.ts";

// The directory in which a guarded command runs, as a path of this machine.

const mark = `/${topFolder}`;

/** `dir` with each `topFolder` replaced by the top of its worktree, or by the folder itself if it is in no repository. */
export async function withTops({ facts }: Services, dir: string): Promise<string | Unreachable> {
  const [first = "", ...rest] = dir.split(mark);
  let at = first || "/";
  for (const further of rest) {
    const around = await facts.repository(at);
    if ("unreachable" in around) return around;
    at = posix.join(around.gitDir === null ? at : around.worktree, further);
  }
  return at;
}

/** The same without I/O: a folder, and the command's directory below the top of the worktree around it. */
function splitAtTop(dir: string): { readonly from: string; readonly below: string | null } {
  const [first = "", ...rest] = dir.split(mark);
  return { from: first || "/", below: rest.at(-1)?.replace(/^\//, "") ?? null };
}

// Resolves names that git does not have: git's configuration says which command an alias stands for.

/** A command. If its alias could not be resolved, `unknown` says why, and the command may do anything. */
type ResolvedCommand = GuardedCommand & { readonly unknown?: string };

/** The commands that the aliases stand for, in order. An alias may lead to further ones. */
export async function aliasedBy(
  services: Services,
  { aliases, cwd }: Pick<ActionOf<"guard">, "aliases" | "cwd">,
): Promise<readonly ResolvedCommand[]> {
  const all: ResolvedCommand[] = [];
  const left = [...aliases];
  for (let n = 0; n < limits.guardedCommandsMax; n += 1) {
    const next = left.shift();
    if (next === undefined) break;
    const { name, dir, isBelow, gitDir, workTree } = next;
    const text = await textOf(
      services,
      { name, dir: isBelow ? null : dir, gitDir: dir === null ? null : gitDir },
      cwd,
    );
    if (typeof text === "string") {
      all.push(...next.commandsOf(text));
      left.unshift(...(next.aliasesOf?.(text) ?? []));
    } else if (text !== null) {
      const where = { dir, ...(isBelow ? { isBelow } : {}), gitDir, workTree };
      all.push({ ...anything(name), ...where, unknown: text.unreachable });
    }
  }
  return all;
}

/** What a shell line does that a role may forbid, with what its aliases do. An alias that could not be resolved passes. */
export async function usesWithAliases(
  services: Services,
  shell: ShellUses,
  cwd: string,
): Promise<ShellUse[]> {
  const all = [...shell.uses];
  const left = [...shell.aliases];
  for (let n = 0; n < limits.roleProgramsMax; n += 1) {
    const next = left.shift();
    if (next === undefined) break;
    const text = await textOf(services, next, cwd);
    if (typeof text !== "string") continue;
    const found = next.usesOf(text);
    all.push(...found.uses);
    left.unshift(...found.aliases);
  }
  return all;
}

/** Returns the text of an alias; null: git's configuration has none. */
async function textOf(
  services: Services,
  { name, dir, gitDir }: Pick<AliasedUse, "name" | "dir" | "gitDir">,
  cwd: string,
): Promise<string | null | Unreachable> {
  const { facts } = services;
  // If the directory is not known, the configuration of the line's directory may be the one that counts.
  const from = dir === null ? cwd : await withTops(services, dir);
  if (typeof from !== "string") return from;
  // Starting a child on a mount that hangs would block the whole daemon.
  const here = await facts.path("/", from);
  if ("unreachable" in here) return here;
  const git = gitDir === null ? null : await withTops(services, gitDir);
  return git === null || typeof git === "string" ? facts.alias(name, from, git) : git;
}

/** The command for an alias that could not be resolved: it may reach anything. */
function anything(name: string): Omit<GuardedCommand, "dir" | "isBelow" | "gitDir" | "workTree"> {
  return { name: `git ${name}`, reach: "tree", commits: true, paths: null, untracked: true };
}

// Finds the live sessions of others whose worktree a command removes or moves. Their folder is gone then, even if all their
// work is committed.

/** The ids of others' live sessions that work in this worktree or in a repository below it, the oldest of each first. */
function foreignSessionsIn(
  { engine }: Pick<Services, "engine">,
  { actor }: Asking,
  worktree: string,
): readonly string[] {
  const { worktrees, live } = engine.state.sessions;
  const inside = [...worktrees].filter(([at]) => at === worktree || at.startsWith(`${worktree}/`));
  const ids = inside.flatMap(([, keys]) => [...keys].map(idOfKey));
  return ids.filter(id => id !== actor.session && live.get(id)?.lostAt === null);
}

/** What the commands displace. */
export function displacedCandidates(
  services: Services,
  me: Asking,
  placed: readonly Placed[],
): readonly Candidate[] {
  const known = knownWorktrees(services.engine.state);
  return placed.flatMap(({ n, command, place, base, isSupposed }) => {
    const { displaces, elsewhere } = command;
    const { worktree } = place;
    // Git displaces neither a folder within a worktree nor a repository's first worktree.
    if (displaces === undefined || base !== "" || known.get(worktree) === worktree) return [];
    const ids = foreignSessionsIn(services, me, worktree);
    if (ids.length === 0) return [];
    const shown = ids.slice(0, limits.guardFilesMax);
    const finding: GuardFinding = {
      command: n,
      verdict: isSupposed || elsewhere === null ? "tell_first" : "deny",
      foreign: [],
      own: [],
      sessions: shown.flatMap(id => sessionOf(services, id)),
      more: ids.length - shown.length,
      worktree,
      ...(isSupposed || elsewhere === null ? { isSupposed: true } : {}),
    };
    const versions = ids.map(id => [[n, command.name, worktree, id].join(" "), ""] as const);
    return [{ finding, versions: async () => new Map(versions) }];
  });
}

function sessionOf(services: Services, id: string): readonly ForeignSession[] {
  const session = services.engine.state.sessions.live.get(id);
  if (session === undefined) return [];
  const actor = { session: id, agent: null, incarnation: 0 };
  return [{ who: nameOf(services, actor), doing: taskOf(services, actor), worktree: session.worktree }];
}

// The paths that a guarded command names, as paths of this machine.

/** The command with the top of a worktree in place of each `topFolder` in its paths. */
async function withTopPaths(services: Services, resolved: ResolvedCommand): Promise<ResolvedCommand> {
  const tops = new Map<string, string>();
  for (const path of topPaths(resolved)) {
    const found = await withTops(services, path);
    if (typeof found !== "string") return { ...withoutTopPaths(resolved), unknown: found.unreachable };
    tops.set(path, found);
  }
  if (tops.size === 0) return resolved;
  const { paths, over, gitDir, workTree } = resolved;
  const named = (path: string) => tops.get(path) ?? path;
  return {
    ...resolved,
    gitDir: gitDir && named(gitDir),
    workTree: workTree && named(workTree),
    paths: paths?.map(named) ?? null,
    ...(over === undefined ? {} : { over: over.map(named) }),
  };
}

/**
 * The command with what its absolute paths lead to through symbolic links, if they are not below `top`, the top of its
 * worktree, as they stand. A pattern that may lead there counts as any path.
 */
async function withRealPaths(
  { facts }: Services,
  command: GuardedCommand,
  top: string,
): Promise<GuardedCommand> {
  const { paths } = command;
  const isBelow = (path: string) => `${posix.normalize(path)}/`.startsWith(`${top}/`);
  const away = (paths ?? []).filter(path => posix.isAbsolute(path) && !isBelow(path));
  const real: string[] = [];
  for (const path of away) {
    const pattern = path.search(/[*?[\\]/);
    const fixed = pattern === -1 ? path : path.slice(0, path.lastIndexOf("/", pattern) + 1);
    const fact = await facts.path("/", fixed);
    if ("unreachable" in fact || (fixed !== path && !isBelow(fact.real))) return { ...command, paths: null };
    real.push(posix.join(fact.real, path.slice(fixed.length)));
  }
  return paths === null || away.length === 0 ? command : { ...command, paths: [...paths, ...real] };
}

/** The same as `withTopPaths` without I/O: a path below the top of a worktree counts as any path. */
function withoutTopPaths(resolved: ResolvedCommand): ResolvedCommand {
  const open = new Set(topPaths(resolved));
  if (open.size === 0) return resolved;
  const { paths, gitDir, workTree } = resolved;
  const known = (path: string | null) => (path === null || open.has(path) ? null : path);
  const isAny = paths?.some(path => open.has(path)) ?? true;
  return { ...resolved, paths: isAny ? null : paths, gitDir: known(gitDir), workTree: known(workTree) };
}

function topPaths({ paths, over = [], gitDir, workTree }: ResolvedCommand): readonly string[] {
  return [...(paths ?? []), ...over, gitDir ?? "", workTree ?? ""].filter(path => path.includes(topFolder));
}

// What the guard does if it could not check. A busy machine, a lack of descriptors or a mount that hangs may keep it
// from where a command works, or from git's status. The recorded writes of others are known all the same.

/** Refusals of an index that no other writer causes. The command will run, so the guard checks it without the lock. */
export const withoutIndex: ReadonlySet<Code> = new Set<Code>([
  "store_full",
  "too_many_locks",
  "too_many_sessions",
  "unknown_session",
  "session_ended",
  "internal_error",
]);

/** A worktree in which a command may work. */
interface Supposed {
  readonly place: GitPlace;
  /** Where its paths begin, relative to the worktree. */
  readonly base: string;
}

/**
 * The worktrees in which a command of `session` in `dir` may work, without I/O: those around `dir` in which a session
 * works or has uncommitted work. The session's own is among them if `dir` lies below its working directory.
 */
export function supposedPlaces(
  { engine }: Services,
  session: string,
  dir: string,
  { gitDir, workTree }: Pick<GuardedCommand, "gitDir" | "workTree">,
): readonly Supposed[] {
  const { live, worktrees } = engine.state.sessions;
  const { byWorktree } = engine.state.writes;
  const found = new Map<string, string>();
  for (const from of new Set([dir, resolve(dir, workTree ?? "."), dirname(resolve(dir, gitDir ?? ".git"))])) {
    for (const top of [from, ...above(from)]) {
      if (!byWorktree.has(top) && !worktrees.has(top)) continue;
      // Outside of its worktree git begins at the top.
      found.set(top, dir === top || dir.startsWith(`${top}/`) ? relative(top, dir) : "");
      break;
    }
  }
  const own = live.get(session);
  if (own !== undefined && found.size === 0 && (dir === own.cwd || dir.startsWith(`${own.cwd}/`)))
    found.set(own.worktree, "");
  return [...found].map(([worktree, base]) => ({
    place: { worktree, gitDir: join(worktree, ".git") },
    base,
  }));
}

function above(path: string): string[] {
  const up = dirname(path);
  return up === path ? [] : [up, ...above(up)];
}

/** Resolves as `work` does, or with `late()` after `ms` milliseconds. */
export function inTime<T>(work: Promise<T>, ms: number, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<T>(resolve => {
    timer = setTimeout(() => setImmediate(() => resolve(late())), ms);
  });
  return Promise.race([work, over]).finally(() => clearTimeout(timer));
}

type Guard = ActionOf<"guard">;
type Spot = Pick<Placed, "place" | "base" | "blind" | "isSupposed">;

/** Each command's places. A repository that could not be checked is supposed; `unchecked` says why, in a sentence. */
export async function placesOf(
  services: Services,
  me: Asking,
  action: Guard,
  commands: readonly ResolvedCommand[],
): Promise<{ readonly placed: readonly Placed[]; readonly unchecked: string | null }> {
  const placed: Placed[] = [];
  let unchecked: string | null = null;
  for (const [n, resolved] of commands.entries()) {
    const { unknown, ...command } = await withTopPaths(services, resolved);
    const dir = dirOf(command);
    const isOpen = dir === null && command.elsewhere === undefined;
    // What only moves refs is told nothing and refused nothing if it cannot be placed.
    if (command.reach === "refs" && (isOpen || unknown !== undefined)) continue;
    const spots = isOpen ? await openSpots(services, me, action, command) : null;
    const others = await namedSpots(services, me, action, command);
    const found =
      spots ??
      unknown ??
      (dir === null ? [] : await spotOf(services, await staysAt(services, dir, command), command));
    if (typeof found === "string") {
      if (command.reach === "refs") continue;
      unchecked ??= `${command.name}: ${found}`;
      placed.push(...supposed(services, me, action, n, { ...command, unknown: found }));
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
  services: Services,
  me: Asking,
  action: Guard,
  n: number,
  resolved: ResolvedCommand,
): readonly Placed[] {
  const { unknown: blind, ...command } = withoutTopPaths(resolved);
  if (blind === undefined) return [];
  const dir = dirOf(command);
  if (dir === null) {
    const at = command.dir === null ? command : { ...command, dir: splitAtTop(command.dir).from };
    const worktrees = openWorktrees(services, me, action, at, {
      from: [action.cwd],
      projects: ownProject(services, action),
    });
    const rest = { n, command, blind, base: null, isSupposed: true } as const;
    return worktrees.map(worktree => ({ ...rest, ...unlooked(worktree) }));
  }
  const { from, below } = splitAtTop(dir);
  const places = supposedPlaces(services, action.session, from, command);
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
  services: Services,
  me: Asking,
  action: Guard,
  command: GuardedCommand,
): Promise<readonly Spot[]> {
  const { facts } = services;
  const here = await facts.path("/", action.cwd);
  const projects = await projectsOf(services, action);
  const from = "unreachable" in here ? [action.cwd] : [action.cwd, here.real];
  const dir = command.dir === null ? null : await withTops(services, command.dir);
  const real = typeof dir === "string" ? await facts.path("/", dir) : null;
  const isKnown = real !== null && !("unreachable" in real);
  const at = isKnown ? { ...command, dir: real.real } : command;
  return spotsAt(services, openWorktrees(services, me, action, at, { from, projects }), {
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
  services: Services,
  me: Asking,
  action: Guard,
  { elsewhere, dir, displaces }: GuardedCommand,
): Promise<readonly Spot[]> {
  if (elsewhere === undefined) return [];
  const projects = await projectsOf(services, action);
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
async function furtherIn(services: Services, me: Asking, one: Placed): Promise<readonly Placed[]> {
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

function hasForeign(services: Services, me: Asking, worktree: string): boolean {
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
async function projectsOf(services: Services, action: Guard): Promise<ReadonlySet<string>> {
  const around = await services.facts.repository(action.cwd);
  const own = ownProject(services, action);
  return "unreachable" in around ? own : new Set([...own, around.project]);
}

/** Worktrees with known work of others in which the command may run. */
function openWorktrees(
  services: Services,
  me: Asking,
  action: Guard,
  { dir, gitDir, workTree, reach }: GuardedCommand,
  { from, projects }: Beginning,
): readonly string[] {
  const own = services.engine.state.sessions.live.get(action.session);
  const near = dir !== null ? [dir] : [...from, ...(own === undefined ? [] : [own.cwd, own.worktree])];
  if (gitDir !== null && isAbsolute(gitDir)) near.push(dirname(gitDir));
  if (workTree !== null && isAbsolute(workTree)) near.push(workTree);
  const nowhere = { gitDir: null, workTree: null };
  const around = near.flatMap(path => supposedPlaces(services, action.session, path, nowhere));
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
  services: Services,
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
  const gitPath = gitDir === null ? null : await facts.path(dir, gitDir);
  const tree = workTree === null ? null : await facts.path(dir, workTree);
  if (gitPath !== null && "unreachable" in gitPath) return gitPath.unreachable;
  if (tree !== null && "unreachable" in tree) return tree.unreachable;
  const git = gitPath?.real ?? around.gitDir;
  if (git === null) return [];
  const top =
    tree?.real ?? (gitPath === null ? around.worktree : await facts.worktreeOf(here.real, gitPath.real));
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
