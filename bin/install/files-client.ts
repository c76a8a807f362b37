/** A client whose hooks and tools are each in a file of settings, for all projects: what `kite install` does with them. */

import { InstallFailed, linkTarget, namingFailures, readText } from "../../hooks/install/file.ts";
import {
  type ClientFile,
  type PlannedFiles,
  plannedHooksFile,
  previewHooksFile,
  putHooksFile,
  takeOutHooksFile,
} from "../../hooks/install/hooks-file.ts";
import { programPaths, programScripts } from "../../hooks/install/program.ts";
import { limits } from "../../protocol/limits.ts";
import type { ClientHere } from "../context/clients-here.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { checkClientFile } from "../doctor/clients.ts";
import { dist } from "../version.ts";
import type { AgentClient, Connection, Disconnected, Place, Wish } from "./client.ts";
import type { FileToWrite, InstalledTools } from "./words.ts";

type Where = Pick<ProcessContext, "env" | "paths">;

/** The client's files. */
interface ClientFiles {
  /** The file with the hooks; `hasTools` matters where it has the tools, too. */
  hooks(where: Where, hasTools: boolean): ClientFile;
  /** The file with the tools; null: they are in the file with the hooks. */
  readonly tools: ((where: Where) => ClientFile) | null;
  /** The same as it is taken out for good, if that takes out more than the tools. */
  readonly lastTools?: (where: Where) => ClientFile;
  /** The line by which a person adds the tools, if there is one. */
  readonly toolsLine?: (where: Where) => string;
  /** Returns what a person has to know once the hooks are taken out, by the file as it is before. */
  readonly leaves?: (where: Where) => string | null;
  readonly events: readonly string[];
  readonly inForce: string;
  readonly todo?: readonly string[];
}

/** Returns the row of such a client. */
export function filesClient(here: ClientHere, files: ClientFiles): AgentClient {
  return {
    ...here,
    scopes: ["user"],
    options: [],
    plan: (world, wish) => planOf(here.name, files, world, wish),
    disconnect: (world, from) => disconnect(files, world, from),
    isOld: world => here.isConnected(world) && isOther(presentHooks(files, world)),
    checks: async world => checkClientFile(here, world, () => presentHooks(files, world)),
  };
}

/** The file with the hooks as an install leaves it that keeps the tools as they are. */
function presentHooks(files: ClientFiles, world: Where): ClientFile {
  const withTools = files.hooks(world, true);
  const isAllThere = files.tools === null && !isOther(withTools);
  return isAllThere ? withTools : files.hooks(world, false);
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
    ...(files.todo === undefined ? {} : { todo: files.todo }),
    undo: `kite uninstall --client ${name}`,
    files: () => [...hookFiles(hooks), ...(wish.tools ? toolFiles(files, world) : [])],
    preview: () => previewHooksFile(hooks),
    connect: async () => {
      const put = await putHooksFile(hooks, programs);
      const tools =
        files.tools === null
          ? { file: put.file, installed: wish.tools, changed: put.changed }
          : await putTools(files, files.tools(world), world, wish.tools, programs);
      return { name, ...put, events: files.events, ...program, tools };
    },
  };
}

/** The file with the hooks, the programs that they run, and the record. */
function hookFiles(hooks: ClientFile): readonly FileToWrite[] {
  const planned = plannedHooksFile(hooks);
  const program = "a program that hooks or the client start";
  return [
    ...withCopy(planned, "hooks"),
    ...planned.programs.map((path): FileToWrite => ({ path, does: "write", of: program })),
    { path: planned.record, does: "write", of: "what Kite wrote, for kite uninstall" },
  ];
}

/** Nothing where the tools would be refused: the hooks are written all the same. */
function toolFiles({ tools }: ClientFiles, world: Where): readonly FileToWrite[] {
  if (tools === null) return [];
  try {
    return withCopy(plannedHooksFile(tools(world)), "Kite's tools for agents");
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return [];
  }
}

function withCopy({ settings, copy }: PlannedFiles, of: string): readonly FileToWrite[] {
  const copied: FileToWrite[] =
    copy === null ? [] : [{ path: copy, does: "create", of: "a copy of it as it is now" }];
  return [{ ...settings, of }, ...copied];
}

/** Reports a failure instead of throwing: the hooks work without the tools and stay installed. */
async function putTools(
  { toolsLine }: ClientFiles,
  tools: ClientFile,
  world: Where,
  wanted: boolean,
  programs: Parameters<typeof putHooksFile>[1],
): Promise<InstalledTools> {
  const { paths, settings: file, format, without } = tools;
  try {
    return await namingFailures(async () => {
      if (wanted) return { file, installed: true, changed: (await putHooksFile(tools, programs)).changed };
      const had = holdsKites(tools);
      if (had) await takeOutHooksFile(paths, file, without, format);
      return { file, installed: false, changed: had };
    });
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    const line = wanted && toolsLine !== undefined ? `; you can add them: ${toolsLine(world)}` : "";
    return { file, installed: false, changed: false, why: `${error.message}${line}` };
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
  // A failure in one file does not keep what is Kite's in the other.
  const taken = async ({ paths, settings, format, without }: ClientFile) => {
    try {
      return await namingFailures(() => takeOutHooksFile(paths, settings, without, format));
    } catch (error) {
      if (!(error instanceof InstallFailed)) throw error;
      failures.push(error.message);
      return null;
    }
  };
  const hadTools = files.tools !== null && holdsKites(files.tools(world));
  const leaves = files.leaves?.(world) ?? null;
  // The tools first: the last record that goes takes the programs along.
  const last = (files.lastTools ?? files.tools)?.(world) ?? null;
  if (last !== null) await taken(last);
  const hooks = await taken(files.hooks(world, false));
  const tools = hadTools && last !== null ? [last.settings] : [];
  const notes = leaves === null || hooks === null ? [] : [leaves];
  return { ...nothing, results: hooks === null ? [] : [hooks], tools, notes, failures };
}

/** Whether the file has something of Kite's; what the client cannot read either counts as nothing. */
function holdsKites(file: ClientFile): boolean {
  try {
    const text = read(file);
    return text !== null && file.without(text, null) !== text;
  } catch {
    return false;
  }
}

/** Whether the file is not as this version writes it. */
function isOther(file: ClientFile): boolean {
  return read(file) !== previewHooksFile(file);
}

function read({ settings }: ClientFile): string | null {
  return readText(linkTarget(settings), limits.settingsBytes);
}
