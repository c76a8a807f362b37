/**
 * `kite agents replace`: goes on with a spawned agent that stalled, as the daemon says: its client resumes it, once; then another one
 * takes its place, with the same prompt, task, role, model, client and base.
 */
import { setTimeout as delay } from "node:timers/promises";
import {
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
import { actingSession } from "../../actor.ts";
import { refuseAgent } from "../../person.ts";
import { type Client, type ProcessContext, print } from "../../process-context.ts";
import { neededProgram, runProgram, withoutSession } from "../../programs.ts";
import { projectOf } from "../../project.ts";
import { clean } from "../../view/text.ts";
import { ask, asPerson, exitCodes, rowsOf } from "../../with-daemon.ts";
import { hasEnded, neededSpawn } from "./find.ts";
import { followSpawn } from "./follow.ts";
import { Git, mainWorktree } from "./git.ts";
import { outputOf } from "./output.ts";
import { followed, isFailed, show } from "./report.ts";
import { type Starter, startAgent } from "./start.ts";
import { reported } from "./stop.ts";
import { stopped } from "./stop-agent.ts";

/** What a process needs to end and start agents. */
export type Around = Pick<ProcessContext, "env" | "cwd"> & { readonly paths: KitePaths };

/** Who replaces: a session and its agent, or nobody for a person. */
type Actor = Starter["actor"];

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
export interface Replaced {
  readonly row: SpawnRow;
  readonly how: "resumed" | "replaced";
}

/** Returns in a sentence what became of the agent. */
export function wordsOf({ name }: SpawnRow, next: SpawnRow, how: Replaced["how"]): string {
  return how === "resumed"
    ? `${clean(name)} is resumed.`
    : `${clean(name)} is replaced by ${clean(next.name)}.`;
}

/**
 * Goes on with an agent that stalled, and returns which one goes on. Throws `Refused` if it did not stall, if another one
 * replaces it, or after too many; and `ProgramFailed`.
 */
export async function replaced(
  world: Around,
  client: Client,
  row: SpawnRow,
  actor: Actor,
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
async function resume(world: Around, client: Client, row: SpawnRow, actor: Actor): Promise<SpawnRow | null> {
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
  world: Around,
  client: Client,
  { spawn: row, prompt }: Pick<SpawnReplaceReply, "spawn" | "prompt">,
  actor: Actor,
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
async function keepWords(world: Around, client: Client, row: SpawnRow, actor: Actor): Promise<void> {
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
