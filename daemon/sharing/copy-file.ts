/**
 * What is kept of the store on the disk: which one it is, and the state that a stop leaves, which is shown if the store is away at
 * the next start.
 */
import { rmSync } from "node:fs";
import { limits } from "../../protocol/limits.ts";
import { readState, writeState } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import { readPrivateFile, writePrivateFile } from "../store/private-file.ts";

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
  writePrivateFile(path, `${JSON.stringify(store)}\n${kept}`);
}

/** Returns what was kept of the store at `where`; null if there is nothing that this program can read. */
export function loadCopy(path: string, where: string): KeptCopy | null {
  const found = readPrivateFile(path, 2 * limits.storeCopyBytes);
  if (found.is !== "read") return null;
  const end = found.text.indexOf("\n");
  try {
    const store: Partial<CopyOf> = JSON.parse(found.text.slice(0, end));
    const { storeId, atMs, unsettled = [] } = store;
    if (store.where !== where || typeof storeId !== "string" || typeof atMs !== "number") return null;
    const text = found.text.slice(end + 1);
    return { storeId, state: text === "" ? null : readState(text), atMs, unsettled };
  } catch {
    return null; // Damaged, or another version's: the store has all of it.
  }
}

export interface StoreFileOptions {
  /** Null: nothing is kept. */
  readonly path: string | null;
  /** The store as people name it. */
  readonly where: string;
  /** Whether this machine shares a project. */
  readonly hasJoined: () => boolean;
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** What this machine keeps of its store, once it shares a project there. */
export class StoreFile {
  readonly #options: StoreFileOptions;
  /** What an earlier daemon kept; null: nothing. */
  readonly before: KeptCopy | null;
  #storeId: string | null;

  constructor(options: StoreFileOptions) {
    this.#options = options;
    const { path, where, hasJoined } = options;
    // What was kept before the machine left is of no use.
    this.before = path === null || !hasJoined() ? null : loadCopy(path, where);
    this.#storeId = this.before?.storeId ?? null;
  }

  /** Keeps which store it is, if that is not kept yet: another one in its place would look as if all were done. */
  keepId(storeId: string | null, atMs: number): void {
    if (storeId === null || storeId === this.#storeId || !this.#options.hasJoined()) return;
    this.#storeId = storeId;
    this.#save({ storeId, atMs }, null);
  }

  /** Keeps the state, too; removes what was kept if this machine shares nothing. */
  keep(storeId: string | null, state: State | null, more: Pick<CopyOf, "atMs" | "unsettled">): void {
    const { path, hasJoined } = this.#options;
    if (path === null || storeId === null || state === null) return;
    if (hasJoined()) this.#save({ storeId, ...more }, state);
    else rmSync(path, { force: true });
  }

  #save(store: Omit<CopyOf, "where">, state: State | null): void {
    const { path, where, onTrouble } = this.#options;
    if (path === null) return;
    try {
      saveCopy(path, { where, ...store }, state);
    } catch (error) {
      onTrouble("what is known of the shared store could not be kept", error);
    }
  }
}
