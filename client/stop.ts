/** Stops a daemon and waits until its process has ended. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Refusal } from "../protocol/codes.ts";
import { limits } from "../protocol/limits.ts";
import type { KiteClient } from "./client.ts";
import { ConnectionClosed, TimedOut } from "./errors.ts";

/**
 * Asks the daemon to stop and waits until its process has ended, so that the next start finds the lock free. With
 * `handover` the daemon tells its waiting clients to reconnect. Returns its refusal, or null once it has stopped;
 * throws `TimedOut` if it still runs after `waitMs`, by default twice its time to stop.
 */
export async function stopDaemon(
  client: Pick<KiteClient, "request" | "daemon" | "closed" | "close">,
  handover: boolean,
  waitMs = limits.shutdownMs * 2,
): Promise<Refusal | null> {
  const { pid } = client.daemon;
  try {
    const answer = await client.request("shutdown", handover ? { handover } : {});
    if (!answer.ok) return answer;
  } catch (error) {
    // The daemon may close before its answer is read; only the end of its process counts.
    if (!(error instanceof ConnectionClosed)) throw error;
  }
  const patience = new AbortController();
  const late = delay(waitMs, true, { signal: patience.signal }).catch(() => true);
  try {
    await Promise.race([client.closed, late]);
    // Only a parent is notified of a process's end, so this polls.
    for (let pauseMs = 1; isAlive(pid); pauseMs = Math.min(pauseMs * 2, 50)) {
      if (await Promise.race([late, delay(pauseMs, false)])) {
        throw new TimedOut(
          `the daemon (pid ${pid}) does not stop; see \`kite log\`, or end it: kill -9 ${pid}`,
        );
      }
    }
    return null;
  } finally {
    patience.abort();
    client.close();
  }
}

/** Returns true if the process runs; false for a zombie, too. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false; // ESRCH. EPERM cannot occur: our own user owns the socket.
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return process.platform !== "linux"; // Other systems have no /proc; on Linux the process ended between the two checks.
  }
}
