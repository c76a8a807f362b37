import { limits } from "../../protocol/limits.ts";
import type { Anchor } from "../core/actor.ts";
import { type ProcessTable, systemTable } from "./process-table.ts";

const table = systemTable();

/**
 * The process as an anchor, accepted only where this process itself sees it alive, under its own user and in
 * its own pid namespace; null otherwise (a container, another machine, a pid that is wrong or gone).
 */
export function processAnchor(pid: number, from: ProcessTable = table): Anchor | null {
  if (!Number.isSafeInteger(pid) || pid <= 0 || !from.isOurs(pid)) return null;
  const row = from.row(pid);
  return typeof row === "string" || row.zombie ? null : { pid, startTime: row.startTime };
}

/**
 * Whether the very process still runs: a zombie does not, and a pid that was given to another one is not it.
 * Where the table of processes cannot be read it counts as alive.
 */
export function isAlive(anchor: Anchor, from: ProcessTable = table): boolean {
  const row = from.row(anchor.pid);
  if (row === "unknown") return true;
  return row !== "absent" && !row.zombie && row.startTime === anchor.startTime;
}

/** The parent of a process, or null where it is not seen or has none. */
export function parentOf(pid: number, from: ProcessTable = table): number | null {
  const row = from.row(pid);
  return typeof row === "string" || row.parent <= 0 ? null : row.parent;
}

/** Calls back every so often until told to stop. */
export type Every = (ms: number, tick: () => void) => () => void;

/** A timer that does not keep the process alive. */
const everyUnref: Every = (ms, tick) => {
  const timer = setInterval(tick, ms);
  timer.unref();
  return () => clearInterval(timer);
};

export interface AnchorWatchOptions {
  readonly table?: ProcessTable;
  readonly every?: Every;
}

/**
 * Looks at processes every `limits.anchorPollMs` and tells, once, which are gone. A table that cannot be read
 * is no proof of anybody's death. Several keys may share one process.
 */
export class AnchorWatch {
  readonly #anchors = new Map<string, Anchor>();
  readonly #callbacks: Array<(key: string, anchor: Anchor) => void> = [];
  readonly #table: ProcessTable;
  readonly #stop: () => void;
  #looking: Promise<void> | null = null;

  constructor(options: AnchorWatchOptions = {}) {
    this.#table = options.table ?? table;
    this.#stop = (options.every ?? everyUnref)(limits.anchorPollMs, () => void this.look());
  }

  /** Watches a process for `key`, in place of the one it had. */
  add(key: string, anchor: Anchor): void {
    this.#anchors.set(key, anchor);
  }

  remove(key: string): void {
    this.#anchors.delete(key);
  }

  /** `callback` gets every key whose process is gone; it is not watched any more then. */
  onGone(callback: (key: string, anchor: Anchor) => void): void {
    this.#callbacks.push(callback);
  }

  /** Looks now; a look that is under way already is shared. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  close(): void {
    this.#stop();
    this.#anchors.clear();
  }

  async #look(): Promise<void> {
    const asked = [...this.#anchors];
    const rows = await this.#table.rows([...new Set(asked.map(([, anchor]) => anchor.pid))]);
    if (rows === null) return;
    for (const [key, anchor] of asked) {
      const row = rows.get(anchor.pid);
      const alive = row !== undefined && !row.zombie && row.startTime === anchor.startTime;
      if (alive || this.#anchors.get(key) !== anchor) continue;
      this.#anchors.delete(key);
      for (const callback of this.#callbacks) callback(key, anchor);
    }
  }
}
