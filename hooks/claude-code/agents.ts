/** How the client names a session's agents, and which of them are gone. */
import { limits } from "../../protocol/limits.ts";
import { type AgentEvent, type Event, type Worker, within } from "../plans/event.ts";

/** A subagent's id is `a` and 16 hex digits; a teammate's has its name in between: `aalice-5d0b10a1332e636f`. */
function isSubagent(agent: string): boolean {
  return /^a[0-9a-f]{16}$/.test(agent);
}

/** Whether it is the id of a teammate of this name within its lead's process. */
function isTeammate(agent: string, name: string): boolean {
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

/** Who acts in an event that names an agent. */
export function workerOf({ raw, session, agent, transcript }: AgentEvent): Worker {
  const name = raw["agent_type"];
  const isMate = typeof name === "string" && name.length <= limits.nameBytes && isTeammate(agent, name);
  return {
    isSubagent: isSubagent(agent),
    isTeammate: isAgent(agent) && !isSubagent(agent),
    teammate: isMate ? { name, team: teamOf(session ?? "") } : null,
    parentFile: parentFile(agent, session, transcript),
  };
}

/** The file in which the client keeps a subagent's parent, beside the session's transcript; null if there is none. */
function parentFile(agent: string, session: string | null, transcript: string | null): string | null {
  if (!isSubagent(agent) || session === null || transcript === null) return null;
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
