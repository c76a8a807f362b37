/** Finds the record of a spawned agent by what a person or an agent calls it. */

import { clientProgram, handleOfSession, logWords } from "../../../hooks/claude-code/spawn.ts";
import { refuse } from "../../../protocol/codes.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { limits } from "../../../protocol/limits.ts";
import { nearPath } from "../../../protocol/text.ts";
import { agentElsewhere } from "../../context/caller.ts";
import {
  type Client,
  type ProcessContext,
  print,
  printFramed,
  printJson,
} from "../../context/process-context.ts";
import {
  type Env,
  neededProgram,
  outputEnd,
  ProgramFailed,
  runProgram,
  withoutSession,
} from "../../context/programs.ts";
import { ask, Refused, rowsOf } from "../../context/with-daemon.ts";
import { clean } from "../../view/text.ts";
import { Tmux } from "./tmux.ts";

export function hasEnded({ endedAt }: SpawnRow): boolean {
  return endedAt !== null;
}

/** Returns what the client calls a background agent; null if it never started. Its starter may have ended too soon to say. */
export function handleOf({ handle, session }: SpawnRow): string | null {
  return handle ?? (session === null ? null : handleOfSession(session));
}

/**
 * Returns the record that `name` means: an id; else a name, of an agent that has not ended before one that has, the latest
 * first. Agents of `project` count before all others. Null if none fits.
 */
export function spawnCalled(rows: readonly SpawnRow[], name: string, project: string): SpawnRow | null {
  const exact = rows.find(({ id }) => id === name);
  if (exact !== undefined) return exact;
  const named = rows.filter(row => row.name === name);
  const here = named.filter(row => row.project === project);
  const found = here.length > 0 ? here : named;
  return found.findLast(row => !hasEnded(row)) ?? found.at(-1) ?? null;
}

/**
 * Returns the record that `name` means: an id, or a name in this project. Throws `Refused` with the machine on which it runs, if it
 * is another one, or with the agents there are.
 */
export async function neededSpawn(client: Client, name: string, project: string): Promise<SpawnRow> {
  const rows = await rowsOf(client, "spawns");
  const found = spawnCalled(rows, name, project);
  if (found !== null && (found.project === project || found.id === name)) return found;
  const there = await agentElsewhere(client, name, project);
  if (there !== null) throw there;
  if (found !== null) {
    const error = `no spawned agent of this project is called ${name}; one of ${found.project} is: use its id, ${found.id}`;
    throw new Refused(refuse("unknown_spawn", error, { spawn: name }));
  }
  const some = rows
    .filter(row => row.project === project)
    .slice(-limits.recipientsNamedMax)
    .map(row => row.name);
  const here =
    some.length === 0
      ? "none was spawned in this project; kite agents lists them, kite spawn starts one"
      : `spawned here: ${some.join(", ")}`;
  throw new Refused(refuse("unknown_spawn", `no spawned agent is called ${name}; ${here}`, { spawn: name }));
}

// Follows the record of a spawned agent by its events.

/** Returns the record as it is now. Throws `Refused` if it was forgotten. */
async function spawnNow(
  client: Pick<Client, "request" | "daemon">,
  { id, project }: Pick<SpawnRow, "id" | "project">,
): Promise<SpawnRow> {
  const rows = await rowsOf(client, "spawns", { project });
  const found = rows.find(row => row.id === id);
  if (found !== undefined) return found;
  throw new Refused(refuse("unknown_spawn", `the record of ${id} was forgotten meanwhile`, { spawn: id }));
}

/** Returns the record as soon as `isEnough`. Each state on the way is `seen`. Subscribes the connection. */
export async function followSpawn(
  client: Client,
  spawn: Pick<SpawnRow, "id" | "project">,
  isEnough: (row: SpawnRow) => boolean,
  seen: (row: SpawnRow) => void = () => {},
): Promise<SpawnRow> {
  let wake = () => {};
  const stops = [
    client.onEvent(event => {
      // Of which agent it is, the record says when its health is read.
      if (event.event === "agent_stalled" || (event.event === "spawn_changed" && event.spawn === spawn.id))
        wake();
    }),
    client.onLagged(() => wake()),
  ];
  try {
    await ask(client, "subscribe", { events: ["spawn_changed", "agent_stalled"], project: spawn.project });
    for (;;) {
      const changed = new Promise<void>(resolve => {
        wake = resolve;
      });
      const row = await spawnNow(client, spawn);
      seen(row);
      if (isEnough(row)) return row;
      await Promise.race([changed, client.closed]);
    }
  } finally {
    for (const stop of stops) stop();
  }
}

// What a spawned agent printed: its client's log, or what its window shows.

interface Where {
  readonly env: Env;
  readonly cwd: string;
}

/** Returns the end of the agent's output now; else what its record kept; null if nothing is known. */
export async function outputOf({ env, cwd }: Where, row: SpawnRow): Promise<string | null> {
  const { backend, id, output } = row;
  try {
    if (backend === "tmux") {
      const tmux = new Tmux(env, cwd, row.handle);
      const pane = await tmux.find(id);
      return pane === null ? output : outputEnd(await tmux.shown(pane));
    }
    const handle = handleOf(row);
    if (handle === null) return output;
    const own = withoutSession(env);
    const { code, output: log } = await runProgram(neededProgram(clientProgram, own, cwd), logWords(handle), {
      cwd,
      env: own,
    });
    return code === 0 ? outputEnd(log) : output;
  } catch (error) {
    // The program is not there: the record has what was kept.
    if (!(error instanceof ProgramFailed)) throw error;
    return output;
  }
}

/** Keeps the end of a failed agent's output in its record, if it has none; returns the record. */
export async function withOutput(
  where: Where,
  client: Pick<Client, "request">,
  row: SpawnRow,
): Promise<SpawnRow> {
  if (row.state !== "failed" || row.output !== null) return row;
  const output = await outputOf(where, row);
  if (output === null || output === "") return row;
  return (await ask(client, "spawn_update", { spawn: row.id, output })).spawn;
}

// Says what an agent that was started does, and what became of it.

/** Returns the record once its agent has registered or failed. */
export async function followed(
  world: ProcessContext,
  client: Client,
  row: SpawnRow,
  { json = false }: { readonly json?: boolean },
): Promise<SpawnRow> {
  const seen = teller(world, { wait: false, json });
  return withOutput(world, client, await followSpawn(client, row, ({ state }) => state !== "starting", seen));
}

/** Returns what says on standard error what the agent does, each state once. */
export function teller(
  world: ProcessContext,
  { wait, json }: { readonly wait: boolean; readonly json: boolean },
): (row: SpawnRow) => void {
  let lastState = "";
  return ({ id, state, name }) => {
    if (json || `${id} ${state}` === lastState) return;
    lastState = `${id} ${state}`;
    if (state === "starting") world.stderr.write(`kite: ${clean(name)} starts\n`);
    if (wait && state === "running")
      world.stderr.write(`kite: ${clean(name)} runs; kite agents attach ${clean(name)}\n`);
    if (wait && state === "waits_on_person")
      world.stderr.write(`kite: ${clean(name)} waits on a person; kite agents attach ${clean(name)}\n`);
  };
}

export function isFailed({ state }: SpawnRow): boolean {
  return state === "failed" || state === "stopped";
}

/** Prints what became of an agent that was started. */
export function show(world: ProcessContext, row: SpawnRow, isJson: boolean): void {
  if (isJson) {
    printJson(world, { ok: !isFailed(row), spawn: row });
    return;
  }
  const { name, id, state, worktree, branch, reason, result, output } = row;
  const where = worktree === null ? "" : ` in ${clean(nearPath(worktree, world.cwd))}`;
  const on = branch === null ? "" : ` on ${clean(branch)}`;
  const words = state.replaceAll("_", " ");
  print(world, [`${clean(name)} (${id}): ${words}${where}${on}`]);
  if (reason !== null) print(world, [`  ${clean(reason)}`]);
  if (result !== null) printFramed(world, [`  result: ${clean(result)}`]);
  if (state === "failed" && output !== null)
    printFramed(
      world,
      output
        .split("\n")
        .slice(-20)
        .map(line => `  | ${clean(line)}`),
    );
}
