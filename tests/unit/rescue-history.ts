/**
 * Random histories of edits, shell lines that write or wipe, changes by a person, kills at every point of a write, lost contents and
 * pruning. After each step: a version that must be there is there byte for byte, none is named that is not, and whoever's work
 * was wiped was told of the version that has it. Git and the sessions are played; all that keeps, compares and tells is Kite's.
 */
import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import type { DirtyFile } from "../../daemon/core/tables/base-state.ts";
import type { WorkWiped } from "../../daemon/core/tables/uncommitted.ts";
import { outsideFacts } from "../../daemon/facts/facts.ts";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { GitChild, oidOf } from "../../daemon/facts/git/process.ts";
import { Archive, type Label, labelOf } from "../../daemon/rescue/archive.ts";
import { ContentStore, hashOf } from "../../daemon/rescue/contents.ts";
import { FileKeeper, UnkeptFiles } from "../../daemon/rescue/keep.ts";
import { wipeRow } from "../../daemon/rescue/listing.ts";
import { Losses, WipingLines } from "../../daemon/rescue/losses.ts";
import { Compared, type Rescue, type RescueServices } from "../../daemon/rescue/services.ts";
import type { Version } from "../../daemon/rescue/versions.ts";
import { compareWithKept, lineEnds } from "../../daemon/rescue/wiped.ts";
import { limits } from "../../protocol/limits.ts";

const hourMs = 3_600_000;
const files = ["a.ts", "b.ts", "src/c.ts"] as const;
// Labels are most of what these contents take.
const bounds = { bytesMax: 3_000, versionsMax: 6, keptMs: 14 * 24 * hourMs };
const sessions = ["ann", "bob"] as const;
type Session = (typeof sessions)[number];

/** How a command leaves a file: `gone`, as the commit has it, with other lines, or with something else in its place. */
type Wiping = "gone" | "reverted" | "other" | "link";

export type Op =
  | { readonly op: "edit"; readonly by: Session; readonly file: number; readonly text: string }
  | { readonly op: "shell write"; readonly by: Session; readonly file: number; readonly text: string }
  | { readonly op: "shell wipe"; readonly by: Session; readonly file: number; readonly how: Wiping }
  | { readonly op: "outside"; readonly file: number; readonly how: Wiping }
  | { readonly op: "commit" | "purge"; readonly file: number }
  | { readonly op: "pass"; readonly hours: number }
  | {
      readonly op: "damage the index";
      readonly how: "removed" | "cut" | "bit";
      readonly at: number;
      readonly isEnded: boolean;
    }
  | { readonly op: "kill within a line"; readonly meanwhile: Wiping | null }
  | { readonly op: "prune" | "restart" | "kill before the index" | "lose a content" | "lose the index" };

const file = fc.nat({ max: files.length - 1 });
const by = fc.constantFrom(...sessions);
// Few lines and often the same texts, so that contents are alike; some are long, and none is empty.
const line = fc.constantFrom("one", "two", "three", "\u00fc\ud83d\ude00", "x".repeat(300), "");
const text = fc.oneof(
  fc.constantFrom("one\n", "two\n", "one\ntwo\n"),
  fc.array(line, { minLength: 1, maxLength: 6 }).map(lines => `${lines.join("\n")}\n`),
);
const how = fc.constantFrom<Wiping>("gone", "reverted", "other", "link");
const random: fc.Arbitrary<Op> = fc.oneof(
  { arbitrary: fc.record({ op: fc.constant("edit" as const), by, file, text }), weight: 8 },
  { arbitrary: fc.record({ op: fc.constant("shell write" as const), by, file, text }), weight: 4 },
  { arbitrary: fc.record({ op: fc.constant("shell wipe" as const), by, file, how }), weight: 4 },
  { arbitrary: fc.record({ op: fc.constant("outside" as const), file, how }), weight: 2 },
  { arbitrary: fc.record({ op: fc.constant("commit" as const), file }), weight: 1 },
  {
    arbitrary: fc.record({ op: fc.constant("pass" as const), hours: fc.integer({ min: 1, max: 400 }) }),
    weight: 2,
  },
  {
    arbitrary: fc.record({
      op: fc.constantFrom("prune", "restart", "kill before the index", "lose a content", "lose the index"),
    }),
    weight: 3,
  },
  {
    arbitrary: fc.record({
      op: fc.constant("kill within a line" as const),
      meanwhile: fc.option(how, { nil: null }),
    }),
    weight: 1,
  },
  { arbitrary: fc.record({ op: fc.constant("purge" as const), file }), weight: 1 },
  {
    arbitrary: fc.record({
      op: fc.constant("damage the index" as const),
      how: fc.constantFrom("removed" as const, "cut" as const, "bit" as const),
      at: fc.nat({ max: 100_000 }),
      isEnded: fc.boolean(),
    }),
    weight: 2,
  },
);
export const histories: fc.Arbitrary<Op[]> = fc.array(random, { minLength: 5, maxLength: 40 });

const outside = new BudgetedFs();
const git = new GitChild();
const realFacts = outsideFacts(outside, git, []);
const head = "0".repeat(40);

/** What must be so, beside the store that does it. */
export class History {
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), "kite-rescue-random-")));
  readonly work = join(this.dir, "work");
  readonly store = join(this.dir, "rescue");
  /** The content of each version that was ever kept, by its number. */
  readonly contents = new Map<number, string>();
  readonly kept = new Map<number, Version>();
  /** Versions that are there no more: pruned, purged, or lost with their content or their line. */
  readonly gone = new Set<number>();
  /** Numbers of wipes that were used. */
  readonly wipes = new Set<number>();
  /** Those that were pruned or purged: they never come back. */
  readonly removed = new Set<number>();
  /** Files with uncommitted work, by their paths. */
  readonly dirty = new Map<string, DirtyFile>();
  /** What commits have of each file, the latest last. */
  readonly commits = new Map<string, string[]>();
  readonly troubles: string[] = [];
  /** What each file had before this step, or when it was there last, by its path. */
  readonly #had = new Map<string, string>();
  /** What agents were told in this step. */
  #told: WorkWiped[] = [];
  readonly #purged = new Set<number>();
  readonly #killed: Archive[] = [];
  #later: Promise<void> = Promise.resolve();
  #uses = 0;
  nowMs = 1_000 * hourMs;
  archive!: Archive;
  #keeper!: FileKeeper;
  #services!: RescueServices;
  #rescue!: Rescue;

  async begin(): Promise<void> {
    mkdirSync(join(this.work, "src"), { recursive: true });
    await this.#open();
  }

  /** A start finds writes that were not kept, as the daemon before it ended just then. */
  async #start(): Promise<void> {
    await this.#open();
    await compareWithKept(this.#services, this.#rescue, null, true);
    await this.#noteNew(-1, []);
    this.#heard(null);
  }

  async #open(): Promise<void> {
    const archive = new Archive({
      dir: this.store,
      wall: () => this.nowMs,
      dirtyPaths: () => new Set(this.dirty.keys()),
      onTrouble: message => this.troubles.push(message),
      bounds,
    });
    this.archive = archive;
    await archive.open();
    const home = { project: this.work, worktree: this.work };
    const live = new Map(sessions.map(id => [id, { ...home, id, name: id, incarnations: [] }]));
    const byWorktree = new Map([[this.work, this.dirty.keys()]]);
    const state = {
      sessions: { live, worktrees: new Map() },
      writes: { files: this.dirty, settled: new Map(), settledIn: new Map(), byWorktree },
      locks: { holds: new Map() },
    };
    const services = {
      engine: { state, submitAndWait: async (command: WorkWiped) => void this.#told.push(command) },
      config: { rules: { at: async () => ({ rescue: "on" }) } },
      presence: { ancestors: () => [], of: () => ({ doing: null, agents: new Map() }) },
      clock: { wall: () => this.nowMs, now: () => this.nowMs },
    };
    const facts = {
      ...realFacts,
      repository: async () => ({ ...home, gitDir: join(this.work, ".git"), branch: null }),
    };
    const unkept = new UnkeptFiles();
    const played = this.#git();
    const options = { archive, unkept, facts, git: played, outside, never: [] };
    this.#services = { ...services, facts } as unknown as RescueServices;
    const { engine, config } = this.#services;
    this.#keeper = new FileKeeper({ ...options, engine, rules: config.rules });
    this.#rescue = {
      archive,
      unkept,
      keeper: this.#keeper,
      lines: new WipingLines(),
      losses: new Losses({ ...options, git: played as never }),
      compared: new Compared(),
      queue: { has: () => false },
      later: (work: () => Promise<void>) => {
        this.#later = this.#later.then(work);
        return this.#later;
      },
    } as unknown as Rescue;
  }

  /** A repository whose commits are those of this history. */
  #git() {
    const all = (name: string) => (this.commits.get(name) ?? []).map(text => Buffer.from(text));
    const ids = (name: string) => all(name).map(content => oidOf(content, 40));
    return {
      isIgnored: async () => false,
      head: async () => head,
      committed: async (_place: object, name: string) => all(name).at(-1) ?? null,
      committedAs: async (_place: object, name: string) => ({
        head: ids(name).at(-1) ?? null,
        all: ids(name),
      }),
      blobs: async (_place: object, asked: readonly string[]) =>
        files.flatMap(all).filter(content => asked.includes(oidOf(content, 40))),
      newFiles: async () => files.filter(name => !this.commits.has(name) && this.now(name) !== null),
    };
  }

  path(n: number): string {
    return join(this.work, files[n] ?? "");
  }

  /** What a file has; null: there is none, or something else. */
  now(name: string): string | null {
    const path = join(this.work, name);
    return lstatSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path, "utf8") : null;
  }

  async run(op: Op): Promise<void> {
    this.nowMs += 60_000;
    this.#told = [];
    for (const name of files) {
      const text = this.now(name);
      if (text !== null) this.#had.set(join(this.work, name), text);
    }
    switch (op.op) {
      case "edit":
        this.#put(op.file, op.text);
        this.#wrote(op.by, op.file);
        await this.#keep(op.by, op.file);
        assert.equal(this.#latest(op.file), op.text, "the edit is the latest version");
        return;
      case "shell write":
        return this.#shell(op.by, op.file, () => this.#put(op.file, op.text), "other");
      case "shell wipe":
        return this.#shell(op.by, op.file, () => this.#wipe(op.file, op.how), op.how);
      case "outside":
        return this.#outside(op.file, op.how);
      case "commit": {
        const text = this.now(files[op.file] ?? "");
        this.dirty.delete(this.path(op.file));
        if (text !== null)
          this.commits.set(files[op.file] ?? "", [...(this.commits.get(files[op.file] ?? "") ?? []), text]);
        return;
      }
      case "pass":
        this.nowMs += op.hours * hourMs;
        return;
      case "prune":
        return this.notePruned();
      case "restart":
        await this.archive.close();
        return this.#start();
      case "purge":
        await this.archive.purge(({ path }) => path === this.path(op.file));
        for (const { n, path } of this.kept.values()) {
          if (path !== this.path(op.file)) continue;
          this.gone.add(n);
          this.removed.add(n);
          this.#purged.add(n);
        }
        return;
      case "damage the index":
        return this.#damageIndex(op.how, op.at, op.isEnded);
      case "kill before the index":
        return this.#killBeforeIndex();
      case "kill within a line":
        return this.#killWithinLine(op.meanwhile);
      case "lose a content":
        return this.#loseContent();
      case "lose the index":
        // With the next write it is written anew from memory.
        rmSync(join(this.store, "index"));
        this.#put(0, `${this.nowMs}\n`);
        this.#wrote("ann", 0);
        return this.#keep("ann", 0);
    }
  }

  #put(n: number, text: string): void {
    const path = this.path(n);
    rmSync(path, { force: true });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /** Notes the session as the file's latest writer. */
  #wrote(session: Session, n: number): void {
    const [key, name] = [this.path(n), files[n] ?? ""];
    const actor = { session, agent: null, incarnation: 0 };
    const writer = { actor, name: session, wallMs: this.nowMs, seq: this.nowMs };
    const others = (this.dirty.get(key)?.writers ?? []).filter(one => one.actor.session !== session);
    this.dirty.delete(key);
    const place = { file: name, worktree: this.work, project: this.work };
    this.dirty.set(key, { key, ...place, writers: [...others, writer] } as unknown as DirtyFile);
  }

  /** An edit has ended. */
  async #keep(session: Session, n: number): Promise<void> {
    const path = this.path(n);
    const author = { session, agent: null, name: session };
    const what = {
      path,
      key: path,
      by: author,
      tool: "Edit",
      kind: "write",
      isEdit: true,
      session,
      text: null,
    } as const;
    await this.#keeper.keep({ ...what, atMs: this.nowMs }, () => false);
    await this.#noteNew(n, [this.now(files[n] ?? "")]);
  }

  /** A line of a session that changes one file with uncommitted work; others are none that Kite watches. */
  async #shell(session: Session, n: number, does: () => void, how: Wiping): Promise<void> {
    const path = this.path(n);
    const work = this.dirty.get(path);
    if (work === undefined) return;
    const [before, latest] = [this.now(work.file), this.archive.versions.latestOf(path)];
    const isKept = latest !== null && before !== null && this.contents.get(latest.n) === before;
    does();
    const mustTell = isKept && this.#isLoss(session, work, before, how);
    const { file: name, worktree, project } = work;
    const changed = this.now(name) === before ? [] : [{ key: path, file: name, worktree, project }];
    this.#uses += 1;
    const actor = { session, agent: null, incarnation: 0 };
    lineEnds(this.#services, this.#rescue, {
      ...{ actor, toolUseId: `t${this.#uses}`, program: "python3" },
      ...{ changed, wallMs: this.nowMs },
    });
    await this.#later;
    const now = this.now(name);
    await this.#noteNew(n, [before, now]);
    if (now !== null && changed.length > 0) assert.equal(this.#latest(n), now, "what the line wrote is kept");
    this.#heard(mustTell ? { path } : null);
    this.#heardOf(path, before);
    this.#settle(n, how);
  }

  /** A person changes a file, and Kite looks. */
  async #outside(n: number, how: Wiping): Promise<void> {
    const path = this.path(n);
    const name = files[n] ?? "";
    const before = this.now(name);
    this.#wipe(n, how);
    await compareWithKept(this.#services, this.#rescue, null);
    const now = this.now(name);
    await this.#noteNew(n, [before, now]);
    if (this.dirty.has(path) && now !== null)
      assert.equal(this.#latest(n), now, "what a person wrote is kept");
    this.#heard(null);
    this.#heardOf(path, before);
    this.#settle(n, how);
  }

  #wipe(n: number, how: Wiping): void {
    const path = this.path(n);
    const committed = this.commits.get(files[n] ?? "")?.at(-1);
    rmSync(path, { force: true });
    if (how === "other") this.#put(n, "other\n");
    if (how === "reverted" && committed !== undefined) this.#put(n, committed);
    if (how === "link") symlinkSync("nowhere", path);
  }

  /** Git finds a file that is gone, and that no commit has, clean; so one that is as the commit has it. */
  #settle(n: number, how: Wiping): void {
    const committed = this.commits.get(files[n] ?? "");
    const now = this.now(files[n] ?? "");
    const isClean = now === null ? committed === undefined : now === committed?.at(-1);
    if (how !== "link" && isClean) this.dirty.delete(this.path(n));
  }

  /** Whether what was in the file is lost to somebody else than who did it, beyond any doubt. */
  #isLoss(session: Session, { file: name, writers }: DirtyFile, before: string, how: Wiping): boolean {
    const committed = this.commits.get(name) ?? [];
    const now = this.now(name);
    if (writers.every(({ actor }) => actor.session === session) || now === before) return false;
    // An own change of one's own last lines is none, whoever else has lines in the file.
    if (
      this.archive.versions.latestOf(join(this.work, name))?.by?.session === session &&
      now !== null &&
      how === "other"
    )
      return false;
    const known = new Set([...committed, now ?? ""].flatMap(one => one.split("\n")));
    if (before.split("\n").every(one => known.has(one))) return false;
    return !(now === null && files.some(other => other !== name && this.now(other) === before));
  }

  /** Each notice names a version with the bytes of before; what must be told is. */
  #heard(must: { readonly path: string } | null): void {
    for (const { wipe: name, files: told } of this.#told) {
      const wipe = this.archive.wipes.get(Number(name.slice(2)));
      for (const { path } of told) {
        const n = wipe?.files.find(one => one.path === path)?.version ?? null;
        assert.notEqual(n, null, `${name} has no version of ${path}`);
        assert.equal(this.contents.get(n ?? 0), this.#had.get(path), `what ${name} brings back`);
      }
    }
    const paths = this.#told.flatMap(({ files: told }) => told.map(({ path }) => path));
    if (must !== null) assert.deepEqual(paths, [must.path], "who was wiped is told once");
  }

  /** What was not there is not wiped. */
  #heardOf(path: string, before: string | null): void {
    const isTold = this.#told.some(({ files: told }) => told.some(one => one.path === path));
    assert.ok(before !== null || !isTold, "work that was gone before is told");
  }

  #latest(n: number): string | null {
    const version = this.archive.versions.latestOf(this.path(n));
    return version === null ? null : (this.contents.get(version.n) ?? null);
  }

  /** Takes in the versions that a step kept, each of which has the file's bytes of before or after it. */
  async #noteNew(n: number, texts: readonly (string | null)[]): Promise<void> {
    for (const version of this.archive.versions.oldestFirst()) {
      if (this.kept.has(version.n)) continue;
      const content = (await this.archive.contentOf(version))?.toString() ?? null;
      // Of a file whose version was lost with its line, the next look keeps what it has.
      const had = version.path === this.path(n) ? texts : [this.now(version.file)];
      assert.ok(
        content !== null && had.includes(content),
        `v-${version.n} has bytes that the file never had`,
      );
      this.contents.set(version.n, content);
      this.kept.set(version.n, version);
    }
    // A content that was lost is there again.
    for (const { n: known, hash } of this.archive.versions.oldestFirst())
      if (texts.includes(this.contents.get(known) ?? null) && existsSync(this.archive.pathOf(hash)))
        this.gone.delete(known);
    for (const wipe of this.archive.wipes.all()) this.wipes.add(wipe.n);
    await this.notePruned();
  }

  /** What the bounds took, which a keep may begin: what is too old, and beyond that no more than has to go. */
  async notePruned(): Promise<void> {
    const { versions } = this.archive;
    await this.archive.prune();
    const taken = [...this.kept.values()].filter(
      ({ n }) => versions.get(n) === undefined && !this.gone.has(n),
    );
    for (const { n, path } of taken) {
      const isLast = [...this.kept.values()].every(one => one.path !== path || one.n <= n);
      assert.ok(!(isLast && this.dirty.has(path)), "the last version of uncommitted work went");
      this.gone.add(n);
      this.removed.add(n);
    }
    const early = taken.filter(({ atMs }) => atMs >= this.nowMs - bounds.keptMs);
    if (early.length === 0) return;
    const largest = Math.max(...early.map(({ storedBytes }) => storedBytes));
    const isFull =
      versions.size + 1 > bounds.versionsMax * limits.rescueLowPart ||
      versions.bytes + largest > bounds.bytesMax * limits.rescueLowPart;
    assert.ok(isFull, `${early.length} versions went too early`);
  }

  /** The content is on the disk, and its line is not. */
  async #killBeforeIndex(): Promise<void> {
    const text = `orphan ${this.nowMs}\n`;
    const [store, content, file] = [new ContentStore(this.store), Buffer.from(text), "orphan.ts"];
    await store.open();
    const index = existsSync(join(this.store, "index"))
      ? readFileSync(join(this.store, "index"), "utf8")
      : "";
    const next = [...index.matchAll(/"next":\[(\d+),/g)].map(([, number]) => Number(number));
    const [n, hash] = [
      Math.max(1, ...next, ...[...this.kept.keys()].map(known => known + 1)),
      await hashOf(content),
    ];
    const place = { path: join(this.work, file), file, worktree: this.work, project: this.work };
    const what = {
      by: null,
      tool: null,
      kind: "write",
      base: null,
      mode: 0o644,
      added: 1,
      taken: 0,
    } as const;
    const sizes = { sizeBytes: content.length, storedBytes: 0 };
    const version = { n, ...place, ...what, ...sizes, atMs: this.nowMs, asSent: false, hash };
    await store.put(hash, content, labelOf(version, 1), null);
    this.contents.set(n, text);
    this.kept.set(n, version);
    await this.#kill();
    assert.equal(this.archive.versions.get(n)?.path, version.path, "a content without a line comes back");
  }

  /**
   * The last line is torn: its version is not there. What comes behind is whole. A person may change that version's file before the
   * next start.
   */
  async #killWithinLine(meanwhile: Wiping | null): Promise<void> {
    const index = join(this.store, "index");
    const last = readFileSync(index, "utf8").split("\n").at(-2) ?? "";
    const [, number] = /"v":\{"n":(\d+),/.exec(last) ?? [];
    const [, wipe] = /"r":\{.*"n":(\d+)/.exec(last) ?? [];
    if (number === undefined && wipe === undefined) appendFileSync(index, '12345678 {"v":{"n"');
    else truncateSync(index, statSync(index).size - 3);
    const torn = this.archive.versions.get(Number(number));
    if (torn !== undefined && !(await this.#isLabelled(torn))) this.gone.add(torn.n);
    const n = files.indexOf(this.kept.get(Number(number))?.file as (typeof files)[number]);
    if (n !== -1 && meanwhile !== null) this.#wipe(n, meanwhile);
    await this.#kill();
  }

  /** Whether the version's content says that it is of this version. */
  async #isLabelled({ n, hash }: Version): Promise<boolean> {
    const found = await new ContentStore(this.store).read(hash);
    return (found?.label as Label | undefined)?.v.n === n;
  }

  /** The index is removed, cut anywhere, or one bit of it is another; what its contents name comes back. */
  async #damageIndex(how: "removed" | "cut" | "bit", at: number, isEnded: boolean): Promise<void> {
    if (isEnded) await this.archive.close();
    const index = join(this.store, "index");
    const bytes = readFileSync(index);
    const lines = bytes.toString("latin1").split("\n").slice(0, -1);
    for (const version of this.archive.versions.oldestFirst())
      if (!(await this.#isLabelled(version))) this.gone.add(version.n);
    if (how === "removed") rmSync(index);
    if (how === "cut") truncateSync(index, at % (bytes.length + 1));
    if (how === "bit") {
      const line = at % lines.length;
      const place = lines.slice(0, line).join("\n").length + (at % (lines[line]?.length ?? 1));
      // A line about what was removed is no line of a version: what it says is lost with it.
      if (/\{"(?:gone|lost)"/.test(lines[line] ?? "")) return;
      bytes[place + 1] = (bytes[place + 1] ?? 0) ^ 4;
      writeFileSync(index, bytes);
    }
    await this.#kill();
    for (const { n } of this.archive.versions.oldestFirst()) {
      this.gone.delete(n);
      // Of what was pruned the line may have come back; purged work has none.
      if (!this.#purged.has(n)) this.removed.delete(n);
    }
  }

  async #loseContent(): Promise<void> {
    const [version] = this.archive.versions.oldestFirst();
    if (version === undefined) return;
    rmSync(this.archive.pathOf(version.hash));
    for (const [n, content] of this.contents) if (content === this.contents.get(version.n)) this.gone.add(n);
    await this.#kill();
  }

  /** A daemon that was killed ends nothing in order; all it wrote is in the files. */
  async #kill(): Promise<void> {
    this.#killed.push(this.archive);
    await this.#start();
  }

  async end(): Promise<void> {
    for (const archive of [...this.#killed, this.archive]) await archive.close();
    rmSync(this.dir, { recursive: true });
  }

  async check(): Promise<void> {
    const { versions, wipes } = this.archive;
    // Each version that is named is there byte for byte, under its own number.
    for (const version of versions.oldestFirst()) {
      const content = await this.archive.contentOf(version);
      const what = `v-${version.n} of ${version.file}`;
      assert.equal(content?.toString(), this.contents.get(version.n), what);
      assert.equal(version.path, this.kept.get(version.n)?.path, what);
    }
    const back = [...versions.oldestFirst()].filter(({ n }) => this.removed.has(n));
    assert.deepEqual(back, [], "what was removed came back");
    // A wipe names only versions that are there.
    for (const wipe of wipes.all())
      for (const { version } of wipeRow(this.archive, wipe).files)
        if (version !== null)
          assert.ok(versions.get(Number(version.slice(2))), `r-${wipe.n} names ${version}`);
    // Each version that must be there is.
    const there = new Set([...versions.oldestFirst()].map(({ n }) => n));
    const missing = [...this.contents.keys()].filter(n => !there.has(n) && !this.gone.has(n));
    assert.deepEqual(missing, [], "versions within the bounds are missing");
  }
}

/** Plays a history, and checks after each step. Throws what is wrong. */
export async function play(ops: readonly Op[]): Promise<void> {
  const history = new History();
  try {
    await history.begin();
    for (const one of [...ops, { op: "restart" } as const]) {
      await history.run(one);
      await history.check();
    }
  } finally {
    await history.end();
  }
}

/** Returns what is wrong first over so many histories; null: nothing. */
export async function wrongOver(runs: number, seed: number): Promise<string | null> {
  for (const ops of fc.sample(histories, { numRuns: runs, seed })) {
    try {
      await play(ops);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
  return null;
}
