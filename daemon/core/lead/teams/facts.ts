/** What the rules of a team look at: facts that the daemon gathered for one call. */
import type { NativeTask, TaskChange } from "../../../../hooks/seam/teams.ts";
import type { TaskBrief } from "../../../../protocol/lead/team.ts";

/** `live`: Kite sees it live. `dead`: its process has ended. `unknown`: the client lists it, and Kite saw no event of it. */
export type MemberState = "live" | "dead" | "unknown";

/** Members by their own names. */
export type Members = ReadonlyMap<string, MemberState>;

/** Tasks of one list by their ids; a task that is not in it was deleted, or could not matter. */
export type Tasks = ReadonlyMap<string, NativeTask>;

/** Who makes the call. */
export interface Caller {
  /** Its name in the team; null if it has none. */
  readonly name: string | null;
  /** The member for which it works: itself, or the one that began it as a subagent; null if it is in no team. */
  readonly member: string | null;
  /** That member leads the team. */
  readonly isLead: boolean;
}

/** An agent at work on the task. */
export interface Worker {
  /** The member for which it works; null: it is in no team, or in another one. */
  readonly name: string | null;
  /** It is the caller, or works for the same member: a member and its subagents are one worker. */
  readonly isCaller: boolean;
}

export interface ChangeFacts {
  readonly change: TaskChange;
  readonly caller: Caller;
  readonly task: NativeTask;
  /** The task itself, and those that it depends on. */
  readonly tasks: Tasks;
  /** null: the caller is in no team, or its members could not be read. */
  readonly members: Members | null;
  /** A live agent that took the task by a call that Kite saw; null if none did. */
  readonly worker: Worker | null;
}

/** The name without what the client may add to it: its team, or a reference. */
export function bareName(name: string): string {
  return name.replace(/(?:@\S+| \[[^\]]*\])$/, "");
}

export function briefOf({ id, subject, owner, status }: NativeTask): TaskBrief {
  return { task: id, subject, owner, status };
}

/** The agent that owns the task once the change is made; the client gives a task that is begun to the one that begins it. */
export function nextOwner({
  change,
  caller,
  task,
}: Pick<ChangeFacts, "change" | "caller" | "task">): string | null {
  if (change.owner !== null) return change.owner === "" ? null : bareName(change.owner);
  return change.status === "in_progress" ? (caller.name ?? task.owner) : task.owner;
}
