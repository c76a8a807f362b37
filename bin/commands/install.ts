import type { Command } from "commander";

interface InstallFlags {
  readonly project?: string | true;
  readonly print?: boolean;
  readonly json?: boolean;
}

export function add(program: Command): void {
  program
    .command("install")
    .description("connect the Claude Code sessions of a project to Kite")
    .option(
      "--project [DIR]",
      "write the settings of the project around DIR (or around here) that are yours alone",
    )
    .option("--print", "show the settings as they would be, and write nothing")
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nExample:\n  $ kite install --project\n  installed: /home/ada/shop/.claude/settings.local.json",
    )
    .action(install);
}

async function install({ project, print, json }: InstallFlags): Promise<void> {
  const { InstallFailed, namingFailures } = await import("../../hooks/install/failed.ts");
  if (project === undefined) {
    throw new InstallFailed(
      "this version installs for one project at a time, not yet for all; use `kite install --project [DIR]`",
    );
  }
  const hooks = await import("../../hooks/install/install.ts");
  const { projectSettings } = await import("../../hooks/install/project.ts");
  const { kitePaths } = await import("../../protocol/paths.ts");
  const { dist } = await import("../places.ts");
  const { clean } = await import("../view/text.ts");
  const { join } = await import("node:path");
  await namingFailures(async () => {
    const options = {
      paths: kitePaths(process.env),
      settings: projectSettings(project === true ? "." : project),
      source: join(dist, "hook.cjs"),
      node: process.execPath,
      home: process.env["KITE_HOME"] || null,
    };
    if (print) {
      process.stdout.write(hooks.preview(options));
      return;
    }
    const done = await hooks.install(options);
    if (json) console.log(JSON.stringify(done));
    else for (const line of linesOf(done)) console.log(clean(line));
  });
}

function linesOf({
  changed,
  file,
  backup,
  events,
}: {
  readonly changed: boolean;
  readonly file: string;
  readonly backup: string | null;
  readonly events: readonly string[];
}): string[] {
  if (!changed) return [`installed already: ${file}; nothing changed`];
  const kept = backup === null ? [] : [`the file as it was: ${backup}`];
  return [
    `installed: ${file}`,
    `hooks: ${events.join(", ")}`,
    ...kept,
    "running sessions of this project take them up within about a second; undo: kite uninstall --project",
  ];
}
