/** Whether a worktree's checks are green for its present state. */

import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { commandRules } from "../../daemon/core/apply.ts";
import { checkStatuses, differingFiles } from "../../daemon/core/lead/checks.ts";
import { addResult, type CheckRecord } from "../../daemon/core/lead/tables/roles.ts";
import { check } from "../../daemon/core/slices.ts";
import { emptyState, readState, writeState } from "../../daemon/core/snapshot.ts";
import type { Declaration } from "../../daemon/core/tables/declarations.ts";
import { noteKey } from "../../daemon/core/tables/messages.ts";
import type { Session } from "../../daemon/core/tables/sessions.ts";
import { addWork } from "../../daemon/core/tables/uncommitted.ts";
import { CompletionTries, GreenRuns } from "../../daemon/lead/gate-memory.ts";
import { completionFindings } from "../../daemon/lead/gates.ts";
import { commandHash } from "../../daemon/lead/settings.ts";
import { gatePresets } from "../../protocol/lead/roles.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World } from "./core-world.ts";

const command = "c".repeat(64);
const clean = { commit: "a".repeat(40), dirty: "0".repeat(64) };
const place = { project: "/p", worktree: "/p" };

function record(w: World, name: string, more: Partial<CheckRecord> = {}) {
  return w.step({
    type: "check_record",
    actor: null,
    ...place,
    name,
    command,
    exit: 0,
    ranMs: 1200,
    ...clean,
    files: 0,
    wallMs: 5000,
    ...more,
  });
}

const names = (w: World) => [...w.state.checks.results.values()].map(({ name }) => name);
const statusOf = (w: World, present: Parameters<typeof checkStatuses>[3], of = command) =>
  checkStatuses(w.state, place, [{ name: "test", command: of }], present).get("test");

describe("a result", () => {
  it("is the latest of its check, and everybody hears of it", () => {
    const w = new World();
    w.begin("ann", { name: "Ann" });
    const first = record(w, "test", { exit: 1, actor: actor("ann") });
    expect(first.reply).toEqual({ ok: true, green: false });
    expect(first.events).toEqual([
      {
        event: {
          event: "check_recorded",
          ...place,
          check: "test",
          exit: 1,
          commit: clean.commit,
          by: { id: "ann", agent: null, name: "Ann" },
        },
        about: ["ann"],
        project: "/p",
      },
    ]);
    record(w, "lint");
    expect(record(w, "test").reply).toEqual({ ok: true, green: true });
    expect(names(w)).toEqual(["lint", "test"]);
    expect([...w.state.checks.results.values()].at(-1)).toMatchObject({ exit: 0, by: null, at: 5000 });
  });

  it("is of one project, worktree and name", () => {
    const w = new World();
    for (const where of [place, { ...place, worktree: "/p-two" }, { ...place, project: "/q" }])
      for (const name of ["test", "constructor", "__proto__"]) record(w, name, where);
    expect(w.state.checks.results.size).toBe(9);
  });

  it("is on disk before its answer, and is in a snapshot in its order", () => {
    expect(commandRules.check_record).toMatchObject({ durable: true, frees: false });
    const w = new World();
    for (const name of ["b", "a", "c", "b"]) record(w, name);
    const read = readState(writeState(w.state));
    expect([...read.checks.results]).toEqual([...w.state.checks.results]);
    expect(writeState(read)).toBe(writeState(w.state));
  });

  it("drops the oldest of too many", () => {
    const checkResultsMax = 10;
    const w = new World(bounded({ checkResultsMax }));
    for (let n = 0; n <= checkResultsMax; n += 1) {
      record(w, `n${n}`);
      if (n === checkResultsMax - 1) record(w, "n0");
    }
    expect(names(w)).toHaveLength(checkResultsMax);
    expect(names(w)[0]).toBe("n2");
    expect(names(w).slice(-2)).toEqual(["n0", `n${checkResultsMax}`]);
  });

  it("keeps its invariants under watch", () => {
    const w = new World();
    record(w, "test");
    const [key = "", result] = [...w.state.checks.results][0] ?? [];
    if (result === undefined) throw new Error("nothing was recorded");
    w.state.checks.results.set("/p\n/p\nlint", result);
    expect(check(w.state, ["checks"])).toEqual([
      "/p /p lint is among the results of checks, and its row has another key",
      "the result of test stands in the wrong place",
    ]);
    w.state.checks.results.delete("/p\n/p\nlint");
    w.state.checks.results.set(key, { ...result, seq: w.state.seq + 1 });
    expect(check(w.state, ["checks"])).toHaveLength(1);
  });
});

describe("a check's status", () => {
  it("is that of its latest run if command and state are the same", () => {
    const w = new World();
    expect(statusOf(w, clean)).toBe("never_run");
    record(w, "test");
    expect(statusOf(w, clean)).toBe("green");
    record(w, "test", { exit: 2 });
    expect(statusOf(w, clean)).toBe("red");
  });

  it.each([
    ["another commit", { ...clean, commit: "b".repeat(40) }, command],
    ["no commit yet", { ...clean, commit: null }, command],
    ["other content", { ...clean, dirty: "1".repeat(64) }, command],
    ["another command", clean, "d".repeat(64)],
  ])("is stale after %s, whatever the result was", (_, present, of) => {
    const w = new World();
    for (const exit of [0, 1]) {
      record(w, "test", { exit });
      expect(statusOf(w, present, of)).toBe("stale");
    }
  });

  it("is unknown if the state is, and never green of another worktree's result", () => {
    const w = new World();
    record(w, "test", { worktree: "/p-two" });
    expect(statusOf(w, { ...clean, dirty: null })).toBe("never_run");
    record(w, "test");
    expect(statusOf(w, { ...clean, dirty: null })).toBe("unknown");
    expect(statusOf(w, { commit: null, dirty: null })).toBe("unknown");
  });

  it("is told of every wanted check, in order", () => {
    const w = new World();
    record(w, "b");
    const wanted = ["b", "a", "constructor"].map(name => ({ name, command }));
    expect([...checkStatuses(w.state, place, wanted, clean)]).toEqual([
      ["b", "green"],
      ["a", "never_run"],
      ["constructor", "never_run"],
    ]);
  });
});

// The checks of an agent that says that its task is done, in a worktree that others write in.
describe("the checks of an agent that completes its task", () => {
  const ann = { session: "ann", agent: null, incarnation: 0 };
  const bob = { session: "bob", agent: null, incarnation: 0 };

  /** One worktree, whose commit is a number: the files of each commit are kept. */
  class Worktree {
    readonly state = emptyState();
    readonly greenRuns = new GreenRuns();
    readonly completionTries = new CompletionTries();
    when: readonly string[] | null = null;
    unreachable: string | null = null;
    gitDir: string | null = "/p/.git";
    #files = new Map<string, string>([["a.ts", "a"]]);
    readonly #commits: ReadonlyMap<string, string>[] = [new Map(this.#files)];

    constructor() {
      const declared = {
        role: "r",
        task: "make paging work",
        confidence: 1,
        reason: "I read it",
        plan: ["test"],
      };
      const declaration = { ...declared, files: [], uncertainties: [] } as unknown as Declaration;
      this.state.declarations.live.set(noteKey(ann), declaration);
      this.state.sessions.live.set("ann", { cwd: "/p", ...place } as unknown as Session);
    }

    write(actor: typeof ann | null, file: string, content: string): void {
      this.#files.set(file, content);
      if (actor === null) return;
      this.state.seq += 1;
      const { seq } = this.state;
      const key = `n:/p/${file}`;
      const others = (this.state.writes.files.get(key)?.writers ?? []).filter(w => w.actor !== actor);
      const writer = { actor, name: actor.session, ancestors: [], by: "edit", wallMs: 0, seq } as const;
      addWork(this.state.writes, { key, file, ...place, writers: [...others, writer] });
    }

    commit(): void {
      this.#commits.push(new Map(this.#files));
    }

    now() {
      const last = this.#commits.length - 1;
      const at = this.#commits[last] ?? new Map<string, string>();
      const changed = new Map([...this.#files].filter(([file, content]) => at.get(file) !== content).sort());
      const dirty = createHash("sha256")
        .update(JSON.stringify([...changed]))
        .digest("hex");
      return { commit: String(last), dirty, absent: "", changed };
    }

    /** Runs the check as `kite check` does; `during` happens meanwhile. */
    run(exit = 0, during: () => void = () => {}): void {
      const check = { ...place, name: "test", command: commandHash("npm test") };
      const [before, seqBefore] = [this.now(), this.state.seq];
      this.greenRuns.saw("/p", before, seqBefore);
      during();
      const [after, seq] = [this.now(), this.state.seq];
      this.greenRuns.saw("/p", after, seq);
      if (before.commit !== after.commit || before.dirty !== after.dirty) {
        if (exit === 0) this.greenRuns.ran({ ...check, ...before });
        return;
      }
      this.state.seq += 1;
      addResult(this.state.checks, {
        ...check,
        ...{ exit, ranMs: 1, commit: after.commit, dirty: after.dirty, files: 0, by: null, at: 0 },
        seq: this.state.seq,
      });
      if (exit === 0) this.greenRuns.ran({ ...check, ...after });
    }

    /** Returns what holds ann back, and what she is told if nothing does. */
    async done(): Promise<{ held: string[]; told: string[] }> {
      const { greenRuns, completionTries, unreachable } = this;
      const services = {
        engine: { state: this.state },
        config: { rules: { at: async () => ({ gates: { ...gatePresets.off, quality: "enforce" } }) } },
        presence: { ancestors: () => [] },
        greenRuns,
        completionTries,
        checks: {
          for: async () => ({
            ...place,
            trust: "trusted",
            checks: [{ name: "test", command: "npm test", when: this.when }],
          }),
        },
        facts: {
          repository: async () => ({ ...place, gitDir: this.gitDir }),
          worktreeState: async () => (unreachable === null ? this.now() : { unreachable }),
          commitDiff: async (_: unknown, [from, to]: readonly [string, string]) => this.#between(from, to),
        },
      } as unknown as Parameters<typeof completionFindings>[0] & Parameters<typeof completionFindings>[1];
      const findings = await completionFindings(services, services, ann, null, null);
      const sentences = (mode: string) =>
        findings.filter(one => one.mode === mode).flatMap(one => one.missing);
      return { held: sentences("enforce"), told: sentences("warn") };
    }

    #between(from: string, to: string): ReadonlyMap<string, readonly [string, string]> {
      const [a, b] = [this.#commits[Number(from)] ?? new Map(), this.#commits[Number(to)] ?? new Map()];
      const files = [...new Set([...a.keys(), ...b.keys()])].filter(file => a.get(file) !== b.get(file));
      return new Map(files.map(file => [file, [a.get(file) ?? "gone", b.get(file) ?? "gone"]]));
    }
  }

  const rerun = expect.stringMatching(
    /^checks: files changed in \/p since test ran; run there: kite check test/,
  );
  const overtaken = "checks overtaken: test was green with your work; later others changed b.ts (bob)";

  describe("a check that was green", () => {
    test("is not asked for again if only others changed files since, and they are named", async () => {
      const w = new Worktree();
      w.write(ann, "a.ts", "mine");
      w.run();
      expect(await w.done()).toEqual({ held: [], told: [] });
      w.write(bob, "b.ts", "his");
      expect(await w.done()).toEqual({ held: [], told: [overtaken] });
      w.commit();
      expect(await w.done()).toEqual({ held: [], told: [overtaken] });
      w.run(1);
      expect(await w.done()).toEqual({ held: [], told: [overtaken] });
    });

    test("names files and writers as text that others wrote", async () => {
      const w = new Worktree();
      w.run();
      w.write({ ...bob, session: "<bob>\n" }, "<b>.ts", "his");
      expect((await w.done()).told).toEqual([expect.stringContaining("later others changed ‹b›.ts (‹bob›)")]);
    });

    test("is not asked for again after a commit of the very same files", async () => {
      const w = new Worktree();
      w.write(ann, "a.ts", "mine");
      w.run();
      w.commit();
      expect(await w.done()).toEqual({ held: [], told: [] });
    });

    test("is asked for after a change of the agent itself, however often it comes back", async () => {
      const w = new Worktree();
      for (let n = 0; n < 3 * limits.completionRefusalsMax; n += 1) {
        w.run();
        w.write(bob, "b.ts", `his ${n}`);
        w.write(ann, "a.ts", `mine ${n}`);
        expect(await w.done()).toEqual({ held: [rerun], told: [] });
      }
    });

    test("is asked for after a change that nobody is known for, and a few times only if it was run each time", async () => {
      const w = new Worktree();
      w.run();
      for (let n = 0; n < 3 * limits.completionRefusalsMax; n += 1) {
        w.write(null, "c.ts", "once");
        expect(await w.done()).toEqual({ held: [rerun], told: [] });
      }
      for (let n = 1; n < limits.completionRefusalsMax; n += 1) {
        w.run();
        w.write(null, "c.ts", `again ${n}`);
        expect(await w.done()).toEqual({ held: [rerun], told: [] });
      }
      expect(await w.done()).toEqual({
        held: [],
        told: [expect.stringMatching(/^checks unsettled: test was/)],
      });
      // The next task counts anew.
      expect((await w.done()).held).toEqual([rerun]);
    });

    test("in files that changed while it ran is what others overtook, but not what the agent changed", async () => {
      const w = new Worktree();
      w.run(0, () => w.write(bob, "b.ts", "his"));
      expect(await w.done()).toEqual({ held: [], told: [overtaken] });
      w.run(0, () => w.write(ann, "a.ts", "mine"));
      expect((await w.done()).held).toEqual([expect.stringMatching(/run there: kite check test/)]);
      w.run(1, () => w.write(bob, "b.ts", "more"));
      expect((await w.done()).held).toEqual([expect.stringMatching(/run there: kite check test/)]);
    });

    test("and is red in the same files has to be mended", async () => {
      const w = new Worktree();
      w.run();
      w.run(1);
      expect((await w.done()).held).toEqual([expect.stringMatching(/^checks: test failed in \/p; mend/)]);
      w.write(null, "c.ts", "who?");
      w.run(1);
      for (let n = 0; n < 3 * limits.completionRefusalsMax; n += 1)
        expect((await w.done()).held).toEqual([expect.stringMatching(/^checks: test failed in \/p; mend/)]);
    });
  });

  test("whoever does what the gate says completes, whatever others do meanwhile", async () => {
    const writes = fc.array(
      fc.record({
        by: fc.constantFrom(bob, null),
        file: fc.constantFrom("a.ts", "b.ts", "c.ts"),
        content: fc.string({ maxLength: 2 }),
        commits: fc.boolean(),
      }),
      { maxLength: 3 },
    );
    const step = fc.record({ before: writes, during: writes, after: writes });
    const length = limits.completionRefusalsMax + 2;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: length, maxLength: length }), async steps => {
        const w = new Worktree();
        w.write(ann, "a.ts", "mine");
        const meddle = (all: (typeof steps)[number]["before"]) => {
          for (const { by, file, content, commits } of all) {
            w.write(by, file, content);
            if (commits) w.commit();
          }
        };
        for (const { before, during, after } of steps) {
          const { held } = await w.done();
          if (held.length === 0) return;
          for (const sentence of held) expect(sentence).toMatch(/run there: kite check test/);
          meddle(before);
          w.run(0, () => meddle(during));
          meddle(after);
        }
        expect((await w.done()).held).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  describe("a worktree that cannot be looked at", () => {
    test("holds the agent back a few times, and then passes with a warning", async () => {
      const w = new Worktree();
      w.unreachable = "the name of odd is not UTF-8";
      const blind = expect.stringMatching(
        /^checks: Kite could not look at them \(the name of odd is not UTF-8\)/,
      );
      for (let n = 0; n < limits.completionRefusalsMax; n += 1)
        expect(await w.done()).toEqual({ held: [blind], told: [] });
      expect(await w.done()).toEqual({
        held: [],
        told: [expect.stringMatching(/^checks unseen: Kite could/)],
      });
      w.unreachable = null;
      expect((await w.done()).held).toEqual([expect.stringMatching(/was not run/)]);
    });

    test("that is in no repository passes with a warning", async () => {
      const w = new Worktree();
      w.gitDir = null;
      expect(await w.done()).toEqual({ held: [], told: [expect.stringMatching(/is in no git repository/)] });
    });
  });

  describe("a check for some files", () => {
    test("is asked for after the agent committed its change of them, whatever else is dirty", async () => {
      const w = new Worktree();
      w.when = ["docs/**"];
      w.write(bob, "b.ts", "his");
      expect(await w.done()).toEqual({ held: [], told: [] });
      w.write(ann, "docs/a.md", "mine");
      w.commit();
      w.write(bob, "b.ts", "his, too");
      expect(w.now().changed.has("docs/a.md")).toBe(false);
      expect((await w.done()).held).toEqual([
        expect.stringMatching(/was not run in \/p; run there: kite check test/),
      ]);
      w.run();
      expect(await w.done()).toEqual({ held: [], told: [] });
    });

    test("is not asked for after what others wrote and committed", async () => {
      const w = new Worktree();
      w.when = ["docs/**"];
      w.write(bob, "docs/a.md", "his");
      w.commit();
      w.write(bob, "b.ts", "his, too");
      expect(await w.done()).toEqual({ held: [], told: [] });
    });
  });

  test("a file differs between two commits as it does in the working tree", () => {
    const then = {
      commit: "a",
      absent: "",
      changed: new Map([
        ["x", "1"],
        ["y", "2"],
      ]),
    };
    const now = { commit: "b", absent: "", changed: new Map([["z", "3"]]) };
    const between = new Map([
      ["x", ["0", "1"]],
      ["w", ["4", "gone"]],
    ] as [string, [string, string]][]);
    expect(differingFiles(then, now, between)).toEqual(["w", "y", "z"]);
    expect(differingFiles(then, { ...now, absent: "others" }, between)).toBeNull();
  });
});
