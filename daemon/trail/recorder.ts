import { limits } from "../../protocol/limits.ts";
import type { RefusalRow } from "../../protocol/schemas/daemon.ts";
import type { Trail, TrailLine } from "./trail.ts";

/** Writes every decision to the trail, and keeps the latest refusals for `kite status`. */
export class Recorder {
  readonly #trail: Pick<Trail, "write" | "dropped">;
  readonly #refusals: RefusalRow[];

  constructor(trail: Pick<Trail, "write" | "dropped">, refusals: RefusalRow[] = []) {
    this.#trail = trail;
    this.#refusals = refusals;
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

  /** Records a refused lock or a denied edit; a `row` joins the latest refusals. */
  refused(row: RefusalRow | null, line: TrailLine): void {
    if (row !== null) this.#refusals.push(row);
    if (this.#refusals.length > limits.refusalsMax) this.#refusals.shift();
    this.#trail.write(line);
  }

  /** Returns a recorder for one event of which only a guess tells who acts: each line has it. */
  guessing(perhaps: string): Recorder {
    const { dropped } = this;
    const write = (line: TrailLine) => this.#trail.write({ ...line, perhaps });
    return new Recorder({ write, dropped }, this.#refusals);
  }

  /** Returns a recorder for one event that Kite only observes. */
  observing(): ObservedRecorder {
    return new ObservedRecorder(this.#trail);
  }
}

/** Records of an event that Kite only observes what it would have done: nothing was refused. */
export class ObservedRecorder extends Recorder {
  #hasHeld = false;

  /** Whether a decision of this event would have held its agent up. */
  get hasHeld(): boolean {
    return this.#hasHeld;
  }

  override note(line: TrailLine): void {
    const would = line.would ?? (line.decision === "deny" ? "deny" : undefined);
    this.#hasHeld ||= would === "deny" || would === "wait";
    super.note(would === undefined ? line : { ...line, decision: "note", would });
  }

  override refused(_row: RefusalRow, line: TrailLine): void {
    this.note(line);
  }
}
