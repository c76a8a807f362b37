/** A command in an agent's shell acts for the agent that typed it, as its hook told. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, Home } from "./daemon.ts";

const program = fileURLToPath(new URL("../../dist/kite.mjs", import.meta.url));
let home: Home;
let hooks: Client;

beforeEach(async () => {
  home = new Home();
  await home.start();
  hooks = await home.connect();
});
afterEach(() => home.dispose());

async function types(agent: string | null, id: string, command: string): Promise<void> {
  const event = {
    hook_event_name: "PreToolUse",
    session_id: "s1",
    cwd: home.work,
    tool_name: "Bash",
    tool_use_id: id,
    tool_input: { command },
    ...(agent === null ? {} : { agent_id: agent, agent_type: "Explore" }),
  };
  expect(await hooks.ask({ type: "hook", event, ppid: process.pid })).toMatchObject({ ok: true });
}

/** Runs the command as the client's shell does. */
async function kite(...args: readonly string[]): Promise<string> {
  const env = { ...home.environment, CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: "s1" };
  return (await promisify(execFile)(process.execPath, [program, ...args], { env, cwd: home.work })).stdout;
}

async function claimed(): Promise<unknown> {
  return JSON.parse(await kite("task", "claim", "--json")).task?.assigneeAgent;
}

test("a subagent's claim is its own, the main agent's is not anybody else's", async () => {
  const agent = "a0954b2b04fdf61ec";
  await home.session("s1", { pid: process.pid });
  for (const name of ["one", "two", "three"]) await kite("task", "add", name);
  await types(agent, "toolu_1", "kite task claim --json");
  expect(await claimed()).toBe(agent);
  const post = { hook_event_name: "PostToolUse", session_id: "s1", cwd: home.work, agent_id: agent };
  const response = { tool_name: "Bash", tool_use_id: "toolu_1", tool_input: {}, tool_response: {} };
  await hooks.ask({ type: "hook", event: { ...post, ...response }, ppid: process.pid });
  expect(await claimed()).toBeNull();
  await types(agent, "toolu_2", "kite task list");
  await types(null, "toolu_3", "kite task claim --json");
  expect(await claimed()).toBeNull();
});
