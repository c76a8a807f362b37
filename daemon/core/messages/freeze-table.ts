/**
 * Holds on edits with their indexes: the only file that adds or removes them. A request looks for those on its own
 * files, and nobody goes through all.
 */

import type { Actor } from "../actor.ts";
import type { FileRef } from "../file-ref.ts";
import { overlaps } from "../locks/blockers.ts";
import { addToSet, removeFromSet } from "../sets.ts";
import type { EditHold, EditHolds } from "../state.ts";

export function addEditHold(holds: EditHolds, hold: EditHold): void {
  holds.all.set(hold.id, hold);
  holds.touched.add(ownerOf(hold));
  for (const file of hold.files) {
    holds.paths.add(file.key, file.dir);
    addToSet(holds.at, file.key, hold.id);
  }
  addToSet(holds.byOwner, ownerOf(hold), hold.id);
  addToSet(holds.byProject, hold.project, hold.id);
}

export function removeEditHold(holds: EditHolds, hold: EditHold): void {
  holds.all.delete(hold.id);
  holds.touched.add(ownerOf(hold));
  for (const file of hold.files) {
    holds.paths.remove(file.key, file.dir);
    removeFromSet(holds.at, file.key, hold.id);
  }
  removeFromSet(holds.byOwner, ownerOf(hold), hold.id);
  removeFromSet(holds.byProject, hold.project, hold.id);
}

/** The session whose hold it is; those of persons are their project's. */
export function ownerOf({
  actor,
  project,
}: {
  readonly actor: Actor | null;
  readonly project: string;
}): string {
  return actor === null ? `\n${project}` : actor.session;
}

/** Those of an owner or a project, the oldest first. */
export function holdsIn(holds: EditHolds, ids: ReadonlySet<string> | undefined): EditHold[] {
  return [...(ids ?? [])].flatMap(id => holds.all.get(id) ?? []).sort((a, b) => numberOf(a) - numberOf(b));
}

/** Those on something that overlaps one of the files, the oldest first. */
export function holdsOver(holds: EditHolds, files: readonly FileRef[]): EditHold[] {
  const found = new Set<EditHold>();
  for (const file of files) {
    for (const key of holds.paths.overlapping(file.key, file.dir)) {
      for (const id of holds.at.get(key) ?? []) {
        const hold = holds.all.get(id);
        if (hold?.files.some(other => other.key === key && overlaps(other, file))) found.add(hold);
      }
    }
  }
  return [...found].sort((a, b) => numberOf(a) - numberOf(b));
}

/** Of `h-1a`, 46: older ones have smaller numbers. */
function numberOf({ id }: EditHold): number {
  return Number.parseInt(id.slice(2), 36);
}
