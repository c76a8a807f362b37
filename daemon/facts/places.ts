/** Directories on the way to a file. */
import type { BigIntStats } from "node:fs";
import { type Directory, exact, type Folding, folded } from "./case-folding.ts";

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

/** Joins a real directory and one name. */
export function below(directory: string, name: string): string {
  return directory === "/" ? `/${name}` : `${directory}/${name}`;
}
