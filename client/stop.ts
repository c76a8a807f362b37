import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Refusal } from "../protocol/codes.ts";
import { limits } from "../protocol/limits.ts";
import type { KiteClient } from "./client.ts";
import { ConnectionClosed, TimedOut } from "./errors.ts";

/**
 * Asks the daemon to leave and waits until its process is gone, so that the next start finds the lock free.
 * With `handover` its waiting clients are told to come back. Returns its refusal, or null when it has left;
 * throws `TimedOut` when it is still there after `waitMs`, by default twice the time it has for leaving.
 */
export async function stopDaemon(
  client: KiteClient,
  handover: boolean,
  waitMs = limits.shutdownMs * 2,
): Promise<Refusal | null> {
  const { pid } = client.daemon;
  try {
    const answer = await client.request("shutdown", handover ? { handover } : {});
    if (!answer.ok) return answer;
  } catch (error) {
    // It may close before its answer is read; what counts is that the process goes.
    if (!(error instanceof ConnectionClosed)) throw error;
  }
  const patience = new AbortController();
  const late = delay(waitMs, true, { signal: patience.signal }).catch(() => true);
  try {
    await Promise.race([client.closed, late]);
    // Nobody but a parent is told of a process's end: ask until it is so, or too late.
    for (let pauseMs = 1; isAlive(pid); pauseMs = Math.min(pauseMs * 2, 50)) {
      if (await Promise.race([late, delay(pauseMs, false)])) {
        throw new TimedOut(
          `the daemon (pid ${pid}) does not leave; see \`kite log\`, or end it: kill -9 ${pid}`,
        );
      }
    }
    return null;
  } finally {
    patience.abort();
    client.close();
  }
}

/** Whether the process runs. One that ended but was not waited for by its parent does not. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false; // ESRCH. EPERM cannot be: the socket's owner is our own user.
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return process.platform !== "linux"; // Elsewhere there is no /proc; on Linux it ended between the two looks.
  }
}
