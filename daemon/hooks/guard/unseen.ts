/**
 * What the guard does if it could not check. A busy machine, a lack of descriptors or a mount that hangs may keep it
 * from where a command works, or from git's status. The recorded writes of others are known all the same.
 */
import { dirname, join, relative, resolve } from "node:path";
import type { Code } from "../../../protocol/codes.ts";
import type { GuardedCommand } from "../../../protocol/guard.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { Services } from "../../services.ts";

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
export interface Supposed {
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
