/**
 * Writes in flight over restarts, whose ends are lost with the daemon that would have heard of them, and the rule of them
 * once more, written slowly: what a start saw begin does not end by itself, and what it did not see begin does, after a
 * while, unless a person is asked.
 */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Hold } from "../../daemon/core/tables/base-state.ts";
import type { Command, CommandOf, Entry, Reply, Step } from "../../daemon/core/tables/entries.ts";
import { limits } from "../../protocol/limits.ts";
import { isHeir } from "./oracle.ts";
import type { Random } from "./random.ts";

interface Known {
  readonly flight: string;
  /** The present start saw it begin. */
  isSeen: boolean;
  sinceMs: number;
  /** A person is asked. */
  waits: boolean;
}

type InFlight = Pick<Hold, "key" | "actor" | "flights" | "yieldMs">;

export class UnseenFlights {
  readonly #random: Random;
  /** By the lock's key. */
  #known = new Map<string, Known>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** What a client shows of a write, mostly of one whose end was lost; null where nothing is shown now. */
  next({ locks }: State): Command | null {
    const random = this.#random;
    if (!random.chance(0.03)) return null;
    const flying = [...locks.holds.values()].filter(({ flights }) => flights.length > 0);
    if (flying.length === 0) return null;
    const lost = flying.filter(({ key }) => this.#known.get(key)?.isSeen === false);
    const { actor } = random.pick(lost.length > 0 && random.chance(0.7) ? lost : flying);
    return { type: "flight_unseen", actor, now: random.pick(["waits", "runs", "over"] as const) };
  }

  /** Whether the end of the lock's write was lost: nobody will tell of it. */
  isLost(key: string): boolean {
    return this.#known.get(key)?.isSeen === false;
  }

  /** The ends of some writes for which hooks left a line, as a start takes them: some of them twice. */
  lines({ locks, t }: State): Command[] {
    const random = this.#random;
    const commands: Command[] = [];
    for (const { actor, flights } of locks.holds.values()) {
      const [flight] = flights;
      if (flight === undefined || !random.chance(0.3)) continue;
      const untilMs = t - random.int(0, 60_000);
      const end: Command = random.chance(0.5)
        ? { type: "flight_end", actor, flight, wrote: true }
        : { type: "turn_end", actor, keepPrompt: null, untilMs };
      commands.push(end, ...(random.chance(0.3) ? [end] : []));
    }
    return commands;
  }

  /** A life has ended: all that is in flight began in it. */
  restarted(state: State): void {
    this.#known.clear();
    for (const { key, flights } of inFlight(state)) this.#put(key, flights, false, state.t);
  }

  /** Everything that is wrong after an entry; `before` is what was in flight before it. */
  *observe(
    state: State,
    { command }: Entry,
    step: Step,
    before: readonly InFlight[],
    repliedBefore: Reply | undefined,
  ): Generator<string, void> {
    if (command.type === "daemon_started" || command.type === "rules") this.restarted(state);
    const endsAlone = endsByItself(command);
    for (const hold of before) {
      const known = this.#known.get(hold.key);
      const isOver = !inFlightAt(state, hold);
      if (known === undefined) continue;
      if (isOver && endsAlone && known.isSeen) yield `${hold.key} lost a write that this start saw begin`;
      if (isOver && command.type === "elapse" && !isDue(known, hold, state.t) && endsAlone)
        if (!isTakenOver(state, hold, command)) yield `${hold.key} lost a write too early`;
      if (command.type === "flight_unseen") yield* this.#shown(state, command, hold, known, isOver);
      if (isOver) this.#known.delete(hold.key);
    }
    const isRepeat = repliedBefore !== undefined && repliedBefore === step.reply;
    for (const { keys, flight } of isRepeat ? [] : begun(command, step))
      for (const key of keys) if (inFlightKey(state, key, flight)) this.#put(key, [flight], true, state.t);
    if (command.type === "turn_end" && command.untilMs !== undefined)
      yield* keptSince(state, command.actor, command.untilMs, before);
  }

  *#shown(
    state: State,
    { actor, now }: Command & { readonly type: "flight_unseen" },
    hold: InFlight,
    known: Known,
    isOver: boolean,
  ): Generator<string, void> {
    if (!same(hold.actor, actor) || known.isSeen || state.rules < 2) return;
    if (now === "over" && !isOver) yield `${hold.key} has a write that its client calls over`;
    if (now !== "over" && isOver) yield `${hold.key} lost a write that its client shows`;
    known.waits = now === "waits";
    known.sinceMs = state.t;
  }

  /** What must be over once everything due has been proposed and delivered. */
  *overdue(state: State): Generator<string, void> {
    if (state.rules < 2) return;
    for (const hold of inFlight(state)) {
      const known = this.#known.get(hold.key);
      if (known !== undefined && !known.isSeen && !known.waits && isDue(known, hold, state.t - 1))
        yield `${hold.key} stays in flight since before the start`;
    }
  }

  #put(key: string, flights: readonly string[], isSeen: boolean, sinceMs: number): void {
    const [flight] = flights;
    if (flight !== undefined) this.#known.set(key, { flight, isSeen, sinceMs, waits: false });
  }
}

/** The reply that a repeated request gets without being run again. */
export function repliedBefore({ replies }: State, { command }: Entry): Reply | undefined {
  if (!("retry" in command) || command.retry === undefined) return undefined;
  return replies.get(`${command.retry.by}\n${command.retry.requestId}`)?.reply;
}

function isDue({ waits, sinceMs }: Known, { yieldMs }: InFlight, t: number): boolean {
  const ms = yieldMs <= 1 ? limits.yieldMs : Math.max(yieldMs, limits.unseenMinMs);
  return !waits && sinceMs + ms <= t;
}

/** Whether another lock ended, and a command of the holder took this one over: writes from before the start expire then. */
function isTakenOver({ locks }: State, { key, actor }: InFlight, { due }: CommandOf<"elapse">): boolean {
  const now = locks.holds.get(key);
  const isOther = "key" in due && due.key !== key;
  return isOther && now !== undefined && same(now.actor, actor) && isHeir(now, actor);
}

/** Whether the entry tells of no end of a write, and of no other write of its actor. */
function endsByItself(command: Command): boolean {
  if (command.type === "flight_unseen") return true;
  return command.type === "elapse" && ["unseen_over", "yield_over"].includes(command.due.what);
}

/** The writes that the step allowed. */
function* begun(
  command: Command,
  { reply, answers }: Step,
): Generator<{ readonly keys: readonly string[]; readonly flight: string }, void> {
  const requests = [
    ...(command.type === "lock_request" && reply?.ok ? [command] : []),
    ...answers.flatMap(({ grant }) => grant ?? []),
  ];
  for (const request of requests) {
    const flight = "flight" in request ? request.flight : null;
    const keys = request.files.map(({ key }) => key);
    if (typeof flight === "string") yield { keys, flight };
  }
}

/** The end of a turn of before takes nothing that began later. */
function* keptSince(
  state: State,
  actor: Actor,
  untilMs: number,
  before: readonly (InFlight & { readonly touched?: number })[],
): Generator<string, void> {
  for (const hold of before)
    if (same(hold.actor, actor) && (hold.touched ?? 0) > untilMs && !inFlightAt(state, hold))
      yield `${hold.key} went with a turn that ended before it`;
}

function inFlight({ locks }: State): Hold[] {
  return [...locks.holds.values()].filter(({ flights }) => flights.length > 0);
}

function inFlightAt(state: State, { key, actor, flights }: InFlight): boolean {
  const now = state.locks.holds.get(key);
  return now !== undefined && same(now.actor, actor) && flights.every(flight => now.flights.includes(flight));
}

function inFlightKey({ locks }: State, key: string, flight: string): boolean {
  return locks.holds.get(key)?.flights.includes(flight) === true;
}

function same(a: Actor, b: Actor): boolean {
  return a.session === b.session && a.agent === b.agent && a.incarnation === b.incarnation;
}
