/** Turns names of files and resources into the keys of locks. */

import { resolve } from "node:path";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { lockKey, resourceName } from "../../protocol/names.ts";
import type { FileName, FileRef } from "../core/frame/actors.ts";
import type { Facts } from "./facts.ts";
import type { PathFact } from "./path-cache.ts";

/** What a check of a name needs. */
interface Looking {
  readonly node: string;
  readonly facts: Facts;
}

/** Returns the files as keys, each once, if none needs a wait; else null. */
export function refsNow(services: Looking, cwd: string, names: readonly string[]): FileRef[] | null {
  const found: FileRef[] = [];
  for (const file of names) {
    const fact = services.facts.pathNow(cwd, file);
    if (fact === null) return null;
    found.push(refOf(services, file, fact));
  }
  return found.length === 1 ? found : once(found);
}

/** Returns the files as keys, or a refusal that names the file that could not be read. */
export async function refs(
  services: Looking,
  cwd: string,
  names: readonly string[],
): Promise<FileRef[] | Refusal> {
  const found: FileRef[] = [];
  for (const file of names) {
    let fact = services.facts.pathNow(cwd, file) ?? (await services.facts.path(cwd, file));
    // A stall of this process (a suspended or overloaded machine) uses up a budget as a hung mount does: try twice.
    if ("unreachable" in fact) fact = await services.facts.path(cwd, file);
    if ("unreachable" in fact) {
      return refuse("path_unreachable", `${file} could not be checked: ${fact.unreachable}; try again`, {
        file,
      });
    }
    found.push(refOf(services, file, fact));
  }
  return once(found);
}

/** Returns the file as a key, or without a key if it could not be read. */
export async function fileName(services: Looking, cwd: string, file: string): Promise<FileName> {
  const fact = services.facts.pathNow(cwd, file) ?? (await services.facts.path(cwd, file));
  return "unreachable" in fact
    ? { file, lexical: resolve(cwd, file), key: null }
    : refOf(services, file, fact);
}

/**
 * Returns the key of a resource: its name, and its project unless it is the machine's. No path begins with @, so no file has
 * such a key, and no directory holds it.
 */
export function resourceRef({ node }: Pick<Looking, "node">, project: string, named: string): FileRef {
  const path = resourceName(named);
  const lexical = lockKey({ path, project });
  return { file: named, lexical, key: `${node}:${lexical}`, dir: false, path };
}

/** The reference made from each fact. Facts are cached, so their keys are shared strings as well. */
const refsMade = new WeakMap<PathFact, FileRef>();

function refOf({ node }: Looking, file: string, fact: PathFact): FileRef {
  const made = refsMade.get(fact);
  if (made !== undefined && made.file === file) return made;
  const { lexical, real, key, dir } = fact;
  const path = key === real ? undefined : real;
  const ref = { file, lexical, key: `${node}:${key === "/" ? "" : key}`, dir, path };
  refsMade.set(fact, ref);
  return ref;
}

/** Removes repeated files; of two entries for one file the first counts, unless a later one names the subtree. */
export function once<F extends FileName & { readonly dir?: boolean }>(refs: readonly F[]): F[] {
  const found = new Map<string | null, F>();
  for (const ref of refs) if (ref.dir || !found.has(ref.key)) found.set(ref.key, ref);
  return [...found.values()];
}
