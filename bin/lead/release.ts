/** `kite release` gives back what an agent has, or a file that somebody holds. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { isResource } from "../../protocol/names.ts";
import { unlock } from "../commands/unlock.ts";
import { actingSession } from "../context/actor.ts";
import { agentCalled, agentsOf, type NamedAgent, noAgent } from "../context/caller.ts";
import { refuseAgent } from "../context/person.ts";
import { type ProcessContext, print, printJson, type Run, screenOf } from "../context/process-context.ts";
import { projectOf, realPath } from "../context/project.ts";
import { numbering } from "../context/task-numbers.ts";
import { ask, asPerson, exitCodes, fail, rowsOf, withDaemon } from "../context/with-daemon.ts";
import { clean, counted, listed, wrap } from "../view/text.ts";

// `kite release`: gives back what agents have, and files that somebody holds.

interface ReleaseFlags {
  readonly reason?: string;
  readonly json?: boolean;
}

/**
 * Releases agents and files in one go. A word is an agent's name, unless a lock is on a file of that name and no agent
 * is called just so. A word that is no agent's is a file, or a resource if it begins with @. A person takes the files
 * from any holder, an agent gives back its own. Returns the exit code, that of a failure if one failed.
 */
async function releaseEach(
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

const help = `
NAME is a session's name, the name of an agent within it (alice/Explore), an id, or the beginning of one. Its claimed tasks
become pending, and its edit locks go to their waiters. The agent goes on: Kite tells it with its next event. A person may
do this, and an agent that leads it. Locks that it keeps stay. FILE is a file that somebody has locked, in whatever way: a
person takes it from its holder, who is told; an agent gives its own back. @NAME is a resource that
somebody has locked, as in kite lock. A name that is both is the agent's.

--json: {"ok":true, "agent":{"id","agent","name"}, "tasks":[{"id","description"}], "taskCount", "paths":[...], "lockCount"},
or the refusal; of files {"ok":true, "released":[...]}.

Exit codes: 0 done, 1 refused (no such agent, or several, or you do not lead it), 3 no daemon runs.

Examples:
  $ kite release alice
  $ kite release alice/Explore --reason "its terminal hangs"
  $ kite release src/auth.ts
  $ kite release @db`;

export function add(command: Command, run: Run): void {
  command
    .argument(
      "<name-or-file...>",
      "agents: their names, ids, or the beginning of one; locked files, resources (@NAME)",
    )
    .option("--reason <text>", "why, for the log and for who claims the tasks next")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((words: readonly string[], flags: ReleaseFlags) =>
      run(world => releaseEach(world, words, flags)),
    );
}
