/**
 * The keys that one actor holds, in the order in which it took them. Each lock knows its place, so no key is looked up. A
 * set would be, and would be made anew each time that removed keys fill it.
 *
 * Invariant: `hold.placeInRow` is the lock's place in the list that it is in.
 */

/** A lock as far as the list knows it. */
interface Placed {
  readonly key: string;
  placeInRow: number;
}

/** So many gaps do no harm. */
const gapsKept = 16;

export class HeldKeys {
  /** Null: a gap, where a lock was removed. */
  #holds: (Placed | null)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(hold: Placed): void {
    hold.placeInRow = this.#holds.push(hold) - 1;
    this.#size += 1;
  }

  /** Removes a lock of this list. */
  remove(hold: Placed): void {
    const holds = this.#holds;
    holds[hold.placeInRow] = null;
    this.#size -= 1;
    while (holds.length > 0 && holds[holds.length - 1] === null) holds.pop();
    if (holds.length - this.#size > Math.max(this.#size, gapsKept)) this.#closeGaps();
  }

  /** The caller must not add or remove locks meanwhile. */
  *[Symbol.iterator](): Generator<string, void> {
    for (const hold of this.#holds) if (hold !== null) yield hold.key;
  }

  /** The latest keys, at most `max`, in the order in which they were taken; the others cost nothing. */
  latest(max: number): string[] {
    const keys: string[] = [];
    for (let place = this.#holds.length - 1; place >= 0 && keys.length < max; place -= 1) {
      const hold = this.#holds[place];
      if (hold != null) keys.push(hold.key);
    }
    return keys.reverse();
  }

  #closeGaps(): void {
    this.#holds = this.#holds.filter(hold => hold !== null);
    for (const [place, hold] of this.#holds.entries()) if (hold !== null) hold.placeInRow = place;
  }
}
