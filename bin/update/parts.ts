/** The parts of Kite on this machine that may be older than this program, and how each is brought up to date. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LocalError } from "../../client/errors.ts";
import { outdatedPlugins } from "../../hooks/claude-code/settings/plugin.ts";
import { clientFiles } from "../../hooks/install/program.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { shellArgument } from "../../protocol/text.ts";
import { clients } from "../clients/list.ts";
import type { ProcessContext } from "../process-context.ts";
import { dist } from "../program-paths.ts";
import { neededProgram, runProgram } from "../programs.ts";
import { isRebuilt } from "../stale-build.ts";
import { version } from "../version.ts";
import { counted } from "../view/text.ts";

/** One part: what it is now, and the command that updates it; null if it is up to date. */
export interface Part {
  readonly part: "program" | "daemon" | "hooks" | "plugin";
  readonly now: string;
  readonly todo: string | null;
}

/** The folder of the clone or the package. */
export const root = dirname(dist);

export interface Parts {
  readonly parts: readonly Part[];
  /** The version of the running daemon; null: none runs. */
  readonly daemon: string | null;
}

/** Returns all parts. With `fetch` it asks the clone's remote first. */
export async function partsOf(world: ProcessContext, fetch: boolean): Promise<Parts> {
  const program = await programPart(world, fetch);
  const daemon = await daemonVersion(world);
  return {
    parts: [
      program,
      daemonPart(world, daemon),
      ...hookParts(world),
      ...clientParts(world),
      ...pluginParts(world),
    ],
    daemon,
  };
}

async function programPart(world: ProcessContext, fetch: boolean): Promise<Part> {
  const here = shellArgument(root);
  if (!existsSync(join(root, "protocol"))) {
    const now = `version ${version}, a package in ${root}; Kite asks no server for a newer one`;
    return { part: "program", now, todo: fetch ? "npm install -g FILE, with a newer package" : null };
  }
  const git = neededProgram("git", world.env, world.cwd);
  const inRoot = (...words: readonly string[]) =>
    runProgram(git, ["-C", root, ...words], { cwd: root, env: world.env });
  if (fetch) {
    const { code, output } = await inRoot("fetch", "--quiet");
    if (code !== 0) {
      const why = output.trim().split("\n").at(-1) ?? "";
      return { part: "program", now: `version ${version}; its remote does not answer: ${why}`, todo: null };
    }
  }
  const counts = await inRoot("rev-list", "--left-right", "--count", "HEAD...@{upstream}");
  const [ahead = 0, count = 0] = counts.output.trim().split(/\s+/).map(Number);
  const clone = `version ${version}, a clone in ${root}`;
  if (counts.code !== 0)
    return { part: "program", now: `${clone} that follows no remote branch`, todo: null };
  if (count === 0)
    return { part: "program", now: `${clone}${fetch ? "" : ", as of its last fetch"}`, todo: null };
  const changed = await inRoot("status", "--porcelain", "--untracked-files=no");
  const isDirty = changed.output.trim() !== "";
  const own = ahead === 0 ? "" : ` and ${ahead} of its own ahead`;
  const now = `${clone}, ${counted(count, "commit")} behind its remote${own}${isDirty ? ", with files changed by hand" : ""}`;
  const pull = `git -C ${here} pull${ahead === 0 ? "" : " --rebase"}`;
  return { part: "program", now, todo: isDirty ? `git -C ${here} stash && ${pull}` : pull };
}

async function daemonVersion(world: ProcessContext): Promise<string | null> {
  try {
    const client = await world.connect({ name: "kite update" });
    client.close();
    return client.daemon.version;
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return null;
  }
}

function daemonPart({ paths }: ProcessContext, running: string | null): Part {
  if (running === null) return { part: "daemon", now: "not running", todo: null };
  const isOther = running !== version;
  const isStale = !isOther && isRebuilt(paths);
  const now = `version ${running}${isStale ? ", started before the last build" : ""}`;
  return { part: "daemon", now, todo: isOther || isStale ? "kite down && kite up" : null };
}

function hookParts({ paths }: ProcessContext): readonly Part[] {
  if (!existsSync(paths.bin)) return [];
  const isOld = clientFiles.some(name => textOf(join(paths.bin, name)) !== textOf(join(dist, name)));
  const now = isOld ? `of another version, in ${paths.bin}` : `of this version, in ${paths.bin}`;
  return [{ part: "hooks", now, todo: isOld ? "kite install, with the options of the first time" : null }];
}

/** An unusable file is for kite doctor to say. */
function clientParts(world: ProcessContext): readonly Part[] {
  return clients.flatMap(client => {
    try {
      if (client.isOld?.(world) !== true) return [];
    } catch (error) {
      if (!(error instanceof LocalError) && !isSystemError(error)) throw error;
      return [];
    }
    const now = `${client.title}'s entries are of another version`;
    return [{ part: "hooks", now, todo: `kite install --client ${client.name}` } as const];
  });
}

function pluginParts({ paths, env }: ProcessContext): readonly Part[] {
  return outdatedPlugins(paths, version, Boolean(env["KITE_HOME"])).map(({ folder, isOld }) => {
    const now = `${isOld ? "of another version" : "of this version"}, in ${folder}`;
    return { part: "plugin", now, todo: isOld ? `kite plugin ${shellArgument(folder)}` : null };
  });
}

/** Returns the file's bytes as text; "" if it cannot be read, as a file that is not there. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
