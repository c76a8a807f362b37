/**
 * What actors were told of others' files before a shell line of theirs ran. The same line passes when it is sent again
 * while the contents are unchanged. In memory only: after a restart the actor is told once more.
 */

import { createHash } from "node:crypto";
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import { type Actor, actorKey } from "../../core/frame/actors.ts";

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
