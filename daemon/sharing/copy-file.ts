/** The copy of the shared state that a stop leaves on the disk: what is known of the store if it is away at the next start. */
import { statSync } from "node:fs";
import { limits } from "../../protocol/limits.ts";
import { readState, writeState } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import { readPrivateFile, writePrivateFile } from "../store/private-file.ts";

/** Which store it is a copy of. */
export interface CopyOf {
  readonly where: string;
  readonly storeId: string;
}

export interface KeptCopy {
  readonly storeId: string;
  readonly state: State;
  /** Wall time in milliseconds at which it was kept. */
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
    if (store.where !== where || typeof store.storeId !== "string") return null;
    return {
      storeId: store.storeId,
      state: readState(found.text.slice(end + 1)),
      atMs: statSync(path).mtimeMs,
    };
  } catch {
    return null; // Damaged, or another version's: the store has all of it.
  }
}
