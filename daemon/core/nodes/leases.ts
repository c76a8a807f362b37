/**
 * The lease of each node: renewed, silent, given up.
 *
 * Invariants: the sessions of a node that was silent for `limits.nodeLostMs` are lost, and end as any lost session does.
 * They are found when the node renews its lease. One binding renews a node's lease at a time.
 */

import { refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import { dropVolatile } from "../messages/context.ts";
import { endAgent } from "../messages/delivery.ts";
import { end, lose } from "../sessions/end.ts";
import { sayable } from "../sessions/names.ts";
import { settlePresence } from "../sessions/room.ts";
import type { BaseState, Meta, TimerRules } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import type { Session } from "../tables/sessions.ts";
import type { NodeDues } from "./commands.ts";
import { mayTakePart } from "./levels.ts";
import { forgetNodeParts, forgetParts } from "./parts.ts";
import { isNodeId, refuseNodeId } from "./shared-ids.ts";
import { hasLeftIn, leaveIn } from "./starts.ts";
import { freeMachine, leaseRecords, type NodeLease, nothingRelayed, putLease } from "./table.ts";

/**
 * Renews the lease. The reply's `isNew`: the log may lack sessions of the node, or have them under its former machine's
 * name. The node then publishes all of them anew. `relayed`: the latest row of its outbox that the log has.
 */
export function nodeRenew(state: BaseState, command: CommandOf<"node_renew">, meta: Meta, step: Step): void {
  const { leases, t } = state;
  const { node, epoch } = meta.origin;
  const { binding, levels, version, wallMs } = command;
  const before = leases.all.get(node);
  if (!isNodeId(node)) {
    step.reply = refuseNodeId(node);
    return;
  }
  if (hasLeftIn(state, meta.origin)) {
    const error = `node ${node} left the store in this start of its daemon; to join again: kite store join`;
    step.reply = refuse("node_left", error, { node });
    return;
  }
  const unfit = mayTakePart(state, node, command);
  if (unfit !== null) {
    step.reply = unfit;
    return;
  }
  if (before !== undefined && before.binding !== binding && !isAway(before, t)) {
    const error = `node ${node} is ${before.machine} already, which is there; give this home a node of its own: kite store rejoin`;
    step.reply = refuse("node_twice", error, { node, machine: before.machine });
    return;
  }
  if (before === undefined && !makesRoom(state, step)) {
    const error = `the store has ${leases.limits.nodesMax} nodes, as many as it may; leave with one: kite store leave`;
    step.reply = refuse("too_many_nodes", error);
    return;
  }
  const wantedName = sayable(command.machine) ?? "machine";
  // Below level 3 a node took a lower name that had become free: two machines could swap theirs.
  const keeps = state.rules >= 3 && before !== undefined && (before.asked ?? before.machine) === wantedName;
  const machine = keeps ? before.machine : freeMachine(leases, node, wantedName);
  const { joinedWallMs = wallMs, relayed = nothingRelayed } = before ?? {};
  const program = version === undefined ? { levels } : { levels, version };
  const lives = { binding, ...program, epoch, renewedAtMs: t, isLost: false };
  const named = state.rules >= 3 && machine !== wantedName ? { machine, asked: wantedName } : { machine };
  putLease(leases, { node, ...named, joinedWallMs, relayed, ...lives });
  if (before?.isLost === true) find(state, node);
  step.timers.push({ at: t + limits.nodeLostMs, due: { what: "node_silent", node } });
  const isNew = before === undefined || before.isLost || before.machine !== machine;
  step.reply = { ok: true, node, machine, isNew, relayed };
}

/**
 * Ends the node's sessions that its own log does not have, and such agents and parts of actors in them. A power cut may have
 * lost their end there.
 */
export function nodeSessionsAre(
  state: BaseState,
  command: CommandOf<"node_sessions_are">,
  { origin }: Meta,
  step: Step,
): void {
  const live = new Set(command.sessions);
  const agents = command.agents === undefined ? null : new Map(command.agents);
  for (const session of sessionsAt(state, origin.node)) {
    if (!live.has(session.id)) end(state, session, "gone", step);
    else if (agents !== null) {
      const named = new Set(agents.get(session.id));
      for (const agent of [...session.agents.keys()])
        if (!named.has(agent)) endAgent(state, session.id, agent, false, step);
    }
  }
  if (command.parts !== undefined) forgetParts(state, sessionsAt(state, origin.node), command.parts, step);
  if (command.nodeParts !== undefined) forgetNodeParts(state, origin.node, step, command.nodeParts);
  step.reply = { ok: true };
}

export function nodeLeave(
  state: BaseState,
  _command: CommandOf<"node_leave">,
  { origin }: Meta,
  step: Step,
): void {
  const { node } = origin;
  for (const session of sessionsAt(state, node)) end(state, session, "left", step);
  forgetNodeParts(state, node, step);
  // Their next end would be the next start of its daemon.
  dropVolatile(state, node, step);
  const lease = state.leases.all.get(node);
  if (lease !== undefined) leaseRecords.drop(state.leases, lease);
  leaveIn(state, origin);
  step.reply = { ok: true, node };
}

/** Whether nobody has heard of the node for so long that people are told so. */
function isAway({ renewedAtMs }: NodeLease, t: number): boolean {
  return t >= renewedAtMs + limits.nodeAwayMs;
}

/** Drops the node that has been lost for longest and has no session, if there are as many as there may be. */
function makesRoom(state: BaseState, step: Step): boolean {
  const { leases, sessions } = state;
  if (leases.all.size < leases.limits.nodesMax) return true;
  const spare = [...leases.all.values()].filter(({ node, isLost }) => isLost && !sessions.byNode.has(node));
  const [oldest] = spare.sort((a, b) => a.renewedAtMs - b.renewedAtMs);
  if (oldest === undefined) return false;
  forgetNodeParts(state, oldest.node, step);
  leaseRecords.drop(leases, oldest);
  return true;
}

/** Returns the node's sessions, in the order in which they began. */
function sessionsAt({ sessions }: BaseState, node: string): Session[] {
  return [...(sessions.byNode.get(node) ?? [])].flatMap(id => sessions.live.get(id) ?? []);
}

function find(state: BaseState, node: string): void {
  for (const session of sessionsAt(state, node)) {
    state.preimages.writable(session).lostAt = null;
    settlePresence(state, session);
  }
}

function losesSessions(state: BaseState, lease: NodeLease, step: Step): void {
  putLease(state.leases, { ...lease, isLost: true });
  for (const session of sessionsAt(state, lease.node))
    if (session.lostAt === null) lose(state, session, step);
}

export const nodeTimers: TimerRules<keyof NodeDues> = {
  node_silent: {
    at({ leases }, { node }) {
      const lease = leases.all.get(node);
      return lease === undefined || lease.isLost ? null : lease.renewedAtMs + limits.nodeLostMs;
    },
    over(state, { node }, step) {
      const lease = state.leases.all.get(node);
      if (lease !== undefined) losesSessions(state, lease, step);
    },
  },
};
