/** Checks the nesting and size of JSON text without parsing it. */

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Whether JSON text is nested at most `depthMax` deep and has at most `containersMax` objects and lists. One
 * pass; for text that is no JSON the result is arbitrary. (A parser needs seconds and 1 GB for 32 MiB of brackets.)
 */
export function jsonWithinBounds(text: string, depthMax: number, containersMax: number): boolean {
  let depth = 0;
  let containers = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit === quote) {
      i = endOfString(text, i);
      if (i === -1) return true;
    } else if (unit === openBracket || unit === openBrace) {
      depth += 1;
      containers += 1;
      if (depth > depthMax || containers > containersMax) return false;
    } else if (unit === closeBracket || unit === closeBrace) depth -= 1;
  }
  return true;
}

/** Index of the closing quote of the string that opens at `start`; -1 if it is missing. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return -1;
}
