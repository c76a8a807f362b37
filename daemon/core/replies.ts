/**
 * Replies kept for retries: the same requestId from the same sender gets the same reply and is applied once.
 *
 * Invariants: at most `limits.repliesMax`, none older than `limits.replyKeptMs` is used; in the order of their time.
 */
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { Retry } from "./entry.ts";
import type { State } from "./state.ts";
import type { Reply } from "./step.ts";

function keyOf(retry: Retry): string {
  return `${retry.by}\n${retry.requestId}`;
}

/** What was answered to this request before, a refusal where the body differs, or null. */
export function keptReply(state: State, retry: Retry): Reply | null {
  const kept = state.replies.get(keyOf(retry));
  if (kept === undefined || kept.at + limits.replyKeptMs <= state.t) return null;
  return kept.digest === retry.digest ? kept.reply : conflict(retry);
}

export function conflict(retry: Retry): Reply {
  return refuse(
    "request_conflict",
    `requestId ${retry.requestId} came before with another body; give a new request a new requestId`,
  );
}

export function keepReply(state: State, retry: Retry, reply: Reply): void {
  const { replies } = state;
  const key = keyOf(retry);
  replies.delete(key);
  replies.set(key, { digest: retry.digest, at: state.t, reply });
  for (const [oldest, kept] of replies) {
    if (replies.size <= limits.repliesMax && kept.at + limits.replyKeptMs > state.t) break;
    replies.delete(oldest);
  }
}

export function forgetReply(state: State, retry: Retry): void {
  state.replies.delete(keyOf(retry));
}
