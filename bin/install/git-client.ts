/** Git's hook before a commit, for agents whose clients have no hooks: in the repository around a directory. */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, realpathSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { InstallFailed, namingFailures } from "../../hooks/install/file.ts";
import {
  keptFile,
  preCommitFile,
  preCommitLine,
  preCommitState,
  preCommitText,
  putPreCommit,
  takePreCommit,
} from "../../hooks/install/pre-commit.ts";
import { programPaths } from "../../hooks/install/program.ts";
import { readRecords, writeRecords } from "../../hooks/install/records.ts";
import { searchPath } from "../../protocol/paths.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { programOnPath } from "../context/programs.ts";
import { checkCommitHook } from "../doctor/clients.ts";
import { dist } from "../version.ts";
import type { AgentClient, Connection, Disconnected, Place, Wish } from "./client.ts";
import type { FileToWrite } from "./words.ts";

export const gitHook: AgentClient = {
  name: "git",
  title: "git's hook before a commit",
  isByName: true,
  scopes: ["user", "project"],
  options: [],
  find: world => programOnPath(world, "git"),
  isConnected: ({ paths }) => {
    try {
      return recordsIn(paths.commitHooks).some(file => preCommitState(file) === "kites");
    } catch (error) {
      if (!(error instanceof InstallFailed)) throw error;
      return false;
    }
  },
  plan,
  disconnect,
  checks: async world => {
    const written = recordsIn(world.paths.commitHooks);
    if (written.length === 0) return [];
    const here = hooksHere(world);
    if (here === null) return [];
    const { folder, repository, isCommitted } = here;
    const own = [folder, join(repository, "hooks")].map(preCommitFile);
    return checkCommitHook({ folder, isCommitted, written: written.filter(file => own.includes(file)) });
  },
};

/** Returns the hooks of the repository around the working directory; null: there is none. */
function hooksHere(world: ProcessContext): HooksFolder | null {
  try {
    return hooksIn(world, world.cwd);
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return null;
  }
}

function plan(world: ProcessContext, { dir, program }: Wish): Connection {
  const { paths } = world;
  const { folder, isCommitted, isElsewhere } = hooksIn(world, dir);
  const file = preCommitFile(folder);
  if (isCommitted)
    throw new InstallFailed(
      `${folder} (core.hooksPath) lies in the working tree, so it is the team's, and Kite writes nothing there. Add this line to the pre-commit hook there yourself: ${preCommitLine}`,
    );
  const { node } = programPaths(paths.bin);
  const text = preCommitText({
    home: paths.home,
    socket: paths.socket,
    node: existsSync(node) ? node : process.execPath,
    kite: join(dist, "kite.cjs"),
  });
  const does = (): FileToWrite["does"] => {
    const state = preCommitState(file);
    return state === "none" ? "create" : state === "kites" ? "keep" : "change";
  };
  const where = isElsewhere
    ? `in each repository whose core.hooksPath is ${folder}`
    : "in this repository and all its worktrees";
  return {
    settings: file,
    inForce: `from the next commit on, ${where}`,
    says: [
      ...(existsSync(keptFile(file)) || does() === "change"
        ? [`the hook that was there runs first: ${keptFile(file)}`]
        : []),
      "an agent's commit of a file that another live agent is writing or holds is refused; a person's goes ahead, and is told",
    ],
    undo: `kite uninstall --client ${gitHook.name}`,
    files: () => [
      { path: file, does: does(), of: "the hook" },
      { path: paths.commitHooks, does: "write", of: "what Kite wrote, for kite uninstall" },
    ],
    preview: () => text,
    connect: async () => {
      const known = recordsIn(paths.commitHooks);
      // Kite's folder may not be there yet. The record comes first: what it does not name, no uninstall takes out.
      mkdirSync(paths.home, { recursive: true, mode: 0o700 });
      if (!known.includes(file)) writeRecords(paths.commitHooks, recordName, [...known, file]);
      const changed = putPreCommit(file, text);
      const tools = { file, installed: false, changed: false };
      return { name: gitHook.name, file, changed, backup: null, events: ["pre-commit"], ...program, tools };
    },
  };
}

async function disconnect(world: ProcessContext, { scope, dir }: Place): Promise<Disconnected> {
  const none = { tools: [], left: [], plugins: [] };
  const record = world.paths.commitHooks;
  const failures: string[] = [];
  const tried = async <T>(work: () => T): Promise<T | null> => {
    try {
      return await namingFailures(work);
    } catch (error) {
      if (!(error instanceof InstallFailed)) throw error;
      failures.push(error.message);
      return null;
    }
  };
  if (scope === "shared") return { ...none, results: [], failures };
  const known = (await tried(() => recordsIn(record))) ?? [];
  const here = scope === "all" ? null : await tried(() => preCommitFile(hooksIn(world, dir).folder));
  const files = scope === "all" ? known : here === null ? [] : [here];
  const results: Disconnected["results"][number][] = [];
  const gone: string[] = [];
  for (const file of files) {
    const taken = await tried(() => takePreCommit(file));
    if (taken === null) continue;
    gone.push(file);
    results.push(taken === "removed" ? { file, result: "restored", isGone: true } : { file, result: taken });
  }
  const left = known.filter(file => !gone.includes(file));
  if (left.length < known.length)
    await tried(() => (left.length === 0 ? rmSync(record) : writeRecords(record, recordName, left)));
  return { ...none, results, failures };
}

const recordName = "hooks";

function recordsIn(path: string): readonly string[] {
  return readRecords(path, recordName, (value): value is string => typeof value === "string");
}

interface HooksFolder {
  readonly folder: string;
  /** The repository's own folder, which its worktrees share. */
  readonly repository: string;
  /** It lies in the working tree: what is in it is, or can be, committed. */
  readonly isCommitted: boolean;
  /** It is neither there nor in the repository: other repositories may use it, too. */
  readonly isElsewhere: boolean;
}

/** Returns the folder from which git takes the hooks of the repository around `dir`. Throws InstallFailed if there is none. */
function hooksIn({ env }: ProcessContext, dir: string): HooksFolder {
  const args = ["rev-parse", "--show-toplevel", "--git-common-dir", "--git-path", "hooks"];
  // A hook's variables point git at the repository of the commit.
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("GIT_")));
  const options = { cwd: dir, env: { ...own, PATH: searchPath(env["PATH"]) }, encoding: "utf8" } as const;
  const { status, stdout } = spawnSync("git", args, options);
  const [top, common, hooks] = status === 0 ? stdout.split("\n") : [];
  if (!top || !common || !hooks)
    throw new InstallFailed(
      `${dir} is in no git worktree; run this in one, or name it with --project DIR; Kite changed nothing`,
    );
  const [folder, repository] = [real(resolve(dir, hooks)), real(resolve(dir, common))];
  const isInRepository = folder.startsWith(`${repository}/`);
  const isCommitted = !isInRepository && `${folder}/`.startsWith(`${real(top)}/`);
  return { folder, repository, isCommitted, isElsewhere: !isInRepository && !isCommitted };
}

/** Follows links as far as the path exists. */
function real(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const parent = dirname(path);
  return parent === path ? path : join(real(parent), path.slice(parent.length));
}
