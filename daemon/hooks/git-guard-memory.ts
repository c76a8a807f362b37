/**
 * What actors were told of others' files before a shell line of theirs ran. The same line, sent again over the same
 * contents, passes. In memory only: after a restart it is told once more.
 */

import { createHash } from "node:crypto";
import { limits } from "../../protocol/limits.ts";
import { type Actor, actorKey } from "../core/actor.ts";

/** A file as a command of a line reaches it, with what it was then: whose, and which contents. */
export type Versions = ReadonlyMap<string, string>;

interface ToldFile {
  readonly version: string;
  /** The tool use that was told: asked once more (hooks installed twice) it is told again. */
  readonly toolUseId: string;
}

interface ToldLine {
  readonly files: ReadonlyMap<string, ToldFile>;
  /** Clock time in milliseconds. */
  readonly at: number;
}

export class GuardTold {
  readonly #lines = new Map<string, ToldLine>();
  #files = 0;

  /** Whether an answer that was delivered told another tool use of this very line all of it. `now` in milliseconds. */
  knows(line: string, files: Versions, toolUseId: string, now: number): boolean {
    this.#forget(now, line);
    const told = this.#lines.get(line);
    if (told === undefined || told.at + limits.guardToldMs <= now) return false;
    return [...files].every(([file, version]) => {
      const known = told.files.get(file);
      return known?.version === version && known.toolUseId !== toolUseId;
    });
  }

  /** An answer that told of these was delivered. */
  told(line: string, files: Versions, toolUseId: string, now: number): void {
    const all = new Map(this.#lines.get(line)?.files);
    for (const [file, version] of files) all.set(file, { version, toolUseId });
    this.#drop(line);
    this.#lines.set(line, { files: all, at: now });
    this.#files += all.size;
    this.#forget(now, line);
  }

  /** Forgets what is over, and the oldest of what is too much; never `line`, or it could not be confirmed at all. */
  #forget(now: number, line: string): void {
    for (const [key, { at }] of this.#lines) {
      const isMuch = this.#lines.size > limits.guardToldMax || this.#files > limits.guardToldFilesMax;
      if (at + limits.guardToldMs > now && !isMuch) break;
      if (key !== line) this.#drop(key);
    }
  }

  #drop(line: string): void {
    this.#files -= this.#lines.get(line)?.files.size ?? 0;
    this.#lines.delete(line);
  }
}

/** One shell line of one actor, as it was typed and where; its words are not kept. */
export function lineKey(actor: Actor, cwd: string, typed: string): string {
  const text = JSON.stringify([actorKey(actor), cwd, typed]);
  return createHash("sha256").update(text).digest("base64url");
}
