/** Whether, when all is well again, every copy of a project is what the store has, and says who is there. */
import { setTimeout as delay } from "node:timers/promises";
import type { Contents, Database, StoredStep } from "./database.ts";
import { type Dump, eventKey } from "./exchange.ts";
import { storedId } from "./judge.ts";
import type { Machine } from "./machine.ts";
import { passingKey } from "./workload.ts";

export interface Settling {
  readonly project: string;
  readonly database: Database;
  readonly machines: readonly Machine[];
  readonly settleMs: number;
}

export interface Settled {
  readonly contents: Contents;
  readonly steps: readonly StoredStep[];
  readonly wrong: readonly string[];
  /** How often a copy was read anew. */
  readonly reloads: number;
}

/** Waits until all copies are what the store has, and says what of them is wrong then. */
export async function settle({ project, database, machines, settleMs }: Settling): Promise<Settled> {
  let wrong: string[] = [];
  for (const until = Date.now() + settleMs; ; await delay(100)) {
    const dumps = await Promise.all(machines.map(machine => machine.dump(project)));
    const contents = await database.contents(project);
    wrong = dumps.flatMap((dump, i) => [...differences(dump, contents, machines[i]?.node ?? "")]);
    wrong.push(...machines.flatMap(machine => [...faultsOfPresence(machine, project, contents)]));
    if (contents.rows.has(`context ${passingKey}`)) wrong.push(`${passingKey} has a value, which has ended`);
    if (contents.aheadMs > aheadMax)
      wrong.push(`the project's time is ${contents.aheadMs} ms ahead of the store's`);
    if (wrong.length > 0 && Date.now() < until) continue;
    const steps = await database.steps(project);
    for (const [i, dump] of dumps.entries()) {
      const node = machines[i]?.node ?? "";
      for (const one of dump.broken) wrong.push(`the copy of ${node} breaks an invariant: ${one}`);
      if (wrong.length === 0) wrong.push(...faultsOfHeard(dump, steps, node, database.wentBack));
    }
    const reloads = dumps.reduce((sum, dump) => sum + dump.reloads, 0);
    return { contents, steps, wrong, reloads };
  }
}

const shownMax = 2;
/** How far a project's time may be ahead: what a machine knows of the store's clock is as old as an answer was late. */
const aheadMax = 3_000;

function* differences({ version, rows }: Dump, contents: Contents, node: string): Generator<string> {
  if (version !== contents.version)
    yield `the copy of ${node} has the version ${version}, the store ${contents.version}`;
  const names = [...new Set([...Object.keys(rows), ...contents.rows.keys()])];
  const others = names.filter(key => rows[key] !== contents.rows.get(key));
  for (const key of others.slice(0, shownMax))
    yield `the copy of ${node} has ${key} as ${rows[key]}, the store as ${contents.rows.get(key)}`;
}

/** The rows say of each machine which sessions are there, with the agents in them, and no other ones. */
function* faultsOfPresence(machine: Machine, project: string, { rows }: Contents): Generator<string> {
  const there = new Map(machine.sessionsOf(project).map(one => [storedId(one.id, machine.node), one]));
  for (const [key, value] of rows) {
    const [kind, id = ""] = key.split(" ");
    if (kind !== "sessions" || !id.endsWith(`@${machine.node}`)) continue;
    const stored = JSON.parse(value) as {
      readonly registeredAt: number;
      readonly agents: readonly (readonly [string])[];
      readonly incarnations: readonly { readonly ordinal: number }[];
    };
    const own = there.get(id);
    there.delete(id);
    const agents = stored.agents.map(([agent]) => agent).join();
    const terminals = stored.incarnations.map(({ ordinal }) => ordinal).join();
    if (own === undefined) yield `the store has ${id}, which has ended`;
    else if (own.registeredAt !== stored.registeredAt) yield `the store's ${id} is of a session that ended`;
    else if (own.terminals.join() !== terminals) yield `the store has ${id} with the terminals ${terminals}`;
    else if (own.agents.join() !== agents) yield `the store has ${id} with the agents ${agents || "none"}`;
  }
  for (const id of there.keys()) yield `the store does not have ${id}, which is there`;
}

/**
 * A process is told of each event since it reached the store, once, in the order of the store. Where it read all anew it may miss
 * those of before. Looks at events of which a project has one. `wentBack`: steps that it was told of may be gone.
 */
function* faultsOfHeard(
  { heard, from, reloads }: Dump,
  steps: readonly StoredStep[],
  node: string,
  wentBack: boolean,
): Generator<string> {
  const keysOf = ({ events }: StoredStep) => events.flatMap(({ event }) => eventKey(event) ?? []);
  const counts = new Map<string, number>();
  for (const key of steps.flatMap(keysOf)) counts.set(key, (counts.get(key) ?? 0) + 1);
  const isOne = (key: string) => (counts.get(key) ?? 0) < 2;
  const all = steps.flatMap(keysOf).filter(isOne);
  const due = steps
    .filter(({ version }) => version > from)
    .flatMap(keysOf)
    .filter(isOne).length;
  const told = heard.filter(key => isOne(key) && (counts.has(key) || !wentBack));
  let [at, gaps] = [all.length - 1, 0];
  for (const key of told.toReversed()) {
    if (all[at] !== key) {
      gaps += 1;
      at = at < 0 ? -1 : all.lastIndexOf(key, at);
    }
    if (at < 0) {
      yield `${node} was told of ${key} twice, or not in the store's order`;
      return;
    }
    at -= 1;
  }
  if (reloads === 0 && told.length < due) gaps += 1;
  if (gaps > reloads)
    yield `${node} was told of ${told.length} events of ${due}, with ${gaps} gaps; it read ${reloads} times anew`;
}
