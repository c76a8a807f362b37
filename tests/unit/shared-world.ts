/** Machines with a log of their own each, and one log in memory that they share, which can be away. */
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Command, CommandOf, CoreEvent, Entry, Reply } from "../../daemon/core/tables/entries.ts";
import { type Clock, systemClock } from "../../daemon/engine/clock.ts";
import { Engine } from "../../daemon/engine/engine.ts";
import { Listeners } from "../../daemon/engine/log-view.ts";
import type { Found, Journal, Opened, Snapshot } from "../../daemon/journal/journal.ts";
import type { SharedJournal } from "../../daemon/journal/shared-journal.ts";
import type { Condition } from "../../daemon/sharing/condition.ts";
import { eventsHere } from "../../daemon/sharing/events.ts";
import { LostClaims } from "../../daemon/sharing/lost-claims.ts";
import { MoveTries } from "../../daemon/sharing/move-tries.ts";
import { SharedNames } from "../../daemon/sharing/names.ts";
import { SharedStore } from "../../daemon/sharing/shared-store.ts";
import { TwoLogs } from "../../daemon/sharing/two-logs.ts";
import { MemoryJournal, type MemoryStore, memoryStore } from "../journal/memory-journal.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** The project's name in the shared log. */
export const shared = "example.com/team/app";

/** The log that machines share. */
export class MemoryStoreOfAll {
  readonly entries: Entry[] = [];
  readonly journals = new Set<MemorySharedJournal>();
  readonly id = "shared";
  /** The ids of the stores over which machines would open a journal, as far as they know one. */
  readonly knownIds: (string | null)[] = [];
  /** Proposals of all machines, also of those that did not reach it. */
  proposals = 0;
  epoch = 0;
  /** How much its clock is ahead of the machines'. */
  aheadMs = 0;
  #awaySinceMs: number | null = null;
  /** Whether it keeps what comes, and answers nothing, until `release`. */
  holds = false;
  isLost = false;
  #kept: Omit<Entry, "seq">[] = [];

  /** Wall time since which nobody reaches it. */
  get awaySinceMs(): number | null {
    return this.#awaySinceMs;
  }

  set awaySinceMs(ms: number | null) {
    const wasAway = this.#awaySinceMs !== null;
    this.#awaySinceMs = ms;
    if (wasAway !== (ms !== null)) for (const journal of this.journals) journal.reachChanged();
  }

  append(proposals: readonly Omit<Entry, "seq">[]): void {
    if (this.holds) {
      this.#kept.push(...proposals);
      return;
    }
    const first = this.entries.length;
    // The time is the store's, whatever a machine's clock says.
    for (const { origin, command } of proposals)
      this.entries.push({ seq: this.entries.length + 1, at: Date.now() + this.aheadMs, origin, command });
    for (const journal of this.journals) journal.take(this.entries.slice(first));
  }

  /** Ends all openings, as when the log was pruned: each machine opens it anew. */
  end(): void {
    for (const journal of this.journals) journal.end(new Error("the test ended the log"));
  }

  /** Takes entries behind `seq` back, as a standby that lacks them does when it takes over. */
  goBack(seq: number): void {
    this.entries.length = seq;
    const error = new Error("the test took entries back");
    error.name = "StoreWentBack";
    for (const journal of this.journals) journal.end(error);
  }

  /** Takes its tables away, as before a backup is restored; they are back when `isLost` is false. */
  removeTables(): void {
    this.isLost = true;
    for (const journal of this.journals) journal.end(lostError());
  }

  /** How many proposals it keeps. */
  get kept(): number {
    return this.#kept.length;
  }

  release(): void {
    this.append(this.#kept.splice(0));
  }

  /** What it keeps never gets there. */
  lose(): void {
    this.#kept = [];
  }
}

function lostError(): Error {
  const error = new Error("the test took the tables away");
  error.name = "StoreLost";
  return error;
}

class MemorySharedJournal implements SharedJournal {
  readonly #store: MemoryStoreOfAll;
  #deliver: (batch: readonly Entry[]) => void = () => {};
  #onDurable: (seq: number) => void = () => {};
  end: (error: Error) => void = () => {};
  reachChanged: () => void = () => {};
  durableSeq = 0;
  readonly storeId: string;
  readonly awayWhy = "the test took it away";
  readonly health = { bytes: 0, full: false };

  readonly node: string;

  constructor(store: MemoryStoreOfAll, node: string) {
    this.#store = store;
    this.storeId = store.id;
    this.node = node;
  }

  get awaySinceMs(): number | null {
    return this.#store.awaySinceMs;
  }

  async loadSnapshot(): Promise<Snapshot | null> {
    if (this.awaySinceMs !== null) throw new Error("no store answers");
    if (this.#store.isLost) throw lostError();
    return null;
  }

  async open(after: number, deliver: (batch: readonly Entry[]) => void, found: Found): Promise<Opened> {
    this.#deliver = deliver;
    for (const entry of this.#store.entries.slice(after)) found(entry, 0);
    this.durableSeq = this.#store.entries.length;
    this.#store.journals.add(this);
    this.#store.epoch += 1;
    return { epoch: this.#store.epoch };
  }

  propose(proposals: Parameters<Journal["propose"]>[0], failed: Parameters<Journal["propose"]>[1]): void {
    this.#store.proposals += proposals.length;
    setImmediate(() => {
      const message = "no store answers";
      if (this.awaySinceMs === null && this.#store.journals.has(this)) this.#store.append(proposals);
      else for (const one of proposals) failed(one, { code: "store_away", message, outcome: "not_stored" });
    });
  }

  take(entries: readonly Entry[]): void {
    this.durableSeq = entries.at(-1)?.seq ?? this.durableSeq;
    this.#deliver(entries);
    this.#onDurable(this.durableSeq);
  }

  sync(): void {
    setImmediate(() => this.#onDurable(this.durableSeq));
  }

  onDurable(callback: (durableSeq: number) => void): void {
    this.#onDurable = callback;
  }

  onFatal(callback: (error: Error) => void): void {
    this.end = callback;
  }

  onReach(callback: () => void): void {
    this.reachChanged = callback;
  }

  verify(): void {}

  async barrier(): Promise<void> {
    await new Promise(resolve => setImmediate(resolve));
  }

  async saveSnapshot(): Promise<void> {}

  async read(after: number, found: Found): Promise<void> {
    for (const entry of this.#store.entries.slice(after)) found(entry, 0);
  }

  async close(): Promise<void> {
    this.#store.journals.delete(this);
  }
}

export interface Machine {
  readonly name: string;
  readonly own: Engine;
  readonly store: SharedStore;
  readonly log: TwoLogs;
  /** Events of the shared log as this machine hears them. */
  readonly heard: CoreEvent[];
  /** Who hears of each step of the machine's own log, and of the shared one with this machine's names. */
  readonly listeners: { readonly own: Listeners; readonly shared: Listeners };
  /** How often the own log was told what is shared. */
  readonly told: readonly Entry[];
  /** What the daemon's log says of the store. */
  readonly conditions: string[];
  /** Its daemon is killed: it hears and writes nothing more. */
  kill(): void;
}

let machines = 0;

function nextNode(): string {
  machines += 1;
  return `n${machines}`;
}

/** Starts a machine that shares the project which it has at `/NAME/app`, or `projects`. */
export async function machine(
  name: string,
  all: MemoryStoreOfAll,
  {
    copyPath = null,
    claimsPath = null,
    kept = memoryStore(),
    node = nextNode(),
    clock = systemClock(),
    projects = [[`/${name}/app`, shared]],
    leftPath = null,
  }: {
    readonly leftPath?: string | null;
    readonly copyPath?: string | null;
    readonly claimsPath?: string | null;
    /** What the own log kept before: the machine's daemon begins anew over it, as after a kill. */
    readonly kept?: MemoryStore;
    readonly node?: string;
    readonly clock?: Clock;
    readonly projects?: readonly (readonly [string, string])[];
  } = {},
): Promise<Machine> {
  const onTrouble = (message: string, error: unknown) => {
    const isOlder = message.includes("did not take rules") || message.includes("broke off");
    const isMeant =
      isOlder || (error instanceof Error && ["NodeTwice", "StoreLost", "StoreWentBack"].includes(error.name));
    if (all.awaySinceMs === null && !isMeant) throw new Error(message, { cause: error });
  };
  const conditions: string[] = [];
  const onCondition = (is: Condition["is"]) => {
    conditions.push(is);
    if (is === "open") moves.begin();
    claims.changed(is);
  };
  const onFatal = (error: Error) => {
    throw error;
  };
  const heard: CoreEvent[] = [];
  const told: Entry[] = [];
  const listeners = { own: new Listeners(), shared: new Listeners() };
  let flush = () => {};
  let journal: MemorySharedJournal | null = null;
  let isKilled = false;
  const ends = { clock, onTrouble, onFatal };
  const own = await Engine.start({
    ...{ journal: new MemoryJournal(kept), node: "local", storeId: "s", ...ends },
    onStep: (entry, step, _epoch, isReplayed) => {
      if (entry.command.type === "sharing_set") told.push(entry);
      if (!isReplayed) listeners.own.tell(entry, step);
      flush();
    },
  });
  await own.submitAndWait({ type: "sharing_set", node, projects });
  const names: SharedNames = new SharedNames({ node, own: () => own.state, shared: () => store.state });
  const store: SharedStore = new SharedStore({
    ...{
      own,
      clock,
      node,
      binding: name,
      machine: name,
      where: "memory",
      copyPath,
      leftPath,
      version: "0",
      onTrouble,
      onCondition,
    },
    journal: async storeId => {
      all.knownIds.push(storeId);
      journal = new MemorySharedJournal(all, node);
      return journal;
    },
    onStep: (entry, step) => {
      claims.stepped(entry, step);
      const events = eventsHere(step.events, names, node);
      heard.push(...events);
      listeners.shared.tell(entry, { ...step, events: [...events] });
    },
  });
  const moves = new MoveTries(store, { clock, onTrouble, onMoved: () => {}, onEnded: () => {} });
  const claims = new LostClaims({ store, names, clock, path: claimsPath, onTrouble });
  const log = new TwoLogs({ own, store, names, clock });
  flush = () => store.flush();
  store.start();
  onTestFinished(async () => {
    await store.close();
    if (!isKilled) await own.close();
  });
  const kill = () => {
    isKilled = true;
    if (journal !== null) all.journals.delete(journal);
  };
  return { name, own, store, log, heard, listeners, told, conditions, kill };
}

/** A session of the machine, in its shared project or in another one. */
export function begin(
  { log, name: machine }: Machine,
  session: string,
  place: Partial<CommandOf<"session_begin">> = {},
): Promise<Reply> {
  const cwd = `/${machine}/app`;
  return log.submitAndWait({
    ...{ type: "session_begin", session, anchor: null, cwd, project: cwd, worktree: cwd, branch: "main" },
    ...{ name: session, revive: true, wallMs: 1 },
    ...place,
  } as Command);
}

export function actorOf(session: string) {
  return { session, agent: null, incarnation: 0 };
}

/** The command by which a session of the machine adds a task. */
export function create({ name }: Machine, session: string, description: string): Command {
  const task = { name: null, description, priority: "normal", labels: [], dependsOn: [] } as const;
  const project = `/${name}/app`;
  return { type: "task_create", by: actorOf(session), tasks: [task], many: false, project, wallMs: 1 };
}

export function claim({ name }: Machine, session: string, task: string | null = null): Command {
  const project = `/${name}/app`;
  return {
    type: "task_claim",
    actor: actorOf(session),
    task,
    labels: [],
    project,
    cwd: "/secret",
    wallMs: 1,
  };
}

export function send({ name }: Machine, session: string, to: string, text: string): Command {
  const project = `/${name}/app`;
  const bytes = text.length;
  return {
    ...{ type: "message_send", actor: actorOf(session), project, to, text, bytes, replyTo: null },
    ...{ urgent: false, wallMs: 1 },
  } as Command;
}

/** Each machine has told what it knows, and has heard of it. */
export async function settled(...machines: readonly Machine[]): Promise<void> {
  for (const { store } of machines) expect(await store.relayed(10_000)).toBe(true);
  for (const { store } of machines) await store.engine?.upToDate();
}

/** Takes the store away, and resolves when the machine has seen that. */
export async function takeAway(all: MemoryStoreOfAll, { conditions }: Machine): Promise<void> {
  all.awaySinceMs = Date.now();
  all.end();
  // It is to be opened anew.
  await expect.poll(() => conditions.at(-1)).toBe("opening");
}

/** Returns where a machine keeps a copy of the store; it is gone after the test. */
export function copyPathOfTest(): string {
  return join(temporaryFolder("kite-copy-"), "copy");
}
