/** In the place of each file that Kite reads stands a pipe that nobody writes to: no command waits for it. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const program = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "kite-odd-")));
  mkdirSync(join(root, "project", ".git"), { recursive: true });
  mkdirSync(join(root, ".kite"), { mode: 0o700 });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function pipeAt(file: string): string {
  const path = join(root, file);
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { recursive: true, force: true });
  execFileSync("mkfifo", [path]);
  return path;
}

/** Runs it to its end; it is ended where it hangs, which a signal says. */
function kite(args: readonly string[]): { code: number | null; signal: string | null; said: string } {
  const env = { PATH: process.env["PATH"], HOME: root };
  const options = {
    cwd: join(root, "project"),
    env,
    encoding: "utf8",
    timeout: 30_000,
    killSignal: "SIGKILL",
  } as const;
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [program, ...args], options);
  return { code: status, signal, said: `${stdout}${stderr}` };
}

const places: readonly (readonly [string, string, number, RegExp])[] = [
  [
    "install",
    ".claude/settings.json",
    1,
    /settings\.json is a pipe, not a regular file; Kite did not change it/,
  ],
  ["install --print", ".claude/settings.json", 1, /settings\.json is a pipe, not a regular file/],
  ["uninstall", ".claude/settings.json", 1, /settings\.json is a pipe, not a regular file/],
  ["install --project", "project/.claude/settings.local.json", 1, /settings\.local\.json is a pipe/],
  ["install", ".claude.json", 0, /tools for agents: not installed, .*\.claude\.json is a pipe/],
  ["uninstall", ".claude.json", 1, /\.claude\.json is a pipe/],
  ["install --project", "project/.git", 0, /installed: /],
  ["install", ".kite/installs.json", 1, /installs\.json is a pipe/],
  ["uninstall --all", ".kite/installs.json", 1, /installs\.json is a pipe/],
  ["install", ".kite/bin/hook.pl", 1, /hook\.pl is a pipe/],
  ["off --project --for 1h", ".kite/off.json", 1, /off\.json is a pipe/],
  ["on --project", ".kite/off.json", 1, /off\.json is a pipe/],
  ["off", ".kite/off", 0, /off/],
  ["config", ".kite/config.json", 1, /config\.json is ignored: it is no regular file/],
  ["status", ".kite/daemon.json", 3, /not running/],
  ["doctor", ".claude/settings.json", 1, /hooks .*settings\.json is a pipe/],
  ["doctor", ".claude.json", 0, /hooks/],
  ["doctor", ".kite/installs.json", 1, /installs\.json is a pipe/],
  ["doctor", ".kite/servers.json", 1, /servers\.json is a pipe/],
  ["doctor", ".kite/config.json", 0, /config/],
  ["doctor", ".kite/daemon.json", 1, /daemon\.json is a pipe/],
  ["doctor", ".kite/trusted.json", 1, /trusted\.json is a pipe/],
  ["doctor", ".kite/daemon.log", 1, /daemon\.log is a pipe/],
  ["doctor", ".kite/off.json", 1, /off\.json is a pipe/],
  ["doctor", ".kite/bin/hook.cjs", 1, /hook\.cjs is a pipe/],
  ["doctor", ".kite/bin/start", 1, /bin\/start is a pipe/],
];

test.each(places)("kite %s with a pipe at %s", (command, file, code, says) => {
  const path = pipeAt(file);
  const done = kite(command.split(" "));
  expect(done.signal, done.said).toBeNull();
  expect(done.said).toMatch(says);
  expect(done.code, done.said).toBe(code);
  if (command !== "off") expect(statSync(path).isFIFO()).toBe(true);
});

test.each([
  "journal/0000000001-0000000000000001.log",
  "events.ndjson",
  "config.json",
  "off.json",
  "daemon.log",
])("the daemon starts, or says why not, with a pipe at %s", file => {
  pipeAt(join(".kite", file));
  const up = kite(["up"]);
  expect(up.signal, up.said).toBeNull();
  expect(up.code === 0 || up.said.includes(file), up.said).toBe(true);
  expect(kite(["down"]).signal).toBeNull();
});

test("a socket, a folder and a device are no settings either", async () => {
  const path = join(root, ".claude", "settings.json");
  mkdirSync(path, { recursive: true });
  expect(kite(["install"])).toMatchObject({
    code: 1,
    said: expect.stringContaining("is a folder, not a regular file"),
  });
  rmSync(path, { recursive: true });
  const server = createServer().listen(path);
  await new Promise(resolve => server.once("listening", resolve));
  expect(kite(["install"])).toMatchObject({
    code: 1,
    said: expect.stringContaining("is a socket, not a regular file"),
  });
  await new Promise(resolve => server.close(resolve));
  rmSync(path, { force: true });
  writeFileSync(path, "{}");
  expect(kite(["install"]).code).toBe(0);
});
