import type { RefusalRow } from "../../protocol/daemon.ts";
import { limits } from "../../protocol/limits.ts";
import type { Trail, TrailLine } from "./trail.ts";

/** Every decision goes to the trail; the latest refusals stay at hand for `kite status`. */
export class Recorder {
  readonly #trail: Pick<Trail, "write" | "dropped">;
  readonly #refusals: RefusalRow[] = [];

  constructor(trail: Pick<Trail, "write" | "dropped">) {
    this.#trail = trail;
  }

  get refusals(): readonly RefusalRow[] {
    return this.#refusals;
  }

  get dropped(): number {
    return this.#trail.dropped;
  }

  note(line: TrailLine): void {
    this.#trail.write(line);
  }

  /** A refused lock or a denied edit. */
  refused(row: RefusalRow, line: TrailLine): void {
    this.#refusals.push(row);
    if (this.#refusals.length > limits.refusalsMax) this.#refusals.shift();
    this.#trail.write(line);
  }
}
