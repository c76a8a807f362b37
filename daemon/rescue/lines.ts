/** Shell lines that run, with the work that they may wipe, and what became of it when they have ended. */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Candidate } from "./losses.ts";

/** What a running line may wipe, as it was kept before. */
export interface WipingLine {
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
