/** The program's commands, and the errors that people see. */
import { Command } from "commander";
import { LocalError } from "../client/errors.ts";
import { kitePaths } from "../protocol/paths.ts";
import { fitHelp } from "./help-width.ts";
import { version } from "./version.ts";

interface Entry {
  readonly description: string;
  readonly load: () => Promise<{ readonly add: (program: Command) => void }>;
  /** The command acts for the session or agent that runs it. */
  readonly acts?: true;
}

/** Every command, in the order of `kite --help`. `run` loads only the file of the command that it runs. */
const commands: Readonly<Record<string, Entry>> = {
  demo: {
    description: "watch four simulated sessions share two files",
    load: () => import("./commands/demo.ts"),
  },
  up: { description: "start the daemon, unless it already runs", load: () => import("./commands/up.ts") },
  down: {
    description: "stop the daemon, and keep hooks from starting it",
    load: () => import("./commands/down.ts"),
  },
  status: {
    description: "show the sessions, their locks and their waiters",
    load: () => import("./commands/status.ts"),
  },
  watch: {
    description: "show sessions, locks, tasks and events, live",
    load: () => import("./commands/watch.ts"),
  },
  sessions: { description: "list the sessions", load: () => import("./commands/sessions.ts") },
  agent: {
    description: "show one agent: what it declared, holds, waits for and works on",
    load: () => import("./commands/agent.ts"),
  },
  locks: { description: "list the locks and their waiters", load: () => import("./commands/locks.ts") },
  whose: {
    description: "show which session's uncommitted work is in which file",
    load: () => import("./commands/whose.ts"),
  },
  lock: {
    description: "hold files while a command runs",
    load: () => import("./commands/lock.ts"),
    acts: true,
  },
  unlock: {
    description: "release locks",
    load: () => import("./commands/unlock.ts"),
    acts: true,
  },
  task: {
    description: "plan work: tasks that sessions claim, finish and build on",
    load: () => import("./commands/task.ts"),
    acts: true,
  },
  declare: {
    description: "say what you are about to do: task, plan, files, open questions",
    load: () => import("./commands/declare.ts"),
    acts: true,
  },
  debate: {
    description: "challenge rival hypotheses before one is chosen",
    load: () => import("./commands/debate.ts"),
    acts: true,
  },
  context: {
    description: "share small values with the sessions of a project",
    load: () => import("./commands/context.ts"),
    acts: true,
  },
  message: {
    description: "send messages to other sessions, and read yours",
    load: () => import("./commands/message.ts"),
    acts: true,
  },
  broadcast: {
    description: "send a message to every other session of the project",
    load: () => import("./commands/broadcast.ts"),
    acts: true,
  },
  freeze: {
    description: "keep other sessions from editing files for a while",
    load: () => import("./commands/freeze.ts"),
    acts: true,
  },
  thaw: {
    description: "end freezes: other sessions may edit the files again",
    load: () => import("./commands/thaw.ts"),
    acts: true,
  },
  check: {
    description: "run the project's checks, and keep the results for this state",
    load: () => import("./commands/check.ts"),
    acts: true,
  },
  trust: {
    description: "read a project's checks, and let kite check run them",
    load: () => import("./commands/trust.ts"),
  },
  log: { description: "show each decision, and its reason", load: () => import("./commands/log.ts") },
  risk: {
    description: "show which files of live branches would conflict if merged today",
    load: () => import("./commands/risk.ts"),
  },
  explain: {
    description: "say who has a file, what an agent waits for or what blocks a task, and why",
    load: () => import("./commands/explain.ts"),
  },
  stats: {
    description: "count decisions, waits and denials, and time hooks",
    load: () => import("./commands/stats.ts"),
  },
  doctor: {
    description: "check the installation, and say what to do",
    load: () => import("./commands/doctor.ts"),
  },
  config: {
    description: "show each setting and its source",
    load: () => import("./commands/config.ts"),
  },
  install: { description: "connect Claude Code to Kite", load: () => import("./commands/install.ts") },
  uninstall: { description: "undo kite install", load: () => import("./commands/uninstall.ts") },
  mcp: { description: "serve Kite's tools to an agent (MCP)", load: () => import("./commands/mcp.ts") },
  off: { description: "let every edit through for a while", load: () => import("./commands/off.ts") },
  on: { description: "undo kite off", load: () => import("./commands/on.ts") },
};

/** Earlier names of commands. They still work, but help does not show them. */
const oldNames: ReadonlyMap<string, string> = new Map([
  ["hold", "freeze"],
  ["resume", "thaw"],
]);

/** Runs the command line `typed`. Sets exit code 1 if a command failed; a bug shows its stack. */
export async function run(typed: readonly string[]): Promise<void> {
  const argv = withNewName(typed);
  endQuietlyWithReader();
  const program = new Command("kite")
    .description("Coordinates the Claude Code sessions of this machine.")
    .version(version)
    .enablePositionalOptions()
    .configureOutput({
      outputError: (text, write) => write(asKite(text, nameIn(argv))),
      writeOut: text =>
        process.stdout.write(fitHelp(text, process.stdout.columns ?? Number.POSITIVE_INFINITY)),
    })
    .showSuggestionAfterError();
  const entry = commands[nameIn(argv) ?? ""];
  if (entry !== undefined) (await entry.load()).add(program);
  else
    for (const [name, { description }] of Object.entries(commands))
      program.command(name).description(description);
  try {
    if (entry?.acts) await nameAgent(typed.slice(2));
    await program.parseAsync(argv);
  } catch (error) {
    if (!isForPeople(error)) throw error;
    process.stderr.write(`kite: ${error.message}\n`);
    process.exitCode = 1;
  }
}

/** Sets KITE_AGENT to the calling agent: commands read it from the environment, because a script may set it. */
async function nameAgent(words: readonly string[]): Promise<void> {
  if (process.env["CLAUDECODE"] !== "1") return;
  const { callingAgent } = await import("./calling-agent.ts");
  const agent = await callingAgent(process.env, words);
  if (agent !== null) process.env["KITE_AGENT"] = agent;
}

/** Returns true if the person can act on the error (no daemon, no permission, a wrong setting); false for a bug. */
function isForPeople(error: unknown): error is Error {
  return error instanceof LocalError || (error instanceof Error && ("syscall" in error || settingIsWrong()));
}

function settingIsWrong(): boolean {
  try {
    kitePaths(process.env);
    return false;
  } catch {
    return true; // Every command that needs Kite's directory reports this error.
  }
}

/** Rewrites commander's error about a wrong command line in Kite's form; `name` is the command of that line. */
function asKite(text: string, name: string | undefined): string {
  const [first = "", ...rest] = text.replace(/^error: /, "kite: ").split("\n");
  const help = name === undefined ? "kite --help" : `kite ${name} --help`;
  return [`${first.replace(/\.$/, "")}; see ${help}`, ...rest].join("\n");
}

/** Returns the command line with an earlier name of a command replaced by its present one. */
function withNewName(argv: readonly string[]): readonly string[] {
  const at = argv.findIndex((word, i) => i > 1 && !word.startsWith("-") && word !== "help");
  const name = oldNames.get(argv[at] ?? "");
  return name === undefined ? argv : argv.with(at, name);
}

/** Returns the command's name: the first word, or the second if the first is `help`. */
function nameIn(argv: readonly string[]): string | undefined {
  const words = argv.slice(2).filter(word => !word.startsWith("-"));
  const [first, second] = words;
  const name = first === "help" ? second : first;
  return name !== undefined && Object.hasOwn(commands, name) ? name : undefined;
}

/** Exits quietly on EPIPE: in `kite log | head`, the reader has closed the pipe. */
function endQuietlyWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
}
