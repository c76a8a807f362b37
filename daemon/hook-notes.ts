/**
 * What went past an actor's locks, and that its session is open elsewhere too, told with its next event that waits, or
 * whose answer the client takes: an agent behind hooks has no connection on which it would hear of it. In memory only,
 * each note once, at most `limits.fileNotesMax` an actor.
 */

import type { KiteEvent } from "../protocol/events.ts";
import { limits } from "../protocol/limits.ts";
import type { ActorRow } from "../protocol/lock.ts";
import type { FileNote } from "../protocol/notes.ts";
import type { Session } from "./core/state.ts";

type Whose = Pick<ActorRow, "id" | "agent">;

export class HookNotes {
  readonly #rows = new Map<string, readonly FileNote[]>();
  /** Terminals that know of each other. */
  readonly #acquainted = new Set<string>();

  /** Keeps what an event means for those it names. */
  heard(event: KiteEvent): void {
    if (event.event !== "lost_update" && event.event !== "bypassed") return;
    const { event: what, path: file, writer, holder } = event;
    this.keep(writer, [{ what, file, mine: true, other: holder?.name ?? null }]);
    if (holder !== null) this.keep(holder, [{ what, file, mine: false, other: writer.name }]);
  }

  /** The actor's notes, the oldest first; they are gone then. */
  take(of: Whose): readonly FileNote[] {
    const notes = this.#rows.get(keyOf(of)) ?? [];
    this.#rows.delete(keyOf(of));
    return notes;
  }

  /** Adds notes, or puts them back; the same one counts once. The latest stay. */
  keep(of: Whose, notes: readonly FileNote[]): void {
    const key = keyOf(of);
    const all = [...(this.#rows.get(key) ?? []), ...notes];
    const unlike = all.filter((note, at) => at === all.findIndex(other => isSame(note, other)));
    this.#rows.delete(key);
    this.#rows.set(key, unlike.slice(-limits.fileNotesMax));
    for (const oldest of this.#rows.keys()) {
      if (this.#rows.size <= limits.notedActorsMax) break;
      this.#rows.delete(oldest);
    }
  }

  /** In how many terminals the session is open, where the one called `ordinal` was not told of just these; else null. */
  terminals({ id, incarnations }: Session, ordinal: number): number | null {
    const key = acquaintance(id, incarnations, ordinal);
    if (incarnations.length < 2 || this.#acquainted.has(key)) return null;
    this.#acquainted.add(key);
    for (const oldest of this.#acquainted) {
      if (this.#acquainted.size <= limits.notedActorsMax) break;
      this.#acquainted.delete(oldest);
    }
    return incarnations.length;
  }

  /** The answer that told it was not heard. */
  untold({ id, incarnations }: Session, ordinal: number): void {
    this.#acquainted.delete(acquaintance(id, incarnations, ordinal));
  }
}

function acquaintance(id: string, incarnations: Session["incarnations"], ordinal: number): string {
  return [id, ordinal, ...incarnations.map(({ begun }) => begun)].join(" ");
}

function keyOf({ id, agent }: Whose): string {
  return agent === null ? id : `${id}\n${agent}`;
}

function isSame(a: FileNote, b: FileNote): boolean {
  return a.what === b.what && a.file === b.file && a.mine === b.mine && a.other === b.other;
}
