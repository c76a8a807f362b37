/** Runs a command line, and words the errors that people see. */

import { LocalError } from "../client/errors.ts";
import { kitePaths } from "../protocol/paths.ts";
import { setPerson } from "../protocol/person.ts";
import { errorText, isSystemError } from "../protocol/system-error.ts";
import { plain } from "../protocol/text.ts";
import type { Acting } from "./actor.ts";
import { type Commands, commandIn, type Entry } from "./entry.ts";
import { listIfAlone, withPresentWords } from "./old-words.ts";
import type { Invocation, ProcessContext, Run, Work } from "./process-context.ts";
import { reportFailure } from "./report-failure.ts";
import { endQuietlyWithReader } from "./standard-output.ts";

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
    const { contextOf } = await import("./process-context.ts");
    const { userName } = await import("./actor.ts");
    setPerson(userName());
    exitCode = await work(contextOf(call, env));
  };
  if (words.length === 0 || mayBeHelp(words)) {
    const { helpOf } = await import("./help.ts");
    const text = helpOf(words, commands, stdout.columns ?? helpColumns);
    if (text !== null && words.length === 0) {
      const { statusOrHelp } = await import("./alone.ts");
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
    if ((entry?.acts || entry?.readsSession) && env["KITE_SESSION"]) {
      await inCall(world =>
        findSession(world, call.argv.slice(2), ({ id, agent }) => {
          env = { ...env, KITE_SESSION: id, ...(agent === undefined ? {} : { KITE_AGENT: agent }) };
        }),
      );
      if (exitCode !== 0) return exitCode;
    }
    if (entry?.acts && env["CLAUDECODE"] === "1") {
      await inCall(world =>
        findAgent(world, call.argv.slice(2), agent => {
          env = { ...env, KITE_AGENT: agent };
        }),
      );
      if (exitCode !== 0) return exitCode;
    }
    if (entry?.acts && !env["KITE_SESSION"] && !env["CLAUDE_CODE_SESSION_ID"]) {
      await inCall(world =>
        findCaller(world, call.argv.slice(2), ({ id, agent }) => {
          env = { ...env, KITE_SESSION: id, ...(agent === undefined ? {} : { KITE_AGENT: agent }) };
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

/**
 * Calls `found` with the agent that ran `words`, if it is not the main one: commands read KITE_AGENT, because a script
 * may set it. Returns the exit code; if nobody can tell which agent it is, says so.
 */
async function findAgent(
  world: ProcessContext,
  words: readonly string[],
  found: (agent: string) => void,
): Promise<number> {
  const { callingAgent } = await import("./calling-agent.ts");
  const { exitCodes, reported } = await import("./with-daemon.ts");
  return reported(world, words.includes("--json"), async () => {
    const agent = await callingAgent(world.env, words);
    if (agent !== null) found(agent);
    return exitCodes.done;
  });
}

/** Calls `found` with the session above this command, if it is one of a client that names none in its shells. */
async function findCaller(
  world: ProcessContext,
  words: readonly string[],
  found: (caller: Acting) => void,
): Promise<number> {
  const { callingSession } = await import("./calling-agent.ts");
  const { exitCodes, reported } = await import("./with-daemon.ts");
  return reported(world, words.includes("--json"), async () => {
    const caller = await callingSession(world.env, words);
    if (caller !== null) found(caller);
    return exitCodes.done;
  });
}

/** Calls `found` with whom KITE_SESSION means, if it is no id. Returns the exit code; if it means nobody, says so. */
async function findSession(
  world: ProcessContext,
  words: readonly string[],
  found: (named: Acting) => void,
): Promise<number> {
  const { namedSession } = await import("./named-session.ts");
  const { exitCodes, reported } = await import("./with-daemon.ts");
  return reported(world, words.includes("--json"), async () => {
    const named = await namedSession(world);
    if (named !== null) found(named);
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
