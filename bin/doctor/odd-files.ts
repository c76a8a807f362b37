/** Says what is wrong with a file of Kite that cannot be used: what stands in its place, or who may not use it. */

import { accessSync, constants, existsSync, lstatSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { isInForce, OffSwitchReader, offFiles, parseOffSwitches } from "../../daemon/config/off-switch.ts";
import { userServers } from "../../hooks/claude-code/settings/files.ts";
import { InstallFailed, kindOf, readText } from "../../hooks/install/file.ts";
import { launcherPath, mcpPath, programPaths } from "../../hooks/install/program.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { shellArgument } from "../../protocol/text.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { stillOff, whatIsOff } from "../settings/off-now.ts";
import { type Advice, advise, aside, type Check, fail, warn } from "./results.ts";

export interface OddFile {
  /** The beginning of a sentence, such as `PATH is a folder, not a regular file`. */
  readonly what: string;
  /** What is to be done; null: it takes another user. */
  readonly line: string | null;
  readonly advice: Advice;
}

/** Asks the system whether this user may use the path so; throws its error if not. */
type Access = (path: string, mode: number) => void;

const { R_OK, W_OK, X_OK } = constants;

/** Returns the sentence's start for a record that could not be read: what stands in its place, or that it is damaged. */
export function damaged(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  const kind = stat === undefined ? null : kindOf(stat);
  if (kind !== null) return `${path} is ${kind}, not a regular file`;
  return stat?.size === 0 ? `${path} is empty` : `${path} is not as Kite writes it`;
}

/** Returns the sentence's start if something other than a regular file, such as a link, is at the path; else null. */
function irregular(path: string): string | null {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  const kind = stat === undefined ? null : kindOf(stat);
  return kind === null ? null : `${path} is ${kind}, not a regular file`;
}

/** Returns why this user cannot use the file in `mode`; null if nothing keeps them from it, or there is none. */
export function oddFile(path: string, mode: number = R_OK): OddFile | null {
  return unusable(path, "file", mode);
}

/** Returns why this user cannot use the folder in `mode`; null if nothing keeps them from it, or there is none. */
export function oddFolder(path: string, mode: number = R_OK | X_OK): OddFile | null {
  return unusable(path, "folder", mode);
}

function unusable(path: string, wanted: "file" | "folder", mode: number): OddFile | null {
  const above = barred(dirname(path), X_OK);
  if (above !== null) return above;
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  const isFit = wanted === "file" ? stat.isFile() : stat.isDirectory();
  if (isFit) return barred(path, mode);
  const kind = kindOf(stat) ?? "a file";
  const what = `${path} is ${kind}, not a ${wanted === "file" ? "regular file" : "folder"}`;
  const line = aside(path);
  return { what, line, advice: advise("put it aside", line) };
}

/**
 * Returns what keeps this user from using the path in `mode`, be it a folder above it; null if nothing does, or nothing
 * is there.
 */
export function barred(path: string, mode: number, access: Access = accessSync): OddFile | null {
  const code = refusalOf(path, mode, access);
  if (code === null || code === "ENOENT" || code === "ENOTDIR") return null;
  const above = dirname(path) === path ? null : barred(dirname(path), X_OK, access);
  if (above !== null) return above;
  if (code === "EROFS") {
    const advice = { todo: "mount it so that it can be written" };
    return { what: `${path} is on a disk that can only be read`, line: null, advice };
  }
  const stat = statSync(path, { throwIfNoEntry: false });
  // It was removed since its name was read.
  if (stat === undefined) return null;
  const lacks = [R_OK, W_OK, X_OK].filter(one => (mode & one) !== 0 && refusalOf(path, one, access) !== null);
  const what = `you may not ${lacks.map(one => verbOf(one, stat.isDirectory())).join(" and ")} ${path}`;
  if (stat.uid !== process.getuid?.()) {
    const advice = { todo: `it belongs to user ${stat.uid}: make it yours` };
    return { what, line: null, advice };
  }
  const bits = stat.isDirectory() || (mode & X_OK) !== 0 ? "rwx" : "rw";
  const line = `chmod u+${bits} ${shellArgument(path)}`;
  return { what, line, advice: advise("allow it", line) };
}

function verbOf(mode: number, isFolder: boolean): string {
  if (mode === R_OK) return "read";
  if (mode === W_OK) return "write";
  return isFolder ? "open" : "run";
}

/** Returns the code of the system's refusal, or null. */
function refusalOf(path: string, mode: number, access: Access): string | null {
  try {
    access(path, mode);
    return null;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return error.code ?? "EACCES";
  }
}

// Checks whether somebody switched Kite off: then nothing is broken, but edits are not coordinated.

const check = "off";

/** Whether Kite is off for everything, so that no hook asks the daemon. */
export function isOffEverywhere(world: ProcessContext): boolean {
  return isInForce(new OffSwitchReader(world.paths.home).read().all, world.now());
}

export function checkOff(world: ProcessContext): Check[] {
  const checks: Check[] = [];
  if (world.env["KITE"] === "off") {
    const detail = "KITE=off is set in this shell: edits of sessions that start here are not coordinated";
    checks.push(warn(check, detail, "switch it on here: unset KITE"));
  }
  const { all, some } = offFiles(world.paths.home);
  const odd = [all, some].find(path => irregular(path) !== null);
  if (odd !== undefined) {
    const detail = `${irregular(odd)}, so kite off and kite on do not work`;
    checks.push(fail(check, detail, advise("remove it", `rm -r ${shellArgument(odd)}`)));
    return checks;
  }
  const shut = oddFile(some);
  if (shut !== null) {
    checks.push(fail(check, `${shut.what}, so kite off and kite on do not work`, shut.advice));
    return checks;
  }
  if (isUnreadable(some)) {
    const detail = `${some} is not as Kite writes it; it switches nothing off`;
    checks.push(warn(check, detail, advise("remove it", `rm ${shellArgument(some)}`)));
  }
  const sentences = whatIsOff(world).map(sentence => sentence.replace(/\. Switch it on: .*$/, ""));
  const lines = commands(world);
  for (const [i, detail] of sentences.entries()) {
    checks.push(warn(check, detail, advise("switch it on", lines[i] ?? "kite on")));
  }
  return checks;
}

/** The commands that end what is off, in the order of `whatIsOff`. */
function commands(world: ProcessContext): string[] {
  const now = world.now();
  const { all, projects, sessions } = new OffSwitchReader(world.paths.home).read();
  return [
    ...(isInForce(all, now) ? ["kite on"] : []),
    ...[...stillOff(projects, now).keys()].map(path => `kite on --project ${shellArgument(path)}`),
    ...[...stillOff(sessions, now).keys()].map(id => `kite on --session ${shellArgument(id)}`),
  ];
}

function isUnreadable(path: string): boolean {
  try {
    const text = readText(path, limits.settingsBytes);
    return text !== null && parseOffSwitches(text) === null;
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return true;
  }
}

// What stands in the way of `kite install`: advice to install begins with what removes it.

/** Advice to run `line`, which installs, and before it what keeps it from writing the programs or the file of settings. */
export function adviseInstall(world: ProcessContext, say: string, line: string, settings: string): Advice {
  const found = obstacles(world, settings);
  const [first] = found;
  if (first === undefined) return advise(say, line);
  const lines = found.flatMap(({ line: one }) => (one === null ? [] : [one]));
  const [begin, ...more] = [...new Set(lines), line];
  const foreign = found.find(one => one.line === null);
  if (foreign !== undefined) return { todo: `${foreign.what}; ${foreign.advice.todo}, then: ${line}` };
  return advise(`an install would fail, since ${first.what}; mend that and ${say}`, begin ?? line, ...more);
}

function obstacles(world: ProcessContext, settings: string): OddFile[] {
  const tools = userServers(world.env).file;
  const found = [
    oddFolder(existing(dirname(settings)), W_OK | X_OK),
    oddFile(settings),
    oddFolder(dirname(tools), W_OK | X_OK),
    oddFile(tools),
    ...oddPrograms(world.paths.bin),
  ];
  return found.filter(odd => odd !== null);
}

function oddPrograms(bin: string): (OddFile | null)[] {
  const shut = oddFolder(bin, R_OK | W_OK | X_OK);
  if (shut !== null) return [shut];
  const { node, ...scripts } = programPaths(bin);
  return [
    ...[...Object.values(scripts), launcherPath(bin), mcpPath(bin)].map(path => oddFile(path)),
    oddLink(node),
  ];
}

/** An install replaces a file or a link, but no folder. */
function oddLink(node: string): OddFile | null {
  if (lstatSync(node, { throwIfNoEntry: false })?.isDirectory() !== true) return null;
  const line = aside(node);
  return { what: `${node} is a folder, not a link`, line, advice: advise("put it aside", line) };
}

/** Returns the path, or the nearest folder above it that is there. */
function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path));
}
