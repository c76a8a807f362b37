/** How the client names a session's agents, and which of them are gone. */
import { type Event, within } from "./payload.ts";

/** Who acts: a session's main agent, or an agent within it; `pid` is the client's process. */
export interface Actor {
  readonly session: string;
  readonly agent?: string;
  readonly pid?: number;
}

/** A subagent's id is `a` and 16 hex digits; a teammate's has its name in between: `aalice-5d0b10a1332e636f`. */
export function isSubagent(agent: string): boolean {
  return /^a[0-9a-f]{16}$/.test(agent);
}

/** Whether it is the id of a teammate of this name within its lead's process. */
export function isTeammate(agent: string, name: string): boolean {
  return (
    !isSubagent(agent) && agent.length === name.length + 18 && agent.startsWith(`a${name}-`) && isAgent(agent)
  );
}

/** The client names a team after its lead's session. */
export function teamOf(session: string): string {
  return `session-${session.slice(0, 8)}`;
}

/** Whether it can be an agent's id; other tasks of the client have ids, too. */
export function isAgent(id: string): boolean {
  return /^a(?:.*-)?[0-9a-f]{16}$/s.test(id);
}

/** A subagent takes over locks of the main agent; a teammate has no ancestors. */
export function ancestorsOf(agent: string | undefined): readonly null[] {
  return agent !== undefined && isSubagent(agent) ? [null] : [];
}

/** The file in which the client keeps a subagent's parent, beside the session's transcript; null if there is none. */
export function parentFile(event: Event, { session, agent }: Actor): string | null {
  const { transcript } = event;
  if (agent === undefined || !isSubagent(agent) || transcript === null) return null;
  const folder = transcript.slice(0, transcript.lastIndexOf("/"));
  return `${folder}/${session}/subagents/agent-${agent}.meta.json`;
}

/**
 * Which agents are gone when the main agent stops, by the tasks that still run; null if these do not tell.
 *
 * A subagent that does not run has ended, unless a teammate or a background agent may wait for it: the client does not
 * list what these wait for. It lists teammates under other ids than their own, so teammates do not count as gone.
 */
export function goneAgents(event: Event): ((agent: string) => boolean) | null {
  const tasks = event.raw["background_tasks"];
  if (!Array.isArray(tasks) || !tasks.every(isShell)) return null;
  return isSubagent;
}

/** Only shells are known to begin no agents. */
function isShell(task: unknown): boolean {
  return within(task, "type") === "shell";
}
