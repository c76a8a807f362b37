/** `kite release`: gives back what an agent has. */

import { actingSession } from "../../actor.ts";
import { agentCalled, agentsOf, noAgent } from "../../agent/named.ts";
import { refuseAgent } from "../../person.ts";
import { type ProcessContext, print, printJson, screenOf } from "../../process-context.ts";
import { projectOf } from "../../project.ts";
import { numbering } from "../../tasks/numbers.ts";
import { clean, counted, listed, wrap } from "../../view/text.ts";
import { ask, asPerson, exitCodes, rowsOf } from "../../with-daemon.ts";

export interface ReleaseFlags {
  readonly reason?: string;
  readonly json?: boolean;
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
    if (found === null) throw noAgent(live, name);
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
    const { agent, tasks, taskCount, paths, lockCount } = answer;
    const { width } = screenOf(world);
    const worded = await numbering(world, client, tasks.map(({ id }) => id).join(" "));
    const ids = listed(
      tasks.map(task => worded(clean(task.id))),
      taskCount - tasks.length,
    );
    const files = listed(paths.map(clean), lockCount - paths.length);
    const lines =
      taskCount + lockCount === 0
        ? [`${clean(agent.name)} has no task and no lock of its turn.`]
        : [
            taskCount === 0
              ? ""
              : `${counted(taskCount, "task")} of ${clean(agent.name)} can be claimed again: ${ids}`,
            lockCount === 0 ? "" : `${counted(lockCount, "lock")} of ${clean(agent.name)} released: ${files}`,
          ];
    for (const line of lines.filter(text => text !== "")) print(world, wrap(line, width, 2));
    return exitCodes.done;
  });
}
