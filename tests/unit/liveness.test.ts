/** Which sessions a check of lives takes for lost: those without a process that say nothing. */
import { expect, test, vi } from "vitest";
import type { Command } from "../../daemon/core/commands.ts";
import { AnchorWatch } from "../../daemon/facts/processes.ts";
import type { Services } from "../../daemon/services.ts";
import { Life } from "../../daemon/sessions/liveness.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { limits } from "../../protocol/limits.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { World } from "./core-world.ts";

const anchor = { pid: 7, startTime: "7" };

function world() {
  const clock = new SimulatedClock(1_000_000);
  const core = new World();
  const presence = new PresenceTable(clock);
  const proposed: Command[] = [];
  const engine = {
    get state() {
      return core.state;
    },
    submit: (command: Command) => void proposed.push(command),
  };
  // A check of lives uses nothing else of the services.
  const services = { node: core.node, engine, clock, presence } as unknown as Services;
  const life = new Life({
    services,
    anchors: new AnchorWatch({ table: { ...noTable, rows: async pids => pids.map(() => "unknown") } }),
    idleExitMs: 0,
    stillOurs: () => true,
    verifyJournal: () => {},
    onAlive: () => {},
    isConnected: () => true,
    forget: () => {},
    stopped: () => {},
    stop: why => {
      throw new Error(why);
    },
  });
  const begin = (id: string, more: Parameters<World["begin"]>[1] = {}) => {
    presence.seen(id);
    core.begin(id, more);
    life.follow(id);
  };
  return { clock, core, presence, proposed, life, begin };
}

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
