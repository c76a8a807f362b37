/** Whether a person runs this command, or an agent, to which it refuses what `person-only.ts` lists. */
import { LocalError } from "../client/errors.ts";
import { type Ancestor, ancestorsOf } from "../daemon/facts/processes.ts";
import { isSystemError } from "../protocol/errors.ts";
import { shellArgument } from "../protocol/text.ts";
import { actingSession, isTerminalSession } from "./actor.ts";
import { type PersonOnly, type PersonsDeed, personOnly } from "./person-only.ts";
import { askForWord, isKnown, windowOf } from "./person-window.ts";
import type { ProcessContext } from "./process-context.ts";
import { fail } from "./with-daemon.ts";

/**
 * Whether an agent's shell runs this command: by its environment, or because a session's process is above it, if a daemon
 * runs to say so; never by its terminal. Who is wrongly taken for an agent is asked there for a word (`person-window.ts`).
 * A program that wants to hide from this can; Kite is a seat belt.
 */
export async function isAgents(world: ProcessContext, pid: number = process.pid): Promise<boolean> {
  return (await seemsAgents(world, pid)) && !(await isPersonsWindow(world));
}

/** The same without a question: a command that only shows something asks nobody for a word. */
export async function seemsAgents(world: ProcessContext, pid: number = process.pid): Promise<boolean> {
  // A check's program is what agents write.
  if (world.env["KITE_CHECK"] !== undefined || world.env["CLAUDECODE"] === "1") return true;
  const acting = actingSession(world.env);
  // A command of a person's `kite lock` has a terminal's session.
  const isNamed = acting !== null && !isTerminalSession(world.env, acting.id);
  return isNamed || isBelow(world, ancestorsOf(pid));
}

/** Whether a person says so in the window of this command; never for the program of a check. */
async function isPersonsWindow(world: ProcessContext): Promise<boolean> {
  if (world.hasWindow !== true || world.env["KITE_CHECK"] !== undefined) return false;
  const window = windowOf();
  if (window === null || (await isBelow(world, window.within))) return false;
  const { personWindows } = world.paths;
  return isKnown(personWindows, window) || askForWord(personWindows, window);
}

/** Refuses the deed to an agent. Returns the exit code, or null if the command may go on. */
export async function refuseAgent(
  world: ProcessContext,
  json: boolean,
  deed: PersonsDeed,
  { line, isAgent = isAgents }: RefuseOptions = {},
): Promise<number | null> {
  const row = personOnly[deed];
  if (row.isNamed === true && actingSession(world.env) !== null) return null;
  if (!(await isAgent(world))) return null;
  return fail(world, json, "person_only", row.isNamed === true ? hidden(row) : personLine(world, deed, line));
}

export interface RefuseOptions {
  /** The command line for the person, if it is not the one that runs. */
  readonly line?: string;
  /** Tests say who runs the command. */
  readonly isAgent?: (world: ProcessContext) => Promise<boolean>;
}

/** Says that only a person does this, and which line the person runs. */
export function personLine(world: ProcessContext, deed: PersonsDeed, line = typedLine(world, deed)): string {
  return `only a person ${personOnly[deed].does}; ask your user to run in a terminal of their own: ${line}`;
}

function typedLine({ argv, cwd }: ProcessContext, deed: PersonsDeed): string {
  const line = ["kite", ...argv.slice(2).map(shellArgument)].join(" ");
  return personOnly[deed].isHere === true ? `cd ${shellArgument(cwd)} && ${line}` : line;
}

function hidden({ does, tool }: PersonOnly): string {
  return (
    `only a person ${does} without a session's name, and this shell is a session's: leave KITE_SESSION and ` +
    `CLAUDE_CODE_SESSION_ID as your client set them${tool === undefined ? "" : `, or use Kite's tool ${tool}`}`
  );
}

/** Whether the nearest session whose process is one of these is an agent's, and not a terminal's own. */
async function isBelow(world: ProcessContext, ancestors: readonly Ancestor[]): Promise<boolean> {
  if (ancestors.length === 0) return false;
  const pids = ancestors.map(({ pid }) => pid);
  const starts = ancestors.map(({ startTime }) => startTime);
  try {
    const client = await world.connect({ name: "kite", reconnect: false });
    try {
      const answer = await client.request("whoami", { pids, starts });
      return answer.ok && !isTerminalSession(world.env, answer.id);
    } finally {
      client.close();
    }
  } catch (error) {
    if (!(error instanceof LocalError) && !isSystemError(error)) throw error;
    // Without a daemon that answers, the environment alone tells.
    return false;
  }
}
