/** Trail lines for what the log's events tell: waits, ends of locks, sessions and freezes, writes past a lock. */

import type { KiteEvent } from "../../protocol/events.ts";
import { freezeEnds, lockEnds, sessionEnds } from "../../protocol/events.ts";
import { personOnWire } from "../../protocol/names.ts";
import type { TaskEvent } from "../../protocol/schemas/task.ts";
import type { CoreEvent } from "../core/tables/entries.ts";
import { leadLines } from "../leading.ts";
import type { EventFields, EventLines } from "./line.ts";
import type { TrailLine } from "./trail.ts";

/** Returns the trail lines for the events of one step. */
export function trailOf(events: readonly CoreEvent[], at: number): TrailLine[] {
  const lines: TrailLine[] = [];
  for (const one of events) {
    const { event, project, to } = one;
    // The copy for one connection.
    if (to !== undefined) continue;
    if (event.event === "lock_released") addReleased(lines, event, one, at);
    else for (const fields of fieldsOf(event)) lines.push(lineOf(event, project, fields, at));
  }
  return lines;
}

/** Each unlock comes through here: one literal for the line. */
function addReleased(
  lines: TrailLine[],
  { event, cause, holder, paths }: Extract<KiteEvent, { readonly event: "lock_released" }>,
  { project, heldMs }: CoreEvent,
  at: number,
): void {
  const { id, agent, name } = holder;
  const why = lockEnds.get(cause) ?? cause;
  for (let i = 0; i < paths.length; i += 1) {
    lines.push({
      at,
      event,
      id,
      agent,
      name,
      project,
      type: cause,
      file: paths[i] ?? null,
      decision: "note",
      rule: "lock",
      why,
      heldMs: heldMs?.[i],
    });
  }
}

function lineOf(event: KiteEvent, project: string, { by, ...fields }: EventFields, at: number): TrailLine {
  const { id = null, agent = null, name = null } = by ?? {};
  const who = { at, event: event.event, id, agent, name, project };
  return { ...who, type: null, file: null, decision: "note", ...fields };
}

function fieldsOf<E extends KiteEvent>(event: E): readonly EventFields[] {
  const linesOf = eventLines[event.event] as ((event: E) => readonly EventFields[]) | undefined;
  return linesOf?.(event) ?? [];
}

const eventLines: EventLines = {
  ...leadLines,
  session_started: by => [{ by, rule: "session", why: "its session began" }],
  session_lost: by => [{ by, rule: "session", why: "no sign of life" }],
  session_ended: by => {
    const { cause: type } = by;
    // The hook of the session's end has a line of its own, with the reason that the client gave.
    if (type === "ended") return [];
    return [{ by, rule: "session", type, why: sessionEnds.get(type) ?? type }];
  },
  lock_queued: ({ waiter: by, holder, position, paths }) => {
    const why = `${holder === null ? "" : `behind ${holder.name}, `}queue position ${position}`;
    return paths.map(file => ({ by, rule: "lock", decision: "wait", file, why }));
  },
  lock_wait_ended: ({ waiter: by, cause: type, paths }) => {
    // The other causes refuse the request, and its line says why.
    if (type !== "disconnected") return [];
    const why = "gave up waiting: its connection closed";
    return paths.map(file => ({ by, rule: "lock", type, file, why }));
  },
  lost_update: ({ writer: by, holder, path: file }) => {
    const whose = holder === null ? "" : `; ${holder.name} has it now`;
    return [{ by, rule: "write", file, why: `wrote after its lock had passed on${whose}` }];
  },
  bypassed: ({ writer: by, holder, held, path: file }) => {
    const whose = held ? "holds it" : "has work in it that is not committed";
    const why = `changed by a shell command while ${holder.name} ${whose}`;
    return [{ by, rule: "write", type: "shell", file, why }];
  },
  work_taken: ({ how, command: type, commit, owner, by, paths }) => {
    const did = how === "committed" ? "committed" : "taken out of the working tree";
    const why = `${did}${commit === null ? "" : ` as ${commit}`}: it was uncommitted work of ${owner.name}`;
    return paths.map(file => ({ by, rule: "guard", type, file, why }));
  },
  work_wiped: ({ wipe, command: type, owner, by, paths }) => {
    const why = `uncommitted work of ${owner.name} is gone from it: kite rescue restore ${wipe}`;
    return paths.map(file => ({ by: by ?? owner, rule: "rescue", type, file, why }));
  },
  declared: ({ by, mismatches }) => mismatches.map(why => ({ by, rule: "declaration", why })),
  declarations_overlap: ({ sides: [by, other], paths: [file] }) => {
    const why = `${by.name} declared it, ${other.name} had declared it before`;
    return [{ by, rule: "declaration", file, why }];
  },
  merge_risk: ({ sides: [a, b], file }) => {
    const why = `${a.name} has work in it in ${a.worktree}, ${b.name} in ${b.worktree}`;
    return [a, b].map(by => ({ by, rule: "merge", file: `${by.worktree}/${file}`, why }));
  },
  hold_began: ({ lastsMs, by, paths }) => {
    const why = `froze it for ${Math.ceil(lastsMs / 1000)} s`;
    return paths.map(file => ({ by: by ?? { id: null, name: personOnWire }, rule: "freeze", file, why }));
  },
  hold_ended: ({ cause: type, paths }) => {
    const why = `the freeze ended: ${freezeEnds.get(type) ?? type}`;
    return paths.map(file => ({ by: null, rule: "freeze", type, file, why }));
  },
  task_claimed: ({ cause: type, by, task }) =>
    // A request that claimed the task has a line of its own.
    type === undefined ? [] : [{ by, rule: "task", type, task, why: `it was spawned for ${task}` }],
  task_released: taskLeft,
  task_failed: taskLeft,
};

function taskLeft(
  event: Extract<TaskEvent, { readonly event: "task_released" | "task_failed" }>,
): readonly EventFields[] {
  const { cause: type, by, task } = event;
  // A request that released or failed the task has a line of its own.
  const ended = type === undefined ? undefined : sessionEnds.get(type);
  if (ended === undefined || type === undefined || by === null) return [];
  const now = event.event === "task_failed" ? "has failed: too many attempts" : "can be claimed again";
  return [{ by, rule: "task", type, task, why: `${ended}, ${task} ${now}` }];
}
