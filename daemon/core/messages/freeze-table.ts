/**
 * Freezes with their indexes: the only file that adds or removes them.
 * Invariant: every freeze is in every index it belongs to, so a request visits only the freezes of its own files.
 */

import type { Actor } from "../actor.ts";
import type { Freeze, Freezes } from "../base-state.ts";
import type { FileRef } from "../file-ref.ts";
import { overlaps } from "../locks/blockers.ts";
import { addToSet, removeFromSet } from "../sets.ts";

export function addFreeze(freezes: Freezes, freeze: Freeze): void {
  freezes.all.set(freeze.id, freeze);
  freezes.touched.add(ownerOf(freeze));
  for (const file of freeze.files) {
    freezes.paths.add(file.key, file.dir);
    addToSet(freezes.at, file.key, freeze.id);
  }
  addToSet(freezes.byOwner, ownerOf(freeze), freeze.id);
  addToSet(freezes.byProject, freeze.project, freeze.id);
}

export function removeFreeze(freezes: Freezes, freeze: Freeze): void {
  freezes.all.delete(freeze.id);
  freezes.touched.add(ownerOf(freeze));
  for (const file of freeze.files) {
    freezes.paths.remove(file.key, file.dir);
    removeFromSet(freezes.at, file.key, freeze.id);
  }
  removeFromSet(freezes.byOwner, ownerOf(freeze), freeze.id);
  removeFromSet(freezes.byProject, freeze.project, freeze.id);
}

/** Returns the key of a freeze's owner: its session, or the project if a person froze the files. */
export function ownerOf({
  actor,
  project,
}: {
  readonly actor: Actor | null;
  readonly project: string;
}): string {
  return actor === null ? `\n${project}` : actor.session;
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
