/** What Kite's entries in a settings file show: their options, and the command that writes them anew. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { readInstalls } from "../../hooks/claude-code/settings/installs.ts";
import { isOurs } from "../../hooks/claude-code/settings/ours.ts";
import { readPlugins } from "../../hooks/claude-code/settings/plugins.ts";
import { linkTarget, userSettings } from "../../hooks/claude-code/settings/project.ts";
import { InstallFailed } from "../../hooks/install/failed.ts";
import { programPaths } from "../../hooks/install/program.ts";
import { readText } from "../../hooks/install/read-file.ts";
import { jsonProblem } from "../../protocol/json-position.ts";
import { limits } from "../../protocol/limits.ts";
import { shellArgument } from "../../protocol/text.ts";
import { isObject } from "../../protocol/wire.ts";
import type { ProcessContext } from "../process-context.ts";

/** One hook of a settings file. */
export interface FoundHook {
  readonly event: string;
  readonly matcher: unknown;
  readonly entry: unknown;
}

/** Returns a file of the client, at most `maxBytes` long: its text, null if there is none, or why it is unreadable. */
export function textForClient(
  file: string,
  maxBytes: number,
): { readonly text: string | null } | { readonly unreadable: string } {
  try {
    return { text: readText(file, maxBytes) };
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return { unreadable: error.message.replace("; Kite did not change it", "") };
  }
}

/** Returns the settings; null if the file does not exist; a sentence if the client cannot read it. */
export function readSettings(file: string): Readonly<Record<string, unknown>> | string | null {
  const read = textForClient(file, limits.settingsBytes);
  if ("unreadable" in read) return read.unreadable;
  const { text } = read;
  if (text === null) return null;
  const problem = jsonProblem(text);
  if (problem !== null) return `${file} is no JSON: ${problem}`;
  const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
  return isObject(value) ? value : `${file} does not hold one JSON object`;
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
  const options = [...(everyEvent ? ["--every-event"] : []), ...(node ? ["--client node"] : [])];
  return ["kite install", ...project, ...options].join(" ");
}

/** Returns the line that writes Kite's programs anew: for the user if Kite is installed so, else for a project or a plugin. */
export function installAgain({ paths, env }: ProcessContext): string {
  const user = userSettings(env);
  const files = readInstalls(paths.installs).map(({ file }) => file);
  const file = files.includes(linkTarget(user)) ? linkTarget(user) : files.find(one => existsSync(one));
  if (file === undefined) {
    const [plugin] = readPlugins(paths.plugins);
    return plugin === undefined ? "kite install" : `kite plugin ${shellArgument(plugin.folder)}`;
  }
  const settings = readSettings(file);
  const hooks = settings === null || typeof settings === "string" ? [] : hooksIn(settings);
  const ours = hooks.filter(({ entry }) => isOurs(entry, paths.bin));
  return installLine(file, user, optionsOf(ours, paths.bin));
}
