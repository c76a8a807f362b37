/** Knows the words in which an adapter says which lines a tool changed: `line 2`, `lines 10-40, 52 and more`. */

/** Whether an adapter made the text: then it needs no quotes. */
export function isChangedLines(text: string): boolean {
  return /^lines? \d+(?:-\d+)?(?:, \d+(?:-\d+)?)*(?: and more)?$/.test(text);
}
