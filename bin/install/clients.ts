/** The agents' clients that Kite can connect. Another one gets a row here, and a file beside this one. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { InvalidArgumentError, Option } from "commander";
import * as servers from "../../hooks/claude-code/settings/files.ts";
import { projectSettings, sharedSettings, userSettings } from "../../hooks/claude-code/settings/files.ts";
import * as hooks from "../../hooks/claude-code/settings/install.ts";
import { pluginFolders, removePlugins } from "../../hooks/claude-code/settings/plugin.ts";
import { clientName } from "../../hooks/claude-code/spawn.ts";
import { codexEvents, copilotEvents, events, geminiEvents } from "../../hooks/clients/clients.ts";
import {
  codexEntries,
  codexHome,
  clientName as codexName,
  configFile,
  hooksBehind,
  hooksFile,
  hooksOf,
  keysOf,
  toolsAndTrustOf,
  toolsOf,
} from "../../hooks/install/codex.ts";
import { type AppServer, type ListedHook, withAppServer } from "../../hooks/install/codex-app-server.ts";
import { hooksOf as hooksOfCopilot, toolsOf as toolsOfCopilot } from "../../hooks/install/copilot.ts";
import { InstallFailed, namingFailures } from "../../hooks/install/file.ts";
import { settingsOf } from "../../hooks/install/gemini.ts";
import { forget, type Uninstalled, whileClientWrites } from "../../hooks/install/hooks-file.ts";
import { pluginOf, toolsOf as toolsOfOpencode } from "../../hooks/install/opencode.ts";
import { mcpPath } from "../../hooks/install/program.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { shellArgument } from "../../protocol/text.ts";
import { claudeCodeHere, codexHere, copilotHere, geminiHere, opencodeHere } from "../context/clients-here.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { programOnPath } from "../context/programs.ts";
import { checkCodex } from "../doctor/clients.ts";
import { dist, version } from "../version.ts";
import { clean, counted } from "../view/text.ts";
import type { AgentClient, Connection, Disconnected, Place, Wish } from "./client.ts";
import { filesClient } from "./files-client.ts";
import { gitHook } from "./git-client.ts";
import type { FileToWrite, InstalledTools } from "./words.ts";

// Claude Code: its settings with Kite's hooks, the tools for agents, its projects, teams and plugins.

const claudeCode: AgentClient = {
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

// Codex: its hooks and tools for all projects, and the person's trust in them.

const codex: AgentClient = {
  ...filesClient(codexHere, {
    hooks: ({ paths, env }) => hooksOf(paths, env),
    tools: ({ paths, env }) => toolsOf(paths, env),
    lastTools: ({ paths, env }) => toolsAndTrustOf(paths, env),
    leaves: ({ paths, env }) => {
      const moved = hooksBehind(paths, env);
      if (moved === 0) return null;
      const hooks = moved === 1 ? "a hook of yours stood" : `${moved} hooks of yours stood`;
      return `${hooks} behind Kite's in ${hooksFile(env)}; Codex trusts a hook where it stands, so start codex and look at its review: until then it skips what moved`;
    },
    toolsLine: ({ paths }) => `codex mcp add kite -- ${shellArgument(mcpPath(paths.bin))}`,
    events: codexEvents.map(({ event }) => event),
    inForce:
      "in sessions that start once Codex trusts the hooks; until then it skips them, codex exec without a word",
    todo: [
      `to trust the hooks: start codex and look at its review, or kite install --client ${codexName} --trust`,
    ],
  }),
  checks: world => checkCodex(world, missingTrust),
  trust: {
    file: ({ env }) => configFile(env),
    missing: missingTrust,
    give: world =>
      whileClientWrites(world.paths, configFile(world.env), () =>
        askClient(world, async (server, ours) => {
          const missing = (await ours(server)).filter(({ isTrusted }) => !isTrusted);
          if (missing.length > 0) await server.trust(missing);
          const left = (await ours(server)).filter(({ isTrusted }) => !isTrusted);
          if (left.length > 0)
            throw new InstallFailed(
              `Codex still does not trust ${counted(left.length, "hook")} of Kite's: start codex and look at /hooks`,
            );
        }),
      ),
  },
};

async function missingTrust(world: ProcessContext): Promise<number> {
  return await askClient(
    world,
    async (server, ours) => (await ours(server)).filter(one => !one.isTrusted).length,
  );
}

type Ours = (server: AppServer) => Promise<readonly ListedHook[]>;

/** Asks the client. Throws InstallFailed if it does not answer, or does not have every entry of Kite's. */
async function askClient<T>(
  world: ProcessContext,
  work: (server: AppServer, ours: Ours) => Promise<T>,
): Promise<T> {
  const { paths, env } = world;
  const program = programOnPath(world, codexName);
  if (program === null)
    throw new InstallFailed(
      "no codex is in PATH to be asked: start codex, and trust Kite's hooks in its review",
    );
  const keys = keysOf(paths, env);
  const ours: Ours = async server => {
    const { hooks, warnings } = await server.hooks();
    const found = hooks.filter(({ key }) => keys.includes(key));
    if (found.length === codexEntries(null).length) return found;
    const [warning] = warnings;
    if (warning !== undefined) throw new InstallFailed(`Codex does not run all hooks: ${clean(warning)}`);
    throw new InstallFailed(
      `Codex lists ${found.length} of Kite's ${codexEntries(null).length} hooks in ${hooksFile(env)}: to write them, kite install --client codex`,
    );
  };
  return await withAppServer({ program, env, cwd: codexHome(env), version }, server => work(server, ours));
}

// Copilot: Kite's hooks, in a file of their own, and its tools for all projects.

const copilot = filesClient(copilotHere, {
  hooks: ({ paths, env }) => hooksOfCopilot(paths, env),
  tools: ({ paths, env }) => toolsOfCopilot(paths, env),
  events: copilotEvents.map(({ event }) => event),
  inForce: "in sessions of Copilot that start from now on",
});

// Gemini CLI: Kite's hooks and tools for all projects, in one file.

const gemini = filesClient(geminiHere, {
  hooks: ({ paths, env }, hasTools) => settingsOf(paths, env, hasTools),
  tools: null,
  events: geminiEvents.map(({ event }) => event),
  inForce: "in sessions of Gemini CLI that start from now on",
});

// OpenCode: Kite's plugin and tools for all projects.

const opencode = filesClient(opencodeHere, {
  hooks: ({ paths, env }) => pluginOf(paths, env, readFileSync(join(dist, "opencode-plugin.mjs"), "utf8")),
  tools: ({ paths, env }) => toolsOfOpencode(paths, env),
  events,
  inForce: "in sessions of OpenCode that start from now on",
});

/** In the order of questions and lists. The first one is connected where nobody names or is asked for one. */
export const clients: readonly [AgentClient, ...AgentClient[]] = [
  claudeCode,
  codex,
  opencode,
  copilot,
  gemini,
  gitHook,
];

const all = "all";

/** What `--client` takes. */
const clientNames: readonly string[] = [...clients.map(({ name }) => name), all];

/** Returns the clients of these names, in the order of the list; `all` stands for every one that nobody needs to name. */
export function clientsNamed(names: readonly string[]): readonly AgentClient[] {
  return clients.filter(({ name, isByName }) => names.includes(name) || (names.includes(all) && !isByName));
}

/** Returns the clients to connect: `all` stands for those that are here. Throws InstallFailed if none is. */
export function clientsToConnect(world: ProcessContext, names: readonly string[]): readonly AgentClient[] {
  const found = clientsNamed(names).filter(
    client => names.includes(client.name) || client.find(world) !== null,
  );
  if (found.length > 0) return found;
  const known = clients.map(({ name }) => name).join(", ");
  throw new InstallFailed(
    `no client is here of those that Kite knows: ${known}; to connect one all the same, name it, as in kite install --client ${clients[0].name}`,
  );
}

/** Returns the clients that are here, and that nobody needs to name. */
export function clientsHere(world: ProcessContext): readonly AgentClient[] {
  return clients.filter(client => client.isByName !== true && client.find(world) !== null);
}

/** Returns the clients that an uninstall without a name is for: those that a person names go with everything, or by name. */
export function unnamedFor({ scope }: Place): readonly AgentClient[] {
  return clients.filter(({ isByName }) => scope === "all" || isByName !== true);
}

/** Disconnects these clients, one after the other. `isNamed`: it is said of each that had nothing of Kite's, too. */
export async function disconnectAll(
  world: ProcessContext,
  chosen: readonly AgentClient[],
  from: Place,
  isNamed: boolean,
): Promise<Disconnected> {
  const done: Disconnected[] = [];
  for (const client of chosen) {
    const one = await client.disconnect(world, from);
    const isSaid = isNamed || client === clients[0];
    done.push(
      isSaid ? one : { ...one, results: one.results.filter(({ result }) => result !== "nothing_there") },
    );
  }
  return {
    results: done.flatMap(({ results }) => results),
    tools: done.flatMap(({ tools }) => tools),
    left: done.flatMap(({ left }) => left),
    plugins: done.flatMap(({ plugins }) => plugins),
    notes: done.flatMap(({ notes = [] }) => notes),
    failures: done.flatMap(({ failures }) => failures),
  };
}

// The option that names clients, of `kite install` and `kite uninstall`.

/**
 * Takes several names behind one `--client`, or several of them, or names with commas between. `others`: words that it
 * takes besides, and does not offer.
 */
export function clientOption(says: string, others: readonly string[] = []): Option {
  const option = new Option("--client <name...>", says).choices(clientNames);
  return option.argParser<readonly string[]>((value, before = []) => {
    const names = value.split(",");
    const unknown = names.find(name => !clientNames.includes(name) && !others.includes(name));
    if (unknown !== undefined)
      throw new InvalidArgumentError(`Allowed choices are ${clientNames.join(", ")}.`);
    return [...before, ...names];
  });
}
