/**
 * A seeded world: the real engine and core over a journal that may fail at any point, with many actors, closing
 * connections, dying processes, jumping clocks. After every entry the oracle checks the invariants, and after every
 * few the core's own `check`; after every crash the state that comes back is compared with the one that was.
 */

import type { Bound, FileRef, Origin } from "../../daemon/core/frame/actors.ts";
import { type Actor, withoutCommand } from "../../daemon/core/frame/actors.ts";
import { check } from "../../daemon/core/slices.ts";
import { emptyState, readState, writeState } from "../../daemon/core/snapshot.ts";
import type { State, TableName } from "../../daemon/core/state.ts";
import {
  firstRulesLevel,
  type Hold,
  type KeptReply,
  type Token,
} from "../../daemon/core/tables/base-state.ts";
import type { Command, CommandOf, Entry, Reply, Step } from "../../daemon/core/tables/entries.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { Engine } from "../../daemon/engine/engine.ts";
import { rebuild } from "../../daemon/engine/replay.ts";
import { resourceRef } from "../../daemon/facts/facts.ts";
import type { Found, Journal } from "../../daemon/journal/journal.ts";
import { lateRunner } from "../../daemon/lead/merges.ts";
import { limits } from "../../protocol/limits.ts";
import { opened } from "../journal/commands.ts";
import { lockTerms } from "../lock-terms.ts";
import { CheckLives } from "./checks.ts";
import { CommandLives } from "./commands.ts";
import { CopyLives } from "./copies.ts";
import { DebateLives, type DebatesBefore, debatesBefore } from "./debates.ts";
import { DeclareLives } from "./declares.ts";
import { agents, ancestorsOf, descendantsOf } from "./families.ts";
import { FileHost, type Host, type HostName, MemoryHost, SimulatedClock } from "./host.ts";
import { changed, keptOf, leftBound, notUnbound } from "./kept.ts";
import { flyingBefore, LateWrites } from "./late.ts";
import { leftRunners, MergeLives } from "./merges.ts";
import { NameLives } from "./names.ts";
import { NoteLives, notesBefore } from "./notes.ts";
import { endedEarly, type Granted, isHeir, notReturned, overdue, wrongs } from "./oracle.ts";
import { misplaced } from "./positions.ts";
import { Random } from "./random.ts";
import { type ReleaseBefore, ReleaseLives, releaseBefore } from "./releases.ts";
import { keptBefore, ReadReplies } from "./replies.ts";
import { RoleLives, type RolesBefore, rolesBefore } from "./roles.ts";
import { RoomLives } from "./room.ts";
import { KeptWorks } from "./session-works.ts";
import { SpawnLives, type SpawnsBefore, spawnsBefore } from "./spawns.ts";
import { StepTimes } from "./step-times.ts";
import { TalkLives } from "./talk.ts";
import { TaskLives, type TasksBefore, tasksBefore } from "./tasks.ts";
import { TeammateLives } from "./teammates.ts";
import { textsOf, touchedBy, untold } from "./touched.ts";
import { repliedBefore, UnseenFlights } from "./unseen.ts";
import { WorkLives } from "./work.ts";

export class Violation extends Error {
  override readonly name = "Violation";
}

/** A client's connection as the world sees it. */
interface Client {
  readonly connection: number;
  readonly actor: Actor;
  /** `dying`: the client is gone, but the daemon has not noticed. */
  state: "open" | "dying" | "closed";
  bound: boolean;
  merges: boolean;
  readonly waiting: Set<number>;
}

/** The state when a life ended. */
interface Lived {
  readonly seq: number;
  readonly text: string;
  readonly kept: ReadonlyMap<string, string>;
}

/** What an entry may change, as it was before. */
interface Before {
  readonly released: ReleaseBefore;
  /** The writes in flight of a hold that is about to yield. */
  readonly yielding: readonly string[] | undefined;
  readonly holds: readonly Hold[];
  readonly tasks: TasksBefore;
  readonly debates: DebatesBefore;
  readonly roles: RolesBefore;
  readonly spawns: SpawnsBefore;
  readonly notes: ReturnType<typeof notesBefore>;
  readonly flying: ReturnType<typeof flyingBefore>;
  readonly kept: KeptReply | undefined;
  readonly replied: Reply | undefined;
}

/** `tell`: every entry goes to the transcript. `audit`: so is looked at what entries change that should not. */
export interface Looks {
  readonly tell: boolean;
  readonly audit: boolean;
  /** Clients do little but merge: bugs there are rare among all that clients do. */
  readonly merges?: boolean;
  /** Actors run commands under locks of their own, as they do with every seventh seed. */
  readonly commands?: boolean;
  /** Clients lock a resource where they would lock `c`, as they do with every seventh seed. */
  readonly resources?: boolean;
  /** Agents of a client send events of hooks, instead of all else (`hooks/world.ts`). */
  readonly hooks?: boolean;
  /** Kite only observes these agents. */
  readonly observes?: boolean;
}

type LockCommand = CommandOf<"lock_request">;

/**
 * Entries from one run of the core's own check to the next: what it finds stays wrong, for the most part, and it takes
 * longer than all else. It runs before every crash and whenever the world settles, too.
 */
const checkEvery = 8;

const sessions = ["ann", "bob", "cyd", "dan", "eve", "fay"] as const;
const files = ["a", "b", "c", "src/d", "src/e", "src/", "src/deep/f", "src/deep/"] as const;

export interface Counts {
  readonly commands: Map<string, number>;
  readonly replies: Map<string, number>;
}

export class World {
  readonly random: Random;
  readonly clock: SimulatedClock;
  readonly host: Host;
  readonly transcript: string[] = [];
  readonly counts: Counts = { commands: new Map(), replies: new Map() };
  readonly #tell: boolean;
  readonly #hasResources: boolean;
  readonly #audit: boolean;
  /** Slices that entries touched since the core's own check looked at them. */
  readonly #unchecked = new Set<TableName>();
  /** Which of `checkEvery` entries the check follows: another one with another seed. */
  readonly #checkedAt: number;
  #engine: Engine | null = null;
  /** The state as an observer sees it who applies every delivered entry himself, voided ones left out. */
  #shadow: State = emptyState(firstRulesLevel);
  #shadowVoided = new Set<number>();
  /** The shadow's slices as an audit saw them after the last entry; null where another state may be there since. */
  #texts: ReadonlyMap<TableName, string> | null = null;
  #clients: Client[] = [];
  #connections = 0;
  #life = 0;
  /** Requests with a requestId, some of which are sent again. */
  #retried: LockCommand[] = [];
  #lastToken: readonly [number, number] = [0, 0];
  /** Every token so far, with who got it. */
  readonly #tokens = new Map<string, string>();
  /** The very actor that a token was seen with last: of one that is the same nothing new is to be noted. */
  readonly #noted = new Map<string, Actor>();
  /** Those of a process that went on under another id: their grants may still be on the way. */
  readonly #renamed = new Set<string>();
  /** Requests whose grant a living client heard of; every other grant must be undone. */
  readonly #heardGrants = new Set<string>();
  #epochSeen = 0;
  #poisons = 0;
  #fatal: Error | null = null;
  readonly #tickets = new Map<string, number>();
  /** Where the entries stored so far came from, and their places. */
  readonly #stored = new Map<string, number>();
  readonly #tasks: TaskLives;
  readonly #debates: DebateLives;
  readonly #spawns: SpawnLives;
  readonly #work: WorkLives;
  readonly #talk: TalkLives;
  readonly #times = new StepTimes();
  readonly #notes: NoteLives;
  readonly #late: LateWrites;
  readonly #unseen: UnseenFlights;
  readonly #room: RoomLives;
  readonly #works = new KeptWorks();
  readonly #declares: DeclareLives;
  readonly #teammates: TeammateLives;
  readonly #releases: ReleaseLives;
  readonly #roles: RoleLives;
  readonly #names: NameLives;
  readonly #checks: CheckLives;
  readonly #merges: MergeLives;
  readonly #commands: CommandLives;
  readonly #copies = new CopyLives();
  readonly #replies = new ReadReplies();
  /** The last entry that a client heard of as safe on disk. */
  #safeSeq = 0;

  constructor(
    seed: number,
    host: HostName,
    { tell, audit, merges = false, commands = false, resources = false }: Looks,
  ) {
    this.random = new Random(seed);
    this.clock = new SimulatedClock(1_700_000_000_000);
    this.host =
      host === "file" ? new FileHost(this.random.fork(), this.clock) : new MemoryHost(this.random.fork());
    this.#tell = tell;
    this.#hasResources = resources || seed % 7 === 3;
    this.#audit = audit;
    this.#checkedAt = seed % checkEvery;
    this.#tasks = new TaskLives(this.random.fork());
    this.#work = new WorkLives(this.random.fork());
    this.#talk = new TalkLives(this.random.fork());
    this.#notes = new NoteLives(new Random(~seed), new Random(seed ^ 0x57a54));
    this.#debates = new DebateLives(new Random(seed ^ 0xdeba7e));
    this.#spawns = new SpawnLives(new Random(seed ^ 0x59a37));
    this.#room = new RoomLives(new Random(seed ^ 0x400e));
    this.#declares = new DeclareLives(new Random(seed ^ 0xdec1));
    this.#teammates = new TeammateLives(new Random(seed ^ 0x7ea3));
    this.#releases = new ReleaseLives(new Random(seed ^ 0x4e1ea5e));
    this.#roles = new RoleLives(new Random(seed ^ 0x401e5));
    this.#names = new NameLives(new Random(seed ^ 0x4a3e5));
    this.#late = new LateWrites(new Random(seed ^ 0x1a7e));
    this.#unseen = new UnseenFlights(new Random(seed ^ 0x0a3ee4));
    this.#checks = new CheckLives(new Random(seed ^ 0xc4ec));
    this.#commands = new CommandLives(new Random(seed ^ 0xc033a), commands || seed % 7 === 0);
    this.#merges = new MergeLives(new Random(seed ^ 0x3e46e), merges);
  }

  async start(): Promise<void> {
    this.#life += 1;
    const life = this.#life;
    const journal = this.#watched(this.host.journal());
    const starting = Engine.start({
      journal,
      clock: this.clock,
      node: "local",
      storeId: "store",
      onStep: (entry, _step, _state, replayed) => {
        if (!replayed && life === this.#life) this.#unbindLate(entry);
      },
      onTrouble: () => {},
      // What a process that was killed would still have said, nobody hears.
      onFatal: error => {
        if (life === this.#life) this.#fatal = error;
      },
      soon: task => queueMicrotask(task),
      snapshotEntries: 150,
    });
    this.#engine = await this.#pump(starting);
    this.#shadowVoided = new Set(this.#engine.voided);
    const { epoch } = this.#engine;
    if (epoch <= this.#epochSeen) throw new Violation(`epoch ${epoch} was used before`);
    this.#epochSeen = epoch;
    this.#say(`start: epoch ${epoch}, seq ${this.#engine.state.seq}`);
    for (const line of this.#unseen.lines(this.#engine.state)) this.#engine.submitWithRetry(line);
  }

  /** One step: something happens, and some of what is under way goes on. */
  async step(): Promise<void> {
    this.#happen();
    this.host.tick();
    // Promises of the journal and the engine go on here.
    await null;
    await null;
    if (this.host.isDown) await this.crash();
    if (this.#fatal !== null) throw this.#fatal;
  }

  /** A crash to come, in the middle of a write if the host has such. */
  strike(): void {
    this.host.strike();
  }

  /** Everything under way is done: nothing may be overdue, nothing granted to nobody, and replay equals life. */
  async settle(): Promise<void> {
    if (this.host.isDown) await this.crash();
    const engine = this.#running();
    for (let n = 0; n < 50; n += 1) {
      this.clock.pass(limits.fullRetryMs);
      this.host.settle();
      await this.#turns(8);
    }
    if (this.host.isDown) {
      await this.crash();
      return this.settle();
    }
    for (const wrong of this.#checked()) throw new Violation(wrong);
    for (const wrong of overdue(engine.state)) throw new Violation(wrong);
    for (const wrong of this.#unseen.overdue(engine.state)) throw new Violation(wrong);
    for (const wrong of this.#talk.overdue(engine.state)) throw new Violation(wrong);
    for (const wrong of this.#spawns.overdue(engine.state)) throw new Violation(wrong);
    const open = new Set(this.#clients.map(({ connection }) => connection));
    for (const wrong of leftBound(engine.state, n => open.has(n))) throw new Violation(wrong);
    for (const wrong of leftRunners(engine.state, n => open.has(n))) throw new Violation(wrong);
    for (const { key: path, origin, askedAgain } of engine.state.locks.holds.values()) {
      const told = [origin, ...askedAgain];
      if (askedAgain.length >= limits.grantAnswersMax) continue;
      if (told.some(one => one.epoch !== engine.epoch || this.#heardGrants.has(key(one)))) continue;
      throw new Violation(`${path} stays granted to nobody`);
    }
    for (const wrong of this.#replies.overdue(engine.state)) throw new Violation(wrong);
    const text = writeState(engine.state);
    if (text !== writeState(readState(text))) throw new Violation("the state reads back as another one");
    if (text !== writeState(this.#shadow)) throw new Violation("the engine's state is not that of its log");
  }

  async crash(): Promise<void> {
    for (const wrong of this.#checked()) throw new Violation(wrong);
    const power = this.random.chance(0.5);
    const before = this.#running().state;
    const lived = { seq: before.seq, text: writeState(before), kept: keptOf(before) };
    this.#say(power ? "power cut" : "process killed");
    this.#engine = null;
    this.#fatal = null;
    this.#life += 1;
    this.host.crash(power);
    this.clock.restart(this.random.pick([0, 5, 1000, -60_000, 3_600_000]));
    for (const client of this.#clients) client.state = "closed";
    this.#clients = [];
    this.#tickets.clear();
    this.#stored.clear();
    await this.#compareRecovery(lived, power);
    await this.start();
  }

  /** What a start finds must be what was lived, up to where a power cut took things away. */
  async #compareRecovery(lived: Lived, power: boolean): Promise<void> {
    const probe = this.host.journal();
    const snapshot = await this.#pump(probe.loadSnapshot());
    const { entries } = await this.#pump(opened(probe, snapshot?.seq ?? 0));
    const upTo = entries.filter(e => e.seq <= lived.seq);
    const last = upTo.at(-1)?.seq ?? snapshot?.seq ?? 0;
    if (!power && last < lived.seq) {
      throw new Violation(`entries ${last + 1} to ${lived.seq} were delivered and are lost`);
    }
    if (last < this.#safeSeq)
      throw new Violation(`entry ${this.#safeSeq} was acknowledged as safe and is lost`);
    if (last === lived.seq) {
      const { state } = rebuild(snapshot, upTo, this.#shadowVoided);
      if (writeState(state) !== lived.text)
        throw new Violation(`replay to ${last} differs from what was lived`);
      for (const wrong of changed(state, lived.kept)) throw new Violation(wrong);
    }
    // An entry that threw once counts unless the log says that it is void: the next start may well apply it.
    const whole = rebuild(snapshot, entries);
    this.#shadow = whole.state;
    this.#texts = null;
    this.#times.restart();
    this.#tasks.restarted(entries, this.#shadow);
    this.#debates.restarted(entries, this.#shadow);
    this.#spawns.restarted(entries, this.#shadow);
    this.#work.restarted(this.#shadow);
    this.#notes.restarted(this.#shadow);
    this.#late.restarted(this.#shadow);
    this.#unseen.restarted(this.#shadow);
    this.#room.restarted(this.#shadow);
    this.#declares.restarted();
    this.#checks.restarted(this.#shadow);
    this.#merges.restarted(this.#shadow);
    this.#names.restarted(this.#shadow);
    this.#talk.restarted(entries, this.#shadow);
    for (const wrong of this.#talk.lost(this.#shadow)) throw new Violation(wrong);
    for (const wrong of this.#tasks.lost(this.#shadow)) throw new Violation(wrong);
    for (const wrong of this.#checks.lost(this.#shadow)) throw new Violation(wrong);
    for (const wrong of this.#merges.lost(this.#shadow)) throw new Violation(wrong);
    for (const wrong of this.#debates.lost(this.#shadow)) throw new Violation(wrong);
    for (const wrong of this.#spawns.lost(this.#shadow)) throw new Violation(wrong);
    // A power cut may have taken a session's new name away again: its tokens are the old one's.
    const holds = [...this.#shadow.locks.holds.values()];
    for (const { token, actor } of [...holds, ...holds.flatMap(lentTokens)]) {
      this.#tokens.set(`${this.#shadow.storeId}.${token.epoch}.${token.grant}`, nameOf(actor));
    }
    this.#epochSeen = Math.max(this.#epochSeen, this.#shadow.epoch);
    this.host.crash(false);
  }

  /** The journal, with everything it delivers applied once more by the observer and checked. */
  #watched(journal: Journal): Journal {
    const world = this;
    return new Proxy(journal, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === "open") {
          return (after: number, deliver: (batch: readonly Entry[]) => void, found: Found) => {
            const watched = (batch: readonly Entry[]) => {
              for (const entry of batch) world.#observe(entry);
              deliver(batch);
            };
            return target.open(after, watched, found);
          };
        }
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  #observe(entry: Entry): void {
    this.#stored.set(key(entry.origin), entry.seq);
    count(this.counts.commands, entry.command.type);
    const state = this.#shadow;
    const before = this.#before(state, entry);
    const texts = this.#audit ? (this.#texts ?? textsOf(state)) : null;
    this.#texts = null;
    let step: Step;
    let slow: string | null;
    try {
      ({ step, slow } = this.#times.run(state, entry));
    } catch {
      // The poison: what the engine makes of it is compared when the world settles.
      this.#shadowVoided.add(entry.seq);
      this.#say(`#${entry.seq} threw`);
      return;
    }
    this.#say(() => `#${entry.seq} ${words(entry.command)} → ${outcome(step.reply)}`);
    if (slow !== null) throw new Violation(slow);
    if (step.reply === null && entry.command.type === "lock_request") {
      const waiter = [...state.locks.waiters.values()].find(w => w.origin?.n === entry.origin.n);
      if (waiter !== undefined) this.#tickets.set(key(entry.origin), waiter.ticket);
    }
    for (const { to, grant } of step.answers)
      if (grant !== null) this.#say(`   granted to ${grant.actor.session} (${to.n})`);
    for (const wrong of this.#wrongs(entry, step, before)) throw new Violation(wrong);
    if (texts !== null) {
      this.#texts = textsOf(state);
      for (const wrong of untold(texts, this.#texts, entry, step)) throw new Violation(wrong);
    }
    this.#noteTokens(state, entry, step, before.replied);
  }

  #before(state: State, entry: Entry): Before {
    return {
      yielding: this.#yielding(state, entry),
      holds: [...state.locks.holds.values()],
      tasks: tasksBefore(state, entry),
      released: releaseBefore(state, entry),
      debates: debatesBefore(state, entry),
      roles: rolesBefore(state, entry),
      spawns: spawnsBefore(state, entry),
      notes: notesBefore(state),
      flying: flyingBefore(state),
      kept: keptBefore(state, entry),
      replied: repliedBefore(state, entry),
    };
  }

  /** Everything that is wrong after an entry, in what it can have touched. */
  *#wrongs(entry: Entry, step: Step, before: Before): Generator<string, void> {
    const state = this.#shadow;
    const touched = touchedBy(entry, step);
    const granted = this.#granted(entry, step, before.holds);
    if (touched.has("locks") || granted.length > 0) yield* wrongs(state, granted);
    const origins = new Set(granted.map(({ origin }) => key(origin)));
    const locks =
      granted.length === 0 ? [] : [...state.locks.holds.values()].filter(h => origins.has(key(h.origin)));
    yield* this.#talk.observe(state, entry, step, locks, touched);
    if (before.yielding?.length && step.reply?.ok) yield `a hold yielded with ${before.yielding} in flight`;
    yield* notReturned(state, before.holds, entry.command);
    yield* endedEarly(state, before.holds, entry.command);
    yield* this.#releases.observe(state, entry, step.reply, before.holds, before.released);
    yield* this.#tasks.observe(state, before.tasks, entry, step.reply, touched, before.roles);
    yield* this.#names.observe(state, entry, step);
    yield* this.#roles.observe(state, entry, step, before.roles, before.tasks);
    yield* this.#debates.observe(state, entry, step, before.debates, before.tasks, touched);
    yield* this.#spawns.observe(state, entry, step, before.spawns);
    yield* this.#work.observe(state, entry, step, touched);
    yield* notUnbound(state, entry);
    yield* this.#late.observe(state, entry, step, before.flying, touched);
    yield* this.#unseen.observe(state, entry, step, before.flying, before.replied);
    yield* this.#notes.observe(state, entry, step, before.notes, touched, before.tasks);
    yield* this.#replies.observe(state, entry, before.kept);
    yield* this.#room.observe(state, entry, step);
    yield* this.#declares.observe(state, entry, step);
    yield* this.#checks.observe(state, entry, touched);
    yield* this.#merges.observe(state, entry, step, touched);
    yield* this.#copies.observe(state);
    for (const slice of touched) this.#unchecked.add(slice);
    if (entry.seq % checkEvery === this.#checkedAt) yield* this.#checked();
  }

  /** What the core's own check says of all that entries touched since it looked last, and what else is looked at then. */
  #checked(): string[] {
    const wrong = check(this.#shadow, [...this.#unchecked]);
    this.#unchecked.clear();
    return [...wrong, ...misplaced(this.#shadow), ...this.#works.wrongs(this.#shadow)];
  }

  /** The writes in flight of a hold that is about to yield. */
  #yielding(state: State, { command }: Entry): readonly string[] | undefined {
    if (command.type !== "elapse" || command.due.what !== "yield_over") return undefined;
    return state.locks.holds.get(command.due.key)?.flights;
  }

  #granted({ origin, seq, command }: Entry, step: Step, before: readonly Hold[]): Granted[] {
    const granted: Granted[] = [];
    const heirs = step.answers.flatMap(a => a.grant?.actor ?? []);
    const inherits = (actor: Actor) =>
      [...before.flatMap(ownersOf), ...heirs].some(
        a =>
          a.session === actor.session &&
          (ancestorsOf(actor.agent).includes(a.agent) ||
            (actor.command !== undefined && a.agent === actor.agent)),
      );
    for (const { to, grant } of step.answers) {
      const ticket = this.#tickets.get(key(to));
      if (grant !== null && ticket !== undefined)
        granted.push({ origin: to, ticket, inherited: inherits(grant.actor) });
    }
    if (command.type === "lock_request" && step.reply?.ok) {
      granted.push({ origin, ticket: seq, inherited: inherits(command.actor) });
    }
    return granted;
  }

  #happen(): void {
    const { random } = this;
    const declare = this.#declares.next(this.#running().state, sessions);
    if (declare !== null) this.#submit(this.#connect(declare.actor), declare);
    const named = this.#teammates.next(sessions);
    if (named !== null) {
      const { session, agent } = named;
      this.#submit(this.#connect({ session, agent, incarnation: 0 }), named);
    }
    const release = this.#releases.next(this.#running().state, sessions);
    const asking = this.#clients.find(({ state }) => state === "open");
    if (release !== null && asking !== undefined) this.#submit(asking, release);
    if (this.#debates.isNext()) this.#debate();
    this.#role();
    const spawning = this.#spawns.next(this.#running().state, sessions);
    if (spawning !== null) this.#submit(this.#connect(spawning.actor), spawning.command);
    const shown = this.#unseen.next(this.#running().state);
    if (shown !== null && asking !== undefined) this.#submit(asking, shown);
    this.#command();
    const roll = random.int(1, 152);
    this.#check();
    this.#merge();
    if (roll > 132) this.#speak();
    else if (roll > 120) this.#write();
    else if (roll > 100) this.#task();
    else if (roll <= 40) this.#lock();
    else if (roll <= 55) this.#unlock();
    else if (roll <= 60) this.#flight();
    else if (roll <= 66) this.#close();
    else if (roll <= 70) this.#turnEnd();
    else if (roll <= 77) this.#begin();
    else if (roll <= 79) this.#end();
    else if (roll <= 81) this.#lose();
    else if (roll <= 82) this.#revoke();
    else if (roll <= 83) this.#poison();
    else if (roll <= 95) this.clock.pass(random.int(0, 3000));
    else if (roll <= 99) this.clock.pass(random.int(1000, 60_000));
    else this.clock.pass(random.int(60_000, 900_000));
  }

  /**
   * What somebody holds is asked for by one who works for him, or by a stranger who then waits: alone, or with what
   * the holder waits for.
   */
  #crowd(): void {
    const { random } = this;
    const holds = [...this.#running().state.locks.holds.values()];
    if (holds.length === 0) return;
    const hold = random.pick(holds);
    const { file, lexical, key: path, dir, actor } = hold;
    const heirs = descendantsOf(actor.agent);
    const isHeir = heirs.length > 0 && random.chance(0.6);
    const { session, incarnation } = actor;
    const who = isHeir ? { session, agent: random.pick(heirs), incarnation } : this.#client().actor;
    const wanted = [{ file, lexical, key: path, dir }, this.#ref(random.pick(files))];
    const named = random.chance(0.6) ? wanted.slice(0, 1) : wanted;
    const isTurn = random.chance(0.5);
    this.#submit(this.#connect(who), {
      ...lockOf(who),
      files: [...new Map(named.map(one => [one.key, one])).values()],
      single: named.length === 1,
      kind: isTurn ? "turn" : "explicit",
      prompt: isTurn ? "p1" : null,
      flight: isTurn && random.chance(0.4) ? `use${random.int(1, 30)}` : null,
      waitMs: 600_000,
      depth: 16,
      ancestors: ancestorsOf(who.agent),
    });
  }

  /** One has many files for which another one waits, and gives them up at once. */
  #pile(): void {
    const { random } = this;
    const [one, other] = [this.#client(), this.#client()];
    const pile = Array.from({ length: 12 }, (_, n) => ref(`pile/${n}`));
    this.#submit(one, { ...lockOf(one.actor), files: pile, single: false });
    for (const file of pile) this.#submit(other, { ...lockOf(other.actor), files: [file], waitMs: 60_000 });
    if (random.chance(0.8)) this.#submit(one, { type: "lock_release", actor: one.actor, files: "all" });
  }

  #lock(): void {
    const { random } = this;
    if (random.chance(0.25)) {
      this.#crowd();
      return;
    }
    if (random.chance(0.003)) {
      this.#pile();
      return;
    }
    const client = this.#client();
    const isTurn = random.chance(0.4);
    const wanted =
      isTurn || random.chance(0.7) ? [random.pick(files)] : [random.pick(files), random.pick(files)];
    const bound = !isTurn && random.chance(0.2);
    if (this.#retried.length > 0 && random.chance(0.1)) {
      const again = random.pick(this.#retried.slice(-5));
      this.#submit(client, random.chance(0.9) ? again : { ...again, waitMs: 77, retry: digested(again, 77) });
      return;
    }
    const command: LockCommand = {
      ...lockOf(client.actor),
      files: [...new Set(wanted)].map(file => (isTurn ? ref(file) : this.#ref(file))),
      single: wanted.length === 1,
      kind: isTurn ? "turn" : "explicit",
      waitMs: random.pick([0, 1000, 30_000, 30_000, 600_000]),
      depth: random.pick([1, 3, 16]),
      placeMs: isTurn ? limits.placeMs : 0,
      detach: random.chance(0.1),
      prompt: isTurn ? random.pick(["p1", "p2"]) : null,
      flight: isTurn && random.chance(0.5) ? `use${random.int(1, 30)}` : null,
      ancestors: ancestorsOf(client.actor.agent),
      bound: bound ? { node: "local", epoch: this.#epochSeen, connection: client.connection } : null,
    };
    client.bound ||= bound;
    if (!random.chance(0.1)) {
      this.#submit(client, command);
      return;
    }
    const retry = { by: client.actor.session, requestId: `r${random.bits()}`, digest: "body" };
    const retried = { ...command, bound: null, retry };
    this.#retried.push(retried);
    this.#submit(client, retried);
    if (!this.random.chance(0.3)) return;
    // Its client goes before it can read the answer, and another one sends it again.
    client.state = "dying";
    if (this.random.chance(0.4)) this.#submit(this.#client(), retried);
  }

  /** A command takes files or gives them up, besides. */
  #command(): void {
    const chosen = this.#commands.next(this.#running().state);
    if (chosen === null) return;
    const { actor, next } = chosen;
    const client = this.#connect({
      session: actor.session,
      agent: actor.agent,
      incarnation: actor.incarnation,
    });
    if (next.does === "unlock") {
      const { file, lexical, key: path } = next.hold;
      this.#submit(client, { type: "lock_release", actor, files: [{ file, lexical, key: path }] });
      return;
    }
    client.bound = next.bound;
    this.#submit(client, {
      ...lockOf(actor),
      files: next.files.map(ref),
      single: next.files.length === 1,
      waitMs: next.waitMs,
      depth: 16,
      ancestors: ancestorsOf(actor.agent),
      bound: next.bound ? { node: "local", epoch: this.#epochSeen, connection: client.connection } : null,
    });
  }

  #task(): void {
    const client = this.#client();
    const { state } = this.#running();
    const command = this.#debates.required(state, this.#tasks.command(state, client.actor));
    this.#submit(client, this.#roles.rated(command));
  }

  /** Besides, as a check. */
  #role(): void {
    const client = this.#clients.find(({ state }) => state === "open");
    const command =
      client === undefined ? null : this.#roles.next(this.#running().state, sessions, client.actor);
    if (client !== undefined && command !== null) this.#submit(client, command);
    const rename = client === undefined ? null : this.#names.next(sessions, client.actor);
    if (client !== undefined && rename !== null) this.#submit(client, rename);
  }

  #debate(): void {
    const client = this.#client();
    const { state } = this.#running();
    for (const command of this.#debates.commands(state, client.actor)) this.#submit(client, command);
  }

  /** A check is recorded besides: by a client that is there, so that all else happens as it would without it. */
  #check(): void {
    const client = this.#clients.find(({ state }) => state === "open");
    if (client !== undefined && this.#checks.isNext())
      this.#submit(client, this.#checks.command(client.actor));
  }

  /** So is what runners do. */
  #merge(): void {
    const client = this.#merges.next(this.#clients.filter(({ state }) => state === "open"));
    if (client === null) return;
    const { state, epoch } = this.#running();
    const command = this.#merges.command(state, client.actor, client.connection, epoch);
    client.merges ||= command.type !== "merge_report" && command.type !== "merge_cancel";
    this.#submit(client, command);
  }

  #speak(): void {
    const client = this.#client();
    this.#submit(client, this.#talk.command(this.#running().state, client.actor, files.map(ref)));
  }

  #write(): void {
    const client = this.#client();
    const lives = this.#notes.isNext() ? this.#notes : this.#work;
    this.#submit(client, lives.command(this.#running().state, client.actor));
  }

  #ref(file: string): FileRef {
    return this.#hasResources && file === "c" ? resourceRef({ node: "local" }, "/p", "@db") : ref(file);
  }

  #unlock(): void {
    const client = this.#client();
    const mine = [...this.#running().state.locks.holds.values()].filter(
      h => h.actor.session === client.actor.session,
    );
    const all = this.random.chance(0.2);
    const held = mine.length > 0 && this.random.chance(0.8) ? this.random.pick(mine) : null;
    const { file, lexical, key: path } = held ?? this.#ref(this.random.pick(files));
    const named = [{ file, lexical, key: this.random.chance(0.5) ? path : null }];
    const owner = held?.actor ?? client.actor;
    const loan = held?.loan ?? null;
    // The lender may give up what a descendant of his uses.
    const lender = loan !== null && this.random.chance(0.4) ? loan.actor : null;
    const actor = lender ?? owner;
    this.#submit(client, { type: "lock_release", actor, files: all ? "all" : named });
  }

  #flight(): void {
    const client = this.#client();
    const { actor } = client;
    if (this.random.chance(0.1)) {
      this.#submit(client, { type: "lease_renew", actor });
      return;
    }
    const late = this.#late.command();
    if (late !== null) {
      this.#submit(client, late);
      return;
    }
    // Of a write from before a start its actor, if anything, tells late, as of one whose lock is gone.
    const flying = [...this.#running().state.locks.holds.values()].filter(
      h => h.flights.length > 0 && !this.#unseen.isLost(h.key),
    );
    const hold = flying.length > 0 ? this.random.pick(flying) : null;
    const flight = this.random.pick([...(hold?.flights ?? []), `use${this.random.int(1, 30)}`, null]);
    const wrote = this.random.chance(0.7);
    const writer = withoutCommand(hold?.actor ?? actor);
    this.#submit(client, { type: "flight_end", actor: writer, flight, wrote });
  }

  #turnEnd(): void {
    const client = this.#client();
    const keepPrompt = this.random.pick(["p1", "p2", null]);
    this.#submit(client, { type: "turn_end", actor: client.actor, keepPrompt });
  }

  #begin(): void {
    const client = this.#client();
    if (this.#room.isNext()) {
      const lock = (actor: Actor) => ({ ...lockOf(actor), files: [ref(`room/${actor.session}`)] });
      for (const command of this.#room.commands(client.actor, lock)) this.#submit(client, command);
    }
    const pid = this.random.int(1, 3);
    this.#submit(client, {
      type: "session_begin",
      session: client.actor.session,
      anchor: this.random.chance(0.5) ? { pid, startTime: "1" } : null,
      cwd: "/p",
      project: this.random.pick(["/p", "/q"]),
      worktree: "/p",
      branch: null,
      name: this.random.pick([null, "alice", "bob"]),
      revive: this.random.chance(0.95),
      wallMs: 0,
    });
  }

  #end(): void {
    const client = this.#client();
    const session = this.#running().state.sessions.live.get(client.actor.session);
    const incarnation = this.random.chance(0.5) ? null : (session?.incarnations.at(-1)?.ordinal ?? 0);
    if (this.random.chance(0.2)) {
      this.#submit(client, { type: "session_suspend", session: client.actor.session });
      return;
    }
    const cause = this.random.pick(["deregistered", "ended", "anchor_gone"] as const);
    this.#submit(client, { type: "session_end", session: client.actor.session, incarnation, cause });
  }

  #lose(): void {
    const client = this.#client();
    const session = client.actor.session;
    const begun = this.#running().state.sessions.live.get(session)?.begun ?? 0;
    if (this.random.chance(0.5)) this.#submit(client, { type: "session_lost", session, begun });
    else this.#submit(client, { type: "session_found", session });
  }

  #revoke(): void {
    const { file, lexical, key: path } = this.#ref(this.random.pick(files));
    this.#submit(this.#client(), {
      type: "lock_revoke",
      by: "a person",
      files: [{ file, lexical, key: path }],
    });
  }

  /**
   * A bug that shows once: the handler throws on the command as proposed, but would not on the one that is stored.
   * Two in a life, or the daemon stops.
   */
  #poison(): void {
    if (this.#poisons >= 2 || this.random.chance(0.8)) return;
    this.#poisons += 1;
    const client = this.#client();
    const whole = [ref(this.random.pick(files))];
    const command = { ...lockOf(client.actor), files: { toJSON: () => whole } };
    this.#submit(client, command as unknown as Command);
  }

  #close(): void {
    const open = this.#clients.filter(c => c.state === "open");
    if (open.length === 0) return;
    const lender = this.#lender(open);
    const client = lender !== undefined && this.random.chance(0.5) ? lender : this.random.pick(open);
    if (this.random.chance(0.4)) {
      client.state = "dying";
      return;
    }
    this.#closeNow(client);
  }

  /** One whose lock, bound to its connection, another agent uses. */
  #lender(open: readonly Client[]): Client | undefined {
    const { epoch, state } = this.#running();
    const lent = new Set<number>();
    for (const { loan } of state.locks.holds.values()) {
      for (let of = loan; of !== null; of = of.loan)
        if (of.bound?.epoch === epoch) lent.add(of.bound.connection);
    }
    return open.find(({ connection }) => lent.has(connection));
  }

  #closeNow(client: Client): void {
    client.state = "closed";
    this.#clients = this.#clients.filter(c => c !== client);
    const engine = this.#running();
    for (const n of client.waiting) engine.abandon(n);
    const bound = { node: "local", epoch: engine.epoch, connection: client.connection };
    if (client.bound) engine.submitWithRetry({ type: "lock_unbind", bound });
    if (client.merges) engine.submitWithRetry({ type: "merge_unbind", bound, wallMs: 0 });
  }

  /** As the daemon does it: a merge that a closed connection got late is taken from it. */
  #unbindLate(entry: Entry): void {
    const engine = this.#engine;
    if (engine === null) return;
    const isOpen = (connection: number) => this.#clients.some(client => client.connection === connection);
    const isClosed = ({ epoch, connection }: Bound) => epoch === engine.epoch && !isOpen(connection);
    const bound = lateRunner(entry, isClosed);
    if (bound !== null) engine.submitWithRetry({ type: "merge_unbind", bound, wallMs: 0 });
  }

  /** An open connection of somebody: one that is there, or a new one. */
  #client(): Client {
    const open = this.#clients.filter(c => c.state === "open");
    if (open.length > 0 && (open.length >= 20 || this.random.chance(0.7))) return this.random.pick(open);
    const agent = this.random.chance(0.35) ? this.random.pick(agents) : null;
    const session = this.random.pick(sessions);
    const incarnations = this.#running().state.sessions.live.get(session)?.incarnations;
    const incarnation = incarnations === undefined ? 0 : this.random.pick(incarnations).ordinal;
    return this.#connect({ session, agent, incarnation });
  }

  #connect(actor: Actor): Client {
    this.#connections += 1;
    const connection = this.#connections;
    const client: Client = {
      connection,
      actor,
      state: "open",
      bound: false,
      merges: false,
      waiting: new Set(),
    };
    this.#clients.push(client);
    return client;
  }

  #submit(client: Client, command: Command): void {
    const engine = this.#running();
    const n = engine.submit(command, {
      parked: () => {
        if (client.state === "closed") engine.abandon(n);
        else client.waiting.add(n);
      },
      answer: reply => {
        client.waiting.delete(n);
        if (engine !== this.#engine) return;
        const origin = { node: "local", epoch: engine.epoch, n };
        const seq = this.#stored.get(key(origin));
        if (client.state === "open") this.#replies.read(origin);
        else if (!reply.ok) this.#unread(engine, client, command, n);
        if (reply.ok && isSafe(command)) {
          this.#safeSeq = Math.max(this.#safeSeq, seq ?? 0);
          if (client.state === "open") this.#tasks.heard(command, reply);
          this.#checks.heard(command, reply, seq ?? 0);
          this.#merges.heard(command, reply);
          if (client.state === "open") this.#debates.heard(this.#shadow, command, reply);
          if (client.state === "open") this.#spawns.heard(this.#shadow, command, reply);
        }
        const next = this.#talk.heard(this.#shadow, command, reply, client.state === "open");
        if (next !== null) engine.submitWithRetry(next);
        if (reply.ok && seq === undefined) {
          this.#fatal ??= new Violation(`${command.type} (${n}) was answered before it was stored`);
        }
        this.#work.heard(command, reply);
        count(this.counts.replies, reply.ok ? "ok" : reply.code);
        this.#heard(engine, client, command, n, reply);
      },
    });
  }

  /** A refusal reached nobody. */
  #unread(engine: Engine, client: Client, command: Command, n: number): void {
    if ("retry" in command && command.retry !== undefined) engine.unheard(n, command.retry);
    if (client.state === "dying") this.#closeNow(client);
  }

  #heard(engine: Engine, client: Client, command: Command, n: number, reply: Reply): void {
    if (command.type !== "lock_request" || !reply.ok) return;
    if (client.state !== "open") {
      engine.undelivered(n, command, command.retry);
      if (client.state === "dying") this.#closeNow(client);
      return;
    }
    this.#heardGrants.add(key({ node: "local", epoch: engine.epoch, n }));
    this.#checkToken(String(reply["token"]), command);
  }

  /** What a client hears is a token that the log gave to this very actor. */
  #checkToken(token: string, command: LockCommand): void {
    const known = this.#tokens.get(token);
    const who = nameOf(command.actor);
    // A retry may bring a token that was granted in a life nobody observed to its end.
    if (known === undefined && command.retry !== undefined) return;
    if (known !== who && !this.#renamed.has(token))
      throw new Violation(`${who} hears of token ${token}, which went to ${known ?? "nobody"}`);
  }

  /** Tokens rise over all grants of all lives. */
  #noteTokens(state: State, { command }: Entry, step: Step, replied: Reply | undefined): void {
    // A process may go on under another id, and its tokens with it.
    const renamed = command.type === "session_begin";
    const holds = [...state.locks.holds.values()];
    const held: TokenOf[] = [...holds, ...holds.flatMap(lentTokens)];
    // What was passed on within the step is nobody's hold any more, but was granted all the same.
    for (const { reply, grant } of step.answers)
      if (grant !== null) held.push({ token: tokenIn(reply), actor: grant.actor });
    if (step.reply !== replied && isPassedOn(command, step))
      held.push({ token: tokenIn(step.reply), actor: command.actor });
    held.sort((a, b) => a.token.epoch - b.token.epoch || a.token.grant - b.token.grant);
    for (const { token, actor } of held) {
      const text = `${state.storeId}.${token.epoch}.${token.grant}`;
      if (this.#noted.get(text) === actor) continue;
      this.#noted.set(text, actor);
      const who = nameOf(actor);
      const known = this.#tokens.get(text);
      if (known === who) continue;
      if (known !== undefined && renamed) {
        this.#renamed.add(text);
        this.#tokens.set(text, who);
        continue;
      }
      if (known !== undefined) throw new Violation(`token ${text} went to ${known} and to ${who}`);
      const [epoch, grant] = this.#lastToken;
      if (token.epoch < epoch || (token.epoch === epoch && token.grant <= grant)) {
        throw new Violation(`token ${text} came after ${epoch}.${grant}`);
      }
      this.#lastToken = [token.epoch, token.grant];
      this.#tokens.set(text, who);
    }
  }

  /** Waits for a promise of the journal or the engine while the world's I/O goes on. */
  async #pump<T>(promise: Promise<T>): Promise<T> {
    let settled: { readonly value: T } | { readonly error: unknown } | null = null;
    promise.then(
      value => {
        settled = { value };
      },
      error => {
        settled = { error };
      },
    );
    for (let n = 0; n < 10_000; n += 1) {
      await this.#turns(4);
      const done = settled as { readonly value: T } | { readonly error: unknown } | null;
      if (done !== null) {
        if ("error" in done) throw done.error;
        return done.value;
      }
      this.host.settle();
    }
    throw new Violation("the daemon does not start");
  }

  async #turns(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) await null;
  }

  #running(): Engine {
    if (this.#engine === null) throw new Error("no daemon runs");
    return this.#engine;
  }

  #say(line: string | (() => string)): void {
    if (this.#tell) this.transcript.push(typeof line === "string" ? line : line());
  }
}

interface TokenOf {
  readonly token: Token;
  readonly actor: Actor;
}

function tokenIn(reply: Reply | null): Token {
  const [, epoch, grant] = String(reply?.ok && reply["token"]).split(".");
  return { epoch: Number(epoch), grant: Number(grant) };
}

/** Whether the request was granted, and one who works for its actor, and waited, took a lock of it over within the step. */
function isPassedOn(command: Command, { reply, answers }: Step): command is LockCommand {
  if (command.type !== "lock_request" || !reply?.ok) return false;
  const keys = new Set(command.files.map(file => file.key));
  return answers.some(({ grant }) => {
    if (grant === null || !grant.files.some(file => keys.has(file.key))) return false;
    const { actor } = grant;
    return isHeir({ actor, ancestors: ancestorsOf(actor.agent) }, command.actor);
  });
}

/** The tokens that lenders keep while commands have their locks. */
function lentTokens({ loan }: Pick<Hold, "loan">): TokenOf[] {
  if (loan === null) return [];
  const { token, actor } = loan;
  const others = lentTokens(loan);
  return token === undefined ? others : [{ token, actor }, ...others];
}

/** A token is its actor's, whichever of its commands has the lock. */
function nameOf(actor: Actor): string {
  return JSON.stringify(withoutCommand(actor));
}

/** Who has a hold, and to whom it comes back. */
function ownersOf({ actor, loan }: Hold): Actor[] {
  const owners = [actor];
  for (let lent = loan; lent !== null; lent = lent.loan) owners.push(lent.actor);
  return owners;
}

function ref(file: string) {
  const path = file.replace(/\/$/, "");
  return { file, lexical: `/p/${path}`, key: `local:/p/${path}`, dir: file.endsWith("/") };
}

/** A request for nothing yet that would be granted where it can be. */
function lockOf(actor: Actor): Omit<LockCommand, "files"> {
  return {
    type: "lock_request",
    actor,
    ...lockTerms,
    yieldMs: limits.yieldMs,
    project: "/p",
    cwd: "/p",
    wallMs: 0,
  };
}

/** The same requestId with another body. */
function digested({ retry }: LockRequest, body: number): NonNullable<LockRequest["retry"]> {
  return { by: retry?.by ?? "", requestId: retry?.requestId ?? "", digest: `body ${body}` };
}

function key(origin: Origin): string {
  return `${origin.epoch} ${origin.n}`;
}

/** What must be safe on disk before its client hears of it. */
function isSafe(command: Command): boolean {
  const { type } = command;
  if (type === "context_set") return command.durable;
  return (
    type.startsWith("task_") ||
    type.startsWith("debate_") ||
    [
      "message_send",
      "message_ack",
      "broadcast",
      "context_delete",
      "check_record",
      "role_set",
      "session_rename",
    ].includes(type) ||
    ["merge_queue", "merge_report", "merge_cancel"].includes(type) ||
    ["spawn_create", "spawn_update", "spawn_remove"].includes(type)
  );
}

function count(map: Map<string, number>, name: string): void {
  map.set(name, (map.get(name) ?? 0) + 1);
}

/** A command as a person reads it. */
function words(command: Command): string {
  const { type, ...rest } = command;
  const who =
    "actor" in rest && rest.actor !== null
      ? `${rest.actor.session}${rest.actor.agent ? `/${rest.actor.agent}` : ""}`
      : "";
  const what = "files" in rest && Array.isArray(rest.files) ? rest.files.map(f => f.file).join("+") : "";
  const more =
    type === "elapse" ||
    type === "daemon_started" ||
    /^(?:task|debate|spawn)_/.test(type) ||
    "session" in rest
      ? JSON.stringify(rest)
      : "";
  return [type, who, what, "kind" in rest ? rest.kind : "", more].filter(Boolean).join(" ");
}

function outcome(reply: Reply | null): string {
  if (reply === null) return "waits";
  return reply.ok ? `ok ${reply["token"] ?? ""}` : `${reply.code}: ${reply.error}`;
}
