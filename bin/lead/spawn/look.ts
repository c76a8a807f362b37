/** `kite agents`, and `kite explain NAME` with `--log` or `--diff`. */

import { existsSync } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { LocalError } from "../../../client/errors.ts";
import { userSettings } from "../../../hooks/claude-code/settings/files.ts";
import { type LastMessage, messagesIn } from "../../../hooks/claude-code/transcripts.ts";
import { isSystemError } from "../../../protocol/errors.ts";
import type { SpawnRow } from "../../../protocol/lead/spawn.ts";
import { type Client, type ProcessContext, screenOf } from "../../context/process-context.ts";
import { type Env, ProgramFailed } from "../../context/programs.ts";
import { projectOf } from "../../context/project.ts";
import { numbering } from "../../context/task-numbers.ts";
import { fail, printShown, rowsOf, withDaemon } from "../../context/with-daemon.ts";
import { clean, clock, type Screen } from "../../view/text.ts";
import { spawnsView } from "../view/work.ts";
import { Git } from "./git.ts";
import { neededSpawn, outputOf, spawnCalled } from "./record.ts";

// The last messages of an agent, from the transcript that its client keeps.

/** The end of a transcript that is read, in bytes, and what is shown of it. */
const endBytes = 512 * 1024;
const messagesMax = 10;
/** Folders of the client in which the transcript is looked for. */
const foldersMax = 5_000;

/** Returns the session's last messages, oldest first; null if its client keeps no transcript that can be read. */
export async function lastMessages(env: Env, session: string | null): Promise<readonly LastMessage[] | null> {
  if (session === null || !/^[\w-]+$/.test(session)) return null;
  const projects = join(dirname(userSettings(env)), "projects");
  try {
    for (const folder of (await readdir(projects)).slice(0, foldersMax)) {
      const lines = await endOf(join(projects, folder, `${session}.jsonl`));
      if (lines !== null) return messagesIn(lines, messagesMax);
    }
  } catch (error) {
    // The client was never used by this user, or its folder is closed: what it printed is shown instead.
    if (!isSystemError(error)) throw error;
  }
  return null;
}

async function endOf(path: string): Promise<readonly string[] | null> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return null; // It is in another folder.
  }
  try {
    const { size } = await file.stat();
    const bytes = Buffer.alloc(Math.min(size, endBytes));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString("utf8", 0, bytesRead).split("\n");
  } finally {
    await file.close();
  }
}

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
    const messages = await lastMessages(world.env, row.session);
    if (messages !== null && messages.length > 0)
      return messages.flatMap(one => saidLines(one, row.name, screenOf(world)));
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
    const diff = await git.outputOf("diff", "--no-ext-diff", "--no-color", since, "--");
    const fresh = await git.outputOf("ls-files", "--others", "--exclude-standard");
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

// The branch and the worktree of a spawned agent, whether its session lives or has ended.

export interface AgentBranch {
  /** The id of its record. */
  readonly id: string;
  readonly name: string;
  readonly branch: string;
  readonly worktree: string;
  readonly task: string | null;
  readonly session: string | null;
}

/** Returns where an agent works or worked; null if that is not known, or in its requester's worktree. */
export function branchOfRecord(row: SpawnRow): AgentBranch | null {
  const { id, name, branch, worktree, base, task, session } = row;
  // Only a worktree of its own has a base.
  if (branch === null || worktree === null || base === null) return null;
  return { id, name, branch, worktree, task, session };
}

/** Returns where the agent that `name` means works or worked; null if there is none, or it has no branch of its own. */
export function branchOfAgent(rows: readonly SpawnRow[], name: string, project: string): AgentBranch | null {
  const found = spawnCalled(rows, name, project);
  return found === null ? null : branchOfRecord(found);
}

/** Returns where the agent of a session works; null if the session is none that was spawned into a worktree of its own. */
export function branchOfSession(rows: readonly SpawnRow[], session: string): AgentBranch | null {
  const found = rows.find(row => row.session === session);
  return found === undefined ? null : branchOfRecord(found);
}
