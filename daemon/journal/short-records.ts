/**
 * The short form of frequent commands: a list of values without their names, and without what is almost always the
 * same. Without it, a start with 300,000 entries takes 1.9 times the processor time, and their journal 122 MB instead of 40.
 *
 * - 1, session, file, prefix of its path, prefix of its key, project, cwd, wall time [, what is unusual]
 * - 2, session, file, prefix of its path, prefix of its key [, what is unusual]
 *
 * Invariants: `lengthen` makes of what `shorten` wrote an equal command (tests/journal/short-records.test.ts holds it
 * against JSON). The numbers, the order and what counts as usual are part of the journal's format and never change. A
 * command that needs another form gets another number.
 */

import { limits } from "../../protocol/limits.ts";
import type { Actor, FileName, FileRef } from "../core/frame/actors.ts";
import type { Command, CommandOf } from "../core/tables/entries.ts";
import type { LockRequest } from "../core/tables/locks.ts";

// Names that a journal tells again and again. Equal ones become one object, which costs no further memory. A table that is
// asked for it knows its hash and need not compare it letter by letter.

/** A file as a lock and as an unlock name it: `lexical` is `above` and `file`, `key` is `before` and `lexical`. */
interface KnownFile {
  readonly above: string;
  readonly before: string;
  readonly refs: readonly FileRef[];
  readonly names: readonly FileName[];
}

/**
 * The latest names of a journal that is being read, `limits.knownNamesMax` of each kind. Invariant: what it returns equals
 * what a caller would make.
 */
export class KnownNames {
  readonly #actors = new Map<string, Actor>();
  readonly #files = new Map<string, KnownFile>();

  /** Returns the main agent of a session's first incarnation. */
  actor(session: string): Actor {
    return this.#actors.get(session) ?? kept(this.#actors, session, { session, agent: null, incarnation: 0 });
  }

  /** Returns a list of the file alone. */
  refs(file: string, above: string, before: string): readonly FileRef[] {
    return this.#file(file, above, before).refs;
  }

  /** Returns a list of the file to release alone. */
  names(file: string, above: string, before: string): readonly FileName[] {
    return this.#file(file, above, before).names;
  }

  #file(file: string, above: string, before: string): KnownFile {
    const known = this.#files.get(file);
    if (known !== undefined && known.above === above && known.before === before) return known;
    // One text, and parts of it: tables and comparisons read fewer places in memory than with texts put together by "+".
    const key = [before, above, file].join("");
    const lexical = key.slice(before.length);
    const names = [{ file, lexical, key }];
    const refs = [{ file, lexical, key, dir: false }];
    return kept(this.#files, file, { above, before, refs, names });
  }
}

function kept<Value>(known: Map<string, Value>, name: string, value: Value): Value {
  if (known.size >= limits.knownNamesMax) known.clear();
  known.set(name, value);
  return value;
}

const requestCode = 1;
const releaseCode = 2;

/** The fields of one command that are not as usual. */
interface Unusual extends Partial<Omit<LockRequest, "actor" | "files" | "project" | "cwd" | "wallMs">> {
  readonly agent?: string | null;
  readonly incarnation?: number;
  readonly command?: string;
  readonly dir?: boolean;
  readonly path?: string;
}

const nothing: Unusual = {};
const usualDepth = 3;
const usualYieldMs = 15_000;

/** Returns the values of the short form as they stand in a JSON list, or null if the command has none. */
export function shorten(command: Command): string | null {
  if (command.type === "lock_request") return shortRequest(command);
  return command.type === "lock_release" ? shortRelease(command) : null;
}

/** Returns the command of a short form whose code is at `at`, or null if this program does not know the code. */
export function lengthen(values: readonly unknown[], at: number, known: KnownNames): Command | null {
  if (values[at] === requestCode) return longRequest(values, at, known);
  return values[at] === releaseCode ? longRelease(values, at, known) : null;
}

function shortRequest(command: CommandOf<"lock_request">): string | null {
  const { actor, files, project, cwd, wallMs } = command;
  // Not only a list of one: a command may be broken, and what is stored is what was proposed.
  const [file] = Array.isArray(files) && files.length === 1 ? files : [];
  if (file === undefined || !Number.isFinite(wallMs)) return null;
  const text = `${requestCode},${quoted(actor.session)},${fileText(file)},${quoted(project)},${quoted(cwd)},${wallMs}`;
  return isUsualRequest(command, file) ? text : `${text},${JSON.stringify(unusualOf(command, file))}`;
}

function isUsualRequest(c: LockRequest, { dir, path }: FileRef): boolean {
  return (
    c.actor.agent === null &&
    c.actor.incarnation === 0 &&
    c.actor.command === undefined &&
    c.single &&
    c.kind === "explicit" &&
    c.waitMs === 0 &&
    c.depth === usualDepth &&
    c.placeMs === 0 &&
    !c.detach &&
    !c.progress &&
    c.prompt === null &&
    c.flight === null &&
    c.untoldMs === undefined &&
    c.beside === undefined &&
    c.yieldMs === usualYieldMs &&
    c.ancestors.length === 0 &&
    c.bound === null &&
    c.retry === undefined &&
    !dir &&
    path === undefined
  );
}

/** JSON leaves out what is undefined. */
function unusualOf(c: LockRequest, { dir, path }: FileRef): Record<keyof Unusual, unknown> {
  return {
    agent: c.actor.agent ?? undefined,
    incarnation: c.actor.incarnation || undefined,
    command: c.actor.command,
    single: c.single ? undefined : false,
    kind: c.kind === "explicit" ? undefined : c.kind,
    waitMs: c.waitMs || undefined,
    depth: c.depth === usualDepth ? undefined : c.depth,
    placeMs: c.placeMs || undefined,
    detach: c.detach || undefined,
    progress: c.progress || undefined,
    prompt: c.prompt ?? undefined,
    flight: c.flight ?? undefined,
    untoldMs: c.untoldMs,
    beside: c.beside,
    yieldMs: c.yieldMs === usualYieldMs ? undefined : c.yieldMs,
    ancestors: c.ancestors.length === 0 ? undefined : c.ancestors,
    bound: c.bound ?? undefined,
    retry: c.retry,
    dir: dir || undefined,
    path,
  };
}

function longRequest(values: readonly unknown[], at: number, known: KnownNames): Command {
  const more = (values[at + 8] ?? nothing) as Unusual;
  const command: CommandOf<"lock_request"> = {
    type: "lock_request",
    actor: actorOf(values[at + 1], more, known),
    files: refsOf(values, at + 2, more, known),
    single: more.single ?? true,
    kind: more.kind ?? "explicit",
    waitMs: more.waitMs ?? 0,
    depth: more.depth ?? usualDepth,
    placeMs: more.placeMs ?? 0,
    detach: more.detach ?? false,
    progress: more.progress ?? false,
    prompt: more.prompt ?? null,
    flight: more.flight ?? null,
    yieldMs: more.yieldMs ?? usualYieldMs,
    ancestors: more.ancestors ?? [],
    bound: more.bound ?? null,
    project: values[at + 5] as string,
    cwd: values[at + 6] as string,
    wallMs: values[at + 7] as number,
    ...(more.untoldMs === undefined ? {} : { untoldMs: more.untoldMs }),
    ...(more.beside === undefined ? {} : { beside: more.beside }),
  };
  return more.retry === undefined ? command : { ...command, retry: more.retry };
}

function shortRelease({ actor, files, retry }: CommandOf<"lock_release">): string | null {
  const [file] = Array.isArray(files) && files.length === 1 ? files : [];
  if (file === undefined) return null;
  const text = `${releaseCode},${quoted(actor.session)},${fileText(file)}`;
  const { agent, incarnation, command } = actor;
  const { path } = file;
  const isPlain = agent === null && incarnation === 0 && command === undefined;
  if (isPlain && retry === undefined && path === undefined) return text;
  return `${text},${JSON.stringify({ agent: agent ?? undefined, incarnation, command, retry, path })}`;
}

function longRelease(values: readonly unknown[], at: number, known: KnownNames): Command {
  const more = (values[at + 5] ?? nothing) as Unusual;
  const command: CommandOf<"lock_release"> = {
    type: "lock_release",
    actor: actorOf(values[at + 1], more, known),
    files: namesOf(values, at + 2, more, known),
  };
  return more.retry === undefined ? command : { ...command, retry: more.retry };
}

function actorOf(
  session: unknown,
  { agent = null, incarnation = 0, command }: Unusual,
  known: KnownNames,
): Actor {
  if (agent === null && incarnation === 0 && command === undefined) return known.actor(session as string);
  const actor = { session: session as string, agent, incarnation };
  return command === undefined ? actor : { ...actor, command };
}

/** The texts of files, by the objects that name them: the daemon uses one object for many commands. */
const texts = new WeakMap<FileRef | FileName, string>();

function fileText(file: FileRef | FileName): string {
  const made = texts.get(file);
  if (made !== undefined) return made;
  const { lexical, key } = file;
  const text = `${quoted(file.file)},${ending(lexical, file.file)},${key === null ? null : ending(key, lexical)}`;
  texts.set(file, text);
  return text;
}

/** What stands before `end` in `whole`; all of `whole`, in a list, if it does not end so. */
function ending(whole: string, end: string): string {
  return whole.endsWith(end) ? quoted(whole.slice(0, whole.length - end.length)) : `[${quoted(whole)}]`;
}

function refsOf(
  values: readonly unknown[],
  at: number,
  { dir = false, path }: Unusual,
  known: KnownNames,
): readonly FileRef[] {
  const [file, above, before] = [values[at] as string, values[at + 1], values[at + 2]];
  if (typeof above === "string" && typeof before === "string" && !dir && path === undefined)
    return known.refs(file, above, before);
  const lexical = whole(above, file);
  return [withPath({ file, lexical, key: whole(before, lexical), dir }, path)];
}

function namesOf(
  values: readonly unknown[],
  at: number,
  { path }: Unusual,
  known: KnownNames,
): readonly FileName[] {
  const [file, above, before] = [values[at] as string, values[at + 1], values[at + 2]];
  if (typeof above === "string" && typeof before === "string" && path === undefined)
    return known.names(file, above, before);
  const lexical = whole(above, file);
  return [withPath({ file, lexical, key: before === null ? null : whole(before, lexical) }, path)];
}

function whole(before: unknown, end: string): string {
  return typeof before === "string" ? before + end : ((before as readonly string[])[0] ?? "");
}

function withPath<File extends FileName>(file: File, path: string | undefined): File {
  return path === undefined ? file : { ...file, path };
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
