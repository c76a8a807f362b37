/**
 * What the daemon has, told to open pages as it changes. There is a connection to the daemon while a page is open, and
 * it does not keep the daemon. Each topic that some page shows is looked at again when an event says that it changed. A
 * page is told the rows that differ from what it was told before.
 *
 * Invariant: a stream's lines, applied in order, give the rows of the latest look, however many were left out because the page
 * read too slowly.
 */

import { statSync } from "node:fs";
import { LocalError } from "../../client/errors.ts";
import { offFiles } from "../../daemon/config/off-switch.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import type { StoreState } from "../../protocol/schemas/store.ts";
import type { Client, ProcessContext } from "../context/process-context.ts";
import { Titles } from "../context/terminals.ts";
import { ask, Refused, rowsOf } from "../context/with-daemon.ts";
import { debatesOf } from "../lead/debates.ts";
import { observedText, offTexts } from "../settings/off-now.ts";
import { projectRoot } from "../view/places.ts";
import { storeHead } from "../view/store.ts";
import { bounds, keyOf, type Rows, type StreamLine, type Topic, type Viewer } from "./wire.ts";

// Where the rows of each topic come from, and which events of the daemon say that they have changed.

type Asking = Pick<Client, "request" | "daemon">;

interface Source<T extends Topic> {
  readonly look: (client: Asking, viewer: Viewer) => Promise<readonly Rows[T][]>;
  /** Names of events after which the rows are looked at again. */
  readonly events: RegExp;
  /** What no event tells changes, too: looked at again after so many milliseconds at least. */
  readonly everyMs: number;
  /** Files of Kite's directory after whose changes the rows are looked at again. */
  readonly files?: (paths: KitePaths) => readonly string[];
}

const seconds = 1_000;

/** Returns a look at a target of `query`, of the one project or of all. */
function rowsOfTarget<T extends Exclude<Topic, "debates" | "notices" | "titles" | "wiped">>(target: T) {
  return (client: Asking, { project }: Viewer) => rowsOf(client, target, project === null ? {} : { project });
}

/** Rows of other machines: where no store is set there are none, and nobody asks. */
function rowsOfOthers<T extends "elsewhere" | "merges_elsewhere">(target: T) {
  const look = rowsOfTarget(target);
  return async (client: Asking, viewer: Viewer) =>
    client.daemon.sharedStoreId === undefined ? [] : look(client, viewer);
}

const sessionsWanted = /^(?:session_|agent_|lock_|task_|role_|spawn_|merge_|declared|hold_|message_)/;

export const sources: { readonly [T in Topic]: Source<T> } = {
  // What an agent does comes with events of hooks, which are in no log.
  sessions: { look: rowsOfTarget("sessions"), events: sessionsWanted, everyMs: seconds },
  locks: { look: rowsOfTarget("locks"), events: /^(?:lock_|session_)/, everyMs: 5 * seconds },
  refusals: {
    // Refusals have no project: those of the sessions that are shown.
    look: async (client, viewer) => {
      const rows = await rowsOf(client, "refusals");
      if (viewer.project === null) return rows;
      const shown = await rowsOf(client, "sessions", { project: viewer.project });
      const ids = new Set(shown.map(({ id }) => id));
      return rows.filter(({ id }) => id !== null && ids.has(id));
    },
    events: /^(?:lock_wait_ended|work_)/,
    everyMs: 3 * seconds,
  },
  tasks: {
    look: tasksShown,
    events: /^(?:task_|debate_|role_)/,
    everyMs: 60 * seconds,
  },
  holds: { look: rowsOfTarget("holds"), events: /^(?:hold_|session_)/, everyMs: 10 * seconds },
  messages: { look: messagesShown, events: /^(?:message_|inbox_|session_)/, everyMs: 60 * seconds },
  context: { look: rowsOfTarget("context"), events: /^context_/, everyMs: 60 * seconds },
  writes: {
    look: rowsOfTarget("writes"),
    events: /^(?:lock_released|lost_update|bypassed|work_|file_conflict)/,
    // Git's own commands change it, too.
    everyMs: 5 * seconds,
  },
  risks: {
    look: rowsOfTarget("risks"),
    events: /^(?:merge_|file_conflict|lock_released)/,
    everyMs: 5 * seconds,
  },
  declarations: {
    look: rowsOfTarget("declarations"),
    events: /^(?:declar|session_)/,
    everyMs: 30 * seconds,
  },
  spawns: {
    look: rowsOfTarget("spawns"),
    events: /^(?:spawn_|merge_|session_|agent_)/,
    everyMs: 10 * seconds,
  },
  merges: { look: rowsOfTarget("merges"), events: /^(?:merge_|check_)/, everyMs: 10 * seconds },
  checks: { look: rowsOfTarget("checks"), events: /^check_/, everyMs: 30 * seconds },
  teams: { look: rowsOfTarget("teams"), events: /^(?:session_|agent_)/, everyMs: 5 * seconds },
  elsewhere: {
    look: rowsOfOthers("elsewhere"),
    events: /^(?:session_|task_|elsewhere_|store_)/,
    everyMs: 60 * seconds,
  },
  merges_elsewhere: {
    look: rowsOfOthers("merges_elsewhere"),
    events: /^(?:merge_elsewhere_|store_)/,
    everyMs: 60 * seconds,
  },
  debates: { look: debatesShown, events: /^(?:debate_|session_)/, everyMs: 30 * seconds },
  // What is lost may come back by git, of which no event tells.
  wiped: { look: wipedShown, events: /^work_/, everyMs: 15 * seconds },
  notices: {
    look: noticesShown,
    events: /^store_changed$/,
    // A switch ends by itself.
    everyMs: 30 * seconds,
    files: ({ home, config }) => [...Object.values(offFiles(home)), config],
  },
  titles: { look: titlesShown, events: /^session_/, everyMs: 5 * seconds },
};

/** A task that goes on meanwhile comes twice rather than never. */
const statusOrder = ["pending", "active", "failed", "done"] as const;

/** Open tasks first: a project of years has more done ones than the page takes, and they are the oldest. */
async function tasksShown(client: Asking, { project }: Viewer): Promise<readonly Rows["tasks"][]> {
  const found = new Map<string, Rows["tasks"]>();
  for (const status of statusOrder) {
    const room = bounds.tasksMax - found.size;
    if (room <= 0) break;
    const rows = await rowsOf(client, "tasks", { status, ...(project === null ? {} : { project }) }, room);
    for (const row of rows.slice(0, room)) found.set(row.id, row);
  }
  return [...found.values()];
}

/** Messages that are in an inbox, and those that their readers acknowledged. */
async function messagesShown(client: Asking, { project }: Viewer): Promise<readonly Rows["messages"][]> {
  const of = project === null ? {} : { project };
  const looks = (["messages_acknowledged", "messages"] as const).map(target => rowsOf(client, target, of));
  const found = new Map<string, Rows["messages"]>();
  for (const row of (await Promise.all(looks)).flat()) {
    const key = keyOf.messages(row);
    // One that only some acknowledged is in both.
    found.set(key, { ...row, to: [...row.to, ...(found.get(key)?.to ?? [])] });
  }
  return [...found.values()];
}

/** Debates are asked for by project. */
async function debatesShown(client: Asking, viewer: Viewer): Promise<readonly Rows["debates"][]> {
  const projects =
    viewer.project === null
      ? [...new Set((await rowsOf(client, "sessions")).map(({ project }) => project))]
      : [viewer.project];
  const found = projects.slice(0, bounds.projectsMax).map(project => debatesOf(client, { project }));
  return (await Promise.all(found)).flatMap(({ rows }) => rows);
}

/** An agent sees what its own project lost; the daemon finds that by a directory. */
async function wipedShown(client: Asking, { project }: Viewer): Promise<readonly Rows["wiped"][]> {
  if (project === null) return (await ask(client, "overview", {})).wiped ?? [];
  // A project that is no directory is one of the wire alone.
  if (!project.startsWith("/")) return [];
  const { wiped = [] } = await ask(client, "overview", { cwd: projectRoot(project) });
  return wiped.filter(row => row.project === project);
}

async function noticesShown(client: Asking, viewer: Viewer): Promise<readonly Rows["notices"][]> {
  const { off, mode, settings, store } = await ask(client, "overview", {});
  const { project } = viewer;
  const concerns = off.filter(({ of }) => project === null || of === null || of === project);
  const world = { env: { HOME: viewer.home }, now: () => Date.now() };
  const texts = [
    ...offTexts(concerns, world),
    ...(mode === undefined ? [] : [observedText]),
    ...(settings?.problem == null ? [] : [settings.problem]),
  ];
  return [...(store === undefined ? [] : [storeNotice(store)]), ...texts.map(text => ({ text }))];
}

function storeNotice(store: StoreState): Rows["notices"] {
  const { text, isTrouble } = storeHead(store, Date.now());
  return { text, isOfStore: true, ...(isTrouble ? {} : { isFine: true }) };
}

const titles = new Titles();

/** In memory alone, and for a person. */
async function titlesShown(client: Asking, viewer: Viewer): Promise<readonly Rows["titles"][]> {
  if (!viewer.isPerson) return [];
  return [...(await titles.read(client))].map(([id, title]) => ({ id, title }));
}

/** A page's side of a stream. */
export interface Reader {
  /** Bytes that were written and not sent yet. */
  readonly unreadBytes: number;
  write(line: string): void;
}

/** A topic's rows as JSON, by their keys, and when they were looked at. */
interface Looked {
  readonly at: number;
  readonly rows: ReadonlyMap<string, string>;
}

interface Stream {
  readonly reader: Reader;
  readonly topics: readonly Topic[];
  /** What the page was told last of each topic. */
  readonly lastSent: Map<Topic, Looked>;
  isTold: boolean;
}

const none: Looked = { at: 0, rows: new Map() };

type Connect = (world: ProcessContext) => Promise<Client>;

export class Live {
  readonly #world: ProcessContext;
  readonly #viewer: Viewer;
  readonly #connect: Connect;
  readonly #onTrouble: (error: unknown) => void;
  readonly #streams = new Set<Stream>();
  readonly #looked = new Map<Topic, Looked>();
  readonly #stale = new Set<Topic>();
  /** How the files of topics were when somebody looked at them. */
  readonly #stamps = new Map<Topic, string>();
  #client: Client | null = null;
  #isRunning = false;
  /** Why the daemon is away; null: it is there. */
  #away: string | null = null;
  #wake: () => void = () => {};

  /** `connect` opens a connection that only looks on; `onTrouble` is told of faults, which end no stream. */
  constructor(
    world: ProcessContext,
    viewer: Viewer,
    { connect, onTrouble }: { readonly connect: Connect; readonly onTrouble: (error: unknown) => void },
  ) {
    this.#world = world;
    this.#viewer = viewer;
    this.#connect = connect;
    this.#onTrouble = onTrouble;
  }

  get streams(): number {
    return this.#streams.size;
  }

  /** Tells the reader of these topics until the returned function is called. */
  open(topics: readonly Topic[], reader: Reader): () => void {
    const stream: Stream = { reader, topics, lastSent: new Map(), isTold: false };
    this.#streams.add(stream);
    this.#wake();
    if (!this.#isRunning) {
      this.#isRunning = true;
      void this.#run();
    }
    return () => {
      this.#streams.delete(stream);
      this.#wake();
    };
  }

  /** Connects while pages are open, again and again. */
  async #run(): Promise<void> {
    while (this.#streams.size > 0) {
      try {
        this.#client = await this.#connect(this.#world);
        this.#back(this.#client.daemon.version);
        await this.#follow(this.#client);
      } catch (error) {
        if (!(error instanceof LocalError) && !(error instanceof Refused)) this.#onTrouble(error);
        this.#gone(error instanceof Error ? error.message : String(error));
      }
      this.#client?.close();
      this.#client = null;
      if (this.#streams.size > 0) await this.#pause(bounds.retryMs);
    }
    this.#isRunning = false;
    this.#looked.clear();
  }

  /** Looks and tells until no page is open. Throws if the daemon goes. */
  async #follow(client: Client): Promise<void> {
    const closed = client.closed.then(reason => {
      throw reason;
    });
    closed.catch(() => {});
    const changed = (event: string) => {
      for (const topic of this.#wanted()) if (sources[topic].events.test(event)) this.#stale.add(topic);
    };
    client.onEvent(({ event }) => changed(event));
    client.onLagged(() => this.#allStale());
    const subscribed = await client.request("subscribe", {});
    if (!subscribed.ok) throw new Refused(subscribed);
    this.#allStale();
    let blankAt = this.#world.now() + bounds.blankMs;
    while (this.#streams.size > 0) {
      const now = this.#world.now();
      for (const stream of this.#streams) if (!stream.isTold) this.#greet(stream, client.daemon.version);
      for (const topic of this.#wanted()) if (this.#hasNewFiles(topic)) this.#stale.add(topic);
      for (const topic of this.#wanted()) {
        const { at } = this.#looked.get(topic) ?? none;
        if (!this.#stale.has(topic) && now - at < sources[topic].everyMs) continue;
        this.#stale.delete(topic);
        await Promise.race([this.#look(client, topic), closed]);
      }
      this.#tell();
      if (now >= blankAt) {
        blankAt = now + bounds.blankMs;
        for (const { reader } of this.#streams) reader.write("\n");
      }
      await Promise.race([this.#pause(bounds.lookMs), closed]);
    }
  }

  /** Whether a file of the topic is another one, or gone, since the last look. */
  #hasNewFiles(topic: Topic): boolean {
    const { files } = sources[topic];
    if (files === undefined) return false;
    const stats = files(this.#world.paths).map(path => statSync(path, { throwIfNoEntry: false }));
    const stamp = stats
      .map(stat => (stat === undefined ? "-" : `${stat.ino} ${stat.size} ${stat.mtimeMs}`))
      .join();
    const isNew = this.#stamps.get(topic) !== stamp;
    this.#stamps.set(topic, stamp);
    return isNew;
  }

  async #look<T extends Topic>(client: Client, topic: T): Promise<void> {
    const at = this.#world.now();
    const rows: readonly Rows[T][] = await sources[topic].look(client, this.#viewer);
    this.#looked.set(topic, { at, rows: new Map(rows.map(row => [keyOf[topic](row), JSON.stringify(row)])) });
  }

  #tell(): void {
    for (const stream of this.#streams) {
      if (!stream.isTold || stream.reader.unreadBytes > bounds.unreadBytes) continue;
      for (const topic of stream.topics) {
        const looked = this.#looked.get(topic);
        const last = stream.lastSent.get(topic);
        if (looked === undefined || looked === last) continue;
        stream.lastSent.set(topic, looked);
        const line = difference(topic, last ?? none, looked, last === undefined);
        if (line !== null) stream.reader.write(line);
      }
    }
  }

  #greet(stream: Stream, version: string): void {
    stream.isTold = true;
    stream.reader.write(lineOf({ kind: "hello", viewer: this.#viewer, version }));
    if (this.#away !== null) stream.reader.write(lineOf({ kind: "away", why: this.#away }));
  }

  #back(version: string): void {
    if (this.#away === null) return;
    this.#away = null;
    for (const { reader, isTold } of this.#streams)
      if (isTold) reader.write(lineOf({ kind: "back", version }));
  }

  #gone(why: string): void {
    this.#away = why;
    for (const stream of this.#streams) {
      if (stream.isTold) stream.reader.write(lineOf({ kind: "away", why }));
      else this.#greet(stream, "");
    }
  }

  #wanted(): ReadonlySet<Topic> {
    return new Set([...this.#streams].flatMap(({ topics }) => topics));
  }

  #allStale(): void {
    for (const topic of this.#wanted()) this.#stale.add(topic);
  }

  /** Ends early when a page opens or closes. */
  #pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const end = () => {
        stop();
        if (this.#wake === end) this.#wake = () => {};
        resolve();
      };
      // Each ends by itself, because nobody waits for one any more if the daemon went meanwhile.
      const stop = this.#world.every(ms, end);
      this.#wake = end;
    });
  }
}

/** Returns the line that makes the rows of `from` those of `to`; null: they are the same. */
function difference(topic: Topic, from: Looked, to: Looked, isWhole: boolean): string | null {
  const set: string[] = [];
  for (const [key, row] of to.rows) if (isWhole || from.rows.get(key) !== row) set.push(row);
  const gone = isWhole ? [] : [...from.rows.keys()].filter(key => !to.rows.has(key));
  if (!isWhole && set.length === 0 && gone.length === 0) return null;
  const rest = JSON.stringify({ kind: "rows", topic, at: to.at, gone, isWhole }).slice(0, -1);
  // The rows are JSON already.
  return `${rest},"set":[${set.join(",")}]}\n`;
}

function lineOf(line: StreamLine): string {
  return `${JSON.stringify(line)}\n`;
}
