/** `kite plugin` makes a Claude Code plugin of Kite in a folder. */

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { makePlugin } from "../../hooks/claude-code/settings/plugin.ts";
import { namingFailures } from "../../hooks/install/file.ts";
import type { HookProgram } from "../../hooks/install/hooks-text.ts";
import { shellWord } from "../../protocol/text.ts";
import { type ProcessContext, print, type Run } from "../context/process-context.ts";
import { fail } from "../context/with-daemon.ts";
import { dist, version } from "../version.ts";
import { clean } from "../view/text.ts";
import { chooseHookProgram, hookProgramOption, hookPrograms } from "./hook-program.ts";

interface PluginFlags {
  readonly hookProgram?: HookProgram;
  /** The older name of the same. */
  readonly client?: HookProgram;
  readonly json?: boolean;
}

const help = `
The folder becomes a marketplace with one plugin: hooks, Kite's tools, the commands /kite:status, /kite:tasks and
/kite:claim, and a skill that teaches agents to work beside others. It names no path of this machine, so a team can commit
it. Where kite install or a project's shared settings forward a session's events, the plugin's hooks do nothing.
Update: the same command again; new sessions then have the new plugin. Undo: kite uninstall --all, or claude plugin
uninstall kite@kite.

--json: {"folder", "version", "changed":true|false, "hookProgram":"perl"|"node", "whyNotPerl"?}

Example:
  $ kite plugin ~/kite-plugin
  plugin: /home/ada/kite-plugin, version 0.1.0
  install it: claude plugin marketplace add /home/ada/kite-plugin
  and then: claude plugin install kite@kite`;

export function add(command: Command, run: Run): void {
  command
    .argument("<dir>", "a new or empty folder, or the one of an earlier call")
    .addOption(hookProgramOption())
    .addOption(new Option("--client <name>").choices(hookPrograms).hideHelp())
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((dir: string, flags: PluginFlags) => run(world => plugin(world, dir, flags)));
}

async function plugin(world: ProcessContext, dir: string, flags: PluginFlags): Promise<number> {
  const stat = statSync(resolve(world.cwd, dir), { throwIfNoEntry: false });
  if (stat?.isDirectory() === false)
    return fail(world, flags.json === true, "usage", `${dir} is a file; name a new or an empty folder`);
  const { json } = flags;
  await namingFailures(async () => {
    const { env, paths } = world;
    const chosen = await chooseHookProgram(flags.hookProgram ?? flags.client, dist);
    const made = await makePlugin({
      paths,
      folder: resolve(world.cwd, dir),
      version,
      dist,
      node: process.execPath,
      env,
      ...chosen,
    });
    if (json) {
      print(world, [JSON.stringify({ version, ...made, ...chosen })]);
      return;
    }
    const folder = /^[\w./-]+$/.test(made.folder) ? made.folder : shellWord(made.folder);
    const lines = [
      `plugin: ${made.folder}, version ${version}${made.changed ? "" : "; nothing changed"}`,
      `install it: claude plugin marketplace add ${folder}`,
      "and then: claude plugin install kite@kite",
      "in force: in sessions that start from then on; update: kite plugin with the same folder",
      "try next: /kite:status in a new session; undo: claude plugin uninstall kite@kite",
    ];
    print(world, lines.map(clean));
  });
  return 0;
}
