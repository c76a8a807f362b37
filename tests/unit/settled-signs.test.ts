/** One more sign of work is not passed on while it changes nothing: whatever happens, what is found of agents is the same. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { HookEvent } from "../../daemon/hooks/event.ts";
import type { HookParts } from "../../daemon/hooks/parts.ts";
import { heartbeat } from "../../daemon/hooks/sessions.ts";
import type { HealthSetting } from "../../daemon/lead/settings.ts";
import { ClientTasks } from "../../daemon/sessions/client-tasks.ts";
import { HealthWorld, min, quietLook } from "./health-world.ts";

/** A world whose watch hears of signs through the action of a hook; `isTold`: of each of them. */
class SignWorld extends HealthWorld {
  signs = 0;
  readonly #isTold: boolean;
  readonly #parts: HookParts;
  readonly #setting: Partial<HealthSetting>;
  /** The user's settings: another value after each change, as of a file that is read again. */
  #values: object = {};

  constructor(isTold: boolean, setting: Partial<HealthSetting> = {}) {
    const own = { ...setting };
    super(own);
    this.#setting = own;
    this.#isTold = isTold;
    const changed = ({ session, agent }: { readonly session: string; readonly agent: string | null }) => {
      this.signs += 1;
      this.watch.sign(session, agent);
    };
    this.#parts = { points: [{ changed }], calls: { tasks: new ClientTasks() } } as unknown as HookParts;
    this.begin("alice");
    this.core.do({ type: "agent_begin", session: "alice", agent: "kid", name: null });
  }

  set(setting: Partial<HealthSetting>): void {
    Object.assign(this.#setting, setting);
    this.#values = {};
  }

  beats(agent: string | null, more: object): void {
    const { core, clock, presence } = this;
    if (this.#isTold)
      for (const own of [presence.pulse("alice", null), presence.pulse("alice", "kid")])
        if (own !== undefined) own.settledUntil = 0;
    const engine = { state: core.state, submitWithRetry: () => {} };
    const event = { engine, clock, presence, settings: this.#values } as unknown as HookEvent;
    const who = { session: "alice", ...(agent === null ? {} : { agent }) };
    heartbeat(event, { do: "heartbeat", ...who, ...more }, this.#parts);
  }
}

/** Below the time for which a sign is left out. */
const short = { quietMs: 20_000, quietToolMs: 30_000, stalledMs: 40_000 };

const beat = fc.record({
  agent: fc.constantFrom(null, "kid"),
  more: fc.constantFrom<object>(
    { active: true },
    { active: true },
    { active: true },
    { active: false },
    { active: false, failed: true },
    { active: true, attention: "may I?" },
    { active: true, attention: null },
    { attention: "may I?" },
    { active: true, ended: true, stopped: true },
    {},
  ),
});
const pass = fc.record({ ms: fc.constantFrom(1000, 20_000, min, 4 * min, 30 * min) });
const stop = fc.record({ isStopped: fc.boolean() });
const setting = fc.record({ quietMs: fc.constantFrom(5000, 20_000, 5 * min) });

test("a sign that is left out changes nothing that the watch finds, says or looks at", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(beat, beat, pass, stop, setting), { maxLength: 30 }), async steps => {
      const worlds = [new SignWorld(true, short), new SignWorld(false, short)] as const;
      const all = worlds.map(({ told, looked, row }, i) => ({ told, looked, row: row.bind(worlds[i]) }));
      for (const step of steps) {
        for (const world of worlds)
          if ("more" in step) world.beats(step.agent, step.more);
          else if ("ms" in step) await world.pass(step.ms);
          else if ("quietMs" in step) world.set(step);
          else world.watch.stopped("alice", step.isStopped);
        const [full, spared] = all.map(({ told, looked, row }) => [
          told,
          looked,
          row("alice"),
          row("alice", "kid"),
        ]);
        expect(spared).toEqual(full);
      }
    }),
    { numRuns: 300 },
  );
});

test("many signs of work within a minute are passed on once, and the next one after the end of a turn", () => {
  const world = new SignWorld(false);
  world.found = () => quietLook;
  for (let n = 0; n < 50; n += 1) {
    world.beats(null, { active: true });
    world.clock.pass(1000);
  }
  expect(world.signs).toBe(1);
  world.beats(null, { active: false });
  world.beats(null, { active: true });
  expect(world.signs).toBe(3);
});

test("a shorter limit counts from the next sign of work, and not from one a minute later", async () => {
  const world = new SignWorld(false, { quietMs: 10 * min });
  world.beats(null, { active: true });
  await world.pass(30_000);
  world.set({ quietMs: 20_000 });
  world.beats(null, { active: true });
  await world.pass(min);
  expect(world.told).toEqual(["quiet alice"]);
});
