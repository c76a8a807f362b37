/** A terminal's screen as an SVG, for pictures of it in a page. */
import { widthOf } from "../../bin/view/text.ts";

const columnPx = 7.8;
const linePx = 18;
const marginPx = 14;

/** Colours by the number of the escape sequence, legible on the dark background. */
const fills: Readonly<Record<string, string>> = {
  "2": "#8b949e",
  "31": "#ff7b72",
  "32": "#7ee787",
  "33": "#e3b341",
  "34": "#79c0ff",
};

interface Span {
  readonly text: string;
  readonly code: string;
  readonly column: number;
}

/** Draws lines with the escape sequences that `paint` makes. */
export function svgOf(lines: readonly string[], title: string): string {
  const spans = lines.map(spansOf);
  const columns = Math.max(...spans.map(line => line.reduce((sum, { text }) => sum + widthOf(text), 0)));
  const width = Math.ceil(columns * columnPx + 2 * marginPx);
  const height = lines.length * linePx + 2 * marginPx;
  const texts = spans.flatMap((line, row) =>
    line
      .filter(({ text }) => text.trim() !== "")
      .map(({ text, code, column }) => {
        const x = (marginPx + column * columnPx).toFixed(1);
        const y = marginPx + (row + 0.75) * linePx;
        const style = code === "1" ? ' font-weight="bold"' : ` fill="${fills[code] ?? "#e6edf3"}"`;
        const length = (widthOf(text) * columnPx).toFixed(1);
        return `<text x="${x}" y="${y}" textLength="${length}"${style} xml:space="preserve">${escaped(text)}</text>`;
      }),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="#0d1117"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13" fill="#e6edf3">`,
    ...texts,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

function spansOf(line: string): Span[] {
  const spans: Span[] = [];
  let column = 0;
  let code = "";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one.
  for (const [, set, text] of line.matchAll(/\u001b\[(\d+)m|([^\u001b]+)/g)) {
    if (text === undefined) {
      code = set === "0" ? "" : (set ?? "");
      continue;
    }
    spans.push({ text, code, column });
    column += widthOf(text);
  }
  return spans;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
