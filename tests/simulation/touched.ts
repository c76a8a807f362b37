/** Which slices of the state an entry can have touched: only these are looked at after it. */

import { Images } from "../../daemon/core/frame/saved-rows.ts";
import { rowsOf, type State, type TableName } from "../../daemon/core/state.ts";
import type { Command, CommandType, Entry, Step } from "../../daemon/core/tables/entries.ts";

/** Every so many entries all of the state is looked at, for what a command touches although it should not. */
const wholeEvery = 25;

const all: ReadonlySet<TableName> = new Set(Object.keys(rowsOf) as TableName[]);
const none: ReadonlySet<TableName> = new Set<TableName>();
// Whether a session makes room depends on most of what it has: it is looked at with everything else.
const sessions: ReadonlySet<TableName> = new Set<TableName>(["sessions", "replies"]);
// Leads get a notice of a red or critical task that begins.
const tasks: ReadonlySet<TableName> = new Set<TableName>(["sessions", "replies", "tasks", "notes"]);
const talk: ReadonlySet<TableName> = new Set<TableName>([
  "sessions",
  "replies",
  "context",
  "messages",
  "freezes",
]);
const debates: ReadonlySet<TableName> = new Set<TableName>([
  "sessions",
  "replies",
  "context",
  "messages",
  "freezes",
  "debates",
]);
const locks: ReadonlySet<TableName> = new Set<TableName>(["sessions", "replies", "locks"]);
const checks: ReadonlySet<TableName> = new Set<TableName>(["sessions", "replies", "checks"]);
const spawns: ReadonlySet<TableName> = new Set<TableName>(["sessions", "replies", "spawns"]);
const merges: ReadonlySet<TableName> = new Set<TableName>(["sessions", "replies", "merges"]);
const mergeEnds: ReadonlySet<TableName> = new Set<TableName>([
  "sessions",
  "replies",
  "merges",
  "tasks",
  "context",
  "messages",
  "freezes",
]);
const notes: ReadonlySet<TableName> = new Set<TableName>(["sessions", "replies", "notes"]);
const roles: ReadonlySet<TableName> = new Set<TableName>([...notes, "roles"]);
const stashes: ReadonlySet<TableName> = new Set<TableName>(["sessions", "replies", "notes", "stashes"]);
const heads: ReadonlySet<TableName> = new Set<TableName>(["sessions", "replies", "notes", "heads"]);
const commits: ReadonlySet<TableName> = new Set<TableName>(["sessions", "replies", "commits"]);
const turns: ReadonlySet<TableName> = new Set<TableName>(["sessions", "replies", "locks", "notes"]);
const writes: ReadonlySet<TableName> = new Set<TableName>([
  "sessions",
  "replies",
  "writes",
  "risks",
  "notes",
  "declarations",
]);
const declarations: ReadonlySet<TableName> = new Set<TableName>([
  "sessions",
  "replies",
  "notes",
  "declarations",
]);
const teams: ReadonlySet<TableName> = new Set<TableName>([...declarations, "teammates", "members"]);
const flights: ReadonlySet<TableName> = new Set<TableName>([
  "sessions",
  "replies",
  "locks",
  "writes",
  "risks",
  "notes",
  "declarations",
]);
const freezes: ReadonlySet<TableName> = new Set<TableName>([
  "sessions",
  "replies",
  "locks",
  "context",
  "messages",
  "freezes",
]);

/** Commands that leave some slices alone while no session comes or goes; any other may touch all. */
const narrow: ReadonlyMap<CommandType, ReadonlySet<TableName>> = new Map([
  ["task_create", tasks],
  ["task_import", tasks],
  ["task_update", tasks],
  ["task_claim", tasks],
  ["task_release", tasks],
  ["task_remove", tasks],
  ["task_approve", tasks],
  ["role_set", roles],
  ["session_rename", sessions],
  ["declare", declarations],
  ["check_record", checks],
  ["spawn_create", spawns],
  ["spawn_update", spawns],
  ["spawn_moved", spawns],
  ["spawn_remove", spawns],
  ["merge_queue", merges],
  ["merge_take", merges],
  ["merge_attach", merges],
  ["merge_unbind", merges],
  ["merge_cancel", merges],
  ["merge_report", mergeEnds],
  ["teammate_named", teams],
  ["debate_open", debates],
  ["debate_enter", debates],
  ["debate_close", debates],
  ["context_set", talk],
  ["context_delete", talk],
  ["context_read", talk],
  ["message_send", talk],
  ["message_ack", talk],
  ["inbox_take", talk],
  ["inbox_told", talk],
  ["broadcast", freezes],
  ["resume", freezes],
  ["lock_request", locks],
  ["lock_release", locks],
  ["lock_revoke", locks],
  ["lock_unbind", locks],
  ["lock_detach", locks],
  ["lock_undelivered", locks],
  ["lease_renew", locks],
  ["flight_unseen", locks],
  ["turn_end", turns],
  ["flight_end", flights],
  ["writes_noted", writes],
  ["writes_settled", writes],
  ["work_returned", writes],
  ["work_taken", notes],
  ["work_wiped", notes],
  ["stashes_noted", stashes],
  ["commits_made", commits],
  ["commits_taken", notes],
  ["head_moved", heads],
  ["conflict_noted", notes],
  ["notes_told", writes],
  ["reply_unheard", sessions],
]);

/** The same of what passes with time. */
const elapsed: ReadonlyMap<string, ReadonlySet<TableName>> = new Map([
  ["wait_over", locks],
  ["place_over", locks],
  ["yield_over", locks],
  ["turn_lease_over", locks],
  ["bound_over", locks],
  ["unseen_over", locks],
  ["grants_left", locks],
  ["merge_runner_over", merges],
  ["context_over", talk],
  ["context_unused", talk],
  ["edit_hold_over", freezes],
  ["spawn_over", spawns],
]);

/** The slices that an entry can have touched, and now and then all of them. */
export function touchedBy({ seq, command }: Entry, step: Step): ReadonlySet<TableName> {
  return seq % wholeEvery === 0 ? all : slicesOf(command, step);
}

function slicesOf(command: Command, { reply, answers, events }: Step): ReadonlySet<TableName> {
  if (events.some(({ event }) => event.event.startsWith("session_"))) return all;
  const isRefused = reply !== null && !reply.ok && answers.length === 0 && events.length === 0;
  if (isRefused) return byRefused(command);
  const by = command.type === "elapse" ? elapsed.get(command.due.what) : narrow.get(command.type);
  return by ?? all;
}

/** A refusal may be kept for a retry, and who asks for a lock to write has ended the writes before. */
function byRefused(command: Command): ReadonlySet<TableName> {
  if (command.type === "lock_request" && command.flight !== null) return locks;
  return "retry" in command && command.retry !== undefined ? sessions : none;
}

/** Each slice as a text: what is stored of it, without the indexes. */
export function textsOf(state: State): ReadonlyMap<TableName, string> {
  return new Map([...all].map(slice => [slice, JSON.stringify(storedOf(state, slice))]));
}

function storedOf<S extends TableName>(state: State, slice: S): readonly unknown[] {
  const { head, lists, parts = {} } = rowsOf[slice];
  const rows = Object.values(lists).map(list => [...list.write(state[slice], new Images())]);
  const fields = Object.values(parts).map(part => {
    const fieldsOf = part.write(state[slice]);
    return [...state.sessions.live.keys()].map(id => fieldsOf({ id }));
  });
  return [head?.write(state[slice]), ...rows, ...fields];
}

/** The slices that an entry changed and is not taken to touch, a sentence each. */
export function* untold(
  before: ReadonlyMap<TableName, string>,
  after: ReadonlyMap<TableName, string>,
  { command }: Entry,
  step: Step,
): Generator<string, void> {
  const touched = slicesOf(command, step);
  for (const [slice, text] of after) {
    if (text !== before.get(slice) && !touched.has(slice))
      yield `${command.type} changed ${slice}: ${text}, not ${before.get(slice)}`;
  }
}
