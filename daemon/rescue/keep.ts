/** Keeps files: what may be kept of a path, its bytes of one moment, and the version that comes of them. */
import { homedir } from "node:os";
import { dirname } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { SentText } from "../../hooks/seam/actions.ts";
import { limits } from "../../protocol/limits.ts";
import type { VersionKind } from "../../protocol/schemas/rescue.ts";
import { BoundedMap } from "../bounded-map.ts";
import { anyGlob } from "../config/glob.ts";
import type { Facts } from "../facts/facts.ts";
import type { BudgetedFs } from "../facts/filesystem.ts";
import type { KeptFileFacts } from "../facts/git/kept-files.ts";
import { type WholeFile, wholeFile } from "../facts/whole-file.ts";
import type { HookServices } from "../hooks/hook-services.ts";
import type { Archive } from "./archive.ts";
import { differenceOf, lineCounts } from "./line-counts.ts";
import { secretCharsMax, secretIn, unkeptByName } from "./never-kept.ts";
import { hashOf } from "./store.ts";
import type { UnkeptFiles } from "./unkept.ts";
import type { Author, Version } from "./versions.ts";

/** A file to keep, with what is known of its write. */
export interface FileToKeep {
  /** Absolute and real. */
  readonly path: string;
  /** The key of its lock. */
  readonly key: string;
  readonly by: Author | null;
  readonly tool: string | null;
  readonly kind: VersionKind;
  /** An edit tool wrote it: where there is no repository, only such files are kept. */
  readonly isEdit: boolean;
  /** The session in whose directory it is, where there is no repository. */
  readonly session: string | null;
  /** What the tool sent; null: the event does not have the whole file. */
  readonly text: SentText | null;
  /** Wall time in milliseconds at which its write was known to have ended. */
  readonly atMs: number;
}

/**
 * What came of it. `kept`: the version has the file's content; it may be an earlier one. `unkept`: by a rule. `gone`: there is no
 * file. `nothing`: Kite keeps nothing there, whatever it is. `missed`: it should have been kept.
 */
export type KeepOutcome =
  | { readonly is: "kept"; readonly version: Version }
  | { readonly is: "unkept"; readonly why: string }
  | { readonly is: "gone" }
  | { readonly is: "nothing" }
  | { readonly is: "missed"; readonly why: string };

/** Where a file is. */
interface Place {
  readonly file: string;
  readonly worktree: string;
  readonly project: string;
  /** Null: there is no repository. */
  readonly gitDir: string | null;
}

/** The bytes of a version. */
interface Bytes {
  readonly content: Buffer;
  readonly mode: number;
  readonly asSent: boolean;
}

/** What a file looked like when it was read last, and what was in it. */
export interface SeenContent {
  readonly stamp: string;
  readonly hash: string;
}

export interface FileKeeperOptions {
  readonly archive: Archive;
  readonly unkept: UnkeptFiles;
  readonly services: Pick<HookServices, "engine" | "rules">;
  readonly facts: Pick<Facts, "repository" | "path">;
  readonly git: Pick<KeptFileFacts, "isIgnored" | "head" | "committed">;
  readonly outside: BudgetedFs;
  /** The person's list of files that are never kept. */
  readonly never: readonly string[];
}

const nothing: KeepOutcome = { is: "nothing" };

export class FileKeeper {
  readonly #options: FileKeeperOptions;
  readonly #isNever: (file: string) => boolean;
  readonly #seen = new BoundedMap<string, SeenContent>({ entriesMax: limits.baselinesMax });
  #home: Promise<string> | null = null;

  constructor(options: FileKeeperOptions) {
    this.#options = options;
    this.#isNever = anyGlob(options.never);
  }

  /** What the file looked like when it was read last; undefined: it was not, since the daemon started. */
  seen(path: string): SeenContent | undefined {
    return this.#seen.get(path);
  }

  /**
   * Keeps the file's bytes. `isOvertaken` tells after the read whether the file is no longer what this write left: then the text
   * that its tool sent is kept in their place, if there is one. `isExplained` tells whether another write explains them:
   * then nothing is kept.
   */
  async keep(
    asked: FileToKeep,
    isOvertaken: (changedAt: number) => boolean,
    isExplained: () => boolean = () => false,
  ): Promise<KeepOutcome> {
    const place = await this.#placeOf(asked);
    if ("outcome" in place) return place.outcome;
    const read = await this.#read(asked.path);
    if (isExplained()) return nothing;
    if (read.is === "read" && !(asked.text !== null && isOvertaken(read.changedAt))) {
      const { content, mode, stamp } = read;
      const hash = await hashOf(content);
      this.#seen.set(asked.path, { stamp, hash });
      return this.#store(asked, place, { content, mode, asSent: false }, hash);
    }
    if (asked.text !== null) return this.#keepText(asked, place, asked.text, read);
    return this.#noted(asked, place, unread(read));
  }

  /** Keeps what the tool sent: the file has changed since, and another write's version has its bytes. */
  async keepSent(asked: FileToKeep): Promise<KeepOutcome> {
    const place = await this.#placeOf(asked);
    if ("outcome" in place) return place.outcome;
    return asked.text === null ? nothing : this.#keepText(asked, place, asked.text, null);
  }

  async #keepText(
    asked: FileToKeep,
    place: Place,
    sent: SentText,
    read: WholeFile | { readonly is: "late"; readonly why: string } | null,
  ): Promise<KeepOutcome> {
    const isShort = sent.chars <= limits.rescueFileBytes;
    const text = isShort ? sent.text() : null;
    const content = text === null ? null : Buffer.from(text);
    if (content === null || content.length > limits.rescueFileBytes)
      return read === null ? nothing : this.#noted(asked, place, unread(read));
    const mode =
      read?.is === "read" ? read.mode : (this.#options.archive.versions.latestOf(asked.path)?.mode ?? 0o644);
    return this.#store(asked, place, { content, mode, asSent: true }, await hashOf(content));
  }

  /** Returns where the file is, or why nothing of it is kept. Nothing is read before this has allowed it. */
  async #placeOf(asked: FileToKeep): Promise<Place | { readonly outcome: KeepOutcome }> {
    const { path, isEdit, session } = asked;
    const { facts, git, services } = this.#options;
    const around = await facts.repository(dirname(path));
    if ("unreachable" in around) return { outcome: { is: "missed", why: around.unreachable } };
    const home = services.engine.state.sessions.live.get(session ?? "");
    const { gitDir } = around;
    if (gitDir === null && (home === undefined || !isEdit)) return { outcome: nothing };
    const { worktree, project } = gitDir === null ? (home ?? around) : around;
    if (!path.startsWith(below(worktree)) || (await this.#isHome(worktree))) return { outcome: nothing };
    if (gitDir !== null && path.startsWith(below(gitDir))) return { outcome: nothing };
    if ((await services.rules.at({ project, worktree })).rescue === "off") return { outcome: nothing };
    const place = { file: path.slice(below(worktree).length), worktree, project, gitDir };
    const why = unkeptByName(path, place.file, this.#isNever);
    if (why !== null) return { outcome: this.#noted(asked, place, { is: "unkept", why }) };
    if (gitDir === null) return place;
    const isIgnored = await git.isIgnored({ worktree, gitDir }, place.file);
    if (typeof isIgnored !== "boolean") return { outcome: { is: "missed", why: isIgnored.unreachable } };
    return isIgnored
      ? { outcome: this.#noted(asked, place, { is: "unkept", why: "git ignores it" }) }
      : place;
  }

  /** Whether the folder is the home directory or holds it. */
  async #isHome(folder: string): Promise<boolean> {
    this.#home ??= this.#options.facts
      .path("/", homedir())
      .then(fact => ("unreachable" in fact ? homedir() : fact.real));
    return below(await this.#home).startsWith(below(folder));
  }

  async #read(path: string): Promise<WholeFile | { readonly is: "late"; readonly why: string }> {
    for (let tries = 1; ; tries += 1) {
      const read = await wholeFile(this.#options.outside, path, limits.rescueFileBytes);
      if ("unreachable" in read) return { is: "late", why: read.unreachable };
      if (read.is !== "changing" || tries === limits.rescueReadsMax) return read;
      await turn();
    }
  }

  async #store(asked: FileToKeep, place: Place, bytes: Bytes, hash: string): Promise<KeepOutcome> {
    const { archive, unkept, git } = this.#options;
    const { path, by, tool, kind, atMs } = asked;
    const { content, mode, asSent } = bytes;
    const latest = archive.versions.latestOf(path);
    const before = latest === null ? null : await archive.contentOf(latest);
    if (latest?.hash !== hash) {
      const secret = await secretOf(content, before);
      if (secret !== null) return this.#noted(asked, place, { is: "unkept", why: `it holds ${secret}` });
    }
    const { file, worktree, project, gitDir } = place;
    const base = gitDir === null ? null : await git.head({ worktree, gitDir });
    const counts = latest?.hash === hash ? null : await this.#counts(place, before, content, latest === null);
    const draft = {
      ...{ path, file, worktree, project, by, tool, kind, atMs, mode, asSent },
      base: typeof base === "string" ? base : null,
      added: counts?.added ?? null,
      taken: counts?.taken ?? null,
    };
    const kept = await archive.keep(draft, content, hash);
    if (kept === null) return { is: "missed", why: archive.trouble ?? "the daemon stops" };
    unkept.forget(path);
    return { is: "kept", version: kept.version };
  }

  async #counts({ file, worktree, gitDir }: Place, before: Buffer | null, content: Buffer, isFirst: boolean) {
    let against = before;
    if (isFirst) {
      against = Buffer.alloc(0);
      if (gitDir !== null) {
        const committed = await this.#options.git.committed(
          { worktree, gitDir },
          file,
          limits.rescueCountedBytes,
        );
        if (committed !== null && "unreachable" in committed) return null;
        against = committed ?? against;
      }
    }
    if (against === null) return null;
    const { start, endBefore, endAfter } = differenceOf(against, content);
    const longest = Math.max(endBefore, endAfter) - start;
    return longest > limits.rescueCountedBytes ? null : lineCounts(against, content);
  }

  #noted({ path, atMs }: FileToKeep, { file, worktree, project }: Place, outcome: KeepOutcome): KeepOutcome {
    if (outcome.is === "unkept")
      this.#options.unkept.note({ path, file, worktree, project, why: outcome.why, at: atMs });
    return outcome;
  }
}

function unread(read: WholeFile | { readonly is: "late"; readonly why: string }): KeepOutcome {
  switch (read.is) {
    case "late":
      return { is: "missed", why: read.why };
    case "changing":
      return { is: "missed", why: "it changes all the time" };
    case "large":
      return { is: "unkept", why: `it is longer than ${limits.rescueFileBytes / 1024 / 1024} MiB` };
    case "other":
      return { is: "unkept", why: `it is ${read.what}` };
    default:
      return { is: "gone" };
  }
}

function below(folder: string): string {
  return folder === "/" ? "/" : `${folder}/`;
}

/** Characters that are searched for secrets before other work's turn. */
const pieceBytes = 512 * 1024;

/** Searches what changed: the content before was kept, so nothing secret was in it. */
async function secretOf(content: Buffer, before: Buffer | null): Promise<string | null> {
  const { start, endAfter } =
    before === null ? { start: 0, endAfter: content.length } : differenceOf(before, content);
  const end = Math.min(content.length, endAfter + secretCharsMax);
  for (let at = Math.max(0, start - secretCharsMax); ; at += pieceBytes) {
    const secret = secretIn(content.subarray(at, Math.min(end, at + pieceBytes + secretCharsMax)));
    if (secret !== null) return secret;
    if (at + pieceBytes >= end) return null;
    await turn();
  }
}
