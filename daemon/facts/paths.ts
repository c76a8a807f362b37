/** Resolves names to real paths and lock keys. */

import { type BigIntStats, lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { type Directory, exact, type Folding, Foldings, folded, isAscii } from "./case-folding.ts";
import { type Budget, BudgetedFs, type Unreachable } from "./filesystem.ts";

// The facts of a path that locks need, and their cache.

/**
 * What a lock needs to know of a path. `lexical`: absolute, from the text alone (`..` removes the word before it, even
 * a link). `real`: the real path of the deepest existing ancestor, then the remaining words as given. `key`: equal for
 * all spellings of one file, different for two files: `real`, folded as its directories fold. `dir`: the path names an
 * existing directory, or ends with `/`.
 */
export interface PathFact {
  readonly lexical: string;
  readonly real: string;
  readonly key: string;
  readonly dir: boolean;
}

/** A name as a request spells it, with its cached fact, which is valid while its directory is the same. */
interface Named {
  /** The absolute path, from the text alone. */
  readonly lexical: string;
  readonly parent: string;
  /** The `id` of the directory that the fact was made for. */
  directory: string | null;
  path: string;
  key: string;
  fact: PathFact | null;
  /** The number of the callback in which the file was last looked at. */
  look: number;
}

/**
 * Caches the names of recent requests. Requests repeat the same files, and building a path costs more than looking at
 * the file. Locks share these strings as keys.
 */
class Names {
  readonly #from = new Map<string, Map<string, Named>>();
  #count = 0;

  get(cwd: string, file: string): Named {
    const known = this.#from.get(cwd)?.get(file);
    if (known !== undefined) return known;
    if (this.#count >= limits.namesKeptMax) {
      this.#from.clear();
      this.#count = 0;
    }
    const lexical = resolve("/", cwd, file);
    const named: Named = {
      lexical,
      parent: dirname(lexical),
      directory: null,
      path: "",
      key: "",
      fact: null,
      look: -1,
    };
    const siblings = this.#from.get(cwd);
    if (siblings === undefined) this.#from.set(cwd, new Map([[file, named]]));
    else siblings.set(file, named);
    this.#count += 1;
    return named;
  }
}

// Directories on the way to a file.

/** A directory on the way to a file. */
interface Place extends Directory {
  readonly key: string;
  /** How the parent directory folds names, if it is on the same device. */
  readonly above: Folding;
  /** Null for the root. */
  readonly up: Place | null;
}

const root: Place = { path: "/", key: "/", device: null, stat: null, above: exact, up: null };

/** Returns the directory `name` in `at`, which folds it by `names`. */
function placeBelow(at: Place, name: string, names: Folding, stat: BigIntStats): Place {
  const above = stat.dev === at.device || at.device === null ? names : exact;
  const key = below(at.key, folded(name, names));
  return { path: below(at.path, name), key, device: stat.dev, stat, above, up: at };
}

/**
 * Returns the place of an absolute, lexical path at once, the same that the walk of `PathFacts` finds. Null if only the
 * walk can tell: a part is a link or no directory, it may hang, or its folding is not known yet. All mount points on the
 * way to a place are local ones.
 */
function placeNow(
  path: string,
  outside: Pick<BudgetedFs, "directoriesNow">,
  foldings: Pick<Foldings, "ofNow">,
): Place | null {
  const words = path.split("/").slice(1);
  if (!words.every(word => word !== "" && isAscii(word))) return null;
  const stats = outside.directoriesNow(path);
  let at = root;
  for (const [n, name] of words.entries()) {
    const stat = stats?.[n];
    if (stat === undefined) return null;
    const names = foldings.ofNow(at, { name, plain: true, stat });
    if (names === null) return null;
    at = placeBelow(at, name, names, stat);
  }
  return at;
}

/** Joins a real directory and one name. */
function below(directory: string, name: string): string {
  return directory === "/" ? `/${name}` : `${directory}/${name}`;
}

/** A file's stamp at one moment. */
export interface Stamped {
  /** Changes when the file does; null if the file does not exist. */
  readonly stamp: string | null;
  /** Time of the last change of any kind, in milliseconds of the system's clock. */
  readonly changedAt: number;
}

interface PathFactsOptions {
  readonly outside?: BudgetedFs;
  readonly platform?: NodeJS.Platform;
}

/** A directory on a local filesystem, with its real path when last checked. */
interface LocalDirectory {
  readonly real: string;
  readonly key: string;
  /** How it folds ASCII names; null: not known yet. */
  readonly names: Folding | null;
  /** Changes if any of these fields does. */
  readonly id: string;
  readonly until: number;
  readonly refreshAt: number;
  /** The turn of the event loop in which `real` was last confirmed. */
  turn: number;
}

type Walked =
  | { readonly kind: "directory"; readonly real: string; readonly key: string; readonly place: Place }
  | {
      readonly kind: "other" | "absent";
      readonly real: string;
      readonly key: string;
      readonly names: Folding;
    };

/**
 * Filesystems of Linux that need no other machine. Disks: ext2 to 4, xfs, btrfs, f2fs, bcachefs, zfs, jfs, reiserfs, nilfs,
 * vfat, exfat, ntfs3. Others: tmpfs, ramfs, overlay, erofs, squashfs. All others (nfs, cifs, fuse, 9p, autofs, unknown
 * types) may hang, and are read asynchronously only.
 */
const localTypes: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0xca451a4e, 0x2fc12fc1, 0x01021994, 0x858458f6, 0x794c7630,
  0x3153464a, 0x52654973, 0x3434, 0x4d44, 0x2011bab0, 0x7366746e, 0xe0f5e1e2, 0x73717368,
]);

/** The volumes that macOS itself runs from. For others a table of types would be needed, which Apple does not keep. */
const darwinVolumes = ["/", "/System/Volumes/Data"];

/**
 * Real paths within a budget; a hung mount does not stop it.
 *
 * `resolve` walks the path word by word. Each question counts for the device that it concerns, so a link into a hung mount
 * counts for that mount. `resolveNow` answers at once if the parent directory was found on a local filesystem within
 * `limits.directoryKeptMs`. Once in each turn of the event loop it compares the parent's real path with the cached one. Once
 * in each callback one `lstat` answers for the file. So it always notices a directory that was moved, or replaced by a link,
 * before a request was sent. It assumes two things during those seconds. No hanging filesystem is mounted or linked at a
 * path in use, and the file itself is no mount point that hangs.
 */
export class PathFacts {
  readonly #outside: BudgetedFs;
  readonly #platform: NodeJS.Platform;
  readonly #foldings: Foldings;
  readonly #directories = new BoundedMap<string, LocalDirectory>({ entriesMax: limits.directoriesMax });
  readonly #walks = new Map<string, { readonly turn: number; readonly walk: Promise<Walked> }>();
  readonly #named = new Names();
  #turn = 0;
  #turnNow = 0;
  #turnKnown = false;
  /** Counts callbacks: requests of one callback were all sent before its first look at a file. */
  #look = 0;
  #lookEnds = false;
  readonly #endLook = () => {
    this.#look += 1;
    this.#lookEnds = false;
  };

  constructor(options: PathFactsOptions = {}) {
    this.#outside = options.outside ?? new BudgetedFs();
    this.#platform = options.platform ?? process.platform;
    this.#foldings = new Foldings(this.#outside, this.#platform);
  }

  /** The name as an absolute path, from the text alone. */
  lexical(cwd: string, file: string): string {
    return this.#named.get(cwd, file).lexical;
  }

  /** Returns the fact at once, or null if only `resolve` can tell. Waits only for local filesystems. */
  resolveNow(cwd: string, file: string): PathFact | null {
    const named = this.#named.get(cwd, file);
    const { lexical, parent } = named;
    if (lexical === parent) return null;
    const directory = this.#confirmed(parent);
    if (directory === null || directory.names === null) return null;
    if (named.directory !== directory.id) {
      const name = lexical.slice(parent === "/" ? 1 : parent.length + 1);
      // How the directory folds non-ASCII names may not be known yet.
      if (!isAscii(name)) return null;
      named.directory = directory.id;
      named.path = below(directory.real, name);
      named.key =
        directory.id === directory.real ? named.path : below(directory.key, folded(name, directory.names));
      named.fact = null;
    }
    // An unlock often comes in one piece with its lock, and needs no second look.
    if (named.look === this.#look && named.fact !== null) return named.fact;
    try {
      const stat = lstatSync(named.path, { throwIfNoEntry: false });
      if (stat?.isSymbolicLink()) return null;
      const dir = stat?.isDirectory() === true || file.endsWith("/");
      if (named.fact?.dir !== dir) named.fact = { lexical, real: named.path, key: named.key, dir };
      named.look = this.#look;
      if (!this.#lookEnds) {
        this.#lookEnds = true;
        void settled.then(this.#endLook);
      }
      return named.fact;
    } catch {
      // The name is too long or contains a NUL, or the disk fails: `resolve` reports which.
      return null;
    }
  }

  /** Returns the fact, or why it is not available within `limits.factMs` (waiting behind other facts not counted). */
  resolve(cwd: string, file: string): Promise<PathFact | Unreachable> {
    const lexical = resolve("/", cwd, file);
    return this.#outside.fact(async budget => {
      const { real, key, kind } = await this.#file(lexical, budget);
      return { lexical, real, key, dir: kind === "directory" || file.endsWith("/") };
    });
  }

  /**
   * Returns the file's stamp, which changes with the file (time of change, size, inode), and its time of change,
   * unknown for a deleted file. Null if it cannot be read.
   */
  async stamped(real: string): Promise<Stamped | null> {
    const found = await this.#outside.fact(async budget =>
      stampOf(await this.#outside.look(real, null, budget, (prober, path) => prober.lstat(path))),
    );
    return "unreachable" in found ? null : found;
  }

  /**
   * `stamped` at once, for a file by its `lexical` and its real path; null if only `stamped` can tell. Waits only for
   * local filesystems.
   */
  stampedNow(lexical: string, real: string): Stamped | null {
    const directory = this.#confirmed(dirname(lexical));
    if (directory?.real !== dirname(real)) return null;
    try {
      return stampOf(lstatSync(real, { bigint: true, throwIfNoEntry: false }) ?? null);
    } catch {
      // The disk fails, or the directory may not be searched: `stamped` reports which.
      return null;
    }
  }

  async #file(lexical: string, budget: Budget): Promise<Walked> {
    const parentPath = dirname(lexical);
    const parent = await this.#directory(parentPath, budget);
    if (lexical === parentPath) return parent;
    const name = basename(lexical);
    if (parent.kind === "directory") {
      const walked = await this.#walk(parent.place, name, budget);
      const kept = this.#directories.get(parentPath);
      // What the file's name showed of the folding, or the assumption for it.
      if (kept?.real === parent.real && kept.names === null && walked.kind !== "directory")
        this.#remember(parentPath, { ...parent, names: walked.names });
      return walked;
    }
    if (!isAscii(name)) return this.#walk(root, lexical, budget);
    const { names } = parent;
    return {
      kind: "absent",
      real: below(parent.real, name),
      key: below(parent.key, folded(name, names)),
      names,
    };
  }

  /** Walks to a directory and caches it if it is local; callers in the same turn share the walk. */
  #directory(path: string, budget: Budget): Promise<Walked> {
    this.#newTurn();
    const turn = this.#turn;
    const shared = this.#walks.get(path);
    if (shared?.turn === turn) return shared.walk;
    const walk = this.#walk(root, path, budget)
      .then(async walked => {
        if (walked.kind === "directory" && (await this.#isLocal(walked.place, budget))) {
          const { real, key, place } = walked;
          const before = this.#directories.get(path);
          const kept = before?.real === real && before.key === key ? before.names : null;
          this.#remember(path, { real, key, names: this.#foldings.known(place) ?? kept });
        } else this.#directories.delete(path);
        return walked;
      })
      .finally(() => {
        if (this.#walks.get(path)?.walk === walk) this.#walks.delete(path);
      });
    this.#walks.set(path, { turn, walk });
    return walk;
  }

  async #walk(from: Place, words: string, budget: Budget): Promise<Walked> {
    let at = from;
    let links = 0;
    const todo = words.split("/").reverse();
    for (let word = todo.pop(); word !== undefined; word = todo.pop()) {
      if (word === "" || word === ".") continue;
      if (word === "..") {
        at = at.up ?? root;
        continue;
      }
      const path = below(at.path, word);
      const stat = await this.#outside.look(path, at.device, budget, (prober, p) => prober.lstat(p));
      if (stat?.isSymbolicLink()) {
        if (++links > limits.symlinksMax) {
          this.#outside.noAnswer(
            `${path} leads through more than ${limits.symlinksMax} symbolic links; remove the cycle`,
          );
        }
        const target = await this.#outside.look(path, at.device, budget, (prober, p) => prober.readlink(p));
        if (target !== null) {
          if (target.startsWith("/")) at = root;
          todo.push(...target.split("/").reverse());
          continue;
        }
      }
      const plain = isAscii(word) && (stat?.isDirectory() === true || todo.every(isAscii));
      const names = await this.#foldings.of(at, at.above, { name: word, plain, stat }, budget);
      if (stat?.isDirectory()) {
        at = placeBelow(at, word, names, stat);
        continue;
      }
      const key = below(at.key, folded(word, names));
      const rest = todo.reverse().filter(name => name !== "" && name !== ".");
      const kind = stat !== null && rest.length === 0 ? "other" : "absent";
      const real = join(path, ...rest);
      // The folding of a directory that does not exist yet is unknown: it is assumed to fold like its parent.
      return { kind, real, key: join(key, ...rest.map(name => folded(name, names))), names };
    }
    return { kind: "directory", real: at.path, key: at.key, place: at };
  }

  async #isLocal({ path, device }: Place, budget: Budget): Promise<boolean> {
    if (this.#platform === "linux") {
      const type = await this.#outside.look(path, device, budget, (prober, p) => prober.filesystem(p));
      return type !== null && localTypes.has(type);
    }
    if (this.#platform !== "darwin") return false;
    for (const volume of darwinVolumes) {
      const stat = await this.#outside.look(volume, null, budget, (prober, path) => prober.lstat(path));
      if (stat !== null && stat.dev === device) {
        this.#outside.knowLocal(stat.dev);
        return true;
      }
    }
    return false;
  }

  #remember(
    path: string,
    { real, key, names }: Pick<LocalDirectory, "real" | "key" | "names">,
    turn = -1,
  ): LocalDirectory {
    const id = real === key && names?.case !== true ? real : `${real}\0${key}\0${names?.case}`;
    const now = this.#outside.now();
    const refreshAt = now + limits.directoryKeptMs / 2;
    const until = now + limits.directoryKeptMs;
    const directory = { real, key, names, id, until, refreshAt, turn };
    this.#directories.set(path, directory);
    return directory;
  }

  /** Returns the cached directory if in this turn it is where it was, else null. */
  #confirmed(path: string): LocalDirectory | null {
    const directory = this.#directories.get(path);
    if (directory === undefined) return null;
    this.#newTurn();
    if (directory.turn === this.#turn) return directory;
    const renewed = this.#turnNow > directory.refreshAt ? this.#renewed(path) : null;
    if (renewed !== null) return renewed;
    if (this.#stillThere(path, directory)) return directory;
    this.#directories.delete(path);
    return null;
  }

  /** Walks to a directory anew if that needs no wait, else returns null. */
  #renewed(path: string): LocalDirectory | null {
    const place = placeNow(path, this.#outside, this.#foldings);
    const names = place === null ? null : this.#foldings.known(place);
    if (place === null || names === null) return null;
    return this.#remember(path, { real: place.path, key: place.key, names }, this.#turn);
  }

  /** Whether a cached directory is still valid, by its real path of now. */
  #stillThere(path: string, directory: LocalDirectory): boolean {
    if (this.#turnNow > directory.until) return false;
    if (this.#turnNow > directory.refreshAt && !this.#walks.has(path)) {
      // Refreshed early, so that requests for a directory in use do not all take the slow way at once.
      void this.#outside.fact(budget => this.#directory(path, budget));
    }
    try {
      if (realpathSync.native(path) !== directory.real) return false;
    } catch {
      // The directory is gone or cannot be read: `resolve` reports which.
      return false;
    }
    directory.turn = this.#turn;
    return true;
  }

  /** Counts the turns of the event loop: a check in this turn need not be repeated. */
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

const settled = Promise.resolve();

export function stampOf(stat: BigIntStats | null): Stamped {
  if (stat === null) return { stamp: null, changedAt: Number.POSITIVE_INFINITY };
  const { mtimeNs, size, ino, ctimeNs } = stat;
  return { stamp: `${mtimeNs}-${size}-${ino}`, changedAt: Number(ctimeNs / 1_000_000n) };
}
