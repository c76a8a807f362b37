/** Which events a subscriber wants; null: whatever it is. */
export interface EventFilter {
  readonly names: ReadonlySet<string> | null;
  readonly project: string | null;
  /** A session that the event is about. */
  readonly session: string | null;
  /** A real path: the file, all below it, and directories around it. */
  readonly path: string | null;
}

/** What of an event a filter looks at. `whole` says that `paths` is all of them. */
export interface Filtered {
  readonly name: string;
  readonly project: string;
  readonly about: readonly string[];
  readonly paths: readonly string[];
  readonly whole: boolean;
}

/** Whether the event is wanted. One whose list of files was cut may be about any file. */
export function passes(filter: EventFilter, event: Filtered): boolean {
  if (filter.names !== null && !filter.names.has(event.name)) return false;
  if (filter.project !== null && filter.project !== event.project) return false;
  if (filter.session !== null && !event.about.includes(filter.session)) return false;
  const { path } = filter;
  return path === null || !event.whole || event.paths.some(other => overlap(path, other));
}

/** The paths an event names, as far as it names any. */
export function pathsIn(event: object): Pick<Filtered, "paths" | "whole"> {
  if ("paths" in event && Array.isArray(event.paths))
    return { paths: event.paths, whole: !("more" in event) };
  return { paths: "path" in event && typeof event.path === "string" ? [event.path] : [], whole: true };
}

/** Whether one is the other or around it. */
function overlap(a: string, b: string): boolean {
  return (
    a === b || b.startsWith(a.endsWith("/") ? a : `${a}/`) || a.startsWith(b.endsWith("/") ? b : `${b}/`)
  );
}
