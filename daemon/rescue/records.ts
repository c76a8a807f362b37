/** Versions and wipes as lines of the index. */
import type { VersionKind } from "../../protocol/rescue.ts";
import { pathOfWork } from "../core/files/dirty-files.ts";
import type { Author, Version } from "./versions.ts";
import type { Wipe } from "./wipes.ts";

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
 * `next`: the numbers of the next version and the next wipe; with `end` the daemon ended in order behind this line. `gone`:
 * versions that were removed.
 */
export type IndexRecord =
  | { readonly next: readonly [number, number]; readonly end?: true }
  | { readonly v: ShortVersion }
  | { readonly gone: readonly number[] }
  | { readonly r: Wipe };

export function recordOf(version: Version): IndexRecord {
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

export function versionOf({ v }: { readonly v: ShortVersion }, texts: SharedTexts): Version {
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
