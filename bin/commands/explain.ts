import type { Command } from "commander";
import { NotRunning } from "../../client/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { type ProcessContext, printJson, type Run } from "../process-context.ts";
import { notingStale } from "../stale-reads.ts";
import type { Kind } from "../trail/about.ts";
import { answer, type Question } from "../trail/explain.ts";
import { explainLast } from "../trail/last.ts";
import { exitCodes, fail, Refused, sayStale, unnamedPerson } from "../with-daemon.ts";
import { showAgent } from "./agent.ts";

interface ExplainFlags {
  readonly lines: string;
  readonly file?: string;
  readonly agent?: string;
  readonly task?: string;
  /** The latest refusal, wait or warning. */
  readonly last?: boolean;
  readonly history?: boolean;
  readonly log?: boolean;
  readonly diff?: boolean;
  readonly json?: boolean;
}

const help = `
The argument is a task (a number, or an id that begins with t-), an agent (a session's or an agent's name, or the beginning of its
id), or a file or directory. If it could be several of these, Kite takes the first of them and says so; if a number could,
it lists them. --task, --agent and --file say which is meant. Explain reads the log; a running daemon adds what holds now. The latest decision comes
last.

--last explains the latest refusal, wait or warning: what was said to whom, why, what ends it, and how to let it through once.
In an agent's shell it is that agent's own, at a person's terminal the latest of this project.

Of an agent it also shows where it works, what it declared, its tasks and its messages. --history shows what an agent
declared and finished before; of a spawned agent, --log prints what its client printed last, and --diff what it changed
since its branch began.

--json: {"about":"task"|"agent"|"file", "name", "also":[...], "daemon":true|false, "now":{...}, "tokens"?: as in kite stats or null, "explained":[{"at":MS,
"who", "what":"took"|"waits"|"waited"|"denied"|"released"|"not_released"|"began"|"ended"|"task"|"noted", "event",
"type", "file", "project", "command", "task", "isRefused", "waitedMs", "heldMs", "again", "until",
"before":{"who","at"}|null, "code", "why", "holder"}]}
"now" of a file: {"path", "holders", "waiters", "freezes", "lastWrite"}; of an agent: {"name", "session", "holds",
"waits", "refusal", "lastSeenAt", "ended"}; of a task: {"id", "task", "blockers"}
with --last {"about":"last", "line":{...}, "solvedAt":MS|null, "ends", "letThrough"}; "line" as kite log --json has it

Exit codes: 0 done, 1 failed, or nothing is known of it.

Examples:
  $ kite explain src/auth.ts
  $ kite explain alice
  $ kite explain 12
  $ kite explain --file alice
  $ kite explain --last`;

export function add(command: Command, run: Run): void {
  command
    .argument("[what]", "a file or directory, an agent, or a task")
    .option("--file <path>", "this file or directory")
    .option("--agent <name>", "this session or agent")
    .option("--task <task>", "this task: its number, its id, or the beginning of it")
    .option("--last", "the latest refusal, wait or warning, and how to let it through")
    .option("--history", "of an agent: what it declared and finished before")
    .option("--log", "of a spawned agent: what its client printed last")
    .option("--diff", "of a spawned agent: what it changed in its worktree")
    .option("-n, --lines <n>", "how many of the latest decisions", "20")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((what: string | undefined, flags: ExplainFlags) =>
      run(world => {
        const name = what ?? flags.agent;
        const isOfAgent = flags.history === true || flags.log === true || flags.diff === true;
        return name !== undefined && isOfAgent ? showAgent(world, name, flags) : explain(world, what, flags);
      }),
    );
}

/** Returns the exit code. */
export async function explain(
  world: ProcessContext,
  what: string | undefined,
  flags: ExplainFlags,
): Promise<number> {
  const json = flags.json === true;
  const isLast = flags.last === true;
  const asked = askedBy(what, flags);
  const max = /^\d+$/.test(flags.lines) ? Number(flags.lines) : 0;
  const wrong =
    max < 1 || max > limits.trailReadMax
      ? `-n takes a number from 1 to ${limits.trailReadMax}, not ${flags.lines}`
      : isLast && [what, flags.file, flags.agent, flags.task].some(one => one !== undefined)
        ? "--last takes no name: it explains the latest refusal, wait or warning"
        : asked === null && !isLast
          ? "give one thing to explain: a file, an agent or a task"
          : null;
  if (wrong !== null) return fail(world, json, "usage", wrong);
  const person = world.stdout.isTTY === true ? unnamedPerson(world) : {};
  const client = await world
    .connect({ name: "kite", reconnect: false, ...person })
    .catch((error: unknown) => {
      if (error instanceof NotRunning) return null;
      throw error;
    });
  const { client: noting, asOf } = client === null ? { client, asOf: () => undefined } : notingStale(client);
  try {
    const code =
      asked === null
        ? await explainLast(world, noting, json)
        : await answer({ world, client: noting, max, json, ...asked });
    sayStale(world, asOf(), code);
    return code;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (json) printJson(world, error.refusal);
    else fail(world, false, error.refusal.code, error.message);
    return exitCodes.failed;
  } finally {
    client?.close();
  }
}

/** What is to be explained; `kind` if the flags say what it is. Null: nothing, or several things. */
function askedBy(
  what: string | undefined,
  { file, agent, task }: ExplainFlags,
): Pick<Question, "name" | "kind"> | null {
  const named: readonly (readonly [string | undefined, Kind | null])[] = [
    [what, null],
    [task, "task"],
    [agent, "agent"],
    [file, "file"],
  ];
  const [only, ...more] = named.flatMap(([name, kind]) => (name === undefined ? [] : [{ name, kind }]));
  return only === undefined || more.length > 0 ? null : only;
}
