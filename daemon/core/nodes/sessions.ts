/** A node's sessions as the other nodes see them. */
import type { BaseState } from "../base-state.ts";
import type { Step } from "../outcome.ts";
import type { Handler } from "../rules.ts";
import { begunReply, continueSession } from "../sessions/begin.ts";
import { lose } from "../sessions/end.ts";
import type { Relayable } from "./commands.ts";
import type { NodeLease } from "./table.ts";

/** Passes what a session has to the id under which its process goes on. */
export const sessionContinue: Handler<"session_continue"> = (state, { from, ...command }, meta, step) => {
  continueSession(state, from, { ...command, anchor: null, revive: false }, meta, step);
  step.reply = begunReply(state, command.session);
};

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
