/** Tasks that require a debate. */
import { beforeEach, describe, expect, it } from "vitest";
import { openDebateOf } from "../../daemon/core/lead/debates.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { bounded } from "./core-world.ts";
import { closeOf, openOf } from "./debate-world.ts";
import { createOf, TaskWorld, updateOf } from "./task-world.ts";

const debatesMax = 20;
let w: TaskWorld;

beforeEach(() => {
  w = new TaskWorld(bounded({ debatesMax }));
  w.begin("ann");
  w.do(openOf());
});

const isOpen = (words: string) => openDebateOf(w.state, w.task(words))?.id ?? null;

describe("a task's debate", () => {
  it("is named by its id or a part of it, and open until it is closed", () => {
    expect(w.do(createOf([{ description: "it", debate: "1" }]))).toMatchObject({ task: { debate: "d-0-1" } });
    w.create({ description: "one", debate: "d-0" }, "other");
    expect([isOpen("it"), isOpen("one"), isOpen("other")]).toEqual(["d-0-1", "d-0-1", null]);
    w.do(closeOf(null, "d-0-1", "race", { force: true }));
    expect(isOpen("it")).toBe(null);
    expect(w.task("it").debate).toBe("d-0-1");
  });

  it("that there is not is refused, and nothing changes", () => {
    const unknown = { code: "unknown_debate", debate: "d-9-9" };
    const two = createOf([{ description: "fine" }, { description: "it", debate: "d-9-9" }]);
    expect(w.do(two)).toMatchObject(unknown);
    expect(w.state.tasks.all.size).toBe(0);
    w.create("it");
    const renamed = updateOf("ann", w.id("it"), { debate: "d-9-9", description: "that" });
    expect(w.do(renamed)).toMatchObject(unknown);
    expect(w.task("it").debate).toBeUndefined();
  });

  it("is one of the task's project: part of a name means one there, and another project's is refused", () => {
    w.do(openOf(null, { project: "/q" }));
    w.create({ description: "it", debate: "d-0" });
    expect(w.task("it").debate).toBe("d-0-1");
    const foreign = {
      code: "not_in_debate",
      error: "d-0-2 is a debate of /q, and the task is one of /p; name a debate of /p",
      debate: "d-0-2",
      project: "/q",
    };
    expect(w.do(createOf([{ description: "that", debate: "d-0-2" }]))).toMatchObject(foreign);
    expect(w.do(updateOf(null, w.id("it"), { debate: "2" }))).toMatchObject({ code: "unknown_debate" });
    expect(w.do(updateOf(null, w.id("it"), { debate: "d-0-2" }))).toMatchObject(foreign);
    expect(w.task("it").debate).toBe("d-0-1");
    expect(w.state.tasks.all.size).toBe(1);
  });

  it("stays over an import where its project has it, and the reply names the tasks that lost theirs", () => {
    const old = {
      createdAt: 0,
      updatedAt: 0,
      priority: "low",
      labels: [],
      dependsOn: [],
      attempts: 0,
    } as const;
    const made = (n: number, project: string, debate?: string) => ({
      ...{ ...old, id: `t-9-${n}`, description: `old ${n}`, project, state: { status: "pending" } as const },
      ...(debate === undefined ? {} : { debate }),
    });
    const tasks = [made(1, "/p", "d-0-1"), made(2, "/q", "d-0-1"), made(3, "/p", "d-9-9"), made(4, "/p")];
    expect(w.do({ type: "task_import", by: null, tasks })).toEqual({
      ...{ ok: true, imported: 4, skipped: [], debatesDropped: ["t-9-2", "t-9-3"] },
    });
    const kept = [1, 2, 3, 4].map(n => w.task(`old ${n}`).debate);
    expect(kept).toEqual(["d-0-1", undefined, undefined, undefined]);
    expect(isOpen("old 1")).toBe("d-0-1");
  });

  it("stays over other changes, and an agent keeps one that is open", () => {
    w.create("it");
    const set = (who: string | null, debate: string | null) => w.do(updateOf(who, w.id("it"), { debate }));
    expect(set("ann", "d-0-1")).toMatchObject({ task: { debate: "d-0-1" } });
    w.do(updateOf("ann", w.id("it"), { priority: "high", status: "active" }));
    expect(w.task("it").debate).toBe("d-0-1");
    w.do(openOf());
    for (const next of [null, "d-0-2"]) {
      expect(set("ann", next)).toMatchObject({
        code: "debate_state",
        error: "t-0-1 requires debate d-0-1, which is open; close it first (a person can force that)",
      });
    }
    expect(set("ann", "1")).toMatchObject({ ok: true });
    expect(set(null, null)).toMatchObject({ task: { debate: null } });
    set("ann", "d-0-1");
    w.do(closeOf(null, "d-0-1", "race", { force: true }));
    expect(set("ann", "d-0-2")).toMatchObject({ task: { debate: "d-0-2" } });
  });

  it("counts as closed where it made room for later ones", () => {
    w.create({ description: "it", debate: "d-0-1" });
    w.do(closeOf(null, "d-0-1", "race", { force: true }));
    for (let i = 0; i < debatesMax; i += 1) w.do(openOf(null, { project: `/${i % 4}` }));
    expect(w.state.debates.all.has("d-0-1")).toBe(false);
    expect(isOpen("it")).toBe(null);
  });

  it("is in a snapshot where there is one, and leaves no trace where there is none", () => {
    w.create({ description: "it", debate: "1" }, "other");
    const text = writeState(w.state);
    expect(text.match(/"debate":/g)).toHaveLength(1);
    expect(writeState(readState(text))).toBe(text);
  });
});
