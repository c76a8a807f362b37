/** kite notify: what it tells of, when, and how often. */
import { describe, expect, test } from "vitest";
import { ProgramFailed } from "../../bin/context/programs.ts";
import { eventNotice, type Notice, NoticeWatch, notify } from "../../bin/watch/notify.ts";
import type { EventLine } from "../../protocol/events.ts";
import { fakeDaemon, fakeWorld } from "./command-world.ts";
import { lock, session } from "./view-rows.ts";

const bounds = { personMs: 60_000, waitMs: 30_000 };
const asking = (attention: string | null) => session("carol", { attention });
const waiter = { id: "s2", agent: null, name: "bob", attached: true };
const waited = (waitedMs: number) => lock("src/auth.ts", "carol", { waiters: [{ ...waiter, waitedMs }] });

describe("notices", () => {
  test("come once somebody has needed a person for long enough, and again when it comes again", () => {
    const watch = new NoticeWatch(bounds);
    const at = (nowMs: number, attention: string | null) => watch.look([asking(attention)], [], nowMs);
    expect(at(-1, null)).toEqual([]);
    expect(at(0, "permission for Bash")).toEqual([]);
    expect(at(59_999, "permission for Bash")).toEqual([]);
    const told = [{ title: "carol needs you in shop", text: "permission for Bash" }];
    expect(at(60_000, "permission for Bash")).toEqual(told);
    expect(at(70_000, "permission for Bash")).toEqual([]);
    expect(at(80_000, null)).toEqual([]);
    expect(at(90_000, "permission for Bash")).toEqual([]);
    expect(at(150_000, "permission for Bash")).toEqual(told);
  });

  test("come at once for who needed a person before the first look", () => {
    const watch = new NoticeWatch(bounds);
    expect(watch.look([asking("permission for Bash")], [], 0)).toHaveLength(1);
    expect(watch.look([asking("permission for Bash")], [], 60_000)).toEqual([]);
    expect(watch.look([asking("a question")], [], 60_001)).toEqual([]);
  });

  test("come for a wait that lasts, and not for a waiter whose request is gone", () => {
    const watch = new NoticeWatch(bounds);
    const look = (waitedMs: number) => watch.look([], [waited(waitedMs)], 0);
    expect(look(29_999)).toEqual([]);
    expect(look(30_000)).toEqual([
      { title: "bob waits in shop", text: "for src/auth.ts behind carol, 30 s now" },
    ]);
    expect(look(40_000)).toEqual([]);
    const gone = lock("a.ts", "carol", { waiters: [{ ...waiter, waitedMs: 99_000, attached: false }] });
    expect(watch.look([], [gone], 0)).toEqual([]);
  });

  test("come for wiped work, and not for committed work; foreign text is one harmless line", () => {
    const taken = (how: "committed" | "discarded"): EventLine => ({
      type: "event",
      event: "work_taken",
      how,
      command: "git stash",
      commit: null,
      files: ["a\n.ts"],
      paths: [],
      by: { id: "s2", agent: null, name: "bob" },
      owner: { id: "s1", agent: null, name: "carol\u001b" },
    });
    const projects = new Map([["s2", "/home/ana/code/shop/.git"]]);
    expect(eventNotice(taken("discarded"), projects)).toEqual({
      title: "carol 's work was wiped in shop",
      text: "bob, git stash: a .ts",
    });
    expect(eventNotice(taken("committed"), projects)).toBeNull();
    expect(eventNotice(taken("discarded"), new Map())?.title).toBe("carol 's work was wiped");
    const by = { id: "s2", agent: null, name: "bob" };
    const wiped = (command: string, who: typeof by | null): EventLine => ({
      type: "event",
      event: "work_wiped",
      wipe: "r-12",
      command,
      lines: 3,
      files: ["a\n.ts"],
      paths: [],
      more: 1,
      by: who,
      owner: { id: "s1", agent: null, name: "carol\u001b" },
    });
    expect(eventNotice(wiped("changed outside Kite", null), new Map([["s1", "/shop/.git"]]))).toEqual({
      title: "carol 's work was wiped in shop",
      text: "kite rescue restore r-12: a .ts and 1 more",
    });
    expect(eventNotice(wiped("make", by), new Map())?.title).toBe("carol 's work was wiped");
    // The guard saw that: it was told.
    expect(eventNotice(wiped("git checkout", by), new Map())).toBeNull();
  });
});

describe("kite notify", () => {
  const answers = {
    subscribe: { ok: true },
    "query sessions": { ok: true, rows: [] },
    "query locks": { ok: true, rows: [waited(99_000)] },
  };

  test("shows what there is, then what comes, and reports a notifier that fails", async () => {
    const daemon = fakeDaemon(answers);
    const world = fakeWorld({ daemon });
    const shown: Notice[] = [];
    let resolve = () => {};
    const first = new Promise<void>(done => {
      resolve = done;
    });
    const ended = notify(
      world,
      { waitMs: 30_000 },
      async notice => {
        shown.push(notice);
        resolve();
        throw new ProgramFailed("notify-send ended with 1");
      },
      new AbortController().signal,
    );
    await first;
    expect(shown.map(({ title }) => title)).toEqual(["bob waits in shop"]);
    daemon.push({
      ...{
        event: "lost_update",
        file: "a.ts",
        path: "/p/a.ts",
        writer: { id: "s2", agent: null, name: "bob" },
      },
      ...{ holder: { id: "s1", agent: null, name: "carol" } },
    } as const);
    daemon.die();
    expect(await ended).toBe(3);
    expect(shown.map(({ text }) => text)[1]).toBe("bob wrote a.ts, which carol holds");
    expect(world.out()).toContain("bob waits in shop: for src/auth.ts behind carol, 99 s now\n");
    expect(world.err()).toContain("kite: notify-send ended with 1\n");
  });

  test("without a daemon says so", async () => {
    const world = fakeWorld();
    expect(await notify(world, {}, async () => {}, new AbortController().signal)).toBe(3);
  });
});
