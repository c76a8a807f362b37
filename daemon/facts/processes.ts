/** Recognizes processes as anchors and reports when they end. */
import { limits } from "../../protocol/limits.ts";
import type { Anchor } from "../core/actor.ts";
import { type ProcessTable, systemTable } from "./process-table.ts";

const table = systemTable();

/**
 * Returns the process as an anchor if this process sees it alive, with its own user and pid namespace. Null otherwise:
 * a container, another machine, or a wrong or dead pid.
 */
export function processAnchor(pid: number, from: ProcessTable = table): Anchor | null {
  if (!Number.isSafeInteger(pid) || pid <= 0 || !from.isOurs(pid)) return null;
  const row = from.row(pid);
  return typeof row === "string" || row.zombie ? null : { pid, startTime: row.startTime };
}

/**
 * Whether this very process still runs: not a zombie, nor another process with the same pid. If the process table
 * cannot be read it counts as alive.
 */
export function isAlive(anchor: Anchor, from: ProcessTable = table): boolean {
  const row = from.row(anchor.pid);
  if (row === "unknown") return true;
  return row !== "absent" && !row.zombie && row.startTime === anchor.startTime;
}

/** Returns the parent of a process, or null if it is unknown or missing. */
export function parentOf(pid: number, from: ProcessTable = table): number | null {
  const row = from.row(pid);
  return typeof row === "string" || row.parent <= 0 ? null : row.parent;
}

/** How long the youngest child of this very process has run, in milliseconds; as `ProcessTable.youngestChildMs`. */
export function youngestChildMs(anchor: Anchor, from: ProcessTable = table): number | "none" | "unknown" {
  return isAlive(anchor, from) ? from.youngestChildMs(anchor.pid) : "unknown";
}

export interface AnchorWatchOptions {
  readonly table?: ProcessTable;
}

/**
 * Checks processes when asked to and reports once which are gone. An unreadable table proves no death.
 * Several keys may share one process.
 */
export class AnchorWatch {
  readonly #anchors = new Map<string, Anchor>();
  readonly #callbacks: Array<(key: string, anchor: Anchor) => void> = [];
  readonly #stopCallbacks: Array<(key: string, isStopped: boolean) => void> = [];
  /** Keys of processes that a signal has stopped. */
  readonly #stopped = new Set<string>();
  readonly #table: ProcessTable;
  #looking: Promise<void> | null = null;

  constructor(options: AnchorWatchOptions = {}) {
    this.#table = options.table ?? table;
  }

  /** Watches a process for `key`, in place of its earlier one. */
  add(key: string, anchor: Anchor): void {
    this.#anchors.set(key, anchor);
  }

  remove(key: string): void {
    this.#anchors.delete(key);
    this.#stopped.delete(key);
  }

  /** `callback` gets every key whose process is gone; the watch of that key ends. */
  onGone(callback: (key: string, anchor: Anchor) => void): void {
    this.#callbacks.push(callback);
  }

  /** `callback` gets every key whose process a signal stopped, and again when it runs on. */
  onStopped(callback: (key: string, isStopped: boolean) => void): void {
    this.#stopCallbacks.push(callback);
  }

  /** Checks now; calls during a check share it. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  close(): void {
    this.#anchors.clear();
    this.#stopped.clear();
  }

  async #look(): Promise<void> {
    const asked = [...this.#anchors];
    const rows = await this.#table.rows([...new Set(asked.map(([, anchor]) => anchor.pid))]);
    if (rows === null) return;
    let gone = 0;
    for (const [key, anchor] of asked) {
      const row = rows.get(anchor.pid);
      const alive = row !== undefined && !row.zombie && row.startTime === anchor.startTime;
      if (this.#anchors.get(key) !== anchor) continue;
      if (alive) {
        this.#noteStopped(key, row.stopped);
        continue;
      }
      this.remove(key);
      for (const callback of this.#callbacks) callback(key, anchor);
      gone += 1;
      if (gone % limits.anchorBatchMax === 0) await new Promise(resolve => setImmediate(resolve));
    }
  }

  #noteStopped(key: string, isStopped: boolean): void {
    if (this.#stopped.has(key) === isStopped) return;
    if (isStopped) this.#stopped.add(key);
    else this.#stopped.delete(key);
    for (const callback of this.#stopCallbacks) callback(key, isStopped);
  }
}
