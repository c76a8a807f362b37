/** Files that two agents declared, as the page finds them in declarations. */
import { expect, test } from "vitest";
import { overlapsOf } from "../../bin/web/views/lead/declarations.tsx";
import type { DeclarationRow } from "../../protocol/schemas/declaration.ts";

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
