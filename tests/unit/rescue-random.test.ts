/**
 * Random histories of edits, shell writes, wipes, kills at every point of a write, lost contents and pruning: each version that
 * must be there is there byte for byte, and none is named that is not.
 */
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { outsideFacts } from "../../daemon/facts/facts.ts";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { GitChild } from "../../daemon/facts/git/process.ts";
import { Archive } from "../../daemon/rescue/archive.ts";
import { FileKeeper, type FileKeeperOptions } from "../../daemon/rescue/keep.ts";
import { ContentStore, hashOf } from "../../daemon/rescue/store.ts";
import { UnkeptFiles } from "../../daemon/rescue/unkept.ts";
import type { Version } from "../../daemon/rescue/versions.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const hourMs = 3_600_000;
const files = ["a.ts", "b.ts", "src/c.ts"] as const;
const bounds = { bytesMax: 400, versionsMax: 8, keptMs: 14 * 24 * hourMs };
const author = { session: "s1", agent: null, name: "alice" };

type Op =
  | { readonly op: "write"; readonly file: number; readonly text: string; readonly isEdit: boolean }
  | { readonly op: "wipe"; readonly file: number; readonly how: "gone" | "changed" }
  | { readonly op: "commit"; readonly file: number }
  | { readonly op: "pass"; readonly hours: number }
  | {
      readonly op:
        | "prune"
        | "restart"
        | "kill before the index"
        | "kill within a line"
        | "lose a content"
        | "lose the index";
    }
  | { readonly op: "purge"; readonly file: number };

const file = fc.nat({ max: files.length - 1 });
// Few lines, so that contents are alike; some are long, and none is empty.
const line = fc.constantFrom("one", "two", "three", "\u00fc\ud83d\ude00", "x".repeat(300), "");
const text = fc.array(line, { minLength: 1, maxLength: 6 }).map(lines => `${lines.join("\n")}\n`);
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    arbitrary: fc.record({ op: fc.constant("write" as const), file, text, isEdit: fc.boolean() }),
    weight: 8,
  },
  {
    arbitrary: fc.record({ op: fc.constant("wipe" as const), file, how: fc.constantFrom("gone", "changed") }),
    weight: 3,
  },
  { arbitrary: fc.record({ op: fc.constant("commit" as const), file }), weight: 1 },
  {
    arbitrary: fc.record({ op: fc.constant("pass" as const), hours: fc.integer({ min: 1, max: 200 }) }),
    weight: 2,
  },
  {
    arbitrary: fc.record({
      op: fc.constantFrom(
        "prune",
        "restart",
        "kill before the index",
        "kill within a line",
        "lose a content",
        "lose the index",
      ),
    }),
    weight: 3,
  },
  { arbitrary: fc.record({ op: fc.constant("purge" as const), file }), weight: 1 },
);

const top = temporaryFolder("kite-rescue-random-");
const outside = new BudgetedFs();
const facts = outsideFacts(outside, new GitChild(), null);
let count = 0;

/** What must be so, beside the store that does it. */
class History {
  readonly dir = join(top, `${count++}`);
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
  readonly dirty = new Set<string>();
  readonly troubles: string[] = [];
  readonly #killed: Archive[] = [];
  nowMs = 1_000 * hourMs;
  archive!: Archive;
  keeper!: FileKeeper;

  async begin(): Promise<void> {
    mkdirSync(join(this.work, "src"), { recursive: true });
    await this.start();
  }

  async start(): Promise<void> {
    this.archive = new Archive({
      dir: this.store,
      wall: () => this.nowMs,
      dirtyPaths: () => this.dirty,
      onTrouble: message => this.troubles.push(message),
      bounds,
    });
    await this.archive.open();
    const home = { project: this.work, worktree: this.work };
    const services = {
      engine: { state: { sessions: { live: new Map([["s1", home]]) } } },
      rules: { at: async () => ({ rescue: "on" }) },
    } as unknown as FileKeeperOptions["services"];
    const git = { isIgnored: async () => false, head: async () => null, committed: async () => null };
    const { archive } = this;
    this.keeper = new FileKeeper({
      archive,
      unkept: new UnkeptFiles(),
      services,
      facts,
      git,
      outside,
      never: [],
    });
  }

  path(n: number): string {
    return join(this.work, files[n] ?? "");
  }

  async keep(n: number, isEdit = true): Promise<void> {
    const path = this.path(n);
    const what = {
      path,
      key: path,
      by: author,
      tool: "Edit",
      kind: "write",
      session: "s1",
      text: null,
    } as const;
    const outcome = await this.keeper.keep({ ...what, isEdit, atMs: this.nowMs }, () => false);
    if (outcome.is !== "kept") return;
    const content = readFileSync(path, "utf8");
    // A number is used once.
    expect(this.contents.get(outcome.version.n) ?? content).toBe(content);
    this.contents.set(outcome.version.n, content);
    this.kept.set(outcome.version.n, outcome.version);
    // A content that was lost is there again.
    for (const { n, hash } of this.archive.versions.oldestFirst())
      if (hash === outcome.version.hash) this.gone.delete(n);
    await this.notePruned();
  }

  /** What the bounds took, which a keep may begin: what is too old, and beyond that no more than has to go. */
  async notePruned(): Promise<void> {
    const { versions } = this.archive;
    await this.archive.prune();
    const taken = [...this.kept.values()].filter(
      ({ n }) => versions.get(n) === undefined && !this.gone.has(n),
    );
    for (const { n } of taken) {
      this.gone.add(n);
      this.removed.add(n);
    }
    const early = taken.filter(({ atMs }) => atMs >= this.nowMs - bounds.keptMs);
    if (early.length === 0) return;
    const largest = Math.max(...early.map(({ storedBytes }) => storedBytes));
    const isFull =
      versions.size + 1 > bounds.versionsMax * limits.rescueLowPart ||
      versions.bytes + largest > bounds.bytesMax * limits.rescueLowPart;
    expect(isFull, `${early.length} versions went too early`).toBe(true);
  }

  async run(op: Op): Promise<void> {
    this.nowMs += 60_000;
    switch (op.op) {
      case "write":
        writeFileSync(this.path(op.file), op.text);
        this.dirty.add(this.path(op.file));
        return this.keep(op.file);
      case "wipe":
        return this.wipe(op.file, op.how);
      case "commit":
        this.dirty.delete(this.path(op.file));
        return;
      case "pass":
        this.nowMs += op.hours * hourMs;
        return;
      case "prune":
        return this.notePruned();
      case "restart":
        await this.archive.close();
        return this.start();
      case "purge":
        await this.archive.purge(({ path }) => path === this.path(op.file));
        for (const { n, path } of this.kept.values()) {
          if (path !== this.path(op.file)) continue;
          this.gone.add(n);
          this.removed.add(n);
        }
        return;
      case "kill before the index":
        return this.killBeforeIndex();
      case "kill within a line":
        return this.killWithinLine();
      case "lose a content":
        return this.loseContent();
      case "lose the index":
        // With the next write it is written anew from memory.
        rmSync(join(this.store, "index"));
        writeFileSync(this.path(0), `${this.nowMs}\n`);
        this.dirty.add(this.path(0));
        return this.keep(0);
    }
  }

  /** A wipe names the version of before: that one outlasts others, and the file has no uncommitted work any more. */
  async wipe(n: number, how: "gone" | "changed"): Promise<void> {
    const path = this.path(n);
    const version = this.archive.versions.latestOf(path);
    rmSync(path, { force: true });
    if (how === "changed") writeFileSync(path, "other\n");
    this.dirty.delete(path);
    if (version === null) return;
    const lost = { path, file: files[n] ?? "", version: version.n, writers: [author], lines: 1, how };
    const what = { project: this.work, worktree: this.work, by: null, command: "make", atMs: this.nowMs };
    const wipe = await this.archive.noteWipe({ ...what, files: [lost], more: 0 });
    expect(wipe === null ? null : this.wipes.has(wipe.n)).toBe(false);
    if (wipe !== null) this.wipes.add(wipe.n);
  }

  /** The content is on the disk, and its line is not. */
  async killBeforeIndex(): Promise<void> {
    const content = Buffer.from(`orphan ${this.nowMs}\n`);
    const store = new ContentStore(this.store);
    const hash = await hashOf(content);
    await store.put(hash, content);
    await this.killed();
    expect(await store.has(hash)).toBe(false);
  }

  /** The last line is torn: its version is not there. What comes behind is whole. */
  async killWithinLine(): Promise<void> {
    const index = join(this.store, "index");
    const last = readFileSync(index, "utf8").split("\n").at(-2) ?? "";
    const [, number] = /"v":\{"n":(\d+),/.exec(last) ?? [];
    if (number === undefined) appendFileSync(index, '12345678 {"v":{"n"');
    else {
      truncateSync(index, statSync(index).size - 3);
      this.gone.add(Number(number));
    }
    await this.killed();
  }

  async loseContent(): Promise<void> {
    const [version] = this.archive.versions.oldestFirst();
    if (version === undefined) return;
    rmSync(this.archive.pathOf(version.hash));
    for (const [n, content] of this.contents) if (content === this.contents.get(version.n)) this.gone.add(n);
    await this.killed();
  }

  /** A daemon that was killed ends nothing in order; all it wrote is in the files. */
  async killed(): Promise<void> {
    this.#killed.push(this.archive);
    await this.start();
  }

  async end(): Promise<void> {
    for (const archive of [...this.#killed, this.archive]) await archive.close();
    rmSync(this.dir, { recursive: true });
  }

  async check(): Promise<void> {
    const { versions } = this.archive;
    // Each version that is named is there byte for byte, under its own number.
    for (const version of versions.oldestFirst()) {
      const content = await this.archive.contentOf(version);
      expect(content?.toString(), `v-${version.n} of ${version.file}`).toBe(this.contents.get(version.n));
    }
    expect([...versions.oldestFirst()].filter(({ n }) => this.removed.has(n))).toEqual([]);
    // Each version that must be there is.
    const there = new Set([...versions.oldestFirst()].map(({ n }) => n));
    const missing = [...this.contents.keys()].filter(n => !there.has(n) && !this.gone.has(n));
    expect(missing).toEqual([]);
  }
}

test("every version within the bounds comes back byte for byte, and none is named that cannot", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(op, { minLength: 5, maxLength: 40 }), async ops => {
      const history = new History();
      await history.begin();
      for (const one of ops) {
        await history.run(one);
        await history.check();
      }
      await history.run({ op: "restart" });
      await history.check();
      await history.end();
    }),
    { numRuns: 40, seed: 28 },
  );
});

test("the last version of a file with uncommitted work outlasts every bound", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(op, { minLength: 5, maxLength: 25 }), async ops => {
      const history = new History();
      await history.begin();
      const harmless = ops.filter(one => ["write", "pass", "prune", "restart", "commit"].includes(one.op));
      for (const one of harmless) await history.run(one);
      history.nowMs += 1_000 * hourMs;
      await history.notePruned();
      for (const path of history.dirty) {
        const latest = history.archive.versions.latestOf(path);
        expect(latest === null ? null : (await history.archive.contentOf(latest))?.toString()).toBe(
          readFileSync(path, "utf8"),
        );
      }
      await history.end();
    }),
    { numRuns: 15, seed: 28 },
  );
});
