/**
 * Freezes: files that only the requester may edit for a while (the wire's `hold` and `resume`).
 *
 * Invariants: a freeze ends with its actor, by `resume`, or after its time (at most `limits.freezeMaxMs`). An actor has at
 * most `limits.freezesPerActorMax`, all actors together `limits.freezesMax`. Nobody reads a freeze's message after its end.
 * During a freeze no other actor of its project gets or awaits a lock on its files. Earlier grants stay, since each later
 * write asks again.
 */

import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { personOnWire } from "../../../protocol/names.ts";
import type { HoldRow } from "../../../protocol/schemas/message.ts";
import { type Actor, type FileRef, sameActor } from "../frame/actors.ts";
import type { BaseState, Freeze, Freezes, Messages, Meta, Waiter } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { type LockRequest, rowsOfSession } from "../tables/locks.ts";
import { dropLetter, freezeRecords, ownerOf, type Resume } from "../tables/messages.ts";
import { actorRow, fileLists, pathOf, projectOf } from "../tables/naming.ts";
import { overlapOf, overlaps, waitersOver } from "./blockers.ts";
import { answerWaiter, detachWaiter, dismiss } from "./grant.ts";

// Freezes with their indexes: the only file that adds or removes them.
// Invariant: every freeze is in every index it belongs to, so a request visits only the freezes of its own files.

export function addFreeze(freezes: Freezes, freeze: Freeze): void {
  freezeRecords.put(freezes, freeze);
  freezes.touched.add(ownerOf(freeze));
}

function removeFreeze(freezes: Freezes, freeze: Freeze): void {
  freezeRecords.drop(freezes, freeze);
  freezes.touched.add(ownerOf(freeze));
}

/** Returns the freezes with these ids, the oldest first. */
function freezesIn(freezes: Freezes, ids: ReadonlySet<string> | undefined): Freeze[] {
  return [...(ids ?? [])].flatMap(id => freezes.all.get(id) ?? []).sort((a, b) => numberOf(a) - numberOf(b));
}

/** Returns the freezes that overlap one of the files, the oldest first. */
function freezesOver(freezes: Freezes, files: readonly FileRef[]): Freeze[] {
  const found = new Set<Freeze>();
  for (const file of files) {
    for (const key of freezes.paths.overlapping(file.key, file.dir)) {
      for (const id of freezes.at.get(key) ?? []) {
        const freeze = freezes.all.get(id);
        if (freeze?.files.some(other => other.key === key && overlaps(other, file))) found.add(freeze);
      }
    }
  }
  return [...found].sort((a, b) => numberOf(a) - numberOf(b));
}

/** Returns the number in an id (46 for `h-1a`); older freezes have smaller numbers. */
function numberOf({ id }: Freeze): number {
  return Number.parseInt(id.slice(2), 36);
}

type Requester = Pick<LockRequest, "actor" | "files" | "ancestors">;

export function resume(state: BaseState, command: CommandOf<"resume">, _meta: Meta, step: Step): void {
  const { actor, hold, files } = command;
  const { freezes } = state;
  const isMine = (one: Freeze) => actor === null || isBy(one, actor);
  const uncovered = files?.find(file => !freezesOver(freezes, [file]).some(isMine));
  if (uncovered !== undefined) {
    const error = `no freeze of yours is over ${uncovered.file}; a person can end anybody's: kite thaw`;
    step.reply = refuse("unknown_hold", error, { file: uncovered.file });
    return;
  }
  const ending = meantBy(state, command).filter(isMine);
  if (hold !== null && ending.length === 0) {
    const error = `no freeze ${hold} of yours is in force; a person can end anybody's: kite thaw`;
    step.reply = refuse("unknown_hold", error, { hold });
    return;
  }
  step.reply = { ok: true, resumed: ending.map(one => one.id) };
  for (const one of ending) endFreeze(state, one, "resumed", step);
}

function meantBy({ freezes }: BaseState, { actor, project, hold, files }: Resume): readonly Freeze[] {
  if (files !== undefined) return freezesOver(freezes, files);
  if (hold !== null) return [freezes.all.get(hold)].filter(one => one !== undefined);
  const all = actor === null ? freezes.byProject.get(project) : freezes.byOwner.get(actor.session);
  return freezesIn(freezes, all);
}

/** Returns why the actor (null: a person) may not begin one more freeze, or null. */
export function mayFreeze(state: BaseState, actor: Actor | null, project: string): Refusal | null {
  const { limits } = state;
  const { all } = state.freezes;
  if (all.size >= limits.freezesMax)
    return refuse("too_many_holds", `${limits.freezesMax} freezes are in force; wait until some end`);
  const owned = freezesIn(state.freezes, state.freezes.byOwner.get(ownerOf({ actor, project })));
  const own = actor === null ? owned : owned.filter(one => isBy(one, actor));
  if (own.length < limits.freezesPerActorMax) return null;
  const ids = own.map(one => one.id).join(" and ");
  return refuse("too_many_holds", `you have the freezes ${ids} already; end one first`);
}

/** Begins a freeze, and refuses the waiters for its files. */
export function beginFreeze(
  state: BaseState,
  request: Pick<Freeze, "actor" | "project" | "files" | "text" | "message"> & { readonly ttlMs: number },
  step: Step,
): Freeze {
  const { actor, project, files, text, message, ttlMs } = request;
  const { freezes, t } = state;
  freezes.count += 1;
  const by = actor === null ? null : actorRow(state, actor);
  const id = `h-${freezes.count.toString(36)}`;
  const row = { id, actor, by, project, files, text, since: t, until: t + ttlMs };
  const freeze: Freeze = message === undefined ? row : { ...row, message };
  addFreeze(freezes, freeze);
  step.timers.push({ at: freeze.until, due: { what: "edit_hold_over", hold: id } });
  const event = { event: "hold_began" as const, hold: id, ...fileLists(files), by, lastsMs: ttlMs, project };
  step.events.push({ event, about: [], project });
  const waiting = new Set(files.flatMap(file => [...waitersOver(state.locks, file)]));
  sendWaitersAway(state, waiting, step);
  return freeze;
}

/** Refuses the waiters of a session that moved to another project if that project froze their files. */
export function enterProject(state: BaseState, session: string, step: Step): void {
  const { actors, waiters } = state.locks;
  const rows = rowsOfSession(actors, session, null);
  const waiting = rows.flatMap(row => [...row.waits].flatMap(ticket => waiters.get(ticket) ?? []));
  if (state.freezes.all.size > 0) sendWaitersAway(state, waiting, step);
}

/** Returns the freeze that stops the request, or null. */
export function freezeOn(state: BaseState, request: LockRequest): Freeze | null {
  return freezeAgainst(state, request, projectOf(state, request.actor) ?? request.project);
}

function freezeAgainst(state: BaseState, requester: Requester, project: string | undefined): Freeze | null {
  if (state.freezes.all.size === 0) return null;
  return (
    freezesOver(state.freezes, requester.files).find(freeze => stops(state, freeze, requester, project)) ??
    null
  );
}

export function refuseFrozen(state: BaseState, freeze: Freeze, { files }: Pick<Requester, "files">): Refusal {
  const who = freeze.by?.name ?? personOnWire;
  const file = overlapOf(files, freeze.files)?.file ?? "";
  const leftMs = Math.max(0, freeze.until - state.t);
  const error = `${who} froze ${file}; the freeze ends in at most ${Math.ceil(leftMs / 1000)} s; work on something else`;
  return refuse("edits_held", error, {
    file,
    hold: freeze.id,
    by: freeze.by,
    text: freeze.text,
    leftMs,
    queued: false,
  });
}

/** Removes the freeze, announces its end, and withdraws its message from those that have not read it. */
export function endFreeze(state: BaseState, freeze: Freeze, cause: string, step: Step): void {
  removeFreeze(state.freezes, freeze);
  withdraw(state.messages, freeze.message);
  const { id, project, files } = freeze;
  const event = { event: "hold_ended" as const, hold: id, ...fileLists(files), cause, project };
  step.events.push({ event, about: [], project });
}

/** Ends the freezes of a session, of one of its incarnations or of one agent. */
export function endFreezesOf(
  state: BaseState,
  of: { readonly session: string; readonly incarnation?: number; readonly agent?: string },
  cause: string,
  step: Step,
): void {
  for (const freeze of freezesIn(state.freezes, state.freezes.byOwner.get(of.session))) {
    const { actor } = freeze;
    if (actor === null) continue;
    if (of.incarnation !== undefined && actor.incarnation !== of.incarnation) continue;
    if (of.agent === undefined || actor.agent === of.agent) endFreeze(state, freeze, cause, step);
  }
}

/** "Please do not edit" is not so any more. An answer under way may still carry it. */
function withdraw(messages: Messages, id: string | undefined): void {
  const message = id === undefined ? undefined : messages.all.get(id);
  if (message === undefined) return;
  const open = [...message.letters.values()].filter(({ state }) => state === "unread" || state === "offered");
  for (const letter of open) dropLetter(messages, message, letter);
}

export function freezeRow(freeze: Freeze, now: number): HoldRow {
  const { id, files, project, by, text, since, until } = freeze;
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

/** Whether the freeze stops a requester for its files. It does not stop its own actor and that actor's descendants. */
function stops(
  state: BaseState,
  freeze: Freeze,
  { actor, ancestors }: Requester,
  project: string | undefined,
): boolean {
  if (freeze.project !== project || freeze.until <= state.t) return false;
  const isFamily =
    freeze.actor !== null &&
    freeze.actor.session === actor.session &&
    freeze.actor.incarnation === actor.incarnation &&
    (freeze.actor.agent === actor.agent || ancestors.includes(freeze.actor.agent));
  return !isFamily;
}

/** Refuses the waiters that a freeze stops, in queue order. */
function sendWaitersAway(state: BaseState, waiters: Iterable<Waiter>, step: Step): void {
  for (const waiter of [...waiters].sort((a, b) => a.ticket - b.ticket)) {
    const freeze =
      waiter.origin === null ? null : freezeAgainst(state, waiter, projectOf(state, waiter.actor));
    if (freeze !== null) sendAway(state, waiter, refuseFrozen(state, freeze, waiter), step);
  }
}

/** Refuses a waiter. A hook's waiter keeps its queue position for `placeMs`, as after a time-out. */
function sendAway(state: BaseState, waiter: Waiter, reply: Refusal, step: Step): void {
  if (waiter.placeMs === 0) {
    dismiss(state, waiter, reply, "edits held", step);
    return;
  }
  answerWaiter(state, waiter, reply, false, step);
  detachWaiter(state, waiter, waiter.placeMs, step);
}

function isBy(freeze: Freeze, actor: Actor): boolean {
  return freeze.actor !== null && sameActor(freeze.actor, actor);
}
