/** Roles that a person gives to agents of another machine. */
import { expect, it } from "vitest";
import { elsewhereState } from "../../bin/view/session-notes.ts";
import { roleOf } from "../../daemon/core/lead/roles.ts";
import { partsLevel } from "../../daemon/core/nodes/parts.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { Entry } from "../../daemon/core/tables/entries.ts";
import { roleCommand, takesSentRoles } from "../../daemon/lead/roles.ts";
import { elsewhereRows } from "../../daemon/sharing/elsewhere.ts";
import { toldElsewhere } from "../../daemon/sharing/events.ts";
import { SharedNames } from "../../daemon/sharing/names.ts";
import type { Role } from "../../protocol/lead/roles.ts";
import { actorOf, begin, type Machine, MemoryStoreOfAll, machine } from "./shared-world.ts";

/** Two machines whose daemons take roles as they do; bob and his agent Explore are on the desk. */
async function twoMachines() {
  const all = new MemoryStoreOfAll();
  const [laptop, desk] = await Promise.all([machine("laptop", all), machine("desk", all)]);
  for (const one of [laptop, desk]) {
    expect(await one.store.open(10_000)).toBe(true);
    const { own, shared } = takesSentRoles({ engine: one.log });
    one.listeners.own.add(own);
    one.listeners.shared.add(shared);
  }
  await begin(laptop, "alice");
  await begin(desk, "bob");
  await desk.log.submitAndWait({ type: "agent_begin", session: "bob", agent: "ex-1", name: "Explore" });
  await expect.poll(() => there(laptop, "bob@desk")?.agents.size).toBe(1);
  return { all, laptop, desk };
}

function there({ log, name: machine }: Machine, name: string) {
  const { sessions } = log.logOf(`/${machine}/app`).state;
  return [...sessions.live.values()].find(one => one.name === name);
}

async function give({ log, name: machine }: Machine, name: string, role: Role | null, by = false) {
  const who = by ? actorOf("alice") : null;
  const command = roleCommand(log, { by: who, project: `/${machine}/app`, name, role });
  return "code" in command ? command : log.submitAndWait(command);
}

function roleAt({ own }: Machine, session: string, agent: string | null = null): string {
  const { role, by } = roleOf(own.state, { session, agent });
  return `${role} by ${by}`;
}

function roleSeen(one: Machine, name: string): string {
  const { state } = one.log.logOf(`/${one.name}/app`);
  const { role, by } = roleOf(state, { session: there(one, name)?.id ?? "", agent: null });
  return `${role} by ${by}`;
}

it("are given by the agent's own machine, told to it, and then known to all", async () => {
  const { all, laptop, desk } = await twoMachines();
  const given = await give(laptop, "bob@desk", "reviewer");
  expect(given).toMatchObject({
    ok: true,
    name: "bob@desk",
    role: "reviewer",
    by: "person",
    machine: "desk",
  });
  await expect.poll(() => roleAt(desk, "bob")).toBe("reviewer by person");
  await expect.poll(() => roleSeen(laptop, "bob@desk")).toBe("reviewer by person");
  expect(desk.own.state.notes.pending.get("bob")?.notes).toMatchObject([{ note: { what: "role" } }]);
  // Nothing waits any more, on either side.
  const { state } = laptop.log.logOf("/laptop/app");
  await expect.poll(() => state.rolesSent.size).toBe(0);
  // Who looks on hears that a role waits, and that it does no more.
  const { node } = laptop.store;
  const names = new SharedNames({ node, own: () => laptop.own.state, shared: () => state });
  const [bob = ""] = state.sessions.byNode.get(desk.store.node) ?? [];
  const told = { event: "elsewhere_changed", session: bob, project: "/laptop/app" };
  const isOfRoles = ({ command }: Entry) =>
    command.type === "role_send" || (command.type === "relayed" && command.command.type === "role_taken");
  const entries = all.entries.filter(isOfRoles);
  expect(entries).toHaveLength(2);
  for (const entry of entries) {
    expect(toldElsewhere(entry, names, node, state)).toEqual([told]);
    expect(toldElsewhere(entry, names, desk.store.node, state)).toEqual([]);
  }
  await expect.poll(() => desk.own.state.outbox.rows.size).toBe(0);
  await give(laptop, "Explore", "tester");
  await expect.poll(() => roleAt(desk, "bob", "ex-1")).toBe("tester by person");
  expect(await give(laptop, "bob@desk", null)).toMatchObject({ ok: true, role: "implementer" });
  await expect.poll(() => roleAt(desk, "bob")).toBe("implementer by default");
});

it("wait for a machine that is away, and the latest one is given", async () => {
  const { all, laptop, desk } = await twoMachines();
  await desk.store.close();
  await give(laptop, "bob@desk", "tester");
  expect(await give(laptop, "bob@desk", "reviewer")).toMatchObject({ ok: true });
  const { state } = laptop.log.logOf("/laptop/app");
  expect([...state.rolesSent.values()].map(sent => [...sent])).toMatchObject([
    [[null, { role: "reviewer" }]],
  ]);
  expect(writeState(readState(writeState(state)))).toBe(writeState(state));
  expect(roleAt(desk, "bob")).toBe("implementer by default");
  // Both are shown as long as they wait.
  await give(laptop, "Explore", null);
  const [row] = [...elsewhereRows(laptop.log, "/laptop/app")].map(one => one.row());
  expect(row).toMatchObject({
    rolesWaiting: [
      { agent: null, role: "reviewer" },
      { agent: "Explore", role: null },
    ],
  });
  expect(row && elsewhereState(row)).toBe("the role reviewer waits, the end of the role of Explore waits");
  const back = await machine("desk", all, { node: desk.store.node });
  await begin(back, "bob");
  const { own, shared } = takesSentRoles({ engine: back.log });
  back.listeners.own.add(own);
  back.listeners.shared.add(shared);
  expect(await back.store.open(10_000)).toBe(true);
  await expect.poll(() => state.rolesSent.size, { timeout: 10_000 }).toBe(0);
  expect(roleAt(back, "bob")).toBe("reviewer by person");
  for (const one of elsewhereRows(laptop.log, "/laptop/app"))
    expect(one.row()).not.toHaveProperty("rolesWaiting");
});

it("go to an agent of this machine first, and are refused to agents, and where nobody is called so", async () => {
  const { laptop, desk } = await twoMachines();
  await begin(desk, "alice");
  await expect.poll(() => there(laptop, "alice@desk")).toBeDefined();
  await give(laptop, "alice", "tester");
  expect([roleAt(laptop, "alice"), roleAt(desk, "alice")]).toEqual([
    "tester by person",
    "implementer by default",
  ]);
  expect(await give(desk, "alice@desk", "reviewer")).toMatchObject({ ok: true, id: "alice" });
  expect(await give(laptop, "bob@desk", "lead", true)).toMatchObject({ code: "person_only" });
  expect(await give(laptop, "nobody", "tester")).toMatchObject({ code: "recipient_gone" });
  await begin(laptop, "carol", { cwd: "/laptop/own", project: "/laptop/own", worktree: "/laptop/own" });
  const own = roleCommand(laptop.log, { by: null, project: "/laptop/own", name: "bob@desk", role: "tester" });
  expect(own).toMatchObject({ type: "role_set" });
});

it("are given once the store that was away answers, though a person changed the role meanwhile", async () => {
  const { all, laptop, desk } = await twoMachines();
  expect(await give(laptop, "bob@desk", "tester")).toMatchObject({ ok: true });
  await expect.poll(() => roleAt(desk, "bob")).toBe("tester by person");
  await expect.poll(() => desk.own.state.outbox.rows.size).toBe(0);
  expect(await give(desk, "bob", "architect")).toMatchObject({ ok: true });
  // An opening compares: what was given is not given again.
  await desk.store.tellAnew();
  await desk.store.relayed(10_000);
  expect(roleAt(desk, "bob")).toBe("architect by person");
  all.awaySinceMs = Date.now();
  expect(await give(laptop, "bob@desk", "reviewer")).toMatchObject({ code: "store_away" });
});

it("are given once the machine's own log says that they are, though the shared one could already", async () => {
  const { laptop, desk } = await twoMachines();
  const { node, projects } = desk.own.state.outbox;
  const told = { type: "sharing_set", node, projects: [...projects] } as const;
  await desk.own.submitAndWait({ ...told, level: partsLevel - 1 });
  expect(await give(laptop, "bob@desk", "tester")).toMatchObject({ ok: true });
  const { rolesSent } = desk.store.state ?? {};
  await expect.poll(() => rolesSent?.size).toBe(1);
  // What the daemon would enter is in its log before this is.
  await begin(desk, "carol");
  expect(roleAt(desk, "bob")).toBe("implementer by default");
  await desk.own.submitAndWait({ ...told, level: partsLevel });
  await expect.poll(() => roleAt(desk, "bob")).toBe("tester by person");
  await expect.poll(() => rolesSent?.size).toBe(0);
});
