/** `kite agents`, and `kite explain NAME` with `--log` or `--diff`. */

import { existsSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { LocalError } from "../../../client/errors.ts";
import type { LastMessage } from "../../../hooks/claude-code/transcripts.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { type Client, type ProcessContext, screenOf } from "../../process-context.ts";
import { ProgramFailed } from "../../programs.ts";
import { projectOf } from "../../project.ts";
import { numbering } from "../../tasks/numbering.ts";
import { clean, clock, type Screen } from "../../view/text.ts";
import { fail, printShown, rowsOf, withDaemon } from "../../with-daemon.ts";
import { spawnsView } from "../view/spawns.ts";
import { neededSpawn } from "./find.ts";
import { Git } from "./git.ts";
import { outputOf } from "./output.ts";
import { lastMessages } from "./transcript.ts";

export interface ListFlags {
  readonly project?: string;
  readonly json?: boolean;
}

/** Lists the spawned agents of the project, those that have not ended first. Returns the exit code. */
export async function list(world: ProcessContext, flags: ListFlags): Promise<number> {
  const project = flags.project ?? (await projectOf(world.cwd));
  return withDaemon(world, flags.json === true, async client => {
    const agents = await rowsOf(client, "spawns", { project });
    const worded = await numbering(world, client, agents.map(({ task }) => task ?? "").join(" "));
    return printShown(world, flags.json === true, { agents }, screen => spawnsView(agents, screen, worded));
  });
}

/** Prints the agent's last messages; without a transcript, what its client printed. */
export function showLog(world: ProcessContext, name: string, isJson: boolean): Promise<number> {
  return shown(world, name, isJson, "log", async row => {
    const said = await lastMessages(world.env, row.session);
    if (said !== null && said.length > 0)
      return said.flatMap(one => saidLines(one, row.name, screenOf(world)));
    const output = await outputOf(world, row);
    if (output !== null && output !== "") return output.split("\n").map(clean);
    throw new ProgramFailed(`nothing is known of what ${row.name} printed`);
  });
}

/** Characters of a message. */
const messageChars = 2_000;

/** A message with its time and who said it; its further lines are further in. */
function saidLines({ by, at, text }: LastMessage, name: string, screen: Screen): string[] {
  const atMs = at === null ? Number.NaN : Date.parse(at);
  const when = Number.isNaN(atMs) ? "" : `${clock(atMs, screen.now)}  `;
  const [first = "", ...rest] = (text.length > messageChars ? `${text.slice(0, messageChars)}…` : text).split(
    "\n",
  );
  const indent = " ".repeat(when.length);
  return [
    `${when}${by === "agent" ? clean(name) : "prompt"}: ${clean(first)}`,
    ...rest.map(line => `${indent}${clean(line)}`),
  ];
}

/** Prints what the agent changed since its branch left its base, committed or not. New files are only named. */
export function showDiff(world: ProcessContext, name: string, isJson: boolean): Promise<number> {
  return shown(world, name, isJson, "diff", async ({ name: of, worktree, base }) => {
    if (worktree === null || !existsSync(worktree)) throw new ProgramFailed(`${of} has no worktree now`);
    const git = new Git(world.env, worktree);
    const since = base === null ? "HEAD" : await mergeBase(git, base);
    const diff = await git.told("diff", "--no-ext-diff", "--no-color", since, "--");
    const fresh = await git.told("ls-files", "--others", "--exclude-standard");
    return [...linesOf(diff), ...linesOf(fresh).map(file => `new file, not added: ${file}`)];
  });
}

async function mergeBase(git: Git, base: string): Promise<string> {
  const { code, output } = await git.run("merge-base", base, "HEAD");
  return code === 0 ? output.trim() : "HEAD";
}

/** A changed line keeps its markup; what moves a cursor or hides goes. */
function linesOf(text: string): string[] {
  const lines = stripVTControlCharacters(text).split("\n");
  const isLast = lines.at(-1) === "";
  return (isLast ? lines.slice(0, -1) : lines).map(line =>
    line.replace(/[^\P{C}\t]/gu, "").replaceAll("\t", "  "),
  );
}

function shown(
  world: ProcessContext,
  name: string,
  isJson: boolean,
  field: "log" | "diff",
  work: (row: SpawnRow) => Promise<readonly string[]>,
): Promise<number> {
  return withDaemon(world, isJson, async (client: Client) => {
    const row = await neededSpawn(client, name, await projectOf(world.cwd));
    try {
      const lines = await work(row);
      return printShown(world, isJson, { spawn: row, [field]: lines.join("\n") }, () => lines);
    } catch (error) {
      if (!(error instanceof LocalError)) throw error;
      return fail(world, isJson, "spawn_failed", error.message);
    }
  });
}
