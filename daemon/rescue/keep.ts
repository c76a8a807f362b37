/** Keeps files: what may be kept of a path, its bytes of one moment, and the version that comes of them. */

import { homedir } from "node:os";
import { dirname as dirnameKeep } from "node:path";
import { basename, dirname } from "node:path/posix";
import { setImmediate as turn } from "node:timers/promises";
import type { SentText } from "../../hooks/seam/actions.ts";
import { limits } from "../../protocol/limits.ts";
import type { UnkeptRow, VersionKind } from "../../protocol/schemas/rescue.ts";
import { BoundedMap } from "../bounded-map.ts";
import { anyGlob } from "../config/glob.ts";
import type { ProjectRules } from "../config/project-rules.ts";
import type { Log } from "../engine/engine.ts";
import type { Facts } from "../facts/facts.ts";
import type { BudgetedFs } from "../facts/filesystem.ts";
import type { KeptFileFacts } from "../facts/git/kept-files.ts";
import { type WholeFile, wholeFile } from "../facts/whole-file.ts";
import type { Archive } from "./archive.ts";
import { hashOf } from "./contents.ts";
import { type Author, differenceOf, lineCounts, type Version } from "./versions.ts";

// Which files and contents are never kept: what is secret by its name or by what stands in it. Pure.

/** Names of files that hold secrets; case does not count. */
const secretNames: readonly string[] = [
  ".env*",
  "*.pem",
  "*.key",
  "id_*",
  ".netrc",
  ".npmrc",
  ".pgpass",
  "*credential*",
  "*secret*",
  "*.tfstate",
  "*.tfstate.*",
  "*.tfvars",
];

/** Folders that hold secrets, whatever their files are called. */
const secretFolders: ReadonlySet<string> = new Set([".ssh", ".aws", ".gnupg", ".kube", ".docker"]);

/** What installs itself: nobody's work. */
const others: ReadonlySet<string> = new Set([".git", "node_modules"]);

const isSecretName = anyGlob(secretNames);

/**
 * Returns why a file is not kept by its path, or null. `path` is absolute and real, `file` its path from the top of the
 * worktree, `isNever` the person's own list.
 */
export function unkeptByName(
  path: string,
  file: string,
  isNever: (file: string) => boolean = () => false,
): string | null {
  const folders = dirname(path).split("/");
  const folder = folders.find(name => secretFolders.has(name.toLowerCase()));
  if (folder !== undefined) return `it lies below ${folder}, where secrets are`;
  const other = folders.find(name => others.has(name));
  if (other !== undefined) return `it lies below ${other}`;
  if (isSecretName(basename(path).toLowerCase())) return "files of this name hold secrets";
  return isNever(file) ? "your setting rescueNever names it" : null;
}

/** A form of secret, with words that every text with one contains. */
interface Form {
  readonly words: readonly string[];
  readonly pattern: RegExp;
  readonly what: string;
}

/** Each pattern is read from a bounded number of characters on: none can take long. */
const forms: readonly Form[] = [
  {
    words: ["PRIVATE KEY"],
    pattern: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/,
    what: "a private key",
  },
  { words: ["PuTTY-User-Key-File"], pattern: /PuTTY-User-Key-File-\d/, what: "a private key" },
  { words: ["AGE-SECRET-KEY-"], pattern: /AGE-SECRET-KEY-1[0-9A-Z]{20}/, what: "a private key" },
  {
    words: ["AKIA", "ASIA"],
    pattern: /(?<![0-9A-Z])A[KS]IA[0-9A-Z]{16}(?![0-9A-Z])/,
    what: "a token of AWS",
  },
  {
    words: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
    pattern: /gh[pousr]_[0-9A-Za-z]{36}/,
    what: "a token of GitHub",
  },
  { words: ["github_pat_"], pattern: /github_pat_[0-9A-Za-z_]{22}/, what: "a token of GitHub" },
  { words: ["glpat-"], pattern: /glpat-[0-9A-Za-z_-]{20}/, what: "a token of GitLab" },
  { words: ["xox"], pattern: /xox[abeoprs]-[0-9A-Za-z-]{10}/, what: "a token of Slack" },
  { words: ["_live_"], pattern: /[rs]k_live_[0-9A-Za-z]{16}/, what: "a token of Stripe" },
  { words: ["AIza"], pattern: /AIza[0-9A-Za-z_-]{35}/, what: "a token of Google" },
  { words: ["npm_"], pattern: /npm_[0-9A-Za-z]{36}/, what: "a token of npm" },
  {
    words: ["sk-"],
    pattern: /(?<![0-9A-Za-z_-])sk-(?:ant-|proj-)?[0-9A-Za-z_-]{0,20}[0-9A-Za-z]{20}/,
    what: "a token of a model's service",
  },
  { words: ["pypi-AgE"], pattern: /pypi-AgE[0-9A-Za-z_-]{30}/, what: "a token of PyPI" },
  { words: ["SG."], pattern: /SG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{40}/, what: "a token of SendGrid" },
  { words: ["dop_v1_"], pattern: /dop_v1_[0-9a-f]{64}/, what: "a token of DigitalOcean" },
  { words: ["hf_"], pattern: /(?<![0-9A-Za-z_])hf_[0-9A-Za-z]{34}/, what: "a token of Hugging Face" },
  {
    words: ["eyJ"],
    pattern: /eyJ[0-9A-Za-z_-]{10,2000}\.eyJ[0-9A-Za-z_-]{10,4000}\.[0-9A-Za-z_-]{10}/,
    what: "a JSON web token",
  },
];

/** Longest text that one of the forms matches, in characters. */
export const secretCharsMax = 8_192;

/** Returns what secret a content holds, or null: a private key block, or a token of a known form. */
export function secretIn(content: Buffer): string | null {
  const text = content.toString("latin1");
  // UTF-16 has a NUL beside each character of a token.
  return secretInText(text) ?? (text.includes("\0") ? secretInText(text.replaceAll("\0", "")) : null);
}

function secretInText(text: string): string | null {
  for (const { words, pattern, what } of forms)
    if (words.some(word => text.includes(word)) && pattern.test(text)) return what;
  return null;
}

// Files that agents wrote and that are not kept, with the reason: the latest of them, in memory only.

export class UnkeptFiles {
  readonly #files = new BoundedMap<string, UnkeptRow & { readonly n: number }>({
    entriesMax: limits.rescueUnkeptMax,
  });
  #n = 0;

  note(row: UnkeptRow): void {
    this.#n += 1;
    this.#files.set(row.path, { ...row, n: this.#n });
  }

  has(path: string): boolean {
    return this.#files.has(path);
  }

  /** The file is kept now. */
  forget(path: string): void {
    this.#files.delete(path);
  }

  /** The oldest first; `n` rises. */
  all(): Iterable<UnkeptRow & { readonly n: number }> {
    return this.#files.values();
  }
}

/** A file to keep, with what is known of its write. */
export interface FileToKeep {
  /** Absolute and real. */
  readonly path: string;
  /** The key of its lock. */
  readonly key: string;
  readonly by: Author | null;
  readonly tool: string | null;
  readonly kind: VersionKind;
  /** An edit tool wrote it. Without a repository only such files are kept. */
  readonly isEdit: boolean;
  /** The session in whose directory it is, if there is no repository. */
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
interface SeenContent {
  readonly stamp: string;
  readonly hash: string;
}

interface FileKeeperOptions {
  readonly archive: Archive;
  readonly unkept: UnkeptFiles;
  readonly engine: Pick<Log, "state">;
  readonly rules: Pick<ProjectRules, "at">;
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

  /** Returns how the file was at the last read. Undefined: it was not read since the daemon started. */
  seen(path: string): SeenContent | undefined {
    return this.#seen.get(path);
  }

  /**
   * Keeps the file's bytes. `isOvertaken` tells after the read whether the file is no longer what this write left. Then the
   * text that the write's tool sent is kept instead, if there is one. `isExplained` tells whether another write explains the
   * bytes. Then nothing is kept.
   */
  async keep(
    write: FileToKeep,
    isOvertaken: (changedAt: number) => boolean,
    isExplained: () => boolean = () => false,
  ): Promise<KeepOutcome> {
    const place = await this.#placeOf(write);
    if ("outcome" in place) return place.outcome;
    const read = await this.#read(write.path);
    if (isExplained()) return nothing;
    if (read.is === "read" && !(write.text !== null && isOvertaken(read.changedAt))) {
      const { content, mode, stamp } = read;
      const hash = await hashOf(content);
      this.#seen.set(write.path, { stamp, hash });
      return this.#store(write, place, { content, mode, asSent: false }, hash);
    }
    if (write.text !== null) return this.#keepText(write, place, write.text, read);
    return this.#noted(write, place, unread(read));
  }

  /** Keeps what the tool sent: the file has changed since, and another write's version has its bytes. */
  async keepSent(write: FileToKeep): Promise<KeepOutcome> {
    const place = await this.#placeOf(write);
    if ("outcome" in place) return place.outcome;
    return write.text === null ? nothing : this.#keepText(write, place, write.text, null);
  }

  async #keepText(
    write: FileToKeep,
    place: Place,
    sent: SentText,
    read: WholeFile | { readonly is: "late"; readonly why: string } | null,
  ): Promise<KeepOutcome> {
    const isShort = sent.chars <= limits.rescueFileBytes;
    const text = isShort ? sent.text() : null;
    const content = text === null ? null : Buffer.from(text);
    if (content === null || content.length > limits.rescueFileBytes)
      return read === null ? nothing : this.#noted(write, place, unread(read));
    const mode =
      read?.is === "read" ? read.mode : (this.#options.archive.versions.latestOf(write.path)?.mode ?? 0o644);
    return this.#store(write, place, { content, mode, asSent: true }, await hashOf(content));
  }

  /** Returns where the file is, or why nothing of it is kept. Nothing is read before this has allowed it. */
  async #placeOf(write: FileToKeep): Promise<Place | { readonly outcome: KeepOutcome }> {
    const { path, isEdit, session } = write;
    const { facts, git, engine, rules } = this.#options;
    const around = await facts.repository(dirnameKeep(path));
    if ("unreachable" in around) return { outcome: { is: "missed", why: around.unreachable } };
    const home = engine.state.sessions.live.get(session ?? "");
    const { gitDir } = around;
    if (gitDir === null && (home === undefined || !isEdit)) return { outcome: nothing };
    const { worktree, project } = gitDir === null ? (home ?? around) : around;
    if (!path.startsWith(below(worktree)) || (await this.#isHome(worktree))) return { outcome: nothing };
    if (gitDir !== null && path.startsWith(below(gitDir))) return { outcome: nothing };
    if ((await rules.at({ project, worktree })).rescue === "off") return { outcome: nothing };
    const place = { file: path.slice(below(worktree).length), worktree, project, gitDir };
    const why = unkeptByName(path, place.file, this.#isNever);
    if (why !== null) return { outcome: this.#noted(write, place, { is: "unkept", why }) };
    if (gitDir === null) return place;
    const isIgnored = await git.isIgnored({ worktree, gitDir }, place.file);
    if (typeof isIgnored !== "boolean") return { outcome: { is: "missed", why: isIgnored.unreachable } };
    return isIgnored
      ? { outcome: this.#noted(write, place, { is: "unkept", why: "git ignores it" }) }
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

  async #store(write: FileToKeep, place: Place, bytes: Bytes, hash: string): Promise<KeepOutcome> {
    const { archive, unkept, git } = this.#options;
    const { path, by, tool, kind, atMs } = write;
    const { content, mode, asSent } = bytes;
    const latest = archive.versions.latestOf(path);
    const before = latest === null ? null : await archive.contentOf(latest);
    if (latest?.hash !== hash) {
      const secret = await secretOf(content, before);
      if (secret !== null) return this.#noted(write, place, { is: "unkept", why: `it holds ${secret}` });
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

// The queue of writes that wait to be kept, off every reply path.

/** A write, with earlier ones of the same file that were overtaken and whose text is known. */
interface Waiting {
  readonly latest: FileToKeep;
  readonly overtaken: readonly FileToKeep[];
}

interface KeepQueueOptions {
  readonly keeper: Pick<FileKeeper, "keep" | "keepSent">;
  /** Whether somebody writes the file now, or a shell line may have since its write ended. */
  readonly isWritten: (write: FileToKeep) => boolean;
  /** Something should have been kept and was not. */
  readonly onMissed: (write: Pick<FileToKeep, "path">, why: string) => void;
}

/** Reads at once: a disk that hangs takes one of them. An edit that waits for its file's version adds one. */
const readsMax = 2;
/** Overtaken writes of one file that wait with the latest. */
const overtakenMax = 8;

/**
 * Invariants: at most one write of a file waits, and one is kept at a time, in their order. A write for which the queue has
 * no room is missed, and counted.
 */
export class KeepQueue {
  readonly #options: KeepQueueOptions;
  readonly #waiting = new Map<string, Waiting>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #idle: (() => void)[] = [];
  #chars = 0;
  #missed = 0;
  #isClosed = false;

  constructor(options: KeepQueueOptions) {
    this.#options = options;
  }

  /** Writes that wait or are being kept. */
  get size(): number {
    return this.#waiting.size + this.#running.size;
  }

  /** Whether a write of the file waits or is being kept. */
  has(path: string): boolean {
    return this.#waiting.has(path) || this.#running.has(path);
  }

  /** Writes that should have been kept and were not. */
  get missed(): number {
    return this.#missed;
  }

  /** Queues a write; returns at once. */
  add(write: FileToKeep): void {
    if (this.#isClosed) return;
    const { path } = write;
    const isRoom = this.#chars + (write.text?.chars ?? 0) <= limits.rescueQueueBytes;
    const latest = isRoom ? write : { ...write, text: null };
    const earlier = this.#waiting.get(path);
    if (earlier !== undefined) this.#drop(path, earlier);
    const known = earlier === undefined ? [] : [...earlier.overtaken, earlier.latest];
    const overtaken = known.filter(({ text }) => text !== null).slice(-overtakenMax);
    for (const one of [latest, ...overtaken]) this.#chars += one.text?.chars ?? 0;
    this.#waiting.set(path, { latest, overtaken });
    for (const [oldest, waiting] of this.#waiting) {
      if (this.#waiting.size <= limits.rescueQueueMax) break;
      this.#drop(oldest, waiting);
      this.miss(waiting.latest, "too many writes wait to be kept");
    }
    this.#run();
  }

  /** Resolves when nothing waits and nothing is being kept, or after this time. */
  async settled(waitMs: number = limits.rescueSettleMs): Promise<void> {
    if (this.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>(resolve => {
      this.#idle.push(resolve);
      timer = setTimeout(resolve, waitMs);
    });
    clearTimeout(timer);
  }

  /** Takes no more; what waits is dropped after `limits.rescueStopMs`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.settled(limits.rescueStopMs);
    for (const [path, waiting] of this.#waiting) this.#drop(path, waiting);
  }

  /** Keeps the file's write before those of other files. Resolves when none of the file waits or is being kept. */
  async first(path: string): Promise<void> {
    while (this.has(path)) {
      const waiting = this.#waiting.get(path);
      if (waiting !== undefined && !this.#running.has(path)) this.#start(path, waiting);
      await this.#running.get(path);
    }
  }

  /** Notes a write of which no version is kept. */
  miss(write: Pick<FileToKeep, "path">, why: string): void {
    this.#missed += 1;
    this.#options.onMissed(write, why);
  }

  #run(): void {
    for (const [path, waiting] of this.#waiting) {
      if (this.#running.size >= readsMax) return;
      if (!this.#running.has(path)) this.#start(path, waiting);
    }
  }

  #start(path: string, waiting: Waiting): void {
    this.#drop(path, waiting);
    const done = this.#keep(waiting).finally(() => {
      this.#running.delete(path);
      this.#run();
      if (this.size === 0) for (const idle of this.#idle.splice(0)) idle();
    });
    this.#running.set(path, done);
  }

  async #keep({ latest, overtaken }: Waiting): Promise<void> {
    const { keeper, isWritten } = this.#options;
    const { path, atMs } = latest;
    try {
      for (const one of overtaken) this.#note(one, await keeper.keepSent(one));
      // Another write of the file has ended meanwhile, or one is under way and has changed it already.
      const isOvertaken = (changedAt: number) =>
        this.#waiting.has(path) || (changedAt > atMs && isWritten(latest));
      this.#note(latest, await keeper.keep(latest, isOvertaken));
    } catch (error) {
      this.miss(latest, error instanceof Error ? error.message : String(error));
    }
  }

  #note(write: FileToKeep, outcome: KeepOutcome): void {
    if (outcome.is === "missed") this.miss(write, outcome.why);
  }

  #drop(path: string, { latest, overtaken }: Waiting): void {
    this.#waiting.delete(path);
    for (const one of [latest, ...overtaken]) this.#chars -= one.text?.chars ?? 0;
  }
}
