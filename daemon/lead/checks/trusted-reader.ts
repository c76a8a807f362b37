/** Reads `trusted.json`. */
import { limits } from "../../../protocol/limits.ts";
import type { BudgetedFs, Unreachable } from "../../facts/filesystem.ts";
import { parseTrusted, type TrustedFiles } from "./trusted-file.ts";

export class TrustedReader {
  readonly #outside: BudgetedFs;
  readonly #path: string;
  #reading: { readonly until: number; readonly files: Promise<TrustedFiles | Unreachable> } | null = null;

  constructor(outside: BudgetedFs, path: string) {
    this.#outside = outside;
    this.#path = path;
  }

  /** Returns what is trusted, at most `limits.repositoryKeptMs` old. */
  files(): Promise<TrustedFiles | Unreachable> {
    const now = this.#outside.now();
    return this.#reading !== null && now < this.#reading.until ? this.#reading.files : this.fresh();
  }

  /** Returns what is trusted now. */
  fresh(): Promise<TrustedFiles | Unreachable> {
    const now = this.#outside.now();
    const files = this.#read();
    this.#reading = { until: now + limits.repositoryKeptMs, files };
    return files;
  }

  async #read(): Promise<TrustedFiles | Unreachable> {
    const outside = this.#outside;
    const how = { maybeElsewhere: true };
    const text = await outside.fact(budget =>
      outside.look(this.#path, null, budget, (prober, p) => prober.readSmall(p, limits.trustedBytes), how),
    );
    if (text !== null && typeof text !== "string") {
      // A failure is not cached: the next caller reads again.
      this.#reading = null;
      return text;
    }
    if (text === null) return new Map();
    return parseTrusted(text) ?? { unreachable: `${this.#path} is not as Kite writes it; remove it` };
  }
}
