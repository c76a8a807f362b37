import { type ProcessContext, printFramed, printJson, screenOf } from "./process-context.ts";
import { type ScopeFlags, scopeProject } from "./scope.ts";
import { locksView } from "./view/locks.ts";
import { watchLocks } from "./watch-locks.ts";
import { rowsOf, withDaemon } from "./with-daemon.ts";

interface LocksFlags extends ScopeFlags {
  readonly watch?: boolean;
  readonly json?: boolean;
}

/** Returns the exit code; with `watch`, once `until` is aborted or the daemon has gone. */
export async function locks(
  world: ProcessContext,
  flags: LocksFlags,
  until: AbortSignal,
  directory?: string,
): Promise<number> {
  const json = flags.json === true;
  const project = json ? null : await scopeProject(world, directory, flags);
  if (flags.watch) {
    return withDaemon(world, json, client => watchLocks({ world, client, json, project }, until), {
      reconnect: true,
    });
  }
  return withDaemon(world, json, async client => {
    const [rows, sessions] = await Promise.all([rowsOf(client, "locks"), rowsOf(client, "sessions")]);
    if (json) printJson(world, { locks: rows });
    else printFramed(world, locksView({ locks: rows, sessions, project }, screenOf(world)));
    return 0;
  });
}
