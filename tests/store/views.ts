/** What machines show of tasks, context and inboxes, against what the log comes to. */
import type { State } from "../../daemon/core/state.ts";
import type { Message } from "../end-to-end/daemon.ts";
import { shownDebates } from "./debates.ts";
import { type Machine, type Store, within } from "./machines.ts";
import { fieldOf, type Speaker } from "./operations.ts";
import { readSharedLog, type SharedLog, sharedIdAt } from "./shared-log.ts";

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
    const log = await readSharedLog(store);
    const { state } = log;
    const live = speakers.filter(({ hasEnded }) => !hasEnded);
    const found = await Promise.all([
      ...machines.map(machine => machineFaults(machine, log)),
      ...live.map(speaker => inboxFaults(speaker, state)),
    ]);
    wrong = found.flat();
    return wrong.length === 0;
  };
  await within(isSame, ms);
  return wrong;
}

async function machineFaults(machine: Machine, log: SharedLog): Promise<string[]> {
  const { state } = log;
  const client = await machine.connect();
  const of = { project: machine.clone, limit };
  const tasks = rowsOf(await client.ask({ type: "query", target: "tasks", ...of }));
  const keys = rowsOf(await client.ask({ type: "query", target: "context", ...of }));
  const elsewhere = rowsOf(await client.ask({ type: "query", target: "elsewhere", limit }));
  client.destroy();
  const others = [...state.sessions.live.values()].filter(({ node }) => node !== machine.node);
  return [
    ...differences(
      `the sessions elsewhere of machine ${machine.index}`,
      elsewhere.map(one => `${one["id"]} ${one["state"]}: ${fieldOf(one, "declared", "task")}`),
      others.map(({ id }) => `${id} there: ${state.declarations.live.get(id)?.task ?? ""}`),
    ),
    ...differences(`the debates of machine ${machine.index}`, ...(await shownDebates(machine, log))),
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

function isOfKite({ text }: Readonly<Record<string, unknown>>): boolean {
  return String(text).startsWith("Kite: ");
}

async function inboxFaults(speaker: Speaker, state: State): Promise<string[]> {
  const reply = await speaker.send({ type: "message_list", id: speaker.id, limit });
  // What Kite says of claims that are gone is in the machine's own log.
  const shown = rowsOf(reply ?? {}, "messages")
    .filter(one => !isOfKite(one))
    .map(({ id, text }) => `${id} ${text}`);
  const id = sharedIdAt(state, speaker.machine, speaker.id);
  const own = rowsOf(reply ?? {}, "messages").filter(one => speaker.early.includes(String(one["id"])));
  if (own.length !== speaker.early.length)
    return [
      `${speaker.name} has ${own.length} of ${speaker.early.length} messages of before its project was shared`,
    ];
  const kept = [...state.messages.all.values()]
    // An agent within the session has an inbox of its own.
    .filter(({ letters }) => [...letters.values()].some(({ to }) => to.id === id && to.agent === null))
    .map(one => `${one.id} ${one.text}`)
    .concat(own.map(one => `${one["id"]} ${one["text"]}`));
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
