/** Runs a command line, and words the errors that people see. */

import { LocalError } from "../client/errors.ts";
import { errorText, isSystemError } from "../protocol/errors.ts";
import { setPerson } from "../protocol/names.ts";
import { kitePaths } from "../protocol/paths.ts";
import { plain } from "../protocol/text.ts";
import type { Acting } from "./context/actor.ts";
import type { Invocation, ProcessContext, Run, Work } from "./context/process-context.ts";
import {
  type Commands,
  commandIn,
  type Entry,
  endQuietlyWithReader,
  listIfAlone,
  reportFailure,
  withPresentWords,
} from "./entry.ts";

/** Runs the command line of this process, one of `commands`, and sets its exit code. */
export async function runHere(commands: Commands): Promise<void> {
  endQuietlyWithReader();
  process.exitCode = await run(process, commands);
}

/** Runs the command line of a call, one of `commands`. Returns the exit code, 1 if a command failed; throws a bug. */
export async function run(call: Invocation, commands: Commands): Promise<number> {
  const { stdout } = call;
  const words = listIfAlone(withPresentWords(call.argv.slice(2)));
  const argv = [...call.argv.slice(0, 2), ...words];
  let { env } = call;
  let exitCode = 0;
  const inCall: Run = async work => {
    const { contextOf } = await import("./context/process-context.ts");
    const { userName } = await import("./context/actor.ts");
    setPerson(userName());
    exitCode = await work(contextOf(call, env));
  };
  if (words.length === 0 || mayBeHelp(words)) {
    const { helpOf } = await import("./help.ts");
    const text = helpOf(words, commands, stdout.columns ?? helpColumns);
    if (text !== null && words.length === 0) {
      const { statusOrHelp } = await import("./commands/status.ts");
      await inCall(world => statusOrHelp(world, text));
      return exitCode;
    }
    if (text !== null) {
      stdout.write(text);
      return 0;
    }
    if (commandIn(argv, commands) === undefined) {
      const { unknownTopic } = await import("./help.ts");
      reportFailure(call, words, { code: "usage", error: unknownTopic(plain(words[1] ?? ""), commands) });
      return 1;
    }
  }
  const name = commandIn(argv, commands) ?? "";
  const entry = commands[name];
  try {
    for (const find of findersFor(entry, env)) {
      await inCall(world =>
        findActor(world, call.argv.slice(2), find, found => {
          env = { ...env, ...found };
        }),
      );
      if (exitCode !== 0) return exitCode;
    }
    const work = words[0] === name ? await plainWork(entry, words.slice(1)) : null;
    if (work !== null) {
      await inCall(work);
      return exitCode;
    }
    const { parse } = await import("./parser.ts");
    return (await parse(call, argv, commands, inCall)) ?? exitCode;
  } catch (error) {
    if (!isForPeople(error, env)) throw error;
    reportFailure(call, words, { code: codeOf(error), error: errorText(error) });
    return 1;
  }
}

/** What programs read of an error for people. */
function codeOf(error: Error): string {
  return error.name === "NotRunning" ? "not_running" : "failed";
}

/** Returns what the words behind a command's name ask for, or null if only the parser can tell. */
async function plainWork(entry: Entry | undefined, words: readonly string[]): Promise<Work | null> {
  const command = await entry?.load();
  return command?.plain?.(words) ?? null;
}

/** Returns the variables that name who runs `words`; null: nobody else than those that are there say. */
type Finder = (world: ProcessContext, words: readonly string[]) => Promise<Invocation["env"] | null>;

/** Returns how it is found out who acts, in this order: commands read variables, because a script may set them. */
function findersFor(entry: Entry | undefined, env: Invocation["env"]): readonly Finder[] {
  const isNamed = Boolean(env["KITE_SESSION"]);
  const acts = entry?.acts === true;
  return [
    ...(isNamed && (acts || entry?.readsSession === true) ? [meantByVariable] : []),
    ...(acts && env["CLAUDECODE"] === "1" ? [typedInSession] : []),
    ...(acts && !isNamed && !env["CLAUDE_CODE_SESSION_ID"] ? [sessionAbove] : []),
  ];
}

/** KITE_SESSION may be a name, or the beginning of an id. */
const meantByVariable: Finder = async world =>
  variablesOf(await (await import("./context/caller.ts")).namedSession(world));

/** Claude Code names the session in its shells, and not which of its agents typed the line. */
const typedInSession: Finder = async ({ env }, words) => {
  const agent = await (await import("./context/caller.ts")).callingAgent(env, words);
  return agent === null ? null : { KITE_AGENT: agent };
};

/** Other clients may name none. */
const sessionAbove: Finder = async ({ env }, words) =>
  variablesOf(await (await import("./context/caller.ts")).callingSession(env, words));

function variablesOf(acting: Acting | null): Invocation["env"] | null {
  if (acting === null) return null;
  return { KITE_SESSION: acting.id, ...(acting.agent === undefined ? {} : { KITE_AGENT: acting.agent }) };
}

/** Calls `found` with what `find` says, if it says something. Returns the exit code; if nobody can tell who acts, says so. */
async function findActor(
  world: ProcessContext,
  words: readonly string[],
  find: Finder,
  found: (variables: Invocation["env"]) => void,
): Promise<number> {
  const { exitCodes, reported } = await import("./context/with-daemon.ts");
  return reported(world, words.includes("--json"), async () => {
    const variables = await find(world, words);
    if (variables !== null) found(variables);
    return exitCodes.done;
  });
}

/** Returns true if the person can act on the error (no daemon, no permission, a wrong setting); false for a bug. */
function isForPeople(error: unknown, env: Invocation["env"]): error is Error {
  return (
    error instanceof LocalError || isSystemError(error) || (error instanceof Error && settingIsWrong(env))
  );
}

function settingIsWrong(env: Invocation["env"]): boolean {
  try {
    kitePaths(env);
    return false;
  } catch {
    return true; // Every command that needs Kite's directory reports this error.
  }
}

/** Columns of help in a pipe. */
const helpColumns = 80;

/** Whether the words ask for more than the help of one command: for all commands, or for what may be a chapter. */
function mayBeHelp([first = "", , ...more]: readonly string[]): boolean {
  return more.length === 0 && ["help", "--help", "-h"].includes(first);
}
