/** What leads agents on two machines over one real PostgreSQL: roles, notes of risks, and merges that come back. */
import { describe, expect, it } from "vitest";
import { withServer } from "../store/postgres-world.ts";
import type { Client, Message } from "./daemon.ts";
import { database, Machine } from "./store-machine.ts";

/** An agent of the machine, at work in its clone. */
async function agent({ home, repo }: Machine, id: string): Promise<Client> {
  const client = await home.connect();
  await client.ask({ type: "register", id, cwd: repo, name: id });
  return client;
}

/** What the agent reads with its next prompt. */
async function prompted(client: Client, { repo }: Machine, id: string): Promise<string> {
  const event = { hook_event_name: "UserPromptSubmit", prompt: "go on" };
  const place = { session_id: id, cwd: repo, permission_mode: "default", transcript_path: "/dev/null" };
  return JSON.stringify(
    await client.ask({ type: "hook", client: "claude-code", event: { ...place, ...event } }),
  );
}

async function two(url: string): Promise<readonly [Machine, Machine]> {
  const [a, b] = [await new Machine().start(), await new Machine().start()];
  for (const machine of [a, b]) await machine.kite("store", "join", url, "--yes");
  return [a, b];
}

await withServer("leading over a store", server => {
  describe("on two machines", () => {
    it("a role is given from the other one, and its lead hears of red tasks", {
      timeout: 240_000,
    }, async () => {
      const [a, b] = await two(await database(server));
      const [alice, bob] = [await agent(a, "alice"), await agent(b, "bob")];
      await expect.poll(() => a.kite("status")).toMatch(/On 1 other machine\n +bob@/);
      expect(await a.kite("role", "bob", "lead")).toMatch(
        /bob@.* is on .*, which gives it the role lead as soon/,
      );
      await expect.poll(() => b.kite("role")).toMatch(/bob +lead +given by a person/);
      await expect.poll(() => prompted(bob, b, "bob")).toContain("lead");
      await a.kite("task", "add", "rewrite the past", "--risk", "red");
      await expect
        .poll(() => alice.ask({ type: "task_claim", id: "alice" }), { timeout: 30_000 })
        .toMatchObject({ ok: true });
      await expect.poll(() => prompted(bob, b, "bob"), { timeout: 30_000 }).toContain("rewrite the past");
      // It is told once.
      expect(await prompted(bob, b, "bob")).not.toContain("rewrite the past");
      // A role that waits is shown until it is given.
      await b.kite("down", "--yes");
      expect(await a.kite("role", "bob", "tester")).toContain("until then kite status shows that it waits");
      expect(await a.kite("status")).toMatch(/\n +bob@.* the role tester waits\n/);
      expect(await a.kite("status", "--lead")).toMatch(/On 1 other machine\n +bob@.*the role tester waits\n/);
      await b.kite("up");
      await expect.poll(() => b.kite("role"), { timeout: 60_000 }).toMatch(/bob +tester +given by a person/);
      await expect.poll(() => a.kite("status"), { timeout: 60_000 }).not.toContain("waits");
    });

    it("a merge that comes back gives the shared task back, and others see its row", {
      timeout: 240_000,
    }, async () => {
      const [a, b] = await two(await database(server));
      const alice = await agent(a, "alice");
      await a.kite("task", "add", "one");
      const claimed = await alice.ask({ type: "task_claim", id: "alice" });
      const { id: task } = (claimed as unknown as { readonly task: { readonly id: string } }).task;
      const done = { type: "task_update", id: "alice", task, status: "done", result: "done" };
      expect(await alice.ask(done)).toMatchObject({ ok: true });
      const states = async () => {
        const { tasks } = (await b.json("task", "list", "--all")) as { tasks: { status: string }[] };
        return tasks.map(({ status }) => status);
      };
      await expect.poll(states).toEqual(["done"]);
      const place = { id: "alice", runner: "r1", base: "refs/heads/main" };
      const merges = [{ branch: "refs/heads/work", author: { id: "alice" }, tasks: [task] }];
      expect(await alice.ask({ type: "merge_queue", ...place, merges })).toMatchObject({ ok: true });
      await expect
        .poll(() => b.kite("merge", "--list"))
        .toMatch(/On other machines\n +queued +work +into main/);
      const taken = (await alice.ask({ type: "merge_take", ...place })) as Message;
      const { id, runs } = taken["merge"] as { readonly id: string; readonly runs: number };
      const reason = {
        code: "conflict",
        text: "secret.ts conflicts",
        files: ["secret.ts"],
        more: 0,
        output: null,
      };
      const report = { type: "merge_report", id: "alice", runner: "r1", merge: id, run: runs };
      expect(await alice.ask({ ...report, outcome: { is: "returned", reason } })).toMatchObject({ ok: true });
      await expect.poll(states).toEqual(["pending"]);
      await expect.poll(() => b.kite("merge", "--list")).toMatch(/returned +work +into main +alice/);
      expect(await b.kite("merge", "--list", "--json")).not.toContain("secret");
      expect(b.kept).not.toContain("secret.ts");
    });
  });
});
