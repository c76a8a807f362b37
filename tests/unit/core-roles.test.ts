/** Roles that agents have, and the tasks that they may claim by its risk. */
import { beforeEach, describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { roleNamed } from "../../daemon/core/lead/declarations.ts";
import { giveRole, leadsOf, roleOf } from "../../daemon/core/lead/roles.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { riskOf } from "../../daemon/core/tasks/replies.ts";
import type { Role } from "../../protocol/lead/roles.ts";
import { rights, roles } from "../../protocol/lead/roles.ts";
import type { Risk } from "../../protocol/names.ts";
import { risks } from "../../protocol/names.ts";
import { actor } from "./core-world.ts";
import { claimOf, createOf, project, releaseOf, TaskWorld, updateOf } from "./task-world.ts";

class RoleWorld extends TaskWorld {
  declare(who: string | Actor, role: string) {
    const none = { ancestors: [], anew: false, files: [], uncertainties: [], wallMs: 0 };
    return this.do({ type: "declare", actor: actor(who), role, ...none });
  }

  give(name: string, role: Role | null, by: Actor | null = null) {
    return this.do(roleSet(name, role, by));
  }

  role(session: string, agent: string | null = null) {
    const { role, by } = roleOf(this.state, { session, agent });
    return `${role} by ${by}`;
  }

  rate(who: string | null, description: string, risk: Risk) {
    return this.do(updateOf(who, this.id(description), { risk }));
  }

  approve(description: string, by: Actor | null = null) {
    return this.do({ type: "task_approve", by, task: this.id(description), wallMs: 0 });
  }

  /** What an agent is to be told next. */
  told(session: string) {
    return (this.state.notes.pending.get(session)?.notes ?? []).map(({ note }) => note);
  }

  /** Of that, what it hears of risks. */
  toldOfRisks(session: string) {
    return this.told(session).filter(({ what }) => what === "risk");
  }
}

function roleSet(name: string, role: Role | null, by: Actor | null = null): Command {
  return { type: "role_set", by, name, role, project };
}

let w: RoleWorld;

beforeEach(() => {
  w = new RoleWorld();
  for (const name of ["ann", "bob", "lea"]) w.begin(name);
});

describe("the table", () => {
  /** As people wrote it down: the tasks that each role takes. */
  const takes: { readonly [R in Role]: readonly Risk[] } = {
    implementer: ["green", "yellow", "red"],
    researcher: ["green"],
    tester: ["green", "yellow"],
    reviewer: ["green"],
    architect: ["green", "yellow", "red", "critical"],
    lead: ["green", "yellow", "red"],
  };

  for (const role of roles) {
    for (const risk of risks) {
      const may = takes[role].includes(risk);
      it(`${may ? "lets" : "keeps"} ${role} ${may ? "take" : "from"} ${risk}, named or not`, () => {
        w.give("lea", "lead");
        w.give("ann", role);
        w.create({ description: "it", risk });
        if (risk === "critical") w.approve("it");
        const any = w.do(claimOf("ann"));
        if (!may) {
          expect(any).toMatchObject({ code: "no_ready_task", beyond: 1 });
          const named = w.do(claimOf("ann", w.id("it")));
          expect(named).toMatchObject({ code: "role_limit", risk, role });
          expect(w.do(updateOf("ann", w.id("it"), { status: "active" }))).toMatchObject({
            code: "role_limit",
          });
          return;
        }
        expect(any).toMatchObject({ ok: true, task: { risk, status: "active" } });
      });
    }
  }

  it("says who may write, run, use git and create", () => {
    const cells = roles.map(role => {
      const { writes, runs, git, creates } = rights[role];
      return [role, writes, runs, git, creates];
    });
    expect(cells).toEqual([
      ["implementer", "all", true, "all", true],
      ["researcher", "none", false, "none", false],
      ["tester", "tests", true, "own", false],
      ["reviewer", "none", false, "none", true],
      ["architect", "all", true, "all", true],
      ["lead", "all", true, "all", true],
    ]);
  });
});

describe("a role", () => {
  it("is named by its word or another one for it; several words, or none, name no role", () => {
    const named = [
      "Researcher",
      "code-reviewer",
      "QA",
      "developer",
      "Architect",
      "lead developer",
      "explore",
    ];
    expect(named.map(roleNamed)).toEqual([
      "researcher",
      "reviewer",
      "tester",
      "implementer",
      "architect",
      "implementer",
      "researcher",
    ]);
    expect(["", "lead", "wizard", "researcher and tester"].map(roleNamed)).toEqual([null, null, null, null]);
  });

  it("is the default one, then the declared one, then the one that a person gave, at once", () => {
    expect(w.role("ann")).toBe("implementer by default");
    w.declare("ann", "wizard");
    expect(w.role("ann")).toBe("implementer by default");
    w.declare("ann", "qa");
    expect(w.role("ann")).toBe("tester by declared");
    expect(w.give("ann", "researcher")).toMatchObject({
      ok: true,
      name: "ann",
      role: "researcher",
      by: "person",
    });
    w.declare("ann", "architect");
    expect(w.role("ann")).toBe("researcher by person");
    expect(w.told("ann")).toEqual([{ what: "role", role: "researcher", by: "person" }]);
    expect(w.give("ann", null)).toMatchObject({ ok: true, role: "architect", by: "declared" });
  });

  it("is told alone, without the one before it that the agent has not heard of", () => {
    w.give("ann", "reviewer");
    w.give("bob", "reviewer");
    w.give("ann", "tester");
    expect(w.told("ann")).toEqual([{ what: "role", role: "tester", by: "person" }]);
    expect(w.told("bob")).toEqual([{ what: "role", role: "reviewer", by: "person" }]);
  });

  it("is told beside the one before it under earlier rules, as their journals have it", () => {
    w.state.rules = 2;
    w.give("ann", "reviewer");
    w.give("ann", "tester");
    expect(w.told("ann")).toMatchObject([{ role: "reviewer" }, { role: "tester" }]);
  });

  it("is kept over a restart, and ends with its session", () => {
    w.give("ann", "tester");
    expect(roleOf(readState(writeState(w.state)), { session: "ann", agent: null }).role).toBe("tester");
    w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
    w.begin("ann");
    expect(w.role("ann")).toBe("implementer by default");
  });

  it("holds for the other agents of the session, as far as they were given none", () => {
    w.do({ type: "agent_begin", session: "ann", agent: "sub", name: "sub" });
    w.give("ann", "researcher");
    w.declare({ session: "ann", agent: "sub", incarnation: 0 }, "implementer");
    expect(w.role("ann", "sub")).toBe("researcher by person");
    w.give("ann/sub", "tester");
    expect(w.role("ann", "sub")).toBe("tester by person");
    w.give("ann", null);
    w.declare("ann", "reviewer");
    w.give("ann/sub", null);
    expect(w.role("ann", "sub")).toBe("implementer by declared");
  });

  it("is given by no agent, and to nobody who is not there", () => {
    expect(w.give("bob", "architect", actor("ann"))).toMatchObject({ code: "person_only" });
    expect(w.give("zoe", "architect")).toMatchObject({ code: "recipient_gone" });
  });

  it("that began with an agent stands against its own word, not against a person's", () => {
    const whose = { session: "ann", agent: null };
    expect(giveRole(w.state, whose, "tester", "spawn")).toBe(true);
    w.declare("ann", "architect");
    expect(w.role("ann")).toBe("tester by spawn");
    w.give("ann", "reviewer");
    expect(giveRole(w.state, whose, "tester", "spawn")).toBe(false);
    expect(w.role("ann")).toBe("reviewer by person");
    expect(giveRole(w.state, { session: "ann", agent: "nobody" }, "tester", "spawn")).toBe(false);
    expect(giveRole(w.state, { session: "zoe", agent: null }, "tester", "spawn")).toBe(false);
  });
});

describe("a claim", () => {
  it("without a name takes the best that the role may take", () => {
    w.give("ann", "researcher");
    w.create(
      { description: "danger", risk: "red", priority: "high" },
      { description: "care", risk: "yellow", priority: "high", labels: ["web"] },
      { description: "plain", priority: "low", labels: ["web"] },
    );
    expect(w.do(claimOf("ann", null, ["web"]))).toMatchObject({ task: { description: "plain" } });
    expect(w.do(claimOf("ann"))).toMatchObject({
      code: "no_ready_task",
      beyond: 2,
      error:
        "no task of /p is ready; 0 blocked and 1 active in all; 2 more are ready, beyond the role researcher (kite task ready lists them)",
    });
    expect(w.do(claimOf("bob"))).toMatchObject({ task: { description: "care" } });
  });

  it("beyond the role names the roles and the agents that could take it", () => {
    w.declare("ann", "tester");
    w.give("bob", "architect");
    w.create({ description: "it", risk: "critical" });
    expect(w.do(claimOf("ann", w.id("it")))).toMatchObject({
      code: "role_limit",
      roles: ["architect"],
      agents: ["bob"],
      error:
        "t-0-1 is critical, and your role tester takes tasks that are green, yellow; roles that take it: architect; leave it to bob (kite message send), or claim without a name to get one that you may take",
    });
  });

  it("goes on when the role of its claimer changes", () => {
    w.create({ description: "it", risk: "yellow" });
    w.do(claimOf("ann"));
    w.give("ann", "researcher");
    expect(w.do(claimOf("ann", w.id("it")))).toMatchObject({ ok: true });
    expect(w.do(updateOf("ann", w.id("it"), { status: "done" }))).toMatchObject({ ok: true });
  });
});

describe("a red task", () => {
  it("needs a lead, who is told, or a person's yes", () => {
    w.create({ description: "it", risk: "red" });
    const refused = w.do(claimOf("ann", w.id("it")));
    expect(refused).toMatchObject({ code: "risk_held", risk: "red", running: null });
    expect(w.do(claimOf("ann"))).toMatchObject({
      code: "no_ready_task",
      error:
        "no task of /p is ready; 0 blocked and 0 active in all; t-0-1 is red: no other lead is alive; have your user name one (kite role NAME lead), or ask your user: kite task approve t-0-1",
    });
    w.give("lea", "lead");
    expect(w.do(claimOf("lea", w.id("it")))).toMatchObject({ code: "risk_held" });
    expect(w.do(claimOf("ann"))).toMatchObject({ task: { risk: "red", approved: false } });
    expect(w.toldOfRisks("lea")).toEqual([
      { what: "risk", task: "t-0-1", text: "it", risk: "red", other: "ann" },
    ]);
  });

  it("that becomes so as an agent claims it from a person is told of once, as the agent's", () => {
    w.give("lea", "lead");
    w.create("it");
    w.do(updateOf(null, w.id("it"), { status: "active" }));
    const told = [{ what: "risk", task: "t-0-1", text: "it", risk: "red", other: "ann" }];
    expect(w.do(updateOf("ann", w.id("it"), { status: "active", risk: "red" }))).toMatchObject({ ok: true });
    expect(w.toldOfRisks("lea")).toEqual(told);
  });

  it("runs with a person's yes, which is for one run", () => {
    w.create({ description: "it", risk: "red" });
    expect(w.approve("it")).toMatchObject({ ok: true, task: { approved: true, held: null } });
    expect(w.approve("it")).toMatchObject({ ok: true });
    expect(w.do(claimOf("ann"))).toMatchObject({ task: { approved: true } });
    w.do(releaseOf("ann", w.id("it")));
    expect(w.do(claimOf("ann"))).toMatchObject({ code: "no_ready_task" });
  });

  it("never runs beside another one of its project, whoever asks", () => {
    w.give("lea", "lead");
    w.create({ description: "one", risk: "red" }, { description: "two", risk: "red" });
    w.create({ description: "three", risk: "critical" }, "plain");
    w.approve("three");
    w.do(claimOf("ann", w.id("one")));
    const running = { code: "risk_held", running: w.id("one") };
    expect(w.do(claimOf("bob", w.id("two")))).toMatchObject(running);
    expect(w.do(updateOf(null, w.id("three"), { status: "active" }))).toMatchObject(running);
    expect(w.do(claimOf("bob"))).toMatchObject({ task: { description: "plain" } });
    w.do(updateOf("ann", w.id("one"), { status: "done" }));
    expect(w.do(claimOf("bob"))).toMatchObject({ task: { description: "two" } });
  });

  it("goes on when its lead ends", () => {
    w.give("lea", "lead");
    w.create({ description: "it", risk: "red" });
    w.do(claimOf("ann"));
    w.do({ type: "session_end", session: "lea", incarnation: null, cause: "ended" });
    expect(w.board["it"]).toBe("active");
    expect(w.do(updateOf("ann", w.id("it"), { status: "done" }))).toMatchObject({ ok: true });
  });
});

describe("a critical task", () => {
  it("needs a person's yes to what it says, even with a lead", () => {
    w.give("lea", "lead");
    w.give("ann", "architect");
    w.create({ description: "it", risk: "critical" });
    expect(w.do(claimOf("ann", w.id("it")))).toMatchObject({
      code: "risk_held",
      error: "t-0-1 is critical: it waits for a person's yes; ask your user: kite task approve t-0-1",
    });
    expect(w.approve("it", actor("ann"))).toMatchObject({ code: "person_only" });
    w.approve("it");
    w.do(updateOf("bob", w.id("it"), { priority: "high" }));
    expect(w.task("it").approved).toBe(true);
    w.do(updateOf("bob", w.id("it"), { description: "that" }));
    expect(w.task("that").approved).toBeUndefined();
    w.approve("that");
    expect(w.do(claimOf("ann"))).toMatchObject({ task: { risk: "critical" } });
    expect(w.toldOfRisks("lea")).toHaveLength(1);
  });

  it("is not finished unclaimed by an agent that could not run it", () => {
    w.create("a", "c");
    w.rate("ann", "a", "critical");
    const finish = (by: string | null) => w.do(updateOf(by, w.id("a"), { status: "done" }));
    expect(finish("ann")).toMatchObject({ code: "role_limit" });
    w.declare("lea", "architect");
    expect(finish("lea")).toMatchObject({
      code: "risk_held",
      error: expect.stringContaining("person's yes"),
    });
    w.approve("a");
    expect(finish("lea")).toMatchObject({ ok: true });
    w.rate("ann", "c", "critical");
    expect(w.do(updateOf(null, w.id("c"), { status: "done" }))).toMatchObject({ ok: true });
  });

  it("begun by a person has the yes, and an architect may take it on", () => {
    w.create({ description: "it", risk: "critical" });
    expect(w.do(updateOf(null, w.id("it"), { status: "active" }))).toMatchObject({
      task: { approved: true },
    });
    expect(w.do(claimOf("bob", w.id("it")))).toMatchObject({ code: "role_limit" });
    w.give("ann", "architect");
    expect(w.do(claimOf("ann", w.id("it")))).toMatchObject({ task: { assigneeName: "ann", approved: true } });
  });

  it("is approved only while it is to run, and only if it is red or critical", () => {
    w.create("plain", { description: "it", risk: "critical" });
    expect(w.approve("plain")).toMatchObject({ code: "task_state" });
    w.do(updateOf(null, w.id("it"), { status: "failed" }));
    expect(w.approve("it")).toMatchObject({ code: "task_state" });
    expect(w.do({ type: "task_approve", by: null, task: "t-9", wallMs: 0 })).toMatchObject({
      code: "unknown_task",
    });
  });
});

describe("the risk of a task", () => {
  it("is raised by any agent, and lowered by another agent that leads, or a person", () => {
    w.give("lea", "lead");
    w.create("it");
    expect(w.rate("ann", "it", "red")).toMatchObject({ task: { risk: "red" } });
    expect(w.rate("ann", "it", "yellow")).toMatchObject({
      code: "role_limit",
      error:
        "t-0-1 is red, and only another agent that leads, or a person, lowers that; ask the lead (lea), or ask your user: kite task edit t-0-1 --risk yellow",
    });
    expect(w.rate("lea", "it", "yellow")).toMatchObject({ ok: true });
    expect(w.rate(null, "it", "green")).toMatchObject({ task: { risk: "green" } });
    expect(w.task("it").risk).toBeUndefined();
    w.rate("ann", "it", "critical");
    expect(w.rate("lea", "it", "red")).toMatchObject({ code: "person_only" });
    expect(w.rate(null, "it", "yellow")).toMatchObject({ ok: true });
    w.do(claimOf("lea", w.id("it")));
    expect(w.rate("lea", "it", "green")).toMatchObject({ code: "role_limit" });
  });

  it("of a running task rises as far as it could run with it", () => {
    w.create("it", { description: "danger", risk: "red" });
    w.do(claimOf("ann", w.id("it")));
    expect(w.rate("ann", "it", "red")).toMatchObject({ code: "risk_held" });
    w.give("lea", "lead");
    expect(w.rate("lea", "it", "critical")).toMatchObject({ code: "role_limit", role: "implementer" });
    w.give("ann", "architect");
    expect(w.rate("lea", "it", "critical")).toMatchObject({ code: "risk_held" });
    expect(w.rate("bob", "it", "red")).toMatchObject({ ok: true });
    expect(w.toldOfRisks("lea")).toHaveLength(1);
    expect(w.do(claimOf("bob", w.id("danger")))).toMatchObject({ running: w.id("it") });
    expect(w.rate(null, "it", "critical")).toMatchObject({ task: { approved: true } });
    expect(w.rate(null, "danger", "green")).toMatchObject({ ok: true });
    w.do(claimOf("bob", w.id("danger")));
    expect(w.rate("bob", "danger", "red")).toMatchObject({ running: w.id("it") });
    expect(w.rate(null, "danger", "red")).toMatchObject({ running: w.id("it") });
  });

  it("of a task that a person runs is not raised past the person's yes", () => {
    w.create("it");
    w.do(updateOf(null, w.id("it"), { status: "active" }));
    expect(w.rate("ann", "it", "critical")).toMatchObject({ code: "risk_held" });
    const adopted = updateOf("ann", w.id("it"), { status: "active", risk: "critical" });
    expect(w.do(adopted)).toMatchObject({ code: "risk_held" });
  });

  it("raised in the same breath as the claim counts for the claim", () => {
    w.create("it");
    const both = updateOf("ann", w.id("it"), { status: "active", risk: "critical" });
    expect(w.do(both)).toMatchObject({ code: "role_limit" });
    expect(riskOf(w.task("it"))).toBe("green");
  });

  it("is kept over a restart and an import", () => {
    w.do(createOf([{ description: "it", risk: "critical" }]));
    w.approve("it");
    const [kept] = [...readState(writeState(w.state)).tasks.all.values()];
    expect([kept?.risk, kept?.approved]).toEqual(["critical", true]);
    const { approved: _, n: _n, createdBy: _by, ...task } = w.task("it");
    w.do({ type: "task_import", by: null, tasks: [{ ...task, id: "t-0-9", description: "other" }] });
    expect([w.task("other").risk, w.task("other").approved]).toEqual(["critical", undefined]);
  });
});

describe("an active task", () => {
  const ends = [{ status: "done", result: "ok" }, { status: "failed" }, { status: "pending" }] as const;
  let id: string;
  beforeEach(() => {
    [id = ""] = w.create("it");
    w.do(claimOf("ann", id));
  });

  it("is not ended by another agent, whatever it says, and neither by one that leads elsewhere", () => {
    w.begin("eve", { project: "/q" });
    w.declare("eve", "lead");
    const error = `ann works on ${id}; they end it, or their lead or a person does; ask them (kite message send)`;
    for (const who of ["bob", "eve"]) {
      for (const end of ends)
        expect(w.do(updateOf(who, id, end))).toMatchObject({ code: "task_claimed", error, assignee: "ann" });
      expect(w.do(releaseOf(who, id))).toMatchObject({ code: "task_claimed", error });
    }
    expect(w.task("it").state).toMatchObject({ status: "active" });
    // What others may say of it is no end.
    expect(w.do(updateOf("bob", id, { priority: "high" }))).toMatchObject({ ok: true });
  });

  it.each(ends)("is ended by a lead of its project: %j", end => {
    w.give("lea", "lead");
    expect(w.do(updateOf("lea", id, end))).toMatchObject({ ok: true, task: { status: end.status } });
  });

  it("is ended by another agent of the same session, by a person, and by a lead with a release", () => {
    expect(w.do(updateOf({ ...actor("ann"), agent: "a1" }, id, { status: "done" }))).toMatchObject({
      ok: true,
    });
    w.do(updateOf(null, id, { status: "pending" }));
    w.do(claimOf("ann", id));
    expect(w.do(updateOf(null, id, { status: "failed" }))).toMatchObject({ ok: true });
    w.do(updateOf(null, id, { status: "pending" }));
    w.do(claimOf("ann", id));
    w.give("lea", "lead");
    expect(w.do(releaseOf("lea", id))).toMatchObject({ ok: true, task: { status: "pending" } });
  });

  it("that a person began is ended by anybody", () => {
    w.do(releaseOf("ann", id));
    w.do(updateOf(null, id, { status: "active" }));
    expect(w.do(updateOf("bob", id, { status: "done" }))).toMatchObject({ ok: true });
  });
});

describe("a lead", () => {
  const release = (by: string, of: string): Command => {
    const begun = w.state.sessions.live.get(of)?.begun ?? -1;
    return { type: "agent_release", session: of, agent: null, begun, by: actor(by), cause: "", wallMs: 0 };
  };

  it("is made by a person's word, and by no declaration", () => {
    w.create({ description: "it", risk: "red" });
    const declared = w.declare("lea", "lead");
    expect(declared).toMatchObject({ ok: true, role: "implementer" });
    expect(JSON.stringify(declared)).toContain(
      "gives you no part in their work; that your user gives: kite role lea lead",
    );
    expect(w.do(claimOf("ann", w.id("it")))).toMatchObject({ code: "risk_held" });
    expect(w.rate("lea", "it", "green")).toMatchObject({ code: "role_limit" });
    expect(w.do(release("lea", "ann"))).toMatchObject({ code: "lead_only" });
    expect(w.give("lea", "lead", actor("lea"))).toMatchObject({ code: "person_only" });
    w.give("lea", "lead");
    expect(w.do(release("lea", "ann"))).toMatchObject({ ok: true });
    expect(w.rate("lea", "it", "green")).toMatchObject({ ok: true });
    w.rate("ann", "it", "red");
    expect(w.do(claimOf("ann", w.id("it")))).toMatchObject({ ok: true });
    w.give("lea", null);
    expect(w.do(release("lea", "ann"))).toMatchObject({ code: "lead_only" });
  });

  it("stands in for a yes to no agent of its own session", () => {
    w.create({ description: "it", risk: "red" });
    w.do({ type: "agent_begin", session: "ann", agent: "sub", name: "sub" });
    w.give("ann/sub", "lead");
    expect(w.do(claimOf("ann", w.id("it")))).toMatchObject({ code: "risk_held" });
    // Nor does it lower what its session works on.
    w.approve("it");
    w.do(claimOf("ann", w.id("it")));
    const sub: Actor = { session: "ann", agent: "sub", incarnation: 0 };
    const lower = { ...updateOf("ann", w.id("it"), { risk: "green" }), by: sub } as Command;
    expect(w.do(lower)).toMatchObject({ code: "role_limit" });
    w.give("bob", "lead");
    expect(w.rate("bob", "it", "green")).toMatchObject({ ok: true });
  });

  it("makes no leads of the agents in its session", () => {
    w.do({ type: "agent_begin", session: "lea", agent: "sub", name: "sub" });
    w.give("lea", "lead");
    expect([w.role("lea"), w.role("lea", "sub")]).toEqual(["lead by person", "implementer by default"]);
    const by: Actor = { session: "lea", agent: "sub", incarnation: 0 };
    expect(w.do({ ...release("lea", "ann"), by } as Command)).toMatchObject({ code: "lead_only" });
  });

  it("is the same after a restart, in the same order", () => {
    for (const name of ["lea", "bob"]) w.give(name, "lead");
    const restarted = readState(writeState(w.state));
    const names = [w.state, restarted].map(state => leadsOf(state, project).map(({ session }) => session));
    expect(names).toEqual([
      ["bob", "lea"],
      ["bob", "lea"],
    ]);
  });
});
