/** `kite explain` says who has a file, what an agent waits for or what blocks a task, and why. */

import type { Command } from "commander";
import { NotRunning } from "../../client/errors.ts";
import { readForward } from "../../daemon/trail/read.ts";
import { type Refusal, storeUnknown } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { cardOf, showAgent } from "../agents/agents.ts";
import {
  type Client,
  type ProcessContext,
  printFramed,
  printJson,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import { ownProject, projectOf } from "../context/project.ts";
import { numbering } from "../context/task-numbers.ts";
import {
  exitCodes,
  fail,
  notingStale,
  Refused,
  rowsOf,
  sayStale,
  unnamedPerson,
} from "../context/with-daemon.ts";
import { refusalText } from "../refusal-text.ts";
import { AboutAgent, AboutFile, AboutTask, isWhole, type Kind, kinds } from "../trail/about.ts";
import { LockHistory, missingFile, trailFlushed, trailNames, unknownAgent } from "../trail/explained.ts";
import { explainLast } from "../trail/last.ts";
import { agentNow, explainLines, fileNow, taskNow } from "../trail/sentences.ts";
import { tokenSentences } from "../trail/stats.ts";
import { tokensFor } from "../trail/tokens.ts";
import { taskNamed } from "../view/task-names.ts";
import { clean, clock, paint, type Screen, wrap } from "../view/text.ts";

// Answers `kite explain`: reads the trail once, and asks the daemon for what holds now.

interface Question {
  readonly world: ProcessContext;
  /** Null: no daemon runs. */
  readonly client: Client | null;
  readonly name: string;
  /** Null: what the name fits. */
  readonly kind: Kind | null;
  /** Decisions shown at most. */
  readonly max: number;
  readonly json: boolean;
}

/** Columns of an output that is no terminal. */
const pipeColumns = 80;

/** Returns the exit code. Throws `Refused` if the daemon refuses a query. */
async function answer(question: Question): Promise<number> {
  const { world, client, name, kind, json } = question;
  const isNumber = /^#?\d+$/.test(name);
  const mayBe = (one: Kind) =>
    kind === one || (kind === null && (one !== "task" || name.startsWith("t-") || isNumber));
  const { about, task } = await meaningsOf(question, mayBe);
  await trailFlushed(world, client);
  const read = await readInto(
    about,
    kinds.filter(mayBe),
    readForward(world.paths.trail, { n: 0, offset: 0 }),
  );
  const [is, ...also] = kinds.filter(one => mayBe(one) && about[one].isKnown);
  if (is === undefined) {
    await failUnknown(question, task?.ok === false ? task : null);
    return exitCodes.failed;
  }
  if (isNumber && also.length > 0) {
    const meanings = [is, ...also].map(one => `kite explain --${one} ${clean(name)}`);
    return fail(
      world,
      json,
      "ambiguous_name",
      `${name} names several things; say which: ${meanings.join(", ")}`,
    );
  }
  const several = is === "task" ? about.task.severalIds : null;
  if (several !== null)
    return fail(world, json, "ambiguous_task", `${name} may be ${several.join(" or ")}; give more of the id`);
  const found = { ...read, about, is, also };
  await (json ? showJson(question, found) : showSentences(question, found));
  return exitCodes.done;
}

/** What a name may mean, by kind. */
interface Meanings {
  readonly task: AboutTask;
  readonly agent: AboutAgent;
  readonly file: AboutFile;
}

/** Asks the daemon what the name may mean; `task`: its answer about a task, null if it was not asked. */
async function meaningsOf({ world, client, name, max }: Question, mayBe: (kind: Kind) => boolean) {
  const project = mayBe("task") ? await projectOf(world.cwd) : null;
  const task =
    project !== null && client !== null
      ? await client.request("task_get", { task: taskNamed(name), project })
      : null;
  const here = project ?? (mayBe("agent") ? await ownProject(world) : null);
  const sessions = client === null ? null : await rowsOf(client, "sessions");
  const isShared = client?.daemon.sharedStoreId !== undefined && mayBe("agent");
  const elsewhere = client !== null && isShared ? await rowsOf(client, "elsewhere") : [];
  const about: Meanings = {
    task: new AboutTask(name, project, task, max),
    agent: new AboutAgent(name, sessions, { here, max, elsewhere }),
    file: new AboutFile(await trailNames(world, name), max),
  };
  return { about, task };
}

interface Read {
  readonly history: LockHistory;
  /** When the last line was written; null: there is none. */
  readonly lastAt: number | null;
}

/** Adds the trail's lines to the meanings of these kinds. */
async function readInto(
  about: Meanings,
  wanted: readonly Kind[],
  trail: ReturnType<typeof readForward>,
): Promise<Read> {
  const history = new LockHistory();
  let lastAt: number | null = null;
  for await (const { lines } of trail) {
    for (const line of lines) {
      for (const one of wanted) about[one].add(line, history);
      history.add(line);
    }
    lastAt = lines.at(-1)?.at ?? lastAt;
  }
  return { history, lastAt };
}

/** What the name means. */
interface Found extends Read {
  readonly about: Meanings;
  readonly is: Kind;
  /** What else has this name. */
  readonly also: readonly Kind[];
}

async function showJson({ world, client, name }: Question, found: Found): Promise<void> {
  const { about, is, also, history } = found;
  const { explained } = about[is];
  const counted = is === "agent" ? { tokens: tokensFor(world, about.agent.actor) } : {};
  const now = await about[is].now(client, history, world.now());
  printJson(world, { about: is, name, also, daemon: client !== null, now, ...counted, explained });
}

async function showSentences(question: Question, found: Found): Promise<void> {
  const { world, client, name } = question;
  const { about, is, also, lastAt } = found;
  const screen = screenOf(world, pipeColumns);
  const { explained } = about[is];
  const tokens = is === "agent" ? tokensFor(world, about.agent.actor) : null;
  const it = is === "task" ? "it" : undefined;
  const card = is === "agent" && client !== null ? await cardOf(world, client, name) : [];
  const now = await sentencesNow(question, found, screen);
  const worded = await numbering(world, client, [...now, JSON.stringify(explained)].join(" "));
  printFramed(world, [
    ...(client === null ? plainLines([absence(lastAt, screen)], screen) : []),
    ...plainLines(now.map(worded), screen),
    ...plainLines(tokens === null ? [] : tokenSentences(tokens), screen),
    ...(card.length === 0 ? [] : ["", ...card]),
    "",
    paint(screen, "bold", explained.length === 0 ? "The log has no decision about it." : "Latest decisions"),
    ...explained.flatMap(one => explainLines(one, screen, it, worded)),
    ...also.flatMap(one => ["", ...plainLines([otherMeaning(name, one)], screen)]),
  ]);
}

/** Returns what holds now. */
async function sentencesNow({ world, client }: Question, { about, is, history }: Found, screen: Screen) {
  const isLive = client !== null;
  const nowMs = world.now();
  if (is === "task") return taskNow(await about.task.now(client), isLive, screen);
  if (is === "agent") return agentNow(await about.agent.now(client, history, nowMs), isLive, screen);
  return fileNow(await about.file.now(client, history, nowMs), isLive, screen);
}

async function failUnknown(
  { world, client, name, kind, json }: Question,
  refusal: Refusal | null,
): Promise<void> {
  const unknown = kind === "agent" ? await unknownAgent(world.paths.trail, name) : null;
  const paths = await trailNames(world, name);
  const isFile = kind === null || kind === "file";
  const missing = isFile ? await missingFile(world.paths.trail, { paths, cwd: world.cwd }) : null;
  const look =
    client === null ? "Kite is not running, so only the log was read. Start it: kite up" : "see kite log";
  const next = missing?.meant ? `did you mean ${clean(missing.meant)}?` : look;
  const what = kind === null ? "file, agent or task" : kind;
  const isShort = kind === "task" && !isWhole(name);
  const where = isShort ? " in this project; a task of another project needs its whole id" : `; ${next}`;
  // A number may be a task's alone.
  const isUnknown = refusal?.code === storeUnknown.code && /^#?\d+$/.test(name);
  if (refusal !== null && (kind === "task" || isUnknown))
    fail(world, json, refusal.code, refusalText(refusal, "terminal"));
  else fail(world, json, "nothing_known", unknown ?? `nothing is known of a ${what} ${name}${where}`);
}

function absence(lastAt: number | null, screen: Screen): string {
  const until = lastAt === null ? "The log is empty." : `It ends at ${clock(lastAt, screen.now)}.`;
  return `No daemon runs: this is what the log alone tells. ${until}`;
}

function otherMeaning(name: string, kind: Kind): string {
  return `${clean(name)} is also ${kind === "agent" ? "an agent" : `a ${kind}`}. To explain that: kite explain --${kind} ${clean(name)}`;
}

function plainLines(sentences: readonly string[], screen: Screen): string[] {
  return sentences.flatMap(sentence => wrap(sentence, screen.width, 2));
}

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
  const question = askedBy(what, flags);
  const max = /^\d+$/.test(flags.lines) ? Number(flags.lines) : 0;
  const wrong =
    max < 1 || max > limits.trailReadMax
      ? `-n takes a number from 1 to ${limits.trailReadMax}, not ${flags.lines}`
      : isLast && [what, flags.file, flags.agent, flags.task].some(one => one !== undefined)
        ? "--last takes no name: it explains the latest refusal, wait or warning"
        : question === null && !isLast
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
      question === null
        ? await explainLast(world, noting, json)
        : await answer({ world, client: noting, max, json, ...question });
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
