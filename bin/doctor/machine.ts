/** Checks the machine: Node, Kite's directory, the length of the socket's path, programs. */
import { constants, existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { findProgram } from "../../daemon/facts/programs.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { shellArgument } from "../../protocol/text.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";
import { type Advice, advise, aside, fail, ok, warn } from "./advice.ts";
import { barred } from "./odd-file.ts";

const nodeMin: readonly [number, number] = [20, 19];

export function checkNode(version: string = process.versions.node): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < nodeMin[0] || (major === nodeMin[0] && minor < nodeMin[1]);
  if (!isOld) return ok("node", version);
  const todo = `install Node ${nodeMin.join(".")} or newer`;
  return fail("node", `${version} is too old`, todo);
}

/** Checks Kite's directory without changing it, so that the person learns if its mode or owner is wrong. */
export function checkHome(world: ProcessContext, uid: number | undefined = process.getuid?.()): Check {
  const { home } = world.paths;
  const check = "home";
  const file = fileAbove(home);
  if (file !== null)
    return fail(
      check,
      `${home} cannot be there: ${file} is a file`,
      "set KITE_HOME to another place, or move that file",
    );
  const stat = lstatSync(home, { throwIfNoEntry: false });
  if (stat === undefined) return ok(check, `${home} does not exist yet; kite up creates it`);
  if (stat.isSymbolicLink()) return fail(check, `${home} is a link`, unlinked(world));
  if (!stat.isDirectory()) {
    const advice = advise("put it aside", aside(home), "kite install", "kite up");
    return fail(check, `${home} is not a directory`, advice);
  }
  if (uid !== undefined && stat.uid !== uid) {
    const detail = `${home} belongs to user ${stat.uid}, not to you (${uid})`;
    return fail(check, detail, "set KITE_HOME to a directory that you own");
  }
  const mode = (stat.mode & 0o777).toString(8).padStart(4, "0");
  const closed = (say: string) => advise(say, `chmod 700 ${shellArgument(home)}`);
  if ((stat.mode & 0o077) !== 0) {
    const detail = `${home} is open to other users (mode ${mode})`;
    return fail(check, detail, closed("if only Kite uses it"));
  }
  if ((stat.mode & 0o700) !== 0o700) {
    const detail = `you may not read and write ${home} (mode ${mode})`;
    return fail(check, detail, closed("permit it"));
  }
  return ok(check, `${home}, yours alone (mode ${mode})`);
}

/** A daemon follows no link in the place of its directory: another user could have put it there. */
function unlinked(world: ProcessContext): Advice {
  const { home } = world.paths;
  const link = shellArgument(home);
  if (!existsSync(home))
    return advise("its target is gone; begin anew", `rm ${link}`, "kite install", "kite up");
  const target = shellArgument(realpathSync(home));
  return advise("put the directory itself there", `rm ${link}`, `mv ${target} ${link}`);
}

/** Returns the file in the place of a folder above the path; null: there is none. */
function fileAbove(path: string): string | null {
  for (let above = dirname(path); above !== dirname(above); above = dirname(above)) {
    try {
      const stat = statSync(above, { throwIfNoEntry: false });
      if (stat !== undefined) return stat.isDirectory() ? null : above;
    } catch (error) {
      // A part of that path is a file: it is found further above. Who may not look there learns so elsewhere.
      if (!isSystemError(error) || error.code !== "ENOTDIR") return null;
    }
  }
  return null;
}

/** Whether nothing in Kite's directory can be looked at: there is none of its own, or this user may not open it. */
export function isHomeless({ paths: { home } }: ProcessContext): boolean {
  if (fileAbove(home) !== null) return true;
  const stat = lstatSync(home, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  return !stat.isDirectory() || barred(home, constants.R_OK | constants.X_OK) !== null;
}

export function checkSocketPath({ paths: { socket } }: ProcessContext): Check {
  const check = "socket path";
  const bytes = Buffer.byteLength(socket);
  const detail = `${bytes} of at most ${limits.socketPathBytes} bytes`;
  if (bytes <= limits.socketPathBytes) return ok(check, detail);
  const todo = "set KITE_HOME to a shorter path; the system truncates longer ones";
  return fail(check, `${socket} has ${detail}`, todo);
}

/** Checks for flock or perl, one of which keeps a second daemon out; Linux has a way without them. */
export function checkTools(
  { env }: ProcessContext,
  platform: string = process.platform,
  find: typeof findProgram = findProgram,
): Check {
  const check = "tools";
  const has = (name: string) => find(name, { env }) !== null;
  const word = (name: string) => (has(name) ? "found" : isProgram(name, env) ? "passed over" : "not found");
  const detail = ["flock", "perl", "git"].map(name => `${name} ${word(name)}`).join(", ");
  if (!has("flock") && !has("perl")) {
    const todo = "install flock (util-linux) or perl: one of them keeps a second daemon out";
    return (platform === "linux" ? warn : fail)(check, detail, todo);
  }
  if (!detail.includes("passed over")) return ok(check, detail);
  const todo =
    "the daemon runs no program in a project or in a world-writable folder: correct the folder's owner and mode, " +
    "or install the program for the whole machine";
  return warn(check, detail, todo);
}

function isProgram(name: string, env: ProcessContext["env"]): boolean {
  return (env["PATH"] ?? "").split(delimiter).some(directory => existsSync(join(resolve(directory), name)));
}
