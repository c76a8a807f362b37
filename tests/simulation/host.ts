import type { Clock } from "../../daemon/engine/clock.ts";
import { FileJournal } from "../../daemon/journal/file-journal.ts";
import type { Journal } from "../../daemon/journal/journal.ts";
import { faultyRemote, type RemoteFaults, RemoteLikeJournal, RemoteLog } from "../journal/remote-like.ts";
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

/** Where a world's log lives: it outlives the daemons that use it. */
export interface Host {
  readonly name: string;
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
  /** Everything delivered survives the end of the process alone. */
  readonly keepsDelivered: boolean;
}

/** The file journal over a disk that knows what was synced. */
export class FileHost implements Host {
  readonly name = "file";
  readonly keepsDelivered = true;
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

/** A log elsewhere: late, batched, failing, with foreign entries in between. */
export class RemoteHost implements Host {
  readonly name = "remote";
  readonly keepsDelivered = true;
  readonly log = new RemoteLog();
  readonly #random: Random;
  readonly #faults: RemoteFaults;
  #journal: RemoteLikeJournal | null = null;

  constructor(random: Random, faults: RemoteFaults = faultyRemote) {
    this.#random = random;
    this.#faults = faults;
  }

  journal(): Journal {
    this.#journal = new RemoteLikeJournal(this.log, this.#random.fork(), this.#faults);
    return this.#journal;
  }

  tick(): boolean {
    this.#journal?.tick();
    return this.#journal !== null && !this.#journal.idle;
  }

  settle(): void {
    for (let n = 0; n < 10_000 && this.#journal !== null && !this.#journal.idle; n += 1) this.#journal.tick();
  }

  /** What is under way when its node goes is lost or stored by `crash` itself. */
  strike(): void {}

  readonly isDown = false;

  crash(): void {
    this.#journal?.crash();
    this.#journal = null;
  }
}
