/** Debates as tasks require them, and as requests show them. */
import { beforeEach, describe, expect, it } from "vitest";
import { openDebateOf } from "../../daemon/core/lead/debates.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import { ownView } from "../../daemon/engine/log-view.ts";
import { debatePage, debateText } from "../../daemon/lead/debates.ts";
import type { Steps } from "../../daemon/server/call.ts";
import type { DebateGetReply, DebateListReply } from "../../protocol/lead/debate.ts";
import { limits } from "../../protocol/limits.ts";
import { bounded } from "./core-world.ts";
import { closeOf, DebateWorld, hypotheses, openOf } from "./debate-world.ts";
import { createOf, TaskWorld, updateOf } from "./task-world.ts";

describe("tasks that require a debate", () => {
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
      expect(w.do(createOf([{ description: "it", debate: "1" }]))).toMatchObject({
        task: { debate: "d-0-1" },
      });
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
        ...{
          ...old,
          id: `t-9-${n}`,
          description: `old ${n}`,
          project,
          state: { status: "pending" } as const,
        },
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
});

// Debates as `debate_list` and `debate_get` show them.
describe("debates as requests show them", () => {
  /** Makes a reply; `others` have their turn after each step. */
  function made<T>(steps: Steps<string>, others: () => void = () => {}): T {
    let step = steps.next();
    while (step.done !== true) {
      others();
      step = steps.next(true);
    }
    return JSON.parse(step.value);
  }

  function world(): DebateWorld {
    const w = new DebateWorld();
    w.begin("ann");
    w.begin("bob");
    return w;
  }

  const log = ({ state, now }: DebateWorld) => ownView({ state, now });
  const names = hypotheses("race", "leak", "clock");
  const ann = { id: "ann", agent: null, name: "ann" };

  it("a row says where each hypothesis stands", () => {
    const w = world();
    w.open("ann", { hypotheses: names, wallMs: 7 });
    w.challenge("bob", "race");
    w.challenge("bob", "race");
    w.answer("ann", 1);
    w.concede("ann", "leak");
    const { rows } = made<DebateListReply>(debatePage(log(w), "/p", {}));
    expect(rows).toEqual([
      {
        id: "d-7-1",
        project: "/p",
        question: "Why does it hang?",
        status: "open",
        openedBy: ann,
        openedAt: 7,
        hypotheses: [
          { ...names[0], conceded: false, challenges: 2, unanswered: [2] },
          { ...names[1], conceded: true, challenges: 0, unanswered: [] },
          { ...names[2], conceded: false, challenges: 0, unanswered: [] },
        ],
        entryCount: 4,
        verdict: null,
      },
    ]);
    const shown = made<DebateGetReply>(debateText(w.known, 0));
    expect(shown).toMatchObject({ ok: true, debate: rows[0], participants: [ann, { name: "bob" }] });
    expect(shown.entries.map(({ number, kind, answers }) => [number, kind, answers])).toEqual([
      [1, "challenge", null],
      [2, "challenge", null],
      [3, "answer", 1],
      [4, "concede", null],
    ]);
    expect(shown.next).toBeUndefined();
  });

  describe("pages", () => {
    it("show each debate once, oldest first, while others are dropped and come", () => {
      const w = world();
      const staying: string[] = [];
      for (let i = 0; i < 9; i += 1) {
        w.open(null);
        staying.push(w.debate);
      }
      for (const id of [2, 4]) w.do(closeOf(null, staying[id] ?? "", "race", { force: true }));
      for (let i = w.state.debates.all.size; i < limits.debatesMax; i += 1)
        w.open(null, { project: `/${i % 25}` });
      const shown: string[] = [];
      let after: string | undefined;
      do {
        const page: DebateListReply = made(debatePage(log(w), "/p", { limit: 2, after }), () => {
          if (w.state.debates.closed.size > 0) w.open(null, { project: "/other" });
        });
        expect(page.rows.length).toBeLessThanOrEqual(2);
        shown.push(...page.rows.map(({ id }) => id));
        after = page.next;
      } while (after !== undefined);
      expect(new Set(shown).size).toBe(shown.length);
      expect(shown).toEqual(staying.filter((_, i) => i !== 2 && i !== 4));
      expect(made<DebateListReply>(debatePage(log(w), "/nowhere", {})).rows).toEqual([]);
    });

    it("of entries are no longer than other replies, and leave none out", () => {
      const w = world();
      w.open("ann");
      const text = "\u0001".repeat(limits.debateTextChars);
      for (let i = 0; i < 90; i += 1) w.challenge(null, i % 2 === 0 ? "race" : "leak", text);
      const count = w.known.entries.length;
      expect(count).toBeGreaterThan(30);
      const shown: number[] = [];
      let after: number | undefined = 0;
      while (after !== undefined) {
        const reply: DebateGetReply = made(debateText(w.known, after));
        expect(JSON.stringify(reply).length).toBeLessThan(limits.lineBytes);
        shown.push(...reply.entries.map(({ number }) => number));
        after = reply.next;
      }
      expect(shown).toEqual(Array.from({ length: count }, (_, i) => i + 1));
    });
  });
});
