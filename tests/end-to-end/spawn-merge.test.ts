/** Merging what spawned agents left, by their names: after their sessions have ended. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { kiteTask, SpawnWorld } from "./spawn-world.ts";

const identity = {
  ...{ GIT_AUTHOR_NAME: "t", GIT_AUTHOR_EMAIL: "t@localhost" },
  ...{ GIT_COMMITTER_NAME: "t", GIT_COMMITTER_EMAIL: "t@localhost" },
};
let world: SpawnWorld;

beforeEach(async () => {
  world = new SpawnWorld();
  await world.home.start();
});
afterEach(() => world.dispose());

/** An agent that does its task, commits, and is stopped; returns its session. */
async function finished(name: string, task: string, more: Readonly<Record<string, string>> = {}) {
  expect(await world.kite(["spawn", "COMMIT", "--name", name, "--task", task, "--wait"], more)).toMatchObject(
    {
      code: 0,
    },
  );
  const session = (await world.agent(name)).session ?? "";
  await world.kite(["task", "done", task, "did it"], { CLAUDE_CODE_SESSION_ID: session });
  expect(await world.kite(["stop", name])).toMatchObject({ code: 0 });
  return session;
}

async function statusOf(task: string): Promise<unknown> {
  const shown = JSON.parse((await world.kite(["task", "show", task, "--json"])).out);
  return (shown.task ?? shown).status;
}

test("branches of agents that ended are merged by their names, as their tasks depend on each other", async () => {
  const one = await kiteTask(world, "one");
  const added = await world.kite(["task", "add", "two", "--needs", one, "--json"]);
  const two: string = JSON.parse(added.out).task.id;
  await finished("bob", one);
  await finished("carol", two);
  const dry = await world.kite(["merge", "carol", "bob", "--dry-run"]);
  expect(dry.out).toBe(
    [
      "Would merge into main, with no checks:",
      "1. worktree-bob by bob",
      "2. worktree-carol by carol, after worktree-bob",
      "",
    ].join("\n"),
  );
  const done = await world.kite(["merge", "carol", "bob"], identity);
  expect(done).toMatchObject({ code: 0 });
  expect(existsSync(join(world.home.work, "new.txt"))).toBe(true);
  expect((await world.kite(["agents", "prune"])).out).toContain("removed bob");
});

test("a conflict goes to the agent that spawned it, and its task can be claimed again", async () => {
  const ann = await world.home.session("ann", { project: world.home.work, name: "Ann" });
  const task = await kiteTask(world, "one");
  await finished("bob", task, { CLAUDE_CODE_SESSION_ID: "ann" });
  expect(await statusOf(task)).toBe("done");
  writeFileSync(join(world.home.work, "new.txt"), "otherwise\n");
  world.git("add", "new.txt");
  world.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "other");
  const merged = await world.kite(["merge", "bob", "--json"], identity);
  expect(merged.code).toBe(1);
  expect(JSON.parse(merged.out)).toMatchObject({
    merges: [{ state: "returned", author: { name: "bob" }, tasks: [task], reason: { files: ["new.txt"] } }],
  });
  expect(await statusOf(task)).toBe("pending");
  const { messages } = await ann.ask({ type: "message_list", id: "ann" });
  expect(messages).toMatchObject([
    {
      text: expect.stringMatching(
        /^worktree-bob was not merged into main .* bob, which you spawned, has ended\./,
      ),
    },
  ]);
  ann.destroy();
});

test("an idle author is woken by the merge that comes back, and marked until it has read so", async () => {
  const lead = await world.home.session("lead", { project: world.home.work, name: "Lead" });
  const started = await world.kite(["spawn", "COMMIT", "--name", "bob", "--wait"]);
  expect(started).toMatchObject({ code: 0 });
  const { session, worktree } = await world.agent("bob");
  const hook = { session_id: session, cwd: worktree };
  const stopped = await world.home.connect();
  const waits = stopped.blank();
  stopped.send({
    ...{ type: "hook", env: { CLAUDE_CODE_SESSION_ATTENDED: "0" }, wake: true },
    event: { ...hook, hook_event_name: "Stop", background_tasks: [] },
  });
  await waits;
  const merged = async () => {
    const run = await world.kite(["merge", "bob"], { ...identity, CLAUDE_CODE_SESSION_ID: "lead" });
    expect(run.code).toBe(1);
    return run.out.replaceAll(/\s+/g, " ");
  };
  writeFileSync(join(world.home.work, "new.txt"), "otherwise\n");
  world.git("add", "new.txt");
  world.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "other");
  expect(await merged()).toContain("bob has not read that its merge came back; Kite has told it");
  const woken = await stopped.next();
  expect(woken).toMatchObject({ ok: true, exitCode: 2 });
  expect(String(woken["stderr"])).toContain('"worktree-bob" was not merged into "main"');
  const prompt = { ...hook, hook_event_name: "UserPromptSubmit", prompt_id: "p2", prompt: woken["stderr"] };
  const read = await stopped.ask({ type: "hook", event: prompt });
  expect(String(read["output"])).toContain("worktree-bob was not merged into main");
  expect((await world.kite(["agents"])).out).not.toContain("has not read");

  await stopped.ask({ type: "hook", event: { ...hook, hook_event_name: "Stop", background_tasks: [] } });
  const unwoken =
    "bob has not read that its merge came back; it is idle, and goes on only when prompted: type a word to it in kite agents attach bob";
  expect(await merged()).toContain(unwoken);
  for (const look of [["agents"], ["agent", "bob"], ["status"], ["merge", "--list"]])
    expect((await world.kite(look)).out.replaceAll(/\s+/g, " ")).toContain(
      "bob has not read that its merge came back",
    );
  stopped.destroy();
  lead.destroy();
});

test("the task of an author that has ended is pending again, and the person is told that nobody reads it", async () => {
  const { home } = world;
  const lead = await home.session("lead", { project: home.work, name: "Lead" });
  const dir = join(home.work, "..", "feature");
  world.git("worktree", "add", "-q", "-b", "feature", dir);
  const cy = await home.session("cy", { project: home.work, name: "Cy", cwd: dir });
  const task = await kiteTask(world, "one");
  await world.kite(["task", "done", task, "did it"], { CLAUDE_CODE_SESSION_ID: "cy" });
  for (const [folder, text] of [
    [dir, "one\n"],
    [home.work, "otherwise\n"],
  ] as const) {
    writeFileSync(join(folder, "new.txt"), text);
    world.git("-C", folder, "add", "new.txt");
    world.git("-C", folder, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "x");
  }
  expect(await cy.ask({ type: "deregister", id: "cy" })).toMatchObject({ ok: true });
  const merged = await world.kite(["merge", "feature"], { ...identity, CLAUDE_CODE_SESSION_ID: "lead" });
  expect(merged.out.replaceAll(/\s+/g, " ")).toMatch(/Cy .*nobody is there to read that it came back/);
  expect(await statusOf(task)).toBe("pending");
  expect((await world.kite(["status"])).out).toContain("A branch came back from a merge");
  for (const one of [cy, lead]) one.destroy();
});
