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
Without --project it writes your own settings, for all projects: ~/.claude/settings.json, or the one in
CLAUDE_CONFIG_DIR. A second time changes nothing; what others wrote there stays as it is, and a copy of the file
as it was is kept beside it. Agents get Kite's tools (MCP) by an entry in the client's own ~/.claude.json; --no-mcp
leaves it out, or takes it out. Undo: kite uninstall.

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
      "write the settings of the project around DIR (or around here) that are yours alone",
    )
    .option("--every-event", "also forward events that come with every message and every batch of calls")
    .option("--no-mcp", "leave Kite's tools for agents out")
    .option("--allow", "let agents use these tools without asking you each time")
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

/** Kite's tools in the client's own file: there, or why not. */
interface Tools {
  readonly file: string;
  readonly installed: boolean;
  readonly changed: boolean;
  readonly why?: string;
}

/** Without tools Kite does what it did: so whatever keeps them out is said, and the rest stays installed. */
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
  /** Why Node's is used though nobody asked for it. */
  readonly whyNotPerl?: string;
}

/** Perl's client where it was seen to work, unless the person says otherwise. */
async function choose(asked: ClientName | undefined, dist: string): Promise<Chosen> {
  if (asked === "node") return { client: "node" };
  const { join } = await import("node:path");
  const { tryPerl } = await import("../../hooks/claude-code/settings/try-client.ts");
  const whyNotPerl = await tryPerl(join(dist, "hook.pl"));
  if (whyNotPerl === null) return { client: "perl" };
  if (asked === undefined) return { client: "node", whyNotPerl };
  const { InstallFailed } = await import("../../hooks/install/failed.ts");
  throw new InstallFailed(`the perl client does not work here: ${whyNotPerl}; leave --client away`);
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
    return [`installed already: ${file}; nothing changed`];
  const where = isProject ? "of this project" : "of all projects";
  const undo = isProject ? "kite uninstall --project" : "kite uninstall";
  const kept = backup === null ? [] : [`the file as it was: ${backup}`];
  const why =
    whyNotPerl === undefined ? "" : `, about 20 ms slower: the perl one does not work (${whyNotPerl})`;
  return [
    `installed: ${file}`,
    `hooks: ${new Set(events).size} events (--json names them)`,
    `client: ${client}${why}`,
    toolsLine(tools),
    ...kept,
    ...(isShared
      ? ["git does not ignore this file: keep it out of commits, it is for this machine alone"]
      : []),
    `running sessions ${where} take them up within about a second; undo: ${undo}`,
  ];
}

function toolsLine({ file, installed, why }: Tools): string {
  if (why !== undefined) return `tools for agents: not installed, ${why}`;
  return installed ? `tools for agents: ${file}, for new sessions` : "tools for agents: none (--no-mcp)";
}
