/** What sessions ask their daemons for, and what they hear: the record from which a history is judged. */
import { setTimeout as delay } from "node:timers/promises";
import { type Client, Closed, type Message } from "../end-to-end/daemon.ts";
import type { Machine } from "./machines.ts";

/** A request of a session, with all tries. */
export interface Operation {
  readonly machine: Machine;
  readonly session: string;
  readonly request: Message;
  /** Places in the order in which the test saw things happen; `to` null: nobody heard what came of it. */
  readonly from: number;
  to: number | null;
  reply: Message | null;
  /** What came of each try: `ok`, a refusal's code, or `lost` where the connection ended first. */
  readonly tries: string[];
}

/** Refusals after which a client repeats its request: it may have been stored, or can be stored later. */
const passing: ReadonlySet<unknown> = new Set(["outcome_unknown", "store_away", "restarting"]);

/** A daemon that does not answer for so long has a fault: no pause of a history lasts as long. */
const answerMs = 30_000;
/** Tries of a hook, which a daemon answers that was started. */
const triesMax = 1_000;

/** All that was asked in a history. */
export class History {
  readonly operations: Operation[] = [];
  /** Whether sessions repeat nothing any more: all has been well for long, and they should have heard. */
  isOver = false;
  #now = 0;

  /** The place of what happens now. */
  next(): number {
    this.#now += 1;
    return this.#now;
  }
}

/** A session, which asks for one thing at a time. */
export class Speaker {
  readonly machine: Machine;
  readonly id: string;
  readonly name: string;
  readonly #record: History;
  #client: Client | null = null;
  #count = 0;
  /** Ids of messages to it from before its project was shared. */
  readonly early: string[] = [];
  /** Whether it was deregistered, or its client asked for that. */
  hasEnded = false;

  constructor(machine: Machine, id: string, name: string, record: History) {
    this.machine = machine;
    this.id = id;
    this.name = name;
    this.#record = record;
  }

  get key(): string {
    return keyOf(this.machine, this.id);
  }

  /**
   * Asks, and repeats the request with the same `requestId` as clients do, until it is answered or `triesMax` tries are over. The
   * operation then says what the client knows.
   */
  async ask(request: Message, triesMax = Number.POSITIVE_INFINITY): Promise<Operation> {
    this.#count += 1;
    const whole = { ...request, id: this.id, requestId: `${this.id}.${this.#count}` };
    const [machine, session] = [this.machine, this.id];
    const operation: Operation = {
      ...{ machine, session, request: whole, from: this.#record.next(), to: null, reply: null, tries: [] },
    };
    this.#record.operations.push(operation);
    while (operation.tries.length < triesMax) {
      const reply = await this.send(whole);
      const code = reply === null ? "lost" : reply["ok"] === true ? "ok" : reply["code"];
      operation.tries.push(String(code));
      if (reply !== null && !passing.has(code)) {
        operation.reply = reply;
        operation.to = this.#record.next();
        break;
      }
      if (this.#record.isOver) break;
      await delay(30);
    }
    return operation;
  }

  /** Sends a line once, and returns the reply, or null if the connection ends first. */
  async send(request: Message): Promise<Message | null> {
    try {
      this.#client ??= await this.machine.connect();
      const client = this.#client;
      const reply = client.ask(request);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        const silent = () => reject(new Error(`no answer in ${answerMs} ms to ${JSON.stringify(request)}`));
        timer = setTimeout(silent, answerMs);
      });
      try {
        return await Promise.race([reply, late]);
      } finally {
        clearTimeout(timer);
        reply.catch(() => {});
      }
    } catch (error) {
      this.#client?.destroy();
      this.#client = null;
      if (error instanceof Closed) return null;
      throw error;
    }
  }

  /** Tells the daemon of an event of the client's hooks once; returns its answer, or null if the connection ends first. */
  hook(event: Message): Promise<Message | null> {
    const where = { session_id: this.id, cwd: this.machine.clone };
    return this.send({ type: "hook", event: { ...where, ...event } });
  }

  /** The same, again until there is an answer; its daemon may be killed meanwhile. */
  async hookUntilHeard(event: Message): Promise<Message> {
    for (let tries = 1; ; tries += 1) {
      const reply = await this.hook(event);
      if (reply !== null && reply["code"] !== "restarting") return reply;
      if (tries > triesMax) throw new Error(`a hook was not answered: ${JSON.stringify(event)}`);
      await delay(20);
    }
  }

  close(): void {
    this.#client?.destroy();
    this.#client = null;
  }
}

/** What tells a session from those of other machines, which may have the same id. */
export function keyOf(machine: Machine, session: string): string {
  return `${machine.index}:${session}`;
}

/** Returns the outcome as registers have it: `ok`, the refusal's code, or null. */
export function outcomeOf({ reply }: Operation): string | null {
  if (reply === null) return null;
  return reply["ok"] === true ? "ok" : String(reply["code"]);
}

/** Returns a field of an object in the reply, as text; empty where there is none. */
export function fieldOf(reply: Message | null, object: string, field: string): string {
  const one = reply?.[object];
  if (typeof one !== "object" || one === null) return "";
  return String((one as Message)[field] ?? "");
}
