/**
 * Says how to go on with a spawned agent that stalled: it is resumed once, then another one takes its place, twice in a row.
 * Whether it stalled is the daemon's to see.
 *
 * Invariants: only the agent that spawned it, one that leads, or a person replaces or stops a spawned agent. At one time one
 * requester replaces it. An agent is resumed at most `limits.spawnResumesMax` times, whoever asks; at most
 * `limits.spawnReplacementsMax` agents in a row take a place, also if the records of those before were forgotten.
 */
import { type Refusal, refuse } from "../../../../protocol/codes.ts";
import { limits } from "../../../../protocol/limits.ts";
import type { Actor } from "../../actor.ts";
import type { Handler } from "../../rules.ts";
import type { State } from "../../state.ts";
import { isLead } from "../roles/role-of.ts";
import type { SpawnReplace } from "./commands.ts";
import { findSpawn, isSpawn, spawnRow } from "./replies.ts";
import { putSpawn, type Spawn } from "./table.ts";
import { isFinal } from "./transitions.ts";

export const spawnReplace: Handler<"spawn_replace", State> = (state, command, _meta, step) => {
  const spawn = findSpawn(state, command.spawn);
  const refused = isSpawn(spawn)
    ? (notItsLead(state, command.by, spawn, "replaces") ?? refusal(state, spawn, command))
    : spawn;
  if (refused !== null || !isSpawn(spawn)) {
    step.reply = refused;
    return;
  }
  const isResume = maybeResumed(spawn, command);
  const next = {
    ...spawn,
    resumes: spawn.resumes + Number(isResume),
    stopping: !isFinal(spawn.state),
    replaceUntil: state.t + limits.spawnReplaceMs,
    updatedAt: command.wallMs,
  };
  putSpawn(state.spawns, next);
  const row = spawnRow(state, next);
  step.reply = { ok: true, next: isResume ? "resume" : "start", spawn: row, prompt: spawn.prompt };
};

/** Refuses an agent that neither spawned this one nor leads here, and is not this one itself. */
export function notItsLead(state: State, by: Actor | null, spawn: Spawn, does: string): Refusal | null {
  if (by === null || by.session === spawn.session) return null;
  const { parent, name, project } = spawn;
  // The main agent of a session leads its others.
  const isParent = parent?.id === by.session && (by.agent === null || by.agent === parent.agent);
  const leads = state.sessions.live.get(by.session)?.project === project && isLead(state, by);
  if (isParent || leads) return null;
  const error = `only the agent that spawned ${name}, one that leads here, or a person ${does} it; ask one of them`;
  return refuse("lead_only", error);
}

function maybeResumed({ state, session, resumes }: Spawn, { resumable, isFailed }: SpawnReplace): boolean {
  return resumable && !isFailed && !isFinal(state) && session !== null && resumes < limits.spawnResumesMax;
}

function refusal(state: State, spawn: Spawn, command: SpawnReplace): Refusal | null {
  const { id, name, task, replaceUntil, replacedBy, replacements, project } = spawn;
  const refused = (error: string) => refuse("spawn_state", error, { spawn: id, state: spawn.state });
  if (replacedBy !== null) {
    const other = state.spawns.all.get(replacedBy)?.name ?? replacedBy;
    return refused(`${name} was replaced by ${other}; kite agents shows what that does`);
  }
  if (replaceUntil !== null && state.t < replaceUntil && !command.isFailed)
    return refused(`somebody is about to replace ${name}; kite agents shows when it is done`);
  if (isFinal(spawn.state) && replaceUntil === null) {
    const start =
      task === null ? "kite spawn starts another one" : `start another one: kite spawn --task ${task}`;
    return refused(`${name} has ended (${spawn.state}); ${start}`);
  }
  if (maybeResumed(spawn, command) || replacements < limits.spawnReplacementsMax) return null;
  const again = task === null ? "kite spawn PROMPT" : `kite spawn --task ${task}`;
  const error = `${name} is the agent ${replacements + 1} in this place, and Kite puts no further one there; look at what it was to do, then spawn one yourself: kite agents stop ${name}, ${again}`;
  return refuse("too_many_spawns", error, { project });
}
