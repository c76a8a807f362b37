/**
 * Steps of every kind among few and among many: what `growth.ts` takes the time of and `tests/unit/growth.test.ts`
 * counts the work of.
 */

import { apply } from "../../daemon/core/apply.ts";
import type { Actor, FileRef } from "../../daemon/core/frame/actors.ts";
import { lettersOf } from "../../daemon/core/messages/inbox.ts";
import { copyOf, emptyState, linesOf } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, Due, Step } from "../../daemon/core/tables/entries.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import type { NewTask } from "../../daemon/core/tables/tasks.ts";
import { limits } from "../../protocol/limits.ts";

/** Steps that are measured, in one place: what they cost in all, and each alone. */
export interface Meter {
  step<T>(work: () => T): T;
}

/** The core with what came before, which is not measured, and the steps that are. */
export class Crowd {
  readonly state: State = emptyState();
  readonly #meter: Meter;
  now = 1_000_000;

  constructor(meter: Meter) {
    this.#meter = meter;
    this.before({ type: "daemon_started", epoch: 1, storeId: "store" });
  }

  /** Happens before; a refusal is a mistake of the scenario. Returns the entry's number. */
  before(command: Command): number {
    const { reply } = this.#apply(command);
    if (reply !== null && !reply.ok) throw new Error(`${command.type}: ${reply.error}`);
    this.#goOn(work => work());
    return this.state.seq;
  }

  /** Is measured, with what has to follow it in entries of its own. `code`: the refusal that is expected. */
  measured(command: Command, code: string | null = null): Step {
    const step = this.#meter.step(() => this.#apply(command));
    const { reply } = step;
    const said = reply === null || reply.ok ? null : reply.code;
    if (said !== code) throw new Error(`${command.type}: ${JSON.stringify(reply)}`);
    this.#goOn(work => this.#meter.step(work));
    return step;
  }

  /** A look at the state, or writing it down. */
  look<T>(work: () => T): T {
    return this.#meter.step(work);
  }

  #goOn(run: (work: () => Step) => Step): void {
    while (this.state.locks.graph.freeCount > 0) run(() => this.#apply(elapse({ what: "grants_left" })));
  }

  #apply(command: Command): Step {
    const seq = this.state.seq + 1;
    return apply(this.state, { seq, at: this.now, origin: { node: "n", epoch: 1, n: seq }, command });
  }
}

export interface Scenario {
  readonly kind: string;
  readonly what: string;
  /** The largest number that the limits allow; `Infinity` where they bound nothing below 10,000. */
  readonly most: number;
  /** Prepares, takes measured steps, and returns how many units they were. */
  run(crowd: Crowd, n: number): number;
}

/** The longest that a step may take, in milliseconds of processor time: nobody else is served meanwhile. */
export const stepMaxMs = 50;

/** Steps that are measured one by one. */
const few = 200;

const none = Number.POSITIVE_INFINITY;

export function file(n: number, folder = "src"): FileRef {
  const lexical = `/home/someone/project/${folder}/file-${n}.ts`;
  return { file: `${folder}/file-${n}.ts`, lexical, key: `n:${lexical}`, dir: false };
}

function folder(name: string): FileRef {
  const lexical = `/home/someone/project/${name}`;
  return { file: `${name}/`, lexical, key: `n:${lexical}`, dir: true };
}

export function upTo(n: number, from = 0): number[] {
  return Array.from({ length: n }, (_, i) => from + i);
}

export function actor(session: string, agent: string | null = null): Actor {
  return { session, agent, incarnation: 0 };
}

export const project = "/home/someone/project";
const place = { project, cwd: project, wallMs: 1 };

export function lock(
  who: Actor,
  files: readonly FileRef[],
  more: Partial<LockRequest> = {},
): LockRequest & { readonly type: "lock_request" } {
  const asked = { kind: "explicit", waitMs: 600_000, depth: 100_000, placeMs: 0, detach: true } as const;
  const rest = { progress: false, prompt: null, flight: null, yieldMs: 15_000, ancestors: [], bound: null };
  return {
    type: "lock_request",
    actor: who,
    files,
    single: files.length === 1,
    ...asked,
    ...rest,
    ...place,
    ...more,
  };
}

function unlock(who: Actor, files: readonly FileRef[] | "all"): Command {
  return { type: "lock_release", actor: who, files };
}

function elapse(due: Due): Command {
  return { type: "elapse", due };
}

export function begin(
  session: string,
  more: Partial<Extract<Command, { type: "session_begin" }>> = {},
): Command {
  const at = { cwd: project, project, worktree: project, branch: null, wallMs: 1 };
  return { type: "session_begin", session, anchor: null, name: null, revive: true, ...at, ...more };
}

function end(session: string): Command {
  return { type: "session_end", session, incarnation: null, cause: "ended" };
}

const [a, b, c] = [actor("a"), actor("b"), actor("c")];

/** The actor takes files `from` to `to`, as many at a time as one request names. */
function take(crowd: Crowd, who: Actor, files: readonly FileRef[], more: Partial<LockRequest> = {}): void {
  for (let at = 0; at < files.length; at += limits.filesMax)
    crowd.before(lock(who, files.slice(at, at + limits.filesMax), more));
}

/** The actor waits for each of the files in a request of its own; returns their tickets. */
function waitFor(
  crowd: Crowd,
  who: Actor,
  files: readonly FileRef[],
  more: Partial<LockRequest> = {},
): number[] {
  return files.map(one => crowd.before(lock(who, [one], more)));
}

function files(n: number, from = 0, under = "src"): FileRef[] {
  return upTo(n, from).map(i => file(i, under));
}

const turn = { kind: "turn", prompt: "p1", placeMs: limits.placeMs } as const;
const locksMax = limits.locksPerSessionMax;
const queuedMax = limits.queuedPerSessionMax;
/** With room for those that the steps are about. */
const sessionsMax = limits.sessionsMax - 2 * few;

const requests: readonly Scenario[] = [
  scenario("request", "a lock, its actor holds others", locksMax - few, (crowd, n) => {
    take(crowd, a, files(n));
    for (const one of files(few, 0, "new")) crowd.measured(lock(a, [one]));
    return few;
  }),
  scenario("request", "a write, its actor wrote others in this turn", locksMax - few, (crowd, n) => {
    take(crowd, a, files(n), turn);
    for (const [i, one] of files(few, 0, "new").entries())
      crowd.measured(lock(a, [one], { ...turn, flight: `w${i}` }));
    return few;
  }),
  scenario("request", "a lock, other sessions hold one", sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(lock(actor(`s${i}`), [file(i)]));
    for (const one of files(few, 0, "new")) crowd.measured(lock(a, [one]));
    return few;
  }),
  scenario(
    "request",
    "a lock, other agents of its session hold one",
    limits.agentsPerSessionMax,
    (crowd, n) => {
      for (const i of upTo(n)) crowd.before(lock(actor("a", `x${i}`), [file(i)]));
      for (const one of files(few, 0, "new")) crowd.measured(lock(a, [one]));
      return few;
    },
  ),
  scenario("request", "a wait, its actor waits for others", queuedMax - few, (crowd, n) => {
    take(crowd, b, files(n));
    take(crowd, c, files(few, 0, "new"));
    waitFor(crowd, a, files(n));
    for (const one of files(few, 0, "new")) crowd.measured(lock(a, [one]));
    return few;
  }),
  scenario("request", "a wait, its actor holds others", locksMax - few, (crowd, n) => {
    take(crowd, a, files(n), turn);
    take(crowd, b, files(few, 0, "new"));
    for (const one of files(few, 0, "new")) crowd.measured(lock(a, [one]));
    return few;
  }),
  scenario("request", "a wait behind one who waits for others", queuedMax - few, (crowd, n) => {
    take(crowd, b, files(n));
    take(crowd, c, files(few, 0, "new"));
    waitFor(crowd, c, files(n));
    for (const [i, one] of files(few, 0, "new").entries()) crowd.measured(lock(actor(`w${i}`), [one]));
    return few;
  }),
  scenario("request", "a wait at the end of a chain of sessions", sessionsMax, (crowd, n) => {
    chain(crowd, n);
    for (const i of upTo(few)) crowd.measured(lock(actor(`w${i}`), [file(0)]));
    return few;
  }),
  scenario("request", "a wait at the head of a chain of sessions", sessionsMax, (crowd, n) => {
    chain(crowd, n);
    for (const i of upTo(few)) crowd.before(lock(actor(`h${i}`), [file(i, "new")]));
    for (const i of upTo(few)) crowd.measured(lock(actor(`s${n}`), [file(i, "new")]));
    return few;
  }),
  scenario("request", "a wait that would close a cycle, both wait for others", queuedMax, (crowd, n) => {
    take(crowd, a, files(n));
    take(crowd, b, [file(0, "new")]);
    take(crowd, c, files(n, 0, "more"));
    waitFor(crowd, a, files(n - 1, 0, "more"));
    waitFor(crowd, b, files(n - 1));
    for (const _ of upTo(few)) crowd.measured(lock(a, [file(0, "new")]), "lock_deadlock");
    return few;
  }),
  scenario("request", "a set", limits.filesMax, (crowd, n) => {
    crowd.measured(lock(a, files(n)));
    return n;
  }),
  scenario("request", "a set that waits", limits.filesMax, (crowd, n) => {
    take(crowd, b, files(n));
    crowd.measured(lock(a, files(n)));
    return n;
  }),
  scenario("request", "a folder that is refused, others hold what is below", locksMax, (crowd, n) => {
    take(crowd, b, files(n));
    for (const _ of upTo(few)) crowd.measured(lock(a, [folder("src")], { waitMs: 0 }), "lock_held");
    return few;
  }),
  scenario("request", "a folder that waits for each lock below", locksMax, (crowd, n) => {
    take(crowd, b, files(n));
    crowd.measured(lock(a, [folder("src")]));
    return n;
  }),
  scenario("request", "a lock, others asked that nobody edits their files", limits.freezesMax, (crowd, n) => {
    for (const i of upTo(n)) {
      crowd.before(begin(`h${i}`));
      const hold = { files: [file(i, "held")], ttlMs: 600_000 };
      crowd.before({
        type: "broadcast",
        actor: actor(`h${i}`),
        project,
        text: "x",
        bytes: 1,
        wallMs: 1,
        hold,
      });
      crowd.now += 1;
    }
    for (const one of files(few, 0, "new")) crowd.measured(lock(a, [one]));
    return few;
  }),
];

const grants: readonly Scenario[] = [
  scenario("grant", "one by one, its actor waits for others", queuedMax - few, (crowd, n) => {
    take(crowd, a, files(n));
    waitFor(crowd, b, files(n));
    for (const one of files(Math.min(few, n))) crowd.measured(unlock(a, [one]));
    return Math.min(few, n);
  }),
  scenario("grant", "all at once, of one actor", queuedMax, (crowd, n) => {
    take(crowd, a, files(n));
    waitFor(crowd, b, files(n));
    crowd.measured(unlock(a, "all"));
    return n;
  }),
  scenario("grant", "all at once, with another one behind each", queuedMax, (crowd, n) => {
    take(crowd, a, files(n));
    waitFor(crowd, b, files(n));
    waitFor(crowd, c, files(n));
    crowd.measured(unlock(a, "all"));
    return n;
  }),
  scenario("grant", "all at once, to as many sessions", sessionsMax, (crowd, n) => {
    take(crowd, a, files(n));
    for (const i of upTo(n)) crowd.before(lock(actor(`s${i}`), [file(i)]));
    crowd.measured(unlock(a, "all"));
    return n;
  }),
  scenario("grant", "a set, whose files come one by one", limits.filesMax, (crowd, n) => {
    take(crowd, a, files(n));
    crowd.before(lock(b, files(n)));
    for (const one of files(n)) crowd.measured(unlock(a, [one]));
    return n;
  }),
  scenario("grant", "a folder, of which one lock below goes", locksMax - few, (crowd, n) => {
    take(crowd, a, files(n + few));
    crowd.before(lock(b, [folder("src")]));
    for (const one of files(few)) crowd.measured(unlock(a, [one]));
    return few;
  }),
  scenario("grant", "to a descendant, as writes end, past those who wait", limits.filesMax, (crowd, n) => {
    crowd.before(lock(a, files(n), { ...turn, flight: "w1" }));
    waitFor(crowd, b, files(n));
    waitFor(crowd, actor("a", "child"), files(n), { ...turn, ancestors: [null] });
    crowd.measured({ type: "flight_end", actor: a, flight: "w1", wrote: false });
    return n;
  }),
];

const releases: readonly Scenario[] = [
  scenario("release", "one, its actor holds others", locksMax, (crowd, n) => {
    take(crowd, a, files(n));
    for (const one of files(Math.min(few, n))) crowd.measured(unlock(a, [one]));
    return Math.min(few, n);
  }),
  scenario("release", "all", locksMax, (crowd, n) => {
    take(crowd, a, files(n));
    crowd.measured(unlock(a, "all"));
    return n;
  }),
  scenario("release", "a place in line, its actor waits for others", queuedMax, (crowd, n) => {
    take(crowd, a, files(n));
    waitFor(crowd, b, files(n));
    for (const one of files(Math.min(few, n))) crowd.measured(unlock(b, [one]));
    return Math.min(few, n);
  }),
  scenario("release", "what is held by nobody, others hold much", locksMax, (crowd, n) => {
    take(crowd, a, files(n));
    take(crowd, b, files(1, 0, "new"));
    for (const one of files(few, 1, "new")) crowd.measured(unlock(b, [one]), "not_held");
    return few;
  }),
  scenario("release", "by force, of one who holds others", locksMax, (crowd, n) => {
    take(crowd, a, files(n));
    for (const one of files(Math.min(few, n)))
      crowd.measured({ type: "lock_revoke", by: "a person", files: [{ ...one, key: null }] });
    return Math.min(few, n);
  }),
  scenario("release", "the turn's locks, its actor holds others for longer", locksMax - few, (crowd, n) => {
    take(crowd, a, files(n));
    for (const one of files(few, 0, "new")) {
      crowd.before(lock(a, [one], turn));
      crowd.measured({ type: "turn_end", actor: a, keepPrompt: null });
    }
    return few;
  }),
  scenario("release", "the turn's locks, its actor waits for others", queuedMax - few, (crowd, n) => {
    take(crowd, b, files(n));
    waitFor(crowd, a, files(n));
    for (const one of files(few, 0, "new")) {
      crowd.before(lock(a, [one], turn));
      crowd.measured({ type: "turn_end", actor: a, keepPrompt: null });
    }
    return few;
  }),
  scenario("release", "a write's end, its actor holds others", locksMax - few, (crowd, n) => {
    take(crowd, a, files(n), turn);
    for (const one of files(few, 0, "new")) {
      crowd.before(lock(a, [one], { ...turn, flight: "w1" }));
      crowd.measured({ type: "flight_end", actor: a, flight: "w1", wrote: false });
    }
    return few;
  }),
  scenario("release", "a grant that found nobody, its actor has others", queuedMax, (crowd, n) => {
    take(crowd, a, files(n));
    const tickets = waitFor(crowd, b, files(n));
    crowd.before(unlock(a, "all"));
    for (const [i, ticket] of tickets.slice(0, few).entries()) {
      const waiter = { node: "n", epoch: 1, n: ticket };
      crowd.measured({ type: "lock_undelivered", waiter, actor: b, keys: [file(i).key] });
    }
    return Math.min(few, n);
  }),
  scenario("release", "a connection's locks", locksMax, (crowd, n) => {
    const bound = { node: "n", epoch: 1, connection: 1 };
    take(crowd, a, files(n), { bound });
    crowd.measured({ type: "lock_unbind", bound });
    return n;
  }),
  scenario("release", "what a descendant uses, its session holds others", locksMax - few - 1, (crowd, n) => {
    take(crowd, actor("a", "mate"), files(n));
    for (const one of files(few, 0, "new")) {
      crowd.before(lock(a, [one]));
      crowd.before(lock(actor("a", "child"), [one], { ...turn, ancestors: [null] }));
      crowd.measured(unlock(a, "all"));
      crowd.before({ type: "turn_end", actor: actor("a", "child"), keepPrompt: null });
    }
    return few;
  }),
];

const ends: readonly Scenario[] = [
  scenario("end of a session", "with locks that nobody waits for", locksMax, (crowd, n) => {
    take(crowd, a, files(n));
    crowd.measured(end("a"));
    return n;
  }),
  scenario("end of a session", "with locks that others wait for", locksMax, (crowd, n) => {
    take(crowd, a, files(n));
    waitFor(crowd, b, files(n / 2));
    waitFor(crowd, c, files(n / 2, n / 2));
    crowd.measured(end("a"));
    return n;
  }),
  scenario("end of a session", "with requests that wait", queuedMax, (crowd, n) => {
    take(crowd, a, files(n));
    waitFor(crowd, b, files(n));
    crowd.measured(end("b"));
    return n;
  }),
  scenario(
    "end of a session",
    "with agents that hold a lock each",
    limits.agentsPerSessionMax,
    (crowd, n) => {
      for (const i of upTo(n)) crowd.before(lock(actor("a", `x${i}`), [file(i)]));
      crowd.measured(end("a"));
      return n;
    },
  ),
  scenario("end of a session", "with tasks", limits.claimsPerSessionMax, (crowd, n) => {
    crowd.before(begin("a"));
    crowd.before(create(upTo(n).map(() => task())));
    for (const _ of upTo(n)) crowd.before({ type: "task_claim", actor: a, task: null, labels: [], ...place });
    crowd.measured(end("a"));
    return n;
  }),
  scenario("end of a session", "among sessions with an unread message each", sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`));
    for (const i of upTo(few)) crowd.before(begin(`e${i}`));
    crowd.before(say(null, "everyone", "x"));
    for (const i of upTo(few)) crowd.measured(end(`e${i}`));
    return few;
  }),
  scenario("end of a session", "of an agent, among others with a message each", sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`));
    crowd.before(say(null, "everyone", "x"));
    for (const i of upTo(few)) crowd.measured({ type: "agent_end", actor: actor("s0", `x${i}`) });
    return few;
  }),
  scenario("end of a session", "among files with uncommitted work", limits.writesMax, (crowd, n) => {
    crowd.before(begin("a"));
    note(crowd, a, n);
    for (const i of upTo(few)) crowd.before(begin(`e${i}`));
    for (const i of upTo(few)) crowd.measured(end(`e${i}`));
    return few;
  }),
  scenario("end of a session", "among freezes", limits.freezesMax, (crowd, n) => {
    // Each of them hears of each hold before, which takes long to prepare.
    for (const i of upTo(20)) crowd.before(begin(`e${i}`));
    for (const i of upTo(n)) {
      crowd.before(begin(`h${i}`));
      const hold = { files: [file(i, "held")], ttlMs: 600_000 };
      crowd.before({
        type: "broadcast",
        actor: actor(`h${i}`),
        project,
        text: "x",
        bytes: 1,
        wallMs: 1,
        hold,
      });
      for (const j of upTo(20)) crowd.before(ackAll(crowd, `e${j}`));
      crowd.now += 1;
    }
    for (const i of upTo(20)) crowd.measured(end(`e${i}`));
    return 20;
  }),
  scenario("end of a session", "whose process goes on under another id", sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`));
    crowd.before(say(null, "everyone", "x"));
    note(crowd, actor("s0"), Math.min(n, limits.writesMax));
    for (const i of upTo(few)) {
      const anchor = { pid: i + 1, startTime: "1" };
      crowd.before(begin(`before${i}`, { anchor }));
      crowd.before({ type: "session_suspend", session: `before${i}` });
      crowd.measured(begin(`after${i}`, { anchor }));
      crowd.before(end(`after${i}`));
    }
    return few;
  }),
];

const expiries: readonly Scenario[] = [
  scenario("expiry", "of a wait, its actor waits for others", queuedMax, (crowd, n) => {
    take(crowd, a, files(n));
    const tickets = waitFor(crowd, b, files(n));
    crowd.now += 600_000;
    for (const ticket of tickets.slice(0, few)) crowd.measured(elapse({ what: "wait_over", ticket }));
    return Math.min(few, n);
  }),
  scenario("expiry", "of a place, its actor has others", queuedMax, (crowd, n) => {
    take(crowd, a, files(n));
    const tickets = waitFor(crowd, b, files(n), turn);
    crowd.now += 600_000;
    for (const ticket of tickets) crowd.before(elapse({ what: "wait_over", ticket }));
    crowd.now += limits.placeMs;
    for (const ticket of tickets.slice(0, few)) crowd.measured(elapse({ what: "place_over", ticket }));
    return Math.min(few, n);
  }),
  scenario("expiry", "of a turn's lock, its actor holds others", locksMax, (crowd, n) => {
    take(crowd, a, files(n), turn);
    crowd.now += limits.turnLeaseMs;
    for (const one of files(Math.min(few, n))) {
      const first = crowd.state.locks.holds.get(one.key)?.first.grant ?? 0;
      crowd.measured(elapse({ what: "turn_lease_over", key: one.key, first }));
    }
    return Math.min(few, n);
  }),
  scenario("expiry", "of a turn's lock that yields, its actor waits for others", queuedMax, (crowd, n) => {
    take(crowd, a, files(n), turn);
    take(crowd, b, files(n, 0, "more"));
    waitFor(crowd, a, files(n, 0, "more"));
    waitFor(crowd, c, files(n));
    for (const one of files(Math.min(few, n))) {
      const first = crowd.state.locks.holds.get(one.key)?.first.grant ?? 0;
      crowd.measured(elapse({ what: "yield_over", key: one.key, first }));
    }
    return Math.min(few, n);
  }),
];

const snapshots: readonly Scenario[] = [
  scenario("snapshot", "of locks and of requests that wait for them", queuedMax, (crowd, n) => {
    take(crowd, a, files(n));
    waitFor(crowd, b, files(n));
    const lines = linesOf(crowd.look(() => copyOf(crowd.state)));
    while (!crowd.look(() => lines.next()).done);
    return n;
  }),
];

const others: readonly Scenario[] = [
  scenario("session", "that begins among others", sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`, { anchor: { pid: i + 1, startTime: "1" } }));
    for (const i of upTo(few))
      crowd.measured(begin(`e${i}`, { anchor: { pid: 1_000_000 + i, startTime: "1" } }));
    return few;
  }),
  scenario("session", "that begins, as many are called the same", sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`, { name: "worker" }));
    for (const i of upTo(few)) crowd.measured(begin(`e${i}`, { name: "worker" }));
    return few;
  }),
  scenario("message", "to one of many", sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`));
    for (const i of upTo(few)) {
      crowd.now += 10_000;
      crowd.measured(say(null, `s${i % n}`, "x"));
    }
    return few;
  }),
  scenario("message", "to an agent by its name, others have agents too", sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) {
      crowd.before(begin(`s${i}`));
      crowd.before({ type: "agent_begin", session: `s${i}`, agent: `x${i}`, name: `helper-${i}` });
    }
    for (const i of upTo(few)) {
      crowd.now += 10_000;
      const under = i % 2 === 0 ? "" : `s${i % n}/`;
      crowd.measured(say(null, `${under}helper-${i % n}`, "x"));
    }
    return few;
  }),
  scenario("message", "to an agent of a name that many have, which is refused", sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) {
      crowd.before(begin(`s${i}`));
      crowd.before({ type: "agent_begin", session: `s${i}`, agent: `x${i}`, name: "Explore" });
    }
    for (const _ of upTo(few)) crowd.measured(say(null, "Explore", "x"), "recipient_ambiguous");
    return few;
  }),
  scenario("message", "to everyone", sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`));
    crowd.measured(say(null, "everyone", "x"));
    return n;
  }),
  scenario("message", "taken, where many got the same", sessionsMax, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(begin(`s${i}`));
    crowd.before(say(null, "everyone", "x"));
    for (const i of upTo(Math.min(few, n)))
      crowd.measured({ type: "inbox_take", actor: actor(`s${i}`), max: 3, chars: 1_000 });
    return Math.min(few, n);
  }),
  scenario("message", "taken, where many were read before", limits.inboxMax - few, (crowd, n) => {
    crowd.before(begin("a"));
    for (const i of upTo(n)) {
      crowd.now += 10_000;
      crowd.before(say(null, "a", `${i}`));
    }
    crowd.before({
      type: "message_ack",
      actor: a,
      messages: [...crowd.state.messages.all.keys()],
      read: true,
    });
    for (const i of upTo(few)) {
      crowd.now += 10_000;
      crowd.before(say(null, "a", `${i}`));
      crowd.measured({ type: "inbox_take", actor: a, max: 3, chars: 1_000 });
    }
    return few;
  }),
  scenario("task", "claimed among others", none, (crowd, n) => {
    tasks(crowd, n);
    crowd.before(begin("a"));
    for (const _ of upTo(Math.min(few, n)))
      crowd.measured({ type: "task_claim", actor: a, task: null, labels: [], ...place });
    return Math.min(few, n);
  }),
  scenario("task", "that depends on the head of a chain", none, (crowd, n) => {
    const ids = taskChain(crowd, n);
    const [extra = ""] = tasks(crowd, 1);
    for (const i of upTo(few)) crowd.measured(depend(extra, i % 2 === 0 ? [ids.at(-1) ?? ""] : []));
    return few;
  }),
  scenario("task", "at the foot of a chain that depends on another", none, (crowd, n) => {
    const [foot = ""] = taskChain(crowd, n);
    const [extra = ""] = tasks(crowd, 1);
    for (const i of upTo(few)) crowd.measured(depend(foot, i % 2 === 0 ? [extra] : []));
    return few;
  }),
  scenario("task", "that is done and lets others begin", limits.taskDependentsMax, (crowd, n) => {
    const [first = ""] = tasks(crowd, 1);
    for (let at = 0; at < n; at += limits.tasksPerRequestMax) {
      const count = Math.min(limits.tasksPerRequestMax, n - at);
      crowd.before(create(upTo(count).map(() => ({ ...task(), dependsOn: [first] }))));
    }
    crowd.measured({ ...depend(first, null), status: "done" });
    return n;
  }),
  scenario("context", "set among other keys", limits.contextKeysMax - few, (crowd, n) => {
    for (const i of upTo(n)) crowd.before(put(`k${i}`));
    for (const i of upTo(few)) crowd.measured(put(`e${i}`));
    return few;
  }),
  scenario("write", "noted among files with uncommitted work", limits.writesMax - few, (crowd, n) => {
    crowd.before(begin("a"));
    note(crowd, a, n);
    for (const i of upTo(few)) crowd.measured(written(a, [n + i]));
    return few;
  }),
  scenario("hold on edits", "that sends away who waits, among others who wait", queuedMax, (crowd, n) => {
    // As many at every size: each broadcast goes to all of them.
    for (const i of upTo(20)) crowd.before(begin(`h${i}`));
    const sent = files(Math.min(20, n));
    take(crowd, a, files(n));
    waitFor(crowd, b, files(n));
    for (const [i, one] of sent.entries()) {
      const [by, hold] = [actor(`h${i}`), { files: [one], ttlMs: 600_000 }];
      crowd.measured({ type: "broadcast", actor: by, project, text: "x", bytes: 1, wallMs: 1, hold });
    }
    return sent.length;
  }),
];

/** Every kind of step, and what there may be many of. */
export const scenarios: readonly Scenario[] = [
  ...requests,
  ...grants,
  ...releases,
  ...ends,
  ...expiries,
  ...snapshots,
  ...others,
];

export function scenario(kind: string, what: string, most: number, run: Scenario["run"]): Scenario {
  return { kind, what, most, run };
}

/** Sessions `s0` to `s<n>`: each holds a file, and waits for that of the next one. */
function chain(crowd: Crowd, n: number): void {
  for (const i of upTo(n + 1)) crowd.before(lock(actor(`s${i}`), [file(i)]));
  for (const i of upTo(n)) crowd.before(lock(actor(`s${i}`), [file(i + 1)]));
}

export function say(by: Actor | null, to: string, text: string): Command {
  const message = { text, bytes: text.length, wallMs: 1, agents: [], replyTo: null, urgent: false };
  return { type: "message_send", actor: by, project, to, ...message };
}

function ackAll(crowd: Crowd, session: string): Command {
  const messages = [...lettersOf(crowd.state.messages, session)].map(([{ id }]) => id);
  return { type: "message_ack", actor: actor(session), messages };
}

function task(): NewTask {
  return { name: null, description: "something", priority: "normal", labels: [], dependsOn: [] };
}

function create(added: readonly NewTask[]): Command {
  return { type: "task_create", by: null, tasks: added, many: true, project, wallMs: 1 };
}

function tasks(crowd: Crowd, n: number): string[] {
  const before = crowd.state.tasks.all.size;
  for (let at = 0; at < n; at += limits.tasksPerRequestMax)
    crowd.before(create(upTo(Math.min(limits.tasksPerRequestMax, n - at)).map(() => task())));
  return [...crowd.state.tasks.all.keys()].slice(before);
}

/** Tasks of which each depends on the one before; the first depends on none. */
function taskChain(crowd: Crowd, n: number): string[] {
  const before = crowd.state.tasks.all.size;
  for (let at = 0; at < n; at += limits.tasksPerRequestMax) {
    const last = [...crowd.state.tasks.all.keys()].at(-1);
    const count = Math.min(limits.tasksPerRequestMax, n - at);
    const added = upTo(count).map(i => {
      const on = i > 0 ? [`t${i - 1}`] : last === undefined ? [] : [last];
      return { ...task(), name: `t${i}`, dependsOn: on };
    });
    crowd.before(create(added));
  }
  return [...crowd.state.tasks.all.keys()].slice(before);
}

function depend(id: string, dependsOn: readonly string[] | null): Extract<Command, { type: "task_update" }> {
  const same = { status: null, result: null, description: null, priority: null, labels: null };
  return { type: "task_update", by: null, task: id, ...same, dependsOn, ...place };
}

export function put(key: string, wallMs = 1): Command {
  const value = { value: 1, bytes: 1, durable: false, ifVersion: null, ttlMs: null, wallMs };
  return { type: "context_set", actor: null, project, key, ...value };
}

function written(by: Actor, numbers: readonly number[]): Command {
  const names = numbers.map(i => {
    const { key, file: name } = file(i, "work");
    return { key, file: name, worktree: project, project };
  });
  const noted = { files: names, by: "edit", ancestors: [], wallMs: 1 } as const;
  return { type: "flight_end", actor: by, flight: null, wrote: true, noted };
}

function note(crowd: Crowd, by: Actor, n: number): void {
  for (let at = 0; at < n; at += 100) crowd.before(written(by, upTo(Math.min(100, n - at), at)));
}
