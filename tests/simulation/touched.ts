/** Which slices of the state a command can touch: only these are looked at after it. */
import type { Slice } from "../../daemon/core/check.ts";
import type { CommandType, Entry } from "../../daemon/core/commands.ts";

/** Every so many entries all of the state is looked at, for what a command touches although it should not. */
const wholeEvery = 25;

const byTasks: readonly Slice[] = ["sessions", "tasks"];
const byTalk: readonly Slice[] = ["sessions", "talk"];
const byLocks: readonly Slice[] = ["sessions", "locks", "writes", "notes"];

/** Commands that leave some slices alone; any other may touch all. */
const narrow: ReadonlyMap<CommandType, readonly Slice[]> = new Map<CommandType, readonly Slice[]>([
  ["task_create", byTasks],
  ["task_import", byTasks],
  ["task_update", byTasks],
  ["task_release", byTasks],
  ["task_remove", byTasks],
  ["context_set", byTalk],
  ["context_delete", byTalk],
  ["message_send", byTalk],
  ["message_ack", byTalk],
  ["inbox_take", byTalk],
  ["inbox_told", byTalk],
  ["lock_request", byLocks],
  ["lock_release", byLocks],
  ["lock_revoke", byLocks],
  ["lock_unbind", byLocks],
  ["lock_detach", byLocks],
  ["lock_undelivered", byLocks],
  ["turn_end", byLocks],
  ["flight_end", byLocks],
  ["lease_renew", byLocks],
]);

/** Undefined: all of them. */
export function touchedBy({ seq, command }: Entry): readonly Slice[] | undefined {
  return seq % wholeEvery === 0 ? undefined : narrow.get(command.type);
}
