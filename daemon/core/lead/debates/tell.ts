/**
 * Tells the participants of a debate by messages, in the name of the actor that changed it.
 *
 * Invariants: a participant gets at most one message of a debate that it has not read, and one when the debate closes;
 * no change fails because a message cannot be sent.
 */
import { limits } from "../../../../protocol/limits.ts";
import type { ActorRow } from "../../../../protocol/schemas/lock.ts";
import type { Actor } from "../../actor.ts";
import { inboxKey } from "../../messages/recipients.ts";
import { postNotice } from "../../messages/send.ts";
import type { Step } from "../../outcome.ts";
import type { State } from "../../state.ts";
import type { Debate, Participant } from "./table.ts";

export interface Notice {
  readonly by: Actor | null;
  readonly text: string;
  readonly wallMs: number;
  /** Whether it goes to those, too, that have not read the one before. */
  readonly always: boolean;
}

/** Writes to the participants other than the actor, and returns the debate with the message that each was told by. */
export function tellOthers(state: State, debate: Debate, notice: Notice, step: Step): Debate {
  const { by, text, wallMs, always } = notice;
  const { project, participants } = debate;
  const to = participants
    .filter(one => !isActor(one.row, by) && isHere(state, project, one.row))
    .filter(one => always || !isUnread(state, one))
    .map(({ row }) => row);
  const posted = { actor: by, project, text, bytes: bytesOf(text), wallMs };
  const sent = postNotice(state, posted, to, step);
  if (sent === null) return debate;
  const reached = new Set(sent.to.map(inboxKey));
  return {
    ...debate,
    participants: participants.map(one => (reached.has(inboxKey(one.row)) ? { ...one, told: sent.id } : one)),
  };
}

/** Returns the beginning of a text as a sentence of its own, in quotation marks. */
export function brief(text: string): string {
  const { quoteChars: max } = limits;
  const head = text.length > max ? `${text.slice(0, max - 1)}…` : text;
  return `"${head}".`;
}

/** Returns the size of a text as UTF-8. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function isActor(row: ActorRow, by: Actor | null): boolean {
  return row.id === by?.session && row.agent === by.agent;
}

/** Whether the participant is alive and still in the project. */
function isHere({ sessions }: State, project: string, { id, agent }: ActorRow): boolean {
  const session = sessions.live.get(id);
  return session?.project === project && (agent === null || session.agents.has(agent));
}

/** Whether the message that told the participant last is still to be shown to it. */
function isUnread({ messages }: State, { row, told }: Participant): boolean {
  const letter = told === null ? undefined : messages.all.get(told)?.letters.get(inboxKey(row));
  return letter?.state === "unread" || letter?.state === "offered";
}
