/**
 * What of the uncommitted files of a worktree is the caller's own, for all commands that do something with just that part.
 *
 * Invariants: no line of another is in an own part, and none of the caller's in a rest. A file in which no other wrote is the
 * caller's as it stands. What one changed or removed of what another wrote is mixed: it is in no own part. A file whose lines
 * cannot be told apart is one piece, and mixed if several wrote it.
 */

import { lstatSync, readlinkSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { ActorRow } from "../../protocol/schemas/lock.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";
import type { WriterRow } from "../../protocol/work.ts";
import { absolute, isTerminalSession } from "../context/actor.ts";
import type { NamedAgent } from "../context/caller.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { fileTyped, realPath } from "../context/project.ts";
import { Refused, rowsOf } from "../context/with-daemon.ts";
import { type Candidate, historyAt, type Written, writerKey } from "../diff/changes.ts";
import { agentNamed, changedFiles, renamed } from "../diff/committed.ts";
import { Attribution, type Group, nobody } from "../rescue/attribution.ts";
import { isBinary, type Texts } from "../rescue/texts.ts";
import { type Asker, Commits, onDisk } from "../rescue/versions.ts";

/** A file as git has it. */
export interface FileState {
  /** As the working tree has it, after the filters of the repository; of a link its target. Null: no file, or too long to read. */
  readonly content: Buffer | null;
  /** `100644`, `100755`, `120000`; null: there is no file. */
  readonly mode: string | null;
}

/** A file that differs from the commit that is checked out. */
export interface OwnFile {
  /** The path from the top of the worktree. */
  readonly file: string;
  readonly path: string;
  /** The file that it was, if it was renamed; its own part removes that. */
  readonly was: string | null;
  readonly kind: "changed" | "added" | "deleted" | "renamed" | "mode" | "link" | "binary";
  readonly base: FileState;
  readonly now: FileState;
  /** The commit's with the caller's changes alone; null: none of it is the caller's. */
  readonly own: FileState | null;
  /** The file without the caller's changes; null: it stays as it is. */
  readonly rest: FileState | null;
  /** All that differs is the caller's. */
  readonly isWhole: boolean;
  /** What the caller and these others changed of each other's. `lines` is null for a file that is one piece. */
  readonly mixed: readonly { readonly who: readonly string[]; readonly lines: number | null }[];
  /** The names of the others who have work in it. */
  readonly others: readonly string[];
  /** False: Kite saw nobody write it. Then all of it stands as the caller's, for those who name it. */
  readonly isSeen: boolean;
  /** Those of the caller's writers that the daemon knows for it, the latest first. */
  readonly writers: readonly WriterRow[];
}

export interface OwnPart {
  readonly worktree: string;
  /** The commit that is checked out; null: there is none yet. */
  readonly head: string | null;
  readonly files: readonly OwnFile[];
}

/** Whose lines count as the caller's. */
export type IsOwn = (by: Pick<ActorRow, "id" | "agent">) => boolean;

/** Returns whose work is an agent's own: its own alone; a main agent's also that of its agents that have ended. */
export function ownOf(who: Pick<NamedAgent, "id" | "agent">, sessions: readonly SessionRow[]): IsOwn {
  const agents = sessions.find(({ id }) => id === who.id)?.agents ?? [];
  const active = new Set(agents.filter(({ status }) => status === "active").map(({ agent }) => agent));
  return ({ id, agent }) =>
    id === who.id && (agent === who.agent || (who.agent === null && agent !== null && !active.has(agent)));
}

/** For whom a form does its part. */
export interface OwnCaller extends Pick<NamedAgent, "id" | "agent" | "name"> {
  /** Without the agents that `--with` names. */
  readonly isOwn: IsOwn;
  readonly sessions: readonly SessionRow[];
}

/**
 * Returns whose lines a command means: those of the agent that runs it, or of the one that a person names. Throws `Refused`. `line`
 * is the command as it is typed: `kite commit`.
 */
export async function ownCaller(
  world: Pick<ProcessContext, "cwd" | "env">,
  asker: Asker,
  of: string | undefined,
  line: string,
): Promise<OwnCaller> {
  const sessions = await rowsOf(asker.client, "sessions");
  const { acting } = asker;
  if (acting === null || isTerminalSession(world.env, acting.id)) {
    if (of === undefined)
      throw refused(`say whose lines you mean: ${line} --of NAME; kite whose shows who has some`);
    const named = await agentNamed(world, asker, of);
    return { ...named, sessions, isOwn: ownOf(named, sessions) };
  }
  if (of !== undefined)
    throw refused("--of is for people; an agent has its own lines, and --with takes those of another along");
  const who = { id: acting.id, agent: acting.agent ?? null };
  const row = sessions.find(({ id }) => id === who.id);
  const agent = row?.agents.find(one => one.agent === who.agent)?.name ?? who.agent;
  const name = `${row?.name ?? who.id}${agent === null ? "" : `/${agent}`}`;
  return { ...who, name, sessions, isOwn: ownOf(who, sessions) };
}

/** Returns files that somebody typed as paths from the top of a worktree; "" is the top. Throws `Refused` for those outside. */
export async function pathsIn(
  cwd: string,
  worktree: string,
  files: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const file of files) {
    const path = resolve(absolute(cwd, fileTyped(file)));
    // A link is meant itself, not what it leads to.
    const real =
      (await realPath(cwd, path)) === worktree
        ? worktree
        : join(await realPath(cwd, dirname(path)), basename(path));
    const near = relative(worktree, real);
    if (near === ".." || near.startsWith("../"))
      throw refused(`${file} is outside of the worktree ${worktree}`);
    found.push(near);
  }
  return found;
}

interface Wanted {
  readonly worktree: string;
  readonly isOwn: IsOwn;
  /** Paths from the top: files, and directories that stand for what is below them; null: all. `""` is the top. */
  readonly paths: readonly string[] | null;
}

interface Tools {
  readonly commits: Commits;
  readonly texts: Texts;
}

/** Files of one part. */
const filesMax = 2_000;

/** Returns the files that differ, in order. Throws `Refused` if git cannot tell them, or there are too many. */
export async function ownPart(
  asker: Asker,
  tools: Tools,
  { worktree, isOwn, paths }: Wanted,
): Promise<OwnPart> {
  const { commits } = tools;
  const head = await commits.head(worktree);
  const all = await changedFiles(commits, worktree, head);
  if (all === null) throw refused(`git could not tell which files differ in ${worktree}; see git status`);
  const rows = (await rowsOf(asker.client, "writes")).filter(row => row.worktree === worktree);
  const committed = new Committed(commits, worktree);
  const isMode =
    (await commits.read(worktree, ["config", "--type=bool", "core.fileMode"]))?.toString().trim() !== "false";
  const found: (Candidate & { readonly states: Pick<OwnFile, "base" | "now"> })[] = [];
  if (all.length > filesMax)
    throw refused(`${all.length} files differ, and this command takes ${filesMax} at most: name some`);
  for (const file of all) {
    const base = await committed.at(head, file);
    const disk = stateOf(join(worktree, file), base, isMode);
    if (disk === null || isSame(base, disk)) continue;
    const known = rows.find(row => row.file === file)?.writers ?? [];
    const contents = { before: contentOf(base), after: contentOf(disk) };
    const place = { worktree, file, path: join(worktree, file), was: null, mode: 0o644 };
    found.push({ ...place, ...contents, known, states: { base, now: disk } });
  }
  const gone = new Map(found.map(one => [one.file, one]));
  const files: OwnFile[] = [];
  for (const one of await renamed(asker, found)) {
    const is = (path: string) =>
      paths === null || paths.some(named => named === "" || path === named || path.startsWith(`${named}/`));
    if (!is(one.file) && (one.was === null || !is(one.was))) continue;
    const states = gone.get(one.file)?.states;
    if (states === undefined) continue;
    const was = one.was === null ? undefined : gone.get(one.was);
    files.push(await ownFile(asker, tools.texts, committed, { head, isOwn }, one, states, was));
  }
  return { worktree, head, files };
}

interface Whose {
  readonly head: string | null;
  readonly isOwn: IsOwn;
}

async function ownFile(
  asker: Asker,
  texts: Texts,
  committed: Committed,
  { head, isOwn }: Whose,
  one: Candidate,
  { now, base: named }: Pick<OwnFile, "base" | "now">,
  was: Candidate | undefined,
): Promise<OwnFile> {
  const { file, path } = one;
  const base = was === undefined ? named : await committed.at(head, was.file);
  // Whoever removed the old name renamed it.
  const known = [...one.known, ...(was?.known ?? [])];
  const shown = { file, path, was: was?.file ?? null, base, now, kind: kindOf(base, now, was !== undefined) };
  const mine = known.filter(isOwn);
  const shownAll = { ...shown, writers: mine };
  const history = await historyAt(asker, one, async (commit, name) =>
    contentOf(await committed.at(commit, name)),
  );
  const isText = [base, now].every(
    ({ content, mode }) => mode !== "120000" && content !== null && !isBinary(content),
  );
  const isNew = base.mode === null && now.content !== null && now.mode !== "120000" && !isBinary(now.content);
  const seen = history.versions.flatMap(({ by }) => (by === null ? [] : [by]));
  const others = known.filter(by => !isOwn(by));
  if (!(isText || isNew) || history.versions.length === 0 || now.mode === null)
    return asPiece(shownAll, isOwn, known.length > 0 ? known : seen);
  const events = [
    ...history.events,
    { is: "written" as const, by: null, content: now.content ?? Buffer.alloc(0) },
  ];
  const found = await Attribution.of((a, b) => texts.hunks(a, b), writerKey, history.base, events);
  const renamer = was?.known[0] ?? one.known[0];
  const isRenameOwn = was === undefined || renamer === undefined || isOwn(renamer);
  return asLines(shownAll, found, { isOwn, others, isSeen: seen.length + known.length > 0, isRenameOwn });
}

type Shown = Pick<OwnFile, "file" | "path" | "was" | "base" | "now" | "kind" | "writers">;

const whole = { isWhole: true, mixed: [], others: [] };

/** A file whose lines cannot be told apart: that of all who wrote it. */
function asPiece(shown: Shown, isOwn: IsOwn, writers: readonly ActorRow[]): OwnFile {
  const { base, now } = shown;
  const isSeen = writers.length > 0;
  const names = namesOf(writers.filter(by => !isOwn(by)));
  if (names.length === 0) return { ...shown, ...whole, own: now, rest: base, isSeen };
  const mixed = writers.some(isOwn) ? [{ who: names, lines: null }] : [];
  return { ...shown, own: null, rest: null, isWhole: false, mixed, others: names, isSeen };
}

interface Attributed {
  readonly isOwn: IsOwn;
  readonly others: readonly WriterRow[];
  readonly isSeen: boolean;
  readonly isRenameOwn: boolean;
}

function asLines(
  shown: Shown,
  found: Attribution<Written["by"]>,
  { isOwn, others, isSeen, isRenameOwn }: Attributed,
): OwnFile {
  const { base, now } = shown;
  const by = (key: string) => found.writers.get(key) ?? null;
  const isMine = (key: string) => {
    const one = key === nobody ? null : by(key);
    return one !== null && isOwn(one);
  };
  const groups = found.groups();
  const foreign = [...new Set(groups.flatMap(({ writers }) => writers))].filter(
    key => by(key) !== null && !isMine(key),
  );
  if (others.length === 0 && foreign.length === 0)
    return { ...shown, ...whole, own: now, rest: base, isSeen };
  const isAll = (group: Group) => group.writers.every(isMine);
  const names = [...new Set([...foreign.flatMap(key => by(key)?.name ?? []), ...namesOf(others)])];
  const mixed = new Map<string, { readonly who: readonly string[]; lines: number }>();
  for (const { writers, size } of groups) {
    if (!writers.some(isMine) || writers.every(isMine)) continue;
    const who = writers.filter(key => !isMine(key)).map(key => by(key)?.name ?? "nobody that Kite saw");
    const one = mixed.get(who.join()) ?? { who, lines: 0 };
    one.lines += size;
    mixed.set(who.join(), one);
  }
  const rows = { ...shown, isWhole: false, mixed: [...mixed.values()], others: names, isSeen };
  if (!isRenameOwn) return { ...rows, own: null, rest: null, mixed: [{ who: names, lines: null }] };
  if (!groups.some(isAll)) return { ...rows, own: null, rest: null };
  const mode =
    others[0] !== undefined && shown.writers[0] !== undefined && others[0].at > shown.writers[0].at
      ? base.mode
      : now.mode;
  const own = { content: found.content(isAll), mode: mode ?? now.mode };
  return { ...rows, own, rest: { content: found.content(group => !isAll(group)), mode: now.mode } };
}

function namesOf(writers: readonly Pick<ActorRow, "name">[]): readonly string[] {
  return [...new Set(writers.map(({ name }) => name))];
}

function kindOf(base: FileState, now: FileState, isRenamed: boolean): OwnFile["kind"] {
  if (isRenamed) return "renamed";
  if (base.mode === null) return "added";
  if (now.mode === null) return "deleted";
  if (base.mode === "120000" || now.mode === "120000") return "link";
  const [before, after] = [base.content, now.content];
  if (before === null || after === null || isBinary(before) || isBinary(after)) return "binary";
  return before.equals(after) ? "mode" : "changed";
}

function isSame(a: FileState, b: FileState): boolean {
  if (a.mode !== b.mode) return false;
  if (a.mode === null) return true;
  return a.content !== null && b.content !== null && a.content.equals(b.content);
}

/** What a comparison of texts sees: a file too long to read stands as an empty one. */
function contentOf({ content, mode }: FileState): Buffer | null {
  return mode === null ? null : (content ?? Buffer.alloc(0));
}

/** What stands at a path; null: nothing that git commits as a file. */
function stateOf(path: string, base: FileState, isMode: boolean): FileState | null {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink() === true) return { content: readlinkSync(path, "buffer"), mode: "120000" };
  const disk = onDisk(path);
  // A folder in its place means that the file is gone.
  if (disk.is === "absent" || stat?.isDirectory() === true) return { content: null, mode: null };
  if (disk.is === "odd" && !stat?.isFile()) return null;
  if (disk.is === "odd" && disk.what === "behind a link") return { content: null, mode: null };
  const isExecutable = ((stat?.mode ?? 0) & 0o100) !== 0;
  const old = base.mode === "100755" ? "100755" : "100644";
  const mode = isMode ? (isExecutable ? "100755" : "100644") : old;
  return { content: disk.is === "file" ? disk.content : null, mode };
}

/** What commits have of the files of a worktree, as git would write it there. */
class Committed {
  readonly #commits: Commits;
  readonly #worktree: string;
  readonly #known = new Map<string, Promise<FileState>>();

  constructor(commits: Commits, worktree: string) {
    this.#commits = commits;
    this.#worktree = worktree;
  }

  at(commit: string | null, file: string): Promise<FileState> {
    const none: FileState = { content: null, mode: null };
    if (commit === null || !/^[0-9a-f]{4,64}$/.test(commit)) return Promise.resolve(none);
    const key = `${commit}\n${file}`;
    const known = this.#known.get(key) ?? this.#read(commit, file);
    this.#known.set(key, known);
    return known;
  }

  async #read(commit: string, file: string): Promise<FileState> {
    const listed = await this.#commits.read(this.#worktree, [
      "--literal-pathspecs",
      "ls-tree",
      "-z",
      commit,
      "--",
      file,
    ]);
    const found = /^(\d{6}) blob ([0-9a-f]+)\t/.exec(listed?.toString("latin1") ?? "");
    const [, mode = null, blob = ""] = found ?? [];
    if (mode === null) return { content: null, mode: null };
    const how = mode === "120000" ? ["blob", blob] : ["--filters", `--path=${file}`, blob];
    return { content: await this.#commits.read(this.#worktree, ["cat-file", ...how]), mode };
  }
}

/** Whose part the daemon hears of. */
interface Settling {
  readonly worktree: string;
  readonly isOwn: IsOwn;
  readonly who: Pick<NamedAgent, "id" | "agent">;
}

/** Tells the daemon in which of these files nothing of the caller is left, though others' work is. */
export async function settleOwn(
  asker: Asker,
  texts: Texts,
  { worktree, isOwn, who }: Settling,
  names: readonly string[],
): Promise<void> {
  const tools = { commits: new Commits(asker), texts };
  const { files } = await ownPart(asker, tools, { worktree, isOwn, paths: names });
  const settled = files.flatMap(({ path, own, mixed, others, writers }) =>
    own === null && mixed.length === 0 && others.length > 0 && writers.length > 0
      ? [
          {
            file: path,
            // What an agent of another session has left there is settled when git reports the file clean.
            writers: writers.filter(({ id }) => id === who.id).map(({ agent, at }) => ({ agent, at })),
          },
        ]
      : [],
  );
  const agent = who.agent === null ? {} : { agent: who.agent };
  const left = settled.filter(({ writers }) => writers.length > 0);
  for (let at = 0; at < left.length; at += limits.filesMax)
    await asker.client.request("work_committed", {
      id: who.id,
      ...agent,
      files: left.slice(at, at + limits.filesMax),
    });
}

export function refused(error: string): Refused {
  return new Refused({ ok: false, code: "not_available", error });
}
