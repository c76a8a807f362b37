/**
 * Watches the health of agents that are in a turn.
 *
 * Invariants: an agent has at most one timer and one look under way. Nothing is read for an agent whose last sign of life is
 * younger than its limit: its timer is set anew. Time over which the machine or the daemon stood still is nobody's silence. Others are told of an alarm once, until a sign of life takes it back. After
 * a restart no turn is known, so no agent is watched before its next event.
 */

import type { HealthNote } from "../../hooks/lead/seam.ts";
import type { KiteEvent } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import { duration, shellArgument } from "../../protocol/text.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Actor } from "../core/frame/actors.ts";
import {
  type Health,
  type HealthFacts,
  type HealthLimits,
  isQuiet,
  judge,
  leadsOf,
  quietSince,
  type Tool,
} from "../core/lead/health.ts";
import { spawnAt } from "../core/lead/tables/spawns.ts";
import type { Session } from "../core/tables/base-state.ts";
import { rowsOfSession } from "../core/tables/locks.ts";
import { noteKey, type Whose } from "../core/tables/messages.ts";
import { actorRow } from "../core/tables/naming.ts";
import { numberOf } from "../core/tables/tasks.ts";
import { logOfSession } from "../engine/log-view.ts";
import type { LifeSigns } from "../facts/processes.ts";
import type { Delivery, Pending } from "../hooks/notices.ts";
import type { Services } from "../options.ts";
import type { EventHub } from "../server/events.ts";
import type { Pulse } from "../sessions/presence.ts";
import { decidedBy } from "../trail/decisions.ts";
import { claimsBy } from "../views/sessions.ts";
import { forgetFound, foundOf, knownFacts, noteFound } from "./columns.ts";
import type { HealthSetting } from "./settings.ts";

/** What follows from an agent's health. */
interface HealthListener {
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
    // The log hears of a spawned agent's signs.
    const isSpawned = spawnAt(this.#services.engine.state.spawns, session) !== undefined;
    if (own.active && own.failedAt === null && !isSpawned)
      own.settledUntil = own.signAt + limits.healthLookMs;
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
    const { session, agent } = watched.whose;
    const own = this.#services.presence.pulse(session, agent);
    if (own !== undefined) own.settledUntil = 0;
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
    own.settledUntil = 0;
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

// What agents are to be told of health, with their next events that wait. In memory only: a restart knows of no alarm.
//
// Invariants: a reader is told of an alarm once. If a sign of life comes before an answer with it was delivered, the reader
// hears nothing of it; if one comes after, the reader is told that too. A note is in one answer at a time.

interface Waiting {
  note: HealthNote;
  isTold: boolean;
  /** Of an alarm: a sign of life came since, or the agent has ended; null: it holds. */
  over: "back" | "ended" | null;
  isInFlight: boolean;
}

export class HealthNotes {
  readonly #pending: Pick<Pending, "add" | "drop">;
  /** By reader, then by the agent that the note is about and its kind. */
  readonly #readers = new BoundedMap<string, Map<string, Waiting>>({ entriesMax: limits.notedActorsMax });

  constructor(pending: Pick<Pending, "add" | "drop">) {
    this.#pending = pending;
  }

  /** Tells these readers of an agent that stalled. */
  alarm(readers: readonly Whose[], whose: Whose, note: HealthNote): void {
    for (const reader of readers) this.#add(reader, `stalled ${noteKey(whose)}`, note);
  }

  /** Tells an agent something of itself, once. */
  tell(reader: Whose, note: HealthNote): void {
    this.#add(reader, note.what, note);
  }

  /** A sign of life or its end ended the alarm: who was told of it is told that; who was not hears nothing. */
  over(readers: readonly Whose[], whose: Whose, by: "back" | "ended"): void {
    const id = `stalled ${noteKey(whose)}`;
    for (const reader of readers) {
      const own = this.#readers.get(noteKey(reader));
      const pending = own?.get(id);
      if (pending === undefined) continue;
      if (pending.isTold || pending.isInFlight) pending.over = by;
      else own?.delete(id);
    }
  }

  /** Forgets a note on the reader itself. */
  drop(reader: Whose, what: HealthNote["what"]): void {
    this.#readers.get(noteKey(reader))?.delete(what);
  }

  /** Whether the reader is to be told of an agent that stalled. */
  hasAlarm(reader: Whose): boolean {
    const own = this.#readers.get(noteKey(reader));
    return [...(own?.values() ?? [])].some(
      ({ note, isTold, over, isInFlight }) =>
        note.what === "stalled" && !isTold && over === null && !isInFlight,
    );
  }

  /** The notes for the reader's answer; they count as told when it is delivered. */
  offer(reader: Whose, delivery: Delivery): readonly HealthNote[] {
    const own = this.#readers.get(noteKey(reader));
    if (own === undefined || own.size === 0) this.#pending.drop(reader);
    if (own === undefined) return [];
    const offered = [...own].filter(
      ([, { isInFlight, isTold, over }]) => !isInFlight && isTold === (over !== null),
    );
    const taken = offered.slice(0, limits.healthNotesMax);
    for (const [id, pending] of taken) {
      const isLast = pending.over !== null || pending.note.what !== "stalled";
      pending.isInFlight = true;
      delivery.whenTold(isDelivered => {
        pending.isInFlight = false;
        if (isDelivered) pending.isTold = true;
        // The alarm ended before its answer was delivered, or nothing more is to be told.
        const isVoid = !isDelivered && pending.over !== null && !pending.isTold;
        if (own.get(id) === pending && ((isDelivered && isLast) || isVoid)) own.delete(id);
      });
    }
    return taken.map(([, { note, over }]) => (over === null ? note : { ...note, what: over }));
  }

  #add(reader: Whose, id: string, note: HealthNote): void {
    const key = noteKey(reader);
    const own = this.#readers.get(key) ?? new Map<string, Waiting>();
    own.set(id, { note, isTold: false, over: null, isInFlight: false });
    this.#readers.set(key, own);
    this.#pending.add(reader);
  }
}

// Gives back the tasks that an agent has in the log which machines share: its release itself is an entry of this machine's log.

interface SharedRelease {
  readonly tasks: readonly { readonly id: string; readonly description: string }[];
  /** Tasks that the log did not give back, each with the reason. */
  readonly stayed: readonly string[];
  /** The ids of those of which it is known that they stayed. */
  readonly kept: ReadonlySet<string>;
}

/** Whether the session's tasks are in a shared project. */
export function isSharing({ engine }: Pick<Services, "engine">, session: string): boolean {
  return logOfSession(engine, session).state !== engine.state;
}

/** A task that the log does not give back, or cannot now, stays as it is. */
export async function releaseShared(
  { engine, clock }: Pick<Services, "engine" | "clock">,
  { session, agent }: Whose,
  released: { readonly by: Actor | null; readonly cause: string },
): Promise<SharedRelease> {
  const tasks: { readonly id: string; readonly description: string }[] = [];
  const stayed: string[] = [];
  const kept = new Set<string>();
  const project = engine.state.sessions.live.get(session)?.project;
  if (project === undefined) return { tasks, stayed, kept };
  for (const { id, description } of claimsBy(engine, session, agent)) {
    const wallMs = clock.wall();
    const back = await engine.submitAndWait({ type: "task_release", ...released, task: id, project, wallMs });
    if (back.ok) tasks.push({ id, description: description.slice(0, limits.quoteChars) });
    else stayed.push(`${id}: ${back.error}`);
    if (!back.ok && back.code !== "outcome_unknown") kept.add(id);
  }
  return { tasks, stayed, kept };
}

/** Returns what an agent is told to have lost, without the tasks that it has still; null: it lost nothing. */
export function lostOf(had: HealthNote, kept: ReadonlySet<string>): HealthNote | null {
  if (kept.size === 0) return had;
  const isGone = (_: unknown, at: number) => !kept.has(had.tasks[at] ?? "");
  const tasks = had.tasks.filter(isGone);
  return tasks.length + had.locks === 0
    ? null
    : { ...had, tasks, taskNumbers: had.taskNumbers.filter(isGone) };
}

// What follows from an agent's health: who is told, what the trail keeps, and what is given back.

export type HealthEvents = Pick<EventHub, "tell">;

interface HealthOptions {
  readonly notes: HealthNotes;
  readonly events: HealthEvents;
  readonly setting: () => Pick<HealthSetting, "stalled">;
  /** Wakes an agent that is to be told of an alarm, if it can be woken. */
  readonly wake: (lead: Whose) => void;
  readonly onTrouble: (message: string, error: unknown) => void;
}

/** Returns what the watch of agents' health reports to. */
export function healthListener(services: Services, options: HealthOptions): HealthListener {
  const { engine } = services;
  const { notes, events, setting, wake, onTrouble } = options;
  /** Who was to be told of each agent, by its key. */
  const told = new Map<string, readonly Whose[]>();
  const over = (whose: Whose, by: "back" | "ended") => {
    notes.over(told.get(noteKey(whose)) ?? [], whose, by);
    told.delete(noteKey(whose));
  };
  return {
    quiet: whose => notes.tell(whose, { ...noteOf(services, whose, "asked"), state: "quiet" }),
    alarm: (whose, health) => {
      const forMs = engine.now - health.since;
      const note = { ...noteOf(services, whose, "stalled"), state: health.state, forMs };
      const readers = leadsOf(engine.state, whose);
      told.set(noteKey(whose), readers);
      notes.alarm(readers, whose, note);
      for (const lead of readers) wake(lead);
      tellEvent(events, stalledEvent(services, whose, health, note), whose);
      record(services, whose, `${note.name}: ${health.state} for ${duration(forMs)}`);
      // A process that a signal stopped can go on any moment: it loses nothing.
      if (setting().stalled !== "release" || health.state !== "stalled") return;
      const had = { ...noteOf(services, whose, "released"), name: "Kite" };
      const cause = health.why === "" ? "stalled" : `stalled: ${health.why}`;
      giveBack(services, whose, cause);
      const tell = (lost: HealthNote | null) => lost !== null && notes.tell(whose, lost);
      if (!isSharing(services, whose.session)) tell(had);
      else
        releaseShared(services, whose, { by: null, cause }).then(
          ({ kept, stayed }) => {
            tell(lostOf(had, kept));
            if (stayed.length > 0)
              record(services, whose, `${had.name}: still claimed: ${stayed.join("; ")}`);
          },
          error => onTrouble("the shared tasks of a stalled agent could not be given back", error),
        );
    },
    back: whose => {
      over(whose, "back");
      const who = rowOf(services, whose);
      const project = projectOf(services, whose);
      tellEvent(events, { event: "agent_recovered", agent: who, project }, whose);
      record(services, whose, `${who.name}: a sign of life`);
    },
    gone: whose => {
      over(whose, "ended");
      notes.drop(whose, "asked");
    },
    trouble: error => onTrouble("an agent's signs of life could not be read", error),
  };
}

/** Returns a note about the agent, with what it has. */
export function noteOf(services: Services, whose: Whose, what: HealthNote["what"]): HealthNote {
  const { engine, presence } = services;
  const { session, agent } = whose;
  const tasks = claimsBy(engine, session, agent).slice(0, limits.releasedNamedMax);
  const rows = rowsOfSession(engine.state.locks.actors, session, null);
  const own = rows.filter(({ actor }) => actor.agent === agent);
  const signAt = presence.pulse(session, agent)?.signAt ?? engine.now;
  return {
    what,
    name: rowOf(services, whose).name,
    state: "working",
    forMs: Math.max(0, engine.now - signAt),
    tasks: tasks.map(({ id }) => id),
    taskNumbers: tasks.map(numberOf),
    locks: own.reduce((sum, { holds }) => sum + holds.size, 0),
    ...(agent === null && spawnAt(engine.state.spawns, session) !== undefined ? { spawned: true } : {}),
  };
}

type HealthEvent = Extract<KiteEvent, { event: "agent_stalled" | "agent_recovered" }>;

function stalledEvent(services: Services, whose: Whose, health: Health, note: HealthNote): HealthEvent {
  const { name, state, forMs, tasks, locks, spawned } = note;
  const named = shellArgument(name);
  return {
    event: "agent_stalled",
    agent: rowOf(services, whose),
    project: projectOf(services, whose),
    state: state === "stopped" ? "stopped" : "stalled",
    forMs,
    why: health.why,
    tasks,
    locks,
    todo: [
      `kite explain ${named}`,
      `kite release ${named}`,
      ...(spawned && state === "stalled" ? [`kite agents replace ${named}`] : []),
    ],
  };
}

function tellEvent(events: HealthEvents, event: HealthEvent, whose: Whose): void {
  events.tell(event, [whose.session], event.project);
}

function record(services: Services, whose: Whose, why: string): void {
  const line = { ...decidedBy(services, actorOf(whose)), event: "health", type: null, file: null } as const;
  services.recorder.note({ ...line, decision: "note", rule: "health", why });
}

/** The setting asks for it: nobody has to say so. */
function giveBack({ engine, clock }: Services, { session, agent }: Whose, cause: string): void {
  const begun = engine.state.sessions.live.get(session)?.begun;
  if (begun === undefined) return;
  const release = { session, agent, begun, by: null, cause, wallMs: clock.wall() };
  engine.submitWithRetry({ type: "agent_release", ...release });
}

function actorOf({ session, agent }: Whose) {
  return { session, agent, incarnation: 0 };
}

function rowOf({ engine }: Services, whose: Whose) {
  return actorRow(engine.state, actorOf(whose));
}

function projectOf({ engine }: Services, { session }: Whose): string {
  return engine.state.sessions.live.get(session)?.project ?? "";
}
