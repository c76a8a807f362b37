/**
 * The requests that only a person makes: without a session's id they act for a person, who shows the token of
 * `instance/socket.ts` in `hello`. All others stay open to whoever reaches the socket.
 */
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { isGrave, risks } from "../../protocol/names.ts";
import type { QueryTarget } from "../../protocol/schemas/daemon.ts";
import type { RequestOf, RequestType } from "../../protocol/schemas/requests.ts";
import type { Task } from "../core/tables/tasks.ts";
import { findTask, isTask, riskOf } from "../core/tasks/replies.ts";
import type { Call } from "../server/call.ts";
import type { DaemonServices } from "./handler.ts";
import { projectOf } from "./handler.ts";

/** What a person does with the request, and its command; null: it needs no person. */
type Deed = readonly [does: string, command: string] | null;

type Deeds = {
  readonly [T in RequestType]?: (request: RequestOf<T>, find: (task: string) => Task | Refusal) => Deed;
};

const deeds: Deeds = {
  role_set: ({ id, name, role }) =>
    id === undefined ? ["gives roles", `kite role ${name} ${role ?? "--clear"}`] : null,
  task_approve: ({ id, task }) =>
    id === undefined ? ["says yes to a task", `kite task approve ${task}`] : null,
  task_update: taskDeed,
  resume: ({ id }) => (id === undefined ? ["ends the freezes of others", "kite thaw"] : null),
  file_unlock: ({ force }) =>
    force === true ? ["takes a lock from its holder", "kite unlock --force FILE"] : null,
  agent_release: ({ id }) =>
    id === undefined ? ["gives back what an agent has", "kite release NAME"] : null,
  query: ({ target, reader }) =>
    target === "transcripts"
      ? ["sees where clients keep what was said", "kite status"]
      : reader === undefined && isOfRescue(target)
        ? ["sees the kept work of all projects", "kite rescue"]
        : null,
  restore_begin: ({ id, version }) =>
    id === undefined
      ? ["restores a file without a session", `kite rescue restore ${version ?? "VERSION"}`]
      : null,
  store_share: () => ["shares a project with other machines", "kite store share"],
  store_leave: () => ["leaves a store that machines share", "kite store leave"],
  store_rejoin: () => ["gives this home another id in the store", "kite store rejoin"],
  rescue_purge: () => ["removes kept work for good", "kite rescue purge"],
  spawn_create: ({ id, lead, replaces }) => {
    if (id !== undefined) return null;
    if (lead === true) return ["spawns an agent that leads", "kite spawn --lead"];
    return replaces === undefined ? null : ["replaces an agent", "kite agents replace NAME"];
  },
  spawn_replace: ({ id }) => (id === undefined ? ["replaces an agent", "kite agents replace NAME"] : null),
  spawn_update: ({ id, state, stopping, replacing }) => {
    const isEnd = state === "stopped" || stopping !== undefined || replacing !== undefined;
    return id === undefined && isEnd ? ["stops an agent", "kite agents stop NAME"] : null;
  },
};

function isOfRescue(target: QueryTarget): boolean {
  return target === "versions" || target === "wipes" || target === "unkept";
}

/** Who begins a red or critical task says yes with that; who lowers a risk takes the need for one away. */
function taskDeed(
  { id, task, status, risk }: RequestOf<"task_update">,
  find: (task: string) => Task | Refusal,
): Deed {
  if (id !== undefined || (risk === undefined && status !== "active")) return null;
  const found = find(task);
  if (!isTask(found)) return null;
  const before = riskOf(found);
  const next = risk ?? before;
  if (risks.indexOf(next) < risks.indexOf(before))
    return ["lowers a risk", `kite task edit ${found.id} --risk ${next}`];
  return status === "active" && isGrave(next)
    ? ["begins a red or critical task without a session", `kite task approve ${found.id}`]
    : null;
}

/** Requests of which some are a person's. */
export const personal: ReadonlySet<string> = new Set(Object.keys(deeds));

/** Returns the refusal of a request for which its connection shows no person, or null. */
export function personRefusal<T extends RequestType>(
  services: DaemonServices,
  type: T,
  request: RequestOf<T>,
  call: Call,
): Refusal | null {
  if (call.connection.isPersons) return null;
  const deed = deeds[type]?.(request as never, task => {
    const project = projectOf(services, request, call);
    const log = services.engine.logOf(project);
    return findTask(log.state, task, project);
  });
  if (deed === undefined || deed === null) return null;
  const [does, command] = deed;
  return refuse("person_only", `only a person ${does}; ask your user to run in a terminal: ${command}`);
}
