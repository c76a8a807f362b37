/** The rescue store as a whole: contents and index on the disk, versions and wipes in memory, and what keeps them alike. */
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { limits } from "../../protocol/limits.ts";
import { errorText } from "../../protocol/system-error.ts";
import { BoundedMap } from "../bounded-map.ts";
import { Slots } from "../facts/slots.ts";
import { IndexFile } from "./index-file.ts";
import { type IndexRecord, recordOf, SharedTexts, versionOf } from "./records.ts";
import { ContentStore } from "./store.ts";
import { type Bounds, isOver, storeBounds, thinned } from "./thinning.ts";
import { type Version, VersionTable } from "./versions.ts";
import { type Wipe, WipeTable, withinLine } from "./wipes.ts";

export interface ArchiveOptions {
  readonly dir: string;
  /** Wall time in milliseconds. */
  readonly wall: () => number;
  /** The paths of all files with uncommitted work. */
  readonly dirtyPaths: () => ReadonlySet<string>;
  readonly onTrouble: (message: string, error: unknown) => void;
  readonly bounds?: Bounds;
}

/** A version before it has a number. */
export type Draft = Omit<Version, "n" | "hash" | "sizeBytes" | "storedBytes">;

/** `isNew` false: the file's latest version has the content already. */
export interface Kept {
  readonly version: Version;
  readonly isNew: boolean;
}

/** What was removed. */
export interface Removal {
  readonly versions: number;
  readonly contents: number;
  readonly bytes: number;
}

export interface Purged extends Removal {
  /** Paths of other files with versions of the same contents: those stay. */
  readonly alsoIn: readonly string[];
}

/**
 * Invariants: a number is used once; a content is on the disk before a line names it, and a line before the table has it. One change at a time: what
 * removes a content never meets what stores the same one. What cannot be stored is reported and not kept; nothing throws for it.
 */
export class Archive {
  readonly versions = new VersionTable();
  readonly wipes = new WipeTable();
  readonly #options: ArchiveOptions;
  readonly #store: ContentStore;
  readonly #index: IndexFile;
  readonly #changes = new Slots(1);
  readonly #contents = new BoundedMap<string, Buffer>({
    entriesMax: limits.rescueVersionsMax,
    weightMax: limits.rescueCacheBytes,
    weightOf: content => content.length,
  });
  #next: [number, number] = [1, 1];
  #trouble: string | null = null;
  #opening: Promise<void> = Promise.resolve();
  #pruning: Promise<Removal> | null = null;
  #isClosed = false;
  #isRead = false;
  /** The last line that was read says that the daemon ended in order. */
  #isClean = false;
  /** When a read that failed is tried again, by the wall. */
  #readAgainMs = 0;

  constructor(options: ArchiveOptions) {
    this.#options = options;
    this.#store = new ContentStore(options.dir);
    this.#index = new IndexFile(join(options.dir, "index"));
  }

  /** What keeps it from keeping now, as a sentence; null: nothing. */
  get trouble(): string | null {
    return this.#trouble;
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
      // The next start sees that nothing is missing behind the last line.
      if (await this.#isUsable()) await this.#append([{ next: [...this.#next], end: true }]);
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
        const storedBytes = await this.#store.put(hash, content);
        if (!isSame)
          return { version: await this.#add({ ...draft, hash, storedBytes }, content), isNew: true };
        this.#trouble = null;
        return { version: latest, isNew: false };
      } catch (error) {
        this.#fail(`a version of ${draft.path} could not be kept`, error);
        if (!this.versions.has(hash))
          await this.#store.remove(hash).catch(() => {
            // The sweep of the next start removes it.
          });
        return null;
      }
    });
    if (kept?.isNew && isOver(this.versions, this.#bounds, 1)) void this.prune();
    return kept;
  }

  async #add(stored: Omit<Version, "n" | "sizeBytes">, content: Buffer): Promise<Version> {
    const [n] = this.#next;
    const version = { ...stored, n, sizeBytes: content.length };
    await this.#append([recordOf(version)]);
    this.#next[0] = n + 1;
    this.versions.add(version);
    this.#contents.set(version.path, content);
    this.#trouble = null;
    return version;
  }

  /** Notes a wipe; null: it could not be stored. */
  noteWipe(wipe: Omit<Wipe, "n">): Promise<Wipe | null> {
    return this.#changes.run(async () => {
      if (!(await this.#isUsable())) return null;
      const [, n] = this.#next;
      const noted = withinLine({ ...wipe, n });
      try {
        await this.#append([{ r: noted }]);
      } catch (error) {
        this.#fail("a wipe could not be noted", error);
        return null;
      }
      this.#next[1] = n + 1;
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
  isThere({ hash }: Pick<Version, "hash">): Promise<boolean> {
    return this.#store.has(hash);
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
      for (let at = 0; at < meant.length; at += limits.rescuePrunedPerTurn)
        await this.#remove(meant.slice(at, at + limits.rescuePrunedPerTurn), removed);
      if (meant.length === 0) return;
      await this.#index.rewrite(this.#records());
      const shared = new Set(meant.map(({ hash }) => hash).filter(hash => this.versions.has(hash)));
      if (shared.size === 0) return;
      for (const { path } of await this.#which(({ hash }) => shared.has(hash))) alsoIn.add(path);
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

  /** Removes contents that no version has, and versions whose content is gone; returns how many of each. */
  async sweep(): Promise<{ readonly orphans: number; readonly gone: number }> {
    const found = { orphans: 0, gone: 0 };
    if (!this.#isRead) return found;
    try {
      const there = new Set<string>();
      for await (const hashes of this.#store.hashes()) {
        for (const hash of hashes) {
          if (this.versions.has(hash)) there.add(hash);
          else found.orphans += await this.#removeOrphan(hash);
        }
        await turn();
      }
      let looked = 0;
      const missing: Version[] = [];
      for (const version of this.versions.oldestFirst()) {
        if (!there.has(version.hash)) missing.push(version);
        looked += 1;
        if (looked % limits.rescuePrunedPerTurn === 0) await turn();
      }
      for (let at = 0; at < missing.length; at += limits.rescuePrunedPerTurn)
        found.gone += await this.#forgetMissing(missing.slice(at, at + limits.rescuePrunedPerTurn));
      if (found.gone > 0)
        this.#options.onTrouble(`the contents of ${found.gone} kept versions are gone`, null);
    } catch (error) {
      this.#fail("the rescue store could not be compared with its index", error);
    }
    return found;
  }

  get #bounds(): Bounds {
    return this.#options.bounds ?? storeBounds;
  }

  /** Whether something can be stored: a read that failed is tried again, since to write would lose what could not be read. */
  async #isUsable(): Promise<boolean> {
    if (this.#isClosed) return false;
    if (!this.#isRead && this.#options.wall() >= this.#readAgainMs) await this.#read();
    return this.#isRead;
  }

  async #read(): Promise<void> {
    const texts = new SharedTexts();
    const { onTrouble, wall } = this.#options;
    try {
      await this.#store.open();
      const { damaged, cutBytes } = await this.#index.open(record =>
        this.#take(record as IndexRecord, texts),
      );
      this.#isRead = true;
      const isNew = this.#index.lines === 0 && cutBytes === 0 && (await this.#store.isEmpty());
      if (!this.#isClean && !isNew) await this.#skipNumbers();
      if (damaged > 0)
        onTrouble(`${damaged} lines of the rescue index are damaged: their versions are lost`, null);
      if (cutBytes > 0) onTrouble("the last line of the rescue index was torn: its version is lost", null);
    } catch (error) {
      this.#readAgainMs = wall() + limits.rescueReadAgainMs;
      this.#fail("the rescue store cannot be read, and keeps nothing", error);
    }
  }

  /** Lines may be missing at the end, and a number is used once: what a person noted of a lost version names no other one. */
  async #skipNumbers(): Promise<void> {
    const [version, wipe] = this.#next;
    this.#next = [version + limits.rescueNumbersSkipped, wipe + limits.rescueNumbersSkipped];
    await this.#index.append([{ next: [...this.#next] }]);
  }

  #take(record: IndexRecord, texts: SharedTexts): void {
    this.#isClean = "end" in record;
    if ("v" in record) {
      // After a read that failed some are known.
      if (this.versions.get(record.v.n) === undefined) this.versions.add(versionOf(record, texts));
      this.#next[0] = Math.max(this.#next[0], record.v.n + 1);
    } else if ("gone" in record) for (const n of record.gone) this.versions.remove(n);
    else if ("r" in record) {
      this.wipes.add(record.r);
      this.#next[1] = Math.max(this.#next[1], record.r.n + 1);
    } else if ("next" in record) {
      this.#next = [Math.max(this.#next[0], record.next[0]), Math.max(this.#next[1], record.next[1])];
    }
  }

  /** Appends to the index; writes it anew if somebody removed it. */
  async #append(records: readonly IndexRecord[]): Promise<void> {
    if (this.#index.isLost) {
      this.#options.onTrouble("the rescue store was removed while the daemon runs: it begins anew", null);
      await this.#store.open();
      await this.#index.rewrite(this.#records());
      void this.sweep();
    }
    await this.#index.append(records);
  }

  *#records(): Generator<IndexRecord, void> {
    yield { next: [this.#next[0], this.#next[1]] };
    for (const version of this.versions.oldestFirst()) yield recordOf(version);
    for (const wipe of this.wipes.all()) yield { r: wipe };
  }

  /** The index forgets them first: a content without a line is removed at the next start. */
  async #remove(
    versions: readonly Version[],
    removed: { -readonly [K in keyof Removal]: number },
  ): Promise<void> {
    await this.#append([{ gone: versions.map(({ n }) => n) }]);
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

  #removeOrphan(hash: string): Promise<number> {
    return this.#changes.run(async () => {
      if (this.versions.has(hash) || !this.#isRead || this.#isClosed) return 0;
      await this.#store.remove(hash);
      return 1;
    });
  }

  #forgetMissing(versions: readonly Version[]): Promise<number> {
    return this.#changes.run(async () => {
      const gone: number[] = [];
      if (!(await this.#isUsable())) return 0;
      for (const { n, hash } of versions) if (!(await this.#store.has(hash))) gone.push(n);
      if (gone.length === 0) return 0;
      await this.#append([{ gone }]);
      for (const n of gone) this.versions.remove(n);
      return gone.length;
    });
  }

  async #rewriteIfDead(): Promise<void> {
    const live = this.versions.size + this.wipes.size;
    if (this.#index.lines > 2 * live + limits.rescueDeadLinesMax) await this.#index.rewrite(this.#records());
  }

  #fail(message: string, error: unknown): void {
    if (this.#isClosed) return;
    this.#trouble = `${message} (${errorText(error)})`;
    this.#options.onTrouble(message, error);
  }
}
