/** The invariants of every slice as one function; the simulation calls it after each step. */

import { actorKey, areBeside, sameActor } from "./actor.ts";
import type { Hold, Locks } from "./base-state.ts";
import { checkDeclarations } from "./declarations/check.ts";
import { dirtyRecords, riskRecords, settledRecords } from "./files/table.ts";
import { checkResults } from "./lead/checks/table.ts";
import { checkDebates } from "./lead/debates/check.ts";
import { checkMismatches } from "./lead/declarations/check.ts";
import { checkMerges } from "./lead/merges/check.ts";
import { checkSpawns } from "./lead/spawns/check.ts";
import { firstBlocker } from "./locks/blockers.ts";
import type { ActorLocks } from "./locks/by-actor.ts";
import { cycleOf } from "./locks/deadlock.ts";
import { checkTalk } from "./messages/check.ts";
import { checkNotes } from "./messages/check-notices.ts";
import { Preimages } from "./preimages.ts";
import { rebuiltIndexes, rebuiltSessions, rebuiltTasks } from "./rebuilt.ts";
import { isSame } from "./same-index.ts";
import { isAlive } from "./sessions/kinship.ts";
import { isPresent } from "./sessions/present.ts";
import { Revisions } from "./sessions/revisions.ts";
import { isIdle } from "./sessions/room.ts";
import { enterPresent, nameKey, noSessions } from "./sessions/table.ts";
import { checkStashes } from "./stashes/table.ts";
import type { State } from "./state.ts";
import { checkTaskRisks } from "./tasks/check-risks.ts";
import { findCycle } from "./tasks/cycle.ts";
import { claimerOf, isDone } from "./tasks/table.ts";

/** The slices of the state, each with the function that finds its broken invariants. */
const slices = {
  sessions: checkSessions,
  locks: checkLocks,
  tasks: function* (state: State): Generator<string> {
    yield* checkTasks(state);
    yield* checkTaskRisks(state);
    yield* checkTaskIndexes(state);
  },
  writes: function* (state: State): Generator<string> {
    yield* checkWrites(state);
    yield* checkRisks(state);
  },
  notes: checkNotes,
  declarations: function* (state: State): Generator<string> {
    yield* checkDeclarations(state);
    yield* checkMismatches(state);
  },
  talk: checkTalk,
  debates: checkDebates,
  checks: ({ checks, seq }: State) => checkResults(checks, seq),
  spawns: checkSpawns,
  merges: checkMerges,
  stashes: ({ stashes, seq }: State) => checkStashes(stashes, seq),
} as const;

export type Slice = keyof typeof slices;

/** Returns one sentence per broken invariant of these slices; empty if all hold. */
export function check(state: State, of: readonly Slice[] = allSlices): string[] {
  return of.flatMap(slice => [...slices[slice](state)]);
}

const allSlices = Object.keys(slices) as Slice[];

function* checkLocks(state: State): Generator<string> {
  yield* checkHolds(state);
  yield* checkLine(state);
  yield* checkIndexes(state.locks);
}

function* checkSessions(state: State): Generator<string> {
  const chars = [...state.replies.values()].reduce((sum, kept) => sum + kept.chars, 0);
  if (chars !== state.replyChars) yield `kept replies have ${chars} characters, not ${state.replyChars}`;
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
    for (const agent of session.teammates.keys()) {
      if (agent !== null && !session.agents.has(agent))
        yield `${agent} is a teammate and no agent of ${session.id}`;
    }
    for (const agent of session.roles.keys()) {
      if (agent !== null && !session.agents.has(agent))
        yield `${agent} has a role and is no agent of ${session.id}`;
    }
    if (session.members.size > state.limits.teamMembersMax) yield `session ${session.id} leads too many`;
    for (const [called, { session: id, gone }] of session.members) {
      const own = state.sessions.live.get(id)?.teammates.get(null);
      if (gone === undefined && (own?.name !== called || own.lead !== session.id))
        yield `${id} does not say that it is ${called} of session ${session.id}`;
    }
    if (state.sessions.ended.has(session.id)) yield `session ${session.id} is live and ended`;
    if (session.lostAt !== null && session.incarnations.some(i => i.anchor !== null)) {
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

function* checkRoom(state: State): Generator<string> {
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

function* checkHolds(state: State): Generator<string> {
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

function* checkLine(state: State): Generator<string> {
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

function* checkWrites({ writes, seq, limits }: State): Generator<string> {
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

function* checkRisks(state: State): Generator<string> {
  const { risks, sessions, limits } = state;
  yield* riskRecords.check(state, "merge risks", limits.mergeRisksMax);
  for (const { file, sides, told } of risks.values()) {
    const [a, b] = sides;
    if (a.worktree >= b.worktree) yield `the sides of ${file} are out of order`;
    if (told.some(id => sides.every(({ actor }) => actor.session !== id)))
      yield `${file} is at risk, and somebody else was told`;
    for (const { actor } of sides)
      if (!sessions.live.has(actor.session))
        yield `${file} is at risk with ${actor.session}, which has ended`;
  }
}

function* checkTasks(state: State): Generator<string> {
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

function* checkTaskIndexes({ tasks }: State): Generator<string> {
  const fresh = rebuiltTasks(tasks);
  for (const name of ["ids", "ends", "dependents", "open", "lists", "claims", "chars"] as const) {
    if (!isSame(tasks[name], fresh[name])) yield `the tasks' index ${name} is wrong`;
  }
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
