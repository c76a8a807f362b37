/**
 * What is kept of the store on the disk: which store it is, and its state. People see that state if the store is away at the
 * next start. A stop writes it, and a daemon that works does so now and then (`copy-writer.ts`).
 */
import { rmSync } from "node:fs";
import { limits } from "../../protocol/limits.ts";
import { readState, writeState } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import type { Entry } from "../core/tables/entries.ts";
import type { Clock } from "../engine/clock.ts";
import { readPrivateFile, writePrivateFile } from "../store/private-files.ts";
import { type CopyNow, CopyWriter } from "./copy-writer.ts";

/** Which store it is a copy of, and as of when. */
export interface CopyOf {
  readonly where: string;
  readonly storeId: string;
  /** Wall time in milliseconds as of which the copy shows the store: it may be kept anew while the store is away. */
  readonly atMs: number;
  /** Requests of which the outcome was not known; absent: none. */
  readonly unsettled?: readonly string[];
}

export interface KeptCopy {
  /** The store as people name it, by the address that it had then. */
  readonly where: string;
  readonly storeId: string;
  /** Null: no state was kept. */
  readonly state: State | null;
  readonly atMs: number;
  readonly unsettled: readonly string[];
}

/**
 * Keeps which store it is, and its state, in place of what was kept before. A state larger than `limits.storeCopyBytes` is
 * left out, as is one of null.
 */
function saveCopy(path: string, store: CopyOf, state: State | null): void {
  const text = state === null ? "" : writeState(state);
  const kept = Buffer.byteLength(text) <= limits.storeCopyBytes ? text : "";
  writePrivateFile(path, `${headOf(store)}\n${kept}`);
}

function headOf(store: CopyOf): string {
  return JSON.stringify(store);
}

/** Returns what was kept of the store; null if there is nothing that this program can read. */
export function loadCopy(path: string): KeptCopy | null {
  const found = readPrivateFile(path, 2 * limits.storeCopyBytes);
  if (found.is !== "read") return null;
  const end = found.text.indexOf("\n");
  try {
    const store: Partial<CopyOf> = JSON.parse(found.text.slice(0, end));
    const { where, storeId, atMs, unsettled = [] } = store;
    if (typeof where !== "string" || typeof storeId !== "string" || typeof atMs !== "number") return null;
    const text = found.text.slice(end + 1);
    return { where, storeId, state: text === "" ? null : readState(text), atMs, unsettled };
  } catch {
    return null; // Damaged, or another version's: the store has all of it.
  }
}

/** What is known of the store at a moment; null: not yet. */
export interface KnownStore extends Pick<CopyOf, "atMs" | "unsettled"> {
  readonly storeId: string | null;
  readonly state: State | null;
}

export interface StoreFileOptions {
  /** Null: nothing is kept. */
  readonly path: string | null;
  /** The store as people name it. */
  readonly where: string;
  readonly clock: Clock;
  /** Whether this machine shares a project. */
  readonly hasJoined: () => boolean;
  readonly known: () => KnownStore;
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** What this machine keeps of its store, once it shares a project there. The store is known by its id: its address may change. */
export class StoreFile {
  readonly #options: StoreFileOptions;
  /** What an earlier daemon kept; null: nothing. */
  readonly before: KeptCopy | null;
  #storeId: string | null;
  readonly #writer: CopyWriter | null;
  /** The address under which that store was open. */
  #where: string;

  constructor(options: StoreFileOptions) {
    this.#options = options;
    const { path, where, clock, hasJoined } = options;
    // What was kept before the machine left is of no use.
    this.before = path === null || !hasJoined() ? null : loadCopy(path);
    this.#storeId = this.before?.storeId ?? null;
    this.#where = this.before?.where ?? where;
    const now = () => this.#now();
    this.#writer = path === null ? null : new CopyWriter({ path, clock, now, onTrouble: this.#failed });
  }

  /** The address of the store that this machine joined, if the settings have another one; null: the same, or that store is there. */
  get formerWhere(): string | null {
    return this.#where === this.#options.where ? null : this.#where;
  }

  /** The store that this machine joined is at the address of the settings. */
  opened(): void {
    this.#where = this.#options.where;
  }

  /**
   * The store was opened, or what is shared changed. Keeps which store it is, if that is not kept yet. Another store in its
   * place would look as if all were done.
   */
  keepId(storeId: string | null): void {
    const { clock, hasJoined } = this.#options;
    if (storeId === null || !hasJoined()) return;
    if (storeId !== this.#storeId) this.#save({ storeId, atMs: clock.wall() }, null);
    this.#storeId = storeId;
    this.#writer?.changed();
  }

  /** A step of the shared log: a copy follows, unless nodes only say that they are there. */
  stepped({ command }: Entry): void {
    if (command.type !== "node_renew") this.#writer?.changed();
  }

  /** At a stop: keeps the state in place of what was kept before; removes that if this machine shares nothing. */
  async close(): Promise<void> {
    await this.#writer?.close();
    const { path, hasJoined, known } = this.#options;
    const { storeId, state, ...more } = known();
    if (path === null || storeId === null || state === null) return;
    if (hasJoined()) this.#save({ storeId, ...more }, state);
    else rmSync(path, { force: true });
  }

  #now(): ReturnType<CopyNow> {
    const { hasJoined, known } = this.#options;
    const { storeId, state, ...more } = known();
    if (storeId === null || state === null || !hasJoined()) return null;
    return { head: headOf({ where: this.#where, storeId, ...more }), state };
  }

  #save(store: Omit<CopyOf, "where">, state: State | null): void {
    const { path } = this.#options;
    if (path === null) return;
    try {
      saveCopy(path, { where: this.#where, ...store }, state);
    } catch (error) {
      this.#failed(error);
    }
  }

  readonly #failed = (error: unknown) =>
    this.#options.onTrouble("what is known of the shared store could not be kept", error);
}
