/**
 * Replies kept for retries: the same requestId from the same sender gets the same reply and is applied once.
 *
 * Invariants: at most `limits.repliesMax` replies, together at most `limits.repliesChars` but for the latest, oldest
 * first; `replyChars` is their total; no retry gets a reply older than `limits.replyKeptMs`. A refusal that no client
 * can have read is not kept; a success stays, so that a retry does not repeat it.
 */

import { refuse } from "../../protocol/codes.ts";
import type { BaseState, KeptReply } from "./base-state.ts";
import { isShared } from "./nodes/table.ts";
import { type Origin, originKey, type Retry } from "./origin.ts";
import type { Reply } from "./outcome.ts";
import { pairList } from "./rows.ts";
import type { Handler } from "./rules.ts";

/** Forgets an undelivered refusal, so that a retry runs. A success stays, because it changed the state. */
export const replyUnheard: Handler<"reply_unheard"> = (state, { to, kept: own }, { origin }, step) => {
  step.reply = { ok: true };
  const kept = isShared(state) ? retryAt(own, origin.node) : own;
  if (state.replies.get(keyOf(kept))?.reply.ok === false) forgetReply(state, kept, to);
};

/** Returns the retry as a shared log keeps it: each node has senders of its own. */
export function retryAt(retry: Retry, node: string): Retry {
  return { ...retry, by: `${node}\n${retry.by}` };
}

function keyOf(retry: Retry): string {
  return `${retry.by}\n${retry.requestId}`;
}

/** Returns the reply kept for this request, a refusal if the body differs, or null. Records `to` as its new origin. */
export function keptReply(state: BaseState, retry: Retry, to: Origin): Reply | null {
  const kept = state.replies.get(keyOf(retry));
  if (kept === undefined || kept.at + state.limits.replyKeptMs <= state.t) return null;
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

export function keepReply(state: BaseState, retry: Retry, reply: Reply, to: Origin): void {
  const { replies, limits } = state;
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

/** Adds a reply as the latest one. */
function putReply(state: BaseState, key: string, kept: KeptReply): void {
  state.replies.set(key, kept);
  state.replyChars += kept.chars;
}

function drop(state: BaseState, key: string): void {
  state.replyChars -= state.replies.get(key)?.chars ?? 0;
  state.replies.delete(key);
}

/** Forgets the kept reply; with `to` only if it was last sent there, so that the reply to a later retry stays. */
export function forgetReply(state: BaseState, retry: Retry, to?: Origin): void {
  const kept = state.replies.get(keyOf(retry));
  if (kept === undefined || (to !== undefined && originKey(kept.to) !== originKey(to))) return;
  drop(state, keyOf(retry));
}

/** Forgets a node's refusals after its daemon restarted: the daemon cannot know whether their clients read them. */
export function forgetRefusals(state: BaseState, node: string): void {
  for (const [key, { to, reply }] of state.replies) if (!reply.ok && to.node === node) drop(state, key);
}

export const replyRows = {
  lists: {
    replies: pairList(
      (replies: BaseState["replies"]) => replies,
      (_replies, [key, kept], state: BaseState) => putReply(state, key, kept),
    ),
  },
};

/** Yields a sentence if `replyChars` is wrong; part of `check`. */
export function* checkReplies({ replies, replyChars }: BaseState): Generator<string> {
  const chars = [...replies.values()].reduce((sum, kept) => sum + kept.chars, 0);
  if (chars !== replyChars) yield `kept replies have ${chars} characters, not ${replyChars}`;
}
