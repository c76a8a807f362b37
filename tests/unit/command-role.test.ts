/** `kite role`, and the commands of tasks that only a person runs: what they ask, print and exit with. */
import { describe, expect, it } from "vitest";
import { giveRole, listRoles } from "../../bin/lead/roles.ts";
import { roleRows, rolesView } from "../../bin/lead/view/features.ts";
import { add, approve, claim, edit } from "../../bin/tasks/change.ts";
import { watchedLines } from "../../bin/view/status.ts";
import { type Gates, gatePresets, gatesUnset } from "../../protocol/lead/roles.ts";
import { fakeDaemon, fakeWorld } from "./command-world.ts";
import { screen, session, task } from "./view-rows.ts";

const project = "/home/ana/code/shop";
const person = { isAgent: async () => false };
const agent = { isAgent: async () => true };

const drop = task("t-1-1a", "Drop the table", {
  project,
  risk: "critical",
  held: "it waits for a person's yes",
});

const inForce = (gates: Gates) => ({ ok: true, rows: [{ project, ...gates }] });

describe("kite role", () => {
  const given = { ok: true, id: "s", agent: null, name: "ann\u001b[31m", role: "tester", by: "person" };

  it("gives the named agent a role, and says what that may not do", async () => {
    const daemon = fakeDaemon({ role_set: given, "query gates": inForce(gatesUnset) });
    const world = fakeWorld({ daemon });
    expect(await giveRole(world, "ann", "Tester", { project }, person)).toBe(0);
    expect(daemon.asked[0]).toEqual({ type: "role_set", name: "ann", project, role: "tester" });
    expect(world.out().split("\n").slice(0, -1)).toEqual([
      expect.stringMatching(/^ann.* is tester \(given by a person\)$/),
      "enforced: edits of tests only; no git writes but add and commit in its own worktree; no new tasks; takes green, yellow",
      expect.stringMatching(/^To take it back: kite role .*ann.* --clear$/),
    ]);
    expect(world.out()).not.toContain("\u001b");
  });

  it("says what is advice: what Kite does not see, and all that a gate which was set leaves to the agent", async () => {
    const said = async (gates: Gates, by: "person" | "declared") => {
      const role_set = { ...given, name: "ann", role: "researcher", by };
      const world = fakeWorld({ daemon: fakeDaemon({ role_set, "query gates": inForce(gates) }) });
      expect(await giveRole(world, "ann", "researcher", { project }, person)).toBe(0);
      return world.out().split("\n").slice(1, -1).join(" ");
    };
    expect(await said(gatesUnset, "person")).toBe(
      "enforced: no edits; no git writes; no new tasks; takes green advice: no tests or builds (seen only in lines with git) To take it back: kite role ann --clear",
    );
    const advice = "enforced: takes green advice: no edits; no git writes; no new tasks; no tests or builds";
    expect(await said(gatesUnset, "declared")).toBe(advice);
    expect(await said(gatePresets.off, "person")).toBe(
      `${advice} The gate role is set to off (kite config). Roles that are given are enforced once it is set to enforce, or to nothing. To take it back: kite role ann --clear`,
    );
    expect(await said({ ...gatePresets.off, role: "warn" }, "person")).toContain(
      "enforced: takes green warned: no edits; no git writes; no new tasks advice: no tests",
    );
  });

  it("takes it back with --clear", async () => {
    const role_set = { ...given, role: "implementer", by: "default" };
    const daemon = fakeDaemon({ role_set, "query gates": inForce(gatesUnset) });
    const world = fakeWorld({ daemon });
    expect(await giveRole(world, "ann", undefined, { project, clear: true, json: true }, person)).toBe(0);
    expect(daemon.asked[0]).toEqual({ type: "role_set", name: "ann", project, role: null });
    expect(JSON.parse(world.out())).toMatchObject({ by: "default", gate: "off" });
  });

  it("refuses an agent, and what is no role", async () => {
    const world = fakeWorld({ daemon: fakeDaemon() });
    expect(await giveRole(world, "ann", "tester", { project }, agent)).toBe(1);
    expect(await giveRole(world, "ann", "tesster", { project }, person)).toBe(1);
    expect(await giveRole(world, "ann", undefined, { project }, person)).toBe(1);
    expect(await giveRole(world, "ann", "tester", { project, clear: true }, person)).toBe(1);
    expect(world.err().split("\n").slice(0, 4)).toEqual([
      "kite: only a person gives roles; ask your user to run in a terminal of their own: cd /home/ana/code/shop && kite",
      "kite: tesster is no role; did you mean tester?",
      "kite: give one of implementer, researcher, tester, reviewer, architect, lead, or --clear",
      "kite: --clear takes a role back, so tester says nothing; use one of them",
    ]);
  });

  it("lists each agent with its role, and who gave it", async () => {
    const child = {
      agent: "a1",
      name: "ann/Explore",
      status: "active" as const,
      locks: 0,
      waitingFor: null,
      waitingForPath: null,
      role: { role: "researcher", by: "declared" } as const,
    };
    const rows = [
      session("ann", { agents: [child] }),
      session("bob", { role: { role: "tester", by: "person" } }),
    ];
    const daemon = fakeDaemon({ "query sessions": { ok: true, rows }, "query gates": inForce(gatesUnset) });
    const world = fakeWorld({ daemon });
    expect(await listRoles(world, { project, json: true })).toBe(0);
    expect(
      JSON.parse(world.out()).roles.map((row: { name: string; role: string; by: string; gate: string }) => [
        row.name,
        row.role,
        row.by,
        row.gate,
      ]),
    ).toEqual([
      ["ann", "implementer", "default", "off"],
      ["ann/Explore", "researcher", "declared", "off"],
      ["bob", "tester", "person", "enforce"],
    ]);
    const lines = rolesView(roleRows(rows, gatesUnset), screen(120));
    expect(lines[1]).toMatch(/ann\/Explore +researcher +declared +advice$/);
    expect(lines).toContain(
      "  researcher: no edits; no git writes; no new tasks; no tests or builds; takes green",
    );
    expect(lines.filter(line => line.startsWith("  tester: "))).toHaveLength(1);
  });
});

describe("kite task", () => {
  const env = { KITE_SESSION: "s1" };

  it("adds a task with its risk, and says why nobody can claim it", async () => {
    const daemon = fakeDaemon({ task_create: { ok: true, task: drop } });
    const world = fakeWorld({ daemon, env });
    expect(await add(world, "Drop the table", { label: [], needs: [], risk: "critical", project })).toBe(0);
    expect(daemon.asked).toMatchObject([{ id: "s1", risk: "critical" }]);
    expect(world.out()).toContain(
      "task 46 is ready, critical: Drop the table; not claimable now: it waits for a person's yes\n",
    );
  });

  it("edit sends what the flags name, and asks for one at least", async () => {
    const daemon = fakeDaemon({ task_update: { ok: true, task: { ...drop, risk: "red", held: null } } });
    const world = fakeWorld({ daemon, env });
    expect(await edit(world, "1a", { label: ["db"], needs: [], risk: "red", project })).toBe(0);
    expect(daemon.asked).toEqual([
      { type: "task_update", id: "s1", task: "1a", project, labels: ["db"], risk: "red" },
    ]);
    expect(await edit(world, "1a", { label: [], needs: [] })).toBe(1);
    expect(world.err()).toContain("nothing to change");
  });

  it("approve is a person's: no session goes with it, and an agent is refused", async () => {
    const daemon = fakeDaemon({
      task_approve: { ok: true, task: { ...drop, approved: true, held: null } },
      "query sessions": { ok: true, rows: [] },
    });
    const world = fakeWorld({ daemon });
    expect(await approve(world, "1a", { project }, person)).toBe(0);
    expect(daemon.asked[0]).toEqual({ type: "task_approve", task: "1a", project });
    expect(world.out()).toContain("task 46 is ready, critical and approved: Drop the table\n");
    const before = daemon.asked.length;
    expect(await approve(world, "1a", { json: true }, agent)).toBe(1);
    expect(daemon.asked).toHaveLength(before);
    expect(world.out()).toContain('"code":"person_only"');
  });

  it("claim of a person takes what the default role does not", async () => {
    const refusal = { ok: false, code: "role_limit", error: "beyond", task: "t-1-1a" };
    let claims = 0;
    const daemon = fakeDaemon({
      register: { ok: true, id: "x", name: "x", project },
      task_claim: () => {
        claims += 1;
        return claims === 1
          ? refusal
          : { ok: true, task: { ...drop, status: "active", approved: true, held: null } };
      },
      task_get: { ok: true, task: drop },
      task_approve: { ok: true, task: drop },
      role_set: { ok: true, id: "x", agent: null, name: "x", role: "architect", by: "person" },
      whoami: { ok: false, code: "unknown_session", error: "none" },
      "query sessions": { ok: true, rows: [] },
    });
    expect(await claim(fakeWorld({ daemon }), "1a", { label: [], project })).toBe(0);
    const asked = daemon.asked.map(({ type }) => type).filter(type => type !== "query");
    expect(asked).toEqual([
      "whoami",
      "register",
      "task_claim",
      "role_set",
      "task_get",
      "task_approve",
      "task_claim",
    ]);
  });
});

describe("red and critical tasks in kite status", () => {
  it("show who works on them, who leads, or what they wait for", () => {
    const lead = session("lea", { project, role: { role: "lead", by: "person" } });
    const says = session("bob", { project, declared: { role: "lead", task: "" } });
    const active = {
      ...drop,
      id: "t-1-2",
      number: 2,
      status: "active",
      risk: "red",
      assigneeName: "ann",
      held: null,
    } as const;
    const lines = watchedLines([active, drop], [lead, says], screen(120));
    expect(lines[0]).toMatch(/2 +red +runs 0s +Drop the table +ann; lead: lea$/);
    expect(lines[1]).toMatch(/46 +critical +ready +Drop the table +it waits for a person's yes/);
    expect(watchedLines([active], [], screen(120))[0]).toContain("ann; no lead is alive; it goes on");
  });
});
