/** Kept versions, diffs and wipes for a terminal. */

import { personName, withPersonName } from "../../protocol/names.ts";
import type { DamageRow, UnkeptRow, VersionRow, WipeRow } from "../../protocol/schemas/rescue.ts";
import { shellArgument } from "../../protocol/text.ts";
import {
  bytes,
  type Cell,
  clean,
  counted,
  duration,
  listed,
  paint,
  type Screen,
  type Style,
  table,
} from "../view/text.ts";

/** Lines of one diff that are shown. */
const diffLinesMax = 2_000;
/** Files of a wipe that are named. */
const wipedFilesMax = 8;

/** Where the setting is off. */
export const offLines: readonly string[] = [
  "Kite keeps no versions of files: the setting rescue is off.",
  "What it kept before stays in ~/.kite/rescue until you delete that folder.",
];

/** Says in a line each what is damaged of kept work, and what to do; nothing if all is well. */
export function damageTexts(
  damage: Omit<DamageRow, "asideFolder"> | undefined,
  trouble: string | null,
): readonly string[] {
  const { recovered, setAside, lost } = damage ?? { recovered: 0, setAside: 0, lost: 0 };
  const parts = [
    ...(recovered > 0 ? [`${counted(recovered, "version")} came back`] : []),
    ...(setAside > 0 ? [`${counted(setAside, "content")} of unknown files set aside`] : []),
    ...(lost > 0 ? [`at most ${counted(lost, "version")} lost`] : []),
  ];
  const found = parts.length === 0 ? [] : [`Kept work was damaged: ${parts.join(", ")}; see kite rescue`];
  return [...(trouble === null ? [] : [`Kept work: ${clean(trouble)}`]), ...found];
}

/** Returns a name as people read it; null: nobody that Kite knows. */
export function authorName(by: { readonly name: string } | null): string {
  return by === null ? "outside Kite" : clean(withPersonName(by.name));
}

/** Returns who made a version, as people read it. */
export function authorOf(row: VersionRow): string {
  return row.by === null && isOfKite(row) ? personName() : authorName(row.by);
}

/** Returns a file as a word of a command to paste: a shell changes nothing in it, and it is no option and no resource. */
export function fileWord(file: string): string {
  return shellArgument(clean(/^[-@]/.test(file) ? `./${file}` : file));
}

/** A command of Kite wrote it without a session: that of a person. */
function isOfKite({ kind, tool }: VersionRow): boolean {
  return kind === "write" && tool?.startsWith("kite ") === true;
}

/** A row for each version; with `isOfMany`, each names its file. */
export function versionRows(rows: readonly VersionRow[], isOfMany: boolean, screen: Screen): string[] {
  const cells = rows.map((row): Cell[] => [
    { text: row.version, style: "bold" },
    ...(isOfMany ? [clean(row.file)] : []),
    authorOf(row),
    { text: clean(row.tool ?? ""), style: "dim" },
    { text: `${duration(screen.now - row.at)} ago`, style: "dim" },
    countsOf(row),
    bytes(row.bytes),
    { text: notesOf(row).join(", "), style: row.object === null ? "yellow" : "dim" },
  ]);
  const file = isOfMany ? [{ min: 12, cut: "middle" as const }] : [];
  const columns = [{}, ...file, { min: 8, max: 40 }, { max: 20 }, {}, {}, { align: "right" as const }, {}];
  return table(cells, columns, screen, 2);
}

/** Lines added and taken: `+3 −1`. */
function countsOf({ added, taken }: Pick<VersionRow, "added" | "taken">): string {
  return added === null || taken === null ? "" : `+${added} −${taken}`;
}

function notesOf({ object, asSent, kind }: VersionRow): string[] {
  const kinds = {
    write: [],
    before_wipe: ["before a command that wipes"],
    before_restore: ["before a restore"],
    outside: ["changed outside Kite"],
    set_aside: ["set aside: its file is unknown"],
  } as const;
  return [
    ...(object === null ? ["its content is gone"] : []),
    ...(asSent ? ["as sent"] : []),
    ...kinds[kind],
  ];
}

/** A line for each file that is not kept, with the reason. */
export function unkeptLines(rows: readonly UnkeptRow[], screen: Screen): string[] {
  return rows.map(
    ({ file, why, at }) =>
      `  - ${clean(file)}: not kept ${duration(screen.now - at)} ago, because ${clean(why)}`,
  );
}

/** The hunks of a diff, each line behind a bar: a line of it could pass for one of Kite's own. */
export function diffLines(unified: Buffer, screen: Screen, max: number = diffLinesMax): string[] {
  const all = unified.toString("utf8").replace(/\n$/, "").split("\n");
  if (unified.length === 0) return [];
  const shown = all.slice(0, max).map(line => {
    const [sign = ""] = line;
    return `  │ ${paint(screen, styleOf(sign), `${sign}${code(line.slice(1))}`)}`;
  });
  return all.length > max ? [...shown, `  ${counted(all.length - max, "further line")}`] : shown;
}

function styleOf(sign: string): Style {
  if (sign === "+") return "green";
  if (sign === "-") return "red";
  return sign === "@" ? "cyan" : "plain";
}

/** A line of a file, safe to show, with the blanks before it. */
export function code(line: string): string {
  const [blanks = ""] = /^[ \t]*/.exec(line) ?? [];
  return blanks.replaceAll("\t", "    ") + clean(line);
}

/** What was wiped, the latest first, with the line that brings it back. */
export function wipesView(wipes: readonly WipeRow[], screen: Screen): string[] {
  return wipes.flatMap((wipe, i) => {
    const lost = wipe.files.reduce((sum, { lines }) => sum + (lines ?? 0), 0);
    const writers = [...new Set(wipe.files.flatMap(file => file.writers.map(authorName)))];
    const by = wipe.by === null ? "" : ` by ${authorName(wipe.by)}`;
    const what = [
      counted(wipe.files.length + wipe.more, "file"),
      ...(lost === 0 ? [] : [counted(lost, "line")]),
    ].join(", ");
    const whose = writers.length === 0 ? "" : ` of ${listed(writers.slice(0, 3), writers.length - 3)}`;
    const head = `${clean(wipe.command)}${by}, ${duration(screen.now - wipe.at)} ago: ${what}${whose}`;
    const files = [...wipe.files]
      .sort((a, b) => (a.file < b.file ? -1 : 1))
      .slice(0, wipedFilesMax)
      .map((file): Cell[] => [
        { text: file.version ?? "not kept", style: file.version === null ? "yellow" : "dim" },
        clean(file.file),
        { text: file.lines === null ? "" : counted(file.lines, "line"), style: "dim" },
        { text: listed(file.writers.map(authorName)), style: "dim" },
      ]);
    const more = wipe.files.length + wipe.more - files.length;
    return [
      ...(i === 0 ? [] : [""]),
      `${paint(screen, "bold", wipe.wipe)}  ${head}`,
      ...table(files, [{}, { min: 12, cut: "middle" }, {}, { min: 8, max: 40 }], screen, 2),
      ...(more > 0 ? [`  and ${counted(more, "further file")}`] : []),
      wipe.files.some(({ version }) => version !== null)
        ? `  bring it back: kite rescue restore ${shellArgument(wipe.wipe)}`
        : "  nothing of it is kept any more",
    ];
  });
}
