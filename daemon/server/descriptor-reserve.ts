/**
 * File descriptors that the daemon keeps back. A process that has none left cannot take a connection: the runtime
 * closes it at once, and the hook at its other end lets its tool run. So the daemon holds some of its own and gives
 * them up when it runs short.
 */
import { closeSync, openSync } from "node:fs";
import { isOutOfDescriptors } from "../facts/prober.ts";

export interface ReserveOptions {
  /** Descriptors to keep; half of those that are free where these are fewer than twice as many. */
  readonly size: number;
  /** With fewer free ones than this the reserve is given up. */
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
  /** How many descriptors the reserve has when it is whole. */
  readonly size: number;

  constructor({ size, spare, open = openNull, close = closeSync }: ReserveOptions) {
    this.#spare = spare;
    this.#open = open;
    this.#close = close;
    const free = this.#take(2 * size);
    this.#kept = free.slice(0, Math.floor(free.length / 2));
    this.size = this.#kept.length;
    this.#drop(free.slice(this.size));
  }

  /** Whether what is opened now comes out of the reserve. */
  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  /** Gives the reserve up if the other descriptors run short. */
  check(): void {
    if (this.#isGivenUp) return;
    const free = this.#take(this.#spare);
    this.#drop(free);
    if (free.length === this.#spare) return;
    this.#isGivenUp = true;
    this.#drop(this.#kept);
    this.#kept = [];
  }

  /** Keeps the reserve again once it is free, and as many as `spare` beside it. */
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

  /** Up to `count` descriptors. */
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
