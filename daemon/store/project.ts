/**
 * A project whose tasks, messages, context and debates several machines share.
 *
 * A step is one transaction. It locks the project's row and takes what others wrote. By the core's rules it works out what comes
 * of the requests that wait. Then it writes the rows that change, and commits. If nobody else wrote lately, a step is guessed: it
 * is worked out on the copy and sent in one round trip. The server does nothing if it has another step by then.
 *
 * Invariants: no answer leaves before its commit. A refusal is of the present: only the lock gives one. If nobody knows whether
 * a commit took effect, its requests go again under their ids, and what was done answers as it did. Rows that break the core's
 * rules cost an answer, never the daemon.
 */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import type { Actor } from "../core/frame/actors.ts";
import type { State } from "../core/state.ts";
import type { Command, CoreEvent, Due, Reply } from "../core/tables/entries.ts";
import { claimerOf, type Task, taskOf } from "../core/tables/tasks.ts";
import { whoOf } from "../core/tasks/replies.ts";
import { doerOf } from "../sessions/claim-watch.ts";
import type { Connection, Row } from "./connection.ts";
import { Copy, loadCopy, type StepChanges, type StoredRow, saveCopy } from "./copy.ts";
import { errorMessage, meaningOf } from "./errors.ts";
import { compareSessions, dropPartsOf, endSession, type PartValue, type Present } from "./roster.ts";
import { inward, kinds, type Names, outward } from "./rows.ts";
import { format, literal, textArray } from "./schema.ts";
import type { Store, StoreProject } from "./store.ts";

/** An answer. `version`: the step that did what was asked, which orders all of the project; null: none did. */
export interface Answer {
  readonly reply: Reply;
  readonly version: number | null;
}

/** What tells a repeated request: the same id and another digest is another request. */
export interface RequestId {
  readonly id: string;
  readonly digest: string;
}

/** A request that waits for its step. */
interface Waiting extends RequestId {
  readonly command: Command;
  readonly answer: (answer: Answer) => void;
  readonly timer: NodeJS.Timeout;
  /** A commit with it was sent, and nobody knows what became of it. */
  isUnknown: boolean;
  /** The same of an earlier commit: that the next one failed says nothing of it. */
  wasUnknown: boolean;
  isOver: boolean;
}

/** An answer as the store keeps it. */
type KeptReply = readonly [id: string, digest: string, reply: string];

/** A task that an agent of this machine worked on, as the copy had it. */
export interface HeldClaim {
  readonly task: Task;
  readonly claimer: Actor;
}

/** What a step comes to, if it is stored. */
interface Planned extends StepChanges {
  readonly replies: ReadonlyMap<Waiting, Answer>;
  readonly events: readonly CoreEvent[];
  /** The events as the store has them. */
  readonly told: readonly unknown[];
  /** Which of this machine's sessions are in it. */
  readonly presence: number;
}

/** What the store has of the project, behind what the copy has. */
interface Behind {
  readonly version: number;
  readonly stamp: string;
  readonly head: string;
  readonly rows: readonly StoredRow[];
  /** The steps, oldest first, as far as they are kept: the later ones if they are many. */
  readonly steps: readonly Row[];
  /** Nodes that were silent for so long that they have ended. */
  readonly gone: readonly string[];
  /** The database's time. */
  readonly nowMs: number;
}

export interface ProjectOptions {
  readonly store: Store;
  /** What all machines call it, and what this one does. */
  readonly name: string;
  readonly local: string;
  /** Where the copy is kept; null: nowhere. */
  readonly path: string | null;
  /** This machine's sessions that belong to the project, in all clones that share it under this name. */
  readonly present: () => Iterable<Present>;
  /** What others have to know of this machine there. */
  readonly ofMachine?: () => readonly PartValue[];
  /** Hears what a step told. `isOwn`: this daemon wrote the step. */
  readonly onEvents: (events: readonly CoreEvent[], isOwn: boolean) => void;
  /** What happened lately is not known event by event. `held`: what agents of this machine worked on before. */
  readonly onGap?: (held: readonly HeldClaim[]) => void;
  /** The store was reached, and the copy is what it has. */
  readonly onReached?: () => void;
}

export class SharedProject implements StoreProject {
  readonly #options: ProjectOptions;
  readonly #store: Store;
  readonly #table: (name: string) => string;
  #copy: Copy;
  /** Its number in the store; null: the store was not reached yet. */
  #number: number | null = null;
  readonly #waiting = new Set<Waiting>();
  /** Answers of this node, by the ids of their requests, as the store keeps them. */
  #kept = keptReplies();
  #hasReadKept = false;
  /** Requests whose callers heard that nobody knows whether they were done. They may come again. */
  readonly #unknown = new BoundedMap<string, true>({ entriesMax: limits.storeRepliesMax });
  #isStepping = false;
  #mustReload = false;
  /** The highest version that was told of. */
  #toldVersion = 0;
  #mustStep = false;
  #mustCount = false;
  #isOver = false;
  #due: Due[] = [];
  /** The stamp of the step that the file has. */
  #saved = "";
  #saving: Promise<void> = Promise.resolve();
  /** Rises when this machine's sessions or the rows may be others; and up to which of it the store was told. */
  #presence = 1;
  #compared = 0;
  /** Whether this start of the daemon has written a step, and the stamp of the last one that it sent. */
  #hasBegun = false;
  #sentStamp = "";
  /** Nobody else wrote lately. */
  #mayGuess = false;
  /** When the copy was known to be what the store has, by wall time in milliseconds; 0: never. */
  asOfMs = 0;
  readonly stats = { steps: 0, guesses: 0, missed: 0, reloads: 0, unknown: 0 };

  constructor(options: ProjectOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#table = options.store.table;
    this.#copy = this.#newCopy();
    if (options.path !== null) this.asOfMs = loadCopy(options.path, this.#copy, this.#store.id) ?? 0;
  }

  get name(): string {
    return this.#options.name;
  }

  get local(): string {
    return this.#options.local;
  }

  get number(): number | null {
    return this.#number;
  }

  /** What the store had at `asOfMs`. */
  get state(): State {
    return this.#copy.state;
  }

  get names(): Names {
    return this.#copy.names;
  }

  get version(): number {
    return this.#copy.version;
  }

  /** Stored rows that are left out, each with why. */
  get unfit(): readonly string[] {
    return [...this.#copy.unfit.values()];
  }

  /** Keeps the copy on the disk, if it is another one than the kept one. One is written at a time. */
  save(): Promise<void> {
    this.#saving = this.#saving.then(() => this.#saveNow());
    return this.#saving;
  }

  async #saveNow(): Promise<void> {
    const { path } = this.#options;
    if (path === null || this.#isOver || this.#copy.stamp === this.#saved || this.#mustReload) return;
    const { stamp } = this.#copy;
    try {
      await saveCopy(path, this.#copy, this.asOfMs, this.#store.id);
      this.#saved = stamp;
    } catch (error) {
      this.#store.trouble(`the copy of ${this.name} cannot be kept`, error);
    }
  }

  /** Asks for a change. A request with the same id is done once. Whoever asks while the store is away is refused at once. */
  submit(command: Command, request: RequestId = { id: randomUUID(), digest: "" }): Promise<Answer> {
    const refusal = this.#store.refusal ?? (this.#waiting.size < limits.storeWaitingMax ? null : crowded);
    const wasUnknown = this.#unknown.has(request.id);
    if (refusal !== null) return Promise.resolve({ reply: wasUnknown ? unknown : refusal, version: null });
    return new Promise(answer => {
      const timer = setTimeout(() => this.#late(waiting), this.#store.options.limits.answerMs);
      const state = { isUnknown: wasUnknown, wasUnknown, isOver: false };
      const waiting: Waiting = { ...request, command, answer, timer, ...state };
      this.#waiting.add(waiting);
      if (!this.#answerFromCopy(waiting)) this.#step();
    });
  }

  /**
   * Gives letters to an agent of this machine without a look at the store: nobody else gives these out. Returns whether it did:
   * not during a step, nor if the store has to hear of something besides.
   */
  #answerFromCopy(waiting: Waiting): boolean {
    if (waiting.command.type !== "inbox_take" || this.#isStepping || this.#number === null) return false;
    if (this.#mustReload) return false;
    const plan = this.#plan([waiting], [], this.#store.nowMs);
    if (plan === null || plan.stored.length > 0) return false;
    this.#accept(plan, null);
    return true;
  }

  /** This machine's sessions changed. */
  presentChanged(): void {
    this.#presence += 1;
    this.#mustStep = true;
    this.#step();
  }

  /**
   * A clone shares the project no more: its sessions are not present, and go from the rows. What follows is for the other
   * clones, if there are any, so the store forgets this one after that step. A later share begins with no copy of today.
   */
  end(): void {
    const { path } = this.#options;
    if (path !== null) this.#saving = this.#saving.then(() => rm(path, { force: true }));
    this.#isOver = true;
    this.presentChanged();
  }

  look(version?: number): void {
    // Without a version it is time to see what is due, and who is gone. One's own step is told of before its answer comes.
    if (version === undefined) this.#mustCount = true;
    else this.#toldVersion = Math.max(this.#toldVersion, version);
    this.#step();
  }

  away(): void {
    const refusal = this.#store.refusal ?? late;
    for (const waiting of this.#waiting)
      if (!waiting.isUnknown) this.#settle(waiting, { reply: refusal, version: null });
  }

  async reached(connection: Connection): Promise<void> {
    if (this.#number === null) await this.#findNumber(connection);
    // A kept copy is from before the store said how it calls this machine.
    this.#copy.names = { ...this.names, machine: this.#store.machine };
    const { version } = this.#copy;
    if (version === 0 || this.#mustReload) await this.#reload(connection, version > 0);
    else await this.#catchUp(connection);
    if (!this.#hasReadKept) await this.#readKept(connection);
    this.#mustStep = true;
    // What waits for its outcome goes again.
    setImmediate(() => {
      this.#step();
      this.#options.onReached?.();
    });
  }

  #newCopy(): Copy {
    const { options, machine } = this.#store;
    return new Copy({ node: options.node, machine, project: this.#options.local, shared: this.name });
  }

  async #findNumber(connection: Connection): Promise<void> {
    const projects = this.#table("projects");
    // Fails without the index on names, which a backup brings last: until then rows are missing, and none may be added.
    const insert = `INSERT INTO ${projects} (name) VALUES ($1) ON CONFLICT (name) DO NOTHING`;
    await connection.query(insert, [this.name]);
    const [row] = await connection.query(`SELECT id FROM ${projects} WHERE name = $1`, [this.name]);
    this.#number = Number(row?.[0]);
  }

  /** Reads this node's answers of the last hour: their requests may come again. */
  async #readKept(connection: Connection): Promise<void> {
    const later = [...this.#kept.entries()];
    const steps = await connection.query(
      `SELECT version, replies FROM ${this.#table("steps")} WHERE project = $1 AND node = $2 AND replies <> '[]'
         AND version <= $3 AND at > now() - interval '1 hour' ORDER BY version DESC LIMIT $4`,
      [this.#number, this.#store.options.node, this.#copy.version, limits.storeRepliesMax],
    );
    for (const [version, replies] of [...steps].reverse()) this.#keep(replies, Number(version));
    for (const [id, kept] of later) this.#kept.set(id, kept);
    this.#hasReadKept = true;
  }

  #keep(replies: unknown, version: number): void {
    for (const [id, digest, reply] of JSON.parse(String(replies)) as [string, string, string][])
      this.#kept.set(id, { digest, reply, version });
  }

  /** Nothing was heard for long: what was sent may still be done, what was not sent never will. */
  #late(waiting: Waiting): void {
    if (waiting.isUnknown) this.#unknown.set(waiting.id, true);
    this.#settle(waiting, { reply: waiting.isUnknown ? unknown : late, version: null });
  }

  #settle(waiting: Waiting, answer: Answer): void {
    if (waiting.isOver) return;
    waiting.isOver = true;
    clearTimeout(waiting.timer);
    this.#waiting.delete(waiting);
    waiting.answer(answer);
  }

  /** Does what is to be done, one thing at a time. After a failure it waits for the next request, or look. */
  #step(): void {
    const mustLook = this.#mustCount || this.#mustReload || this.#toldVersion > this.#copy.version;
    const isIdle = this.#waiting.size === 0 && !this.#mustStep && !mustLook;
    if (this.#isStepping || isIdle || this.#number === null || this.#store.refusal !== null) return;
    this.#isStepping = true;
    this.#store
      .use(connection => this.#work(connection))
      .then(
        () => true,
        (error: unknown) => {
          this.#store.trouble(`a step of ${this.name} failed`, error);
          // Who is there may not be written yet.
          this.#mustStep = true;
          return false;
        },
      )
      .then(mayGoOn => {
        this.#isStepping = false;
        if (mayGoOn) this.#step();
      });
  }

  /** Does one thing, and leaves no transaction open, whatever comes. */
  async #work(connection: Connection): Promise<void> {
    const asked = [...this.#waiting];
    try {
      if (this.#mustReload) await this.#reload(connection, true);
      if (asked.length > 0 || this.#mustStep) await this.#transact(connection);
      else await this.#look(connection);
    } catch (error) {
      // Tables that are not there are a store that is away.
      if (meaningOf(error) === "gone") connection.destroy();
      if (!connection.isLost) {
        await rolledBack(connection);
        this.#refuseAll(asked, error);
      }
      throw error;
    }
  }

  async #look(connection: Connection): Promise<void> {
    const counts = this.#mustCount;
    this.#mustCount = false;
    const gone = await this.#catchUp(connection);
    if (!counts) return;
    this.#due = this.#copy.due(this.#store.nowMs);
    const { sessions, parts } = this.state;
    const isHere = (node: string) => sessions.byNode.has(node) || parts.byNode.has(node);
    if (this.#due.length === 0 && !gone.some(isHere)) return;
    this.#mayGuess = false;
    await this.#transact(connection);
  }

  /** What was not sent, or failed as a whole, was not done. */
  #refuseAll(asked: readonly Waiting[], error: unknown): void {
    const why = `the shared store did not take it: ${errorMessage(error)}; nothing was changed, try again`;
    for (const waiting of asked)
      if (!waiting.isUnknown) this.#settle(waiting, { reply: refuse("store_away", why), version: null });
  }

  /** Takes what others wrote. Returns the nodes that have ended. */
  async #catchUp(connection: Connection): Promise<readonly string[]> {
    const told = this.#toldVersion;
    const begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    const behind = this.#behind(await connection.script(`${begin}; ${this.#reading("")}; COMMIT`), 1);
    if (behind === null) await this.#reload(connection, true);
    else this.#take(behind);
    // A step is told of after its commit: what it may name besides was taken away by a restore.
    if (this.#toldVersion === told) this.#toldVersion = this.#copy.version;
    return behind?.gone ?? [];
  }

  /** The statements that read what the copy does not have. `lock`: how the project's row is read. */
  #reading(lock: string): string {
    const [project, known, node] = [this.#number, this.#copy.version, literal(this.#store.options.node)];
    const table = this.#table;
    return (
      `SELECT version, stamp, head, purged, (SELECT stamp FROM ${table("steps")} WHERE project = p.id AND version = ${known})` +
      ` FROM ${table("projects")} p WHERE id = ${project} ${lock};` +
      `SELECT kind, key, value FROM ${table("rows")} WHERE project = ${project} AND version > ${known} LIMIT ${limits.storeBehindMax + 1};` +
      `SELECT version, events, CASE WHEN node = ${node} THEN replies END, stamp FROM ${table("steps")}` +
      ` WHERE project = ${project} AND version > ${known} ORDER BY version DESC LIMIT ${limits.storeNewsMax};` +
      `SELECT id FROM ${table("nodes")} WHERE seen + gone_ms * interval '1 ms' < clock_timestamp();` +
      // A later statement than the lock: a column beside it would be of before the wait.
      "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    );
  }

  /** Returns what was read, or null: the copy cannot be continued with it, and all has to be read anew. */
  #behind(results: readonly (readonly Row[])[], from: number): Behind | null {
    const [heads = [], rows = [], steps = [], gone = [], clock = []] = results.slice(from);
    const nowMs = Number(clock[0]?.[0]);
    this.#store.clockSaid(nowMs);
    const [version, stamp, head, purged, known] = heads[0] ?? [];
    const own = this.#copy;
    const has = Number(version ?? 0);
    // The store may have been restored, and written on.
    const isSame = has === own.version ? stamp === own.stamp : known === own.stamp;
    // If it keeps the step no more, nobody can tell.
    if (own.version > 0 && !isSame && (has <= own.version || known !== null)) this.#store.wentBack();
    if (version === undefined) return null;
    const follows = own.version === 0 || (isSame && has >= own.version);
    if (!follows || own.version < Number(purged) || rows.length > limits.storeBehindMax) return null;
    return {
      ...{ version: has, stamp: String(stamp), head: String(head), nowMs },
      rows: rows as unknown as StoredRow[],
      steps: [...steps].reverse(),
      gone: gone.map(([id]) => String(id)).filter(id => id !== this.#store.options.node),
    };
  }

  #take({ version, stamp, head, rows, steps }: Behind): void {
    this.asOfMs = Date.now();
    const before = this.#copy.version;
    if (version === before) return;
    const held = this.#held();
    const own = `@${this.#store.options.node}`;
    // Another machine ended sessions of this one, which may be there.
    if (rows.some(([kind, key]) => kind === "sessions" && key.endsWith(own))) this.#mustStep = true;
    this.#copy.take(version, stamp, head, rows);
    this.#presence += 1;
    this.#mayGuess = false;
    for (const [at, , replies, its] of steps) {
      if (replies !== null) this.#keep(replies, Number(at));
      // A commit of which nothing was known came through.
      if (its === this.#sentStamp) this.#hasBegun = true;
    }
    if (before > 0 && Number(steps[0]?.[0]) !== before + 1) this.#options.onGap?.(held);
    // A part for an agent of this machine may have come without an event.
    const hasParts = rows.some(([kind]) => kind === "parts");
    for (const [, events, replies] of steps) {
      const told = inward(JSON.parse(String(events)), this.names) as CoreEvent[];
      if (told.length > 0 || hasParts) this.#options.onEvents(told, replies !== null);
    }
  }

  #held(): readonly HeldClaim[] {
    const { sessions, tasks } = this.state;
    const ids = [...(sessions.byNode.get(this.names.node) ?? [])].flatMap(id => [
      ...(tasks.claims.get(id) ?? []),
    ]);
    return ids.flatMap(id => {
      const task = taskOf(tasks, id);
      const claimer = claimerOf(task);
      // The row changes in place.
      return claimer === null ? [] : [{ task: { ...task }, claimer }];
    });
  }

  /** Reads all rows into a new copy, in pieces of one moment of the store; other work of the daemon goes on between them. */
  async #reload(connection: Connection, isNews: boolean): Promise<void> {
    // A store that was restored may have the project under another number.
    await this.#findNumber(connection);
    const copy = this.#newCopy();
    await connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    try {
      const [head] = await connection.query(
        `SELECT version, stamp, head FROM ${this.#table("projects")} WHERE id = $1`,
        [this.#number],
      );
      for (const { name } of kinds) await this.#fill(connection, copy, name);
      copy.dropAllUnfit();
      copy.settle(Number(head?.[0]), String(head?.[1]), String(head?.[2]));
    } finally {
      await rolledBack(connection);
    }
    const held = this.#held();
    this.#copy = copy;
    this.#mustReload = false;
    this.#mustStep = true;
    this.asOfMs = Date.now();
    this.#presence += 1;
    this.#mayGuess = false;
    this.#kept = keptReplies();
    await this.#readKept(connection);
    if (!isNews) return;
    this.stats.reloads += 1;
    this.#options.onGap?.(held);
  }

  async #fill(connection: Connection, copy: Copy, kind: string): Promise<void> {
    let last = "";
    for (;;) {
      const rows = await connection.query(
        `SELECT kind, key, value FROM ${this.#table("rows")}
           WHERE project = $1 AND kind = $2 AND key > $3 AND value IS NOT NULL ORDER BY key LIMIT $4`,
        [this.#number, kind, last, limits.storePageRows],
      );
      copy.fill(rows as unknown as StoredRow[]);
      if (rows.length < limits.storePageRows) return;
      last = String(rows.at(-1)?.[1]);
    }
  }

  async #transact(connection: Connection): Promise<void> {
    const mustStep = this.#mustStep;
    this.#mustStep = false;
    try {
      await this.#tryStep(connection);
    } catch (error) {
      this.#mustStep ||= mustStep;
      // What was read may be nothing that Kite wrote: no lock stays.
      await rolledBack(connection);
      throw error;
    }
  }

  async #tryStep(connection: Connection): Promise<void> {
    this.stats.steps += 1;
    const { stepMs, batchMax } = this.#store.options.limits;
    const batch = firstOf(this.#waiting, batchMax);
    if (this.#mayGuess && (await this.#guess(connection, batch))) return;
    const begin = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${stepMs}; SET LOCAL lock_timeout = ${stepMs}`;
    const level = `SELECT number FROM ${this.#table("format")}`;
    const text = `${begin}; ${this.#reading("FOR UPDATE OF p")}; ${level}`;
    const results = await connection.script(text);
    if (Number(results.at(-1)?.[0]?.[0]) !== format) {
      await rolledBack(connection);
      throw this.#store.outdated();
    }
    const behind = this.#behind(results, 3);
    if (behind === null) {
      await rolledBack(connection);
      await this.#reload(connection, true);
      return;
    }
    const isBehind = behind.version > this.#copy.version;
    this.#take(behind);
    const plan = this.#plan(batch, behind.gone, behind.nowMs);
    if (plan === null || plan.stored.length === 0) {
      await rolledBack(connection);
      if (plan === null) await this.#readAnew(connection);
      else this.#accept(plan, null);
    } else {
      await this.#commit(connection, "; COMMIT", plan);
    }
    this.#mayGuess = plan !== null && !isBehind;
  }

  /** Does the step on what the copy has, unless it changes nothing: a refusal has to be of the present. Returns whether it did. */
  async #guess(connection: Connection, batch: readonly Waiting[]): Promise<boolean> {
    const plan = this.#plan(batch, [], this.#store.nowMs);
    if (plan === null) {
      await this.#readAnew(connection);
      return true;
    }
    if (plan.stored.length === 0) {
      if (batch.length > 0) return false;
      this.#accept(plan, null);
      return true;
    }
    this.stats.guesses += 1;
    if (await this.#commit(connection, "", plan)) return true;
    this.stats.missed += 1;
    this.#mayGuess = false;
    return false;
  }

  /** A command threw, or the look at sessions did. Nothing is tried again until somebody asks: it would throw again. */
  async #readAnew(connection: Connection): Promise<void> {
    await this.#reload(connection, true);
    this.#mustStep = false;
  }

  /** Writes a step and commits it, and answers its requests. Returns whether it was written. */
  async #commit(connection: Connection, last: string, plan: Planned): Promise<boolean> {
    const stamp = randomUUID();
    const kept = this.#toKeep(plan);
    const text = this.#stepText(plan, stamp, kept);
    this.#sentStamp = stamp;
    for (const waiting of plan.replies.keys()) waiting.isUnknown = true;
    let isWritten = false;
    try {
      const results = await connection.script(text + last);
      isWritten = results[0]?.[0]?.[0] === true;
    } catch (error) {
      const isUnknown = meaningOf(error) === "unsure";
      if (isUnknown) this.stats.unknown += 1;
      // A server that goes on after such an error is not to be understood.
      if (isUnknown) connection.destroy();
      for (const waiting of plan.replies.keys())
        if (isUnknown) waiting.wasUnknown = true;
        else this.#notDone(waiting);
      throw error;
    }
    if (!isWritten) {
      for (const waiting of plan.replies.keys()) this.#notDone(waiting);
      return false;
    }
    const version = this.#copy.version + 1;
    for (const [id, digest, reply] of kept) this.#kept.set(id, { digest, reply, version });
    this.#hasBegun = true;
    this.#copy.version = version;
    this.#copy.stamp = stamp;
    this.asOfMs = Date.now();
    this.#accept(plan, version);
    if (plan.events.length > 0) this.#options.onEvents(plan.events, true);
    return true;
  }

  /** The commit did nothing. One before it may have. */
  #notDone(waiting: Waiting): void {
    waiting.isUnknown = waiting.wasUnknown;
    if (!waiting.wasUnknown) this.#unknown.delete(waiting.id);
  }

  /** The step is done. `version`: its own; null: the store had not to hear of it. */
  #accept(plan: Planned, version: number | null): void {
    this.#copy.accept(plan);
    this.#compared = plan.presence;
    this.#due = [];
    if (this.#isOver && this.#compared === this.#presence) this.#store.remove(this);
    for (const [waiting, answer] of plan.replies) {
      this.#unknown.delete(waiting.id);
      if (waiting.isOver) this.#giveBack(waiting.command, answer.reply);
      this.#settle(waiting, answer.reply.ok ? { ...answer, version: answer.version ?? version } : answer);
    }
  }

  /** Makes letters unread again whose answer comes too late for its caller. */
  #giveBack(command: Command, reply: Reply): void {
    if (command.type !== "inbox_take" || !reply.ok) return;
    const given = (reply["messages"] ?? []) as readonly { readonly id: string }[];
    const copy = this.#copy;
    copy.begin(this.#store.nowMs);
    copy.apply({
      ...{ type: "inbox_told", actor: command.actor, messages: given.map(({ id }) => id), heard: false },
    });
    const changes = copy.end();
    // What agents of this machine were shown, others never hear.
    if (changes.stored.length === 0) copy.accept(changes);
  }

  /** Returns the answers that repeated requests get. The same request may wait twice: one answer is for both. */
  #toKeep({ replies }: Planned): readonly KeptReply[] {
    const kept = new Map<string, KeptReply>();
    for (const [{ id, digest }, { reply, version }] of replies)
      if (reply.ok && version === null && !kept.has(id))
        kept.set(id, [id, digest, JSON.stringify(outward(reply, this.names))]);
    return [...kept.values()];
  }

  #stepText({ stored, head, told }: Planned, stamp: string, kept: readonly KeptReply[]): string {
    const copy = this.#copy;
    const columns = ([0, 1, 2] as const).map(at => textArray(stored.map(row => row[at])));
    const texts = [copy.stamp, this.#store.options.node, stamp, JSON.stringify(head)].map(literal);
    const news = [told, kept].map(one => literal(JSON.stringify(one)));
    const values = [this.#number, copy.version, ...texts, ...columns, ...news];
    return `SELECT ${this.#table("step")}(${values.join(",")})`;
  }

  /**
   * Works out what comes of who is gone, who is there, and the requests. Null: a command threw, and is answered. The copy has to
   * be read anew then, and all else waits on.
   */
  #plan(batch: readonly Waiting[], gone: readonly string[], nowMs: number): Planned | null {
    const copy = this.#copy;
    const replies = new Map<Waiting, Answer>();
    const [events, told]: [CoreEvent[], unknown[]] = [[], []];
    const happened = (more: readonly CoreEvent[], isOfPerson = false) => {
      events.push(...more);
      if (more.length > 0) told.push(...(outward(more, copy.names, isOfPerson) as unknown[]));
    };
    const answered = new Map<string, RequestId & { readonly answer: Answer }>();
    copy.begin(nowMs);
    let culprit: Waiting | null = null;
    try {
      happened(this.#applyOwn(gone));
      for (const waiting of batch) {
        if (waiting.isOver) continue;
        culprit = waiting;
        const before = answered.get(waiting.id) ?? this.#keptAnswer(waiting.id);
        if (before !== undefined) {
          replies.set(waiting, before.digest === waiting.digest ? before.answer : conflict);
          continue;
        }
        const done = copy.apply(waiting.command);
        const answer = { reply: done.reply, version: null };
        replies.set(waiting, answer);
        if (done.reply.ok) answered.set(waiting.id, { ...waiting, answer });
        happened(withDoer(copy.state, done.events, waiting.command), isOfPerson(waiting.command));
      }
    } catch (error) {
      this.#store.trouble(`a ${culprit?.command.type ?? "look at sessions"} of ${this.name} failed`, error);
      for (const waiting of culprit === null ? batch : [culprit]) this.#settle(waiting, bug);
      // What the command did so far is in the copy.
      this.#mustReload = true;
      return null;
    }
    return { ...copy.end(), replies, events, told, presence: this.#presence };
  }

  /** Applies what nobody asked for: what is due, who is gone, and who is there. */
  #applyOwn(gone: readonly string[]): CoreEvent[] {
    const copy = this.#copy;
    const { node } = this.#store.options;
    const events: CoreEvent[] = [];
    if (!this.#hasBegun) events.push(...copy.endValuesOf(node));
    // Whoever else did it already finds it refused, and changes nothing.
    for (const due of this.#due) events.push(...copy.apply({ type: "elapse", due }).events);
    for (const other of gone) {
      const { sessions, parts } = copy.state;
      if (!sessions.byNode.has(other) && !parts.byNode.has(other)) continue;
      for (const id of [...(sessions.byNode.get(other) ?? [])]) events.push(...endSession(copy, id).events);
      events.push(...dropPartsOf(copy, other), ...copy.endValuesOf(other));
    }
    if (this.#compared === this.#presence) return events;
    const { present, ofMachine } = this.#options;
    events.push(...compareSessions(copy, present(), ofMachine?.(), this.#isOver));
    return events;
  }

  #keptAnswer(id: string): { readonly digest: string; readonly answer: Answer } | undefined {
    const kept = this.#kept.get(id);
    if (kept === undefined) return undefined;
    const reply = inward(JSON.parse(kept.reply), this.names) as Reply;
    return { digest: kept.digest, answer: { reply, version: kept.version } };
  }
}

function keptReplies(): BoundedMap<string, { digest: string; reply: string; version: number }> {
  return new BoundedMap({ entriesMax: limits.storeRepliesMax });
}

function firstOf<One>(all: Iterable<One>, max: number): One[] {
  const found: One[] = [];
  for (const one of all) {
    if (found.length === max) break;
    found.push(one);
  }
  return found;
}

/** Ends the transaction, or the connection, which does the same. */
async function rolledBack(connection: Connection): Promise<void> {
  await connection.query("ROLLBACK").catch(() => connection.destroy());
}

/** Returns the events with who ended a claim. */
function withDoer(state: State, events: readonly CoreEvent[], command: Command): readonly CoreEvent[] {
  const doer = doerOf(command);
  if (doer === undefined) return events;
  const by = doer === null ? null : whoOf(state, doer);
  return events.map(event => (event.worker === undefined ? event : { ...event, by }));
}

/** Whether a person asks, who is null in the command. */
function isOfPerson(command: Command): boolean {
  return ("by" in command ? command.by : "actor" in command ? command.actor : undefined) === null;
}

const unknown: Refusal = refuse(
  "outcome_unknown",
  "the shared store has not answered yet: look whether it was done, or repeat the request with the same requestId",
);
const late: Refusal = refuse(
  "store_away",
  "the shared store did not answer in time; nothing was changed, try again",
);
const crowded: Refusal = refuse(
  "store_away",
  `${limits.storeWaitingMax} requests wait for the shared store already; nothing was changed, try again`,
);
const conflict: Answer = {
  reply: refuse("request_conflict", "this requestId came before with another body"),
  version: null,
};
const bug: Answer = {
  reply: refuse("internal_error", "Kite could not do that, and nothing was changed; its log says why"),
  version: null,
};
