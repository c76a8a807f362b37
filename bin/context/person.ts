/** Whether a person runs this command, or an agent, to which it refuses what only a person may do. */

import { randomInt } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline/promises";
import { ReadStream } from "node:tty";
import { LocalError } from "../../client/errors.ts";
import { statFields } from "../../daemon/facts/process-table.ts";
import { type Ancestor, ancestorsOf } from "../../daemon/facts/processes.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { personName } from "../../protocol/names.ts";
import { shellArgument } from "../../protocol/text.ts";
import { actingSession, isTerminalSession, terminalOf as terminalOfSession } from "./actor.ts";
import type { Client, ProcessContext } from "./process-context.ts";
import { fail } from "./with-daemon.ts";

// What only a person may do: one row each, which `person.ts` refuses to agents with the code `person_only`.

/** A row: what is refused, as the end of the sentence "only a person ...". */
interface PersonOnly {
  readonly does: string;
  /** An agent may under the name of its session: only one that hides it is refused. */
  readonly isNamed?: true;
  /** The tool of Kite that does it for an agent. */
  readonly tool?: string;
  /** Its command line means something else in another directory. */
  readonly isHere?: true;
}

const rows = {
  role: { does: "gives roles", isHere: true },
  lead: { does: "spawns an agent that leads", isHere: true },
  approve: { does: "says yes to a task", isHere: true },
  pr: { does: "pushes a branch for a pull request", isHere: true },
  trust: { does: "trusts checks" },
  revoke: { does: "revokes trust in checks" },
  config: { does: "changes Kite's settings" },
  store: { does: "joins or leaves a store, and shares projects", isHere: true },
  off: { does: "switches Kite off beyond an agent's own session", isHere: true },
  down: { does: "stops Kite's daemon for everybody" },
  empty: { does: "gives up what the missing journal held" },
  repair: { does: "gives up what a damaged journal lost" },
  fix: { does: "does this step" },
  install: { does: "connects agents to Kite for all projects" },
  uninstall: { does: "disconnects all projects from Kite" },
  purge: { does: "removes kept versions for good", isHere: true },
  go: { does: "goes to an agent's terminal" },
  unlock: { does: "takes a lock from its holder", isHere: true },

  rescue: { does: "sees and restores kept work", isNamed: true, tool: "kite_rescue" },
  own: { does: "uses the lines of an agent", isNamed: true },
  thaw: { does: "ends the freezes of others", isNamed: true },
  freeze: { does: "freezes files", isNamed: true, tool: "kite_broadcast" },
  spawn: { does: "spawns an agent", isNamed: true, tool: "kite_spawn" },
  stop: { does: "stops an agent", isNamed: true },
  replace: { does: "replaces an agent", isNamed: true },
  prune: { does: "removes agents", isNamed: true },
  release: { does: "gives back what an agent has", isNamed: true },
  rename: { does: "renames a session", isNamed: true },
  edit: { does: "changes a task", isNamed: true },
  finish: { does: "ends a task", isNamed: true, tool: "kite_task_complete" },
  import: { does: "imports tasks that are done", isNamed: true },
  close: { does: "forces a debate to close", isNamed: true },
} as const satisfies Readonly<Record<string, PersonOnly>>;

export type PersonsDeed = keyof typeof rows;

export const personOnly: Readonly<Record<PersonsDeed, PersonOnly>> = rows;

// The window of a terminal in which a person is. If Kite takes a person for an agent, the person types a word that only
// the terminal shows. From then on they count as a person in that window.
//
// Invariant: a window is a terminal with the uppermost process that has it, by its id and its start time. What runs
// below an agent's process within the window is the agent's, and is not asked.

/** A process with the terminal that it has. */
interface Window {
  readonly terminal: string;
  readonly leader: Ancestor;
  /** The processes between the leader and this one. */
  readonly within: readonly Ancestor[];
}

/** Returns the window of this process, if it is in the foreground there; null: it has none, or the system does not tell. */
function windowOf(pid: number = process.pid): Window | null {
  const own = terminalOf(pid);
  if (own === null || !own.isInFront) return null;
  const within: Ancestor[] = [];
  for (const ancestor of ancestorsOf(pid)) {
    if (terminalOf(ancestor.pid)?.terminal !== own.terminal) break;
    within.push(ancestor);
  }
  const leader = within.pop();
  return leader === undefined ? null : { terminal: own.terminal, leader, within };
}

/** The terminal of a process and whether its group has the input there (Linux). */
function terminalOf(pid: number): { readonly terminal: string; readonly isInFront: boolean } | null {
  try {
    const [, , group, , terminal = "0", front] = statFields(readFileSync(`/proc/${pid}/stat`, "utf8"));
    return terminal === "0" ? null : { terminal, isInFront: group === front };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return null; // Not Linux, or gone.
  }
}

/** Whether a person typed the word in this window before. */
function isKnown(file: string, window: Window): boolean {
  return readWindows(file).includes(keyOf(window));
}

/** Shows a word on the terminal and asks for it. Returns whether a person typed it, and remembers the window then. */
async function askForWord(file: string, window: Window): Promise<boolean> {
  const word = newWord();
  const typed = await typedAt(
    `Kite takes this window for an agent's. If you are a person, type ${word} to count as one here: `,
  );
  if (typed?.trim() !== word) return false;
  const known = readWindows(file).filter(one => one !== keyOf(window));
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const kept = [...known, keyOf(window)].slice(-limits.personWindowsMax);
  writeFileSync(file, `${kept.join("\n")}\n`, { mode: 0o600 });
  return true;
}

function keyOf({ terminal, leader }: Window): string {
  return `${terminal} ${leader.pid} ${leader.startTime}`;
}

function readWindows(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter(line => line !== "");
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return []; // Nobody was asked yet, or the file cannot be read: then the person is asked again.
  }
}

function newWord(): string {
  const letters = (from: string) => from[randomInt(from.length)] ?? "";
  return Array.from({ length: 3 }, () => letters("bdfgklmnprstv") + letters("aeiou")).join("");
}

/** Returns the line that was typed at the terminal itself, whatever the streams are; null: none in time. */
async function typedAt(question: string): Promise<string | null> {
  let terminal: number;
  try {
    terminal = openSync("/dev/tty", "r+");
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return null; // It is gone.
  }
  const shown = openSync("/dev/tty", "w");
  writeFileSync(shown, question);
  closeSync(shown);
  const input = new ReadStream(terminal);
  const reader = createInterface({ input });
  const ending = AbortSignal.timeout(limits.personWordMs);
  try {
    return await new Promise<string | null>(resolve => {
      reader.once("line", resolve);
      reader.once("close", () => resolve(null));
      ending.addEventListener("abort", () => resolve(null), { once: true });
    });
  } finally {
    reader.close();
    input.destroy();
  }
}

/**
 * Returns whether an agent's shell runs this command. The environment shows it, or a running daemon says that a
 * session's process is above this one; the terminal never shows it. A person who is taken for an agent is asked there
 * for a word. A program that wants to hide from this can; Kite is a seat belt.
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

// The sessions of the person: of a command that holds locks, and of a terminal that works on a task.

/**
 * Registers a session of the person, with the person's name; if another one in the project has that, with the terminal
 * behind it.
 */
export async function registerPerson(
  { env, cwd }: Pick<ProcessContext, "env" | "cwd">,
  client: Pick<Client, "request">,
  session: { readonly id: string; readonly pid?: number },
) {
  const name = personName();
  const known = await client.request("register", { ...session, cwd, name });
  if (!known.ok || known.name === name) return known;
  const terminal = terminalOfSession(env);
  if (terminal === "") return known;
  return client.request("register", { ...session, cwd, name: `${name}@${terminal}` });
}

/** Asks a question and returns the typed answer. */
export type AskPerson = (question: string) => Promise<string>;

/** The same; null: the person ended the command with Ctrl-C, or the terminal is gone. */
export type Questions = (question: string) => Promise<string | null>;

/** Returns how to ask at this process's terminal, or null if it has none. */
export function terminalQuestions(): Questions | null {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) return null;
  return async question => {
    const reader = createInterface({ input: stdin, output: stdout });
    const closed = new Promise<null>(done => reader.once("close", () => done(null)));
    try {
      return await Promise.race([reader.question(question), closed]);
    } finally {
      reader.close();
    }
  };
}

/** The same for questions whose answer is no if there is none. */
export function terminalQuestion(): AskPerson | null {
  const ask = terminalQuestions();
  return ask === null ? null : async question => (await ask(question)) ?? "";
}

/** Whether the answer to a question with `[y/N]` is a yes. */
export function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim());
}

// Asks for a secret at the terminal: what is typed is shown nowhere.

/** Asks and returns what was typed; null: the person ended the question with Ctrl-C or Ctrl-D. */
export type AskSecret = (question: string) => Promise<string | null>;

/** Returns how to ask at this process's terminal, or null if it has none. */
export function terminalSecret(): AskSecret | null {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) return null;
  return async question => {
    const typed = typedSecretly(stdin);
    // Behind the end of the echo: who types ahead is not shown, either.
    stdout.write(question);
    try {
      return await typed;
    } finally {
      stdout.write("\n");
    }
  };
}

/** Ends the echo at once, and reads a line. A longer one than any password ends the question. */
function typedSecretly(input: ReadStream): Promise<string | null> {
  const charsMax = 10_000;
  return new Promise(resolve => {
    let typed = "";
    const end = (result: string | null) => {
      input.off("data", take);
      input.off("end", gone);
      input.setRawMode(false);
      input.pause();
      resolve(result);
    };
    const gone = () => end(null);
    const take = (piece: Buffer) => {
      for (const key of piece.toString("utf8")) {
        if (key === "\r" || key === "\n") return end(typed);
        if (key === "\u0003" || key === "\u0004" || typed.length > charsMax) return end(null);
        if (key === "\u007f" || key === "\b") typed = [...typed].slice(0, -1).join("");
        else typed += key;
      }
    };
    input.setRawMode(true);
    input.on("data", take);
    input.on("end", gone);
    input.resume();
  });
}
