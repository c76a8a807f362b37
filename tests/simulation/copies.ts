/** A snapshot that is written piece by piece while entries go on: it has the state after the entry at which it began. */
import type { Images } from "../../daemon/core/frame/saved-rows.ts";
import { copyOf, linesOf, writeState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";

/** Entries from one line to the next, and from one snapshot to the next, which may begin before the last one ended. */
const entriesPerLine = 2;
const entriesPerCopy = 50;

interface Copying {
  readonly state: State;
  readonly seq: number;
  readonly text: string;
  readonly images: Images;
  readonly lines: Iterator<string, void>;
  readonly written: string[];
}

export class CopyLives {
  #copying: Copying[] = [];

  /** Looks after each entry; another state is one that was read anew. */
  *observe(state: State): Generator<string, void> {
    this.#copying = this.#copying.filter(one => one.state === state);
    if (state.seq % entriesPerLine === 0) for (const one of this.#copying) yield* this.#goOn(one);
    if (state.seq % entriesPerCopy === 0) this.#begin(state);
  }

  #begin(state: State): void {
    const images = state.preimages.begin();
    const lines = linesOf(copyOf(state, images));
    this.#copying.push({ state, seq: state.seq, text: writeState(state), images, lines, written: [] });
  }

  *#goOn(one: Copying): Generator<string, void> {
    const { value, done } = one.lines.next();
    if (done !== true) {
      one.written.push(value);
      return;
    }
    one.state.preimages.end(one.images);
    this.#copying = this.#copying.filter(other => other !== one);
    const text = one.written.join("\n");
    if (text === one.text) return;
    const before = one.text.split("\n");
    const line = one.written.findIndex((written, i) => written !== before[i]);
    yield `the snapshot that began at ${one.seq} has ${one.written[line]}, not ${before[line]}`;
  }
}
