/** What is known of tasks whose agent is on a machine that is silent. */
import { expect, it } from "vitest";
import { taskRow } from "../../daemon/core/tasks/replies.ts";
import { limits } from "../../protocol/limits.ts";
import { shared, two } from "./nodes-world.ts";

it("whoever reads or claims them hears that the agent is lost, and how a person frees them", () => {
  const { store, a, b } = two();
  a.begin("s1", { name: "alice" });
  b.begin("s9", { name: "bob" });
  store.take("a", a);
  store.take("b", b);
  const id = store.add("a", null);
  const claimed = store.claim("a", a.idOf("s1"), id);
  expect(claimed).toMatchObject({ ok: true });
  expect((claimed as unknown as { task: object }).task).not.toHaveProperty("assigneeLost");
  const works = `alice@a-machine works on ${id}; claim another one, or ask them`;
  expect(store.claim("b", b.idOf("s9"), id)).toMatchObject({ code: "task_claimed", error: works });
  store.pass(limits.nodeLostMs);
  store.renew("b", "b-machine");
  const lost = `alice@a-machine has ${id} and is lost: nothing is heard of it; claim another one, or a person frees this one: kite task release ${id}`;
  const claim = store.claim("b", b.idOf("s9"), id);
  expect(claim).toMatchObject({ code: "task_claimed", error: lost, assigneeName: "alice@a-machine" });
  const task = store.state.tasks.all.get(id);
  expect(task && taskRow(store.state, task)).toMatchObject({ status: "active", assigneeLost: true });
  const release = { type: "task_release", by: null, task: id, project: shared, wallMs: 9 } as const;
  expect(store.as("b", release)).toMatchObject({ ok: true });
  expect(store.claim("b", b.idOf("s9"), id)).toMatchObject({ ok: true });
});
