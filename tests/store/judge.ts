/** What a history must never show, judged by what its clients were told and by the store's log. */
import { ownIdOf } from "../../daemon/core/nodes/shared-ids.ts";
import type { Message } from "../end-to-end/daemon.ts";
import { faultsOfDebates } from "./debates.ts";
import { type Interval, isLinearizable } from "./linear.ts";
import type { Machine } from "./machines.ts";
import { fieldOf, keyOf, type Operation, outcomeOf } from "./operations.ts";
import { passingKey } from "./passing.ts";
import { keyModel, type SetOp, type TaskOp, taskModel } from "./registers.ts";
import { requestKey, type SharedLog } from "./shared-log.ts";
import { type Common, tokenForm } from "./workload.ts";

/** Refusals that the workload has coming. Any other one is a fault. */
const expected: ReadonlySet<string> = new Set([
  "no_ready_task",
  "task_claimed",
  "task_state",
  "context_conflict",
  "recipient_gone",
  "too_many_messages",
  "unknown_message",
  "debate_state",
  "debate_unsettled",
  "too_many_debates",
]);

export interface Judged extends Common {
  readonly machines: readonly Machine[];
  readonly log: SharedLog;
}

/** Yields a sentence for each fault of the history. */
export function* faultsOf(history: Judged): Generator<string> {
  for (const operation of history.history.operations) yield* faultsOfAnswer(operation, history.log);
  yield* faultsOfTasks(history);
  yield* faultsOfKeys(history);
  yield* faultsOfMessages(history);
  yield* faultsOfDebates(history.history.operations, history.log);
}

const ownRequests: ReadonlySet<unknown> = new Set(["register", "deregister", "declare"]);
const ofStore: ReadonlySet<string> = new Set(["store_away", "outcome_unknown"]);

/** What a client was told has to be what the log says of its request; what was refused as not stored is not in the log. */
export function* faultsOfAnswer({ machine, session, request, reply, tries }: Operation, log: SharedLog) {
  const what = `${request["type"]} ${request["requestId"]} of machine ${machine.index}`;
  const outcome = tries.at(-1) ?? "";
  if (reply !== null && outcome !== "ok" && !expected.has(outcome))
    yield `${what} was refused: ${JSON.stringify(reply)}`;
  if (ownRequests.has(request["type"])) {
    // What only the machine's own log has to know waits for no store.
    if (tries.some(one => ofStore.has(one))) yield `${what} waited for the store: ${tries}`;
    return;
  }
  const found = log.byRequest.get(requestKey(machine.node, session, String(request["requestId"]))) ?? [];
  const stored = found.find(({ reply: one }) => one.ok);
  if (tries.every(one => one === "store_away") && stored !== undefined)
    yield `${what} was refused as not stored, and is entry ${stored.entry.seq}`;
  if (outcome !== "ok") return;
  const first = found.find(({ reply: one }) => one.ok);
  if (first === undefined) {
    yield `${what} was acknowledged, and the log has ${found.length} refusals of it: ${JSON.stringify(reply)}`;
    return;
  }
  for (const [object, field] of essentials)
    if (fieldOf(reply, object, field) !== fieldOf(first.reply, object, field))
      yield `${what} was told ${object} ${fieldOf(reply, object, field)}, and the log says ${fieldOf(first.reply, object, field)}`;
  for (const field of ["debate", "entry"])
    if (String(reply?.[field]) !== String((first.reply as Message)[field]))
      yield `${what} was told ${field} ${reply?.[field]}, and the log says ${(first.reply as Message)[field]}`;
  const { command } = first.entry;
  if (command.type === "context_set" && command.ttlMs !== (request["ttlMs"] ?? null))
    yield `${what} was to end after ${request["ttlMs"]} ms, and the log says ${command.ttlMs}`;
  if (String(reply?.["version"]) !== String((first.reply as Message)["version"]))
    yield `${what} was told version ${reply?.["version"]}, and the log says ${(first.reply as Message)["version"]}`;
}

/** Fields of replies that say which object was meant, and what it is now. */
const essentials = [
  ["task", "id"],
  ["task", "status"],
  ["task", "result"],
  ["message", "id"],
] as const;

function intervalOf<Op>({ from, to }: Operation, op: Op): Interval<Op> {
  return { op, from, to: to ?? Number.POSITIVE_INFINITY, isCertain: to !== null };
}

function* faultsOfTasks({ history, log }: Judged): Generator<string> {
  const of = new Map<string, Interval<TaskOp>[]>();
  const add = (task: string, one: Interval<TaskOp>) => of.set(task, [...(of.get(task) ?? []), one]);
  const ends: Interval<TaskOp>[] = [];
  for (const operation of history.operations) {
    const { request, reply, machine, session, from } = operation;
    const by = keyOf(machine, session);
    const outcome = outcomeOf(operation);
    // It counts for the others some time after its own machine knows.
    if (request["type"] === "deregister")
      ends.push({ op: { what: "end", by, outcome }, from, to: Number.POSITIVE_INFINITY, isCertain: true });
    const what = whatOf(request);
    if (what === null) continue;
    const named = request["task"];
    const task = fieldOf(reply, "task", "id") || (typeof named === "string" ? named : "");
    if (task !== "") add(task, intervalOf(operation, { what, by, outcome }));
    // Nobody heard which task it was, if any.
    else if (reply === null && what === "claim")
      for (const id of log.state.tasks.all.keys()) add(id, intervalOf(operation, { what, by, outcome }));
  }
  for (const [task, operations] of of) {
    const speakers = new Set(operations.map(({ op }) => op.by));
    const model = taskModel(!operations.some(({ op }) => op.what === "create"));
    const all = [...operations, ...ends.filter(({ op }) => speakers.has(op.by))];
    if (!isLinearizable(all, model))
      yield `what clients were told of task ${task} fits no order: ${textOf(all)}`;
  }
}

function whatOf(request: Message): TaskOp["what"] | null {
  const { type, status } = request as { readonly type?: unknown; readonly status?: unknown };
  if (type === "task_create") return "create";
  if (type === "task_claim") return "claim";
  if (type === "task_release") return "release";
  if (type !== "task_update") return null;
  return status === "done" ? "done" : "failed";
}

function* faultsOfKeys({ history }: Judged): Generator<string> {
  const of = new Map<unknown, Interval<SetOp>[]>();
  for (const operation of history.operations) {
    const { request, reply } = operation;
    if (request["type"] !== "context_set" || String(request["key"]).startsWith(passingKey)) continue;
    const heard = outcomeOf(operation);
    const outcome = heard === "ok" || heard === null ? heard : "conflict";
    const { ifVersion = null, key } = request as { readonly ifVersion?: number; readonly key?: string };
    const version = reply === null ? null : Number(reply["version"]);
    of.set(key, [...(of.get(key) ?? []), intervalOf(operation, { ifVersion, outcome, version })]);
  }
  for (const [key, operations] of of)
    if (!isLinearizable(operations, keyModel))
      yield `what clients were told of ${key} fits no order: ${textOf(operations)}`;
}

function textOf(operations: readonly Interval<object>[]): string {
  return operations.map(({ op, from, to }) => `${from}-${to} ${Object.values(op).join(" ")}`).join("; ");
}

/** Each message that was acknowledged is with its reader once, until that one acknowledges it, and never comes after that. */
function* faultsOfMessages({ history, log, taken, speakers }: Judged): Generator<string> {
  const { messages, sessions } = log.state;
  const inboxes = new Map<string, string[]>();
  for (const { text, letters } of messages.all.values())
    for (const { to } of letters.values()) inboxes.set(text, [...(inboxes.get(text) ?? []), to.name]);
  const acknowledged = new Map<unknown, Operation[]>();
  for (const operation of history.operations) {
    const id = operation.request["message"];
    if (operation.request["type"] === "message_ack")
      acknowledged.set(id, [...(acknowledged.get(id) ?? []), operation]);
  }
  const live = new Map([...sessions.live.values()].map(({ id, node }) => [`${node}\n${ownIdOf(id)}`, id]));
  for (const { request, reply } of history.operations) {
    if (request["type"] !== "message_send" || reply?.["ok"] !== true) continue;
    const token = String(request["text"]);
    const id = fieldOf(reply, "message", "id");
    const reader = speakers.find(({ name }) => name === request["to"]);
    if (reader === undefined) continue;
    const isLive = live.has(`${reader.machine.node}\n${reader.id}`);
    const acks = acknowledged.get(id) ?? [];
    const gone = acks.some(({ reply: one }) => one?.["ok"] === true);
    const count = inboxes.get(token)?.length ?? 0;
    if (isLive && acks.length === 0 && count !== 1)
      yield `message ${id} to ${reader.name} was acknowledged, and is in ${count} inboxes`;
    if (gone && count > 0) yield `message ${id} stays in an inbox after its reader acknowledged it`;
    const last = Math.min(...acks.flatMap(one => (one.reply?.["ok"] === true ? [one.to ?? 0] : [])));
    for (const one of taken)
      if (one.token === token && one.reader === reader.key && one.at > last)
        yield `message ${id} came to ${one.reader} after that one had acknowledged it`;
  }
  for (const one of taken) {
    const sent = history.operations.find(({ request }) => request["text"] === one.token);
    // What its reader left unread as it ended comes back to who sent it.
    const isSender = sent !== undefined && keyOf(sent.machine, sent.session) === one.reader;
    const reader = speakers.find(({ key }) => key === one.reader);
    if (!isSender && sent?.request["to"] !== reader?.name)
      yield `${one.reader} got ${one.token}, which was for another`;
  }
  const tokens = [...messages.all.values()].flatMap(({ text }) => text.match(tokenForm) ?? []);
  if (new Set(tokens).size !== tokens.length) yield "a message was sent twice";
}
