/** The invariants of the base's tables. */

import { isGrave } from "../../protocol/names.ts";
import { actorKey, areBeside, sameActor } from "./frame/actors.ts";
import { isSame } from "./frame/records.ts";
import { Preimages } from "./frame/saved-rows.ts";
import { cycleOf, firstBlocker } from "./locks/blockers.ts";
import { addHold, addWaiter } from "./locks/holds.ts";
import { lettersOf } from "./messages/inbox.ts";
import { isIdle, isPresent } from "./sessions/room.ts";
import { type BaseState, type Hold, type Locks, noLocks } from "./tables/base-state.ts";
import { contextRecords, isKeptByUse } from "./tables/context.ts";
import { declarationRecords } from "./tables/declarations.ts";
import type { ActorLocks } from "./tables/locks.ts";
import { conflictRecords, freezeRecords, inboxKey, pendingRecords, sortKeyOf } from "./tables/messages.ts";
import { isAlive } from "./tables/naming.ts";
import {
  addSession,
  enterPresent,
  nameKey,
  noSessions,
  Revisions,
  type Sessions,
} from "./tables/sessions.ts";
import { claimerOf, insertTasks, isDone, noTasks, type Tasks } from "./tables/tasks.ts";
import { dirtyRecords, riskRecords, settledRecords } from "./tables/uncommitted.ts";
import { findCycle, riskOf } from "./tasks/replies.ts";

// The invariants of declarations.

/** Yields one sentence per broken invariant. */
export function* checkDeclarations(state: BaseState): Generator<string> {
  const { declarations, sessions, limits } = state;
  const { live, ended, endedCount } = declarations;
  yield* declarationRecords.check(declarations, "declarations", limits.declarationsMax);
  if (ended.size > limits.declarationsEndedMax) yield "more declarations are in the history than may be";
  for (const [key, one] of live) {
    if (!sessions.live.has(one.session)) yield `${one.session} has ended and its declaration holds`;
    if (one.endedAt !== null) yield `the declaration of ${key} holds and has ended`;
    if (new Set(one.files.map(file => file.key)).size < one.files.length)
      yield `${key} declared a file twice`;
    if (new Set(one.uncertainties.map(({ question }) => question)).size < one.uncertainties.length)
      yield `${key} has a question twice`;
    if (one.uncertainties.some(({ resolved, evidence }) => resolved && evidence.trim() === ""))
      yield `${key} resolved a question without evidence`;
  }
  let last = 0;
  for (const [n, { endedAt }] of ended) {
    if (n <= last || n > endedCount) yield `ended declaration ${n} stands behind ${last}`;
    if (endedAt === null) yield `ended declaration ${n} holds`;
    last = n;
  }
}

// The invariants of dirty files and merge risks.

/** Yields one sentence per broken invariant. */
export function* checkWrites({ writes, seq, limits }: BaseState): Generator<string> {
  yield* dirtyRecords.check(writes, "dirty files", limits.writesMax);
  yield* settledRecords.check(writes, "settled files", limits.settledWorkMax);
  let last = 0;
  for (const [key, { writers }] of writes.files) {
    if (writers.length === 0 || writers.length > limits.writersPerFileMax)
      yield `${key} has ${writers.length} writers`;
    if (new Set(writers.map(w => actorKey(w.actor))).size !== writers.length)
      yield `${key} has a writer twice`;
    if (writers.some((w, i) => i > 0 && w.seq < (writers[i - 1]?.seq ?? 0)))
      yield `the latest writer of ${key} is not last`;
    const latest = writers.at(-1)?.seq ?? 0;
    if (latest < last || latest > seq) yield `${key} stands in the wrong place among the writes`;
    last = latest;
  }
  for (const [key, { writers }] of writes.settled) {
    if (writes.files.has(key)) yield `${key} has settled and is uncommitted`;
    if (writers.length === 0) yield `${key} has settled and nobody wrote it`;
  }
}

/** Yields one sentence per broken invariant. */
export function* checkRisks(state: BaseState): Generator<string> {
  const { risks, sessions, limits } = state;
  yield* riskRecords.check(state, "merge risks", limits.mergeRisksMax);
  for (const { file, sides, told: sessionsTold } of risks.values()) {
    const [a, b] = sides;
    if (a.worktree >= b.worktree) yield `the sides of ${file} are out of order`;
    if (sessionsTold.some(id => sides.every(({ actor }) => actor.session !== id)))
      yield `${file} is at risk, and somebody else was told`;
    for (const { actor } of sides)
      if (!sessions.live.has(actor.session))
        yield `${file} is at risk with ${actor.session}, which has ended`;
  }
}

// The invariants of locks and waiters.

/** Yields one sentence per broken invariant. */
export function* checkLocks(state: BaseState): Generator<string> {
  yield* checkHolds(state);
  yield* checkLine(state);
  yield* checkIndexes(state.locks);
}

function* checkHolds(state: BaseState): Generator<string> {
  const { locks } = state;
  let last = 0;
  for (const hold of locks.holds.values()) {
    const { actor, key } = hold;
    if (hold.place < last) yield `${key} stands in the wrong place`;
    last = hold.place;
    if (!isAlive(state, actor)) yield `${key} is held by ${actor.session}, which is not alive`;
    if (hold.token.grant > locks.grants) yield `${key} has a token of the future`;
    if (hold.token.grant < hold.first.grant) yield `${key} has a token older than its first`;
    for (const other of locks.heldPaths.overlapping(key, hold.dir)) {
      const beside = locks.holds.get(other);
      const isFamily = beside !== undefined && (sameActor(beside.actor, actor) || related(hold, beside));
      if (!isFamily) yield `${key} and ${other} overlap with two holders`;
      else if (areBeside(beside.actor, actor))
        yield `${key} and ${other} overlap with two commands of a session`;
    }
  }
}

/** Whether one holder is the other's ancestor: it may hold a directory in which its descendant holds a file. */
function related(a: Hold, b: Hold): boolean {
  const sameProcess = a.actor.session === b.actor.session && a.actor.incarnation === b.actor.incarnation;
  return sameProcess && (a.ancestors.includes(b.actor.agent) || b.ancestors.includes(a.actor.agent));
}

function* checkLine(state: BaseState): Generator<string> {
  const { locks } = state;
  let last = 0;
  for (const waiter of locks.waiters.values()) {
    if (waiter.ticket <= last) yield `ticket ${waiter.ticket} stands behind ${last}`;
    last = waiter.ticket;
    if (!isAlive(state, waiter.actor)) yield `${waiter.actor.session} waits and is not alive`;
    for (const file of waiter.files) {
      const hold = locks.holds.get(file.key);
      const part = hold !== undefined && sameActor(hold.actor, waiter.actor) && hold.token.grant > 0;
      if (
        part &&
        waiter.origin !== null &&
        hold.origin.n === waiter.origin.n &&
        hold.origin.epoch === waiter.origin.epoch
      ) {
        yield `ticket ${waiter.ticket} waits for a set of which it took ${file.key}`;
      }
    }
    if (waiter.origin === null) continue;
    if (firstBlocker(locks, waiter) === null) yield `ticket ${waiter.ticket} waits for what is free`;
  }
}

function* checkIndexes(locks: Locks): Generator<string> {
  const fresh = rebuiltIndexes(locks);
  const same = (name: string, a: unknown, b: unknown) => (isSame(a, b) ? [] : [`the index ${name} is wrong`]);
  yield* same("waitersAt", locks.waitersAt, fresh.waitersAt);
  yield* same("byOrigin", locks.byOrigin, fresh.byOrigin);
  yield* same("byBound", locks.byBound, fresh.byBound);
  yield* same("actors", actorsOf(locks), actorsOf(fresh));
  yield* same("blockers", blockersOf(locks), blockersOf(fresh));
  yield* same("free", locks.graph.freeCount, fresh.graph.freeCount);
  for (const name of ["heldPaths", "waitedPaths", "heldWords", "waitedWords"] as const)
    yield* same(name, locks[name].describe(), fresh[name].describe());
  for (const edge of fresh.graph.fresh) {
    if (cycleOf(fresh, edge) !== null) yield `ticket ${[...edge.tickets.keys()].join()} waits in a cycle`;
  }
  if (locks.graph.fresh.size > 0) yield "nobody looked whether a new wait closes a cycle";
}

/** Returns the locks with their derived fields rebuilt from holds and waiters, to compare with the live ones. */
function rebuiltIndexes(locks: Locks): Locks {
  const fresh = noLocks(new Set(), new Preimages());
  for (const hold of locks.holds.values()) addHold(fresh, { ...hold });
  for (const waiter of locks.waiters.values()) addWaiter(fresh, { ...waiter });
  return fresh;
}

function actorsOf({ actors }: Locks): ReadonlyMap<string, unknown> {
  return new Map(
    [...actors.byKey].map(([key, { actor, session, ahead, behind, holds, ...row }]) => {
      const listed = actors.bySession.get(actor.session) === session;
      const edges = [ahead, behind].map(
        side => new Map([...side.values()].map(({ from, to, tickets }) => [pairOf(from, to), tickets])),
      );
      return [
        key,
        {
          ...row,
          holds: new Set(holds),
          count: holds.size,
          own: actorKey(actor),
          held: session.held,
          queued: session.queued,
          rows: session.rows.size,
          commands: session.commands,
          listed,
          edges,
        },
      ];
    }),
  );
}

function pairOf(from: ActorLocks, to: ActorLocks): string {
  return `${actorKey(from.actor)} > ${actorKey(to.actor)}`;
}

function blockersOf({ waiters }: Locks): ReadonlyMap<number, number | null> {
  return new Map([...waiters.values()].map(({ ticket, blockers }) => [ticket, blockers]));
}

// The invariants of context, messages, notices and freezes.

/** Yields one sentence per broken invariant. */
export function* checkContext({ context, nodes, limits, t }: BaseState): Generator<string> {
  yield* contextRecords.check(context, "items of context");
  for (const item of context.items.values()) {
    const { usedAt, leavesAt } = item;
    if (usedAt !== undefined && (usedAt > t || !isKeptByUse(item))) yield `${item.key} was used at ${usedAt}`;
    if (leavesAt !== undefined && (usedAt === undefined || leavesAt - usedAt < limits.contextUnusedMs))
      yield `${item.key} leaves at ${leavesAt}, though it was used at ${usedAt}`;
    if (item.version <= 0) yield `${item.key} has version ${item.version}`;
    if (!nodes.has(item.node)) yield `${item.key} was set on ${item.node}, where no daemon started`;
  }
  if (context.bytes > limits.contextBytes || context.items.size - context.verdicts > limits.contextKeysMax)
    yield "context is over full";
}

/** Yields one sentence per broken invariant. */
export function* checkMessages(state: BaseState): Generator<string> {
  const { messages, sessions, t, limits } = state;
  let bytes = 0;
  let last = 0;
  for (const message of messages.all.values()) {
    const { id, letters, order } = message;
    bytes += message.bytes;
    if (order <= last) yield `${id} stands behind message ${last}`;
    last = order;
    if (letters.size === 0) yield `${id} is in no inbox and kept`;
    for (const [key, { to }] of letters) {
      if (key !== inboxKey(to)) yield `${id} is in the inbox ${key}, not in that of ${to.id}`;
      if (!sessions.live.has(to.id)) yield `${id} is in the inbox of ${to.id}, which is not alive`;
    }
  }
  if (!isSame([...messages.places], [...messages.all.values()].map(sortKeyOf)))
    yield "the order of messages is noted wrong";
  if (last > messages.count) yield `message ${last} has an order of the future`;
  if (bytes !== messages.bytes) yield `messages count ${messages.bytes} bytes, not ${bytes}`;
  yield* checkInboxes(state);
  for (const [by, times] of messages.sent) {
    const lately = times.filter(at => at + limits.messageRateMs > t);
    if (lately.length > limits.messageRateMax) yield `${by} sent ${lately.length} messages within a minute`;
  }
}

/** Checks the indexes derived from messages: every indexed letter exists, and the counts agree. */
function* checkInboxes({ messages, limits }: BaseState): Generator<string> {
  let letters = 0;
  let read = 0;
  let sent = 0;
  for (const message of messages.all.values()) {
    const open = [...message.letters.values()].filter(({ state }) => state !== "read").length;
    letters += message.letters.size;
    if (open !== message.open) yield `${message.id} counts ${message.open} open letters, not ${open}`;
    if (open === 0) read += message.bytes;
    if ((open === 0) !== messages.read.has(sortKeyOf(message))) yield `${message.id} is wrongly read by all`;
    if (message.from === null) continue;
    sent += 1;
    if (!messages.bySender.get(message.from.id)?.has(message.id)) yield `${message.id} has no sender`;
  }
  if (read !== messages.readBytes) yield `${messages.readBytes} bytes are read by all, not ${read}`;
  for (const ids of messages.bySender.values()) sent -= ids.size;
  if (sent !== 0) yield "messages are indexed under a sender they do not have";
  let owned = 0;
  for (const [key, inbox] of messages.inboxes) {
    const found = [...lettersOf(messages, key)];
    letters -= found.length;
    const order = found.map(([message]) => message.order);
    if (order.some((n, i) => i > 0 && n <= (order[i - 1] ?? 0))) yield `the inbox ${key} is not in order`;
    if (found.length > limits.inboxMax) yield `the inbox ${key} is over full`;
    for (const state of ["unread", "handed", "read"] as const) {
      const places = found
        .filter(([, letter]) => letter.state === state)
        .map(([message]) => sortKeyOf(message));
      if ([...inbox[state]].join() !== places.join())
        yield `the inbox ${key} is wrong about what is ${state}`;
    }
    const [first] = found;
    if (first === undefined) yield `the inbox ${key} is empty`;
    else if (messages.bySession.get(first[1].to.id)?.has(key)) owned += 1;
  }
  if (letters !== 0) yield "letters are in other inboxes than those they name";
  for (const keys of messages.bySession.values()) owned -= keys.size;
  if (owned !== 0) yield "inboxes are indexed under a session that is not theirs";
}

/** Yields one sentence per broken invariant. */
export function* checkFreezes({ freezes, sessions, limits }: BaseState): Generator<string> {
  const counts = new Map<string, number>();
  yield* freezeRecords.check(freezes, "freezes", limits.freezesMax);
  for (const { id, actor, project } of freezes.all.values()) {
    const by = actor === null ? project : [actor.session, actor.incarnation, actor.agent].join("\n");
    const count = (counts.get(by) ?? 0) + 1;
    counts.set(by, count);
    if (count > limits.freezesPerActorMax) yield `${by} holds edits ${count} times`;
    if (actor === null) continue;
    const session = sessions.live.get(actor.session);
    const isAlive = session?.incarnations.some(i => i.ordinal === actor.incarnation) ?? false;
    if (!isAlive) yield `${id} holds edits for ${actor.session}, which is not alive`;
  }
}

/** Yields one sentence per broken invariant. */
export function* checkNotes({ notes, sessions, limits }: BaseState): Generator<string> {
  yield* pendingRecords.check(notes, "agents with notes", limits.notedActorsMax);
  yield* conflictRecords.check(notes, "conflicts", limits.conflictsToldMax);
  const numbers = new Set<number>();
  for (const [key, pending] of notes.pending) {
    const { session } = pending;
    if (!sessions.live.has(session)) yield `${session} has ended and is to be told something`;
    if (pending.notes.length === 0 || pending.notes.length > limits.fileNotesMax)
      yield `${key} has ${pending.notes.length} notes`;
    let last = 0;
    for (const { n } of pending.notes) {
      if (n <= last || n > notes.count || numbers.has(n)) yield `${key} has note ${n} behind ${last}`;
      numbers.add(n);
      last = n;
    }
    if (new Set(pending.notes.map(({ note }) => JSON.stringify(note))).size < pending.notes.length)
      yield `${key} is to be told something twice`;
  }
}

// The invariants of sessions.

/** Yields one sentence per broken invariant. */
export function* checkSessions(state: BaseState): Generator<string> {
  const names = new Set<string>();
  for (const session of state.sessions.live.values()) {
    if (session.incarnations.length === 0) yield `session ${session.id} has no incarnation`;
    if (new Set(session.incarnations.map(i => i.ordinal)).size !== session.incarnations.length) {
      yield `session ${session.id} has two incarnations of one ordinal`;
    }
    const name = nameKey(session.project, session.name);
    if (names.has(name)) yield `two sessions are called ${session.name}`;
    names.add(name);
    if (state.sessions.names.get(name) !== session.id) yield `the name ${session.name} is not indexed`;
    if (new Set(session.agents.values()).size !== session.agents.size) {
      yield `two agents of session ${session.id} have one name`;
    }
    if (session.endedAgents.size > state.limits.endedAgentsMax)
      yield `session ${session.id} keeps more names of ended agents than it may`;
    for (const agent of session.endedAgents.keys())
      if (session.agents.has(agent)) yield `agent ${agent} of session ${session.id} is there and ended`;
    if (state.sessions.ended.has(session.id)) yield `session ${session.id} is live and ended`;
    // The process of a client that the entries name may outlive its sessions.
    const isAnchored = session.incarnations.some(i => i.anchor !== null);
    if (session.lostAt !== null && isAnchored && session.client === undefined) {
      yield `session ${session.id} has an anchor and is lost`;
    }
  }
  if (state.sessions.keptNames.size > state.limits.sessionNamesKeptMax)
    yield "more names of ended sessions are kept than may be";
  for (const id of state.sessions.keptNames.keys())
    if (state.sessions.live.has(id)) yield `the name of ${id} is kept, and it lives`;
  if (state.sessions.names.size !== names.size) yield "names of nobody are indexed";
  const fresh = rebuiltSessions(state.sessions);
  for (const name of [
    "names",
    "sortedNames",
    "places",
    "ids",
    "worktrees",
    "agents",
    "byProcess",
    "byPid",
    "suspended",
    "byNode",
  ] as const) {
    if (!isSame(state.sessions[name], fresh[name])) yield `the sessions' index ${name} is wrong`;
  }
  for (const [base, { count, from }] of state.sessions.numbered) {
    if (count !== fresh.numbered.get(base)?.count) yield `${count} names are numbered behind ${base}`;
    for (let n = 2; n < from; n += 1)
      if (!names.has(`${base}-${n}`)) yield `${base}-${n} is free, below ${from}`;
  }
  if (state.sessions.numbered.size !== fresh.numbered.size) yield "numbered names of nobody are indexed";
  const there = noSessions(new Set(), new Preimages(), new Revisions());
  for (const session of state.sessions.live.values())
    if (isPresent(state, session)) enterPresent(there, session);
  if (!isSame(state.sessions.present, there.present)) yield "who is present is noted wrong";
  yield* checkRoom(state);
}

function* checkRoom(state: BaseState): Generator<string> {
  const { live, idle, touched } = state.sessions;
  if (touched.size > 0) yield `${[...touched].join(", ")} were touched and not looked at`;
  if (live.size > state.limits.sessionsAnchoredMax) yield "there are more sessions than may be";
  let unanchored = 0;
  for (const session of live.values()) {
    const { id, incarnations } = session;
    if (incarnations.every(i => i.anchor === null)) unanchored += 1;
    if (isIdle(state, session) !== idle.has(id)) yield `whether ${id} makes room is noted wrong`;
  }
  if (unanchored > state.limits.sessionsMax) yield "there are more sessions without a process than may be";
  for (const id of idle) if (!live.has(id)) yield `${id} makes room and is not alive`;
}

/** Returns the sessions with their derived fields rebuilt. */
function rebuiltSessions({ live }: Sessions): Sessions {
  const fresh = noSessions(new Set(), new Preimages(), new Revisions());
  for (const session of live.values()) addSession(fresh, session);
  return fresh;
}

// The invariants of tasks.

/** Yields one sentence per broken invariant. */
export function* checkTasks(state: BaseState): Generator<string> {
  yield* checkRows(state);
  yield* checkTaskRisks(state);
  yield* checkTaskIndexes(state);
}

function* checkRows(state: BaseState): Generator<string> {
  const { all, created } = state.tasks;
  let last = 0;
  for (const task of all.values()) {
    if (task.n <= last || task.n > created) yield `${task.id} has number ${task.n} behind ${last}`;
    last = task.n;
    for (const id of task.dependsOn)
      if (!all.has(id)) yield `${task.id} depends on ${id}, which is not there`;
    if (task.state.status !== "active") continue;
    const open = task.dependsOn.filter(id => !isDone(state.tasks, id));
    if (open.length > 0) yield `${task.id} is active before ${open.join(", ")}`;
    const claimer = claimerOf(task);
    if (claimer !== null && !isAlive(state, claimer))
      yield `${task.id} is claimed by ${claimer.session}, which is not alive`;
  }
  const cycle = findCycle(all.keys(), id => all.get(id)?.dependsOn ?? []);
  if (cycle !== null) yield `tasks depend on each other in a cycle: ${cycle.join(", ")}`;
}

function* checkTaskIndexes({ tasks }: BaseState): Generator<string> {
  const fresh = rebuiltTasks(tasks);
  for (const name of [
    "ids",
    "ends",
    "renumbered",
    "dependents",
    "open",
    "lists",
    "claims",
    "chars",
  ] as const) {
    if (!isSame(tasks[name], fresh[name])) yield `the tasks' index ${name} is wrong`;
  }
}

function* checkTaskRisks({ tasks }: BaseState): Generator<string> {
  const running = new Map<string, string>();
  for (const task of tasks.all.values()) {
    const { id, project, approved, state } = task;
    const risk = riskOf(task);
    if (approved === true && !isGrave(risk)) yield `${id} is ${risk} and has a yes`;
    if (approved === true && (state.status === "done" || state.status === "failed"))
      yield `${id} is ${state.status} and has a yes`;
    if (!isGrave(risk) || state.status !== "active") continue;
    const other = running.get(project);
    if (other !== undefined) yield `${id} (${risk}) runs beside ${other}`;
    running.set(project, id);
    if (risk === "critical" && approved !== true) yield `${id} is critical and runs without a yes`;
  }
}

/** Returns the tasks with their derived fields rebuilt. */
function rebuiltTasks(tasks: Tasks): Tasks {
  const fresh = noTasks(new Set(), new Preimages(), new Revisions());
  fresh.created = tasks.created;
  insertTasks(fresh, [...tasks.all.values()]);
  return fresh;
}
