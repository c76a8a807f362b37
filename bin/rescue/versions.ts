/** Kept versions of files: found through the daemon, read from the disk by whoever asks. */

import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { inflate } from "node:zlib";
import { LocalError } from "../../client/errors.ts";
import { findProgram } from "../../daemon/facts/programs.ts";
import { isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import { plain } from "../../protocol/text.ts";
import { type Acting, actingSession } from "../context/actor.ts";
import { type PersonsDeed, refuseAgent, seemsAgents } from "../context/person.ts";
import type { Client, ProcessContext } from "../context/process-context.ts";
import type { Env } from "../context/programs.ts";
import { fileTyped, namesBefore } from "../context/project.ts";
import { asPerson, Refused, rowsOf } from "../context/with-daemon.ts";

// Who asks for kept work: a person, who sees all projects, or an agent, which sees its own alone.

export interface Asker {
  readonly client: Pick<Client, "request" | "daemon">;
  /** Null: a person at a terminal. */
  readonly acting: Acting | null;
  readonly cwd: string;
  readonly env: Env;
  /** Wall time in milliseconds. */
  readonly now: () => number;
}

/** The field of a query that says for which session it is. */
export function readerOf({ acting }: Pick<Asker, "acting">): { readonly reader?: string } {
  return acting === null ? {} : { reader: acting.id };
}

/** Connects, and runs a command about work; refuses an agent that hides its session. Returns the exit code. */
export async function asAsker(
  world: ProcessContext,
  json: boolean,
  work: (asker: Asker) => Promise<number>,
  deed: PersonsDeed = "rescue",
): Promise<number> {
  const refused = await refuseAgent(world, json, deed, { isAgent: seemsAgents });
  if (refused !== null) return refused;
  const { cwd, env, now } = world;
  return asPerson(world, json, client => work({ client, acting: actingSession(env), cwd, env, now }));
}

// What commits have of a file, as git in the caller's process tells. No filter and no helper of the repository runs.

/** A file of a worktree, by its path from the top. */
export interface CommittedFile {
  readonly worktree: string;
  readonly file: string;
}

export class Commits {
  readonly #git: string | null;
  readonly #env: Env;
  readonly #known = new Map<string, Promise<Buffer | null>>();

  constructor({ env, cwd }: { readonly env: Env; readonly cwd: string }) {
    this.#git = findProgram("git", { env, workedIn: [cwd] })?.path ?? null;
    const own = Object.entries(env).filter(([name]) => !name.startsWith("GIT_"));
    this.#env = {
      ...Object.fromEntries(own),
      LC_ALL: "C",
      GIT_NO_LAZY_FETCH: "1",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_TERMINAL_PROMPT: "0",
    };
  }

  /** The commit that is checked out; null: none, or there is no git or no repository. */
  async head(worktree: string): Promise<string | null> {
    const out = await this.read(worktree, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    return out === null ? null : out.toString().trim();
  }

  /** What the commit has of the file; null: nothing, or nobody can tell. */
  content(commit: string | null, { worktree, file }: CommittedFile): Promise<Buffer | null> {
    if (commit === null || !/^[0-9a-f]{4,64}$/.test(commit)) return Promise.resolve(null);
    const key = [commit, worktree, file].join("\n");
    const known = this.#known.get(key) ?? this.read(worktree, ["cat-file", "blob", `${commit}:${file}`]);
    this.#known.set(key, known);
    return known;
  }

  /** Returns what a command that only reads prints; null: it failed. */
  read(worktree: string, args: readonly string[]): Promise<Buffer | null> {
    const git = this.#git;
    if (git === null) return Promise.resolve(null);
    const options = {
      env: { ...this.#env },
      encoding: "buffer" as const,
      maxBuffer: limits.rescueFileBytes * 2,
      timeout: limits.spawnProgramMs,
    };
    const words = [
      "--no-pager",
      "--no-replace-objects",
      "-c",
      "core.fsmonitor=false",
      "-C",
      worktree,
      ...args,
    ];
    return new Promise(resolve => {
      execFile(git, words, options, (error, out) => resolve(error === null ? out : null));
    });
  }
}

const inflated = promisify(inflate);

/** Returns the versions of a file, or of all files below a directory; the latest first. */
export function versionsOf(asker: Asker, path: string): Promise<VersionRow[]> {
  return rowsOf(asker.client, "versions", { file: path, ...readerOf(asker) });
}

/**
 * Returns the path under which Kite keeps a file that somebody typed, and its versions. Something may have become a link since:
 * then a name from before has them.
 */
export async function keptFile(
  asker: Asker,
  typed: string,
): Promise<{ readonly path: string; readonly rows: readonly VersionRow[] }> {
  const names = await namesBefore(asker.cwd, fileTyped(typed));
  const all = await versionsOf(asker, names.at(-1) ?? typed);
  const below = (name: string) => all.filter(({ path }) => path === name || path.startsWith(`${name}/`));
  const [real = typed] = names;
  const path = names.find(name => below(name).length > 0) ?? real;
  return { path, rows: below(path) };
}

/** Returns the versions of a file of a worktree, also if a link is in its place now, which the daemon would follow. */
export async function versionsAt(asker: Asker, path: string, worktree: string): Promise<VersionRow[]> {
  const rows = await versionsOf(asker, path);
  if (rows.some(row => row.path === path)) return rows;
  return (await versionsOf(asker, worktree)).filter(row => row.path === path);
}

/** Returns the version of this name that the asker may see. Throws `Refused`. */
export async function versionNamed(asker: Asker, name: string): Promise<VersionRow> {
  const rows = await rowsOf(asker.client, "versions", readerOf(asker), limits.rescueVersionsMax);
  const found = rows.find(({ version }) => version === name);
  if (found !== undefined) return found;
  const error = `Kite keeps no version ${name} that you may see; kite history FILE lists those of a file`;
  throw new Refused({ ok: false, code: "unknown_version", error });
}

/** Returns the content of a version; null: it is gone, or no longer what it was. */
export async function contentOf({
  object,
  hash,
}: Pick<VersionRow, "object" | "hash">): Promise<Buffer | null> {
  if (object === null) return null;
  try {
    const content = await inflated(await readFile(object), { maxOutputLength: limits.rescueFileBytes });
    return createHash("sha256").update(content).digest("hex") === hash ? content : null;
  } catch (error) {
    // Cut off, or removed meanwhile: whatever it is, the version cannot be had.
    if (isSystemError(error) || (error instanceof Error && "code" in error)) return null;
    throw error;
  }
}

/** Returns the content of a version. Throws `Refused` if it is gone. */
export async function neededContent(row: VersionRow): Promise<Buffer> {
  const content = await contentOf(row);
  if (content !== null) return content;
  throw new Refused({
    ok: false,
    code: "version_gone",
    error: `the content of ${row.version} of ${row.file} is no longer on the disk, so it cannot be had again`,
  });
}

/** What is not committed of a file, and what it follows. */
interface Uncommitted {
  /** The checked-out commit; null: none, or nobody can tell. */
  readonly head: string | null;
  /** What the commit has of the file; null: nothing. */
  readonly committed: Buffer | null;
  /** The versions since, the latest first. */
  readonly versions: readonly VersionRow[];
}

/**
 * Returns which versions of a file (the latest first) no commit contains. A version counts until the checked-out commit
 * has its content, or has another content than the commit on which the version was based.
 */
export async function uncommittedOf(
  commits: Commits,
  file: CommittedFile,
  rows: readonly VersionRow[],
): Promise<Uncommitted> {
  const head = await commits.head(file.worktree);
  const committed = await commits.content(head, file);
  const hash = committed === null ? null : createHash("sha256").update(committed).digest("hex");
  const versions: VersionRow[] = [];
  for (const row of rows) {
    if (row.hash === hash) break;
    const before = row.base === head ? committed : await commits.content(row.base, file);
    const isSameBase =
      before === null || committed === null ? before === committed : before.equals(committed);
    if (!isSameBase) break;
    versions.push(row);
  }
  return { head, committed, versions };
}

// Files as they are on the disk: read and written without following a link.

/** What stands at a path. `odd`: no regular file, or one that lies behind a link, as `what` says. */
export type OnDisk =
  | { readonly is: "file"; readonly content: Buffer; readonly mode: number }
  | { readonly is: "absent" }
  | { readonly is: "odd"; readonly what: string };

/** A file could not be written as it should be. */
class NotWritten extends LocalError {
  override readonly name = "NotWritten";
}

const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Returns what stands at an absolute path. Throws what the system says, such as a missing permission. */
export function onDisk(path: string): OnDisk {
  const folder = realFolder(dirname(path));
  if (folder === null) return { is: "absent" };
  if (folder !== dirname(path)) return { is: "odd", what: "behind a link" };
  let fd: number;
  try {
    fd = openSync(path, flags);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "ENOENT" || code === "ENOTDIR") return { is: "absent" };
    if (code === "ELOOP" || code === "EMLINK") return { is: "odd", what: "a link" };
    if (code === "ENXIO" || code === "ENODEV") return { is: "odd", what: "no regular file" };
    throw error;
  }
  try {
    const stat = fstatSync(fd);
    if (stat.isDirectory()) return { is: "odd", what: "a directory" };
    if (!stat.isFile()) return { is: "odd", what: "no regular file" };
    if (stat.size > limits.rescueFileBytes)
      return { is: "odd", what: `longer than ${limits.rescueFileBytes / 1024 / 1024} MiB` };
    return { is: "file", content: readFileSync(fd), mode: stat.mode & 0o777 };
  } finally {
    closeSync(fd);
  }
}

/** Whether both are the same: the one is what the other was. */
function isSame(a: OnDisk, b: OnDisk): boolean {
  if (a.is === "file" && b.is === "file") return a.content.equals(b.content);
  return a.is === b.is && a.is === "absent";
}

/**
 * Writes a file whole, by a temporary one beside it: nobody sees a part of it. Makes the folders on its way. Throws `NotWritten`
 * if the file is no longer what it was (`was`), or lies behind a link.
 */
export function replaceFile(path: string, was: OnDisk, content: Buffer, mode: number): void {
  const folder = dirname(path);
  let there = folder;
  while (realFolder(there) === null) there = dirname(there);
  if (realFolder(there) !== there) throw new NotWritten(`${plain(path)} lies behind a link now`);
  mkdirSync(folder, { recursive: true });
  const temporary = join(folder, `.kite-${randomBytes(6).toString("hex")}`);
  try {
    const fd = openSync(temporary, "wx", 0o600);
    try {
      writeFileSync(fd, content);
      fchmodSync(fd, mode);
    } finally {
      closeSync(fd);
    }
    if (!isSame(onDisk(path), was))
      throw new NotWritten(
        `${plain(path)} changed meanwhile; nothing was written to it: run the command again`,
      );
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** The real path of a folder, as far as it exists; null: it does not. */
function realFolder(folder: string): string | null {
  try {
    return realpathSync(folder);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}
