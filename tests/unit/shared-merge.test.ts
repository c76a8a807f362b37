/** A merge of a machine whose author's tasks are in the log that machines share. */
import { expect, it } from "vitest";
import type { MergeOutcome } from "../../daemon/core/lead/tables/merges.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { sharedTasks, withDoersName } from "../../daemon/lead/merges.ts";
import type { MergeRow } from "../../protocol/lead/merge.ts";
import { isObject } from "../../protocol/wire.ts";
import { actorOf, begin, claim, create, type Machine, MemoryStoreOfAll, machine } from "./shared-world.ts";

const project = "/laptop/app";
const runner = { name: "r", bound: { node: "local", epoch: 1, connection: 1 } };

async function worked(on: Machine, session: string): Promise<string> {
  const made = await on.log.submitAndWait(create(on, session, "work"));
  const id = isObject(made) && isObject(made["task"]) ? String(made["task"]["id"]) : "";
  expect(await on.log.submitAndWait(claim(on, session, id))).toMatchObject({ ok: true });
  const none = { dependsOn: null, description: null, priority: null, labels: null };
  const place = { project: `/${on.name}/app`, cwd: "/", wallMs: 2 };
  const update = {
    type: "task_update",
    by: actorOf(session),
    task: id,
    status: "done",
    result: "x",
  } as const;
  expect(await on.log.submitAndWait({ ...update, ...none, ...place } as Command)).toMatchObject({ ok: true });
  return id;
}

/** Queues the branch of the author and runs its merge, as requests do; it comes back. */
async function comesBack({ log }: Machine, session: string, tasks: readonly string[]): Promise<MergeRow> {
  const place = { project, base: "refs/heads/main", by: null, wallMs: 8 };
  const author = withDoersName(log, project, { session, agent: null }, tasks);
  const merges = [{ branch: "refs/heads/work", author, tasks, after: [] }];
  const how = { rebase: false, checkOnly: false };
  await log.submitAndWait({ type: "merge_queue", runner, ...place, ...how, merges });
  const taken = await log.submitAndWait({ type: "merge_take", runner, ...place, drain: false });
  const { id, runs } = (taken as unknown as { readonly merge: MergeRow }).merge;
  const reason = { code: "red_check", text: "red", files: [], more: 0, output: null } as const;
  const outcome: MergeOutcome = { is: "returned", reason };
  const shared = sharedTasks(log, id, outcome);
  const report = { type: "merge_report", by: null, runner, merge: id, run: runs, wallMs: 9 } as const;
  const reply = await log.submitAndWait({ ...report, outcome, ...shared });
  return (reply as unknown as { readonly merge: MergeRow }).merge;
}

it("names who did its task, and has the shared log give the task back once it is there", async () => {
  const all = new MemoryStoreOfAll();
  const [laptop, desk] = await Promise.all([machine("laptop", all), machine("desk", all)]);
  for (const { store } of [laptop, desk]) expect(await store.open(10_000)).toBe(true);
  await begin(laptop, "alice");
  await begin(laptop, "lead");
  await begin(desk, "bob");
  const [mine, others] = [await worked(laptop, "alice"), await worked(desk, "bob")];
  const { state } = desk.log.logOf("/desk/app");
  const statusOf = (id: string) => state.tasks.all.get(id)?.state.status;
  await laptop.log.submitAndWait({
    type: "session_end",
    session: "alice",
    incarnation: null,
    cause: "ended",
  });
  await laptop.log.submitAndWait({ type: "role_set", by: null, name: "lead", role: "lead", project });
  const own = await comesBack(laptop, "alice", [mine]);
  expect(own.author).toEqual({ id: "alice", agent: null, name: "alice" });
  await expect.poll(() => statusOf(mine)).toBe("pending");
  const [message] = laptop.own.state.messages.all.values();
  expect(message?.text).toContain(`Pending again as soon as the shared store has it: ${mine}.`);
  // While the store is away, the row waits.
  const bob = [...state.sessions.live.keys()].find(id => id.startsWith("bob@")) ?? "";
  all.awaySinceMs = Date.now();
  const away = await comesBack(laptop, bob, [others]);
  expect(away.author).toEqual({ id: bob, agent: null, name: "bob@desk" });
  expect(statusOf(others)).toBe("done");
  all.awaySinceMs = null;
  await expect.poll(() => statusOf(others), { timeout: 15_000 }).toBe("pending");
});
