/** Events as lines for a person. */

import type { EventLine } from "../../protocol/events.ts";
import { causeText, freezeEnds, lockEnds, sessionEnds, waitEnds } from "../../protocol/events.ts";
import { nameOrPerson, personName, withPersonName } from "../../protocol/names.ts";
import type { TaskNews } from "../../protocol/schemas/task.ts";
import { features } from "./features.ts";
import { storeEventText } from "./store.ts";
import type { FileName } from "./text.ts";
import { clean, clock, duration, listed, type Screen } from "./text.ts";

/** Returns an event about locks as one line for a person, or null for any other event. */
export function lockEventLine(event: EventLine, screen: Pick<Screen, "now">): string | null {
  const sentence = lockSentence(event);
  return sentence === null ? null : `${clock(screen.now, screen.now)}  ${sentence}`;
}

/** Returns an event as one line without its time, or null if it does not concern a person. */
export function eventSentence(event: EventLine, file: FileName = clean): string | null {
  const own = lockSentence(event, file) ?? workSentence(event, file) ?? talkSentence(event, file);
  if (event.event === "store_changed") return `store     ${storeEventText(event.store)}`;
  if (own !== null) return own;
  for (const feature of features) {
    const sentence = feature.sentence?.(event, file) ?? null;
    if (sentence !== null) return sentence;
  }
  return null;
}

function workSentence(event: EventLine, file: FileName): string | null {
  switch (event.event) {
    case "session_started":
      return `began     ${clean(event.name)}`;
    case "session_ended":
      return `ended     ${clean(event.name)}: ${causeOf(sessionEnds, event.cause)}`;
    case "session_lost":
      return `lost      ${clean(event.name)}: no sign of life`;
    case "session_duplicated":
      return `twice     ${clean(event.name)} is open in ${event.incarnations} terminals`;
    case "lost_update":
      return `late      ${clean(event.writer.name)} wrote ${file(event.path)} after its lock was granted to another session`;
    case "bypassed":
      return `past lock ${file(event.path)} of ${clean(event.holder.name)} changed while ${clean(event.writer.name)} ran a command`;
    case "work_taken": {
      const did = event.how === "committed" ? "committed" : "discarded";
      return `work      ${clean(event.by.name)} ${did} ${filesOf(event, file)} of ${clean(event.owner.name)}`;
    }
    case "work_wiped":
      return `wiped     ${filesOf(event, file)} of ${clean(event.owner.name)}: kite rescue restore ${clean(event.wipe)}`;
    case "session_renamed":
      return `named     ${clean(event.was)} is ${clean(event.name)} now`;
    case "file_conflict":
      return `conflict  ${file(event.path)} is open in two sessions`;
    case "task_created":
      return `new task  ${taskOf(event)}`;
    case "task_claimed":
      return `claimed   ${taskOf(event)}`;
    case "task_completed":
      return `done      ${taskOf(event)}`;
    case "task_failed":
      return `failed    ${taskOf(event)}`;
    case "task_released":
      return `given up  ${taskOf(event)}: ${causeOf(sessionEnds, event.cause)}`;
    default:
      return null;
  }
}

function talkSentence(event: EventLine, file: FileName): string | null {
  const who = (row: { readonly name: string } | null) => (row === null ? personName() : clean(row.name));
  switch (event.event) {
    case "context_changed":
      // If no session deleted the key, it expired, or the daemon's restart dropped it.
      return event.deleted
        ? `context   ${clean(event.key)} is gone${event.from === null ? "" : `, by ${who(event.from)}`}`
        : `context   ${clean(event.key)} version ${event.version} by ${who(event.from)}`;
    case "message_sent":
      return `${event.urgent ? "urgent   " : "message  "} ${who(event.from)} to ${listed(event.to.map(who), event.more)}`;
    case "message_undelivered":
      return `unread    message of ${who(event.from)}: ${who(event.to)} ended without reading it`;
    case "declared": {
      const task = event.text === "" ? "" : `: ${clean(event.text)}`;
      return `declared  ${who(event.by)}${event.role === "" ? "" : ` (${clean(event.role)})`}${task}`;
    }
    case "declarations_overlap":
      return `overlap   ${listed(event.sides.map(who))} both declared ${file(event.paths[0])}`;
    case "hold_began":
      return `freeze    ${filesOf(event, file)} by ${who(event.by)} for ${duration(event.lastsMs)}`;
    case "hold_ended":
      return `thawed    ${filesOf(event, file)}: ${causeOf(freezeEnds, event.cause)}`;
    default:
      return null;
  }
}

function causeOf(causes: ReadonlyMap<string, string>, cause: string): string {
  return clean(withPersonName(causeText(causes, cause)));
}

function taskOf({ task, number, description, by }: TaskNews): string {
  const who = by === null ? "" : ` by ${clean(by.name)}`;
  return `${number === undefined ? clean(task) : `#${number}`}${who}: ${clean(description)}`;
}

function lockSentence(event: EventLine, file: FileName = clean): string | null {
  switch (event.event) {
    case "lock_granted": {
      const after = event.waitedMs > 0 ? ` after ${duration(event.waitedMs)}` : "";
      return `granted   ${filesOf(event, file)} to ${clean(event.holder.name)}${after}`;
    }
    case "lock_queued": {
      const behind = event.holder === null ? "" : `, held by ${clean(event.holder.name)}`;
      return `queued    ${clean(event.waiter.name)} for ${filesOf(event, file)}, queue position ${event.position}${behind}`;
    }
    case "lock_released":
      return `released  ${filesOf(event, file)} by ${clean(event.holder.name)}: ${causeOf(lockEnds, event.cause)}`;
    case "lock_wait_ended":
      return `gave up   ${clean(event.waiter.name)} for ${filesOf(event, file)}: ${causeOf(waitEnds, event.cause)}`;
    case "lock_revoked":
      return `revoked   ${filesOf(event, file)} from ${clean(event.holder.name)} by ${clean(nameOrPerson(event.by))}`;
    default:
      return null;
  }
}

function filesOf(
  event: { readonly paths: readonly string[]; readonly more?: number },
  file: FileName,
): string {
  const files = event.paths.map(path => file(path));
  return listed(files, event.more);
}
