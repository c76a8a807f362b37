/**
 * What agents are to be told of health, with their next events that wait. In memory only: a restart knows of no alarm.
 *
 * Invariants: a reader is told of an alarm once. If a sign of life comes before an answer with it was delivered, the reader
 * hears nothing of it; if one comes after, the reader is told that too. A note is in one answer at a time.
 */
import type { HealthNote } from "../../../hooks/lead/seam.ts";
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import { noteKey, type Whose } from "../../core/tables/messages.ts";
import type { Delivery } from "../../hooks/delivery.ts";
import type { Pending } from "../../hooks/pending.ts";

interface Waiting {
  note: HealthNote;
  isTold: boolean;
  /** Of an alarm: a sign of life came since, or the agent has ended; null: it holds. */
  over: "back" | "ended" | null;
  isInFlight: boolean;
}

export class HealthNotes {
  readonly #pending: Pick<Pending, "add" | "drop">;
  /** By reader, then by the agent that the note is about and its kind. */
  readonly #readers = new BoundedMap<string, Map<string, Waiting>>({ entriesMax: limits.notedActorsMax });

  constructor(pending: Pick<Pending, "add" | "drop">) {
    this.#pending = pending;
  }

  /** Tells these readers of an agent that stalled. */
  alarm(readers: readonly Whose[], whose: Whose, note: HealthNote): void {
    for (const reader of readers) this.#add(reader, `stalled ${noteKey(whose)}`, note);
  }

  /** Tells an agent something of itself, once. */
  tell(reader: Whose, note: HealthNote): void {
    this.#add(reader, note.what, note);
  }

  /** A sign of life or its end ended the alarm: who was told of it is told that; who was not hears nothing. */
  over(readers: readonly Whose[], whose: Whose, by: "back" | "ended"): void {
    const id = `stalled ${noteKey(whose)}`;
    for (const reader of readers) {
      const own = this.#readers.get(noteKey(reader));
      const pending = own?.get(id);
      if (pending === undefined) continue;
      if (pending.isTold || pending.isInFlight) pending.over = by;
      else own?.delete(id);
    }
  }

  /** Forgets a note on the reader itself. */
  drop(reader: Whose, what: HealthNote["what"]): void {
    this.#readers.get(noteKey(reader))?.delete(what);
  }

  /** Whether the reader is to be told of an agent that stalled. */
  hasAlarm(reader: Whose): boolean {
    const own = this.#readers.get(noteKey(reader));
    return [...(own?.values() ?? [])].some(
      ({ note, isTold, over, isInFlight }) =>
        note.what === "stalled" && !isTold && over === null && !isInFlight,
    );
  }

  /** The notes for the reader's answer; they count as told when it is delivered. */
  offer(reader: Whose, delivery: Delivery): readonly HealthNote[] {
    const own = this.#readers.get(noteKey(reader));
    if (own === undefined || own.size === 0) this.#pending.drop(reader);
    if (own === undefined) return [];
    const offered = [...own].filter(
      ([, { isInFlight, isTold, over }]) => !isInFlight && isTold === (over !== null),
    );
    const taken = offered.slice(0, limits.healthNotesMax);
    for (const [id, pending] of taken) {
      const isLast = pending.over !== null || pending.note.what !== "stalled";
      pending.isInFlight = true;
      delivery.whenTold(heard => {
        pending.isInFlight = false;
        if (heard) pending.isTold = true;
        // The alarm ended before its answer was delivered, or nothing more is to be told.
        const isVoid = !heard && pending.over !== null && !pending.isTold;
        if (own.get(id) === pending && ((heard && isLast) || isVoid)) own.delete(id);
      });
    }
    return taken.map(([, { note, over }]) => (over === null ? note : { ...note, what: over }));
  }

  #add(reader: Whose, id: string, note: HealthNote): void {
    const key = noteKey(reader);
    const own = this.#readers.get(key) ?? new Map<string, Waiting>();
    own.set(id, { note, isTold: false, over: null, isInFlight: false });
    this.#readers.set(key, own);
    this.#pending.add(reader);
  }
}
