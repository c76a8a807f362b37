/** `kite replace`: resumes a spawned agent that stalled, once; then puts another one in its place, with the same task. */
import { setTimeout as delay } from "node:timers/promises";
import { isLeadRole } from "../../daemon/core/declarations/mismatches.ts";
import {
  clientName,
  clientProgram,
  handleIn,
  resumeWords,
  stopWords,
} from "../../hooks/claude-code/spawn/words.ts";
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { SpawnRow } from "../../protocol/spawn.ts";
import { plain, quote } from "../../protocol/text.ts";
import { actingSession } from "../actor.ts";
import { refuseHidden } from "../person.ts";
import { type Client, type ProcessContext, print } from "../process-context.ts";
import { projectOf } from "../project.ts";
import { clean } from "../view/text.ts";
import { ask, exitCodes, Refused, rowsOf, withDaemon } from "../with-daemon.ts";
import { hasEnded, neededSpawn } from "./find.ts";
import { followSpawn } from "./follow.ts";
import { Git, mainWorktree } from "./git.ts";
import { outputOf } from "./output.ts";
import { neededProgram, runProgram, withoutSession } from "./programs.ts";
import { followed, isFailed, show } from "./spawn.ts";
import { startAgent } from "./start.ts";
import { reported, stopped } from "./stop.ts";

/** Resumes the agent or replaces it, and waits until a session has registered. Returns the exit code. */
export async function replace(world: ProcessContext, name: string, isJson: boolean): Promise<number> {
  const refused = await refuseHidden(world, isJson, "replaces an agent");
  if (refused !== null) return refused;
  const project = await projectOf(world.cwd);
  return withDaemon(world, isJson, async client => {
    const row = await neededSpawn(client, name, project);
    await mayReplace(world, client, row);
    return reported(world, isJson, async () => {
      const resumed = row.attempts === 1 ? await resume(world, client, row, isJson) : null;
      const last = resumed ?? (await successor(world, client, row, isJson));
      show(world, last, isJson);
      return isFailed(last) ? exitCodes.failed : exitCodes.done;
    });
  });
}

/** Throws `Refused` unless a person or a lead asks for it, and the agent has stalled at a task. */
async function mayReplace(world: ProcessContext, client: Client, row: SpawnRow): Promise<void> {
  const { id: spawn, name, task, health, project } = row;
  const acting = actingSession(world.env);
  const { parent } = row;
  if (acting !== null && (acting.id !== parent?.id || (acting.agent ?? null) !== parent.agent)) {
    const declarations = await rowsOf(client, "declarations", { id: acting.id });
    const own = declarations.find(one => one.id === acting.id && one.agent === (acting.agent ?? null));
    if (own?.project !== project || !isLeadRole(own.role)) {
      const error = `only the agent that spawned ${name}, one that leads here, or a person replaces it; ask one of them`;
      throw new Refused(refuse("lead_only", error));
    }
  }
  if (hasEnded(row)) {
    const next =
      task === null ? "kite spawn starts another one" : `start another one: kite spawn --task ${task}`;
    throw new Refused(
      refuse("spawn_state", `${name} has ended (${row.state}); ${next}`, { spawn, state: row.state }),
    );
  }
  if (health?.state !== "stalled") {
    const now = health?.state ?? row.state.replaceAll("_", " ");
    const error = `${name} is ${now}, and only an agent that stalled is replaced; to end it: kite stop ${name}`;
    throw new Refused(refuse("spawn_state", error, { spawn, state: row.state }));
  }
  if (task !== null) return;
  const error = `${name} has no task that another agent could take over; end it (kite stop ${name}), and say to a new one what it is to do: kite spawn PROMPT`;
  throw new Refused(refuse("spawn_state", error, { spawn, state: row.state }));
}

/** Goes on with the agent's own session; null if its client has no way to, or no session registers. */
async function resume(
  world: ProcessContext,
  client: Client,
  row: SpawnRow,
  isJson: boolean,
): Promise<SpawnRow | null> {
  const { backend, session, name, task } = row;
  if (backend !== "background" || row.client !== clientName || session === null) return null;
  await stopped(world, client, row);
  if (!isJson) world.stderr.write(`kite: ${clean(name)} stopped; its client resumes it\n`);
  const env = withoutSession(world.env);
  const cwd = await mainWorktree(new Git(env, world.cwd));
  const prompt = `Kite resumed you, because nothing was heard of you for long. Go on with task ${task}. If you cannot, say why (kite_task_fail).`;
  const program = neededProgram(clientProgram, env, cwd);
  const ran = await runProgram(program, resumeWords(session, prompt), { cwd, env });
  const handle = ran.code === 0 ? handleIn(ran.output) : null;
  if (handle === null) return null;
  await ask(client, "spawn_update", { ...actingSession(world.env), spawn: row.id, handle });
  const isBack = (now: SpawnRow) => now.attempts > row.attempts && !hasEnded(now);
  const waiting = new AbortController();
  const late = delay(limits.spawnRegisterMs, null, { signal: waiting.signal }).catch(() => null);
  const back = await Promise.race([followSpawn(client, row, isBack), late]);
  waiting.abort();
  // A session that its record does not know would work beside the one that replaces it.
  if (back === null) await runProgram(program, stopWords(handle), { cwd, env });
  return back;
}

/** Ends the agent and starts another one with its task, role, client and base. Throws `Refused` and `ProgramFailed`. */
async function successor(
  world: ProcessContext,
  client: Client,
  row: SpawnRow,
  isJson: boolean,
): Promise<SpawnRow> {
  const { env, cwd, paths } = world;
  const { project, role, task, base, backend } = row;
  const rows = await rowsOf(client, "spawns", { project });
  const before = rows.filter(one => one.task === task && one.id !== row.id && hasEnded(one)).length;
  if (before >= limits.spawnReplacementsMax) {
    const error = `${before} agents ended at ${task} before ${row.name}, and kite replace puts no further one in their place; look at the task, then spawn one yourself: kite stop ${row.name}, kite spawn --task ${task}`;
    throw new Refused(refuse("too_many_spawns", error, { project }));
  }
  await keepWords(world, client, row);
  const { state } = await currentOf(client, row);
  if (state !== "stopped") await stopped(world, client, row);
  const starter = { client, actor: actingSession(env) ?? {}, project, cwd, env, paths };
  const next = await startAgent(starter, {
    prompt: null,
    name: nextName(row.name, rows),
    client: row.client,
    here: base === null,
    tmux: backend === "tmux",
    ...(role === null ? {} : { role }),
    ...(task === null ? {} : { task }),
    ...(base === null ? {} : { from: base }),
  });
  if (!isJson) print(world, [`${clean(row.name)} is replaced by ${clean(next.name)}.`]);
  return followed(world, client, next, { json: isJson });
}

/** Keeps what the agent printed and declared in its record: the briefing of its successor has both. */
async function keepWords(world: ProcessContext, client: Client, row: SpawnRow): Promise<void> {
  const output = await outputOf(world, row);
  const [session] = row.session === null ? [] : await rowsOf(client, "sessions", { id: row.session });
  const task = session?.declared?.task ?? "";
  const declared = task === "" ? "" : `; it had declared ${quote(task)}`;
  const reason = plain(`it stalled, and another agent took its place${declared}`, limits.spawnReasonChars);
  const known = output === null || output === "" ? {} : { output };
  await ask(client, "spawn_update", { ...actingSession(world.env), spawn: row.id, reason, ...known });
}

async function currentOf(client: Client, { id, project }: SpawnRow): Promise<Pick<SpawnRow, "state">> {
  const rows = await rowsOf(client, "spawns", { project });
  return rows.find(row => row.id === id) ?? { state: "stopped" };
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
