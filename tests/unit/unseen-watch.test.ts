/** What a start makes of agents that were at work before it, by what their clients show. */

import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { LifeQuestion, LifeSigns } from "../../daemon/facts/processes.ts";
import { UnseenWatch } from "../../daemon/sessions/liveness.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import type { ClientStatus } from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { actor, World } from "./core-world.ts";

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
