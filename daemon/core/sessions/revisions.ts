/**
 * A number for each live session that rises with its work: what it declared, claimed, locked and wrote. While it stays the
 * same, what was made of that work is still right.
 *
 * Invariant: between two looks at a session whose work changed there is a change of its number. A replay may leave out
 * changes, since nobody looks meanwhile: `apply-unheard.ts` does.
 */
export class Revisions {
  /** No number is given twice: a session that began again under its id has another one. */
  #last = 0;
  readonly #of = new Map<string, number>();

  begin(session: string): void {
    this.#last += 1;
    this.#of.set(session, this.#last);
  }

  end(session: string): void {
    this.#of.delete(session);
  }

  /** Notes that the work of a session changed; it may have ended long ago. */
  changed(session: string): void {
    if (this.#of.has(session)) this.begin(session);
  }

  of(session: string): number {
    return this.#of.get(session) ?? 0;
  }
}
