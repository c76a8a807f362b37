/** Answers `kite explain`: reads the trail once, and asks the daemon for what holds now. */
import { readForward } from "../../daemon/trail/read.ts";
import type { Refusal } from "../../protocol/codes.ts";
import { storeUnknown } from "../../protocol/codes.ts";
import { cardOf } from "../agent/agent.ts";
import { type Client, type ProcessContext, printFramed, printJson, screenOf } from "../process-context.ts";
import { ownProject, projectOf } from "../project.ts";
import { refusalText } from "../refusal-text.ts";
import { numbering } from "../tasks/numbering.ts";
import { taskNamed } from "../tasks/numbers.ts";
import { tokensFor } from "../tokens/session.ts";
import { paint } from "../view/color.ts";
import { explainLines } from "../view/explain.ts";
import { agentNow, fileNow, taskNow } from "../view/explain-now.ts";
import { clean, clock, type Screen, wrap } from "../view/text.ts";
import { tokenSentences } from "../view/tokens.ts";
import { exitCodes, fail, rowsOf } from "../with-daemon.ts";
import { type Kind, kinds } from "./about.ts";
import { AboutAgent } from "./about-agent.ts";
import { AboutFile } from "./about-file.ts";
import { AboutTask, isWhole } from "./about-task.ts";
import { trailFlushed } from "./flushed.ts";
import { unknownAgent } from "./known-agents.ts";
import { missingFile } from "./known-files.ts";
import { LockHistory } from "./lock-history.ts";
import { trailNames } from "./names.ts";

export interface Question {
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
export async function answer(question: Question): Promise<number> {
  const { world, client, name, kind, max, json } = question;
  const isNumber = /^#?\d+$/.test(name);
  const mayBe = (one: Kind) =>
    kind === one || (kind === null && (one !== "task" || name.startsWith("t-") || isNumber));
  const project = mayBe("task") ? await projectOf(world.cwd) : null;
  const task =
    project !== null && client !== null
      ? await client.request("task_get", { task: taskNamed(name), project })
      : null;
  const here = project ?? (mayBe("agent") ? await ownProject(world) : null);
  const sessions = client === null ? null : await rowsOf(client, "sessions");
  const isShared = client?.daemon.sharedStoreId !== undefined && mayBe("agent");
  const elsewhere = client !== null && isShared ? await rowsOf(client, "elsewhere") : [];
  const about = {
    task: new AboutTask(name, project, task, max),
    agent: new AboutAgent(name, sessions, { here, max, elsewhere }),
    file: new AboutFile(await trailNames(world, name), max),
  };
  await trailFlushed(world, client);
  const history = new LockHistory();
  let lastAt: number | null = null;
  for await (const { lines } of readForward(world.paths.trail, { n: 0, offset: 0 })) {
    for (const line of lines) {
      for (const one of kinds) if (mayBe(one)) about[one].add(line, history);
      history.add(line);
    }
    lastAt = lines.at(-1)?.at ?? lastAt;
  }
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
  const nowMs = world.now();
  const screen = screenOf(world, pipeColumns);
  const isLive = client !== null;
  const { explained } = about[is];
  const tokens = is === "agent" ? tokensFor(world, about.agent.actor) : null;
  if (json) {
    const now = await about[is].now(client, history, nowMs);
    const counted = is === "agent" ? { tokens } : {};
    printJson(world, { about: is, name, also, daemon: isLive, now, ...counted, explained });
    return exitCodes.done;
  }
  const sentences = {
    task: async () => taskNow(await about.task.now(client), isLive, screen),
    agent: async () => agentNow(await about.agent.now(client, history, nowMs), isLive, screen),
    file: async () => fileNow(await about.file.now(client, history, nowMs), isLive, screen),
  };
  const it = is === "task" ? "it" : undefined;
  const card = is === "agent" && client !== null ? await cardOf(world, client, name) : [];
  const now = await sentences[is]();
  const worded = await numbering(world, client, [...now, JSON.stringify(explained)].join(" "));
  printFramed(world, [
    ...(isLive ? [] : plainLines([absence(lastAt, screen)], screen)),
    ...plainLines(now.map(worded), screen),
    ...plainLines(tokens === null ? [] : tokenSentences(tokens), screen),
    ...(card.length === 0 ? [] : ["", ...card]),
    "",
    paint(screen, "bold", explained.length === 0 ? "The log has no decision about it." : "Latest decisions"),
    ...explained.flatMap(one => explainLines(one, screen, it, worded)),
    ...also.flatMap(one => ["", ...plainLines([otherMeaning(name, one)], screen)]),
  ]);
  return exitCodes.done;
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
