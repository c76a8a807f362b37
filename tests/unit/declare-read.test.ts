/** What `kite declare` reads: YAML, JSON, flags. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exampleOf, type Flag, nothingKnown, partsIn, partsOf } from "../../bin/agents/declare.ts";
import { type DeclarationParts, declarationSchema } from "../../protocol/schemas/declaration.ts";
import { declaration } from "./view-rows.ts";

const lines = (...text: readonly string[]) => text.join("\n");
const errorOf = (text: string) => {
  const read = partsIn(text, "d.yaml");
  return "error" in read ? read.error : read;
};

describe("a declaration as text", () => {
  it("is YAML, in which a field without a value is absent", () => {
    const text = lines(
      "identity: {role: tester}",
      "understanding:",
      "  confidence: 0.5",
      "  reason:",
      "  plan:",
      "    - look: no, this is one text".replace("look:", "look"),
      "codeView:",
      "  - file: src/a.ts",
      "    will: >",
      "      split",
      "      it",
    );
    expect(partsIn(text, "-")).toEqual({
      parts: {
        identity: { role: "tester" },
        understanding: { confidence: 0.5, plan: ["look no, this is one text"] },
        codeView: [{ file: "src/a.ts", will: "split it\n" }],
      },
    });
  });

  it("is JSON just as well, whatever the texts in it are", () => {
    const text = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });
    const parts = fc.record(
      {
        identity: fc.record({ role: fc.constantFrom("lead", "tester") }),
        understanding: fc.record(
          { task: text, confidence: fc.constantFrom(0, 0.25, 1), plan: fc.array(text, { maxLength: 3 }) },
          { requiredKeys: [] },
        ),
        codeView: fc.array(fc.record({ file: text, sees: text, drop: fc.boolean() }), { maxLength: 3 }),
        uncertainties: fc.array(fc.record({ question: fc.constantFrom("a?", "b?"), evidence: text })),
        anew: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    const isOne = (value: DeclarationParts) => declarationSchema.safeParse(value).success;
    fc.assert(
      fc.property(parts.filter(isOne), fc.constantFrom(undefined, 2, "\t"), (value, indent) => {
        expect(partsIn(JSON.stringify(value, null, indent), "-")).toEqual({ parts: value });
      }),
    );
  });

  it.each([
    ["a: [", "d.yaml, line 1, column 5: Flow sequence"],
    [lines("understanding:", "\ttask: x"), "d.yaml, line 2, column 1: Tabs are not allowed"],
    [lines("anew: true", "anew: true"), "d.yaml, line 2, column 1: Map keys must be unique"],
    [lines("understanding:", "  task: this: that"), "d.yaml, line 2, column 9: Nested mappings"],
    [
      lines("anew: true", "---", "anew: true"),
      "d.yaml, line 2, column 1: Source contains multiple documents",
    ],
    [
      lines("identity:", "  rolle: lead"),
      'd.yaml, line 2, column 3: unknown field "rolle"; did you mean role?',
    ],
    ["code_view: []", 'd.yaml, line 1, column 1: unknown field "code_view"; did you mean codeView?'],
    [
      lines("codeView:", "  - file: a.ts", "    intention: x"),
      'd.yaml, line 3, column 5: unknown field "intention"; known: file, sees, will, drop',
    ],
    [
      lines("uncertainties:", "- {question: a?}", "- {question: b?, setledBy: x}"),
      'd.yaml, line 3, column 18: unknown field "setledBy"; did you mean settledBy?',
    ],
    [
      lines("understanding:", "  confidence: 7"),
      "d.yaml, line 2, column 3: understanding.confidence: Too big: expected number to be <=1",
    ],
    [lines("codeView:", "  - sees: x"), "d.yaml, line 2, column 5: codeView.0.file: Invalid input"],
    [
      lines("understanding:", "  plan: one step"),
      "d.yaml, line 2, column 3: understanding.plan: Invalid input",
    ],
    ["- a", "d.yaml is no declaration"],
    ["just words", "d.yaml is no declaration"],
    ["", "d.yaml is no declaration"],
  ])("%j is refused, by line and column", (text, error) => {
    expect(errorOf(text)).toContain(error);
  });

  it("that would grow without end is refused", () => {
    const rows = Array.from(
      { length: 12 },
      (_, n) => `l${n + 1}: &l${n + 1} [${"*l0, ".replace("0", `${n}`).repeat(9)}]`,
    );
    expect(errorOf(lines("l0: &l0 [x]", ...rows))).toBe(
      "d.yaml has too many aliases (*name); write their values out",
    );
  });
});

describe("a declaration as flags", () => {
  const flag = (name: Flag["name"], value = ""): Flag => ({ name, value });

  it("keeps what belongs together by the order", () => {
    const flags = [
      flag("task", "paging"),
      flag("file", "a.ts"),
      flag("will", "split"),
      flag("file", "b.ts"),
      flag("sees", "a list"),
      flag("plan", "look"),
      flag("plan", "write"),
      flag("drop", "c.ts"),
      flag("uncertain", "a?"),
      flag("uncertain", "b?"),
      flag("settled-by", "a test"),
      flag("evidence", "it fails"),
      flag("resolved"),
      flag("confidence", "0.25"),
      flag("anew"),
    ];
    expect(partsOf(flags)).toEqual({
      parts: {
        understanding: { task: "paging", plan: ["look", "write"], confidence: 0.25 },
        codeView: [
          { file: "a.ts", will: "split" },
          { file: "b.ts", sees: "a list" },
          { file: "c.ts", drop: true },
        ],
        uncertainties: [
          { question: "a?" },
          { question: "b?", settledBy: "a test", evidence: "it fails", resolved: true },
        ],
        anew: true,
      },
    });
  });

  it.each([
    [[flag("sees", "x")], "--sees belongs to a file: write it behind --file PATH"],
    [[flag("drop", "a.ts"), flag("will", "x")], "--will belongs to a file"],
    [[flag("resolved")], "--resolved belongs to a question: write it behind --uncertain QUESTION"],
    [[flag("confidence", "much")], "--confidence takes a number from 0 to 1, not much"],
    [[flag("confidence", " ")], "--confidence takes"],
  ])("%j is refused", (flags, error) => {
    expect(partsOf(flags)).toEqual({ error: expect.stringContaining(error) });
  });
});

describe("the example", () => {
  it("is a declaration", () => {
    expect(partsIn(exampleOf(nothingKnown), "-")).toMatchObject({
      parts: { identity: { role: "implementer" }, codeView: [{ file: "src/session-store.ts" }] },
    });
  });

  it("has what is known of the agent, as text that means nothing else", () => {
    const known = declaration("ann", {
      task: 'a "quoted": {task}\n# of two lines',
      files: [{ path: "/p/src", dir: true, sees: "old", will: "", touched: false }],
      uncertainties: [{ question: "- which?", settledBy: "", evidence: "this", resolved: true }],
    });
    const text = exampleOf({ declaration: known, task: "claimed", files: ["/p/b.ts"], cwd: "/p" });
    expect(partsIn(text, "-")).toMatchObject({
      parts: {
        understanding: { task: known.task },
        codeView: [{ file: "src/", sees: "old" }],
        uncertainties: [{ question: "- which?", evidence: "this", resolved: true }],
      },
    });
    const fresh = exampleOf({ declaration: null, task: "claimed", files: ["/p/x/b.ts"], cwd: "/p/x" });
    expect(partsIn(fresh, "-")).toMatchObject({
      parts: { understanding: { task: "claimed" }, codeView: [{ file: "b.ts" }] },
    });
  });
});
