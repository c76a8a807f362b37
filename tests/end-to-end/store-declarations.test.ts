/** What agents of two machines declare, over one real PostgreSQL: who sees it, who is told what overlaps, and when no more. */
import { describe, expect, it, onTestFinished } from "vitest";
import { withServer } from "../store/postgres-world.ts";
import type { Client, Message } from "./daemon.ts";
import { Mcp } from "./mcp-client.ts";
import { database, Machine } from "./store-machine.ts";

async function agent({ home, repo }: Machine, id: string): Promise<Client> {
  const client = await home.connect();
  await client.ask({ type: "register", id, cwd: repo, name: id });
  return client;
}

/** Two machines that share the project, with an agent each. */
async function two(url: string) {
  const [a, b] = [await new Machine().start(), await new Machine().start()];
  for (const machine of [a, b]) await machine.kite("store", "join", url, "--yes");
  return { a, b, alice: await agent(a, "alice"), bob: await agent(b, "bob") };
}

/** How long news may take from one machine to the other. */
const far = { timeout: 60_000 };

/** Returns what the agent is told with its next prompt. */
async function prompt(client: Client, { repo }: Machine, id: string): Promise<string> {
  const where = { session_id: id, cwd: repo, permission_mode: "default", transcript_path: "/dev/null" };
  const event = { ...where, hook_event_name: "UserPromptSubmit", prompt: "go on" };
  const { output = "" } = await client.ask({ type: "hook", client: "claude-code", event });
  const { hookSpecificOutput: told } = JSON.parse(output === "" ? "{}" : `${output}`);
  return told?.additionalContext ?? "";
}

function declare(
  client: Client,
  id: string,
  file: string,
  will: string,
  more: Message = {},
): Promise<Message> {
  const understanding = { task: `the task of ${id}` };
  return client.ask({ type: "declare", id, understanding, codeView: [{ file, will, ...more }] });
}

await withServer("declarations that machines share", server => {
  describe("what agents of two machines declare", () => {
    it("is seen on both, and told to both where it overlaps", { timeout: 240_000 }, async () => {
      const { a, b, alice, bob } = await two(await database(server));
      expect(await declare(alice, "alice", "src/a.ts", "page it")).toMatchObject({ ok: true, overlaps: [] });
      await expect.poll(() => b.kite("declare", "--show")).toContain('on "the task of alice"');
      expect(await b.kite("declare", "--show")).toContain("alice@");
      const { declarations } = (await b.json("declare", "--show")) as { declarations: Message[] };
      const [row] = declarations;
      expect(row).toMatchObject({
        project: b.repo,
        files: [{ path: `${b.repo}/src/a.ts`, will: "page it" }],
      });
      const { name, machine } = row as { name: string; machine: string };
      expect(name).toBe(`alice@${machine}`);
      expect(await b.kite("declare", "--show", name)).toContain("src/a.ts");
      expect(await b.kite("status")).toContain("the task of alice");
      const env = { KITE_SESSION: "bob" };
      const mcp = await Mcp.start(b.home, { cwd: b.repo, env });
      onTestFinished(() => mcp.close());
      const { text, data } = await mcp.call("kite_status");
      expect(text).toContain(`"${name}" on another machine`);
      expect(data["onOtherMachines"]).toMatchObject([{ name, task: "the task of alice" }]);

      const folder = await declare(bob, "bob", "src/", "move it");
      expect(folder["overlaps"]).toMatchObject([
        { path: `${b.repo}/src/a.ts`, with: { name }, will: "page it" },
      ]);
      await expect.poll(() => prompt(bob, b, "bob"), far).toContain(`"${name}" declared "src/a.ts"`);
      await expect.poll(() => prompt(alice, a, "alice"), far).toMatch(/"bob@[^"]+" declared "src".*move it/);
      // Whoever was told is told once.
      expect(await prompt(alice, a, "alice")).not.toContain("declared");
      expect(await prompt(bob, b, "bob")).not.toContain("declared");
    });

    it("overlaps no more when it is struck off or its agent ends", { timeout: 240_000 }, async () => {
      const { a, alice, bob } = await two(await database(server));
      await declare(alice, "alice", "src/a.ts", "page it");
      await declare(bob, "bob", "src/a.ts", "move it");
      const declared = async () => {
        const { rows } = await alice.ask({ type: "query", target: "declarations" });
        return (rows as Message[]).map(({ name, files }) => [
          `${name}`.replace(/@.*/, ""),
          (files as []).length,
        ]);
      };
      const both = [
        ["alice", 1],
        ["bob", 1],
      ];
      await expect.poll(() => declared(), far).toEqual(both);
      await declare(bob, "bob", "src/a.ts", "", { drop: true });
      await expect.poll(() => declared(), far).toEqual([both[0], ["bob", 0]]);
      expect(await prompt(alice, a, "alice")).not.toContain("declared");
      await bob.ask({ type: "deregister", id: "bob" });
      await expect.poll(() => declared(), far).toEqual([both[0]]);
      const { rows } = await alice.ask({ type: "query", target: "declarations_ended" });
      expect(rows).toMatchObject([{ name: expect.stringMatching(/^bob@/), task: "the task of bob" }]);
    });

    it("is as of the copy while the store is away, and is told when it is back", {
      timeout: 240_000,
    }, async () => {
      const { a, b, alice, bob } = await two(await database(server));
      await declare(alice, "alice", "src/a.ts", "page it");
      await expect.poll(() => b.kite("declare", "--show"), far).toContain("alice@");
      await server.kill();
      const reply = await declare(bob, "bob", "src/a.ts", "move it");
      expect(reply).toMatchObject({ ok: true, overlaps: [{ will: "page it" }] });
      expect(await b.kite("declare", "--show")).toContain("alice@");
      expect(await prompt(alice, a, "alice")).not.toContain("declared");
      await server.start();
      await expect.poll(() => prompt(alice, a, "alice"), far).toContain("move it");
    });
  });
});
