/**
 * Which programs the daemon runs. It is started from a shell or a hook, so its PATH may lead into a project: what lies
 * there is the project's, and the daemon runs nothing of a project's. The rule:
 *
 * - a program is looked for in the absolute entries of PATH that are in no `node_modules`, then in the directories in
 *   which systems and package managers put programs for everybody (`flock` and `perl` first in those: two daemons must
 *   take the same one);
 * - it is a regular file that may be run, and it is run by its real path;
 * - it and every directory on the way to it, as named and behind links, belong to root or to this user, and not
 *   everybody may write to them (a directory may be sticky, as /tmp is). A group may write: root or this user gave it
 *   that right, as Homebrew, Debian's /usr/local and users with a group of their own have it. What is in /usr/bin and
 *   /bin is taken as it is: whoever may write there has the machine;
 * - it is not below a directory in which a session works, unless it was found in a directory for everybody.
 */
import { accessSync, constants, lstatSync, realpathSync, type Stats, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { searchPath } from "../../protocol/paths.ts";

const systems: readonly string[] = ["/usr/bin", "/bin"];
const forEverybody: readonly string[] = [
  ...systems,
  "/usr/local/bin",
  "/opt/homebrew/bin",
  "/run/current-system/sw/bin",
];

/** A program: run `real`, and tell it `path` as its name, since one file may be several programs. */
export interface Program {
  readonly path: string;
  readonly real: string;
}

export interface Search {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directories for everybody come before PATH. */
  readonly systemFirst?: boolean;
  /** Directories in which sessions work. */
  readonly workedIn?: Iterable<string>;
  /** Whom files may belong to beside root; this process's user unless told. */
  readonly uid?: number;
}

/** The program of this name that the rule above allows, or null. */
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

/** Whether it is the program of a project in `directory`: below that, and in no directory for everybody. */
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
    // Not there, or not for us: the next directory.
    return null;
  }
}

/** The file and the directories that lead to it, links and what they lead to. */
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
