/**
 * The mount table of a process, as Linux shows it in `/proc/<pid>/mountinfo`. Pure.
 *
 * Invariant: a place is what the kernel says: the filesystem (by its device number) and the path within it. Two tables that
 * give the same place for two paths name one file.
 */
import { posix } from "node:path";
import { limits } from "../../../protocol/limits.ts";

/** One line of the table. */
export interface MountRow {
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
export interface MountPlace {
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
