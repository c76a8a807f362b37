/** Values of context that end by the store's clock, whatever a machine's own says. */
import { randomUUID } from "node:crypto";
import type { Message } from "../end-to-end/daemon.ts";
import { type Machine, type Store, within } from "./machines.ts";
import type { Speaker } from "./operations.ts";
import { readSharedLog } from "./shared-log.ts";

export const passingKey = "passing";
const ttlMs = 600_000;

/** Sets a value that ends, lets its time pass, and yields which machine lacks it before, or shows it after. */
export async function* faultsOfPassing(
  store: Store,
  machines: readonly Machine[],
  [setter]: readonly Speaker[],
  ms: number,
): AsyncGenerator<string> {
  if (setter === undefined) throw new Error("nobody is there to set a value");
  const key = `${passingKey}-at-last`;
  const set = { type: "context_set", id: setter.id, key, value: "soon gone", ttlMs, requestId: randomUUID() };
  const isSet = (request: Message) => within(async () => (await setter.send(request))?.["ok"] === true, ms);
  if (!(await isSet(set))) {
    yield "a value that ends was refused";
    return;
  }
  const isShown = async (machine: Machine) => {
    const client = await machine.connect();
    const got = await client.ask({ type: "context_get", project: machine.clone, cwd: machine.clone, key });
    client.destroy();
    return got["ok"] === true;
  };
  for (const machine of machines)
    if (!(await within(() => isShown(machine), ms))) yield `machine ${machine.index} lacks a value that ends`;
  await store.moveClock(ttlMs + 1_000);
  // The time of the log goes on with its next entry.
  const entry = { type: "context_set", id: setter.id, key: `${passingKey}-after`, value: 1, ttlMs };
  await isSet({ ...entry, requestId: randomUUID() });
  for (const machine of machines)
    if (!(await within(async () => !(await isShown(machine)), ms)))
      yield `machine ${machine.index} shows a value that has ended`;
  let left: readonly string[] = [];
  const isOver = async () => {
    const { state } = await readSharedLog(store);
    const ended = [...state.context.items.values()].filter(
      ({ endsAt }) => endsAt !== null && endsAt <= state.t,
    );
    left = ended.map(one => one.key);
    return left.length === 0;
  };
  if (!(await within(isOver, ms))) yield `the log keeps ${left.join()}, which has ended`;
}
