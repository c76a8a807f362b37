/**
 * Watches the health of agents that are in a turn.
 *
 * Invariants: an agent has at most one timer and one look under way. Nothing is read for an agent whose last sign of life is
 * younger than its limit: its timer is set anew. Time over which the machine or the daemon stood still is nobody's silence. Others are told of an alarm once, until a sign of life takes it back. After
 * a restart no turn is known, so no agent is watched before its next event.
 */
import { limits } from "../../../protocol/limits.ts";
import {
  type Health,
  type HealthFacts,
  type HealthLimits,
  isQuiet,
  judge,
  quietSince,
  type Tool,
} from "../../core/lead/health.ts";
import type { Session } from "../../core/tables/base-state.ts";
import type { Whose } from "../../core/tables/messages.ts";
import type { LifeSigns } from "../../facts/life-signs.ts";
import type { Services } from "../../services.ts";
import type { Pulse } from "../../sessions/presence.ts";
import { claimsBy } from "../../views/sessions-and-locks.ts";
import { knownFacts } from "./facts.ts";
import { forgetFound, foundOf, noteFound } from "./last-look.ts";
import type { HealthSetting } from "./setting.ts";

/** What follows from an agent's health. */
export interface HealthListener {
  /** It was found quiet. */
  quiet(whose: Whose): void;
  /** Others are to be told of it. */
  alarm(whose: Whose, health: Health): void;
  /** A sign of life came after an alarm. */
  back(whose: Whose): void;
  /** Its turn has ended, or the agent has. */
  gone(whose: Whose): void;
  /** A look failed by a bug; the next one comes in time. */
  trouble(error: unknown): void;
}

export type HealthServices = Pick<Services, "engine" | "clock" | "presence" | "facts">;

interface Watched {
  readonly whose: Whose;
  /** When its timer is due (core time, ms), or was; infinite: only a sign sets it. And what cancels it. */
  at: number;
  cancel: () => void;
  /** By how much the wall clock was ahead of core time when the timer was set, in milliseconds. */
  aheadMs: number;
  /** The size of its transcript at the last look. */
  sizeBytes: number | null;
  isAlarmed: boolean;
}

export class HealthWatch {
  readonly #services: HealthServices;
  readonly #settingNow: () => HealthSetting;
  readonly #listener: HealthListener;
  /** Agents in a turn, or whose last turn failed, by session. */
  readonly #watched = new Map<string, Map<string | null, Watched>>();

  constructor(services: HealthServices, setting: () => HealthSetting, listener: HealthListener) {
    this.#services = services;
    this.#settingNow = setting;
    this.#listener = listener;
  }

  /** An event of the agent came: a sign of life. Its presence says whether a turn runs. */
  sign(session: string, agent: string | null): void {
    const { presence, clock } = this.#services;
    const whose = { session, agent };
    const own = presence.pulse(session, agent);
    if (agent !== null && own?.active !== true) this.#helperOver(whose);
    if (own === undefined) {
      this.#drop(whose);
      return;
    }
    own.signAt = clock.now();
    // The client reports a failed turn, and later that it is idle: that is no work.
    if (!own.active && own.failedAt !== null && foundOf(own)?.health.isAlarm === true) return;
    forgetFound(own);
    const watched = this.#watched.get(session)?.get(agent);
    if (watched?.isAlarmed === true) this.#back(watched);
    if (!own.active && own.failedAt === null) this.#drop(whose);
    else if (watched === undefined) this.#watch(whose);
    // A tool that ran had more time than what comes after it.
    else if (watched.at > own.signAt + this.#settingNow().quietMs)
      this.#arm(watched, own.signAt + this.#settingNow().quietMs);
  }

  /** A signal stopped the session's process, or it runs on. */
  stopped(session: string, isStopped: boolean): void {
    const { presence, clock } = this.#services;
    const row = presence.of(session);
    row.stoppedAt = isStopped ? (row.stoppedAt ?? clock.now()) : null;
    for (const agent of [null, ...row.agents.keys()]) {
      if (presence.pulse(session, agent)?.active !== true) continue;
      const watched = this.#watched.get(session)?.get(agent);
      // A process that runs on has had no chance to give a sign.
      if (!isStopped) this.sign(session, agent);
      else if (watched !== undefined) this.#arm(watched, clock.now());
    }
  }

  /** The session has ended. */
  forget(session: string): void {
    for (const agent of [...(this.#watched.get(session)?.keys() ?? [])]) this.#drop({ session, agent });
  }

  /** Those that may have waited for this agent have their own limit again: their next looks were set by its work. */
  #helperOver({ session, agent }: Whose): void {
    const at = this.#services.clock.now() + this.#settingNow().quietMs;
    for (const watched of this.#watched.get(session)?.values() ?? [])
      if (watched.whose.agent !== agent && watched.at > at && Number.isFinite(watched.at))
        this.#arm(watched, at);
  }

  #watch(whose: Whose): void {
    const own = this.#watched.get(whose.session) ?? new Map<string | null, Watched>();
    this.#watched.set(whose.session, own);
    const watched = { whose, at: 0, cancel: () => {}, aheadMs: 0, sizeBytes: null, isAlarmed: false };
    own.set(whose.agent, watched);
    this.#arm(watched, this.#services.clock.now() + this.#settingNow().quietMs);
  }

  #drop({ session, agent }: Whose): void {
    const own = this.#watched.get(session);
    const watched = own?.get(agent);
    if (watched === undefined) return;
    watched.cancel();
    own?.delete(agent);
    if (own?.size === 0) this.#watched.delete(session);
    this.#listener.gone(watched.whose);
  }

  #back(watched: Watched): void {
    watched.isAlarmed = false;
    this.#listener.back(watched.whose);
  }

  #arm(watched: Watched, at: number): void {
    watched.cancel();
    watched.at = at;
    watched.aheadMs = this.#aheadMs();
    watched.cancel = this.#services.clock.at(at, () => {
      this.#due(watched).catch((error: unknown) => {
        this.#listener.trouble(error);
        this.#arm(watched, this.#services.clock.now() + limits.healthLookMs);
      });
    });
  }

  /** Judges by what is known; only an agent that seems quiet is looked at. */
  async #due(watched: Watched): Promise<void> {
    const { engine, presence, clock } = this.#services;
    const { session: id, agent } = watched.whose;
    const session = engine.state.sessions.live.get(id);
    const own = presence.pulse(id, agent);
    if (own === undefined || session === undefined) {
      this.#drop(watched.whose);
      return;
    }
    const facts = knownFacts(this.#services, session, agent);
    if (facts === null) return;
    if (this.#stoodStill(watched)) {
      this.#grant(watched, own);
      return;
    }
    const bounds = this.#limitsOf(session, agent);
    const health = judge(facts, bounds, clock.now());
    if (!isQuiet(health) || !facts.isInTurn) {
      this.#settle(watched, own, health, facts);
      return;
    }
    const { signAt, since } = own;
    const signs = await this.#look(session, agent);
    const isCurrent = this.#watched.get(id)?.get(agent) === watched;
    if (!isCurrent) return;
    // An event came meanwhile.
    if (own.signAt !== signAt || own.since !== since) {
      this.#arm(watched, own.signAt + bounds.quietMs);
      return;
    }
    const now = clock.now();
    const seen = withSigns(facts, signs, watched.sizeBytes, {
      now,
      wall: clock.wall(),
      quietMs: bounds.quietMs,
      turnMs: Math.max(now - own.since, clock.wall() - own.sinceWall),
      isMain: agent === null,
    });
    watched.sizeBytes = signs.transcript?.sizeBytes ?? null;
    if (seen.signAt > own.signAt) own.signAt = seen.signAt;
    this.#settle(watched, own, judge(seen, bounds, now), seen);
  }

  /** Whether the timer came late, or the wall clock went on without it: then no agent could give a sign. */
  #stoodStill({ at, aheadMs }: Watched): boolean {
    const lateMs = Math.max(this.#services.clock.now() - at, this.#aheadMs() - aheadMs);
    return lateMs > limits.healthLateMs;
  }

  /** Gives the agent its whole time again; an alarm that was told stands until a sign of life. */
  #grant(watched: Watched, own: Pulse): void {
    const now = this.#services.clock.now();
    if (!watched.isAlarmed) {
      own.signAt = now;
      forgetFound(own);
    }
    this.#arm(watched, now + this.#settingNow().quietMs);
  }

  #aheadMs(): number {
    const { clock } = this.#services;
    return clock.wall() - clock.now();
  }

  #settle(watched: Watched, own: Pulse, health: Health, facts: HealthFacts): void {
    const wasQuiet = (foundOf(own)?.quietAt ?? null) !== null;
    noteFound(own, { health, quietAt: quietSince(facts, health, this.#services.clock.now()) });
    if (health.isAlarm && !watched.isAlarmed) {
      watched.isAlarmed = true;
      this.#listener.alarm(watched.whose, health);
    } else if (!health.isAlarm && watched.isAlarmed) this.#back(watched);
    if (health.state === "quiet" && !wasQuiet) this.#listener.quiet(watched.whose);
    if (health.lookAt === null) watched.at = Number.POSITIVE_INFINITY;
    else this.#arm(watched, health.lookAt);
  }

  #look(session: Session, agent: string | null): Promise<LifeSigns> {
    const { presence, facts } = this.#services;
    const { transcript } = presence.of(session.id);
    const anchor = session.incarnations.find(i => i.anchor !== null)?.anchor ?? null;
    return facts.lifeSigns({ session: session.id, agent, transcript, anchor });
  }

  #limitsOf(session: Session, agent: string | null): HealthLimits {
    const { quietMs, quietToolMs, stalledMs, stalledRedMs, stalledCriticalMs } = this.#settingNow();
    const lookMs = Math.max(1, Math.min(limits.healthLookMs, Math.ceil(quietMs / 5)));
    const risks = claimsBy(this.#services.engine, session.id, agent).map(riskOf);
    const stalls = risks.includes("critical")
      ? stalledCriticalMs
      : risks.includes("red")
        ? stalledRedMs
        : stalledMs;
    return { quietMs, quietToolMs, stalledMs: stalls, lookMs };
  }
}

/** The risk of a task, if tasks have one. */
function riskOf(task: object): unknown {
  return "risk" in task ? task.risk : null;
}

interface Looked {
  readonly now: number;
  readonly wall: number;
  readonly quietMs: number;
  /** How long the turn runs, with the time over which the machine slept: as a process's age has it. */
  readonly turnMs: number;
  /** The status file is the main agent's. */
  readonly isMain: boolean;
}

/** Returns the facts with what a look found. */
function withSigns(
  facts: HealthFacts,
  { transcript, status, childMs, isUnreadable }: LifeSigns,
  sizeBefore: number | null,
  { now, wall, quietMs, turnMs, isMain }: Looked,
): HealthFacts {
  const hasGrown = transcript !== null && sizeBefore !== null && transcript.sizeBytes !== sizeBefore;
  // At the first look the file's time tells; later its size does, whatever the wall clock did meanwhile.
  const grownAt =
    transcript === null
      ? 0
      : hasGrown
        ? now
        : sizeBefore === null
          ? now - Math.max(0, wall - transcript.changedAt)
          : 0;
  const end = transcript?.end ?? null;
  const signAt = Math.max(facts.signAt, Math.floor(grownAt));
  const isAsked = status?.status === "waiting";
  // A client that tries again writes a line each time.
  const isTrying = end === "service" && now - signAt < quietMs;
  const service = { on: "service", why: "the client tries again", since: signAt } as const;
  const person = { on: "person", why: status?.on ?? "", since: signAt } as const;
  return {
    ...facts,
    signAt,
    waits: facts.waits ?? (isAsked ? person : isTrying ? service : null),
    tool: isUnreadable ? "unknown" : busier(facts.tool, toolOf(end, childMs, turnMs)),
    isResting: end === "interrupted" || (isMain && status?.status === "idle"),
  };
}

/** What an agent waits for at most, of the agents that it began and of its own tool. */
function busier(ofAgents: Tool, own: Tool): Tool {
  if (ofAgents === "none" || (ofAgents === "called" && own !== "none")) return own;
  return ofAgents;
}

/** Whether a tool runs: the transcript tells that one is called, a child of this turn that it runs. */
function toolOf(end: string | null, childMs: LifeSigns["childMs"], turnMs: number): Tool {
  if (childMs === "unknown") return "unknown";
  if (end === "model" || end === "service" || end === "interrupted") return "none";
  // Servers of the client are children too, but they began before the turn.
  const isOfTurn = childMs !== "none" && childMs <= turnMs;
  if (isOfTurn) return "runs";
  return end === null ? "none" : "called";
}
