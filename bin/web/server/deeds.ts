/** What a person does from the page: each deed is a command of `kite`, with its requests, refusals and words. */
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { Commands } from "../../entry.ts";
import type { Output, ProcessContext } from "../../process-context.ts";
import { run } from "../../program.ts";
import type { Deed, DeedReply } from "../wire.ts";

const bodies: { readonly [D in Deed["deed"]]: (deed: Extract<Deed, { deed: D }>) => readonly string[] } = {
  unlock: ({ file, project }) => ["unlock", "--force", "--project", project, "--", file],
  thaw: ({ hold, project }) => ["thaw", "--project", project, "--", hold],
  answer: ({ message, text, project }) => [
    ...["message", "send", "--reply", message, "--project", project, "--", text],
  ],
  send: ({ to, text, project }) =>
    to === null
      ? ["message", "send", "--all", "--project", project, "--", text]
      : ["message", "send", "--project", project, "--", to, text],
  task_add: ({ description, needs, labels, risk, project }) => [
    ...["task", "add", "--project", project, "--risk", risk],
    ...wordsIn(needs, /[\s,]+/).flatMap(need => ["--needs", need]),
    ...wordsIn(labels, /,/).flatMap(label => ["--label", label]),
    ...["--", description],
  ],
  task_release: ({ task, project }) => ["task", "release", "--project", project, "--", task],
  task_approve: ({ task, project }) => ["task", "approve", "--project", project, "--", task],
  task_cancel: ({ task, project }) => ["task", "cancel", "--project", project, "--", task],
};

/** Returns the parts of a text that a person typed as several. A field that is missing stays so. */
function wordsIn(text: string, between: RegExp): readonly string[] {
  return typeof text !== "string" ? [text] : text.split(between).flatMap(word => word.trim() || []);
}

/** Returns the command line of a deed; null: this is no deed. */
export function wordsOf(value: unknown): readonly string[] | null {
  if (typeof value !== "object" || value === null) return null;
  const fields = Object.entries(value);
  if (!fields.every(([name, text]) => typeof text === "string" || (name === "to" && text === null)))
    return null;
  const { deed } = value as { readonly deed?: unknown };
  if (typeof deed !== "string" || !Object.hasOwn(bodies, deed)) return null;
  const words = bodies[deed as Deed["deed"]](value as never);
  // A field that is missing.
  return words.every(word => typeof word === "string" && !word.includes("\0")) ? words : null;
}

/** Does what a person asks for; null: that is no deed. */
export async function doDeed(
  world: ProcessContext,
  commands: Commands,
  deed: unknown,
): Promise<DeedReply | null> {
  const words = wordsOf(deed);
  return words === null ? null : runWords(inProject(world, projectOf(deed)), commands, words);
}

function projectOf(deed: unknown): string | null {
  const { project = null } = deed as { readonly project?: string };
  return project;
}

/** Commands mean the project of their directory, where a name or a number could be of several. */
export function inProject(world: ProcessContext, project: string | null): ProcessContext {
  if (project === null || !isAbsolute(project)) return world;
  const isThere = statSync(project, { throwIfNoEntry: false })?.isDirectory() === true;
  return isThere ? { ...world, cwd: project } : world;
}

/** Columns of what a command says: the page breaks its lines itself. */
const columns = 200;

/** Runs a command line of `kite` in this process, as its person; returns what it said. */
export async function runWords(
  world: ProcessContext,
  commands: Commands,
  words: readonly string[],
): Promise<DeedReply> {
  let text = "";
  const output: Output = {
    isTTY: true,
    columns,
    rows: 1_000,
    write: (piece: string) => {
      text += piece;
    },
  };
  const call = {
    argv: [...world.argv.slice(0, 2), ...words],
    env: { ...world.env, COLUMNS: `${columns}`, FORCE_COLOR: "0" },
    stdout: output,
    stderr: output,
    cwd: () => world.cwd,
  };
  const code = await run(call, commands);
  return { ok: code === 0, text: text.trimEnd() };
}
