/** Which sessions count as lost, and what a start makes of agents that were at work. */
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, test, vi } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { ProcessTable } from "../../daemon/facts/process-table.ts";
import { AnchorWatch, type LifeQuestion, type LifeSigns } from "../../daemon/facts/processes.ts";
import type { Services } from "../../daemon/options.ts";
import { Life, UnseenWatch } from "../../daemon/sessions/liveness.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import type { ClientStatus } from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import { begin, Crowd, upTo } from "../bench/growth-steps.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { actor, World } from "./core-world.ts";

// Which sessions a check of lives takes for lost: those without a process that say nothing. When checks come.
describe("sessions that count as lost", () => {
  const anchor = { pid: 7, startTime: "7" };
  const idleEndMs = 3 * limits.silenceMs;

  interface Around {
    readonly isConnected?: () => boolean;
    readonly rows?: ProcessTable["rows"];
  }

  function world({ isConnected = () => true, rows = unknown }: Around = {}) {
    const clock = new SimulatedClock(1_000_000);
    const core = new World();
    const presence = new PresenceTable(clock);
    const proposed: Command[] = [];
    /** When checks came. */
    const checks: number[] = [];
    const engine = {
      get state() {
        return core.state;
      },
      submit: (command: Command) => void proposed.push(command),
      submitWithRetry: (command: Command) => void proposed.push(command),
    };
    // A check of lives uses nothing else of the services.
    const services = { node: core.node, engine, clock, presence } as unknown as Services;
    const life = new Life({
      services,
      anchors: new AnchorWatch({ table: { ...noTable, rows } }),
      idleExitMs: 0,
      stillOurs: () => true,
      verifyJournal: () => {},
      onAlive: () => void checks.push(clock.now()),
      isConnected,
      forget: () => {},
      stopped: () => {},
      idleEndMs: client => (client === "outlived" ? idleEndMs : null),
      stop: why => {
        throw new Error(why);
      },
    });
    const begin = (id: string, more: Parameters<World["begin"]>[1] = {}) => {
      presence.seen(id);
      core.begin(id, more);
      life.follow(id);
    };
    return { clock, core, presence, proposed, checks, life, begin };
  }

  const unknown: ProcessTable["rows"] = async pids => pids.map(() => "unknown");

  const noTable = {
    row: () => "unknown" as const,
    isOurs: () => true,
    youngestChildMs: () => "unknown" as const,
  };

  test("a silent session without a process is lost once, one with a process never", () => {
    const { clock, presence, proposed, begin } = world();
    begin("quiet");
    begin("anchored", { anchor });
    begin("later");
    begin("later", { anchor });
    begin("talks");
    clock.pass(limits.silenceMs / 2);
    expect(proposed).toEqual([]);
    presence.seen("talks");
    clock.pass(limits.silenceMs / 2 + limits.anchorPollMs);
    expect(proposed).toMatchObject([{ type: "session_lost", session: "quiet" }]);
    clock.pass(limits.silenceMs);
    expect(proposed.slice(1)).toMatchObject([{ type: "session_lost", session: "talks" }]);
  });

  test("a session whose process outlives it is lost when it had no turn for long, and only then", () => {
    const { clock, core, presence, proposed, life, begin } = world();
    for (const id of ["rests", "works", "delegates"]) begin(id, { anchor, client: "outlived" });
    begin("gone", { client: "outlived" });
    begin("other", { anchor, client: "known" });
    presence.turn("works", null, true);
    presence.seen("delegates", "helper");
    presence.turn("delegates", "helper", true);
    clock.pass(limits.silenceMs + limits.anchorPollMs);
    expect(proposed).toMatchObject([{ type: "session_lost", session: "gone" }]);
    clock.pass(idleEndMs - limits.silenceMs);
    expect(proposed.slice(1)).toMatchObject([{ type: "session_lost", session: "rests", isIdle: true }]);
    clock.pass(2 * idleEndMs);
    expect(proposed.slice(2)).toEqual([]);
    presence.turn("works", null, false);
    clock.pass(limits.anchorPollMs);
    expect(proposed.slice(2)).toMatchObject([{ session: "works", isIdle: true }]);
    for (const command of proposed) core.step(command);
    expect([...core.state.sessions.live.values()].filter(s => s.lostAt !== null).map(s => s.id)).toEqual([
      "rests",
      "works",
      "gone",
    ]);
    life.close();
  });

  test("a session that ended is not lost, and a check does not go over those with a process", () => {
    const { clock, core, proposed, life, begin } = world();
    begin("ended");
    begin("anchored", { anchor });
    core.step({ type: "session_end", session: "ended", incarnation: null, cause: "ended" });
    life.follow("ended");
    const all = vi.spyOn(core.state.sessions.live, "values");
    clock.pass(2 * limits.silenceMs);
    expect(proposed).toEqual([]);
    expect(all).not.toHaveBeenCalled();
  });

  test("while nobody is connected checks come less often, and the next connection makes one at once", () => {
    let connections = 1;
    const { clock, checks, life } = world({ isConnected: () => connections > 0 });
    const checksWithin = (ms: number) => {
      const before = checks.length;
      clock.pass(ms);
      return checks.length - before;
    };
    expect(checksWithin(60_000)).toBe(60_000 / limits.anchorPollMs);
    connections = 0;
    expect(checksWithin(limits.restAfterMs)).toBe(limits.restAfterMs / limits.anchorPollMs);
    expect(checksWithin(12 * limits.restPollMs)).toBe(12);
    // A hook's connection, between two checks.
    clock.pass(limits.restPollMs / 2);
    const before = checks.length;
    life.connected();
    expect(checks.slice(before)).toEqual([clock.now()]);
    life.connected();
    expect(checks.length).toBe(before + 1);
    expect(checksWithin(limits.restAfterMs)).toBe(limits.restAfterMs / limits.anchorPollMs);
    expect(checksWithin(limits.restPollMs)).toBe(1);
  });

  test("hooks that connect between two checks keep the daemon awake", () => {
    const { clock, checks, life } = world({ isConnected: () => false });
    for (let n = 0; n < 60; n += 1) {
      clock.pass(limits.anchorPollMs / 2);
      life.connected();
      clock.pass(limits.anchorPollMs / 2);
    }
    expect(checks).toHaveLength(60);
  });

  test("a process that ended during a rest is found before the first request of the next connection", async () => {
    let table: "unknown" | "absent" = "unknown";
    const { clock, proposed, life, begin } = world({
      isConnected: () => false,
      rows: async pids => pids.map(() => table),
    });
    begin("s1", { anchor });
    clock.pass(limits.restAfterMs + limits.restPollMs / 2);
    await turn();
    table = "absent";
    life.connected();
    // What the socket brings is handled in a later turn of the event loop.
    await turn();
    expect(proposed).toMatchObject([{ type: "session_end", session: "s1", cause: "anchor_gone" }]);
  });

  test("a closed check stays closed", () => {
    const { clock, checks, life } = world({ isConnected: () => false });
    clock.pass(limits.restAfterMs + limits.restPollMs);
    const before = checks.length;
    life.close();
    life.connected();
    clock.pass(limits.restPollMs);
    expect(checks).toHaveLength(before);
  });
});

// A check of thousands of silent sessions goes over several turns of the event loop.
describe("a check of thousands of sessions", () => {
  /** The checks of a daemon with `n` sessions without a process, whose next check the test lets happen. */
  function world(n: number) {
    const crowd = new Crowd({ step: work => work() });
    for (const i of upTo(n)) crowd.before(begin(`s${i}`));
    let tick = () => {};
    const at = (_at: number, callback: () => void) => {
      tick = callback;
      return () => {};
    };
    const clock = { now: () => crowd.now, wall: () => crowd.now, at };
    const lost: string[] = [];
    const submit = (command: Command, { answer }: { answer: () => void }) => {
      if (command.type !== "session_lost") throw new Error(command.type);
      lost.push(command.session);
      crowd.before(command);
      answer();
    };
    const presence = new PresenceTable(clock);
    const services = { engine: { state: crowd.state, submit }, clock, presence, node: "n" };
    const nothing = () => {};
    const life = new Life({
      services: services as unknown as Services,
      anchors: new AnchorWatch({ table: { rows: async () => null } as never }),
      idleExitMs: 0,
      stillOurs: () => true,
      verifyJournal: nothing,
      onAlive: nothing,
      isConnected: () => true,
      forget: nothing,
      stopped: nothing,
      idleEndMs: () => null,
      stop: nothing,
    });
    const silent = () => {
      crowd.now += limits.silenceMs;
    };
    return { crowd, lost, life, silent, tick: () => tick() };
  }

  it("finds silent sessions a part a turn, each once", async () => {
    const n = 3 * limits.lostPerTurn;
    const { lost, silent, tick, life } = world(n);
    tick();
    expect(lost).toEqual([]);
    silent();
    tick();
    expect(lost).toHaveLength(limits.lostPerTurn);
    // A check that comes meanwhile begins no other one.
    tick();
    expect(lost).toHaveLength(limits.lostPerTurn);
    await turn();
    expect(lost).toHaveLength(2 * limits.lostPerTurn);
    while (lost.length < n) await turn();
    await turn();
    tick();
    expect(new Set(lost).size).toBe(n);
    expect(lost).toHaveLength(n);
    life.close();
  });

  it("looks at nobody after it is closed", async () => {
    const { lost, silent, tick, life } = world(2 * limits.lostPerTurn);
    silent();
    tick();
    life.close();
    await turn();
    expect(lost).toHaveLength(limits.lostPerTurn);
  });
});

// What a start makes of agents that were at work before it, by what their clients show.
describe("agents that were at work before a start", () => {
  const child: Actor = { session: "a", agent: "child", incarnation: 0 };
  const { yieldMs } = limits;
  const turn = { kind: "turn", waitMs: limits.turnLeaseMs } as const;

  class Restart {
    readonly clock = new SimulatedClock(1_000_000);
    readonly core = new World();
    readonly presence = new PresenceTable(this.clock);
    looks = 0;
    status: ClientStatus["status"] | null = null;
    transcriptBytes: number | null = null;

    constructor() {
      this.core.begin("a", { anchor: { pid: 7, startTime: "7" } });
      this.core.begin("b");
      this.presence.of("a");
    }

    edit(who: string | Actor, file: string, flight: string): void {
      this.core.lock(who, file, { ...turn, flight, ancestors: actor(who).agent === null ? [] : [null] });
    }

    /** The daemon starts anew; b then wants the file. */
    async start(file = "x"): Promise<void> {
      await this.pass(1);
      this.core.start();
      const { core, clock, presence } = this;
      const engine = {
        get state() {
          return core.state;
        },
        submitWithRetry: (command: Command) => void core.do(command),
      };
      const lifeSigns = async (_: LifeQuestion): Promise<LifeSigns> => {
        this.looks += 1;
        const status = this.status === null ? null : { status: this.status, on: "" };
        const sizeBytes = this.transcriptBytes;
        const transcript = sizeBytes === null ? null : { sizeBytes, changedAt: 0, end: "model" as const };
        return { transcript, status, childMs: "none", isUnreadable: false };
      };
      const fail = (error: unknown) => {
        throw error;
      };
      new UnseenWatch(
        { engine, clock, presence, facts: { lifeSigns } },
        { turnOver: () => {}, onTrouble: fail },
      ).begin();
      await this.pass(1);
      this.edit("b", file, "b1");
    }

    /** An event of the agent that says that no person is asked any more. */
    event(agent: string | null): void {
      this.presence.seen("a", agent);
      const pulse = this.presence.pulse("a", agent);
      if (pulse !== undefined) pulse.signAt = this.clock.now();
      this.presence.of("a").dialogs.delete(agent);
    }

    async pass(ms: number): Promise<void> {
      const until = this.clock.now() + ms;
      while (this.clock.now() < until) {
        const step = Math.min(1_000, until - this.clock.now());
        this.clock.pass(step);
        this.core.pass(step);
        for (let n = 0; n < 10; n += 1) await Promise.resolve();
      }
    }
  }

  describe("the main agent's write from before a start", () => {
    async function restarted(status: ClientStatus["status"] | null): Promise<Restart> {
      const w = new Restart();
      w.edit("a", "x", "use1");
      w.status = status;
      await w.start();
      return w;
    }

    it.each([null, "busy"] as const)("yields after a while where its client says %s", async status => {
      const w = await restarted(status);
      await w.pass(yieldMs - 1_000);
      expect(w.core.holder("x")).toBe("a");
      await w.pass(2_000);
      expect(w.core.holder("x")).toBe("b");
    });

    it("is over at once where its client is idle", async () => {
      const w = await restarted("idle");
      await w.pass(1_000);
      expect(w.core.state.locks.holds.get("n:/p/x")?.flights).toEqual([]);
    });

    it("stays while its client waits for a person, and has its time from then on", async () => {
      const w = await restarted("waiting");
      await w.pass(10 * yieldMs);
      expect(w.core.holder("x")).toBe("a");
      w.status = "busy";
      await w.pass(yieldMs);
      expect(w.core.holder("x")).toBe("a");
      await w.pass(limits.unseenLookMs + 1_000);
      expect(w.core.holder("x")).toBe("b");
    });

    it("is over when its client goes from the dialog to rest", async () => {
      const w = await restarted("waiting");
      await w.pass(2 * yieldMs);
      w.status = "idle";
      await w.pass(limits.unseenLookMs + 1_000);
      expect(w.core.holder("x")).toBe("b");
    });

    it("is looked at no more once it is over", async () => {
      const w = await restarted("busy");
      await w.pass(2 * yieldMs);
      const { looks } = w;
      await w.pass(4 * yieldMs);
      expect(w.looks).toBe(looks);
    });
  });

  describe("a write about which a person was asked before a start", () => {
    async function asked(anchored = true): Promise<Restart> {
      const w = new Restart();
      if (!anchored) {
        w.core.do({ type: "session_end", session: "a", incarnation: null, cause: "ended" });
        w.core.begin("a");
      }
      w.edit("a", "x", "use1");
      w.core.do({ type: "lease_renew", actor: actor("a") });
      await w.start();
      return w;
    }

    it("stays while the process lives, without a file of its client too, and is shown", async () => {
      const w = await asked();
      await w.pass(10 * yieldMs);
      expect(w.core.holder("x")).toBe("a");
      expect(w.presence.of("a").dialogs.has(null)).toBe(true);
    });

    it("is shown beside the one of another agent of its session", async () => {
      const w = new Restart();
      w.edit("a", "x", "use1");
      w.edit(child, "y", "use2");
      for (const by of [actor("a"), child]) w.core.do({ type: "lease_renew", actor: by });
      await w.start();
      w.event(null);
      expect([...w.presence.of("a").dialogs.entries()]).toEqual([
        ["child", { text: "permission", at: expect.any(Number) }],
      ]);
    });

    it("has its time once its agent went on", async () => {
      const w = await asked();
      await w.pass(2 * yieldMs);
      w.event(null);
      await w.pass(yieldMs);
      expect(w.core.holder("x")).toBe("a");
      await w.pass(limits.unseenLookMs + 1_000);
      expect(w.core.holder("x")).toBe("b");
    });

    it("is over where its client is idle", async () => {
      const w = new Restart();
      w.edit("a", "x", "use1");
      w.core.do({ type: "lease_renew", actor: actor("a") });
      w.status = "idle";
      await w.start();
      await w.pass(1_000);
      expect(w.core.state.locks.holds.get("n:/p/x")?.flights).toEqual([]);
    });

    it("yields where no process is known that could live", async () => {
      const w = await asked(false);
      await w.pass(yieldMs + 1_000);
      expect(w.core.holder("x")).toBe("b");
    });
  });

  describe("the write of an agent within a session", () => {
    async function restarted(change: (w: Restart) => void = () => {}): Promise<Restart> {
      const w = new Restart();
      w.edit(child, "y", "use1");
      w.presence.seen("a", "child");
      change(w);
      await w.start("y");
      return w;
    }

    it("is not over because the main agent is idle, but after a while", async () => {
      const w = await restarted(one => {
        one.status = "idle";
      });
      await w.pass(yieldMs - 1_000);
      expect(w.core.holder("y")).toBe("a/child");
      await w.pass(2_000);
      expect(w.core.holder("y")).toBe("b");
      expect(w.presence.pulse("a", "child")?.active).toBe(false);
    });

    it("yields while its process waits, where nothing shows that the agent lives", async () => {
      const w = await restarted(one => {
        one.status = "waiting";
        one.transcriptBytes = 100;
      });
      await w.pass(yieldMs + 1_000);
      expect(w.core.holder("y")).toBe("b");
    });

    it.each([
      [
        "its transcript grows",
        (w: Restart) => {
          w.transcriptBytes = 200;
        },
      ],
      ["an event of its came", (w: Restart) => w.event("child")],
    ])("stays while its process waits, where %s", async (_, shows) => {
      const w = await restarted(one => {
        one.status = "waiting";
        one.transcriptBytes = 100;
      });
      shows(w);
      await w.pass(4 * yieldMs);
      expect(w.core.holder("y")).toBe("a/child");
      expect(w.presence.pulse("a", "child")?.active).toBe(true);
    });

    it("stays while a person is asked about it, and not the main agent's beside it", async () => {
      const w = await restarted(one => {
        one.core.do({ type: "lease_renew", actor: child });
        one.edit("a", "x", "use2");
        one.core.begin("c");
      });
      w.edit("c", "x", "c1");
      await w.pass(4 * yieldMs);
      expect([w.core.holder("y"), w.core.holder("x")]).toEqual(["a/child", "c"]);
    });
  });

  describe("a turn from before a start", () => {
    it("is over where its client is idle, unless an event came since", async () => {
      const w = new Restart();
      w.presence.turn("a", null, true);
      w.status = "idle";
      await w.start();
      expect(w.presence.of("a").active).toBe(false);
    });

    it("is none that an event of this start began", async () => {
      const w = new Restart();
      w.presence.turn("a", null, true);
      w.status = "busy";
      await w.start();
      w.event(null);
      w.status = "idle";
      await w.pass(limits.unseenLookMs);
      expect(w.presence.of("a").active).toBe(true);
    });
  });
});
