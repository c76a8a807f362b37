import { describe, expect, it } from "vitest";
import { type HealthFacts, type HealthLimits, judge } from "../../daemon/core/lead/health.ts";
import { Random } from "../simulation/random.ts";

const limits: HealthLimits = { quietMs: 300, quietToolMs: 1800, stalledMs: 720, lookMs: 60 };

const atWork: HealthFacts = {
  client: "runs",
  stoppedAt: null,
  isInTurn: true,
  since: 1000,
  failedAt: null,
  waits: null,
  signAt: 1000,
  tool: "none",
  isResting: false,
  quietAt: null,
};

const at = (ms: number, facts: Partial<HealthFacts> = {}) =>
  judge({ ...atWork, ...facts }, limits, 1000 + ms);

describe("an agent in a turn", () => {
  it("works while signs come, and is judged again when the limit is over", () => {
    expect(at(299)).toMatchObject({ state: "working", since: 1000, isAlarm: false, lookAt: 1300 });
    expect(at(5000, { signAt: 5900 })).toMatchObject({ state: "working", since: 1000, lookAt: 6200 });
  });

  it("is quiet after the limit, since its last sign, and no alarm", () => {
    expect(at(300)).toMatchObject({ state: "quiet", since: 1000, isAlarm: false, lookAt: 1360 });
  });

  it("is stalled when it was found quiet for long, not when time only passed", () => {
    expect(at(100_000)).toMatchObject({ state: "quiet", isAlarm: false });
    expect(at(1019, { quietAt: 1300 })).toMatchObject({ state: "quiet", lookAt: 2020 });
    expect(at(1020, { quietAt: 1300 })).toMatchObject({ state: "stalled", since: 1000, isAlarm: true });
  });

  it("has longer while a tool is called, and is never stalled while one runs or nobody can tell", () => {
    expect(at(1799, { tool: "called" })).toMatchObject({ state: "working", lookAt: 2800 });
    expect(at(1800, { tool: "called" })).toMatchObject({ state: "quiet" });
    expect(at(9000, { tool: "called", quietAt: 2800 })).toMatchObject({ state: "stalled" });
    for (const tool of ["runs", "unknown"] as const)
      expect(at(1e9, { tool, quietAt: 2800 })).toMatchObject({ state: "quiet", isAlarm: false });
  });

  it.each([
    ["person", "permission for Bash"],
    ["lock", "/p/a.ts"],
    ["service", "the client tries again"],
  ] as const)("waits on a %s for days without an alarm", (on, why) => {
    const waits = { on, why, since: 1100 };
    expect(at(1e9, { waits, quietAt: 1300 })).toMatchObject({
      state: "waiting",
      on,
      why,
      since: 1100,
      isAlarm: false,
    });
  });

  it("rests if its client shows that no turn runs", () => {
    expect(at(1e9, { isResting: true, quietAt: 1300 })).toMatchObject({ state: "idle", isAlarm: false });
  });
});

describe("a process", () => {
  it("that a signal stopped is shown as that at once, and is an alarm when a turn waits for it for long", () => {
    expect(at(10, { stoppedAt: 1005 })).toMatchObject({
      state: "stopped",
      since: 1005,
      why: "SIGSTOP",
      lookAt: 1725,
    });
    expect(at(725, { stoppedAt: 1005 })).toMatchObject({ state: "stopped", isAlarm: true, lookAt: null });
    expect(at(1e9, { stoppedAt: 1005, isInTurn: false })).toMatchObject({ state: "stopped", isAlarm: false });
  });

  it("that is gone is dead, whatever else is known", () => {
    const waits = { on: "person", why: "", since: 0 } as const;
    expect(at(1, { client: "gone", stoppedAt: 1, waits, failedAt: 1 })).toMatchObject({
      state: "dead",
      isAlarm: false,
    });
  });
});

describe("an agent at rest", () => {
  it("is idle for ever", () => {
    expect(at(1e12, { isInTurn: false })).toMatchObject({
      state: "idle",
      since: 1000,
      isAlarm: false,
      lookAt: null,
    });
  });

  it("whose turn failed is stalled if nothing came for a while", () => {
    const failed = { isInTurn: false, failedAt: 2000 };
    expect(at(1299, failed)).toMatchObject({ state: "idle", lookAt: 2300 });
    expect(at(1300, failed)).toMatchObject({
      state: "stalled",
      since: 2000,
      isAlarm: true,
      why: "its turn ended by an error",
    });
  });
});

/** Facts of an agent with which all is well, for as long as anybody likes. */
function healthy(random: Random): Partial<HealthFacts> {
  const long = random.int(0, 1_000_000);
  return random.pick<Partial<HealthFacts>>([
    { isInTurn: false, signAt: 1000 - long },
    { waits: { on: random.pick(["person", "lock", "service"]), why: "", since: 1000 }, signAt: 1000 - long },
    { tool: random.pick(["runs", "unknown"]), signAt: 1000 - long },
    { isResting: true, signAt: 1000 - long },
    // It thinks below the limit.
    { signAt: 1000 - random.int(0, limits.quietMs - 1) },
    { tool: "called", signAt: 1000 - random.int(0, limits.quietToolMs - 1) },
  ]);
}

describe("over random facts", () => {
  const random = new Random(20_26);
  it("nothing healthy is an alarm, silence is never death, and an alarm was quiet for long or failed", () => {
    for (let n = 0; n < 20_000; n += 1) {
      const quietAt = random.chance(0.5) ? null : 1000 - random.int(0, 5000);
      expect(judge({ ...atWork, ...healthy(random), quietAt }, limits, 1000).isAlarm).toBe(false);

      const any: HealthFacts = {
        ...atWork,
        client: random.pick(["runs", "unknown"]),
        stoppedAt: random.chance(0.2) ? 1000 - random.int(0, 2000) : null,
        isInTurn: random.chance(0.7),
        failedAt: random.chance(0.3) ? 1000 - random.int(0, 2000) : null,
        signAt: 1000 - random.int(0, 5000),
        tool: random.pick(["none", "called", "runs", "unknown"]),
        quietAt,
      };
      const found = judge(any, limits, 1000);
      expect(found.state).not.toBe("dead");
      if (found.state === "stalled" && any.isInTurn) {
        expect(any.quietAt).not.toBeNull();
        expect(1000 - (any.quietAt ?? 1000)).toBeGreaterThanOrEqual(limits.stalledMs);
        expect(1000 - any.signAt).toBeGreaterThanOrEqual(limits.quietMs);
      }
      if (found.lookAt !== null) expect(found.lookAt).toBeGreaterThan(1000);
    }
  });
});
