/** A node's sessions as the other nodes see them. */

import { moveInbox } from "../messages/inbox.ts";
import { begunReply, continueSession } from "../sessions/begin.ts";
import { end, lose } from "../sessions/end.ts";
import type { BaseState, Meta, Session } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { passClaims } from "../tasks/leave.ts";
import type { Relayable } from "./commands.ts";
import type { NodeLease } from "./table.ts";

/** Passes what a session has, under whichever of its ids it lives, to the id under which its process goes on. */
export function sessionContinue(
  state: BaseState,
  { from, also = [], ...command }: CommandOf<"session_continue">,
  meta: Meta,
  step: Step,
): void {
  const { live } = state.sessions;
  const before = [from, ...also].flatMap(id => live.get(id) ?? []);
  const into = live.get(command.session) ?? before[0];
  for (const one of before) if (into !== undefined && one !== into) join(state, one, into, step);
  continueSession(state, into?.id ?? from, { ...command, anchor: null, revive: false }, meta, step);
  step.reply = begunReply(state, command.session);
}

/** Ends a session, whose claims and messages another one takes over. */
function join(state: BaseState, session: Session, into: Session, step: Step): void {
  passClaims(state, session.id, { session: into.id, agent: null, incarnation: 0 });
  moveInbox(state, session.id, into.id);
  end(state, session, "continued", step);
}

/** Notes what a relayed command says of its actor besides. */
export function takeTraits(state: BaseState, command: Relayable, step: Step): void {
  const { type } = command;
  if (type !== "session_begin" && type !== "session_continue" && type !== "agent_begin") return;
  const { session, traits = {} } = command;
  const agent = type === "agent_begin" ? command.agent : null;
  for (const points of state.points) points.takeTraits?.(state, session, agent, traits);
  const known = state.sessions.live.get(session);
  if (type === "session_begin" && command.isLost === true && known?.lostAt === null) lose(state, known, step);
}

/** Returns the command with the session's name as all nodes know it, `alice@laptop`: names are unique on their node. */
export function namedByNode(command: Relayable, { machine }: NodeLease): Relayable {
  if (command.type !== "session_begin" && command.type !== "session_continue") return command;
  return command.name === null ? command : { ...command, name: `${command.name}@${machine}` };
}
