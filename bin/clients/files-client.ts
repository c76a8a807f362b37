/** A client whose hooks and tools are each in a file of settings, for all projects: what `kite install` does with them. */
import { existsSync } from "node:fs";
import { InstallFailed, namingFailures } from "../../hooks/install/failed.ts";
import {
  type ClientFile,
  plannedHooksFile,
  previewHooksFile,
  putHooksFile,
  takeOutHooksFile,
} from "../../hooks/install/hooks-file.ts";
import { programPaths } from "../../hooks/install/program.ts";
import { programScripts } from "../../hooks/install/scripts.ts";
import { checkClientFile } from "../doctor/client-files.ts";
import type { ProcessContext } from "../process-context.ts";
import { dist } from "../program-paths.ts";
import type { FileToWrite, InstalledTools } from "../view/install.ts";
import type { AgentClient, ClientHere, Connection, Disconnected, Place, Wish } from "./client.ts";

type Where = Pick<ProcessContext, "env" | "paths">;

/** The client's files. */
export interface ClientFiles {
  /** The file with the hooks; `hasTools` matters where it has the tools, too. */
  hooks(where: Where, hasTools: boolean): ClientFile;
  /** Whether the file with the hooks has the tools now, if they are in it. */
  hasTools(where: Where): boolean;
  /** The file with the tools; null: they are in the file with the hooks. */
  readonly tools: ((where: Where) => ClientFile) | null;
  readonly events: readonly string[];
  readonly inForce: string;
}

/** Returns the row of such a client. */
export function filesClient(here: ClientHere, files: ClientFiles): AgentClient {
  return {
    ...here,
    scopes: ["user"],
    options: [],
    plan: (world, wish) => planOf(here.name, files, world, wish),
    disconnect: (world, from) => disconnect(files, world, from),
    checks: async world => checkClientFile(here, world, () => files.hooks(world, files.hasTools(world))),
  };
}

function planOf(name: string, files: ClientFiles, world: ProcessContext, wish: Wish): Connection {
  const { paths, env } = world;
  const { program } = wish;
  const hooks = files.hooks(world, wish.tools);
  const scripts = programScripts(programPaths(paths.bin), {
    hookProgram: program.hookProgram,
    home: env["KITE_HOME"] || null,
  });
  const programs = { dist, node: process.execPath, env, scripts };
  return {
    settings: hooks.settings,
    inForce: files.inForce,
    undo: `kite uninstall --client ${name}`,
    files: () => [
      ...filesOf(hooks, "hooks"),
      ...(wish.tools && files.tools !== null ? filesOf(files.tools(world), "Kite's tools for agents") : []),
    ],
    preview: () => previewHooksFile(hooks),
    connect: async () => {
      const put = await putHooksFile(hooks, programs);
      const tools =
        files.tools === null
          ? { file: put.file, installed: wish.tools, changed: put.changed }
          : await putTools(files.tools(world), wish.tools, programs);
      return { name, ...put, events: files.events, ...program, tools };
    },
  };
}

function filesOf(file: ClientFile, of: string): readonly FileToWrite[] {
  const { settings, copy } = plannedHooksFile(file);
  return [
    { ...settings, of },
    ...(copy === null ? [] : [{ path: copy, does: "create" as const, of: "a copy of it as it is now" }]),
  ];
}

/** Reports a failure instead of throwing: the hooks work without the tools and stay installed. */
async function putTools(
  file: ClientFile,
  wanted: boolean,
  programs: Parameters<typeof putHooksFile>[1],
): Promise<InstalledTools> {
  const { paths, settings, format, without } = file;
  try {
    return await namingFailures(async () => {
      if (wanted) {
        const { changed } = await putHooksFile(file, programs);
        return { file: settings, installed: true, changed };
      }
      const { result } = await takeOutHooksFile(paths, settings, without, format);
      return { file: settings, installed: false, changed: result !== "nothing_there" };
    });
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return { file: settings, installed: false, changed: false, why: error.message };
  }
}

async function disconnect(
  files: ClientFiles,
  world: ProcessContext,
  { scope }: Place,
): Promise<Disconnected> {
  const nothing = { results: [], tools: [], left: [], plugins: [], failures: [] };
  if (scope === "project" || scope === "shared") return nothing;
  const failures: string[] = [];
  const taken = async ({ paths, settings, format, without }: ClientFile) => {
    try {
      return await namingFailures(() => takeOutHooksFile(paths, settings, without, format));
    } catch (error) {
      if (!(error instanceof InstallFailed)) throw error;
      failures.push(error.message);
      return null;
    }
  };
  // The tools first: the last record that goes takes the programs along.
  const tools = files.tools?.(world) ?? null;
  const out = tools === null || !existsSync(tools.settings) ? null : await taken(tools);
  const hooks = await taken(files.hooks(world, false));
  return {
    ...nothing,
    results: hooks === null ? [] : [hooks],
    tools: out === null || out.result === "nothing_there" ? [] : [out.file],
    failures,
  };
}
