import { constants } from "node:os";

/** A shell's exit code for a process that a signal ended. */
export function signalCode(signal: NodeJS.Signals | null): number {
  return signal === null ? 1 : 128 + constants.signals[signal];
}

const fromTerminal: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];
const passedOn: readonly NodeJS.Signals[] = ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", ...fromTerminal];

/**
 * Takes the signals that would end this process. Before the command runs one ends the wait; then it is the
 * command's, which decides. A terminal sends its own to the command as well: those are not sent twice.
 */
export class Signals {
  /** The exit code of a signal that came before the command ran. */
  ended: number | null = null;
  readonly #listeners: (readonly [NodeJS.Signals, () => void])[];
  #onSignal: (signal: NodeJS.Signals) => void;
  #running = false;

  /** `giveUp` ends whatever goes on before the command runs. */
  constructor(giveUp: () => void) {
    this.#onSignal = giveUp;
    this.#listeners = passedOn.map(signal => [signal, () => this.#take(signal)] as const);
    for (const [signal, listener] of this.#listeners) process.on(signal, listener);
  }

  close(): void {
    for (const [signal, listener] of this.#listeners) process.off(signal, listener);
  }

  /** From here on signals are the command's. */
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
