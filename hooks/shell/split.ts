/** Splits a text as `xargs` and `env -S` do: at blanks, unless quotes or a backslash keep the words together. */

const piece = /'([^']*)'|"([^"]*)"|\\(.)|([^'"\\\s]+)|(\s+)/gsy;

/** With `keepsBlanks` the text is one word. null: a quote has no end. */
export function wordsIn(text: string, keepsBlanks = false): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let at = 0;
  for (const [all, single, double, escaped, plain, blank] of text.matchAll(piece)) {
    at += all.length;
    if (blank === undefined || keepsBlanks) {
      word = (word ?? "") + (single ?? double ?? escaped ?? plain ?? blank ?? "");
    } else if (word !== null) {
      words.push(word);
      word = null;
    }
  }
  if (word !== null) words.push(word);
  return at === text.length ? words : null;
}
