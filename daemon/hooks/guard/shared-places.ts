/**
 * What all who work in a repository share besides its files: git's lock files, the settings that say where its working tree
 * is, and folders of dependencies to which other worktrees have a link.
 *
 * An actor without others in the repository is told nothing, and nothing is looked at for it. What cannot be read refuses
 * nothing.
 */

import { basename, dirname, posix, resolve } from "node:path";
import type { HeldGitLock } from "../../../hooks/seam/outcomes.ts";
import type { EmptiedFolder, ForeignSession, GuardFinding, LinkedFolder } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Actor } from "../../core/frame/actors.ts";
import type { Session } from "../../core/tables/sessions.ts";
import type { GitProcess } from "../../facts/git/running.ts";
import { projectAt } from "../../facts/repositories.ts";
import type { Services } from "../../options.ts";
import { nameOf } from "../../views/sessions.ts";
import { taskOf } from "../event.ts";
import type { Candidate, Placed } from "./findings.ts";
import { withTops } from "./places.ts";

/** The live actors besides this one in the sessions that fit: main agents, and the agents of its own session. */
export function othersIn(
  { engine }: Pick<Services, "engine">,
  { session: own, agent }: Actor,
  isThere: (session: Session) => boolean,
): readonly Actor[] {
  const found: Actor[] = [];
  for (const session of engine.state.sessions.live.values()) {
    if (session.lostAt !== null || !isThere(session)) continue;
    const { id, agents, incarnations } = session;
    const incarnation = incarnations[0]?.ordinal ?? 0;
    const its = id === own ? [null, ...agents.keys()].filter(one => one !== agent) : [null];
    for (const one of its) found.push({ session: id, agent: one, incarnation });
  }
  return found;
}

/** What the commands change of a repository in which others work, or empty of a folder that others use. */
export async function sharedCandidates(
  services: Services,
  actor: Actor,
  placed: readonly Placed[],
): Promise<readonly Candidate[]> {
  const found: Candidate[] = [];
  for (const one of placed) {
    const { n, command, place, isSupposed, blind } = one;
    const { sets, empties } = command;
    // What cannot be told refuses nothing.
    if ((sets ?? empties) === undefined || isSupposed || blind !== undefined) continue;
    const common = await services.facts.commonDirOf(place.gitDir);
    if (typeof common !== "string") continue;
    const project = projectAt(common);
    const folder = empties === undefined ? null : await linkedFolder(services, empties, place.worktree);
    const is = sets ?? folder;
    const others = is === null ? [] : othersAt(services, actor, project, folder);
    if (is === null || others.length === 0) continue;
    const shown = others.slice(0, limits.guardFilesMax).map(other => sessionOf(services, other));
    const finding: GuardFinding = {
      command: n,
      verdict: "tell_first",
      foreign: [],
      own: [],
      shared: { is, others: shown },
      more: others.length - shown.length,
      worktree: place.worktree,
    };
    const version = [
      [n, command.name, folder?.link ?? project].join(" "),
      folder?.target ?? sets?.value ?? "",
    ];
    found.push({ finding, versions: async () => new Map([version as [string, string]]) });
  }
  return found;
}

/** Who works where the folder lies; if nobody does, or there is no folder, who works in the repository. */
function othersAt(
  services: Services,
  actor: Actor,
  project: string,
  folder: LinkedFolder | null,
): readonly Actor[] {
  const at = folder?.worktree ?? null;
  const there = at === null ? [] : othersIn(services, actor, ({ worktree }) => worktree === at);
  return there.length > 0 ? there : othersIn(services, actor, session => session.project === project);
}

/** The folder if it is a link out of the worktree; else null. */
async function linkedFolder(
  services: Services,
  { path: named, isNearest }: EmptiedFolder,
  top: string,
): Promise<LinkedFolder | null> {
  const { facts } = services;
  const path = await withTops(services, named);
  if (typeof path !== "string") return null;
  const name = basename(path);
  for (let at = dirname(path); ; at = dirname(at)) {
    const link = posix.join(at, name);
    if (((await facts.stamped(link))?.stamp ?? null) !== null) return leadsOut(services, link, top);
    if (isNearest !== true || at === top || at === "/") return null;
  }
}

async function leadsOut({ facts }: Services, link: string, top: string): Promise<LinkedFolder | null> {
  const [around, to] = [await facts.path("/", dirname(link)), await facts.path("/", link)];
  if ("unreachable" in around || "unreachable" in to || !to.dir) return null;
  const isLink = to.real !== posix.join(around.real, basename(link));
  if (!isLink || `${to.real}/`.startsWith(`${top}/`)) return null;
  const repository = await facts.repository(dirname(to.real));
  const worktree = "unreachable" in repository || repository.gitDir === null ? null : repository.worktree;
  return { link, target: to.real, worktree };
}

function sessionOf(services: Services, actor: Actor): ForeignSession {
  const worktree = services.engine.state.sessions.live.get(actor.session)?.worktree ?? "";
  return { who: nameOf(services, actor), doing: taskOf(services, actor), worktree };
}

/** A path that a command removes or moves away. Its known part is the path itself unless it is a pattern. */
interface Removed {
  /** The command in short form: `rm`. */
  readonly name: string;
  readonly pattern: RegExp;
  readonly known: string;
}

/** Whether a path may be a lock file of git, by its words alone. */
export function mayBeGitLock(path: string): boolean {
  return path.endsWith(".lock") || (/[*?[]/.test(path) && path.includes("git"));
}

/** Returns the lock files among these that a git process of others may hold: one that is older than the file. */
export async function heldGitLocks(
  services: Services,
  actor: Actor,
  removed: readonly Removed[],
): Promise<readonly HeldGitLock[]> {
  const { facts, clock } = services;
  const found: HeldGitLock[] = [];
  let running: readonly GitProcess[] | null = null;
  for (const { name: command, path } of await namedBy(services, removed)) {
    const lock = await gitLockAt(services, path);
    const stamped = lock === null ? null : await facts.stamped(path);
    if (lock === null || stamped === null || stamped.stamp === null) continue;
    if (othersIn(services, actor, ({ project }) => project === lock.project).length === 0) continue;
    const ageMs = clock.wall() - stamped.changedAt;
    running ??= await facts.gitProcesses();
    for (const one of running) {
      if (one.ranMs + limits.lockFileSlackMs < ageMs) continue;
      const whose = whoseProcess(services, actor, one);
      if (whose === null || !(await isIn(services, one, lock))) continue;
      const { pid, name: by, ranMs } = one;
      found.push({ command, path, ageMs: Math.max(0, ageMs), by, pid, ranMs, ...whose });
      break;
    }
    if (found.length >= limits.guardFilesMax) break;
  }
  return found;
}

/** The paths that a pattern means are looked up in its folder alone. */
async function namedBy({ facts }: Services, removed: readonly Removed[]) {
  const found: { readonly name: string; readonly path: string }[] = [];
  for (const { name, pattern, known } of removed) {
    const isPattern = !pattern.test(known);
    const folder = known.replace(/(?<=.)\/+$/, "");
    const paths = isPattern ? (await facts.names(folder)).map(one => posix.join(folder, one)) : [known];
    for (const path of paths) if (pattern.test(path)) found.push({ name, path });
  }
  return found;
}

interface GitLock {
  readonly gitDir: string;
  readonly commonDir: string;
  readonly project: string;
  /** All worktrees have the locked file in common. */
  readonly isShared: boolean;
}

/** Null: it is no lock file of git. */
async function gitLockAt({ facts }: Services, path: string): Promise<GitLock | null> {
  const gitDir = await gitDirOf(path, async dir => (await facts.stamped(`${dir}/HEAD`))?.stamp ?? null);
  if (gitDir === null) return null;
  const commonDir = await facts.commonDirOf(gitDir);
  if (typeof commonDir !== "string") return null;
  const isShared =
    !/^(?:index|HEAD|config\.worktree)\.lock$/.test(basename(path)) || dirname(path) !== gitDir;
  return { gitDir, commonDir, project: projectAt(commonDir), isShared };
}

/** A git directory has a `HEAD`. */
async function gitDirOf(path: string, headOf: (dir: string) => Promise<unknown>): Promise<string | null> {
  if (!path.endsWith(".lock")) return null;
  if (/^(?:index|HEAD|packed-refs|config|config\.worktree|shallow)\.lock$/.test(basename(path))) {
    const dir = dirname(path);
    if ((await headOf(dir)) !== null) return dir;
  }
  for (let at = path.indexOf("/refs/"); at !== -1; at = path.indexOf("/refs/", at + 1))
    if ((await headOf(path.slice(0, at))) !== null) return path.slice(0, at);
  return null;
}

/** Whether the process works in the repository, or for what its worktrees share in one of them. */
async function isIn({ facts }: Services, { cwd, gitDir }: GitProcess, lock: GitLock): Promise<boolean> {
  let at: string | null;
  if (gitDir === null) {
    const around = await facts.repository(cwd);
    at = "unreachable" in around ? null : around.gitDir;
  } else {
    const named = await facts.path("/", resolve(cwd, gitDir));
    at = "unreachable" in named ? null : named.real;
  }
  if (at === null) return false;
  return at === lock.gitDir || (lock.isShared && (await facts.commonDirOf(at)) === lock.commonDir);
}

/**
 * Whose process it is, by the sessions' processes above it. Null: the actor's own. Of its own session's agents nobody can
 * tell which one runs it.
 */
function whoseProcess(
  services: Services,
  { session: own, agent }: Actor,
  { pid, ancestors }: GitProcess,
): Pick<HeldGitLock, "who" | "isOwnSession"> | null {
  const { byPid, live } = services.engine.state.sessions;
  for (const one of [pid, ...ancestors]) {
    const ids = byPid.get(one);
    if (ids === undefined || ids.size === 0) continue;
    if (ids.has(own)) {
      const isAlone = agent === null && live.get(own)?.agents.size === 0;
      return isAlone ? null : { who: null, isOwnSession: true };
    }
    const [id = ""] = ids;
    return { who: nameOf(services, { session: id, agent: null, incarnation: 0 }) };
  }
  return { who: null };
}
