/** What the sessions of a history do: tasks, messages and context, drawn from a seed. */
import { setTimeout as delay } from "node:timers/promises";
import type { Message } from "../end-to-end/daemon.ts";
import type { Random } from "../simulation/random.ts";
import { type Debates, debateRequest, heardDebate } from "./debates.ts";
import { Declarations } from "./declarations.ts";
import type { Machine } from "./machines.ts";
import { fieldOf, type History, type Operation, outcomeOf, Speaker } from "./operations.ts";
import { passingKey } from "./passing.ts";

const keys = ["north", "east", "south"];
const thinkMs = 100;

/** A text that a message carried to an agent: how a reader tells which one it got. */
export const tokenForm = /letter-[0-9.]+-end/g;

/** What sessions know of each other. */
export interface Common {
  readonly history: History;
  readonly tasks: string[];
  /** Those that are there, or were at last. */
  readonly speakers: Speaker[];
  /** Messages that their senders know of, which their readers did not acknowledge yet. */
  readonly letters: Set<{ readonly id: string; readonly to: Speaker }>;
  /** Which tokens a hook's answer gave to a session, in the order of the history: `at` is when it was asked for. */
  readonly taken: { readonly reader: string; readonly token: string; readonly at: number }[];
  readonly debates: Debates;
  readonly declarations: Declarations;
  count: number;
}

/** Returns what sessions have in common before any of them says something. */
export function emptyCommon(history: History): Common {
  const debates: Debates = { ids: [], challenges: [], opened: 0 };
  const declarations = new Declarations();
  return { history, tasks: [], speakers: [], letters: new Set(), taken: [], count: 0, debates, declarations };
}

/**
 * Sessions that come and go at a machine, and say nothing: the store hears of them when it can. The last one stays. Resolves when
 * `isOver`.
 */
export async function comeAndGo(
  machine: Machine,
  random: Random,
  { history, speakers }: Common,
  isOver: () => boolean,
): Promise<void> {
  for (let n = 1; ; n += 1) {
    const id = `visitor.${n}`;
    const visitor = new Speaker(machine, id, `${id}-of-${machine.index}`, history);
    await visitor.ask({ type: "register", cwd: machine.clone, name: visitor.name });
    speakers.push(visitor);
    await delay(random.int(20, 300));
    if (isOver()) return;
    visitor.hasEnded = true;
    await visitor.ask({ type: "deregister" });
    visitor.close();
  }
}

/** Someone who works at a machine in one session after the other. */
export class Worker {
  readonly #machine: Machine;
  readonly #slot: number;
  readonly #random: Random;
  readonly #common: Common;
  #speaker: Speaker | null = null;
  #sessions = 0;
  readonly #claims = new Set<string>();
  readonly #versions = new Map<string, number>();

  constructor(machine: Machine, slot: number, random: Random, common: Common) {
    this.#machine = machine;
    this.#slot = slot;
    this.#random = random;
    this.#common = common;
  }

  /** Works until `isOver`. */
  async run(isOver: () => boolean): Promise<void> {
    this.#speaker = await this.#begin();
    while (!isOver()) {
      await this.#step(this.#speaker);
      if (this.#random.chance(0.04)) {
        await this.#end(this.#speaker);
        this.#speaker = await this.#begin();
      }
      await delay(this.#random.int(0, thinkMs));
    }
  }

  /** Registers a session. Other machines have sessions of the same ids. */
  async #begin(): Promise<Speaker> {
    this.#sessions += 1;
    const id = `s${this.#slot}.${this.#sessions}`;
    const name = `${id}-of-${this.#machine.index}`;
    const speaker = new Speaker(this.#machine, id, name, this.#common.history);
    await speaker.ask({ type: "register", cwd: this.#machine.clone, name });
    this.#claims.clear();
    this.#common.speakers.push(speaker);
    return speaker;
  }

  async #end(speaker: Speaker): Promise<void> {
    speaker.hasEnded = true;
    await speaker.ask({ type: "deregister" });
    speaker.close();
  }

  async #step(speaker: Speaker): Promise<void> {
    const random = this.#random;
    const drawn = random.fraction();
    if (drawn < 0.07) await this.#debate(speaker);
    else if (drawn < 0.16) await this.#create(speaker);
    else if (drawn < 0.38) await this.#claim(speaker);
    else if (drawn < 0.56) await this.#leave(speaker);
    else if (drawn < 0.7) await this.#send(speaker);
    else if (drawn < 0.8) await this.#read(speaker);
    else await this.#set(speaker);
  }

  async #debate(speaker: Speaker): Promise<void> {
    const { debates } = this.#common;
    const request = debateRequest(this.#random, debates, this.#text("word"));
    heardDebate(debates, await this.#ask(speaker, { ...request }));
  }

  /** A client that has little patience takes what it hears at first. */
  #ask(speaker: Speaker, request: Message): Promise<Operation> {
    return speaker.ask(request, this.#random.chance(0.15) ? this.#random.int(1, 2) : undefined);
  }

  async #create(speaker: Speaker): Promise<void> {
    const { reply } = await this.#ask(speaker, { type: "task_create", description: this.#text("task") });
    const id = fieldOf(reply, "task", "id");
    if (id !== "") this.#common.tasks.push(id);
  }

  async #claim(speaker: Speaker): Promise<void> {
    const named = this.#random.chance(0.6) ? this.#common.tasks.slice(-4) : [];
    const which = named.length === 0 ? {} : { task: this.#random.pick(named) };
    const { reply } = await this.#ask(speaker, { type: "task_claim", ...which });
    const id = fieldOf(reply, "task", "id");
    if (id !== "") this.#claims.add(id);
  }

  async #leave(speaker: Speaker): Promise<void> {
    const claims = [...this.#claims];
    if (claims.length === 0) return this.#claim(speaker);
    const task = this.#random.pick(claims);
    const drawn = this.#random.fraction();
    const status = drawn < 0.75 ? "done" : "failed";
    const request =
      drawn < 0.5
        ? { type: "task_release", task }
        : { type: "task_update", task, status, result: this.#text("result") };
    const { reply } = await this.#ask(speaker, request);
    if (reply !== null) this.#claims.delete(task);
  }

  async #send(speaker: Speaker): Promise<void> {
    const live = this.#common.speakers.filter(({ hasEnded }) => !hasEnded);
    const to = this.#random.pick(live);
    const text = this.#text("letter");
    const sent = await this.#ask(speaker, { type: "message_send", to: to.name, text });
    const id = fieldOf(sent.reply, "message", "id");
    if (id !== "") this.#common.letters.add({ id, to });
  }

  /** Takes what waits with a hook's answer, or acknowledges what was sent. */
  async #read(speaker: Speaker): Promise<void> {
    const own = [...this.#common.letters].filter(({ to }) => to === speaker);
    if (own.length > 0 && this.#random.chance(0.5)) {
      const letter = this.#random.pick(own);
      const { reply } = await this.#ask(speaker, { type: "message_ack", message: letter.id });
      if (reply !== null) this.#common.letters.delete(letter);
      return;
    }
    const at = this.#common.history.next();
    const reply = await speaker.hook({ hook_event_name: "UserPromptSubmit", prompt: "go on" });
    for (const [token] of String(reply?.["output"] ?? "").matchAll(tokenForm))
      this.#common.taken.push({ reader: speaker.key, token, at });
  }

  async #set(speaker: Speaker): Promise<void> {
    if (this.#random.chance(0.2)) {
      const [key, ttlMs] = [`${passingKey}-${this.#random.int(1, 3)}`, this.#random.int(1, 400_000)];
      const durable = this.#random.chance(0.5);
      await this.#ask(speaker, { type: "context_set", key, value: this.#text("value"), durable, ttlMs });
      return;
    }
    const key = this.#random.pick(keys);
    if (this.#random.chance(0.3)) {
      const reply = await speaker.send({ type: "context_get", id: speaker.id, key });
      if (reply?.["ok"] === true) this.#versions.set(key, Number(reply["version"]));
    }
    const ifVersion = this.#random.chance(0.8) ? { ifVersion: this.#versions.get(key) ?? 0 } : {};
    const request = { type: "context_set", key, value: this.#text("value"), durable: true, ...ifVersion };
    const operation = await this.#ask(speaker, request);
    const { reply } = operation;
    const outcome = outcomeOf(operation);
    if (outcome === "ok" || outcome === "context_conflict")
      this.#versions.set(key, Number(reply?.["version"]));
  }

  /** A text that nothing else has. */
  #text(what: "task" | "result" | "value" | "letter" | "word"): string {
    this.#common.count += 1;
    return `${what}-${this.#machine.index}.${this.#slot}.${this.#common.count}-end`;
  }
}
