/** No screen and no answer of an agent's tools names a task of the project by its long id. */
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, Home } from "./daemon.ts";

const longId = /\bt-[0-9a-z]+-[0-9a-z]+\b/;
let home: Home;
let alice: Client;

beforeAll(async () => {
  home = new Home();
  execFileSync("git", ["init", "-q", home.work], { env: home.environment });
  await home.start();
  alice = await home.session("alice", { name: "alice", project: undefined });
  await home.kite("task", "add", "lay the table");
  await home.kite("task", "add", "eat", "--needs", "1");
  for (let i = 3; i <= 10; i += 1) await home.kite("task", "add", `wash cup ${i}`);
  await alice.ask({ type: "task_claim", id: "alice", task: "#1" });
  await alice.ask({ type: "task_claim", id: "alice", task: "#10" });
});

afterAll(() => home.dispose());

test.each([
  ["log", ["log"], "#10"],
  ["explain of a task that waits", ["explain", "2"], "It waits for #1"],
  ["explain of a claimed task", ["explain", "10"], "created #10"],
  ["explain of an agent", ["explain", "alice"], "#10 wash cup 10"],
  ["agent", ["agent", "alice"], "#1 lay the table"],
  ["lead", ["status", "--lead"], "#10"],
  ["mermaid", ["task", "graph", "--mermaid"], "10: wash cup 10"],
  ["a release", ["release", "alice", "--reason", "it hangs"], "#1, #10"],
  ["log of what was given back", ["log"], "#10"],
])("%s", async (_what, line, has) => {
  await expect.poll(async () => (await home.command([...line])).out).toContain(has);
  expect((await home.command(line[0] === "release" ? ["log"] : line)).out).not.toMatch(longId);
});

test("events, in a pipe", async () => {
  const bystander = home.startKite(["watch"]);
  let seen = "";
  bystander.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    seen += chunk;
  });
  await expect.poll(() => seen).toContain("watching");
  await alice.ask({ type: "task_claim", id: "alice", task: "#9" });
  await expect.poll(() => seen).toContain("claimed   #9 by alice: wash cup 9");
  expect(seen).not.toMatch(longId);
  bystander.kill("SIGINT");
});
