import fc from "fast-check";
import { describe, expect, it, test, vi } from "vitest";
import type { CheckFact, CompletionFacts, WriteFacts } from "../../daemon/core/lead/gates.ts";
import { beforeCompletion, beforeStop, beforeWrite, isDocument } from "../../daemon/core/lead/gates.ts";
import { roleOf } from "../../daemon/core/lead/roles.ts";
import type { Declaration } from "../../daemon/core/tables/declarations.ts";
import type { CommandOf } from "../../daemon/core/tables/entries.ts";
import { isLeadRole } from "../../daemon/core/tables/role-words.ts";
import { type GateFinding, gateNames, gatePresets, gatesText, stricter } from "../../protocol/lead/roles.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, World } from "./core-world.ts";

const { off, team, strict } = gatePresets;
const file = { key: "n:/p/src/a.ts", path: "src/a.ts", isCode: true, isTest: false };
const role = { role: "implementer", by: "default", name: "ann", others: [] } as const;
const nothing: WriteFacts = { declaration: undefined, file, lead: null, role };

const filled: Declaration = {
  ...{ session: "ann", agent: null, name: "ann", project: "/p", ancestors: [] },
  ...{ role: "implementer", team: "", task: "paging", confidence: 0.5, reason: "read it", plan: ["test"] },
  files: [{ key: "n:/p/src", path: "/p/src", dir: true, sees: "a list", will: "pages", touched: true }],
  uncertainties: [],
  mismatches: [],
  ...{ declaredAt: 0, updatedAt: 0, endedAt: null },
};

const said = (findings: readonly GateFinding[]) => findings.flatMap(({ missing }) => missing);
const modes = (findings: readonly GateFinding[]) =>
  Object.fromEntries(findings.map(({ gate, mode }) => [gate, mode]));

describe("before a write", () => {
  test("nobody is asked for anything with gates off", () => {
    const lead = { why: "declared", delegates: [] } as const;
    expect(beforeWrite(off, { ...nothing, lead })).toEqual([]);
  });

  test("all that is missing is said at once", () => {
    expect(said(beforeWrite(strict, nothing)).map(sentence => sentence.split(":", 1)[0])).toEqual([
      "identity.role",
      "understanding.task",
      "understanding.confidence",
      "understanding.reason",
      "understanding.plan",
      "codeView",
    ]);
    expect(modes(beforeWrite(team, nothing))).toEqual({
      identity: "warn",
      understanding: "warn",
      codeView: "warn",
    });
    expect(beforeWrite(strict, { ...nothing, declaration: filled })).toEqual([]);
  });

  test("code is changed only where it was declared, a document anywhere", () => {
    const elsewhere = { ...file, key: "n:/p/srcs/a.ts" };
    const outside = { declaration: filled, lead: null, role, file: elsewhere };
    expect(modes(beforeWrite(strict, outside))).toEqual({ codeView: "enforce" });
    expect(beforeWrite(strict, { ...outside, file: { ...elsewhere, isCode: false } })).toEqual([]);
  });

  test("a lead writes documents, and is told to whom it may give code", () => {
    const lead = { why: "leads", delegates: ["bob", "cyd"] } as const;
    const facts = { declaration: filled, lead, role, file };
    expect(said(beforeWrite(team, facts))).toEqual([expect.stringContaining("give it to bob, cyd")]);
    expect(said(beforeWrite(team, facts))[0]).toContain("declare another identity.role");
    expect(beforeWrite(team, { ...facts, file: { ...file, isCode: false } })).toEqual([]);
  });

  test("a lead is asked for no code view of what it is to give away, unless it may keep it", () => {
    const lead = { why: "declared", delegates: [] } as const;
    const facts = { declaration: { ...filled, files: [] }, lead, role, file };
    expect(modes(beforeWrite(strict, facts))).toEqual({ delegation: "enforce" });
    expect(modes(beforeWrite(team, facts))).toEqual({ delegation: "enforce" });
    const kept = { ...strict, delegation: "warn" } as const;
    expect(modes(beforeWrite(kept, facts))).toEqual({ delegation: "warn", codeView: "enforce" });
    expect(modes(beforeWrite({ ...kept, codeView: "warn" }, facts))).toEqual({ delegation: "warn" });
    expect(modes(beforeWrite({ ...strict, delegation: "off" }, facts))).toEqual({ codeView: "enforce" });
  });
});

describe("before a stop", () => {
  test("an agent whose last call failed is sent on", () => {
    expect(beforeStop(team, { failure: null })).toEqual([]);
    const failure = { tool: "Bash", error: "Exit code 3" };
    expect(said(beforeStop(team, { failure }))).toEqual(["your last Bash call failed: Exit code 3"]);
    expect(beforeStop(off, { failure })).toEqual([]);
  });
});

describe("before a task is done", () => {
  const done: CompletionFacts = {
    declaration: filled,
    checks: [],
    worktree: "/shop",
    unseen: null,
    checksChanged: false,
    openDebate: null,
  };

  test.each<[string, CompletionFacts, RegExp]>([
    ["no declaration", { ...done, declaration: undefined }, /^understanding\.task/],
    [
      "a declared file that was not written",
      {
        ...done,
        declaration: { ...filled, files: filled.files.map(one => ({ ...one, touched: false })) },
      },
      /^codeView: you declared \/p\/src and did not write it; write it, or strike it off/,
    ],
    [
      "an open question",
      {
        ...done,
        declaration: {
          ...filled,
          uncertainties: [{ question: "twice?", settledBy: "a test", evidence: "", resolved: false }],
        },
      },
      /"twice\?" is open \(a test settles it\)/,
    ],
    ["a red check", { ...done, checks: [{ name: "unit", state: "red" }] }, /unit failed in \/shop/],
    [
      "a stale check",
      { ...done, checks: [{ name: "unit", state: "stale" }] },
      /files changed in \/shop since unit ran/,
    ],
    ["a check that never ran", { ...done, checks: [{ name: "unit", state: "never_run" }] }, /was not run/],
    [
      "checks that changed",
      { ...done, checksChanged: true },
      /ask your user to read them and run: kite check --trust/,
    ],
    ["an open debate", { ...done, openDebate: "d-1" }, /^debate: d-1 is open/],
  ])("%s is named", (_, facts, sentence) => {
    expect(said(beforeCompletion(team, facts))[0]).toMatch(sentence);
    expect(beforeCompletion(off, facts)).toEqual([]);
  });

  test("with everything there it is done", () => {
    const checks: CheckFact[] = [{ name: "unit", state: "green" }];
    expect(beforeCompletion(strict, { ...done, checks })).toEqual([]);
    const bare: CheckFact[] = [{ name: "unit", state: "overtaken", files: [] }];
    expect(beforeCompletion(strict, { ...done, checks: bare })).toEqual([]);
  });

  test("a long text that says something is not searched for what is wrong with it", () => {
    const words = "what is there now and what will be done about it. ".repeat(4);
    const files = Array.from({ length: limits.declaredFilesMax }, (_, n) => {
      return { key: `n:/p/${n}`, path: `/p/${n}`, dir: false, sees: words, will: words, touched: true };
    });
    const declaration: Declaration = { ...filled, task: words, reason: words, plan: [words], files };
    const searched = vi.spyOn(String.prototype, "replace");
    try {
      expect(beforeCompletion(strict, { ...done, declaration })).toEqual([]);
      expect(searched).not.toHaveBeenCalled();
    } finally {
      searched.mockRestore();
    }
  });

  test("what passes all the same is said, and the files of others are named", () => {
    const files = Array.from({ length: 7 }, (_, n) => ({ file: `${n}.ts`, by: "bob" }));
    const checks: CheckFact[] = [
      { name: "unit", state: "overtaken", files },
      { name: "lint", state: "unsettled" },
    ];
    const found = beforeCompletion(strict, { ...done, checks });
    expect(found.map(({ mode }) => mode)).toEqual(["warn"]);
    expect(said(found)).toEqual([
      "checks overtaken: unit was green with your work; later others changed 0.ts (bob), 1.ts (bob), 2.ts (bob), 3.ts (bob), 4.ts (bob) and 2 more",
      expect.stringMatching(/^checks unsettled: lint was green each time/),
    ]);
    expect(beforeCompletion(off, { ...done, checks })).toEqual([]);
    const red: CheckFact[] = [...checks, { name: "types", state: "red" }];
    expect(said(beforeCompletion(strict, { ...done, checks: red }))).toEqual([
      expect.stringMatching(/^checks: types failed/),
    ]);
  });

  test("what cannot be looked at is never passed in silence", () => {
    const unseen = { why: "git did not answer", isSpent: false };
    const [held] = beforeCompletion(strict, { ...done, unseen });
    expect(held).toEqual({
      gate: "quality",
      mode: "enforce",
      missing: [
        expect.stringMatching(/^checks: Kite could not look at them \(git did not answer\); put that right/),
      ],
    });
    const [passed] = beforeCompletion(strict, { ...done, unseen: { ...unseen, isSpent: true } });
    expect(passed).toEqual({
      gate: "quality",
      mode: "warn",
      missing: [expect.stringMatching(/^checks unseen: Kite could not look at them \(git did not answer\)/)],
    });
  });
});

describe("an agent that follows what it is told", () => {
  /** Supplies what the sentences ask for, by the names that they begin with, and nothing else. */
  function follow(w: World, sentences: readonly string[], target: string): void {
    const command: { -readonly [K in keyof CommandOf<"declare">]: CommandOf<"declare">[K] } = {
      type: "declare",
      actor: actor("ann"),
      ...{ ancestors: [], anew: false, files: [], uncertainties: [], wallMs: w.now },
    };
    const ref = { file: target, lexical: `/p/${target}`, key: `n:/p/${target}`, dir: false };
    for (const sentence of sentences) {
      if (sentence.startsWith("identity.role") || sentence.includes("declare another identity.role"))
        command.role = "implementer";
      else if (sentence.startsWith("understanding.task")) command.task = "make paging work";
      else if (sentence.startsWith("understanding.confidence")) command.confidence = 0.7;
      else if (sentence.startsWith("understanding.reason")) command.reason = "I read the code";
      else if (sentence.startsWith("understanding.plan")) command.plan = ["write a test"];
      else if (sentence.startsWith("codeView")) command.files = [{ ref, sees: "a list", will: "pages" }];
      else throw new Error(`nobody can follow: ${sentence}`);
    }
    w.do(command);
  }

  const texts = fc.constantFrom("", "TODO", "...", "something", "n/a");
  const part = fc.record({
    role: fc.option(fc.constantFrom("lead", "tester", "researcher", "TODO"), { nil: undefined }),
    task: fc.option(texts, { nil: undefined }),
    reason: fc.option(texts, { nil: undefined }),
    confidence: fc.option(fc.constantFrom(0, 1), { nil: undefined }),
    plan: fc.option(fc.array(texts, { maxLength: 2 }), { nil: undefined }),
    file: fc.option(fc.constantFrom("a.ts", "b.md"), { nil: undefined }),
    drop: fc.boolean(),
    will: texts,
    anew: fc.boolean(),
  });
  const gates = fc.record({
    role: fc.constantFrom("off", "warn", "enforce"),
    identity: fc.constantFrom("off", "warn", "enforce"),
    understanding: fc.constantFrom("off", "warn", "enforce"),
    codeView: fc.constantFrom("off", "warn", "enforce"),
    delegation: fc.constantFrom("off", "warn", "enforce"),
    recovery: fc.constantFrom("off", "warn", "enforce"),
    quality: fc.constantFrom("off", "warn", "enforce"),
  } as const);

  it("writes after one declaration, a lead after two, whatever it declared before, in whatever order", () => {
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 6 }),
        gates,
        fc.constantFrom("a.ts", "b.md"),
        (parts, set, target) => {
          const w = new World();
          w.begin("ann");
          for (const { file: name, drop, will, ...rest } of parts) {
            const ref = { file: name ?? "", lexical: `/p/${name}`, key: `n:/p/${name}`, dir: false };
            const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
            w.do({
              type: "declare",
              actor: actor("ann"),
              ...{ ancestors: [], uncertainties: [], wallMs: w.now, anew: rest.anew },
              ...given,
              files: name === undefined ? [] : [drop ? { ref, drop } : { ref, will }],
            });
          }
          const look = () => {
            const declaration = w.state.declarations.live.get("ann");
            const leads = declaration === undefined || ["", "lead"].includes(declaration.role);
            const lead = leads ? { why: "leads" as const, delegates: [] } : null;
            const facts = { key: `n:/p/${target}`, path: target, isCode: !isDocument(target), isTest: false };
            const standing = roleOf(w.state, { session: "ann", agent: null });
            const role = { ...standing, name: "ann", others: [] };
            return beforeWrite(set, { declaration, lead, role, file: facts });
          };
          // Who declared another role than a lead's writes the file itself, and views it.
          if (look().some(({ gate }) => gate === "delegation")) follow(w, said(look()), target);
          follow(w, said(look()), target);
          expect(look()).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("modes", () => {
  test("a project's are added to the user's: the stricter of each counts", () => {
    expect(stricter(team, off)).toEqual(team);
    expect(stricter(off, strict)).toEqual(strict);
    const mixed = { ...off, quality: "enforce", identity: "warn" } as const;
    expect(stricter(team, mixed)).toEqual({ ...team, quality: "enforce" });
  });

  test("are shown by the preset's name, or one by one", () => {
    expect([off, team, strict].map(gatesText)).toEqual(["off", "team", "strict"]);
    expect(gatesText({ ...off, quality: "warn" }).split(" ")).toHaveLength(gateNames.length);
  });
});

test("a lead is known by its role, however it is written", () => {
  for (const role of ["lead", "Team Lead", "tech-lead", "coordinator"]) expect(isLeadRole(role)).toBe(true);
  for (const role of ["", "implementer", "lead developer", "leading edge"])
    expect(isLeadRole(role)).toBe(false);
});

test("documents are known by their names", () => {
  for (const path of ["README.md", "/p/docs/a.rst", "LICENSE", "notes.TXT"])
    expect(isDocument(path)).toBe(true);
  for (const path of [
    "a.ts",
    "Makefile",
    ".md",
    "CMakeLists.txt",
    "/p/requirements.txt",
    "a.htm",
    "/p/readme.md/a.py",
    "package.json",
  ])
    expect(isDocument(path)).toBe(false);
});
