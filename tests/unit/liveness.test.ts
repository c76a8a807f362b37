/** Which sessions a check of lives takes for lost: those without a process that say nothing. When checks come. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { ProcessTable } from "../../daemon/facts/process-table.ts";
import { AnchorWatch } from "../../daemon/facts/processes.ts";
import type { Services } from "../../daemon/options.ts";
import { Life } from "../../daemon/sessions/liveness.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { limits } from "../../protocol/limits.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { World } from "./core-world.ts";

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
