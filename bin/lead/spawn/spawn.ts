/** `kite spawn` starts an agent and waits until its session has registered, or until it is done. */

import type { Command } from "commander";
import { LocalError } from "../../../client/errors.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { actingSession } from "../../context/actor.ts";
import { refuseAgent } from "../../context/person.ts";
import type { Client, ProcessContext, Run } from "../../context/process-context.ts";
import { projectOf } from "../../context/project.ts";
import { asPerson, exitCodes, fail } from "../../context/with-daemon.ts";
import { defined } from "../../entry.ts";
import { clean } from "../../view/text.ts";
import { followed, hasEnded, isFailed, show, teller, withOutput } from "./record.ts";
import { followTended } from "./replace.ts";
import { type SpawnPlan, type Started, type Starter, startAgent } from "./start.ts";

// `kite spawn`: starts an agent and waits until its session has registered, or until it is done.

interface SpawnFlags {
  readonly name?: string;
  readonly role?: string;
  readonly lead?: boolean;
  readonly task?: string;
  readonly model?: string;
  readonly client?: string;
  readonly here?: boolean;
  readonly from?: string;
  readonly tmux?: boolean;
  readonly wait?: boolean;
  readonly json?: boolean;
}

/** Returns the exit code: 0 if the agent runs, or with `--wait` if its turn is over or it is done. */
async function spawn(world: ProcessContext, prompt: string, flags: SpawnFlags): Promise<number> {
  const isJson = flags.json === true;
  const { name, role, task, model, client, from, here = false, tmux = false } = flags;
  const plan: SpawnPlan = {
    prompt: prompt === "" ? null : prompt,
    here,
    tmux,
    ...(flags.lead === true ? { role: "lead", lead: true as const } : {}),
    ...defined({ name, role, task, model, client, from }),
  };
  if (here && from !== undefined) {
    const error = "--here makes no worktree, so --from says nothing; use one of them";
    return fail(world, isJson, "invalid_request", error);
  }
  if (flags.lead === true && role !== undefined)
    return fail(world, isJson, "invalid_request", "--lead is a role: give --lead or --role, not both");
  const { env, cwd, paths } = world;
  const leads = flags.lead === true ? await refuseAgent(world, isJson, "lead") : null;
  if (leads !== null) return leads;
  const refused = await refuseAgent(world, isJson, "spawn");
  if (refused !== null) return refused;
  const actor = actingSession(env) ?? {};
  const project = await projectOf(cwd);
  const work = async (client: Client) => {
    try {
      const started = await startAgent({ client, actor, project, cwd, env, paths }, plan);
      if (started.warning !== null && !isJson) world.stderr.write(`kite: ${started.warning}\n`);
      const last = await waited(world, client, started, actor, flags);
      show(world, last, isJson);
      const isFine = flags.wait === true ? last.state === "idle" || last.state === "done" : !isFailed(last);
      return isFine ? exitCodes.done : exitCodes.failed;
    } catch (error) {
      if (!(error instanceof LocalError)) throw error;
      return fail(world, isJson, "spawn_failed", error.message);
    }
  };
  // A daemon that is replaced by a newer one meanwhile comes back.
  return asPerson(world, isJson, work, { reconnect: true });
}

/** Returns the record once its agent has registered or failed, or with `wait` once its turn is over. */
async function waited(
  world: ProcessContext,
  client: Client,
  started: Started,
  actor: Starter["actor"],
  { wait = false, json = false }: Pick<SpawnFlags, "wait" | "json">,
): Promise<SpawnRow> {
  if (!wait) return followed(world, client, started.row, { json });
  const last = await followTended(world, client, started, actor, {
    isEnough: now => hasEnded(now) || now.state === "idle",
    seen: teller(world, { wait, json }),
    say: words => void (json || world.stderr.write(`kite: ${clean(words)}\n`)),
  });
  return withOutput(world, client, last);
}

const help = `
Starts an agent: a background session of Claude Code in a git worktree of its own (.claude/worktrees/NAME, branch
worktree-NAME), under your own permissions. The command ends when the session has registered; an agent that asks a
person waits until you attach. Its record outlives the daemon: kite agents lists it, kite agents stop ends it, and kite agents
prune removes what it left, unless work would be lost.

--task: the session claims the task when it registers; its end gives an unfinished task back. The prompt may be left out.
--role: implementer, researcher, tester, reviewer or architect: the session has this role from its start (kite role), in
which it claims its task; --lead gives it that of a lead. Words such as developer or qa mean the same roles; another word is only told to the agent.
--from: Kite makes the worktree with git, and starts the client in it. Without it the client makes the worktree.
--tmux: an interactive session in a window of its own, in your tmux or in the tmux session "kite".
--client: codex, opencode, copilot or gemini, in tmux; else a client of spawn in your own config.json, by the words of its
command, which may have {prompt} {name} {briefing} {worktree} {branch} {role} {task} {model}.
--wait: until it has answered, or it has ended. Ctrl-C ends the wait, not the agent. If you set "health": "replace", an
agent that stalls meanwhile is resumed or replaced (kite agents replace), and the one that goes on is waited for.

--json: {"ok":true, "spawn":{"id","name","state",...}}, a row of query spawns.

Exit codes: 0 it runs (--wait: it has answered, or is done), 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite spawn "Add paging to the list of orders" --name paging
  $ kite spawn --task 12 --role tester --wait
  $ kite spawn "Mend the build" --from release-2 --tmux`;

export function add(command: Command, run: Run): void {
  command
    .argument("[prompt...]", "what it is to do")
    .option("--name <name>", "its name, its folder and its branch; by default the role and a number")
    .option("--role <role>", "its role, in a word")
    .option(
      "--lead",
      "it leads: it may lower risks, release and stop the project's agents; only a person gives that",
    )
    .option("--task <task>", "a task that it claims")
    .option("--model <model>", "the client's model")
    .option(
      "--client <name>",
      "another client: codex, opencode, copilot, gemini, or one of your configuration",
    )
    .option("--here", "work in this directory, without a worktree")
    .option("--from <branch>", "the branch or commit that its branch begins from")
    .option("--tmux", "an interactive session in a window of tmux")
    .option("--wait", "wait until it has answered, or has ended")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((words: readonly string[], flags: SpawnFlags) =>
      run(world => spawn(world, words.join(" "), flags)),
    );
}
