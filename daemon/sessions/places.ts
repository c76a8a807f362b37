/** The directories in which sessions work. */
import type { State } from "../core/state.ts";

interface Places {
  readonly cwd: string;
  readonly worktree: string;
  readonly project: string;
}

/** The directories of one session. */
export function placesOf({ cwd, worktree, project }: Places): readonly string[] {
  return [cwd, worktree, project];
}

/** The directories of all sessions. */
export function* directoriesOf(state: State): Generator<string, void> {
  for (const session of state.sessions.live.values()) yield* placesOf(session);
}
