/** What of inboxes changes without an event of the log, for those who look on. */
import type { InboxEvent } from "../../protocol/schemas/message.ts";
import type { State } from "../core/state.ts";
import type { CommandType, Entry } from "../core/tables/entries.ts";

/** The commands of which it comes. */
export const inboxCommands: readonly CommandType[] = ["inbox_take", "message_ack"];

/** Returns the event of the step that this entry made; null: it changed no inbox without one. */
export function inboxEvent({ command }: Entry, { sessions }: Pick<State, "sessions">): InboxEvent | null {
  const isRead = command.type === "message_ack" && command.read === true;
  if (command.type !== "inbox_take" && !isRead) return null;
  const { session: id, agent } = command.actor;
  const { project } = sessions.live.get(id) ?? {};
  return project === undefined ? null : { event: "inbox_changed", by: { id, agent }, project };
}
