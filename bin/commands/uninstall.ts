import type { Command } from "commander";

interface UninstallFlags {
  readonly project?: string | true;
  readonly shared?: string | true;
  readonly all?: boolean;
  readonly json?: boolean;
}

export function add(program: Command): void {
  program
    .command("uninstall")
    .description("undo `kite install`")
    .option(
      "--project [DIR]",
      "in the project around DIR (by default the working directory), not in your own settings",
    )
    .option("--shared [DIR]", "in the committed settings of the project around DIR, for its whole team")
    .option("--all", "everywhere: your settings, every project, and plugins; not what your teams commit")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExample:\n  $ kite uninstall\n  restored: /home/ada/.claude/settings.json")
    .action(uninstall);
}

const words = {
  restored: "restored",
  edited: "removed Kite's hooks from",
  nothing_there: "no Kite hooks in",
} as const;

async function uninstall({ project, shared, all, json }: UninstallFlags): Promise<void> {
  const { InstallFailed, namingFailures } = await import("../../hooks/install/failed.ts");
  if ([project, shared, all].filter(one => one !== undefined).length > 1) {
    throw new InstallFailed("give one of --project, --shared and --all; --all includes every project");
  }
  const hooks = await import("../../hooks/claude-code/settings/install.ts");
  const { pluginFolders, removePlugins } = await import("../../hooks/claude-code/settings/plugin.ts");
  const { projectSettings, sharedSettings, userSettings } = await import(
    "../../hooks/claude-code/settings/project.ts"
  );
  const servers = await import("../../hooks/claude-code/settings/server.ts");
  const { kitePaths } = await import("../../protocol/paths.ts");
  const { clean } = await import("../view/text.ts");
  const paths = kitePaths(process.env);
  const results: { readonly file: string; readonly result: keyof typeof words }[] = [];
  const tools: string[] = [];
  const failures: string[] = [];
  const left: string[] = [];
  const plugins: string[] = [];
  await namingFailures(async () => {
    const { env } = process;
    const asked = shared ?? project ?? true;
    const dir = asked === true ? "." : asked;
    const settings = () =>
      shared !== undefined
        ? sharedSettings(dir, env)
        : project !== undefined
          ? projectSettings(dir)
          : userSettings(env);
    const files = all === true ? hooks.installedFiles(paths) : [settings()];
    const isUser = project === undefined && shared === undefined;
    const place = isUser ? servers.userServers(env) : servers.projectServers(env, dir);
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
  if (json) console.log(JSON.stringify({ results, tools, failures, left, plugins }));
  else if (count === 0) console.log("nothing was installed");
  else {
    for (const { file, result } of results) console.log(clean(`${words[result]}: ${file}`));
    for (const file of tools) console.log(clean(`removed Kite's tools from: ${file}`));
    for (const file of left) {
      console.log(
        clean(`left for your team: ${file}; it does nothing here (kite uninstall --shared removes it)`),
      );
    }
    for (const folder of plugins) console.log(clean(`removed the plugin in: ${folder}`));
    if (plugins.length > 0) {
      console.log(
        "if Claude Code has it installed: claude plugin uninstall kite@kite, then claude plugin marketplace remove kite",
      );
    }
  }
  if (failures.length > 0) throw new InstallFailed(failures.map(clean).join("\nkite: "));
}
