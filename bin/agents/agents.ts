/** `kite agent` shows one agent on a screen, and `kite rename` gives one another name. */

import type { Command } from "commander";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { readTrail } from "../../daemon/trail/read.ts";
import { limits } from "../../protocol/limits.ts";
import type { DeclarationRow } from "../../protocol/schemas/declaration.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { actingSession } from "../context/actor.ts";
import { agentCalled, agentElsewhere, agentsOf, type NamedAgent, noAgent } from "../context/caller.ts";
import { refuseAgent } from "../context/person.ts";
import { type Client, type ProcessContext, type Run, screenOf } from "../context/process-context.ts";
import { projectOf } from "../context/project.ts";
import { numbering, type Worded } from "../context/task-numbers.ts";
import { terminalTexts, titlesFor } from "../context/terminals.ts";
import { fail, granted, printDone, printShown, rowsOf, withDaemon } from "../context/with-daemon.ts";
import { leadRoles, spawnOutput } from "../leading.ts";
import { trailFlushed } from "../trail/explained.ts";
import { logLines } from "../trail/sentences.ts";
import { declarationFields, summaryOf } from "../view/declarations.ts";
import { features } from "../view/features.ts";
import { Places, projectName, tilde, whereabouts } from "../view/places.ts";
import { statusText } from "../view/sessions.ts";
import { standing } from "../view/task-names.ts";
import {
  clean,
  clock,
  counted,
  cut,
  duration,
  type Field,
  fieldLines,
  type OneAgent,
  paint,
  type Screen,
  widthOf,
  wrap,
} from "../view/text.ts";

// The output of `kite agent`.

interface AgentData {
  readonly agent: NamedAgent;
  /** Null: the session ended meanwhile. */
  readonly session: SessionRow | null;
  readonly declaration: DeclarationRow | null;
  readonly locks: readonly LockRow[];
  readonly waits: readonly LockRow[];
  /** The tasks that it has claimed. */
  readonly tasks: readonly TaskRow[];
  readonly unread: number;
  /** The latest ones, in order. */
  readonly decisions: readonly TrailLine[];
}

interface HistoryData {
  readonly agent: NamedAgent;
  readonly isLive: boolean;
  /** Declarations that ended, oldest first, as all lists here. */
  readonly declarations: readonly DeclarationRow[];
  readonly tasks: readonly TaskRow[];
  readonly decisions: readonly TrailLine[];
}

/** Longest result of a task in a history, in columns. */
const resultColumns = 200;
const locksShownMax = 10;
/** A title stays on one line, or its rest would stand where a line of Kite's own begins. */
const aboutMargin = 24;
const aboutColumnsMin = 12;

/** What is said besides the rows. */
interface AgentWords {
  /** Puts numbers for the ids of tasks. */
  readonly worded?: Worded;
  /** Whether it is held to its role; null: nothing to say. */
  readonly held: string | null;
  /** The terminal of its session's process; null: it has none, or nobody can tell. */
  readonly terminal: string | null;
  /** What its session is about, for a person's screen; null: nothing says, or an agent reads. */
  readonly title: string | null;
}

/** One agent on one screen; files are relative to `cwd`. */
function agentView(data: AgentData, cwd: string, screen: Screen, words: AgentWords): string[] {
  const fields = [
    ...placeFields(data, screen, words),
    ...declaredFields(data, cwd),
    ...lockFields(data, screen),
    ...dueFields(data),
  ];
  return [
    heading(data.agent, data.session === null ? "ended" : statusOf(data, data.session), screen),
    ...fieldLines(fields, screen),
    ...decisionLines(data.decisions, screen, words.worded),
  ];
}

/** The same without its locks and the decisions about it. */
function agentCard(data: AgentData, cwd: string, screen: Screen, words: AgentWords): string[] {
  const fields = [...placeFields(data, screen, words), ...declaredFields(data, cwd), ...dueFields(data)];
  return fieldLines(fields, screen);
}

function declaredFields({ declaration }: AgentData, cwd: string): readonly Field[] {
  return declaration === null ? [["declared", "nothing"]] : declarationFields(declaration, cwd);
}

function dueFields({ tasks, unread }: AgentData): readonly Field[] {
  return [
    ["claimed", tasks.map(task => `#${task.number} ${task.description}`)],
    ["messages", unread === 0 ? null : `${unread} unread`],
  ];
}

/** What an agent declared before, finished, and how Kite decided on its requests. */
function historyView(
  { agent, isLive, declarations, tasks, decisions }: HistoryData,
  screen: Screen,
  worded?: Worded,
): string[] {
  const declared = declarations.flatMap(row => [
    ...wrap(`${clock(row.declaredAt, screen.now)}  ${summaryOf(row)}`, screen.width - 2, 10),
  ]);
  const finished = tasks.flatMap(task => {
    const result = task.result === null ? "" : `: ${cut(clean(task.result), resultColumns)}`;
    const line = `${clock(task.updatedAt, screen.now)}  ${standing(task)}  #${task.number} ${clean(task.description)}${result}`;
    return wrap(line, screen.width - 2, 10);
  });
  return [
    heading(agent, isLive ? "live" : "ended", screen),
    ...section("Declared before", declared, screen),
    ...section("Finished tasks", finished, screen),
    ...decisionLines(decisions, screen, worded),
  ];
}

function heading({ name, id, agent }: NamedAgent, status: string, screen: Screen): string {
  const ids = agent === null ? clean(id) : `${clean(id)}, agent ${clean(agent)}`;
  const shown = cut(clean(name), screen.width);
  const rest = cut(`  ${status}  ${ids}`, Math.max(0, screen.width - widthOf(shown)));
  return paint(screen, "bold", shown) + paint(screen, "dim", rest);
}

function statusOf({ agent }: AgentData, session: SessionRow): string {
  const own = within(session, agent);
  if (own === undefined) return "ended";
  const lives = features.map(feature => feature.life?.(own) ?? null);
  return lives.find(life => life !== null) ?? (own === session ? statusText(session) : own.status);
}

function within(session: SessionRow, { agent }: NamedAgent): OneAgent | undefined {
  return agent === null ? session : session.agents.find(one => one.agent === agent);
}

/** Where it works, and what it waits for a person for. */
function placeFields(
  { agent, session }: AgentData,
  screen: Screen,
  { held, terminal, title }: AgentWords,
): Field[] {
  if (session === null) return [["project", projectName(agent.project)]];
  const on = terminal === null ? "" : ` on ${clean(terminal)}`;
  const pid = session.pid === null ? "no process" : `pid ${session.pid}${on}`;
  const since = `since ${clock(session.registeredAt, screen.now)}`;
  const client = session.client === undefined ? [] : [clean(session.client)];
  const seen = `seen ${duration(session.lastSeenMs)} ago`;
  return [
    ["session", [clean(session.name), ...client, pid, since, seen].join(", ")],
    [
      "about",
      title === null
        ? null
        : `"${cut(clean(title).replaceAll('"', "'"), Math.max(aboutColumnsMin, screen.width - aboutMargin))}"`,
    ],
    ["project", projectName(session.project)],
    ["branch", whereabouts(session)],
    ["directory", tilde(session.cwd, screen.home)],
    ...features
      .flatMap(feature => feature.fields?.(session, within(session, agent)) ?? [])
      .map(
        (field): Field => (field[0] === "role" && held !== null ? ["role", `${field[1]}, ${held}`] : field),
      ),
  ];
}

function lockFields({ session, locks, waits, agent }: AgentData, screen: Screen): Field[] {
  const places = new Places(session === null ? [] : [session], [...locks, ...waits], screen.home);
  const held = locks.slice(0, locksShownMax).map(lock => {
    const queue = lock.waiters.length === 0 ? "" : `, ${counted(lock.waiters.length, "waiter")}`;
    return `${places.lock(lock)} for ${duration(lock.heldMs)}${queue}`;
  });
  const waited = waits.slice(0, locksShownMax).map(lock => {
    const own = lock.waiters.find(one => one.id === agent.id && one.agent === agent.agent);
    const behind = lock.holder === null ? "" : ` behind ${clean(lock.holder.name)}`;
    return `${places.lock(lock)}${behind}, ${duration(own?.waitedMs ?? 0)}`;
  });
  const more = (all: readonly LockRow[]) =>
    all.length <= locksShownMax ? [] : [`and ${all.length - locksShownMax} more`];
  return [
    ["holds", [...held, ...more(locks)]],
    ["waits for", [...waited, ...more(waits)]],
  ];
}

function decisionLines(decisions: readonly TrailLine[], screen: Screen, worded?: Worded): string[] {
  const lines = decisions.flatMap(line => logLines(line, { ...screen, width: screen.width - 2 }, worded));
  return section("Latest decisions", lines, screen);
}

function section(title: string, lines: readonly string[], screen: Screen): string[] {
  return lines.length === 0 ? [] : ["", paint(screen, "bold", title), ...lines.map(line => `  ${line}`)];
}

// `kite agent`: all that is known of one agent, now or before.

/** Decisions shown of a live agent, and in a history. */
const decisionsMax = 5;
const pastDecisionsMax = 30;
/** Ended declarations and finished tasks of a history. */
const pastDeclarationsMax = 10;
const pastTasksMax = 20;

interface AgentFlags {
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

const help = `
NAME is a session's name, the name of an agent within it (alice/Explore), an id, or the beginning of one. Of an agent
that has ended there is only a history: what it declared, which tasks it finished, and the latest decisions about it.

Of a spawned agent, --log prints what its client printed last, and --diff what it changed since its branch began.

--json: {"agent":{"id","agent","name","project"}, "session", "declaration", "locks":[...], "waits":[...], "tasks":[...],
"unread", "decisions":[...]}; a history is {"agent", "isLive", "declarations":[...], "tasks":[...], "decisions":[...]}.

Exit codes: 0 done, 1 refused (no such agent, or several), 3 no daemon runs.

Examples:
  $ kite agent alice
  $ kite agent alice/Explore
  $ kite agent alice --history`;

export function add(command: Command, run: Run): void {
  command
    .argument("<name>", "the agent's name, its id, or the beginning of its id")
    .option("--history", "show what it declared and finished before")
    .option("--log", "print what a spawned agent's client printed last")
    .option("--diff", "print what a spawned agent changed in its worktree")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((name: string, flags: AgentFlags) => run(world => showAgent(world, name, flags)));
}

/** Shows an agent, its history, or what a spawned one printed or changed. Returns the exit code. */
export async function showAgent(world: ProcessContext, name: string, flags: AgentFlags): Promise<number> {
  if (flags.log !== true && flags.diff !== true) return agent(world, name, flags);
  const { showDiff, showLog } = await spawnOutput();
  return (flags.diff === true ? showDiff : showLog)(world, name, flags.json === true);
}

// `kite rename`: gives a session another name.

interface RenameFlags {
  readonly project?: string;
  readonly json?: boolean;
}

/** Returns the exit code. With one name an agent renames its own session. */
export async function rename(
  world: ProcessContext,
  first: string,
  second: string | undefined,
  flags: RenameFlags,
): Promise<number> {
  const json = flags.json === true;
  const acting = actingSession(world.env);
  const of = second === undefined ? acting?.id : first;
  if (of === undefined) return fail(world, json, "usage", `say which session: kite rename SESSION ${first}`);
  const refused = await refuseAgent(world, json, "rename");
  if (refused !== null) return refused;
  const project = flags.project ?? (await projectOf(world.cwd));
  return withDaemon(world, json, async client => {
    const found = await client.request("session_rename", { ...acting, of, name: second ?? first, project });
    const isGone = !found.ok && found.code === "recipient_gone";
    const there = isGone ? await agentElsewhere(client, of, project) : null;
    if (there !== null) throw there;
    const answer = granted(found);
    return printDone(world, json, answer, () => [
      `${clean(answer.was)} is called ${clean(answer.name)} now.`,
    ]);
  });
}

const helpRename = `
SESSION is a session's name, its id, or the beginning of one. The new name holds until the next rename, also when the
session ends and is resumed. With one name, an agent renames its own session.

--json: {"ok":true, "id", "name", "was", "project"}, or the refusal.

Exit codes: 0 done, 1 refused (no such session, or several, or another one has the name), 3 no daemon runs.

Examples:
  $ kite rename calm-otter alice
  $ kite rename calm alice`;

export function addRename(command: Command, run: Run): void {
  command
    .argument(
      "<session>",
      "the session's name, its id, or the beginning of one; or the new name of your own session",
    )
    .argument("[name]", "its new name: letters, digits, dots, dashes and underscores")
    .option("--project <project>", "another project than that of the working directory")
    .option("--json", "print one JSON object")
    .addHelpText("after", helpRename)
    .action((session: string, name: string | undefined, flags: RenameFlags) =>
      run(world => rename(world, session, name, flags)),
    );
}
