/** `kite uninstall` undoes `kite install`. */

import { resolve } from "node:path";
import type { Command } from "commander";
import { projectSettings, userSettings } from "../../hooks/claude-code/settings/files.ts";
import { InstallFailed, namingFailures } from "../../hooks/install/file.ts";
import type { Uninstalled } from "../../hooks/install/hooks-file.ts";
import { refuseAgent } from "../context/person.ts";
import { type ProcessContext, print, type Run } from "../context/process-context.ts";
import { clean } from "../view/text.ts";
import type { Disconnected, Place } from "./client.ts";
import { clientOption, clientsNamed, disconnectAll, unnamedFor } from "./clients.ts";
import { type PartTaken, takeShellParts } from "./shell.ts";

interface UninstallFlags {
  readonly client?: readonly string[];
  readonly project?: string | true;
  readonly shared?: string | true;
  readonly all?: boolean;
  readonly statusline?: boolean;
  readonly json?: boolean;
}

export function add(command: Command, run: Run): void {
  command
    .description("undo `kite install`")
    .option(
      "--project [DIR]",
      "in the project around DIR (by default the working directory), not in your own settings",
    )
    .option("--shared [DIR]", "in the committed settings of the project around DIR, for its whole team")
    .option("--all", "everywhere: your settings, every project, and plugins; not what your teams commit")
    .addOption(clientOption("only these clients; all keeps the command kite and completion"))
    .option("--statusline", "take only Kite's status line out, and keep the hooks")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExample:\n  $ kite uninstall\n  restored: /home/ada/.claude/settings.json")
    .action((flags: UninstallFlags) => run(world => uninstall(world, flags)));
}

/** Where Kite had made the file, it is gone again. */
function wordsOf({ file, result, isGone }: Uninstalled): string {
  return isGone === true ? `removed: ${file}` : `${words[result]}: ${file}`;
}

const shellWords: Readonly<Record<PartTaken["result"], string>> = {
  removed: "removed",
  edited: "removed Kite's lines from",
  changed: "left as it is, since somebody changed it",
};

const statusLineWords = {
  restored: "your status line is as it was before, in",
  removed: "removed Kite's status line from",
  nothing_there: "no status line of Kite's in",
} as const;

const words = {
  restored: "restored",
  edited: "removed Kite's hooks from",
  nothing_there: "no Kite hooks in",
} as const;

async function uninstall(world: ProcessContext, flags: UninstallFlags): Promise<number> {
  const { project, shared, all, json } = flags;
  if ([project, shared, all].filter(one => one !== undefined).length > 1) {
    throw new InstallFailed("give one of --project, --shared and --all; --all includes every project");
  }
  const isForAll = project === undefined && shared === undefined;
  const refused = isForAll ? await refuseAgent(world, json === true, "uninstall") : null;
  if (refused !== null) return refused;
  if (flags.statusline === true) return await takeStatusLine(world, flags);
  const from = placeOf(world, flags);
  const named = flags.client === undefined ? null : clientsNamed(flags.client);
  const taken = await namingFailures(async () => {
    const done = await disconnectAll(world, named ?? unnamedFor(from), from, named !== null);
    return !isForAll || named !== null ? { ...done, shell: [] } : withoutShellParts(world, done);
  });
  if (json) print(world, [takenJson(taken)]);
  // Several entries may have been in one file.
  else print(world, [...new Set(takenLines(taken).map(clean))]);
  const { failures } = taken;
  if (failures.length > 0) throw new InstallFailed(failures.map(clean).join("\nkite: "));
  return 0;
}

/** Takes Kite's status line out of a person's settings, or of a project's. Returns the exit code. */
async function takeStatusLine(
  world: ProcessContext,
  { project, shared, all, json }: UninstallFlags,
): Promise<number> {
  const { uninstallStatusLine } = await import("../../hooks/claude-code/settings/install.ts");
  if (all === true || shared !== undefined)
    throw new InstallFailed(
      "--statusline goes with --project or alone: a team's settings have none of Kite's",
    );
  const file =
    project === undefined
      ? userSettings(world.env)
      : projectSettings(resolve(world.cwd, project === true ? "." : project));
  const done = await namingFailures(() => uninstallStatusLine(world.paths, file));
  print(world, [
    json ? JSON.stringify({ statusLine: done }) : clean(`${statusLineWords[done.taken]}: ${done.file}`),
  ]);
  return 0;
}

function placeOf({ cwd }: ProcessContext, { project, shared, all }: UninstallFlags): Place {
  const directory = shared ?? project ?? true;
  return {
    scope:
      all === true ? "all" : shared !== undefined ? "shared" : project !== undefined ? "project" : "user",
    dir: resolve(cwd, directory === true ? "." : directory),
  };
}

/** What was taken out of the clients, and of the person's shell. */
interface Taken extends Disconnected {
  readonly shell: readonly PartTaken[];
}

/** Takes Kite's parts out of the person's shell, too. */
function withoutShellParts({ paths }: ProcessContext, done: Disconnected): Taken {
  try {
    return { ...done, shell: takeShellParts(paths) };
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return { ...done, shell: [], failures: [...done.failures, error.message] };
  }
}

function takenJson({ results, tools, failures, left, plugins, shell, notes = [] }: Taken): string {
  const shown = results.map(({ file, result }) => ({ file, result }));
  return JSON.stringify({
    ...{ results: shown, tools, failures, left, plugins },
    ...(shell.length === 0 ? {} : { shell }),
    ...(notes.length === 0 ? {} : { notes }),
  });
}

function takenLines({ results, tools, failures, left, plugins, shell, notes = [] }: Taken): string[] {
  const count = results.length + tools.length + failures.length + left.length + shell.length + plugins.length;
  if (count === 0) return ["nothing was installed"];
  const lines = [
    ...results.map(wordsOf),
    ...tools.map(file => `removed Kite's tools from: ${file}`),
    ...left.map(
      file => `left for your team: ${file}; it does nothing here (kite uninstall --shared removes it)`,
    ),
    ...shell.map(({ file, result }) => `${shellWords[result]}: ${file}`),
    ...plugins.map(folder => `removed the plugin in: ${folder}`),
    ...notes,
  ];
  if (plugins.length > 0)
    lines.push(
      "if Claude Code has it installed: claude plugin uninstall kite@kite, then claude plugin marketplace remove kite",
    );
  return lines;
}
