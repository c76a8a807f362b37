import type { Command } from "commander";
import type { ClientName } from "../../hooks/claude-code/settings/command.ts";
import type { Installed } from "../../hooks/claude-code/settings/install.ts";
import type { ServerPlace } from "../../hooks/claude-code/settings/server.ts";
import type { KitePaths } from "../../protocol/paths.ts";

interface InstallFlags {
  readonly project?: string | true;
  readonly client?: ClientName;
  readonly everyEvent?: boolean;
  /** False with --no-mcp. */
  readonly mcp: boolean;
  readonly allow?: boolean;
  readonly print?: boolean;
  readonly json?: boolean;
}

const help = `
Without --project, install writes your own settings, for all projects: ~/.claude/settings.json, or the one in
CLAUDE_CONFIG_DIR. A second install changes nothing. It keeps every other entry, and a copy of the old file beside it.
An entry in the client's own ~/.claude.json gives agents Kite's tools (MCP); --no-mcp leaves it out, or removes it.
Undo: kite uninstall.

--json: {"file", "changed":true|false, "backup":PATH|null, "events":[...], "client":"perl"|"node", "whyNotPerl"?,
  "tools":{"file", "installed":true|false, "changed":true|false, "why"?}}

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
      "write your private settings of the project around DIR (by default the working directory)",
    )
    .option("--every-event", "also forward the events of every message and every batch of calls")
    .option("--no-mcp", "install no Kite tools for agents")
    .option("--allow", "let agents use these tools without asking you each time")
    .addOption(
      program
        .createOption("--client <name>", "which client forwards the events; by default perl if it works")
        .choices(["perl", "node"]),
    )
    .option("--print", "print the new settings, and write nothing")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action(install);
}

async function install({
  project,
  client,
  everyEvent,
  mcp,
  allow,
  print,
  json,
}: InstallFlags): Promise<void> {
  const { namingFailures } = await import("../../hooks/install/failed.ts");
  const hooks = await import("../../hooks/claude-code/settings/install.ts");
  const { projectSettings, userSettings } = await import("../../hooks/claude-code/settings/project.ts");
  const { projectServers, userServers } = await import("../../hooks/claude-code/settings/server.ts");
  const { kitePaths } = await import("../../protocol/paths.ts");
  const { dist } = await import("../program-paths.ts");
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
      allow: allow === true,
    };
    if (print) {
      process.stdout.write(hooks.preview(options));
      return;
    }
    const place = isProject ? projectServers(env, project === true ? "." : project) : userServers(env);
    const done = {
      ...(await hooks.install(options)),
      ...chosen,
      tools: await putTools(options.paths, place, mcp),
    };
    if (json) console.log(JSON.stringify(done));
    else {
      const { isUnignored } = await import("../git-ignored.ts");
      const isShared = isProject && done.changed && isUnignored(options.settings);
      for (const line of linesOf(done, isProject, isShared)) console.log(clean(line));
    }
  });
}

/** Kite's tools in the client's own file: installed, or why not. */
interface Tools {
  readonly file: string;
  readonly installed: boolean;
  readonly changed: boolean;
  readonly why?: string;
}

/** Reports a failure instead of throwing: the hooks work without the tools and stay installed. */
async function putTools(paths: KitePaths, place: ServerPlace, wanted: boolean): Promise<Tools> {
  const { addTools, removeTools } = await import("../../hooks/claude-code/settings/server.ts");
  const { InstallFailed, namingFailures } = await import("../../hooks/install/failed.ts");
  const { file } = place;
  try {
    const changed = await namingFailures(() => (wanted ? addTools : removeTools)(paths, place));
    return { file, installed: wanted, changed };
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return { file, installed: false, changed: false, why: error.message };
  }
}

interface Chosen {
  readonly client: ClientName;
  /** Why install fell back to Node's client. */
  readonly whyNotPerl?: string;
}

/** Returns perl's client if a trial run of it succeeds, unless the person chose a client. */
async function choose(asked: ClientName | undefined, dist: string): Promise<Chosen> {
  if (asked === "node") return { client: "node" };
  const { join } = await import("node:path");
  const { tryPerl } = await import("../../hooks/claude-code/settings/try-client.ts");
  const whyNotPerl = await tryPerl(join(dist, "hook.pl"));
  if (whyNotPerl === null) return { client: "perl" };
  if (asked === undefined) return { client: "node", whyNotPerl };
  const { InstallFailed } = await import("../../hooks/install/failed.ts");
  throw new InstallFailed(
    `the perl client does not work here: ${whyNotPerl}; run kite install without --client`,
  );
}

function linesOf(
  {
    changed,
    file,
    backup,
    events,
    client,
    whyNotPerl,
    tools,
  }: Installed & Chosen & { readonly tools: Tools },
  isProject: boolean,
  isShared: boolean,
): string[] {
  if (!changed && !tools.changed && tools.why === undefined)
    return [`already installed: ${file}; nothing changed`];
  const where = isProject ? "of this project" : "of all projects";
  const undo = isProject ? "kite uninstall --project" : "kite uninstall";
  const kept = backup === null ? [] : [`copy of the old file: ${backup}`];
  const why =
    whyNotPerl === undefined ? "" : `, about 20 ms slower: the perl client does not work (${whyNotPerl})`;
  return [
    `installed: ${file}`,
    `hooks: ${new Set(events).size} events (--json names them)`,
    `client: ${client}${why}`,
    toolsLine(tools),
    ...kept,
    ...(isShared
      ? ["git does not ignore this file: keep it out of commits, it is valid only on this machine"]
      : []),
    `running sessions ${where} load the hooks within about a second; undo: ${undo}`,
  ];
}

function toolsLine({ file, installed, why }: Tools): string {
  if (why !== undefined) return `tools for agents: not installed, ${why}`;
  return installed ? `tools for agents: ${file}, for new sessions` : "tools for agents: none (--no-mcp)";
}
