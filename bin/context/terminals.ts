/** The terminals of processes: a person finds a session by it. */

import { spawnSync } from "node:child_process";
import { constants, readFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename } from "node:path";
import { wordsIn } from "../../hooks/claude-code/transcripts.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { searchPath } from "../../protocol/paths.ts";
import type { TranscriptRow } from "../../protocol/schemas/session.ts";
import { seemsAgents } from "./person.ts";
import type { Client, ProcessContext } from "./process-context.ts";
import { Refused, rowsOf } from "./with-daemon.ts";

/** A pane of a tmux server. */
interface TmuxPane {
  /** `%5`. */
  readonly pane: string;
  /** The server's socket. */
  readonly socket: string;
  /** The server's process: another server at that socket has other panes. */
  readonly serverPid: number;
}

export interface Terminal {
  /** `pts/3`. */
  readonly tty: string;
  /** The pane of tmux in which it is; null: it is in none, or the system does not tell. */
  readonly tmux: TmuxPane | null;
  /** The program whose window it is in, as that names itself (`vscode`); null if unknown. */
  readonly program: string | null;
}

/** Returns the terminal of each of these processes that has one. */
export function terminalsOf(pids: readonly number[]): ReadonlyMap<number, Terminal> {
  return new Map([...ttysOf(pids)].map(([pid, tty]) => [pid, { tty, ...surroundings(pid) }]));
}

/** Returns a terminal as people name it: `tmux %5, pts/3`, or `pts/3 (vscode)`. */
export function terminalText({ tty, tmux, program }: Terminal): string {
  if (tmux !== null) return `tmux ${tmux.pane}, ${tty}`;
  return program === null ? tty : `${tty} (${program})`;
}

/** The same of each process. */
export function terminalTexts(pids: readonly number[]): ReadonlyMap<number, string> {
  return new Map([...terminalsOf(pids)].map(([pid, terminal]) => [pid, terminalText(terminal)]));
}

/** Asks `ps`, which every system has; without it no terminal is known. */
function ttysOf(pids: readonly number[]): Map<number, string> {
  if (pids.length === 0) return new Map();
  const { stdout } = spawnSync("ps", ["-o", "pid=,tty=", "-p", pids.join(",")], {
    encoding: "utf8",
    env: { PATH: searchPath(process.env["PATH"]) },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: psMaxMs,
  });
  const rows = (stdout ?? "").split("\n").map(line => /^\s*(\d+)\s+(\S+)\s*$/.exec(line));
  return new Map(
    rows.flatMap(row => {
      const [, pid = "", tty = ""] = row ?? [];
      return tty === "" || tty.startsWith("?") ? [] : [[Number(pid), tty] as const];
    }),
  );
}

const psMaxMs = 2_000;

/** Longest name of a terminal program. */
const programChars = 24;

/** Variables by which programs that do not set `TERM_PROGRAM` are known. */
const programsByVariable: readonly (readonly [variable: string, program: string])[] = [
  ["KITTY_WINDOW_ID", "kitty"],
  ["KONSOLE_VERSION", "konsole"],
  ["GNOME_TERMINAL_SCREEN", "gnome-terminal"],
  ["STY", "screen"],
];

/** Returns what the environment of a process says about its terminal; nothing on systems where nobody can read that. */
function surroundings(pid: number): Pick<Terminal, "tmux" | "program"> {
  const env = environmentOf(pid);
  const [, socket = "", serverPid = ""] = /^(\/.+),(\d+),\d+$/.exec(env.get("TMUX") ?? "") ?? [];
  const pane = env.get("TMUX_PANE") ?? "";
  const tmux = socket === "" || !/^%\d+$/.test(pane) ? null : { pane, socket, serverPid: Number(serverPid) };
  const named = programsByVariable.find(([variable]) => env.has(variable))?.[1];
  const program = (env.get("TERM_PROGRAM") ?? named ?? "").slice(0, programChars);
  return { tmux, program: program === "" || program === "tmux" ? null : program };
}

const wanted = new Set(["TMUX", "TMUX_PANE", "TERM_PROGRAM", ...programsByVariable.map(([name]) => name)]);

/** Returns these variables of a process, and no others: a token in one of them is none of Kite's business. */
function environmentOf(pid: number): ReadonlyMap<string, string> {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
    const pairs = variables.map((text): [string, string] => {
      const at = text.indexOf("=");
      return [text.slice(0, at), text.slice(at + 1)];
    });
    return new Map(pairs.filter(([name]) => wanted.has(name)));
  } catch {
    return new Map(); // No /proc, or the process has ended.
  }
}

// What sessions are about, for a person's terminal: their clients' own titles, read from the clients' files when they are shown.
// Neither the daemon nor a file of Kite's has a title.

/** How much of a transcript's end, and of its beginning, is read. */
const partBytes = 64 * 1024;
/** Longest title that is kept, in UTF-16 units; views show less of it. */
const titleChars = 200;
const sessionsMax = 100;
/** Reading stops after this time, so that a slow disk costs titles and not the screen. */
const readMs = 300;

interface Known {
  readonly sizeBytes: number;
  readonly title: string | null;
}

/** The titles of the live sessions, by session. What did not change since the last look is not read again. */
export class Titles {
  readonly #known = new Map<string, Known>();

  /** Returns no title if the setting `titles` is off, or if the daemon does not take the caller for a person. */
  async read(client: Pick<Client, "request" | "daemon">): Promise<ReadonlyMap<string, string>> {
    const rows = await transcriptsOf(client);
    const until = performance.now() + readMs;
    const found = new Map<string, string>();
    for (const row of rows) {
      if (performance.now() < until) this.#known.set(row.id, await titleOf(row, this.#known.get(row.id)));
      const title = this.#known.get(row.id)?.title ?? null;
      if (title !== null) found.set(row.id, title);
    }
    const live = new Set(rows.map(({ id }) => id));
    for (const id of this.#known.keys()) if (!live.has(id)) this.#known.delete(id);
    return found;
  }
}

/** Returns the titles for a command that prints lines; null: standard output is no terminal, or an agent's. */
export async function titlesFor(
  world: ProcessContext,
  client: Pick<Client, "request" | "daemon">,
): Promise<ReadonlyMap<string, string> | null> {
  if (world.stdout.isTTY !== true || (await seemsAgents(world))) return null;
  return new Titles().read(client);
}

async function transcriptsOf(client: Pick<Client, "request" | "daemon">): Promise<readonly TranscriptRow[]> {
  try {
    return await rowsOf(client, "transcripts", {}, sessionsMax);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return []; // The token of a person is missing, or the daemon is of an earlier version: the rest of the screen counts.
  }
}

async function titleOf({ id, transcript, titles }: TranscriptRow, before: Known | undefined): Promise<Known> {
  const none = { sizeBytes: -1, title: null };
  if (basename(transcript) !== `${id}.jsonl`) return none;
  let file: FileHandle;
  try {
    // Whatever else has that name is not waited for, and no link is followed.
    file = await open(transcript, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return none; // The client has written nothing yet.
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) return none;
    if (before?.sizeBytes === stat.size) return before;
    const part = async (from: number) => {
      const bytes = Buffer.alloc(Math.min(partBytes, stat.size - from));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
      return wordsIn(bytes.toString("utf8", 0, bytesRead), id);
    };
    const end = await part(Math.max(0, stat.size - partBytes));
    const wanted = titles === "prompt" ? "prompt" : "title";
    const beginning = end[wanted] === null && stat.size > partBytes ? await part(0) : end;
    const words = end[wanted] ?? beginning[wanted] ?? before?.title ?? null;
    return { sizeBytes: stat.size, title: words === null ? null : words.slice(0, titleChars) };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return none;
  } finally {
    await file.close();
  }
}
