/**
 * A container's names of files, and this machine's. Pure.
 *
 * Invariants: a path of the container that lies in none of its mounts, or in one that this machine does not see there, gets a
 * name below `privateFolder`, which no file of this machine has. So a session reaches no file beyond its mounts, whatever it
 * says; and a file of the container's own is one key for all of its sessions.
 */
import { posix } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import { isObject } from "../../../protocol/wire.ts";
import { isBelow, joined, type MountRow, type MountTable, restBelow } from "./table.ts";

/** A folder of the container, and the same folder on this machine. Both are absolute and normal. */
export interface MountPair {
  readonly inside: string;
  readonly outside: string;
}

export interface MountViewOptions {
  /** Names the container, in digits. */
  readonly name: string;
  /** The container's table; null: it could not be read. */
  readonly inside: MountTable | null;
  /** Those of its mounts that this user cannot see on this machine. */
  readonly hidden: ReadonlySet<MountRow>;
  readonly outside: MountTable;
  /** `KITE_MOUNTS`: in the mount of its own folder, a pair goes before the table. */
  readonly pairs: readonly MountPair[];
  /** Whether the container's process ids mean something else here. */
  readonly hidesProcesses: boolean;
}

/** Below it stand the files that only a container sees. The colon keeps it apart from folders that people make. */
const privateFolder = "/container:";

/** What agents and scripts store there is theirs, and these are for the daemon to read again. */
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
    // The longest first: of two folders that fit, the deeper one is meant.
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
   * Returns a name in the container's folder `base` (its own path) as this machine's: as it is if it means the same from
   * there, else as an absolute path.
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
