/** `kite release`: gives back what agents have, and files that somebody holds. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isResource } from "../../../protocol/names.ts";
import { actingSession } from "../../actor.ts";
import { agentCalled, agentsOf, type NamedAgent, noAgent } from "../../agent/named.ts";
import { unlock } from "../../commands/unlock.ts";
import { refuseAgent } from "../../person.ts";
import { type ProcessContext, print, printJson, screenOf } from "../../process-context.ts";
import { projectOf } from "../../project.ts";
import { realPath } from "../../real-path.ts";
import { numbering } from "../../tasks/numbering.ts";
import { clean, counted, listed, wrap } from "../../view/text.ts";
import { ask, asPerson, exitCodes, fail, rowsOf, withDaemon } from "../../with-daemon.ts";

export interface ReleaseFlags {
  readonly reason?: string;
  readonly json?: boolean;
}

/**
 * Releases agents and files in one go: a word is an agent's name, unless a lock is on a file of that name and no agent is
 * called just so; a word that is no agent's is a file, or a resource if it begins with @. A person takes the files from any holder, an agent gives back its own.
 * Returns the exit code, that of a failure if one failed.
 */
export async function releaseEach(
  world: ProcessContext,
  words: readonly string[],
  flags: ReleaseFlags,
): Promise<number> {
  const json = flags.json === true;
  // An agent without a session's name is no person, and has nothing of its own to give back.
  const refused = await refuseAgent(world, json, "release");
  if (refused !== null) return refused;
  const files: string[] = [];
  const known = await withDaemon(world, json, async client => {
    const agents = agentsOf(await rowsOf(client, "sessions"));
    const locked = new Set((await rowsOf(client, "locks")).map(({ path }) => path));
    for (const word of words) if (await isFile(world, agents, locked, word)) files.push(word);
    return exitCodes.done;
  });
  if (known !== exitCodes.done) return known;
  const names = words.filter(word => !files.includes(word));
  if (json && names.length + Math.min(1, files.length) > 1)
    return fail(world, json, "usage", "with --json name one agent, or files alone");
  const codes: number[] = [];
  for (const name of names) codes.push(await release(world, name, flags));
  const isOwn = actingSession(world.env) !== null;
  if (files.length > 0) codes.push(await unlock(world, files, { force: !isOwn, json }));
  return codes.find(code => code !== exitCodes.done) ?? exitCodes.done;
}

async function isFile(
  world: ProcessContext,
  agents: readonly NamedAgent[],
  locked: ReadonlySet<string>,
  word: string,
): Promise<boolean> {
  const path = resolve(world.cwd, word);
  const isCalled = agents.some(({ id, agent, name }) => name === word || (agent ?? id) === word);
  if (isResource(word)) return !isCalled;
  if (locked.has(path) || locked.has(await realPath(world.cwd, word))) return !isCalled;
  if (isCalled) return false;
  const isPath = word.includes("/") ? !agents.some(({ name }) => name.startsWith(word)) : existsSync(path);
  return isPath && (await agentCalled(world, agents, word)) === null;
}

/** Returns the exit code. An agent without a session's name is no person, who may release any agent. */
export async function release(world: ProcessContext, name: string, flags: ReleaseFlags): Promise<number> {
  const refused = await refuseAgent(world, flags.json === true, "release");
  if (refused !== null) return refused;
  return asPerson(world, flags.json === true, async client => {
    const project = await projectOf(world.cwd);
    const all = agentsOf(await rowsOf(client, "sessions"));
    // A name means an agent of this project alone; one of another project needs its whole id.
    const live = all.filter(one => one.project === project || (one.agent ?? one.id) === name);
    const found = await agentCalled(world, live, name);
    if (found === null) throw await noAgent(client, live, name);
    const answer = await ask(client, "agent_release", {
      ...actingSession(world.env),
      of: found.id,
      ...(found.agent === null ? {} : { ofAgent: found.agent }),
      ...(flags.reason === undefined ? {} : { reason: flags.reason }),
    });
    if (flags.json === true) {
      printJson(world, answer);
      return exitCodes.done;
    }
    const { agent, tasks, taskCount, paths, lockCount, stayed = [] } = answer;
    const { width } = screenOf(world);
    const worded = await numbering(world, client, tasks.map(({ id }) => id).join(" "));
    const ids = listed(
      tasks.map(task => worded(clean(task.id))),
      taskCount - tasks.length,
    );
    const files = listed(paths.map(clean), lockCount - paths.length);
    const kept = stayed.map(why => `still claimed: ${clean(why)}`);
    const lines =
      taskCount + lockCount + stayed.length === 0
        ? [`${clean(agent.name)} has no task and no edit lock.`]
        : [
            taskCount === 0
              ? ""
              : `${counted(taskCount, "task")} of ${clean(agent.name)} can be claimed again: ${ids}`,
            lockCount === 0 ? "" : `${counted(lockCount, "lock")} of ${clean(agent.name)} released: ${files}`,
            ...kept,
          ];
    for (const line of lines.filter(text => text !== "")) print(world, wrap(line, width, 2));
    return exitCodes.done;
  });
}
