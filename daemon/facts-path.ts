import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { limits } from "../protocol/limits.ts";
import type { Stamped } from "./baselines.ts";
import { Names } from "./facts-names.ts";
import { type Budget, Outside, type Unreachable } from "./facts-outside.ts";

/**
 * What a lock needs to know of a path. `lexical`: absolute, in words alone (`..` takes back the word before
 * it, whatever that names). `real`: the real path of the deepest ancestor that exists, and the rest. `dir`:
 * it names a directory that exists, or its words end with `/`.
 */
export interface PathFact {
  readonly lexical: string;
  readonly real: string;
  readonly dir: boolean;
}

export interface PathFactsOptions {
  readonly outside?: Outside;
  readonly platform?: NodeJS.Platform;
  /** Folds a real path where its volume takes several spellings for one file. */
  readonly fold?: (real: string) => string;
}

/** A directory on a local filesystem, and its real path when it was last looked at. */
interface LocalDirectory {
  readonly real: string;
  readonly until: number;
  readonly refreshAt: number;
  /** The turn of the event loop in which `real` was last seen to hold. */
  turn: number;
}

interface Walked {
  readonly real: string;
  readonly kind: "directory" | "other" | "absent";
  readonly device: bigint | null;
}

/**
 * Filesystems of Linux that answer from this machine alone: ext2 to 4, xfs, btrfs, f2fs, bcachefs, zfs,
 * tmpfs, ramfs, overlay, jfs, reiserfs, nilfs, vfat, exfat, ntfs3, erofs, squashfs. Whatever else (nfs, cifs,
 * fuse, 9p, autofs, a type yet unknown) may hang, and is asked asynchronously only.
 */
const localTypes: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0xca451a4e, 0x2fc12fc1, 0x01021994, 0x858458f6, 0x794c7630,
  0x3153464a, 0x52654973, 0x3434, 0x4d44, 0x2011bab0, 0x7366746e, 0xe0f5e1e2, 0x73717368,
]);

/**
 * The volumes macOS itself runs from; of others nothing is known without a table of types that Apple does not
 * keep.
 */
const darwinVolumes = ["/", "/System/Volumes/Data"];

/**
 * Real paths, within a budget and without being stopped by a mount that hangs.
 *
 * `resolve` walks the path word by word, each question in the lane of the device it concerns, so a link into
 * a hung mount is charged to that mount. `resolveNow` answers at once where the parent directory was found on
 * a local filesystem within `limits.directoryKeptMs`: the parent's real path is compared with the remembered
 * one once in each turn of the event loop (so a directory that was moved, or swapped for a link, before a
 * request was sent is always seen), and one `lstat` answers for the file. Two things are taken on trust
 * meanwhile: that nobody mounts or links something that hangs at a path used within those seconds, and that
 * the file itself is not a mount point that hangs.
 */
export class PathFacts {
  readonly #outside: Outside;
  readonly #platform: NodeJS.Platform;
  readonly #fold: (real: string) => string;
  readonly #directories = new Map<string, LocalDirectory>();
  readonly #walks = new Map<string, { readonly turn: number; readonly walk: Promise<Walked> }>();
  readonly #named = new Names();
  #turn = 0;
  #turnNow = 0;
  #turnKnown = false;

  constructor(options: PathFactsOptions = {}) {
    this.#outside = options.outside ?? new Outside();
    this.#platform = options.platform ?? process.platform;
    this.#fold = options.fold ?? (real => real);
  }

  /** The name as an absolute path, in words alone. */
  lexical(cwd: string, file: string): string {
    return this.#named.get(cwd, file).lexical;
  }

  /**
   * The fact at once, or null where only `resolve` can tell. Never waits for anything but a local filesystem.
   */
  resolveNow(cwd: string, file: string): PathFact | null {
    const named = this.#named.get(cwd, file);
    const { lexical, parent } = named;
    const directory = this.#directories.get(parent);
    if (directory === undefined || lexical === parent) return null;
    this.#newTurn();
    if (directory.turn !== this.#turn && !this.#stillThere(parent, directory)) {
      this.#directories.delete(parent);
      return null;
    }
    if (named.directory !== directory.real) {
      const name = lexical.slice(parent === "/" ? 1 : parent.length + 1);
      named.directory = directory.real;
      named.path = directory.real === "/" ? `/${name}` : `${directory.real}/${name}`;
      named.fact = null;
    }
    try {
      const stat = lstatSync(named.path, { throwIfNoEntry: false });
      if (stat?.isSymbolicLink()) return null;
      const dir = stat?.isDirectory() === true || file.endsWith("/");
      if (named.fact?.dir !== dir) named.fact = { lexical, real: this.#fold(named.path), dir };
      return named.fact;
    } catch {
      // A name that is too long, a NUL, a failing disk: `resolve` finds the words for it.
      return null;
    }
  }

  /** The fact, or why it cannot be had within `limits.factMs` (waiting behind other facts not counted). */
  resolve(cwd: string, file: string): Promise<PathFact | Unreachable> {
    const lexical = resolve("/", cwd, file);
    return this.#outside.fact(async budget => {
      const walked = await this.#file(lexical, budget);
      return {
        lexical,
        real: this.#fold(walked.real),
        dir: walked.kind === "directory" || file.endsWith("/"),
      };
    });
  }

  /**
   * Something that changes whenever the file does (time of change, size, inode), or null where there is none.
   * A file that cannot be looked at has the stamp `unreachable`: two of those compare as unchanged.
   */
  async fileStamp(real: string): Promise<string | null> {
    const stamp = await this.#outside.fact(async budget => {
      const stat = await this.#outside.look(real, null, budget, (prober, path) => prober.lstat(path));
      return stat === null ? null : `${stat.mtimeNs}-${stat.size}-${stat.ino}`;
    });
    return stamp === null || typeof stamp === "string" ? stamp : "unreachable";
  }

  /** The stamp with the time of the change, which is not to be had of what is gone; null where it cannot be told. */
  async stamped(real: string): Promise<Stamped | null> {
    const found = await this.#outside.fact(async budget => {
      const stat = await this.#outside.look(real, null, budget, (prober, path) => prober.lstat(path));
      return stat === null
        ? { stamp: null, changedAt: Number.POSITIVE_INFINITY }
        : { stamp: `${stat.mtimeNs}-${stat.size}-${stat.ino}`, changedAt: Number(stat.ctimeNs / 1_000_000n) };
    });
    return "unreachable" in found ? null : found;
  }

  async #file(lexical: string, budget: Budget): Promise<Walked> {
    const parentPath = dirname(lexical);
    const parent = await this.#directory(parentPath, budget);
    if (lexical === parentPath) return parent;
    const name = basename(lexical);
    if (parent.kind === "directory") return this.#walk(parent, name, budget);
    return { real: join(parent.real, name), kind: "absent", device: null };
  }

  /**
   * Walks to a directory and remembers it if it is a local one; who asks in the same turn shares the walk.
   */
  #directory(path: string, budget: Budget): Promise<Walked> {
    this.#newTurn();
    const turn = this.#turn;
    const shared = this.#walks.get(path);
    if (shared?.turn === turn) return shared.walk;
    const walk = this.#walk(null, path, budget)
      .then(async walked => {
        if (walked.kind === "directory" && (await this.#isLocal(walked, budget)))
          this.#remember(path, walked.real);
        else this.#directories.delete(path);
        return walked;
      })
      .finally(() => {
        if (this.#walks.get(path)?.walk === walk) this.#walks.delete(path);
      });
    this.#walks.set(path, { turn, walk });
    return walk;
  }

  async #walk(from: Walked | null, words: string, budget: Budget): Promise<Walked> {
    let at = from?.real ?? "/";
    let device = from?.device ?? null;
    let links = 0;
    const todo = words.split("/").reverse();
    for (let word = todo.pop(); word !== undefined; word = todo.pop()) {
      if (word === "" || word === ".") continue;
      if (word === "..") {
        at = dirname(at);
        continue;
      }
      const path = join(at, word);
      const stat = await this.#outside.look(path, device, budget, (prober, p) => prober.lstat(p));
      if (stat?.isDirectory()) {
        at = path;
        device = stat.dev;
      } else if (stat?.isSymbolicLink()) {
        if (++links > limits.symlinksMax) {
          this.#outside.noAnswer(
            `${path} leads through more than ${limits.symlinksMax} symbolic links; remove the circle`,
          );
        }
        const target = await this.#outside.look(path, device, budget, (prober, p) => prober.readlink(p));
        if (target === null) return { real: path, kind: "absent", device };
        if (target.startsWith("/")) at = "/";
        todo.push(...target.split("/").reverse());
      } else {
        const rest = todo.reverse().join("/");
        const kind = stat !== null && rest === "" ? "other" : "absent";
        return { real: join(path, rest), kind, device };
      }
    }
    return { real: at, kind: "directory", device };
  }

  async #isLocal(directory: Walked, budget: Budget): Promise<boolean> {
    const { real, device } = directory;
    if (this.#platform === "linux") {
      const type = await this.#outside.look(real, device, budget, (prober, path) => prober.filesystem(path));
      return type !== null && localTypes.has(type);
    }
    if (this.#platform !== "darwin") return false;
    for (const volume of darwinVolumes) {
      const stat = await this.#outside.look(volume, null, budget, (prober, path) => prober.lstat(path));
      if (stat !== null && stat.dev === device) return true;
    }
    return false;
  }

  #remember(path: string, real: string): void {
    this.#directories.delete(path);
    if (this.#directories.size >= limits.directoriesMax) {
      for (const oldest of this.#directories.keys()) {
        this.#directories.delete(oldest);
        break;
      }
    }
    const now = this.#outside.now();
    const refreshAt = now + limits.directoryKeptMs / 2;
    this.#directories.set(path, { real, until: now + limits.directoryKeptMs, refreshAt, turn: -1 });
  }

  /** Whether a remembered directory counts, its real path looked at anew. */
  #stillThere(path: string, directory: LocalDirectory): boolean {
    if (this.#turnNow > directory.until) return false;
    if (this.#turnNow > directory.refreshAt && !this.#walks.has(path)) {
      // Begun in time, so that a directory in use does not send a crowd of requests the long way at once.
      void this.#outside.fact(budget => this.#directory(path, budget));
    }
    try {
      if (realpathSync.native(path) !== directory.real) return false;
    } catch {
      // It went away or cannot be read: `resolve` finds out which.
      return false;
    }
    directory.turn = this.#turn;
    return true;
  }

  /** Counts the turns of the event loop: what was looked at in this turn need not be looked at again. */
  #newTurn(): void {
    if (this.#turnKnown) return;
    this.#turnKnown = true;
    this.#turnNow = this.#outside.now();
    setImmediate(() => {
      this.#turnKnown = false;
      this.#turn++;
    });
  }
}
