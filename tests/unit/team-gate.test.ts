/** Who has a task of a list that sessions share: as long as its worker lives, and its call was let through and heard. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { nodeProber } from "../../daemon/facts/prober.ts";
import type { Run } from "../../daemon/hooks/action.ts";
import { Delivery } from "../../daemon/hooks/delivery.ts";
import { gateTeam } from "../../daemon/hooks/team-gate.ts";
import { PresenceTable } from "../../daemon/sessions/presence.ts";
import { Teams } from "../../daemon/teams/teams.ts";
import { teamFiles } from "../../hooks/claude-code/team-files.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { World } from "./core-world.ts";

const lead = "11111111-1111-4111-8111-111111111111";
const team = teamFiles.teamOf(lead);

/** The gate over files of a client; sessions that have a process share the list `shop`. */
class GateWorld {
  readonly home = temporaryFolder("kite-gate-");
  readonly core = new World();
  readonly clock = new SimulatedClock(1_000_000);
  readonly presence = new PresenceTable(this.clock);
  readonly teams: Teams;

  constructor() {
    const env = (name: string) => (name === "CLAUDE_CODE_TASK_LIST_ID" ? "shop" : null);
    const words = () => ({ args: ["claude"], env });
    this.teams = new Teams({ outside: new BudgetedFs(nodeProber), client: teamFiles, words });
  }

  write(path: string, value: object): void {
    const file = join(this.home, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, JSON.stringify(value));
  }

  task(list: string, more: object = {}): void {
    const task = { id: "1", subject: "it", status: "pending", blockedBy: [], ...more };
    this.write(`tasks/${list}/1.json`, task);
  }

  begin(session: string, pid: number | null): void {
    this.core.begin(session, pid === null ? {} : { anchor: { pid, startTime: "1" } });
    this.teams.saw(session, this.home);
  }

  end(session: string): void {
    this.core.do({ type: "session_end", session, incarnation: null, cause: "anchor_gone" });
  }

  /** Asks whether the agent may begin the task. Returns whether it may, and the answer's delivery. */
  async asks(
    session: string,
    agent: string | null = null,
    name: string | null = null,
  ): Promise<{ readonly passes: boolean; readonly delivery: Delivery }> {
    const { core, clock, presence, teams } = this;
    const delivery = new Delivery();
    const engine = { state: core.state, now: clock.now() };
    const rules = { at: async () => ({ teams: "enforce" }) };
    const services = { engine, clock, presence, teams, rules, recorder: { note: () => {} } };
    // The gate uses these services alone.
    const run = { services, delivery, plan: { event: "PreToolUse", tool: "TaskUpdate" } } as unknown as Run;
    const change = {
      task: "1",
      status: "in_progress",
      owner: name,
      addBlockedBy: [],
      addBlocks: [],
    } as const;
    const who = { session, ...(agent === null ? {} : { agent }), name, ancestors: [null], parentFile: null };
    const said = await gateTeam(run, { do: "gate_team", ...who, call: { what: "task_update", ...change } });
    return { passes: "verdict" in said && said.verdict === "allow", delivery };
  }
}

describe("a task that another session began", () => {
  function shared(): GateWorld {
    const w = new GateWorld();
    w.begin("one", 11);
    w.begin("two", 12);
    w.task("shop");
    return w;
  }

  test("is that session's while it lives, and free when it has ended", async () => {
    for (const status of ["pending", "in_progress"]) {
      const w = shared();
      expect((await w.asks("one")).passes).toBe(true);
      w.task("shop", { status });
      expect((await w.asks("two")).passes).toBe(false);
      w.end("one");
      expect((await w.asks("two")).passes).toBe(true);
    }
  });

  test("is free again if the answer that let the call through was lost, as the call did not run", async () => {
    const w = shared();
    const { delivery } = await w.asks("one");
    delivery.settle(false);
    expect((await w.asks("two")).passes).toBe(true);
  });

  test("stays that session's once the answer was heard, also if a later answer to it is lost", async () => {
    const w = shared();
    (await w.asks("one")).delivery.settle(true);
    (await w.asks("one")).delivery.settle(false);
    expect((await w.asks("two")).passes).toBe(false);
  });

  test("is the second one's if it asked after the first one's answer was lost, whatever comes late", async () => {
    const w = shared();
    const first = await w.asks("one");
    w.end("one");
    expect((await w.asks("two")).passes).toBe(true);
    first.delivery.settle(false);
    w.begin("three", 13);
    expect((await w.asks("three")).passes).toBe(false);
  });
});

describe("a task that a teammate began", () => {
  const [alice, bob] = ["aalice-1", "abob-1"];

  /** A team within one process, of which the client's file lists both for good. */
  function inProcess(): GateWorld {
    const w = new GateWorld();
    w.begin(lead, null);
    for (const [agent, name] of [
      [alice, "alice"],
      [bob, "bob"],
    ] as const) {
      w.core.do({ type: "agent_begin", session: lead, agent, name });
      w.core.do({ type: "teammate_named", session: lead, agent, name, team });
    }
    const member = (name: string) => ({ agentId: `${name}@${team}`, name, backendType: "in-process" });
    const members = ["team-lead", "alice", "bob"].map(member);
    w.write(`teams/${team}/config.json`, { name: team, leadSessionId: lead, members });
    w.task(team);
    return w;
  }

  test.each([
    ["before its file says so", {}],
    ["with its name in the file", { status: "in_progress", owner: "alice" }],
  ])("is that teammate's while it lives, %s", async (_when, more) => {
    const w = inProcess();
    expect((await w.asks(lead, alice, "alice")).passes).toBe(true);
    w.task(team, more);
    expect((await w.asks(lead, bob, "bob")).passes).toBe(false);
    // Each of its turns ends with a stop: that is no end.
    w.presence.turn(lead, alice, false, false);
    expect((await w.asks(lead, bob, "bob")).passes).toBe(false);
    const actor = { session: lead, agent: alice, incarnation: 0 };
    w.core.do({ type: "agent_end", actor, stopped: true });
    expect((await w.asks(lead, bob, "bob")).passes).toBe(true);
  });
});
