/**
 * Reads of what machines share, while the store does not answer. Each reply says as of when it is. If nothing is known, the
 * read is refused: else a missing task or key would look like a fact.
 */
import type { Refusal } from "../../protocol/codes.ts";
import { storeUnknown } from "../../protocol/codes.ts";
import type { QueryTarget } from "../../protocol/schemas/daemon.ts";
import type { RequestOf, RequestType } from "../../protocol/schemas/requests.ts";
import type { Services } from "../options.ts";
import type { Call } from "../server/call.ts";
import { projectOf } from "./handler.ts";

/** As of when a read of the store's state is: wall time in milliseconds; null: nothing is known. */
export interface Stale {
  readonly asOfMs: number | null;
}

const reads: ReadonlySet<RequestType> = new Set<RequestType>([
  ...(["task_get", "context_get", "context_list", "message_list", "debate_get", "debate_list"] as const),
]);

const targets: ReadonlySet<QueryTarget> = new Set<QueryTarget>([
  ...(["tasks", "task_ready", "task_blocked", "context", "messages"] as const),
]);

/** Returns as of when the answer to a request is; null: as of now, or it has nothing of the store. */
export function staleRead<T extends RequestType>(services: Services, read: AskedRead<T>): Stale | null {
  if (!isRead(read)) return null;
  const { engine } = services;
  const project = projectRead(services, read);
  const shared = project === undefined ? engine.logs.slice(1) : [engine.logOf(project)];
  const oldest = shared.flatMap(({ asOfMs }) => (asOfMs === undefined ? [] : [asOfMs])).sort(byTime)[0];
  return oldest === undefined ? null : { asOfMs: oldest };
}

/** What is not known at all comes first. */
function byTime(a: number | null, b: number | null): number {
  return (a ?? 0) - (b ?? 0);
}

/**
 * Returns the refusal of a read that names one thing of a project of which nothing is known. Lists are answered: screens show them
 * beside what is not shared, and a session's inbox has what this machine itself wrote.
 */
export function unknownRefusal(type: RequestType, stale: Stale | null): Refusal | null {
  return stale?.asOfMs === null && type !== "message_list" && type !== "query" ? storeUnknown : null;
}

interface AskedRead<T extends RequestType> {
  readonly type: T;
  readonly request: RequestOf<T>;
  readonly call: Call;
}

function isRead<T extends RequestType>({ type, request }: AskedRead<T>): boolean {
  return type === "query" ? targets.has((request as RequestOf<"query">).target) : reads.has(type);
}

/** Returns the project that the request reads; undefined: all. */
function projectRead<T extends RequestType>(
  services: Services,
  { type, request, call }: AskedRead<T>,
): string | undefined {
  const asking = request as { readonly id?: string; readonly project?: string };
  return type === "query" ? asking.project : projectOf(services, asking, call);
}
