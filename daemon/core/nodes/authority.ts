/**
 * Which node may enter what into a shared log.
 *
 * Invariants: a node speaks for its own sessions alone. It speaks only while it has a lease that this start of its daemon
 * renewed. A daemon that another one of its node replaced speaks no more. No shared log has what belongs to the files of one
 * machine. These checks find mistakes, no forgery: who has the store's credentials can forge any entry.
 */
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import type { BaseState } from "../tables/base-state.ts";
import type { Command, CommandType, Entry } from "../tables/entries.ts";
import { noSession } from "../tables/naming.ts";
import type { Relayable } from "./commands.ts";
import { nodeOf } from "./shared-ids.ts";

/** Every node enters these, also before it has a lease. */
const anyNodes: ReadonlySet<CommandType> = new Set([
  "daemon_started",
  "reply_unheard",
  "rules",
  "elapse",
  "node_renew",
]);

/** What stands in outboxes. By itself nobody enters it: a late one would undo what came after it. */
const relayable: ReadonlySet<CommandType> = new Set([
  "session_begin",
  "session_continue",
  "session_end",
  "agent_begin",
  "agent_end",
  "actor_part",
  "node_sessions_are",
  "task_return",
  "role_taken",
  "node_part",
] satisfies Relayable["type"][]);

/** Returns why a shared log does not take the entry of its node, or null. `shared`: what nodes share. */
export function unauthorized(
  state: BaseState,
  { origin, command }: Pick<Entry, "origin" | "command">,
  shared: ReadonlySet<CommandType>,
): Refusal | null {
  const { node, epoch } = origin;
  const lease = state.leases.all.get(node);
  if (lease !== undefined && epoch < lease.epoch) {
    const error = `another daemon of node ${node} began later; this one leaves the store to it`;
    return refuse("node_twice", error, { node });
  }
  if (anyNodes.has(command.type)) return null;
  // What a lost node sent before it was lost would bring its sessions back, and nobody would lose them again.
  if (lease === undefined || lease.isLost || epoch > lease.epoch) {
    const error = `node ${node} has no lease in the store now; its daemon renews it by itself`;
    return refuse("unknown_node", error, { node });
  }
  if (command.type === "void") return null;
  return command.type === "relayed"
    ? mayEnter(node, command.command, relayable)
    : mayEnter(node, command, shared);
}

function mayEnter(node: string, command: Command, known: ReadonlySet<CommandType>): Refusal | null {
  const holdsFiles = command.type === "broadcast" && command.hold !== null;
  if (!known.has(command.type) || holdsFiles) {
    const what = holdsFiles ? "a freeze" : command.type;
    const error = `${what} is not shared between machines: it belongs to the machine whose files it is about`;
    return refuse("not_shared", error);
  }
  const foreign = speakersOf(command).find(id => nodeOf(id) !== node);
  if (foreign === undefined) return null;
  return refuse("not_yours", `node ${node} does not speak for session ${foreign}`, { node });
}

/**
 * Returns why a session of a shared log says nothing more, or null. Its own node tells of it before it speaks, so one that the
 * log does not have has ended.
 */
export function endedSpeaker(state: BaseState, command: Command): Refusal | null {
  if (command.type === "relayed") return null;
  const ended = speakersOf(command).find(id => !state.sessions.live.has(id));
  return ended === undefined ? null : noSession(state, ended);
}

/** Returns the sessions for which the command speaks. A person is none. */
function speakersOf(command: Command): readonly string[] {
  const found: string[] = [];
  for (const one of ["by" in command ? command.by : null, "actor" in command ? command.actor : null])
    if (typeof one === "object" && one !== null) found.push(one.session);
  if ("session" in command) found.push(command.session);
  if (command.type === "task_import")
    for (const { state } of command.tasks)
      if (state.status === "active" && state.claimer !== null) found.push(state.claimer.session);
  if (command.type === "session_continue") found.push(command.from, ...(command.also ?? []));
  if (command.type === "node_sessions_are") {
    found.push(...command.sessions);
    for (const [session] of [...(command.agents ?? []), ...(command.parts ?? [])]) found.push(session);
  }
  return found;
}
