/** Makes the paths of a request from a container those of this machine: the one place where they come in, but for hooks. */
import type { RequestOf, RequestType } from "../../protocol/schemas/requests.ts";
import { isObject } from "../../protocol/wire.ts";
import type { Inward } from "../facts/mounts/confined.ts";
import type { MountView } from "../facts/mounts/view.ts";

/** The fields of requests that name files, at any depth; `../../tests/unit/mount-requests.test.ts` compares them with the schemas. */
const named: ReadonlySet<string> = new Set(["project", "cwd", "worktree", "file", "files", "into"]);
/** Ids of processes of another namespace would be those of strangers here. */
const ofProcesses: ReadonlySet<string> = new Set(["pid", "pids", "starts"]);
/** What agents and scripts store is no request's own. */
const stored: ReadonlySet<string> = new Set(["value"]);

/**
 * Returns the request in this machine's paths, and without the ids of processes that only the container has. Relative
 * names count from `base`, the session's working directory (a path of this machine), if it is known.
 */
export function inwardRequest<T extends RequestType>(
  view: MountView,
  request: RequestOf<T>,
  base: string | null,
  names: Inward = view,
): RequestOf<T> {
  const from = base === null ? "" : view.outwardPath(base);
  const mapped = (value: unknown, isNamed: boolean): unknown => {
    if (typeof value === "string") return isNamed ? names.inwardFrom(from, value) : value;
    if (Array.isArray(value)) return value.map(one => mapped(one, isNamed));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !view.hidesProcesses || !ofProcesses.has(key))
        .map(([key, one]) => [key, stored.has(key) ? one : mapped(one, named.has(key))]),
    );
  };
  return mapped(request, false) as RequestOf<T>;
}
