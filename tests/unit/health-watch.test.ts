/** The watch of agents' health, and what follows from an alarm. */
import { describe, expect, it } from "vitest";
import type { Health } from "../../daemon/core/lead/health.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { LifeSigns } from "../../daemon/facts/processes.ts";
import { Pending } from "../../daemon/hooks/notices.ts";
import { type HealthEvents, HealthNotes, healthListener } from "../../daemon/lead/health-watch.ts";
import type { HealthSetting } from "../../daemon/lead/settings.ts";
import type { Services } from "../../daemon/options.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import type { TranscriptEnd } from "../../hooks/seam/plan.ts";
import { oneLog } from "../one-log.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { lockOf } from "./core-world.ts";
import { HealthWorld, min, quietLook } from "./health-world.ts";
import { claimOf, TaskWorld } from "./task-world.ts";

const hour = 60 * min;

/** A transcript of this size that ends so, changed at that time. */
function transcript(end: TranscriptEnd, sizeBytes = 10, changedAt = 0): LifeSigns {
  return { ...quietLook, transcript: { end, sizeBytes, changedAt } };
}

function working(setting = {}): HealthWorld {
  const w = new HealthWorld(setting);
  w.begin("a");
  w.event("a", null, true);
  return w;
}

describe("what raises nothing", () => {
  it("an idle agent, for ever; nothing of it is read", async () => {
    const w = working();
    w.event("a", null, false);
    await w.pass(24 * hour);
    expect([w.told, w.looked, w.row("a")]).toEqual([[], [], "idle 1440"]);
  });

  it("an agent that gives signs; nothing of it is read", async () => {
    const w = working();
    for (let n = 0; n < 20; n += 1) {
      await w.pass(4 * min);
      w.event("a", null);
    }
    expect([w.told, w.looked, w.row("a")]).toEqual([[], [], "working 80"]);
  });

  it("one that thinks below the limit, or whose model is slow and its transcript grows", async () => {
    const w = working();
    await w.pass(4 * min);
    expect(w.told).toEqual([]);
    w.found = () => transcript("model", w.clock.now(), w.clock.now());
    await w.pass(3 * hour);
    expect([w.told, w.row("a")]).toEqual([[], "working 184"]);
  });

  it("a long build: its tool is called and has a process of this turn", async () => {
    const w = working();
    w.found = () => ({ ...transcript("tool"), childMs: w.clock.now() - 1_010_000 });
    await w.pass(29 * min);
    expect([w.told, w.row("a")]).toEqual([[], "working 29"]);
    await w.pass(5 * hour);
    expect(w.told).toEqual(["quiet a"]);
  });

  it("a look between the end of a long build and the event that tells of it", async () => {
    const w = working();
    w.found = () => ({ ...transcript("tool"), childMs: w.clock.now() - 1_010_000 });
    await w.pass(5 * hour);
    w.found = () => transcript("tool");
    await w.pass(2 * min);
    expect(w.told).toEqual(["quiet a"]);
    // If no event comes, it is stalled in the end.
    await w.pass(hour);
    expect(w.told).toEqual(["quiet a", "alarm stalled a"]);
  });

  it("a dialog that is open for hours, known by an event or by the client's file", async () => {
    const w = working();
    w.presence.of("a").dialogs.set(null, { text: "permission for Bash", at: w.clock.now() });
    await w.pass(9 * hour);
    expect([w.told, w.looked, w.row("a")]).toEqual([[], [], "waiting on person 540"]);

    const other = working();
    other.found = () => ({ ...transcript("tool"), status: { status: "waiting", on: "dialog open" } });
    await other.pass(9 * hour);
    expect(other.told).toEqual([]);
    expect(other.row("a")).toMatch(/^waiting on person/);
  });

  it("a wait for a lock", async () => {
    const w = working();
    w.begin("b");
    w.core.do(lockOf("b", "x.ts", 0));
    w.core.do(lockOf("a", "x.ts", 0, { waitMs: 10 * hour }));
    await w.pass(2 * hour);
    expect([w.told, w.looked, w.row("a")]).toEqual([[], [], "waiting on lock 120"]);
  });

  it("a lost network: the client tries again and writes so", async () => {
    const w = working();
    w.found = () => transcript("service", w.clock.now(), w.clock.now() - 40_000);
    await w.pass(2 * hour);
    expect(w.told).toEqual([]);
    expect(w.row("a")).toMatch(/^waiting on service/);
  });

  it("a turn that a person interrupted, which no event tells", async () => {
    const w = working();
    w.found = () => transcript("interrupted");
    await w.pass(9 * hour);
    expect([w.told, w.row("a")]).toEqual([[], "idle 540"]);
    const other = working();
    other.found = () => ({ ...transcript("model"), status: { status: "idle", on: "" } });
    await other.pass(9 * hour);
    expect([other.told, other.row("a")]).toEqual([[], "idle 540"]);
  });

  it("an agent whose helper works, and one whose process cannot be seen", async () => {
    const w = working();
    w.event("a", "helper", true);
    for (const helper of w.presence.of("a").agents.values()) helper.descends = true;
    w.found = asked => (asked.agent === null ? quietLook : transcript("model", w.clock.now(), w.clock.now()));
    await w.pass(3 * hour);
    expect([w.told, w.row("a"), w.row("a", "helper")]).toEqual([[], "working 180", "working 180"]);

    const far = new HealthWorld();
    far.begin("a", false);
    far.event("a", null, true);
    far.found = () => ({ ...transcript("model"), childMs: "unknown" });
    await far.pass(9 * hour);
    expect(far.told).toEqual(["quiet a"]);
  });

  /** A session whose main agent waits for a helper, which it began in this turn. */
  function helped(): HealthWorld {
    const w = working();
    w.event("a", "helper", true);
    for (const helper of w.presence.of("a").agents.values()) helper.descends = true;
    return w;
  }

  it("one whose helper asks a person, for hours", async () => {
    const w = helped();
    w.presence.of("a").dialogs.set("helper", { text: "permission for Bash", at: w.clock.now() });
    await w.pass(9 * hour);
    expect([w.told, w.row("a", "helper")]).toEqual([["quiet a"], "waiting on person 540"]);
  });

  it("one whose helper runs a long build", async () => {
    const w = helped();
    w.found = asked =>
      asked.agent === null
        ? transcript("tool")
        : { ...transcript("tool"), childMs: w.clock.now() - 1_010_000 };
    await w.pass(9 * hour);
    expect(w.told).toEqual(["quiet a", "quiet a/helper"]);
  });

  it("one that builds for long itself, while its helper is stalled", async () => {
    const w = helped();
    w.found = asked =>
      asked.agent === null ? { ...transcript("tool"), childMs: w.clock.now() - 1_010_000 } : quietLook;
    await w.pass(9 * hour);
    expect(w.told).toEqual(["quiet a/helper", "alarm stalled a/helper", "quiet a"]);
  });

  it("one whose helper's helper asks a person", async () => {
    const w = helped();
    w.event("a", "nested", true);
    const nested = w.presence.of("a").agents.get("nested");
    if (nested !== undefined) Object.assign(nested, { descends: true, parent: "helper" });
    w.presence.of("a").dialogs.set("nested", { text: "permission for Bash", at: w.clock.now() });
    await w.pass(9 * hour);
    expect(w.told).not.toContainEqual(expect.stringMatching(/alarm/));
  });

  it("one whose files do not answer, as on a disk that hangs", async () => {
    const w = working();
    w.found = () => ({ ...quietLook, isUnreadable: true });
    await w.pass(9 * hour);
    expect(w.told).toEqual(["quiet a"]);
  });

  it("a build over which the machine slept: its process got older than the turn", async () => {
    const w = working();
    const began = w.clock.now();
    w.found = () => ({ ...transcript("tool"), childMs: w.clock.now() - began - 10_000 + w.clock.sleptMs });
    await w.pass(2 * min);
    w.clock.sleep(2 * hour);
    await w.pass(5 * hour);
    expect(w.told).toEqual(["quiet a"]);
  });

  it("a machine or a daemon that stood still: the time that passed meanwhile is nobody's silence", async () => {
    for (const before of [1, 6, 16])
      for (const standsStill of [true, false]) {
        const w = working();
        await w.pass(before * min);
        if (standsStill) w.clock.freeze(3 * hour);
        else w.clock.sleep(3 * hour);
        await w.pass(11 * min);
        expect(
          w.told.filter(said => said !== "quiet a"),
          `${before} ${standsStill}`,
        ).toEqual([]);
        await w.pass(10 * min);
        expect(w.told.at(-1), `${before} ${standsStill}`).toBe("alarm stalled a");
      }
  });

  it("a wall clock that a person sets, back and forth", async () => {
    const w = working();
    for (const jumpMs of [-5 * hour, 9 * hour, -1]) {
      w.clock.sleep(jumpMs);
      await w.pass(4 * min);
      w.event("a", null);
    }
    expect(w.told).toEqual([]);
    await w.pass(20 * min);
    expect(w.told).toEqual(["quiet a", "alarm stalled a"]);
  });

  it("a session that ended", async () => {
    const w = working();
    w.watch.forget("a");
    await w.pass(9 * hour);
    expect([w.told, w.looked]).toEqual([[], []]);
  });
});

describe("what is shown as what it is", () => {
  it("a main agent whose helper has ended: its own silence counts from then on", async () => {
    for (const end of ["ends its turn", "fails", "is gone"]) {
      const w = working();
      w.event("a", "helper", true);
      for (const helper of w.presence.of("a").agents.values()) helper.descends = true;
      await w.pass(4 * min);
      w.event("a", "helper", true);
      // The look finds that a helper works, and sets the next one for long after.
      await w.pass(2 * min);
      if (end === "is gone") w.presence.of("a").agents.delete("helper");
      w.event("a", "helper", end === "is gone" ? undefined : false, end === "fails");
      await w.pass(4 * min);
      expect([w.told, w.row("a")], end).toEqual([[], "working 10"]);
      await w.pass(14 * min);
      const own = w.told.filter(said => !said.includes("helper"));
      expect(own, end).toEqual(["quiet a", "alarm stalled a"]);
    }
  });

  it("an answer that never comes: quiet after 5 minutes, stalled 12 later, told once and taken back once", async () => {
    const w = working();
    await w.pass(5 * min + 10_000);
    expect([w.told, w.row("a")]).toEqual([["quiet a"], "quiet 5"]);
    await w.pass(11 * min);
    expect([w.told, w.row("a")]).toEqual([["quiet a"], "quiet 16"]);
    await w.pass(1 * hour);
    expect([w.told, w.row("a")]).toEqual([["quiet a", "alarm stalled a"], "stalled 76"]);
    w.event("a", null);
    expect([w.told, w.row("a")]).toEqual([["quiet a", "alarm stalled a", "back a"], "working 76"]);
    await w.pass(4 * min);
    expect(w.told).toHaveLength(3);
    await w.pass(1 * hour);
    expect(w.told.slice(3)).toEqual(["quiet a", "alarm stalled a"]);
  });

  it("growth of the transcript takes an alarm back, too", async () => {
    const w = working();
    await w.pass(20 * min);
    w.found = () => transcript("model", 11, w.clock.now());
    await w.pass(2 * min);
    expect(w.told).toEqual(["quiet a", "alarm stalled a", "back a"]);
    expect(w.row("a")).toBe("working 22");
  });

  it("a turn that failed and nothing after: the client's word that it is idle changes nothing", async () => {
    const w = working();
    w.event("a", null, false, true);
    await w.pass(4 * min);
    expect([w.told, w.row("a")]).toEqual([[], "idle 4"]);
    await w.pass(2 * min);
    w.event("a", null);
    expect([w.told, w.looked, w.row("a")]).toEqual([["alarm stalled a"], [], "stalled 6"]);
    w.event("a", null, true);
    expect([w.told, w.row("a")]).toEqual([["alarm stalled a", "back a"], "working 0"]);
  });

  it("a process that a signal stopped, at once; an alarm after long, and back when it runs on", async () => {
    const w = working();
    await w.pass(1 * min);
    w.watch.stopped("a", true);
    await w.pass(3 * min);
    expect([w.told, w.looked, w.row("a")]).toEqual([[], [], "stopped 3"]);
    await w.pass(10 * min);
    expect([w.told, w.looked, w.row("a")]).toEqual([["alarm stopped a"], [], "stopped 13"]);
    w.watch.stopped("a", false);
    expect([w.told, w.row("a")]).toEqual([["alarm stopped a", "back a"], "working 14"]);
    await w.pass(4 * min);
    expect(w.told).toHaveLength(2);
  });

  it("an agent within a session, by its own signs", async () => {
    const w = working();
    w.event("a", null, false);
    w.event("a", "alice", true);
    await w.pass(20 * min);
    expect([w.told, w.row("a"), w.row("a", "alice")]).toEqual([
      ["quiet a/alice", "alarm stalled a/alice"],
      "idle 20",
      "stalled 20",
    ]);
  });
});

it("a look costs nothing for those that are well: only the quiet ones are read, each minute", async () => {
  const w = working();
  for (let n = 0; n < 50; n += 1) {
    w.begin(`busy ${n}`);
    w.event(`busy ${n}`, null, true);
  }
  for (let minute = 0; minute < 15; minute += 1) {
    for (let n = 0; n < 50; n += 1) w.event(`busy ${n}`, null);
    await w.pass(min);
  }
  expect(new Set(w.looked)).toEqual(new Set(["a"]));
  expect(w.looked.length).toBeLessThanOrEqual(11);
});

// What follows from an alarm: who is told, and whether what the agent has is given back.
describe("what follows from an alarm", () => {
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
});
