/** Installs the hook clients and the launcher in Kite's `bin` folder. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { InstallFailed } from "./failed.ts";
import { isCode, writeWhole } from "./file.ts";
import { launcherPath, launcherText, mcpPath, mcpText } from "./launcher.ts";
import { readIfAny } from "./read-file.ts";

/** The files that the client's settings name; the names stay the same for every version of Kite, Node or perl. */
export interface Program {
  readonly cjs: string;
  readonly pl: string;
  readonly node: string;
  /** A shell that reads it becomes the chosen client; for entries that name no path of one machine. */
  readonly portable: string;
  /** The client's status line. */
  readonly statusLine: string;
}

/** The texts of the scripts that run the chosen hook client. */
export interface ProgramScripts {
  readonly portable: string;
  readonly statusLine: string;
}

/** The hook clients' file names, in `dist` and in `bin`. */
export const clientFiles = ["hook.cjs", "hook.pl"] as const;

export function programPaths(bin: string): Program {
  return {
    cjs: join(bin, "hook.cjs"),
    pl: join(bin, "hook.pl"),
    node: join(bin, "node"),
    portable: join(bin, "hook"),
    statusLine: join(bin, "statusline"),
  };
}

export interface ProgramOptions {
  readonly paths: Pick<KitePaths, "home" | "bin">;
  /** The folder of the bundles. */
  readonly dist: string;
  readonly node: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly scripts: ProgramScripts;
}

/**
 * Copies both clients from `dist` into `bin`, writes the launcher and points `bin/node` at the present Node. Each step
 * is atomic, so that a hook that starts meanwhile finds the old or the new file. It copies both clients because earlier
 * settings may run the other one. Returns whether a file changed. Throws if another user owns `bin` or its folder.
 */
export function putProgram(options: ProgramOptions): boolean {
  const { paths, dist, node } = options;
  const { bin } = paths;
  mkdirSync(bin, { recursive: true, mode: 0o700 });
  for (const dir of [dirname(bin), bin]) refuseForeign(dir);
  const copied = clientFiles.map(name => putCopy(readFileSync(join(dist, name)), join(bin, name)));
  const { portable, statusLine } = programPaths(bin);
  copied.push(putCopy(Buffer.from(options.scripts.portable), portable));
  copied.push(putCopy(Buffer.from(options.scripts.statusLine), statusLine));
  copied.push(putLink(node, programPaths(bin).node));
  copied.push(putCopy(Buffer.from(launcherFor(options)), launcherPath(bin)));
  const mcp = mcpText({ home: paths.home, node: programPaths(bin).node, kite: join(dist, "kite.cjs") });
  copied.push(putCopy(Buffer.from(mcp), mcpPath(bin)));
  return copied.includes(true);
}

/** Returns the launcher's text as this Kite writes it. */
export function launcherFor({
  paths: { home, bin },
  dist,
  env,
}: Pick<ProgramOptions, "paths" | "dist" | "env">): string {
  return launcherText({ home, node: programPaths(bin).node, kite: join(dist, "kite.cjs"), env });
}

/** Returns the files that `putProgram` writes. */
export function programFiles(bin: string): readonly string[] {
  return [...Object.values(programPaths(bin)), launcherPath(bin), mcpPath(bin)];
}

/** Removes the files that `putProgram` wrote. */
export function removeProgram(bin: string): void {
  for (const path of programFiles(bin)) rmSync(path, { force: true });
  removeIfEmpty(bin);
}

/** Removes a folder if it is empty. */
export function removeIfEmpty(dir: string): void {
  try {
    rmdirSync(dir);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST", "ENOENT"].some(code => isCode(error, code))) throw error;
  }
}

function refuseForeign(dir: string): void {
  const stat = lstatSync(dir);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.()) {
    throw new InstallFailed(`${dir} is not a folder that you own; choose another KITE_HOME`);
  }
}

function putCopy(bytes: Buffer, to: string): boolean {
  const same = readIfAny(to, limits.settingsBytes)?.equals(bytes) ?? false;
  if (!same) writeWhole(to, bytes, 0o755);
  chmodSync(to, 0o755);
  return !same;
}

function putLink(target: string, path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() && readlinkSync(path) === target)
    return false;
  const fresh = `${path}.${process.pid}.new`;
  rmSync(fresh, { force: true });
  symlinkSync(target, fresh);
  renameSync(fresh, path);
  return true;
}
