import type { Command } from "commander";

interface UninstallFlags {
  readonly project?: string | true;
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
    .option("--all", "everywhere: in your own settings and in every project")
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExample:\n  $ kite uninstall\n  restored: /home/ada/.claude/settings.json")
    .action(uninstall);
}

const words = {
  restored: "restored",
  edited: "removed Kite's hooks from",
  nothing_there: "no Kite hooks in",
} as const;

async function uninstall({ project, all, json }: UninstallFlags): Promise<void> {
  const { InstallFailed, namingFailures } = await import("../../hooks/install/failed.ts");
  if (project !== undefined && all === true) {
    throw new InstallFailed("give either --project or --all; --all includes the project");
  }
  const hooks = await import("../../hooks/claude-code/settings/install.ts");
  const { projectSettings, userSettings } = await import("../../hooks/claude-code/settings/project.ts");
  const servers = await import("../../hooks/claude-code/settings/server.ts");
  const { kitePaths } = await import("../../protocol/paths.ts");
  const { clean } = await import("../view/text.ts");
  const paths = kitePaths(process.env);
  const results: { readonly file: string; readonly result: keyof typeof words }[] = [];
  const tools: string[] = [];
  const failures: string[] = [];
  await namingFailures(async () => {
    const settings =
      project === undefined ? userSettings(process.env) : projectSettings(project === true ? "." : project);
    const files = all === true ? hooks.installedFiles(paths) : [settings];
    const { env } = process;
    const place =
      project === undefined
        ? servers.userServers(env)
        : servers.projectServers(env, project === true ? "." : project);
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
  });
  if (json) console.log(JSON.stringify({ results, tools, failures }));
  else if (results.length + tools.length + failures.length === 0) console.log("nothing was installed");
  else {
    for (const { file, result } of results) console.log(clean(`${words[result]}: ${file}`));
    for (const file of tools) console.log(clean(`removed Kite's tools from: ${file}`));
  }
  if (failures.length > 0) throw new InstallFailed(failures.map(clean).join("\nkite: "));
}
