/**
 * Which programs the daemon runs. The daemon is started from a shell or a hook, so its PATH may lead into a project; it
 * runs no program of a project. The rule:
 *
 * - the daemon searches the absolute entries of PATH that are in no `node_modules`, then the system directories, where
 *   package managers put programs for all users. For `flock` and `perl` it searches those first: two daemons must take
 *   the same one;
 * - the program is an executable regular file, and is run by its real path;
 * - the file and every directory on the way to it, as named and behind links, belong to root or to this user. They are
 *   not world-writable, but a directory may be sticky, as /tmp is. They may be group-writable: root or this user gave that
 *   right, as in Homebrew, Debian's /usr/local and for users with a group of their own. Files in /usr/bin and /bin are
 *   trusted: a user who can write there owns the machine;
 * - it is not below a directory in which a session works, unless it is in a system directory.
 */

import { spawnSync } from "node:child_process";
import { accessSync, constants, lstatSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import type { ProcessWords } from "../../hooks/seam/teams.ts";
import { limits } from "../../protocol/limits.ts";
import { searchPath } from "../../protocol/paths.ts";

const systems: readonly string[] = ["/usr/bin", "/bin"];
const forEverybody: readonly string[] = [
  ...systems,
  "/usr/local/bin",
  "/opt/homebrew/bin",
  "/run/current-system/sw/bin",
];

/** A program: run `real`, with `path` as its name, since one file may be several programs. */
export interface Program {
  readonly path: string;
  readonly real: string;
}

export interface Search {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Search the system directories before PATH. */
  readonly systemFirst?: boolean;
  /** Directories in which sessions work. */
  readonly workedIn?: Iterable<string>;
  /** The user, beside root, that files may belong to; the default is this process's user. */
  readonly uid?: number;
}

/** Returns the program of this name that the rule above allows, or null. */
export function findProgram(name: string, search: Search): Program | null {
  const { env, systemFirst = false, workedIn = [], uid = process.getuid?.() ?? 0 } = search;
  const named = searchPath(env["PATH"])
    .split(delimiter)
    .filter(entry => entry !== "");
  const directories = systemFirst ? [...forEverybody, ...named] : [...named, ...forEverybody];
  const worked = [...workedIn];
  for (const directory of new Set(directories)) {
    const program = programAt(join(directory, name), uid);
    if (program !== null && !worked.some(one => isOf(program, one))) return program;
  }
  return null;
}

/** Whether the program belongs to a project in `directory`: it is below that, and in no system directory. */
export function isOf({ path, real }: Program, directory: string): boolean {
  if (forEverybody.includes(dirname(path))) return false;
  const top = directory.endsWith("/") ? directory : `${directory}/`;
  return path.startsWith(top) || real.startsWith(top);
}

function programAt(path: string, uid: number): Program | null {
  try {
    accessSync(path, constants.X_OK);
    const real = realpathSync(path);
    if (!statSync(real).isFile()) return null;
    const isTrusted = systems.includes(dirname(path)) || [path, real].every(way => isTrustedWay(way, uid));
    return isTrusted ? { path, real } : null;
  } catch {
    // The file is missing or not readable: try the next directory.
    return null;
  }
}

/** Checks the file and its directories, links and their targets. */
function isTrustedWay(path: string, uid: number): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (!isOwned(lstatSync(at), uid) || !isTrusted(statSync(at), uid)) return false;
    if (at === dirname(at)) return true;
  }
}

function isTrusted(stat: Stats, uid: number): boolean {
  const isSticky = stat.isDirectory() && (stat.mode & 0o1000) !== 0;
  return isOwned(stat, uid) && ((stat.mode & 0o002) === 0 || isSticky);
}

function isOwned({ uid: owner }: Stats, uid: number): boolean {
  return owner === 0 || owner === uid;
}

// Reads the arguments and the environment with which a process of this user began.

/**
 * Returns null if the system does not tell. On Linux this is one read of each of two files in `/proc`. Other systems
 * tell no environment, and `ps` shows arguments with blanks between them: a flag's value without a blank is read right.
 */
export function processWords(pid: number): ProcessWords | null {
  if (process.platform !== "linux") {
    const ran = spawnSync("ps", ["-ww", "-o", "args=", "-p", String(pid)], psOptions);
    return ran.status === 0 ? { args: ran.stdout.trim().split(/\s+/), env: null } : null;
  }
  const args = fileOf(`/proc/${pid}/cmdline`);
  const words = fileOf(`/proc/${pid}/environ`);
  if (args === null) return null;
  return { args: args.split("\0"), env: words === null ? null : name => variableIn(words, name) };
}

const psOptions = {
  encoding: "utf8" as const,
  timeout: limits.anchorPollMs,
  maxBuffer: limits.processWordsBytes,
  env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C" },
};

function variableIn(words: string, name: string): string | null {
  const all = `\0${words}`;
  const at = all.indexOf(`\0${name}=`);
  if (at === -1) return null;
  const from = at + name.length + 2;
  const end = all.indexOf("\0", from);
  return all.slice(from, end === -1 ? undefined : end);
}

/** The text of a file that the kernel makes; null if the process is gone, another user's, or says too much. */
function fileOf(path: string): string | null {
  try {
    const text = readFileSync(path, "utf8");
    return text.length > limits.processWordsBytes ? null : text;
  } catch {
    // Gone or hidden: its words are unknown, and nothing depends on why.
    return null;
  }
}
