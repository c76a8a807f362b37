/** `kite declare`: sends parts of a declaration, and shows what is declared. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isSystemError, systemErrorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { DeclarationRow } from "../../protocol/schemas/declaration.ts";
import { nearPathsIn } from "../../protocol/text.ts";
import { type Acting, actingSession } from "../actor.ts";
import { agentCalled, agentsOf, type NamedAgent, noAgent } from "../agent/named.ts";
import {
  type Client,
  type ProcessContext,
  print,
  printFrame,
  printFramed,
  printJson,
  screenOf,
} from "../process-context.ts";
import { projectOf } from "../project.ts";
import { declarationLines, declarationsView, declaredView, overlapLines } from "../view/declarations.ts";
import { clean } from "../view/text.ts";
import { ask, exitCodes, fail, printShown, rowsOf, withDaemon } from "../with-daemon.ts";
import { exampleOf, nothingKnown } from "./example.ts";
import { type Flag, partsOf } from "./flags.ts";
import { wholePaths } from "./folders.ts";
import { partsIn, type Read } from "./read.ts";

/** Declares what the flags or the file say; `-` is standard input. Returns the exit code, as all functions here do. */
export async function declare(
  world: ProcessContext,
  file: string | undefined,
  flags: readonly Flag[],
  json: boolean,
): Promise<number> {
  const acting = actingSession(world.env);
  if (acting === null) {
    const error =
      "only agents declare, and no session's agent runs this command. An agent runs it in its own shell, where " +
      "KITE_SESSION or CLAUDE_CODE_SESSION_ID names its session; to see what an agent declared: kite explain NAME";
    return fail(world, json, "unknown_session", error);
  }
  const read = readParts(world, file, flags);
  if ("error" in read) return fail(world, json, "usage", read.error);
  const { codeView } = read.parts;
  const files = codeView === undefined ? {} : { codeView: await wholePaths(world.cwd, codeView) };
  const parts = { ...read.parts, ...files };
  return withDaemon(world, json, async client => {
    const reply = await ask(client, "declare", { ...acting, ...parts });
    if (json) printJson(world, reply);
    else {
      const screen = screenOf(world);
      printFramed(world, overlapLines(reply.overlaps, world.cwd, screen));
      const missing = reply.missing.map(one => nearPathsIn(one, world.cwd));
      print(world, declaredView({ ...reply, missing }, screen));
    }
    return exitCodes.done;
  });
}

/** Shows the declaration of an agent; without a name the caller's own, for a person those of the project. */
export async function show(world: ProcessContext, name: string | null, json: boolean): Promise<number> {
  const acting = actingSession(world.env);
  return withDaemon(world, json, async client => {
    if (name === null && acting === null) return showAll(world, client, json);
    const named = name === null ? null : await agentNamed(world, client, name);
    const of = named ?? acting;
    const row = await declarationOf(client, of?.id ?? "", of?.agent ?? null);
    const who = named === null ? "You have" : `${clean(named.name)} has`;
    if (json) printJson(world, { declaration: row });
    else if (row === null) print(world, [`${who} declared nothing.`]);
    else printFramed(world, [clean(row.name), ...declarationLines(row, world.cwd, screenOf(world))]);
    return exitCodes.done;
  });
}

/** Returns the live agent of that name, on this machine or else one of another that declared something. */
async function agentNamed(world: ProcessContext, client: Client, name: string): Promise<NamedAgent> {
  const agents = agentsOf(await rowsOf(client, "sessions"));
  const others = client.daemon.sharedStoreId === undefined ? [] : await rowsOf(client, "declarations");
  const found =
    (await agentCalled(world, agents, name)) ??
    (await agentCalled(
      world,
      others.filter(({ machine }) => machine !== undefined),
      name,
    ));
  if (found === null) throw await noAgent(client, agents, name);
  return found;
}

async function showAll(world: ProcessContext, client: Client, json: boolean): Promise<number> {
  const declarations = await rowsOf(client, "declarations", { project: await projectOf(world.cwd) });
  return printShown(world, json, { declarations }, screen => declarationsView(declarations, screen));
}

/** Prints a filled declaration: with what is known of the agent that asks, else with made-up words. */
export async function example(world: ProcessContext): Promise<number> {
  const acting = actingSession(world.env);
  if (acting === null) {
    print(world, [exampleOf(nothingKnown)]);
    return exitCodes.done;
  }
  return withDaemon(world, false, async client => {
    const text = exampleOf(await knownOf(world, client, acting));
    // Standard output holds only the example: an agent may write it to a file.
    printFrame(world, world.stderr);
    print(world, [text]);
    return exitCodes.done;
  });
}

async function knownOf({ cwd }: ProcessContext, client: Client, { id, agent: own }: Acting) {
  const agent = own ?? null;
  const [declaration, [session], tasks] = await Promise.all([
    declarationOf(client, id, agent),
    rowsOf(client, "sessions", { id }),
    rowsOf(client, "tasks", { assignee: id, status: "active" }),
  ]);
  const claimed = tasks.filter(task => task.assigneeAgent === agent);
  const task = claimed.at(-1)?.description.slice(0, limits.declaredTextChars) ?? null;
  return { declaration, task, files: agent === null ? (session?.files ?? []) : [], cwd };
}

async function declarationOf(
  client: Client,
  id: string,
  agent: string | null,
): Promise<DeclarationRow | null> {
  const rows = await rowsOf(client, "declarations", { id });
  return rows.find(row => row.agent === agent) ?? null;
}

function readParts(world: ProcessContext, file: string | undefined, flags: readonly Flag[]): Read {
  if (file === undefined) {
    return flags.length > 0
      ? partsOf(flags)
      : {
          error:
            "nothing to declare: give flags, a file, or - for standard input; kite declare --example prints one",
        };
  }
  if (flags.length > 0) return { error: "give a file or flags, not both" };
  try {
    const text = readFileSync(file === "-" ? 0 : resolve(world.cwd, file), "utf8");
    return partsIn(text, file === "-" ? "standard input" : file);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return { error: `${file}: ${systemErrorText(error)}` };
  }
}
