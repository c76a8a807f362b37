/** `kite declare`: sends parts of a declaration, and shows what is declared. */

import { readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import { declarationExample } from "../../protocol/codes.ts";
import { isSystemError, systemErrorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import {
  type DeclarationParts,
  type DeclarationRow,
  declarationFields,
  declarationSchema,
} from "../../protocol/schemas/declaration.ts";
import { escaped, nearest, nearPath, nearPathsIn } from "../../protocol/text.ts";
import { type Acting, absolute, actingSession } from "../context/actor.ts";
import { agentCalled, agentsOf, type NamedAgent, noAgent } from "../context/caller.ts";
import {
  type Client,
  type ProcessContext,
  print,
  printFrame,
  printFramed,
  printJson,
  screenOf,
} from "../context/process-context.ts";
import { fileTyped, projectOf } from "../context/project.ts";
import { ask, exitCodes, fail, printShown, rowsOf, withDaemon } from "../context/with-daemon.ts";
import { declarationLines, declarationsView, declaredView, overlapLines } from "../view/declarations.ts";
import { clean } from "../view/text.ts";

// A filled declaration to begin with, in YAML.

/** What is known of the agent that asks. */
interface KnownOfAgent {
  readonly declaration: DeclarationRow | null;
  /** Its claimed task's description; null: it has claimed none. */
  readonly task: string | null;
  /** Absolute paths of the files that it has open, the latest last. */
  readonly files: readonly string[];
  readonly cwd: string;
}

export const nothingKnown: KnownOfAgent = { declaration: null, task: null, files: [], cwd: "/" };

const filesShownMax = 5;

/** Returns the example, with what is known of the agent in the place of made-up words. */
export function exampleOf({ declaration, task, files, cwd }: KnownOfAgent): string {
  const known = declaration?.files.map(({ path, dir, sees, will }) => {
    return { file: `${nearPath(path, cwd)}${dir ? "/" : ""}`, sees, will };
  });
  const open = files.slice(-filesShownMax).map(file => ({ file: nearPath(file, cwd), sees: "", will: "" }));
  const view = [known, open, [{ file: "src/session-store.ts", sees: "", will: "" }]].find(
    list => list !== undefined && list.length > 0,
  );
  const plan = declaration?.plan.length ? declaration.plan : [declarationExample.step];
  return [
    "# Say it in your own words: what is copied from here counts as missing. A part that you leave out stays as it was.",
    "identity:",
    `  role: ${text(declaration?.role, "implementer")}  # lead, implementer, reviewer, ...`,
    ...(declaration?.team ? [`  team: ${text(declaration.team)}`] : []),
    "understanding:",
    `  task: ${text(declaration?.task, task, declarationExample.task)}`,
    `  confidence: ${declaration?.confidence ?? 0.8}  # 0 to 1`,
    `  reason: ${text(declaration?.reason, declarationExample.reason)}`,
    "  plan:",
    ...plan.map(step => `    - ${text(step)}`),
    "codeView:  # the files that you will change",
    ...(view ?? []).flatMap(({ file, sees, will }) => [
      `  - file: ${text(file)}`,
      `    sees: ${text(sees, declarationExample.sees)}`,
      `    will: ${text(will, declarationExample.will)}`,
    ]),
    ...questions(declaration),
  ].join("\n");
}

/** Without known questions only a comment: a made-up question would stay open. */
function questions(declaration: DeclarationRow | null): string[] {
  const known = declaration?.uncertainties ?? [];
  if (known.length === 0) {
    return [
      "# uncertainties:  # what you are not sure of",
      `#   - question: ${text("Is the store called twice at a login?")}`,
      `#     settledBy: ${text("a test that counts the calls")}`,
      `#     evidence: ${text("what you found")}`,
      "#     resolved: true  # with evidence only",
    ];
  }
  return [
    "uncertainties:",
    ...known.flatMap(({ question, settledBy, evidence, resolved }) => [
      `  - question: ${text(question)}`,
      ...(settledBy === "" ? [] : [`    settledBy: ${text(settledBy)}`]),
      ...(evidence === "" ? [] : [`    evidence: ${text(evidence)}`]),
      ...(resolved ? ["    resolved: true"] : []),
    ]),
  ];
}

/** Returns the first text that is not empty as a JSON string, which YAML reads, too. */
function text(...texts: readonly (string | null | undefined)[]): string {
  return escaped(JSON.stringify(texts.find(one => one !== undefined && one !== null && one !== "") ?? ""));
}

// Reads a declaration from YAML or JSON, and says where in the text something is wrong.

/** The parts, or in a sentence why the text is no declaration. */
type Read = { readonly parts: DeclarationParts } | { readonly error: string };

type Path = readonly (string | number)[];

/**
 * Returns the parts in `text`; `from` names its source in errors. JSON is read as YAML, of which it is a part. A field
 * without a value counts as absent.
 */
export function partsIn(text: string, from: string): Read {
  const lines = new LineCounter();
  const options = {
    lineCounter: lines,
    prettyErrors: false,
    resolveKnownTags: false,
    logLevel: "error",
  } as const;
  const document = parseDocument(text, options);
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${from}, line ${line}, column ${col}`;
  };
  const [broken] = document.errors;
  if (broken !== undefined) return { error: `${at(broken.pos[0])}: ${firstLine(broken.message)}` };
  const value = plainValue(document);
  if (value === undefined) return { error: `${from} has too many aliases (*name); write their values out` };
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const error = `${from} is no declaration: it has to have fields such as understanding; see kite declare --example`;
    return { error };
  }
  const where = (path: Path) => at(offsetOf(document, path));
  const [unknown] = unknownFields(value);
  if (unknown !== undefined) return { error: `${where(unknown.path)}: ${unknown.error}` };
  const parsed = declarationSchema.safeParse(value);
  if (parsed.success) return { parts: parsed.data };
  const [issue] = parsed.error.issues;
  const path = (issue?.path ?? []).map(key => (typeof key === "symbol" ? String(key) : key));
  return { error: `${where(path)}: ${path.join(".")}: ${issue?.message ?? "is wrong"}` };
}

/** The document as plain values, without fields that are null; undefined if its aliases would make it huge. */
function plainValue(document: Document): unknown {
  try {
    return withoutNulls(document.toJS());
  } catch (error) {
    // The package says so of too many aliases.
    if (error instanceof ReferenceError) return undefined;
    throw error;
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]));
}

interface Unknown {
  readonly path: Path;
  readonly error: string;
}

/** Yields the fields that a declaration does not have: of the whole, of its parts, and of the items of its lists. */
function* unknownFields(value: object): Generator<Unknown, void> {
  yield* unknownIn(value, "", []);
  for (const [part, field] of Object.entries(value)) {
    const items: [Path, unknown][] = Array.isArray(field)
      ? field.map((item, i): [Path, unknown] => [[part, i], item])
      : [[[part], field]];
    for (const [path, item] of items)
      if (typeof item === "object" && item !== null) yield* unknownIn(item, part, path);
  }
}

function* unknownIn(value: object, part: string, path: Path): Generator<Unknown, void> {
  const known = declarationFields.get(part) ?? [];
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue;
    const near = nearest(name, known);
    const hint = near === null ? `known: ${known.join(", ")}` : `did you mean ${near}?`;
    yield { path: [...path, name], error: `unknown field ${JSON.stringify(name)}; ${hint}` };
  }
}

/** Returns where the field or the item at `path` begins, or what is nearest above it. */
function offsetOf(document: Document, path: Path): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parent: unknown = document.getIn(path.slice(0, length - 1), true);
    const last = path[length - 1];
    const node = isMap(parent)
      ? parent.items.find(({ key }) => isScalar(key) && key.value === last)?.key
      : document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return 0;
}

function firstLine(text: string): string {
  return text.split("\n")[0] ?? text;
}

// A declaration from the flags of the command line, in their order: `--sees` belongs to the file before it.

/** A flag as typed; `value` is empty if the flag takes none. */
export interface Flag {
  readonly name: FlagName;
  readonly value: string;
}

/** The flags that are parts of a declaration, each with what it takes and says; null: it takes nothing. */
export const flagNames = {
  role: ["<role>", "what you are in your team: lead, implementer, reviewer"],
  team: ["<team>", "your team"],
  task: ["<text>", "your task in your own words"],
  confidence: ["<number>", "how sure you are of it, from 0 to 1"],
  reason: ["<text>", "why the confidence is as it is"],
  plan: ["<step>", "a step of your plan, once or more; replaces the plan before"],
  file: ["<path>", "a file that you will change, or a folder with a slash at its end; once or more"],
  sees: ["<text>", "what is there now; behind its --file"],
  will: ["<text>", "what you will do there; behind its --file"],
  drop: ["<path>", "a file that you will not change after all"],
  uncertain: ["<question>", "what you are not sure of, once or more"],
  "settled-by": ["<text>", "what would settle it; behind its --uncertain"],
  evidence: ["<text>", "what you found; behind its --uncertain"],
  resolved: [null, "the question is answered; behind its --uncertain, with --evidence"],
  anew: [null, "begin a new declaration; questions that are open stay"],
} as const satisfies Readonly<Record<string, readonly [string | null, string]>>;

export type FlagName = keyof typeof flagNames;

type Part<P extends keyof DeclarationParts> = NonNullable<DeclarationParts[P]>;

/** Returns the parts that the flags name, or why they are no declaration. */
export function partsOf(flags: readonly Flag[]): Read {
  const identity: Part<"identity"> = {};
  const understanding: Part<"understanding"> = {};
  const codeView: Part<"codeView"> = [];
  const uncertainties: Part<"uncertainties"> = [];
  let anew = false;
  for (const { name, value } of flags) {
    const file = codeView.at(-1);
    const uncertainty = uncertainties.at(-1);
    if (name === "role" || name === "team") identity[name] = value;
    else if (name === "task" || name === "reason") understanding[name] = value;
    else if (name === "plan") understanding.plan = [...(understanding.plan ?? []), value];
    else if (name === "file") codeView.push({ file: value });
    else if (name === "drop") codeView.push({ file: value, drop: true });
    else if (name === "uncertain") uncertainties.push({ question: value });
    else if (name === "anew") anew = true;
    else if (name === "confidence") {
      const number = Number(value);
      if (value.trim() === "" || !(number >= 0 && number <= 1))
        return { error: `--confidence takes a number from 0 to 1, not ${value}` };
      understanding.confidence = number;
    } else if (name === "sees" || name === "will") {
      if (file === undefined || file.drop === true)
        return { error: `--${name} belongs to a file: write it behind --file PATH` };
      file[name] = value;
    } else {
      if (uncertainty === undefined)
        return { error: `--${name} belongs to a question: write it behind --uncertain QUESTION` };
      if (name === "settled-by") uncertainty.settledBy = value;
      else if (name === "evidence") uncertainty.evidence = value;
      else uncertainty.resolved = true;
    }
  }
  const parts = {
    ...(Object.keys(identity).length > 0 ? { identity } : {}),
    ...(Object.keys(understanding).length > 0 ? { understanding } : {}),
    ...(codeView.length > 0 ? { codeView } : {}),
    ...(uncertainties.length > 0 ? { uncertainties } : {}),
    ...(anew ? { anew } : {}),
  };
  return { parts };
}

// The files of a code view as whole paths.

type CodeView = NonNullable<DeclarationParts["codeView"]>;

/** Returns the view with absolute paths, from directory `cwd`; a folder gets the slash that tells it from a file. */
export function wholePaths(cwd: string, view: CodeView): Promise<CodeView> {
  return Promise.all(
    view.map(async one => ({ ...one, file: await withSlash(absolute(cwd, fileTyped(one.file))) })),
  );
}

async function withSlash(path: string): Promise<string> {
  if (path.endsWith("/")) return path;
  // Whatever cannot be looked at counts as the file that its name says.
  const isFolder = await stat(path).then(
    found => found.isDirectory(),
    () => false,
  );
  return isFolder ? `${path}/` : path;
}

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
