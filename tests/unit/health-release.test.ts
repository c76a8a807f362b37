/** What follows from an alarm: who is told, and whether what the agent has is given back. */
import { describe, expect, it } from "vitest";
import type { Health } from "../../daemon/core/lead/health.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { Pending } from "../../daemon/hooks/notices.ts";
import { type HealthEvents, HealthNotes, healthListener } from "../../daemon/lead/health-watch.ts";
import type { HealthSetting } from "../../daemon/lead/settings.ts";
import type { Services } from "../../daemon/options.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { oneLog } from "../one-log.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { claimOf, TaskWorld } from "./task-world.ts";

const min = 60_000;

/** An agent with a task, whose alarms are the test's. */
class Alarms {
  readonly core = new TaskWorld();
  readonly clock = new SimulatedClock(1_000_000);
  readonly events: Parameters<HealthEvents["tell"]>[0][] = [];
  readonly troubles: unknown[] = [];
  readonly #listener;

  constructor(stalled: HealthSetting["stalled"]) {
    const { core, clock, events, troubles } = this;
    core.begin("ann");
    core.create("it");
    core.do(claimOf("ann", core.id("it")));
    const engine = {
      ...oneLog({ state: core.state, now: clock.now() }),
      submitWithRetry: (command: Command) => void core.do(command),
    };
    // The listener uses these services alone.
    const services = { engine, clock, presence: new PresenceTable(clock), recorder: { note: () => {} } };
    this.#listener = healthListener(services as unknown as Services, {
      notes: new HealthNotes(new Pending()),
      events: { tell: event => void events.push(event) },
      setting: () => ({ stalled }),
      wake: () => {},
      onTrouble: (_message, error) => void troubles.push(error),
    });
  }

  alarm(state: Health["state"], session = "ann"): void {
    const since = this.clock.now() - 18 * min;
    const health = { state, since, on: null, why: "", isAlarm: true, lookAt: null };
    this.#listener.alarm({ session, agent: null }, health);
  }

  get status(): string {
    return this.core.task("it").state.status;
  }
}

describe("what an agent has", () => {
  it.each([
    ["stalled", "release", "pending"],
    ["stopped", "release", "active"],
    ["stalled", "tell", "active"],
    ["stopped", "tell", "active"],
  ] as const)(
    "after an alarm that it is %s, with stalled: %s, leaves its task %s",
    (state, stalled, left) => {
      const w = new Alarms(stalled);
      w.alarm(state);
      expect([w.status, w.troubles]).toEqual([left, []]);
      expect(w.events).toMatchObject([{ event: "agent_stalled", state, tasks: ["t-0-1"] }]);
    },
  );

  it("is given back once it stalls after it was stopped and ran on", () => {
    const w = new Alarms("release");
    w.alarm("stopped");
    expect(w.status).toBe("active");
    w.alarm("stalled");
    expect(w.status).toBe("pending");
  });
});

it.each([
  ["stopped", ["kite explain bob", "kite release bob"]],
  ["stalled", ["kite explain bob", "kite release bob", "kite agents replace bob"]],
] as const)("a spawned agent that is %s: what can be done", (state, todo) => {
  const w = new Alarms("tell");
  const how = { backend: "background", client: "claude-code", base: "main", reportsEnd: true } as const;
  const what = { project: "/p", name: "bob", role: null, task: null, prompt: null, model: null };
  const bounds = { replaces: null, liveMax: 8, depthMax: 1, wallMs: 2 };
  w.core.do({ type: "spawn_create", by: null, ...what, ...how, ...bounds });
  const [spawn = ""] = w.core.state.spawns.all.keys();
  w.core.begin("bob", { spawn });
  w.alarm(state, "bob");
  // One that a signal stopped may go on any moment: nobody takes its place.
  expect(w.events).toMatchObject([{ event: "agent_stalled", state, todo }]);
});
