/**
 * The rescue store as a whole: contents and index on the disk, versions and wipes in memory, and what keeps them alike. A start
 * that does not find the index whole takes from the contents what it lacks, and removes none of them.
 */

import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { errorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { DamageRow, VersionKind } from "../../protocol/schemas/rescue.ts";
import { BoundedMap } from "../bounded-map.ts";
import { pathOfWork } from "../core/work/dirty-files.ts";
import { Slots } from "../facts/work-clock.ts";
import { ContentStore, IndexFile } from "./contents.ts";
import {
  type Author,
  type Draft,
  type Kept,
  type Purged,
  type Removal,
  type Version,
  VersionTable,
  type Wipe,
  WipeTable,
  withinLine,
} from "./versions.ts";

// Versions and wipes as lines of the index, and what becomes of an index that lacks some.

/** A version, in short names: the index has one line for each. */
interface ShortVersion {
  readonly n: number;
  readonly f: string;
  readonly w: string;
  readonly p: string;
  readonly by: Author | null;
  readonly t: string | null;
  readonly k: VersionKind;
  readonly a: number;
  readonly b: string | null;
  readonly s: number;
  readonly z: number;
  readonly m: number;
  /** Lines added and taken. */
  readonly c: readonly [number, number] | null;
  readonly e?: true;
  readonly h: string;
}

/**
 * `next`: the numbers of the next version and the next wipe. `end`: the daemon ended in order after this line, with so many
 * versions; true: an earlier end that did not count. `gone`: versions that were removed. `lost`: versions whose content was
 * missing, and that come back with it.
 */
type IndexRecord =
  | { readonly next: readonly [number, number]; readonly end?: number | true }
  | { readonly v: ShortVersion }
  | { readonly gone: readonly number[] }
  | { readonly lost: readonly number[] }
  | { readonly r: Wipe };

/**
 * What the file of a content says after the content: its first version, and the numbers that were next when that was kept.
 */
export interface Label {
  readonly v: ShortVersion;
  readonly next: readonly [number, number];
}

/** Contents that a start reads at once. */
const readsAtOnce = 16;

/** Where versions of unknown files are, by name, and since when; and who hears of contents that cannot be read. */
interface Aside {
  readonly folder: string;
  readonly atMs: number;
  readonly onUnread: (path: string, error: unknown) => void;
}

export function labelOf(version: Version, wipes: number): Label {
  const { v } = recordOf(version);
  return { v, next: [version.n + 1, wipes] };
}

export function recordOf(version: Version): { readonly v: ShortVersion } {
  const { n, file, worktree, project, by, tool, kind, atMs, base, mode, added, taken, asSent, hash } =
    version;
  const c = added === null || taken === null ? null : ([added, taken] as const);
  const sizes = { s: version.sizeBytes, z: version.storedBytes };
  const rest = { b: base, ...sizes, m: mode, c, ...(asSent ? { e: true as const } : {}), h: hash };
  return { v: { n, f: file, w: worktree, p: project, by, t: tool, k: kind, a: atMs, ...rest } };
}

/** Repeated texts of many versions, each kept once. */
class SharedTexts {
  readonly #texts = new Map<string, string>();

  one(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    this.#texts.set(text, text);
    return text;
  }
}

function versionOf({ v }: { readonly v: ShortVersion }, texts: SharedTexts): Version {
  const [worktree, file] = [texts.one(v.w), texts.one(v.f)];
  return {
    n: v.n,
    path: texts.one(pathOfWork({ worktree, file })),
    file,
    worktree,
    project: texts.one(v.p),
    by: v.by === null ? null : { ...v.by, session: texts.one(v.by.session), name: texts.one(v.by.name) },
    tool: v.t === null ? null : texts.one(v.t),
    kind: v.k,
    atMs: v.a,
    base: v.b === null ? null : texts.one(v.b),
    sizeBytes: v.s,
    storedBytes: v.z,
    mode: v.m,
    added: v.c?.[0] ?? null,
    taken: v.c?.[1] ?? null,
    asSent: v.e === true,
    hash: v.h,
  };
}

/** What the lines of the index say: versions and wipes, in their tables, and the numbers that are next. */
class IndexLines {
  next: [number, number] = [1, 1];
  /** The index lacked lines, or may have; until whoever reads this has looked at each content. */
  isDoubted = false;
  readonly #versions: VersionTable;
  readonly #wipes: WipeTable;
  /**
   * The damage found since the daemon started, with the wall time of the last find. Says also whether that is to be logged.
   */
  damage = { recovered: 0, lost: 0, atMs: Number.NEGATIVE_INFINITY };
  isUntold = false;
  /** The last line says that the daemon ended in order. */
  #isClean = false;
  /**
   * Versions that lines call removed, and after a start those that were purged. Their contents may come back, for example
   * with a folder that somebody puts back.
   */
  readonly gone = new Set<number>();
  /** Versions of which lines say that they were lost with their contents. */
  readonly #lost = new Map<number, Version>();

  constructor(versions: VersionTable, wipes: WipeTable) {
    this.#versions = versions;
    this.#wipes = wipes;
  }

  take(record: IndexRecord, texts: SharedTexts): void {
    this.#isClean = "end" in record && (record.end === true || record.end === this.#versions.size);
    if ("v" in record) {
      // After a read that failed some are known.
      if (this.#versions.get(record.v.n) === undefined) this.#versions.add(versionOf(record, texts));
      this.next[0] = Math.max(this.next[0], record.v.n + 1);
    } else if ("gone" in record || "lost" in record) {
      const isGone = "gone" in record;
      for (const n of isGone ? record.gone : record.lost) {
        const version = this.#versions.get(n);
        this.#versions.remove(n);
        if (isGone) this.gone.add(n);
        else if (version !== undefined) this.#lost.set(n, version);
      }
    } else if ("r" in record) {
      this.#wipes.add(record.r);
      this.next[1] = Math.max(this.next[1], record.r.n + 1);
    } else if ("next" in record) {
      this.next = [Math.max(this.next[0], record.next[0]), Math.max(this.next[1], record.next[1])];
    }
  }

  *records(): Generator<IndexRecord, void> {
    yield { next: [...this.next] };
    for (const version of this.#versions.oldestFirst()) yield recordOf(version);
    for (const wipe of this.#wipes.all()) yield { r: wipe };
    const gone = [...this.gone];
    for (let at = 0; at < gone.length; at += limits.rescuePrunedPerTurn)
      yield { gone: gone.slice(at, at + limits.rescuePrunedPerTurn) };
  }

  /**
   * Takes from the contents what the index lacks, before a number is given out that one of them has. `bad`: lines that are
   * damaged. Returns whether the index has to be written anew. Throws the system's error.
   */
  async rebuild(store: ContentStore, bad: number, aside: Aside, texts: SharedTexts): Promise<boolean> {
    let recovered = 0;
    for (const version of this.#lost.values()) {
      if ((await store.statOf(version.hash)) === null) continue;
      this.#versions.add(version);
      recovered += 1;
    }
    const { labels, unlabelled, unread } = await this.#labels(store, bad > 0, aside);
    // An index that was cut after the end of an earlier run looks whole.
    const isShort = labels.some(({ v }) => v.n >= this.next[0]);
    this.isDoubted ||= !this.#isClean || bad > 0 || isShort;
    let lost = unread;
    for (const { v, next } of labels) {
      if (this.isDoubted) this.take({ next }, texts);
      const isOrphan = !this.#versions.has(v.h);
      const isFree = this.#versions.get(v.n) === undefined && !this.gone.has(v.n);
      if (isFree && this.isDoubted) {
        this.#versions.add(versionOf({ v }, texts));
        recovered += 1;
      } else if (isOrphan && this.gone.has(v.n) && bad === 0) await store.remove(v.h);
      // A damaged line may have been of another version of it.
      else if (isOrphan) unlabelled.push(v.h);
    }
    if (this.isDoubted) {
      // Lines may be missing at the end: what a person noted of a lost version names no other one.
      this.next = [this.next[0] + limits.rescueNumbersSkipped, this.next[1] + limits.rescueNumbersSkipped];
      for (const hash of unlabelled) if (!(await this.#setAside(store, hash, aside))) lost += 1;
    }
    this.gone.clear();
    this.#lost.clear();
    this.found(recovered, lost + Math.max(0, bad - recovered), aside.atMs);
    return bad > 0 || recovered > 0 || (this.isDoubted && unlabelled.length > 0);
  }

  found(recovered: number, lost: number, atMs: number): void {
    if (recovered + lost === 0) return;
    const { damage } = this;
    this.damage = { recovered: damage.recovered + recovered, lost: damage.lost + lost, atMs };
    this.isUntold = true;
  }

  /** The contents of these versions name them: others that had the same ones are about to go. Throws the system's error. */
  async relabel(store: ContentStore, heirs: readonly Version[]): Promise<void> {
    for (const [hash, heir] of new Map(heirs.map(heir => [heir.hash, heir]))) {
      const found = await store.read(hash);
      if (found === null) await store.remove(hash);
      else await store.place(hash, found.packed, labelOf(heir, this.next[1]));
    }
  }

  /** The labels of all contents, or of those that no version has, by their numbers; and the contents that have none. */
  async #labels(store: ContentStore, isOfAll: boolean, { onUnread }: Aside) {
    const [labels, unlabelled]: [Label[], string[]] = [[], []];
    let unread = 0;
    const look = async (hash: string) => {
      const found = await store.read(hash).catch(error => onUnread(store.pathOf(hash), error));
      if (found === undefined) {
        if (!this.#versions.has(hash)) unread += 1;
        return;
      }
      const { v, next } = (found?.label ?? { v: null }) as Label;
      if (found !== null && v?.h === hash) labels.push({ v: { ...v, z: found.storedBytes }, next });
      else if (!this.#versions.has(hash)) unlabelled.push(hash);
    };
    for await (const hashes of store.hashes()) {
      const looked = isOfAll ? hashes : hashes.filter(hash => !this.#versions.has(hash));
      for (let at = 0; at < looked.length; at += readsAtOnce)
        await Promise.all(looked.slice(at, at + readsAtOnce).map(look));
    }
    return { labels: labels.sort((a, b) => a.v.n - b.v.n), unlabelled, unread };
  }

  /** Makes a version of a content whose file nobody knows. False: it is not whole, so nobody can have it, and it goes. */
  async #setAside(store: ContentStore, hash: string, { folder, atMs }: Aside): Promise<boolean> {
    const found = await store.read(hash);
    if (found === null) {
      await store.remove(hash);
      return false;
    }
    const [n, wipes] = this.next;
    const file = hash.slice(0, 12);
    const place = { path: join(folder, file), file, worktree: folder, project: folder, base: null };
    const what = { by: null, tool: null, kind: "set_aside", added: null, taken: null, mode: 0o600 } as const;
    const sizes = { sizeBytes: found.content.length, storedBytes: found.storedBytes };
    const version = { n, ...place, ...what, ...sizes, atMs, asSent: false, hash };
    this.next[0] = n + 1;
    const storedBytes = await store.place(hash, found.packed, labelOf(version, wipes));
    this.#versions.add({ ...version, storedBytes });
    this.isUntold = true;
    return true;
  }
}

// Which versions go, and in which order. Pure.

export interface Bounds {
  readonly bytesMax: number;
  readonly versionsMax: number;
  readonly keptMs: number;
}

const storeBounds: Bounds = {
  bytesMax: limits.rescueStoreBytes,
  versionsMax: limits.rescueVersionsMax,
  keptMs: limits.rescueKeptMs,
};

/** What lasts longer than the rest. */
interface Lasting {
  /** The file has uncommitted work: its last version stays, whatever the bounds say. */
  isDirty(path: string): boolean;
  /** The version brings back what was wiped: it goes only after all others that may go. */
  isWiped(n: number): boolean;
}

/**
 * A version is needless if its two neighbours of the same file lie closer together than this part of its age. After each
 * pass older versions lie farther apart.
 */
const gaps = [1 / 16, 1 / 4, Number.POSITIVE_INFINITY] as const;

/**
 * Yields each version that has to go, and null for each other one that it looked at. So the caller can let other work run.
 * The caller removes what is yielded before it goes on. Versions that are too old go first. Three kinds follow while there
 * is more than the bounds allow. The first are versions that newer ones of their file follow closely. The second are all but
 * the last of each file. The third are last ones, the oldest first. Versions of wipes go after all others.
 */
function* thinned(
  table: VersionTable,
  nowMs: number,
  lasting: Lasting,
  bounds: Bounds = storeBounds,
): Generator<Version | null, void> {
  const isKept = (version: Version) => table.nextOf(version) === null && lasting.isDirty(version.path);
  for (const version of table.oldestFirst()) {
    if (version.atMs >= nowMs - bounds.keptMs) break;
    yield isKept(version) ? null : version;
  }
  if (!isOver(table, bounds, 1)) return;
  for (const isOfWipe of [false, true]) {
    for (const gap of gaps)
      for (const version of table.oldestFirst()) {
        if (!isOver(table, bounds, limits.rescueLowPart)) return;
        const next = lasting.isWiped(version.n) === isOfWipe ? table.nextOf(version) : null;
        const isOlder = next !== null && isNeedless(version, table.previousOf(version), next, nowMs, gap);
        yield isOlder ? version : null;
      }
    for (const version of table.oldestFirst()) {
      if (!isOver(table, bounds, limits.rescueLowPart)) return;
      yield lasting.isWiped(version.n) !== isOfWipe || isKept(version) ? null : version;
    }
  }
}

function isNeedless(
  { atMs }: Version,
  previous: Version | null,
  next: Version,
  nowMs: number,
  gap: number,
): boolean {
  if (gap === Number.POSITIVE_INFINITY) return true;
  return previous !== null && next.atMs - previous.atMs <= (nowMs - atMs) * gap;
}

/** Whether there is more than this part of the bounds. */
function isOver(table: VersionTable, { bytesMax, versionsMax }: Bounds, part: number): boolean {
  return table.bytes > bytesMax * part || table.size > versionsMax * part;
}

interface ArchiveOptions {
  readonly dir: string;
  /** Wall time in milliseconds. */
  readonly wall: () => number;
  /** The paths of all files with uncommitted work. */
  readonly dirtyPaths: () => ReadonlySet<string>;
  readonly onTrouble: (message: string, error: unknown) => void;
  readonly bounds?: Bounds;
}

/**
 * Invariants: a number is used once; a content is on the disk before a line names it, and a line before the table has it.
 * One change at a time: what removes a content never meets what stores the same one. No label names a version that was
 * removed. A change that cannot be stored is reported and not kept; nothing throws for it.
 */
export class Archive {
  readonly versions = new VersionTable();
  readonly wipes = new WipeTable();
  readonly #options: ArchiveOptions;
  readonly #store: ContentStore;
  readonly #index: IndexFile;
  /** Versions of unknown files are named below this folder; on the disk it is not there. */
  readonly #asideFolder: string;
  readonly #changes = new Slots(1);
  readonly #contents = new BoundedMap<string, Buffer>({
    entriesMax: limits.rescueVersionsMax,
    weightMax: limits.rescueCacheBytes,
    weightOf: content => content.length,
  });
  readonly #lines = new IndexLines(this.versions, this.wipes);
  #trouble: string | null = null;
  #opening: Promise<void> = Promise.resolve();
  #pruning: Promise<Removal> | null = null;
  #isClosed = false;
  #isRead = false;
  /** When a version is next looked for that is too old, by the wall. */
  #pruneMs = 0;
  /** When a read that failed is tried again, by the wall. */
  #readAgainMs = 0;

  constructor(options: ArchiveOptions) {
    this.#options = options;
    this.#store = new ContentStore(options.dir);
    this.#asideFolder = join(options.dir, "set-aside");
    this.#index = new IndexFile(join(options.dir, "index"), error =>
      this.#fail(
        "the rescue index could not be brought to the disk, and a power cut may take its last lines",
        error,
      ),
    );
  }

  /** What is wrong with it now, as a sentence; null: nothing. Looks at the disk. */
  get trouble(): string | null {
    const lost = this.#loss;
    const loss = `${lost} was removed or cut while the daemon runs; put it back if you have it, else the next write begins it anew`;
    const found = [this.#trouble, lost === null ? null : loss].filter(one => one !== null);
    return found.length === 0 ? null : found.join("; ");
  }

  /** The damage found, with the wall time of the last find. */
  get damage(): DamageRow & { readonly atMs: number } {
    return { ...this.#lines.damage, setAside: this.versions.setAside, asideFolder: this.#asideFolder };
  }

  /** What of the store somebody removed or cut while the daemon runs; null: nothing. */
  get #loss(): string | null {
    if (!this.#isRead || this.#isClosed) return null;
    const [latest] = this.versions.latestFirst();
    try {
      if (this.#store.isLost(latest?.hash ?? null)) return this.#options.dir;
      return this.#index.isLost ? this.#index.path : null;
    } catch {
      // Something else in its place keeps from looking: what was opened is not there.
      return this.#options.dir;
    }
  }

  /** Reads the index piece by piece, then compares it with the contents. Whoever changes something waits for the first. */
  async open(): Promise<void> {
    this.#opening = this.#changes.run(() => this.#read());
    await this.#opening;
    await this.sweep();
  }

  /** Resolves when the index has been read: only then are the versions of before known. */
  get ready(): Promise<void> {
    return this.#opening;
  }

  /** Resolves when what has begun is done; later changes are refused. */
  async close(): Promise<void> {
    await this.#changes.run(async () => {
      // The next start sees that nothing is missing after the last line.
      if (await this.#isUsable())
        await this.#index.append([{ next: [...this.#lines.next], end: this.versions.size }]);
      this.#isClosed = true;
      await this.#index.close();
    });
  }

  /**
   * Stores a version, unless the file's latest one has the same content: then returns that one. Null: it could not be stored,
   * and `trouble` says why.
   */
  async keep(draft: Draft, content: Buffer, hash: string): Promise<Kept | null> {
    const kept = await this.#changes.run(async () => {
      if (!(await this.#isUsable())) return null;
      const latest = this.versions.latestOf(draft.path);
      const isSame = latest?.hash === hash && latest.mode === draft.mode;
      try {
        if (!isSame) return { version: await this.#add({ ...draft, hash }, content), isNew: true };
        const label = labelOf(latest, this.#lines.next[1]);
        await this.#store.put(hash, content, label, this.versions.storedBytesOf(hash));
        this.#trouble = null;
        return { version: latest, isNew: false };
      } catch (error) {
        this.#fail(`a version of ${draft.path} could not be kept`, error);
        if (!this.versions.has(hash))
          await this.#store.remove(hash).catch(() => {
            // A later start removes it.
          });
        return null;
      }
    });
    const isTime = isOver(this.versions, this.#bounds, 1) || this.#options.wall() >= this.#pruneMs;
    if (kept?.isNew && isTime) void this.prune();
    return kept;
  }

  async #add(drafted: Omit<Version, "n" | "sizeBytes" | "storedBytes">, content: Buffer): Promise<Version> {
    const [n, wipes] = this.#lines.next;
    // A label may have the number, also if the line cannot be written.
    this.#lines.next[0] = n + 1;
    const { hash } = drafted;
    const draft = { ...drafted, n, sizeBytes: content.length, storedBytes: 0 };
    const known = this.versions.storedBytesOf(hash);
    const storedBytes = await this.#store.put(hash, content, labelOf(draft, wipes), known);
    const version = { ...draft, storedBytes };
    await this.#index.append([recordOf(version)]);
    this.versions.add(version);
    this.#contents.set(version.path, content);
    this.#trouble = null;
    return version;
  }

  /** Notes a wipe; null: it could not be stored. */
  noteWipe(wipe: Omit<Wipe, "n">): Promise<Wipe | null> {
    return this.#changes.run(async () => {
      if (!(await this.#isUsable())) return null;
      const [, n] = this.#lines.next;
      const noted = withinLine({ ...wipe, n });
      try {
        await this.#index.append([{ r: noted }]);
      } catch (error) {
        this.#fail("a wipe could not be noted", error);
        return null;
      }
      this.#lines.next[1] = n + 1;
      this.wipes.add(noted);
      return noted;
    });
  }

  /** Returns the content of a version; null: it is gone. */
  async contentOf({ path, hash }: Pick<Version, "path" | "hash">): Promise<Buffer | null> {
    const latest = this.versions.latestOf(path);
    const held = latest?.hash === hash ? this.#contents.get(path) : undefined;
    return held ?? this.#store.get(hash);
  }

  /** The latest content of a file, if it is in memory. */
  latestContent(path: string): Buffer | null {
    return this.#contents.get(path) ?? null;
  }

  /** Whether the content is on the disk. */
  async isThere({ hash }: Pick<Version, "hash">): Promise<boolean> {
    return (await this.#store.statOf(hash)) !== null;
  }

  /** Where the content is on the disk. */
  pathOf(hash: string): string {
    return this.#store.pathOf(hash);
  }

  /**
   * Removes all versions for which this is so, their contents, and the lines of the index that tell of them. Throws the system's
   * error if the index cannot be written anew.
   */
  async purge(isMeant: (version: Version) => boolean): Promise<Purged> {
    const removed = { versions: 0, contents: 0, bytes: 0 };
    const alsoIn = new Set<string>();
    await this.#changes.run(async () => {
      if (!(await this.#isUsable())) return;
      const meant = await this.#which(isMeant);
      if (meant.length === 0) return;
      const numbers = new Set(meant.map(({ n }) => n));
      const hashes = new Set(meant.map(({ hash }) => hash));
      const heirs = await this.#which(({ n, hash }) => hashes.has(hash) && !numbers.has(n));
      await this.#lines.relabel(this.#store, heirs);
      for (const { path } of heirs) alsoIn.add(path);
      for (let at = 0; at < meant.length; at += limits.rescuePrunedPerTurn)
        await this.#remove(meant.slice(at, at + limits.rescuePrunedPerTurn), removed);
      for (const n of numbers) this.#lines.gone.add(n);
      await this.#index.rewrite(this.#lines.records());
    });
    return { ...removed, alsoIn: [...alsoIn] };
  }

  /** The versions for which this is so; lets other work run between slices of them. */
  async #which(isMeant: (version: Version) => boolean): Promise<readonly Version[]> {
    let looked = 0;
    const meant: Version[] = [];
    for (const version of this.versions.oldestFirst()) {
      if (isMeant(version)) meant.push(version);
      looked += 1;
      if (looked % limits.rescuePrunedPerTurn === 0) await turn();
    }
    return meant;
  }

  /** Removes what is beyond the bounds, in slices; who asks meanwhile gets the same run. */
  prune(): Promise<Removal> {
    this.#pruning ??= this.#prune().finally(() => {
      this.#pruning = null;
    });
    return this.#pruning;
  }

  async #prune(): Promise<Removal> {
    const removed = { versions: 0, contents: 0, bytes: 0 };
    try {
      await this.#changes.run(async () => {
        if (!(await this.#isUsable())) return;
        const { wall, dirtyPaths } = this.#options;
        this.#pruneMs = wall() + limits.rescuePruneMs;
        this.wipes.dropBefore(wall() - this.#bounds.keptMs);
        const dirty = dirtyPaths();
        const lasting = {
          isDirty: (path: string) => dirty.has(path),
          isWiped: (n: number) => this.wipes.names(n),
        };
        let looked = 0;
        for (const version of thinned(this.versions, wall(), lasting, this.#bounds)) {
          if (version !== null) await this.#remove([version], removed);
          looked += 1;
          if (looked % limits.rescuePrunedPerTurn === 0) await turn();
        }
        await this.#rewriteIfDead();
      });
    } catch (error) {
      this.#fail("the rescue store could not be pruned", error);
    }
    return removed;
  }

  /**
   * Compares contents and versions. A content that cannot be had is lost, with its versions; one that no version has goes after a
   * day.
   */
  async sweep(): Promise<void> {
    if (!this.#isRead) return;
    try {
      const there = new Set<string>();
      for await (const hashes of this.#store.hashes()) {
        for (const hash of hashes) {
          const { isDoubted } = this.#lines;
          if (!this.versions.has(hash)) {
            if (!isDoubted) await this.#removeOrphan(hash);
          } else if (!isDoubted || (await this.#store.isSound(hash, this.versions.storedBytesOf(hash))))
            there.add(hash);
        }
        await turn();
      }
      const missing = await this.#which(({ hash }) => !there.has(hash));
      for (let at = 0; at < missing.length; at += limits.rescuePrunedPerTurn)
        await this.#forgetMissing(missing.slice(at, at + limits.rescuePrunedPerTurn));
      this.#lines.isDoubted = false;
      const { recovered, setAside, lost } = this.damage;
      const what = `${recovered} versions came back, ${setAside} contents are set aside, at most ${lost} are lost`;
      if (this.#lines.isUntold)
        this.#options.onTrouble(`kept work was damaged: ${what}; see kite rescue`, null);
      this.#lines.isUntold = false;
    } catch (error) {
      this.#fail("the rescue store could not be compared with its index", error);
    }
  }

  get #bounds(): Bounds {
    return this.#options.bounds ?? storeBounds;
  }

  /**
   * Whether something can be stored: a read that failed is tried again, since to write would lose what could not be read. What
   * somebody removed begins anew.
   */
  async #isUsable(): Promise<boolean> {
    if (this.#isClosed) return false;
    if (!this.#isRead && this.#options.wall() >= this.#readAgainMs) {
      await this.#read();
      void this.sweep();
    }
    const loss = this.#loss;
    if (loss === null) return this.#isRead;
    try {
      await this.#store.open();
      await this.#index.rewrite(this.#lines.records());
      this.#options.onTrouble(`${loss} was removed or cut while the daemon runs, and is begun anew`, null);
      void this.sweep();
      return true;
    } catch (error) {
      this.#fail("versions could not be kept: the rescue store cannot begin anew", error);
      return false;
    }
  }

  async #read(): Promise<void> {
    const texts = new SharedTexts();
    const { wall } = this.#options;
    try {
      await this.#store.open();
      const bad = await this.#index.open(record => this.#lines.take(record as IndexRecord, texts));
      const isNew = this.#index.lines + bad === 0 && (await this.#store.isEmpty());
      const onUnread = (path: string, error: unknown) =>
        this.#fail(`${path} cannot be read, and stays as it is`, error);
      const aside = { folder: this.#asideFolder, atMs: wall(), onUnread };
      const isChanged = !isNew && (await this.#lines.rebuild(this.#store, bad, aside, texts));
      if (isChanged) await this.#index.rewrite(this.#lines.records());
      else if (this.#lines.isDoubted) await this.#index.append([{ next: [...this.#lines.next] }]);
      this.#isRead = true;
    } catch (error) {
      this.#readAgainMs = wall() + limits.rescueReadAgainMs;
      this.#fail("the rescue store cannot be read, and keeps nothing", error);
    }
  }

  /** The index forgets them first: a content whose version a line removed goes at the next start. */
  async #remove(
    versions: readonly Version[],
    removed: { -readonly [K in keyof Removal]: number },
  ): Promise<void> {
    await this.#index.append([{ gone: versions.map(({ n }) => n) }]);
    for (const { n, path, storedBytes } of versions) {
      const hash = this.versions.remove(n);
      this.#contents.delete(path);
      removed.versions += 1;
      if (hash === null) continue;
      await this.#store.remove(hash);
      removed.contents += 1;
      removed.bytes += storedBytes;
    }
  }

  #removeOrphan(hash: string): Promise<void> {
    return this.#changes.run(async () => {
      if (!this.#isRead || this.#isClosed || this.versions.has(hash)) return;
      const there = await this.#store.statOf(hash);
      if (there !== null && there.ctimeMs <= this.#options.wall() - limits.rescueOrphanMs)
        await this.#store.remove(hash);
    });
  }

  #forgetMissing(versions: readonly Version[]): Promise<void> {
    return this.#changes.run(async () => {
      const lost: Version[] = [];
      if (!this.#isRead || this.#isClosed) return;
      for (const version of versions)
        if (!(await this.#store.isSound(version.hash, this.versions.storedBytesOf(version.hash))))
          lost.push(version);
      if (lost.length === 0) return;
      await this.#index.append([{ lost: lost.map(({ n }) => n) }]);
      for (const { n } of lost) {
        const hash = this.versions.remove(n);
        if (hash !== null) await this.#store.remove(hash);
      }
      this.#lines.found(0, lost.length, this.#options.wall());
    });
  }

  async #rewriteIfDead(): Promise<void> {
    const live = this.versions.size + this.wipes.size;
    if (this.#index.lines > 2 * live + limits.rescueDeadLinesMax)
      await this.#index.rewrite(this.#lines.records());
  }

  #fail(message: string, error: unknown): void {
    if (this.#isClosed) return;
    this.#trouble = `${message} (${errorText(error)})`;
    this.#options.onTrouble(message, error);
  }
}
