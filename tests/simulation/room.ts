/**
 * Sessions that come by where there is little room, and the rules of who makes room once more, written slowly: only who
 * has neither a process nor anything else, and of those who has had nothing for longest.
 */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, Entry, Reply, Step } from "../../daemon/core/tables/entries.ts";
import { claimerOf } from "../../daemon/core/tables/tasks.ts";
import { limits } from "../../protocol/limits.ts";
import type { Random } from "./random.ts";

// As many as a simulation can fill.
Object.assign(limits, { sessionsMax: 9, sessionsAnchoredMax: 11 });

const passers = ["pat", "pia", "pim", "pip", "poe", "pru"] as const;
const project = "/room";

/** Between which entries a session came to have nothing, or was heard of last since then. */
interface Idle {
  readonly begun: number;
  readonly first: number;
  readonly last: number;
  /** Letters in its inboxes, all of them read. */
  readonly letters: number;
}

export class RoomLives {
  readonly #random: Random;
  #idle = new Map<string, Idle>();
  #size = 0;
  /** Retries that were refused for want of room: sent again they may get the same answer when there is room. */
  readonly #refused = new Set<string>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** Whether one comes by: chosen here, so that all else happens as it would without them. */
  isNext(): boolean {
    return this.#random.chance(0.4);
  }

  /** What those ask for who come by, through the connection of `by`; `lock` makes a request for a lock of theirs. */
  commands(by: Actor, lock: (actor: Actor) => Command): Command[] {
    const random = this.#random;
    const actor = { session: random.pick(passers), agent: null, incarnation: 0 };
    const roll = random.int(1, 100);
    if (roll <= 12) return [lock(actor)];
    if (roll <= 24) return [{ type: "lock_release", actor, files: "all" }];
    if (roll <= 30) {
      const of = { text: `to ${actor.session} ${random.bits()}`, bytes: 20, replyTo: null, urgent: false };
      return [{ type: "message_send", actor: by, project, to: actor.session, ...of, wallMs: 0 }];
    }
    if (roll <= 50) {
      const [session, incarnation] = [actor.session, null];
      return [{ type: "session_end", session, incarnation, cause: "ended" }];
    }
    return Array.from({ length: random.int(1, 3) }, () => this.#begin());
  }

  #begin(): Command {
    const random = this.#random;
    const anchor = random.chance(0.15) ? { pid: random.int(100, 200), startTime: "1" } : null;
    const where = { cwd: project, project, worktree: project, branch: null, name: null };
    return {
      type: "session_begin",
      session: random.pick(passers),
      anchor,
      ...where,
      revive: true,
      wallMs: 0,
    };
  }

  /** A life has ended: in which order they came to have nothing is compared elsewhere. */
  restarted(state: State): void {
    this.#idle = new Map();
    for (const [id, { begun, letters }] of idleNow(state))
      this.#idle.set(id, { begun, first: 0, last: state.seq, letters });
    this.#size = state.sessions.live.size;
  }

  /** Everything that is wrong after an entry. */
  *observe(state: State, { seq, command }: Entry, step: Step): Generator<string, void> {
    const gone = step.events.flatMap(({ event }) =>
      event.event === "session_ended" && event.cause === "made room" ? [event.id] : [],
    );
    if (gone.length > 1) yield `${gone.join(" and ")} made room for one`;
    for (const id of gone) yield* this.#madeRoom(state, id);
    if (step.reply !== null) yield* this.#noRoom(command, step.reply);
    this.#note(state, seq, command, step.reply);
  }

  *#madeRoom({ sessions }: State, id: string): Generator<string, void> {
    const idle = this.#idle.get(id);
    if (this.#size < limits.sessionsMax) yield `${id} made room, and there was some`;
    if (sessions.ended.has(id)) yield `${id} made room and may not come back`;
    if (idle === undefined) yield `${id} made room and had something`;
    else {
      for (const [other, { last }] of this.#idle)
        if (last < idle.first) yield `${id} made room before ${other}, who has had nothing for longer`;
    }
  }

  *#noRoom(command: Command, reply: Reply): Generator<string, void> {
    if (reply.ok || reply.code !== "too_many_sessions" || reply.error.includes("is open in")) return;
    const retry = "retry" in command ? command.retry : undefined;
    const id = retry === undefined ? null : `${retry.by} ${retry.requestId}`;
    if (id !== null && this.#refused.has(id)) return;
    if (id !== null) this.#refused.add(id);
    const isAnchored = command.type === "session_begin" && command.anchor !== null;
    const most = isAnchored ? limits.sessionsAnchoredMax : limits.sessionsMax;
    if (this.#size < most || this.#idle.size > 0)
      yield `there is no room beside ${this.#size} sessions, of which ${[...this.#idle.keys()].join()} have nothing`;
  }

  #note(state: State, seq: number, command: Command, reply: Reply | null): void {
    let text: string | null = null;
    const names = (id: string) => {
      text ??= JSON.stringify(command);
      return text.includes(`"${id}"`);
    };
    const begins = command.type === "session_begin" && reply?.ok ? command.session : null;
    const idle = new Map<string, Idle>();
    for (const [id, now] of idleNow(state)) {
      const was = this.#idle.get(id);
      const isNew = was === undefined || was.begun !== now.begun || id === begins;
      const isMeant = isNew || was.letters !== now.letters || names(id);
      idle.set(id, { ...now, first: isNew ? seq : was.first, last: isMeant ? seq : was.last });
    }
    this.#idle = idle;
    this.#size = state.sessions.live.size;
  }
}

/** Those without a process that have nothing, found without the core's indexes. */
function idleNow(state: State): Map<string, Pick<Idle, "begun" | "letters">> {
  const idle = new Map<string, { begun: number; letters: number }>();
  for (const { id, begun, incarnations } of state.sessions.live.values())
    if (incarnations.every(({ anchor }) => anchor === null)) idle.set(id, { begun, letters: 0 });
  for (const { actor, loan } of state.locks.holds.values()) {
    idle.delete(actor.session);
    for (let of = loan; of !== null; of = of.loan) idle.delete(of.actor.session);
  }
  for (const { actor } of state.locks.waiters.values()) idle.delete(actor.session);
  for (const task of state.tasks.all.values()) idle.delete(claimerOf(task)?.session ?? "");
  for (const { actor } of state.freezes.all.values()) idle.delete(actor?.session ?? "");
  if (idle.size === 0) return idle;
  for (const { letters } of state.messages.all.values()) {
    for (const { to, state: is } of letters.values()) {
      const owner = idle.get(to.id);
      if (owner === undefined) continue;
      if (is === "unread" || is === "offered") idle.delete(to.id);
      else owner.letters += 1;
    }
  }
  return idle;
}
