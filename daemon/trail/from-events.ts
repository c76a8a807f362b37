import type { CoreEvent } from "../core/outcome.ts";
import type { TrailLine } from "./trail.ts";

/** Why a lock ended that its holder did not release, for people. Releases have their own lines. */
const causes: ReadonlyMap<string, string> = new Map([
  ["yielded", "others waited and it was not touched, so it passed on"],
  ["anchor_gone", "its process is gone, the lock is free"],
  ["lease over", "not touched for long, the lock is free"],
  ["lost", "nothing was heard of the session, the lock is free"],
  ["disconnected", "its connection closed, the lock is free"],
  ["revoked", "taken away by force"],
]);

/** Why a claim ended that its owner did not release. */
const sessionEnds: ReadonlyMap<string, string> = new Map([
  ["anchor_gone", "its process is gone"],
  ["lost", "nothing was heard of the session for a day"],
  ["deregistered", "its session ended"],
  ["ended", "its session ended"],
]);

/**
 * Returns the trail lines for decisions without a request: locks and claims that expired, writes that came too late.
 */
export function trailOf(events: readonly CoreEvent[], at: number): TrailLine[] {
  const lines: TrailLine[] = [];
  for (const { event, project } of events) {
    if (event.event === "lock_released") {
      const why = causes.get(event.cause);
      if (why === undefined) continue;
      const line = { at, event: event.event, ...event.holder, project, type: event.cause } as const;
      for (const file of event.paths) lines.push({ ...line, file, decision: "note", why });
    } else if (event.event === "lost_update") {
      const whose = event.holder === null ? "" : `; ${event.holder.name} has it now`;
      const why = `wrote after its lock had passed on${whose}`;
      const line = { at, event: event.event, ...event.writer, project, type: null } as const;
      lines.push({ ...line, file: event.path, decision: "note", why });
    } else if (event.event === "bypassed") {
      const whose = event.held ? "holds it" : "has work in it that is not committed";
      const why = `changed by a shell command while ${event.holder.name} ${whose}`;
      const line = { at, event: event.event, ...event.writer, project, type: "shell" } as const;
      lines.push({ ...line, file: event.path, decision: "note", why });
    } else if (event.event === "work_taken") {
      const { how, command, commit, owner, by } = event;
      const did = how === "committed" ? "committed" : "taken out of the working tree";
      const why = `${did}${commit === null ? "" : ` as ${commit}`}: it was uncommitted work of ${owner.name}`;
      const line = { at, event: event.event, ...by, project, type: command } as const;
      for (const file of event.paths) lines.push({ ...line, file, decision: "note", why });
    } else if (event.event === "declarations_overlap") {
      const [a, b] = event.sides;
      const why = `${a.name} declared it, ${b.name} had declared it before`;
      const line = { at, event: event.event, ...a, project, type: null } as const;
      lines.push({ ...line, file: event.paths[0], decision: "note", why });
    } else if (event.event === "merge_risk") {
      const [a, b] = event.sides;
      const why = `${a.name} has work in it in ${a.worktree}, ${b.name} in ${b.worktree}`;
      const line = { at, event: event.event, ...a, project, type: null } as const;
      lines.push({ ...line, file: event.file, decision: "note", why });
    } else if (event.event === "task_released" || event.event === "task_failed") {
      const { cause, by, task } = event;
      const ended = cause === undefined ? undefined : sessionEnds.get(cause);
      if (ended === undefined || cause === undefined || by === null) continue;
      const now = event.event === "task_failed" ? "has failed: too many attempts" : "can be claimed again";
      const line = { at, event: event.event, ...by, project, type: cause } as const;
      lines.push({ ...line, file: null, decision: "note", why: `${ended}, ${task} ${now}` });
    }
  }
  return lines;
}
