import type { Call, Turn } from "./model.ts";

/** Words that end a turn. */
export function say(text: string): Turn {
  return { say: text };
}

/** One call, as a turn. */
export function call(id: string, name: string, input: Call["input"]): Turn {
  return { calls: [{ id, name, input }] };
}

/** A moment in a test that a script can wait for. */
export class Moment {
  readonly #come: Promise<void>;
  #resolve: () => void = () => {};

  constructor() {
    this.#come = new Promise(resolve => {
      this.#resolve = resolve;
    });
  }

  /** Lets everything go on that waits for this moment. */
  reached(): void {
    this.#resolve();
  }

  /** A turn that the model thinks about until the moment is there; one that is made only then. */
  async before<T extends object = Turn>(turn: T | (() => T)): Promise<T> {
    await this.#come;
    return typeof turn === "function" ? turn() : turn;
  }
}
