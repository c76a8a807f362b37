/**
 * Freezes with their indexes: the only file that adds or removes them.
 * Invariant: every freeze is in every index it belongs to, so a request visits only the freezes of its own files.
 */

import type { Freeze, Freezes } from "../base-state.ts";
import type { FileRef } from "../file-ref.ts";
import { overlaps } from "../locks/blockers.ts";
import { freezeRecords, ownerOf } from "./state.ts";

export function addFreeze(freezes: Freezes, freeze: Freeze): void {
  freezeRecords.put(freezes, freeze);
  freezes.touched.add(ownerOf(freeze));
}

export function removeFreeze(freezes: Freezes, freeze: Freeze): void {
  freezeRecords.drop(freezes, freeze);
  freezes.touched.add(ownerOf(freeze));
}

/** Returns the freezes with these ids, the oldest first. */
export function freezesIn(freezes: Freezes, ids: ReadonlySet<string> | undefined): Freeze[] {
  return [...(ids ?? [])].flatMap(id => freezes.all.get(id) ?? []).sort((a, b) => numberOf(a) - numberOf(b));
}

/** Returns the freezes that overlap one of the files, the oldest first. */
export function freezesOver(freezes: Freezes, files: readonly FileRef[]): Freeze[] {
  const found = new Set<Freeze>();
  for (const file of files) {
    for (const key of freezes.paths.overlapping(file.key, file.dir)) {
      for (const id of freezes.at.get(key) ?? []) {
        const freeze = freezes.all.get(id);
        if (freeze?.files.some(other => other.key === key && overlaps(other, file))) found.add(freeze);
      }
    }
  }
  return [...found].sort((a, b) => numberOf(a) - numberOf(b));
}

/** Returns the number in an id (46 for `h-1a`); older freezes have smaller numbers. */
function numberOf({ id }: Freeze): number {
  return Number.parseInt(id.slice(2), 36);
}
