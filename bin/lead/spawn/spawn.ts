/** `kite spawn`: starts an agent and waits until its session has registered, or until it is done. */
import { LocalError } from "../../../client/errors.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { actingSession } from "../../actor.ts";
import { defined } from "../../defined.ts";
import { refuseAgent } from "../../person.ts";
import type { Client, ProcessContext } from "../../process-context.ts";
import { projectOf } from "../../project.ts";
import { clean } from "../../view/text.ts";
import { asPerson, exitCodes, fail } from "../../with-daemon.ts";
import { hasEnded } from "./find.ts";
import { withOutput } from "./output.ts";
import { followed, isFailed, show, teller } from "./report.ts";
import { type SpawnPlan, type Started, type Starter, startAgent } from "./start.ts";
import { followTended } from "./tend.ts";

export interface SpawnFlags {
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
export async function spawn(world: ProcessContext, prompt: string, flags: SpawnFlags): Promise<number> {
  const isJson = flags.json === true;
  const { name, role, task, model, client, from, here = false, tmux = false } = flags;
  const asked: SpawnPlan = {
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
      const started = await startAgent({ client, actor, project, cwd, env, paths }, asked);
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
