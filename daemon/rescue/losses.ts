/** What of a kept version is lost: it is neither in the file any more nor in a commit. */

import { basename, extname } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { DirtyFile } from "../core/tables/base-state.ts";
import { idOfKey } from "../core/tables/sessions.ts";
import { pathOfWork } from "../core/work/dirty-files.ts";
import type { Facts } from "../facts/facts.ts";
import type { BudgetedFs } from "../facts/filesystem.ts";
import type { KeptFileFacts } from "../facts/git/kept-files.ts";
import { type GitPlace, oidOf } from "../facts/git/process.ts";
import { wholeFile } from "../facts/whole-file.ts";
import type { Services } from "../options.ts";
import type { Archive } from "./archive.ts";
import { type Author, differenceOf, lineCounts, type Version, type WipedFile } from "./versions.ts";

// Which lines of a kept text a file has lost. Pure. A line that a commit, a stash entry or the file has is not lost.

/** Texts of the file. */
interface Texts {
  /** The kept version. */
  readonly kept: string;
  /** What is in the file now. */
  readonly now: string;
  /** The file in commits and stash entries. */
  readonly committed: readonly string[];
  /** Versions before the kept one, as far as they are known. */
  readonly earlier: readonly string[];
}

/**
 * Returns how many lines are lost that only this version has. `isLoose`: a line that is in the file with other blanks, quotes,
 * brackets or ends is not lost: formatters change those.
 */
function linesLost({ kept, now, committed }: Texts, isLoose: boolean): number {
  const lost = missing(ownLines(kept, committed), linesOf(now));
  if (!isLoose || lost.length === 0) return lost.length;
  const left = bare(now);
  return lost.filter(line => bare(line) !== "" && !left.includes(bare(line))).length;
}

/** Somebody may edit all of so few lines at once. */
const fewLines = 5;

/**
 * Whether somebody edited the file by hand. Then each lost line has a new one in its place. If the kept work was more than a
 * few lines, some of it is left. An editor that writes an old text loses lines and brings none, or those that were there
 * before.
 */
function isEditByHand({ kept, now, committed, earlier }: Texts): boolean {
  if (earlier.includes(now)) return false;
  const own = ownLines(kept, committed);
  const lost = missing(own, linesOf(now));
  const known = new Set([...committed, ...earlier].flatMap(linesOf));
  const added = missing(linesOf(now), linesOf(kept)).filter(line => !known.has(line));
  return lost.length <= added.length && (lost.length < own.length || own.length <= fewLines);
}

/** The lines that no commit has. */
function ownLines(kept: string, committed: readonly string[]): readonly string[] {
  const known = new Set(committed.flatMap(linesOf));
  return linesOf(kept).filter(line => !known.has(line));
}

/** The lines of one text that another does not have, or not as often. */
function missing(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter(line => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

/** Lines without what stands for their end. */
function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** What a formatter leaves as it is. */
function bare(text: string): string {
  return text.replace(/[\s"'`;,()[\]{}]+/g, "");
}

/** A file whose kept version may be lost. */
export interface Candidate {
  readonly path: string;
  readonly file: string;
  readonly worktree: string;
  readonly project: string;
  /** Whose work it was, the latest writer first. */
  readonly writers: readonly Author[];
  /** The version with the file's content of before; null: there is none. */
  version: Version | null;
}

interface LossOptions {
  readonly archive: Archive;
  readonly facts: Pick<Facts, "repository">;
  readonly git: Pick<KeptFileFacts, "committedAs" | "blobs" | "newFiles">;
  readonly outside: BudgetedFs;
}

/** Returns a file with uncommitted work as a candidate; its version is not looked up. */
export function candidateOf(work: DirtyFile): Candidate {
  const { file, worktree, project } = work;
  const writers = work.writers.map(({ actor: { session, agent }, name }) => ({ session, agent, name }));
  return { path: pathOfWork(work), file, worktree, project, writers: writers.reverse(), version: null };
}

/** Looks which of a version's lines a file lost. */
export class Losses {
  readonly #options: LossOptions;

  constructor(options: LossOptions) {
    this.#options = options;
  }

  /**
   * Returns the loss; null: there is none, or it cannot be told. `by`: whose command changed the file, null if nobody knows.
   * Nobody loses lines that a commit, a stash entry or the file still has, or whose file was only moved. If a file's only
   * writer changed it, or somebody edited it by hand, only lines count that are gone in any form. Files that are too long to
   * be read are left out.
   */
  async of(
    { path, file, worktree, writers, version }: Candidate,
    by: Author | null,
  ): Promise<WipedFile | null> {
    const { archive, facts, git, outside } = this.#options;
    if (version === null) return null;
    const now = await wholeFile(outside, path, limits.rescueFileBytes);
    if ("unreachable" in now || now.is === "changing" || now.is === "large") return null;
    const left = now.is === "read" ? now.content : Buffer.alloc(0);
    const content = await archive.contentOf(version);
    if (content === null || (now.is === "read" && left.equals(content))) return null;
    const lines = linesTaken(content, left);
    // The file's other lines are nobody's loss.
    if (lines === 0) return null;
    const around = await facts.repository(worktree);
    if ("unreachable" in around) return null;
    const { gitDir } = around;
    const place = gitDir === null ? null : { worktree, gitDir };
    const committed = place === null ? noCommits : await git.committedAs(place, file);
    if ("unreachable" in committed) return null;
    const isCommitted = [content, withoutReturns(content)].some(one =>
      committed.all.some(oid => oid === oidOf(one, oid.length)),
    );
    if (isCommitted) return null;
    const { head } = committed;
    const isReverted = head !== null && oidOf(left, head.length) === head;
    const how = now.is !== "read" ? "gone" : isReverted ? "reverted" : "changed";
    if (lines !== null) {
      const blobs = place === null ? [] : await git.blobs(place, committed.all, limits.rescueFileBytes);
      if (blobs !== null && "unreachable" in blobs) return null;
      const before = archive.versions.previousOf(version);
      const earlier = before === null ? null : await archive.contentOf(before);
      const texts = {
        kept: content.toString("latin1"),
        now: left.toString("latin1"),
        committed: (blobs ?? []).map(blob => blob.toString("latin1")),
        earlier: earlier === null ? [] : [earlier.toString("latin1")],
      };
      const isOwn = by !== null && writers.every(one => one.session === by.session && one.agent === by.agent);
      if (linesLost(texts, by === null || isOwn) === 0) return null;
      if (by === null && how === "changed" && isEditByHand(texts)) return null;
    }
    if (how === "gone" && place !== null && (await this.#isMoved(place, content, file))) return null;
    return { path, file, version: version.n, writers, lines, how };
  }

  /** Returns how many lines the file has that the checked-out commit does not have; null: they cannot be counted. */
  async linesAhead({ worktree, file }: Pick<Candidate, "worktree" | "file">): Promise<number | null> {
    const { facts, git, outside } = this.#options;
    // Git reads one name a line.
    if (file.includes("\n")) return null;
    const now = await wholeFile(outside, pathOfWork({ worktree, file }), limits.rescueCountedBytes);
    if ("unreachable" in now || now.is !== "read") return null;
    const around = await facts.repository(worktree);
    if ("unreachable" in around || around.gitDir === null) return null;
    const place = { worktree, gitDir: around.gitDir };
    const committed = await git.committedAs(place, file);
    if ("unreachable" in committed) return null;
    const oids = committed.head === null ? [] : [committed.head];
    const blobs = await git.blobs(place, oids, limits.rescueCountedBytes);
    if (blobs === null || "unreachable" in blobs) return null;
    const [before = Buffer.alloc(0)] = blobs;
    const content = before.includes("\r\n") ? now.content : withoutReturns(now.content);
    return lineCounts(before, content)?.added ?? null;
  }

  /**
   * Whether the content is in another file that no commit has. It looks at files with the same name first, then at files of
   * the same kind.
   */
  async #isMoved(place: GitPlace, content: Buffer, from: string): Promise<boolean> {
    const { git, outside } = this.#options;
    const files = await git.newFiles(place);
    if ("unreachable" in files) return false;
    const rank = (file: string) =>
      basename(file) === basename(from) ? 0 : extname(file) === extname(from) ? 1 : 2;
    const likely = files.toSorted((a, b) => rank(a) - rank(b)).slice(0, limits.rescueMovedLooksMax);
    for (const file of likely) {
      const found = await wholeFile(outside, pathOfWork({ ...place, file }), content.length);
      if (!("unreachable" in found) && found.is === "read" && found.content.equals(content)) return true;
    }
    return false;
  }
}

const noCommits = { head: null, all: [] } as const;

/** Null: it is no text, or too long to be compared. */
function linesTaken(before: Buffer, after: Buffer): number | null {
  const { start, endBefore, endAfter } = differenceOf(before, after);
  if (Math.max(endBefore, endAfter) - start > limits.rescueCountedBytes) return null;
  return lineCounts(before, after)?.taken ?? null;
}

/** As git stores a text with the line ends of another system. */
function withoutReturns(content: Buffer): Buffer {
  return content.includes("\r\n")
    ? Buffer.from(content.toString("latin1").replaceAll("\r\n", "\n"), "latin1")
    : content;
}

// Shell lines that run, with the work that they may wipe, and what became of it when they have ended.

/** What a running line may wipe, as it was kept before. */
interface WipingLine {
  /** The id of the session that runs it. */
  readonly session: string;
  /** The first command of the line that may wipe, in short form. */
  readonly command: string;
  readonly candidates: readonly Candidate[];
}

/** In memory only: after a restart nothing is known of a line that ran before. */
export class WipingLines {
  readonly #lines = new BoundedMap<string, WipingLine>({
    entriesMax: limits.guardToldMax,
    weightMax: limits.guardToldFilesMax,
    weightOf: ({ candidates }) => candidates.length,
    onDelete: toolUseId => this.#forget(toolUseId),
  });
  /** The same lines by the worktrees of their candidates: the session of each. */
  readonly #byWorktree = new Map<string, Map<string, string>>();
  readonly #worktrees = new Map<string, ReadonlySet<string>>();

  began(toolUseId: string, line: WipingLine): void {
    this.#lines.set(toolUseId, line);
    const worktrees = new Set(line.candidates.map(({ worktree }) => worktree));
    this.#worktrees.set(toolUseId, worktrees);
    for (const worktree of worktrees) {
      const here = this.#byWorktree.get(worktree) ?? new Map<string, string>();
      this.#byWorktree.set(worktree, here.set(toolUseId, line.session));
    }
  }

  /** The worktrees in which the line may wipe something. */
  worktreesOf(toolUseId: string): ReadonlySet<string> {
    return this.#worktrees.get(toolUseId) ?? new Set();
  }

  /** The sessions whose lines may wipe something in the worktree; a line whose end nobody reported may be among them. */
  sessionsIn(worktree: string): ReadonlySet<string> {
    return new Set(this.#byWorktree.get(worktree)?.values());
  }

  #forget(toolUseId: string): void {
    for (const worktree of this.worktreesOf(toolUseId)) {
      const here = this.#byWorktree.get(worktree);
      here?.delete(toolUseId);
      if (here?.size === 0) this.#byWorktree.delete(worktree);
    }
    this.#worktrees.delete(toolUseId);
  }

  /** Returns what the line may have wiped, and forgets it; null: nothing that is known. */
  ended(toolUseId: string): WipingLine | null {
    const line = this.#lines.get(toolUseId) ?? null;
    this.#lines.delete(toolUseId);
    return line;
  }
}

// Whether agents' shell lines explain what changes in a worktree now.

/** What is known of lines besides what each agent does. */
interface KnownLines {
  readonly lines: Pick<WipingLines, "sessionsIn">;
  readonly compared: {
    /** How many lines have ended in each worktree and are still to be looked at. */
    readonly ends: ReadonlyMap<string, number>;
  };
}

/**
 * Whether a shell command runs that may change the worktree. It is one of an agent that works there, or one that may wipe
 * work there, wherever its agent works. A command whose end was not looked at yet counts, too: that look finds what changes
 * meanwhile, and reports it. Costs a look at each such session.
 */
export function runsLine(
  { engine, presence }: Pick<Services, "engine" | "presence">,
  { lines, compared }: KnownLines,
  worktree: string,
): boolean {
  if (compared.ends.has(worktree)) return true;
  const { worktrees, live } = engine.state.sessions;
  const runs = (session: string) => {
    const row = presence.of(session);
    return [row, ...row.agents.values()].some(({ doing }) => doing?.verb === "runs");
  };
  for (const key of worktrees.get(worktree) ?? []) if (runs(idOfKey(key))) return true;
  for (const session of lines.sessionsIn(worktree)) if (live.has(session) && runs(session)) return true;
  return false;
}
