/** Finds out whether a directory takes several spellings for one name, by trying them rather than by its filesystem. */
import type { BigIntStats } from "node:fs";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Budget, BudgetedFs } from "./filesystem.ts";

/** Which spellings a directory takes for one name: those in another case, those composed differently. */
export interface Folding {
  readonly case: boolean;
  readonly composed: boolean;
}

export const exact: Folding = { case: false, composed: false };

/** An existing directory, by its real path. */
export interface Directory {
  readonly path: string;
  readonly device: bigint | null;
  /** Null for the root. */
  readonly stat: BigIntStats | null;
}

/** A name in the directory, with the stat of the file of that name. */
export interface Child {
  readonly name: string;
  /** Whether this name, and the names below it that do not exist yet, are plain ASCII. */
  readonly plain: boolean;
  readonly stat: BigIntStats | null;
}

/** What the tried names showed; null: nothing yet. */
interface Seen {
  readonly case: boolean | null;
  readonly composed: boolean | null;
}

const nothing: Seen = { case: null, composed: null };

/** Filesystems that fold case everywhere, and show nothing while a directory is empty: vfat, exfat. */
const alwaysFolding: ReadonlySet<number> = new Set([0x4d44, 0x2011bab0]);

/** Filesystems that fold composition if they fold case: ext4, f2fs, tmpfs. */
const composing: ReadonlySet<number> = new Set([0xef53, 0xf2f52010, 0x01021994]);

/** A filesystem that may mount another one when a name is looked up: autofs. */
const mounting = 0x0187;

/**
 * Returns the one spelling that stands for all spellings of `name` in a directory. If composition is folded, letters
 * that become several (`ß` and `ss`) are as well; else each letter stays one letter, as in the tables of FAT.
 */
export function folded(name: string, folding: Folding): string {
  if (!folding.case) return folding.composed ? name.normalize("NFC") : name;
  // Fast path for most names: only the case changes.
  if (isAscii(name)) return name.toLowerCase();
  if (!folding.composed) return foldLetters(name, 1);
  return foldLetters(name.normalize("NFD"), Number.POSITIVE_INFINITY).normalize("NFC");
}

/** Whether `text` is ASCII, so that no character can be composed in two ways. */
export function isAscii(text: string): boolean {
  return /^[ -~]*$/.test(text);
}

function foldLetters(text: string, lettersMax: number): string {
  let result = "";
  for (const letter of text) {
    const upper = letter.toUpperCase();
    // The dotless i is a separate letter in every language but Turkish.
    const fits = letter !== "\u0131" && [...upper].length <= lettersMax;
    result += fits ? [...upper].map(one => lowerOf(one, lettersMax)).join("") : letter;
  }
  return result;
}

function lowerOf(letter: string, lettersMax: number): string {
  const lower = letter.toLowerCase();
  return [...lower].length <= lettersMax ? lower : letter;
}

/** Returns `name` in the other case, or null if that changes nothing. */
function otherCase(name: string): string | null {
  const upper = name.replace(/[a-z]/g, letter => letter.toUpperCase());
  const other = upper === name ? name.replace(/[A-Z]/g, letter => letter.toLowerCase()) : upper;
  return other === name ? null : other;
}

/** Returns `name` composed the other way, or null if that changes nothing. */
function otherComposition(name: string): string | null {
  const composed = name.normalize("NFC");
  const other = composed === name ? name.normalize("NFD") : composed;
  return other === name ? null : other;
}

/**
 * Remembers how directories fold. It looks up an existing name in another spelling and checks whether the same file answers.
 * A directory whose names show nothing (an empty one) is assumed to fold like its parent, as systems with a choice per
 * directory do. Results are kept: a directory that has names cannot change.
 */
export class Foldings {
  readonly #outside: BudgetedFs;
  readonly #platform: NodeJS.Platform;
  readonly #seen = new BoundedMap<string, Seen>({ entriesMax: limits.directoriesMax });
  readonly #types = new BoundedMap<bigint, { readonly type: number; readonly until: number }>({
    entriesMax: limits.directoriesMax,
  });

  constructor(outside: BudgetedFs, platform: NodeJS.Platform) {
    this.#outside = outside;
    this.#platform = platform;
  }

  /** Returns the known folding of a directory's ASCII names; null if it is not known yet. */
  known(directory: Directory): Folding | null {
    const seen = this.#seen.get(this.#id(directory));
    return seen?.case === true || seen?.case === false ? { case: seen.case, composed: false } : null;
  }

  /** Returns how `directory` folds `child`; `above` is the folding of the parent directory. */
  of(directory: Directory, above: Folding, child: Child, budget: Budget): Folding | Promise<Folding> {
    const now = this.ofNow(directory, child);
    if (now !== null) return now;
    const seen = this.#seen.get(this.#id(directory)) ?? nothing;
    return this.#ask(directory, above, child, seen, budget);
  }

  /** The same at once; null if only `of` can tell. */
  ofNow(directory: Directory, child: Child): Folding | null {
    const seen = this.#seen.get(this.#id(directory)) ?? nothing;
    return isEnough(seen, child) ? { case: seen.case, composed: seen.composed ?? false } : null;
  }

  async #ask(
    directory: Directory,
    above: Folding,
    child: Child,
    before: Seen,
    budget: Budget,
  ): Promise<Folding> {
    const { path, device } = directory;
    const type = await this.#type(directory, budget);
    if (type === mounting) return exact;
    let seen = await this.#see(directory, child, before, budget);
    if (!isEnough(seen, child)) {
      const { namesSeenMax } = limits;
      const names = await this.#outside.look(path, device, budget, (prober, p) =>
        prober.names(p, namesSeenMax),
      );
      for (const name of names ?? []) {
        if (isEnough(seen, child)) break;
        if (otherCase(name) === null && otherComposition(name) === null) continue;
        const stat = await this.#look(directory, name, budget);
        seen = await this.#see(directory, { name, stat }, seen, budget);
      }
    }
    if (seen !== nothing) this.#seen.set(this.#id(directory), seen);
    const unseen = this.#unseen(type, seen, above);
    return { case: seen.case ?? unseen.case, composed: seen.composed ?? unseen.composed };
  }

  /** Tests one name. A file with several names may have just these two, so it shows nothing. */
  async #see(
    directory: Directory,
    { name, stat }: Omit<Child, "plain">,
    seen: Seen,
    budget: Budget,
  ): Promise<Seen> {
    if (stat === null || (stat.nlink > 1n && !stat.isDirectory())) return seen;
    const verdict = async (known: boolean | null, other: string | null): Promise<boolean | null> => {
      if (known !== null || other === null) return known;
      const isSame = (found: BigIntStats | null) => found?.dev === stat.dev && found.ino === stat.ino;
      const found = await this.#look(directory, other, budget);
      if (found !== null) return isSame(found);
      // If the name itself has gone meanwhile, its other spelling shows nothing.
      return isSame(await this.#look(directory, name, budget)) ? false : null;
    };
    const byCase = await verdict(seen.case, otherCase(name));
    const byComposition = await verdict(seen.composed, otherComposition(name));
    return byCase === null && byComposition === null ? seen : { case: byCase, composed: byComposition };
  }

  /** The assumption for everything that no name shows. */
  #unseen(type: number, seen: Seen, above: Folding): Folding {
    if (alwaysFolding.has(type)) return { case: true, composed: false };
    // Volumes of macOS always fold composition, even if they do not fold case.
    if (this.#platform === "darwin") return { case: above.case, composed: true };
    const isCaseFolding = seen.case ?? above.case;
    return { case: isCaseFolding, composed: isCaseFolding && composing.has(type) };
  }

  #look(directory: Directory, name: string, budget: Budget): Promise<BigIntStats | null> {
    const path = join(directory.path, name);
    return this.#outside.look(path, directory.device, budget, (prober, p) => prober.lstat(p));
  }

  /** On macOS a whole volume folds alike; elsewhere each directory may choose. */
  #id({ path, stat }: Directory): string {
    if (stat === null) return path;
    return this.#platform === "darwin" ? `${stat.dev}` : `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`;
  }

  /** Cached per device for `limits.directoryKeptMs`: mounts come and go. */
  async #type({ path, device }: Directory, budget: Budget): Promise<number> {
    const kept = device === null ? undefined : this.#types.get(device);
    const now = this.#outside.now();
    if (kept !== undefined && now < kept.until) return kept.type;
    const type = (await this.#outside.look(path, device, budget, (prober, p) => prober.filesystem(p))) ?? 0;
    if (device !== null) this.#types.set(device, { type, until: now + limits.directoryKeptMs });
    return type;
  }
}

/** Whether the results decide how `child` is folded. */
function isEnough(seen: Seen, { plain }: Child): seen is Seen & { readonly case: boolean } {
  return seen.case !== null && (plain || seen.composed !== null);
}
