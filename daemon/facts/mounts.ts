/**
 * A container's names of files, and this machine's. Pure.
 *
 * Invariants: a path of the container that lies in none of its mounts gets a name below `privateFolder`, which no file of
 * this machine has. So does a path in a mount that this machine does not see there. So a session reaches no file beyond its
 * mounts, whatever path it names. A file of the container's own is one key for all of its sessions.
 */

import { readFileSync, readlinkSync } from "node:fs";
import { posix } from "node:path";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { Mounts } from "../../protocol/schemas/hook.ts";
import { quote } from "../../protocol/text.ts";
import { isObject } from "../../protocol/wire.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { BudgetedFs, Unreachable } from "./filesystem.ts";
import type { PathFact } from "./paths.ts";

// The mount table of a process, as Linux shows it in `/proc/<pid>/mountinfo`. Pure.
//
// Invariant: a place is what the kernel says: the filesystem (by its device number) and the path within it. Two tables that
// give the same place for two paths name one file.

/** One line of the table. */
interface MountRow {
  readonly id: string;
  readonly parent: string;
  /** The number of the filesystem: `major:minor`. */
  readonly device: string;
  /** The folder of the filesystem that is mounted. */
  readonly root: string;
  /** Where it is mounted. */
  readonly at: string;
}

/** A path as its filesystem knows it. */
interface MountPlace {
  readonly device: string;
  readonly path: string;
}

export class MountTable {
  readonly rows: readonly MountRow[];
  readonly #children = new Map<string, MountRow[]>();
  readonly #top: MountRow | null;

  /** Lines of another form, and what lies beyond `limits.mountRowsMax`, are left out. */
  constructor(text: string) {
    const rows = text
      .split("\n", limits.mountRowsMax)
      .map(rowOf)
      .filter(row => row !== null);
    const ids = new Set(rows.map(({ id }) => id));
    this.rows = rows;
    for (const row of rows) {
      const beside = this.#children.get(row.parent);
      if (beside === undefined) this.#children.set(row.parent, [row]);
      else beside.push(row);
    }
    const isTop = (row: MountRow) => row.at === "/" && (row.id === row.parent || !ids.has(row.parent));
    this.#top = rows.findLast(isTop) ?? null;
  }

  /** Returns the mount in which an absolute, normal path lies, as the kernel walks to it; null: the table does not tell. */
  mountOf(path: string): MountRow | null {
    let at = this.#top;
    for (let steps = 0; at !== null && steps < this.rows.length; steps += 1) {
      const next = this.#below(at, path);
      if (next === null) return at;
      at = next;
    }
    return null;
  }

  /** Returns the place of an absolute, normal path; null: the table does not tell, or its folder was removed. */
  placeOf(path: string): MountPlace | null {
    const mount = this.mountOf(path);
    if (mount === null || mount.root.endsWith("//deleted")) return null;
    return { device: mount.device, path: joined(mount.root, restBelow(mount.at, path)) };
  }

  /** Returns the paths under which a place can be seen, those of the whole filesystem first. */
  pathsOf({ device, path }: MountPlace): readonly string[] {
    return this.rows
      .filter(row => row.device === device && isBelow(row.root, path))
      .sort((a, b) => a.root.length - b.root.length || a.at.length - b.at.length)
      .map(row => joined(row.at, restBelow(row.root, path)))
      .filter(found => isSamePlace(this.placeOf(found), { device, path }));
  }

  /** The mount of this one's own that covers the path: the one that a walk from above meets first. */
  #below(mount: MountRow, path: string): MountRow | null {
    let found: MountRow | null = null;
    for (const row of this.#children.get(mount.id) ?? []) {
      if (row.id === mount.id || !isBelow(row.at, path)) continue;
      if (found === null || row.at.length <= found.at.length) found = row;
    }
    return found;
  }
}

function isSamePlace(a: MountPlace | null, b: MountPlace | null): boolean {
  return a !== null && b !== null && a.device === b.device && a.path === b.path;
}

/** Whether `path` is `folder`, or lies below it. Both are absolute and normal. */
export function isBelow(folder: string, path: string): boolean {
  return folder === "/" || path === folder || path.startsWith(`${folder}/`);
}

/** The part of a path behind its folder: empty, or with a slash at its beginning. */
export function restBelow(folder: string, path: string): string {
  return folder === "/" ? (path === "/" ? "" : path) : path.slice(folder.length);
}

/** A folder, and what lies below it by `restBelow`. */
export function joined(folder: string, rest: string): string {
  if (folder === "/") return rest === "" ? "/" : rest;
  return `${folder}${rest}`;
}

/** `36 35 98:0 /root /point options ...` */
function rowOf(line: string): MountRow | null {
  const [id, parent, device, root, at] = line.split(" ");
  if (id === undefined || parent === undefined || device === undefined) return null;
  if (root === undefined || at === undefined || !/^\d+:\d+$/.test(device)) return null;
  const [from, to] = [unescaped(root), unescaped(at)];
  // The root of a namespace's own file is no path.
  return isPath(from) && isPath(to) ? { id, parent, device, root: from, at: to } : null;
}

function isPath(text: string): boolean {
  return text.startsWith("/") && (posix.normalize(text) === text || text.endsWith("//deleted"));
}

/** The kernel writes blanks, line breaks, backslashes and `#` as three octal digits. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_all, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/** A folder of the container, and the same folder on this machine. Both are absolute and normal. */
export interface MountPair {
  readonly inside: string;
  readonly outside: string;
}

interface MountViewOptions {
  /** Names the container, in digits. */
  readonly name: string;
  /** The container's table; null: it could not be read. */
  readonly inside: MountTable | null;
  /** The container's mounts that this user cannot see on this machine. */
  readonly hidden: ReadonlySet<MountRow>;
  readonly outside: MountTable;
  /** `KITE_MOUNTS`: in the mount of its own folder, a pair goes before the table. */
  readonly pairs: readonly MountPair[];
  /** Whether the container's process ids mean something else here. */
  readonly hidesProcesses: boolean;
}

/** Below it stand the files that only a container sees. The colon keeps it apart from folders that people make. */
const privateFolder = "/container:";

/** Agents and scripts store the first of these, and the daemon reads the others again. */
const asTheyAre: ReadonlySet<string> = new Set(["value", "next", "cursor", "token", "rid"]);

export class MountView {
  readonly name: string;
  readonly hidesProcesses: boolean;
  readonly #options: MountViewOptions;
  readonly #private: string;
  /** Folders that have another path here, by that path. */
  readonly #insideOf: ReadonlyMap<string, string>;
  readonly #pattern: RegExp;

  constructor(options: MountViewOptions) {
    const pairs = [...options.pairs].sort((a, b) => b.inside.length - a.inside.length);
    this.#options = { ...options, pairs };
    this.name = options.name;
    this.hidesProcesses = options.hidesProcesses;
    this.#private = `${privateFolder}${options.name}`;
    // A folder that the container has under this machine's own path, too, keeps that.
    const renamed = this.mounted().filter(({ outside }) => this.inward(outside) !== outside);
    this.#insideOf = new Map([[this.#private, "/"], ...renamed.map(pairOf)]);
    // The longest come first, because the deeper of two folders that fit is meant.
    const folders = [...this.#insideOf.keys()].sort((a, b) => b.length - a.length).map(escaped);
    this.#pattern = new RegExp(`(?<![\\w./~-])(?:${folders.join("|")})(?=$|[^\\w.-]|\\.(?:\\s|$))`, "g");
  }

  /** Returns the folders of the container that this machine has under another path; at most `limits.mountPairsMax`. */
  mounted(): readonly MountPair[] {
    const { inside, pairs } = this.#options;
    const folders = [...pairs.map(pair => pair.inside), ...(inside?.rows ?? []).map(({ at }) => at)];
    return [...new Set(folders)]
      .map(folder => ({ inside: folder, outside: this.inward(folder) }))
      .filter(pair => pair.inside !== pair.outside && pair.outside !== "/" && !this.isPrivate(pair.outside))
      .slice(0, limits.mountPairsMax);
  }

  /** Whether a path of this machine stands for a file that only the container sees. */
  isPrivate(path: string): boolean {
    return isBelow(this.#private, path);
  }

  /** Returns this machine's path for an absolute one of the container; a name that is no absolute path as it is. */
  inward(path: string): string {
    if (!path.startsWith("/")) return path;
    const normal = posix.normalize(path);
    const plain = normal.length > 1 && normal.endsWith("/") ? normal.slice(0, -1) : normal;
    const found = this.#mapped(plain) ?? this.ownName(plain);
    // A slash at the end says that a folder is meant.
    return plain !== normal && found !== "/" ? `${found}/` : found;
  }

  /** Returns the name of an absolute path of the container as a file that only the container has. */
  ownName(path: string): string {
    return joined(this.#private, restBelow("/", posix.normalize(path)));
  }

  /** Whether a real path of this machine lies in one of the container's mounts. */
  reaches(real: string): boolean {
    const { inside, outside, pairs } = this.#options;
    const place = outside.placeOf(real);
    if (pairs.some(pair => isBelow(pair.outside, real))) return true;
    return place !== null && inside !== null && inside.pathsOf(place).length > 0;
  }

  /**
   * Returns a name in the container's folder `base` (its own path) as this machine's. The name stays if it means the same
   * from there. Else it becomes an absolute path.
   */
  inwardFrom(base: string, name: string, inward = (path: string) => this.inward(path)): string {
    if (name.startsWith("/") || !base.startsWith("/")) return inward(name);
    const meant = inward(posix.join(base, name));
    return posix.join(this.inward(base), name) === meant ? name : meant;
  }

  /** Returns the container's path for an absolute one of this machine, as it is if the container does not see it. */
  outwardPath(path: string): string {
    let best: MountPair | null = null;
    for (const [outside, inside] of this.#insideOf) {
      if (isBelow(outside, path) && (best === null || outside.length > best.outside.length))
        best = { inside, outside };
    }
    return best === null ? path : joined(best.inside, restBelow(best.outside, path));
  }

  /** Returns a text for the container: this machine's paths in it become the container's. */
  outward(text: string): string {
    return text.replace(this.#pattern, (found: string, at: number) => {
      const inside = this.#insideOf.get(found) ?? found;
      if (inside !== "/") return inside;
      return text[at + found.length] === "/" ? "" : "/";
    });
  }

  /** Returns a value with all of its texts for the container; what agents store, and cursors, stay as they are. */
  outwardAll<T>(value: T): T {
    return this.#outwardAll(value) as T;
  }

  /** The same of a line of JSON. */
  outwardLine(line: string): string {
    const text = line.trim();
    return text === "" ? line : `${JSON.stringify(this.outwardAll(JSON.parse(text)))}\n`;
  }

  #outwardAll(value: unknown): unknown {
    if (typeof value === "string") return this.outward(value);
    if (Array.isArray(value)) return value.map(one => this.#outwardAll(one));
    if (!isPlain(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, asTheyAre.has(key) ? one : this.#outwardAll(one)]),
    );
  }

  /** Returns this machine's path, or null if it is not known to be the same file. */
  #mapped(path: string): string | null {
    const { inside, outside, hidden, pairs } = this.#options;
    const mount = inside?.mountOf(path) ?? null;
    for (const pair of pairs) {
      // Another mount of the container may cover a part of the pair's folder, and one of this machine likewise.
      if (!isBelow(pair.inside, path) || (inside?.mountOf(pair.inside) ?? null) !== mount) continue;
      const there = joined(pair.outside, restBelow(pair.inside, path));
      return outside.mountOf(there) === outside.mountOf(pair.outside) ? there : null;
    }
    if (mount === null || hidden.has(mount)) return null;
    const place = inside?.placeOf(path) ?? null;
    return place === null ? null : (outside.pathsOf(place)[0] ?? null);
  }
}

function pairOf({ inside, outside }: MountPair): [string, string] {
  return [outside, inside];
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}

/** An object that JSON could hold: no map, no set, no function. */
function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value));
}

// Reads what a client says of its mounts, without looking at this machine. Pure.

/** Why `KITE_MOUNTS` cannot be used. */
interface WrongPairs {
  readonly wrong: string;
}

/** Returns the pairs of `KITE_MOUNTS`, `/HERE=/THERE` separated by colons, or what is wrong with them. */
export function readPairs(text: string): readonly MountPair[] | WrongPairs {
  const words = text.split(":").filter(word => word.trim() !== "");
  if (words.length > limits.mountPairsMax)
    return { wrong: `it has more than ${limits.mountPairsMax} pairs; name the folders that hold the others` };
  const pairs: MountPair[] = [];
  for (const word of words) {
    const at = word.indexOf("=");
    const [inside, outside] = [pathIn(word.slice(0, at)), pathIn(word.slice(at + 1))];
    if (at === -1 || inside === null || outside === null)
      return { wrong: `${quote(word)} is no pair of absolute paths, /PATH/HERE=/PATH/ON/THE/HOST` };
    const other = pairs.find(pair => pair.inside === inside);
    if (other !== undefined && other.outside !== outside)
      return {
        wrong: `${quote(inside)} stands for both ${quote(other.outside)} and ${quote(outside)}; keep one`,
      };
    if (other === undefined) pairs.push({ inside, outside });
  }
  return pairs;
}

/** An absolute path without `.`, `..` and a slash at its end; null: it is none. */
function pathIn(word: string): string | null {
  const text = word.trim();
  const plain = text.length > 1 ? text.replace(/\/+$/, "") : text;
  return plain.startsWith("/") && posix.normalize(plain) === plain ? plain : null;
}

// Makes the view of a container from what its client says, after a look at this machine whether that is so.

/** This process's own place, as `Mounts` has that of a client. */
interface OwnMounts {
  namespaces(): string;
  table(): string;
}

const ownMounts: OwnMounts = {
  namespaces: namespacesHere,
  table: () => readHere("/proc/self/mountinfo"),
};

/** This process's namespaces, as clients name theirs; empty: the system has none. */
export function namespacesHere(): string {
  try {
    return ["mnt", "pid"].map(name => readlinkSync(`/proc/self/ns/${name}`)).join(" ");
  } catch {
    // Not Linux: no client can be in another one.
    return "";
  }
}

export class MountViews {
  readonly #outside: BudgetedFs;
  readonly #own: OwnMounts;
  readonly #views = new BoundedMap<string, Promise<MountView | Refusal>>({
    entriesMax: limits.mountViewsMax,
  });
  readonly #pairs = new BoundedMap<string, readonly MountPair[]>({ entriesMax: limits.mountViewsMax });
  #table = new MountTable("");
  #text = "";
  #until = Number.NEGATIVE_INFINITY;

  constructor(outside: BudgetedFs, own: OwnMounts = ownMounts) {
    this.#outside = outside;
    this.#own = own;
  }

  /**
   * Returns the view of a client; null if it is in no other mount namespace. Refuses (`mounts_unclear`) what does not fit
   * this machine, with what to do.
   */
  async of(mounts: Mounts | undefined): Promise<MountView | null | Refusal> {
    if (mounts === undefined || mounts.namespaces === this.#own.namespaces()) return null;
    this.#readTable();
    const key = JSON.stringify(mounts);
    const kept = this.#views.get(key);
    if (kept !== undefined) return kept;
    const made = this.#make(mounts);
    this.#views.set(key, made);
    const view = await made;
    // A person who corrects the fault need not wait.
    if (!(view instanceof MountView)) this.#views.delete(key);
    else this.#pairs.set(view.name, view.mounted());
    return view;
  }

  /** The folders of the containers that were seen lately. */
  *pairs(): Iterable<MountPair> {
    for (const pairs of this.#pairs.values()) yield* pairs;
  }

  async #make(mounts: Mounts): Promise<MountView | Refusal> {
    const name = /^mnt:\[(\d+)\]/.exec(mounts.namespaces)?.[1];
    if (name === undefined) return unclear(`the namespaces ${quote(mounts.namespaces)} have another form`);
    const pairs = readPairs(mounts.pairs ?? "");
    if ("wrong" in pairs) return unclear(`KITE_MOUNTS: ${pairs.wrong}`);
    const inside = mounts.table === "" ? null : new MountTable(mounts.table);
    const outside = this.#table;
    const hidden = new Set<MountRow>();
    for (const row of inside?.rows ?? []) {
      const path = outside.pathsOf({ device: row.device, path: row.root })[0];
      if (path === undefined || (await this.#idOf(path)) === null) hidden.add(row);
    }
    const hidesProcesses = pidOf(mounts.namespaces) !== pidOf(this.#own.namespaces());
    const view = new MountView({ name, inside, hidden, outside, pairs, hidesProcesses });
    return (await this.#misfit(view, mounts, pairs)) ?? view;
  }

  /** Compares what the client sees with what this machine has under the same names. */
  async #misfit(view: MountView, { seen }: Mounts, pairs: readonly MountPair[]): Promise<Refusal | null> {
    for (const { inside, outside } of pairs) {
      const there = seen[inside];
      if (there === undefined)
        return unclear(`KITE_MOUNTS names ${quote(inside)}, which does not exist in the container`);
      const here = await this.#idOf(outside);
      if (here === null)
        return unclear(`KITE_MOUNTS names ${quote(outside)}, which the daemon does not find on its machine`);
      if (here !== there)
        return unclear(`${quote(inside)} in the container is not ${quote(outside)} of this machine`);
    }
    for (const [inside, there] of Object.entries(seen).slice(0, limits.mountPairsMax + 1)) {
      const outside = view.inward(inside);
      if (view.isPrivate(outside) || inside.endsWith(" (deleted)")) continue;
      const here = await this.#idOf(outside);
      if (here !== there)
        return unclear(`${quote(inside)} in the container is not ${quote(outside)} of this machine`);
    }
    return null;
  }

  /** Device and inode; null if there is nothing, or nothing that this user may see. */
  async #idOf(path: string): Promise<string | null> {
    const found = await this.#outside.fact(budget =>
      this.#outside.look(path, null, budget, async (prober, p) => prober.lstat(await prober.realpath(p))),
    );
    return found === null || "unreachable" in found ? null : `${found.dev}:${found.ino}`;
  }

  #readTable(): void {
    const now = this.#outside.now();
    if (now < this.#until) return;
    this.#until = now + limits.mountTableKeptMs;
    const text = this.#own.table();
    if (text === this.#text) return;
    this.#text = text;
    this.#table = new MountTable(text);
    this.#views.forgetWhile(() => true);
  }
}

function pidOf(namespaces: string): string {
  return namespaces.split(" ")[1] ?? "";
}

function readHere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Without a table of its own the daemon knows no mount: what the container has stays its own.
    return "";
  }
}

function unclear(what: string): Refusal {
  const todo = "correct KITE_MOUNTS, or leave it out: then the container's own table counts";
  return refuse("mounts_unclear", `${what}; ${todo}. Until then nothing here is coordinated`);
}

// Keeps what a container names to what its mounts show. A link in a mount may lead to a path of the container's own: on this
// machine the same path is another file. Such a name counts as the container's own file.

/** Makes the names of a container those of this machine. */
export interface Inward {
  inward(path: string): string;
  inwardFrom(base: string, name: string): string;
}

/** Finds where an absolute path of this machine leads. */
export type Resolve = (cwd: string, file: string) => Promise<PathFact | Unreachable>;

/** Returns what `map` makes, with names that lead beyond the container's mounts below its own folder. */
export async function confined<T>(view: MountView, resolve: Resolve, map: (names: Inward) => T): Promise<T> {
  const names = new Confined(view, new Set());
  const made = map(names);
  const strays = new Set<string>();
  for (const path of names.named) {
    const fact = view.isPrivate(path) ? null : await resolve("/", path);
    if (fact !== null && !("unreachable" in fact) && !view.reaches(fact.real)) strays.add(path);
  }
  return strays.size === 0 ? made : map(new Confined(view, strays));
}

class Confined implements Inward {
  readonly #view: MountView;
  readonly #strays: ReadonlySet<string>;
  /** All absolute paths of this machine that were named. */
  readonly named = new Set<string>();

  constructor(view: MountView, strays: ReadonlySet<string>) {
    this.#view = view;
    this.#strays = strays;
  }

  inward(path: string): string {
    const found = this.#view.inward(path);
    if (found.startsWith("/")) this.named.add(found);
    return this.#strays.has(found) ? this.#view.ownName(path) : found;
  }

  inwardFrom(base: string, name: string): string {
    return this.#view.inwardFrom(base, name, path => this.inward(path));
  }
}
