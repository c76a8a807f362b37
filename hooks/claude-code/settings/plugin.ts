/**
 * Makes Kite's plugin for the client: a folder that is a marketplace with one plugin. The plugin names no path of this
 * machine, so a team can share the folder. It runs the programs that an install of Kite put into Kite's `bin` folder.
 */
import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import { InstallFailed } from "../../install/failed.ts";
import { digest, writeWhole } from "../../install/file.ts";
import type { HookProgram } from "../../install/hook-program.ts";
import { readInstalls } from "../../install/installs.ts";
import { whileLocked } from "../../install/lock-file.ts";
import { programPaths, putProgram, removeIfEmpty, removeProgram } from "../../install/program.ts";
import { readText } from "../../install/read-file.ts";
import { programScripts } from "../../install/scripts.ts";
import { pluginFiles } from "./plugin-files.ts";
import { type PluginRecord, readPlugins, writePlugins } from "./plugins.ts";

/** The file that makes a folder a marketplace. */
const catalogue = ".claude-plugin/marketplace.json";

export interface PluginOptions {
  readonly paths: KitePaths;
  readonly folder: string;
  readonly version: string;
  readonly dist: string;
  readonly node: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hookProgram: HookProgram;
}

export interface MadePlugin {
  /** The folder, as a real path. */
  readonly folder: string;
  /** False if every file was already there. */
  readonly changed: boolean;
}

/**
 * Writes the plugin and the programs that it runs. A second call changes nothing. Throws a sentence for the person, and
 * changes nothing, if the folder holds something else.
 */
export async function makePlugin(options: PluginOptions): Promise<MadePlugin> {
  const { paths, version, dist, node, env, hookProgram } = options;
  refuseOthers(resolve(options.folder));
  const scripts = programScripts(programPaths(paths.bin), { hookProgram, home: env["KITE_HOME"] || null });
  const programChanged = putProgram({ paths, dist, node, env, scripts });
  mkdirSync(options.folder, { recursive: true });
  const folder = realpathSync(options.folder);
  const files = pluginFiles({ version, hasOwnHome: Boolean(env["KITE_HOME"]) });
  return await whileLocked(paths.plugins, () => {
    const others = readPlugins(paths.plugins).filter(one => one.folder !== folder);
    const hashes = Object.fromEntries([...files].map(([name, text]) => [name, digest(text)]));
    // The record comes first: after a crash in between, uninstall removes the files that are there.
    writePlugins(paths.plugins, [...others, { folder, files: hashes }]);
    const written = [...files].filter(([name, text]) => putText(join(folder, name), text));
    return { folder, changed: programChanged || written.length > 0 };
  });
}

/** Returns the folders in which Kite made its plugin. */
export function pluginFolders(paths: KitePaths): readonly string[] {
  return readPlugins(paths.plugins).map(({ folder }) => folder);
}

/** Returns each folder with a plugin of Kite, and whether a file there is not that of this version. */
export function outdatedPlugins(
  paths: KitePaths,
  version: string,
  hasOwnHome: boolean,
): readonly { readonly folder: string; readonly isOld: boolean }[] {
  const files = [...pluginFiles({ version, hasOwnHome })];
  return pluginFolders(paths).map(folder => {
    const isOld = files.some(([name, text]) => readText(join(folder, name), limits.settingsBytes) !== text);
    return { folder, isOld };
  });
}

/** Removes the plugins' files that nobody changed, and their records; returns the folders. */
export async function removePlugins(paths: KitePaths): Promise<readonly string[]> {
  if (!existsSync(paths.plugins)) return [];
  return await whileLocked(paths.plugins, () => {
    const plugins = readPlugins(paths.plugins);
    for (const plugin of plugins) removeFiles(plugin);
    writePlugins(paths.plugins, []);
    if (readInstalls(paths.installs).length === 0) removeProgram(paths.bin);
    return plugins.map(({ folder }) => folder);
  });
}

function removeFiles({ folder, files }: PluginRecord): void {
  const folders = new Set<string>();
  for (const [name, hash] of Object.entries(files)) {
    const path = join(folder, name);
    const text = readText(path, limits.settingsBytes);
    if (text !== null && digest(text) === hash) rmSync(path);
    for (let at = dirname(name); at !== "."; at = dirname(at)) folders.add(at);
  }
  // The deepest first.
  const deepest = [...folders].sort((a, b) => b.split("/").length - a.split("/").length);
  for (const name of [...deepest, "."]) removeIfEmpty(join(folder, name));
}

function putText(path: string, text: string): boolean {
  if (readText(path, limits.settingsBytes) === text) return false;
  mkdirSync(dirname(path), { recursive: true });
  writeWhole(path, text, 0o644);
  return true;
}

function refuseOthers(folder: string): void {
  if (!existsSync(folder)) return;
  const isOurs = readText(join(folder, catalogue), limits.settingsBytes)?.includes('"name": "kite"') ?? false;
  if (isOurs || readdirSync(folder).length === 0) return;
  throw new InstallFailed(
    `${folder} holds other files; Kite changed nothing. Choose a new or an empty folder`,
  );
}
