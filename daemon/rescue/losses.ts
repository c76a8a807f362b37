/** What of a kept version is lost: it is neither in the file any more nor in a commit. */
import { limits } from "../../protocol/limits.ts";
import type { DirtyFile } from "../core/base-state.ts";
import { pathOfWork } from "../core/files/dirty-files.ts";
import type { Facts } from "../facts/facts.ts";
import type { BudgetedFs } from "../facts/filesystem.ts";
import { oidOf } from "../facts/git/blob.ts";
import type { KeptFileFacts } from "../facts/git/kept-files.ts";
import { wholeFile } from "../facts/whole-file.ts";
import type { Archive } from "./archive.ts";
import { differenceOf, lineCounts } from "./line-counts.ts";
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
  readonly git: Pick<KeptFileFacts, "committedAs">;
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

  /** Returns the loss; null: there is none, or it cannot be told. */
  async of({ path, file, worktree, writers, version }: Candidate): Promise<WipedFile | null> {
    const { archive, facts, git, outside } = this.#options;
    if (version === null) return null;
    const now = await wholeFile(outside, path, limits.rescueFileBytes);
    if ("unreachable" in now || now.is === "changing") return null;
    const left = now.is === "read" ? now.content : Buffer.alloc(0);
    const content = await archive.contentOf(version);
    if (content === null || (now.is === "read" && left.equals(content))) return null;
    const lines = linesLost(content, left);
    // What the file has besides is nobody's loss.
    if (lines === 0) return null;
    const around = await facts.repository(worktree);
    if ("unreachable" in around) return null;
    const { gitDir } = around;
    const committed = gitDir === null ? noCommits : await git.committedAs({ worktree, gitDir }, file);
    if ("unreachable" in committed) return null;
    const isCommitted = [content, withoutReturns(content)].some(one =>
      committed.all.some(oid => oid === oidOf(one, oid.length)),
    );
    if (isCommitted) return null;
    const { head } = committed;
    const isReverted = now.is === "read" && head !== null && oidOf(left, head.length) === head;
    const how = now.is === "gone" ? "gone" : isReverted ? "reverted" : "changed";
    return { path, file, version: version.n, writers, lines, how };
  }
}

const noCommits = { head: null, all: [] } as const;

/** Null: it is no text, or too long to be compared. */
function linesLost(before: Buffer, after: Buffer): number | null {
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
