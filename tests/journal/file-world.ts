import type { Encoder } from "../../daemon/journal/batch.ts";
import { FileJournal, type FileJournalBounds } from "../../daemon/journal/file-journal.ts";
import { SimulatedDisk } from "../simulation/disk.ts";
import { Client, Turns } from "./commands.ts";

export const dir = "/kite/journal";

/** Small enough that a test meets every one of them. */
const smallBounds: FileJournalBounds = {
  segmentBytes: 1024,
  recordBytes: 4096,
  snapshotsKept: 2,
  reserveBytes: 2048,
  fullRetryMs: 1000,
};

/** File journals, one after the other, over one simulated disk, in a time that stands still. */
export class FileWorld {
  readonly disk = new SimulatedDisk();
  readonly turns = new Turns();
  readonly bounds: FileJournalBounds;
  /** Retries of a full disk that wait for their time. */
  #timers = new Set<() => void>();

  readonly #encoder: Encoder | null;

  /** Without `encoder`, journals write what the daemon's do. */
  constructor(bounds: Partial<FileJournalBounds> = {}, encoder: Encoder | null = null) {
    this.bounds = { ...smallBounds, ...bounds };
    this.#encoder = encoder;
  }

  /** A new journal; the process of the one before it ends in that moment. */
  start(): FileJournal {
    this.disk.processCrash();
    this.turns.forget();
    this.#timers.clear();
    return this.journal();
  }

  /** A journal beside the one that is there. */
  journal(): FileJournal {
    const later = (ms: number, task: () => void) => {
      if (ms !== this.bounds.fullRetryMs) throw new Error(`nothing is retried after ${ms} ms`);
      this.#timers.add(task);
      return () => void this.#timers.delete(task);
    };
    const { bounds } = this;
    const encoder = this.#encoder === null ? {} : { encoder: this.#encoder };
    return new FileJournal({
      dir,
      disk: this.disk.mount(),
      soon: this.turns.soon,
      later,
      bounds,
      ...encoder,
    });
  }

  open(): Promise<Client> {
    return Client.open(this.start());
  }

  settle(): Promise<void> {
    return this.turns.settle();
  }

  /** How many retries wait. */
  get retries(): number {
    return this.#timers.size;
  }

  /** The time of every retry comes. */
  retry(): void {
    const due = [...this.#timers];
    this.#timers.clear();
    for (const task of due) task();
  }

  /** Names in the directory that end so, in order. */
  names(end: string): string[] {
    return this.disk
      .list(dir)
      .filter(name => name.endsWith(end))
      .sort();
  }
}
