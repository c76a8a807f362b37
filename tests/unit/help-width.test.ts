/** Help on terminals narrower than it was written for. */
import { describe, expect, it } from "vitest";
import { fitHelp } from "../../bin/help.ts";

const help = `Usage: kite it

${"words of a paragraph ".repeat(5).trim()}
that goes on here.
Exit codes: 0 done.

Examples:
  $ kite it
  $ kite it ${"more ".repeat(12).trim()}`;

describe("help", () => {
  it("takes 120 columns at most", () => {
    const wide = help.replace("paragraph\nthat goes on here.", "paragraph that goes on\nhere.");
    expect(fitHelp(help, 120)).toBe(wide);
    expect(fitHelp(help, Number.POSITIVE_INFINITY)).toBe(wide);
  });

  it("has its paragraphs set anew in fewer columns, and every other line for itself", () => {
    expect(fitHelp(help, 60)).toBe(`Usage: kite it

words of a paragraph words of a paragraph words of a
paragraph words of a paragraph words of a paragraph that
goes on here.
Exit codes: 0 done.

Examples:
  $ kite it
  $ kite it more more more more more more more more more
    more more more`);
  });
});
