/** A client that does not say which of its agents acts: what its transcript tells goes into words, and decides nothing. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
let client: Client;
let transcript = "";

beforeEach(async () => {
  home = new Home();
  execFileSync("git", ["init", "-q"], { cwd: home.work });
  mkdirSync(home.paths.home, { recursive: true, mode: 0o700 });
  writeFileSync(home.paths.config, JSON.stringify({ gates: { identity: "enforce" }, lockWaitMs: 50 }));
  const folder = join(home.work, "..", "client", "projects", "p");
  mkdirSync(folder, { recursive: true });
  transcript = join(folder, "ann.jsonl");
  await home.start();
  client = await home.connect();
});
afterEach(() => home.dispose());

let calls = 0;
/** Sends an event of session `ann`, and returns what its client reads. */
async function hook(event: Message): Promise<Message> {
  calls += 1;
  const more = { session_id: "ann", cwd: home.work, transcript_path: transcript, prompt_id: "p1" };
  const { output } = await client.ask({
    type: "hook",
    event: { ...more, tool_use_id: `use-${calls}`, ...event },
  });
  return output === "" ? {} : JSON.parse(String(output));
}

function edit(file: string): Promise<Message> {
  const tool_input = { file_path: join(home.work, file), old_string: "a", new_string: "b" };
  return hook({ hook_event_name: "PreToolUse", tool_name: "Edit", tool_input });
}

function runs(subagent_type: string): void {
  const input = { subagent_type, description: "Review the diff" };
  const content = [{ type: "tool_use", id: "t", name: "Task", input }];
  writeFileSync(transcript, `${JSON.stringify({ type: "assistant", message: { content } })}\n`);
}

async function trail(): Promise<Message[]> {
  home.daemon.signal("SIGTERM");
  await home.daemon.exited;
  const files = readdirSync(home.paths.trail).sort();
  const lines = files.flatMap(name => readFileSync(join(home.paths.trail, name), "utf8").split("\n"));
  return lines.filter(line => line !== "").map(line => JSON.parse(line));
}

test("a guess is in the trail and in words, gates only warn on it, and the session owns", async () => {
  await hook({ hook_event_name: "UserPromptSubmit", prompt: "Go on." });
  await client.ask({ type: "register", id: "bob", cwd: home.work, name: "bob" });
  runs("code-reviewer");
  await hook({ hook_event_name: "SubagentStop" });
  const said = JSON.stringify(await edit("a.ts"));
  expect(said).not.toContain('"permissionDecision":"deny"');
  expect(said).toContain("identity");
  const { rows } = await client.ask({ type: "query", target: "locks" });
  expect(rows).toMatchObject([{ holder: { id: "ann", agent: null } }]);

  await client.ask({ type: "file_lock", id: "bob", file: join(home.work, "b.ts") });
  const denied = String((await edit("b.ts"))["systemMessage"]);
  expect(denied).toContain("Kite stopped an edit of");
  expect(denied).toContain("perhaps its subagent 'code-reviewer'");

  writeFileSync(transcript, "");
  expect(JSON.stringify(await edit("c.ts"))).toContain('"permissionDecision":"deny"');
  const lines = await trail();
  const guessed = 'perhaps its subagent "code-reviewer" ("Review the diff")';
  const decided = lines.filter(({ event, decision }) => event === "PreToolUse" && decision !== "event");
  expect(decided.map(({ decision, rule, perhaps }) => [decision, rule, perhaps])).toEqual([
    ["note", "identity", guessed],
    ["allow", "lock", guessed],
    ["deny", "lock", guessed],
    ["deny", "identity", undefined],
  ]);
});

test("as long as nothing shows that the client names no agents, its events are the main agent's", async () => {
  await hook({ hook_event_name: "UserPromptSubmit", prompt: "Go on." });
  runs("code-reviewer");
  await hook({
    hook_event_name: "SubagentStart",
    agent_id: "a0954b2b04fdf61ec",
    agent_type: "code-reviewer",
  });
  expect(JSON.stringify(await edit("a.ts"))).toContain('"permissionDecision":"deny"');
  for (const line of await trail()) expect(line).not.toHaveProperty("perhaps");
});
