/** Agents on two machines over one real PostgreSQL: what each sees of the other, and what each does by itself. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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

async function hook(client: Client, { repo }: Machine, id: string, event: Message): Promise<string> {
  const all = {
    session_id: id,
    cwd: repo,
    permission_mode: "default",
    transcript_path: "/dev/null",
    ...event,
  };
  return JSON.stringify(await client.ask({ type: "hook", client: "claude-code", event: all }));
}

/** The two machines call themselves alike: the second one in the store has a number. */
async function two(url: string): Promise<readonly [Machine, Machine]> {
  const [a, b] = [await new Machine().start(), await new Machine().start()];
  for (const machine of [a, b]) await machine.kite("store", "join", url, "--yes");
  return [a, b];
}

await withServer("agents that share a store", server => {
  describe("agents on two machines", () => {
    it("see each other, write to each other, and take each task once", { timeout: 240_000 }, async () => {
      const [a, b] = await two(await database(server));
      const [alice, bob] = [await agent(a, "alice"), await agent(b, "bob")];
      await a.kite("task", "add", "for one of them");
      const claims = await Promise.all([
        alice.ask({ type: "task_claim", id: "alice" }),
        bob.ask({ type: "task_claim", id: "bob" }),
      ]);
      expect(claims.filter(({ ok }) => ok === true)).toHaveLength(1);
      await expect.poll(() => a.kite("status")).toMatch(/On 1 other machine\n +bob@/);
      const start = { hook_event_name: "SessionStart", source: "startup" };
      expect(await hook(alice, a, "alice", start)).toContain("on another machine");

      await expect
        .poll(() => bob.ask({ type: "message_send", id: "bob", to: "alice", text: "hello from b" }))
        .toMatchObject({ ok: true });
      await expect
        .poll(() => hook(alice, a, "alice", { hook_event_name: "UserPromptSubmit", prompt: "go on" }))
        .toContain("hello from b");
      // A message that was shown is shown once.
      const next = { hook_event_name: "UserPromptSubmit", prompt: "go on" };
      expect(await hook(alice, a, "alice", next)).not.toContain("hello from b");

      // What acts on her is done on her machine alone.
      b.commit("first.ts", "one");
      const { elsewhere } = (await b.json("status")) as unknown as {
        readonly elsewhere: readonly { readonly name: string; readonly machine: string }[];
      };
      const { name = "", machine = "" } = elsewhere[0] ?? {};
      expect(name).toBe(`alice@${machine}`);
      const there = `${name} works on ${machine}: only Kite on ${machine} does that; run the command there`;
      for (const word of ["go", "stop", "attach", "merge"])
        expect(await b.fails(word, "alice")).toBe(`kite: ${there}\n`);
      for (const words of [
        ["stop", name],
        ["rename", name, "ann"],
      ])
        expect(await b.fails(...words)).toBe(`kite: ${there}, where it is called alice\n`);
    });

    it("have their tasks given back by a person, and by their end", { timeout: 240_000 }, async () => {
      const [a, b] = await two(await database(server));
      const alice = await agent(a, "alice");
      await a.kite("task", "add", "one");
      await a.kite("task", "add", "two");
      for (const _ of ["one", "two"]) await alice.ask({ type: "task_claim", id: "alice" });
      const states = async () => {
        const { tasks } = (await b.json("task", "list")) as { tasks: { status: string }[] };
        return tasks.map(({ status }) => status);
      };
      await expect.poll(states).toEqual(["active", "active"]);
      expect(await a.kite("release", "alice")).toContain("2 tasks of alice can be claimed again");
      await expect.poll(states).toEqual(["pending", "pending"]);
      await alice.ask({ type: "task_claim", id: "alice" });
      await expect.poll(states).toEqual(["active", "pending"]);
      // What the release told with the next event is no message besides; that a person there takes a task is one.
      const texts = async () => {
        const { messages } = await alice.ask({ type: "message_list", id: "alice" });
        return (messages as { text: string }[]).map(({ text }) => text);
      };
      expect(await texts()).toEqual([]);
      await b.kite("task", "release", "1");
      const taken = 'Kite: task #1 "one" is no longer yours: a person at ';
      await expect.poll(texts).toEqual([expect.stringContaining(taken)]);
      await alice.ask({ type: "task_claim", id: "alice" });
      await expect.poll(states).toEqual(["active", "pending"]);
      await expect.poll(() => a.copies, { timeout: 90_000 }).not.toEqual([]);
      // Her daemon is killed, and the task goes meanwhile: the next daemon knows that it was hers.
      process.kill(Number(JSON.parse(readFileSync(a.home.paths.daemonFile, "utf8")).pid), "SIGKILL");
      await alice.ended;
      await b.kite("task", "release", "1");
      await a.kite("up");
      const again = await a.home.connect();
      const told = async () => {
        const { messages } = await again.ask({ type: "message_list", id: "alice" });
        return (messages as { text: string }[]).filter(({ text }) => text.startsWith(taken));
      };
      await expect.poll(told, { timeout: 60_000 }).toHaveLength(2);
      await again.ask({ type: "task_claim", id: "alice" });
      await expect.poll(states).toEqual(["active", "pending"]);
      await again.ask({ type: "deregister", id: "alice" });
      await expect.poll(states).toEqual(["pending", "pending"]);
    });

    it("have their tasks given back by Kite when they stall, if the setting says so", {
      timeout: 240_000,
    }, async () => {
      const [a] = await two(await database(server));
      const health = { quietMs: 1_000, stalledMs: 1_000, stalled: "release" };
      writeFileSync(a.home.paths.config, JSON.stringify({ ...a.config, health }), { mode: 0o600 });
      await a.kite("down");
      await a.kite("up");
      const alice = await a.home.connect();
      const { pid } = await a.home.bystander();
      const tell = async (event: Message) => {
        const all = { session_id: "alice", cwd: a.repo, prompt_id: "p1", ...event };
        return JSON.stringify(await alice.ask({ type: "hook", ppid: pid, event: all }));
      };
      await tell({ hook_event_name: "UserPromptSubmit", prompt: "go on" });
      await expect
        .poll(async () => (await a.home.command(["task", "add", "one"], {}, a.repo)).code, {
          timeout: 60_000,
        })
        .toBe(0);
      await alice.ask({ type: "task_claim", id: "alice" });
      const states = async () => {
        const { tasks } = (await a.json("task", "list")) as { tasks: { status: string }[] };
        return tasks.map(({ status }) => status);
      };
      await expect.poll(states, { timeout: 60_000 }).toEqual(["pending"]);
      // The task is given back before the agent hears of it.
      await expect
        .poll(() => tell({ hook_event_name: "UserPromptSubmit", prompt: "go on" }), { timeout: 60_000 })
        .toContain("gave back the task #1: claim a task anew");
    });

    it("go on with edits and locks while the store is away", { timeout: 240_000 }, async () => {
      const [a] = await two(await database(server));
      const alice = await agent(a, "alice");
      await a.kite("task", "add", "before");
      await alice.ask({ type: "task_claim", id: "alice" });
      await server.kill();
      const file = join(a.repo, "src.ts");
      const tool = { tool_name: "Write", tool_input: { file_path: file, content: "x" }, tool_use_id: "t1" };
      await hook(alice, a, "alice", { hook_event_name: "PreToolUse", ...tool });
      expect(await a.kite("status", "--locks")).toContain("src.ts");
      await expect.poll(() => a.kite("status"), { timeout: 60_000 }).toMatch(/^store away since \d\d:\d\d/);
      expect(await a.fails("task", "add", "while away")).toContain("the shared store is away (");
      // A task that stays hers is not told as one that was given back.
      expect(await a.kite("release", "alice")).toMatch(/1 lock of alice released.*\n+still claimed: /);
      const prompt = { hook_event_name: "UserPromptSubmit", prompt: "go on" };
      expect(await hook(alice, a, "alice", prompt)).toMatch(
        /your user \S+ gave back 1 lock: read files again before you edit them\./,
      );
      expect(await a.tasks()).toEqual(["before"]);
      await alice.ask({ type: "deregister", id: "alice" });
      await server.start();
      await expect.poll(() => a.kite("task", "add", "after"), { timeout: 60_000 }).toContain("after");
      expect(await a.tasks()).toEqual(["before", "after"]);
    });
  });
});
