import { Command } from "commander";
import { LocalError } from "../client/errors.ts";
import { kitePaths } from "../protocol/paths.ts";
import { fitHelp } from "./help-width.ts";
import { version } from "./version.ts";

interface Entry {
  readonly description: string;
  readonly load: () => Promise<{ readonly add: (program: Command) => void }>;
  /** It does something in the name of whoever types it. */
  readonly acts?: true;
}

/** Every command, in the order of `kite --help`. Each file is loaded when its command is called for. */
const commands: Readonly<Record<string, Entry>> = {
  demo: {
    description: "watch four simulated sessions share two files",
    load: () => import("./commands/demo.ts"),
  },
  up: { description: "start the daemon, unless it runs already", load: () => import("./commands/up.ts") },
  down: {
    description: "stop the daemon, and keep hooks from starting it",
    load: () => import("./commands/down.ts"),
  },
  status: {
    description: "show who is here, what is locked and who waits",
    load: () => import("./commands/status.ts"),
  },
  watch: {
    description: "show sessions, locks, tasks and what happens, live",
    load: () => import("./commands/watch.ts"),
  },
  sessions: { description: "list the sessions", load: () => import("./commands/sessions.ts") },
  locks: { description: "list the locks and who waits for them", load: () => import("./commands/locks.ts") },
  whose: {
    description: "show whose uncommitted work is in which file",
    load: () => import("./commands/whose.ts"),
  },
  lock: {
    description: "hold files while a command runs",
    load: () => import("./commands/lock.ts"),
    acts: true,
  },
  unlock: {
    description: "release a lock",
    load: () => import("./commands/unlock.ts"),
    acts: true,
  },
  task: {
    description: "plan work: tasks that sessions claim, finish and build on",
    load: () => import("./commands/task.ts"),
    acts: true,
  },
  context: {
    description: "share small values with the sessions of a project",
    load: () => import("./commands/context.ts"),
    acts: true,
  },
  message: {
    description: "write to other sessions, and read what they wrote",
    load: () => import("./commands/message.ts"),
    acts: true,
  },
  broadcast: {
    description: "write to every other session of the project",
    load: () => import("./commands/broadcast.ts"),
    acts: true,
  },
  hold: {
    description: "ask that nobody else edits some files for a while",
    load: () => import("./commands/hold.ts"),
    acts: true,
  },
  resume: {
    description: "let edits go on that were on hold",
    load: () => import("./commands/resume.ts"),
    acts: true,
  },
  log: { description: "show what was decided, and why", load: () => import("./commands/log.ts") },
  risk: {
    description: "show which files of live branches would conflict if merged today",
    load: () => import("./commands/risk.ts"),
  },
  explain: {
    description: "say who waited, was denied or let through, and why",
    load: () => import("./commands/explain.ts"),
  },
  doctor: {
    description: "check that everything works, and say what to do",
    load: () => import("./commands/doctor.ts"),
  },
  config: {
    description: "show each setting and where it comes from",
    load: () => import("./commands/config.ts"),
  },
  install: { description: "connect Claude Code to Kite", load: () => import("./commands/install.ts") },
  uninstall: { description: "undo what install wrote", load: () => import("./commands/uninstall.ts") },
  mcp: { description: "serve Kite's tools to an agent (MCP)", load: () => import("./commands/mcp.ts") },
  off: { description: "let every edit through for a while", load: () => import("./commands/off.ts") },
  on: { description: "undo off", load: () => import("./commands/on.ts") },
};

/** Runs the command line `argv`. The exit code is 1 where a command failed; a bug shows its stack. */
export async function run(argv: readonly string[]): Promise<void> {
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
    if (entry?.acts) await nameAgent(argv.slice(2));
    await program.parseAsync(argv);
  } catch (error) {
    if (!isForPeople(error)) throw error;
    process.stderr.write(`kite: ${error.message}\n`);
    process.exitCode = 1;
  }
}

/** Commands read the agent from their environment, as a script may set it. */
async function nameAgent(words: readonly string[]): Promise<void> {
  if (process.env["CLAUDECODE"] !== "1") return;
  const { typedBy } = await import("./calling-agent.ts");
  const agent = await typedBy(process.env, words);
  if (agent !== null) process.env["KITE_AGENT"] = agent;
}

/** Whether an error tells of the world (no daemon, no permission, a wrong setting) and not of a bug. */
function isForPeople(error: unknown): error is Error {
  return error instanceof LocalError || (error instanceof Error && ("syscall" in error || settingIsWrong()));
}

function settingIsWrong(): boolean {
  try {
    kitePaths(process.env);
    return false;
  } catch {
    return true; // And so every command that asks where Kite lives says it.
  }
}

/** What commander says of a wrong command line, as Kite says things; `name` is the command that was asked for. */
function asKite(text: string, name: string | undefined): string {
  const [first = "", ...rest] = text.replace(/^error: /, "kite: ").split("\n");
  const help = name === undefined ? "kite --help" : `kite ${name} --help`;
  return [`${first.replace(/\.$/, "")}; see ${help}`, ...rest].join("\n");
}

/** The command asked for: the first word, or the second one after `help`. */
function nameIn(argv: readonly string[]): string | undefined {
  const words = argv.slice(2).filter(word => !word.startsWith("-"));
  const [first, second] = words;
  const name = first === "help" ? second : first;
  return name !== undefined && Object.hasOwn(commands, name) ? name : undefined;
}

/** `kite log | head`: nobody reads on, so there is nothing more to do. */
function endQuietlyWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
}
