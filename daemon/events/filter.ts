/** Which events a subscriber gets; a null field matches every event. */
export interface EventFilter {
  readonly names: ReadonlySet<string> | null;
  readonly project: string | null;
  /** The id of a session that the event is about. */
  readonly session: string | null;
  /** A real path: matches the file, everything below it, and the directories around it. */
  readonly path: string | null;
}

/** The parts of an event that a filter reads. `whole`: `paths` is complete. */
export interface Filtered {
  readonly name: string;
  readonly project: string;
  readonly about: readonly string[];
  readonly paths: readonly string[];
  readonly whole: boolean;
}

/** Whether the subscriber gets the event. An event with a shortened list of files may be about any file. */
export function passes(filter: EventFilter, event: Filtered): boolean {
  if (filter.names !== null && !filter.names.has(event.name)) return false;
  if (filter.project !== null && filter.project !== event.project) return false;
  if (filter.session !== null && !event.about.includes(filter.session)) return false;
  const { path } = filter;
  return path === null || !event.whole || event.paths.some(other => overlap(path, other));
}

/** Returns the paths that an event names, if any. */
export function pathsIn(event: object): Pick<Filtered, "paths" | "whole"> {
  if ("paths" in event && Array.isArray(event.paths))
    return { paths: event.paths, whole: !("more" in event) };
  return { paths: "path" in event && typeof event.path === "string" ? [event.path] : [], whole: true };
}

/** Whether the paths are equal, or one contains the other. */
function overlap(a: string, b: string): boolean {
  return (
    a === b || b.startsWith(a.endsWith("/") ? a : `${a}/`) || a.startsWith(b.endsWith("/") ? b : `${b}/`)
  );
}
