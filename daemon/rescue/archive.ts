/**
 * The rescue store as a whole: contents and index on the disk, versions and wipes in memory, and what keeps them alike. A start
 * that does not find the index whole takes from the contents what it lacks, and removes none of them.
 */
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { errorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { DamageRow } from "../../protocol/schemas/rescue.ts";
import { BoundedMap } from "../bounded-map.ts";
import { Slots } from "../facts/slots.ts";
import { IndexFile } from "./index-file.ts";
import { IndexLines, type IndexRecord, labelOf, recordOf, SharedTexts } from "./records.ts";
import { ContentStore } from "./store.ts";
import { type Bounds, isOver, storeBounds, thinned } from "./thinning.ts";
import { type Draft, type Kept, type Purged, type Removal, type Version, VersionTable } from "./versions.ts";
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

/**
 * Invariants: a number is used once; a content is on the disk before a line names it, and a line before the table has it. One
 * change at a time: what removes a content never meets what stores the same one. No label names a version that was removed. What
 * cannot be stored is reported and not kept; nothing throws for it.
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

  /** What was found damaged, and when something was found last, by the wall. */
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
      // The next start sees that nothing is missing behind the last line.
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
