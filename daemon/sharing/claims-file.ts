/**
 * What agents of this machine have claimed in the shared log, kept for a daemon that is killed. The machine's own log knows
 * no shared task, and the copy of the store may be a minute old. The store forgets whose a task was if somebody gave it
 * back.
 *
 * The file is written after a step that changes the claims, and is not synced: a power cut may cost the last of them.
 */
import { rmSync } from "node:fs";
import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import { readPrivateFile, writePrivateFileUnsynced } from "../store/private-files.ts";

const heldSchema = z.object({
  task: z.object({ id: z.string(), number: z.number().optional(), description: z.string() }),
  claimer: z.object({ session: z.string(), agent: z.string().nullable(), incarnation: z.number() }),
  /** The claimer was about to end it. */
  isEnding: z.boolean().optional(),
});

const fileSchema = z.object({ where: z.string(), held: z.array(heldSchema) });

/** A claim, with what the shared log calls the claimer. The description is its beginning. */
export type Held = z.infer<typeof heldSchema>;

export interface ClaimsFileOptions {
  /** Null: nothing is kept. */
  readonly path: string | null;
  /** The store as people name it. */
  readonly where: string;
  /** Called once if the file cannot be written. */
  readonly onTrouble: (message: string, error: unknown) => void;
}

export class ClaimsFile {
  readonly #options: ClaimsFileOptions;
  /** What an earlier daemon kept of this store; null: nothing. */
  readonly before: readonly Held[] | null;
  /** The file's text; null: not known. */
  #saved: string | null = null;
  #hasFailed = false;

  constructor(options: ClaimsFileOptions) {
    this.#options = options;
    this.before = options.path === null ? null : loaded(options.path, options.where);
  }

  /** Keeps these in place of what was kept before, `limits.keptClaimsMax` at most; removes the file if there are none. */
  save(held: readonly Held[]): void {
    const { path, where, onTrouble } = this.#options;
    const kept = held.slice(0, limits.keptClaimsMax).map(shortened);
    const text = kept.length === 0 ? "" : `${JSON.stringify({ where, held: kept })}\n`;
    if (path === null || text === this.#saved) return;
    try {
      if (text === "") rmSync(path, { force: true });
      else writePrivateFileUnsynced(path, text);
      this.#saved = text;
    } catch (error) {
      if (!this.#hasFailed) onTrouble("claims in the shared store could not be kept for a restart", error);
      this.#hasFailed = true;
    }
  }
}

function shortened({ task, claimer, ...more }: Held): Held {
  const { session, agent, incarnation } = claimer;
  const description = task.description.slice(0, limits.quoteChars);
  return { ...more, task: { ...task, description }, claimer: { session, agent, incarnation } };
}

function loaded(path: string, where: string): readonly Held[] | null {
  const found = readPrivateFile(path, limits.keptClaimsBytes);
  if (found.is !== "read") return null;
  try {
    const file = fileSchema.parse(JSON.parse(found.text));
    return file.where === where ? file.held : null;
  } catch {
    return null; // Damaged, or another version's: then the copy of the last stop has to do.
  }
}
