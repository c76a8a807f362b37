/** Segments as Kite wrote them before batches: a line an entry. Such journals are read for ever. */
import type { Entry } from "../../daemon/core/tables/entries.ts";
import { BatchEncoder, checksum, type Encoder } from "../../daemon/journal/batch.ts";

export function lineOf(entry: Entry): string {
  const json = JSON.stringify(entry);
  return `${checksum(json)} ${json}\n`;
}

export class LineEncoder implements Encoder {
  #text = "";
  #bytes = 0;

  begin(): void {
    this.#text = "";
    this.#bytes = 0;
  }

  add(entry: Entry, bytesMax: number): boolean {
    const line = lineOf(entry);
    const bytes = this.#bytes + Buffer.byteLength(line);
    if (bytes > bytesMax) return false;
    this.#text += line;
    this.#bytes = bytes;
    return true;
  }

  end(): Buffer {
    return Buffer.from(this.#text);
  }
}

/** Either form, as told. */
export class ChangingEncoder implements Encoder {
  readonly #forms = { lines: new LineEncoder(), batches: new BatchEncoder() };
  #now: Encoder = this.#forms.batches;

  change(form: "lines" | "batches"): void {
    this.#now = this.#forms[form];
  }

  begin(): void {
    this.#now.begin();
  }

  add(entry: Entry, bytesMax: number): boolean {
    return this.#now.add(entry, bytesMax);
  }

  end(): Buffer {
    return this.#now.end();
  }
}
