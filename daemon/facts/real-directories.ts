/** Looks at the parts of paths in this thread, and remembers for one turn of the event loop which are directories. */
import type { BigIntStats } from "node:fs";
import { limits } from "../../protocol/limits.ts";

/**
 * Looks at each part of a path when those before it are known to be directories and no links. So it touches only the
 * filesystems on the way as it is spelled, which the caller knows to be local. Within one turn of the event loop a
 * directory is looked at once: a change is seen in the next turn.
 */
export class RealDirectories {
  readonly #lstat: (path: string) => BigIntStats | null;
  readonly #known = new Map<string, BigIntStats>();

  /** `lstat` returns null if the file does not exist, and throws Node's other errors. */
  constructor(lstat: (path: string) => BigIntStats | null) {
    this.#lstat = lstat;
  }

  /**
   * Returns the stat of what is at an absolute path, null if nothing is. Undefined if a part of the path is a link, or
   * may not be looked at: then it may lead to another filesystem, or the pool reports why.
   */
  find(path: string): BigIntStats | null | undefined {
    for (let end = path.indexOf("/", 1); ; end = path.indexOf("/", end + 1)) {
      const stat = this.at(end === -1 ? path : path.slice(0, end));
      if (stat === null || stat === undefined || end === -1) return stat;
      if (!stat.isDirectory()) return null;
    }
  }

  /** The same for a path whose parent is known to be a directory and real. */
  at(path: string): BigIntStats | null | undefined {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    try {
      const stat = this.#lstat(path);
      if (stat?.isSymbolicLink()) return undefined;
      if (stat?.isDirectory()) this.#remember(path, stat);
      return stat;
    } catch {
      // The caller asks in another way, and hears why.
      return undefined;
    }
  }

  /** Whether the path was found to be a directory in this turn. */
  has(path: string): boolean {
    return this.#known.has(path);
  }

  #remember(path: string, stat: BigIntStats): void {
    if (this.#known.size === 0) setImmediate(() => this.#known.clear());
    if (this.#known.size < limits.directoriesMax) this.#known.set(path, stat);
  }
}
