/**
 * Holds on edits: files that nobody but the asker edits for a while (the wire's `hold` and `resume`).
 *
 * Invariants: a hold ends with its actor, with its time (`limits.holdMaxMs` at most) or by `resume`; an actor has at
 * most `limits.holdsPerActorMax`, all together `limits.holdsMax`; while it lasts, nobody else of its project is granted a lock on its files or waits
 * in line for one. What was granted before stays granted: it is asked for anew before the next write.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import type { HoldRow } from "../../../protocol/message.ts";
import type { Actor } from "../actor.ts";
import type { LockRequest } from "../commands.ts";
import type { Handler } from "../handler.ts";
import { overlapOf, waitersOver } from "../locks/blockers.ts";
import { rowsOfSession } from "../locks/by-actor.ts";
import { answerWaiter, detachWaiter, dismiss } from "../locks/grant.ts";
import { actorRow, fileLists, pathOf } from "../locks/replies.ts";
import type { Step } from "../outcome.ts";
import type { EditHold, State, Waiter } from "../state.ts";
import { addEditHold, holdsIn, holdsOver, ownerOf, removeEditHold } from "./freeze-table.ts";

type Asker = Pick<LockRequest, "actor" | "files" | "ancestors">;

export const resume: Handler<"resume"> = (state, { actor, project, hold }, _meta, step) => {
  const { editHolds } = state;
  const named = hold === null ? undefined : editHolds.all.get(hold);
  const all = actor === null ? editHolds.byProject.get(project) : editHolds.byOwner.get(actor.session);
  const meant = hold === null ? holdsIn(editHolds, all) : named === undefined ? [] : [named];
  const ending = actor === null ? meant : meant.filter(one => isSame(one.actor, actor));
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
  const owned = holdsIn(state.editHolds, state.editHolds.byOwner.get(ownerOf({ actor, project })));
  const own = actor === null ? owned : owned.filter(one => isSame(one.actor, actor));
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
  addEditHold(editHolds, hold);
  step.timers.push({ at: hold.until, due: { what: "edit_hold_over", hold: id } });
  const event = { event: "hold_began" as const, hold: id, ...fileLists(files), by, lastsMs: ttlMs, project };
  step.events.push({ event, about: [], project });
  const waiting = new Set(files.flatMap(file => [...waitersOver(state.locks, file)]));
  sendWaitersAway(state, waiting, step);
  return hold;
}

/** A session has moved to another project: what is on hold there, it does not get. */
export function enterProject(state: State, session: string, step: Step): void {
  const { actors, waiters } = state.locks;
  const rows = rowsOfSession(actors, session, null);
  const waiting = rows.flatMap(row => [...row.waits].flatMap(ticket => waiters.get(ticket) ?? []));
  if (state.editHolds.all.size > 0) sendWaitersAway(state, waiting, step);
}

/** The hold that keeps the request from its files, or null. */
export function editHoldOn(state: State, request: LockRequest): EditHold | null {
  return holdAgainst(state, request, projectOf(state, request.actor) ?? request.project);
}

function holdAgainst(state: State, asker: Asker, project: string | undefined): EditHold | null {
  if (state.editHolds.all.size === 0) return null;
  return holdsOver(state.editHolds, asker.files).find(hold => stops(state, hold, asker, project)) ?? null;
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
  removeEditHold(state.editHolds, hold);
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
  for (const hold of holdsIn(state.editHolds, state.editHolds.byOwner.get(of.session))) {
    const { actor } = hold;
    if (actor === null) continue;
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

/** Whether a hold on the asker's files keeps it from them: its own actor goes on, and so do that one's descendants. */
function stops(
  state: State,
  hold: EditHold,
  { actor, ancestors }: Asker,
  project: string | undefined,
): boolean {
  if (hold.project !== project || hold.until <= state.t) return false;
  const isFamily =
    hold.actor !== null &&
    hold.actor.session === actor.session &&
    hold.actor.incarnation === actor.incarnation &&
    (hold.actor.agent === actor.agent || ancestors.includes(hold.actor.agent));
  return !isFamily;
}

/** Those of the requests that a hold keeps from their files are told so, in the order of the line. */
function sendWaitersAway(state: State, waiters: Iterable<Waiter>, step: Step): void {
  for (const waiter of [...waiters].sort((a, b) => a.ticket - b.ticket)) {
    const hold = waiter.origin === null ? null : holdAgainst(state, waiter, projectOf(state, waiter.actor));
    if (hold !== null) sendAway(state, waiter, editsHeld(state, hold, waiter), step);
  }
}

/** A hook's waiter keeps its place for a while, as after a time-out. */
function sendAway(state: State, waiter: Waiter, reply: Refusal, step: Step): void {
  if (waiter.placeMs === 0) {
    dismiss(state, waiter, reply, "edits held", step);
    return;
  }
  answerWaiter(state, waiter, reply, false, step);
  detachWaiter(state, waiter, waiter.placeMs, step);
}

function isSame(a: Actor | null, b: Actor): boolean {
  return a !== null && a.session === b.session && a.agent === b.agent && a.incarnation === b.incarnation;
}

function projectOf(state: State, actor: Actor): string | undefined {
  return state.sessions.live.get(actor.session)?.project;
}
