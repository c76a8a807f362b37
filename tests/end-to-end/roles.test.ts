/** Roles and risks through the real daemon: from the terminal, in an agent's shell, by the tools of agents, and over a kill. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { Home, type Message } from "./daemon.ts";
import { Mcp } from "./mcp-client.ts";

let home: Home;
const servers: Mcp[] = [];

beforeEach(async () => {
  home = new Home();
  await home.start();
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map(mcp => mcp.close()));
  await home.dispose();
});

const session = (id: string) => home.session(id, { project: home.work });

test("a person gives a role, an agent's shell cannot, and it outlives the daemon", async () => {
  await session("ann");
  const shell = { ...home.environment, KITE_SESSION: "ann" };
  await expect(home.kiteIn(shell, "role", "ann", "architect")).rejects.toMatchObject({
    code: 1,
    stderr: `kite: only a person gives roles; ask your user to run in a terminal of their own: cd ${home.work} && kite role ann architect\n`,
  });
  expect(await home.kite("role", "ann", "tester")).toContain("ann is tester (given by a person)");
  expect(await home.kiteIn(shell, "declare", "--role", "architect")).toContain(
    "your user gave you the role tester, and that stands whatever you declare",
  );
  // A killed daemon takes the lines that it has not written yet along.
  await expect.poll(() => home.kite("log", "--json")).toContain('"why":"ann: tester"');
  home.daemon.signal("SIGKILL");
  await home.daemon.exited;
  await home.start();
  const { roles } = JSON.parse(await home.kite("role", "--json"));
  expect(roles).toEqual([
    { id: "ann", agent: null, name: "ann", role: "tester", by: "person", gate: "enforce" },
  ]);
  expect(await home.kite("role")).toMatch(
    /^ *ann +tester +given by a person +enforced\n\n *tester: edits of tests only;/,
  );
  expect(await home.kite("agent", "ann")).toMatch(/role +tester, given by a person/);
  expect(JSON.parse(await home.kite("role", "ann", "--clear", "--json"))).toMatchObject({
    role: "architect",
    by: "declared",
  });
});

test("a critical task waits for a person's yes, in every list, and runs once with it", async () => {
  await session("ann");
  const shell = { ...home.environment, KITE_SESSION: "ann" };
  await home.kiteIn(shell, "task", "add", "Drop the table");
  expect(await home.kiteIn(shell, "task", "edit", "1", "--risk", "critical")).toContain(
    "is ready, critical: Drop the table; not claimable now: it waits for a person's yes",
  );
  await expect(home.kiteIn(shell, "task", "edit", "1", "--risk", "green")).rejects.toMatchObject({
    stderr: expect.stringContaining("only a person lowers that; ask your user: kite task edit"),
  });
  await expect(home.kiteIn(shell, "task", "claim", "1")).rejects.toMatchObject({
    stderr: expect.stringContaining("roles that take it: architect; ask your user: kite role ann architect"),
  });
  await home.kite("role", "ann", "architect");
  await expect(home.kiteIn(shell, "task", "claim")).rejects.toMatchObject({
    stderr: expect.stringContaining("it waits for a person's yes; ask your user: kite task approve"),
  });
  await expect(home.kiteIn(shell, "task", "approve", "1")).rejects.toMatchObject({
    stderr: `kite: only a person says yes to a task; ask your user to run in a terminal of their own: cd ${home.work} && kite task approve 1\n`,
  });
  expect(await home.kite("status")).toMatch(/Red and critical tasks[\s\S]*critical +ready +Drop the table/);
  expect(await home.kite("task", "list")).toMatch(/ready +critical +Drop the table +it waits for a person's/);
  const { tasks } = JSON.parse(await home.kite("task", "list", "--json"));
  expect(await home.kite("explain", tasks[0].id)).toContain("Nobody can claim it now. It is critical (");
  expect(await home.kite("task", "approve", "1")).toContain("is ready, critical and approved");
  expect(await home.kiteIn(shell, "task", "claim")).toContain("is active, critical and approved for ann");
  expect(await home.kite("status")).toMatch(/critical +runs \d+s +Drop the table +ann; approved/);
  await home.kiteIn(shell, "task", "release", "1");
  const { task } = JSON.parse(await home.kite("task", "show", "1", "--json"));
  expect(task).toMatchObject({ risk: "critical", approved: false });
  const exported = await home.kite("task", "export");
  expect(JSON.parse(exported)).toMatchObject([{ risk: "critical" }]);
});

test("a person claims in a terminal whatever the risk", async () => {
  await home.kite("task", "add", "Drop the table", "--risk", "critical");
  await home.kite("task", "approve", "1");
  expect(await home.kite("task", "claim")).toContain("is active, critical and approved for");
  await home.kite("task", "add", "Move it", "--risk", "red");
  await expect(home.kite("task", "claim", "2")).rejects.toMatchObject({
    stderr: expect.stringContaining("red and critical tasks run one at a time"),
  });
  await home.kite("task", "done", "1");
  await home.kite("task", "add", "Drop the other", "--risk", "critical");
  expect(await home.kite("task", "claim", "3")).toContain("is active, critical and approved for");
  await home.kite("task", "done", "3");
  expect(await home.kite("task", "claim", "2")).toContain("is active, red and approved for");
});

test("agents see and set risks by their tools", async () => {
  const mcp = await Mcp.start(home, { name: "alice" });
  servers.push(mcp);
  await mcp.call("kite_status");
  const made = await mcp.call("kite_task_create", { description: "Move it", risk: "red" });
  const [{ id }] = made.data["added"] as readonly [Message];
  const listed = await mcp.call("kite_task_list", { which: "ready" });
  expect(listed.text).toContain(", pending, red, not now: no lead is alive;");
  const refused = await mcp.call("kite_task_claim", { task: id });
  expect(refused).toMatchObject({ isError: true, text: expect.stringContaining("kite task approve") });
  const raised = await mcp.call("kite_task_edit", { task: id, risk: "critical" });
  expect(raised.data["task"]).toMatchObject({ risk: "critical" });
  const lowered = await mcp.call("kite_task_edit", { task: id, risk: "green" });
  expect(lowered.isError).toBe(true);
});
