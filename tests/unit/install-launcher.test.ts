/** The launcher: when it starts something, with what around it, and that any path survives the shell. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { launcherText } from "../../hooks/install/program.ts";
import { temporaryFolder } from "../temporary-folder.ts";

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
  const env = { PATH: "/usr/bin:/bin", HOME: "/home/o'hara", TZ: "UTC", SECRET: "1", KITE_LOCK_WAIT_MS: "1" };
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
