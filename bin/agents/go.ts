/** `kite go` takes a person to the terminal in which an agent runs. */

import type { Command } from "commander";
import { findProgram } from "../../daemon/facts/programs.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import { shellArgument } from "../../protocol/text.ts";
import { agentCalled, agentsOf, noAgent } from "../context/caller.ts";
import { refuseAgent } from "../context/person.ts";
import {
  type Client,
  type ProcessContext,
  print,
  printJson,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import { neededProgram, ProgramFailed, runProgram } from "../context/programs.ts";
import { type Terminal, terminalsOf, terminalText } from "../context/terminals.ts";
import { exitCodes, fail, rowsOf, withDaemon } from "../context/with-daemon.ts";
import { features } from "../view/features.ts";
import { tilde } from "../view/places.ts";
import { clean, wrap } from "../view/text.ts";

// `kite go`: takes a person to the terminal in which an agent runs.

interface GoFlags {
  readonly json?: boolean;
}

/**
 * Shows the agent's pane if this terminal is in the same tmux server, else says where the agent is, and the command that
 * leads there. Returns the exit code.
 */
async function go(world: ProcessContext, name: string, flags: GoFlags): Promise<number> {
  const json = flags.json === true;
  const refused = await refuseAgent(world, json, "go");
  if (refused !== null) return refused;
  return withDaemon(world, json, async client => {
    const place = await placeOf(world, client, name);
    try {
      const went = await show(world, place);
      if (json)
        printJson(world, {
          ok: true,
          name: place.session.name,
          pid: place.session.pid,
          terminal: place.terminal === null ? null : terminalText(place.terminal),
          went: went === "went",
          command: went === "went" ? null : went.command,
        });
      else if (went !== "went") print(world, wrap(went.says, screenOf(world).width, 2));
      return exitCodes.done;
    } catch (error) {
      if (!(error instanceof ProgramFailed)) throw error;
      return fail(world, json, "not_available", error.message);
    }
  });
}

interface Place {
  readonly session: SessionRow;
  readonly terminal: Terminal | null;
}

/** Where one is led that Kite does not go to: a sentence, and the command in it, if one leads there. */
interface Direction {
  readonly says: string;
  readonly command: string | null;
}

/** An agent within a session is in the session's terminal. Throws `Refused` if no agent is called so. */
async function placeOf(world: ProcessContext, client: Client, name: string): Promise<Place> {
  const sessions = await rowsOf(client, "sessions");
  const agents = agentsOf(sessions);
  const found = await agentCalled(world, agents, name);
  const session = sessions.find(({ id }) => id === found?.id);
  if (session === undefined) throw await noAgent(client, agents, name);
  const terminal = session.pid === null ? null : (terminalsOf([session.pid]).get(session.pid) ?? null);
  return { session, terminal };
}

async function show(world: ProcessContext, { session, terminal }: Place): Promise<"went" | Direction> {
  const name = clean(session.name);
  const where = `in ${clean(tilde(session.cwd, world.env["HOME"] ?? ""))}`;
  const command = features.map(feature => feature.opens?.(session) ?? null).find(one => one !== null) ?? null;
  const pane = terminal === null ? null : await paneOf(world, terminal);
  if (pane !== null) return await showPane(world, name, pane);
  if (command !== null) return { says: `${name} works ${where}. To open it here: ${command}`, command };
  if (session.pid === null)
    return { says: `${name} works ${where}; Kite knows of no process of it.`, command };
  if (terminal === null)
    return { says: `${name} works ${where}; its process ${session.pid} has no terminal.`, command };
  const on = clean(terminalText(terminal));
  return {
    says: `${name} is on ${on}, process ${session.pid}, ${where}. Kite goes to panes of tmux only.`,
    command,
  };
}

interface ShownPane {
  readonly pane: string;
  /** The socket of its server; null: the server that tmux finds by itself. */
  readonly socket: string | null;
  /** Its place as tmux names it: `main:1.0`. */
  readonly target: string;
}

/**
 * Returns the pane in which the terminal is; null: it is in none that tmux knows. On systems where nobody reads another
 * process's environment, a pane of the server at hand is known by its terminal's name.
 */
async function paneOf(world: ProcessContext, { tty, tmux }: Terminal): Promise<ShownPane | null> {
  const program = findProgram("tmux", { env: world.env, workedIn: [world.cwd] })?.path;
  if (program === undefined) return null;
  const socket = tmux?.socket ?? ownSocket(world);
  const format = "#{pid} #{pane_id} #{pane_tty} #{session_name}:#{window_index}.#{pane_index}";
  const { code, output } = await runProgram(
    program,
    [...at(socket), "list-panes", "-a", "-F", format],
    world,
  );
  // Without a server there are no panes.
  if (code !== 0) return null;
  for (const line of output.split("\n")) {
    const [, pid, pane = "", paneTty, target = ""] = /^(\d+) (%\d+) (\S+) (.+)$/.exec(line) ?? [];
    const isIt =
      tmux === null ? paneTty === `/dev/${tty}` : pane === tmux.pane && Number(pid) === tmux.serverPid;
    if (isIt) return { pane, socket, target };
  }
  return null;
}

async function showPane(
  world: ProcessContext,
  name: string,
  { pane, socket, target }: ShownPane,
): Promise<"went" | Direction> {
  const own = ownSocket(world);
  if (own !== null && own === socket) {
    const words = [
      ...["select-window", "-t", pane, ";", "select-pane", "-t", pane],
      ...[";", "switch-client", "-t", pane],
    ];
    const { code, output } = await runProgram(
      neededProgram("tmux", world.env, world.cwd),
      ["-S", socket, ...words],
      world,
    );
    if (code !== 0) throw new ProgramFailed(`tmux did not go to ${pane}: ${clean(output).slice(0, 200)}`);
    return "went";
  }
  const isDefault = socket === null || /\/tmux-\d+\/default$/.test(socket);
  const words = ["tmux", ...(isDefault ? [] : at(socket)), "attach", "-t", target];
  const command = words.map(shellArgument).join(" ");
  const from = own === null ? "" : ", from a terminal outside of this tmux";
  return { says: `${name} is in pane ${pane} of tmux. To see it${from}: ${clean(command)}`, command };
}

/** Returns the socket of the tmux server in which this command runs; null: it runs in none. */
function ownSocket({ env }: ProcessContext): string | null {
  const [socket = ""] = (env["TMUX"] ?? "").split(",");
  return socket === "" ? null : socket;
}

/** Returns the words that name a server to tmux. */
function at(socket: string | null): readonly string[] {
  return socket === null ? [] : ["-S", socket];
}

const help = `
NAME is a session's name, the name of an agent within it (alice/Explore), an id, or the beginning of one. If this terminal
and the agent's are in the same tmux, go shows the agent's window and pane here. Else it says where the agent is, and the
command that leads there: tmux attach for a pane of tmux, kite agents attach for a spawned agent in the background, and
the terminal and its program for all others. Kite reads the terminal from the agent's process when you ask.

--json: {"ok":true, "name", "pid":N|null, "terminal":STRING|null, "went":BOOL, "command":STRING|null}

Exit codes: 0 done, 1 refused (no such agent, or several) or failed, 3 no daemon runs.

Examples:
  $ kite go alice
  alice is in pane %5 of tmux. To see it: tmux attach -t main:1.0`;

export function add(command: Command, run: Run): void {
  command
    .argument("<name>", "the agent's name, its id, or the beginning of one")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((name: string, flags: GoFlags) => run(world => go(world, name, flags)));
}
