/** Checks the machine: Node, Kite's directory, the length of the socket's path, programs. */
import { existsSync, lstatSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { findProgram } from "../../daemon/facts/programs.ts";
import { limits } from "../../protocol/limits.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";

const nodeMin: readonly [number, number] = [20, 19];

export function checkNode(version: string = process.versions.node): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < nodeMin[0] || (major === nodeMin[0] && minor < nodeMin[1]);
  if (!isOld) return { check: "node", result: "ok", detail: version };
  const todo = `install Node ${nodeMin.join(".")} or newer`;
  return { check: "node", result: "fail", detail: `${version} is too old`, todo };
}

/** Checks Kite's directory without changing it, so that the person learns if its mode or owner is wrong. */
export function checkHome(
  { paths: { home } }: ProcessContext,
  uid: number | undefined = process.getuid?.(),
): Check {
  const check = "home";
  const stat = lstatSync(home, { throwIfNoEntry: false });
  if (stat === undefined)
    return { check, result: "ok", detail: `${home} does not exist yet; kite up creates it` };
  const elsewhere = "move it away, or set KITE_HOME to a directory that you own";
  if (stat.isSymbolicLink() || !stat.isDirectory()) {
    const what = stat.isSymbolicLink() ? "a link" : "not a directory";
    return { check, result: "fail", detail: `${home} is ${what}`, todo: elsewhere };
  }
  if (uid !== undefined && stat.uid !== uid) {
    const detail = `${home} belongs to user ${stat.uid}, not to you (${uid})`;
    return { check, result: "fail", detail, todo: elsewhere };
  }
  const mode = (stat.mode & 0o777).toString(8).padStart(4, "0");
  if ((stat.mode & 0o077) !== 0) {
    const todo = `if only Kite uses it: chmod 700 '${home}'`;
    return { check, result: "fail", detail: `${home} is open to other users (mode ${mode})`, todo };
  }
  return { check, result: "ok", detail: `${home}, yours alone (mode ${mode})` };
}

export function checkSocketPath({ paths: { socket } }: ProcessContext): Check {
  const check = "socket path";
  const bytes = Buffer.byteLength(socket);
  const detail = `${bytes} of at most ${limits.socketPathBytes} bytes`;
  if (bytes <= limits.socketPathBytes) return { check, result: "ok", detail };
  const todo = "set KITE_HOME to a shorter path; the system truncates longer ones";
  return { check, result: "fail", detail: `${socket} has ${detail}`, todo };
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
    return { check, result: platform === "linux" ? "warn" : "fail", detail, todo };
  }
  if (!detail.includes("passed over")) return { check, result: "ok", detail };
  const todo =
    "the daemon runs no program in a project or in a world-writable folder: correct the folder's owner and mode, " +
    "or install the program for the whole machine";
  return { check, result: "warn", detail, todo };
}

function isProgram(name: string, env: ProcessContext["env"]): boolean {
  return (env["PATH"] ?? "").split(delimiter).some(directory => existsSync(join(resolve(directory), name)));
}
