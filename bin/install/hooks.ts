/** What `kite install` writes for one client: hooks, the tools for agents, and the mode. */
import { resolve } from "node:path";
import { loadConfig } from "../../daemon/config/config.ts";
import type { ClientName } from "../../hooks/claude-code/settings/command.ts";
import { install, plannedFiles, preview } from "../../hooks/claude-code/settings/install.ts";
import { projectSettings, sharedSettings, userSettings } from "../../hooks/claude-code/settings/project.ts";
import {
  addTools,
  hasTools,
  projectServers,
  removeTools,
  type ServerPlace,
  userServers,
} from "../../hooks/claude-code/settings/server.ts";
import { InstallFailed, namingFailures } from "../../hooks/install/failed.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { writeSetting } from "../config/set.ts";
import { chooseClient } from "../hook-client.ts";
import type { ProcessContext } from "../process-context.ts";
import { dist } from "../program-paths.ts";
import type { FileToWrite, InstallDone, InstalledTools, InstallScope } from "../view/install.ts";

export interface InstallFlags {
  readonly project?: string | true;
  readonly shared?: string | true;
  readonly client?: ClientName;
  readonly everyEvent?: boolean;
  /** False with --no-mcp. */
  readonly mcp: boolean;
  readonly allow?: boolean;
  readonly statusline?: boolean;
  readonly observe?: boolean;
  readonly print?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** An install as the flags ask for it; nothing is written yet. */
export interface Plan {
  readonly scope: InstallScope;
  readonly options: Parameters<typeof install>[0];
  readonly place: ServerPlace;
  readonly wantsTools: boolean;
  readonly observe: boolean;
  readonly client: Awaited<ReturnType<typeof chooseClient>>;
}

/** Returns what the flags ask for. Throws InstallFailed if they do not fit together, or no hook client works. */
export async function planOf(world: ProcessContext, flags: InstallFlags): Promise<Plan> {
  const { project, shared } = flags;
  const { env, paths } = world;
  const observe = flags.observe === true;
  if (project !== undefined && shared !== undefined)
    throw new InstallFailed(
      "give either --project (for you) or --shared (for the team); Kite changed nothing",
    );
  if (flags.statusline === true && shared !== undefined)
    throw new InstallFailed("the status line is your own: run kite install --statusline without --shared");
  if (observe && shared !== undefined)
    throw new InstallFailed(
      "--observe is a setting of your own: run kite install --observe without --shared",
    );
  const scope = shared !== undefined ? "shared" : project !== undefined ? "project" : "user";
  const asked = shared ?? project ?? true;
  const dir = resolve(world.cwd, asked === true ? "." : asked);
  const client = await chooseClient(flags.client, dist);
  const settings = {
    user: () => userSettings(env),
    project: () => projectSettings(dir),
    shared: () => sharedSettings(dir, env),
  }[scope]();
  const options = {
    paths,
    settings,
    dist,
    node: process.execPath,
    env,
    client: client.client,
    home: env["KITE_HOME"] || null,
    everyEvent: flags.everyEvent === true,
    allow: flags.allow === true,
    shared: scope === "shared",
    statusLine: flags.statusline === true,
  };
  const place = scope === "user" ? userServers(env) : projectServers(env, dir);
  return { scope, options, place, wantsTools: flags.mcp && !observe, observe, client };
}

/** Writes what the plan says. A second call changes nothing. */
export async function putHooks(
  world: ProcessContext,
  { options, place, wantsTools, observe, client }: Plan,
): Promise<InstallDone> {
  // Before the hooks: none of them may hold anybody up.
  if (observe) await writeSetting(world, "mode", "observe");
  return {
    ...(await install(options)),
    ...client,
    tools: await putTools(options.paths, place, wantsTools),
    ...(await onlyObserves(world)),
  };
}

/** Returns every file that the plan would write, also those that are as it wants them. */
export function filesOf({ options, place, wantsTools, observe }: Plan): readonly FileToWrite[] {
  const { settings, copy, programs, record } = plannedFiles(options);
  const { paths } = options;
  const isTools = hasTools(paths, place);
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
    ...(observe ? [kites(paths.config, "the mode: observe")] : []),
    ...programs.map(path => kites(path, "a program that hooks or the client start")),
    kites(record, "what Kite wrote, for kite uninstall"),
    ...(wantsTools ? [kites(paths.servers, "the same of the tools")] : []),
  ];
}

/** The text of the settings file after it. */
export function settingsAfter({ options }: Plan): string {
  return preview(options);
}

/** Whether Kite only observes, by the settings; nothing: it acts. */
async function onlyObserves({ env, paths }: ProcessContext): Promise<{ readonly mode?: "observe" }> {
  const { values } = await loadConfig({ env, paths });
  return values.mode === "observe" ? { mode: "observe" } : {};
}

/** Reports a failure instead of throwing: the hooks work without the tools and stay installed. */
async function putTools(paths: KitePaths, place: ServerPlace, wanted: boolean): Promise<InstalledTools> {
  const { file } = place;
  try {
    const changed = await namingFailures(() => (wanted ? addTools : removeTools)(paths, place));
    return { file, installed: wanted, changed };
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return { file, installed: false, changed: false, why: error.message };
  }
}
