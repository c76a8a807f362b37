/** What others give back of simulated agents, and the rules of it once more. */

import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Hold } from "../../daemon/core/tables/base-state.ts";
import type { CommandOf, Entry, Reply } from "../../daemon/core/tables/entries.ts";
import type { Task } from "../../daemon/core/tables/tasks.ts";
import { agents } from "./families.ts";
import { isHeir } from "./oracle.ts";
import type { Random } from "./random.ts";

type Release = CommandOf<"agent_release">;

/** The tasks as they were; empty before any other command. */
export type ReleaseBefore = ReadonlyMap<string, Task>;

export class ReleaseLives {
  readonly #random: Random;

  /** `random` is of its own, so that all else happens as it would without releases. */
  constructor(random: Random) {
    this.#random = random;
  }

  /** The next release, or null if nobody gives anything back now. */
  next(state: State, sessions: readonly string[]): Release | null {
    const random = this.#random;
    if (!random.chance(0.02)) return null;
    const session = random.pick(sessions);
    const agent = random.pick([null, null, ...agents]);
    const by = random.chance(0.5)
      ? null
      : { session: random.pick(sessions), agent: random.pick([null, "child"]), incarnation: 0 };
    const begun = (state.sessions.live.get(session)?.begun ?? 0) - (random.chance(0.1) ? 1 : 0);
    return { type: "agent_release", session, agent, begun, by, cause: "stalled", wallMs: 0 };
  }

  /** Everything that is wrong after an entry; `holds` are the locks before it. */
  *observe(
    state: State,
    { command }: Entry,
    reply: Reply | null,
    holds: readonly Hold[],
    before: ReleaseBefore,
  ): Generator<string, void> {
    if (command.type !== "agent_release" || reply === null) return;
    const isRefused = !reply.ok;
    if (!isRefused && !mayRelease(state, command))
      yield "what an agent has was given back by one that does not lead it";
    for (const [id, was] of before) {
      const now = state.tasks.all.get(id);
      if (now === undefined) yield `task ${id} is lost since an agent's tasks were given back`;
      else yield* wrongTask(was, now, !isRefused && isOf(claimerOf(was), command));
    }
    for (const was of holds) {
      const now = state.locks.holds.get(was.key);
      // A borrowed lock ends with the turn, too: it returns to its lender. A command's ends with the command.
      const isTurns = was.kind === "turn" || (was.loan !== null && was.actor.command === undefined);
      const isTheirs = !isRefused && isTurns && isOf(was.actor, command);
      const isSame =
        now !== undefined && now.token.grant === was.token.grant && now.token.epoch === was.token.epoch;
      if (isTheirs && isSame && isOf(now.actor, command))
        yield `a turn lock on ${was.file} was not given back`;
      if (!isTheirs && !isSame && !isInherited(was, now))
        yield `a lock on ${was.file} was given back that is none of the agent's turn`;
    }
  }
}

/**
 * Whether a waiter whose set became free took this lock of one whom it works for. A lent one is to come back; writes in
 * flight go along to a command alone.
 */
function isInherited(was: Hold, now: Hold | undefined): boolean {
  if (now === undefined || !isHeir(now, was.actor)) return false;
  const lenders: string[] = [];
  for (let { loan } = now; loan !== null; loan = loan.loan) lenders.push(JSON.stringify(loan.actor));
  const isFree = was.flights.length === 0 || now.actor.agent === was.actor.agent;
  return isFree && (was.kind === "turn" || lenders.includes(JSON.stringify(was.actor)));
}

export function releaseBefore(state: State, { command }: Entry): ReleaseBefore {
  return command.type === "agent_release"
    ? new Map([...state.tasks.all].map(([id, task]) => [id, { ...task }]))
    : new Map();
}

function* wrongTask(was: Task, now: Task, isTheirs: boolean): Generator<string, void> {
  const isPending = now.state.status === "pending";
  if (isTheirs && !isPending) yield `task ${was.id} was not given back`;
  if (now.attempts !== was.attempts)
    yield `task ${was.id} counts an attempt that nothing is known to have failed`;
  if (!isTheirs && JSON.stringify(now.state) !== JSON.stringify(was.state))
    yield `task ${was.id} was given back that is another agent's`;
}

function claimerOf({ state }: Task): Actor | null {
  return state.status === "active" ? state.claimer : null;
}

function isOf(actor: Actor | null, { session, agent }: Release): boolean {
  return actor?.session === session && actor.agent === agent;
}

/** A session's main agent leads its agents; whom a person made a lead leads its project. */
function mayRelease(state: State, { by, session, agent }: Release): boolean {
  if (by === null || (by.session === session && by.agent === null && agent !== null)) return true;
  const teamLead = state.teammates.get(session)?.get(null)?.lead;
  if (by.agent === null && teamLead === by.session && teamLead !== session) return true;
  const began = [...state.spawns.all.values()].filter(one => one.session === session);
  const isParent = began.some(
    ({ parent }) => parent?.id === by.session && (by.agent === null || parent.agent === by.agent),
  );
  if (isParent) return true;
  const projects = [by.session, session].map(id => state.sessions.live.get(id)?.project);
  const role = state.roles.get(by.session)?.get(by.agent)?.role;
  return role === "lead" && projects[0] !== undefined && projects[0] === projects[1];
}
