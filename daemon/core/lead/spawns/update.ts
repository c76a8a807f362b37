/**
 * Changes and forgets records of spawned agents.
 *
 * Invariants: a request makes no state final but `failed`, before the agent registered, and `stopped`, which also takes the
 * place of `failed`; it brings no agent back. Only records that have ended are forgotten.
 */
import { type Refusal, refuse } from "../../../../protocol/codes.ts";
import { limits } from "../../../../protocol/limits.ts";
import type { Step } from "../../outcome.ts";
import type { Handler } from "../../rules.ts";
import type { State } from "../../state.ts";
import type { SpawnUpdate } from "./commands.ts";
import { notItsLead } from "./replace.ts";
import { announceSpawn, findSpawn, isSpawn, spawnRow } from "./replies.ts";
import { putSpawn, removeSpawn, type Spawn, spawnOf } from "./table.ts";
import { isFinal, mayMove } from "./transitions.ts";

/** Whether it is a step of stopping an agent, which ends what it holds, and adds nothing to the record. */
export function isStop({ state, stopping, replacing, ...known }: SpawnUpdate): boolean {
  const { handle, worktree, branch, output, reason } = known;
  const isBare = [handle, worktree, branch, output, reason].every(one => one === null);
  return isBare && (state === "stopped" || stopping !== null || replacing === false);
}

export const spawnUpdate: Handler<"spawn_update", State> = (state, command, _meta, step) => {
  const spawn = findSpawn(state, command.spawn);
  const refused = isSpawn(spawn)
    ? (strangerRefusal(state, spawn, command) ?? stateRefusal(state, spawn, command))
    : spawn;
  if (refused !== null || !isSpawn(spawn)) {
    step.reply = refused;
    return;
  }
  const { state: wanted, handle, worktree, branch, output, wallMs } = command;
  const moves = wanted !== null && wanted !== spawn.state;
  const gaveUp = command.replacing === false && spawn.replaceUntil !== null;
  const isStarting = spawn.state === "starting" && !moves;
  const isWatched = state.rules >= 2 && command.stopping === true && isFinal(spawn.state);
  const next = {
    ...(command.stopping === false ? unwatched(spawn) : spawn),
    ...(isWatched ? { watchedUntil: state.t + limits.spawnWatchMs } : {}),
    handle: handle ?? spawn.handle,
    worktree: worktree ?? spawn.worktree,
    branch: branch ?? spawn.branch,
    output: output ?? spawn.output,
    reason: command.reason ?? spawn.reason,
    stopping: !moves && !isWatched && (command.stopping ?? spawn.stopping),
    registerUntil:
      isStarting && (handle !== null || worktree !== null)
        ? state.t + limits.spawnRegisterMs
        : spawn.registerUntil,
    replaceUntil: gaveUp ? null : spawn.replaceUntil,
    revokedUntil: gaveUp && isFinal(spawn.state) ? spawn.replaceUntil : spawn.revokedUntil,
    updatedAt: wallMs,
    ...(moves ? { state: wanted, registerUntil: null, endedAt: wallMs } : {}),
  };
  putSpawn(state.spawns, next);
  if (next.registerUntil !== null && next.registerUntil !== spawn.registerUntil)
    step.timers.push({ at: next.registerUntil, due: { what: "spawn_over", spawn: spawn.id } });
  // Who is about to replace it follows its record.
  if (moves || gaveUp) announceSpawn(step, next);
  step.reply = { ok: true, spawn: spawnRow(state, next) };
};

/** Records what the agent's session does. Refused, and harmless, if the agent has ended meanwhile. */
export const spawnMoved: Handler<"spawn_moved", State> = (state, command, _meta, step) => {
  const { spawn: id, state: to, prompted, wallMs } = command;
  const spawn = findSpawn(state, id);
  if (!isSpawn(spawn)) {
    step.reply = spawn;
    return;
  }
  const isLive = spawn.session !== null && !isFinal(spawn.state);
  const isResumed = isLive && prompted === true && spawn.watchedUntil !== undefined;
  if (!isResumed && (!isLive || !mayMove(spawn.state, to))) {
    step.reply = refuse("spawn_state", `${spawn.name} is ${spawn.state}`, { spawn: id, state: spawn.state });
    return;
  }
  const next = {
    ...(isResumed ? { ...unwatched(spawn), stopping: false } : spawn),
    state: to,
    updatedAt: wallMs,
  };
  putSpawn(state.spawns, next);
  announceSpawn(step, next);
  step.reply = { ok: true };
};

export const spawnRemove: Handler<"spawn_remove", State> = (state, { spawns: ids }, _meta, step) => {
  for (const id of ids) {
    const spawn = findSpawn(state, id);
    const refused = isSpawn(spawn) ? liveRefusal(spawn) : spawn;
    if (refused === null) continue;
    step.reply = refused;
    return;
  }
  const removed = [...new Set(ids)];
  for (const id of removed) removeSpawn(state.spawns, spawnOf(state.spawns, id));
  step.reply = { ok: true, removed };
};

/** The agent's client did not register in time: it has failed, unless it was to be stopped. */
export function spawnOver(state: State, spawn: Spawn, step: Step): void {
  const seconds = Math.round(limits.spawnRegisterMs / 1000);
  const failure = `its session did not register within ${seconds} s; see what it said: kite explain ${spawn.name} --log`;
  const ended = spawn.stopping
    ? ({ state: "stopped" } as const)
    : ({ state: "failed", reason: failure } as const);
  const at = Math.max(spawn.updatedAt, state.t);
  const next = { ...spawn, ...ended, stopping: false, registerUntil: null, updatedAt: at, endedAt: at };
  putSpawn(state.spawns, next);
  announceSpawn(step, next);
}

/** Returns the record without what concerns a return by its client. */
function unwatched({ watchedUntil: _until, mayReturn: _return, ...rest }: Spawn): Spawn {
  return rest;
}

/** Only the end of an agent is for those who lead it. */
function strangerRefusal(
  state: State,
  spawn: Spawn,
  { by, state: to, stopping, replacing }: SpawnUpdate,
): Refusal | null {
  return to === null && stopping === null && replacing === undefined
    ? null
    : notItsLead(state, by, spawn, "stops");
}

function stateRefusal(
  { rules }: State,
  { id, name, state: now }: Spawn,
  { state: to }: SpawnUpdate,
): Refusal | null {
  if (to === null || to === now) return null;
  const isAllowed = mayMove(now, to) && (to === "stopped" || now === "starting");
  // Whoever stops an agent that was killed, or that never registered, ends it for good.
  if (isAllowed || (rules >= 2 && now === "failed" && to === "stopped")) return null;
  const why = isFinal(now) ? `has ended (${now})` : `is ${now}`;
  const error = `${name} ${why}, so it cannot become ${to}; kite agents shows what it does`;
  return refuse("spawn_state", error, { spawn: id, state: now });
}

function liveRefusal({ id, name, state: now }: Spawn): Refusal | null {
  if (isFinal(now)) return null;
  const error = `${name} has not ended (${now}); stop it first: kite agents stop ${name}`;
  return refuse("spawn_state", error, { spawn: id, state: now });
}
