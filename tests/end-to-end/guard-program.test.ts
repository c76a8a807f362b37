/** A project brings a git of its own, and PATH leads to it: the daemon looks at uncommitted work with another one. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Home } from "./daemon.ts";

let home: Home;
let ran: string;

beforeEach(() => {
  home = new Home();
  ran = join(home.work, "..", "ran");
  const env = { PATH: process.env["PATH"], HOME: home.work, GIT_CONFIG_NOSYSTEM: "1" };
  const git = (...args: string[]) => execFileSync("git", args, { cwd: home.work, env, stdio: "pipe" });
  git("init", "-q", "-b", "main");
  writeFileSync(join(home.work, "a.txt"), "one\n");
  git("add", "a.txt");
  git("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-q", "-m", "one");
  for (const place of ["git", "node_modules/.bin/git", "bin/git"]) {
    const path = join(home.work, place);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `#!/bin/sh\n>'${ran}'\nexit 0\n`, { mode: 0o755 });
  }
});
afterEach(() => home.dispose());

/** A session: its process, and a connection for its hooks. */
async function session(id: string) {
  const [client, { pid }] = [await home.connect(), await home.bystander()];
  const said = (more: Record<string, unknown>) => {
    const event = { session_id: id, cwd: home.work, ...more };
    return client.ask({ type: "hook", event, ppid: pid });
  };
  await said({ hook_event_name: "SessionStart", source: "startup" });
  await said({ hook_event_name: "UserPromptSubmit", prompt: "work" });
  return said;
}

test.each([
  ["relative entries", () => ".:./node_modules/.bin:bin:"],
  ["an entry of the project", () => `${join(home.work, "bin")}:${join(home.work, "node_modules", ".bin")}:`],
])("with %s in PATH", async (_what, entries) => {
  const PATH = `PATH=${entries()}${process.env["PATH"]}`;
  await home.start(["/usr/bin/env", PATH, process.execPath, Home.program]);
  const ann = await session("ann");
  const bob = await session("bob");
  const file = join(home.work, "a.txt");
  const edit = { tool_name: "Edit", tool_input: { file_path: file }, tool_use_id: "u1" };
  await ann({ hook_event_name: "PreToolUse", ...edit });
  writeFileSync(file, "two\n");
  await ann({ hook_event_name: "PostToolUse", ...edit, tool_response: {} });
  const stash = { tool_name: "Bash", tool_input: { command: "git stash" }, tool_use_id: "u2" };
  const answer = await bob({ hook_event_name: "PreToolUse", ...stash });
  expect(String(answer["output"])).toContain('"deny"');
  expect(String(answer["output"])).toContain("a.txt");
  expect(existsSync(ran)).toBe(false);
});
