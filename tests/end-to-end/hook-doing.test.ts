/** What a session is shown to do, once the hook of a tool call was answered. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Client, Home } from "./daemon.ts";

const home = new Home();
let client: Client;

beforeAll(async () => {
  await home.start();
  client = await home.connect();
});
afterAll(() => home.dispose());

async function event(fields: object): Promise<void> {
  const whole = { session_id: "alice", cwd: home.work, prompt_id: "p1", ...fields };
  await client.ask({ type: "hook", event: whole, env: {} });
}

async function doing(): Promise<unknown> {
  const reply = await client.ask({ type: "query", target: "sessions", id: "alice" });
  return Object.values(reply["rows"] ?? {})[0]?.doing ?? null;
}

it("is refused, failed or interrupted, and forgotten with the next prompt", async () => {
  const prompt = { hook_event_name: "UserPromptSubmit", prompt: "go on" };
  await event(prompt);
  const own = home.paths.config;
  const call = { tool_name: "Write", tool_use_id: "t1", tool_input: { file_path: own, content: "{}" } };
  await event({ ...call, hook_event_name: "PreToolUse" });
  expect(await doing()).toMatchObject({ verb: "refused", what: own });
  const shell = { tool_name: "Bash", tool_use_id: "t2", tool_input: { command: "git log" } };
  await event({ ...shell, hook_event_name: "PreToolUse" });
  expect(await doing()).toMatchObject({ verb: "runs", what: "git" });
  const failed = { ...shell, hook_event_name: "PostToolUseFailure", error: "Exit code 1" };
  await event({ ...failed, is_interrupt: false });
  expect(await doing()).toMatchObject({ verb: "failed", what: "git" });
  await event({ ...failed, is_interrupt: true });
  expect(await doing()).toMatchObject({ verb: "interrupted", what: "git" });
  await event({ ...prompt, prompt_id: "p2" });
  expect(await doing()).toBeNull();
});
