/** Tells the parts of one hook answer whether that answer reached its client. */
export class Delivery {
  readonly #waiting: ((heard: boolean) => void)[] = [];
  readonly #isTold: boolean;
  #heard: boolean | null = null;

  /** `isTold`: false if the answer will carry no words, as where Kite only observes. */
  constructor(isTold = true) {
    this.#isTold = isTold;
  }

  /**
   * Calls `settled` once: with true if the client got the answer, with false if it did not. A part that comes after the
   * answer was sent is not in it, so its `settled` is called with false at once.
   */
  whenSettled(settled: (heard: boolean) => void): void {
    if (this.#heard === null) this.#waiting.push(settled);
    else settled(false);
  }

  /** The same of words in the answer: `settled` is called with true if the agent got them. */
  whenTold(settled: (heard: boolean) => void): void {
    this.whenSettled(heard => settled(heard && this.#isTold));
  }

  /** Records whether the answer reached its client and calls each `settled`. */
  readonly settle = (heard: boolean): void => {
    this.#heard = heard;
    for (const settled of this.#waiting.splice(0)) settled(heard);
  };
}
