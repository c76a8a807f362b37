/** Shell lines that run, with the work that they may wipe, and what became of it when they have ended. */
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Candidate } from "./losses.ts";

/** What a running line may wipe, as it was kept before. */
export interface WipingLine {
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
  });

  began(toolUseId: string, line: WipingLine): void {
    this.#lines.set(toolUseId, line);
  }

  /** Returns what the line may have wiped, and forgets it; null: nothing that is known. */
  ended(toolUseId: string): WipingLine | null {
    const line = this.#lines.get(toolUseId) ?? null;
    this.#lines.delete(toolUseId);
    return line;
  }
}
