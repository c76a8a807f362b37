/**
 * This machine's copy of a shared project: an instance of the core's state, filled from rows, and the file that keeps it.
 *
 * Invariants: the copy is what the store had at `version`, but for letters on their way to agents of this machine. So a reader
 * sees nothing of a step before its commit: the step is worked out, taken back, and done once it is stored. Each change of a row
 * goes through its table's map or `Preimages.writable`, so a step's cost is that of the rows that it changes. A stored row
 * that does not fit is left out and named.
 */
import { open, rename, rm } from "node:fs/promises";
import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import { allDue, commandRules } from "../core/apply.ts";
import type { Images } from "../core/frame/saved-rows.ts";
import { dropVolatile } from "../core/messages/context.ts";
import { lettersOf } from "../core/messages/inbox.ts";
import { settleRoom } from "../core/sessions/room.ts";
import { emptyState } from "../core/snapshot.ts";
import type { State } from "../core/state.ts";
import type { Meta } from "../core/tables/base-state.ts";
import {
  type CommandOf,
  type CommandType,
  type CoreEvent,
  type Due,
  type Reply,
  Step,
} from "../core/tables/entries.ts";
import { claimerOf, type Task } from "../core/tables/tasks.ts";
import { readPrivateFile } from "./private-files.ts";
import { headOf, type Kind, kinds, type Names, outward, RowMap, readHead, takeHead } from "./rows.ts";

/** A row as the store has it; a null value: it is gone. */
export type StoredRow = readonly [kind: string, key: string, value: string | null];

/** A row's place in the copy. */
type Place = readonly [kind: string, key: string];

function placeIn([kind, key]: StoredRow): string {
  return `${kind} ${key}`;
}

/** A row that a step changes, as the copy has it before and after; null: it is not there. */
interface Change {
  readonly kind: Kind;
  readonly key: string;
  readonly before: object | null;
  readonly after: object | null;
}

/** What a step changes. */
export interface StepChanges {
  readonly changes: readonly Change[];
  /** What the store gets: nothing if it has all of that already. */
  readonly stored: readonly StoredRow[];
  /** The counters after the step. */
  readonly head: object;
  /** Who wrote messages in it, each with the times of its latest ones; they are this machine's own business. */
  readonly sent: readonly Noted[];
}

/** A key of a map, with what it has there; null: it is not there. */
type Noted = readonly [key: string, value: object | null];

/** What came of a part of a step. */
interface Happened {
  readonly reply: Reply | null;
  readonly events: readonly CoreEvent[];
}

/** What came of a command. */
export interface Done extends Happened {
  readonly reply: Reply;
}

/** A table's map, which notes what a step does to it. */
class NotedMap extends RowMap<object> {
  /** The rows as they were when the step began, null for absent ones; null: no step is under way. */
  before: Map<string, object | null> | null = null;

  override set(key: string, row: object): this {
    this.#note(key);
    return super.set(key, row);
  }

  override delete(key: string): boolean {
    this.#note(key);
    return super.delete(key);
  }

  #note(key: string): void {
    if (this.before?.has(key) === false) this.before.set(key, this.get(key) ?? null);
  }

  /** Ends what `before` began, and takes it back. Returns what was there. */
  takeBack(): readonly Noted[] {
    const before = [...(this.before ?? [])];
    this.before = null;
    const after = before.map(([key]) => [key, this.get(key) ?? null] as const);
    this.put(before);
    return after;
  }

  put(values: readonly Noted[]): void {
    for (const [key, value] of values)
      if (value === null) this.delete(key);
      else this.set(key, value);
  }
}

/** Returns the events of a step, each of a task with who has to know of it. */
function withReaders({ events, readers }: Step): readonly CoreEvent[] {
  return events.map(event => {
    const those = "task" in event.event ? readers.get(event.event.task) : undefined;
    return those === undefined ? event : { ...event, readers: those };
  });
}

export class Copy {
  readonly state: State = emptyState();
  names: Names;
  /** The store's step that the copy has; 0: none yet. */
  version = 0;
  stamp = "";
  /** Stored rows that are left out, by kind and key, each with why. */
  readonly unfit = new Map<string, string>();
  /** Those of them that lack another row, which may come. */
  readonly #lacking = new Map<string, StoredRow>();
  readonly #maps: ReadonlyMap<Kind, NotedMap>;
  readonly #sent = new NotedMap();
  #images: Images | null = null;
  /** The counters as they are between two steps, once they were worked out; and as they were before the step. */
  #head: object | null = null;
  #before: object = {};

  constructor(names: Names) {
    this.names = names;
    this.state.isShared = true;
    Object.assign(this.state.messages, { sent: this.#sent });
    this.#maps = new Map(
      kinds.map(kind => {
        const map = new NotedMap();
        kind.install(this.state, map);
        return [kind, map];
      }),
    );
  }

  /**
   * Takes what the store has now. Throws if the counters cannot be read: then nothing is known of the project, and the copy
   * stays as it was.
   */
  take(version: number, stamp: string, head: string, rows: readonly StoredRow[]): void {
    const counters = readHead(head);
    const places = new Set(this.#lacking.size === 0 ? [] : rows.map(placeIn));
    const again = [...this.#lacking].flatMap(([place, row]) => (places.has(place) ? [] : [row]));
    this.#dropUnfit(this.fill(again.length === 0 ? rows : [...again, ...rows]));
    this.#settle(version, stamp, counters);
  }

  /** Takes a part of the rows of an empty copy. `dropAllUnfit` and `settle` follow when it has all. Returns their keys. */
  fill(rows: readonly StoredRow[]): readonly Place[] {
    return kinds.flatMap(kind => {
      const came = rows.flatMap(row => (row[0] === kind.name ? this.#read(kind, row) : []));
      if (came.length > 0) kind.take(this.state, came as never, false);
      return came.map(([key]) => [kind.name, key] as const);
    });
  }

  /** Leaves out all rows that name what is not there. */
  dropAllUnfit(): void {
    const { tasks, messages, parts } = this.state;
    const keys = (name: string, all: Iterable<string>) => [...all].map(key => [name, key] as const);
    this.#dropUnfit([
      ...keys("tasks", tasks.all.keys()),
      ...keys("messages", messages.all.keys()),
      ...keys("parts", parts.all.keys()),
    ]);
  }

  /** The copy is what the store has after this step. */
  settle(version: number, stamp: string, head: string): void {
    this.#settle(version, stamp, readHead(head));
  }

  #settle(version: number, stamp: string, counters: object | null): void {
    if (counters !== null) takeHead(this.state, counters, this.names);
    this.#head = null;
    settleRoom(this.state);
    this.version = version;
    this.stamp = stamp;
  }

  #read(kind: Kind, row: StoredRow): readonly (readonly [string, object | null])[] {
    const [, key, value] = row;
    const place = placeIn(row);
    this.unfit.delete(place);
    this.#lacking.delete(place);
    const found = kind.read(key, value, this.names);
    if (found !== null) return [found];
    this.#leaveOut(place, `the ${kind.name} row ${key} has another form than Kite writes`);
    // What it was before is no more.
    const gone = kind.read(key, null, this.names);
    return gone === null ? [] : [gone];
  }

  /** Returns whether it is named: only so many are. */
  #leaveOut(place: string, why: string): boolean {
    if (this.unfit.size >= limits.storeUnfitMax) return false;
    this.unfit.set(place, why);
    return true;
  }

  /** Leaves out rows that name what is not there, among those that came and those that need them: no rule would hold. */
  #dropUnfit(came: readonly Place[]): void {
    const { tasks, messages, sessions, parts } = this.state;
    const keysOf = (name: string) => came.flatMap(([kind, key]) => (kind === name ? [key] : []));
    const gone = keysOf("sessions").filter(id => !sessions.live.has(id));
    const looks = [...keysOf("tasks"), ...gone.flatMap(id => [...(tasks.claims.get(id) ?? [])])];
    for (let key = looks.pop(); key !== undefined; key = looks.pop()) {
      const task = tasks.all.get(key);
      const why = task === undefined ? null : this.#lackOf(task);
      if (why !== null) this.#drop("tasks", key, `the task ${key} ${why}`);
      if (!tasks.all.has(key)) looks.push(...(tasks.dependents.get(key) ?? []));
    }
    const left = gone.flatMap(id => [...(messages.bySession.get(id) ?? [])]);
    const unread = left.flatMap(inbox => [...lettersOf(messages, inbox)].map(([{ id }]) => id));
    for (const key of new Set([...keysOf("messages"), ...unread])) {
      const letters = messages.all.get(key)?.letters.values() ?? [];
      const lost = [...letters].find(({ to }) => !sessions.live.has(to.id));
      if (lost !== undefined)
        this.#drop("messages", key, `the message ${key} is to ${lost.to.name}, who is not there`);
    }
    const without = gone.flatMap(id => [...(parts.bySession.get(id) ?? [])]);
    for (const key of new Set([...keysOf("parts"), ...without])) {
      const { session = null, node, part } = parts.all.get(key) ?? {};
      if (session !== null && sessions.live.get(session)?.node !== node)
        this.#drop("parts", key, `the ${part} of ${session} is of nobody who is there`);
    }
  }

  /** Returns what the task names that is not there, or null. */
  #lackOf(task: Task): string | null {
    const { tasks, sessions } = this.state;
    const missing = task.dependsOn.find(id => id === task.id || !tasks.all.has(id));
    if (missing === task.id) return "depends on itself";
    if (missing !== undefined) return `depends on ${missing}, which is not there`;
    const claimer = claimerOf(task)?.session;
    return claimer === undefined || sessions.live.has(claimer)
      ? null
      : `is claimed by ${claimer}, who is not there`;
  }

  /** Leaves out a row, until what it lacks is there. */
  #drop(name: string, key: string, why: string): void {
    for (const [kind, map] of this.#maps) {
      const row = kind.name === name ? map.get(key) : undefined;
      if (row === undefined) continue;
      const stored = this.#stored(kind, key, kind.form(row));
      if (this.#leaveOut(placeIn(stored), why)) this.#lacking.set(placeIn(stored), stored);
      kind.take(this.state, [[key, null]] as never, false);
    }
  }

  /** Begins a step of several commands at the store's time. */
  begin(nowMs: number): void {
    this.#before = this.#head ?? headOf(this.state, this.names);
    this.state.t = Math.max(this.state.t, nowMs);
    this.#images = this.state.preimages.begin();
    for (const map of [...this.#maps.values(), this.#sent]) map.before = new Map();
  }

  /** Applies a command by the core's rules. Throws only on a bug, or on rows that break them: this copy is of no use then. */
  apply<T extends CommandType>(command: CommandOf<T>): Done {
    const done = this.run((state, meta, step) =>
      commandRules[command.type].apply(state, command as never, meta, step),
    );
    if (done.reply === null) throw new Error(`${command.type} waits, which no shared command does`);
    return { ...done, reply: done.reply };
  }

  /** Does what no command does, within a step; throws as `apply`. */
  run(work: (state: State, meta: Meta, step: Step) => void): Happened {
    const { state } = this;
    state.seq += 1;
    const step = new Step();
    work(state, { seq: state.seq, origin: { node: this.names.node, epoch: 1, n: state.seq } }, step);
    settleRoom(state);
    return { reply: step.reply, events: step.readers.size === 0 ? step.events : withReaders(step) };
  }

  /** Ends the values of a node that end with its daemon. */
  endValuesOf(node: string): readonly CoreEvent[] {
    return this.run((state, _meta, step) => dropVolatile(state, node, step)).events;
  }

  /** What is due by the store's time. */
  due(nowMs: number): Due[] {
    return allDue(this.state).flatMap(({ at, due }) => (at <= nowMs ? [due] : []));
  }

  /** Ends the step, and takes it back: returns what it changes, for `accept`. */
  end(): StepChanges {
    const images = this.#images;
    if (images === null) throw new Error("no step has begun");
    for (const row of images.changed)
      for (const [kind, map] of this.#maps) {
        const key = kind.keyOf(row);
        if (key === undefined || map.get(key) !== row) continue;
        if (map.before?.has(key) === false) map.before.set(key, row);
        break;
      }
    const changes: Change[] = [];
    for (const [kind, map] of this.#maps) {
      for (const [key, row] of map.before ?? []) {
        const now = map.get(key);
        const [before, after] = [row && kind.form(images.of(row)), now === undefined ? null : kind.form(now)];
        changes.push({ kind, key, before, after });
      }
      map.before = null;
    }
    this.state.preimages.end(images);
    this.#images = null;
    const head = headOf(this.state, this.names);
    this.#put(changes, "before", this.#before);
    const stored = changes.flatMap(one => this.#storedOf(one));
    return { changes, stored, head, sent: this.#sent.takeBack() };
  }

  /** Does what the step does: it is stored, or the store has not to hear of it. */
  accept({ changes, head, sent }: StepChanges): void {
    this.#put(changes, "after", head);
    this.#sent.put(sent);
  }

  #put(changes: readonly Change[], side: "before" | "after", head: object): void {
    for (const kind of kinds) {
      const own = changes.flatMap(change => (change.kind === kind ? [[change.key, change[side]]] : []));
      if (own.length > 0) kind.take(this.state, own as never, true);
    }
    takeHead(this.state, head, this.names);
    this.#head = head;
    settleRoom(this.state);
  }

  #storedOf({ kind, key, before, after }: Change): StoredRow[] {
    const isSame =
      before === null || after === null
        ? before === after
        : JSON.stringify(kind.lasting(before)) === JSON.stringify(kind.lasting(after));
    return isSame ? [] : [this.#stored(kind, key, after)];
  }

  #stored(kind: Kind, key: string, form: object | null): StoredRow {
    const value = form && JSON.stringify(outward(kind.lasting(form), this.names));
    return [kind.name, kind.keyThere(key, this.names), value];
  }

  /** Notes all that it has now, and returns what writes it line by line, while later steps go on. */
  snapshot(): { readonly first: object; readonly rows: Iterable<StoredRow>; readonly end: () => void } {
    const images = this.state.preimages.begin();
    const all = [...this.#maps].map(([kind, map]) => [kind, [...map]] as const);
    const { version, stamp } = this;
    const head = JSON.stringify(headOf(this.state, this.names));
    const stored = (kind: Kind, key: string, row: object) =>
      this.#stored(kind, key, kind.form(images.of(row)));
    const rows = {
      *[Symbol.iterator]() {
        for (const [kind, own] of all) for (const [key, row] of own) yield stored(kind, key, row);
      },
    };
    const count = all.reduce((sum, [, own]) => sum + own.length, 0);
    return {
      first: { version, stamp, head, rows: count },
      rows,
      end: () => this.state.preimages.end(images),
    };
  }
}

// The copy on the disk: what a daemon shows that starts while the store is away. It says as of when it is. The store has it all.

const fileFormat = 1;

const firstLine = z.object({
  ...{ format: z.literal(fileFormat), store: z.string().nullable(), node: z.string(), shared: z.string() },
  asOfMs: z.number(),
  ...{ version: z.number().int().min(1), stamp: z.string(), head: z.string(), rows: z.number() },
});

const rowLine = z.tuple([z.string(), z.string(), z.string().nullable()]);

/**
 * Fills an empty copy from its file, if that is of the store with this id (null: of any). Returns as of when it is, by wall time in milliseconds;
 * null: there is no such file.
 */
export function loadCopy(path: string, copy: Copy, store: string | null): number | null {
  const found = readPrivateFile(path, limits.storeCopyBytes);
  if (found.is !== "read") return null;
  const [first = "", ...lines] = found.text.split("\n");
  try {
    const found = firstLine.parse(JSON.parse(first));
    const { node, shared, asOfMs, version, stamp, head, rows: count } = found;
    // An id or a name of before, or another store, says nothing of what is shared now.
    const isSame = store === null || found.store === store;
    if (!isSame || node !== copy.names.node || shared !== copy.names.shared) return null;
    const rows = lines.flatMap(line => (line === "" ? [] : [rowLine.parse(JSON.parse(line))]));
    // The store would not send again what is missing here.
    if (rows.length !== count) return null;
    copy.take(version, stamp, head, rows);
    return asOfMs;
  } catch {
    return null; // Damaged, or another version's: nothing is shown until the store is reached.
  }
}

/**
 * Writes the copy in place of the one before, and returns whether it did: one of more than `limits.storeCopyBytes` is not kept.
 * Rejects with an error of the file system.
 */
export async function saveCopy(
  path: string,
  copy: Copy,
  asOfMs: number,
  store: string | null,
): Promise<boolean> {
  const { node, shared } = copy.names;
  const fresh = `${path}.new`;
  const file = await open(fresh, "w", 0o600);
  let isKept = true;
  const { first, rows, end } = copy.snapshot();
  try {
    let piece = `${JSON.stringify({ format: fileFormat, store, node, shared, asOfMs, ...first })}\n`;
    let bytes = 0;
    for (const row of rows) {
      piece += `${JSON.stringify(row)}\n`;
      if (piece.length < pieceChars) continue;
      bytes += (await file.write(piece)).bytesWritten;
      piece = "";
      if (bytes > limits.storeCopyBytes) break;
    }
    bytes += (await file.write(piece)).bytesWritten;
    isKept = bytes <= limits.storeCopyBytes;
    if (isKept) await file.sync();
  } finally {
    end();
    await file.close();
  }
  if (isKept) await rename(fresh, path);
  else for (const one of [fresh, path]) await rm(one, { force: true });
  return isKept;
}

/** What is written before other work of the daemon goes on. */
const pieceChars = 256 * 1024;
