/** `kite install` connects the clients of agents to Kite. */

import type { Command } from "commander";
import { containerHere, isForeignHome } from "../../daemon/instance/foreign-home.ts";
import { InstallFailed, namingFailures } from "../../hooks/install/file.ts";
import { type Questions, refuseAgent, terminalQuestions } from "../context/person.ts";
import { type ProcessContext, print, type Run } from "../context/process-context.ts";
import { isUnignored } from "../context/project.ts";
import { exitCodes } from "../context/with-daemon.ts";
import { clean, listed } from "../view/text.ts";
import type { AgentClient, Connection } from "./client.ts";
import { clientOption, clients, clientsHere } from "./clients.ts";
import { hookProgramOption, hookPrograms } from "./hook-program.ts";
import { connect, type InstallFlags, type Order, observeFirst, orderOf } from "./wish.ts";
import { type FileToWrite, type InstallDone, installLines, planLines } from "./words.ts";

const help = `
At a terminal, install asks before each step and says what it would write where: the command kite in a folder of PATH, the
daemon, the hooks of the clients that are there, completion for your shell. Then it looks as kite doctor does, and says
what to do now. Ctrl-C ends it after a whole step. In a pipe, and
with --project or --shared, it only writes the hooks; --yes does all steps.

--client names the clients to connect: kite install --client codex, or several with spaces between, or all. Without it, in a
pipe, install connects Claude Code, and names the others that are here.

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

--json: {"name", "file", "changed":true|false, "backup":PATH|null, "events":[...], "hookProgram":"perl"|"node",
  "whyNotPerl"?, "tools":{"file", "installed":true|false, "changed":true|false, "why"?}, "mode"?:"observe",
  "others"?:[names of clients that are here]}; for several clients {"clients":[...], "failures":[...]}

Examples:
  $ kite install
  installed: /home/ada/.claude/settings.json
  $ kite install --project ~/shop --print`;

export function add(command: Command, run: Run): void {
  command
    .description("connect Claude Code and other agents' clients to Kite: everywhere, or in one project")
    .option(
      "--project [DIR]",
      "write your private settings of the project around DIR (by default the working directory)",
    )
    .option("--shared [DIR]", "write the committed settings of the project around DIR, for its whole team")
    .option("--every-event", "also forward the events of every message and every batch of calls")
    .option("--no-mcp", "install no Kite tools for agents")
    .option("--allow", "let agents use these tools without asking you each time")
    .option("--statusline", "show in Claude Code's status line what a session holds and waits for")
    .addOption(clientOption("the clients to connect, or all that are here", hookPrograms))
    .addOption(hookProgramOption())
    .option("--trust", "have the client trust Kite's hooks, where it asks a person about them (codex)")
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
    const order = await orderOf(world, flags);
    const { wish, observe } = order;
    const isForAll = wish.scope === "user";
    if (flags.print === true) return printPlan(world, order);
    if (isForeignHome(world.paths.home, containerHere(world.paths, world.env))) throw foreignHome(world);
    const refused =
      (isForAll ? await refuseAgent(world, isJson, "install") : null) ??
      (observe ? await refuseAgent(world, isJson, "config") : null);
    if (refused !== null) return refused;
    // Nobody but a person came so far.
    if (isForAll && !isJson && (flags.yes === true || questions !== null)) {
      const { guide } = await import("./guide.ts");
      return guide(world, order, flags.yes === true ? null : questions);
    }
    return connectAll(world, order, isJson);
  });
}

/** The programs in Kite's directory would be those of the container, and the host's hooks would find none. */
function foreignHome({ paths }: ProcessContext): InstallFailed {
  const what = `${paths.home} is the host's, and this is a container: its programs are the host's, too`;
  return new InstallFailed(`${what}; run kite install on the host (in a container: kite help install)`);
}

/** Connects one client after the other. A failure of one does not keep the others from their hooks. */
async function connectAll(world: ProcessContext, order: Order, isJson: boolean): Promise<number> {
  const { wish } = order;
  const connections = connectionsOf(world, order);
  const done: InstallDone[] = [];
  const failures: string[] = [];
  await observeFirst(world, order);
  for (const [client, connection] of connections) {
    try {
      const one = await namingFailures(() => connect(world, connection));
      done.push(one);
      const isBare = wish.scope === "project" && one.changed && isUnignored(connection.settings);
      if (!isJson) print(world, installLines(one, connection, isBare).map(clean));
      if (client.trust === undefined || !order.trust) continue;
      await client.trust.give(world);
      done.splice(-1, 1, { ...one, isTrusted: true });
      if (!isJson) print(world, [`${client.title} trusts Kite's hooks, in sessions that start from now on`]);
    } catch (error) {
      if (!(error instanceof InstallFailed)) throw error;
      failures.push(error.message);
    }
  }
  const others = order.named === null && wish.scope === "user" ? othersHere(world) : [];
  if (isJson && done.length > 0) print(world, [JSON.stringify(jsonOf(connections, done, failures, others))]);
  else print(world, otherLines(others));
  if (failures.length > 0) throw new InstallFailed(failures.map(clean).join("\nkite: "));
  return exitCodes.done;
}

/** One client that is asked for is the object itself. */
function jsonOf(
  connections: readonly unknown[],
  done: readonly InstallDone[],
  failures: readonly string[],
  others: readonly AgentClient[],
): object {
  const names = others.length === 0 ? {} : { others: others.map(({ name }) => name) };
  return connections.length === 1 ? { ...done[0], ...names } : { clients: done, failures };
}

/** Returns the clients that are here besides the one that is connected without a name, and are not connected. */
function othersHere(world: ProcessContext): readonly AgentClient[] {
  return clientsHere(world).filter(client => client !== clients[0] && !client.isConnected(world));
}

function otherLines(others: readonly AgentClient[]): string[] {
  if (others.length === 0) return [];
  const names = others.map(({ name }) => name);
  return [
    `also here: ${listed(others.map(({ title }) => title))}; to connect: kite install --client ${names.join(" ")}`,
  ];
}

function connectionsOf(
  world: ProcessContext,
  { wish, named }: Order,
): readonly (readonly [AgentClient, Connection])[] {
  return (named ?? [clients[0]]).map(client => [client, client.plan(world, wish)]);
}

/** The summary is for a person: the new text alone goes where a program may read it. */
function printPlan(world: ProcessContext, order: Order): number {
  const mode: FileToWrite = { path: world.paths.config, does: "write", of: "the mode: observe" };
  for (const [, connection] of connectionsOf(world, order)) {
    const files = [...connection.files(), ...(order.observe ? [mode] : [])];
    world.stderr.write(`${planLines(files).join("\n")}\n\n`);
    world.stdout.write(connection.preview());
  }
  return exitCodes.done;
}
