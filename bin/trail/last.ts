/** `kite explain --last`: the latest refusal, wait or warning: what was said to whom, why, what ends it, how to let it through. */

import type { TrailLine } from "../../daemon/trail/line.ts";
import { readTrail } from "../../daemon/trail/read.ts";
import { limits } from "../../protocol/limits.ts";
import { isResource, lockKey } from "../../protocol/names.ts";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import { shellArgument } from "../../protocol/text.ts";
import { actingSession } from "../context/actor.ts";
import { callingAgent } from "../context/caller.ts";
import { seemsAgents } from "../context/person.ts";
import { type Client, type ProcessContext, print, printJson, screenOf } from "../context/process-context.ts";
import { projectOf } from "../context/project.ts";
import { exitCodes, fail, Refused, rowsOf } from "../context/with-daemon.ts";
import { clean, clock, type Screen, wrap } from "../view/text.ts";
import { actorIn, isOf, LockHistory, pathIn, Story, trailFlushed, withHostNames } from "./explained.ts";
import { adviceFor, explainLines } from "./sentences.ts";

/** Notes of these rules say what happened, and warn of nothing. */
const plainRules: ReadonlySet<string> = new Set([
  ..."lock freeze session task message ignore client_task declaration merge spawn off store".split(" "),
]);

/** Of whom the latest is meant: an agent's own, or anybody's of a project. */
type Whose = { readonly session: string; readonly agent: string | null } | { readonly project: string };

/** What ends a refusal, and the line that lets it through once; null: nothing does. */
interface WayOut {
  readonly ends: string;
  readonly letThrough: { readonly line: string; readonly says: string } | null;
}

/** Returns the exit code. `client`: null if no daemon runs. Throws `Refused` if the daemon refuses a query. */
export async function explainLast(
  world: ProcessContext,
  client: Client | null,
  json: boolean,
): Promise<number> {
  const isAgent = await seemsAgents(world);
  const whose = await whoseLast(world, isAgent);
  await trailFlushed(world, client);
  const [line] = await readTrail(world.paths.trail, {
    limit: 1,
    filter: one => isMeant(one, whose) && isHeld(one),
  });
  if (line === undefined) {
    const place = "project" in whose ? "in this project" : "to this agent";
    return fail(
      world,
      json,
      "nothing_known",
      `Kite refused nothing ${place}, and let nothing wait; see kite log`,
    );
  }
  const [after] = await readTrail(world.paths.trail, {
    limit: 1,
    since: line.at,
    filter: one => isSolved(line, one),
  });
  const locks = client === null ? null : await rowsOf(client, "locks");
  const solvedAt = after?.at ?? null;
  const way = solvedAt === null ? wayOut(line, locks) : null;
  if (json) {
    printJson(world, {
      about: "last",
      line,
      solvedAt,
      ends: way?.ends ?? null,
      letThrough: way?.letThrough?.line ?? null,
    });
    return exitCodes.done;
  }
  const screen = screenOf(world);
  print(world, [
    ...explainLines(storyOf(line), screen),
    ...wayLines(line, { way, solvedAt, isAgent }, screen),
  ]);
  return exitCodes.done;
}

/** An agent's own; at a person's terminal the project's. If several agents of a session may ask, the session's. */
async function whoseLast(world: ProcessContext, isAgent: boolean): Promise<Whose> {
  const acting = isAgent ? actingSession(world.env) : null;
  if (acting === null) {
    const project = await projectOf(world.cwd);
    return { project: (await withHostNames(world, [project]))[0] ?? project };
  }
  try {
    const agent = acting.agent ?? (await callingAgent(world.env, ["kite", ...world.argv.slice(2)]));
    return { session: acting.id, agent };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { session: acting.id, agent: null };
  }
}

function isMeant(line: TrailLine, whose: Whose): boolean {
  if ("project" in whose) return line.project === whose.project;
  return isOf(line, whose.session) && (whose.agent === null || line.agent === whose.agent);
}

/** Whether Kite refused something, let it wait, or warned. */
function isHeld({ decision, rule, code }: TrailLine): boolean {
  if (decision === "deny" || decision === "wait") return true;
  return decision === "note" && (code !== undefined || (rule !== undefined && !plainRules.has(rule)));
}

/** Whether the later line says that the same agent got what the earlier one says it did not have. */
function isSolved(held: TrailLine, line: TrailLine): boolean {
  if (held.decision === "note" || line.decision !== "allow" || line.id !== held.id) return false;
  const isSame =
    held.file === null ? line.event === held.event && line.task === held.task : pathIn(line) === pathIn(held);
  return isSame && line.agent === held.agent;
}

function storyOf(line: TrailLine) {
  const story = new Story(() => true, 1);
  story.add(line, new LockHistory());
  const [one] = story.found;
  if (one === undefined) throw new Error("a story has what was added to it");
  return one;
}

/** `locks`: those that are held now; null: no daemon runs. */
function wayOut(line: TrailLine, locks: readonly LockRow[] | null): WayOut {
  const { rule, code, type } = line;
  const file = pathIn(line);
  const who = clean(line.name ?? actorIn(line));
  const off = line.id !== null && {
    line: `kite off --session ${shellArgument(line.name ?? line.id ?? "")} --for 5m`,
    says: `lets through all that ${who} does in the next five minutes`,
  };
  if (file !== null && (rule === "freeze" || code === "edits_held")) {
    const thaw = { line: `kite thaw ${shellArgument(file)}`, says: "ends the freeze of this file" };
    return { ends: "the freeze ends at its time, or when whoever froze the file ends it", letThrough: thaw };
  }
  if (file !== null && (rule === "lock" || line.decision === "wait")) return lockWay(line, file, locks);
  if (rule === "guard") {
    const what = type?.startsWith("git ") ? `\`${clean(type)}\`` : "the command";
    return {
      ends: `it passes once the files that ${what} would reach are committed or stashed by those who changed them`,
      letThrough: off || null,
    };
  }
  if (rule === "stale")
    return { ends: "the agent reads the file again; its next write runs", letThrough: null };
  if (rule === "rescue")
    return { ends: "the same command runs when the agent sends it again", letThrough: null };
  if (rule === "own_files")
    return { ends: "no agent writes Kite's own files; a person edits them", letThrough: null };
  const advice = adviceFor({ code: code ?? null, rule: rule ?? null });
  if (line.decision === "note")
    return { ends: advice ?? "it was a warning: nothing was held back", letThrough: null };
  if (line.file === null && line.event !== "PreToolUse")
    return { ends: advice ?? "do what the reason says, then try again", letThrough: null };
  return { ends: advice ?? "do what the reason says, then try again", letThrough: off || null };
}

function lockWay(line: TrailLine, file: string, locks: readonly LockRow[] | null): WayOut {
  const key = lockKey({ path: file, project: line.project ?? "" });
  const held = locks?.find(row => lockKey(row) === key || file.startsWith(`${row.path}/`));
  const it = isResource(file) ? file : "the file";
  if (locks !== null && (held === undefined || held.holder === null || held.holder.id === line.id))
    return { ends: `nobody else has ${it} now: the agent may try again`, letThrough: null };
  const name = held?.holder?.name ?? line.holder ?? null;
  const holder = name === null ? `whoever has ${it}` : clean(name);
  const seconds = limits.yieldMs / 1000;
  const ends =
    held?.use !== undefined
      ? `${holder} keeps the lock until its work is done, or releases it`
      : `${holder}'s lock ends when ${holder} has answered its prompt, or passes on ${seconds} s after ${holder} last touched the file`;
  const force = {
    line: `kite unlock --force ${shellArgument(held?.path ?? file)}`,
    says: `takes the lock from ${holder}, who is told`,
  };
  return { ends, letThrough: force };
}

interface Outcome {
  readonly way: WayOut | null;
  readonly solvedAt: number | null;
  readonly isAgent: boolean;
}

function wayLines(line: TrailLine, { way, solvedAt, isAgent }: Outcome, screen: Screen): readonly string[] {
  const sentences: string[] = [];
  if (solvedAt !== null)
    sentences.push(`It is over: ${clean(actorIn(line))} went on at ${clock(solvedAt, screen.now)}.`);
  if (way !== null) {
    sentences.push(`What ends it: ${way.ends}.`);
    if (way.letThrough !== null) {
      const { line: does, says } = way.letThrough;
      sentences.push(`To let it through once${isAgent ? ", your user runs" : ""}: ${does} (${says})`);
    }
  }
  sentences.push("More: kite help in-my-way");
  return sentences.flatMap(one => wrap(one, screen.width, 2));
}
