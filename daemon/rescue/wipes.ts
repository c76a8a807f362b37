/** What was wiped lately: by which command of whom, whose files, and the versions that bring them back. */
import { limits } from "../../protocol/limits.ts";
import type { Author } from "./versions.ts";

export interface WipedFile {
  readonly path: string;
  readonly file: string;
  /** The number of the version that brings it back; null: there is none. */
  readonly version: number | null;
  /** Whose work it was, the latest writer first. */
  readonly writers: readonly Author[];
  readonly lines: number | null;
  /** `gone`: the file is not there any more, whatever took its place. `reverted`: it is as the commit has it. `changed`: it has other lines. */
  readonly how: "gone" | "reverted" | "changed";
}

export interface Wipe {
  /** `r-<n>`. */
  readonly n: number;
  readonly project: string;
  readonly worktree: string;
  readonly by: Author | null;
  /** The command in short form. */
  readonly command: string;
  readonly atMs: number;
  /** At most `limits.rescueWipeFilesMax`; `more` counts the rest. */
  readonly files: readonly WipedFile[];
  readonly more: number;
}

export function wipeName({ n }: Pick<Wipe, "n">): string {
  return `r-${n}`;
}

/** The latest wipes, the oldest first. A version that one of them names outlasts others. */
export class WipeTable {
  readonly #all = new Map<number, Wipe>();
  /** How many wipes name each version. */
  readonly #named = new Map<number, number>();

  get size(): number {
    return this.#all.size;
  }

  add(wipe: Wipe): void {
    this.#all.set(wipe.n, wipe);
    for (const { version } of wipe.files)
      if (version !== null) this.#named.set(version, (this.#named.get(version) ?? 0) + 1);
    for (const oldest of this.#all.values()) {
      if (this.#all.size <= limits.rescueWipesMax) break;
      this.#drop(oldest);
    }
  }

  get(n: number): Wipe | undefined {
    return this.#all.get(n);
  }

  /** Drops those before this time. */
  dropBefore(atMs: number): void {
    for (const wipe of this.#all.values()) {
      if (wipe.atMs >= atMs) return;
      this.#drop(wipe);
    }
  }

  /** Whether a wipe names the version. */
  names(version: number): boolean {
    return this.#named.has(version);
  }

  /** The oldest first. */
  all(): IterableIterator<Wipe> {
    return this.#all.values();
  }

  #drop(wipe: Wipe): void {
    this.#all.delete(wipe.n);
    for (const { version } of wipe.files) {
      if (version === null) continue;
      const count = (this.#named.get(version) ?? 1) - 1;
      if (count === 0) this.#named.delete(version);
      else this.#named.set(version, count);
    }
  }
}

/** The wipe with as many files as one line of the index may have. */
export function withinLine(wipe: Wipe): Wipe {
  let left = limits.rescueLineBytes / 2;
  const files = wipe.files.slice(0, limits.rescueWipeFilesMax).filter(file => {
    left -= Buffer.byteLength(JSON.stringify(file));
    return left > 0;
  });
  return { ...wipe, files, more: wipe.more + wipe.files.length - files.length };
}
