import { limits } from "../protocol/limits.ts";

interface Told {
  readonly files: ReadonlySet<string>;
  readonly toolUseId: string;
  readonly at: number;
}

/**
 * What actors were told of others' files that a command of theirs would take in: asked for once more, with nothing new
 * in its reach, it passes. In memory only: after a restart it is told once more.
 */
export class GuardTold {
  readonly #told = new Map<string, Told>();

  /** Whether the actor knows of all `files` from an earlier tool use; else it is told now. `now` in milliseconds. */
  knows(command: string, files: readonly string[], toolUseId: string, now: number): boolean {
    for (const [key, { at }] of this.#told) {
      if (at + limits.guardToldMs > now && this.#told.size <= limits.guardToldMax) break;
      this.#told.delete(key);
    }
    const told = this.#told.get(command);
    const isNew = told === undefined || files.some(file => !told.files.has(file));
    // The same tool use once more (hooks installed twice) is no second asking.
    if (!isNew && told.toolUseId !== toolUseId) return true;
    this.#told.delete(command);
    this.#told.set(command, { files: new Set(files), toolUseId, at: now });
    return false;
  }
}
