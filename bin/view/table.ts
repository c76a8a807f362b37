/** Tables for a terminal. */
import { paint, type Style } from "./color.ts";
import { type CutSide, cut, pad, pipeColumns, type Screen, widthOf } from "./text.ts";

/** A cell's text must be clean; `table` adds the style after it measured the text. */
export type Cell = string | { readonly text: string; readonly style: Style };

export interface Column {
  readonly align?: "left" | "right";
  /** Least width of the column, in terminal columns; without it the column keeps its width. */
  readonly min?: number;
  /** Most columns, so that one long text does not take the room of all rows. */
  readonly max?: number;
  /** Where `table` cuts text: a path in its middle. */
  readonly cut?: CutSide;
}

const gap = 2;

function textOf(cell: Cell | undefined): string {
  return typeof cell === "string" ? cell : (cell?.text ?? "");
}

/**
 * Returns columns two blanks apart, each as wide as its widest cell. If the screen is narrower, columns with a `min`
 * shrink, the widest first. Omits blanks at a line's end, and columns without text.
 */
export function table(
  rows: readonly (readonly Cell[])[],
  columns: readonly Column[],
  screen: Pick<Screen, "width" | "color">,
  indent = 0,
): string[] {
  const widths = columns.map(({ max = Number.POSITIVE_INFINITY }, i) =>
    Math.min(max, Math.max(0, ...rows.map(row => widthOf(textOf(row[i]))))),
  );
  const width = Number.isFinite(screen.width) ? screen.width : pipeColumns;
  shrink(widths, columns, width - indent);
  return rows.map(row => {
    const last = row.findLastIndex((cell, i) => textOf(cell) !== "" && (widths[i] ?? 0) > 0);
    let line = " ".repeat(indent);
    let begun = false;
    for (const [i, column] of columns.entries()) {
      const width = widths[i] ?? 0;
      if (width === 0 || i > last) continue;
      const cell = row[i];
      const text = cut(textOf(cell), width, column.cut);
      const filled = pad(text, width, column.align);
      const shown = i === last && column.align !== "right" ? text : filled;
      const style = typeof cell === "object" ? cell.style : "plain";
      line += (begun ? " ".repeat(gap) : "") + paint(screen, style, shown);
      begun = true;
    }
    return line;
  });
}

function shrink(widths: number[], columns: readonly Column[], room: number): void {
  const total = () => {
    const shown = widths.filter(w => w > 0);
    return shown.reduce((sum, w) => sum + w, 0) + gap * Math.max(0, shown.length - 1);
  };
  let over = total() - room;
  while (over > 0) {
    let widest = -1;
    for (const [i, column] of columns.entries()) {
      const width = widths[i] ?? 0;
      if (column.min === undefined || width <= column.min) continue;
      if (widest === -1 || width > (widths[widest] ?? 0)) widest = i;
    }
    if (widest === -1) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    over -= 1;
  }
  dropFromRight(widths, total, room);
}

/** If even the narrowest columns do not fit, cuts the last ones, then omits them. */
function dropFromRight(widths: number[], total: () => number, room: number): void {
  for (let i = widths.length - 1; i >= 0; i -= 1) {
    const over = total() - room;
    if (over <= 0) return;
    widths[i] = Math.max(0, (widths[i] ?? 0) - over);
  }
}
