/**
 * `kite agents replace`: goes on with a spawned agent that stalled, as the daemon says. Its client resumes it, once.
 * Then another agent takes its place, with the same prompt, task, role, model, client and base.
 */

import { setTimeout as delay } from "node:timers/promises";
import { LocalError } from "../../../client/errors.ts";
import {
  attachWords,
  clientName,
  clientProgram,
  handleIn,
  resumeWords,
  stopWords,
} from "../../../hooks/claude-code/spawn.ts";
import type { SpawnReplaceReply, SpawnRow } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import { plain, quote } from "../../../protocol/text.ts";
import { actingSession } from "../../context/actor.ts";
import { refuseAgent } from "../../context/person.ts";
import {
  type Client,
  interrupted,
  type ProcessContext,
  print,
  printJson,
} from "../../context/process-context.ts";
import { neededProgram, ProgramFailed, runHere, runProgram, withoutSession } from "../../context/programs.ts";
import { projectOf } from "../../context/project.ts";
import {
  ask,
  asPerson,
  exitCodes,
  fail,
  printDone,
  Refused,
  rowsOf,
  withDaemon,
} from "../../context/with-daemon.ts";
import { clean } from "../../view/text.ts";
import { Git, mainWorktree } from "./git.ts";
import {
  followed,
  followSpawn,
  handleOf,
  hasEnded,
  isFailed,
  neededSpawn,
  outputOf,
  show,
} from "./record.ts";
import { endClient, type Started, type Starter, startAgent } from "./start.ts";
import { Tmux } from "./tmux.ts";

// Stops a spawned agent by its client, and keeps it stopped.

type Around = Pick<ProcessContext, "env" | "cwd">;

/** Who stops it: a session and its agent, or nobody for a person. */
interface Actor {
  readonly id?: string;
  readonly agent?: string;
}

/**
 * Stops an agent by its client, whatever its record says, and returns its record once its session has ended. An agent whose
 * process was killed may be brought back by its client: such a one is watched, which `say` hears. Throws `ProgramFailed`, `Refused`.
 */
async function stopped(
  world: Around,
  client: Client,
  row: SpawnRow,
  actor: Actor,
  say: (words: string) => void = () => {},
): Promise<SpawnRow> {
  const update = { ...actor, spawn: row.id };
  const before = (await ask(client, "spawn_update", { ...update, stopping: true })).spawn;
  // Its starter is still at it, and ends the client as soon as that has started; one that was killed may have left a window.
  if (before.state === "starting" && handleOf(before) === null) {
    const ended = (await ask(client, "spawn_update", { ...update, state: "stopped" })).spawn;
    if (ended.backend === "tmux") await endClient(world, ended);
    return ended;
  }
  try {
    await endClient(world, before);
  } catch (error) {
    if (error instanceof ProgramFailed) await ask(client, "spawn_update", { ...update, stopping: false });
    throw error;
  }
  const ended = hasEnded(before) ? before : await endOf(client, before, actor);
  const { mayReturn, session, state } = ended;
  if (mayReturn === true) return keptStopped(world, client, ended, actor, say);
  if (!hasEnded(before)) return ended;
  // A session that never registered may still begin: it is not the agent's then.
  const end = state === "failed" && session === null ? ({ state: "stopped" } as const) : {};
  return (await ask(client, "spawn_update", { ...update, stopping: false, ...end })).spawn;
}

/** Returns the record once the session of an agent whose client was told to stop it has ended. */
async function endOf(client: Client, row: SpawnRow, actor: Actor): Promise<SpawnRow> {
  const ended = await within(limits.spawnStopMs, followSpawn(client, row, hasEnded));
  // The client said that it stopped the session, and no hook told the daemon.
  return ended ?? (await ask(client, "spawn_update", { ...actor, spawn: row.id, state: "stopped" })).spawn;
}

/**
 * Watches an agent that its client may bring back, for `limits.spawnWatchMs`. A session that begins again is stopped, unless
 * a person prompts it: then it stays, and its record is returned.
 */
async function keptStopped(
  world: Around,
  client: Client,
  row: SpawnRow,
  actor: Actor,
  say: (words: string) => void,
): Promise<SpawnRow> {
  const update = { ...actor, spawn: row.id };
  const seconds = limits.spawnWatchMs / 1000;
  say(`${row.name} was killed, and its client may bring it back; watching it for ${seconds} s`);
  await ask(client, "spawn_update", { ...update, stopping: true });
  const back = await within(
    limits.spawnWatchMs,
    followSpawn(client, row, now => !hasEnded(now)),
  );
  if (back === null) {
    const end = row.state === "failed" ? ({ state: "stopped" } as const) : {};
    return (await ask(client, "spawn_update", { ...update, stopping: false, ...end })).spawn;
  }
  const decided = (now: SpawnRow) => hasEnded(now) || !now.stopping;
  const prompted = await within(limits.spawnPromptMs, followSpawn(client, back, decided));
  if (prompted !== null && !hasEnded(prompted)) return prompted;
  say(`${row.name} came back; stopping it again`);
  await endClient(world, back);
  const ended = prompted ?? (await endOf(client, back, actor));
  return ended.mayReturn === true ? keptStopped(world, client, ended, actor, say) : ended;
}

/** Returns what the promise resolves with; null if that takes longer than `ms`. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | null> {
  const waiting = new AbortController();
  const late = delay(ms, null, { signal: waiting.signal }).catch(() => null);
  try {
    return await Promise.race([promise, late]);
  } finally {
    waiting.abort();
  }
}

// `kite agents attach` and `kite agents stop`: the client's own ways, or tmux.

/** Opens the agent in this terminal. Returns the exit code of the program that shows it. */
export async function attach(world: ProcessContext, name: string): Promise<number> {
  const { env, cwd } = world;
  const project = await projectOf(cwd);
  const found: SpawnRow[] = [];
  // The connection is closed before: an open one would keep the daemon from ending by itself.
  const code = await withDaemon(world, false, async client => {
    found.push(await neededSpawn(client, name, project));
    return exitCodes.done;
  });
  const [row] = found;
  if (row === undefined) return code;
  return reported(world, false, async () => {
    const [program, ...args] = await attachLine(world, row);
    return runHere(program, args, { cwd, env: withoutSession(env) });
  });
}

async function attachLine(
  { env, cwd }: ProcessContext,
  row: SpawnRow,
): Promise<readonly [string, ...string[]]> {
  const { backend, id, name, state } = row;
  if (backend === "tmux") {
    const tmux = new Tmux(env, cwd, row.handle);
    const pane = await tmux.find(id);
    if (pane === null) throw new ProgramFailed(`the window of ${name} is gone (${state})`);
    return tmux.showWords(pane);
  }
  const handle = handleOf(row);
  if (handle !== null) return [neededProgram(clientProgram, env, cwd), ...attachWords(handle)];
  throw new ProgramFailed(`${name} never started (${state}); kite explain ${name} --log says why`);
}

/** Stops the agent and waits until its session has ended. Returns the exit code. */
export async function stop(world: ProcessContext, name: string, isJson: boolean): Promise<number> {
  const refused = await refuseAgent(world, isJson, "stop");
  if (refused !== null) return refused;
  const project = await projectOf(world.cwd);
  return asPerson(world, isJson, async client => {
    const row = await neededSpawn(client, name, project);
    const actor = actingSession(world.env) ?? {};
    return reported(world, isJson, async () => {
      // Who is about to resume or replace it would undo the stop.
      if (row.replacing) await ask(client, "spawn_update", { ...actor, spawn: row.id, replacing: false });
      const say = (words: string) => {
        if (!isJson) world.stderr.write(`kite: ${clean(words)}\n`);
      };
      return printStopped(world, await stopped(world, client, row, actor, say), isJson);
    });
  });
}

function printStopped(world: ProcessContext, row: SpawnRow, isJson: boolean): number {
  return printDone(world, isJson, { ok: true, spawn: row }, () => [
    `${clean(row.name)}: ${row.state.replaceAll("_", " ")}`,
  ]);
}

/** Reports a program that failed, and an interrupted connection, in a sentence. */
async function reported(
  world: ProcessContext,
  isJson: boolean,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return fail(world, isJson, "spawn_failed", error.message);
  }
}

/** What a process needs to end and start agents. */
type ReplaceContext = Pick<ProcessContext, "env" | "cwd"> & { readonly paths: KitePaths };

/** Who replaces: a session and its agent, or nobody for a person. */
type Replacer = Starter["actor"];

/** Resumes the agent or replaces it, and waits until a session has registered. Returns the exit code. */
export async function replace(world: ProcessContext, name: string, isJson: boolean): Promise<number> {
  const refused = await refuseAgent(world, isJson, "replace");
  if (refused !== null) return refused;
  const project = await projectOf(world.cwd);
  const work = async (client: Client) => {
    const row = await neededSpawn(client, name, project);
    return reported(world, isJson, async () => {
      const { row: next, how } = await replaced(world, client, row, actingSession(world.env) ?? {});
      if (!isJson) print(world, [wordsOf(row, next, how)]);
      const last = await followed(world, client, next, { json: isJson });
      show(world, last, isJson);
      return isFailed(last) ? exitCodes.failed : exitCodes.done;
    });
  };
  return asPerson(world, isJson, work, { reconnect: true });
}

/** The agent that goes on, and which one that is. */
interface Replaced {
  readonly row: SpawnRow;
  readonly how: "resumed" | "replaced";
}

/** Returns in a sentence what became of the agent. */
function wordsOf({ name }: SpawnRow, next: SpawnRow, how: Replaced["how"]): string {
  return how === "resumed"
    ? `${clean(name)} is resumed.`
    : `${clean(name)} is replaced by ${clean(next.name)}.`;
}

/**
 * Goes on with an agent that stalled, and returns which one goes on. Throws `Refused` if it did not stall, if another one
 * replaces it, or after too many; and `ProgramFailed`.
 */
async function replaced(
  world: ReplaceContext,
  client: Client,
  row: SpawnRow,
  actor: Replacer,
): Promise<Replaced> {
  const resumable = row.backend === "background" && row.client === clientName && row.session !== null;
  const request = { ...actor, spawn: row.id, resumable };
  const first = await ask(client, "spawn_replace", request);
  if (first.next === "start") return successor(world, client, first, actor);
  const back = await resume(world, client, first.spawn, actor);
  if (back !== null) return { row: back, how: "resumed" };
  return successor(world, client, await ask(client, "spawn_replace", { ...request, resumed: false }), actor);
}

/** Stops the agent, and has its client go on with its session; null if that does not work, no session registers, or it is stopped. */
async function resume(
  world: ReplaceContext,
  client: Client,
  row: SpawnRow,
  actor: Replacer,
): Promise<SpawnRow | null> {
  const { session, task } = row;
  if (session === null) return null;
  const ended = await stopped(world, client, row, actor);
  if (!ended.replacing) return null;
  const env = withoutSession(world.env);
  const cwd = await mainWorktree(new Git(env, world.cwd));
  const prompt = `Kite resumed you, because nothing was heard of you for long. Go on with ${task === null ? "what you were told to do" : `task ${task}`}. If you cannot, say why${task === null ? "" : " (kite_task_fail)"}.`;
  const program = neededProgram(clientProgram, env, cwd);
  const ran = await runProgram(program, resumeWords(session, prompt), { cwd, env });
  const handle = ran.code === 0 ? handleIn(ran.output) : null;
  if (handle === null) return null;
  await ask(client, "spawn_update", { ...actor, spawn: row.id, handle });
  const isBack = (now: SpawnRow) => now.attempts > row.attempts && !hasEnded(now) && !now.stopping;
  /** Somebody stopped it meanwhile, before its session began or after. */
  const isGivenUp = (now: SpawnRow) => (now.attempts > row.attempts ? now.stopping : !now.replacing);
  const waiting = new AbortController();
  const late = delay(limits.spawnRegisterMs, null, { signal: waiting.signal }).catch(() => null);
  const back = await Promise.race([followSpawn(client, row, now => isBack(now) || isGivenUp(now)), late]);
  waiting.abort();
  if (back !== null && isBack(back)) return back;
  // A session that its record does not know would work beside the one that replaces it.
  if (back === null) await runProgram(program, stopWords(handle), { cwd, env });
  else await stopped(world, client, { ...row, handle }, actor);
  return null;
}

/** Ends the agent and starts another one in its place. Throws `Refused` and `ProgramFailed`. */
async function successor(
  world: ReplaceContext,
  client: Client,
  { spawn: row, prompt }: Pick<SpawnReplaceReply, "spawn" | "prompt">,
  actor: Replacer,
): Promise<Replaced> {
  const { env, cwd, paths } = world;
  const { project, role, task, base, backend, model } = row;
  await keepWords(world, client, row, actor);
  // Also one that was killed: its client would bring it back beside the one that takes its place.
  await stopped(world, client, row, actor);
  const rows = await rowsOf(client, "spawns", { project });
  const { row: next } = await startAgent(
    { client, actor, project, cwd, env, paths },
    {
      prompt,
      name: nextName(row.name, rows),
      client: row.client,
      here: base === null,
      tmux: backend === "tmux",
      replaces: row.id,
      ...(role === null ? {} : { role }),
      ...(task === null ? {} : { task }),
      ...(base === null ? {} : { from: base }),
      ...(model === null ? {} : { model }),
    },
  );
  return { row: next, how: "replaced" };
}

/** Keeps what the agent printed and declared in its record: the briefing of its successor has both. */
async function keepWords(
  world: ReplaceContext,
  client: Client,
  row: SpawnRow,
  actor: Replacer,
): Promise<void> {
  const output = await outputOf(world, row);
  const [session] = row.session === null ? [] : await rowsOf(client, "sessions", { id: row.session });
  const task = session?.declared?.task ?? "";
  const declared = task === "" ? "" : `; it had declared ${quote(task)}`;
  const reason = plain(`it stalled, and another agent took its place${declared}`, limits.spawnReasonChars);
  const known = output === null || output === "" ? {} : { output };
  await ask(client, "spawn_update", { ...actor, spawn: row.id, reason, ...known });
}

/** Returns the name with the next number: no agent on record has it. */
export function nextName(name: string, rows: readonly SpawnRow[]): string {
  const [, stem = name, number = "1"] = /^(.+?)(?:-(\d{1,3}))?$/.exec(name) ?? [];
  const names = new Set(rows.map(row => row.name));
  for (let n = Number(number) + 1; ; n += 1) {
    const next = `${stem.slice(0, limits.spawnWordChars - 5)}-${n}`;
    if (!names.has(next)) return next;
  }
}

// Replaces spawned agents that stall, in the process of somebody who waits for them: the daemon starts no program.
//
// Invariant: the daemon says for each agent whether it stalled, and who replaces it; so two that tend one never both do.

interface Follow {
  readonly isEnough: (row: SpawnRow) => boolean;
  /** Each state on the way. */
  readonly seen: (row: SpawnRow) => void;
  /** Says in a sentence what was done about an agent that stalled, or why nothing was. */
  readonly say: (words: string) => void;
}

/**
 * Returns the record as soon as `isEnough`. If the user's setting is `replace`, an agent that stalls is replaced, and the one
 * that goes on is followed.
 */
export async function followTended(
  world: ReplaceContext,
  client: Client,
  { row: first, stalled }: Started,
  actor: Starter["actor"],
  { isEnough, seen, say }: Follow,
): Promise<SpawnRow> {
  let row = first;
  // An agent that is resumed rests until its turn begins: that is no end of the turn.
  let restedAt: number | null = null;
  const hasEnough = (now: SpawnRow) => isEnough(now) && !(now.state === "idle" && now.updatedAt === restedAt);
  // Nothing could be done about it, as long as it is stalled.
  let isLeft = false;
  const isOver = (now: SpawnRow) => {
    const stalls = isStalled(now);
    if (!stalls) isLeft = false;
    return hasEnough(now) || (stalls && !isLeft && stalled === "replace");
  };
  for (;;) {
    const now = await followSpawn(client, row, isOver, seen);
    if (hasEnough(now)) return now;
    const next = await attempt(world, client, now, actor, say);
    isLeft = next === null;
    if (next === null) continue;
    row = next.row;
    restedAt = next.how === "resumed" && row.state === "idle" ? row.updatedAt : null;
  }
}

/** `kite agents tend`: replaces this project's agents that stall, until it is interrupted. Returns the exit code. */
export async function tend(world: ProcessContext, isJson: boolean): Promise<number> {
  const refused = await refuseAgent(world, isJson, "replace");
  if (refused !== null) return refused;
  const project = await projectOf(world.cwd);
  const actor = actingSession(world.env) ?? {};
  const stop = interrupted();
  const work = async (client: Client) => {
    let wake = () => {};
    client.onEvent(event => {
      if (event.event === "agent_stalled") wake();
    });
    client.onLagged(() => wake());
    stop.addEventListener("abort", () => wake());
    void client.closed.then(() => wake());
    await ask(client, "subscribe", { events: ["agent_stalled"], project });
    if (!isJson) world.stderr.write("kite: replaces agents that stall; Ctrl-C ends it, not the agents\n");
    /** Agents about which nothing can be done, as long as they are stalled. */
    const left = new Set<string>();
    while (!stop.aborted) {
      const changed = new Promise<void>(resolve => {
        wake = resolve;
      });
      const rows = await rowsOf(client, "spawns", { project });
      const stalled = rows.filter(isStalled);
      for (const id of left) if (!stalled.some(row => row.id === id)) left.delete(id);
      const row = stalled.find(({ id }) => !left.has(id));
      if (row === undefined) {
        if (!stop.aborted) await changed;
        continue;
      }
      const say = (words: string) => {
        if (!isJson) print(world, [clean(words)]);
      };
      const next = await attempt(world, client, row, actor, say);
      if (next === null) left.add(row.id);
      else if (isJson) printJson(world, { of: row.id, how: next.how, spawn: next.row });
    }
    return exitCodes.done;
  };
  return asPerson(world, isJson, work, { reconnect: true });
}

function isStalled(row: SpawnRow): boolean {
  return !hasEnded(row) && row.health?.state === "stalled";
}

/** Replaces the agent; null if it cannot be, which is said. */
async function attempt(
  world: ReplaceContext,
  client: Client,
  row: SpawnRow,
  actor: Starter["actor"],
  say: (words: string) => void,
): Promise<Replaced | null> {
  try {
    const next = await replaced(world, client, row, actor);
    say(wordsOf(row, next.row, next.how));
    return next;
  } catch (error) {
    if (!(error instanceof Refused || error instanceof ProgramFailed)) throw error;
    say(error.message);
    return null;
  }
}
