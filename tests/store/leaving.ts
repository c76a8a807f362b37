/** A machine leaves the store, and joins again; another one gets a new id there. All is quiet meanwhile. */
import { nodeOf } from "../../daemon/core/nodes/shared-ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { Message } from "../end-to-end/daemon.ts";
import { type Machine, type Store, within } from "./machines.ts";
import type { Speaker } from "./operations.ts";
import { settledFaults } from "./settled.ts";
import { readSharedLog, sessionsOf } from "./shared-log.ts";
import { haveRenewed } from "./silence.ts";

/** Has a machine leave and join again; yields what it did not take along, and what it left behind. */
export async function* faultsOfLeaving(
  store: Store,
  machine: Machine,
  speakers: readonly Speaker[],
  ms: number,
): AsyncGenerator<string> {
  const what = `machine ${machine.index} left, and`;
  const { state } = await readSharedLog(store);
  const open = [...state.tasks.all.values()].filter(({ state: { status } }) => /pending|active/.test(status));
  const reply = await asked(machine, speakers, { type: "store_leave" });
  if (reply["ok"] !== true) yield `machine ${machine.index} could not leave: ${JSON.stringify(reply)}`;
  const isGone = async () => {
    const { declarations, leases, sessions, tasks } = (await readSharedLog(store)).state;
    const declared = [...declarations.live.values()].some(({ session }) => session.includes(machine.node));
    const claims = [...tasks.claims.keys()].filter(session => session.includes(machine.node));
    const hasSession = sessions.byNode.has(machine.node) || claims.length > 0 || declared;
    return !leases.all.has(machine.node) && !hasSession;
  };
  if (!(await within(isGone, ms))) yield `${what} the log has its sessions, or what they claimed or declared`;
  const client = await machine.connect();
  const shown = await client.ask({ type: "query", target: "tasks", project: machine.clone, limit: 1_000 });
  client.destroy();
  const back = new Set(((shown["rows"] ?? []) as readonly Message[]).map(({ id }) => id));
  for (const { id } of open) if (!back.has(id)) yield `${what} task ${id} is not back`;
  await machine.stop();
  await machine.start();
  await machine.share();
  const after = (await readSharedLog(store)).state;
  const texts = [...after.tasks.all.values()].map(({ description }) => description);
  if (new Set(texts).size !== texts.length)
    yield `${what} a task is in the store twice after it joined again`;
  for (const { id } of open)
    if (!after.tasks.all.has(id)) yield `${what} task ${id} is not in the store after it joined again`;
  if (!(await within(() => hasSessions(store, machine, speakers), ms)))
    yield `${what} the log lacks its sessions after it joined again`;
}

/** Gives a machine a new id; yields what the log has of it under the old one when that was silent for long, and lacks. */
export async function* faultsOfRejoining(
  store: Store,
  machine: Machine,
  speakers: readonly Speaker[],
  ms: number,
): AsyncGenerator<string> {
  const before = machine.node;
  const reply = await asked(machine, speakers, { type: "store_rejoin" });
  if (reply["ok"] !== true) yield `machine ${machine.index} got no new id: ${JSON.stringify(reply)}`;
  await machine.stop();
  machine.node = String(reply["node"]);
  await machine.start();
  if (!(await within(() => hasSessions(store, machine, speakers), ms)))
    yield `the log lacks sessions of machine ${machine.index} under its new id`;
  await store.moveClock(limits.nodeLostMs + 1_000);
  const isLost = async () => {
    const { leases, sessions } = (await readSharedLog(store)).state;
    const all = [...sessions.live.values()];
    return (
      leases.all.get(before)?.isLost === true &&
      all.every(({ node, lostAt }) => (node === before) === (lostAt !== null))
    );
  };
  if (!(await within(isLost, ms)))
    yield `the sessions of the id that machine ${machine.index} had are not lost, or others are`;
}

/** Lets the time pass after which sessions of an id that a machine had are over; yields what is not over, or not there. */
export async function* faultsOfFormerId(
  store: Store,
  machines: readonly Machine[],
  speakers: readonly Speaker[],
  ms: number,
): AsyncGenerator<string> {
  const nodes = machines.map(({ node }) => node);
  const from = await store.moveClock(limits.lostMs + 1_000);
  if (!(await haveRenewed(store, nodes, from, ms))) yield "a machine did not renew its lease";
  yield* await settledFaults(store, machines, speakers, ms);
  const isOver = async () => {
    const { declarations, sessions } = (await readSharedLog(store)).state;
    const ids = [...sessions.live.keys(), ...[...declarations.live.values()].map(({ session }) => session)];
    return ids.every(id => nodes.includes(nodeOf(id) ?? ""));
  };
  if (!(await within(isOver, ms)))
    yield "the log keeps sessions of an id that a machine had, or what they declared";
}

/** Asks for what a person does while no agent is at work. */
export async function asked(
  machine: Machine,
  speakers: readonly Speaker[],
  request: Message,
): Promise<Message> {
  for (const { id, machine: its, hasEnded } of speakers) {
    if (its !== machine || hasEnded) continue;
    const client = await machine.connect();
    const stop = { hook_event_name: "Stop", session_id: id, cwd: machine.clone };
    await client.ask({ type: "hook", event: stop });
    client.destroy();
  }
  const person = await machine.home.connectPerson();
  const reply = await person.ask({ ...request, cwd: machine.clone });
  person.destroy();
  return reply;
}

async function hasSessions(store: Store, machine: Machine, speakers: readonly Speaker[]): Promise<boolean> {
  const { state } = await readSharedLog(store);
  const wanted = speakers.flatMap(one => (one.machine === machine && !one.hasEnded ? [one.id] : [])).sort();
  return sessionsOf(state, machine).join() === wanted.join();
}
