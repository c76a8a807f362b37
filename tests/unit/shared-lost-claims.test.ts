/** Agents whose claims are gone when the store is back. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Command, CommandOf } from "../../daemon/core/tables/entries.ts";
import { memoryStore } from "../journal/memory-journal.ts";
import {
  actorOf,
  begin,
  claim,
  copyPathOfTest,
  create,
  type Machine,
  MemoryStoreOfAll,
  machine,
  settled,
  shared,
  takeAway,
} from "./shared-world.ts";

async function twoMachines() {
  const all = new MemoryStoreOfAll();
  const [laptop, desk] = await Promise.all([machine("laptop", all), machine("desk", all)]);
  for (const { store } of [laptop, desk]) expect(await store.open(10_000)).toBe(true);
  await begin(laptop, "alice");
  await begin(desk, "bob");
  for (const what of ["first", "second"]) await laptop.log.submitAndWait(create(laptop, "alice", what));
  await laptop.log.submitAndWait(claim(laptop, "alice"));
  const { claims } = desk.log.logOf("/desk/app").state.tasks;
  const [[task = ""] = []] = claims.values();
  return { all, laptop, desk, task };
}

function texts({ own }: Machine): readonly string[] {
  return [...own.state.messages.all.values()].map(({ text }) => text);
}

it("hear of it by a message, once, and of no other", async () => {
  const { all, laptop, desk, task } = await twoMachines();
  await takeAway(all, laptop);
  // The desk still reaches it, and the laptop sees nothing of that.
  const origin = { node: desk.store.node, epoch: all.epoch, n: 1_000 };
  all.append([{ origin, at: 0, command: { type: "task_release", by: null, task, wallMs: 5 } }]);
  all.awaySinceMs = null;
  await expect.poll(() => texts(laptop), { timeout: 20_000 }).toHaveLength(1);
  expect(texts(laptop)[0]).toMatch(/^Kite: task #1 "first" is no longer yours: it was given back while/);
  expect(texts(desk)).toEqual([]);
  // Another opening finds nothing new.
  await laptop.log.submitAndWait(claim(laptop, "alice"));
  await takeAway(all, laptop);
  all.awaySinceMs = null;
  await expect.poll(() => laptop.conditions.at(-1), { timeout: 20_000 }).toBe("open");
  await laptop.own.submitAndWait({ type: "outbox_sent", node: "none", last: { epoch: 0, n: 0 } });
  expect(texts(laptop)).toHaveLength(1);
});

it("hear who took a task meanwhile", async () => {
  const { all, laptop, desk, task } = await twoMachines();
  const { state } = desk.log.logOf("/desk/app");
  await expect.poll(() => state.sessions.byNode.get(desk.store.node)?.size).toBe(1);
  const [bob = ""] = state.sessions.byNode.get(desk.store.node) ?? [];
  await takeAway(all, laptop);
  const origin = { node: desk.store.node, epoch: all.epoch, n: 1_000 };
  const actor = { session: bob, agent: null, incarnation: 0 };
  const work = { task, labels: [], project: shared, cwd: "", wallMs: 6 };
  all.append([
    { origin, at: 0, command: { type: "task_release", by: null, task, wallMs: 5 } },
    { origin: { ...origin, n: 1_001 }, at: 0, command: { type: "task_claim", actor, ...work } },
  ]);
  all.awaySinceMs = null;
  await expect.poll(() => texts(laptop), { timeout: 20_000 }).toHaveLength(1);
  expect(texts(laptop)[0]).toContain("is no longer yours: bob@desk took it while");
});

describe("a daemon that is killed", () => {
  /** The laptop's agent claims a task, and its daemon is killed: what follows begins over its log. */
  async function killed() {
    const all = new MemoryStoreOfAll();
    const [kept, path] = [memoryStore(), copyPathOfTest()];
    const claimsPath = join(dirname(path), "claims");
    const place = { kept, claimsPath, node: "same" };
    const [laptop, desk] = [await machine("laptop", all, place), await machine("desk", all)];
    for (const { store } of [laptop, desk]) expect(await store.open(10_000)).toBe(true);
    await begin(laptop, "alice");
    await laptop.log.submitAndWait(create(laptop, "alice", "first"));
    const reply = await laptop.log.submitAndWait(claim(laptop, "alice"));
    const { id } = (reply as unknown as { task: { id: string } }).task;
    await expect.poll(() => existsSync(claimsPath)).toBe(true);
    const begins = async () => {
      const next = await machine("laptop", all, place);
      return { next, isOpen: next.store.open(10_000) };
    };
    const release = (n: number) => {
      const origin = { node: desk.store.node, epoch: desk.store.engine?.epoch ?? 0, n: 1_000 + n };
      all.append([{ origin, at: 0, command: { type: "task_release", by: null, task: id, wallMs: n } }]);
    };
    return { all, laptop, claimsPath, begins, release };
  }

  it("finds the claims of before, whether the store was away or open then", async () => {
    const { laptop, claimsPath, begins, release } = await killed();
    laptop.kill();
    release(5);
    const { next, isOpen } = await begins();
    expect(await isOpen).toBe(true);
    await expect.poll(() => texts(next)).toHaveLength(1);
    expect(texts(next)[0]).toContain('task #1 "first" is no longer yours: it was given back while');
    expect(texts(laptop)).toEqual([]);
    // Nobody has a claim any more.
    await expect.poll(() => existsSync(claimsPath)).toBe(false);
  });

  it("tells nobody of what it was about to end itself, and of later claims again", async () => {
    const { all, laptop, claimsPath, begins, release } = await killed();
    all.holds = true;
    const own = { by: actorOf("alice"), project: "/laptop/app" };
    void laptop.log.submitAndWait({ type: "task_release", task: "#1", wallMs: 4, ...own });
    await expect.poll(() => all.kept).toBe(1);
    laptop.kill();
    all.holds = false;
    all.release();
    const { next, isOpen } = await begins();
    expect(await isOpen).toBe(true);
    await settled(next);
    await next.own.submitAndWait({ type: "outbox_sent", node: "none", last: { epoch: 0, n: 0 } });
    expect(texts(next)).toEqual([]);
    await expect.poll(() => existsSync(claimsPath)).toBe(false);
    await next.log.submitAndWait(claim(next, "alice"));
    await expect.poll(() => existsSync(claimsPath)).toBe(true);
    next.kill();
    release(5);
    const third = await begins();
    expect(await third.isOpen).toBe(true);
    await expect.poll(() => texts(third.next)).toHaveLength(1);
  });

  it("tells nobody of claims that are still theirs", async () => {
    const { laptop, claimsPath, begins } = await killed();
    laptop.kill();
    const { next, isOpen } = await begins();
    expect(await isOpen).toBe(true);
    await settled(next);
    expect(texts(next)).toEqual([]);
    expect(existsSync(claimsPath)).toBe(true);
  });
});

describe("an agent that ends its task itself as the store goes away", () => {
  const nothing = { dependsOn: null, description: null, priority: null, labels: null, cwd: "/" } as const;
  const place = { project: "/laptop/app", wallMs: 9 } as const;
  const release = (task: string, by: string | null, cause?: string): Command => ({
    ...{ type: "task_release", by: by === null ? null : actorOf(by), task, ...place },
    ...(cause === undefined ? {} : { cause }),
  });
  const update = (task: string, status: "done" | "failed" | "pending", result: string | null = null) =>
    ({ type: "task_update", by: actorOf("alice"), task, status, result, ...nothing, ...place }) as const;
  const endings = [
    ["releases it", release("#1", "alice")],
    ["does it", update("#1", "done", "there")],
    ["fails", update("#1", "failed", "no way")],
    ["takes it back", update("#1", "pending")],
    ["has it given back by a part that tells it otherwise", release("#1", null, "released by a person")],
  ] as const;

  /** The store has the command, and no answer comes: the log is opened anew. */
  async function broken(
    { all, laptop }: Pick<Awaited<ReturnType<typeof twoMachines>>, "all" | "laptop">,
    command: Command,
  ) {
    all.holds = true;
    const answer = laptop.log.submitAndWait(command);
    await expect.poll(() => all.kept).toBe(1);
    await takeAway(all, laptop);
    expect(await answer).toMatchObject({ ok: false, code: "outcome_unknown" });
    all.holds = false;
  }

  async function isBack(all: MemoryStoreOfAll, { conditions, own }: Machine): Promise<void> {
    all.awaySinceMs = null;
    await expect.poll(() => conditions.at(-1), { timeout: 20_000 }).toBe("open");
    await own.submitAndWait({ type: "outbox_sent", node: "none", last: { epoch: 0, n: 0 } });
  }

  it.each(endings)("and %s is not told that others did", async (_, command) => {
    const { all, laptop, desk, task } = await twoMachines();
    await broken({ all, laptop }, command);
    all.release();
    await isBack(all, laptop);
    expect(laptop.store.state?.tasks.all.get(task)?.state.status).not.toBe("active");
    expect(texts(laptop)).toEqual([]);
    // It may claim it again, and then hears of what others do.
    if (command.type !== "task_release") return;
    await laptop.log.submitAndWait(claim(laptop, "alice", task));
    await takeAway(all, laptop);
    append(all, desk, release(task, null));
    await isBack(all, laptop);
    await expect.poll(() => texts(laptop)).toEqual([expect.stringContaining("it was given back while")]);
  });

  it("is told that a person did who did it as the store went away", async () => {
    const { all, laptop } = await twoMachines();
    await broken({ all, laptop }, release("#1", null));
    all.release();
    await isBack(all, laptop);
    await expect.poll(() => texts(laptop)).toEqual([expect.stringContaining("it was given back while")]);
  });

  it("is not told, if the log goes on where it was", async () => {
    const { all, laptop, task } = await twoMachines();
    all.holds = true;
    const answer = laptop.log.submitAndWait(release(task, "alice"));
    await expect.poll(() => all.kept).toBe(1);
    all.awaySinceMs = Date.now();
    expect(laptop.conditions.at(-1)).toBe("away");
    all.holds = false;
    all.release();
    expect(await answer).toMatchObject({ ok: true });
    await isBack(all, laptop);
    expect(texts(laptop)).toEqual([]);
  });

  it("is told of what others do later, if the store did not get or did not take it", async () => {
    const { all, laptop, desk, task } = await twoMachines();
    // A result is for a task that is over.
    expect(await laptop.log.submitAndWait(update(task, "pending", "nothing"))).toMatchObject({ ok: false });
    await broken({ all, laptop }, release(task, "alice"));
    all.lose();
    await isBack(all, laptop);
    expect(laptop.store.state?.tasks.all.get(task)?.state.status).toBe("active");
    expect(texts(laptop)).toEqual([]);
    await takeAway(all, laptop);
    append(all, desk, release(task, null));
    await isBack(all, laptop);
    await expect.poll(() => texts(laptop)).toEqual([expect.stringContaining("it was given back while")]);
  });

  /** Another machine enters it, which this one does not see. */
  function append(all: MemoryStoreOfAll, { store: { node } }: Machine, command: Command): void {
    all.append([{ origin: { node, epoch: all.epoch, n: 2_000 }, at: 0, command }]);
  }
});

describe("while the store is open", () => {
  it("hear who gave their task back or ended it, once, and of nothing that they did themselves", async () => {
    const { all, laptop, desk, task } = await twoMachines();
    const release = { type: "task_release", by: null, task, wallMs: 5 } as const;
    await desk.log.submitAndWait({ ...release, project: "/desk/app" });
    await expect.poll(() => texts(laptop)).toHaveLength(1);
    expect(texts(laptop)[0]).toBe(
      'Kite: task #1 "first" is no longer yours: a person at desk gave it back. Look at it again before you go on with it.',
    );
    await laptop.log.submitAndWait(claim(laptop, "alice", task));
    const own = { by: actorOf("alice"), project: "/laptop/app" };
    await laptop.log.submitAndWait({ ...release, ...own, wallMs: 6 });
    await laptop.log.submitAndWait(claim(laptop, "alice", task));
    await laptop.log.submitAndWait({ ...release, by: null, project: "/laptop/app", wallMs: 7 });
    await expect.poll(() => texts(laptop)).toHaveLength(2);
    expect(texts(laptop)[1]).toMatch(/is no longer yours: (?:your user|the user)[^.]* gave it back\./);
    expect(texts(desk)).toEqual([]);
    // The release of an agent tells of all that it had.
    await laptop.log.submitAndWait(claim(laptop, "alice", task));
    const whole = { ...release, cause: "released by a person", project: "/laptop/app", wallMs: 8 };
    await laptop.log.submitAndWait(whole);
    // Another opening finds nothing new.
    await takeAway(all, laptop);
    all.awaySinceMs = null;
    await expect.poll(() => laptop.conditions.at(-1), { timeout: 20_000 }).toBe("open");
    await laptop.own.submitAndWait({ type: "outbox_sent", node: "none", last: { epoch: 0, n: 0 } });
    expect(texts(laptop)).toHaveLength(2);
  });

  it("hear that a person ended it, and nothing when a done one is opened anew", async () => {
    const { laptop, desk, task } = await twoMachines();
    const nothing = { dependsOn: null, description: null, priority: null, labels: null, cwd: "/" };
    const update = { type: "task_update", by: null, task, result: null, ...nothing } as const;
    const done = { ...update, status: "done", project: "/desk/app", wallMs: 5 } as const;
    expect(await desk.log.submitAndWait(done)).toMatchObject({ ok: true });
    await expect.poll(() => texts(laptop)).toHaveLength(1);
    expect(texts(laptop)[0]).toContain("no longer yours: a person at desk ended it.");
    await desk.log.submitAndWait({ ...done, status: "pending", wallMs: 6 });
    await settled(laptop, desk);
    await laptop.own.submitAndWait({ type: "outbox_sent", node: "none", last: { epoch: 0, n: 0 } });
    expect(texts(laptop)).toHaveLength(1);
  });

  it("hear nothing when somebody edits it, and it stays theirs", async () => {
    const { laptop, desk, task } = await twoMachines();
    const other = await laptop.log.submitAndWait(create(laptop, "alice", "done before"));
    const { id: done = "" } = (other as unknown as { task?: { id: string } }).task ?? {};
    const nothing = { dependsOn: null, description: null, priority: null, labels: null, cwd: "/" };
    const still = { type: "task_update", task, status: null, result: null, ...nothing } as const;
    const edits: readonly Partial<CommandOf<"task_update">>[] = [
      { description: "other words" },
      { priority: "high" },
      { labels: ["docs"] },
      { risk: "yellow" },
      { dependsOn: [done] },
      { status: "active" },
      // Whose work it was is known of a task that is over, too.
      { task: done, result: "otherwise" },
      { task: done, description: "so it was" },
    ];
    let wallMs = 5;
    const ends = { ...still, task: done, status: "done", result: "so", by: actorOf("alice") } as const;
    const reply = await laptop.log.submitAndWait({ ...ends, project: "/laptop/app", wallMs });
    expect(reply).toMatchObject({ ok: true });
    for (const edit of edits)
      for (const { by, machine } of [
        { machine: desk, by: null },
        { machine: laptop, by: null },
        { machine: desk, by: actorOf("bob") },
      ]) {
        wallMs += 1;
        const where = { project: `/${machine.name}/app`, wallMs };
        await machine.log.submitAndWait({ ...still, ...edit, ...where, by });
      }
    // What a machine that shares again brings over.
    const merged = { ...still, by: null, project: "/laptop/app", priority: "low" } as const;
    const retry = { by: "store share", requestId: task, digest: "" };
    expect(await laptop.log.submitAndWait({ ...merged, wallMs: 90, retry })).toMatchObject({ ok: true });
    await settled(laptop, desk);
    await laptop.own.submitAndWait({ type: "outbox_sent", node: "none", last: { epoch: 0, n: 0 } });
    const { state } = laptop.log.logOf("/laptop/app");
    expect(state.tasks.all.get(task)).toMatchObject({ priority: "low", state: { status: "active" } });
    expect([...texts(laptop), ...texts(desk)]).toEqual([]);
  });

  it("hear of it when the machine was silent for so long that the store ended its sessions", async () => {
    const { all, laptop, desk, task } = await twoMachines();
    const isActive = () => laptop.store.state?.tasks.all.get(task)?.state.status === "active";
    // The laptop sleeps, and still has the connection when it wakes: an hour each time that the desk says something.
    for (let hours = 1; isActive() && hours < 60; hours += 1) {
      all.aheadMs = hours * 3_600_000;
      await desk.log.submitAndWait(create(desk, "bob", `at ${hours}`));
      await laptop.store.engine?.upToDate();
    }
    await expect.poll(() => texts(laptop)).toHaveLength(1);
    expect(texts(laptop)[0]).toContain('task #1 "first" is no longer yours: it was given back.');
    expect(laptop.conditions).toEqual(["open"]);
  });
});
