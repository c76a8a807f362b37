/** The client's own files on teams and tasks, and the words with which it starts a teammate's process. */

import { limits } from "../../protocol/limits.ts";
import { type AgentEvent, type Event, type Worker, within } from "../plans/event.ts";
import type {
  ClientProcess,
  ClientTeams,
  NativeLetter,
  NativeMember,
  NativeTask,
  NativeTeam,
  ProcessWords,
} from "../seam/teams.ts";

// How the client names a session's agents, and which of them are gone.

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
 * A subagent that does not run has ended, unless a teammate or a background agent may wait for it. The client does not
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

/** The name by which members call the lead. */
const leadName = "team-lead";

export const teamFiles: ClientTeams = {
  leadName,
  teamOf,
  processOf,
  teamFile: (home, team) => below(home, "teams", team, "config.json"),
  inboxFile: (home, team, member) => below(home, "teams", team, "inboxes", `${member}.json`),
  inboxesFolder: (home, team) => below(home, "teams", team, "inboxes"),
  tasksFolder: (home, list) => below(home, "tasks", list),
  taskFile: (home, list, task) => below(home, "tasks", list, `${task}.json`),
  taskOfFile: nameOfFile,
  memberOfFile: nameOfFile,
  team: text => teamIn(parsed(text)),
  task: text => taskIn(parsed(text)),
  letters: text => lettersIn(parsed(text)),
};

/** The client's folder: it keeps the session's transcript there. Null if the event does not tell. */
export function homeOf(event: Event): string | null {
  const transcript = event.transcript ?? "";
  const at = transcript.lastIndexOf("/projects/");
  return at > 0 && isFolder(transcript.slice(0, at)) ? transcript.slice(0, at) : null;
}

/** A name of the client is a name in its folders; others, for example with a slash, have no file. */
const plainName = /^[A-Za-z0-9][\w.-]*$/;

function below(home: string, ...names: readonly string[]): string | null {
  const fits = names.every(name => name.length <= limits.nameBytes && plainName.test(name));
  return fits && isFolder(home) ? [home, ...names].join("/") : null;
}

function isFolder(path: string): boolean {
  return path.startsWith("/") && path.length > 1 && !path.includes("/../") && !path.endsWith("/..");
}

function nameOfFile(file: string): string | null {
  const [, name] = /^([A-Za-z0-9][\w-]*)\.json$/.exec(file) ?? [];
  return name ?? null;
}

function processOf({ args, env }: ProcessWords): ClientProcess {
  const readFlag = (flag: string) => {
    const at = args.indexOf(flag);
    return at === -1 ? null : text(args[at + 1]);
  };
  const [name, team, lead] = [
    readFlag("--agent-name"),
    readFlag("--team-name"),
    readFlag("--parent-session-id"),
  ];
  const isWhole = name !== null && team !== null && lead !== null;
  const home = env === null ? null : (env("CLAUDE_CONFIG_DIR") ?? `${env("HOME") ?? ""}/.claude`);
  return {
    teammate: isWhole ? { name, team, lead } : null,
    list: text(env?.("CLAUDE_CODE_TASK_LIST_ID")),
    home: home !== null && isFolder(home) ? home : null,
  };
}

function teamIn(value: unknown): NativeTeam | null {
  const name = text(within(value, "name"));
  const members = within(value, "members");
  if (name === null || !Array.isArray(members)) return null;
  // All of them: one that is not listed is refused as an owner. The file's length bounds them.
  return { name, lead: text(within(value, "leadSessionId")), members: members.flatMap(memberIn) };
}

function memberIn(value: unknown): NativeMember[] {
  const name = text(within(value, "name"));
  if (name === null) return [];
  const pane = within(value, "tmuxPaneId");
  const isLead = pane === "leader" || within(value, "agentType") === leadName;
  const isHere = within(value, "backendType") === "in-process";
  return [{ name, backend: isLead ? "lead" : isHere ? "in_process" : "pane" }];
}

function taskIn(value: unknown): NativeTask | null {
  const id = text(within(value, "id"));
  const status = within(value, "status");
  if (id === null || (status !== "pending" && status !== "in_progress" && status !== "completed"))
    return null;
  return {
    id,
    status,
    subject: bounded(within(value, "subject"), limits.clientSubjectChars),
    description: bounded(within(value, "description"), limits.taskTextChars),
    owner: text(within(value, "owner")),
    blockedBy: namesIn(within(value, "blockedBy")),
  };
}

function lettersIn(value: unknown): readonly NativeLetter[] | null {
  if (!Array.isArray(value)) return null;
  return value.flatMap(letter => {
    const from = text(within(letter, "from"));
    if (from === null || within(letter, "read") === true) return [];
    const body = within(letter, "text");
    const isIdleNotice = typeof body === "string" && body.startsWith('{"type":"idle_notification"');
    return [{ from, isIdleNotice }];
  });
}

/** Names in a list, at most as many as a task may have dependencies. */
export function namesIn(value: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [];
  return all.slice(0, limits.teamDependenciesMax).flatMap(one => text(one) ?? []);
}

function bounded(value: unknown, max: number): string {
  return typeof value === "string" ? value.slice(0, max) : "";
}

function text(value: unknown): string | null {
  const fits = typeof value === "string" && value !== "" && value.length <= limits.nameBytes;
  return fits && !value.includes("\0") ? value : null;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // The client is just writing it; the daemon reads it again.
    return null;
  }
}
