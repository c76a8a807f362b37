/** What of a kept version is lost: it is neither in the file any more nor in a commit. */
import { basename, extname } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { DirtyFile } from "../core/tables/base-state.ts";
import { pathOfWork } from "../core/work/dirty-files.ts";
import type { Facts } from "../facts/facts.ts";
import type { BudgetedFs } from "../facts/filesystem.ts";
import { oidOf } from "../facts/git/blob.ts";
import type { KeptFileFacts } from "../facts/git/kept-files.ts";
import type { GitPlace } from "../facts/git/process.ts";
import { wholeFile } from "../facts/whole-file.ts";
import type { Archive } from "./archive.ts";
import { differenceOf, lineCounts } from "./line-counts.ts";
import { isEditByHand, linesLost } from "./lost-lines.ts";
import type { Author, Version } from "./versions.ts";
import type { WipedFile } from "./wipes.ts";

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

export interface LossOptions {
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
   * Returns the loss; null: there is none, or it cannot be told. `by`: whose command changed the file, null if nobody knows. Nobody
   * loses lines that a commit, a stash entry or the file still has, or whose file was only moved. Of a file that its only writer
   * changed, or that somebody edited by hand, only lines count that are gone in any form. What is too long to be read is not told.
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
    // What the file has besides is nobody's loss.
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

  /** Whether another file that no commit has has the content. Those with its name come first, then those of its kind. */
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
