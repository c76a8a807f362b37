/** What Kite's entries in a settings file show: their options, and the command that writes them anew. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { readPlugins, userSettings } from "../../hooks/claude-code/settings/files.ts";
import { InstallFailed, linkTarget, readText } from "../../hooks/install/file.ts";
import { isOurs } from "../../hooks/install/hooks-text.ts";
import { programPaths } from "../../hooks/install/program.ts";
import { installsOf } from "../../hooks/install/records.ts";
import { jsonProblem } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { shellArgument } from "../../protocol/text.ts";
import { isObject } from "../../protocol/wire.ts";
import type { ProcessContext } from "../process-context.ts";
import { type Advice, advise, aside } from "./advice.ts";
import { adviseInstall } from "./obstacles.ts";
import { oddFile } from "./odd-file.ts";

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
export function recordedFiles({ installs }: Pick<ProcessContext["paths"], "installs">): readonly string[] {
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
