/**
 * Replies kept for retries: the same requestId from the same sender gets the same reply and is applied once.
 *
 * Invariants: at most `limits.repliesMax`, of `limits.repliesChars` together but for the latest one; none older than
 * `limits.replyKeptMs` is used; in the order of their time. `replyChars` is what they have together. An answer that no client can have read is not kept, unless it is a success that a retry must not repeat.
 */

import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { Handler } from "./handler.ts";
import { type Origin, originKey, type Retry } from "./origin.ts";
import type { Reply } from "./outcome.ts";
import type { KeptReply, State } from "./state.ts";

/** Nothing was changed by what was refused: a retry may be carried out. */
export const replyUnheard: Handler<"reply_unheard"> = (state, { to, kept }, _meta, step) => {
  step.reply = { ok: true };
  if (state.replies.get(keyOf(kept))?.reply.ok === false) forgetReply(state, kept, to);
};

function keyOf(retry: Retry): string {
  return `${retry.by}\n${retry.requestId}`;
}

/** What was answered to this request before, a refusal where the body differs, or null. It goes to `to` now. */
export function keptReply(state: State, retry: Retry, to: Origin): Reply | null {
  const kept = state.replies.get(keyOf(retry));
  if (kept === undefined || kept.at + limits.replyKeptMs <= state.t) return null;
  if (kept.digest !== retry.digest) return conflict(retry);
  state.replies.set(keyOf(retry), { ...kept, to });
  return kept.reply;
}

export function conflict(retry: Retry): Reply {
  return refuse(
    "request_conflict",
    `requestId ${retry.requestId} came before with another body; give a new request a new requestId`,
  );
}

export function keepReply(state: State, retry: Retry, reply: Reply, to: Origin): void {
  const { replies } = state;
  const key = keyOf(retry);
  drop(state, key);
  const chars = JSON.stringify(reply).length;
  putReply(state, key, { digest: retry.digest, at: state.t, to, reply, chars });
  for (const [oldest, kept] of replies) {
    const isMuch = replies.size > limits.repliesMax || state.replyChars > limits.repliesChars;
    if (oldest === key || (!isMuch && kept.at + limits.replyKeptMs > state.t)) break;
    drop(state, oldest);
  }
}

/** Keeps a reply as the latest one; also what a snapshot holds. */
export function putReply(state: State, key: string, kept: KeptReply): void {
  state.replies.set(key, kept);
  state.replyChars += kept.chars;
}

function drop(state: State, key: string): void {
  state.replyChars -= state.replies.get(key)?.chars ?? 0;
  state.replies.delete(key);
}

/** Forgets what was answered; with `to` only where it was sent there last, so that what a later retry got stays. */
export function forgetReply(state: State, retry: Retry, to?: Origin): void {
  const kept = state.replies.get(keyOf(retry));
  if (kept === undefined || (to !== undefined && originKey(kept.to) !== originKey(to))) return;
  drop(state, keyOf(retry));
}

/** A node's daemon began anew: whether the refusals that its earlier ones answered were read, nobody knows. */
export function forgetRefusals(state: State, node: string): void {
  for (const [key, { to, reply }] of state.replies) if (!reply.ok && to.node === node) drop(state, key);
}
