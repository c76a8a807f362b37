/**
 * Keeps what a container names to what its mounts show. A link in a mount may lead to a path of the container's own: on this
 * machine the same path is another file. Such a name counts as the container's own file.
 */
import type { Unreachable } from "../filesystem.ts";
import type { PathFact } from "../path-cache.ts";
import type { MountView } from "./view.ts";

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
