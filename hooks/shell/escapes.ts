/** What backslashes stand for in texts as C has them. */

/** As in `echo -e` and `printf`. */
const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  v: "\v",
};

/** Replaces each backslash sequence by what it stands for: `\\n`, `\\x41`. */
export function unescapedC(quoted: string): string {
  const code = /\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,6})|([0-7]{1,3})|([\s\S]))/g;
  return quoted.replace(code, (whole, x, u, long, octal, c) => {
    const hex: string | undefined = x ?? u ?? long;
    if (hex !== undefined) return character(Number.parseInt(hex, 16));
    if (octal !== undefined) return character(Number.parseInt(octal, 8) & 0xff);
    return /['"\\?]/.test(c) ? c : (escapes[c] ?? whole);
  });
}

function character(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "";
}
