/**
 * How a row of the core's tables is stored for all machines, and how a stored row comes into a machine's copy.
 *
 * Invariants: what this machine calls its sessions, its person and its project is translated here and nowhere else. So in a copy
 * they have the names that the machine's own log gives them. No path leaves the machine. `inward` takes back what `outward` did,
 * and neither looks into what people and agents wrote. A stored row of another form than its kind's is not taken.
 */
import * as z from "zod";
import { personIdOf } from "../../protocol/names.ts";
import { placeOf } from "../core/frame/records.ts";
import { addMessage, changeSender, type NewMessage, putLetter } from "../core/messages/inbox.ts";
import {
  plainMessage,
  plainSession,
  readSession,
  rowsOf,
  type State,
  type StoredDebate,
  type StoredSession,
  storedDebates,
} from "../core/state.ts";
import { type ContextItem, contextRecords, itemKey } from "../core/tables/context.ts";
import { dropLetter, inboxKey, type Letter, type Message, sortKeyOf } from "../core/tables/messages.ts";
import { type PartRow, partKey } from "../core/tables/parts.ts";
import { removeSession, type Session } from "../core/tables/sessions.ts";
import {
  insertTasks,
  listOf,
  plainTask,
  removeTask,
  revise,
  setDependencies,
  type Task,
} from "../core/tables/tasks.ts";
import { keepingEnded } from "../core/work/declared-elsewhere.ts";
import { dropPart, putPart } from "../core/work/shared-parts.ts";

/** Who this machine is in the store, and what its project is called on both sides. */
export interface Names {
  readonly node: string;
  readonly machine: string;
  /** The project here, and in the store. */
  readonly project: string;
  readonly shared: string;
}

// In the store a session is `ID@NODE`, and its name ends with `@MACHINE`. A copy has its own machine's sessions without these
// endings, unless the id or the name has an `@` in it. Such a one keeps its ending. So in a copy what has no `@` is of
// this machine, and what has one is the store's. Such an id ends with `@@NODE`, and so does one that would be a person's.

/** Returns what a copy calls a session of this machine by its own id. */
export function idInCopy(id: string, { node }: Pick<Names, "node">): string {
  return id.includes("@") || `${id}@${node}` === personIdOf(node) ? `${id}@@${node}` : id;
}

/** Returns what a copy calls a session of this machine by its own name. */
export function nameInCopy(name: string, { machine }: Pick<Names, "machine">): string {
  return inSession(name, own => (own.includes("@") ? `${own}@${machine}` : own));
}

/** Returns what a copy calls whom the other machines call so: agents of its own machine are `NAME@MACHINE` to them. */
export function calledHere(name: string, { machine }: Pick<Names, "machine">): string {
  return inSession(name, session => withoutEnding(session, machine));
}

/** Returns this machine's own id of a session that its copy calls so; null: it is another machine's. */
export function ownIdOf(id: string, { node }: Pick<Names, "node">): string | null {
  if (!id.includes("@")) return id;
  return id.endsWith(`@@${node}`) ? id.slice(0, -node.length - 2) : null;
}

interface Way {
  project(name: string): string;
  session(id: string): string;
  /** `id`: of the session that is called so. */
  name(name: string, id: string): string;
  /** The row of a person, or null. */
  person(row: object | null): object | null;
}

/**
 * Returns the value as the store has it. `persons` false: null stands for nobody, and not for this machine's person, as in
 * what a step does that no person asked for.
 */
export function outward(value: unknown, names: Names, persons = true): unknown {
  const { node, machine } = names;
  const person = { id: personIdOf(node), agent: null, name: personAt(machine) };
  return mapped(value, {
    project: name => (name === names.project ? names.shared : name),
    session: id => (id.includes("@") ? id : `${id}@${node}`),
    name: (name, id) =>
      ownIdOf(id, names) === null || id === person.id
        ? name
        : inSession(name, own => withEnding(own, machine)),
    person: row => (row === null && persons ? person : row),
  });
}

/** What the people of other machines call one of a machine. */
function personAt(machine: string): string {
  return `a person at ${machine}`;
}

/** Returns a value of the store as this machine calls it. */
export function inward(value: unknown, names: Names): unknown {
  const person = personIdOf(names.node);
  return mapped(value, {
    project: name => (name === names.shared ? names.project : name),
    session: id => withoutEnding(id, names.node),
    name: (name, id) =>
      id.endsWith(`@${names.node}`) ? inSession(name, full => withoutEnding(full, null)) : name,
    person: row => (row !== null && "id" in row && row.id === person ? null : row),
  });
}

/** The name of an agent is `SESSION/AGENT`: the machine stands before the first slash, also in a session's name with one. */
function inSession(name: string, change: (session: string) => string): string {
  const slash = name.indexOf("/");
  return slash === -1 ? change(name) : change(name.slice(0, slash)) + name.slice(slash);
}

function withEnding(text: string, ending: string): string {
  return text.includes("@") ? text : `${text}@${ending}`;
}

/** Takes off what stands behind the last `@`, if that is the ending (null: any) and there is no `@` before it. */
function withoutEnding(text: string, ending: string | null): string {
  const at = text.indexOf("@");
  if (at === -1 || at !== text.lastIndexOf("@")) return text;
  return ending === null || text.slice(at + 1) === ending ? text.slice(0, at) : text;
}

/** Fields that hold the row of who did something; null: this machine's person. */
const ofPersons: ReadonlySet<string> = new Set(["createdBy", "openedBy", "by", "from"]);

/** Who has an id and a name is a session, or an agent within one. */
function mapped(value: unknown, way: Way): unknown {
  if (Array.isArray(value)) return value.map(one => mapped(one, way));
  if (typeof value !== "object" || value === null) return value;
  const fields = value as { readonly [field: string]: unknown };
  const { id, name } = fields;
  const isActor = typeof id === "string" && typeof name === "string";
  const found: Record<string, unknown> = {};
  for (const field in fields) {
    const one = fields[field];
    if (field === "value") found[field] = one;
    else if (ofPersons.has(field) && (one === null || typeof one === "object"))
      found[field] = mapped(way.person(one), way);
    else if (typeof one === "object") found[field] = field === "about" ? aboutOf(one, way) : mapped(one, way);
    else if (typeof one !== "string") found[field] = one;
    else if (field === "project") found[field] = way.project(one);
    else if (field === "session" || (isActor && field === "id")) found[field] = way.session(one);
    else if (isActor && field === "name") found[field] = way.name(one, id);
    else found[field] = one;
  }
  return found;
}

/** The sessions that an event is about. */
function aboutOf(about: unknown, way: Way): unknown {
  return Array.isArray(about) ? about.map(id => way.session(String(id))) : about;
}

/** A key of the store is the text in JSON without its quotes: PostgreSQL takes no half of a surrogate. */
function keyText(key: string): string {
  return JSON.stringify(key).slice(1, -1);
}

/** A row that came, by its key in the copy; a null form: the row is gone. */
export type Came<Form> = readonly (readonly [key: string, form: Form | null])[];

/** A table whose rows machines share. `Form`: a row as a snapshot of this machine has it. */
export interface Kind {
  readonly name: string;
  /** Puts an empty map, which notes changes, in the place of the table's. */
  install(state: State, map: Map<string, object>): void;
  /** Returns the row's key in the table, or undefined: it is a row of another table. */
  keyOf(row: object): string | undefined;
  form(row: object): object;
  /** The form in which it is stored, before its names are translated. */
  lasting(form: object): object;
  /** The key in the store. */
  keyThere(key: string, names: Names): string;
  /** Returns the key and the form of a stored row in the copy, or null: it is no row of this kind. */
  read(key: string, value: string | null, names: Names): readonly [key: string, form: object | null] | null;
  /**
   * Takes rows into the copy, and keeps its indexes. `isUndo`: they are forms of this copy, from before a step. Else they are
   * the store's, and what this daemon knows besides of a letter on its way stays.
   */
  take(state: State, rows: Came<never>, isUndo: boolean): void;
}

const who = z.object({ id: z.string(), agent: z.string().nullable(), name: z.string() });
const whoOrPerson = who.nullable();
const actor = z.object({ session: z.string(), agent: z.string().nullable(), incarnation: z.number() });
const whole = z.number().int();
const texts = z.array(z.string());

/** A kind whose key is the id of its rows, unless `keys` says otherwise. */
function kind<Row extends object, Form extends object>(
  name: string,
  schema: z.ZodType,
  keyOf: (form: Form) => string,
  parts: {
    /** A field that its rows alone have. */
    readonly sign: string;
    install(state: State, map: Map<string, Row>): void;
    form(row: Row): Form;
    take(state: State, rows: Came<Form>, isUndo: boolean): void;
    readonly lasting?: (form: Form) => Form;
    readonly keyThere?: (key: string, names: Names) => string;
  },
): Kind {
  const { sign, install, form: formOf, take, lasting = same, keyThere = keyText } = parts;
  return {
    name,
    install: install as Kind["install"],
    keyOf: row => (sign in row ? keyOf(row as Form) : undefined),
    form: row => formOf(row as Row),
    lasting: one => lasting(one as Form),
    keyThere,
    read(key, value, names) {
      if (value === null) return [keyHere(name, key, names), null];
      const found = inward(parsed(value), names);
      if (!schema.safeParse(found).success) return null;
      const form = found as Form & { readonly project: string };
      const own = keyOf(form);
      return form.project === names.project && keyThere(own, names) === key ? [own, form] : null;
    },
    take: take as Kind["take"],
  };
}

function same<Form>(form: Form): Form {
  return form;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // No JSON: no schema takes null, so the caller leaves the row out.
  }
}

/** Returns the key in the copy of a row that is gone. */
function keyHere(name: string, key: string, names: Names): string {
  const plain = String(parsed(`"${key}"`) ?? key);
  if (name === "sessions") return withoutEnding(plain, names.node);
  if (name === "parts") return inFirst(plain, session => withoutEnding(session, names.node));
  return name === "context" ? itemKey(names.project, plain) : plain;
}

const sessions = kind<Session, StoredSession>(
  "sessions",
  z.looseObject({
    ...{ id: z.string(), node: z.string(), name: z.string(), project: z.string() },
    ...{ begun: whole, registeredAt: z.number(), branch: z.string().nullable() },
    incarnations: z.array(z.looseObject({ ordinal: whole, begun: whole, anchor: z.null() })).min(1),
    agents: z.array(z.tuple([z.string(), z.string()])),
    endedAgents: z.array(z.tuple([z.string(), z.string()])).optional(),
    ...{ lostAt: z.null(), suspendedUntil: z.null(), cwd: z.string(), worktree: z.string() },
  }),
  ({ id }) => id,
  {
    sign: "incarnations",
    install: (state, map) => Object.assign(state.sessions, { live: map }),
    form: plainSession,
    keyThere: (key, { node }) => keyText(key.includes("@") ? key : `${key}@${node}`),
    take({ sessions: table }, rows) {
      // One may have the name that another one had.
      for (const [id] of rows) {
        const known = table.live.get(id);
        if (known !== undefined) removeSession(table, known);
      }
      for (const [id, form] of rows) {
        if (form !== null) readSession(table, form);
        table.ended.delete(id);
        table.touched.add(id);
      }
    },
  },
);

const risk = z.enum(["green", "yellow", "red", "critical"]).optional();

const tasks = kind<Task, Task>(
  "tasks",
  z.looseObject({
    ...{ id: z.string(), n: whole, number: whole.optional(), project: z.string(), createdAt: z.number() },
    ...{ createdBy: whoOrPerson, updatedAt: z.number(), description: z.string() },
    ...{ priority: z.enum(["high", "normal", "low"]), labels: texts, dependsOn: texts, attempts: whole },
    ...{ debate: z.string().optional(), risk, approved: z.literal(true).optional() },
    state: z.discriminatedUnion("status", [
      z.looseObject({ status: z.literal("pending") }),
      z.looseObject({ status: z.literal("active"), claimer: actor.nullable() }),
      z.looseObject({ status: z.literal("done"), result: z.string().nullable(), by: whoOrPerson }),
      z.looseObject({ status: z.literal("failed"), reason: z.string().nullable(), by: whoOrPerson }),
    ]),
  }),
  ({ id }) => id,
  {
    sign: "dependsOn",
    install: (state, map) => Object.assign(state.tasks, { all: map }),
    form: plainTask,
    take: ({ tasks: table }, rows) => takeTasks(table, rows),
  },
);

/** Fields that a stored task may lack. */
const absent = { number: undefined, debate: undefined, risk: undefined, approved: undefined };

function takeTasks(table: State["tasks"], rows: Came<Task>): void {
  const fresh: Task[] = [];
  // What others depend on may be among the rows: it is counted at the end, when all are there.
  for (const [id, form] of rows) {
    const known = table.all.get(id);
    if (form === null) {
      if (known !== undefined) removeTask(table, known);
    } else if (known === undefined) fresh.push(form);
    else if (known.n !== form.n || known.number !== form.number) {
      // It was removed, and imported again.
      removeTask(table, known);
      fresh.push(form);
    } else {
      setDependencies(table, known, form.dependsOn);
      revise(table, known, writable => Object.assign(writable, absent, form));
    }
  }
  const last = listOf(table, "all", null).last;
  insertTasks(
    table,
    fresh.sort((a, b) => a.n - b.n),
  );
  const [first] = fresh;
  if (first !== undefined && last !== undefined && placeOf(first) < last) sortRows(table.all, ({ n }) => n);
  const counted = new Set(rows.flatMap(([id]) => [id, ...(table.dependents.get(id) ?? [])]));
  for (const id of counted) {
    const task = table.all.get(id);
    if (task !== undefined) setDependencies(table, task, task.dependsOn);
  }
}

/** Puts the map's rows in order, when somebody looks: a row came that is not the last one. */
function sortRows<Row>(map: Map<string, Row>, numberOf: (row: Row) => number): void {
  (map as RowMap<Row>).sortLater(numberOf);
}

/**
 * A table's map in a copy. Its order costs what it has, so it is made when somebody asks for all rows, and not with each step
 * that puts one back.
 */
export class RowMap<Row> extends Map<string, Row> {
  /** Null: the rows are in order. */
  #numberOf: ((row: Row) => number) | null = null;

  sortLater(numberOf: (row: Row) => number): void {
    this.#numberOf = numberOf;
  }

  #sort(): void {
    const numberOf = this.#numberOf;
    if (numberOf === null) return;
    this.#numberOf = null;
    const rows = [...super.entries()].sort(([, a], [, b]) => numberOf(a) - numberOf(b));
    super.clear();
    for (const [key, row] of rows) super.set(key, row);
  }

  override entries(): MapIterator<[string, Row]> {
    this.#sort();
    return super.entries();
  }

  override [Symbol.iterator](): MapIterator<[string, Row]> {
    return this.entries();
  }

  override keys(): MapIterator<string> {
    this.#sort();
    return super.keys();
  }

  override values(): MapIterator<Row> {
    this.#sort();
    return super.values();
  }

  override forEach(each: (row: Row, key: string, map: Map<string, Row>) => void): void {
    this.#sort();
    super.forEach(each);
  }
}

const messages = kind<Message, NewMessage>(
  "messages",
  z.looseObject({
    ...{ id: z.string(), order: whole, project: z.string(), from: whoOrPerson, text: z.string() },
    ...{ bytes: whole, replyTo: z.string().nullable(), thread: z.string(), at: z.number() },
    ...{ urgent: z.boolean(), broadcast: z.boolean() },
    letters: z
      .array(
        z.looseObject({ to: who, state: z.enum(["unread", "read"]), undelivered: z.string().nullable() }),
      )
      .min(1),
  }),
  ({ id }) => id,
  {
    sign: "letters",
    install: (state, map) => Object.assign(state.messages, { all: map }),
    form: plainMessage,
    // That an answer carries a letter is no news for others. A letter that was handed over is never shown again.
    lasting: form => ({
      ...form,
      letters: form.letters.map(letter => ({ ...letter, state: lastingState(letter) })),
    }),
    take: ({ messages: table }, rows, isUndo) => takeMessages(table, rows, isUndo),
  },
);

function lastingState({ state }: Letter): "unread" | "read" {
  return state === "unread" || state === "offered" ? "unread" : "read";
}

function takeMessages(table: State["messages"], rows: Came<NewMessage>, isUndo: boolean): void {
  const sorted = [...rows].sort(([, a], [, b]) => (a?.order ?? 0) - (b?.order ?? 0));
  let isInOrder = true;
  for (const [id, form] of sorted) {
    const known = table.all.get(id);
    if (known === undefined) {
      if (form !== null) isInOrder = isLast(table, form) && isInOrder;
      if (form !== null) addMessage(table, form);
      continue;
    }
    const now = new Map((form?.letters ?? []).map(letter => [inboxKey(letter.to), letter]));
    const from = form?.from ?? null;
    if (from !== null && from.id !== known.from?.id) changeSender(table, known, from);
    for (const [key, letter] of now) {
      const before = known.letters.get(key);
      if (isUndo || before === undefined || lastingState(before) !== letter.state)
        putLetter(table, known, letter);
      else if (before.undelivered !== letter.undelivered)
        putLetter(table, known, { ...letter, state: before.state });
    }
    for (const [key, letter] of [...known.letters]) if (!now.has(key)) dropLetter(table, known, letter);
  }
  if (!isInOrder) sortRows(table.all, ({ order }) => order);
}

function isLast({ places }: State["messages"], form: NewMessage): boolean {
  return places.last === undefined || places.last < sortKeyOf(form);
}

const context = kind<ContextItem, ContextItem>(
  "context",
  z.looseObject({
    ...{ project: z.string(), key: z.string(), bytes: whole, from: whoOrPerson, node: z.string() },
    ...{ at: z.number(), version: whole, durable: z.boolean(), endsAt: z.number().nullable() },
    ...{ usedAt: z.number().optional(), leavesAt: z.number().optional() },
    value: z.custom(value => value !== undefined),
  }),
  ({ project, key }) => itemKey(project, key),
  {
    sign: "endsAt",
    install: (state, map) => Object.assign(state.context, { items: map }),
    form: same,
    keyThere: key => keyText(key.slice(key.indexOf("\n") + 1)),
    take({ context: table }, rows) {
      for (const [key, form] of rows) {
        if (form !== null) contextRecords.put(table, form);
        else contextRecords.dropAll(table, [key]);
      }
    },
  },
);

const debates = kind<StoredDebate, StoredDebate>(
  "debates",
  z.looseObject({
    ...{ id: z.string(), n: whole, project: z.string(), question: z.string(), openedBy: whoOrPerson },
    hypotheses: z.array(z.looseObject({ name: z.string(), claim: z.string() })),
    participants: z.array(z.looseObject({ row: who, told: z.string().nullable() })),
    entries: z.array(
      z.looseObject({ kind: z.string(), hypothesis: z.string(), by: whoOrPerson, at: z.number() }),
    ),
    ...{ openedAt: z.number(), verdict: z.looseObject({ name: z.string(), because: z.string() }).nullable() },
  }),
  ({ id }) => id,
  {
    sign: "hypotheses",
    install: (state, map) => Object.assign(state.debates, { all: map }),
    form: same,
    take({ debates: table }, rows) {
      let isInOrder = true;
      for (const [key, form] of rows) {
        if (form === null) storedDebates.dropAll(table, [key]);
        else {
          isInOrder &&= table.all.has(key);
          storedDebates.put(table, form);
        }
      }
      // There are few, and they seldom begin.
      if (!isInOrder) sortRows(table.all, ({ n }) => n);
    },
  },
);

const parts = kind<PartRow, PartRow>(
  "parts",
  z
    .looseObject({
      ...{ project: z.string(), node: z.string(), session: z.string().nullable(), part: z.string() },
      ...{ machine: z.string().optional(), agent: z.string().nullable() },
      told: z.custom(value => value !== undefined && value !== null),
    })
    .refine(({ session, agent }) => session !== null || agent === null),
  partKey,
  {
    sign: "part",
    install: (state, map) => Object.assign(state.parts, { all: map }),
    form: same,
    keyThere: (key, { node }) => keyText(inFirst(key, id => withEnding(id, node))),
    take(state, rows, isUndo) {
      for (const [key, form] of rows) {
        const take = () => (form === null ? dropPart(state, key, null) : putPart(state, form, null));
        const { session, agent } = state.parts.all.get(key) ?? {};
        if (isUndo || session == null || agent === undefined) take();
        else keepingEnded(state, { session, agent }, take);
      }
    },
  },
);

/** Changes the part of the text before its first line's end. */
function inFirst(text: string, change: (first: string) => string): string {
  const end = text.indexOf("\n");
  return end === -1 ? change(text) : change(text.slice(0, end)) + text.slice(end);
}

/**
 * The tables that machines share. A further one is one more entry. Sessions come first, as the others name them.
 */
export const kinds: readonly Kind[] = [sessions, tasks, messages, context, debates, parts];

const counted = ["tasks", "messages", "context", "debates"] as const;

const headSchema = z.looseObject({
  ...{ t: z.number(), seq: whole, taskNumber: whole, taskCount: whole, messageCount: whole },
  ...{
    contextVersions: whole,
    debateCount: whole.optional(),
    taskStamp: z.object({ ms: z.number(), top: whole }),
  },
});

/** The counters of the shared tables, as the project's row has them. */
export function headOf(state: State, { project }: Names): object {
  const heads = counted.map(name => rowsOf[name].head?.write(state[name] as never));
  // How often a session wrote lately, its own machine counts. The numbers of other projects are none of this one's.
  const { sent: _sent, taskNumbers: _numbers, ...head } = Object.assign({}, ...heads);
  return { ...head, taskNumber: state.tasks.numbers.get(project) ?? 0, t: state.t, seq: state.seq };
}

/** Returns the counters in a project's row; throws if the text is nothing of that. Null: the project has had no step. */
export function readHead(text: string): object | null {
  const head: object = JSON.parse(text);
  return "seq" in head ? headSchema.parse(head) : null;
}

/** Sets the counters to what `headOf` returned. */
export function takeHead(state: State, head: object, { project }: Names): void {
  const { taskNumber, t, seq, ...fields } = head as z.infer<typeof headSchema>;
  const all = { ...fields, sent: [], taskNumbers: [[project, taskNumber]] };
  for (const name of counted) rowsOf[name].head?.read(state[name] as never, all as never);
  state.t = t;
  state.seq = seq;
}
