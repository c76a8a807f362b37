/** The rules of a project, and globs. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { type Config, loadConfig } from "../../daemon/config/config.ts";
import { anyGlob, globProblem } from "../../daemon/config/glob.ts";
import { builtGlobs, ProjectRules } from "../../daemon/config/project-rules.ts";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { nodeProber } from "../../daemon/facts/prober.ts";
import { GitFacts } from "../../daemon/facts/repositories.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

describe("the rules", () => {
  const top = temporaryFolder("kite-rules-");
  let config: Config;
  let count = 0;

  beforeAll(async () => {
    config = await loadConfig({ env: {}, paths: { config: join(top, "none.json") } });
  });

  /** A project with a worktree beside it, and the rules read by a clock of its own. */
  function world() {
    const project = join(top, String(count++));
    const worktree = `${project}-pay`;
    for (const dir of [`${project}/.kite`, `${worktree}/src`]) mkdirSync(dir, { recursive: true });
    const clock = { now: 0 };
    const problems: string[] = [];
    const outside = new BudgetedFs(nodeProber, () => clock.now);
    const git = new GitFacts({ outside });
    const rules = new ProjectRules({
      config,
      configFile: join(top, "home", ".kite", "config.json"),
      trusted: { files: async () => new Map() },
      outside,
      repository: directory => git.repositoryOf(directory),
      onProblem: problem => problems.push(problem),
    });
    const write = (text: unknown) => writeFileSync(`${project}/.kite/config.json`, JSON.stringify(text));
    const at = (file: string) => rules.for(`${worktree}/${file}`, { project, worktree });
    const ignores = async (file: string) => (await at(file)).ignores(`${worktree}/${file}`);
    return { project, worktree, clock, problems, rules, write, at, ignores };
  }

  describe("a project's rules", () => {
    test("ignore from the start what nobody shares", async () => {
      const w = world();
      for (const file of [
        ".git/config",
        "src/.a.ts.swp",
        "a/node_modules/b/c.js",
        "a.ts~",
        ".#a.ts",
        "#a.ts#",
      ]) {
        expect(await w.ignores(file), file).toBe(true);
      }
      for (const file of ["src/a.ts", "dist/a.js", ".gitignore", "node_modules"]) {
        expect(await w.ignores(file), file).toBe(false);
      }
      expect(await w.at("src/a.ts")).toMatchObject({
        lockWaitMs: limits.hookWaitMs,
        yieldMs: limits.yieldMs,
      });
    });

    test("are those of the project's file, read again when it has changed", async () => {
      const w = world();
      expect(await w.ignores("docs/a.md")).toBe(false);
      w.write({ ignore: ["docs/"], keepLockUntil: "edit", lockWaitMs: 20_000 });
      expect(await w.ignores("docs/a.md")).toBe(false);
      w.clock.now += limits.repositoryKeptMs;
      expect(await w.ignores("docs/a.md")).toBe(true);
      expect(await w.at("src/a.ts")).toMatchObject({ lockWaitMs: 20_000, yieldMs: 1 });
      w.write({});
      w.clock.now += limits.repositoryKeptMs;
      expect(await w.ignores("docs/a.md")).toBe(false);
      expect(w.problems).toEqual([]);
    });

    test("let an edit wait for less than 15 s, and holds yield the sooner", async () => {
      const w = world();
      w.write({ lockWaitMs: 10_000 });
      expect(await w.at("src/a.ts")).toMatchObject({ lockWaitMs: 10_000, yieldMs: 3000 });
      w.write({ lockWaitMs: 100 });
      w.clock.now += limits.repositoryKeptMs;
      expect(await w.at("src/a.ts")).toMatchObject({ lockWaitMs: 100, yieldMs: 30 });
      expect(w.problems).toEqual([]);
    });

    test("bound the wait of every client where they lower the user's, and else of none", async () => {
      const w = world();
      expect((await w.at("src/a.ts")).projectWaitMs).toBe(Number.POSITIVE_INFINITY);
      w.write({ lockWaitMs: 10_000 });
      w.clock.now += limits.repositoryKeptMs;
      expect((await w.at("src/a.ts")).projectWaitMs).toBe(10_000);
    });

    test("say what they did not take of it, once", async () => {
      const w = world();
      w.write({ treeGuard: "off", lockWaitMs: limits.hookWaitMs + 1, ignore: ["docs/"] });
      for (let i = 0; i < 3; i += 1) {
        expect(await w.ignores("docs/a.md")).toBe(true);
        w.clock.now += limits.repositoryKeptMs;
      }
      expect(w.problems).toHaveLength(2);
      expect(w.problems.join("\n")).toContain("a project may not set treeGuard");
    });

    test("ignore what is built where git does", async () => {
      const w = world();
      expect(await w.ignores("packages/a/dist/b.js")).toBe(false);
      writeFileSync(`${w.worktree}/.gitignore`, "dist\n/out/\n*.log\n");
      w.clock.now += limits.repositoryKeptMs;
      expect(await w.ignores("packages/a/dist/b.js")).toBe(true);
      expect(await w.ignores("out/b.js")).toBe(true);
      expect(await w.ignores("packages/out/b.js")).toBe(false);
      expect(await w.ignores("build/b.js")).toBe(false);
      expect(await w.ignores("a.log")).toBe(false);
    });

    test("take the user's own file for no project's", async () => {
      const w = world();
      const home = join(top, "home");
      mkdirSync(join(home, ".kite"), { recursive: true });
      writeFileSync(
        join(home, ".kite", "config.json"),
        JSON.stringify({ treeGuard: "warn", ignore: ["*.md"] }),
      );
      expect((await w.rules.at({ project: home, worktree: home })).ignores(`${home}/a.md`)).toBe(false);
      expect(w.problems).toEqual([]);
    });

    test("of a file elsewhere are those of where it is", async () => {
      const w = world();
      const other = world();
      mkdirSync(join(other.project, ".git", "objects"), { recursive: true });
      mkdirSync(join(other.project, ".git", "refs"));
      writeFileSync(join(other.project, ".git", "HEAD"), "ref: refs/heads/main\n");
      other.write({ ignore: ["*.md"] });
      const file = `${other.project}/README.md`;
      const rules = await w.rules.for(file, { project: w.project, worktree: w.worktree });
      expect(rules.ignores(file)).toBe(true);
      expect(rules.ignores(`${w.worktree}/README.md`)).toBe(false);
    });
  });

  test("folders are taken from a .gitignore as git means them", () => {
    expect(builtGlobs("dist\nbuild/\n/out\n**/coverage/\ntarget/*\n")).toEqual([
      "dist/",
      "build/",
      "/out/",
      "coverage/",
      "target/",
    ]);
    expect(builtGlobs("# dist\nsrc/dist\ndist-old\nnode_modules\n!build\n")).toEqual([]);
    expect(builtGlobs("dist/*\nbuild\n!dist/keep.js\n")).toEqual(["build/"]);
  });
});

describe("a glob", () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ["*.md", ["a.md", "x/y/a.md", ".md"], ["a.mdx", "a.md/x"]],
    ["a?.ts", ["ab.ts", "x/ac.ts"], ["a.ts", "abc.ts"]],
    ["dist/", ["dist/a", "x/dist/a/b"], ["dist", "xdist/a", "dist2/a"]],
    ["/dist/", ["dist/a"], ["x/dist/a"]],
    ["/a.ts", ["a.ts"], ["x/a.ts"]],
    ["src/*.ts", ["src/a.ts"], ["x/src/a.ts", "src/x/a.ts"]],
    ["src/**/*.ts", ["src/a.ts", "src/x/y/a.ts"], ["a.ts", "src/a.js"]],
    ["src/**", ["src/a", "src/a/b"], ["x/src/a"]],
    ["**/gen/**", ["gen/a", "x/gen/y/a"], ["agen/b"]],
    ["#*#", ["#a#", "x/#a.ts#"], ["#a"]],
    [".git/", [".git/config", "x/.git/hooks/a"], [".gitignore", ".github/a"]],
  ])("%s", (pattern, yes, no) => {
    expect(globProblem(pattern)).toBeNull();
    const test = anyGlob([pattern]);
    for (const path of yes) expect(test(path), path).toBe(true);
    for (const path of no) expect(test(path), path).toBe(false);
  });

  test("is refused where it would mean something else to others", () => {
    for (const bad of ["*.{ts,js}", "[ab].ts", "!keep.ts", "a\\*b", "/", "//"]) {
      expect(globProblem(bad), bad).toEqual(expect.any(String));
    }
  });

  test("matches what a search through all divisions finds", () => {
    const part = fc.stringMatching(/^[ab*?]{1,4}$/);
    const name = fc.stringMatching(/^[ab]{1,4}$/);
    const globs = fc.array(fc.oneof(part, fc.constant("**")), { minLength: 2, maxLength: 5 });
    fc.assert(
      fc.property(globs, fc.array(name, { minLength: 1, maxLength: 5 }), (words, names) => {
        const pattern = words.map(w => (w.includes("**") ? "**" : w));
        expect(anyGlob([pattern.join("/")])(names.join("/"))).toBe(slow(pattern, names));
      }),
      { numRuns: 2000 },
    );
  });

  test("takes no time to speak of, whatever the pattern", () => {
    const names = Array.from({ length: 400 }, () => "a".repeat(200));
    expect(anyGlob([`${"**/*a*a*a*a*a*a/".repeat(10)}b`])(names.join("/"))).toBe(false);
  });
});

function slow(pattern: readonly string[], names: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return names.length === 0;
  if (first === "**") return slow(rest, names) || (names.length > 0 && slow(pattern, names.slice(1)));
  const [name, ...others] = names;
  return name !== undefined && slowName(first, name) && slow(rest, others);
}

function slowName(pattern: string, name: string): boolean {
  if (pattern === "") return name === "";
  if (pattern[0] === "*")
    return slowName(pattern.slice(1), name) || (name !== "" && slowName(pattern, name.slice(1)));
  return (
    name !== "" && (pattern[0] === "?" || pattern[0] === name[0]) && slowName(pattern.slice(1), name.slice(1))
  );
}
