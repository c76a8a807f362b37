/** Checks the installed hooks: where sessions lack them, whether they are current, whether an event gets through. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants, existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  commandsIn,
  type HookCommand,
  readPlugins,
  settingsAt,
  userSettings,
} from "../../hooks/claude-code/settings/files.ts";
import { InstallFailed, linkTarget, readText } from "../../hooks/install/file.ts";
import { isOurs } from "../../hooks/install/hooks-text.ts";
import { clientFiles, launcherFor, launcherPath, programPaths } from "../../hooks/install/program.ts";
import { installsOf } from "../../hooks/install/records.ts";
import { errorText, jsonProblem } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { shellArgument } from "../../protocol/text.ts";
import { isObject } from "../../protocol/wire.ts";
import type { Client, ProcessContext } from "../context/process-context.ts";
import { rowsOf } from "../context/with-daemon.ts";
import { defined } from "../entry.ts";
import { projectRoot } from "../view/places.ts";
import { listed } from "../view/text.ts";
import { checkCheckouts } from "./checkouts.ts";
import { adviseInstall, isOffEverywhere, oddFile, oddFolder } from "./odd-files.ts";
import { checkSessionPaths } from "./path.ts";
import { type Advice, advise, aside, type Check, fail, ok, warn, withDaemon } from "./results.ts";

// Whether the copies of Kite's programs that hooks run are those of this Kite.

interface CopiesProblem {
  readonly detail: string;
  /** Hooks that run the copies fail. */
  readonly isBroken: boolean;
}

const { R_OK, X_OK } = constants;

/** Returns what is wrong with the copies of this Kite, which was built into `dist`; null if nothing is, or there are none. */
export function copiesProblem(
  { paths, env }: Pick<ProcessContext, "paths" | "env">,
  dist: string,
): CopiesProblem | null {
  const { bin } = paths;
  const shut = oddFolder(bin, R_OK | X_OK);
  if (shut !== null) return { detail: `${shut.what}, so no hook runs`, isBroken: true };
  if (!existsSync(bin)) return null;
  const { node, portable, statusLine } = programPaths(bin);
  const start = launcherPath(bin);
  for (const path of [...clientFiles.map(name => join(bin, name)), portable, statusLine, start]) {
    const detail = unfit(path);
    if (detail !== null) return { detail, isBroken: true };
  }
  const old = clientFiles.find(name => !isSame(join(bin, name), join(dist, name)));
  if (old !== undefined) {
    return { detail: `${join(bin, old)} belongs to another version of Kite`, isBroken: false };
  }
  const detail = unfitNode(node);
  if (detail !== null) return { detail, isBroken: true };
  const program = (text: string) => text.trimEnd().split("\n").at(-1);
  if (program(contentOf(start)) === program(launcherFor({ paths, dist, env }))) return null;
  return { detail: `${start} does not start the daemon of this Kite`, isBroken: false };
}

/** Returns why a program that an install wrote cannot run, or null. */
export function unfit(path: string): string | null {
  const odd = oddFile(path, R_OK | X_OK);
  if (odd !== null) return odd.what;
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return `${path} is missing`;
  return stat.size === 0 ? `${path} is empty` : null;
}

/** The same of the link to Node. */
function unfitNode(node: string): string | null {
  const stat = statSync(node, { throwIfNoEntry: false });
  if (stat?.isDirectory()) return `${node} is a folder, not a link to Node`;
  return stat === undefined
    ? `${node} leads to no program: the Node that started Kite was removed`
    : unfit(realpathSync(node));
}

function isSame(one: string, other: string): boolean {
  const text = contentOf(one);
  return text !== "" && text === contentOf(other);
}

/** Returns the file's text; "" if it does not exist or is no regular file. */
function contentOf(path: string): string {
  try {
    return readText(path, limits.settingsBytes) ?? "";
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return "";
  }
}

// What Kite's entries in a settings file show: their options, and the command that writes them anew.

/** One hook of a settings file. */
export interface FoundHook {
  readonly event: string;
  readonly matcher: unknown;
  readonly entry: unknown;
}

/** Why the client cannot read a file, and what to do. */
export interface Unreadable {
  readonly unreadable: string;
  readonly advice: Advice | string;
}

/** Returns a file of the client, at most `maxBytes` long: its text, null if there is none, or why it is unreadable. */
export function textForClient(file: string, maxBytes: number): { readonly text: string | null } | Unreadable {
  const odd = oddFile(linkTarget(file));
  if (odd !== null) return { unreadable: odd.what, advice: odd.advice };
  const advice = "correct that place";
  try {
    return { text: readText(file, maxBytes) };
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return { unreadable: error.message.replace("; Kite did not change it", ""), advice };
  }
}

/** Returns the settings; null if the file does not exist; why, if the client cannot read it. */
export function readSettings(
  file: string,
): { readonly settings: Readonly<Record<string, unknown>> } | Unreadable | null {
  const read = textForClient(file, limits.settingsBytes);
  if ("unreadable" in read) return read;
  const { text } = read;
  if (text === null) return null;
  const advice = "correct that place";
  if (text.trim() === "") return { unreadable: `${file} is empty`, advice: emptied(file) };
  const problem = jsonProblem(text);
  if (problem !== null) return { unreadable: `${file} is no JSON: ${problem}`, advice };
  const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
  if (isObject(value)) return { settings: value };
  return { unreadable: `${file} does not hold one JSON object`, advice };
}

/** Returns the settings files that the record names; none if it cannot be read, as another check says. */
function recordedFiles({ installs }: Pick<ProcessContext["paths"], "installs">): readonly string[] {
  try {
    return oddFile(installs) === null ? installsOf(installs, null).map(({ file }) => file) : [];
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return [];
  }
}

/** Advice for a file of the client that something emptied. */
export function emptied(file: string): Advice {
  return advise(
    "the client takes it for damaged; put it aside, and install again",
    aside(file),
    "kite install",
  );
}

/** Returns every hook of the settings, in the order of the file. */
export function hooksIn(settings: Readonly<Record<string, unknown>>): FoundHook[] {
  const { hooks } = settings;
  if (!isObject(hooks)) return [];
  return Object.entries(hooks).flatMap(([event, groups]) =>
    (Array.isArray(groups) ? groups : []).flatMap(group => {
      if (!isObject(group) || !Array.isArray(group["hooks"])) return [];
      return group["hooks"].map((entry: unknown) => ({ event, matcher: group["matcher"], entry }));
    }),
  );
}

/** The options of `kite install` that its entries show. */
interface Options {
  readonly everyEvent: boolean;
  /** The entries run the Node client. */
  readonly node: boolean;
}

export function optionsOf(ours: readonly FoundHook[], bin: string): Options {
  return {
    node: JSON.stringify(ours).includes(programPaths(bin).cjs),
    everyEvent: ours.some(({ event }) => event === "PostToolBatch" || event === "MessageDisplay"),
  };
}

/** Returns the line that installs Kite again into a settings file. */
export function installLine(file: string, user: string, { everyEvent, node }: Options): string {
  const isUser = file === linkTarget(user);
  const project = isUser ? [] : ["--project", shellArgument(dirname(dirname(file)))];
  const options = [...(everyEvent ? ["--every-event"] : []), ...(node ? ["--hook-program node"] : [])];
  return ["kite install", ...project, ...options].join(" ");
}

/** Advice to write Kite's programs anew: for the user if Kite is installed so, else for a project or a plugin. */
export function installAgain(world: ProcessContext, say = "install again"): Advice {
  const { paths, env } = world;
  const user = userSettings(env);
  const files = recordedFiles(paths);
  const file = files.includes(linkTarget(user)) ? linkTarget(user) : files.find(one => existsSync(one));
  if (file === undefined) {
    const [plugin] = readPlugins(paths.plugins);
    const line = plugin === undefined ? "kite install" : `kite plugin ${shellArgument(plugin.folder)}`;
    return adviseInstall(world, say, line, user);
  }
  const read = readSettings(file);
  const hooks = read === null || "unreadable" in read ? [] : hooksIn(read.settings);
  const ours = hooks.filter(({ entry }) => isOurs(entry, paths.bin));
  return adviseInstall(world, say, installLine(file, user, optionsOf(ours, paths.bin)), file);
}

// Finds where sessions work without Kite's hooks.

/** How Claude Code names its sessions. */
const claudeId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Returns the directories in which Claude Code's sessions work without Kite's hooks, in the user's and in the project's
 * settings. Edits there take no locks. Omits directories that no longer exist.
 */
export function unhooked(world: ProcessContext, sessions: readonly SessionRow[]): string[] {
  const { bin } = world.paths;
  const has = (settings: string) => commandsIn(settings, bin).length > 0;
  // Sessions of scripts and of `kite lock` in a terminal need no hooks.
  const needing = sessions.filter(({ id }) => claudeId.test(id));
  if (needing.length === 0 || has(userSettings(world.env))) return [];
  const found = new Map<string, boolean>();
  for (const { worktree, project } of needing) {
    if (found.has(worktree) || !existsSync(worktree)) continue;
    const places = new Set([worktree, projectRoot(project)]);
    found.set(worktree, ![...places].flatMap(settingsAt).some(has));
  }
  return [...found].filter(([, isBare]) => isBare).map(([worktree]) => worktree);
}

const namedMax = 3;

/** The directories in half a sentence: the first ones, and how many more. */
export function placesIn(directories: readonly string[]): string {
  return listed(directories.slice(0, namedMax), Math.max(0, directories.length - namedMax));
}

/** Claude Code never sends this event; the daemon only counts it. */
const event = "KiteDoctor";
const roundTrips = 5;

/** Checks that the copies that hooks run equal those of this Kite, which was built into `dist`. */
export function checkCopies(world: ProcessContext, dist: string): Check[] {
  const { paths } = world;
  const check = "hook client";
  if (lstatSync(paths.bin, { throwIfNoEntry: false }) === undefined) return [];
  const problem = copiesProblem(world, dist);
  if (problem === null) return [ok(check, `of this version, in ${paths.bin}`)];
  const { detail, isBroken } = problem;
  return [(isBroken ? fail : warn)(check, detail, installAgain(world))];
}

/** Finds sessions without hooks, and sends an event through each command that installed hooks run. Needs a daemon. */
export function checkLive(world: ProcessContext): Promise<Check[]> {
  return withDaemon(world, client => checkHooks(world, client));
}

async function checkHooks(world: ProcessContext, client: Client): Promise<Check[]> {
  const sessions = await rowsOf(client, "sessions");
  const bare = unhooked(world, sessions);
  const [first] = bare;
  const checks: Check[] = [];
  if (first !== undefined) {
    const detail = `sessions work in ${placesIn(bare)} without hooks: Kite does not coordinate their edits`;
    const only = bare.length === 1 ? shellArgument(first) : "DIR";
    checks.push(
      warn("hooks", detail, advise(`there only: kite install --project ${only}; everywhere`, "kite install")),
    );
  }
  checks.push(...checkSessionPaths(sessions), ...checkCheckouts(sessions));
  // While Kite is off, hooks do not call the daemon; that is no fault.
  if (isOffEverywhere(world)) return checks;
  for (const command of installedCommands(world)) checks.push(await roundTrip(world, client, command));
  return checks;
}

/** Returns the distinct commands of installed hooks, without the arguments behind the hook's own path. */
function installedCommands({ paths, env }: ProcessContext): readonly HookCommand[] {
  // The client itself wrote into the user's settings that it has the plugin.
  const files = new Set([linkTarget(userSettings(env)), ...recordedFiles(paths)]);
  const commands = [...files].flatMap(file => commandsIn(file, paths.bin));
  const program = (word: string) => word.startsWith(`${paths.bin}/hook`);
  const bare = commands.map(({ command, args }) => ({
    command,
    args: args.slice(0, args.findIndex(program) + 1),
  }));
  return [...new Map(bare.map(one => [JSON.stringify(one), one])).values()];
}

/** Sends an event without effect through the hook as installed; the daemon's count shows that it arrived. */
async function roundTrip(
  world: ProcessContext,
  client: Client,
  { command, args }: HookCommand,
): Promise<Check> {
  const check = "hook";
  const program = args.find(word => word.startsWith(`${world.paths.bin}/hook`)) ?? command;
  const reason = unfit(program);
  if (reason !== null) return fail(check, `${reason}, so no event reaches the daemon`, installAgain(world));
  const before = await countOf(client);
  const times: number[] = [];
  for (let n = 0; n < roundTrips; n += 1) {
    const began = performance.now();
    const ended = await run(world, command, [...args, String(limits.hookTurnBudgetMs)]);
    if (ended !== null) {
      return fail(check, `${program} does not run: ${ended}`, installAgain(world));
    }
    times.push(performance.now() - began);
  }
  const arrived = (await countOf(client)) - before;
  if (arrived < roundTrips) {
    const detail = `${program}: ${arrived} of ${roundTrips} events reached the daemon`;
    const reason =
      arrived === 0 ? "Kite's files are in order" : "the daemon did not answer the others in time";
    const todo = `${reason}: run kite doctor again; if it stays so, see ${world.paths.log}`;
    return (arrived === 0 ? fail : warn)(check, detail, todo);
  }
  const median = times.sort((a, b) => a - b)[roundTrips >> 1] ?? 0;
  return ok(check, `${program}: an event and back in ${median.toFixed(1)} ms`);
}

async function countOf(client: Client): Promise<number> {
  const stats = await client.request("stats", {});
  return stats.ok ? (stats.hooks[event] ?? 0) : 0;
}

/** Runs the command as the client does, with a minimal environment. Returns null, or what went wrong. */
async function run(
  { env }: ProcessContext,
  command: string,
  args: readonly string[],
): Promise<string | null> {
  const { HOME, PATH } = env;
  const child = spawn(command, args, {
    env: defined({ HOME, PATH }),
    stdio: ["pipe", "ignore", "ignore"],
    timeout: limits.hookTurnTimeoutMs,
    killSignal: "SIGKILL",
  });
  // If the hook ended before it read the event, its exit code says so.
  child.stdin.on("error", () => undefined);
  child.stdin.end(JSON.stringify({ hook_event_name: event, session_id: "kite-doctor" }));
  try {
    const [code, signal] = await once(child, "close");
    return code === 0 ? null : `it ended with ${signal ?? code}`;
  } catch (error) {
    return errorText(error);
  }
}
