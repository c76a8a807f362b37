/** `kite whose` shows which session's uncommitted work is in which file. */

import type { Command } from "commander";
import { shellArgument } from "../../protocol/text.ts";
import type { WriteRow, WriterRow } from "../../protocol/work.ts";
import {
  type ProcessContext,
  printFramed,
  printJson,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import { fileTyped, realPath, type ScopeFlags, scopeProject } from "../context/project.ts";
import { exitCodes, rowsOf, withDaemon } from "../context/with-daemon.ts";
import { projectName, tilde } from "../view/places.ts";
import { type Cell, clean, counted, duration, paint, type Screen, table, wrap } from "../view/text.ts";

// The output of `kite whose`, and the commands that it proposes.

/** Files named in one command; the rest are counted. */
const namedMax = 50;

/** `kite whose`: files with uncommitted work by worktree, and commands to commit only one session's files. */
export function whoseView(
  every: readonly WriteRow[],
  scope: string | null,
  screen: Screen,
  project: string | null = null,
): string[] {
  const own = every.filter(row => row.project === project);
  if (own.length > 0 && own.length < every.length)
    return [...whoseView(own, scope, screen), ...others(every, own, screen)];
  const rows = every;
  if (rows.length === 0) {
    const what = scope === null ? "No uncommitted work" : `No uncommitted work in ${clean(scope)}`;
    return [`${what} that Kite saw a session write.`];
  }
  const sorted = [...rows].sort((a, b) => order(a.worktree, b.worktree) || order(a.file, b.file));
  const columns = [
    { min: 12, cut: "middle" as const },
    { min: 8, max: 40 },
    {},
    {},
    { align: "right" as const },
  ];
  const drawn = table(
    sorted.map(row => cellsOf(row, screen)),
    columns,
    screen,
    2,
  );
  const lines: string[] = [];
  for (const worktree of new Set(sorted.map(row => row.worktree))) {
    if (lines.length > 0) lines.push("");
    lines.push(paint(screen, "bold", clean(tilde(worktree, screen.home))));
    for (const [i, row] of sorted.entries()) if (row.worktree === worktree) lines.push(drawn[i] ?? "");
  }
  return [...lines, ...unknownLines(rows, screen), ...commands(sorted)];
}

/** Counts the files of the other projects, a line each. */
function others(every: readonly WriteRow[], own: readonly WriteRow[], screen: Screen): string[] {
  const rest = every.filter(row => !own.includes(row));
  const projects = [...new Set(rest.map(row => row.project))].sort();
  const rows = projects.map(project => {
    const files = rest.filter(row => row.project === project).length;
    return [{ text: projectName(project), style: "bold" as const }, counted(files, "file")];
  });
  return [
    "",
    paint(screen, "bold", "Other projects: kite whose --all"),
    ...table(rows, [{ max: 20 }, {}], screen, 2),
  ];
}

/** Warns about files whose state git did not report in time: they may be committed already. */
function unknownLines(rows: readonly WriteRow[], screen: Screen): string[] {
  const count = rows.filter(row => row.state === "unknown").length;
  if (count === 0) return [];
  const what = `! Git did not report the state of ${counted(count, "file")} in time.`;
  return [
    "",
    ...wrap(
      `${what} ${count === 1 ? "It" : "They"} may be committed already. Ask again: kite whose`,
      screen.width,
      2,
    ),
  ];
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function cellsOf(row: WriteRow, screen: Screen): Cell[] {
  const [latest] = row.writers;
  const held = row.holder === null ? "" : "held";
  const ago = latest === undefined ? "" : duration(screen.now - latest.at);
  return [
    { text: clean(row.file), style: "bold" },
    row.writers.map(nameOf).join(", "),
    { text: row.state, style: "dim" },
    { text: held, style: "dim" },
    { text: ago, style: "dim" },
  ];
}

function nameOf({ name, live }: WriterRow): string {
  return live ? clean(name) : `${clean(name)} (ended)`;
}

/** Returns, for each session and worktree, the command that commits the files that only this session wrote. */
function commands(rows: readonly WriteRow[]): string[] {
  const own = new Map<
    string,
    { readonly name: string; readonly worktree: string; readonly rows: WriteRow[] }
  >();
  for (const row of rows) {
    const sessions = new Set(row.writers.map(writer => writer.id));
    const [writer] = row.writers;
    if (sessions.size !== 1 || writer === undefined) continue;
    const key = `${row.worktree}\n${writer.id}`;
    const known = own.get(key) ?? { name: sessionName(writer), worktree: row.worktree, rows: [] };
    known.rows.push(row);
    own.set(key, known);
  }
  const shared = rows.filter(row => new Set(row.writers.map(writer => writer.id)).size > 1).length;
  const lines = own.size === 0 ? [] : ["", "To commit only one session's files:"];
  for (const { name, worktree, rows: files } of own.values()) {
    const first = files.length > namedMax ? ` (the first ${namedMax})` : "";
    lines.push(`  ${name}, ${counted(files.length, "file")}${first}:`, `    ${commandFor(worktree, files)}`);
  }
  if (shared > 0)
    lines.push(
      "",
      `${counted(shared, "file")} with work of several sessions: agree with them before you commit.`,
    );
  return lines;
}

/** Returns the session's name: a session commits its agents' work. */
function sessionName({ name, agent, live }: WriterRow): string {
  const session = agent === null ? name : name.slice(0, Math.max(1, name.lastIndexOf("/")));
  return `${clean(session)}${live ? "" : " (ended)"}`;
}

function commandFor(worktree: string, rows: readonly WriteRow[]): string {
  const words = (files: readonly WriteRow[]) =>
    files
      .slice(0, namedMax)
      .map(row => word(row.file))
      .join(" ");
  const isGlob = rows.some(row => /[*?[\\]|^:/.test(row.file));
  const git = `git -C ${word(worktree)}${isGlob ? " --literal-pathspecs" : ""}`;
  const fresh = rows.filter(row => row.state === "untracked");
  const add = fresh.length === 0 ? "" : `${git} add -- ${words(fresh)} && `;
  return `${add}${git} commit -- ${words(rows)}`;
}

/** Returns `text` as one shell word, without characters that a terminal would not show. */
function word(text: string): string {
  return shellArgument(clean(text));
}

interface WhoseFlags extends ScopeFlags {
  readonly json?: boolean;
}

const help = `
Whose lists files that Kite saw sessions write, by an edit or with a shell command, while git reports uncommitted work in
them. It marks work of ended sessions as (ended): Kite refuses a git command that would wipe such work once, and lets it
run when the session sends it again. For files that only you changed, use git status.

Without a file it shows the working directory's project, and counts the files of the others.

Below the files, whose prints the command that commits a session's own files and leaves all other files and the index as
they are. Kite does not run it.

--json: {"writes":[...]}, rows as \`query\` gives them.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite whose
  $ kite whose src/auth.ts
  $ kite whose src/`;

export function add(command: Command, run: Run): void {
  command
    .argument("[file]", "only this file, or the files below this directory")
    .option("--all", "show all projects")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((file: string | undefined, flags: WhoseFlags) => run(world => whose(world, file ?? null, flags)));
}

/** Returns the exit code. */
export async function whose(world: ProcessContext, file: string | null, flags: WhoseFlags): Promise<number> {
  const path = file === null ? null : await realPath(world.cwd, fileTyped(file));
  return withDaemon(world, flags.json === true, async client => {
    const all = await rowsOf(client, "writes");
    const writes = all.filter(row => path === null || row.path === path || row.path.startsWith(`${path}/`));
    const project = flags.json || path !== null ? null : await scopeProject(world, undefined, flags);
    if (flags.json) printJson(world, { writes });
    else printFramed(world, whoseView(writes, file, screenOf(world), project));
    return exitCodes.done;
  });
}
