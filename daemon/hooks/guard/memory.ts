/** Guarded shell lines that run now, with the uncommitted work of others that they reach. */

import { createHash } from "node:crypto";
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import { type Actor, actorKey, type FileRef, sameActor } from "../../core/frame/actors.ts";
import type { State } from "../../core/state.ts";
import type { DirtyFile } from "../../core/tables/base-state.ts";
import { pathOf } from "../../core/tables/naming.ts";
import { type CommitActor, stashesOf } from "../../core/tables/uncommitted.ts";
import type { CommitMark, ListedCommit } from "../../facts/git/commits.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { Services } from "../../options.ts";

/** A file with uncommitted work of others that a command of the line reaches. */
export interface Reached {
  readonly place: GitPlace;
  readonly key: string;
  /** Relative to the worktree. */
  readonly file: string;
  /** The sequence number of the entry that noted its latest write. */
  readonly seq: number;
  /** The command's name, for people. */
  readonly command: string;
  /** True if the command commits the file; else it may remove it from the working tree. */
  readonly commits: boolean;
}

/** A reached file with its stamp from before the line ran. */
export interface Before extends Reached {
  /** Undefined: the file could not be read. */
  readonly stamp: string | null | undefined;
}

/** One repository before the line ran. */
export interface Repository {
  readonly place: GitPlace;
  /** Where it stood; null: the line commits nothing, or git did not say. */
  readonly mark: CommitMark | null;
  readonly files: readonly Before[];
}

/** A command of the line that may wipe what others write in its reach before the command runs. */
interface Wiping {
  readonly place: GitPlace;
  readonly command: string;
  /** As in a pathspec; null: all files. */
  readonly paths: readonly string[] | null;
  readonly base: string | null;
  /** The sequence number of the latest entry that noted a write in the worktree before the line ran. */
  readonly seq: number;
}

/** Files of one worktree without uncommitted work, which a line may make uncommitted again. */
export interface Settled {
  readonly place: GitPlace;
  /** The command brings back the work of the files' writers. */
  readonly isBack: boolean;
  readonly files: readonly DirtyFile[];
}

export interface RunningLine {
  readonly places: readonly GitPlace[];
  readonly repositories: readonly Repository[];
  readonly wiping: readonly Wiping[];
  /** Files that it may make uncommitted again. */
  readonly settled: readonly Settled[];
}

const nothing: RunningLine = { places: [], repositories: [], wiping: [], settled: [] };

/** Guarded lines that run now. In memory only: after a restart the daemon reports nothing of them. */
export class RunningGitCommands {
  readonly #lines = new BoundedMap<string, RunningLine>({
    entriesMax: limits.guardToldMax,
    weightMax: limits.guardToldFilesMax,
    weightOf: ({ repositories, wiping, settled }) =>
      [...repositories, ...settled].reduce((count, { files }) => count + files.length, wiping.length),
  });

  began(toolUseId: string, line: RunningLine): void {
    this.#lines.set(toolUseId, line);
  }

  ended(toolUseId: string): RunningLine {
    const line = this.#lines.get(toolUseId) ?? nothing;
    this.#lines.delete(toolUseId);
    return line;
  }
}

// What actors were told of others' files before a shell line of theirs ran. The same line passes when it is sent again
// while the contents are unchanged. In memory only: after a restart the actor is told once more.

/** Each file that a command of a line reaches, with its version: whose it is, and which contents it has. */
export type Versions = ReadonlyMap<string, string>;

interface ToldFile {
  readonly version: string;
  /** The tool use that was told. If it asks once more (hooks installed twice), it is told again. */
  readonly toolUseId: string;
}

interface ToldLine {
  readonly files: ReadonlyMap<string, ToldFile>;
  /** Clock time in milliseconds. */
  readonly at: number;
}

export class GuardConfirmations {
  readonly #lines = new BoundedMap<string, ToldLine>({
    entriesMax: limits.guardToldMax,
    weightMax: limits.guardToldFilesMax,
    weightOf: ({ files }) => files.size,
  });

  /** Whether a delivered answer told another tool use of this very line about all these files. `now` in milliseconds. */
  isConfirmed(line: string, files: Versions, toolUseId: string, now: number): boolean {
    this.#lines.forgetWhile(({ at }) => at + limits.guardToldMs <= now);
    const record = this.#lines.get(line);
    if (record === undefined) return false;
    return [...files].every(([file, version]) => {
      const known = record.files.get(file);
      return known?.version === version && known.toolUseId !== toolUseId;
    });
  }

  /** Records that a delivered answer named these files. */
  told(line: string, files: Versions, toolUseId: string, now: number): void {
    const all = new Map(this.#lines.get(line)?.files);
    for (const [file, version] of files) all.set(file, { version, toolUseId });
    this.#lines.set(line, { files: all, at: now });
  }
}

/** A key for one shell line of one actor, as typed and where. It is a hash: the words are not kept. */
export function lineKey(actor: Actor, cwd: string, typed: string): string {
  const text = JSON.stringify([actorKey(actor), cwd, typed]);
  return createHash("sha256").update(text).digest("base64url");
}

// Guarded shell lines that run now and may change a stash list. What appears in the list while one runs was made by it,
// unless a line of another session ran beside it: then nobody can tell. In memory only: after a restart nothing is told.

/** A list before the line ran. */
export interface StashBefore {
  readonly project: string;
  readonly place: GitPlace;
  /** Commits of its entries. */
  readonly before: ReadonlySet<string>;
  /** The command of the line that takes entries, in short form; null: none does. */
  readonly takes: string | null;
}

/** A line and one of the lists that it may change. */
interface StashLine extends StashBefore {
  readonly actor: Actor;
  readonly prompt: string | null;
}

/** A line that has ended. */
interface EndedStashLine extends StashLine {
  /** The entries that it alone can have made; null: all that are new. */
  readonly made: ReadonlySet<string> | null;
  /** A line of another session took entries beside it. */
  readonly isBesideTaker: boolean;
}

interface Row extends StashLine {
  made: ReadonlySet<string> | null;
  isBesideTaker: boolean;
  /** Its actor's turn is over: only the report of its end is still to come, if any is. */
  isOver: boolean;
}

export class StashLines {
  /** By tool use. */
  readonly #rows = new BoundedMap<string, readonly Row[]>({
    entriesMax: limits.guardToldMax,
    weightMax: limits.guardToldFilesMax,
    weightOf: rows => rows.reduce((count, { before }) => count + before.size, 0),
  });

  /** The line with the lists that it may change. `isAlive`: whether an actor is. */
  began(toolUseId: string, lines: readonly StashLine[], isAlive: (actor: Actor) => boolean): void {
    if (lines.length > 0)
      this.#rows.set(
        toolUseId,
        lines.map(line => this.#rowOf(line, isAlive)),
      );
  }

  #rowOf(line: StashLine, isAlive: (actor: Actor) => boolean): Row {
    const row: Row = { ...line, made: null, isBesideTaker: false, isOver: false };
    for (const other of this.#beside(line)) {
      // What is in the list by now is not this line's.
      other.made ??= new Set([...line.before].filter(commit => !other.before.has(commit)));
      if (other.isOver || !isAlive(other.actor)) continue;
      row.made = new Set();
      row.isBesideTaker ||= other.takes !== null;
      other.isBesideTaker ||= line.takes !== null;
    }
    return row;
  }

  /** Returns the line for each list that it may have changed. */
  ended(toolUseId: string): readonly EndedStashLine[] {
    const rows = this.#rows.get(toolUseId) ?? [];
    this.#rows.delete(toolUseId);
    return rows;
  }

  /** Ends the lines of an actor of which no end was reported, but not those of the turn of `keepPrompt`. */
  turnEnded({ session, agent }: Pick<Actor, "session" | "agent">, keepPrompt: string | null): void {
    for (const row of [...this.#rows.values()].flat()) {
      const isIts = row.actor.session === session && row.actor.agent === agent;
      if (isIts && (keepPrompt === null || row.prompt !== keepPrompt)) row.isOver = true;
    }
  }

  /** Whether a line of another session runs that may make entries in the project's list. */
  isBeside(project: string, { session }: Pick<Actor, "session">): boolean {
    const rows = [...this.#rows.values()].flat();
    return rows.some(row => row.project === project && row.actor.session !== session && !row.isOver);
  }

  /** The entries that lines of other sessions found and may be taking. */
  besides(line: StashLine): ReadonlySet<string> {
    return new Set(this.#beside(line).flatMap(({ before, isOver }) => (isOver ? [] : [...before])));
  }

  #beside({ project, actor }: StashLine): readonly Row[] {
    const rows = [...this.#rows.values()].flat();
    return rows.filter(row => row.project === project && row.actor.session !== actor.session);
  }
}

/** The line has ended: the entries that it made get their maker, and the makers of those that it took are told. */
export async function noteStashes(
  { engine, facts, clock }: Services,
  lines: StashLines,
  toolUseId: string,
): Promise<void> {
  for (const line of lines.ended(toolUseId)) {
    const { actor, project, before, takes } = line;
    const list = await facts.stashes(line.place);
    // What the line made is then the person's, and what it took is noticed later.
    if ("unreachable" in list) continue;
    const now = list.entries.map(({ commit }) => commit);
    const made = now.filter(commit => !before.has(commit) && (line.made?.has(commit) ?? true)).reverse();
    const gone = stashesOf(engine.state.stashes, project)
      .map(({ commit }) => commit)
      .filter(commit => !now.includes(commit));
    const takenBy = line.isBesideTaker ? null : takes;
    const taken = takenBy === null ? [] : gone.filter(commit => before.has(commit));
    // Another line may be taking these: its end tells.
    const besides = lines.besides(line);
    const unseen = gone.filter(commit => !taken.includes(commit) && !besides.has(commit));
    const rest = { type: "stashes_noted", actor, project, wallMs: clock.wall() } as const;
    if (made.length + taken.length > 0) await engine.submitAndWait({ ...rest, made, gone: taken, takenBy });
    if (unseen.length > 0) await engine.submitAndWait({ ...rest, made: [], gone: unseen, takenBy: null });
  }
}

// Guarded shell lines that run now, with what they do to commits. In memory only: after a restart the commits of lines that ran
// are nobody's, and what was asked is asked again.

/** What a line does to commits, of one repository. */
export interface CommitLook {
  readonly place: GitPlace;
  readonly project: string;
  /** Where refs are that it moves, besides HEAD. */
  readonly olds: readonly string[];
  /** Commits of others that it would publish. */
  readonly publishes: readonly ListedCommit[];
  /** The first command that moves refs, in short form; null: none does. */
  readonly command: string | null;
  /** Whether a command of it makes commits. */
  readonly makes: boolean;
}

/** Who made the commits that a line took back, by the absolute paths of their files. */
export type TakenBack = ReadonlyMap<string, readonly CommitActor[]>;

/** What the guard remembers of commits that were asked about: each is asked about once. */
export interface AskedOnce {
  has(key: string): boolean;
}

/** A repository before a line runs that the guard has looked at. */
export interface CommitLine extends CommitLook {
  readonly actor: Actor;
  /** The prompt whose turn it belongs to; null: the event named none. */
  readonly prompt: string | null;
  readonly head: string | null;
  /** Length of HEAD's log; null: it has none. */
  readonly bytes: number | null;
  /** Others whose lines make commits there at the same time. */
  readonly beside: Actor[];
}

export class CommitLines {
  /** By tool use. */
  readonly #lines = new BoundedMap<string, readonly CommitLine[]>({ entriesMax: limits.guardToldMax });
  /** By git directory: how much of HEAD's log was looked at. */
  readonly #looked = new BoundedMap<string, number>({ entriesMax: limits.guardIndexesMax });
  /** Commits that a delivered answer asked about, with the tool use that was told. */
  readonly #asked = new BoundedMap<string, string>({ entriesMax: limits.guardToldFilesMax });

  /** `isAlive`: whether an actor is. */
  began(
    toolUseId: string,
    begun: readonly Omit<CommitLine, "beside">[],
    isAlive: (actor: Actor) => boolean,
  ): void {
    const lines = begun.map((line): CommitLine => ({ ...line, beside: [] }));
    for (const line of lines) {
      for (const other of [...this.#lines.values()].flat()) {
        if (other.place.gitDir !== line.place.gitDir || !other.makes || !line.makes) continue;
        if (sameActor(other.actor, line.actor) || !isAlive(other.actor)) continue;
        other.beside.push(line.actor);
        line.beside.push(other.actor);
      }
    }
    if (lines.length > 0) this.#lines.set(toolUseId, lines);
  }

  /** Forgets the lines of an actor whose ends were not reported, but not those of the turn of `keepPrompt`. */
  turnEnded({ session, agent }: Pick<Actor, "session" | "agent">, keepPrompt: string | null): void {
    const rows = [...this.#lines.entries()];
    for (const [toolUseId, lines] of rows) {
      const isIts = lines.some(({ actor }) => actor.session === session && actor.agent === agent);
      const isKept = keepPrompt !== null && lines.some(({ prompt }) => prompt === keepPrompt);
      if (isIts && !isKept) this.#lines.delete(toolUseId);
    }
  }

  ended(toolUseId: string): readonly CommitLine[] {
    const lines = this.#lines.get(toolUseId) ?? [];
    this.#lines.delete(toolUseId);
    return lines;
  }

  isRunning({ gitDir }: GitPlace): boolean {
    return [...this.#lines.values()].flat().some(({ place }) => place.gitDir === gitDir);
  }

  /** HEAD's log was looked at up to there. */
  looked({ gitDir }: GitPlace, bytes: number | null): void {
    if (bytes !== null) this.#looked.set(gitDir, bytes);
  }

  /** How much of HEAD's log was looked at; null: nothing yet. */
  lookedAt({ gitDir }: GitPlace): number | null {
    return this.#looked.get(gitDir) ?? null;
  }

  /** The commits that other tool uses than this one were asked about. */
  askedBefore(toolUseId: string): { has(key: string): boolean } {
    return { has: key => (this.#asked.get(key) ?? toolUseId) !== toolUseId };
  }

  asked(toolUseId: string, keys: readonly string[]): void {
    for (const key of keys) if (!this.#asked.has(key)) this.#asked.set(key, toolUseId);
  }
}

// Files that shell lines change in place, from the answer that lets a line run until its end is seen.
//
// Such a change is an edit: it is in flight under a name of its own, since a line's write of an index ends earlier, when a
// person is asked about the line.

/** A file that a line changes. */
export interface LineEdit {
  readonly file: FileRef;
  /** The file goes elsewhere, as it is. */
  readonly isMoved: boolean;
  /** The actor held it before, so it keeps it after the line. */
  readonly isKept: boolean;
}

/** In memory only: after a restart the locks of such lines end as those of edits do. */
export class LineEdits {
  readonly #lines = new BoundedMap<string, readonly LineEdit[]>({
    entriesMax: limits.guardToldMax,
    weightMax: limits.guardToldFilesMax,
    weightOf: files => files.length,
  });

  /** The line asks for its files. What is known of the line already stays. */
  begins(toolUseId: string, files: readonly LineEdit[]): void {
    if (!this.#lines.has(toolUseId)) this.#lines.set(toolUseId, files);
  }

  ended(toolUseId: string): readonly LineEdit[] {
    const files = this.#lines.get(toolUseId) ?? [];
    this.#lines.delete(toolUseId);
    return files;
  }
}

/** The write of a line's own files, as the core knows it. */
export function lineFlight(toolUseId: string): string {
  return `${toolUseId} files`;
}

/** Whether the actor holds the file itself, and not a folder around it. */
export function isHeldBy({ locks }: Pick<State, "locks">, { key }: FileRef, actor: Actor): boolean {
  const hold = locks.holds.get(key);
  return hold !== undefined && sameActor(hold.actor, actor);
}

// Guarded lines that run now and may move HEAD, and where actors were last.

/** A line that runs now and may move HEAD or begin an operation. */
interface HeadLine {
  readonly actor: Actor;
  readonly places: readonly GitPlace[];
}

/** In memory only: after a restart a move has no known maker. */
export class HeadLines {
  readonly #lines = new BoundedMap<string, HeadLine>({ entriesMax: limits.guardToldMax });
  /** Where actors were at their latest waiting events, and when. */
  readonly #latest = new BoundedMap<string, { readonly worktree: string; readonly at: number }>({
    entriesMax: limits.gatedActorsMax,
  });

  began(toolUseId: string, line: HeadLine): void {
    this.#lines.set(toolUseId, line);
  }

  ended(toolUseId: string): HeadLine | null {
    const line = this.#lines.get(toolUseId) ?? null;
    this.#lines.delete(toolUseId);
    return line;
  }

  /** Returns the only actor whose line may have moved HEAD there; null: none, or several. */
  moverIn(worktree: string): Actor | null {
    const here = [...this.#lines.values()].filter(line => line.places.some(at => at.worktree === worktree));
    const [first] = here;
    return first !== undefined && here.every(({ actor }) => sameActor(actor, first.actor))
      ? first.actor
      : null;
  }

  acted(actor: Actor, worktree: string, at: number): void {
    this.#latest.set(actorKey(actor), { worktree, at });
  }

  latest(actor: Actor) {
    return this.#latest.get(actorKey(actor));
  }
}

// Commits whose hook may stash or rewrite files, while their lines run, and those for which edits of others wait.

/** A commit's line that runs. */
export interface RunningCommit {
  readonly actor: Actor;
  /** The prompt whose turn runs it; null if the event names none. */
  readonly prompt: string | null;
  readonly place: GitPlace;
  readonly project: string;
  /** A digest of the repository and its hooks. */
  readonly hooks: string;
  /** Commits of the stash entries before it; null: the list could not be read. */
  readonly stashes: ReadonlySet<string> | null;
  /** The line is git commands alone: what changes while it runs, git or the hook changed. */
  readonly isPlain: boolean;
}

/** A commit for which edits wait, until `over` resolves. */
interface Held {
  readonly actor: Actor;
  readonly place: GitPlace;
  readonly over: Promise<void>;
  readonly end: () => void;
}

export class HookedCommits {
  readonly #running = new BoundedMap<string, RunningCommit>({
    entriesMax: limits.guardToldMax,
    weightMax: limits.guardToldFilesMax,
    weightOf: ({ stashes }) => stashes?.size ?? 0,
  });
  /** Each leaves after `limits.commitHookWaitMs`; at most `limits.guardToldMax` at a time. */
  readonly held = new Map<string, Held>();
  /** Hooks that were seen to stash or to change files. */
  readonly #seen = new BoundedMap<string, true>({ entriesMax: limits.guardToldMax });

  /** The line begins. With `holds`, edits of others in its worktree wait for it. */
  began(toolUseId: string, commit: RunningCommit, holds: boolean): void {
    this.#running.set(toolUseId, commit);
    if (!holds || this.held.has(toolUseId) || this.held.size >= limits.guardToldMax) return;
    let end = () => {};
    const over = new Promise<void>(resolve => {
      end = resolve;
    });
    const { actor, place } = commit;
    const timer = setTimeout(() => this.endWait(toolUseId), limits.commitHookWaitMs);
    timer.unref();
    void over.then(() => clearTimeout(timer));
    this.held.set(toolUseId, { actor, place, over, end });
  }

  /** The line has ended, or waits for a person: edits go on. */
  endWait(toolUseId: string): void {
    const held = this.held.get(toolUseId);
    this.held.delete(toolUseId);
    held?.end();
  }

  /** Returns the line, if it is a commit whose hook may change files. */
  ended(toolUseId: string): RunningCommit | null {
    const commit = this.#running.get(toolUseId) ?? null;
    this.#running.delete(toolUseId);
    return commit;
  }

  /** Lets edits go on behind the lines of an actor of which no end was reported, but not those of the turn of `keepPrompt`. */
  turnEnded({ session, agent }: Pick<Actor, "session" | "agent">, keepPrompt: string | null): void {
    for (const [toolUseId, { actor, prompt }] of [...this.#running.entries()])
      if (
        actor.session === session &&
        actor.agent === agent &&
        (keepPrompt === null || prompt !== keepPrompt)
      )
        this.endWait(toolUseId);
  }

  /** The commit of another actor for which an edit of these files has to wait; null: none. Costs nothing where none runs. */
  over({ engine }: Pick<Services, "engine">, actor: Actor, files: readonly FileRef[]): Held | null {
    const worktrees = [...engine.state.sessions.worktrees.keys()];
    for (const held of this.held.values()) {
      const { worktree, gitDir } = held.place;
      if (sameActor(held.actor, actor)) continue;
      const inner = worktrees.filter(other => isBelow(other, worktree));
      const isIn = (path: string) =>
        isBelow(path, worktree) && ![gitDir, ...inner].some(other => isBelow(path, other));
      if (files.some(file => isIn(pathOf(file)))) return held;
    }
    return null;
  }

  noteSeen(hooks: string): void {
    this.#seen.set(hooks, true);
  }

  hasSeen(hooks: string): boolean {
    return this.#seen.has(hooks);
  }
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}
