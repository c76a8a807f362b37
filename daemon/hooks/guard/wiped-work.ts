/** Which uncommitted work of others the plain commands of a line wipe: `rm`, or a copy onto a file. */
import { dirname, join, posix } from "node:path";
import type { WipedPath } from "../../../hooks/seam/actions.ts";
import { topFolder } from "../../../protocol/guard.ts";
import { lasts } from "../../core/locks/blockers.ts";
import { knownWorktrees } from "../../core/sessions/room.ts";
import type { DirtyFile } from "../../core/tables/base-state.ts";
import type { Lineage } from "../../core/tables/naming.ts";
import type { FileState } from "../../facts/git/status.ts";
import type { Services } from "../../services.ts";
import { type Foreign, foreignKnown, lookAt, worksIn } from "../../worktree/uncommitted.ts";
import type { HookServices } from "../hook-services.ts";
import { withTops } from "./dir.ts";
import { isUnchanged } from "./findings.ts";

/** Work of another actor that a command wipes. */
export interface WipedWork extends Foreign {
  readonly by: WipedPath;
  /** Absolute. */
  readonly path: string;
  /** Git has told that it is uncommitted. */
  readonly isSeen: boolean;
  /** The other actor holds it, and git has told that nothing in it is uncommitted. */
  readonly isOnlyHeld: boolean;
}

/** A path of a command on this machine, with a pattern for the files that it means. */
interface Place {
  readonly wiped: WipedPath;
  readonly pattern: RegExp;
  /** The path up to the first folder that is a pattern. */
  readonly known: string;
}

/**
 * Returns the work of others that the line wipes: each file once, as the first command reaches it. Looks at files alone
 * of which the daemon knows work of others in reach; walks no folder.
 */
export async function wipedWork(
  services: HookServices,
  me: Lineage,
  wiped: readonly WipedPath[],
): Promise<readonly WipedWork[]> {
  // The innermost first: a file belongs to that one.
  const worktrees = [...knownWorktrees(services.engine.state).keys()].sort((a, b) => b.length - a.length);
  const found = new Map<string, WipedWork>();
  for (const one of wiped) {
    const place = await placeOf(services, one);
    for (const worktree of worktrees) {
      if (!overlap(worktree, place.known)) continue;
      for (const foreign of foreignKnown(services, me, { worktree, gitDir: join(worktree, ".git") })) {
        const path = posix.join(worktree, foreign.file);
        if (found.has(foreign.key) || !isReached(place, foreign, path)) continue;
        found.set(foreign.key, { ...foreign, path, by: one, isSeen: false, isOnlyHeld: false });
      }
    }
  }
  return found.size === 0 ? [] : uncommitted(services, me, [...found.values()]);
}

/** The files with uncommitted work that these paths mean, whose ever it is, each once with the command that wipes it. */
export async function worksAt(
  services: HookServices,
  wiped: readonly WipedPath[],
): Promise<readonly { readonly command: string; readonly work: DirtyFile }[]> {
  const found = new Map<string, { readonly command: string; readonly work: DirtyFile }>();
  for (const one of wiped) {
    const { pattern, known } = await placeOf(services, one);
    for (const worktree of services.engine.state.writes.byWorktree.keys()) {
      if (!overlap(worktree, known)) continue;
      for (const work of worksIn(services, worktree))
        if (!found.has(work.key) && pattern.test(posix.join(worktree, work.file)))
          found.set(work.key, { command: one.name, work });
    }
  }
  return [...found.values()];
}

/** The path on this machine: symbolic links in its known folders count as what they lead to. */
async function placeOf(services: Services, wiped: WipedPath): Promise<Place> {
  const path = await realOf(services, wiped.path, wiped.isRemoved);
  const below = wiped.isDeep ? "(?:/.*)?" : "";
  return { wiped, pattern: new RegExp(`^${patternOf(path)}${below}$`, "s"), known: knownPart(path) };
}

/** The files that a path means: itself, or of a pattern those that others hold or have work in. */
export function knownIn(services: Services, me: Lineage, path: string): readonly string[] {
  if (!isPattern(path)) return [path];
  const pattern = new RegExp(`^${patternOf(path)}$`, "s");
  const known = knownPart(path);
  return [...knownWorktrees(services.engine.state).keys()]
    .filter(worktree => overlap(worktree, known))
    .flatMap(worktree =>
      foreignKnown(services, me, { worktree, gitDir: join(worktree, ".git") }).map(({ file }) =>
        posix.join(worktree, file),
      ),
    )
    .filter(file => pattern.test(file));
}

function isPattern(path: string): boolean {
  return /[*?[]/.test(path);
}

/** The path up to the first folder that is a pattern. */
function knownPart(path: string): string {
  const open = path.search(/[*?[]/);
  return open === -1 ? path : path.slice(0, path.lastIndexOf("/", open) + 1);
}

/** The real path, as far as its folders are known; of a file that is removed, that of its name. */
export async function realOf(services: Services, named: string, isItsName: boolean): Promise<string> {
  const topped = named.includes(topFolder) ? await withTops(services, named) : named;
  const path = posix.normalize(typeof topped === "string" ? topped : named).replace(/(?<=.)\/+$/, "");
  const folder = isPattern(path) ? dirname(`${knownPart(path)}x`) : isItsName ? dirname(path) : path;
  const fact = await services.facts.path("/", folder || "/");
  return "unreachable" in fact ? path : posix.join(fact.real, path.slice(folder.length));
}

/** A pattern of the shell as a regular expression: no wildcard matches a slash, or a dot at a name's beginning. */
function patternOf(path: string): string {
  return path.replace(/\[!?[^\]/]+\]|[\s\S]/g, (piece, at: number) => {
    const isFirst = at === 0 || path[at - 1] === "/";
    if (piece === "*") return `${isFirst ? "(?!\\.)" : ""}[^/]*`;
    if (piece === "?") return `${isFirst ? "(?!\\.)" : ""}[^/]`;
    if (piece.length > 1) return piece.replace(/^\[!/, "[^").replace(/\\/g, "\\\\");
    return piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  });
}

function isReached({ pattern, wiped, known }: Place, { dir }: Foreign, path: string): boolean {
  if (pattern.test(path)) return true;
  // Somebody holds a folder around it.
  return dir && !wiped.isDeep && known.startsWith(`${path}/`);
}

function overlap(worktree: string, path: string): boolean {
  return (
    `${path}/`.startsWith(`${worktree}/`) || `${worktree}/`.startsWith(path.endsWith("/") ? path : `${path}/`)
  );
}

const unseen: ReadonlyMap<string, FileState> = new Map();

/** What git reports as uncommitted, or another actor writes or keeps. What git or the project ignores is left out. */
async function uncommitted(
  services: HookServices,
  me: Lineage,
  found: readonly WipedWork[],
): Promise<readonly WipedWork[]> {
  const { facts, engine, rules } = services;
  const session = engine.state.sessions.live.get(me.actor.session);
  const left: WipedWork[] = [];
  for (const worktree of new Set(found.map(worktreeOf))) {
    const here = found.filter(one => worktreeOf(one) === worktree);
    const around = await facts.repository(worktree);
    const gitDir = "unreachable" in around ? null : around.gitDir;
    const files = here.filter(({ dir }) => !dir).map(({ file }) => file);
    const states = gitDir === null ? unseen : (await lookAt(services, { worktree, gitDir }, files)).states;
    for (const one of here) {
      const hold = engine.state.locks.holds.get(one.key);
      const isKept = hold !== undefined && one.held && lasts(hold);
      const state = states.get(one.file);
      const isDirty = state !== undefined && (state.staged || state.changed || state.untracked);
      // A file that could not be checked counts: its writes are known.
      const counts = one.dir ? isKept : state === undefined || (!state.ignored && (isDirty || isKept));
      if (!counts || (await rules.for(one.path, session)).ignores(one.path)) continue;
      if ((await isThere(services, one)) && (await isCopied(services, one)))
        left.push({
          ...one,
          isSeen: one.dir || state !== undefined,
          isOnlyHeld: one.held && (one.dir || isUnchanged(state)),
        });
    }
  }
  return left;
}

function worktreeOf({ path, file }: WipedWork): string {
  return path.slice(0, path.length - file.length - 1);
}

async function isThere({ facts }: Services, { path, dir }: WipedWork): Promise<boolean> {
  return dir || (await facts.stamped(path))?.stamp !== null;
}

/** Whether the command copies a file onto this one, as far as a pattern or a folder does not tell that. */
async function isCopied({ facts }: Services, { path, by: { copied } }: WipedWork): Promise<boolean> {
  if (copied === undefined) return true;
  const source = posix.join(copied.from, posix.relative(copied.to, path));
  return (await facts.stamped(source))?.stamp !== null;
}
