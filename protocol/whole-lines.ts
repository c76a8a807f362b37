/** The fast way of framing: the lines that lie whole in one chunk. */
import { isAscii, isUtf8 } from "node:buffer";

const openBrace = 0x7b;

/**
 * Adds to `lines` the lines in `bytes`, which end with a newline; blank ones are left out. One check of the encoding and
 * one string serve all of them, because a check and a string for each line cost more than to parse it. Returns false,
 * and adds nothing, if some byte is not UTF-8: only the plain way tells which line it is in.
 *
 * The plain way is `LineDecoder`, byte by byte; `tests/protocol/wire.test.ts` holds the two equal.
 */
export function addWholeLines(
  bytes: Buffer,
  lines: { push(line: { readonly text: string }): unknown },
): boolean {
  const ascii = isAscii(bytes);
  if (!ascii && !isUtf8(bytes)) return false;
  const all = bytes.toString(ascii ? "latin1" : "utf8");
  let start = 0;
  for (let end = all.indexOf("\n"); end !== -1; end = all.indexOf("\n", start)) {
    const text = all.slice(start, end);
    if (text.charCodeAt(0) === openBrace || text.trim() !== "") lines.push({ text });
    start = end + 1;
  }
  return true;
}
