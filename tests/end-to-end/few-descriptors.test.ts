/** A daemon with few file descriptors: whoever keeps its connections, lines that wipe work are denied. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";

const crowd = 60;
let home: Home;

beforeEach(async () => {
  home = new Home();
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", ...args], { cwd: home.work });
  git("init", "-q");
  writeFileSync(join(home.work, "a.ts"), "old\n");
  git("add", "a.ts");
  git("commit", "-qm", "first");
  // The shell sets its limit for what it becomes.
  await home.start(["sh", "-c", 'ulimit -n 64 && exec "$0" "$@"', process.execPath, Home.program]);
  for (const session of ["ann", "bob"]) await answered(event(session, "SessionStart", { source: "startup" }));
  const write = edit("ann");
  await answered(write);
  writeFileSync(join(home.work, "a.ts"), "ann's\n");
  await answered({ ...write, event: { ...write.event, hook_event_name: "PostToolUse", tool_response: {} } });
});

afterEach(() => home.dispose());

function event(session_id: string, hook_event_name: string, more: object) {
  return { type: "hook", event: { session_id, hook_event_name, cwd: home.work, prompt_id: "p", ...more } };
}

function edit(session: string) {
  const tool_input = { file_path: join(home.work, "a.ts"), content: "" };
  return event(session, "PreToolUse", { tool_name: "Write", tool_use_id: `e-${session}`, tool_input });
}

/** The answer of a hook's own connection. */
async function answered(request: Message): Promise<Message> {
  const client = await home.connect();
  const answer = await client.ask(request);
  client.destroy();
  return answer;
}

async function stash(n: number): Promise<unknown> {
  const line = { tool_name: "Bash", tool_use_id: `g-${n}`, tool_input: { command: "git stash" } };
  const { output } = await answered(event("bob", "PreToolUse", line));
  return JSON.parse(String(output)).hookSpecificOutput.permissionDecision;
}

test.each([
  ["carried a hook each and stay open", (n: number) => event("ann", "Notification", { message: `${n}` })],
  ["carry an edit each that waits", (n: number) => edit(`waiter-${n}`)],
])("connections that %s leave room for the guard", async (_, request) => {
  const open: Client[] = [];
  for (let n = 0; n < crowd; n += 1) {
    const client = await home.connect();
    client.send(request(n));
    open.push(client);
  }
  expect(await Promise.all([0, 1, 2].map(stash))).toEqual(["deny", "deny", "deny"]);
  expect(await stash(3)).toBe("deny");
  for (const client of open) client.destroy();
});

test("it says at kite up and in doctor that it needs more", async () => {
  const needs = /room for \d+ open files \(ulimit -n\), and needs 96/;
  expect((await home.command(["up"])).out).toMatch(needs);
  expect((await home.command(["doctor"])).out.replaceAll(/\s+/g, " ")).toMatch(needs);
});
