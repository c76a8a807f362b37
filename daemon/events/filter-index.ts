/**
 * Finds the subscribers that want an event without a look at the others.
 *
 * Invariants: `matching` yields a subscriber at most once, and exactly if its filter passes the event. A subscriber is
 * listed under each name of its filter, and there under the narrowest of its other fields.
 */
import { addToSet, removeFromSet, type Sets } from "../core/frame/collections.ts";
import { type EventFilter, type Filtered, passes } from "./filter.ts";

/** The subscribers of one name, or of every name. */
interface Listed<S> {
  readonly bySession: Sets<string, S>;
  /** Those with a path: all of them, by that path, and by each folder above it. */
  readonly pathed: Set<S>;
  readonly byPath: Sets<string, S>;
  readonly below: Sets<string, S>;
  readonly byProject: Sets<string, S>;
  readonly others: Set<S>;
}

export class FilterIndex<S extends { readonly filter: EventFilter }> {
  /** By name; under null those that want every name. */
  readonly #lists = new Map<string | null, Listed<S>>();

  add(one: S): void {
    for (const name of one.filter.names ?? [null]) {
      const known = this.#lists.get(name);
      const list = known ?? emptyList<S>();
      if (known === undefined) this.#lists.set(name, list);
      enter(list, one);
    }
  }

  remove(one: S): void {
    for (const name of one.filter.names ?? [null]) {
      const list = this.#lists.get(name);
      if (list === undefined) continue;
      leave(list, one);
      if (isEmpty(list)) this.#lists.delete(name);
    }
  }

  /** Yields the subscribers that want the event. One that is removed meanwhile may be left out. */
  *matching(event: Filtered): Generator<S, void> {
    for (const name of [event.name, null]) {
      const list = this.#lists.get(name);
      if (list === undefined) continue;
      for (const one of candidates(list, event)) if (passes(one.filter, event)) yield one;
    }
  }
}

function* candidates<S>(list: Listed<S>, { about, project, paths, whole }: Filtered): Generator<S, void> {
  yield* list.others;
  yield* list.byProject.get(project) ?? [];
  if (list.bySession.size > 0) for (const id of new Set(about)) yield* list.bySession.get(id) ?? [];
  if (list.pathed.size === 0) return;
  // A shortened list of files says nothing of the others.
  if (!whole) yield* list.pathed;
  else if (paths.length === 1) yield* overlapping(list, paths[0] ?? "");
  else yield* new Set(paths.flatMap(path => [...overlapping(list, path)]));
}

/** Those whose path is this one, a folder above it or something below it. */
function* overlapping<S>(list: Listed<S>, path: string): Generator<S, void> {
  const own = plain(path);
  for (const at of [own, ...foldersAbove(own)]) yield* list.byPath.get(at) ?? [];
  yield* list.below.get(own) ?? [];
}

function enter<S extends { readonly filter: EventFilter }>(list: Listed<S>, one: S): void {
  const { session, path, project } = one.filter;
  if (session !== null) addToSet(list.bySession, session, one);
  else if (path !== null) {
    const own = plain(path);
    list.pathed.add(one);
    addToSet(list.byPath, own, one);
    for (const folder of foldersAbove(own)) addToSet(list.below, folder, one);
  } else if (project !== null) addToSet(list.byProject, project, one);
  else list.others.add(one);
}

function leave<S extends { readonly filter: EventFilter }>(list: Listed<S>, one: S): void {
  const { session, path, project } = one.filter;
  if (session !== null) removeFromSet(list.bySession, session, one);
  else if (path !== null) {
    const own = plain(path);
    list.pathed.delete(one);
    removeFromSet(list.byPath, own, one);
    for (const folder of foldersAbove(own)) removeFromSet(list.below, folder, one);
  } else if (project !== null) removeFromSet(list.byProject, project, one);
  else list.others.delete(one);
}

function emptyList<S>(): Listed<S> {
  const [bySession, byPath, below, byProject] = [new Map(), new Map(), new Map(), new Map()];
  return { bySession, pathed: new Set(), byPath, below, byProject, others: new Set() };
}

function isEmpty<S>({ bySession, pathed, byProject, others }: Listed<S>): boolean {
  return bySession.size + pathed.size + byProject.size + others.size === 0;
}

/** The path without a slash at its end; the root is empty. */
function plain(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}

function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let cut = path.lastIndexOf("/"); cut >= 0; cut = path.lastIndexOf("/", cut - 1)) {
    folders.push(path.slice(0, cut));
    if (cut === 0) break;
  }
  return folders;
}
