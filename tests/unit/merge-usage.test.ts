import { describe, expect, it } from "vitest";
import { wrongUsage } from "../../bin/lead/merge/merge.ts";
import { limits } from "../../protocol/limits.ts";

describe("the words of kite merge", () => {
  it("pass if they fit together", () => {
    expect(wrongUsage([], {})).toBeNull();
    expect(wrongUsage([], { dryRun: true, into: "main" })).toBeNull();
    expect(wrongUsage(["a", "-x"], { check: true, rebase: true, dryRun: true, into: "main" })).toBeNull();
    expect(wrongUsage([], { list: true, json: true })).toBeNull();
    expect(wrongUsage([], { cancel: "mg-1-1" })).toBeNull();
    expect(wrongUsage([], { cancel: "1", project: "/other" })).toBeNull();
    expect(wrongUsage([], { list: true, project: "/other" })).toBeNull();
  });

  it.each([
    [[], { list: true, cancel: "mg-1" }, /not both/],
    [["foo"], { list: true }, /--list shows all merges of the project; leave out foo/],
    [[], { list: true, into: "main" }, /leave out --into/],
    [["foo"], { cancel: "mg-1" }, /takes one merge, by its id; leave out foo/],
    [[], { cancel: "mg-1", check: true }, /leave out --check/],
    [[], { cancel: "mg-1", dryRun: true }, /leave out --dry-run/],
    [[], { cancel: "" }, /--cancel needs the id of a merge/],
    [[], { cancel: " " }, /--cancel needs the id of a merge/],
    [["one"], { project: "/other" }, /--project goes with --list or --cancel/],
    [[], { list: true, project: " " }, /--project needs the path of a project/],
    [["one", ""], {}, /one of the names is empty/],
    [["one"], { into: "" }, /--into needs the name of a branch/],
    [Array.from({ length: limits.mergeBranchesMax + 1 }, (_, i) => `b${i}`), {}, /at most \d+ branches/],
    // Without names these would merge what waits, and move the base.
    [[], { check: true }, /--check needs the names of branches or agents/],
    [[], { rebase: true }, /--rebase needs the names/],
    [[], { check: true, dryRun: true }, /--check needs the names/],
  ] as const)("%j with %j do not", (names, flags, why) => {
    expect(wrongUsage(names, flags)).toMatch(why);
  });
});
