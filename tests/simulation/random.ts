/**
 * A seeded generator (xoshiro128**, period 2^128 - 1), so that whatever it decides can be repeated from its seed.
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  /** Any integer; neighbouring seeds give unrelated sequences. */
  constructor(seed: number) {
    let state = seed >>> 0;
    const splitmix = () => {
      state = (state + 0x9e3779b9) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
      mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
      return (mixed ^ (mixed >>> 16)) >>> 0;
    };
    this.#a = splitmix();
    this.#b = splitmix();
    this.#c = splitmix();
    this.#d = splitmix() | 1;
  }

  /** 32 random bits, as an integer of 0 to 2^32 - 1. */
  bits(): number {
    const scrambled = Math.imul(rotate(Math.imul(this.#b, 5), 7), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = rotate(this.#d, 11);
    return scrambled;
  }

  /** 0 up to, not including, 1. */
  fraction(): number {
    return this.bits() / 2 ** 32;
  }

  /** An integer of `from` to `to`, both included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.fraction() * (to - from + 1));
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** One of `list`, which must not be empty. */
  pick<T>(list: readonly T[]): T {
    const picked = list[this.int(0, list.length - 1)];
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  }

  /** A generator of its own: what is drawn from it does not change what is drawn here. */
  fork(): Random {
    return new Random(this.bits());
  }
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}
