import type { Command } from "commander";
import { namingFailures } from "../../hooks/install/failed.ts";
import { type Questions, terminalQuestions } from "../ask-person.ts";
import { isUnignored } from "../git-ignored.ts";
import { filesOf, type InstallFlags, type Plan, planOf, putHooks, settingsAfter } from "../install/hooks.ts";
import { refuseAgent } from "../person.ts";
import { type ProcessContext, print, type Run } from "../process-context.ts";
import { installLines, planLines } from "../view/install.ts";
import { clean } from "../view/text.ts";
import { exitCodes } from "../with-daemon.ts";

const help = `
At a terminal, install asks before each step and says what it would write where: the command kite in a folder of PATH, the
daemon, the hooks of the clients that are there, completion for your shell. Then it looks as kite doctor does, and says
what to do now. Ctrl-C ends it after a whole step. In a pipe, and
with --project or --shared, it only writes the hooks; --yes does all steps.

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
    .option("--print", "name every file that it would write, print the new settings, and write nothing")
    .option("--yes", "do all steps without a question: for your own scripts")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: InstallFlags) => run(world => install(world, flags)));
}

/** Returns the exit code. `questions`: how a person at a terminal is asked; null: nobody is. */
export async function install(
  world: ProcessContext,
  flags: InstallFlags,
  questions: Questions | null = terminalQuestions(),
): Promise<number> {
  const isJson = flags.json === true;
  return namingFailures(async () => {
    const plan = await planOf(world, flags);
    const { scope, options, observe } = plan;
    if (flags.print === true) return printPlan(world, plan);
    const refused =
      (scope === "user" ? await refuseAgent(world, isJson, "install") : null) ??
      (observe ? await refuseAgent(world, isJson, "config") : null);
    if (refused !== null) return refused;
    // Nobody but a person came so far.
    if (scope === "user" && !isJson && (flags.yes === true || questions !== null)) {
      const { guide } = await import("../install/guide.ts");
      return guide(world, plan, flags.yes === true ? null : questions);
    }
    const done = await putHooks(world, plan);
    if (isJson) print(world, [JSON.stringify(done)]);
    else {
      const isBare = scope === "project" && done.changed && isUnignored(options.settings);
      print(world, installLines(done, scope, isBare).map(clean));
    }
    return exitCodes.done;
  });
}

/** The summary is for a person: the new text alone goes where a program may read it. */
function printPlan(world: ProcessContext, plan: Plan): number {
  world.stderr.write(`${planLines(filesOf(plan)).join("\n")}\n\n`);
  world.stdout.write(settingsAfter(plan));
  return exitCodes.done;
}
