/** Messages that nobody has read when their project is shared: they stay in their machine's log, and are read there. */
import { randomUUID } from "node:crypto";
import type { Message } from "../end-to-end/daemon.ts";
import type { Machine } from "./machines.ts";
import { fieldOf, type History, Speaker } from "./operations.ts";

const count = 3;

/** Has one session of a machine send messages to another one. Both stay; the project is not shared yet. */
export async function sendEarly(machine: Machine, history: History): Promise<Speaker[]> {
  const [writer, reader] = ["writer", "reader"].map(
    id => new Speaker(machine, `early.${id}`, `${id}-of-${machine.index}`, history),
  ) as [Speaker, Speaker];
  for (const one of [writer, reader]) await one.ask({ type: "register", cwd: machine.clone, name: one.name });
  for (let n = 1; n <= count; n += 1) {
    const request = { type: "message_send", id: writer.id, to: reader.name, requestId: randomUUID() };
    const reply = await writer.send({ ...request, text: `early ${machine.index} ${n}` });
    const id = fieldOf(reply, "message", "id");
    if (id === "") throw new Error(`no message was sent: ${JSON.stringify(reply)}`);
    reader.early.push(id);
  }
  return [writer, reader];
}

/** Has each reader acknowledge what came before the project was shared; yields what was lost, and what stays. */
export async function* faultsOfEarly(speakers: readonly Speaker[]): AsyncGenerator<string> {
  for (const reader of speakers) {
    for (const message of reader.early) {
      const request = { type: "message_ack", id: reader.id, message, requestId: randomUUID() };
      const reply = await reader.send(request);
      if (reply?.["ok"] !== true)
        yield `an early message to ${reader.name} is gone: ${JSON.stringify(reply)}`;
    }
    const listed = await reader.send({ type: "message_list", id: reader.id, limit: 1_000 });
    const messages = (listed?.["messages"] ?? []) as readonly Message[];
    for (const message of reader.early)
      if (messages.some(({ id }) => id === message))
        yield `${reader.name} acknowledged an early message, and still has it`;
  }
}
