/** What commands say if the system refuses them: a sentence and a next step, never the words of Node. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Home } from "./daemon.ts";
import { kiteProgram } from "./kite.ts";

let home: Home;

beforeEach(() => {
  home = new Home();
});
afterEach(() => home.dispose());

/** Runs a shell line with `PROGRAM` as the program's path. */
function sh(line: string) {
  const command = line.replaceAll("node PROGRAM", `'${process.execPath}' '${kiteProgram}'`);
  const { root: cwd, environment: env } = home;
  const ran = spawnSync("/bin/sh", ["-c", command], { cwd, env, encoding: "utf8" });
  return { code: ran.status, said: `${ran.stdout}${ran.stderr}` };
}

const raw = /\b(?:EACCES|ENOENT|ENOTDIR|EISDIR|EPIPE|ENOSPC|EEXIST)\b|syscall|node:|^\s+at /m;

describe("a command that the system refuses", () => {
  it.each([
    [
      "the working directory is gone",
      "mkdir gone && cd gone && rmdir ../gone && node PROGRAM config",
      /working directory no longer exists/,
    ],
    ["Kite's directory is a file", "echo > h && node PROGRAM up", /not a directory|no folder but a file/],
    [
      "Kite's directory is in a file",
      "echo > f && KITE_HOME=$PWD/f/h node PROGRAM up",
      /no folder but a file/,
    ],
    ["the log is a folder", "mkdir -p -m 700 h/daemon.log && node PROGRAM up", /not a regular file/],
    ["the journal is a file", "mkdir -m 700 h && echo > h/journal && node PROGRAM up", /journal/],
    [
      "a file to import is missing",
      "node PROGRAM up >/dev/null; node PROGRAM task import none.json",
      /none.json does not exist/,
    ],
    ["a file to import is a folder", "node PROGRAM up >/dev/null; node PROGRAM task import .", /is a folder/],
    [
      "a file to import is no JSON",
      `printf '[\\n{"a":1,}]' > t.json; node PROGRAM up >/dev/null; node PROGRAM task import t.json`,
      /line 2, column 8/,
    ],
    [
      "the configuration is no JSON",
      `mkdir -m 700 h; printf '{\\n "yieldMs" 5}' > h/config.json; node PROGRAM config`,
      /line 2, column 12: expected a colon/,
    ],
    [
      "the settings are no JSON",
      `mkdir .claude; printf '{\\n "a": 1,\\n}' > .claude/settings.json; node PROGRAM install`,
      /line 3, column 1/,
    ],
    ["the settings' folder is a file", "echo > .claude; node PROGRAM install", /\.claude/],
  ])("%s", (_what, line, said) => {
    const ran = sh(line);
    expect(ran.said).toMatch(said);
    expect(ran.said).not.toMatch(raw);
    expect(ran.code).toBe(1);
  });

  it("a full disk takes the output", () => {
    for (const line of [
      "node PROGRAM config > /dev/full",
      "node PROGRAM --help > /dev/full",
      "node PROGRAM status --json > /dev/full",
    ]) {
      const ran = sh(line);
      expect(ran.said).toMatch(
        /^kite: the output cannot be written: no space is left on its disk; free some/m,
      );
      expect(ran.said).not.toMatch(raw);
      expect(ran.code).toBe(1);
    }
  });

  it("a reader that leaves early hears nothing", () => {
    expect(sh("node PROGRAM config | head -1").said.trim().split("\n")).toHaveLength(1);
    expect(sh("node PROGRAM config 2>&1 | true").said).toBe("");
  });

  it("a folder that may not be written", () => {
    mkdirSync(join(home.paths.home, "journal"), { recursive: true, mode: 0o700 });
    writeFileSync(join(home.paths.home, "daemon.lock"), "");
    const ran = sh("rm h/daemon.lock && mkdir h/daemon.lock && node PROGRAM up");
    expect(ran.said).toMatch(/daemon\.lock is a folder/);
    expect(ran.said).not.toMatch(raw);
  });
});
