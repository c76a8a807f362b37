import type { CommandType } from "../../daemon/core/tables/entries.ts";
import type { Clock } from "../../daemon/engine/clock.ts";
import { FileJournal } from "../../daemon/journal/file-journal.ts";
import type { Journal } from "../../daemon/journal/journal.ts";
import { MemoryJournal, memoryStore } from "../journal/memory-journal.ts";
import { SimulatedDisk } from "./disk.ts";
import type { Random } from "./random.ts";

/** Time that passes when the world says so. At a restart the machine's clock may have jumped, both ways. */
export class SimulatedClock implements Clock {
  #now: number;
  #timers: { readonly at: number; readonly callback: () => void }[] = [];

  constructor(start: number) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  /** By how much the wall clock went on while the machine slept, in milliseconds. */
  sleptMs = 0;

  wall(): number {
    return this.#now + this.sleptMs;
  }

  /** The machine sleeps: its own clock stands still, the wall clock does not. A person may set that one, too. */
  sleep(ms: number): void {
    this.sleptMs += ms;
  }

  /** The process stands still: time passes, and its timers come late. */
  freeze(ms: number): void {
    this.#now += ms;
  }

  at(at: number, callback: () => void): () => void {
    const timer = { at, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter(t => t !== timer);
    };
  }

  /** Lets time pass and fires what comes due, earliest first. */
  pass(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const due = this.#timers.filter(t => t.at <= until).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter(t => t !== due);
      this.#now = Math.max(this.#now, due.at);
      due.callback();
    }
    this.#now = until;
  }

  /** A process that starts again reads the clock anew: its timers are gone and the time is another. */
  restart(jumpMs: number): void {
    this.#timers = [];
    this.#now = Math.max(1, this.#now + jumpMs);
  }
}

/** Where a simulation may keep its log. */
export type HostName = "file" | "memory";

/** Where a world's log lives: it outlives the daemons that use it. */
export interface Host {
  /** A journal for the next daemon. */
  journal(): Journal;
  /** Lets some of what is under way happen; true where something did. */
  tick(): boolean;
  /** Lets everything under way happen. */
  settle(): void;
  /** The daemon is gone. `power`: and the machine too, with what was not synced. */
  crash(power: boolean): void;
  /** The process or the machine will stop in the middle of one of the next writes. */
  strike(): void;
  /** It has. */
  readonly isDown: boolean;
}

/** The file journal over a disk that knows what was synced. */
export class FileHost implements Host {
  readonly disk = new SimulatedDisk();
  readonly #random: Random;
  readonly #clock: SimulatedClock;
  #tasks: (() => void)[] = [];

  constructor(random: Random, clock: SimulatedClock) {
    this.#random = random;
    this.#clock = clock;
    this.disk.holdSyncs = true;
  }

  journal(): Journal {
    return new FileJournal({
      dir: "/journal",
      disk: this.disk.mount(),
      soon: task => this.#tasks.push(task),
      later: (ms, task) => this.#clock.at(this.#clock.now() + ms, task),
      bounds: { segmentBytes: 20_000, reserveBytes: 4096 },
    });
  }

  tick(): boolean {
    if (this.#random.chance(0.3)) this.disk.completeSyncs();
    if (this.#random.chance(0.2)) return false;
    return this.#run();
  }

  settle(): void {
    this.#run();
    this.disk.completeSyncs();
  }

  strike(): void {
    const stopAt = this.disk.steps + this.#random.int(0, 3);
    // Power that is off already does not come back for that.
    if (!this.isDown) this.disk.stopAt = stopAt;
  }

  get isDown(): boolean {
    return this.disk.isOff;
  }

  crash(power: boolean): void {
    this.#tasks = [];
    if (power) this.disk.powerCut(this.#random);
    else this.disk.processCrash();
  }

  #run(): boolean {
    const tasks = this.#tasks.splice(0);
    for (const task of tasks) task();
    return tasks.length > 0;
  }
}

/** The memory journal: nothing of it is lost, but now and then it refuses what is proposed, as a full disk does. */
export class MemoryHost implements Host {
  readonly #random: Random;
  readonly #refusals: number;
  readonly #store = memoryStore();
  #tasks: (() => void)[] = [];

  /** `refusals`: how likely it refuses a proposal. */
  constructor(random: Random, refusals = 0.02) {
    this.#random = random;
    this.#refusals = refusals;
  }

  journal(): Journal {
    return new MemoryJournal(
      this.#store,
      task => this.#tasks.push(task),
      ({ command }) => !begins.has(command.type) && this.#random.chance(this.#refusals),
    );
  }

  tick(): boolean {
    if (this.#random.chance(0.2)) return false;
    return this.#run(this.#random.int(1, Math.max(1, this.#tasks.length)));
  }

  settle(): void {
    this.#run(this.#tasks.length);
  }

  /** Each of its writes is done at once. */
  strike(): void {}

  readonly isDown = false;

  crash(): void {
    this.#tasks = [];
  }

  #run(count: number): boolean {
    const tasks = this.#tasks.splice(0, count);
    for (const task of tasks) task();
    return tasks.length > 0;
  }
}

/** A start whose first entries are refused fails, or goes on under earlier rules. */
const begins: ReadonlySet<CommandType> = new Set(["daemon_started", "rules"]);
