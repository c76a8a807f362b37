/** The actor of a command: the session whose agent runs it, or the terminal. */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import { isatty } from "node:tty";
import { LocalError } from "../../client/errors.ts";
import { containerName } from "../../hooks/client/mounts.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { isCommandsSession } from "../../protocol/names.ts";
import { kitePaths, searchPath } from "../../protocol/paths.ts";

export interface Acting {
  readonly id: string;
  readonly agent?: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Returns the session in `KITE_SESSION`, else that of Claude Code, with `KITE_AGENT`; null if none is set. */
export function actingSession(env: Env): Acting | null {
  const id = env["KITE_SESSION"] || env["CLAUDE_CODE_SESSION_ID"];
  if (!id) return null;
  const agent = env["KITE_AGENT"];
  return agent ? { id, agent } : { id };
}

/** Returns the id of the person's session at this terminal: `ana@pts/3`, in a container `ana@4026532177/pts/3`. */
export function terminalName(env: Env): string {
  const container = containerName(kitePaths(env).home);
  const place = container === "" ? "" : `${container}/`;
  return `${userOf(env)}@${place}${terminalOf(env) || "terminal"}`;
}

/** Returns the terminal that standard input is, as `pts/3`; "" if it is none, or nobody can tell. */
export function terminalOf(env: Env): string {
  if (!isatty(0)) return "";
  const found = spawnSync("tty", [], {
    stdio: ["inherit", "pipe", "ignore"],
    encoding: "utf8",
    env: { PATH: searchPath(env["PATH"]) },
  });
  return found.status === 0 ? found.stdout.trim().replace(/^\/dev\//, "") : "";
}

/** Returns the session of a command that holds locks for a terminal: `terminal-4711`, in a container `terminal-4026532177-12`. */
export function commandSession(env: Env, pid: number): string {
  const container = containerName(kitePaths(env).home);
  return container === "" ? `terminal-${pid}` : `terminal-${container}-${pid}`;
}

/** Whether the session is a terminal's own, or that of a command at one: a person's. */
export function isTerminalSession(env: Env, id: string): boolean {
  return id.startsWith(`${userOf(env)}@`) || isCommandsSession(id);
}

function userOf(env: Env): string {
  return env["USER"] || env["LOGNAME"] || userName();
}

/** Returns the user of this process as the system knows it; "" if it has no name for the user's number. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return "";
  }
}

/** Returns the session leader's pid, which ends when the terminal closes (Linux); else null. */
export function terminalProcess(): number | null {
  if (!process.stdin.isTTY) return null;
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    // Behind the process name, which may contain any character: state, parent, group, session.
    const leader = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]);
    return leader > 0 ? leader : null;
  } catch {
    return null; // Not Linux.
  }
}

/** A file was typed as an empty word, as by a script whose variable is not set: it would stand for the whole directory. */
class EmptyName extends LocalError {
  override readonly name = "EmptyName";
}

/**
 * Returns a file typed in directory `cwd` as an absolute path; keeps a final slash, which means the whole tree. Throws
 * `EmptyName`.
 */
export function absolute(cwd: string, file: string): string {
  if (file === "") throw new EmptyName("the name of a file is empty; name a file, or . for this directory");
  const path = resolve(cwd, file);
  return file.endsWith("/") && !path.endsWith("/") ? `${path}/` : path;
}
