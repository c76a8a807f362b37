/**
 * Gives back what an agent has, without its doing: its tasks become pending, its turn locks go to their waiters.
 *
 * Invariants: only a lead, a person or a setting may; the agent lives on, keeps its explicit locks, and may claim and lock
 * again. Attempts of a task do not rise: nothing is known to have failed.
 */

import { refuse } from "../../../../protocol/codes.ts";
import { limits } from "../../../../protocol/limits.ts";
import { lastingAndFreeing } from "../../durability.ts";
import { rowsOfSession } from "../../locks/by-actor.ts";
import { releaseTurn } from "../../locks/release.ts";
import { actorRow, pathOf } from "../../locks/replies.ts";
import type { Handler, Rules } from "../../rules.ts";
import type { State } from "../../state.ts";
import { claimsOf, giveBack } from "../../tasks/leave.ts";
import { claimerOf } from "../../tasks/table.ts";
import type { HealthCommands } from "./commands.ts";
import { leads } from "./leads.ts";

const agentRelease: Handler<"agent_release", State> = (state, command, _meta, step) => {
  const { session, agent, begun, by, cause, wallMs } = command;
  const known = state.sessions.live.get(session);
  if (known === undefined || known.begun !== begun) {
    const error = `session ${session} has ended; what it had was given back then`;
    step.reply = refuse("session_ended", error);
    return;
  }
  const row = actorRow(state, { session, agent, incarnation: 0 });
  if (by !== null && !leads(state, by, { session, agent })) {
    const error = `only an agent that leads ${row.name}, or a person, may give back what it has; ask one of them`;
    step.reply = refuse("lead_only", error);
    return;
  }
  const claims = claimsOf(state, session).filter(task => claimerOf(task)?.agent === agent);
  for (const task of claims) giveBack(state, task, cause, { by, wallMs, attempts: task.attempts }, step);
  const rows = rowsOfSession(state.locks.actors, session, null).filter(({ actor }) => actor.agent === agent);
  const released = rows.flatMap(own => releaseTurn(state, own, null, "given back", step));
  step.reply = {
    ok: true,
    agent: row,
    tasks: claims.slice(0, limits.releasedNamedMax).map(({ id, description }) => ({
      id,
      description: description.slice(0, limits.quoteChars),
    })),
    taskCount: claims.length,
    paths: released.slice(0, limits.releasedNamedMax).map(pathOf),
    lockCount: released.length,
  };
};

export const healthRules: Rules<HealthCommands, State> = {
  commands: { agent_release: lastingAndFreeing(agentRelease) },
  points: { answersFor: leads },
};
