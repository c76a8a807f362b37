/** Which task or context moves between the two logs now. */

/**
 * Moves of tasks and context between the two logs: one at a time.
 *
 * Invariants: the second of two persons' commands is refused, since it may undo the first. A person's command waits for a
 * move that the daemon finishes, and the daemon begins none meanwhile.
 */
export class Moving {
  #byPerson = false;
  #byDaemon: Promise<void> = Promise.resolve();
  #isByDaemon = false;
  /** What the daemon's last try failed by; null: it did not. */
  problem: string | null = null;
  /** Hears when a person's command has ended, however it did. */
  onPersonEnded: () => void = () => {};

  /** Runs the work, or `refused` if another command is under way. */
  async byPerson<Result>(work: () => Promise<Result>, refused: () => Promise<Result>): Promise<Result> {
    if (this.#byPerson) return refused();
    this.#byPerson = true;
    try {
      await this.#byDaemon;
      return await work();
    } finally {
      this.#byPerson = false;
      this.onPersonEnded();
    }
  }

  /** Runs the work, if none is under way. Rejects if it does. */
  async byDaemon(work: () => Promise<void>): Promise<void> {
    if (this.#byPerson || this.#isByDaemon) return;
    this.#isByDaemon = true;
    const done = work().finally(() => {
      this.#isByDaemon = false;
    });
    // Whoever waits for it does not hear how it ended.
    this.#byDaemon = done.catch(() => {});
    await done;
  }
}
