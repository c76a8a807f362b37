import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { GuardWorld } from "./guard-world.ts";

const w = new GuardWorld();
beforeAll(() => w.start());
afterAll(() => w.dispose());

it("a file written in two worktrees is told to both sides, once, and holds nobody up", async () => {
  const dir = w.repo("shop");
  const pay = join(w.folder, "pay");
  w.git(dir, "worktree", "add", "-q", "-b", "pay", pay);
  await w.begin("alice", dir);
  await w.begin("bob", pay);
  const client = await w.client();
  await client.ask({ type: "subscribe", events: ["merge_risk"] });
  await w.edit("alice", dir, "src/c.ts", "alice\n");
  await w.edit("bob", pay, "src/c.ts", "bob\n");
  await w.edit("bob", pay, "src/c.ts", "bob again\n");
  const side = (name: string, worktree: string, branch: string) => ({
    id: name,
    agent: null,
    name,
    worktree,
    branch,
  });
  const sides = [side("bob", pay, "pay"), side("alice", dir, "main")];
  const risk = { file: "src/c.ts", project: dir, sides };
  expect(await client.next()).toMatchObject({ type: "event", event: "merge_risk", ...risk });
  expect((await client.ask({ type: "query", target: "risks" }))["rows"]).toEqual([risk]);

  let notes = 0;
  const notesOf = async (session: string, cwd: string) => {
    const who = { session, cwd, toolUseId: `note-${++notes}`, ancestors: [] };
    const more = { waitMs: 1000, promptId: null, parentFile: null, overwrites: [] };
    const [outcome] = await w.act({ do: "lock", ...who, file: join(cwd, "a.ts"), ...more });
    return outcome?.did === "lock" && outcome.ok ? outcome.mergeRisks : outcome;
  };
  // Bob was told with his second edit.
  expect(await notesOf("bob", pay)).toEqual([]);
  const note = { file: "src/c.ts", own: dir, name: "bob", worktree: pay, branch: "pay" };
  expect(await notesOf("alice", dir)).toEqual([note]);
  expect(await notesOf("alice", dir)).toEqual([]);

  // What is committed on one side is for a trial merge.
  w.git(pay, "commit", "-qam", "bob's");
  await client.ask({ type: "query", target: "writes" });
  expect((await client.ask({ type: "query", target: "risks" }))["rows"]).toEqual([]);
});
