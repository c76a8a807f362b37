/** Checks the configuration: the user's file, the variables, and the file of the project around the working directory. */

import { constants, existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { loadConfig } from "../../daemon/config/config.ts";
import { readSmall } from "../../daemon/facts/prober.ts";
import { findProgram } from "../../daemon/facts/programs.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { ContextRow } from "../../protocol/schemas/context.ts";
import { shellArgument } from "../../protocol/text.ts";
import { isObject } from "../../protocol/wire.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { type FindRepository, findRepository } from "../context/project.ts";
import { rowsOf } from "../context/with-daemon.ts";
import { settingsInForce } from "../settings/off-now.ts";
import { projectRoot } from "../view/places.ts";
import { clean, counted, duration, listed } from "../view/text.ts";
import { barred, oddFile } from "./odd-files.ts";
import { type Advice, advise, aside, type Check, fail, ok, warn, withDaemon } from "./results.ts";

const check = "config";

export async function checkConfig(
  world: ProcessContext,
  find: FindRepository = findRepository,
): Promise<Check[]> {
  const { env, paths } = world;
  const repository = await find(world.cwd);
  const project = "project" in repository ? { projectDir: repository.project } : {};
  const { problems, values } = await loadConfig({ env, paths, ...project });
  const rest = [...(values.mode === "observe" ? [observes()] : []), ...(await daemonChecks(world))];
  if ("unreachable" in repository) {
    const detail = `the configuration of the project around ${world.cwd} was not read: ${repository.unreachable}`;
    const todo = "try again when the machine is less busy: kite doctor";
    return [warn(check, detail, todo), ...(await problemChecks(world, problems)), ...rest];
  }
  if (problems.length === 0) return [ok(check, "every value is valid"), ...rest];
  return [...(await problemChecks(world, problems)), ...rest];
}

/** What the running daemon does with the settings as they are now. */
async function daemonChecks(world: ProcessContext): Promise<Check[]> {
  const { problem, waiting } = (await settingsInForce(world)) ?? { problem: null, waiting: [] };
  const later = waiting.map(key =>
    warn(
      check,
      `${key} has another value than the running daemon`,
      advise("it counts from its next start", "kite down", "kite up"),
    ),
  );
  if (problem === null) return later;
  const kept = "the running daemon keeps the settings that it read before";
  return [warn(check, kept, "correct the file that is ignored: the daemon reads it again at once"), ...later];
}

/** A person chose it, so `--fix` does not end it. */
function observes(): Check {
  const detail = "Kite only observes: it records what it would do, and no edit waits or is denied";
  return warn(
    "mode",
    detail,
    "see what it would have done: kite stats; let it act: kite config set mode act",
  );
}

async function problemChecks(world: ProcessContext, problems: readonly string[]): Promise<Check[]> {
  const wrong = await wrongKeys(world);
  return problems.map(detail => {
    const isLong = detail.startsWith("yieldMs (") && detail.includes(`${world.paths.config}) must be less`);
    const key = isLong ? "yieldMs" : wrong.get(detail);
    return warn(check, detail, adviceFor(world, detail, key));
  });
}

function adviceFor(world: ProcessContext, problem: string, key: string | undefined): Advice | string {
  const { config } = world.paths;
  const [file = join(".kite", "config.json")] = /^\/\S+/.exec(problem) ?? [];
  const path = file.replace(/:$/, "");
  const odd = problem.includes(" is ignored: ") && isAbsolute(path) ? oddFile(path) : null;
  if (odd !== null) return odd.advice;
  if (key !== undefined)
    return advise(
      "give it a valid value (kite config set), or leave it out",
      `kite config unset ${shellArgument(key)}`,
    );
  if (problem.startsWith(`${config} is ignored`))
    return advise("correct that place; or put the file aside, as nothing of it counts", aside(config));
  const [, variable] = /\b(KITE_[A-Z_]+)\b/.exec(problem) ?? [];
  if (variable !== undefined) return `correct the variable where your shell sets it: unset ${variable}`;
  return `correct it in ${path}, then see: kite config`;
}

/** Returns the keys of the user's file that are wrong by themselves, by the sentence that says so. */
async function wrongKeys({ paths }: ProcessContext): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const [key, value] of Object.entries(await ownSettings(paths.config))) {
    const alone = () => Promise.resolve(JSON.stringify({ [key]: value }));
    const { problems } = await loadConfig({ env: {}, paths, read: alone });
    for (const problem of problems) found.set(problem, key);
  }
  return found;
}

/** Returns the values of the user's file by key, valid or not; none if the file is missing or no JSON. */
export async function ownSettings(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const value: unknown = JSON.parse((await readSmall(path)) ?? "");
    return isObject(value) ? value : {};
  } catch {
    // The problems already say that the file is missing or no JSON.
    return {};
  }
}

// Checks the machine: Node, Kite's directory, the length of the socket's path, programs.

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

// Names the shared values that go soon because nobody uses them, and how to keep them.

const namesMax = 10;

/** Returns no check if no value goes. Needs a daemon. */
export function checkContext(world: ProcessContext): Promise<Check[]> {
  return withDaemon(world, async client => leaving(await rowsOf(client, "context")));
}

/** The values that go first are named. */
export function leaving(rows: readonly ContextRow[]): Check[] {
  const going = rows
    .flatMap(row => (row.leavesInMs === undefined ? [] : [{ ...row, leavesInMs: row.leavesInMs }]))
    .sort((a, b) => a.leavesInMs - b.leavesInMs);
  const [first] = going;
  if (first === undefined) return [];
  const names = going
    .slice(0, namesMax)
    .map(({ key, project, leavesInMs }) => `${key} of ${projectRoot(project)} in ${duration(leavesInMs)}`);
  const detail = `${counted(going.length, "shared value")} that nobody used for long will go: ${listed(names, going.length - names.length)}`;
  const line = `cd ${shellArgument(projectRoot(first.project))} && kite context get ${shellArgument(first.key)}`;
  return [warn("context", clean(detail), `to keep one, read it or set it again, such as: ${line}`)];
}
