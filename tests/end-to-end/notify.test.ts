/** kite notify with a program of the user's own settings, and without any notifier. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Home } from "./daemon.ts";

const program = fileURLToPath(new URL("../../dist/kite.mjs", import.meta.url));

let home: Home;

beforeEach(() => {
  home = new Home();
});
afterEach(() => home.dispose());

function notify(env: Record<string, string> = {}, ...args: readonly string[]) {
  const all = { ...home.environment, ...env };
  const options = { env: all, cwd: home.work, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, "notify", ...args], options);
  return { status, stdout, stderr };
}

test("--test runs the program of the settings, with the texts as its last words", () => {
  const said = join(home.work, "said.txt");
  mkdirSync(home.paths.home, { mode: 0o700 });
  const command = ["/bin/sh", "-c", `printf '%s|' "$@" > ${said}`, "name"];
  writeFileSync(home.paths.config, JSON.stringify({ notify: { command } }));
  expect(notify({}, "--test")).toEqual({ status: 0, stdout: "", stderr: "" });
  expect(readFileSync(said, "utf8")).toBe("kite|Notices reach you.|");
});

test("without a notifier it says what to do; without a daemon, too", () => {
  const missing = notify({ PATH: home.work }, "--test");
  expect(missing).toMatchObject({ status: 1, stdout: "" });
  expect(missing.stderr).toMatch(
    /^kite: this desktop has no notifier .* name a program of your own in config\.json/,
  );
  mkdirSync(home.paths.home, { mode: 0o700 });
  const settings = { command: ["/bin/true"] };
  writeFileSync(home.paths.config, JSON.stringify({ notify: { ...settings, personMs: 5 } }));
  expect(notify({ PATH: home.work }, "--test").stderr).toMatch(/config\.json: notify is ignored: /);
  writeFileSync(home.paths.config, JSON.stringify({ notify: settings }));
  expect(notify()).toMatchObject({ status: 3, stdout: "" });
});
