/**
 * What a session is called in a log that several nodes share: `SESSION@NODE.EPOCH.N`.
 *
 * Invariant: the id stands for one incarnation. Its number is that of the row by which the node's outbox first published it.
 * So no later session and no later terminal has the id. Nor has a session that begins after a power cut took entries of the
 * node's log.
 */
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { OutboxNumber } from "./commands.ts";

/** Whether a node may have this id: what divides the ids of sessions is not in it. */
export function isNodeId(node: string): boolean {
  return nodeForm.test(node);
}

const nodeForm = /^[\w-]{1,64}$/;

/** Refuses an id that no node may have. */
export function refuseNodeId(node: string): Refusal {
  const error = `${JSON.stringify(node)} is no id of a node: it has 1 to 64 letters, digits, _ and -; make one: kite store rejoin`;
  return refuse("invalid_request", error);
}

export function sharedId(session: string, node: string, { epoch, n }: OutboxNumber): string {
  return `${session}@${node}.${epoch}.${n}`;
}

const form = /^(.*)@([^@.]+)\.\d+\.\d+$/s;

/** Returns the node whose session has this id, or null if it is no id of a shared log. */
export function nodeOf(id: string): string | null {
  return form.exec(id)?.[2] ?? null;
}

/** Returns what its own node calls the session, or null if it is no id of a shared log. */
export function ownIdOf(id: string): string | null {
  return form.exec(id)?.[1] ?? null;
}
