/**
 * Checks what is still alive: anchor processes, silent sessions, the daemon itself. It proposes; the core decides.
 *
 * While nobody is connected, nobody can wait for a lock or hear of an end: then the checks come less often, and the next
 * connection makes one at once.
 */
import type { KiteEvent } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import type { Session } from "../core/tables/base-state.ts";
import { rowsOfSession } from "../core/tables/locks.ts";
import type { AnchorWatch } from "../facts/processes.ts";
import type { Services } from "../services.ts";

/** Events that name a session by its `id`: a session began, changed or ended. Each such event is here. */
const named: Readonly<Record<Extract<KiteEvent, { readonly id: string }>["event"], true>> = {
  session_started: true,
  session_ended: true,
  session_lost: true,
  session_duplicated: true,
  session_renamed: true,
};

export const sessionEvents = Object.keys(named) as (keyof typeof named)[];

export interface LifeOptions {
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
   * Called with each new connection. It ends a rest with a check in the same turn, before the client's first request, so
   * a session whose process ended meanwhile holds up nobody. Where `ps` shows the processes, or with more of them than a
   * turn looks at, the check has only begun by then.
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
