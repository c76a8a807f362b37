import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Payload, quiet, type Ran, type Replay, ReplayWorld, type Watcher } from "./hook-replay.ts";

/** Hooks that are ended while they wait, hooks that run twice, and turns that end without an event. */
let world: ReplayWorld;
let watch: Watcher;
let first: Replay;
let second: Replay;
let third: Replay;

beforeEach(async () => {
  world = await ReplayWorld.make();
  await world.home.start();
  watch = await world.watch();
  [first, second, third] = [world.replay(), world.replay(), world.replay()];
  for (const session of [first, second, third]) await session.until("PreToolUse");
});

afterEach(() => world.remove());

const stopOf = (session: Replay): Payload => ({
  hook_event_name: "Stop",
  session_id: session.id,
  cwd: world.repo,
  background_tasks: [],
});

describe("a hook that waits is ended", () => {
  // Esc ends it with SIGTERM; SIGKILL is what nothing can answer.
  test.each(["SIGTERM", "SIGKILL"] as const)("by %s: its place in line is free at once", async signal => {
    await first.send(first.edit("Edit", "a.txt"));
    const held = second.start(second.edit("Edit", "a.txt"));
    await watch.queued(second.id);
    const waits = third.send(third.edit("Edit", "a.txt"));
    await watch.queued(third.id);

    held.child.kill(signal);
    const { stdout } = await held.ran;
    expect(stdout).toBe("");
    expect(await watch.waitEnded(second.id)).toMatchObject({ waiter: { id: second.id } });
    const [row] = await watch.locks();
    expect(row?.waiters.map(w => w.id)).toEqual([third.id]);

    await first.send(stopOf(first));
    for (const ran of await waits) quiet(ran);
    expect(await watch.held()).toEqual([`a.txt: ${third.id}`]);
  });

  test("the interrupted turn's own locks go with the next prompt", async () => {
    await first.send(first.edit("Edit", "a.txt"));
    const waits = second.send(second.edit("Edit", "a.txt"));
    await watch.queued(second.id);
    const prompt = {
      hook_event_name: "UserPromptSubmit",
      session_id: first.id,
      cwd: world.repo,
      prompt: "x",
    };
    const same = first.edit("Edit", "a.txt")["prompt_id"];
    for (const ran of await first.send({ ...prompt, prompt_id: same })) quiet(ran);
    expect(await watch.held()).toEqual([`a.txt: ${first.id}`]);
    for (const ran of await first.send({ ...prompt, prompt_id: randomUUID() })) quiet(ran);
    for (const ran of await waits) quiet(ran);
    expect(await watch.held()).toEqual([`a.txt: ${second.id}`]);
  });
});

describe("hooks installed twice", () => {
  beforeEach(() => {
    const settings = JSON.parse(readFileSync(world.settings, "utf8"));
    for (const groups of Object.values<unknown[]>(settings.hooks)) groups.push(...groups);
    writeFileSync(world.settings, JSON.stringify(settings));
  });

  const same = (ran: readonly Ran[]) => {
    expect(ran).toHaveLength(2);
    expect(ran[0]?.stdout).toBe(ran[1]?.stdout);
    for (const one of ran) expect(one).toMatchObject({ code: 0, stderr: "" });
    return ran[0]?.stdout ?? "";
  };

  test("both get the same answer: at once, after a wait, and when the file changed", async () => {
    expect(same(await first.send(first.edit("Edit", "a.txt")))).toBe("");
    expect(same(await first.send(first.edit("Write", "b.txt")))).toBe("");
    const edit = second.send(second.edit("Edit", "a.txt"));
    const write = third.send(third.edit("Write", "b.txt"));
    await Promise.all([watch.queued(second.id), watch.queued(third.id)]);
    // The file's stamp is taken when the wait begins; a command that was answered after that came later.
    await world.run("status");
    writeFileSync(join(world.repo, "b.txt"), "new\n");
    await first.send(stopOf(first));
    expect(same(await edit)).toBe("");
    expect(JSON.parse(same(await write)).hookSpecificOutput).toMatchObject({ permissionDecision: "deny" });
    expect(await watch.held()).toEqual([`a.txt: ${second.id}`, `b.txt: ${third.id}`]);
    await third.send(stopOf(third));
    await second.send(stopOf(second));
    expect(await watch.held()).toEqual([]);
  });

  test("a whole session leaves nothing", async () => {
    const session = world.replay("c-subagents");
    await session.toTheEnd();
    expect(await watch.held()).toEqual([]);
    expect(await watch.session(session.id)).toBeUndefined();
  });
});
