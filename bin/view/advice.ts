/** What an agent that was refused something should do. */
import type { RefusalNow } from "../trail/about-agent.ts";

const waitsForHolder = "try again, which waits in the queue";
const otherTask = "claim another task: kite task claim";

/** By the refusal's code. A code without advice has a sentence that says what to do. */
const byCode: ReadonlyMap<string, string> = new Map([
  ["lock_held", waitsForHolder],
  ["lock_queue_full", waitsForHolder],
  ["lock_timeout", waitsForHolder],
  ["lock_given_up", "try again if it still needs the file"],
  ["lock_deadlock", "release what it holds by ending its answer or with kite unlock, then try again"],
  ["edits_held", "a person can end the freeze: kite thaw"],
  ["session_ended", "begin again: its next prompt registers the session"],
  ["unknown_session", "begin again: its next prompt registers the session"],
  ["task_claimed", otherTask],
  ["task_blocked", "finish the tasks that it waits for first: kite task graph"],
  ["no_ready_task", "finish the tasks that block others first: kite task graph"],
  ["path_unreachable", "try again: the file system did not answer in time"],
  ["store_full", "free space on the disk, then try again"],
]);

/** Returns what to do about a refusal, in words without a capital; null if its own sentence says it. */
export function adviceFor({ code, rule }: Pick<RefusalNow, "code" | "rule">): string | null {
  const known = byCode.get(code ?? "");
  if (known !== undefined) return known;
  if (rule === "guard")
    return "commit its own files by name (kite whose prints the command), or use a worktree";
  if (rule === "stale") return "read the file again, then write it: Kite keeps the lock";
  if (rule === "rescue") return "send exactly the same command again: it runs";
  return null;
}
