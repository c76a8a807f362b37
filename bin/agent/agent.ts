/** `kite agent`: all that is known of one agent, now or before. */

import type { TrailLine } from "../../daemon/trail/line.ts";
import { readTrail } from "../../daemon/trail/read.ts";
import { limits } from "../../protocol/limits.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import { leadRoles } from "../leading.ts";
import type { Client, ProcessContext } from "../process-context.ts";
import { screenOf } from "../process-context.ts";
import { numbering, type Worded } from "../tasks/numbering.ts";
import { terminalTexts } from "../terminals.ts";
import { titlesFor } from "../titles.ts";
import { trailFlushed } from "../trail/flushed.ts";
import {
  type AgentData,
  type AgentWords,
  agentCard,
  agentView,
  type HistoryData,
  historyView,
  within,
} from "../view/agent.ts";
import { printShown, rowsOf, withDaemon } from "../with-daemon.ts";
import { agentCalled, agentsOf, type NamedAgent, noAgent } from "./named.ts";

/** Decisions shown of a live agent, and in a history. */
const decisionsMax = 5;
const pastDecisionsMax = 30;
/** Ended declarations and finished tasks of a history. */
const pastDeclarationsMax = 10;
const pastTasksMax = 20;

export interface AgentFlags {
  readonly history?: boolean;
  /** Of a spawned agent: what its client printed, or what it changed. */
  readonly log?: boolean;
  readonly diff?: boolean;
  readonly json?: boolean;
}

/** Shows one agent on a screen, or its history; of an agent that has ended there is only a history. Returns the exit code. */
export async function agent(world: ProcessContext, name: string, flags: AgentFlags): Promise<number> {
  return withDaemon(world, flags.json === true, async client => {
    await trailFlushed(world, client);
    const live = agentsOf(await rowsOf(client, "sessions"));
    const known = await agentCalled(world, live, name);
    if (known !== null && flags.history !== true) {
      const data = await present(world, client, known);
      const words = { ...(await wordsOf(world, client, data)), worded: await wordedFor(world, client, data) };
      return printShown(world, flags.json === true, data, screen =>
        agentView(data, world.cwd, screen, words),
      );
    }
    const found = known ?? (await agentCalled(world, await pastAgents(world, client), name));
    if (found === null) throw await noAgent(client, live, name);
    const data = await past(world, client, found, known !== null);
    const worded = await wordedFor(world, client, data);
    return printShown(world, flags.json === true, data, screen => historyView(data, screen, worded));
  });
}

/** Returns whether a live agent is held to its role, in words, if there is something to say. */
async function heldOf(client: Client, { session, agent }: AgentData): Promise<string | null> {
  const own = session === null ? undefined : within(session, agent);
  if (session === null || own?.role === undefined) return null;
  const { heldToRole } = await leadRoles();
  return heldToRole(client, session.project, own);
}

/** Returns what puts numbers for the tasks that the decisions about an agent name. */
function wordedFor(
  world: ProcessContext,
  client: Client,
  { decisions }: Pick<AgentData, "decisions">,
): Promise<Worded> {
  return numbering(world, client, decisions.map(({ why = "" }) => why).join(" "));
}

/** Returns where a live agent works, what it declared and has to do and read, as lines; none if no live one has that name. */
export async function cardOf(world: ProcessContext, client: Client, name: string): Promise<string[]> {
  const known = await agentCalled(world, agentsOf(await rowsOf(client, "sessions")), name);
  if (known === null) return [];
  const data = await present(world, client, known);
  return agentCard(data, world.cwd, screenOf(world), await wordsOf(world, client, data));
}

async function wordsOf(world: ProcessContext, client: Client, data: AgentData): Promise<AgentWords> {
  const { pid = null } = data.session ?? {};
  const terminal = pid === null ? null : (terminalTexts([pid]).get(pid) ?? null);
  const titles = await titlesFor(world, client);
  return { held: await heldOf(client, data), terminal, title: titles?.get(data.agent.id) ?? null };
}

async function present(world: ProcessContext, client: Client, of: NamedAgent): Promise<AgentData> {
  const { id, agent: part, name, project } = of;
  const isOf = (one: { readonly id: string; readonly agent: string | null } | null) =>
    one !== null && one.id === id && one.agent === part;
  const [[session], locks, declarations, tasks, messages, decisions] = await Promise.all([
    rowsOf(client, "sessions", { id }),
    rowsOf(client, "locks"),
    rowsOf(client, "declarations", { id }),
    rowsOf(client, "tasks", { assignee: id, status: "active" }),
    rowsOf(client, "messages", { id }),
    trailOf(world, of, decisionsMax),
  ]);
  return {
    agent: { id, agent: part, name, project },
    session: session ?? null,
    declaration: declarations.find(isOf) ?? null,
    locks: locks.filter(({ holder }) => isOf(holder)),
    waits: locks.filter(({ waiters }) => waiters.some(isOf)),
    tasks: ownTasks(tasks, of),
    unread: messages.filter(({ to }) => to.some(one => isOf(one) && one.state === "unread")).length,
    decisions,
  };
}

async function past(
  world: ProcessContext,
  client: Client,
  of: NamedAgent,
  isLive: boolean,
): Promise<HistoryData> {
  const { id, agent: part, name, project } = of;
  const [declarations, done, failed, decisions] = await Promise.all([
    rowsOf(client, "declarations_ended", { id }),
    rowsOf(client, "tasks", { assignee: id, status: "done" }),
    rowsOf(client, "tasks", { assignee: id, status: "failed" }),
    trailOf(world, of, pastDecisionsMax),
  ]);
  const finished = ownTasks([...done, ...failed], of).sort((a, b) => a.updatedAt - b.updatedAt);
  return {
    agent: { id, agent: part, name, project },
    isLive,
    declarations: declarations.filter(row => row.agent === part).slice(-pastDeclarationsMax),
    tasks: finished.slice(-pastTasksMax),
    decisions,
  };
}

function ownTasks(tasks: readonly TaskRow[], { agent: part }: NamedAgent): TaskRow[] {
  return tasks.filter(task => task.assigneeAgent === part);
}

function trailOf(
  { paths }: ProcessContext,
  { id, agent: part }: NamedAgent,
  limit: number,
): Promise<TrailLine[]> {
  return readTrail(paths.trail, { limit, filter: line => line.id === id && line.agent === part });
}

/** Agents that declared something and ended, or that the trail names; each once, by its latest name. */
async function pastAgents({ paths }: ProcessContext, client: Client): Promise<NamedAgent[]> {
  const [declarations, lines] = await Promise.all([
    rowsOf(client, "declarations_ended"),
    readTrail(paths.trail, {
      limit: limits.trailReadMax,
      filter: line => line.id !== null && line.name !== null,
    }),
  ]);
  const found = new Map<string, NamedAgent>();
  for (const { id, agent: part, name, project } of [...declarations, ...lines]) {
    if (id !== null && name !== null)
      found.set(`${id}\n${part ?? ""}`, { id, agent: part, name, project: project ?? "" });
  }
  return [...found.values()];
}
