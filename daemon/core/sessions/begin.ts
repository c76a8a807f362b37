/**
 * Begins sessions and their agents, names the agents, and continues a suspended session under another id.
 *
 * Invariants: a session has at least one incarnation, each with its own anchor; names are unique in a project.
 */

import { refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Anchor } from "../frame/actors.ts";
import { assert } from "../frame/collections.ts";
import { enterProject } from "../locks/freezes.ts";
import { addHold, removeHold } from "../locks/holds.ts";
import { movedTo } from "../locks/inherit.ts";
import { holdsOf } from "../locks/release.ts";
import { moveInbox } from "../messages/inbox.ts";
import type { BaseState, Meta, Session, Sessions } from "../tables/base-state.ts";
import type { ActsFor, CommandOf, Reply, Step } from "../tables/entries.ts";
import { renameHeads } from "../tables/heads.ts";
import { rowsOfSession } from "../tables/locks.ts";
import { isShortId, keepNames, shortId } from "../tables/naming.ts";
import { moveNotes } from "../tables/notices.ts";
import {
  addSession,
  type Ended,
  enterPresent,
  enterWorktree,
  leaveWorktree,
  type Named,
  nameAgent,
  renameSession,
  type SessionBegin,
  setIncarnations,
  setSuspended,
  suspendedAt,
} from "../tables/sessions.ts";
import { renameCommits, renameStashes, renameWriters } from "../tables/uncommitted.ts";
import { passClaims } from "../tasks/leave.ts";
import { compareAgain, moveDeclaration } from "../work/declared-ends.ts";
import { renameRisks } from "../work/dirty-files.ts";
import { end } from "./end.ts";
import { firstName, nextName } from "./names.ts";
import { noRoom, whoMakesRoom } from "./room.ts";

// The agents within a session, by the names that people and other agents use.
//
// Invariants: an agent has at most one name, unique among the session's agents that have not ended. A session keeps at most
// `limits.agentsPerSessionMax` agents. It also keeps the names of `limits.endedAgentsMax` ended agents, because their work
// and their trail are still shown.

/** Whether an `agent_begin` with this name would change anything. */
export function needsName({ agents }: Session, agent: string, name: string | null): boolean {
  const known = agents.get(agent);
  if (known === undefined) return agents.size < limits.agentsPerSessionMax;
  return name !== null && name !== shortId(agent) && isShortId(known, agent);
}

/** Records an agent that began or whose name became known (a teammate's own, a subagent's type). Keeps an old name. */
export function agentBegin(
  state: BaseState,
  { session: id, agent, name }: CommandOf<"agent_begin">,
  _meta: Meta,
  step: Step,
): void {
  step.reply = { ok: true };
  const session = state.sessions.live.get(id);
  if (session === undefined || !needsName(session, agent, name)) return;
  // An agent that goes on after its end has its name again.
  const wanted = name ?? session.endedAgents.get(agent) ?? shortId(agent);
  nameAgent(state.sessions, session, agent, freeName(session, wanted));
  compareAgain(state, { session: id, agent }, step);
}

/** A session goes on under another id: its agents have ended. */
function passAgentNames(state: BaseState, before: Session, id: string): void {
  const session = state.sessions.live.get(id);
  if (session !== undefined) keepNames(state, session, [...before.endedAgents, ...before.agents]);
}

/** Returns `name`, or `name-2`, `name-3`... if other agents of the session have it. */
function freeName(session: Session, name: string): string {
  const taken = new Set(session.agents.values());
  let free = name;
  for (let n = 2; taken.has(free); n += 1) free = `${name}-${n}`;
  return free;
}

/** Whether the session lives and has the agent; null is its main agent. */
export function hasAgent({ live }: Sessions, session: string, agent: string | null): boolean {
  const known = live.get(session);
  return known !== undefined && (agent === null || known.agents.has(agent));
}

export function sessionBegin(
  state: BaseState,
  command: CommandOf<"session_begin">,
  meta: Meta,
  step: Step,
): void {
  const { live, ended } = state.sessions;
  const known = live.get(command.session);
  if (known === undefined) {
    const last = ended.get(command.session);
    const isRemembered = last !== undefined && last.at + limits.endedMs > state.t;
    if (isRemembered && !command.revive && mayBeLate(last, command.anchor)) {
      step.reply = refuse(
        "session_ended",
        `session ${command.session} has ended; a late event does not bring it back`,
      );
      return;
    }
    const before = command.anchor === null ? undefined : suspendedAt(state.sessions, command.anchor);
    const full = before === undefined ? noRoom(state, command.anchor, meta.origin.node) : null;
    if (full !== null) {
      step.reply = full;
      return;
    }
    if (before === undefined) begin(state, command, saidBy(command), meta, step);
    else goOn(state, before, command, meta, step);
  } else {
    const full = known.incarnations.length >= limits.incarnationsMax;
    if (full && isNewIncarnation(known, command.anchor)) {
      const error = `session ${known.id} is open in ${limits.incarnationsMax} terminals already; close one`;
      step.reply = refuse("too_many_sessions", error);
      return;
    }
    update(state, known, command, meta, step);
  }
  step.reply = begunReply(state, command.session);
}

/** Returns the answer to who began the session. */
function begunReply(state: BaseState, id: string): Reply {
  const { name, project, incarnations } = sessionOf(state, id);
  return { ok: true, id, name, project, anchored: incarnations.some(i => i.anchor !== null) };
}

/** Continues the session `from` under another id; begins that one if `from` does not live. */
export function continueSession(
  state: BaseState,
  from: string,
  command: SessionBegin,
  meta: Meta,
  step: Step,
): void {
  const { live } = state.sessions;
  const before = live.get(from);
  if (live.has(command.session)) return;
  if (before === undefined) begin(state, command, saidBy(command), meta, step);
  else goOn(state, before, command, meta, step);
}

function sessionOf({ sessions }: BaseState, id: string): Session {
  const session = sessions.live.get(id);
  assert(session !== undefined, () => `session ${id} did not begin`);
  return session;
}

/** Continues a suspended session under another id, with its name, inbox, tasks and explicit locks. */
function goOn(state: BaseState, before: Session, command: SessionBegin, meta: Meta, step: Step): void {
  const kept = rowsOfSession(state.locks.actors, before.id, null)
    .filter(row => row.actor.agent === null)
    .flatMap(row => holdsOf(state, row));
  for (const hold of kept) removeHold(state.locks, hold);
  const actor = { session: command.session, agent: null, incarnation: 0 };
  passClaims(state, before.id, actor);
  moveInbox(state, before.id, command.session);
  renameRisks(state, before.id, command.session);
  moveDeclaration(state, before.id, command.session);
  // After the declaration, whose move may take notices back.
  moveNotes(state, before.id, command.session);
  for (const { sessionMoves } of state.points) sessionMoves?.(state, before.id, command.session);
  end(state, before, "continued", step);
  const own = { name: before.name, by: before.namedBy };
  const chosenName = saidBy(command);
  begin(state, command, before.namedBy === "person" || chosenName === null ? own : chosenName, meta, step);
  passAgentNames(state, before, command.session);
  renameWriters(state.writes, before.id, command.session);
  renameStashes(state.stashes, before.id, command.session);
  renameCommits(state.commits, before.id, command.session);
  renameHeads(state.heads, before.id, command.session);
  for (const hold of kept) addHold(state.locks, { ...movedTo(hold, actor), place: state.locks.grants });
}

/** Begins a session without anchor for a lock or a claim whose session id is not registered. */
export function sessionActs(state: BaseState, request: ActsFor, meta: Meta, step: Step): void {
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
    revive: false,
    project,
    cwd,
    wallMs,
  };
  begin(state, { session: request.actor.session, ...anonymous }, null, meta, step);
}

/** Returns the name from the client, if it said one. */
function saidBy({ name, named }: SessionBegin): Named | null {
  return name === null ? null : { name, by: named ?? "client" };
}

function begin(
  state: BaseState,
  command: Omit<SessionBegin, "retry" | "name" | "named">,
  chosenName: Named | null,
  meta: Meta,
  step: Step,
): void {
  const { ended } = state.sessions;
  const { session: id, project, worktree, branch, cwd } = command;
  const gives = whoMakesRoom(state, command.anchor, meta.origin.node);
  if (gives !== undefined) end(state, gives, "made room", step, true);
  const { name, by: namedBy } = firstName(
    state.sessions,
    { id, project, worktree, branch, chosenName },
    state.rules,
  );
  state.sessions.keptNames.delete(id);
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
    namedBy,
    ...(command.client === undefined ? {} : { client: command.client }),
    lostAt: null,
    suspendedUntil: null,
    incarnations: [{ ordinal: 0, begun: meta.seq, anchor: command.anchor }],
    agents: new Map(),
    endedAgents: new Map(),
  });
  step.events.push({ event: { event: "session_started", id, name, project }, about: [id], project });
}

function update(state: BaseState, session: Session, command: SessionBegin, meta: Meta, step: Step): void {
  livesOn(state, session);
  const { preimages, worktrees } = state.sessions;
  leaveWorktree(worktrees, session);
  const writable = preimages.writable(session);
  writable.worktree = command.worktree;
  writable.branch = command.branch;
  writable.cwd = command.cwd;
  if (command.client !== undefined) writable.client = command.client;
  enterWorktree(worktrees, session);
  const wanted = nextName(session, saidBy(command));
  const moves = command.project !== session.project;
  if (moves || wanted.name !== session.name || wanted.by !== session.namedBy)
    renameSession(state.sessions, session, command.project, wanted);
  if (moves) enterProject(state, session.id, step);
  enterProcess(state, session, command.anchor, meta, step);
}

/** Notes the process of a session's terminal: a further one is an incarnation of its own. */
function enterProcess(
  state: BaseState,
  session: Session,
  anchor: Anchor | null,
  meta: Meta,
  step: Step,
): void {
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

/**
 * Whether an event may come from before the end. An event of another process than the session's cannot, if the daemon sees
 * that process. A person resumed the session in that process, and its start was not reported.
 */
function mayBeLate({ anchors }: Ended, anchor: Anchor | null): boolean {
  if (anchors === null || anchor === null) return true;
  return anchors.some(one => sameAnchor(one, anchor));
}

function isNewIncarnation(session: Session, anchor: Anchor | null): boolean {
  if (anchor === null || session.incarnations.some(i => i.anchor === null)) return false;
  return !session.incarnations.some(i => sameAnchor(i.anchor, anchor));
}

function sameAnchor(a: Anchor | null, b: Anchor): boolean {
  return a !== null && a.pid === b.pid && a.startTime === b.startTime;
}

/** Records a sign of life: the session is neither lost nor suspended, and becomes the last to make room. */
export function livesOn(state: BaseState, session: Session): void {
  const { sessions } = state;
  if (session.lostAt !== null) {
    sessions.preimages.writable(session).lostAt = null;
    enterPresent(sessions, session);
  }
  if (session.suspendedUntil !== null) setSuspended(sessions, session, null);
  sessions.touched.add(session.id);
}
