/** Keys of a terminal: single ones, arrows, and what is pasted. */
import { expect, it } from "vitest";
import { KeyReader, textOfKey } from "../../bin/context/process-context.ts";

const begin = "\u001b[200~";
const end = "\u001b[201~";

function keysOf(...pieces: readonly string[]): readonly string[] {
  const keys: string[] = [];
  const reader = new KeyReader(key => keys.push(key));
  for (const piece of pieces) reader.take(piece);
  return keys;
}

it.each([
  [["jk\r"], ["j", "k", "\r"]],
  [
    ["\u001b[A\u001b", "é😀"],
    ["\u001b[A", "\u001b", "é", "😀"],
  ],
  [[`m${begin}a\nb${end}\r`], ["m", `${begin}a\nb`, "\r"]],
  // An end in two pieces, and an empty paste.
  [
    [`${begin}a`, "b\u001b[2", "01~q"],
    [`${begin}ab`, "q"],
  ],
  [
    [begin + end, "q"],
    [begin, "q"],
  ],
  [
    [`${begin}${"x".repeat(9_999)}`, "yz", "\u001b[20", "1~q"],
    [`${begin}${"x".repeat(9_999)}y`, "q"],
  ],
])("%j is read as %j", (pieces, keys) => {
  expect(keysOf(...pieces)).toEqual(keys);
});

it("a paste is a text of one line, a key that is no text none", () => {
  expect(textOfKey(`${begin}a\r\n\tb\u001b[31mc\u0003`)).toBe("a b[31mc");
  expect(textOfKey("é")).toBe("é");
  for (const key of ["\r", "\u001b[A", "\u0003"]) expect(textOfKey(key)).toBeNull();
});
