/** For whom a command acts: the session whose agent typed it, or the terminal it was typed in. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import { searchPath } from "../protocol/paths.ts";

export interface Acting {
  readonly id: string;
  readonly agent?: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** The session the environment names: `KITE_SESSION`, else that of Claude Code, with `KITE_AGENT`; or null. */
export function actingSession(env: Env): Acting | null {
  const id = env["KITE_SESSION"] || env["CLAUDE_CODE_SESSION_ID"];
  if (!id) return null;
  const agent = env["KITE_AGENT"];
  return agent ? { id, agent } : { id };
}

/** A name for whoever sits at this terminal: `ana@pts/3`. */
export function terminalName(env: Env): string {
  const user = env["USER"] || env["LOGNAME"] || userInfo().username;
  const found = spawnSync("tty", [], {
    stdio: ["inherit", "pipe", "ignore"],
    encoding: "utf8",
    env: { PATH: searchPath(env["PATH"]) },
  });
  const name = found.status === 0 ? found.stdout.trim().replace(/^\/dev\//, "") : "";
  return name === "" ? `${user}@terminal` : `${user}@${name}`;
}

/** The process with which this terminal closes, where that can be told: the leader of its session (Linux). */
export function terminalProcess(): number | null {
  if (!process.stdin.isTTY) return null;
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    // Behind the name, which may hold anything: state, parent, group, session.
    const leader = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]);
    return leader > 0 ? leader : null;
  } catch {
    return null; // Not Linux.
  }
}

/** A file as typed in directory `cwd`, absolute; a slash at its end stays: it asks for the whole directory. */
export function absolute(cwd: string, file: string): string {
  const path = resolve(cwd, file);
  return file.endsWith("/") && !path.endsWith("/") ? `${path}/` : path;
}
