/** Which requests a client may repeat without a `requestId`. The client loads no schemas, and so not their tables. */
import type { Requests, RequestType } from "./schemas/requests.ts";

type Repeatable = {
  [T in RequestType]: Requests[T]["traits"]["repeatable"] extends true ? T : never;
}[RequestType];

/** The same as the tables say; the compiler refuses another list. */
const names: Readonly<Record<Repeatable, true>> = {
  check_unneeded: true,
  debate_get: true,
  debate_list: true,
  file_check: true,
  file_touch: true,
  heartbeat: true,
  hello: true,
  merge_attach: true,
  overview: true,
  ping: true,
  query: true,
  rescue_state: true,
  shutdown: true,
  stats: true,
  store_show: true,
  subscribe: true,
  trail_flush: true,
  work_committed: true,
  worktree_state: true,
};

export function isRepeatable(type: RequestType): boolean {
  return Object.hasOwn(names, type);
}
