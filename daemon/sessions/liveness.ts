/**
 * Checks what is still alive: anchor processes, silent sessions, the daemon itself. It proposes; the core decides.
 *
 * While nobody is connected, nobody can wait for a lock or hear of an end. Then the checks come less often, and the next
 * connection makes one at once.
 */

import type { KiteEvent } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import type { Actor } from "../core/frame/actors.ts";
import type { Hold, Session } from "../core/tables/base-state.ts";
import type { CommandOf } from "../core/tables/entries.ts";
import { rowsOfSession } from "../core/tables/locks.ts";
import type { AnchorWatch, LifeSigns } from "../facts/processes.ts";
import type { Services } from "../options.ts";

/** Events that name a session by its `id`: a session began, changed or ended. Each such event is here. */
const named: Readonly<Record<Extract<KiteEvent, { readonly id: string }>["event"], true>> = {
  session_started: true,
  session_ended: true,
  session_lost: true,
  session_duplicated: true,
  session_renamed: true,
};

export const sessionEvents = Object.keys(named) as (keyof typeof named)[];

interface LifeOptions {
  readonly services: Services;
  readonly anchors: AnchorWatch;
  /** Idle time in ms after which the daemon stops; 0: never. */
  readonly idleExitMs: number;
  /** Whether socket and lock file are still this daemon's. */
  readonly stillOurs: () => boolean;
  /** Checks that the journal is still at its path; a failure ends the daemon. */
  readonly verifyJournal: () => void;
  /** Called at every check: the event loop turns, so requests are answered. */
  readonly onAlive: () => void;
  /** Whether any client is connected. */
  readonly isConnected: () => boolean;
  /** Called with each session that has ended. */
  readonly forget: (session: string) => void;
  /** Called with each session whose only process a signal stopped, and again when it runs on. */
  readonly stopped: (session: string, isStopped: boolean) => void;
  /** Without a turn for how long, in ms, a session of this client is over; null: its process or an event ends it. */
  readonly idleEndMs: (client: string | undefined) => number | null;
  /** Ends the daemon. */
  readonly stop: (why: string) => void;
}

export class Life {
  readonly #options: LifeOptions;
  /** Watched incarnations, by session. */
  readonly #watched = new Map<string, Set<string>>();
  /** Sessions of this machine without a process, or whose process may outlive them: only their silence tells that they ended. */
  readonly #quiet = new Set<string>();
  readonly #proposed = new Set<string>();
  #lastBusyAt: number;
  /** When a client was last connected, as far as the checks saw. */
  #lastConnectedAt: number;
  /** Nobody was connected for `limits.restAfterMs`: the next check comes after `limits.restPollMs`. */
  #isResting = false;
  #cancel: (() => void) | null = null;
  /** The next turn of a check for silence, if one is under way. */
  #checking: NodeJS.Immediate | null = null;

  constructor(options: LifeOptions) {
    this.#options = options;
    this.#lastBusyAt = options.services.clock.now();
    this.#lastConnectedAt = this.#lastBusyAt;
    options.anchors.onGone(key => this.#gone(key));
    options.anchors.onStopped((key, isStopped) => this.#stopped(key, isStopped));
    for (const session of options.services.engine.state.sessions.live.values()) this.#follow(session);
    this.#arm();
  }

  /** Updates project and watches of a session that began, changed or ended. */
  follow(id: string): void {
    const session = this.#options.services.engine.state.sessions.live.get(id);
    if (session === undefined) this.#drop(id);
    else this.#follow(session);
  }

  /**
   * Called with each new connection. It ends a rest with a check in the same turn, before the client's first request. So a
   * session whose process ended meanwhile holds up nobody. If `ps` shows the processes, or there are more than a turn looks
   * at, the check has only begun by then.
   */
  connected(): void {
    this.#lastConnectedAt = this.#options.services.clock.now();
    if (!this.#isResting) return;
    this.#cancel?.();
    this.#tick();
    this.#arm();
  }

  close(): void {
    this.#isResting = false;
    this.#cancel?.();
    clearImmediate(this.#checking ?? undefined);
    this.#options.anchors.close();
  }

  #arm(): void {
    const { clock } = this.#options.services;
    const now = clock.now();
    if (this.#options.isConnected()) this.#lastConnectedAt = now;
    this.#isResting = now - this.#lastConnectedAt >= limits.restAfterMs;
    this.#cancel = clock.at(now + (this.#isResting ? limits.restPollMs : limits.anchorPollMs), () => {
      this.#tick();
      this.#arm();
    });
  }

  #tick(): void {
    const { services, anchors, stillOurs, verifyJournal, onAlive, idleExitMs } = this.#options;
    const { engine, clock, presence } = services;
    if (!stillOurs()) {
      this.#options.stop("the socket or the lock file is no longer this daemon's");
      return;
    }
    verifyJournal();
    onAlive();
    // In the same turn of the event loop: each time that a daemon at rest wakes up costs more than a few looks.
    void anchors.look();
    presence.keepOnly(engine.state.sessions.live);
    if (this.#checking === null) this.#checkSilence(this.#quiet.values());
    if (engine.state.sessions.live.size > 0 || this.#options.isConnected()) this.#lastBusyAt = clock.now();
    else if (idleExitMs > 0 && clock.now() - this.#lastBusyAt >= idleExitMs)
      this.#options.stop("no session for a while");
  }

  /** Looks for silent sessions, those of one turn now and the others in later turns. */
  #checkSilence(left: Iterator<string>): void {
    const { live } = this.#options.services.engine.state.sessions;
    let [checks, lost]: [number, number] = [limits.silenceChecksPerTurn, limits.lostPerTurn];
    for (; checks > 0 && lost > 0; checks -= 1) {
      const { value: id, done } = left.next();
      if (done === true) {
        this.#checking = null;
        return;
      }
      const session = live.get(id);
      if (session === undefined || session.lostAt !== null || !this.#isSilent(session)) continue;
      this.#lost(session);
      lost -= 1;
    }
    this.#checking = setImmediate(() => this.#checkSilence(left));
  }

  /** Whether the session gave no sign of life for long, and has no waiting request; one with a process also no turn. */
  #isSilent(session: Session): boolean {
    const { presence, engine } = this.#options.services;
    const isAnchored = hasAnchor(session);
    const longMs = isAnchored ? this.#options.idleEndMs(session.client) : limits.silenceMs;
    if (longMs === null || presence.silentMs(session.id) < longMs) return false;
    if (isAnchored && presence.isInTurn(session.id)) return false;
    const { locks } = engine.state;
    return rowsOfSession(locks.actors, session.id, null).every(row => row.attached === 0);
  }

  #lost(session: Session): void {
    const { id, begun } = session;
    if (this.#proposed.has(id)) return;
    this.#proposed.add(id);
    const isIdle = hasAnchor(session) ? ({ isIdle: true } as const) : {};
    const command = { type: "session_lost", session: id, begun, ...isIdle } as const;
    this.#options.services.engine.submit(command, { answer: () => this.#proposed.delete(id) });
  }

  #follow(session: Session): void {
    this.#options.services.presence.placed(session.id, session.project);
    this.#watch(session);
  }

  #watch(session: Session): void {
    const { anchors, services } = this.#options;
    if (session.node !== services.node) return;
    const before = this.#watched.get(session.id) ?? new Set();
    const alive = new Set<string>();
    for (const { ordinal, begun, anchor } of session.incarnations) {
      if (anchor === null) continue;
      const key = `${ordinal} ${begun} ${session.id}`;
      alive.add(key);
      if (!before.has(key)) anchors.add(key, anchor);
    }
    for (const key of before) if (!alive.has(key)) anchors.remove(key);
    if (alive.size > 0) this.#watched.set(session.id, alive);
    else this.#watched.delete(session.id);
    if (alive.size === 0 || this.#options.idleEndMs(session.client) !== null) this.#quiet.add(session.id);
    else this.#quiet.delete(session.id);
  }

  /** Another terminal of the session may go on, so that of one with several says nothing. */
  #stopped(key: string, isStopped: boolean): void {
    const [, , ...id] = key.split(" ");
    const session = this.#options.services.engine.state.sessions.live.get(id.join(" "));
    if (session !== undefined && (!isStopped || session.incarnations.length === 1))
      this.#options.stopped(session.id, isStopped);
  }

  #gone(key: string): void {
    const [incarnation, begun, ...id] = key.split(" ");
    this.#watched.get(id.join(" "))?.delete(key);
    this.#options.services.engine.submitWithRetry({
      type: "session_end",
      session: id.join(" "),
      incarnation: Number(incarnation),
      begun: Number(begun),
      cause: "anchor_gone",
    });
  }

  #drop(id: string): void {
    const { anchors, services } = this.#options;
    for (const key of this.#watched.get(id) ?? []) anchors.remove(key);
    this.#watched.delete(id);
    this.#quiet.delete(id);
    services.presence.forget(id);
    this.#options.forget(id);
  }
}

function hasAnchor({ incarnations }: Session): boolean {
  return incarnations.some(({ anchor }) => anchor !== null);
}

// Watches agents that were at work when the daemon before this one ended: their writes in flight, and their turns. The
// events that ended these may have come while no daemon ran.
//
// The core ends such writes by itself (`core/locks/writes.ts`). This watch tells the core what the client shows. If a person
// is asked about a write, the write stays. If the main agent is idle, the write is over at once. An agent within a session
// has its client's word only if an event or a growing transcript shows that it lives.
//
// Invariants: an agent is watched until it has no such write and had the time of one; nothing is read for others. An
// event of this start counts more than what a look finds.

type UnseenServices = Pick<Services, "clock" | "presence"> & {
  readonly engine: Pick<Services["engine"], "state" | "submitWithRetry">;
  readonly facts: Pick<Services["facts"], "lifeSigns">;
};

interface UnseenOptions {
  /** The turn of the session's main agent is over. */
  readonly turnOver: (session: string) => void;
  readonly onTrouble: (error: unknown) => void;
}

interface Watched {
  readonly actor: Actor;
  /** Its last sign of life when the watch began; null: none was known. */
  readonly signAt: number | null;
  /** A person was asked for it, and nothing came after. */
  isAsked: boolean;
  /** The core knows that its writes wait for a person. */
  waits: boolean;
  /** The size of its transcript at the first look; null: no look has seen it. */
  sizeBytes: number | null;
  hasGrown: boolean;
}

export class UnseenWatch {
  readonly #services: UnseenServices;
  readonly #options: UnseenOptions;
  #watched: readonly Watched[] = [];
  #until = 0;

  constructor(services: UnseenServices, options: UnseenOptions) {
    this.#services = services;
    this.#options = options;
  }

  /** Begins with what the daemon before left; called before the first request is served. */
  begin(): void {
    const { clock } = this.#services;
    this.#watched = [...this.#left()];
    this.#until = clock.now() + limits.yieldMs;
    if (this.#watched.length > 0) this.#look();
  }

  /** Yields the agents with writes in flight, and those in a turn as the daemon before kept it. */
  *#left(): Generator<Watched, void> {
    const { engine, presence } = this.#services;
    const { sessions, locks } = engine.state;
    for (const session of sessions.live.values()) {
      const row = presence.rows.get(session.id);
      const seen = new Set<string>();
      for (const { actor } of rowsOfSession(locks.actors, session.id, null)) {
        const [hold] = this.#unseenOf(actor);
        if (hold === undefined) continue;
        seen.add(agentKey(actor.agent));
        const isKnown = row?.dialogs.has(actor.agent) === true;
        const isAsked = hold.renewed !== null || isKnown;
        if (isAsked && !isKnown && row !== undefined)
          presence.of(session.id).dialogs.set(actor.agent, { text: "permission", at: hold.touched });
        yield this.#watch(actor, isAsked);
      }
      const active = [...(row?.agents ?? [])].filter(([, { active }]) => active).map(([id]) => id);
      const incarnation = session.incarnations[0]?.ordinal ?? 0;
      for (const agent of row?.active === true ? [null, ...active] : active)
        if (!seen.has(agentKey(agent))) yield this.#watch({ session: session.id, agent, incarnation }, false);
    }
  }

  #watch(actor: Actor, isAsked: boolean): Watched {
    const signAt = this.#services.presence.pulse(actor.session, actor.agent)?.signAt ?? null;
    return { actor, signAt, isAsked, waits: false, sizeBytes: null, hasGrown: false };
  }

  #look(): void {
    const { clock } = this.#services;
    this.#lookAtAll()
      .catch(this.#options.onTrouble)
      .finally(() => {
        if (this.#watched.length > 0) clock.at(clock.now() + limits.unseenLookMs, () => this.#look());
      });
  }

  async #lookAtAll(): Promise<void> {
    for (const watched of this.#watched) {
      const goesOn = await this.#lookAt(watched);
      if (!goesOn) this.#watched = this.#watched.filter(one => one !== watched);
    }
  }

  /** Returns whether to look again. */
  async #lookAt(watched: Watched): Promise<boolean> {
    const { engine, presence, facts, clock } = this.#services;
    const { session: id, agent, incarnation } = watched.actor;
    const session = engine.state.sessions.live.get(id);
    if (session === undefined) return false;
    const anchor = anchorOf(session, incarnation);
    const { transcript = null } = presence.rows.get(id) ?? {};
    const signs = await facts.lifeSigns({ session: id, agent, transcript, anchor });
    if (!engine.state.sessions.live.has(id)) return false;
    const isHeard = this.#isHeard(watched);
    if (agent === null && signs.status?.status === "idle") {
      this.#tell(watched, "over");
      if (!isHeard) this.#turnOver(watched.actor);
      return false;
    }
    noteGrowth(watched, signs);
    const waits = this.#waits(watched, signs, isHeard, anchor !== null);
    if (waits !== watched.waits && !signs.isUnreadable) {
      watched.waits = waits;
      this.#tell(watched, waits ? "waits" : "runs");
    }
    if (watched.waits || clock.now() < this.#until || this.#unseenOf(watched.actor).length > 0) return true;
    if (agent !== null && !isHeard && !watched.hasGrown) this.#turnOver(watched.actor);
    return false;
  }

  /** Whether a person is asked about the agent's write, as far as its client and its events show. */
  #waits(watched: Watched, { status }: LifeSigns, isHeard: boolean, lives: boolean): boolean {
    const { session, agent } = watched.actor;
    const row = this.#services.presence.rows.get(session);
    if (row?.dialogs.has(agent) === true) watched.isAsked = true;
    else if (isHeard) watched.isAsked = false;
    if (watched.isAsked && lives) return true;
    // The file tells of the process: the dialog may be another agent's.
    const isShown = agent === null || isHeard || watched.hasGrown;
    return status?.status === "waiting" && isShown;
  }

  /** Whether an event of the agent came since this start. */
  #isHeard({ actor, signAt }: Watched): boolean {
    const pulse = this.#services.presence.pulse(actor.session, actor.agent);
    return pulse !== undefined && pulse.signAt !== signAt;
  }

  #tell({ actor }: Watched, now: CommandOf<"flight_unseen">["now"]): void {
    if (this.#unseenOf(actor).length > 0)
      this.#services.engine.submitWithRetry({ type: "flight_unseen", actor, now });
  }

  #turnOver({ session, agent }: Actor): void {
    this.#services.presence.turn(session, agent, false);
    if (agent === null) this.#options.turnOver(session);
  }

  #unseenOf(actor: Actor): Hold[] {
    const { locks } = this.#services.engine.state;
    const row = rowsOfSession(locks.actors, actor.session, actor.incarnation).find(
      one => one.actor.agent === actor.agent,
    );
    const holds = [...(row?.flying ?? [])].flatMap(key => locks.holds.get(key) ?? []);
    return holds.filter(({ unseen }) => unseen !== undefined);
  }
}

function agentKey(agent: string | null): string {
  return agent ?? "";
}

function anchorOf({ incarnations }: Session, incarnation: number) {
  return incarnations.find(({ ordinal }) => ordinal === incarnation)?.anchor ?? null;
}

function noteGrowth(watched: Watched, { transcript }: LifeSigns): void {
  if (transcript === null) return;
  if (watched.sizeBytes !== null && transcript.sizeBytes > watched.sizeBytes) watched.hasGrown = true;
  watched.sizeBytes ??= transcript.sizeBytes;
}
