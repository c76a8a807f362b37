/** Versions and wipes as lines of the index, and what becomes of an index that lacks some. */
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import type { VersionKind } from "../../protocol/schemas/rescue.ts";
import { pathOfWork } from "../core/work/dirty-files.ts";
import type { ContentStore } from "./store.ts";
import type { Author, Version, VersionTable } from "./versions.ts";
import type { Wipe, WipeTable } from "./wipes.ts";

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
 * `next`: the numbers of the next version and the next wipe; with `end` the daemon ended in order behind this line, with so many
 * versions; true: an earlier one that did not count. `gone`: versions that were removed. `lost`: versions whose content was not there, and that come back with it.
 */
export type IndexRecord =
  | { readonly next: readonly [number, number]; readonly end?: number | true }
  | { readonly v: ShortVersion }
  | { readonly gone: readonly number[] }
  | { readonly lost: readonly number[] }
  | { readonly r: Wipe };

/** What the file of a content says behind the content: its first version, and the numbers that were next when that was kept. */
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
export class SharedTexts {
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
export class IndexLines {
  next: [number, number] = [1, 1];
  /** The index lacked lines, or may have; until whoever reads this has looked at each content. */
  isDoubted = false;
  readonly #versions: VersionTable;
  readonly #wipes: WipeTable;
  /** What was found since the daemon started, and when something was found last, by the wall; and whether that is to be logged. */
  damage = { recovered: 0, lost: 0, atMs: Number.NEGATIVE_INFINITY };
  isUntold = false;
  /** The last line says that the daemon ended in order. */
  #isClean = false;
  /**
   * Versions of which lines say that they were removed, and after a start those that were purged: their contents may come back,
   * as with a folder that somebody puts back.
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
    // An index that was cut behind the end of an earlier run looks whole.
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
