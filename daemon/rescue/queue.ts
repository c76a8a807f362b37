/** The queue of writes that wait to be kept, off every reply path. */
import { limits } from "../../protocol/limits.ts";
import type { FileKeeper, FileToKeep, KeepOutcome } from "./keep.ts";

/** A write, with earlier ones of the same file that were overtaken and whose text is known. */
interface Waiting {
  readonly asked: FileToKeep;
  readonly overtaken: readonly FileToKeep[];
}

export interface KeepQueueOptions {
  readonly keeper: Pick<FileKeeper, "keep" | "keepSent">;
  /** Whether somebody writes the file now, or a shell line may have since its write ended. */
  readonly isWritten: (asked: FileToKeep) => boolean;
  /** Something should have been kept and was not. */
  readonly onMissed: (asked: Pick<FileToKeep, "path">, why: string) => void;
}

/** Reads at once: a disk that hangs takes one of them. An edit that waits for its file's version adds one. */
const readsMax = 2;
/** Overtaken writes of one file that wait with the latest. */
const overtakenMax = 8;

/**
 * Invariants: of a file one write waits at most, and one is kept at a time, in their order. What the queue has no room for is
 * missed, and counted.
 */
export class KeepQueue {
  readonly #options: KeepQueueOptions;
  readonly #waiting = new Map<string, Waiting>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #idle: (() => void)[] = [];
  #chars = 0;
  #missed = 0;
  #isClosed = false;

  constructor(options: KeepQueueOptions) {
    this.#options = options;
  }

  /** Writes that wait or are being kept. */
  get size(): number {
    return this.#waiting.size + this.#running.size;
  }

  /** Whether a write of the file waits or is being kept. */
  has(path: string): boolean {
    return this.#waiting.has(path) || this.#running.has(path);
  }

  /** Writes that should have been kept and were not. */
  get missed(): number {
    return this.#missed;
  }

  /** Queues a write; returns at once. */
  add(given: FileToKeep): void {
    if (this.#isClosed) return;
    const { path } = given;
    const isRoom = this.#chars + (given.text?.chars ?? 0) <= limits.rescueQueueBytes;
    const asked = isRoom ? given : { ...given, text: null };
    const earlier = this.#waiting.get(path);
    if (earlier !== undefined) this.#drop(path, earlier);
    const known = earlier === undefined ? [] : [...earlier.overtaken, earlier.asked];
    const overtaken = known.filter(({ text }) => text !== null).slice(-overtakenMax);
    for (const one of [asked, ...overtaken]) this.#chars += one.text?.chars ?? 0;
    this.#waiting.set(path, { asked, overtaken });
    for (const [oldest, waiting] of this.#waiting) {
      if (this.#waiting.size <= limits.rescueQueueMax) break;
      this.#drop(oldest, waiting);
      this.miss(waiting.asked, "too many writes wait to be kept");
    }
    this.#run();
  }

  /** Resolves when nothing waits and nothing is being kept, or after this time. */
  async settled(waitMs: number = limits.rescueSettleMs): Promise<void> {
    if (this.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>(resolve => {
      this.#idle.push(resolve);
      timer = setTimeout(resolve, waitMs);
    });
    clearTimeout(timer);
  }

  /** Takes no more; what waits is dropped after `limits.rescueStopMs`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.settled(limits.rescueStopMs);
    for (const [path, waiting] of this.#waiting) this.#drop(path, waiting);
  }

  /** Keeps the file's write before those of other files. Resolves when none of the file waits or is being kept. */
  async first(path: string): Promise<void> {
    while (this.has(path)) {
      const waiting = this.#waiting.get(path);
      if (waiting !== undefined && !this.#running.has(path)) this.#start(path, waiting);
      await this.#running.get(path);
    }
  }

  /** Notes a write of which no version is kept. */
  miss(asked: Pick<FileToKeep, "path">, why: string): void {
    this.#missed += 1;
    this.#options.onMissed(asked, why);
  }

  #run(): void {
    for (const [path, waiting] of this.#waiting) {
      if (this.#running.size >= readsMax) return;
      if (!this.#running.has(path)) this.#start(path, waiting);
    }
  }

  #start(path: string, waiting: Waiting): void {
    this.#drop(path, waiting);
    const done = this.#keep(waiting).finally(() => {
      this.#running.delete(path);
      this.#run();
      if (this.size === 0) for (const idle of this.#idle.splice(0)) idle();
    });
    this.#running.set(path, done);
  }

  async #keep({ asked, overtaken }: Waiting): Promise<void> {
    const { keeper, isWritten } = this.#options;
    const { path, atMs } = asked;
    try {
      for (const one of overtaken) this.#note(one, await keeper.keepSent(one));
      // Another write of the file has ended meanwhile, or one is under way and has changed it already.
      const isOvertaken = (changedAt: number) =>
        this.#waiting.has(path) || (changedAt > atMs && isWritten(asked));
      this.#note(asked, await keeper.keep(asked, isOvertaken));
    } catch (error) {
      this.miss(asked, error instanceof Error ? error.message : String(error));
    }
  }

  #note(asked: FileToKeep, outcome: KeepOutcome): void {
    if (outcome.is === "missed") this.miss(asked, outcome.why);
  }

  #drop(path: string, { asked, overtaken }: Waiting): void {
    this.#waiting.delete(path);
    for (const one of [asked, ...overtaken]) this.#chars -= one.text?.chars ?? 0;
  }
}
