import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyGlob, globProblem } from "../../daemon/config/glob.ts";

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
