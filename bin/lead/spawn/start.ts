/** Starts an agent: records it, makes its worktree if need be, and runs its client. Used by the command and the tool. */

import { isAbsolute } from "node:path";
import { loadConfig } from "../../../daemon/config/config.ts";
import { roleNamed } from "../../../daemon/core/lead/declarations.ts";
import {
  backgroundWords,
  clientName,
  clientProgram,
  handleIn,
  isUnknownSession,
  type SpawnOrder,
  stopWords,
  terminalWords,
} from "../../../hooks/claude-code/spawn.ts";
import { codexSpawn, copilotSpawn, geminiSpawn, opencodeSpawn } from "../../../hooks/clients/clients.ts";
import { asksForTrust, clientName as codexName } from "../../../hooks/install/codex.ts";
import type { TerminalClient, TerminalOrder } from "../../../hooks/seam/plan.ts";
import { type GateMode, gatesFor, heldTo, rightsOf } from "../../../protocol/lead/roles.ts";
import type { SpawnRow, StalledSetting } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import { personName } from "../../../protocol/names.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import { frame, nearest, plain, quote } from "../../../protocol/text.ts";
import { knownClients } from "../../context/clients-here.ts";
import type { Client } from "../../context/process-context.ts";
import {
  type Env,
  neededProgram,
  outputEnd,
  ProgramFailed,
  runProgram,
  withoutSession,
} from "../../context/programs.ts";
import { ask, rowsOf } from "../../context/with-daemon.ts";
import { defined } from "../../entry.ts";
import { taskNamed } from "../../view/task-names.ts";
import { clean } from "../../view/text.ts";
import { gatesIn } from "../roles.ts";
import { addWorktree, baseOf, freePlace, Git, headOf, type Place } from "./git.ts";
import { handleOf, hasEnded } from "./record.ts";
import { Tmux } from "./tmux.ts";

// What a spawned agent is told of itself, in its client's system prompt.

interface Briefing {
  readonly row: SpawnRow;
  /** What its task is called in its project, and its description, if it has a task. */
  readonly task: { readonly named: string; readonly description: string } | null;
  /** Whether Kite holds it to the role that it begins with. */
  readonly mode: GateMode;
  /** Agents that worked at it before, the latest first. */
  readonly earlier: readonly SpawnRow[];
  /** Whether it works in a worktree of its own. */
  readonly isApart: boolean;
}

/** Returns the text; words of others are quoted in a frame that says so. */
export function briefingOf({ row, task, mode, earlier, isApart }: Briefing): string {
  const { name, role, parent } = row;
  const who = parent === null ? personName("agent") : `the agent ${quote(parent.name)}`;
  const own = [
    `You are ${name}, an agent that ${who} started with Kite.${role === null ? "" : roleText(role, mode)}`,
    isApart
      ? "You work in a git worktree of your own. Commit your work on its branch; others merge it."
      : "You work in the same directory as others. Kite tells you if they hold a file.",
    ...(task === null
      ? []
      : [
          `Your task is ${task.named}; Kite claims it for you when you start. When it is done, say so with its result ` +
            `(kite_task_complete, or: kite task done ${task.named} RESULT). If you cannot do it, say why (kite_task_fail, or: kite task fail ${task.named} REASON).`,
        ]),
    "Nobody may be watching. If you need an answer, ask for it in a message (kite_message), and say in your last words what you did.",
  ];
  const known = [
    ...(task === null ? [] : [`the task: ${quote(task.description, limits.taskTextChars)}`]),
    ...earlier.slice(0, limits.spawnEarlierMax).map(earlierLine),
  ];
  return [own.join("\n"), ...(known.length === 0 ? [] : [frame, ...known.map(line => `- ${line}`)])].join(
    "\n",
  );
}

/** A word that names no role of Kite's is only told. */
function roleText(word: string, mode: GateMode): string {
  const role = roleNamed(word);
  const what = role === null ? "" : ` As ${role}, ${rightsOf(role)}. ${heldTo(role, mode)}.`;
  return ` Your role is ${word}.${what}`;
}

/** Returns the agents that had the task or the place of this one before, the latest first. */
function earlierOf(row: SpawnRow, others: readonly SpawnRow[]): SpawnRow[] {
  const place = new Set<string>();
  for (let at: SpawnRow | undefined = row; at?.replaces != null && !place.has(at.replaces); ) {
    const before: string = at.replaces;
    place.add(before);
    at = others.find(one => one.id === before);
  }
  const isEarlier = ({ id, task }: SpawnRow) => place.has(id) || (row.task !== null && task === row.task);
  return others.filter(one => one.id !== row.id && isEarlier(one)).reverse();
}

/** The prompt of an agent that was spawned with a task and no words. */
export function promptOf(task: string, description: string): string {
  return `Do task ${task}: ${quote(description, limits.taskTextChars)}`;
}

function earlierLine({ name, branch, state, reason, output }: SpawnRow): string {
  const where = branch === null ? "" : ` on branch ${quote(branch)}`;
  const why = reason === null ? "" : `: ${quote(reason, limits.spawnReasonChars)}`;
  const lastWords = output === null ? "" : `; it said last ${quote(output.slice(-limits.quoteChars))}`;
  return `an earlier agent, ${name}, worked at it${where} and is ${state}${why}${lastWords}`;
}

// Ends the client of a spawned agent, in its client's own way or by closing its window.

interface Where {
  readonly env: Env;
  readonly cwd: string;
}

/** Returns when the client has ended, or was told to; at once if it never started. Throws `ProgramFailed` if it cannot be ended. */
export async function endClient({ env, cwd }: Where, row: SpawnRow): Promise<void> {
  const { backend, id, name } = row;
  if (backend === "tmux") {
    const tmux = new Tmux(env, cwd, row.handle);
    const pane = await tmux.find(id);
    if (pane !== null) await tmux.close(pane);
    return;
  }
  const handle = handleOf(row);
  if (handle === null) return;
  const own = withoutSession(env);
  const ran = await runProgram(neededProgram(clientProgram, own, cwd), stopWords(handle), { cwd, env: own });
  if (ran.code === 0 || isUnknownSession(ran.output)) return;
  const detail = clean(ran.output).slice(0, limits.quoteChars);
  throw new ProgramFailed(`${clientProgram} could not stop ${name}: ${detail}`, ran.output);
}

// The clients that Kite can start in a window by their adapters' own words.

const terminalClients: readonly TerminalClient[] = [codexSpawn, opencodeSpawn, copilotSpawn, geminiSpawn];

// Other agents' clients: by the words of a command in the user's own configuration, else by what Kite knows of the client.

/** What the words of a command may name, in braces. */
interface Filled {
  readonly prompt: string;
  readonly name: string;
  readonly briefing: string;
  readonly model: string | null;
  readonly role: string | null;
  readonly task: string | null;
  readonly place: Place | null;
}

interface Template {
  /** The client's hooks tell which session the agent is; else Kite registers one for it. */
  readonly isHooked: boolean;
  /** What a person is to know of the client before the agent of this name works, as a sentence; null: nothing. */
  readonly warning: (agent: string) => string | null;
  /**
   * Returns the command's words. Leaves out a word that is only a placeholder without a value. If only its value makes
   * a word begin with `-`, a blank comes before it, so that no client takes it for an option.
   */
  readonly words: (filled: Filled) => string[];
}

/** Returns the template of a client; null for Claude Code, which needs none. Throws `ProgramFailed` for an unknown one. */
export async function templateOf(
  client: string,
  { env, cwd, paths }: { readonly env: Env; readonly cwd: string; readonly paths: KitePaths },
): Promise<Template | null> {
  if (client === clientName) return null;
  // The user's file alone: a project's may name no program.
  const { values } = await loadConfig({ env, paths });
  const words = Object.hasOwn(values.spawn, client) ? values.spawn[client] : undefined;
  const own = terminalClients.find(({ name }) => name === client);
  if (words === undefined && own !== undefined) {
    const program = neededProgram(own.program, env, cwd);
    const isHooked = knownClients.some(one => one.name === client && one.isConnected({ env, paths }));
    const asks = client === codexName && asksForTrust(paths, env);
    const warning = (agent: string) => {
      if (!isHooked)
        return `${client} is not connected to Kite, so nothing holds its edits back; connect it: kite install --client ${client}`;
      if (!asks) return null;
      return `${client} does not trust Kite's hooks yet, so ${agent} begins only when somebody answers its question in its window: kite agents attach ${agent}. It no longer asks after kite install --client ${client} --trust`;
    };
    return { isHooked, warning, words: filled => [program, ...own.words(orderFor(filled))] };
  }
  if (words === undefined) {
    const known = [clientName, ...terminalClients.map(({ name }) => name), ...Object.keys(values.spawn)];
    const meant = nearest(client, known);
    const hint = meant === null ? `known are ${known.join(", ")}` : `did you mean ${meant}?`;
    throw new ProgramFailed(`no client is called ${client}; ${hint}. Add it to spawn in ${paths.config}`);
  }
  const [first = "", ...rest] = words;
  const program = first.includes("/") ? first : neededProgram(first, env, cwd);
  return { isHooked: false, warning: () => null, words: filled => [program, ...wordsOf(rest, filled)] };
}

/** These clients have no place for a system prompt of one session: the briefing comes behind the prompt. */
function orderFor({ name, prompt, briefing, model }: Filled): TerminalOrder {
  const text = `${prompt}\n\n${briefing}`;
  return { name, prompt: text.startsWith("-") ? ` ${text}` : text, model };
}

function wordsOf(words: readonly string[], filled: Filled): string[] {
  const { prompt, name, briefing, model, role, task, place } = filled;
  const values: Readonly<Record<string, string>> = {
    ...{ prompt, name, briefing, model: model ?? "", role: role ?? "", task: task ?? "" },
    ...{ worktree: place?.worktree ?? "", branch: place?.branch ?? "" },
  };
  return words.flatMap(word => {
    const argument = word.replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole);
    if (argument === "" && word !== "") return [];
    // The user's own words alone are options: an agent or a task may have written the value.
    return [argument.startsWith("-") && !word.startsWith("-") ? ` ${argument}` : argument];
  });
}

export interface SpawnPlan {
  /** Null: the task says it all. */
  readonly prompt: string | null;
  readonly name?: string;
  readonly role?: string;
  readonly lead?: true;
  readonly task?: string;
  readonly model?: string;
  readonly client?: string;
  /** Works in the requester's directory, not in a worktree. */
  readonly here: boolean;
  /** The worktree's branch begins there. */
  readonly from?: string;
  readonly tmux: boolean;
  /** The record of an agent that stalled and has ended, whose place this one takes. */
  readonly replaces?: string;
}

/** An agent that was started. */
export interface Started {
  readonly row: SpawnRow;
  /** What the user wants if it stalls. */
  readonly stalled: StalledSetting;
  /** What a person is to know of the agent's client; null: nothing. */
  readonly warning: string | null;
}

export interface Starter {
  readonly client: Pick<Client, "request" | "daemon">;
  /** The requester: `id` and `agent` of a session, or nothing for a person. */
  readonly actor: { readonly id?: string; readonly agent?: string };
  readonly project: string;
  readonly cwd: string;
  readonly env: Env;
  readonly paths: KitePaths;
}

/** What becomes known of the agent; each part is recorded at once, so that whatever fails later can be removed. */
type Note = (
  known: { readonly handle?: string; readonly pid?: number } & Partial<Place>,
) => Promise<SpawnRow>;

/** Starts an agent and returns its record. Throws `Refused` or, after the record has failed, `ProgramFailed`. */
export async function startAgent(starter: Starter, plan: SpawnPlan): Promise<Started> {
  const { client, actor, project } = starter;
  checkWords(plan);
  const template = await templateOf(plan.client ?? clientName, starter);
  const git = new Git(starter.env, starter.cwd);
  const head = plan.here ? null : await headOf(git);
  if (!plan.here && head === null)
    throw new ProgramFailed(
      `${starter.cwd} is in no git repository with a commit; use --here, or commit first`,
    );
  needClient(starter, plan, template);
  const base = head === null || plan.from === undefined ? head : await baseOf(git, plan.from);
  const { name, role, lead, task, model, replaces, prompt } = plan;
  const { spawn: row, stalled } = await ask(client, "spawn_create", {
    ...actor,
    project,
    backend: plan.tmux || template !== null ? "tmux" : "background",
    client: plan.client ?? clientName,
    reportsEnd: template === null,
    ...defined({ name, role, lead, task: task === undefined ? task : taskNamed(task), model, replaces }),
    ...(base === null ? {} : { base }),
    ...(prompt === null ? {} : { prompt: keptPrompt(prompt) }),
  });
  const note: Note = async known =>
    (await ask(client, "spawn_update", { ...actor, spawn: row.id, ...known })).spawn;
  try {
    const started = await run(starter, { plan, row, template, git, base, note });
    if (hasEnded(started)) await endLate(starter, started);
    return { row: started, stalled, warning: template?.warning(row.name) ?? null };
  } catch (error) {
    if (!(error instanceof ProgramFailed) || error instanceof EndedMeanwhile) throw error;
    const reason = plain(error.message, limits.spawnReasonChars);
    const output = error.output === "" ? {} : { output: outputEnd(error.output) };
    await ask(client, "spawn_update", { ...actor, spawn: row.id, state: "failed", reason, ...output });
    throw error;
  }
}

/** The agent's record ended while its client started. */
class EndedMeanwhile extends ProgramFailed {}

/** Ends the client of an agent that was stopped while it started, or took too long. Throws `EndedMeanwhile`. */
async function endLate({ env, cwd }: Starter, row: SpawnRow): Promise<never> {
  const { name, state } = row;
  try {
    await endClient({ env, cwd }, row);
  } catch (error) {
    if (!(error instanceof ProgramFailed)) throw error;
    throw new EndedMeanwhile(`${name} has ended (${state}) while its client started: ${error.message}`);
  }
  throw new EndedMeanwhile(`${name} has ended (${state}) while its client started, so its client was ended`);
}

interface Run {
  readonly plan: SpawnPlan;
  readonly row: SpawnRow;
  readonly template: Template | null;
  readonly git: Git;
  readonly base: string | null;
  readonly note: Note;
}

async function run(starter: Starter, { plan, row, template, git, base, note }: Run): Promise<SpawnRow> {
  const { cwd } = starter;
  const { here, from, model = null } = plan;
  const order = await orderOf(starter, plan, row);
  const free = here ? null : await freePlace(git, row.name);
  // The client makes its own worktree; git makes one that begins elsewhere, or is for another client.
  const made = free !== null && (from !== undefined || template !== null) ? free : null;
  // First: whoever prunes the record of a spawn that was killed finds what it made.
  if (free !== null) await note(free);
  if (made !== null) await addWorktree(git, made, base ?? "HEAD");
  const at = made?.worktree ?? cwd;
  const env = withoutSession(starter.env);
  if (template !== null) {
    const words = template.words({ ...order, model, role: row.role, task: row.task, place: made });
    const { isHooked } = template;
    return inTerminal(starter, { row, cwd: at, words, variables: order.variables, note, isHooked });
  }
  const program = neededProgram(clientProgram, env, cwd);
  const own = { ...order, model, ownWorktree: free !== null && made === null };
  if (row.backend === "tmux") {
    const words = [program, ...terminalWords(own)];
    return inTerminal(starter, { row, cwd: at, words, variables: own.variables, note, isHooked: true });
  }
  const ran = await runProgram(program, backgroundWords(own), { cwd: at, env });
  const handle = ran.code === 0 ? handleIn(ran.output) : null;
  if (handle !== null) return note({ handle });
  const how = ran.code === 0 ? "said of no session" : `failed with code ${ran.code}`;
  throw new ProgramFailed(
    `${clientProgram} --bg ${how}: ${plain(ran.output).slice(-limits.quoteChars)}`,
    ran.output,
  );
}

interface InTerminal extends Pick<SpawnOrder, "variables"> {
  readonly row: SpawnRow;
  readonly cwd: string;
  readonly words: readonly string[];
  readonly note: Note;
  readonly isHooked: boolean;
}

/** Opens a window for the agent. A client without hooks gets its session from here. */
async function inTerminal(
  { client, env, cwd: here }: Starter,
  { row, cwd, words, variables, note, isHooked }: InTerminal,
): Promise<SpawnRow> {
  const { id, name } = row;
  const own = isHooked ? variables : { ...variables, KITE_SESSION: id };
  const tmux = new Tmux(env, here);
  const pane = await tmux.open({ id, name, cwd, words, variables: own });
  const noted = await note({ handle: pane.socket, ...(isHooked ? { pid: pane.pid } : {}) });
  // Looked at behind the note: from then on the daemon sees the end of the process.
  const now = noted.state === "starting" ? await tmux.find(id) : pane;
  if (now === null) throw new ProgramFailed(`the window of ${name} closed at once`);
  if (now.isDead) throw new ProgramFailed(`${words[0]} failed at once`, await tmux.shown(now));
  if (isHooked) return noted;
  const { anchored } = await ask(client, "register", { id, pid: pane.pid, cwd, name, spawn: id });
  // The process has ended before the daemon saw it.
  if (!anchored) await ask(client, "deregister", { id });
  return noted;
}

/** Returns what the new session is told, and its variables. */
async function orderOf(
  { client, env, project }: Starter,
  { prompt, here }: SpawnPlan,
  row: SpawnRow,
): Promise<Omit<SpawnOrder, "model" | "ownWorktree">> {
  const task = row.task === null ? null : (await ask(client, "task_get", { task: row.task })).task;
  // The agent works in this project too, so the number is a name for it.
  const named = task === null ? "" : task.project === project ? `${task.number}` : task.id;
  const others =
    row.task === null && row.replaces === null ? [] : await rowsOf(client, "spawns", { project });
  const earlier = earlierOf(row, others);
  const { role: mode } = gatesFor(await gatesIn(client, project), "spawn");
  const home = env["KITE_HOME"];
  return {
    name: row.name,
    prompt: prompt ?? promptOf(named, task?.description ?? ""),
    briefing: briefingOf({
      row,
      task: task === null ? null : { named, description: task.description },
      mode,
      earlier,
      isApart: !here,
    }),
    variables: { KITE_SPAWN: row.id, ...(home && isAbsolute(home) ? { KITE_HOME: home } : {}) },
  };
}

/** Returns as much of the prompt as the record keeps; the agent that takes this one's place reads that it is cut. */
function keptPrompt(prompt: string): string {
  if (prompt.length <= limits.spawnPromptChars) return prompt;
  const note = "\n[The prompt was longer than Kite keeps. Ask who spawned you for the rest.]";
  const kept = prompt.slice(0, limits.spawnPromptChars - note.length);
  // No half of a character.
  return `${kept.replace(/[\uD800-\uDBFF]$/u, "")}${note}`;
}

/** Throws `ProgramFailed` if what will run the agent is not installed, before there is a record of it. */
function needClient({ env, cwd }: Starter, { tmux }: SpawnPlan, template: Template | null): void {
  const own = withoutSession(env);
  if (template === null) neededProgram(clientProgram, own, cwd);
  if (tmux || template !== null) neededProgram("tmux", own, cwd);
}

/** Throws `ProgramFailed` for words that say nothing, or that no program can be given. */
function checkWords({ prompt, task, model, from }: SpawnPlan): void {
  const isSaid = prompt !== null && prompt.trim() !== "";
  if (!isSaid && (prompt !== null || task === undefined))
    throw new ProgramFailed("say what the agent is to do: a prompt, or --task ID");
  if ((model?.length ?? 0) > limits.spawnModelChars || model === "")
    throw new ProgramFailed(`a model's name has 1 to ${limits.spawnModelChars} characters`);
  for (const word of [prompt, model, from])
    if (word?.includes("\0") === true)
      throw new ProgramFailed(
        "a prompt, a model or a branch has a NUL character, which no program can be given",
      );
  const bytes = Buffer.byteLength(prompt ?? "");
  if (bytes <= limits.spawnPromptBytes) return;
  throw new ProgramFailed(
    `the prompt has ${bytes} bytes, and may have ${limits.spawnPromptBytes}; put the rest into a file and name that`,
  );
}
