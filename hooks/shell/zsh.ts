/**
 * Short forms of zsh in bash's words, for lines that bash's grammar refuses: `for x (a b) git ...`,
 * `foreach x (a b) ... end`, groups in patterns (`*.(ts|js)`), `&!` and `>!`.
 */

/** A text in quotes, or a quoted character: nothing in it is a form of zsh. */
const quoted = /'[^']*'|"(?:\\[\s\S]|[^"\\])*"|\\[\s\S]/g;
/** Stands for a quoted text; no shell has this character. */
const mask = "\u{fdd1}";

const loop = "(?:for|foreach|select)[ \\t]+([A-Za-z_]\\w*)[ \\t]*\\(([^()]*)\\)[ \\t]*[;\\n]?[ \\t\\n]*";

const forms: readonly (readonly [RegExp, string])[] = [
  [/&[!|](?=[\s;]|$)/g, "&"],
  [/>!/g, ">|"],
  // A group matches what only the shell knows.
  [/(?<=[\w.*?\]/\u{fdd1}-])\([^()\n;&<>]{1,200}\)/gu, "*"],
  [new RegExp(`\\b${loop}do\\b`, "g"), "for $1 in $2; do"],
  [new RegExp(`\\b${loop}\\{([^{}]*)\\}`, "g"), "for $1 in $2; do $3; done"],
  [/\bfor(each[^()]*\([^()]*\)[^()]{0,2000}?)[;\n][ \t]*end\b/g, "for$1; done"],
  [/\bforeach[ \t]+([A-Za-z_]\w*)[ \t]*\(([^()]*)\)[ \t]*[;\n]?/g, "for $1 in $2; do "],
  [new RegExp(`\\b${loop}([^;\\n]*)`, "g"), "for $1 in $2; do $3; done"],
];

/** The line with these forms written out. */
export function writtenOut(line: string): string {
  if (line.includes(mask)) return line;
  const texts: string[] = [];
  const masked = line.replace(quoted, text => {
    texts.push(text);
    return mask;
  });
  const plain = forms.reduce((text, [form, words]) => text.replace(form, words), masked);
  let n = 0;
  // No form drops or moves a quoted text, but for a group in a pattern.
  return plain.split(mask).length - 1 === texts.length
    ? plain.replaceAll(mask, () => texts[n++] ?? "")
    : line;
}
