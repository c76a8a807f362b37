/** Which program the entries run, and how it is started. */

import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import { eventGroups, groupsFor } from "../../hooks/claude-code/settings/entries.ts";
import { userSettings } from "../../hooks/claude-code/settings/files.ts";
import { isOurs } from "../../hooks/install/hooks-text.ts";
import { launcherText, programPaths, tryPerl } from "../../hooks/install/program.ts";
import { temporaryFolder } from "../temporary-folder.ts";

// Which client the entries run, which events they are for, and how the perl one is tried.

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

// The launcher: when it starts something, with what around it, and that any path survives the shell.
describe("the launcher", () => {
  let root: string;
  let kite: string;
  let home: string;

  beforeEach(() => {
    root = join(temporaryFolder("kite-launcher-"), 'it\'s $(a) `b` "c" d\ne');
    home = join(root, "home");
    mkdirSync(home, { recursive: true });
    kite = join(root, "kite.cjs");
    writeFileSync(kite, "");
    // It stands for Node: it says how it was called and what is around it.
    writeFileSync(
      join(root, "node"),
      '#!/bin/sh\nprintf "%s\\n" "$@" >"$KITE_HOME/called"\n/usr/bin/env >"$KITE_HOME/env"\n',
    );
    chmodSync(join(root, "node"), 0o755);
    const env = {
      PATH: "/usr/bin:/bin",
      HOME: "/home/o'hara",
      TZ: "UTC",
      SECRET: "1",
      KITE_LOCK_WAIT_MS: "1",
    };
    writeFileSync(join(root, "start"), launcherText({ home, node: join(root, "node"), kite, env }));
    chmodSync(join(root, "start"), 0o755);
  });

  /** Runs it; what it started was called with, or null where it started nothing. It says nothing and exits with 0. */
  function started(env: Record<string, string> = {}): string | null {
    rmSync(join(home, "called"), { force: true });
    const ran = spawnSync(join(root, "start"), { env, encoding: "utf8" });
    expect([ran.status, ran.stdout, ran.stderr]).toEqual([0, "", ""]);
    try {
      return readFileSync(join(home, "called"), "utf8");
    } catch {
      return null; // It was not started, which is what the test asks.
    }
  }

  it("runs kite up, with what the installer had and nothing of the hook", () => {
    expect(started({ ANTHROPIC_API_KEY: "k", NODE_OPTIONS: "--x", CLAUDE_PID: "1" })).toBe(
      `${kite}\nup\n--unless-down\n`,
    );
    const env = readFileSync(join(home, "env"), "utf8");
    expect(env).toContain("HOME=/home/o'hara\n");
    expect(env).toContain(`KITE_HOME=${home}\n`);
    expect(env).toContain("TZ=UTC\n");
    expect(env).not.toMatch(/SECRET|ANTHROPIC|NODE_OPTIONS|CLAUDE|KITE_LOCK/);
  });

  it("keeps nothing of PATH that leads into a project", () => {
    const PATH = `.:./node_modules/.bin:bin::/home/ana/shop/node_modules/.bin:/usr/bin:/bin`;
    writeFileSync(join(root, "start"), launcherText({ home, node: join(root, "node"), kite, env: { PATH } }));
    expect(started()).not.toBeNull();
    expect(readFileSync(join(home, "env"), "utf8")).toMatch(/^PATH=\/usr\/bin:\/bin$/m);
    // With nothing left the shell has its own.
    writeFileSync(
      join(root, "start"),
      launcherText({ home, node: join(root, "node"), kite, env: { PATH: "." } }),
    );
    expect(readFileSync(join(root, "start"), "utf8")).not.toContain("PATH=");
  });

  it.each([
    [{ CI: "true" }, false],
    [{ CI: "1" }, false],
    [{ CI: "true", KITE_AUTOSTART: "1" }, true],
    [{ CI: "true", KITE_AUTOSTART: "0" }, false],
    [{ CI: "false" }, true],
    [{ CI: "" }, true],
  ])("with %j: %s", (env, does) => {
    expect(started(env) !== null).toBe(does);
  });

  it("does nothing after kite down, nor where Kite was moved away", () => {
    writeFileSync(join(home, "down"), "");
    expect(started()).toBeNull();
    rmSync(join(home, "down"));
    expect(started()).not.toBeNull();
    rmSync(kite);
    expect(started()).toBeNull();
  });
});
