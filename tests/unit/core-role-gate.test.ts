/** The gate of roles: each cell of the table, and which files, programs and git commands it looks at. */

import { describe, expect, it } from "vitest";
import type { RoleFacts, ShellFacts } from "../../daemon/core/lead/gates.ts";
import { beforeCreation, beforeShell, beforeWrite, isTest } from "../../daemon/core/lead/gates.ts";
import { usesOf } from "../../hooks/git/uses.ts";
import {
  type GateFinding,
  type Gates,
  gatePresets,
  gatesUnset,
  type Role,
  type RoleSource,
  roles,
} from "../../protocol/lead/roles.ts";
import { limits } from "../../protocol/limits.ts";

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
    const code = ["src/a.ts", "contest.ts", "src/latest.ts", "attest/a.ts", "src/testing.ts", "package.json"];
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
    ];
    const commits = lines.map(line => usesOf(line, "/p", new Map()).uses.map(one => one.commits));
    expect(commits).toEqual([[true, true], [true], [false], [false], [false], [false], Array(6).fill(false)]);
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
