/** What the page groups: uncommitted work and overlaps. */
import { describe, expect, test } from "vitest";
import { overlapsOf } from "../../bin/web/views/lead/declarations.tsx";
import { shownMax, worktreesOf } from "../../bin/web/views/work.tsx";
import type { DeclarationRow } from "../../protocol/schemas/declaration.ts";
import type { WriteRow } from "../../protocol/work.ts";

describe("the order and the bounds of uncommitted work on the page", () => {
  function row(worktree: string, file: string, at: number): WriteRow {
    const writer = { id: "a", agent: null, name: "alice", live: true, by: "edit" as const, at };
    const path = `${worktree}/${file}`;
    return { file, path, project: "/p", worktree, state: "changed", writers: [writer], holder: null };
  }

  test("what was written last comes first: worktrees, directories, files", () => {
    const rows = [
      row("/p", "a.ts", 1),
      row("/p", "src/old.ts", 2),
      row("/pay", "b.ts", 3),
      row("/p", "src/new.ts", 9),
    ];
    const found = worktreesOf(rows).map(({ path, count, directories }) => ({
      path,
      count,
      directories: directories.map(({ name, files }) => [name, ...files.map(({ file }) => file)]),
    }));
    expect(found).toEqual([
      {
        path: "/p",
        count: 3,
        directories: [
          ["src/", "src/new.ts", "src/old.ts"],
          ["", "a.ts"],
        ],
      },
      { path: "/pay", count: 1, directories: [["", "b.ts"]] },
    ]);
  });

  test("a file that no known agent wrote comes last, and files of one moment in the order of their names", () => {
    const unknown = { ...row("/p", "0.ts", 1), writers: [] };
    const [only] = worktreesOf([unknown, row("/p", "b.ts", 5), row("/p", "a.ts", 5)]);
    expect(only?.directories[0]?.files.map(({ file }) => file)).toEqual(["a.ts", "b.ts", "0.ts"]);
  });

  test("every file is shown, or left out where that is said", () => {
    const rows = Array.from({ length: 2_000 }, (_, n) => row(`/w${n % 3}`, `d${n % 50}/${n}.ts`, n));
    const worktrees = worktreesOf(rows);
    const shown = worktrees.flatMap(({ directories }) => directories.flatMap(({ files }) => files));
    const left = worktrees.flatMap(one => [...one.left, ...one.directories.flatMap(({ left }) => left)]);
    expect(shown).toHaveLength(shownMax.inProject);
    expect(new Set([...shown, ...left])).toEqual(new Set(rows));
    expect(worktrees.map(({ count }) => count).reduce((a, b) => a + b)).toBe(rows.length);
    for (const { directories } of worktrees)
      for (const { files } of directories) expect(files.length).toBeLessThanOrEqual(shownMax.inDirectory);
  });
});

// Files that two agents declared, as the page finds them in declarations.
describe("files that two agents declared", () => {
  function declaration(
    id: string,
    paths: readonly string[],
    more: Partial<DeclarationRow> = {},
  ): DeclarationRow {
    const files = paths.map(path => ({ path, dir: path.endsWith("/"), sees: "", will: "", touched: false }));
    const texts = { role: "", team: "", task: "", reason: "", confidence: null };
    const times = { declaredAt: 1, updatedAt: 1, endedMs: null };
    const lists = { plan: [], uncertainties: [], mismatches: [] };
    return { id, agent: null, name: id, project: "/p", files, ...texts, ...times, ...lists, ...more };
  }

  function pairs(...declarations: readonly DeclarationRow[]): readonly string[] {
    return overlapsOf(declarations).map(
      ({ path, sides }) =>
        `${path} ${sides
          .map(({ id }) => id)
          .sort()
          .join("+")}`,
    );
  }

  test("the same file is found once, also among three", () => {
    expect(pairs(declaration("a", ["/p/x.ts"]), declaration("b", ["/p/x.ts", "/p/y.ts"]))).toEqual([
      "/p/x.ts a+b",
    ]);
    const three = ["a", "b", "c"].map(id => declaration(id, ["/p/x.ts"]));
    expect(pairs(...three).toSorted()).toEqual(["/p/x.ts a+b", "/p/x.ts a+c", "/p/x.ts b+c"]);
  });

  test("a folder overlaps with what is in it, and with itself, and not with what only begins like it", () => {
    const folder = declaration("a", ["/p/src/"]);
    expect(pairs(folder, declaration("b", ["/p/src/deep/x.ts"]))).toEqual(["/p/src/deep/x.ts a+b"]);
    expect(pairs(declaration("b", ["/p/src/deep/"]), folder)).toEqual(["/p/src/deep/ a+b"]);
    expect(pairs(folder, declaration("b", ["/p/src/"]))).toHaveLength(1);
    expect(pairs(folder, declaration("b", ["/p/src2/x.ts", "/p/src.ts"]))).toEqual([]);
    // A file with the name of the folder above another one is none.
    expect(pairs(declaration("a", ["/p/src"]), declaration("b", ["/p/src/x.ts"]))).toEqual([]);
  });

  test("agents of one session, and those of two projects, do not overlap", () => {
    const mine = declaration("a", ["/p/x.ts"]);
    expect(pairs(mine, declaration("a", ["/p/x.ts"], { agent: "helper" }))).toEqual([]);
    expect(pairs(mine, declaration("b", ["/p/x.ts"], { project: "/q" }))).toEqual([]);
  });

  test("of very many overlaps some are found, and soon", () => {
    const many = Array.from({ length: 300 }, (_, n) => declaration(`s${n}`, ["/p/src/", `/p/src/${n}.ts`]));
    const before = process.cpuUsage();
    expect(overlapsOf(many)).toHaveLength(500);
    const { user, system } = process.cpuUsage(before);
    // In microseconds of a processor: others may keep the machine busy.
    expect(user + system).toBeLessThan(1_000_000);
  });
});
