/** What the sessions of a history ask for, drawn from a seed, and what they hear: the record from which it is judged. */
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Reply } from "../../../daemon/core/tables/entries.ts";
import type { MessageRow } from "../../../protocol/schemas/message.ts";
import type { Random } from "../../simulation/random.ts";
import type { Operation, Value } from "./exchange.ts";
import type { Machine } from "./machine.ts";

/** A request of a session, with all tries. */
export interface Asked {
  readonly machine: Machine;
  readonly project: string;
  readonly operation: Operation;
  /** Places in the order in which the test saw things happen; `to` null: nobody heard what came of it. */
  readonly from: number;
  to: number | null;
  reply: Reply | null;
  /** The version that the request made; null: none. */
  version: number | null;
  /** The version of the machine's copy at the answer, and which start of the process answered. */
  copied: number;
  start: number;
  /** What came of each try: `ok`, a refusal's code, or `lost` if the process did not answer. */
  readonly tries: string[];
}

/** A message in an answer to its reader. */
export interface Shown {
  readonly machine: Machine;
  readonly session: string;
  readonly id: string;
  readonly text: string;
  /** It is its sender's own, whose recipient ended before it read it. */
  readonly isBack: boolean;
  /** When the reader asked for it. */
  readonly from: number;
}

/** A value that a machine showed. */
export interface Read extends Value {
  readonly machine: Machine;
  readonly project: string;
  readonly key: string;
}

/** Refusals after which a client asks again under the same id: the request may have been done, or can be done later. */
const passing: ReadonlySet<string> = new Set(["lost", "store_away", "outcome_unknown"]);
/** Keys whose sessions compare and set. */
export const keys = ["north", "east"];
/** A key whose value ends in time. */
export const passingKey = "passing";
const debatesMax = 2;
const takesMax = 40;
const answerMs = 6_000;

/** All that was asked and heard in a history. */
export class History {
  readonly asked: Asked[] = [];
  readonly shown: Shown[] = [];
  /** What was read of keys, without a request. */
  readonly read: Read[] = [];
  /** Sentences on what no client may hear. */
  readonly wrong: string[] = [];
  /** Nothing is repeated any more: all has been well for long. */
  isOver = false;
  /** How many texts and values were made. */
  made = 0;
  #now = 0;

  /** The place of what happens now. */
  next(): number {
    this.#now += 1;
    return this.#now;
  }
}

/** What the sessions of a project know of each other. */
export interface Common {
  readonly history: History;
  readonly project: string;
  readonly machines: readonly Machine[];
  readonly tasks: string[];
  readonly debates: string[];
  readonly challenges: { readonly debate: string; readonly entry: number }[];
}

export function emptyCommon(history: History, project: string, machines: readonly Machine[]): Common {
  return { history, project, machines, tasks: [], debates: [], challenges: [] };
}

/** How a client asks. */
export interface Manner {
  /** It asks twice at once: its first request seemed to be lost. */
  readonly twice?: boolean;
  /** It takes a store that is away for an answer: what it asked for was not done. */
  readonly givesUp?: boolean;
}

/** Asks a machine for something, again under the same id until the outcome is known, or the history is over. */
async function ask(
  { history, project }: Pick<Common, "history" | "project">,
  machine: Machine,
  operation: Operation,
  { twice = false, givesUp = false }: Manner = {},
): Promise<Asked> {
  const asked: Asked = {
    ...{ machine, project, operation, from: history.next(), to: null },
    ...{ reply: null, version: null, copied: 0, start: 0, tries: [] },
  };
  history.asked.push(asked);
  const id = `${project}.${asked.from}`;
  const once = () => machine.ask({ ask: "submit", project, id, operation }, answerMs);
  while (!history.isOver) {
    const [answer, same] = await Promise.all([once(), twice ? once() : null]);
    // Either may have been lost.
    const { reply = null, version = null, copied = 0 } = answer ?? same ?? {};
    // Letters are given out once, and no step says to whom.
    const isStep = operation.what !== "take";
    if (
      isStep &&
      answer?.reply.ok === true &&
      same?.reply.ok === true &&
      !isDeepStrictEqual(answer.reply, same.reply)
    )
      history.wrong.push(`two answers to ${id}: ${JSON.stringify(answer)} and ${JSON.stringify(same)}`);
    const code = reply === null ? "lost" : reply.ok ? "ok" : reply.code;
    asked.tries.push(code);
    const isEnd = givesUp && code === "store_away" && asked.tries.every(one => one === code);
    if (reply !== null && (isEnd || !passing.has(code))) {
      Object.assign(asked, { reply, version, copied, start: machine.starts, to: history.next() });
      return asked;
    }
    await delay(60);
  }
  return asked;
}

/** Reads what a machine shows of a key; null: it says nothing. */
async function read(
  { history, project }: Pick<Common, "history" | "project">,
  machine: Machine,
  key: string,
): Promise<Value | null> {
  const seen = await machine.ask({ ask: "read", project, key }, answerMs);
  if (seen === null) return null;
  const { version, value } = seen;
  const isKnown = history.read.some(
    one => one.machine === machine && one.project === project && one.key === key && one.value === value,
  );
  if (!isKnown) history.read.push({ version, value, machine, project, key });
  return seen;
}

/** Returns a field of an object in the reply, as text; empty: there is none. */
export function fieldOf(reply: Reply | null, object: string, field: string): string {
  const one = (reply as Readonly<Record<string, unknown>> | null)?.[object];
  if (typeof one !== "object" || one === null) return "";
  return String((one as Readonly<Record<string, unknown>>)[field] ?? "");
}

/** A session that works on tasks, writes messages and sets values. */
export class Worker {
  readonly #machine: Machine;
  readonly #session: string;
  readonly #random: Random;
  readonly #common: Common;
  readonly #versions = new Map<string, number>();
  /** The task that it works on. */
  #task: string | null = null;

  constructor(machine: Machine, session: string, random: Random, common: Common) {
    this.#machine = machine;
    this.#session = session;
    this.#random = random;
    this.#common = common;
  }

  /** Asks for `count` things, one after the other. */
  async run(count: number): Promise<void> {
    for (let n = 0; n < count && !this.#common.history.isOver; n += 1) {
      await this.#step();
      if (this.#random.chance(0.3)) await delay(this.#random.int(0, 60));
      // Meanwhile another machine may be the only one that writes, which guesses then.
      if (this.#random.chance(0.05)) await delay(this.#random.int(200, 700));
    }
  }

  async #step(): Promise<void> {
    const [random, { tasks }] = [this.#random, this.#common];
    const drawn = random.fraction();
    if (drawn < 0.2 || tasks.length === 0) await this.#create();
    else if (drawn < 0.5) await (this.#task === null ? this.#claim() : this.#leave(this.#task));
    else if (drawn < 0.55) await this.#ask({ what: "reopen", task: random.pick(tasks) });
    else if (drawn < 0.6)
      await this.#ask({ what: "depend", task: random.pick(tasks), dependsOn: [random.pick(tasks)] });
    else if (drawn < 0.76) await this.#set();
    else if (drawn < 0.85) await this.#send();
    else if (drawn < 0.92) await this.take();
    else if (drawn < 0.96) await this.#debate();
    else await this.#handOver();
  }

  #ask(operation: WithoutSession<Operation>): Promise<Asked> {
    const whole = { ...operation, session: this.#session } as Operation;
    const twice = this.#random.chance(0.06);
    const isNew = operation.what === "create" || operation.what === "send";
    const givesUp = isNew && !twice && this.#random.chance(0.5);
    return ask(this.#common, this.#machine, whole, { twice, givesUp });
  }

  async #create(): Promise<void> {
    const [random, { tasks }] = [this.#random, this.#common];
    const isFirst = tasks.length === 0 || random.chance(0.5);
    const dependsOn = isFirst ? [] : [...new Set([random.pick(tasks), random.pick(tasks)])];
    const { reply } = await this.#ask({ what: "create", text: this.#text("task"), dependsOn });
    const id = fieldOf(reply, "task", "id");
    if (id !== "") tasks.push(id);
  }

  async #claim(): Promise<void> {
    const random = this.#random;
    const task = random.chance(0.6) ? null : random.pick(this.#common.tasks);
    const { reply } = await this.#ask({ what: "claim", task });
    this.#task = fieldOf(reply, "task", "id") || null;
  }

  async #leave(task: string): Promise<void> {
    this.#task = null;
    const drawn = this.#random.fraction();
    if (drawn < 0.2) await this.#ask({ what: "release", task });
    else await this.#ask({ what: drawn < 0.85 ? "done" : "failed", task, text: this.#text("result") });
  }

  async #set(): Promise<void> {
    const { history } = this.#common;
    history.made += 1;
    if (this.#random.chance(0.15)) {
      const ttlMs = this.#random.int(1, 3_000);
      await this.#ask({ what: "set", key: passingKey, value: history.made, ifVersion: null, ttlMs });
      return;
    }
    const key = this.#random.pick(keys);
    if (this.#random.chance(0.5)) {
      const seen = await read(this.#common, this.#machine, key);
      if (seen !== null) this.#versions.set(key, seen.version);
    }
    const ifVersion = this.#versions.get(key) ?? 0;
    const { reply } = await this.#ask({ what: "set", key, value: history.made, ifVersion, ttlMs: null });
    const version = (reply as { readonly version?: unknown } | null)?.version;
    if (typeof version === "number") this.#versions.set(key, version);
  }

  async #send(): Promise<void> {
    const { machines, project } = this.#common;
    const machine = this.#random.pick(machines);
    const { id } = this.#random.pick(machine.sessionsOf(project).slice(0, 2));
    const to = machine === this.#machine ? id : `${id}@${machine.node}`;
    await this.#ask({ what: "send", to, text: this.#text("letter") });
  }

  /** Takes what waits; what the answer carried is told of as a client's hook does, or its answer is lost. Returns how much it was. */
  async take(isHeard = this.#random.chance(0.85)): Promise<number> {
    const { from, reply } = await this.#ask({ what: "take" });
    const { messages: rows } = (reply ?? {}) as { readonly messages?: readonly MessageRow[] };
    if (rows === undefined || rows.length === 0) return 0;
    const [machine, session] = [this.#machine, this.#session];
    if (!isHeard && this.#random.chance(0.5)) {
      // The daemon ends with its answer, of which nobody tells.
      await machine.kill();
      machine.up();
      return rows.length;
    }
    if (isHeard)
      for (const { id, text, undelivered } of rows) {
        const isBack = undelivered !== null;
        this.#common.history.shown.push({ machine, session, id, text, isBack, from });
      }
    const messages = rows.map(({ id }) => id);
    await this.#ask({ what: "told", messages, heard: isHeard });
    if (isHeard && this.#random.chance(0.5)) await this.#ask({ what: "ack", messages });
    return messages.length;
  }

  /** Reads all that is left. */
  async drain(): Promise<void> {
    for (let n = 0; n < takesMax; n += 1) if ((await this.take(true)) === 0) return;
  }

  /** As soon as something is done here, a session of another machine goes on with it: that one must know. */
  async #handOver(): Promise<void> {
    const [random, common] = [this.#random, this.#common];
    const machine = random.pick(common.machines.filter(one => one !== this.#machine));
    const { id: session } = random.pick(machine.sessionsOf(common.project).filter(staysThere));
    const { reply } = await this.#ask({ what: "create", text: this.#text("task"), dependsOn: [] });
    const task = fieldOf(reply, "task", "id");
    if (task === "") return;
    common.tasks.push(task);
    const claimed = await ask(common, machine, { what: "claim", session, task });
    if (claimed.reply?.ok !== true) return;
    await this.#ask({ what: "claim", task });
    await ask(common, machine, { what: "done", session, task, text: this.#text("result") });
  }

  async #debate(): Promise<void> {
    const [random, { debates, challenges }] = [this.#random, this.#common];
    const text = this.#text("word");
    if (debates.length < debatesMax) {
      const { reply } = await this.#ask({ what: "open", text });
      if (reply?.ok === true) debates.push(String(reply["debate"]));
      return;
    }
    const debate = random.pick(debates);
    const open = challenges.filter(one => one.debate === debate);
    const drawn = random.fraction();
    if (drawn > 0.9) {
      await this.#ask({ what: "close", debate, verdict: "left", text });
      return;
    }
    if (drawn > 0.6 && open.length > 0) {
      const challenge = random.pick(open).entry;
      await this.#ask({ what: "enter", debate, entry: { kind: "answer", challenge, text } });
      return;
    }
    const hypothesis = random.chance(0.7) ? "right" : "left";
    const { reply } = await this.#ask({
      what: "enter",
      debate,
      entry: { kind: "challenge", hypothesis, text },
    });
    if (reply?.ok === true) challenges.push({ debate, entry: Number(reply["entry"]) });
  }

  /** A text that nothing else has. */
  #text(what: "task" | "result" | "letter" | "word"): string {
    const { history } = this.#common;
    history.made += 1;
    return `${what}-${this.#machine.node}.${this.#session}.${history.made}-end`;
  }
}

function staysThere({ id }: { readonly id: string }): boolean {
  return id !== "visitor";
}

/** Reads what a machine shows, all the time. Resolves when `isOver`. */
export async function watchValues(
  machine: Machine,
  random: Random,
  common: Common,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    await read(common, machine, random.pick(keys));
    await delay(random.int(0, 20));
  }
}

type WithoutSession<Op> = Op extends unknown ? Omit<Op, "session"> : never;

/**
 * A session that comes and goes at a machine, with an agent within it, and leaves a task behind that it worked on. The last one
 * stays. Resolves when `isOver`.
 */
export async function comeAndGo(
  machine: Machine,
  random: Random,
  common: Common,
  isOver: () => boolean,
): Promise<void> {
  const { project } = common;
  for (let visit = 1; ; visit += 1) {
    const isLast = isOver();
    const others = machine.sessionsOf(project).filter(staysThere);
    const visitor = {
      id: "visitor",
      registeredAt: visit,
      agents: isLast || random.chance(0.5) ? ["helper"] : [],
      terminals: [0],
    };
    await machine.present(project, [...others, visitor]);
    if (isLast) {
      await machine.present(project, [...others, { ...visitor, terminals: [0, 1] }]);
      // What is there at the end shows one that opened, or one that closed.
      if (random.chance(0.5)) await machine.present(project, [...others, { ...visitor, terminals: [1] }]);
      return;
    }
    await delay(random.int(20, 200));
    await ask(common, machine, { what: "claim", session: visitor.id, task: null });
    // A terminal opens in it, and both stay or one of them.
    await machine.present(project, [...others, { ...visitor, terminals: [0, 1] }]);
    await delay(random.int(0, 100));
    if (random.chance(0.5)) await machine.present(project, [...others, { ...visitor, terminals: [1] }]);
    const stay = machine.sessionsOf(project).filter(staysThere);
    await machine.present(project, stay);
    await delay(random.int(100, 500));
  }
}
