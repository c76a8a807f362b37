/**
 * What the guard does where it could not look: where a command works, or what git says of the files, may not be known
 * in time (a busy machine, no descriptor left, a mount that hangs). What others were seen to write is known all the same.
 */
import { dirname, join, relative, resolve } from "node:path";
import type { Code } from "../../protocol/codes.ts";
import type { GuardedCommand } from "../../protocol/guard.ts";
import type { GitPlace } from "../facts/git-process.ts";
import type { Services } from "../services.ts";

/** Why an index may be refused though nobody else writes it: the command will run, so it is looked at without. */
export const withoutIndex: ReadonlySet<Code> = new Set<Code>([
  "store_full",
  "too_many_locks",
  "too_many_sessions",
  "unknown_session",
  "session_ended",
  "internal_error",
]);

/** A command that may work in this worktree. */
export interface Supposed {
  readonly place: GitPlace;
  /** Where its paths begin, relative to the worktree. */
  readonly base: string;
}

/**
 * The worktrees that a command of `session` in `dir` may work in, in words alone: those around it in which somebody
 * works or has uncommitted work, and the session's own where `dir` lies below its working directory.
 */
export function supposedPlaces(
  { engine }: Services,
  session: string,
  dir: string,
  { gitDir, workTree }: Pick<GuardedCommand, "gitDir" | "workTree">,
): readonly Supposed[] {
  const { live } = engine.state.sessions;
  const { byWorktree } = engine.state.writes;
  const worktrees = new Set([...live.values()].map(one => one.worktree));
  const found = new Map<string, string>();
  for (const from of new Set([dir, resolve(dir, workTree ?? "."), dirname(resolve(dir, gitDir ?? ".git"))])) {
    for (const top of [from, ...above(from)]) {
      if (!byWorktree.has(top) && !worktrees.has(top)) continue;
      found.set(top, relative(top, dir));
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

/** What `work` comes to, or `late` where that takes longer than `ms`. */
export function inTime<T>(work: Promise<T>, ms: number, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<T>(resolve => {
    timer = setTimeout(() => setImmediate(() => resolve(late())), ms);
  });
  return Promise.race([work, over]).finally(() => clearTimeout(timer));
}
