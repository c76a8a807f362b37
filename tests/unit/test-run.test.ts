/** How the tests are run: tiers, second runs, and commands within their process. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, test } from "vitest";
import { kite } from "../end-to-end/kite.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { isInTier, named, tierOf } from "../tiers.ts";

describe("tiers", () => {
  it("names files that exist", () => {
    const root = join(import.meta.dirname, "../..");
    expect(named.filter(path => !existsSync(join(root, path)))).toEqual([]);
  });

  it.each([
    ["tests/unit/core-locks.test.ts", true],
    ["tests/tidy.test.ts", true],
    ["tests/end-to-end/wire.test.ts", true],
    ["tests/end-to-end/crash.test.ts", false],
    ["tests/simulation/few-seeds.test.ts", true],
    ["tests/simulation/memory.test.ts", false],
  ])("%s is in one tier alone: fast is %s", (path, isFast) => {
    expect([isInTier(path, "fast"), isInTier(path, "rest"), isInTier(path, "all")]).toEqual([
      isFast,
      !isFast,
      true,
    ]);
  });

  it("takes all files where no tier is named, and refuses one that is none", () => {
    expect(tierOf(undefined)).toBe("all");
    expect(() => tierOf("quick")).toThrow(/has to be fast, rest or all/);
  });
});

// Which failed test files may run once more: tests/unsteady.mjs.
describe("which failed files run once more", async () => {
  interface Unsteady {
    excuses(
      failed: readonly { readonly path: string }[],
      before: ReadonlySet<string>,
    ): { readonly again: readonly { readonly path: string }[]; readonly refused: readonly string[] };
    unsteadyBefore(root: string, present: string): Set<string>;
  }

  const module: unknown = await import(pathToFileURL(join(import.meta.dirname, "../unsteady.mjs")).href);
  const { excuses, unsteadyBefore } = module as Unsteady;

  function verdict(paths: readonly string[], before: readonly string[] = []) {
    const { again, refused } = excuses(
      paths.map(path => ({ path })),
      new Set(before),
    );
    return { again: again.map(({ path }) => path), refused: refused.length };
  }

  const files = ["a", "b", "c", "d"].map(name => `tests/end-to-end/${name}.test.ts`);

  it("runs up to three files once more", () => {
    expect(verdict(files.slice(0, 3))).toEqual({ again: files.slice(0, 3), refused: 0 });
  });

  it("runs planted bugs of a store once more, which histories meet by chance", () => {
    const path = "tests/store/planted.test.ts";
    expect(verdict([path])).toEqual({ again: [path], refused: 0 });
  });

  it("runs none of four", () => {
    expect(verdict(files)).toEqual({ again: [], refused: 1 });
  });

  it.each([
    "tests/simulation/few-seeds.test.ts",
    "tests/journal/file-power.test.ts",
    "tests/unit/event-hub-random.test.ts",
    "tests/end-to-end/guard-lines.test.ts",
    "tests/unit/shell-guard.test.ts",
    "tests/tidy.test.ts",
  ])("never runs %s again, where a failure is a find", path => {
    expect(verdict([path, ...files.slice(0, 1)])).toEqual({ again: files.slice(0, 1), refused: 1 });
  });

  it("refuses a file that was unsteady before", () => {
    expect(verdict(files.slice(0, 2), files.slice(0, 1))).toEqual({ again: files.slice(1, 2), refused: 1 });
  });

  it("reads what was unsteady from earlier reports, not from its own or from one without a summary", () => {
    const root = temporaryFolder("kite-reports-");
    const report = (name: string, unsteady: readonly string[] | null) => {
      const folder = join(root, ".reports", name);
      mkdirSync(folder, { recursive: true });
      const text = JSON.stringify({ unsteady: unsteady?.map(path => ({ path })) });
      if (unsteady !== null) writeFileSync(join(folder, "summary.json"), text);
      return folder;
    };
    report("1-fast", ["tests/a.test.ts"]);
    report("2-rest", []);
    report("3-fast", null);
    const present = report("4-fast", ["tests/b.test.ts"]);
    expect([...unsteadyBefore(root, present)]).toEqual(["tests/a.test.ts"]);
  });
});

// The tests' own way to run commands in their process: it keeps off the home of whoever runs the tests.
describe("commands within the process of a test", () => {
  const cwd = tmpdir();
  const own = { HOME: join(cwd, "kite-here"), KITE_HOME: join(cwd, "kite-here", "h") };

  test.each([
    ["no home", {}],
    ["this process' home", { HOME: process.env["HOME"] }],
    ["an empty one", { HOME: "", KITE_HOME: "" }],
  ])("a command with %s is refused", async (_, env) => {
    await expect(kite({ cwd, env }, ["--version"])).rejects.toThrow("a home of its own");
  });

  test("a daemon in the foreground is refused: it reads this process' environment, and ends this process", async () => {
    const args = ["up", "--unless-down", "--foreground"];
    await expect(kite({ cwd, env: own }, args)).rejects.toThrow("as a process");
  });

  test("a command with a home of its own runs", async () => {
    expect(await kite({ cwd, env: own }, ["--version"])).toMatchObject({ code: 0, err: "" });
  });
});
