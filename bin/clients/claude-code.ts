/** Claude Code: its settings with Kite's hooks, the tools for agents, its projects, teams and plugins. */

import * as servers from "../../hooks/claude-code/settings/files.ts";
import { projectSettings, sharedSettings, userSettings } from "../../hooks/claude-code/settings/files.ts";
import * as hooks from "../../hooks/claude-code/settings/install.ts";
import { pluginFolders, removePlugins } from "../../hooks/claude-code/settings/plugin.ts";
import { clientName } from "../../hooks/claude-code/spawn.ts";
import { InstallFailed, namingFailures } from "../../hooks/install/file.ts";
import { forget, type Uninstalled } from "../../hooks/install/hooks-file.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import type { ProcessContext } from "../process-context.ts";
import { dist } from "../program-paths.ts";
import type { FileToWrite, InstalledTools } from "../view/install.ts";
import { claudeCodeHere } from "./claude-code-here.ts";
import type { AgentClient, Connection, Disconnected, Place, Wish } from "./client.ts";

export const claudeCode: AgentClient = {
  ...claudeCodeHere,
  scopes: ["user", "project", "shared"],
  options: ["allow", "everyEvent", "statusline"],
  plan,
  disconnect,
};

function plan({ env, paths }: ProcessContext, wish: Wish): Connection {
  const { scope, dir, program } = wish;
  const settings = settingsFile(env, scope, dir);
  const options = {
    paths,
    settings,
    dist,
    node: process.execPath,
    env,
    hookProgram: program.hookProgram,
    home: env["KITE_HOME"] || null,
    everyEvent: wish.everyEvent,
    allow: wish.allow,
    shared: scope === "shared",
    statusLine: wish.statusline,
  };
  const place = scope === "user" ? servers.userServers(env) : servers.projectServers(env, dir);
  const projects = scope === "user" ? "of all projects" : "of this project";
  const commit =
    "commit this file: it does nothing for colleagues without Kite; those with Kite run kite install --shared once";
  return {
    settings,
    todo: scope === "shared" ? [commit] : [],
    inForce: `running sessions ${projects} load the hooks within about a second`,
    undo: `kite uninstall${scope === "user" ? "" : ` --${scope}`}`,
    files: () => filesOf(options, place, wish.tools),
    preview: () => hooks.preview(options),
    connect: async () => ({
      name: clientName,
      ...(await hooks.install(options)),
      ...program,
      tools: await putTools(paths, place, wish.tools),
    }),
  };
}

function settingsFile(env: ProcessContext["env"], scope: Wish["scope"], dir: string): string {
  const files = {
    user: () => userSettings(env),
    project: () => projectSettings(dir),
    shared: () => sharedSettings(dir, env),
  };
  return files[scope]();
}

function filesOf(
  options: hooks.InstallOptions,
  place: servers.ServerPlace,
  wantsTools: boolean,
): readonly FileToWrite[] {
  const { settings, copy, programs, record } = hooks.plannedFiles(options);
  const { paths } = options;
  const isTools = servers.hasTools(paths, place);
  const kites = (path: string, of: string): FileToWrite => ({ path, does: "write", of });
  const tools: FileToWrite[] =
    wantsTools === isTools && !wantsTools
      ? []
      : [
          {
            path: place.file,
            does: wantsTools === isTools ? "keep" : "change",
            of: wantsTools ? "Kite's tools for agents" : "without Kite's tools for agents",
          },
        ];
  return [
    { ...settings, of: "hooks" },
    ...(copy === null ? [] : [{ path: copy, does: "create" as const, of: "a copy of it as it is now" }]),
    ...tools,
    ...programs.map(path => kites(path, "a program that hooks or the client start")),
    kites(record, "what Kite wrote, for kite uninstall"),
    ...(wantsTools ? [kites(paths.servers, "the same of the tools")] : []),
  ];
}

/** Reports a failure instead of throwing: the hooks work without the tools and stay installed. */
async function putTools(
  paths: KitePaths,
  place: servers.ServerPlace,
  wanted: boolean,
): Promise<InstalledTools> {
  const { file } = place;
  try {
    const work = wanted ? servers.addTools : servers.removeTools;
    const changed = await namingFailures(() => work(paths, place));
    return { file, installed: wanted, changed };
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return { file, installed: false, changed: false, why: error.message };
  }
}

async function disconnect({ env, paths }: ProcessContext, { scope, dir }: Place): Promise<Disconnected> {
  const failures: string[] = [];
  // A failure in one file does not keep Kite's entries in the others.
  const tried = async <T>(work: () => T | Promise<T>): Promise<T | null> => {
    try {
      return await namingFailures(work);
    } catch (error) {
      if (!(error instanceof InstallFailed)) throw error;
      failures.push(error.message);
      return null;
    }
  };
  const isForAll = scope === "user" || scope === "all";
  const file = scope === "all" ? null : settingsFile(env, scope, dir);
  const files = file === null ? hooks.installedFiles(paths) : [file];
  const place = isForAll ? servers.userServers(env) : servers.projectServers(env, dir);
  const places = scope === "all" ? [...servers.placesWithTools(paths), place] : [place];
  const tools: string[] = [];
  const results: Uninstalled[] = [];
  // Tools before hooks: removing the last hooks also removes the program that the tools' entries start.
  for (const one of places) if (await tried(() => servers.removeTools(paths, one))) tools.push(one.file);
  for (const one of files) {
    const result = await tried(() => hooks.uninstall(paths, one));
    if (result !== null) results.push(result);
  }
  if (scope !== "all") return { results, tools, left: [], plugins: [], failures };
  const left = hooks.sharedFiles(paths);
  for (const one of left) await forget(paths, one);
  const plugins = pluginFolders(paths).length > 0 ? await removePlugins(paths) : [];
  return { results, tools, left, plugins, failures };
}
