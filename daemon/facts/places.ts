/** Directories on the way to a file. */
import type { BigIntStats } from "node:fs";
import { type Directory, exact, type Folding, type Foldings, folded, isAscii } from "./case-folding.ts";
import type { BudgetedFs } from "./filesystem.ts";

/** A directory on the way to a file. */
export interface Place extends Directory {
  readonly key: string;
  /** How the parent directory folds names, if it is on the same device. */
  readonly above: Folding;
  /** Null for the root. */
  readonly up: Place | null;
}

export const root: Place = { path: "/", key: "/", device: null, stat: null, above: exact, up: null };

/** Returns the directory `name` in `at`, which folds it by `names`. */
export function placeBelow(at: Place, name: string, names: Folding, stat: BigIntStats): Place {
  const above = stat.dev === at.device || at.device === null ? names : exact;
  const key = below(at.key, folded(name, names));
  return { path: below(at.path, name), key, device: stat.dev, stat, above, up: at };
}

/**
 * Returns the place of an absolute, lexical path at once, the same that the walk of `PathFacts` finds. Null if only the
 * walk can tell: a part is a link or no directory, it may hang, or its folding is not known yet. All mount points on the
 * way to a place are local ones.
 */
export function placeNow(
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
export function below(directory: string, name: string): string {
  return directory === "/" ? `/${name}` : `${directory}/${name}`;
}
