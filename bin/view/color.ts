/** Colour: decides in one place whether to colour, and adds colour after views have measured their text. */

export type Style = "plain" | "bold" | "dim" | "reverse" | "red" | "green" | "yellow" | "blue" | "cyan";

const codes: Readonly<Record<Style, string>> = {
  plain: "",
  bold: "1",
  dim: "2",
  reverse: "7",
  red: "31",
  green: "32",
  yellow: "33",
  blue: "34",
  cyan: "36",
};

/**
 * Returns whether to colour: `FORCE_COLOR` decides if it is set (`0` and `false` mean no), then `NO_COLOR` if it is
 * not empty, then whether the output is a terminal that is not `dumb`.
 */
export function wantsColor(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  if (env["NO_COLOR"]) return false;
  return isTerminal && env["TERM"] !== "dumb";
}

/** Puts `style` on `text`, or returns it unchanged on a screen without colour. */
export function paint(screen: { readonly color: boolean }, style: Style, text: string): string {
  if (!screen.color || style === "plain" || text === "") return text;
  return `\u001b[${codes[style]}m${text}\u001b[0m`;
}

const escapes = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, "g");

/** Returns `line` without the codes that `paint` added. */
export function unpainted(line: string): string {
  return line.replace(escapes, "");
}
