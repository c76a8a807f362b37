/** The order and the bounds of uncommitted work on the page. */
import { expect, test } from "vitest";
import { shownMax, worktreesOf } from "../../bin/web/views/work.tsx";
import type { WriteRow } from "../../protocol/work.ts";

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
