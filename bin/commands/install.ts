import { resolve } from "node:path";
import type { Command } from "commander";
import { loadConfig } from "../../daemon/config/config.ts";
import type { ClientName } from "../../hooks/claude-code/settings/command.ts";
import { projectSettings, sharedSettings, userSettings } from "../../hooks/claude-code/settings/project.ts";
import {
  addTools,
  projectServers,
  removeTools,
  type ServerPlace,
  userServers,
} from "../../hooks/claude-code/settings/server.ts";
import { InstallFailed, namingFailures } from "../../hooks/install/failed.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { writeSetting } from "../config/set.ts";
import { isUnignored } from "../git-ignored.ts";
import { chooseClient } from "../hook-client.ts";
import { refuseAgent } from "../person.ts";
import { type ProcessContext, print, type Run } from "../process-context.ts";
import { dist } from "../program-paths.ts";
import { type InstalledTools, installLines } from "../view/install.ts";
import { clean } from "../view/text.ts";
import { exitCodes } from "../with-daemon.ts";

interface InstallFlags {
  readonly project?: string | true;
  readonly shared?: string | true;
  readonly client?: ClientName;
  readonly everyEvent?: boolean;
  /** False with --no-mcp. */
  readonly mcp: boolean;
  readonly allow?: boolean;
  readonly statusline?: boolean;
  readonly observe?: boolean;
  readonly print?: boolean;
  readonly json?: boolean;
}

const help = `
Without --project, install writes your own settings, for all projects: ~/.claude/settings.json, or the one in
CLAUDE_CONFIG_DIR. A second install changes nothing. It keeps every other entry, and a copy of the old file beside it.
An entry in the client's own ~/.claude.json gives agents Kite's tools (MCP); --no-mcp leaves it out, or removes it.
Undo: kite uninstall.

--statusline adds Kite's line to the status line; one that you have runs within it, and is yours again after an uninstall.

--observe lets you see first what Kite would do: it records, and no edit waits, is denied or is told anything. Agents get no
tools of Kite's then. It is a setting of yours (mode), for all projects, and counts at once. kite stats says what Kite would
have done. Let it act: kite config set mode act, then kite install for the tools.

--shared writes .claude/settings.json, which a team commits. Its entries name no path: they do nothing for colleagues
without Kite. Each colleague with Kite runs kite install --shared once. If several settings and the plugin of kite plugin
apply to a session, one entry forwards each event, the others do nothing.

In an agent's shell it writes with --project or --shared only.

--json: {"file", "changed":true|false, "backup":PATH|null, "events":[...], "client":"perl"|"node", "whyNotPerl"?,
  "tools":{"file", "installed":true|false, "changed":true|false, "why"?}, "mode"?:"observe"}

Examples:
  $ kite install
  installed: /home/ada/.claude/settings.json
  $ kite install --project ~/shop --print`;

export function add(command: Command, run: Run): void {
  command
    .description("connect Claude Code to Kite: everywhere, or in one project")
    .option(
      "--project [DIR]",
      "write your private settings of the project around DIR (by default the working directory)",
    )
    .option("--shared [DIR]", "write the committed settings of the project around DIR, for its whole team")
    .option("--every-event", "also forward the events of every message and every batch of calls")
    .option("--no-mcp", "install no Kite tools for agents")
    .option("--allow", "let agents use these tools without asking you each time")
    .option("--statusline", "show in Claude Code's status line what a session holds and waits for")
    .addOption(
      command
        .createOption("--client <name>", "which client forwards the events; by default perl if it works")
        .choices(["perl", "node"]),
    )
    .option("--observe", "only record what Kite would do: nothing waits, nobody is refused or told anything")
    .option("--print", "print the new settings, and write nothing")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: InstallFlags) => run(world => install(world, flags)));
}

async function install(world: ProcessContext, flags: InstallFlags): Promise<number> {
  const { project, shared, client, everyEvent, allow, statusline, json } = flags;
  const observe = flags.observe === true;
  const mcp = flags.mcp && !observe;
  const hooks = await import("../../hooks/claude-code/settings/install.ts");
  return namingFailures(async () => {
    const { env, paths } = world;
    if (project !== undefined && shared !== undefined) {
      throw new InstallFailed(
        "give either --project (for you) or --shared (for the team); Kite changed nothing",
      );
    }
    if (statusline === true && shared !== undefined) {
      throw new InstallFailed("the status line is your own: run kite install --statusline without --shared");
    }
    if (observe && shared !== undefined)
      throw new InstallFailed(
        "--observe is a setting of your own: run kite install --observe without --shared",
      );
    const scope = shared !== undefined ? "shared" : project !== undefined ? "project" : "user";
    const asked = shared ?? project ?? true;
    const dir = resolve(world.cwd, asked === true ? "." : asked);
    const chosen = await chooseClient(client, dist);
    const options = {
      paths,
      settings: {
        user: () => userSettings(env),
        project: () => projectSettings(dir),
        shared: () => sharedSettings(dir, env),
      }[scope](),
      dist,
      node: process.execPath,
      env,
      client: chosen.client,
      home: env["KITE_HOME"] || null,
      everyEvent: everyEvent === true,
      allow: allow === true,
      shared: scope === "shared",
      statusLine: statusline === true,
    };
    if (flags.print) {
      world.stdout.write(hooks.preview(options));
      return exitCodes.done;
    }
    const refused = scope === "user" ? await refuseAgent(world, json === true, "install") : null;
    if (refused !== null) return refused;
    const isKept = observe ? await refuseAgent(world, json === true, "config") : null;
    if (isKept !== null) return isKept;
    // Before the hooks: none of them may hold anybody up.
    if (observe) await writeSetting(world, "mode", "observe");
    const place = scope === "user" ? userServers(env) : projectServers(env, dir);
    const done = {
      ...(await hooks.install(options)),
      ...chosen,
      tools: await putTools(options.paths, place, mcp),
      ...(await onlyObserves(world)),
    };
    if (json) print(world, [JSON.stringify(done)]);
    else {
      const isBare = scope === "project" && done.changed && isUnignored(options.settings);
      print(world, installLines(done, scope, isBare).map(clean));
    }
    return exitCodes.done;
  });
}

/** Whether Kite only observes, by the settings; nothing: it acts. */
async function onlyObserves({ env, paths }: ProcessContext): Promise<{ readonly mode?: "observe" }> {
  const { values } = await loadConfig({ env, paths });
  return values.mode === "observe" ? { mode: "observe" } : {};
}

/** Reports a failure instead of throwing: the hooks work without the tools and stay installed. */
async function putTools(paths: KitePaths, place: ServerPlace, wanted: boolean): Promise<InstalledTools> {
  const { file } = place;
  try {
    const changed = await namingFailures(() => (wanted ? addTools : removeTools)(paths, place));
    return { file, installed: wanted, changed };
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    return { file, installed: false, changed: false, why: error.message };
  }
}
