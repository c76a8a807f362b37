/** The gates, each with what it decides by. */
import fc from "fast-check";
import { describe, expect, it, test, vi } from "vitest";
import {
  beforeCompletion,
  beforeCreation,
  beforeShell,
  beforeStop,
  beforeWrite,
  type CheckFact,
  type CompletionFacts,
  isDocument,
  isTest,
  type RoleFacts,
  type ShellFacts,
  type WriteFacts,
} from "../../daemon/core/lead/gates.ts";
import { roleOf } from "../../daemon/core/lead/roles.ts";
import type { Declaration } from "../../daemon/core/tables/declarations.ts";
import type { CommandOf } from "../../daemon/core/tables/entries.ts";
import { isLeadRole } from "../../daemon/core/tables/role-words.ts";
import type { HookEvent } from "../../daemon/hooks/event.ts";
import { gateActions } from "../../daemon/lead/gates.ts";
import type { LeadParts } from "../../daemon/lead/services.ts";
import { usesOf } from "../../hooks/git/uses.ts";
import {
  type GateFinding,
  type Gates,
  gateNames,
  gatePresets,
  gatesText,
  gatesUnset,
  type Role,
  type RoleSource,
  roles,
  stricter,
} from "../../protocol/lead/roles.ts";
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

// The gate of roles: each cell of the table, and which files, programs and git commands it looks at.
describe("the gate of roles", () => {
  const only = { ...gatePresets.off, role: "enforce" } as const;
  const said = (found: readonly GateFinding[]) => found.flatMap(({ missing }) => missing);

  function facts(role: Role, more: Partial<RoleFacts> = {}): RoleFacts {
    return { role, by: "person", name: "ann", others: ["bob"], ...more };
  }

  function write(role: RoleFacts, test = false) {
    const file = { key: "n:/p/a.ts", path: "a.ts", isCode: true, isTest: test };
    return { declaration: undefined, lead: null, role, file };
  }

  function shell(role: RoleFacts, line: Partial<ShellFacts>): ShellFacts {
    return { role, git: [], beyondOwn: [], runs: [], ...line };
  }

  describe("the gate of roles", () => {
    /** As people wrote it down: edits of code, of tests, tests and builds, commits of its own, git writes, new tasks. */
    type Row = readonly [boolean, boolean, boolean, boolean, boolean, boolean];
    const table: { readonly [R in Role]: Row } = {
      implementer: [true, true, true, true, true, true],
      researcher: [false, false, false, false, false, false],
      tester: [false, true, true, true, false, false],
      reviewer: [false, false, false, false, false, true],
      architect: [true, true, true, true, true, true],
      lead: [true, true, true, true, true, true],
    };

    for (const name of roles) {
      const [code, test, runs, own, git, creates] = table[name];
      const role = facts(name);
      it(`holds ${name} to its row`, () => {
        const passes = [
          beforeWrite(only, write(role)),
          beforeWrite(only, write(role, true)),
          beforeShell(only, shell(role, { runs: ["npm test"] })),
          beforeShell(only, shell(role, { git: ["git commit"] })),
          beforeShell(only, shell(role, { git: ["git commit"], beyondOwn: ["git commit"] })),
          beforeCreation(only, { role }),
        ].map(found => found.length === 0);
        expect(passes).toEqual([code, test, runs, own, git, creates]);
        expect(beforeShell(only, shell(role, {}))).toEqual([]);
        expect(beforeWrite(gatePresets.off, write(role))).toEqual([]);
        const warned = beforeWrite({ ...only, role: "warn" }, write(role));
        expect(warned.every(({ mode }) => mode === "warn")).toBe(true);
      });
    }

    it("names ways on that the agent has: another agent, another word, or its user", () => {
      expect(said(beforeWrite(only, write(facts("researcher"))))).toEqual([
        "role: you are researcher (your user gave you that role), which changes no files; leave the change to bob (kite message send), or ask your user: kite role ann implementer",
      ]);
      expect(said(beforeWrite(only, write(facts("tester", { by: "declared", others: [] }))))).toEqual([
        "role: you are tester (you declared it), which changes tests only, and a.ts is none; leave the change to an agent that is implementer (kite message send), or declare another identity.role if that is not what you are, for example implementer",
      ]);
      const role = facts("tester", { by: "spawn" });
      const line = shell(role, {
        git: ["git add", "git push", "git push"],
        beyondOwn: ["git push", "git push"],
        runs: ["npm test"],
      });
      expect(said(beforeShell(only, line))).toEqual([
        "role: you are tester (you began with it), which runs git add and git commit in a worktree of its own, and no other git command that writes (git push); leave that to bob (kite message send), or ask your user: kite role ann implementer",
      ]);
      expect(said(beforeCreation(only, { role: facts("researcher") }))[0]).toContain("creates no tasks");
    });

    it("holds who was given a role to it where the gate was never set, and nobody else", () => {
      const by = (source: RoleSource) => facts("researcher", { by: source });
      const enforced = (gates: Gates) =>
        (["person", "spawn", "declared"] as const).filter(source =>
          [
            beforeWrite(gates, write(by(source))),
            beforeShell(gates, shell(by(source), { git: ["git add"], beyondOwn: ["git add"] })),
            beforeCreation(gates, { role: by(source) }),
          ].every(([found]) => found?.mode === "enforce"),
        );
      expect(enforced(gatesUnset)).toEqual(["person", "spawn"]);
      expect(enforced({ ...gatesUnset, role: "warn" })).toEqual(["person", "spawn"]);
      expect(enforced(gatePresets.off)).toEqual([]);
      expect(enforced(only)).toEqual(["person", "spawn", "declared"]);
      expect(beforeWrite(gatesUnset, write(by("declared")))).toEqual([]);
    });

    it("asks an agent whose role was given to it for nothing else", () => {
      const gatesOf = (found: readonly GateFinding[]) => found.map(({ gate }) => gate);
      expect(gatesOf(beforeWrite(gatePresets.strict, write(facts("researcher"))))).toEqual(["role"]);
      const own = facts("researcher", { by: "declared" });
      expect(gatesOf(beforeWrite(gatePresets.strict, write(own)))).toContain("codeView");
    });
  });

  describe("a file", () => {
    it("belongs to the tests by its folder or its name", () => {
      const tests = [
        "tests/a.ts",
        "src/__tests__/a.ts",
        "src/a.test.ts",
        "a_test.go",
        "test_a.py",
        "lib/conftest.py",
        "src/AuthTest.java",
        "spec/a_spec.rb",
        "e2e/login.ts",
      ];
      const code = [
        "src/a.ts",
        "contest.ts",
        "src/latest.ts",
        "attest/a.ts",
        "src/testing.ts",
        "package.json",
      ];
      expect(tests.filter(path => !isTest(path))).toEqual([]);
      expect(code.filter(isTest)).toEqual([]);
    });
  });

  describe("a shell line", () => {
    const uses = (line: string) =>
      usesOf(line, "/p", new Map()).uses.map(({ does, name, dir }) => `${does} ${name} in ${dir}`);
    const names = (...lines: readonly string[]) =>
      lines.flatMap(line => usesOf(line, "/p", new Map()).uses.map(({ name }) => name));

    it("shows its git commands that write", () => {
      expect(uses("cd sub && git add -A && git -C /q commit -m x; git push")).toEqual([
        "git git add in /p/sub",
        "git git commit in /q",
        "git git push in /p/sub",
      ]);
      const writes = [
        "git checkout -b x",
        "git branch x",
        "git branch -D x",
        "git tag v1",
        "git stash",
        "git stash drop",
        "git reset --soft HEAD~1",
        "git merge x",
        "git worktree add ../w",
        "FOO=1 env git rebase main",
        "sh -c 'git revert x'",
        "git rm a",
        "git apply a.patch",
      ];
      expect(writes.filter(line => uses(line).length !== 1)).toEqual([]);
    });

    it("tells what only stages and commits in the folder's own worktree from all else", () => {
      const lines = [
        "git add -A && git -C sub commit -m x",
        "git -c alias.x=commit x",
        "git --git-dir=/q/.git commit",
        "GIT_DIR=/q/.git git add a",
        "git --work-tree /q add a",
        "git -c core.worktree=/q add a",
        "git stash; git reset x; git merge x; git push; git rm a; git checkout -b x",
        "kite commit -m x; timeout 9 kite commit",
        "kite commit --dry-run; kite commit --help; kite status commit",
      ];
      const commits = lines.map(line => usesOf(line, "/p", new Map()).uses.map(one => one.commits));
      expect(commits).toEqual([
        [true, true],
        [true],
        [false],
        [false],
        [false],
        [false],
        Array(6).fill(false),
        [true, true],
        [],
      ]);
    });

    it("shows what its aliases stand for, or leaves them to git's configuration", () => {
      const own = [
        "git -c alias.x=commit x -m m",
        "git -c alias.X='commit -m' x m",
        "git -c alias.x='!git commit' x",
        "git -c alias.x='!f() { git commit \"$@\"; }; f' x",
        "git -c alias.x=y -c alias.y=commit x",
        "git config alias.x commit; git x",
        "git config --global alias.x commit && cd . && git x",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=commit git x",
        "sh -c 'git -c alias.x=commit x'",
        "git --git-dir .git commit",
        "git --git-dir=/p/.git --work-tree=/p -c user.name=x commit",
      ];
      expect(own.filter(line => uses(line).join() !== "git git commit in /p")).toEqual([]);
      expect(names("git -c alias.t='!npm test' t")).toEqual(["npm test"]);
      // Git knows no alias of its own command's name, and an alias that reads is no use.
      expect(uses("git -c alias.status=commit status; git -c alias.x=log x; git -c alias.x=x x")).toEqual([]);

      const { aliases } = usesOf(
        "cd sub && git --git-dir ../.git ci -m x; git status; git bisect log",
        "/p",
        new Map(),
      );
      expect(aliases).toMatchObject([{ name: "ci", dir: "/p/sub", gitDir: "../.git" }]);
      const [ci] = aliases;
      // The alias works in another git directory than the folder's.
      const commit = { does: "git", name: "git commit", dir: "/p/sub", commits: false };
      expect(ci?.usesOf("commit -v").uses).toEqual([commit]);
      expect(ci?.usesOf("log --oneline")).toEqual({ uses: [], aliases: [] });
      // An alias of an alias, down to a bound.
      let [next] = aliases;
      let depth = 0;
      for (; next !== undefined; [next] = next.usesOf("other").aliases) depth += 1;
      expect(depth).toBe(limits.aliasDepthMax + 1);
    });

    it("does not take for one what only reads, or cannot be told", () => {
      const reads = [
        "git status",
        "git log --oneline -5",
        "git diff HEAD~1",
        "git show x:a.ts",
        "git branch",
        "git branch -a",
        "git branch --contains x",
        "git tag -l 'v*'",
        "git stash list",
        "git worktree list",
        "git fetch",
        "git add -n .",
        "git commit --dry-run",
        "git commit --help",
        "git blame a",
        "git apply --check a.patch",
        "git $CMD",
        "./deploy.sh",
        "echo git commit",
        "grep -r 'npm test' .",
        "git ls-files && cat package.json",
      ];
      expect(reads.filter(line => uses(line).length > 0)).toEqual([]);
    });

    it("shows the tests and builds that it runs", () => {
      expect(
        names(
          "npm test",
          "npm run test:unit -- a",
          "npm run-script build",
          "npx --yes vitest run",
          "npm exec -- jest",
          "python3 -m pytest -q",
          "cargo nextest run",
          "go test ./...",
          "make -j4",
          "poetry run pytest",
          "CI=1 timeout 60 pnpm t",
          "node --test",
          "bundle exec rspec",
          "kite lock a.ts -- npm test",
        ),
      ).toEqual([
        "npm test",
        "npm run test:unit",
        "npm run build",
        "npx vitest",
        "npm jest",
        "python3 -m pytest",
        "cargo nextest",
        "go test",
        "make",
        "poetry pytest",
        "pnpm t",
        "node --test",
        "bundle rspec",
        "npm test",
      ]);
    });

    it("does not take others for tests or builds", () => {
      const others = [
        "npm install",
        "npm run start",
        "npm run latest",
        "npx prettier .",
        "python3 a.py",
        "node a.js test",
        "go version",
        "cargo --version",
        "tsc --version",
        "ls tests",
        "kite status",
        "npm run $X",
        "poetry pytest",
      ];
      expect(others.filter(line => uses(line).length > 0)).toEqual([]);
    });
  });
});

test("a write is judged by the state that is there once its file is known, also if a rebuild took its place", async () => {
  const worlds = [new World(), new World()] as const;
  for (const world of worlds) world.begin("ann", { project: "/p", worktree: "/p" });
  const [before, after] = worlds;
  after.state.declarations.live.set("ann", filled);
  let { state } = before;
  const rules = { gates: { ...off, codeView: "enforce" }, ignoresAnyway: () => false };
  let asked = 0;
  const event = {
    engine: {
      get state() {
        return state;
      },
    },
    presence: { of: () => ({ agents: new Map() }) },
    actor: () => actor("ann"),
    likelyActor: null,
    ruledFile: async () => {
      asked += 1;
      await Promise.resolve();
      if (asked === 2) state = after.state;
      return { file: { key: "n:/p/src/a.ts", lexical: "/p/src/a.ts", file: "src/a.ts", dir: false }, rules };
    },
  } as unknown as HookEvent;
  const action = { do: "gate_write", session: "ann", cwd: "/p", file: "src/a.ts", isOwn: false } as const;
  const outcome = await gateActions.gate_write(event, action, {} as LeadParts);
  expect(outcome).toMatchObject({ did: "gate_write", verdict: "allow" });
});
