/** Codex: its hooks and tools for all projects, and the person's trust in them. */
import { type AppServer, type ListedHook, withAppServer } from "../../hooks/codex/settings/app-server.ts";
import { codexEntries } from "../../hooks/codex/settings/entries.ts";
import {
  hasTools,
  keysOf,
  toml,
  wantedHooks,
  wantedTools,
  withoutConfig,
  withoutHooks,
} from "../../hooks/codex/settings/files.ts";
import { clientName, codexHome, configFile, hooksFile } from "../../hooks/codex/settings/where.ts";
import { InstallFailed, namingFailures } from "../../hooks/install/failed.ts";
import {
  type PlannedFiles,
  plannedHooksFile,
  previewHooksFile,
  putHooksFile,
  takeOutHooksFile,
  type Uninstalled,
  type Without,
  whileClientWrites,
} from "../../hooks/install/hooks-file.ts";
import { mcpPath } from "../../hooks/install/launcher.ts";
import { programPaths } from "../../hooks/install/program.ts";
import { programScripts } from "../../hooks/install/scripts.ts";
import { shellArgument } from "../../protocol/text.ts";
import { checkCodex, hasOtherEntries } from "../doctor/codex.ts";
import type { ProcessContext } from "../process-context.ts";
import { dist } from "../program-paths.ts";
import { version } from "../version.ts";
import type { FileToWrite, InstalledTools } from "../view/install.ts";
import { clean, counted } from "../view/text.ts";
import {
  type AgentClient,
  type Connection,
  type Disconnected,
  type Place,
  programOnPath,
  type Wish,
} from "./client.ts";
import { codexHere } from "./codex-here.ts";

export const codex: AgentClient = {
  ...codexHere,
  scopes: ["user"],
  options: [],
  plan,
  disconnect,
  isOld: world => codexHere.isConnected(world) && hasOtherEntries(world),
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
  const program = programOnPath(world, clientName);
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

function plan({ paths, env }: ProcessContext, { program, tools }: Wish): Connection {
  const hooks = wantedHooks(paths, env);
  const scripts = programScripts(programPaths(paths.bin), {
    hookProgram: program.hookProgram,
    home: env["KITE_HOME"] || null,
  });
  const programs = { dist, node: process.execPath, env, scripts };
  return {
    settings: hooks.settings,
    inForce:
      "in sessions that start once Codex trusts the hooks; until then it skips them, codex exec without a word",
    todo: [
      `to trust the hooks: start codex and look at its review, or kite install --client ${clientName} --trust`,
    ],
    undo: `kite uninstall --client ${clientName}`,
    files: () => [...filesOf(plannedHooksFile(hooks), "hooks"), ...(tools ? toolFiles(paths, env) : [])],
    preview: () => previewHooksFile(hooks),
    connect: async () => ({
      name: clientName,
      ...(await putHooksFile(hooks, programs)),
      events: codexEntries(null).map(([event]) => event),
      ...program,
      tools: await putTools(paths, env, tools, programs),
    }),
  };
}

function filesOf({ settings, copy, programs, record }: PlannedFiles, of: string): readonly FileToWrite[] {
  return [
    { ...settings, of },
    ...(copy === null ? [] : [{ path: copy, does: "create" as const, of: "a copy of it as it is now" }]),
    ...programs.map(path => ({
      path,
      does: "write" as const,
      of: "a program that hooks or the client start",
    })),
    { path: record, does: "write", of: "what Kite wrote, for kite uninstall" },
  ];
}

/** Nothing where the tools would be refused: the hooks are written all the same. */
function toolFiles(paths: ProcessContext["paths"], env: ProcessContext["env"]): readonly FileToWrite[] {
  try {
    const { settings, copy } = plannedHooksFile(wantedTools(paths, env));
    const of = "Kite's tools for agents";
    return [
      { ...settings, of },
      ...(copy === null ? [] : [{ path: copy, does: "create" as const, of: "a copy of it as it is now" }]),
    ];
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return [];
  }
}

/** Reports a failure instead of throwing: the hooks work without the tools and stay installed. */
async function putTools(
  paths: ProcessContext["paths"],
  env: ProcessContext["env"],
  wanted: boolean,
  programs: Parameters<typeof putHooksFile>[1],
): Promise<InstalledTools> {
  const file = configFile(env);
  try {
    return await namingFailures(async () => {
      if (wanted) {
        const { changed } = await putHooksFile(wantedTools(paths, env), programs);
        return { file, installed: true, changed };
      }
      const had = hasTools(paths, env);
      if (had) await takeOutHooksFile(paths, file, withoutConfig(paths.bin, []), toml);
      return { file, installed: false, changed: had };
    });
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    const line = `codex mcp add kite -- ${shellArgument(mcpPath(paths.bin))}`;
    const why = wanted ? `${error.message}; you can add them: ${line}` : error.message;
    return { file, installed: false, changed: false, why };
  }
}

async function disconnect({ paths, env }: ProcessContext, { scope }: Place): Promise<Disconnected> {
  const nothing = { results: [], tools: [], left: [], plugins: [], failures: [] };
  if (scope === "project" || scope === "shared") return nothing;
  const failures: string[] = [];
  // A failure in one file does not keep Kite's entries in the other.
  const taken = async (file: string, without: Without, format?: typeof toml) => {
    try {
      return await namingFailures(() => takeOutHooksFile(paths, file, without, format));
    } catch (error) {
      if (!(error instanceof InstallFailed)) throw error;
      failures.push(error.message);
      return null;
    }
  };
  const keys = keysOf(paths, env);
  // The tools first: the last record that goes takes the programs along.
  const tools = hasTools(paths, env) ? [configFile(env)] : [];
  await taken(configFile(env), withoutConfig(paths.bin, keys), toml);
  const hooks: Uninstalled | null = await taken(hooksFile(env), withoutHooks(paths.bin));
  return { ...nothing, results: hooks === null ? [] : [hooks], tools, failures };
}
