/** What a history must never show: judged by what sessions were told, and by what the store has. */
import { isLinearizable } from "../linear.ts";
import { keyModel } from "../registers.ts";
import type { Contents } from "./database.ts";
import type { Timeline } from "./timeline.ts";
import { type Asked, fieldOf, keys, type Read, type Shown } from "./workload.ts";

/** Refusals that the workload has coming, each with a check or without. Any other one is a fault. */
const expected: ReadonlySet<string> = new Set([
  ...["no_ready_task", "task_claimed", "task_state", "task_blocked", "task_cycle"],
  ...[
    "context_conflict",
    "recipient_gone",
    "recipient_ambiguous",
    "unknown_message",
    "debate_state",
    "debate_unsettled",
  ],
]);

export interface Judged {
  /** The requests of one project. */
  readonly asked: readonly Asked[];
  readonly shown: readonly Shown[];
  readonly read: readonly Read[];
  readonly timeline: Timeline;
  /** What the store has at the end. */
  readonly contents: Contents;
}

/** Yields a sentence for each fault of the history of a project. */
export function* faultsOf(judged: Judged): Generator<string> {
  yield* judged.timeline.wrong;
  for (const asked of judged.asked) yield* faultsOfAnswer(asked, judged);
  yield* faultsOfOrder(judged);
  yield* faultsOfTasks(judged);
  for (const key of keys) yield* faultsOfKey(key, judged);
  yield* faultsOfReads(judged);
  yield* faultsOfMessages(judged);
  yield* faultsOfDebates(judged);
}

function* faultsOfAnswer(asked: Asked, judged: Judged): Generator<string> {
  const { timeline, contents } = judged;
  const { operation, reply, version, copied, machine } = asked;
  const what = textOf(asked);
  if (reply === null) {
    yield `${what} was never answered`;
    return;
  }
  if (!reply.ok) {
    if (reply.code === "store_away") yield* faultsOfAway(asked, judged);
    else if (!expected.has(reply.code)) yield `${what} was refused: ${reply.code}: ${reply.error}`;
    else if (!isTrueRefusal(asked, reply.code, timeline))
      yield `${what} was refused with ${reply.code}, which was not so`;
    return;
  }
  const project = fieldOf(reply, "task", "project");
  if (project !== "" && !project.startsWith(`/home/${machine.node}/`))
    yield `${what} names the project ${project}`;
  if (version === null) return;
  if (version > contents.version)
    yield `${what} was done at ${version}, and the store has ${contents.version}`;
  if (copied < version)
    yield `${what} was done at ${version}, and the copy of ${machine.node} had ${copied} then`;
  const name = eventOf.get(operation.what);
  const id = fieldOf(reply, "task", "id") || fieldOf(reply, "message", "id");
  const happened = (event: string) => (timeline.events.get(`${event} ${id}`) ?? []).includes(version);
  // The session ended the task before, as another worker of it asked, or with its own end.
  const isSo = ({ status }: { readonly status: string }) => status === operation.what;
  const isRepeated =
    happened("task_updated") && timeline.wasOnce({ from: version - 1, to: version + 1 }, id, isSo);
  const hadIt = operation.what === "claim" && judged.asked.some(one => isClaimBefore(one, asked, id));
  if (name !== undefined && !happened(name) && !isRepeated && !hadIt)
    yield `${what} was done at ${version}, and nothing of ${id} happened then`;
  if (
    operation.what === "claim" &&
    !timeline.wasOnce({ from: version - 1, to: version + 1 }, id, isOf(asked))
  )
    yield `${what} got ${id} at ${version}, which was not given to it then`;
}

/** Whether the session got the task by another claim before: then one more is true, and nothing happens. */
function isClaimBefore(one: Asked, { operation, machine, version }: Asked, task: string): boolean {
  const { what, session } = one.operation;
  const isSame = what === "claim" && session === operation.session && one.machine === machine;
  const isBefore = one.version !== null && version !== null && one.version < version;
  return isSame && isBefore && one.reply?.ok === true && fieldOf(one.reply, "task", "id") === task;
}

/** What was refused since the store was away was not done. */
function* faultsOfAway(asked: Asked, { contents, shown }: Judged): Generator<string> {
  const { operation } = asked;
  if (operation.what !== "create" && operation.what !== "send") return;
  const { text } = operation;
  const tasks = valuesOf<StoredTask>(contents, "tasks").map(({ description }) => description);
  const messages = valuesOf<{ readonly text: string }>(contents, "messages").map(one => one.text);
  if ([...tasks, ...messages, ...shown.map(one => one.text)].includes(text))
    yield `${textOf(asked)} was refused as not done, and is there`;
}

/** The event of what a request did. */
const eventOf: ReadonlyMap<string, string> = new Map([
  ["create", "task_created"],
  ["claim", "task_claimed"],
  ["done", "task_completed"],
  ["failed", "task_failed"],
  ["release", "task_released"],
  ["send", "message_sent"],
]);

/** Returns what the store calls a session of a machine. */
export function storedId(session: string, node: string): string {
  // Two stand where an id of one could be another machine's.
  return session.includes("@") ? `${session}@@${node}` : `${session}@${node}`;
}

function isOf({ operation, machine }: Asked) {
  const own = storedId(operation.session, machine.node);
  return ({ by }: { readonly by: string | null }) => by === own;
}

/** Whether what a refusal says was so at a moment when it may have been decided. */
function isTrueRefusal(asked: Asked, code: string, timeline: Timeline): boolean {
  const { operation } = asked;
  const range = timeline.rangeOf(asked);
  const isOwn = isOf(asked);
  if (code === "no_ready_task") return timeline.hadNoneReadyOnce(range);
  if (!("task" in operation) || operation.task === null) return true;
  const { what, task } = operation;
  if (code === "task_blocked")
    return timeline.wasBlockedOnce(range, task, what === "depend" ? operation.dependsOn : undefined);
  if (code === "task_claimed")
    return timeline.wasOnce(range, task, one => one.status === "active" && !isOwn(one));
  if (code !== "task_state" || what === "reopen" || what === "depend") return true;
  const isTooLate = what === "claim" ? ["done", "failed"] : ["done", "failed", "pending"];
  return timeline.wasOnce(range, task, ({ status }) => isTooLate.includes(status));
}

/** What was acknowledged before another request began is before it in the store. */
function* faultsOfOrder({ asked }: Judged): Generator<string> {
  const done = asked.filter(one => one.version !== null && one.to !== null);
  const byEnd = done.toSorted((a, b) => (a.to ?? 0) - (b.to ?? 0));
  let [next, high] = [0, 0];
  for (const one of done.toSorted((a, b) => a.from - b.from)) {
    for (let ended = byEnd[next]; ended !== undefined && (ended.to ?? 0) < one.from; ended = byEnd[next]) {
      high = Math.max(high, ended.version ?? 0);
      next += 1;
    }
    if ((one.version ?? 0) < high)
      yield `${textOf(one)} is at ${one.version}, and began after ${high} was acknowledged`;
  }
  const answered = asked.filter(({ to }) => to !== null);
  for (const one of answered) {
    const isBefore = (other: Asked) =>
      other.machine === one.machine && other.start === one.start && (other.to ?? one.from) < one.from;
    const before = Math.max(0, ...answered.filter(isBefore).map(({ copied }) => copied));
    if (one.copied < before)
      yield `the copy of ${one.machine.node} went back from ${before} to ${one.copied}`;
  }
}

interface StoredTask {
  readonly id: string;
  readonly description: string;
  readonly dependsOn: readonly string[];
  readonly state: { readonly status: string; readonly claimer?: { readonly session: string } | null };
}

/** Returns the values of a kind's rows. */
function valuesOf<Value>({ rows }: Contents, kind: string): Value[] {
  return [...rows].flatMap(([key, value]) =>
    key.startsWith(`${kind} `) ? [JSON.parse(value) as Value] : [],
  );
}

function* faultsOfTasks({ asked, timeline, contents }: Judged): Generator<string> {
  const tasks = new Map(valuesOf<StoredTask>(contents, "tasks").map(task => [task.id, task]));
  const counts = new Map<string, number>();
  for (const { description } of tasks.values()) counts.set(description, (counts.get(description) ?? 0) + 1);
  for (const [text, count] of counts) if (count > 1) yield `${text} was created ${count} times`;
  for (const one of asked) {
    if (one.operation.what !== "create" || one.reply?.ok !== true) continue;
    const id = fieldOf(one.reply, "task", "id");
    if (tasks.get(id)?.description !== one.operation.text)
      yield `${textOf(one)} was done, and ${id} is not there`;
  }
  for (const { id, state, dependsOn } of tasks.values()) {
    const then = timeline.last.get(id);
    if (then?.status !== state.status) yield `${id} is ${state.status}, and its events say ${then?.status}`;
    if (state.status !== "active") continue;
    if (then?.by !== state.claimer?.session)
      yield `${id} is of ${state.claimer?.session}, and its events say ${then?.by}`;
    for (const on of dependsOn)
      if (tasks.get(on)?.state.status !== "done") yield `${id} is active before ${on}, on which it depends`;
  }
  for (const id of timeline.last.keys()) if (!tasks.has(id)) yield `${id} is lost`;
}

/** Sets on a version are a chain, in the store's order and in that of the sessions. */
function* faultsOfKey(key: string, { asked, contents }: Judged): Generator<string> {
  const sets = asked.flatMap(one =>
    one.operation.what === "set" && one.operation.key === key ? [{ ...one, set: one.operation }] : [],
  );
  const versionIn = ({ reply }: Pick<Asked, "reply">) =>
    Number((reply as { readonly version?: number } | null)?.version ?? 0);
  const done = sets
    .filter(({ reply }) => reply?.ok === true)
    .toSorted((a, b) => (a.version ?? 0) - (b.version ?? 0) || versionIn(a) - versionIn(b));
  let last = 0;
  for (const one of done) {
    if (one.set.ifVersion !== last) yield `${key} was set on ${one.set.ifVersion} when ${last} was there`;
    last = versionIn(one);
  }
  const row = contents.rows.get(`context ${key}`);
  const kept = row === undefined ? 0 : Number((JSON.parse(row) as { readonly version: number }).version);
  if (kept !== last) yield `${key} has the version ${kept}, and ${last} was set last`;
  const operations = sets.map(one => ({
    op: {
      ifVersion: one.set.ifVersion,
      outcome: outcomeOf(one),
      version: one.reply === null ? null : versionIn(one),
    },
    from: one.from,
    to: one.to ?? Number.POSITIVE_INFINITY,
    isCertain: one.to !== null,
  }));
  if (!isLinearizable(operations, keyModel))
    yield `what sessions were told of ${key} fits no order: ${operations.map(({ op, from, to }) => `${from}-${to} ${Object.values(op).join(" ")}`).join("; ")}`;
}

/** A machine shows no value that was never stored: whoever sets on its version would overwrite another one. */
function* faultsOfReads({ asked, read }: Judged): Generator<string> {
  const values = new Map<string, unknown>();
  for (const { operation, reply } of asked)
    if (operation.what === "set" && reply?.ok === true)
      values.set(`${operation.key} ${reply["version"]}`, operation.value);
  for (const { machine, key, version, value } of read)
    if (version > 0 && values.get(`${key} ${version}`) !== value)
      yield `${machine.node} showed ${key} as ${JSON.stringify(value)} of version ${version}, which is ${JSON.stringify(values.get(`${key} ${version}`))}`;
}

function outcomeOf({ reply }: Asked): "ok" | "conflict" | null {
  if (reply === null) return null;
  return reply.ok ? "ok" : "conflict";
}

/** Each message was sent once, reached its reader or came back, and nobody saw it again after the client had it. */
function* faultsOfMessages({ asked, shown, timeline, contents }: Judged): Generator<string> {
  const ids = new Map<string, Set<string>>();
  const note = (text: string, id: string) => ids.set(text, (ids.get(text) ?? new Set()).add(id));
  for (const { text, id } of shown) note(text, id);
  for (const { text, id } of valuesOf<{ readonly id: string; readonly text: string }>(contents, "messages"))
    note(text, id);
  for (const one of asked) {
    if (one.operation.what !== "send" || one.reply?.ok !== true) continue;
    const id = fieldOf(one.reply, "message", "id");
    note(one.operation.text, id);
    if ((timeline.events.get(`message_sent ${id}`) ?? []).length !== 1)
      yield `${textOf(one)}: ${id} was not sent once`;
    const isRead = shown.some(({ text }) => text === (one.operation as { readonly text: string }).text);
    if (!isRead && !timeline.events.has(`message_undelivered ${id}`))
      yield `${textOf(one)}: ${id} reached nobody`;
  }
  for (const [text, all] of ids) if (all.size > 1) yield `${text} was sent ${all.size} times`;
  yield* faultsOfShown(asked, shown);
}

function* faultsOfShown(asked: readonly Asked[], shown: readonly Shown[]): Generator<string> {
  const readerOf = (machine: { readonly node: string }, session: string) => `${machine.node} ${session}`;
  const toldAt = new Map<string, number>();
  for (const { operation, machine, reply, to } of asked) {
    if (operation.what !== "told" || !operation.heard || reply?.ok !== true || to === null) continue;
    for (const id of operation.messages) {
      const key = `${readerOf(machine, operation.session)} ${id}`;
      toldAt.set(key, Math.min(to, toldAt.get(key) ?? Number.POSITIVE_INFINITY));
    }
  }
  for (const { machine, session, id, from, isBack } of shown)
    if (!isBack && from > (toldAt.get(`${readerOf(machine, session)} ${id}`) ?? Number.POSITIVE_INFINITY))
      yield `${id} was shown to ${session} of ${machine.node} after its client had it`;
  for (const { operation, machine, reply } of asked) {
    if (operation.what !== "send" || reply?.ok !== true) continue;
    const at = operation.to.includes("@") ? operation.to : storedId(operation.to, machine.node);
    const own = storedId(operation.session, machine.node);
    for (const one of shown) {
      const reader = storedId(one.session, one.machine.node);
      if (one.text === operation.text && reader !== (one.isBack ? own : at))
        yield `${one.text} to ${at} was shown to ${reader}`;
    }
  }
}

interface StoredDebate {
  readonly id: string;
  readonly question: string;
  readonly entries: readonly { readonly text: string | null }[];
}

/** What was acknowledged of a debate is there once, at its number. */
function* faultsOfDebates({ asked, contents }: Judged): Generator<string> {
  const debates = new Map(valuesOf<StoredDebate>(contents, "debates").map(debate => [debate.id, debate]));
  const questions = [...debates.values()].map(({ question }) => question);
  if (new Set(questions).size !== questions.length) yield "a debate was opened twice";
  for (const one of asked) {
    const { operation, reply } = one;
    if (reply?.ok !== true) continue;
    if (operation.what === "open" && debates.get(String(reply["debate"]))?.question !== operation.text)
      yield `${textOf(one)} was done, and ${reply["debate"]} is not there`;
    if (operation.what !== "enter") continue;
    const { entries = [] } = debates.get(operation.debate) ?? {};
    const at = entries.flatMap(({ text }, i) => (text === operation.entry.text ? [i + 1] : []));
    if (at.length !== 1 || at[0] !== reply["entry"])
      yield `${textOf(one)} is entry ${reply["entry"]}, and ${operation.debate} has it at ${at.join(", ") || "no place"}`;
  }
}

function textOf({ operation, machine, from, to, tries }: Asked): string {
  return `${JSON.stringify(operation)} of ${machine.node} (${from} to ${to}, ${tries.slice(-4).join(" ")})`;
}
