/** What machines show of tasks, context and inboxes, against what the log comes to. */
import type { State } from "../../daemon/core/state.ts";
import type { Message } from "../end-to-end/daemon.ts";
import { type Machine, type Store, within } from "./machines.ts";
import type { Speaker } from "./operations.ts";
import { readSharedLog, sharedIdAt } from "./shared-log.ts";

/** More rows than a history makes. */
const limit = 1_000;

/** Waits until each machine shows what the log has; returns sentences on what differs for longer than `ms`. */
export async function viewFaults(
  store: Store,
  machines: readonly Machine[],
  speakers: readonly Speaker[],
  ms: number,
): Promise<string[]> {
  let wrong: string[] = [];
  const isSame = async () => {
    const { state } = await readSharedLog(store);
    const live = speakers.filter(({ hasEnded }) => !hasEnded);
    const found = await Promise.all([
      ...machines.map(machine => machineFaults(machine, state)),
      ...live.map(speaker => inboxFaults(speaker, state)),
    ]);
    wrong = found.flat();
    return wrong.length === 0;
  };
  await within(isSame, ms);
  return wrong;
}

async function machineFaults(machine: Machine, state: State): Promise<string[]> {
  const client = await machine.connect();
  const of = { project: machine.clone, limit };
  const tasks = rowsOf(await client.ask({ type: "query", target: "tasks", ...of }));
  const keys = rowsOf(await client.ask({ type: "query", target: "context", ...of }));
  client.destroy();
  return [
    ...differences(
      `the tasks of machine ${machine.index}`,
      tasks.map(({ id, status, description }) => [id, status, description].join(" ")),
      [...state.tasks.all.values()].map(({ id, state: { status }, description }) =>
        [id, status, description].join(" "),
      ),
    ),
    ...differences(
      `the context of machine ${machine.index}`,
      keys.map(({ key, version }) => `${key} ${version}`),
      [...state.context.items.values()].map(({ key, version }) => `${key} ${version}`),
    ),
  ];
}

async function inboxFaults(speaker: Speaker, state: State): Promise<string[]> {
  const reply = await speaker.send({ type: "message_list", id: speaker.id, limit });
  const shown = rowsOf(reply ?? {}, "messages").map(({ id, text }) => `${id} ${text}`);
  const id = sharedIdAt(state, speaker.machine, speaker.id);
  const kept = [...state.messages.all.values()]
    .filter(({ letters }) => [...letters.values()].some(({ to }) => to.id === id))
    .map(one => `${one.id} ${one.text}`);
  return differences(`the inbox of ${speaker.name}`, shown, kept);
}

function rowsOf(reply: Message, field = "rows"): readonly Message[] {
  const rows = reply[field];
  return Array.isArray(rows) ? rows : [reply];
}

function differences(what: string, shown: readonly string[], kept: readonly string[]): string[] {
  const [more, less] = [shown.filter(one => !kept.includes(one)), kept.filter(one => !shown.includes(one))];
  const isTwice = new Set(shown).size < shown.length;
  if (more.length + less.length === 0 && !isTwice) return [];
  const twice = isTwice ? "; some are shown twice" : "";
  return [`${what} shows ${more.join(", ") || "no more"} and lacks ${less.join(", ") || "nothing"}${twice}`];
}
