/** Debates as `debate_list` and `debate_get` show them. */
import { describe, expect, it } from "vitest";
import { ownView } from "../../daemon/engine/log-view.ts";
import { debatePage, debateText } from "../../daemon/lead/debates.ts";
import type { Steps } from "../../daemon/server/call.ts";
import type { DebateGetReply, DebateListReply } from "../../protocol/lead/debate.ts";
import { limits } from "../../protocol/limits.ts";
import { closeOf, DebateWorld, hypotheses } from "./debate-world.ts";

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
  const shown = made<DebateGetReply>(debateText(log(w), w.known, 0));
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
      const reply: DebateGetReply = made(debateText(log(w), w.known, after));
      expect(JSON.stringify(reply).length).toBeLessThan(limits.lineBytes);
      shown.push(...reply.entries.map(({ number }) => number));
      after = reply.next;
    }
    expect(shown).toEqual(Array.from({ length: count }, (_, i) => i + 1));
  });
});
