/** Whether a directory takes several spellings for one name: seen, not guessed from what the system usually does. */
import type { BigIntStats } from "node:fs";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { Budget, BudgetedFs } from "./filesystem.ts";

/** Which spellings of a name its directory takes for one: those in another case, those composed differently. */
export interface Folding {
  readonly case: boolean;
  readonly composed: boolean;
}

export const exact: Folding = { case: false, composed: false };

/** A directory that exists, by its real path. */
export interface Directory {
  readonly path: string;
  readonly device: bigint | null;
  /** Null: it is the root. */
  readonly stat: BigIntStats | null;
}

/** One of its names, with what there is of that name. */
export interface Child {
  readonly name: string;
  /** What is to be folded is plain ASCII: this name, and those below it that do not exist yet. */
  readonly plain: boolean;
  readonly stat: BigIntStats | null;
}

/** What names told; null: nothing. */
interface Seen {
  readonly case: boolean | null;
  readonly composed: boolean | null;
}

const nothing: Seen = { case: null, composed: null };

/** Types that fold case everywhere and have nothing to see while they are empty: vfat, exfat. */
const alwaysFolding: ReadonlySet<number> = new Set([0x4d44, 0x2011bab0]);

/** Of those that fold case, the types that fold composition as well: ext4, f2fs, tmpfs. */
const composing: ReadonlySet<number> = new Set([0xef53, 0xf2f52010, 0x01021994]);

/** Where to ask for a name may mean to mount something: autofs. */
const mounting = 0x0187;

/**
 * The name that stands for all spellings of `name` in a directory. Where composition is folded, so are letters that
 * become several (`ß` and `ss`); else letters keep their number, as in the tables of FAT.
 */
export function folded(name: string, folding: Folding): string {
  if (!folding.case) return folding.composed ? name.normalize("NFC") : name;
  // Most names: nothing but a change of case.
  if (isAscii(name)) return name.toLowerCase();
  if (!folding.composed) return foldLetters(name, 1);
  return foldLetters(name.normalize("NFD"), Number.POSITIVE_INFINITY).normalize("NFC");
}

/** Whether no character of `text` can be composed in two ways. */
export function isAscii(text: string): boolean {
  return /^[ -~]*$/.test(text);
}

function foldLetters(text: string, lettersMax: number): string {
  let result = "";
  for (const letter of text) {
    const upper = letter.toUpperCase();
    // The dotless i is a letter of its own everywhere but in Turkish.
    const fits = letter !== "\u0131" && [...upper].length <= lettersMax;
    result += fits ? [...upper].map(one => lowerOf(one, lettersMax)).join("") : letter;
  }
  return result;
}

function lowerOf(letter: string, lettersMax: number): string {
  const lower = letter.toLowerCase();
  return [...lower].length <= lettersMax ? lower : letter;
}

/** `name` in the other case, or null where that is no other name. */
export function otherCase(name: string): string | null {
  const upper = name.replace(/[a-z]/g, letter => letter.toUpperCase());
  const other = upper === name ? name.replace(/[A-Z]/g, letter => letter.toLowerCase()) : upper;
  return other === name ? null : other;
}

/** `name` composed the other way, or null where there is none. */
function otherComposition(name: string): string | null {
  const composed = name.normalize("NFC");
  const other = composed === name ? name.normalize("NFD") : composed;
  return other === name ? null : other;
}

/**
 * What was seen of directories: a name that is there is looked for under another spelling, and what answers is the
 * same thing or not. A directory whose names tell nothing (an empty one) is taken to do as the one above it, which
 * is what systems do that let each directory choose. What was seen is kept: a directory that has names cannot change.
 */
export class Foldings {
  readonly #outside: BudgetedFs;
  readonly #platform: NodeJS.Platform;
  readonly #seen = new Map<string, Seen>();
  readonly #types = new Map<bigint, { readonly type: number; readonly until: number }>();

  constructor(outside: BudgetedFs, platform: NodeJS.Platform) {
    this.#outside = outside;
    this.#platform = platform;
  }

  /** What was seen of a directory's names that are plain ASCII, at once; null: nothing yet. */
  known(directory: Directory): Folding | null {
    const seen = this.#seen.get(this.#id(directory));
    return seen?.case === true || seen?.case === false ? { case: seen.case, composed: false } : null;
  }

  /** How `directory` folds `child`; `above` is how the directory above it does. */
  of(directory: Directory, above: Folding, child: Child, budget: Budget): Folding | Promise<Folding> {
    const seen = this.#seen.get(this.#id(directory)) ?? nothing;
    if (isEnough(seen, child)) return { case: seen.case, composed: seen.composed ?? false };
    return this.#ask(directory, above, child, seen, budget);
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
    if (seen !== nothing) keep(this.#seen, this.#id(directory), seen);
    const unseen = this.#unseen(type, seen, above);
    return { case: seen.case ?? unseen.case, composed: seen.composed ?? unseen.composed };
  }

  /** What one name tells. A file of several names may have just these two, so it tells nothing. */
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
      // Was it not found because the name itself has gone meanwhile?
      return isSame(await this.#look(directory, name, budget)) ? false : null;
    };
    const byCase = await verdict(seen.case, otherCase(name));
    const byComposition = await verdict(seen.composed, otherComposition(name));
    return byCase === null && byComposition === null ? seen : { case: byCase, composed: byComposition };
  }

  /** What is taken for what no name tells. */
  #unseen(type: number, seen: Seen, above: Folding): Folding {
    if (alwaysFolding.has(type)) return { case: true, composed: false };
    // The volumes of macOS fold composition, whether they fold case or not.
    if (this.#platform === "darwin") return { case: above.case, composed: true };
    const isCaseFolding = seen.case ?? above.case;
    return { case: isCaseFolding, composed: isCaseFolding && composing.has(type) };
  }

  #look(directory: Directory, name: string, budget: Budget): Promise<BigIntStats | null> {
    const path = join(directory.path, name);
    return this.#outside.look(path, directory.device, budget, (prober, p) => prober.lstat(p));
  }

  /** On macOS a volume does as a whole; elsewhere each directory may choose. */
  #id({ path, stat }: Directory): string {
    if (stat === null) return path;
    return this.#platform === "darwin" ? `${stat.dev}` : `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`;
  }

  /** Kept by device for as long as it takes to look at the directories on the way: mounts come and go. */
  async #type({ path, device }: Directory, budget: Budget): Promise<number> {
    const kept = device === null ? undefined : this.#types.get(device);
    const now = this.#outside.now();
    if (kept !== undefined && now < kept.until) return kept.type;
    const type = (await this.#outside.look(path, device, budget, (prober, p) => prober.filesystem(p))) ?? 0;
    if (device !== null) keep(this.#types, device, { type, until: now + limits.directoryKeptMs });
    return type;
  }
}

/** Whether what was seen says how `child` is folded. */
function isEnough(seen: Seen, { plain }: Child): seen is Seen & { readonly case: boolean } {
  return seen.case !== null && (plain || seen.composed !== null);
}

function keep<K, V>(kept: Map<K, V>, key: K, value: V): void {
  kept.delete(key);
  for (const oldest of kept.keys()) {
    if (kept.size < limits.directoriesMax) break;
    kept.delete(oldest);
  }
  kept.set(key, value);
}
