/**
 * Files that shell lines change in place, from the answer that lets a line run until its end is seen.
 *
 * Such a change is an edit: it is in flight under a name of its own, since a line's write of an index ends earlier, when a
 * person is asked about the line.
 */
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import type { FileRef } from "../../core/frame/actors.ts";
import { type Actor, sameActor } from "../../core/frame/actors.ts";
import type { State } from "../../core/state.ts";

/** A file that a line changes. */
export interface LineEdit {
  readonly file: FileRef;
  /** The file goes elsewhere, as it is. */
  readonly isMoved: boolean;
  /** The actor held it before, so it keeps it after the line. */
  readonly isKept: boolean;
}

/** In memory only: after a restart the locks of such lines end as those of edits do. */
export class LineEdits {
  readonly #lines = new BoundedMap<string, readonly LineEdit[]>({
    entriesMax: limits.guardToldMax,
    weightMax: limits.guardToldFilesMax,
    weightOf: files => files.length,
  });

  /** The line asks for its files. What is known of the line already stays. */
  begins(toolUseId: string, files: readonly LineEdit[]): void {
    if (!this.#lines.has(toolUseId)) this.#lines.set(toolUseId, files);
  }

  ended(toolUseId: string): readonly LineEdit[] {
    const files = this.#lines.get(toolUseId) ?? [];
    this.#lines.delete(toolUseId);
    return files;
  }
}

/** The write of a line's own files, as the core knows it. */
export function lineFlight(toolUseId: string): string {
  return `${toolUseId} files`;
}

/** Whether the actor holds the file itself, and not a folder around it. */
export function isHeldBy({ locks }: Pick<State, "locks">, { key }: FileRef, actor: Actor): boolean {
  const hold = locks.holds.get(key);
  return hold !== undefined && sameActor(hold.actor, actor);
}
