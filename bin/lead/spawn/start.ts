/** Starts an agent: records it, makes its worktree if need be, and runs its client. Used by the command and the tool. */
import { isAbsolute } from "node:path";
import {
  backgroundWords,
  clientName,
  clientProgram,
  handleIn,
  type SpawnOrder,
  terminalWords,
} from "../../../hooks/claude-code/spawn.ts";
import { gatesFor } from "../../../protocol/lead/roles.ts";
import type { SpawnRow, StalledSetting } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import { plain } from "../../../protocol/text.ts";
import { defined } from "../../defined.ts";
import type { Client } from "../../process-context.ts";
import {
  type Env,
  neededProgram,
  outputEnd,
  ProgramFailed,
  runProgram,
  withoutSession,
} from "../../programs.ts";
import { taskNamed } from "../../tasks/numbers.ts";
import { ask, rowsOf } from "../../with-daemon.ts";
import { gatesIn } from "../roles/gates.ts";
import { briefingOf, earlierOf, promptOf } from "./briefing.ts";
import { endClient } from "./end-client.ts";
import { hasEnded } from "./find.ts";
import { addWorktree, baseOf, freePlace, Git, headOf, type Place } from "./git.ts";
import { type Template, templateOf } from "./template.ts";
import { Tmux } from "./tmux.ts";

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
export async function startAgent(starter: Starter, asked: SpawnPlan): Promise<Started> {
  const { client, actor, project } = starter;
  checkWords(asked);
  const template = await templateOf(asked.client ?? clientName, starter);
  const git = new Git(starter.env, starter.cwd);
  const head = asked.here ? null : await headOf(git);
  if (!asked.here && head === null)
    throw new ProgramFailed(
      `${starter.cwd} is in no git repository with a commit; use --here, or commit first`,
    );
  needClient(starter, asked, template);
  const base = head === null || asked.from === undefined ? head : await baseOf(git, asked.from);
  const { name, role, lead, task, model, replaces, prompt } = asked;
  const { spawn: row, stalled } = await ask(client, "spawn_create", {
    ...actor,
    project,
    backend: asked.tmux || template !== null ? "tmux" : "background",
    client: asked.client ?? clientName,
    reportsEnd: template === null,
    ...defined({ name, role, lead, task: task === undefined ? task : taskNamed(task), model, replaces }),
    ...(base === null ? {} : { base }),
    ...(prompt === null ? {} : { prompt: keptPrompt(prompt) }),
  });
  const note: Note = async known =>
    (await ask(client, "spawn_update", { ...actor, spawn: row.id, ...known })).spawn;
  try {
    const started = await run(starter, { asked, row, template, git, base, note });
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
  readonly asked: SpawnPlan;
  readonly row: SpawnRow;
  readonly template: Template | null;
  readonly git: Git;
  readonly base: string | null;
  readonly note: Note;
}

async function run(starter: Starter, { asked, row, template, git, base, note }: Run): Promise<SpawnRow> {
  const { cwd } = starter;
  const { here, from, model = null } = asked;
  const order = await orderOf(starter, asked, row);
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
