/** Differences for a terminal, as JSON and as patches. */
import { patchOf } from "../rescue/patch.ts";
import { isBinary, type Texts } from "../rescue/texts.ts";
import { paint } from "../view/color.ts";
import { type Cell, table } from "../view/table.ts";
import { clean, counted, listed, type Screen } from "../view/text.ts";
import { authorName, diffLines } from "../view/versions.ts";
import type { Change } from "./changes.ts";

const nothing = Buffer.alloc(0);

function isText({ before, after }: Change): boolean {
  return !(isBinary(before ?? nothing) || isBinary(after ?? nothing));
}

/** The fields of `--json`. Throws `ProgramFailed`. */
export async function changeJson(texts: Texts, change: Change): Promise<object> {
  const { before, after, ...rest } = change;
  const diff = await texts.unified(before ?? nothing, after ?? nothing);
  return { ...rest, how: howOf(change), isText: isText(change), diff: diff.toString("utf8") };
}

function howOf({ was, before, after }: Change): "added" | "deleted" | "renamed" | "changed" {
  if (after === null) return "deleted";
  if (before === null) return "added";
  return was === null ? "changed" : "renamed";
}

interface Count {
  readonly added: number;
  readonly taken: number;
}

function countOf(hunks: Buffer): Count {
  const signs = hunks.toString("latin1").split("\n");
  const count = (sign: string) => signs.filter(line => line.startsWith(sign)).length;
  return { added: count("+"), taken: count("-") };
}

/** What of a file somebody changed, below a line that says whose it is. Throws `ProgramFailed`. */
export async function changeLines(texts: Texts, change: Change, screen: Screen): Promise<readonly string[]> {
  const [old, fresh] = [change.before ?? nothing, change.after ?? nothing];
  const head = `In ${paint(screen, "bold", clean(change.file))}${howText(change)}${whoseText(change)}`;
  if (!isText(change)) return [`${head}: no text, ${old.length} bytes became ${fresh.length}`];
  const hunks = await texts.unified(old, fresh);
  const { added, taken } = countOf(hunks);
  return [`${head}  +${added} −${taken}`, ...diffLines(hunks, screen)];
}

function howText(change: Change): string {
  const how = howOf(change);
  if (change.was !== null) return `, which was ${clean(change.was)}`;
  return how === "changed" ? "" : `, ${how}`;
}

function whoseText({ writers, isWhole }: Change): string {
  if (writers === null) return "";
  const names = `  ${listed(writers.map(authorName))}`;
  if (writers.length < 2) return names;
  return `${names}, ${isWhole ? "not told apart: Kite keeps no versions of it" : "in the same lines"}`;
}

/** A row for each file and writer, and the sum. Throws `ProgramFailed`. */
export async function statLines(texts: Texts, changes: readonly Change[], screen: Screen): Promise<string[]> {
  let [added, taken] = [0, 0];
  const rows: Cell[][] = [];
  for (const change of changes) {
    const { file, was, before, after, writers } = change;
    const hunks = isText(change) ? await texts.unified(before ?? nothing, after ?? nothing) : nothing;
    const count = countOf(hunks);
    added += count.added;
    taken += count.taken;
    const size = `${before?.length ?? 0} → ${after?.length ?? 0} bytes`;
    rows.push([
      isText(change) ? `+${count.added} −${count.taken}` : size,
      { text: howOf(change), style: "dim" },
      { text: was === null ? clean(file) : `${clean(was)} → ${clean(file)}`, style: "bold" },
      listed((writers ?? []).map(authorName)),
    ]);
  }
  const files = new Set(changes.map(({ path }) => path)).size;
  const columns = [{}, {}, { min: 12, cut: "middle" as const }, { min: 8, max: 40 }];
  return [...table(rows, columns, screen, 1), ` ${counted(files, "file")}, +${added} −${taken}`];
}

/** Patches, one after the other; `left` are files that are no text. Throws `ProgramFailed`. */
export async function patches(
  texts: Texts,
  changes: readonly Change[],
): Promise<{ readonly patch: Buffer; readonly left: readonly string[] }> {
  const parts: Buffer[] = [];
  const left: string[] = [];
  for (const change of changes) {
    const bytes = await patchOf(texts, change);
    if (bytes === null) left.push(change.file);
    else parts.push(bytes);
  }
  return { patch: Buffer.concat(parts), left };
}
