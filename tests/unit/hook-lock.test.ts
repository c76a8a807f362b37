/** Edits that wait for a lock, and files that hooks leave. */

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Actor, FileRef } from "../../daemon/core/frame/actors.ts";
import { HookLocks, keptAgainst } from "../../daemon/hooks/edits/edit-lock.ts";
import { HookFailures } from "../../daemon/hooks/edits/own-files.ts";
import { HookedCommits } from "../../daemon/hooks/guard/memory.ts";
import type { Call } from "../../daemon/server/call.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { Baselines, Writers } from "../../daemon/worktree/writers.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { EngineWorld, MemoryPlace } from "./engine-world.ts";
import { WorkCount } from "./work-count.ts";

describe("a wait for the lock of an edit", () => {
  const bob: Actor = { session: "bob", agent: null, incarnation: 0 };

  let world: EngineWorld;
  let locks: HookLocks;
  let baselines: Baselines;
  let writers: Writers;
  let hooks: Hook[];
  let commits: HookedCommits;
  let locked: WorkCount;
  /** What files look like that are not as they were, by path. */
  const looks = new Map<string, string>();

  beforeEach(begin);

  async function begin(): Promise<void> {
    locked = new WorkCount();
    world = new EngineWorld(new MemoryPlace());
    let isStarted = false;
    await world.start({
      onStep: (entry, step) => {
        world.log.push(entry);
        if (isStarted) locked.step(() => locks.locked(world.state, entry.command, step));
      },
    });
    isStarted = true;
    hooks = [];
    looks.clear();
    const stampedNow = (path: string) => ({ stamp: looks.get(path) ?? "as it was", changedAt: 0 });
    const facts = { stampedNow, stamped: async (path: string) => stampedNow(path) };
    const { engine, clock } = world;
    const presence = new PresenceTable(clock);
    baselines = new Baselines(facts);
    writers = new Writers();
    commits = new HookedCommits();
    locks = new HookLocks({ engine, clock, facts, presence, baselines, writers, commits } as never);
  }

  function fileRef(file: string): FileRef {
    return { file, lexical: `/p/${file}`, key: `n:/p/${file}`, dir: false };
  }

  /** One hook of the edit: what the daemon has of it, and what came of it. */
  class Hook {
    isClosed = false;
    readonly #ties = new Set<() => void>();
    /** How often it was told that it waits. */
    told = 0;
    /** Whether it was granted the lock, and heard so; null: it has no answer yet. */
    heard: boolean | null = null;
    /** As of a connection: others leave descriptors for it. */
    readonly hasRoomToWait = true;
    /** Why it was refused. */
    refusal: string | null = null;

    /** Says what became of the answer; it is known some time after it was sent. */
    readonly report: () => void;

    /** What happened to the file while it waited. */
    readonly change: () => Promise<{ readonly changedBy: unknown; readonly changedFile: string | null }>;

    /** `reads`: false where the process dies unseen, so that the answer finds nobody. */
    constructor({
      toolUseId = "toolu_1",
      reads = true,
      name = "a.ts",
      more = [] as readonly string[],
      waitMs = 50_000,
    } = {}) {
      const call = { connection: this, park: () => undefined } as unknown as Call;
      const ask = { session: "bob", toolUseId, waitMs, promptId: "p", ancestors: [], cwd: "/p" };
      const files = [name, ...more].map(fileRef);
      const asked = locks.ask({ call, observes: false }, { ...ask, files, yieldMs: 15_000 }, bob);
      this.change = async () => (await asked.waited).change;
      let isAnswered = false;
      asked.waited.then(({ reply }) => {
        isAnswered = reply.ok;
        if (!reply.ok) this.refusal = reply.code;
      });
      this.report = () => {
        if (!isAnswered || this.heard !== null) return;
        this.heard = reads && !this.isClosed;
        asked.delivered(this.heard);
      };
      hooks.push(this);
    }

    /** The blank line that says that it waits. */
    push(): void {
      this.told += 1;
    }

    /** As a connection does. */
    tie(release: () => void): () => void {
      if (this.isClosed) {
        release();
        return () => {};
      }
      this.#ties.add(release);
      return () => this.#ties.delete(release);
    }

    /** Its process is killed. */
    kill(): void {
      if (this.isClosed) return;
      this.isClosed = true;
      for (const release of [...this.#ties]) release();
    }
  }

  /** What a running command holds is waited for. */
  const command = { bound: { node: "n", epoch: 1, connection: 1 } };
  const hold = () => world.lock("alice", ["a.ts"], command);
  const free = () => world.unlock("alice", "a.ts");

  /** Lets everything under way happen, up to what became of each answer. */
  async function settle(): Promise<void> {
    await world.settle();
    for (const hook of hooks) hook.report();
    await world.settle();
  }

  describe("behind another agent's commit whose hook may change files", () => {
    const commit = {
      actor: { session: "alice", agent: null, incarnation: 0 },
      prompt: null,
      place: { worktree: "/p", gitDir: "/p/.git" },
      project: "/p",
      hooks: "h",
      stashes: null,
      isPlain: true,
    };

    test("it is told that it waits, is granted the lock at the commit's end, and told what changed meanwhile", async () => {
      commits.began("c", commit, true);
      const [hook, twice] = [new Hook(), new Hook()];
      await settle();
      expect([hook.told, twice.told, hook.heard, world.holder("a.ts") ?? null]).toEqual([1, 1, null, null]);
      looks.set("/p/a.ts", "formatted");
      commits.endWait("c");
      await settle();
      expect([hook.heard, twice.heard, world.holder("a.ts") ?? null]).toEqual([true, true, "bob"]);
      expect(await hook.change()).toMatchObject({ changedFile: "/p/a.ts" });
    });

    test("it still waits for whoever holds the file", async () => {
      commits.began("c", commit, true);
      await hold();
      const hook = new Hook();
      commits.endWait("c");
      await settle();
      expect([hook.heard, world.holder("a.ts") ?? null]).toEqual([null, "alice"]);
      await free();
      await settle();
      expect([hook.heard, world.holder("a.ts") ?? null]).toEqual([true, "bob"]);
    });

    test("if its last hook is gone, it asks for nothing", async () => {
      commits.began("c", commit, true);
      const hook = new Hook();
      await settle();
      hook.kill();
      commits.endWait("c");
      await settle();
      expect([hook.heard, world.holder("a.ts") ?? null]).toEqual([null, null]);
      const next = new Hook();
      await settle();
      expect([next.heard, world.holder("a.ts") ?? null]).toEqual([true, "bob"]);
    });

    test("no longer than it may wait, if the commit takes longer", async () => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      try {
        commits.began("c", commit, true);
        const hook = new Hook({ waitMs: 8_000 });
        await settle();
        vi.advanceTimersByTime(7_999);
        await settle();
        expect(hook.heard).toBeNull();
        vi.advanceTimersByTime(1);
        await settle();
        expect([hook.heard, world.holder("a.ts") ?? null]).toEqual([true, "bob"]);
        commits.endWait("c");
      } finally {
        vi.useRealTimers();
      }
    });
  });

  test("both wait, and one is lost: the other is granted the lock, which stays its own", async () => {
    for (const lost of [0, 1]) {
      await begin();
      await hold();
      for (let n = 0; n < 2; n += 1) new Hook();
      await settle();
      expect(hooks.map(({ told }) => told)).toEqual([1, 1]);
      hooks[lost]?.kill();
      await free();
      await settle();
      expect(hooks.map(({ heard }) => heard)).toEqual([lost !== 0, lost !== 1]);
      expect(world.holder("a.ts")).toBe("bob");
      expect(world.count("lock_undelivered")).toBe(0);
    }
  });

  test("both are granted the lock, and the answer of one finds nobody: it stays the other's", async () => {
    for (const lost of [0, 1]) {
      await begin();
      for (let n = 0; n < 2; n += 1) new Hook({ reads: n !== lost });
      await settle();
      expect(hooks.map(({ heard }) => heard)).toEqual([lost !== 0, lost !== 1]);
      expect(world.holder("a.ts")).toBe("bob");
    }
  });

  test("the one that waited is lost before the other comes: that one asks anew", async () => {
    await hold();
    const lost = new Hook();
    await settle();
    lost.kill();
    const other = new Hook();
    await free();
    await settle();
    expect([lost.heard, other.heard]).toEqual([null, true]);
    expect(world.holder("a.ts")).toBe("bob");
  });

  test("a grant that nobody heard of is undone, and does not stand for who comes then", async () => {
    const lost = new Hook({ reads: false });
    await settle();
    expect([lost.heard, world.holder("a.ts")]).toEqual([false, null]);
    const other = new Hook();
    await settle();
    expect([other.heard, world.holder("a.ts")]).toEqual([true, "bob"]);
  });

  test("a decision is given again, and not longer than its time", async () => {
    for (let n = 0; n < 3; n += 1) new Hook({ toolUseId: `toolu_${n}` });
    await settle();
    const requests = world.count("lock_request");
    new Hook();
    await settle();
    expect(world.count("lock_request")).toBe(requests);
    await world.pass(limits.decidedMs);
    const late = new Hook();
    await settle();
    expect(world.count("lock_request")).toBe(requests + 1);
    expect(late.heard).toBe(true);
  });

  test("whichever hooks of an edit come and are lost, and when: who is left has the lock, or nobody has", async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant("come" as const), reads: fc.boolean() }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant("kill" as const), which: fc.nat(4) }) },
      { weight: 3, arbitrary: fc.constant({ do: "settle" } as const) },
      { weight: 1, arbitrary: fc.constant({ do: "free" } as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(step, { maxLength: 14 }), async (isHeld, steps) => {
        await begin();
        if (isHeld) await hold();
        const live = new Set<Hook>();
        for (const one of steps) {
          if (one.do === "come") {
            const hook = new Hook(one);
            if (one.reads) live.add(hook);
          } else if (one.do === "kill") {
            const hook = hooks[one.which];
            hook?.kill();
            if (hook !== undefined && hook.heard !== true) live.delete(hook);
          } else if (one.do === "settle") await settle();
          else await free();
        }
        await settle();
        if (world.holder("a.ts") === "alice") await free();
        await settle();
        expect([...live].map(({ heard }) => heard)).toEqual([...live].map(() => true));
        expect(world.holder("a.ts")).toBe(live.size > 0 ? "bob" : null);
      }),
      { numRuns: 500 },
    );
  });

  test("the change during a wait is a write reported since it began, also within one millisecond, or one under way", async () => {
    const alice = { session: "alice", agent: null, name: "alice", at: world.clock.now() };
    const key = "n:/p/a.ts";
    const steps = [
      () => {},
      () => writers.wrote(key, { ...alice, lines: "line 1" }),
      () => writers.began(key, { ...alice, flight: "toolu_9" }),
    ];
    for (const before of steps) {
      for (const during of steps) {
        await begin();
        alice.at = world.clock.now();
        before();
        await hold();
        const hook = new Hook();
        await settle();
        during();
        await free();
        await settle();
        const { changedBy } = await hook.change();
        const lines = during === steps[1] ? "line 1" : null;
        const isAlice = during !== steps[0] || before === steps[2];
        expect(changedBy).toEqual(isAlice ? { name: "alice", lines } : null);
      }
    }
  });

  test("of several files that wait for one that is being written, another one that changed long ago did not change", async () => {
    looks.set("/p/b.ts", "before");
    await baselines.take(fileRef("b.ts"));
    looks.delete("/p/b.ts");
    for (const [during, changed] of [
      [null, null],
      ["/p/a.ts", "/p/a.ts"],
      ["/p/b.ts", "/p/b.ts"],
    ] as const) {
      await world.lock("alice", ["a.ts"], { kind: "turn", flight: "toolu_9" });
      const hook = new Hook({ more: ["b.ts"], toolUseId: `of ${during}` });
      await settle();
      if (during !== null) looks.set(during, "after");
      await free();
      await settle();
      expect((await hook.change()).changedFile).toBe(changed);
      looks.clear();
      for (const file of ["a.ts", "b.ts"]) await world.unlock("bob", file);
    }
  });

  test("a lock that is kept since the edit looked, and before it was queued, is not waited for", async () => {
    const kept = world.submitLock("alice", ["a.ts"]);
    const hook = new Hook();
    await settle();
    expect(kept.reply).toMatchObject({ ok: true });
    expect([hook.refusal, hook.told]).toEqual(["lock_held", 0]);
    expect(world.state.locks.waiters.size).toBe(0);
  });

  test("a lock that another entry grants is waited for no more once it is kept, and only then", async () => {
    for (const [terms, refusal] of [
      [{}, "lock_held"],
      [command, null],
      [{ kind: "turn" }, null],
    ] as const) {
      await begin();
      await hold();
      const next = world.submitLock("carol", ["b.ts", "a.ts"], terms);
      const hook = new Hook();
      await settle();
      expect([hook.told, hook.refusal]).toEqual([1, null]);
      await free();
      await settle();
      expect(next.reply).toMatchObject({ ok: true });
      expect(hook.refusal).toBe(refusal);
    }
  });

  test("whatever others lock, and how: no edit waits for what another actor keeps", async () => {
    const names = fc.constantFrom("src/", "src/a.ts", "b.ts");
    const others = ["alice", "carol"].flatMap(session => [null, "x"].map(agent => ({ session, agent })));
    const actors = [...others, { session: "bob", agent: "x" }].map(one => ({ ...one, incarnation: 0 }));
    const who = fc.constantFrom<Actor[]>(...actors);
    const terms = fc.constantFrom({}, {}, command, { kind: "turn" as const });
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant("lock" as const), who, name: names, terms }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("unlock" as const), who, name: names }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("end" as const), who }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant("edit" as const), name: names }) },
    );
    const seen = { waits: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(step, fc.boolean()), { minLength: 8, maxLength: 30 }),
        async steps => {
          await begin();
          for (const [i, [one, settles]] of steps.entries()) {
            if (one.do === "edit")
              new Hook({ name: one.name.replace(/\/$/, "/c.ts"), toolUseId: `toolu_${i}` });
            else if (one.do === "end") world.submit({ type: "turn_end", actor: one.who, keepPrompt: null });
            else if (one.do === "unlock") {
              const path = `/p/${one.name.replace(/\/$/, "")}`;
              const files = [{ file: one.name, lexical: path, key: `n:${path}` }];
              world.submit({ type: "lock_release", actor: one.who, files });
            } else {
              const ancestors = one.who.agent === null ? [] : [null];
              world.submitLock(one.who, [one.name], { ...one.terms, ancestors });
            }
            if (!settles) continue;
            await settle();
            const waiters = [...world.state.locks.waiters.values()].filter(({ flight }) => flight !== null);
            seen.waits += waiters.length;
            for (const waiter of waiters) expect(keptAgainst(world.state, waiter)).toBeNull();
          }
          seen.refused += hooks.filter(({ refusal }) => refusal === "lock_held").length;
        },
      ),
      { numRuns: 300 },
    );
    expect(Math.min(seen.waits, seen.refused)).toBeGreaterThan(50);
  });

  test("a grant costs what waits for its files, however many wait for others", async () => {
    const costs: number[] = [];
    for (const others of [5, 500]) {
      await begin();
      for (let n = 0; n < others; n += 1) {
        await world.lock("alice", [`f${n}`], command);
        new Hook({ name: `f${n}`, toolUseId: `toolu_${n}` });
      }
      await hold();
      const next = world.submitLock("carol", ["a.ts"]);
      await settle();
      locked.total = 0;
      await free();
      await settle();
      expect(next.reply).toMatchObject({ ok: true });
      expect(world.state.locks.waiters.size).toBe(others);
      costs.push(locked.total);
    }
    expect(costs[1]).toBe(costs[0]);
  });

  test("a decision that is remembered keeps nothing of the connections that waited for it", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc");
    await hold();
    const gone = new WeakRef(new Hook());
    await settle();
    await free();
    await settle();
    expect(hooks.map(({ heard }) => heard)).toEqual([true]);
    hooks = [];
    // What a turn has read of a weak reference stays alive for the rest of it.
    await new Promise(resolve => setImmediate(resolve));
    collect();
    expect(gone.deref()).toBeUndefined();
  });
});

describe("files of failures", () => {
  let file: string;
  let troubles: string[];
  let failures: HookFailures;

  beforeEach(() => {
    const folder = temporaryFolder("kite-failures-");
    file = join(folder, "hook-failures");
    troubles = [];
    failures = new HookFailures(file, message => troubles.push(message));
  });

  test("what was counted is removed, again and again, and nothing is no trouble", () => {
    failures.clear();
    for (let n = 0; n < 2; n += 1) {
      writeFileSync(file, "1700000000\n");
      failures.clear();
      expect(existsSync(file)).toBe(false);
    }
    expect(troubles).toEqual([]);
  });

  test("what cannot be removed is told once", () => {
    mkdirSync(file);
    failures.clear();
    failures.clear();
    expect(troubles).toEqual([`hooks may pause without need: ${file} cannot be removed; remove it`]);
  });
});
