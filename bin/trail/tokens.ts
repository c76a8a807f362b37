/** The tokens of a session and its agents, as their transcripts count them. */

import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { userSettings } from "../../hooks/claude-code/settings/files.ts";
import { type Tokens, tokensIn } from "../../hooks/claude-code/transcripts.ts";
import { isSystemError } from "../../protocol/errors.ts";
import type { ProcessContext } from "../context/process-context.ts";
import type { Env } from "../context/programs.ts";

// Counts the tokens of transcripts, each from where the last count ended.

/** Bytes that one command reads, and of one line. */
const readMax = 64 * 2 ** 20;
const lineMax = 32 * 2 ** 20;
const chunkBytes = 2 ** 20;
/** Messages of a file whose later records may still follow, and files that are remembered. */
const openMax = 200;
const filesMax = 2_000;

interface Count {
  readonly tokens: Tokens;
  readonly messages: number;
  /** Not all was read: the next command goes on. */
  readonly isPartial: boolean;
}

/** What is known of a file. */
interface Kept {
  readonly inode: number;
  /** Bytes that were counted, up to the end of a line. */
  readonly offset: number;
  /** Of messages that have no further record. */
  readonly closed: Tokens;
  readonly closedCount: number;
  /** Of the latest messages, by their ids. */
  readonly open: readonly (readonly [string, Tokens])[];
}

const none: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWritten: 0 };

function sum(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWritten: a.cacheWritten + b.cacheWritten,
  };
}

/** One command's counting. `save` keeps where it ended. */
export class TokenCounter {
  readonly #path: string;
  readonly #kept: Map<string, Kept>;
  #left: number;

  /** `path`: the file that keeps the counts; `max`: bytes that it reads in all. */
  constructor(path: string, max: number = readMax) {
    this.#path = path;
    this.#kept = keptIn(path);
    this.#left = max;
  }

  /** Counts transcripts as one. */
  count(files: readonly string[]): Count {
    let [tokens, messages, isPartial] = [none, 0, false];
    for (const file of files) {
      const one = this.#read(file);
      tokens = sum(tokens, [one.closed, ...one.open.map(([, some]) => some)].reduce(sum, none));
      messages += one.closedCount + one.open.length;
      isPartial ||= one.isPartial;
    }
    return { tokens, messages, isPartial };
  }

  save(): void {
    const files = [...this.#kept].slice(-filesMax);
    const temporary = `${this.#path}.${randomBytes(6).toString("hex")}`;
    try {
      writeFileSync(temporary, JSON.stringify({ version: 1, files }), { mode: 0o600, flag: "wx" });
      renameSync(temporary, this.#path);
    } catch (error) {
      rmSync(temporary, { force: true });
      // Without it the next count reads all again: the numbers are the same.
      if (!isSystemError(error)) throw error;
    }
  }

  #read(path: string): Kept & { readonly isPartial: boolean } {
    const before = this.#kept.get(path);
    let fd: number;
    try {
      fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      return { ...(before ?? fresh(0)), isPartial: false };
    }
    try {
      const { ino, size, isFile } = statOf(fd);
      if (!isFile) return { ...fresh(0), isPartial: false };
      const start =
        before !== undefined && before.inode === ino && before.offset <= size ? before : fresh(ino);
      const { kept, end } = this.#follow(fd, start, size);
      this.#kept.delete(path);
      this.#kept.set(path, kept);
      return { ...kept, isPartial: end < size };
    } finally {
      closeSync(fd);
    }
  }

  #follow(fd: number, start: Kept, size: number): { readonly kept: Kept; readonly end: number } {
    const open = new Map(start.open);
    let { closed, closedCount, offset } = start;
    let [end, carry] = [offset, Buffer.alloc(0)];
    while (end < size && this.#left > 0) {
      const chunk = Buffer.alloc(Math.min(chunkBytes, size - end, this.#left));
      const length = readSync(fd, chunk, 0, chunk.length, end);
      if (length === 0) break;
      end += length;
      this.#left -= length;
      let text = Buffer.concat([carry, chunk.subarray(0, length)]);
      for (let at = text.indexOf(10); at !== -1; at = text.indexOf(10)) {
        const found = tokensIn(text.toString("utf8", 0, at));
        offset += at + 1;
        text = text.subarray(at + 1);
        if (found !== null) open.set(found.message, found.tokens);
      }
      // No line of a client is so long: its rest is none that counts.
      if (text.length > lineMax) {
        offset += text.length;
        text = Buffer.alloc(0);
      }
      carry = Buffer.from(text);
      for (const [message, tokens] of open) {
        if (open.size <= openMax) break;
        closed = sum(closed, tokens);
        closedCount += 1;
        open.delete(message);
      }
    }
    return { kept: { inode: start.inode, offset, closed, closedCount, open: [...open] }, end };
  }
}

function statOf(fd: number) {
  const stat = fstatSync(fd);
  return { ino: stat.ino, size: stat.size, isFile: stat.isFile() };
}

function fresh(inode: number): Kept {
  return { inode, offset: 0, closed: none, closedCount: 0, open: [] };
}

/** What is kept; nothing if the file is not there, or has another form. */
function keptIn(path: string): Map<string, Kept> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    const files = typeof value === "object" && value !== null && "files" in value ? value.files : null;
    if (!Array.isArray(files) || !files.every(isEntry)) return new Map();
    return new Map(files);
  } catch (error) {
    if (error instanceof SyntaxError || isSystemError(error)) return new Map();
    throw error;
  }
}

function isEntry(value: unknown): value is [string, Kept] {
  if (!Array.isArray(value)) return false;
  const [path, kept] = value as readonly unknown[];
  if (typeof path !== "string" || typeof kept !== "object" || kept === null) return false;
  const one = kept as Partial<Record<keyof Kept, unknown>>;
  const isNumber = [one.inode, one.offset, one.closedCount].every(Number.isSafeInteger);
  const isOpen =
    Array.isArray(one.open) &&
    one.open.every(pair => Array.isArray(pair) && typeof pair[0] === "string" && isTokens(pair[1]));
  return isNumber && isTokens(one.closed) && isOpen;
}

function isTokens(value: unknown): value is Tokens {
  if (typeof value !== "object" || value === null) return false;
  const one = value as Partial<Record<keyof Tokens, unknown>>;
  return [one.input, one.output, one.cacheRead, one.cacheWritten].every(Number.isSafeInteger);
}

// Where the client keeps the transcripts of sessions and their agents: below its own folder alone.

/** The files of a session: its own, and those of its agents by their ids. */
interface Transcripts {
  readonly own: readonly string[];
  readonly agents: ReadonlyMap<string, readonly string[]>;
}

/** Folders of the client that are looked into, and agents of a session that are counted. */
const foldersMax = 5_000;
const agentsMax = 500;

const isId = /^[\w-]+$/;

/** Finds transcripts; the client's folders are read once. A session that moved to another worktree has files in several. */
class TranscriptFolders {
  readonly #folders: readonly { readonly path: string; readonly names: ReadonlySet<string> }[];

  constructor(env: Env) {
    const projects = join(dirname(userSettings(env)), "projects");
    this.#folders = namesIn(projects)
      .slice(0, foldersMax)
      .map(name => ({ path: join(projects, name), names: new Set(namesIn(join(projects, name))) }));
  }

  of(session: string): Transcripts {
    const own: string[] = [];
    const agents = new Map<string, string[]>();
    if (!isId.test(session)) return { own, agents };
    for (const { path, names } of this.#folders) {
      if (names.has(`${session}.jsonl`)) own.push(join(path, `${session}.jsonl`));
      if (!names.has(session)) continue;
      const below = join(path, session, "subagents");
      for (const name of namesIn(below)) {
        const [, agent] = /^agent-([\w-]+)\.jsonl$/.exec(name) ?? [];
        if (agent === undefined || (agents.size >= agentsMax && !agents.has(agent))) continue;
        agents.set(agent, [...(agents.get(agent) ?? []), join(below, name)]);
      }
    }
    return { own, agents };
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    // The client was never used, or keeps nothing there.
    if (isSystemError(error)) return [];
    throw error;
  }
}

/** A session's own tokens, and those of its agents together. */
export interface SessionTokens {
  readonly own: Count;
  readonly agents: Count;
  /** How many agents there are. */
  readonly agentCount: number;
}

/** Counts sessions in the order in which they are named, as far as one command may read. Null: it has no transcript. */
export function tokensOf(
  { env, paths }: Pick<ProcessContext, "env" | "paths">,
  sessions: readonly string[],
): ReadonlyMap<string, SessionTokens> {
  const folders = new TranscriptFolders(env);
  const counter = new TokenCounter(join(paths.home, "tokens.json"));
  const found = new Map<string, SessionTokens>();
  for (const session of sessions) {
    const { own, agents } = folders.of(session);
    if (own.length + agents.size === 0) continue;
    const all = [...agents.values()].flat();
    found.set(session, { own: counter.count(own), agents: counter.count(all), agentCount: agents.size });
  }
  counter.save();
  return found;
}

/** A session by its name. */
export interface NamedTokens {
  readonly name: string;
  readonly id: string;
  readonly counts: SessionTokens;
}

/** Returns the sessions with the most tokens, that with the most output first. `sessions`: names by ids, the latest last. */
export function mostTokens(
  world: Pick<ProcessContext, "env" | "paths">,
  sessions: ReadonlyMap<string, string>,
  max: number,
): readonly NamedTokens[] {
  const found = tokensOf(world, [...sessions.keys()].reverse());
  return [...found]
    .map(([id, counts]) => ({ id, name: sessions.get(id) ?? id, counts }))
    .sort((a, b) => totalOf(b.counts).output - totalOf(a.counts).output)
    .slice(0, max);
}

/** Returns what an agent counts: a session with its agents, or one of these alone. Null: it has no transcript. */
export function tokensFor(
  world: Pick<ProcessContext, "env" | "paths">,
  actor: { readonly id: string; readonly agent: string | null } | null,
): SessionTokens | null {
  if (actor === null) return null;
  if (actor.agent === null) return tokensOf(world, [actor.id]).get(actor.id) ?? null;
  const files = new TranscriptFolders(world.env).of(actor.id).agents.get(actor.agent);
  if (files === undefined) return null;
  const counter = new TokenCounter(join(world.paths.home, "tokens.json"));
  const own = counter.count(files);
  counter.save();
  return { own, agents: { tokens: none, messages: 0, isPartial: false }, agentCount: 0 };
}

export function totalOf({ own, agents }: SessionTokens): Tokens {
  return [own.tokens, agents.tokens].reduce(sum, none);
}
