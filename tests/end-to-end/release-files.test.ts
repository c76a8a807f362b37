/** `kite release` takes what a person types first: agents and files, in one line. */
import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, Home } from "./daemon.ts";

let home: Home;
let wire: Client;

beforeEach(async () => {
  home = new Home();
  execFileSync("git", ["init", "-q", home.work], { env: home.environment });
  await home.start();
  wire = await home.session("alice", { name: "alice", project: undefined });
  await home.session("s-2", { name: "held", project: undefined });
  for (const file of ["a.ts", "held"]) await wire.ask({ type: "file_lock", id: "alice", file });
  await wire.ask({ type: "task_create", id: "alice", description: "it" });
  await wire.ask({ type: "task_claim", id: "alice", task: "#1" });
});
afterEach(() => home.dispose());

const locks = async () => JSON.parse(await home.kite("locks", "--json")).locks.length as number;

test("a person takes a file from its holder, and a task from an agent", async () => {
  expect(await home.kite("release", "a.ts", "alice")).toBe(
    "1 task of alice can be claimed again: #1\nreleased: a.ts\n".replace("a.ts", `${home.work}/a.ts`),
  );
  expect(await locks()).toBe(1);
});

test("a name that an agent and a file have is the agent's; a file of no agent's name that nobody holds says so", async () => {
  expect(await home.kite("release", "held")).toContain("held has no task");
  expect(await locks()).toBe(2);
  const { code, err } = await home.command(["release", "nobody"]);
  expect([code, err]).toEqual([1, expect.stringContaining("no agent is called nobody")]);
  expect((await home.command(["release", "src/nothing.ts"])).err).toContain("src/nothing.ts");
  expect(await locks()).toBe(2);
});

test("an agent gives its own file back, not that of another", async () => {
  const as = (id: string, file: string) => home.command(["release", file], { KITE_SESSION: id });
  expect((await as("held", "a.ts")).code).toBe(1);
  expect(await locks()).toBe(2);
  expect(await as("alice", "a.ts")).toMatchObject({ code: 0 });
  expect(await locks()).toBe(1);
});

test("as JSON the answer is that of one agent, or of files", async () => {
  expect(JSON.parse(await home.kite("release", "a.ts", "--json"))).toMatchObject({
    ok: true,
    released: [`${home.work}/a.ts`],
  });
  expect(JSON.parse(await home.kite("release", "alice", "--json"))).toMatchObject({ ok: true, taskCount: 1 });
  expect(await home.command(["release", "alice", "held", "--json"])).toMatchObject({ code: 1 });
});
