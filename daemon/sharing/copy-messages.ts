/**
 * Takes the messages along that sessions of this machine have not read, when it leaves the store.
 *
 * Invariants: a message that came along is read in the store, so its sender does not hear that it reached nobody. A run that
 * broke off takes no message twice, within `limits.replyKeptMs`.
 */

import { nodeOf } from "../core/nodes/shared-ids.ts";
import type { Letter, Message } from "../core/tables/base-state.ts";
import { enter, type Place } from "./copy.ts";

/** Yields the messages of the project that sessions of the node have not read, the oldest first, with these letters. */
export function* unreadOf(
  { log, project }: Place,
  node: string,
): Generator<readonly [Message, readonly Letter[]], void> {
  for (const message of log.state.messages.all.values()) {
    if (message.open === 0 || message.project !== project) continue;
    const letters = [...message.letters.values()].filter(
      ({ to, state }) => state !== "read" && state !== "handed" && nodeOf(to.id) === node,
    );
    if (letters.length > 0) yield [message, letters];
  }
}

/**
 * Copies them, and returns how many letters came along. `outward`: what this machine calls the store's sessions. Rejects with
 * `CopyRefused`.
 */
export async function copyMessages(
  from: Place,
  to: Place,
  node: string,
  outward: <Shown>(shown: Shown) => Shown,
): Promise<number> {
  let count = 0;
  for (const [message, letters] of [...unreadOf(from, node)]) {
    const { id, text, bytes, urgent, broadcast, at } = message;
    const posted = { text, bytes, urgent, broadcast, at, project: to.project, from: outward(message.from) };
    const reply = await enter(to.log, {
      ...{ type: "message_import", ...posted, to: letters.map(letter => outward(letter.to)) },
      retry: { by: "store leave", requestId: `${id} ${at}`, digest: "" },
    });
    if (typeof reply["reached"] === "number") count += reply["reached"];
    for (const { to: row } of letters) {
      const actor = { session: row.id, agent: row.agent, incarnation: 0 };
      // A store that is away keeps it unread, and no agent of this machine sees it there any more.
      await from.log.submitAndWait({ type: "message_ack", actor, messages: [id], read: true });
    }
  }
  return count;
}
