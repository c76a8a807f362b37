import type { Command } from "commander";
import { limits } from "../../protocol/limits.ts";
import { isResource, wrongResource } from "../../protocol/names.ts";
import { shellArgument } from "../../protocol/text.ts";
import { hold, type LockRun } from "../lock/run-under-lock.ts";
import type { Run, Work } from "../process-context.ts";
import { reportFailure } from "../report-failure.ts";
import { clean } from "../view/text.ts";

interface LockFlags {
  readonly wait: string;
  readonly conflictExitCode: string;
  readonly json?: boolean;
}

const defaults: LockFlags = { wait: `${limits.waitMs / 1000}`, conflictExitCode: "75" };

/** EX_USAGE of sysexits(3), because COMMAND itself may exit with 1. */
const wrongCommandLine = 64;

const help = `
COMMAND follows "--" and runs while Kite holds the files; a directory with a slash at its end stands for every file
in it. @NAME is no file but what agents share, as a browser, a database or a build: only one holds it at a time.
@port-N and @machine/NAME count for the machine, other names for the project. The file of that name is ./@NAME.
The lock belongs to the session in KITE_SESSION or CLAUDE_CODE_SESSION_ID (its agent in KITE_AGENT), else to this
terminal. Another \`kite lock\` of the session waits for it; one that COMMAND runs shares it (KITE_LOCK names the outer
one). A session locks directories below its project's worktrees and its working directory only, a person any directory.
Without any argument, or with --json alone, lock lists the locks, as kite status --locks.
Kite passes SIGTERM, SIGHUP and SIGUSR1/2 on to COMMAND; also SIGINT and SIGQUIT if no terminal sends them.

Exit codes: COMMAND's own, or 128 + the signal that ended it.
  64   the command line is wrong
  69   no daemon runs
  75   the lock was not granted in time, or refused (-E chooses another code)
  126  COMMAND cannot be run
  127  COMMAND was not found

--json: Kite writes its messages to standard error as JSON, one object a line with "is": "waiting", "held", "lost",
"released" or "refused".

Examples:
  $ kite lock package.json -- npm install
  $ kite lock --wait 0 src/db/ -- ./migrate.sh || echo busy
  $ kite lock @browser @port-3000 -- npx playwright test`;

export function add(command: Command, run: Run): void {
  command
    .argument("<file...>", "files, directories with a slash at their end, or resources (@NAME)")
    .usage("[options] FILE... -- COMMAND...")
    .option(
      "-w, --wait <seconds>",
      `how long to wait in the queue; 0: not at all; at most ${limits.waitMaxMs / 1000}`,
      defaults.wait,
    )
    .option(
      "-E, --conflict-exit-code <n>",
      "exit code if the lock is not granted in time",
      defaults.conflictExitCode,
    )
    .option("--json", "print what happens as JSON on standard error")
    .addHelpText("after", help)
    .exitOverride(error => {
      if (error.exitCode !== 0) error.exitCode = wrongCommandLine;
      throw error;
    })
    .action((words: readonly string[], flags: LockFlags) => run(locking(words, flags)));
}

/** Holds files while a command runs, if no options say how. */
export function plain(words: readonly string[]): Work | null {
  const separator = words.indexOf("--");
  if (separator <= 0 || words.slice(0, separator).some(word => word.startsWith("-"))) return null;
  return locking(words.toSpliced(separator, 1), defaults);
}

function locking(words: readonly string[], flags: LockFlags): Work {
  return async world => {
    const lockRun = parse(words, world.argv, flags);
    if (typeof lockRun !== "string") return hold(world, lockRun);
    reportFailure(world, world.argv.slice(2), { code: "usage", error: lockRun });
    return wrongCommandLine;
  };
}

/**
 * Returns the run that the command line describes, or a sentence that says what is wrong with it. `words` are the
 * arguments without the first "--"; `argv` shows how many of them follow it.
 */
export function parse(words: readonly string[], argv: readonly string[], flags: LockFlags): LockRun | string {
  const separator = argv.indexOf("--");
  const count = separator === -1 ? 0 : argv.length - separator - 1;
  const names = words.slice(0, words.length - count);
  const [command, ...args] = words.slice(words.length - count);
  if (count === 0 || command === undefined) {
    const [name = "FILE...", ...more] = words;
    const typed = more.length > 0 ? "FILE..." : clean(shellArgument(name));
    return `give a command to hold the lock for: kite lock ${typed} -- COMMAND...`;
  }
  if (names.length === 0) return "give a file before the --: kite lock FILE... -- COMMAND...";
  if (names.includes(""))
    return "the name of a file is empty; name a file, or ./ for everything in this directory";
  for (const name of names.filter(isResource)) {
    const wrong = wrongResource(name);
    if (wrong !== null) return wrong;
  }
  const seconds = /^\d+(\.\d+)?$/.test(flags.wait) ? Number(flags.wait) : -1;
  const most = limits.waitMaxMs / 1000;
  if (seconds < 0 || seconds > most) return `--wait takes seconds from 0 to ${most}, not ${flags.wait}`;
  const refusedCode = /^\d+$/.test(flags.conflictExitCode) ? Number(flags.conflictExitCode) : -1;
  if (refusedCode < 0 || refusedCode > 255) {
    return `--conflict-exit-code takes a number from 0 to 255, not ${flags.conflictExitCode}`;
  }
  return { names, command, args, waitMs: Math.round(seconds * 1000), refusedCode, json: flags.json === true };
}
