import { limits } from "../../protocol/limits.ts";
import { type Actor, sameActor } from "../core/actor.ts";
import type { Written } from "../core/file-ref.ts";
import type { Clock } from "../engine/clock.ts";

/** A file of `owner`'s changed while a shell command of `by` ran; `owner` was at work, and may have done it. */
export interface Suspicion {
  readonly file: Written;
  readonly owner: Actor;
  readonly by: Actor;
  readonly ancestors: readonly (string | null)[];
  /** By the system's clock, in milliseconds. */
  readonly changedAt: number;
}

/**
 * Changes of which it is not known yet whose they are: what ran at the same time is heard of when it ends. The next
 * thing heard of the owner tells, or nothing is heard for `limits.suspicionMs`. In memory only.
 */
export class Suspicions {
  readonly #open = new Map<string, Suspicion & { readonly cancel: () => void }>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** False where there are too many: then it is nobody's fault but that of who is suspected. */
  add(suspicion: Suspicion, expired: (suspicion: Suspicion) => void): boolean {
    const { key } = suspicion.file;
    this.#open.get(key)?.cancel();
    this.#open.delete(key);
    if (this.#open.size >= limits.suspicionsMax) return false;
    const cancel = this.#clock.at(this.#clock.now() + limits.suspicionMs, () => {
      this.#open.delete(key);
      expired(suspicion);
    });
    this.#open.set(key, { ...suspicion, cancel });
    return true;
  }

  /** Takes out those about files of this actor. */
  take(owner: Actor): readonly Suspicion[] {
    const taken = [...this.#open].filter(([, suspicion]) => sameActor(suspicion.owner, owner));
    for (const [key, { cancel }] of taken) {
      cancel();
      this.#open.delete(key);
    }
    return taken.map(([, suspicion]) => suspicion);
  }
}
