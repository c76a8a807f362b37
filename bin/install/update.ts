/** `kite update` shows which parts of Kite are older than this program, and how to update them. */

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { LocalError } from "../../client/errors.ts";
import { outdatedPlugins } from "../../hooks/claude-code/settings/plugin.ts";
import { clientFiles } from "../../hooks/install/program.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { shellArgument } from "../../protocol/text.ts";
import { type ProcessContext, print, printJson, type Run } from "../context/process-context.ts";
import { neededProgram, runProgram } from "../context/programs.ts";
import { dist, isOlder, isRebuilt, version } from "../version.ts";
import { clean, counted } from "../view/text.ts";
import { clients } from "./clients.ts";

// What the changelog says of versions that are newer than another one.

/** Returns the sections of versions after `old`, each with its heading; none if there are none. */
export function changesSince(changelog: string, old: string): readonly string[] {
  const sections = changelog.split(/^(?=## )/m).filter(text => text.startsWith("## "));
  return sections
    .filter(text => isOlder(old, /^## (\S+)/.exec(text)?.[1] ?? old))
    .map(text => text.trim().slice("## ".length));
}

// The parts of Kite on this machine that may be older than this program, and how each is brought up to date.

/** One part: what it is now, and the command that updates it; null if it is up to date. */
interface Part {
  readonly part: "program" | "daemon" | "hooks" | "plugin";
  readonly now: string;
  readonly todo: string | null;
}

/** The folder of the clone or the package. */
const root = dirname(dist);

interface Parts {
  readonly parts: readonly Part[];
  /** The version of the running daemon; null: none runs. */
  readonly daemon: string | null;
}

/** Returns all parts. With `fetch` it asks the clone's remote first. */
async function partsOf(world: ProcessContext, fetch: boolean): Promise<Parts> {
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

const help = `
Shows each part of Kite on this machine (the program, the daemon, the hooks' client, plugins), which of them are older than
the program, and the command that updates each. It changes nothing, and asks nobody; with --fetch it asks the remote of the
clone that it runs from. If the daemon is older, it shows what the changelog says of the versions since.

--json: {"version", "parts":[{"part", "now", "todo":TEXT|null}], "changes":[...]}

Exit codes: 0 done, 1 failed.

Example:
  $ kite update
  program  version 0.2.0, a clone in /home/ada/kite, as of its last fetch
  daemon   version 0.1.0
             kite down && kite up`;

interface UpdateFlags {
  readonly fetch?: boolean;
  readonly json?: boolean;
}

export function add(command: Command, run: Run): void {
  command
    .option("--fetch", "ask the remote of the clone first")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: UpdateFlags) => run(world => update(world, flags)));
}

async function update(world: ProcessContext, { fetch, json }: UpdateFlags): Promise<number> {
  const { parts, daemon } = await partsOf(world, fetch === true);
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const changes = daemon === null ? [] : changesSince(changelog, daemon);
  if (json) {
    printJson(world, { version, parts, changes });
    return 0;
  }
  const lines = parts.flatMap(({ part, now, todo }) => [
    `${part.padEnd(9)}${now}`,
    ...(todo === null ? [] : [`${" ".repeat(11)}${todo}`]),
  ]);
  print(world, [...lines, ...changes.flatMap(text => ["", ...text.split("\n")])].map(clean));
  if (parts.every(({ todo }) => todo === null)) print(world, ["Everything is of this version."]);
  return 0;
}
