import { describe, expect, it } from "vitest";
import { commandRules } from "../../daemon/core/apply.ts";
import { checkStatuses } from "../../daemon/core/lead/checks.ts";
import type { CheckRecord } from "../../daemon/core/lead/tables/roles.ts";
import { check } from "../../daemon/core/slices.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { actor, bounded, World } from "./core-world.ts";

const command = "c".repeat(64);
const clean = { commit: "a".repeat(40), dirty: "0".repeat(64) };
const place = { project: "/p", worktree: "/p" };

function record(w: World, name: string, more: Partial<CheckRecord> = {}) {
  return w.step({
    type: "check_record",
    actor: null,
    ...place,
    name,
    command,
    exit: 0,
    ranMs: 1200,
    ...clean,
    files: 0,
    wallMs: 5000,
    ...more,
  });
}

const names = (w: World) => [...w.state.checks.results.values()].map(({ name }) => name);
const statusOf = (w: World, present: Parameters<typeof checkStatuses>[3], of = command) =>
  checkStatuses(w.state, place, [{ name: "test", command: of }], present).get("test");

describe("a result", () => {
  it("is the latest of its check, and everybody hears of it", () => {
    const w = new World();
    w.begin("ann", { name: "Ann" });
    const first = record(w, "test", { exit: 1, actor: actor("ann") });
    expect(first.reply).toEqual({ ok: true, green: false });
    expect(first.events).toEqual([
      {
        event: {
          event: "check_recorded",
          ...place,
          check: "test",
          exit: 1,
          commit: clean.commit,
          by: { id: "ann", agent: null, name: "Ann" },
        },
        about: ["ann"],
        project: "/p",
      },
    ]);
    record(w, "lint");
    expect(record(w, "test").reply).toEqual({ ok: true, green: true });
    expect(names(w)).toEqual(["lint", "test"]);
    expect([...w.state.checks.results.values()].at(-1)).toMatchObject({ exit: 0, by: null, at: 5000 });
  });

  it("is of one project, worktree and name", () => {
    const w = new World();
    for (const where of [place, { ...place, worktree: "/p-two" }, { ...place, project: "/q" }])
      for (const name of ["test", "constructor", "__proto__"]) record(w, name, where);
    expect(w.state.checks.results.size).toBe(9);
  });

  it("is on disk before its answer, and is in a snapshot in its order", () => {
    expect(commandRules.check_record).toMatchObject({ durable: true, frees: false });
    const w = new World();
    for (const name of ["b", "a", "c", "b"]) record(w, name);
    const read = readState(writeState(w.state));
    expect([...read.checks.results]).toEqual([...w.state.checks.results]);
    expect(writeState(read)).toBe(writeState(w.state));
  });

  it("drops the oldest of too many", () => {
    const checkResultsMax = 10;
    const w = new World(bounded({ checkResultsMax }));
    for (let n = 0; n <= checkResultsMax; n += 1) {
      record(w, `n${n}`);
      if (n === checkResultsMax - 1) record(w, "n0");
    }
    expect(names(w)).toHaveLength(checkResultsMax);
    expect(names(w)[0]).toBe("n2");
    expect(names(w).slice(-2)).toEqual(["n0", `n${checkResultsMax}`]);
  });

  it("keeps its invariants under watch", () => {
    const w = new World();
    record(w, "test");
    const [key = "", result] = [...w.state.checks.results][0] ?? [];
    if (result === undefined) throw new Error("nothing was recorded");
    w.state.checks.results.set("/p\n/p\nlint", result);
    expect(check(w.state, ["checks"])).toEqual([
      "/p /p lint is among the results of checks, and its row has another key",
      "the result of test stands in the wrong place",
    ]);
    w.state.checks.results.delete("/p\n/p\nlint");
    w.state.checks.results.set(key, { ...result, seq: w.state.seq + 1 });
    expect(check(w.state, ["checks"])).toHaveLength(1);
  });
});

describe("a check's status", () => {
  it("is that of its latest run if command and state are the same", () => {
    const w = new World();
    expect(statusOf(w, clean)).toBe("never_run");
    record(w, "test");
    expect(statusOf(w, clean)).toBe("green");
    record(w, "test", { exit: 2 });
    expect(statusOf(w, clean)).toBe("red");
  });

  it.each([
    ["another commit", { ...clean, commit: "b".repeat(40) }, command],
    ["no commit yet", { ...clean, commit: null }, command],
    ["other content", { ...clean, dirty: "1".repeat(64) }, command],
    ["another command", clean, "d".repeat(64)],
  ])("is stale after %s, whatever the result was", (_, present, of) => {
    const w = new World();
    for (const exit of [0, 1]) {
      record(w, "test", { exit });
      expect(statusOf(w, present, of)).toBe("stale");
    }
  });

  it("is unknown if the state is, and never green of another worktree's result", () => {
    const w = new World();
    record(w, "test", { worktree: "/p-two" });
    expect(statusOf(w, { ...clean, dirty: null })).toBe("never_run");
    record(w, "test");
    expect(statusOf(w, { ...clean, dirty: null })).toBe("unknown");
    expect(statusOf(w, { commit: null, dirty: null })).toBe("unknown");
  });

  it("is told of every wanted check, in order", () => {
    const w = new World();
    record(w, "b");
    const wanted = ["b", "a", "constructor"].map(name => ({ name, command }));
    expect([...checkStatuses(w.state, place, wanted, clean)]).toEqual([
      ["b", "green"],
      ["a", "never_run"],
      ["constructor", "never_run"],
    ]);
  });
});
