import type { Command } from "commander";
import type { ClientName } from "../../hooks/install/command.ts";
import type { Installed } from "../../hooks/install/install.ts";

interface InstallFlags {
  readonly project?: string | true;
  readonly client?: ClientName;
  readonly everyEvent?: boolean;
  readonly print?: boolean;
  readonly json?: boolean;
}

const help = `
Without --project it writes your own settings, for all projects: ~/.claude/settings.json, or the one in
CLAUDE_CONFIG_DIR. A second time changes nothing; what others wrote there stays as it is, and a copy of the file
as it was is kept beside it. Undo: kite uninstall.

--json: {"file", "changed":true|false, "backup":PATH|null, "events":[...], "client":"perl"|"node", "whyNotPerl"?}

Examples:
  $ kite install
  installed: /home/ada/.claude/settings.json
  $ kite install --project ~/shop --print`;

export function add(program: Command): void {
  program
    .command("install")
    .description("connect Claude Code to Kite: everywhere, or in one project")
    .option(
      "--project [DIR]",
      "write the settings of the project around DIR (or around here) that are yours alone",
    )
    .option("--every-event", "also forward events that come with every message and every batch of calls")
    .addOption(
      program
        .createOption("--client <name>", "what forwards the events; the default is perl where it works")
        .choices(["perl", "node"]),
    )
    .option("--print", "show the settings as they would be, and write nothing")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(install);
}

async function install({ project, client, everyEvent, print, json }: InstallFlags): Promise<void> {
  const { namingFailures } = await import("../../hooks/install/failed.ts");
  const hooks = await import("../../hooks/install/install.ts");
  const { projectSettings, userSettings } = await import("../../hooks/install/project.ts");
  const { kitePaths } = await import("../../protocol/paths.ts");
  const { dist } = await import("../places.ts");
  const { clean } = await import("../view/text.ts");
  await namingFailures(async () => {
    const { env } = process;
    const isProject = project !== undefined;
    const chosen = await choose(client, dist);
    const options = {
      paths: kitePaths(env),
      settings: isProject ? projectSettings(project === true ? "." : project) : userSettings(env),
      dist,
      node: process.execPath,
      env,
      client: chosen.client,
      home: env["KITE_HOME"] || null,
      everyEvent: everyEvent === true,
    };
    if (print) {
      process.stdout.write(hooks.preview(options));
      return;
    }
    const done = { ...(await hooks.install(options)), ...chosen };
    if (json) console.log(JSON.stringify(done));
    else for (const line of linesOf(done, isProject)) console.log(clean(line));
  });
}

interface Chosen {
  readonly client: ClientName;
  /** Why Node's is used though nobody asked for it. */
  readonly whyNotPerl?: string;
}

/** Perl's client where it was seen to work, unless the person says otherwise. */
async function choose(asked: ClientName | undefined, dist: string): Promise<Chosen> {
  if (asked === "node") return { client: "node" };
  const { join } = await import("node:path");
  const { tryPerl } = await import("../../hooks/install/try-client.ts");
  const whyNotPerl = await tryPerl(join(dist, "hook.pl"));
  if (whyNotPerl === null) return { client: "perl" };
  if (asked === undefined) return { client: "node", whyNotPerl };
  const { InstallFailed } = await import("../../hooks/install/failed.ts");
  throw new InstallFailed(`the perl client does not work here: ${whyNotPerl}; leave --client away`);
}

function linesOf(
  { changed, file, backup, events, client, whyNotPerl }: Installed & Chosen,
  isProject: boolean,
): string[] {
  if (!changed) return [`installed already: ${file}; nothing changed`];
  const where = isProject ? "of this project" : "of all projects";
  const undo = isProject ? "kite uninstall --project" : "kite uninstall";
  const kept = backup === null ? [] : [`the file as it was: ${backup}`];
  const why =
    whyNotPerl === undefined ? "" : `, about 20 ms slower: the perl one does not work (${whyNotPerl})`;
  return [
    `installed: ${file}`,
    `hooks: ${[...new Set(events)].join(", ")}`,
    `client: ${client}${why}`,
    ...kept,
    `running sessions ${where} take them up within about a second; undo: ${undo}`,
  ];
}
