/**
 * Watches agents that were at work when the daemon before this one ended: their writes in flight, and their turns. The
 * events that ended these may have come while no daemon ran.
 *
 * The core ends such writes by itself (`core/locks/unseen.ts`). This watch tells it what the client shows: that a person
 * is asked about one, so that it stays, or that the main agent is idle, so that it is over at once. An agent within a
 * session has its client's word only if an event or a growing transcript shows that it lives.
 *
 * Invariants: an agent is watched until it has no such write and had the time of one; nothing is read for others. An
 * event of this start counts more than what a look finds.
 */
import { limits } from "../../protocol/limits.ts";
import type { Actor } from "../core/frame/actors.ts";
import type { Hold, Session } from "../core/tables/base-state.ts";
import type { CommandOf } from "../core/tables/entries.ts";
import { rowsOfSession } from "../core/tables/locks.ts";
import type { LifeSigns } from "../facts/life-signs.ts";
import type { Services } from "../services.ts";

export type UnseenServices = Pick<Services, "clock" | "presence"> & {
  readonly engine: Pick<Services["engine"], "state" | "submitWithRetry">;
  readonly facts: Pick<Services["facts"], "lifeSigns">;
};

export interface UnseenOptions {
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
