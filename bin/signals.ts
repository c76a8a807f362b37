import { constants } from "node:os";

/** Returns a shell's exit code for a process that a signal ended. */
export function signalCode(signal: NodeJS.Signals | null): number {
  return signal === null ? 1 : 128 + constants.signals[signal];
}

const fromTerminal: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];
const passedOn: readonly NodeJS.Signals[] = ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", ...fromTerminal];

/**
 * Handles the signals that would end this process. Before the command runs, a signal ends the wait; then this class
 * passes it to the command. A terminal signals the command itself, so this class does not pass such signals on.
 */
export class Signals {
  /** Exit code of a signal that arrived before the command ran. */
  ended: number | null = null;
  readonly #listeners: (readonly [NodeJS.Signals, () => void])[];
  #onSignal: (signal: NodeJS.Signals) => void;
  #running = false;

  /** `giveUp` ends the wait before the command runs. */
  constructor(giveUp: () => void) {
    this.#onSignal = giveUp;
    this.#listeners = passedOn.map(signal => [signal, () => this.#take(signal)] as const);
    for (const [signal, listener] of this.#listeners) process.on(signal, listener);
  }

  close(): void {
    for (const [signal, listener] of this.#listeners) process.off(signal, listener);
  }

  /** From now on passes signals to the command. */
  passTo(pass: (signal: NodeJS.Signals) => void): void {
    this.#running = true;
    this.#onSignal = signal => {
      if (!(process.stdin.isTTY && fromTerminal.includes(signal))) pass(signal);
    };
  }

  #take(signal: NodeJS.Signals): void {
    if (!this.#running) this.ended ??= signalCode(signal);
    this.#onSignal(signal);
  }
}
