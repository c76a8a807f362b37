/** `kite agents attach` and `kite agents stop`: the client's own ways, or tmux. */

import { LocalError } from "../../../client/errors.ts";
import { attachWords, clientProgram } from "../../../hooks/claude-code/spawn.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { actingSession } from "../../actor.ts";
import { refuseAgent } from "../../person.ts";
import type { ProcessContext } from "../../process-context.ts";
import { neededProgram, ProgramFailed, runHere, withoutSession } from "../../programs.ts";
import { projectOf } from "../../project.ts";
import { clean } from "../../view/text.ts";
import { ask, asPerson, exitCodes, fail, printDone, withDaemon } from "../../with-daemon.ts";
import { handleOf, neededSpawn } from "./find.ts";
import { stopped } from "./stop-agent.ts";
import { Tmux } from "./tmux.ts";

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
export async function reported(
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
