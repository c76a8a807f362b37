/** What a person presses at a terminal, a key at a time; what the person pastes is one. */

/** A terminal that was told `pasteOn` puts these around what is pasted. */
const pasteBegin = "\u001b[200~";
const pasteEnd = "\u001b[201~";
export const pasteOn = "\u001b[?2004h";
export const pasteOff = "\u001b[?2004l";

/** More of what is pasted at once is left out. */
const pasteChars = 10_000;

/** Turns what a terminal sends, in pieces of any length, into keys. */
export class KeyReader {
  readonly #pressed: (key: string) => void;
  /** What came of a paste that has not ended yet; null: there is none. */
  #pasted: string | null = null;

  /** `pressed` is called with each key, and with `pasteBegin` and the text for a paste. */
  constructor(pressed: (key: string) => void) {
    this.#pressed = pressed;
  }

  take(piece: string): void {
    let rest = piece;
    while (rest !== "") rest = this.#pasted === null ? this.#keys(rest) : this.#paste(this.#pasted + rest);
  }

  /** Returns what follows the beginning of a paste. */
  #keys(text: string): string {
    const at = text.indexOf(pasteBegin);
    const before = at === -1 ? text : text.slice(0, at);
    // An arrow is one sequence.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: keys are control characters
    for (const key of before.match(/\u001b\[[A-D]|./gsu) ?? []) this.#pressed(key);
    if (at === -1) return "";
    this.#pasted = "";
    return text.slice(at + pasteBegin.length);
  }

  /** Returns what follows the end of the paste. */
  #paste(text: string): string {
    const at = text.indexOf(pasteEnd);
    if (at === -1) {
      // The end may come in two pieces.
      const kept = text.slice(0, pasteChars);
      this.#pasted = text.length > kept.length ? kept + text.slice(-pasteEnd.length) : kept;
      return "";
    }
    this.#pasted = null;
    this.#pressed(pasteBegin + text.slice(0, Math.min(at, pasteChars)));
    return text.slice(at + pasteEnd.length);
  }
}

/** Returns the text of a key as a line has it: a paste's breaks are blanks; null: the key is no text. */
export function textOfKey(key: string): string | null {
  if (!key.startsWith(pasteBegin)) return /^[^\p{Cc}]+$/u.test(key) ? key : null;
  return key
    .slice(pasteBegin.length)
    .replaceAll(/[\r\n\t]+/g, " ")
    .replaceAll(/\p{Cc}/gu, "");
}

/** Reads keys from the standard input; the end gives the terminal back as it was. */
export function readKeys(pressed: (key: string) => void): () => void {
  const input = process.stdin;
  const reader = new KeyReader(pressed);
  const take = (piece: string) => reader.take(piece);
  input.setRawMode(true);
  input.setEncoding("utf8");
  input.on("data", take);
  return () => {
    input.off("data", take);
    input.setRawMode(false);
    input.pause();
  };
}
