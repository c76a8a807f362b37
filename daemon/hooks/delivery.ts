/** Whether the answer to one hook event reached its client, for what was put into that answer. */
export class Delivery {
  readonly #waiting: ((heard: boolean) => void)[] = [];
  #heard: boolean | null = null;

  /**
   * `settled` is called once, with true if the client got the answer and with false if it did not. What comes after the
   * answer is in none: it hears false at once.
   */
  whenSettled(settled: (heard: boolean) => void): void {
    if (this.#heard === null) this.#waiting.push(settled);
    else settled(false);
  }

  /** The answer reached its client, or never will. */
  readonly settle = (heard: boolean): void => {
    this.#heard = heard;
    for (const settled of this.#waiting.splice(0)) settled(heard);
  };
}
