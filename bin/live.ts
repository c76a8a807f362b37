/** How live views end. */
import type { Client, ProcessContext } from "./process-context.ts";
import { exitCodes, fail } from "./with-daemon.ts";

/** Resolves when a stream ends: null if `until` is aborted, else why the connection is lost for good. */
export async function streamEnd(client: Client, until: AbortSignal): Promise<string | null> {
  const heard = new AbortController();
  const aborted = new Promise<null>(resolve => {
    if (until.aborted) resolve(null);
    until.addEventListener("abort", () => resolve(null), { signal: heard.signal });
  });
  const why = await Promise.race([aborted, client.closed.then(({ message }) => message)]);
  heard.abort();
  return why;
}

/** Returns the exit code for a stream that ended so; prints why if the daemon has gone. */
export function streamCode(world: ProcessContext, json: boolean, why: string | null): number {
  if (why === null) return exitCodes.done;
  fail(world, json, "not_running", why);
  return exitCodes.notRunning;
}
