/** The engine over any journal, with time and the journal's work in the test's hand. */

import type { FileRef } from "../../daemon/core/frame/actors.ts";
import { writeState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, CoreEvent, Entry, Reply } from "../../daemon/core/tables/entries.ts";
import { Engine, type EngineOptions } from "../../daemon/engine/engine.ts";
import { FileJournal } from "../../daemon/journal/file-journal.ts";
import type { Journal } from "../../daemon/journal/journal.ts";
import { microtasks } from "../journal/commands.ts";
import { MemoryJournal, memoryStore, type Refuses } from "../journal/memory-journal.ts";
import { SimulatedDisk } from "../simulation/disk.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { lockOf } from "./core-world.ts";

/** Where a log is; it outlives the engines that use it. */
export interface Place {
  readonly name: string;
  /** A journal for the next engine; the process of the one before it ends in that moment. */
  journal(clock: SimulatedClock): Journal;
  /** Lets some of what is under way happen; false where there was nothing. */
  tick(): boolean;
}

/** Tasks that run when a tick says so. */
class Tasks {
  #tasks: (() => void)[] = [];
  readonly soon = (task: () => void): void => {
    this.#tasks.push(task);
  };

  forget(): void {
    this.#tasks = [];
  }

  run(): boolean {
    const tasks = this.#tasks.splice(0);
    for (const task of tasks) task();
    return tasks.length > 0;
  }
}

export class MemoryPlace implements Place {
  readonly name = "the memory journal";
  readonly store = memoryStore();
  /** What the journal refuses; a test sets it while it runs. */
  refuses: Refuses = () => false;
  readonly #tasks = new Tasks();

  journal(): Journal {
    this.#tasks.forget();
    return new MemoryJournal(this.store, this.#tasks.soon, proposal => this.refuses(proposal));
  }

  tick(): boolean {
    return this.#tasks.run();
  }
}

export class FilePlace implements Place {
  readonly name = "the file journal";
  readonly dir = "/journal";
  readonly disk = new SimulatedDisk();
  readonly #segmentBytes: number;
  readonly #tasks = new Tasks();

  constructor(segmentBytes = 20_000) {
    this.#segmentBytes = segmentBytes;
  }

  journal(clock: SimulatedClock): Journal {
    this.#tasks.forget();
    this.disk.processCrash();
    return new FileJournal({
      dir: this.dir,
      disk: this.disk.mount(),
      soon: this.#tasks.soon,
      later: (ms, task) => clock.at(clock.now() + ms, task),
      bounds: { segmentBytes: this.#segmentBytes, reserveBytes: 4096 },
    });
  }

  tick(): boolean {
    return this.#tasks.run();
  }
}

export const places: readonly { readonly name: string; readonly make: () => Place }[] = [
  { name: "the memory journal", make: () => new MemoryPlace() },
  { name: "the file journal", make: () => new FilePlace() },
];

/** A request under way and what came of it. */
export class Call {
  /** What to abandon it by. */
  n = 0;
  /** Every answer; more than one is a bug. */
  readonly replies: Reply[] = [];
  readonly events: CoreEvent[] = [];
  parked = false;

  get reply(): Reply | null {
    if (this.replies.length > 1) throw new Error(`${this.n} was answered ${this.replies.length} times`);
    return this.replies[0] ?? null;
  }
}

export class EngineWorld<P extends Place = Place> {
  readonly place: P;
  readonly clock = new SimulatedClock(1_000_000);
  /** Entries applied since the latest start, in order, voided ones left out. */
  readonly log: Entry[] = [];
  /** Entries that the latest start found and applied. */
  readonly replayed: Entry[] = [];
  readonly troubles: string[] = [];
  readonly fatal: Error[] = [];
  /** Answers and steps in the order they left the engine. */
  readonly heard: string[] = [];
  #engine: Engine | null = null;

  constructor(place: P) {
    this.place = place;
  }

  get engine(): Engine {
    if (this.#engine === null) throw new Error("no engine runs");
    return this.#engine;
  }

  get state(): State {
    return this.engine.state;
  }

  /** Starts an engine over what is stored; the one before it is gone, as by a crash. */
  async start(options: Partial<EngineOptions> = {}): Promise<this> {
    this.begin(options);
    await this.settle();
    await this.engineStarted;
    return this;
  }

  /** `start` without waiting for it. */
  begin(options: Partial<EngineOptions> = {}): void {
    this.#engine = null;
    // Its timers went with it.
    this.clock.restart(0);
    this.log.length = 0;
    this.replayed.length = 0;
    this.engineStarted = Engine.start({
      journal: this.place.journal(this.clock),
      clock: this.clock,
      node: "n",
      storeId: "store",
      onStep: (entry, _step, _state, replayed) => {
        (replayed ? this.replayed : this.log).push(entry);
        if (!replayed) this.heard.push(entry.command.type);
      },
      onTrouble: message => this.troubles.push(message),
      onFatal: error => this.fatal.push(error),
      ...options,
    }).then(engine => {
      this.#engine = engine;
    });
    // A start that fails is looked at by who awaits it.
    this.engineStarted.catch(() => {});
  }

  engineStarted: Promise<void> = Promise.resolve();

  /** Lets everything under way happen. */
  async settle(): Promise<void> {
    await microtasks();
    // A snapshot has a pause before each of its lines.
    for (let quiet = 0; quiet < 10; quiet = this.place.tick() ? 0 : quiet + 1) await microtasks();
  }

  /** Lets everything happen up to where `isSo`. */
  async until(isSo: () => boolean): Promise<void> {
    for (let n = 0; !isSo(); n += 1) {
      if (n === 1000) throw new Error("what was waited for does not come");
      this.place.tick();
      await microtasks();
    }
  }

  submit(command: Command): Call {
    const call = new Call();
    call.n = this.engine.submit(command, {
      answer: reply => {
        call.replies.push(reply);
        this.heard.push(`answer ${call.n}`);
      },
      parked: () => {
        call.parked = true;
      },
      event: event => call.events.push(event),
    });
    return call;
  }

  /** Submits and lets everything happen. */
  async do(command: Command): Promise<Call> {
    const call = this.submit(command);
    await this.settle();
    return call;
  }

  lock(...args: LockArgs): Promise<Call> {
    return this.do(this.lockOf(...args));
  }

  /** `lock` that is only handed over. */
  submitLock(...args: LockArgs): Call {
    return this.submit(this.lockOf(...args));
  }

  lockOf(session: LockArgs[0], files: LockArgs[1], more: LockArgs[2] = {}): ReturnType<typeof lockOf> {
    return lockOf(session, files, this.clock.now(), more);
  }

  unlock(session: string, file: string): Promise<Call> {
    return this.do(unlockOf(session, file));
  }

  async pass(ms: number): Promise<void> {
    this.clock.pass(ms);
    await this.settle();
  }

  holder(file: string): string | null {
    return this.state.locks.holds.get(`n:/p/${file}`)?.actor.session ?? null;
  }

  /** How many entries of a type were applied since the latest start. */
  count(type: Command["type"]): number {
    return this.log.filter(entry => entry.command.type === type).length;
  }

  get written(): string {
    return writeState(this.state);
  }
}

type LockArgs = [
  session: Parameters<typeof lockOf>[0],
  files: Parameters<typeof lockOf>[1],
  more?: Parameters<typeof lockOf>[3],
];

export function unlockOf(session: string, file: string): Command {
  const named = [{ file, lexical: `/p/${file}`, key: `n:/p/${file}` }];
  return { type: "lock_release", actor: { session, agent: null, incarnation: 0 }, files: named };
}

/**
 * A lock that takes its first file and throws at the second: the state is torn by then. Stored and read again it
 * would not throw.
 */
export function poison(session: string, first: string): Command {
  const whole = lockOf(session, [first, `${first}-second`], 0);
  const thrower = (file: FileRef): FileRef => ({
    file: file.file,
    key: file.key,
    dir: file.dir,
    get lexical(): string {
      throw new Error("poison");
    },
    // What is stored is sound.
    ...{ toJSON: () => file },
  });
  return { ...whole, files: whole.files.map((file, i) => (i === 0 ? file : thrower(file))) };
}

/** A lock that throws whenever it is applied, stored or not. */
export function lastingPoison(session: string): Command {
  const broken: unknown = { ...lockOf(session, "never", 0), files: null };
  // The compiler cannot be told that a command may be broken: that is what these tests are about.
  return broken as Command;
}
