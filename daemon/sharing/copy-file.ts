/** The copy of the shared state that a stop leaves on the disk: what is known of the store if it is away at the next start. */
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
}

export interface KeptCopy {
  readonly storeId: string;
  readonly state: State;
  readonly atMs: number;
}

/** Keeps the state of the store in place of the copy before. One larger than `limits.storeCopyBytes` is not kept. */
export function saveCopy(path: string, store: CopyOf, state: State): void {
  const text = writeState(state);
  if (text.length <= limits.storeCopyBytes) writePrivateFile(path, `${JSON.stringify(store)}\n${text}`);
}

/** Returns what was kept of the store at `where`; null if there is nothing that this program can read. */
export function loadCopy(path: string, where: string): KeptCopy | null {
  const found = readPrivateFile(path, 2 * limits.storeCopyBytes);
  if (found.is !== "read") return null;
  const end = found.text.indexOf("\n");
  try {
    const store: Partial<CopyOf> = JSON.parse(found.text.slice(0, end));
    const { storeId, atMs } = store;
    if (store.where !== where || typeof storeId !== "string" || typeof atMs !== "number") return null;
    return { storeId, state: readState(found.text.slice(end + 1)), atMs };
  } catch {
    return null; // Damaged, or another version's: the store has all of it.
  }
}
