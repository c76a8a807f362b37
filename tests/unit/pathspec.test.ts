import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { isWithin } from "../../daemon/worktree/pathspec.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const files = [
  "a.ts",
  "b.js",
  "src/a.ts",
  "src/a.tsx",
  "src/deep/b.ts",
  "src2/a.ts",
  "[x].ts",
  "x y/z.ts",
  "[a]/z.ts",
  "[a]/x",
];
const top = temporaryFolder("kite-pathspec-");

function git(cwd: string, ...args: string[]): string {
  const env = { PATH: process.env["PATH"], HOME: top, GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", args, { cwd, env, encoding: "utf8" });
}

beforeAll(() => {
  for (const file of files) {
    mkdirSync(dirname(join(top, file)), { recursive: true });
    writeFileSync(join(top, file), "");
  }
  git(top, "init", "-q");
  git(top, "add", "-A");
});

const words = [
  "a",
  "b",
  "src",
  "deep",
  ".",
  "..",
  "x",
  "ts",
  "*",
  "*/",
  "?",
  "[ab]",
  "[!a]",
  "[a-c]",
  "\\[",
  "]",
  "/",
  ".",
];
const spec = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 6 }).map(parts => parts.join(""));
const quotedWords = fc.array(
  fc.tuple(fc.constantFrom(...words.filter(word => !word.includes("\\"))), fc.boolean()),
  {
    minLength: 1,
    maxLength: 6,
  },
);
const base = fc.constantFrom("", "src", "src/deep", "[a]");

it("reaches all that git's own pathspecs reach", () => {
  fc.assert(
    fc.property(fc.array(spec, { minLength: 1, maxLength: 2 }), base, (specs, from) => {
      // Git refuses what leads out of the repository.
      fc.pre(specs.every(s => !s.startsWith("/") && !join("/top/", from, s).startsWith("/top/..")));
      fc.pre(specs.every(s => join("/top", from, s).startsWith("/top")));
      const out = git(join(top, from), "ls-files", "-z", "--full-name", "--", ...specs);
      const known = files.filter(file => out.split("\0").includes(file));
      const reached = files.filter(file => isWithin(file, specs, from, top));
      expect(reached).toEqual(expect.arrayContaining(known));
      // What lies below a folder that a pattern fits is reached by some commands (clean) and not by others.
      if (!specs.some(s => /[*?[]/.test(s))) expect(reached).toEqual(known);
    }),
    { numRuns: 300 },
  );
});

it("reaches from a folder that is not known whatever it reaches from any", () => {
  fc.assert(
    fc.property(fc.array(spec, { minLength: 1, maxLength: 2 }), base, (specs, from) => {
      const reached = files.filter(file => isWithin(file, specs, from, top));
      expect(files.filter(file => isWithin(file, specs, null, top))).toEqual(expect.arrayContaining(reached));
    }),
    { numRuns: 300 },
  );
  expect(files.filter(file => isWithin(file, ["deep/b.ts"], null, top))).toEqual(["src/deep/b.ts"]);
  expect(files.filter(file => isWithin(file, ["../b.ts"], null, top))).toEqual(["src/deep/b.ts"]);
});

it("reaches all that a shell makes of a pattern", () => {
  const drawn = fc
    .sample(fc.tuple(quotedWords, base), 400)
    .map(([parts, from]) => ({
      from,
      pattern: parts.map(([text]) => text).join(""),
      // The guard gets a word without its quotes.
      word: parts.map(([text, isQuoted]) => (isQuoted ? `'${text}'` : text)).join(""),
    }))
    .filter(({ pattern }) => !pattern.startsWith("/"));
  // One shell for all: to start one for each took minutes on a busy machine.
  const script = drawn.map(
    ({ from, word }) =>
      `(cd './${from}' && git ls-files -z --full-name -- ${word} 2>/dev/null); printf '%s\\n' "=$?"`,
  );
  const options = { cwd: top, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 } as const;
  const { stdout } = spawnSync("bash", ["-c", script.join("\n")], options);
  const answers = stdout.split(/=(\d+)\n/);
  expect(answers).toHaveLength(2 * drawn.length + 1);
  let looked = 0;
  for (const [i, { from, pattern, word }] of drawn.entries()) {
    // Git refuses what leads out of the repository.
    if (answers[2 * i + 1] !== "0") continue;
    looked += 1;
    const listed = answers[2 * i]?.split("\0") ?? [];
    const known = files.filter(file => listed.includes(file));
    const reached = files.filter(file => isWithin(file, [pattern], from, top));
    expect(reached, `${word} in ./${from}`).toEqual(expect.arrayContaining(known));
  }
  expect(looked).toBeGreaterThan(200);
  expect(isWithin("src/deep/b.ts", ["*/"], "src", top)).toBe(true);
  expect(isWithin("src/a.ts", ["*/"], "src", top)).toBe(false);
});

it("reaches what lies in folders whose names look like patterns", () => {
  const page = "app/[id]/(x)/page.tsx";
  for (const path of [
    "app/[id]/*/page.tsx",
    "app/[id]/*/[op]*",
    "app/[id]",
    "*/[id]/*.tsx",
    `${top}/app/[id]/*`,
  ])
    expect(isWithin(page, [path], "", top), path).toBe(true);
  for (const path of ["*.tsx", "*/page.*", "(x)/", "[(]x)/p*"])
    expect(isWithin(page, [path], "app/[id]", top), path).toBe(true);
  expect(isWithin(page, ["app/[ab]/*"], "", top)).toBe(false);
  expect(isWithin("app/[slug]/page.tsx", ["*.tsx"], "app/[id]", top)).toBe(false);
});

it("reads sets as git does", () => {
  const matching = (path: string) =>
    ["a", "1", "]", "[", "*"].filter(file => isWithin(file, [path], "", top));
  expect(matching("[a1]")).toEqual(["a", "1"]);
  expect(matching("[[:alpha:]]")).toContain("a");
  expect(matching("[![:alpha:]]")).toContain("1");
  expect(matching("[]a]")).toEqual(["a", "]"]);
  expect(matching("[^]a]")).toEqual(["1", "[", "*"]);
  expect(matching("\\*")).toEqual(["*"]);
  expect(matching("\\[")).toEqual(["["]);
});

it("takes absolute paths below the worktree, and none that lead elsewhere", () => {
  expect(isWithin("src/a.ts", [`${top}/src`], "src/deep", top)).toBe(true);
  expect(isWithin("src/a.ts", [`${top}2/src`, "../../.."], "src/deep", top)).toBe(false);
});

it("does not think long about a pattern made for that", () => {
  const long = "a".repeat(4000);
  expect(isWithin(`${long}b`, [`${"*a".repeat(500)}*c`, `${"**".repeat(900)}c`], "", top)).toBe(false);
  for (const start of ["[", "[[]", "[a]", "[*]", "[[:", "\\["]) {
    const sets = start.repeat(1000);
    expect(isWithin(long, [`b${sets}`, `b${sets}]`, `b${sets}*c`], "", top)).toBe(false);
    isWithin(long, [sets, `${sets}]`, `${sets}*c`], "", top);
  }
});
