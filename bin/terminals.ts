/** The terminals of processes: a person finds a session by it. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { searchPath } from "../protocol/paths.ts";

/** A pane of a tmux server. */
export interface TmuxPane {
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
