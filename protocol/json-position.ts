/** Says where a text stops being JSON, as an editor counts: the engine's own messages give a byte's number, or none. */

type Expected = "value" | "value or ]" | "key" | "key or }" | "colon" | "comma or end" | "end";

const blanks = /[ \t\n\r]*/y;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON's strings may not hold them.
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

/**
 * Returns what is wrong with a text that is no JSON, and where: `line 3, column 7: expected a comma or }`. Returns null
 * if the text is JSON; a byte order mark before it counts as a blank.
 */
export function jsonProblem(text: string): string | null {
  const open: ("}" | "]")[] = [];
  let expected: Expected = "value";
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null || found[0] === "" || found.index !== at) return false;
    at += found[0].length;
    return true;
  };
  const afterValue = (): Expected => (open.length === 0 ? "end" : "comma or end");
  for (;;) {
    take(blanks);
    const character = text[at];
    const isEnd = character === undefined;
    if (isEnd && expected === "end") return null;
    const wrong = `${position(text, at)}: ${isEnd ? "the text ends too early; " : ""}expected ${nounOf(expected, open)}`;
    if (isEnd || expected === "end") return wrong;
    const closes = expected === "value or ]" || expected === "key or }" || expected === "comma or end";
    if (closes && character === open.at(-1)) {
      open.pop();
      at += 1;
      expected = afterValue();
    } else if (expected === "comma or end" || expected === "colon") {
      if (character !== (expected === "colon" ? ":" : ",")) return wrong;
      at += 1;
      expected = expected === "comma or end" && open.at(-1) === "}" ? "key" : "value";
    } else if (expected === "key" || expected === "key or }") {
      if (character !== '"') return wrong;
      if (!take(string)) return badString(text, at);
      expected = "colon";
    } else if (character === "{" || character === "[") {
      open.push(character === "{" ? "}" : "]");
      at += 1;
      expected = character === "{" ? "key or }" : "value or ]";
    } else if (character === '"') {
      if (!take(string)) return badString(text, at);
      expected = afterValue();
    } else {
      if (!take(scalar)) return wrong;
      expected = afterValue();
    }
  }
}

function badString(text: string, at: number): string {
  return `${position(text, at)}: the text in quotes does not end on its line, or holds a wrong escape`;
}

function nounOf(expected: Expected, open: readonly string[]): string {
  const close = open.at(-1) ?? "";
  const nouns: Readonly<Record<Expected, string>> = {
    value: "a value",
    "value or ]": "a value or ]",
    key: "a name in double quotes",
    "key or }": "a name in double quotes or }",
    colon: "a colon",
    "comma or end": `a comma or ${close}`,
    end: "nothing more",
  };
  return nouns[expected];
}

/** Lines and columns count from 1. */
function position(text: string, at: number): string {
  const before = text.slice(0, at);
  const line = before.split("\n").length;
  return `line ${line}, column ${at - before.lastIndexOf("\n")}`;
}
