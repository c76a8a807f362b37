/** Says which lines a tool changed. */
import { limits } from "../../../protocol/limits.ts";
import { type Event, within } from "../../plans/event.ts";

/** Where a tool changed its file, in new line numbers: `line 2`, `lines 10-40, 52`; null if the event does not say. */
export function changedLines(event: Event): string | null {
  const hunks = within(event.raw["tool_response"], "structuredPatch");
  if (!Array.isArray(hunks)) return null;
  const ranges: string[] = [];
  for (const hunk of hunks.slice(0, limits.changedRangesMax)) {
    const range = rangeOf(hunk);
    if (range === null) return null;
    ranges.push(range);
  }
  const [first] = ranges;
  if (first === undefined) return null;
  const more = hunks.length > ranges.length ? " and more" : "";
  const word = ranges.length === 1 && more === "" && !first.includes("-") ? "line" : "lines";
  return `${word} ${ranges.join(", ")}${more}`;
}

/** The changed lines of a hunk, without unchanged ones around them. If lines were only removed, their place. */
function rangeOf(hunk: unknown): string | null {
  const start = within(hunk, "newStart");
  const count = within(hunk, "newLines");
  const lines = within(hunk, "lines");
  if (!isLineNumber(start) || !isLineNumber(count) || !Array.isArray(lines)) return null;
  const isChange = (line: unknown) => typeof line === "string" && /^[+-]/.test(line);
  const first = lines.findIndex(isChange);
  if (first === -1) return null;
  const last = lines.findLastIndex(isChange);
  const after = lines.slice(last + 1).filter(line => typeof line === "string" && line.startsWith(" ")).length;
  const from = start + first;
  const to = start + count - 1 - after;
  return to > from ? `${from}-${to}` : String(from);
}

function isLineNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && typeof value === "number" && value >= 0;
}
