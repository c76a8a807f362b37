/** `kite history` lists the versions that Kite keeps of a file. */

import type { Command } from "commander";
import type { UnkeptRow, VersionRow } from "../../protocol/schemas/rescue.ts";
import {
  type ProcessContext,
  printFramed,
  printJson,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import { ask, exitCodes, rowsOf } from "../context/with-daemon.ts";
import { clean, counted, type Screen } from "../view/text.ts";
import { fileWord, offLines, unkeptLines, versionRows } from "./shown.ts";
import {
  type Asker,
  asAsker,
  Commits,
  contentOf,
  keptFile,
  onDisk,
  readerOf,
  uncommittedOf,
} from "./versions.ts";

// `kite history`: which versions Kite keeps of a file.

interface HistoryFlags {
  readonly all?: boolean;
  readonly json?: boolean;
}

/** What the file has now: a version, something else, or nothing. */
type Now = { readonly version: string } | "changed" | "absent" | "odd";

interface HistoryData {
  readonly path: string;
  readonly versions: readonly VersionRow[];
  /** Older versions that are not shown. */
  readonly older: number;
  readonly unkept: readonly UnkeptRow[];
  /** Null: it is a directory, or nothing is kept of it. */
  readonly now: Now | null;
  /** False: the setting `rescue` is off. */
  readonly on: boolean;
  readonly trouble: string | null;
}

/** Returns the exit code. */
function history(world: ProcessContext, file: string, flags: HistoryFlags): Promise<number> {
  const json = flags.json === true;
  return asAsker(world, json, async asker => {
    const data = await historyOf(asker, file, flags.all === true);
    if (json) printJson(world, { ok: true, ...data });
    else printFramed(world, historyView(data, file, screenOf(world)));
    return exitCodes.done;
  });
}

async function historyOf(asker: Asker, typed: string, isAll: boolean): Promise<HistoryData> {
  const commits = new Commits(asker);
  const { on, trouble } = await ask(asker.client, "rescue_state", {});
  const { path, rows: all } = await keptFile(asker, typed);
  const unkept = await rowsOf(asker.client, "unkept", { file: path, ...readerOf(asker) });
  const shown: VersionRow[] = [];
  for (const own of byFile(all)) {
    const [first] = own;
    if (isAll || first === undefined) shown.push(...own);
    else shown.push(...(await uncommittedOf(commits, first, own)).versions);
  }
  shown.sort((a, b) => numberOf(b) - numberOf(a));
  const [latest] = all;
  const now = latest?.path === path ? await nowOf(latest) : null;
  return { path, versions: shown, older: all.length - shown.length, unkept, now, on, trouble };
}

/** The versions of each file. */
function byFile(rows: readonly VersionRow[]): VersionRow[][] {
  const found = new Map<string, VersionRow[]>();
  for (const row of rows) {
    const own = found.get(row.path);
    if (own === undefined) found.set(row.path, [row]);
    else own.push(row);
  }
  return [...found.values()];
}

function numberOf({ version }: VersionRow): number {
  return Number(version.slice(2));
}

async function nowOf(latest: VersionRow): Promise<Now> {
  const disk = onDisk(latest.path);
  if (disk.is !== "file") return disk.is;
  const content = await contentOf(latest);
  return content?.equals(disk.content) === true ? { version: latest.version } : "changed";
}

function historyView(data: HistoryData, typed: string, screen: Screen): readonly string[] {
  const { path, versions, older, unkept, now, on, trouble } = data;
  const [name, word] = [clean(typed), fileWord(typed)];
  if (!on) return offLines;
  const isOfMany = versions.some(row => row.path !== path);
  const rows = versionRows(versions, isOfMany, screen);
  const [latest] = versions;
  return [
    ...(rows.length === 0
      ? [nothing(name, word, older)]
      : [`What Kite keeps of ${name}, the latest first:`, ...rows]),
    ...(older > 0 && rows.length > 0
      ? [`  ${counted(older, "older version")}, ${olderFrom}: kite history --all ${word}`]
      : []),
    ...nowLines(now, latest, word),
    ...(unkept.length === 0 ? [] : ["Not kept:", ...unkeptLines(unkept, screen)]),
    ...(trouble === null ? [] : [`! ${clean(trouble)}`]),
  ];
}

/** From when the versions are that no longer count as uncommitted work. */
const olderFrom = "from before it was last as committed";

function nothing(name: string, word: string, older: number): string {
  if (older === 0) return `Kite keeps no version of ${name}.`;
  return `Of ${name} Kite keeps ${counted(older, "older version")}, ${olderFrom}: kite history --all ${word}`;
}

function nowLines(now: Now | null, latest: VersionRow | undefined, word: string): string[] {
  if (now === null || latest === undefined || typeof now === "object") return [];
  const back = `kite undo ${word} --to ${latest.version}`;
  if (now === "absent") return [`The file is gone. To have ${latest.version} back: ${back}`];
  if (now === "odd") return ["In its place is no regular file now."];
  return [
    `The file has changed since ${latest.version}, outside of Kite: kite diff ${word} --from ${latest.version}`,
  ];
}

const help = `
Kite keeps what agents write: after each write that it learns of, what the file has then. History lists these versions: who
wrote each, with which tool, when, and how many lines it added and took. It shows what no commit contains; --all shows older
ones. It says of which version the content is gone, and why a file is not kept. An agent sees its own project alone.

kite diff shows what changed between versions, kite undo takes changes back, and kite help rescue says what is kept where.

--json: {"ok":true, "path", "versions":[...], "older", "unkept":[...], "now":{"version"}|"changed"|"absent"|"odd"|null,
"on", "trouble"}, rows as \`query\` gives them

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite history src/auth.ts
  $ kite history --all src/`;

export function add(command: Command, run: Run): void {
  command
    .argument("<file>", "a file, or a directory: all files below it")
    .option("--all", "show older versions, too: from before a file was last as committed")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((file: string, flags: { readonly all?: boolean; readonly json?: boolean }) =>
      run(world => history(world, file, flags)),
    );
}
