/** Paths of the client's settings files. */

import { existsSync, mkdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import { isObject } from "../../../protocol/wire.ts";
import {
  InstallFailed,
  linkTarget,
  named,
  readIfAny,
  readText,
  refuseLinked,
  removeText,
  replaceText,
  retried,
  whileLocked,
} from "../../install/file.ts";
import { entriesOf, isEmpty, isOurs, isPortable } from "../../install/hooks-text.ts";
import { addServer, type Made, removeServer } from "../../install/json-text.ts";
import { mcpPath, programPaths } from "../../install/program.ts";
import { isTextOrNull, readRecords, writeRecords } from "../../install/records.ts";

/** Returns the user's settings for all projects: in `CLAUDE_CONFIG_DIR`, else in `.claude` of the home directory. */
export function userSettings(env: Readonly<Record<string, string | undefined>>): string {
  const dir = env["CLAUDE_CONFIG_DIR"] || join(env["HOME"] || homedir(), ".claude");
  return join(resolve(dir), "settings.json");
}

/** Returns a project's private settings file: `.claude/settings.local.json`. */
export function projectSettings(dir: string): string {
  return join(projectRoot(dir), ".claude", "settings.local.json");
}

/** Returns a project's committed settings file: `.claude/settings.json`. Throws if it is the person's own. */
export function sharedSettings(dir: string, env: Readonly<Record<string, string | undefined>>): string {
  const file = join(projectRoot(dir), ".claude", "settings.json");
  if (file !== userSettings(env)) return file;
  throw new InstallFailed(
    `${file} is your own settings file, not a project's; run kite install without --shared`,
  );
}

/**
 * Returns the worktree's root around `dir`, else `dir` itself, as a real path. Searches for `.git` without starting
 * git. Throws if `dir` does not exist.
 */
export function projectRoot(dir: string): string {
  if (!existsSync(dir))
    throw new InstallFailed(`the directory ${resolve(dir)} does not exist; Kite changed nothing`);
  const start = realpathSync(resolve(dir));
  for (let at = start; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === dirname(at)) return start;
  }
}

// Finds Kite's entries in settings files.

/** The command of a hook. Behind Kite's program come a budget in milliseconds and perhaps more arguments. */
export interface HookCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** Returns Kite's entries in a settings file; none if the file does not exist or is unreadable for the client too. */
export function commandsIn(settings: string, bin: string): readonly HookCommand[] {
  try {
    const text = readIfAny(linkTarget(settings), limits.settingsBytes)?.toString("utf8") ?? "{}";
    const found = entriesOf(text, entry => isOurs(entry, bin))
      .filter(isCommand)
      .map(one => resolved(one, bin));
    return enabledPlugin(JSON.parse(text)) !== null ? [...found, portableCommand(bin, [])] : found;
  } catch {
    // The file is unreadable or no JSON, so the client applies none of it.
    return [];
  }
}

/** Returns the settings files that apply in a directory besides the user's. */
export function settingsAt(directory: string): readonly string[] {
  return ["settings.json", "settings.local.json"].map(name => join(directory, ".claude", name));
}

/** Returns an entry that holds on every machine as the command that it is on this one. */
function resolved(entry: HookCommand, bin: string): HookCommand {
  const script = entry.args.findIndex(isPortable);
  return script === -1 ? entry : portableCommand(bin, entry.args.slice(script + 2));
}

function portableCommand(bin: string, args: readonly string[]): HookCommand {
  return { command: "/bin/sh", args: [programPaths(bin).portable, ...args] };
}

/** Returns the id of the plugin that `kite plugin` makes, from any marketplace, if the settings switch it on; else null. */
export function enabledPlugin(settings: unknown): string | null {
  const enabled = isObject(settings) ? settings["enabledPlugins"] : null;
  if (!isObject(enabled)) return null;
  return Object.keys(enabled).find(id => enabled[id] === true && id.startsWith("kite@")) ?? null;
}

function isCommand(entry: unknown): entry is HookCommand {
  if (typeof entry !== "object" || entry === null) return false;
  const { command, args }: { command?: unknown; args?: unknown } = entry;
  return typeof command === "string" && Array.isArray(args) && args.every(a => typeof a === "string");
}

// Records of the plugins that `kite plugin` made.

/** The record of one folder with a plugin. */
export interface PluginRecord {
  /** The folder, as a real path. */
  readonly folder: string;
  /** The files that Kite wrote there, relative to it, each with the hash of its text. */
  readonly files: Readonly<Record<string, string>>;
}

/** Returns all records, one per folder. Throws as `readRecords` does. */
export function readPlugins(path: string): readonly PluginRecord[] {
  return readRecords(path, "plugins", isPluginRecord);
}

export function writePlugins(path: string, plugins: readonly PluginRecord[]): void {
  if (plugins.length === 0) rmSync(path, { force: true });
  else writeRecords(path, "plugins", plugins);
}

function isPluginRecord(value: unknown): value is PluginRecord {
  return (
    isObject(value) &&
    typeof value["folder"] === "string" &&
    isObject(value["files"]) &&
    Object.values(value["files"]).every(hash => typeof hash === "string")
  );
}

// Records of installed tools for agents.

/** The record of one place with Kite's tools. */
interface ServerRecord {
  /** The client's file, with links resolved. */
  readonly file: string;
  /** Null for all projects. */
  readonly project: string | null;
  /** True if Kite created the file. */
  readonly madeFile: boolean;
  /** Null if Kite found the entry in the file without a record. */
  readonly made: Made | null;
}

/** Returns all records. Throws as `readRecords` does. */
function readServers(path: string): readonly ServerRecord[] {
  return readRecords(path, "servers", isServerRecord);
}

function writeServers(path: string, servers: readonly ServerRecord[]): void {
  if (servers.length === 0) rmSync(path, { force: true });
  else writeRecords(path, "servers", servers);
}

function isServerRecord(value: unknown): value is ServerRecord {
  return (
    isObject(value) &&
    typeof value["file"] === "string" &&
    isTextOrNull(value["project"]) &&
    typeof value["madeFile"] === "boolean" &&
    (value["made"] === null || isMade(value["made"]))
  );
}

function isMade(value: unknown): value is Made {
  const isPlace = (from: unknown) => from === null || typeof from === "number";
  return isObject(value) && isPlace(value["from"]) && isTextOrNull(value["empty"]);
}

// Adds Kite's tools to the client's file of servers, and removes them. The client itself writes that file all the time,
// so Kite writes it as a whole, under the client's own lock. Kite keeps no copy of it, because it holds more than
// settings; uninstall removes only the added text.

type Env = Readonly<Record<string, string | undefined>>;

/** A place in the client's file of servers: `project` is null for all projects. */
export interface ServerPlace {
  readonly file: string;
  readonly project: string | null;
}

/** Returns the user's servers: in `CLAUDE_CONFIG_DIR`, else in the home directory. */
export function userServers(env: Env): ServerPlace {
  const dir = env["CLAUDE_CONFIG_DIR"] || env["HOME"] || homedir();
  return { file: join(resolve(dir), ".claude.json"), project: null };
}

/** Returns the user's private servers of one project and all its worktrees. */
export function projectServers(env: Env, dir: string): ServerPlace {
  return { file: userServers(env).file, project: mainRoot(projectRoot(dir)) };
}

/** Adds the server. Returns true if it changed the file. Throws InstallFailed if the file is unusable. */
export async function addTools(paths: KitePaths, place: ServerPlace): Promise<boolean> {
  const file = linkTarget(place.file);
  mkdirSync(dirname(file), { recursive: true });
  const entry = { type: "stdio", command: mcpPath(paths.bin), args: [], env: {} };
  return await change(paths, { ...place, file }, (old, record) => {
    const { text, made } = addServer(old ?? "{}\n", pathOf(place), entry, paths.bin);
    const before: Pick<ServerRecord, "made" | "madeFile"> | undefined = record;
    const fresh = { made: made ?? before?.made ?? null, madeFile: before?.madeFile ?? old === null };
    return { text, record: { ...place, file, ...fresh } };
  });
}

/** Removes the server. Returns true if the file had it. */
export async function removeTools(paths: KitePaths, place: ServerPlace): Promise<boolean> {
  const file = linkTarget(place.file);
  const there = readText(file, limits.clientFileBytes);
  const isIn =
    there !== null && named(file, () => removeServer(there, pathOf(place), paths.bin, null)) !== there;
  // Without anything to undo, this creates no file, not even a lock.
  if (!isIn && !existsSync(paths.servers)) return false;
  return await change(paths, { ...place, file }, (old, record) => {
    const made: Made | null = record?.made ?? null;
    const text = removeServer(old ?? "{}", pathOf(place), paths.bin, made);
    return { text: record?.madeFile === true && isEmpty(text) ? null : text, record: null };
  });
}

/** Returns true if the file has the entry with which the client starts Kite's tools. */
export function hasTools(paths: KitePaths, place: ServerPlace): boolean {
  try {
    const text = readText(linkTarget(place.file), limits.clientFileBytes);
    return text !== null && removeServer(text, pathOf(place), paths.bin, null) !== text;
  } catch {
    return false; // If Kite cannot read the file, the client cannot either.
  }
}

/** Returns the recorded places with Kite's server. */
export function placesWithTools(paths: KitePaths): readonly ServerPlace[] {
  return readServers(paths.servers).map(({ file, project }) => ({ file, project }));
}

type Change = (
  old: string | null,
  record: ServerRecord | undefined,
) => {
  /** The new text; null removes the file. */
  readonly text: string | null;
  readonly record: ServerRecord | null;
};

async function change(paths: KitePaths, place: ServerPlace, work: Change): Promise<boolean> {
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  return await whileLocked(paths.servers, () =>
    whileLocked(place.file, () => {
      const records = readServers(paths.servers);
      return retried(place.file, () => changeNow(paths, place, work, records));
    }),
  );
}

/** Returns true if it wrote, null if another program wrote meanwhile. `records` are those from before the first try. */
function changeNow(
  paths: KitePaths,
  { file, project }: ServerPlace,
  work: Change,
  records: readonly ServerRecord[],
): boolean | null {
  const old = readText(file, limits.clientFileBytes);
  const known = records.find(r => r.file === file && r.project === project);
  const { text, record } = named(file, () => work(old, known));
  if (text !== old) refuseLinked(file);
  // The last place to be removed must remove the file that the first one created.
  const inherits = (r: ServerRecord) => record === null && known?.madeFile === true && r.file === file;
  const others = records.filter(r => r !== known).map(r => (inherits(r) ? { ...r, madeFile: true } : r));
  writeServers(paths.servers, record === null ? others : [...others, record]);
  if (text === old) return false;
  const done = text === null ? old === null || removeText(file, old) : replaceText(file, text, 0o600, old);
  return done ? true : null;
}

function pathOf({ project }: ServerPlace): readonly string[] {
  return project === null ? ["mcpServers"] : ["projects", project, "mcpServers"];
}

/** Returns a worktree's repository, because the client treats all its worktrees as one project. */
function mainRoot(root: string): string {
  const pointer = fileText(join(root, ".git"));
  const [, main] = /^gitdir: (.+)\/\.git\/worktrees\/[^/]+\s*$/.exec(pointer) ?? [];
  return main === undefined ? root : resolve(root, main);
}

/** Returns a small regular file's text; "" for a folder (the main worktree's `.git`) or anything else. */
function fileText(path: string): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return "";
  return readText(path, limits.smallFileBytes) ?? "";
}
