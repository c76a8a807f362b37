/** Which files a shell command may have written, as far as it matters: those that the project's sessions lock or changed. */
import { limits } from "../../protocol/limits.ts";
import type { State } from "../core/state.ts";

/** Returns the keys of the files to check, at most `limits.shellFilesMax`. Never walks a directory. */
export function watchedKeys(state: State, session: string): ReadonlySet<string> {
  const project = state.sessions.live.get(session)?.project;
  const keys = new Set<string>();
  for (const files of [lockedFiles(state, project), dirtyFiles(state, project)]) {
    for (const key of files) {
      if (keys.size === limits.shellFilesMax) return keys;
      keys.add(key);
    }
  }
  return keys;
}

function* lockedFiles({ sessions, locks }: State, project: string | undefined): Generator<string, void> {
  for (const [session, { rows }] of locks.actors.bySession) {
    if (sessions.live.get(session)?.project !== project) continue;
    for (const row of rows)
      for (const key of row.holds) {
        const hold = locks.holds.get(key);
        if (hold !== undefined && !hold.dir && hold.yieldMs > 0) yield key;
      }
  }
}

/** Those of each worktree with the latest written first. */
function* dirtyFiles({ writes }: State, project: string | undefined): Generator<string, void> {
  for (const ofWorktree of writes.byWorktree.values()) {
    const [first] = ofWorktree;
    if (first !== undefined && writes.files.get(first)?.project === project) yield* [...ofWorktree].reverse();
  }
}
