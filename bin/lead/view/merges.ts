/** Merges for a terminal. */

import type { MergeElsewhereRow, MergeReason, MergeRow, MergeState } from "../../../protocol/lead/merge.ts";
import { limits } from "../../../protocol/limits.ts";
import { type Cell, table } from "../../view/table.ts";
import { clean, duration, listed, type Screen, wrap } from "../../view/text.ts";
import { unreadText } from "./came-back.ts";

const styles: { readonly [S in MergeState]: Cell } = {
  queued: { text: "queued", style: "dim" },
  running: { text: "running", style: "yellow" },
  merged: { text: "merged", style: "green" },
  checked: { text: "checked", style: "green" },
  returned: { text: "returned", style: "red" },
  cancelled: { text: "cancelled", style: "dim" },
};

/**
 * A line for each merge; below one that was not merged why, the end of a red check's output, and who has not read so.
 * `spawned`: sessions that Kite can open in this terminal.
 */
export function mergeLines(
  rows: readonly MergeRow[],
  screen: Screen,
  spawned: ReadonlySet<string> = new Set(),
): string[] {
  const lines = table(
    rows.map((row): Cell[] => [
      styles[row.state],
      clean(shortName(row.branch)),
      clean(`${row.rebase ? "onto" : "into"} ${shortName(row.base)}`),
      whoOf(row),
      row.id,
      whenOf(row, screen),
    ]),
    [{}, { min: 12 }, { min: 12 }, { min: 8 }, {}, { min: 20 }],
    screen,
  );
  return rows.flatMap((row, i) => {
    const isAlone = row.state === "queued" && !row.attended;
    const alone = isAlone ? wrap("no command attends to it", screen.width - 2, 2) : [];
    const back =
      row.unread === undefined
        ? []
        : wrap(unreadText(row.unread, spawned.has(readerOf(row))), screen.width - 2, 2);
    const indented = (some: readonly string[]) => some.map(line => `  ${line}`);
    return [lines[i] ?? "", ...indented(alone), ...reasonLines(row.reason, screen), ...indented(back)];
  });
}

/** The merges of other machines, which run there alone; `isBelow`: lines stand above them. */
export function elsewhereLines(
  rows: readonly MergeElsewhereRow[],
  screen: Screen,
  isBelow: boolean,
): string[] {
  if (rows.length === 0) return [];
  const cells = rows.map((row): Cell[] => [
    styles[row.state],
    clean(row.branch),
    clean(`into ${row.base}`),
    clean(row.authorName ?? ""),
    clean(row.machine),
    `${duration(screen.now - row.changedAt)} ago`,
  ]);
  const lines = table(cells, [{}, { min: 12 }, { min: 12 }, { min: 8 }, { min: 8 }, {}], screen, 2);
  return [...(isBelow ? [""] : []), "On other machines", ...lines];
}

/** Why a merge was not merged, indented. */
export function reasonLines(reason: MergeReason | null, { width }: Pick<Screen, "width">): string[] {
  if (reason === null) return [];
  const files = reason.files.length === 0 ? "" : `: ${listed(reason.files.map(clean), reason.more)}`;
  const why = wrap(`${clean(reason.text)}${files}`, width - 2, 2).map(line => `  ${line}`);
  const output = clean(reason.output ?? "");
  const end = output === "" ? [] : wrap(`| ${output.slice(-limits.quoteChars * 2)}`, width - 2, 2);
  return [...why, ...end.map(line => `  ${line}`)];
}

function readerOf({ unread }: MergeRow): string {
  return unread === undefined || unread.state === "gone" ? "" : unread.who.id;
}

function whoOf({ author }: MergeRow): string {
  return author === null ? "" : clean(author.name);
}

function whenOf({ state, commit, changedAt }: MergeRow, { now }: Screen): string {
  const ago = `${duration(now - changedAt)} ago`;
  return state === "merged" && commit !== null ? `${ago}, at ${commit.slice(0, 7)}` : ago;
}

function shortName(branch: string): string {
  return branch.replace(/^refs\/heads\//, "");
}
