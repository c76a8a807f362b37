/**
 * Holds on edits: files that nobody but the asker edits for a while (the wire's `hold` and `resume`).
 *
 * Invariants: a hold ends with its actor, with its time (`limits.holdMaxMs` at most) or by `resume`; an actor has at
 * most `limits.holdsPerActorMax`, all together `limits.holdsMax`; while it lasts, nobody else of its project is granted a lock on its files or waits
 * in line for one. What was granted before stays granted: it is asked for anew before the next write.
 */
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { HoldRow } from "../../protocol/message.ts";
import type { Actor, LockRequest } from "./entry.ts";
import type { Handler } from "./handlers.ts";
import { overlapOf } from "./lock-blockers.ts";
import { answerWaiter, dismiss, leavePlace } from "./lock-queue.ts";
import { actorRow, fileLists, pathOf } from "./lock-text.ts";
import type { EditHold, State, Waiter } from "./state.ts";
import type { Step } from "./step.ts";

type Asker = Pick<LockRequest, "actor" | "files" | "ancestors">;

export const resume: Handler<"resume"> = (state, { actor, project, hold }, _meta, step) => {
  const mayEnd = (one: EditHold) =>
    actor === null ? one.project === project || one.id === hold : isSame(one.actor, actor);
  const ending = [...state.editHolds.all.values()].filter(
    one => mayEnd(one) && (hold === null || one.id === hold),
  );
  if (hold !== null && ending.length === 0) {
    const error = `${hold} is no hold that is in force, or it is somebody else's; a person can end it: kite resume`;
    step.reply = refuse("unknown_hold", error, { hold });
    return;
  }
  step.reply = { ok: true, resumed: ending.map(one => one.id) };
  for (const one of ending) endEditHold(state, one, "resumed", step);
};

/** Why the actor (null: a person) may not hold edits once more, or null. */
export function mayHold(state: State, actor: Actor | null, project: string): Refusal | null {
  const { all } = state.editHolds;
  if (all.size >= limits.holdsMax)
    return refuse("too_many_holds", `${limits.holdsMax} holds on edits are in force; wait until some end`);
  const own = [...all.values()].filter(one =>
    actor === null ? one.actor === null && one.project === project : isSame(one.actor, actor),
  );
  if (own.length < limits.holdsPerActorMax) return null;
  const ids = own.map(one => one.id).join(" and ");
  return refuse("too_many_holds", `you hold edits with ${ids} already; resume one first`);
}

/** Begins a hold; who waits in line for its files is told so instead of getting them. */
export function holdEdits(
  state: State,
  asked: Pick<EditHold, "actor" | "project" | "files" | "text"> & { readonly ttlMs: number },
  step: Step,
): EditHold {
  const { actor, project, files, text, ttlMs } = asked;
  const { editHolds, t } = state;
  editHolds.count += 1;
  const by = actor === null ? null : actorRow(state, actor);
  const id = `h-${editHolds.count.toString(36)}`;
  const hold: EditHold = { id, actor, by, project, files, text, since: t, until: t + ttlMs };
  editHolds.all.set(id, hold);
  step.timers.push({ at: hold.until, due: { what: "edit_hold_over", hold: id } });
  const event = { event: "hold_began" as const, hold: id, ...fileLists(files), by, lastsMs: ttlMs, project };
  step.events.push({ event, about: [], project });
  sendWaitersAway(state, [hold], step);
  return hold;
}

/** A session has moved to another project: what is on hold there, it does not get. */
export function enterProject(state: State, project: string, step: Step): void {
  const there = [...state.editHolds.all.values()].filter(hold => hold.project === project);
  if (there.length > 0) sendWaitersAway(state, there, step);
}

/** The hold that keeps the request from its files, or null. */
export function editHoldOn(state: State, request: LockRequest): EditHold | null {
  if (state.editHolds.all.size === 0) return null;
  const project = projectOf(state, request.actor) ?? request.project;
  for (const hold of state.editHolds.all.values()) if (stops(state, hold, request, project)) return hold;
  return null;
}

export function editsHeld(state: State, hold: EditHold, { files }: Pick<Asker, "files">): Refusal {
  const who = hold.by?.name ?? "a person at a terminal";
  const file = overlapOf(files, hold.files)?.file ?? "";
  const leftMs = Math.max(0, hold.until - state.t);
  const error = `${who} asked that nobody edits ${file} for now, ${Math.ceil(leftMs / 1000)} s more at most; work on something else`;
  return refuse("edits_held", error, {
    file,
    hold: hold.id,
    by: hold.by,
    text: hold.text,
    leftMs,
    queued: false,
  });
}

/** The time of a hold is over. */
export function endEditHold(state: State, hold: EditHold, cause: string, step: Step): void {
  state.editHolds.all.delete(hold.id);
  const { id, project, files } = hold;
  const event = { event: "hold_ended" as const, hold: id, ...fileLists(files), cause, project };
  step.events.push({ event, about: [], project });
}

/** Ends the holds of a session, of one of its incarnations or of one agent. */
export function endHoldsOf(
  state: State,
  of: { readonly session: string; readonly incarnation?: number; readonly agent?: string },
  cause: string,
  step: Step,
): void {
  for (const hold of [...state.editHolds.all.values()]) {
    const { actor } = hold;
    if (actor === null || actor.session !== of.session) continue;
    if (of.incarnation !== undefined && actor.incarnation !== of.incarnation) continue;
    if (of.agent === undefined || actor.agent === of.agent) endEditHold(state, hold, cause, step);
  }
}

export function holdRow(hold: EditHold, now: number): HoldRow {
  const { id, files, project, by, text, since, until } = hold;
  return {
    hold: id,
    files: files.map(f => f.file),
    paths: files.map(f => pathOf(f)),
    project,
    by,
    text,
    heldMs: Math.max(0, now - since),
    leftMs: Math.max(0, until - now),
  };
}

/** Its own actor goes on, and so do that one's descendants. */
function stops(state: State, hold: EditHold, asker: Asker, project: string | undefined): boolean {
  if (hold.project !== project || hold.until <= state.t) return false;
  const { actor, ancestors } = asker;
  const isFamily =
    hold.actor !== null &&
    hold.actor.session === actor.session &&
    hold.actor.incarnation === actor.incarnation &&
    (hold.actor.agent === actor.agent || ancestors.includes(hold.actor.agent));
  return !isFamily && overlapOf(asker.files, hold.files) !== undefined;
}

function sendWaitersAway(state: State, holds: readonly EditHold[], step: Step): void {
  for (const waiter of [...state.locks.waiters.values()]) {
    const project = projectOf(state, waiter.actor);
    const hold = holds.find(one => stops(state, one, waiter, project));
    if (waiter.origin === null || hold === undefined) continue;
    sendAway(state, waiter, editsHeld(state, hold, waiter), step);
  }
}

/** A hook's waiter keeps its place for a while, as after a time-out. */
function sendAway(state: State, waiter: Waiter, reply: Refusal, step: Step): void {
  if (waiter.placeMs === 0) {
    dismiss(state, waiter, reply, "edits held", step);
    return;
  }
  answerWaiter(state, waiter, reply, false, step);
  leavePlace(state, waiter, waiter.placeMs, step);
}

function isSame(a: Actor | null, b: Actor): boolean {
  return a !== null && a.session === b.session && a.agent === b.agent && a.incarnation === b.incarnation;
}

function projectOf(state: State, actor: Actor): string | undefined {
  return state.sessions.live.get(actor.session)?.project;
}
