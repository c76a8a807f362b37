/** What has to hold between the agents' side and the daemon's, written without a look at how the daemon decides. */
import type { Actor } from "../../../daemon/core/frame/actors.ts";
import type { State } from "../../../daemon/core/state.ts";
import type { CommandOf } from "../../../daemon/core/tables/entries.ts";
import type { PresenceTable } from "../../../daemon/sessions/presence.ts";
import { limits } from "../../../protocol/limits.ts";
import type { SimulatedClock } from "../host.ts";
import type { SimulatedAgent, Use } from "./agents.ts";
import type { ClientLives } from "./client.ts";
import { isCareless } from "./unread.ts";

/** A release comes after the last look that can find it due, and what it takes to be stored. */
const slackMs = 3 * limits.healthLookMs;

export class HookOracle {
  readonly #clients: ClientLives;
  readonly #clock: SimulatedClock;

  constructor(clients: ClientLives, clock: SimulatedClock) {
    this.#clients = clients;
    this.#clock = clock;
  }

  /** Returns what is wrong when the daemon lets an edit run: nobody else that it let may be at the file. */
  ran(use: Use, life: number): string | null {
    const now = this.#clock.now();
    for (const other of this.#clients.uses.values()) {
      const isAtIt =
        other !== use && other.file === use.file && other.state === "runs" && other.life === life;
      // A subagent uses what its main agent has.
      const isOwn = other.by.session === use.by.session && other.by.agent === null;
      const isExpired = now - other.touchedAt >= limits.turnLeaseMs;
      if (isAtIt && !isOwn && !isExpired)
        return `${use.by.name} was let edit ${use.file} while ${other.by.name} was at it`;
    }
    const unread = use.isWhole && isCareless(use.by) ? this.#clients.unread.over(use, life) : null;
    return unread === null ? null : `${use.by.name} was let write ${use.file} over what ${unread} wrote`;
  }

  /** Everything that is wrong with giving back what an agent has. */
  *released({ session, agent, by, wallMs }: CommandOf<"agent_release">): Generator<string, void> {
    const of = this.#clients.agents.find(one => one.session === session && one.agent === agent);
    if (of === undefined || by !== null) return;
    // Its event came while the release was on its way to the log; or its subagent's did, for which it waits from then on.
    const { child } = this.#clients.sessionOf(of);
    if (of.signAt >= wallMs || (agent === null && child.signAt >= wallMs)) return;
    const silentMs = this.#clock.now() - of.signAt;
    if (!this.#isIdle(of)) yield `${of.name} lost what it had although all was well`;
    if (silentMs < stallMs(of)) yield `${of.name} lost what it had after ${silentMs} ms without a sign`;
    of.isReleased = true;
    for (const use of this.#clients.uses.values()) if (use.by === of) use.life = 0;
  }

  /** Agents that gave no sign for so long that what they have should have been given back. */
  *unreleased(_life: number): Generator<string, void> {
    for (const agent of this.#clients.agents) {
      const silentMs = this.#clock.now() - this.#lastOf(agent);
      const isDue =
        agent.isTold &&
        !this.#isLeading(agent) &&
        this.#isIdle(agent) &&
        silentMs >= stallMs(agent) + this.#longestMs(agent) + slackMs;
      if (isDue && !agent.isReleased)
        yield `${agent.name} keeps what it has after ${silentMs} ms without a sign, in a turn that ${agent.turn}`;
    }
  }

  /** What is wrong once every hook has its answer. */
  *settled(state: State, presence: PresenceTable, life: number): Generator<string, void> {
    yield* this.#flights(state, life);
    for (const agent of this.#clients.agents) {
      if (!agent.isTold || this.#clients.isWaiting(agent)) continue;
      yield* this.#turn(state, presence, agent);
    }
    for (const row of this.#clients.written) {
      const [name = "", key = ""] = row.split("\n");
      const writers = state.writes.files.get(key)?.writers ?? [];
      if (!writers.some(({ actor }) => nameOf(actor) === name))
        yield `the write of ${key} by ${name} is not known`;
    }
  }

  /** A write in flight is one that runs, or whose end nobody told. */
  *#flights({ locks }: State, life: number): Generator<string, void> {
    for (const { key, flights } of locks.holds.values())
      for (const flight of flights) {
        const use = this.#clients.uses.get(flight);
        if (use?.state === "over" && use.life === life && this.#clients.sessionOf(use.by).isOn)
          yield `${key} stays in flight for a call of ${use.by.name} that is over`;
      }
  }

  *#turn({ locks }: State, presence: PresenceTable, agent: SimulatedAgent): Generator<string, void> {
    const { name, turn } = agent;
    const pulse = presence.pulse(agent.session, agent.agent);
    const isActive = pulse?.active ?? false;
    if (turn === "interrupted") return;
    if (isActive !== (turn === "runs"))
      yield `the turn of ${name} is ${turn}, and the daemon says ${isActive}`;
    if (turn === "runs") return;
    for (const { key, actor, kind } of locks.holds.values())
      if (kind === "turn" && nameOf(actor) === name)
        yield `${key} is still held by ${name}, whose turn is over`;
  }

  /** Whether nothing is known that an agent in a turn does or waits for, but for the agent that it began. */
  #isIdle(agent: SimulatedAgent): boolean {
    const { child, isOn } = this.#clients.sessionOf(agent);
    const isAtWork = agent.use?.state === "runs" || agent.isAsked || this.#clients.isWaiting(agent);
    if (!isOn || isAtWork || (this.#isLeading(agent) && !child.isReleased)) return false;
    const turn = agent.told ?? agent.turn;
    return turn === "runs" || turn === "failed";
  }

  /** When the agent, or one that it began, was last at work. */
  #lastOf(agent: SimulatedAgent): number {
    const { main, child } = this.#clients.sessionOf(agent);
    return Math.max(agent.answeredAt, agent === main ? child.answeredAt : 0);
  }

  /** By how much later it may be looked at: nothing tells that its call has ended, and one at work has more time. */
  #longestMs(agent: SimulatedAgent): number {
    const isUntold = [...this.#clients.uses.values()].some(use => use.by === agent && use.state === "ran");
    return isUntold ? limits.quietToolMs - limits.quietMs : 0;
  }

  /** Whether it may wait for the agent that it began. */
  #isLeading(agent: SimulatedAgent): boolean {
    const { main, child } = this.#clients.sessionOf(agent);
    return agent === main && agent.turn === "runs" && child.told === "runs";
  }
}

/** How long an agent is silent until it counts as stalled. */
function stallMs({ turn }: SimulatedAgent): number {
  return turn === "failed" ? limits.quietMs : limits.quietMs + limits.stalledMs;
}

function nameOf({ session, agent }: Actor): string {
  return agent === null ? session : `${session}/${agent}`;
}
