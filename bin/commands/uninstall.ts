import { resolve } from "node:path";
import type { Command } from "commander";
import { pluginFolders, removePlugins } from "../../hooks/claude-code/settings/plugin.ts";
import { projectSettings, sharedSettings, userSettings } from "../../hooks/claude-code/settings/project.ts";
import { InstallFailed, namingFailures } from "../../hooks/install/failed.ts";
import { refuseAgent } from "../person.ts";
import { type ProcessContext, print, type Run } from "../process-context.ts";
import { clean } from "../view/text.ts";

interface UninstallFlags {
  readonly project?: string | true;
  readonly shared?: string | true;
  readonly all?: boolean;
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
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExample:\n  $ kite uninstall\n  restored: /home/ada/.claude/settings.json")
    .action((flags: UninstallFlags) => run(world => uninstall(world, flags)));
}

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
  const hooks = await import("../../hooks/claude-code/settings/install.ts");
  const servers = await import("../../hooks/claude-code/settings/server.ts");
  const { env, paths } = world;
  const results: { readonly file: string; readonly result: keyof typeof words }[] = [];
  const tools: string[] = [];
  const failures: string[] = [];
  const left: string[] = [];
  const plugins: string[] = [];
  await namingFailures(async () => {
    const asked = shared ?? project ?? true;
    const dir = resolve(world.cwd, asked === true ? "." : asked);
    const settings = () =>
      shared !== undefined
        ? sharedSettings(dir, env)
        : project !== undefined
          ? projectSettings(dir)
          : userSettings(env);
    const files = all === true ? hooks.installedFiles(paths) : [settings()];
    const place = isForAll ? servers.userServers(env) : servers.projectServers(env, dir);
    // Tools before hooks: removing the last hooks also removes the program that the tools' entries start.
    for (const one of all === true ? [...servers.placesWithTools(paths), place] : [place]) {
      try {
        if (await namingFailures(() => servers.removeTools(paths, one))) tools.push(one.file);
      } catch (error) {
        if (!(error instanceof InstallFailed)) throw error;
        failures.push(error.message);
      }
    }
    for (const file of files) {
      // A failure in one file does not keep the hooks in the other files.
      try {
        results.push(await namingFailures(() => hooks.uninstall(paths, file)));
      } catch (error) {
        if (!(error instanceof InstallFailed)) throw error;
        failures.push(error.message);
      }
    }
    if (all !== true) return;
    left.push(...hooks.sharedFiles(paths));
    for (const file of left) await hooks.forget(paths, file);
    plugins.push(...(pluginFolders(paths).length > 0 ? await removePlugins(paths) : []));
  });
  const count = results.length + tools.length + failures.length + left.length + plugins.length;
  if (json) print(world, [JSON.stringify({ results, tools, failures, left, plugins })]);
  else if (count === 0) print(world, ["nothing was installed"]);
  else {
    const lines = [
      ...results.map(({ file, result }) => `${words[result]}: ${file}`),
      ...tools.map(file => `removed Kite's tools from: ${file}`),
      ...left.map(
        file => `left for your team: ${file}; it does nothing here (kite uninstall --shared removes it)`,
      ),
      ...plugins.map(folder => `removed the plugin in: ${folder}`),
    ];
    if (plugins.length > 0)
      lines.push(
        "if Claude Code has it installed: claude plugin uninstall kite@kite, then claude plugin marketplace remove kite",
      );
    print(world, lines.map(clean));
  }
  if (failures.length > 0) throw new InstallFailed(failures.map(clean).join("\nkite: "));
  return 0;
}
