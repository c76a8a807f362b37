/** Trail lines for what the log's events tell: waits, ends of locks, sessions and freezes, writes past a lock. */
import type { KiteEvent } from "../../protocol/events.ts";
import { shortName } from "../core/lead/merges/replies.ts";
import type { CoreEvent } from "../core/outcome.ts";
import { freezeEnds, lockEnds, sessionEnds } from "./causes.ts";
import { person } from "./decisions.ts";
import type { TrailLine } from "./trail.ts";

/** Returns the trail lines for the events of one step. */
export function trailOf(events: readonly CoreEvent[], at: number): TrailLine[] {
  const lines: TrailLine[] = [];
  for (const one of events) {
    const { event, project, to } = one;
    // The copy for one connection.
    if (to !== undefined) continue;
    if (event.event === "lock_released") addReleased(lines, event, one, at);
    else for (const told of toldBy(event)) lines.push(lineOf(event, project, told, at));
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

/** The fields of a line in which one event differs from the next. */
interface Told extends Partial<Pick<TrailLine, "type" | "file" | "decision" | "task">> {
  /** Null: nobody in particular. */
  readonly by: { readonly id: string | null; readonly agent?: string | null; readonly name: string } | null;
  readonly rule: string;
  readonly why: string;
}

function lineOf(event: KiteEvent, project: string, { by, ...told }: Told, at: number): TrailLine {
  const { id = null, agent = null, name = null } = by ?? {};
  const who = { at, event: event.event, id, agent, name, project };
  return { ...who, type: null, file: null, decision: "note", ...told };
}

function toldBy(event: KiteEvent): readonly Told[] {
  switch (event.event) {
    case "session_started":
      return [{ by: event, rule: "session", why: "its session began" }];
    case "session_lost":
      return [{ by: event, rule: "session", why: "no sign of life" }];
    case "session_ended": {
      const { cause: type } = event;
      // The hook of the session's end has a line of its own, with the reason that the client gave.
      if (type === "ended") return [];
      return [{ by: event, rule: "session", type, why: sessionEnds.get(type) ?? type }];
    }
    case "lock_queued": {
      const { waiter: by, holder, position, paths } = event;
      const why = `${holder === null ? "" : `behind ${holder.name}, `}queue position ${position}`;
      return paths.map(file => ({ by, rule: "lock", decision: "wait", file, why }));
    }
    case "lock_wait_ended": {
      const { waiter: by, cause: type, paths } = event;
      // The other causes refuse the request, and its line says why.
      if (type !== "disconnected") return [];
      const why = "gave up waiting: its connection closed";
      return paths.map(file => ({ by, rule: "lock", type, file, why }));
    }
    case "lost_update": {
      const { writer: by, holder, path: file } = event;
      const whose = holder === null ? "" : `; ${holder.name} has it now`;
      return [{ by, rule: "write", file, why: `wrote after its lock had passed on${whose}` }];
    }
    case "bypassed": {
      const { writer: by, holder, held, path: file } = event;
      const whose = held ? "holds it" : "has work in it that is not committed";
      const why = `changed by a shell command while ${holder.name} ${whose}`;
      return [{ by, rule: "write", type: "shell", file, why }];
    }
    case "work_taken": {
      const { how, command: type, commit, owner, by, paths } = event;
      const did = how === "committed" ? "committed" : "taken out of the working tree";
      const why = `${did}${commit === null ? "" : ` as ${commit}`}: it was uncommitted work of ${owner.name}`;
      return paths.map(file => ({ by, rule: "guard", type, file, why }));
    }
    case "declared": {
      const { by } = event;
      return event.mismatches.map(why => ({ by, rule: "declaration", why }));
    }
    case "declarations_overlap": {
      const [by, other] = event.sides;
      const why = `${by.name} declared it, ${other.name} had declared it before`;
      return [{ by, rule: "declaration", file: event.paths[0], why }];
    }
    case "merge_risk": {
      const [a, b] = event.sides;
      const why = `${a.name} has work in it in ${a.worktree}, ${b.name} in ${b.worktree}`;
      return [a, b].map(by => ({ by, rule: "merge", file: `${by.worktree}/${event.file}`, why }));
    }
    case "spawn_changed": {
      const by = event.session === null ? null : { id: event.session, name: event.name };
      const state = event.state.replaceAll("_", " ");
      return [
        {
          by,
          rule: "spawn",
          type: event.state,
          why: `spawned agent ${event.name} (${event.spawn}): ${state}`,
        },
      ];
    }
    case "hold_began": {
      const why = `froze it for ${Math.ceil(event.lastsMs / 1000)} s`;
      const by = event.by ?? { id: null, name: person };
      return event.paths.map(file => ({ by, rule: "freeze", file, why }));
    }
    case "hold_ended": {
      const { cause: type } = event;
      const why = `the freeze ended: ${freezeEnds.get(type) ?? type}`;
      return event.paths.map(file => ({ by: null, rule: "freeze", type, file, why }));
    }
    case "merge_changed": {
      const { merge, base, branch, state, commit, reason } = event;
      const more = [commit?.slice(0, 7), reason].filter(one => one !== null && one !== undefined).join(": ");
      const by = event.by ?? { id: null, name: person };
      const why = `${merge} ${shortName(branch)} into ${shortName(base)}: ${state}${more === "" ? "" : ` (${more})`}`;
      return [{ by, rule: "merge", type: state, why }];
    }
    case "task_claimed": {
      const { cause: type, by, task } = event;
      // A request that claimed the task has a line of its own.
      return type === undefined ? [] : [{ by, rule: "task", type, task, why: `it was spawned for ${task}` }];
    }
    case "task_released":
    case "task_failed": {
      const { cause: type, by, task } = event;
      // A request that released or failed the task has a line of its own.
      const ended = type === undefined ? undefined : sessionEnds.get(type);
      if (ended === undefined || type === undefined || by === null) return [];
      const now = event.event === "task_failed" ? "has failed: too many attempts" : "can be claimed again";
      return [{ by, rule: "task", type, task, why: `${ended}, ${task} ${now}` }];
    }
    default:
      return [];
  }
}
