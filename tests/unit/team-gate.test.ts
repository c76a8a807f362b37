/** Who has a task of a list that sessions share: as long as its worker lives, and its call was let through and heard. */
import { describe, expect, test } from "vitest";
import { teamFiles } from "../../hooks/claude-code/teams.ts";
import { limits } from "../../protocol/limits.ts";
import { Random } from "../simulation/random.ts";
import { GateWorld } from "./gate-world.ts";

const lead = "11111111-1111-4111-8111-111111111111";
const team = teamFiles.teamOf(lead);

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

/** A call that took the task, as the rules of it say once more. */
interface Took {
  readonly session: string;
  readonly agent: string | null;
  readonly at: number;
}

/** Sessions of one list over random days: they begin and end, their subagents stop, calls pass and their answers are lost. */
async function wrongIn(random: Random): Promise<string | null> {
  const w = new GateWorld();
  const live: string[] = [];
  const working = new Set<string>();
  const open: { readonly took: Took | null; readonly settle: (heard: boolean) => void }[] = [];
  let taken: Took[] = [];
  let [status, count] = ["pending", 0];
  w.task("shop");
  const worker = (): Took | null => {
    const last = taken.at(-1);
    if (last === undefined || !live.includes(last.session)) return null;
    if (last.agent !== null && !working.has(last.session)) return null;
    return status === "in_progress" || w.clock.now() - last.at < limits.teamClaimMs ? last : null;
  };
  for (let n = 0; n < 120; n += 1) {
    const roll = random.int(1, 100);
    const session = live.length === 0 ? null : random.pick(live);
    if (session === null || (roll <= 8 && live.length < 4)) {
      count += 1;
      live.push(`s${count}`);
      w.begin(`s${count}`, count);
    } else if (roll <= 14) {
      live.splice(live.indexOf(session), 1);
      w.end(session);
    } else if (roll <= 26) {
      const isActive = random.chance(0.6);
      w.presence.seen(session, isActive ? "sub" : null);
      w.presence.turn(session, "sub", isActive, false);
      if (isActive) working.add(session);
      else working.delete(session);
    } else if (roll <= 36) {
      status = random.pick(["pending", "in_progress", "in_progress", "completed"]);
      w.task("shop", { status });
    } else if (roll <= 44) w.clock.pass(random.int(0, limits.teamClaimMs));
    else if (roll <= 64 && open.length > 0) {
      const [answer] = open.splice(random.int(0, open.length - 1), 1);
      const heard = random.chance(0.5);
      const took = answer?.took ?? null;
      const at = took === null ? -1 : taken.indexOf(took);
      if (at !== -1) taken = heard ? taken.slice(at) : taken.toSpliced(at, 1);
      answer?.settle(heard);
    } else {
      const agent = random.chance(0.3) ? "sub" : null;
      const to = random.pick(["in_progress", "in_progress", "in_progress", "completed", "pending"] as const);
      const other = status === "completed" ? null : worker();
      const should = to !== "in_progress" || other === null || other.session === session;
      const { passes, delivery } = await w.asks(session, agent, null, to);
      if (passes !== should)
        return `step ${n}: ${session} ${passes ? "gets" : "does not get"} what ${other?.session ?? "nobody"} has`;
      if (!passes) continue;
      const took = to === "in_progress" ? { session, agent, at: w.clock.now() } : null;
      taken = took === null ? [] : [...taken, took];
      open.push({ took, settle: delivery.settle });
    }
  }
  return null;
}

test("over random days a task has the worker that took it last, was heard, and lives", async () => {
  for (let seed = 1; seed <= 60; seed += 1)
    expect(await wrongIn(new Random(seed)), `seed ${seed}`).toBeNull();
});
