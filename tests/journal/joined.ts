import type { Pieces } from "../../daemon/journal/journal.ts";

/** The content of a snapshot as a whole. */
export async function joined(pieces: Pieces): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}
