/**
 * Which answers clients read, and the rules of what is kept for retries once more: a refusal that nobody can have read
 * is not kept, what was read stays, and what was done is never forgotten for it.
 */

import type { Origin } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { KeptReply } from "../../daemon/core/tables/base-state.ts";
import type { Entry } from "../../daemon/core/tables/entries.ts";

export class ReadReplies {
  readonly #read = new Set<string>();

  /** A client that is there got the answer to this request. */
  read(origin: Origin): void {
    this.#read.add(nameOf(origin));
  }

  /** Everything that is wrong after an entry; `before` is what was kept of the retry that it names. */
  *observe(state: State, { command }: Entry, before: KeptReply | undefined): Generator<string, void> {
    if (command.type !== "reply_unheard" || before === undefined) return;
    const { to, kept } = command;
    const stays = before.reply.ok || nameOf(before.to) !== nameOf(to);
    const isKept = state.replies.has(`${kept.by}\n${kept.requestId}`);
    if (stays && !isKept) yield `the answer to ${kept.requestId} is forgotten, and may have been read`;
    if (!stays && isKept) yield `the answer to ${kept.requestId} is kept, and nobody read it`;
  }

  /** Refusals that a retry would get, though nobody read them, once everything has been proposed and delivered. */
  *overdue({ replies, epoch }: State): Generator<string, void> {
    for (const [name, { to, reply }] of replies) {
      if (reply.ok || (to.epoch === epoch && this.#read.has(nameOf(to)))) continue;
      yield `the answer to ${name.replace("\n", " ")} is kept, and nobody read it: ${reply.error}`;
    }
  }
}

/** What is kept of the retry that an entry says was not read, before that entry. */
export function keptBefore({ replies }: State, { command }: Entry): KeptReply | undefined {
  if (command.type !== "reply_unheard") return undefined;
  return replies.get(`${command.kept.by}\n${command.kept.requestId}`);
}

function nameOf({ node, epoch, n }: Origin): string {
  return `${node} ${epoch} ${n}`;
}
