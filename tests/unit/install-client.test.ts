/** Which client the entries run, which events they are for, and how the perl one is tried. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import { eventGroups, groupsFor } from "../../hooks/claude-code/settings/entries.ts";
import { userSettings } from "../../hooks/claude-code/settings/files.ts";
import { isOurs } from "../../hooks/install/hooks-text.ts";
import { programPaths, tryPerl } from "../../hooks/install/program.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const bin = "/home/ana/.kite/bin";
const program = programPaths(bin);
const base = { program, hookProgram: "perl", home: null, everyEvent: false } as const;
const entriesOf = (groups: ReturnType<typeof groupsFor>) => groups.flatMap(([, group]) => group.hooks);
const nodeGroups = eventGroups({ program: program.cjs, node: program.node, home: null });

describe("entries", () => {
  it("of Node are those of the table", () => {
    expect(groupsFor({ ...base, hookProgram: "node" })).toEqual(nodeGroups);
  });

  it("of perl differ in the command alone, and keep budget and time limit", () => {
    const groups = groupsFor(base);
    const isHook = (word: string) => word.startsWith(`${bin}/hook`);
    const without = (all: typeof groups) =>
      all.map(([event, { matcher, hooks }]) => [
        event,
        matcher,
        hooks.map(({ command: _, args, ...rest }) => {
          return { ...rest, told: args.slice(args.findIndex(isHook) + 1) };
        }),
      ]);
    expect(without(groups)).toEqual(without(nodeGroups));
    for (const { command, args } of entriesOf(groups)) {
      expect([command, ...args.slice(0, 2)]).toEqual(["/usr/bin/perl", "-T", "-e"]);
      expect(args[3]).toBe(`${bin}/hook.pl`);
      expect(args[4]).toMatch(/^\d+$/);
    }
  });

  it("name KITE_HOME where it is set, and are known as Kite's either way", () => {
    for (const hookProgram of ["perl", "node"] as const) {
      for (const entry of entriesOf(groupsFor({ ...base, hookProgram, home: "/k", everyEvent: true }))) {
        expect(entry.command).toBe("/usr/bin/env");
        expect(entry.args).toContain("KITE_HOME=/k");
        expect(isOurs(entry, bin)).toBe(true);
      }
    }
  });

  it("for every event come beside the others, and nobody waits for them", () => {
    const few = groupsFor(base);
    const all = groupsFor({ ...base, everyEvent: true });
    expect(all.slice(0, few.length)).toEqual(few);
    const more = all.slice(few.length);
    expect(more.map(([event]) => event)).toEqual(["PostToolBatch", "MessageDisplay"]);
    for (const entry of entriesOf(more))
      expect(entry).toMatchObject({ async: true, command: "/usr/bin/perl" });
  });
});

it("the user's settings are where the client looks for them", () => {
  expect(userSettings({ HOME: "/home/ana" })).toBe("/home/ana/.claude/settings.json");
  expect(userSettings({ HOME: "/home/ana", CLAUDE_CONFIG_DIR: "/c" })).toBe("/c/settings.json");
});

describe("the perl client, tried", () => {
  let root: string;
  beforeEach(() => {
    root = temporaryFolder("kite-try-test-");
  });

  const hook = fileURLToPath(new URL("../../dist/hook.pl", import.meta.url));

  it("works", async () => {
    expect(await tryPerl(hook)).toBeNull();
  });

  it.each([
    ["says nothing to anybody", () => "exit 0;", "it did not reach a daemon"],
    ["is no perl", () => "syntax error (", "it did not reach a daemon"],
    [
      "ends in its own way",
      (text: string) => text.replace("exit $code;", "exit 3;"),
      "it answered wrongly (exit 3)",
    ],
    [
      "does not print the answer",
      (text: string) => text.replace("put(\\*STDOUT, $output);", ""),
      "it answered wrongly (exit 0)",
    ],
  ])("is not used where it %s", async (_, broken, why) => {
    const file = join(root, "hook.pl");
    writeFileSync(file, broken(readFileSync(hook, "utf8")));
    expect(await tryPerl(file)).toBe(why);
  });
});
