/**
 * Shares and leaves that are killed at each step: after the next opening nothing is lost, and nothing is there twice.
 */
import { expect, test } from "vitest";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { numberOf, type TaskUpdate } from "../../daemon/core/tables/tasks.ts";
import { CopyRefused } from "../../daemon/sharing/copy.ts";
import { isSharedAs, moveAll, shareProject, takeBack, unmoved } from "../../daemon/sharing/share.ts";
import { project, Scene } from "./copy-world.ts";
import { actor } from "./core-world.ts";
import { Local, shared } from "./nodes-world.ts";

// A machine with work of its own in a store with another one, for moves that are killed.

const none = {
  ...{ by: null, dependsOn: null, description: null, priority: null, labels: null },
  ...{ status: null, result: null, cwd: "" },
} as const;

/** A label that the other machine gives a task. */
const mark = "urgent";

/** This machine with work of its own, and another one that shares the project. */
class Moves extends Scene {
  readonly desk = new Local("b");
  readonly first: string;
  /** Whether the other machine gave the first task a label. */
  isMarked = false;

  constructor() {
    super();
    const { own, store, desk } = this;
    own.begin("s1", { name: "alice" });
    const done = this.add("done");
    this.here(done, { status: "done", result: "well" });
    const first = this.add("first", { dependsOn: [done] });
    this.first = first;
    this.add("second", { dependsOn: [first] });
    this.here(this.add("cancelled"), { status: "failed", result: "not needed" });
    this.claim("working");
    for (const key of ["one", "two"]) this.set(command => own.do(command), key, "0");
    desk.begin("s9", { name: "bob" });
    store.take("b", desk);
    store.add("b", null, "of desk");
    this.set(command => store.as("b", command), "far", "0", shared);
  }

  here(task: string, what: Partial<TaskUpdate>): void {
    const update: Command = { ...none, type: "task_update", task, project, wallMs: 7_000, ...what };
    expect(this.own.do(update)).toMatchObject({ ok: true });
  }

  there(task: string, what: Partial<TaskUpdate>): void {
    const update: Command = { ...none, type: "task_update", task, project: shared, wallMs: 8_000, ...what };
    expect(this.store.as("b", update)).toMatchObject({ ok: true });
  }

  claim(name: string): void {
    const where = { labels: [], project, cwd: "", wallMs: 7_000 };
    const claim = { type: "task_claim", actor: actor("s1"), task: this.add(name), ...where } as const;
    expect(this.own.do(claim)).toMatchObject({ ok: true });
  }

  idOf(name: string): string {
    for (const { state } of [this.store, this.own])
      for (const { id, description } of state.tasks.all.values()) if (description === name) return id;
    throw new Error(`no task ${name}`);
  }

  share() {
    return shareProject(this.logs, project, shared);
  }

  /** Leaves, and tells the store so, as a daemon that is not killed does. */
  async leave(): Promise<void> {
    await takeBack(this.logs, this.outward);
    if (!this.isDead) expect(this.store.as("a", { type: "node_leave" })).toMatchObject({ ok: true });
  }

  get isShared(): boolean {
    return isSharedAs(this.own, project, shared);
  }

  /** What one log has: each open task with its claim and labels, each task that is done, and the values. */
  of(log: "own" | "store") {
    const [world, name] = log === "own" ? [this.own, project] : [this.store, shared];
    const all = [...world.state.tasks.all.values()].filter(one => one.project === name);
    const ended = all.filter(one => one.state.status === "done" && one.description !== "done");
    const labelsOf = (some: readonly string[]) => some.filter(one => one !== mark).join(" ");
    const labels = all.map(({ description, labels: some }) => `${description}: ${labelsOf(some)}`);
    return {
      ...{ open: [...this.tasks(world, name)].sort(), ended: ended.map(one => one.description) },
      ...{ labels: labels.filter(one => !one.startsWith("done:")).sort() },
      ...{ context: this.context(world, name) },
    };
  }

  /** What Kite says of the moves themselves: see `store-copy.test.ts`. */
  get messages(): readonly string[] {
    const texts = [...this.own.state.messages.all.values()].map(({ text }) => text);
    return texts.filter(text => !text.startsWith("Kite: "));
  }
}

/** What another machine does while the killed daemon is not there. */
const meanwhiles: Readonly<Record<string, (moves: Moves) => void>> = {
  nothing: () => {},
  "the other machine works": moves => {
    const first = moves.store.state.tasks.all.get(moves.first);
    moves.isMarked = first !== undefined;
    if (first !== undefined) moves.there(moves.first, { labels: [...first.labels, mark] });
    moves.there(moves.idOf("of desk"), { status: "done", result: "well" });
    moves.set(command => moves.store.as("b", command), "far", "1", shared);
  },
};

/** Ends all that a killed daemon did, and opens the store anew. */
async function openAnew(moves: Moves): Promise<void> {
  moves.revive();
  moves.store.join("a", "laptop");
  if (moves.own.state.outbox.projects.size > 0) await moveAll(moves.logs, () => {});
}

/** Kills a move at each of its steps, before the log takes it and behind that, and looks at what there is after the next opening. */
async function killEach(
  prepare: () => Promise<Moves>,
  move: (moves: Moves) => Promise<unknown>,
  look: (moves: Moves, whole: Moves, where: string) => void,
): Promise<void> {
  for (const [what, meanwhile] of Object.entries(meanwhiles)) {
    const whole = await prepare();
    const before = whole.count;
    await move(whole);
    const steps = whole.count - before;
    expect(steps).toBeGreaterThan(5);
    meanwhile(whole);
    for (const how of ["refused", "lost"] as const) {
      for (let at = 1; at <= steps; at += 1) {
        const moves = await prepare();
        moves.breakAt({ at, how, isKill: true });
        await move(moves).catch(refused);
        meanwhile(moves);
        await openAnew(moves);
        const labels = moves.store.state.tasks.all.get(moves.first)?.labels ?? [];
        expect([what, how, at, labels.includes(mark)]).toEqual([what, how, at, moves.isMarked]);
        look(moves, whole, `${how} at step ${at} of ${steps}, ${what}`);
      }
    }
  }
}

/** All is in the store, and nothing is here. */
function expectInStore(moves: Moves, whole: Moves, where: string): void {
  expect([where, moves.isShared, unmoved(moves.logs)]).toEqual([where, true, []]);
  expect([where, moves.of("store")]).toEqual([where, whole.of("store")]);
  expect([where, moves.of("own").open, moves.of("own").context]).toEqual([where, [], {}]);
}

test("a first share that is killed anywhere is not begun, or finished", async () => {
  const prepare = async () => new Moves();
  await killEach(
    prepare,
    moves => moves.share(),
    (moves, whole, where) => {
      if (moves.isShared) return expectInStore(moves, whole, where);
      const untouched = new Moves();
      expect([where, moves.of("own")]).toEqual([where, untouched.of("own")]);
      expect([where, moves.of("store").labels]).toEqual([where, ["of desk: "]]);
    },
  );
});

/** A machine that left and shares again, with work on both sides. */
async function secondShare(): Promise<Moves> {
  const moves = new Moves();
  await moves.share();
  await moves.leave();
  const second = moves.idOf("second");
  moves.there(second, { description: "second of desk" });
  moves.here(second, { description: "second of laptop" });
  moves.here(moves.idOf("first"), { description: "first of laptop", labels: ["x", "laptop"] });
  const done = moves.idOf("cancelled");
  moves.here(done, { status: "pending" });
  moves.here(done, { status: "done", result: "after all" });
  moves.claim("new");
  moves.set((command: Command) => moves.own.do(command), "one", "of laptop");
  moves.set((command: Command) => moves.store.as("b", command), "two", "of desk", shared);
  moves.store.join("a", "laptop");
  return moves;
}

/** The key under which the second share keeps a text. */
function secondsText(moves: Moves): string {
  const second = moves.store.state.tasks.all.get(moves.idOf("second of desk"));
  return `task/${second === undefined ? "" : numberOf(second)}/description@laptop`;
}

test("what another machine undoes of a share that was killed stays so", async () => {
  let undone = 0;
  for (let at = 1, isOver = false; !isOver; at += 1) {
    const moves = await secondShare();
    moves.breakAt({ at, how: "lost", isKill: true });
    await moves.share().catch(refused);
    isOver = !moves.isDead;
    const cancelled = moves.idOf("cancelled");
    const state = () => moves.store.state.tasks.all.get(cancelled)?.state.status;
    const isBrought = state() === "done";
    if (isBrought) moves.there(cancelled, { status: "pending" });
    if (isBrought && moves.records.has(project)) undone += 1;
    await openAnew(moves);
    const expected = isBrought ? "pending" : moves.isShared ? "done" : "failed";
    expect([at, state()]).toEqual([at, expected]);
  }
  expect(undone).toBeGreaterThan(3);
});

test("a second share that is killed anywhere is not begun, or finished, with what both sides changed", async () => {
  const whole = await secondShare();
  await whole.share();
  expect(whole.of("store")).toEqual({
    open: [
      ...["first of laptop pending", "new active by s1", "of desk pending"],
      ...["second of desk pending on first of laptop", "working active by s1"],
    ],
    ended: ["cancelled"],
    labels: [
      ...["cancelled: x", "first of laptop: x laptop", "new: x", "of desk: "],
      ...["second of desk: x", "working: x"],
    ],
    context: { one: "of laptop", two: "of desk", far: "0", [secondsText(whole)]: "second of laptop" },
  });
  await killEach(
    secondShare,
    moves => moves.share(),
    (moves, finished, where) => {
      if (moves.isShared) return expectInStore(moves, finished, where);
      const untouched = moves.of("own");
      expect([where, untouched.open]).toEqual([
        where,
        [
          ...["first of laptop pending", "new active by s1", "of desk pending"],
          ...["second of laptop pending on first of laptop", "working active by s1"],
        ],
      ]);
      expect([where, untouched.context]).toEqual([where, { one: "of laptop", two: "0", far: "0" }]);
    },
  );
});

test("what another machine removes behind a share that was killed comes back as it was, or not at all", async () => {
  let back = 0;
  for (let at = 1, isOver = false; !isOver; at += 1) {
    const moves = await secondShare();
    moves.breakAt({ at, how: "lost", isKill: true });
    await moves.share().catch(refused);
    isOver = !moves.isDead;
    const second = moves.idOf("second of desk");
    moves.there(second, { status: "failed", result: "not needed" });
    expect(moves.store.as("b", { type: "task_remove", by: null, tasks: [second] })).toMatchObject({
      ok: true,
    });
    await openAnew(moves);
    const state = moves.store.state.tasks.all.get(second)?.state;
    if (state !== undefined) back += 1;
    expect([at, state?.status ?? "pending"]).toEqual([at, "pending"]);
    if (moves.isShared) expect([at, moves.of("own").open]).toEqual([at, []]);
  }
  expect(back).toBeGreaterThan(3);
});

test("a share that is killed anywhere names in the end what it brought back, once", async () => {
  const prepare = async () => {
    const moves = await secondShare();
    const { store } = moves;
    const gone = moves.idOf("of desk");
    moves.there(gone, { status: "failed", result: "not needed" });
    expect(store.as("b", { type: "task_remove", by: null, tasks: [gone] })).toMatchObject({ ok: true });
    const rm = { actor: null, project: shared, key: "far", ifVersion: null } as const;
    expect(store.as("b", { type: "context_delete", ...rm })).toMatchObject({ ok: true });
    return moves;
  };
  let isOver = false;
  for (let at = 1; !isOver; at += 1) {
    const moves = await prepare();
    const named: unknown[] = [];
    moves.breakAt({ at, how: "lost", isKill: true });
    const first = await moves.share().catch(refused);
    isOver = !moves.isDead;
    if (first !== undefined) named.push(first.returns);
    moves.revive();
    moves.store.join("a", "laptop");
    if (!moves.isShared) named.push((await moves.share()).returns);
    // Where the last step was taken nothing is left that could be named.
    else if (moves.records.has(project))
      await moveAll(moves.logs, (_one, { returns }) => named.push(returns));
    else if (first === undefined) continue;
    const task = moves.idOf("of desk");
    const there = moves.store.state.tasks.all.get(task);
    const number = there === undefined ? 0 : numberOf(there);
    expect([at, named]).toEqual([at, [[{ task, number }, { key: "far" }]]]);
  }
});

test("a leave that is killed anywhere is undone, or was the last step, and nothing is there twice", async () => {
  const prepare = async () => {
    const moves = new Moves();
    await moves.share();
    const alice = moves.own.idOf("s1");
    const letter = { project: shared, text: "hello", bytes: 5, to: alice, replyTo: null, urgent: true };
    const send = { type: "message_send", actor: actor(moves.desk.idOf("s9")), ...letter, wallMs: 9 } as const;
    expect(moves.store.as("b", send)).toMatchObject({ ok: true });
    return moves;
  };
  const undone = new Map<string, number | null>();
  await killEach(
    prepare,
    moves => moves.leave(),
    (moves, whole, where) => {
      undone.set(where, moves.records.undoneAtMs);
      const { labels, ended, context } = whole.of("store");
      const store = moves.of("store");
      expect([where, store.labels, store.ended, store.context]).toEqual([where, labels, ended, context]);
      expect([where, moves.messages.length]).toEqual([where, moves.messages.includes("hello") ? 1 : 0]);
      if (moves.isShared) {
        expect([where, store.open]).toContainEqual(expect.arrayContaining(["working active by s1"]));
        expect([where, moves.of("own").open, moves.of("own").context]).toEqual([where, [], {}]);
        expect([where, unmoved(moves.logs)]).toEqual([where, []]);
      } else {
        // What the other machine does behind the entry is not this one's any more.
        const untouched = moves.of("own");
        const all = ["cancelled", "first", "of desk", "second", "working"];
        expect([where, untouched.labels.map(one => one.replace(/:.*/, ""))]).toEqual([where, all]);
        expect([where, Object.keys(untouched.context).sort()]).toEqual([where, ["far", "one", "two"]]);
        expect([where, moves.messages]).toEqual([where, ["hello"]]);
      }
    },
  );
  const counts = [...undone.values()];
  expect(counts.filter(one => one !== null).length).toBeGreaterThan(counts.length / 2);
});

test("what is made while a machine leaves is back with it, or in the store", async () => {
  let left = 0;
  for (let at = 1, isOver = false; !isOver; at += 1) {
    const moves = new Moves();
    await moves.share();
    moves.breakAt({ at, how: "lost", isKill: true });
    moves.meanwhile = () => {
      moves.meanwhile = () => {};
      moves.store.add("a", null, "late");
    };
    await moves.leave().catch(refused);
    isOver = !moves.isDead;
    await openAnew(moves);
    if (!moves.isShared) left += 1;
    if (!moves.isShared)
      expect([at, moves.of("own").open]).toEqual([at, expect.arrayContaining(["late pending"])]);
  }
  expect(left).toBeGreaterThan(0);
});

test("a leave that is killed anywhere, and run again, ends as one that was not", async () => {
  const prepare = async () => {
    const moves = new Moves();
    await moves.share();
    return moves;
  };
  const whole = await prepare();
  await whole.leave();
  const steps = whole.count;
  for (const isAway of [false, true]) {
    for (let at = 1; at <= steps; at += 1) {
      const moves = await prepare();
      moves.breakAt({ at, how: "lost", isKill: true });
      await moves.leave().catch(refused);
      moves.revive();
      if (!moves.isShared) continue;
      // Where the store is away what was copied stays, and nothing is undone.
      if (!isAway) await moveAll(moves.logs, () => {});
      await takeBack(moves.logs, moves.outward);
      expect([isAway, at, moves.of("own")]).toEqual([isAway, at, whole.of("own")]);
    }
  }
});

test("what was copied back before a store was gone for good stays, also if less is known of it then", async () => {
  const moves = new Moves();
  await moves.share();
  moves.there(moves.idOf("of desk"), { description: "of desk, newer" });
  moves.set(command => moves.store.as("b", command), "far", "newer", shared);
  const isLast = ({ type }: Command) => type === "sharing_set";
  const { own } = moves.logs;
  const dying = {
    ...own,
    submitAndWait: async (command: Command) =>
      isLast(command)
        ? ({ ok: false, code: "store_full", error: "the disk is full" } as const)
        : own.submitAndWait(command),
  };
  await expect(takeBack({ ...moves.logs, own: dying }, moves.outward)).rejects.toThrow("the disk is full");
  // The daemon's copy of the store is older than that.
  const older = new Moves().logs.shared;
  await takeBack({ ...moves.logs, shared: older }, moves.outward);
  expect(moves.of("own").open).toEqual([
    ...["cancelled failed", "first pending", "of desk, newer pending", "second pending on first"],
    "working active by s1",
  ]);
  expect(moves.of("own").context).toEqual({ one: "0", two: "0", far: "newer" });
});

test("what is made here while no store is set goes to the store, also behind a leave that was killed", async () => {
  for (let at = 1, isOver = false; !isOver; at += 1) {
    const moves = new Moves();
    await moves.share();
    moves.breakAt({ at, how: "lost", isKill: true });
    await moves.leave().catch(refused);
    isOver = !moves.isDead;
    if (!moves.isShared) continue;
    // A person took the setting out, and joins again later.
    const isBack = moves.own.state.tasks.all.get(moves.first)?.project === project;
    moves.add("made here", isBack ? { dependsOn: [moves.first] } : {});
    // So is what is changed of the copies, before the leave is undone.
    if (isBack) moves.here(moves.first, { description: "first, changed here" });
    const second = moves.idOf("second");
    const hasSecond = moves.own.state.tasks.all.get(second)?.state.status === "pending";
    if (hasSecond) moves.here(second, { status: "failed", result: "not needed here" });
    moves.set(command => moves.own.do(command), "made", "here");
    await openAnew(moves);
    expect([at, moves.of("store").open]).toContainEqual(
      expect.arrayContaining([isBack ? "made here pending on first, changed here" : "made here pending"]),
    );
    const state = moves.store.state.tasks.all.get(second)?.state;
    expect([at, state]).toMatchObject([
      at,
      hasSecond ? { reason: "not needed here" } : { status: "pending" },
    ]);
    expect([at, moves.of("store").context]).toEqual([at, expect.objectContaining({ made: "here" })]);
    expect([at, moves.of("own").open, moves.of("own").context]).toEqual([at, [], {}]);
  }
});

function refused(error: unknown): void {
  expect(error).toBeInstanceOf(CopyRefused);
}
