/**
 * Holds file descriptors back for hooks. If a process has no descriptor left, the runtime closes each new connection at
 * once, and the hook at the other end lets its tool run. So the daemon keeps some open, and closes them when it runs
 * short.
 */
import { closeSync, openSync } from "node:fs";
import { isOutOfDescriptors } from "../facts/prober.ts";

export interface ReserveOptions {
  /** Descriptors to keep; half of the free ones if those are fewer than twice as many. */
  readonly size: number;
  /** With fewer free descriptors than this, the reserve is closed; than half of the reserve, if that is not full. */
  readonly spare: number;
  /** Opens a descriptor; throws EMFILE or ENFILE when there is none. */
  readonly open?: () => number;
  readonly close?: (descriptor: number) => void;
}

export class DescriptorReserve {
  readonly #spare: number;
  readonly #open: () => number;
  readonly #close: (descriptor: number) => void;
  #kept: readonly number[] = [];
  #isGivenUp = false;
  /** How many descriptors were free when it began; it counts as far as twice its size. */
  readonly free: number;
  /** Number of descriptors in the full reserve. */
  readonly size: number;

  constructor({ size, spare, open = openNull, close = closeSync }: ReserveOptions) {
    this.#open = open;
    this.#close = close;
    const free = this.#take(2 * size);
    this.#kept = free.slice(0, Math.floor(free.length / 2));
    this.size = this.#kept.length;
    this.free = free.length;
    this.#spare = this.size < size ? Math.min(spare, Math.floor(this.size / 2)) : spare;
    this.#drop(free.slice(this.size));
  }

  /** Whether a descriptor opened now comes out of the reserve. */
  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  /** Gives up the reserve if the other descriptors run short. */
  check(): void {
    if (this.#isGivenUp) return;
    const free = this.#take(this.#spare);
    this.#drop(free);
    if (free.length === this.#spare) return;
    this.#isGivenUp = true;
    this.#drop(this.#kept);
    this.#kept = [];
  }

  /** Opens the reserve again once it fits with `spare` others beside it. */
  restore(): void {
    if (!this.#isGivenUp) return;
    const wanted = this.size + this.#spare;
    const free = this.#take(wanted);
    const isEnough = free.length === wanted;
    this.#drop(isEnough ? free.slice(this.size) : free);
    if (!isEnough) return;
    this.#kept = free.slice(0, this.size);
    this.#isGivenUp = false;
  }

  close(): void {
    this.#drop(this.#kept);
    this.#kept = [];
  }

  /** Opens up to `count` descriptors. */
  #take(count: number): number[] {
    const taken: number[] = [];
    try {
      while (taken.length < count) taken.push(this.#open());
    } catch (error) {
      if (!isOutOfDescriptors(error)) {
        this.#drop(taken);
        throw error;
      }
    }
    return taken;
  }

  #drop(descriptors: readonly number[]): void {
    for (const descriptor of descriptors) this.#close(descriptor);
  }
}

function openNull(): number {
  return openSync("/dev/null", "r");
}
