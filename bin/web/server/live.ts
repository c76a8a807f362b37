/**
 * What the daemon has, told to open pages as it changes. There is a connection to the daemon while a page is open, and it does
 * not keep the daemon. Each topic that some page shows is looked at again when an event says that it changed; a page is told
 * the rows that differ from what it was told before.
 *
 * Invariant: a stream's lines, applied in order, give the rows of the latest look, however many were left out because the page
 * read too slowly.
 */
import { statSync } from "node:fs";
import { LocalError } from "../../../client/errors.ts";
import type { Client, ProcessContext } from "../../process-context.ts";
import { Refused } from "../../with-daemon.ts";
import { bounds } from "../bounds.ts";
import { keyOf, type Rows, type StreamLine, type Topic, type Viewer } from "../wire.ts";
import { sources } from "./topics.ts";

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
  readonly told: Map<Topic, Looked>;
  isTold: boolean;
}

const none: Looked = { at: 0, rows: new Map() };

export type Connect = (world: ProcessContext) => Promise<Client>;

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
    const stream: Stream = { reader, topics, told: new Map(), isTold: false };
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
        const told = stream.told.get(topic);
        if (looked === undefined || looked === told) continue;
        stream.told.set(topic, looked);
        const line = difference(topic, told ?? none, looked, told === undefined);
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
