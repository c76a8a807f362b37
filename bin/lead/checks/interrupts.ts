/** Signals to `kite check`: they go to the check that runs, which has a process group of its own. */
import { signalCode } from "../../signals.ts";
import type { Running } from "./run-one.ts";

const taken: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];

export class Interrupts {
  /** The exit code after a signal; null: none came. */
  exit: number | null = null;
  #running: Running | null = null;
  #tell: () => void = () => {};
  readonly #came = new Promise<null>(resolve => {
    this.#tell = () => resolve(null);
  });
  readonly #listener = (signal: NodeJS.Signals) => this.#take(signal);

  constructor() {
    for (const signal of taken) process.on(signal, this.#listener);
  }

  /** From now on signals are this check's; null: no check runs. */
  passTo(running: Running | null): void {
    this.#running = running;
    if (this.exit !== null) running?.end("SIGTERM");
  }

  /** Returns the work's result, or null as soon as a signal came: the work is not waited for. */
  until<T>(work: Promise<T>): Promise<T | null> {
    return Promise.race([work, this.#came]);
  }

  close(): void {
    for (const signal of taken) process.off(signal, this.#listener);
  }

  /** A second signal kills. */
  #take(signal: NodeJS.Signals): void {
    this.#running?.end(this.exit === null ? signal : "SIGKILL");
    this.exit ??= signalCode(signal);
    this.#tell();
  }
}
