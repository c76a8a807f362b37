/**
 * Sessions: who lives, until when.
 *
 * Invariants: a session has at least one incarnation, each with its own anchor; names are unique in a project; an
 * ended id stays ended for `limits.endedMs` unless it is registered anew; whatever ends a session releases all
 * that its actors hold and wait for in the same step.
 */
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { rowsOfSession } from "./actors.ts";
import { endHoldsOf, enterProject } from "./edit-holds.ts";
import type { Anchor, LockRequest, SessionBegin } from "./entry.ts";
import type { Handler, Meta } from "./handlers.ts";
import { closeInboxes, moveInbox } from "./inbox.ts";
import { holdsOf, placesOf, releaseParts, releaseSession } from "./lock-release.ts";
import { addHold, removeHold } from "./lock-table.ts";
import { forgetRisks, renameRisks } from "./merge-risk.ts";
import { forgetNotes, moveNotes } from "./notes.ts";
import { noRoom, whoMakesRoom } from "./session-room.ts";
import {
  addSession,
  freeName,
  removeSession,
  renameSession,
  setIncarnations,
  setSuspended,
  suspendedAt,
} from "./session-table.ts";
import type { Incarnation, Session, State } from "./state.ts";
import type { Step } from "./step.ts";
import { endClaims, passClaims } from "./task-claim.ts";
import { renameWriters } from "./writes.ts";

export const sessionBegin: Handler<"session_begin"> = (state, command, meta, step) => {
  const { live, ended } = state.sessions;
  const known = live.get(command.session);
  if (known === undefined) {
    const endedAt = ended.get(command.session);
    if (endedAt !== undefined && endedAt + limits.endedMs > state.t && !command.revive) {
      step.reply = refuse(
        "session_ended",
        `session ${command.session} has ended; a late event does not bring it back`,
      );
      return;
    }
    const before = command.anchor === null ? undefined : suspendedAt(state.sessions, command.anchor);
    const full = before === undefined ? noRoom(state, command.anchor !== null) : null;
    if (full !== null) {
      step.reply = full;
      return;
    }
    if (before === undefined) begin(state, command, meta, step);
    else goOn(state, before, command, meta, step);
  } else {
    const full = known.incarnations.length >= limits.incarnationsMax;
    if (full && isNewIncarnation(known, command.anchor)) {
      const error = `session ${known.id} is open in ${limits.incarnationsMax} places already; close one`;
      step.reply = refuse("too_many_sessions", error);
      return;
    }
    update(state, known, command, meta, step);
  }
  const session = live.get(command.session);
  if (session === undefined) throw new Error(`session ${command.session} did not begin`);
  const anchored = session.incarnations.some(i => i.anchor !== null);
  step.reply = { ok: true, id: session.id, name: session.name, project: session.project, anchored };
};

export const sessionEnd: Handler<"session_end"> = (state, command, _meta, step) => {
  const session = state.sessions.live.get(command.session);
  if (session === undefined) {
    step.reply = unknownSession(command.session);
    return;
  }
  const { incarnation, begun } = command;
  const isMeant = (i: Incarnation) => i.ordinal === incarnation && (begun === undefined || i.begun === begun);
  if (incarnation !== null && !session.incarnations.some(isMeant)) {
    step.reply = refuse("session_ended", `that part of session ${session.id} has ended before`);
    return;
  }
  step.reply = { ok: true };
  if (incarnation !== null && session.incarnations.length > 1) {
    const left = session.incarnations.filter(i => i.ordinal !== incarnation);
    setIncarnations(state.sessions, session, left);
    releaseSession(state, session.id, incarnation, command.cause, step);
    endClaims(state, session.id, incarnation, command.cause, step);
    endHoldsOf(state, { session: session.id, incarnation }, command.cause, step);
    return;
  }
  end(state, session, command.cause, step);
};

export const sessionLost: Handler<"session_lost"> = (state, command, _meta, step) => {
  const session = state.sessions.live.get(command.session);
  step.reply = { ok: true };
  if (session === undefined || session.begun !== command.begun || session.lostAt !== null) return;
  if (session.incarnations.some(i => i.anchor !== null)) return;
  // Somebody listens for an answer: that is life enough.
  const rows = rowsOfSession(state.locks.actors, session.id, null);
  if (rows.some(row => row.attached > 0)) return;
  session.lostAt = state.t;
  const { id, begun, name, project } = session;
  step.timers.push(
    { at: state.t + limits.lockDelayMs, due: { what: "lost_turns_over", session: id, begun } },
    { at: state.t + leaseAfterLostMs, due: { what: "lost_leases_over", session: id, begun } },
    { at: state.t + limits.lostMs, due: { what: "lost_over", session: id, begun } },
  );
  step.events.push({ event: { event: "session_lost", id, name, project }, about: [id], project });
};

export const sessionFound: Handler<"session_found"> = (state, command, _meta, step) => {
  const session = state.sessions.live.get(command.session);
  if (session === undefined) {
    step.reply = unknownSession(command.session);
    return;
  }
  session.lostAt = null;
  step.reply = { ok: true };
};

/** The client cleared its conversation: turn holds and places go, the rest waits for its process to go on. */
export const sessionSuspend: Handler<"session_suspend"> = (state, command, _meta, step) => {
  const session = state.sessions.live.get(command.session);
  if (session === undefined) {
    step.reply = unknownSession(command.session);
    return;
  }
  step.reply = { ok: true };
  const parts = rowsOfSession(state.locks.actors, session.id, null).map(row => ({
    actor: row.actor,
    holds: holdsOf(state, row).filter(h => h.kind === "turn" || h.actor.agent !== null),
    places: placesOf(state, row),
  }));
  releaseParts(state, parts, "turn ended", step);
  const at = state.t + limits.suspendMs;
  setSuspended(state.sessions, session, at);
  const { id, begun } = session;
  step.timers.push({ at, due: { what: "suspend_over", session: id, begun } });
};

/** The process of a suspended session goes on under another id, with its name, its tasks and its explicit locks. */
function goOn(state: State, before: Session, command: SessionBegin, meta: Meta, step: Step): void {
  const kept = rowsOfSession(state.locks.actors, before.id, null)
    .filter(row => row.actor.agent === null)
    .flatMap(row => holdsOf(state, row));
  for (const hold of kept) removeHold(state.locks, hold);
  const actor = { session: command.session, agent: null, incarnation: 0 };
  passClaims(state, before.id, actor);
  moveInbox(state, before.id, command.session);
  renameRisks(state, before.id, command.session);
  moveNotes(state, before.id, command.session);
  end(state, before, "continued", step);
  begin(state, { ...command, name: command.name ?? before.name }, meta, step);
  renameWriters(state, before.id, command.session);
  for (const hold of kept) addHold(state.locks, { ...hold, actor });
}

/** Explicit locks of a lost session go this long after it was lost: its lease counts from the last sign of life. */
export const leaseAfterLostMs = limits.explicitLeaseMs - limits.silenceMs;

/** A lock or a claim by an id that nobody registered makes a session without anchor, as published. */
export function ensureSession(
  state: State,
  request: Pick<LockRequest, "actor" | "project" | "cwd" | "wallMs">,
  meta: Meta,
  step: Step,
): void {
  const session = state.sessions.live.get(request.actor.session);
  if (session !== undefined) {
    livesOn(state, session);
    return;
  }
  const { project, cwd, wallMs } = request;
  const anonymous = {
    anchor: null,
    worktree: cwd,
    branch: null,
    name: null,
    revive: false,
    project,
    cwd,
    wallMs,
  };
  begin(state, { session: request.actor.session, ...anonymous }, meta, step);
}

/** Ends the session with all it holds and waits for; `returns`: its next event begins it anew. */
export function end(state: State, session: Session, cause: string, step: Step, returns = false): void {
  const { ended } = state.sessions;
  releaseSession(state, session.id, null, cause, step);
  endClaims(state, session.id, null, cause, step);
  endHoldsOf(state, { session: session.id }, cause, step);
  closeInboxes(state, session.id, undefined, step);
  forgetRisks(state, session.id);
  forgetNotes(state, session.id);
  removeSession(state.sessions, session);
  ended.delete(session.id);
  if (!returns) ended.set(session.id, state.t);
  for (const [id, at] of ended) {
    if (ended.size <= limits.endedMax && at + limits.endedMs > state.t) break;
    ended.delete(id);
  }
  const { id, name, project } = session;
  step.events.push({ event: { event: "session_ended", id, name, project, cause }, about: [id], project });
}

/** Why a session that does not live, or the part of it that asks, cannot act. */
export function noSession(state: State, id: string): ReturnType<typeof refuse> {
  return state.sessions.ended.has(id) || state.sessions.live.has(id)
    ? refuse("session_ended", `session ${id} has ended; register it again before it acts`)
    : unknownSession(id);
}

function unknownSession(id: string): ReturnType<typeof refuse> {
  return refuse("unknown_session", `no session ${id} is registered; send register first`);
}

function begin(state: State, command: Omit<SessionBegin, "retry">, meta: Meta, step: Step): void {
  const { ended } = state.sessions;
  const { session: id, project, worktree, branch, cwd } = command;
  const gives = whoMakesRoom(state);
  if (gives !== undefined) end(state, gives, "made room", step, true);
  const name = freeName(state.sessions, project, command.name ?? id.slice(0, 8));
  ended.delete(id);
  addSession(state.sessions, {
    id,
    node: meta.origin.node,
    begun: meta.seq,
    registeredAt: command.wallMs,
    project,
    worktree,
    branch,
    cwd,
    name,
    lostAt: null,
    suspendedUntil: null,
    incarnations: [{ ordinal: 0, begun: meta.seq, anchor: command.anchor }],
    agents: new Map(),
  });
  step.events.push({ event: { event: "session_started", id, name, project }, about: [id], project });
}

function update(state: State, session: Session, command: SessionBegin, meta: Meta, step: Step): void {
  livesOn(state, session);
  session.worktree = command.worktree;
  session.branch = command.branch;
  session.cwd = command.cwd;
  const wanted = command.name ?? session.name;
  const moves = command.project !== session.project;
  if (moves || wanted !== session.name) renameSession(state.sessions, session, command.project, wanted);
  if (moves) enterProject(state, session.id, step);
  const { anchor } = command;
  if (anchor === null) return;
  const [only] = session.incarnations;
  if (session.incarnations.length === 1 && only !== undefined && only.anchor === null) {
    setIncarnations(state.sessions, session, [{ ...only, anchor }]);
  } else if (isNewIncarnation(session, anchor)) {
    const ordinal = 1 + Math.max(...session.incarnations.map(i => i.ordinal));
    const all = [...session.incarnations, { ordinal, begun: meta.seq, anchor }];
    setIncarnations(state.sessions, session, all);
    const { id, name, project } = session;
    const incarnations = all.length;
    step.events.push({
      event: { event: "session_duplicated", id, name, project, incarnations },
      about: [id],
      project,
    });
  }
}

function isNewIncarnation(session: Session, anchor: Anchor | null): boolean {
  if (anchor === null || session.incarnations.some(i => i.anchor === null)) return false;
  return !session.incarnations.some(i => sameAnchor(i.anchor, anchor));
}

function sameAnchor(a: Anchor | null, b: Anchor): boolean {
  return a !== null && a.pid === b.pid && a.startTime === b.startTime;
}

/** It is heard of: it is neither lost nor suspended, and the last of those that make room. */
function livesOn({ sessions }: State, session: Session): void {
  session.lostAt = null;
  setSuspended(sessions, session, null);
  sessions.touched.add(session.id);
}
