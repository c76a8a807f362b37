/** A command in an agent's shell acts for the agent that typed it, as its hook told. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, Home } from "./daemon.ts";

const program = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));
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

/** Runs a line as the client's shell does, in a process of this one; returns its output and exit code. */
async function shell(line: string): Promise<{ readonly out: string; readonly code: number }> {
  const path = `${fileURLToPath(new URL("../../bin", import.meta.url))}:${process.env["PATH"]}`;
  const own = { CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: "s1", CLAUDE_PID: String(process.pid), PATH: path };
  const text = `true && eval '${line.replaceAll("'", `'"'"'`)}' && pwd -P > /dev/null`;
  const env = { ...home.environment, ...own };
  return promisify(execFile)("bash", ["-c", text], { env, cwd: home.work }).then(
    ({ stdout }) => ({ out: stdout, code: 0 }),
    (error: { stdout: string; code: number }) => ({ out: error.stdout, code: error.code }),
  );
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
  await types(agent, "toolu_2", "kite task list");
  await types(null, "toolu_3", "kite task claim --json");
  expect(await claimed()).toBeNull();
  await hooks.ask({
    type: "hook",
    event: { ...stop, agent_id: agent, agent_type: "Explore" },
    ppid: process.pid,
  });
  expect(await claimed()).toBeNull();
});

test("a declaration in a teammate's script does not replace its lead's", async () => {
  await home.session("s1", { pid: process.pid });
  await types(null, "toolu_1", "kite declare --task lead");
  expect((await shell("kite declare --task lead")).code).toBe(0);
  const ended = { hook_event_name: "PostToolUse", session_id: "s1", cwd: home.work, tool_name: "Bash" };
  const event = { ...ended, tool_use_id: "toolu_1", tool_input: {}, tool_response: {} };
  await hooks.ask({ type: "hook", event, ppid: process.pid });
  const script = join(home.work, "say.sh");
  writeFileSync(script, "kite declare --task teammate --json\n");
  // Alone, the main agent's script is its own.
  expect((await shell(`sh ${script}`)).code).toBe(0);
  await shell("kite declare --task lead");
  const mate = { agent_id: "aalice-5d0b10a1332e636f", agent_type: "alice" };
  const began = { hook_event_name: "SubagentStart", session_id: "s1", cwd: home.work, ...mate };
  await hooks.ask({ type: "hook", event: began, ppid: process.pid });
  const { out, code } = await shell(`sh ${script}`);
  expect(code).toBe(1);
  expect(JSON.parse(out)).toMatchObject({
    ...{ ok: false, code: "ambiguous_caller", agents: 2 },
    error: expect.stringMatching(/nothing was done.*alone in its line and not in a script/),
  });
  const rows = (await hooks.ask({ type: "query", target: "declarations" }))["rows"];
  expect(rows).toMatchObject([{ agent: null, task: "lead" }]);
});

test("two agents that declare at once are told apart by their texts, and two that claim are refused", async () => {
  const [one, two] = ["a0954b2b04fdf61ec", "a1954b2b04fdf61ec"];
  await home.session("s1", { pid: process.pid });
  const line = (task: string) =>
    `kite declare - --json <<'EOF'\nunderstanding: {task: "${task}: isn't it"}\nEOF`;
  await types(one, "toolu_1", line("parse"));
  await types(two, "toolu_2", line("print"));
  const said = async (task: string) => JSON.parse((await shell(line(task))).out).declaration;
  expect(await said("print")).toMatchObject({ agent: two, task: "print: isn't it" });
  expect(await said("parse")).toMatchObject({ agent: one, task: "parse: isn't it" });

  await types(one, "toolu_3", "kite task claim --json");
  await types(two, "toolu_4", "kite task claim --json");
  const { out, code } = await shell("kite task claim --json");
  expect(code).toBe(1);
  expect(JSON.parse(out)).toMatchObject({ ok: false, code: "ambiguous_caller", agents: 2 });
  await hooks.ask({
    type: "hook",
    event: { ...stop, agent_id: two, agent_type: "Explore" },
    ppid: process.pid,
  });
  await types(null, "toolu_5", "kite task add one");
  await kite("task", "add", "one");
  expect(JSON.parse((await shell("kite task claim --json")).out)).toMatchObject({
    task: { assigneeAgent: one },
  });
});

const stop = { hook_event_name: "SubagentStop", session_id: "s1" };

/** A session of a client that puts no name of it into its shells; `pid` is the process above them. */
async function otherTypes(
  session_id: string,
  agent: string | null,
  id: string,
  command: string,
): Promise<void> {
  const common = { session_id, cwd: home.work, turn_id: "t", ...(agent === null ? {} : { agent_id: agent }) };
  const start = { ...common, agent_id: undefined, hook_event_name: "SessionStart", source: "startup" };
  await hooks.ask({ type: "hook", event: start, ppid: process.pid, client: "codex" });
  const call = { hook_event_name: "PreToolUse", tool_name: "Bash", tool_use_id: id, tool_input: { command } };
  const asked = { type: "hook", event: { ...common, ...call }, ppid: process.pid, client: "codex" };
  expect(await hooks.ask(asked)).toMatchObject({ ok: true });
}

/** Runs the command as a process below this one, without a variable of any client. */
function plain(...args: readonly string[]): Promise<{ readonly out: string; readonly code: number }> {
  const words = [program, ...args, "--json"];
  return promisify(execFile)(process.execPath, words, { env: home.environment, cwd: home.work }).then(
    ({ stdout }) => ({ out: stdout, code: 0 }),
    (error: { stdout: string; code: number }) => ({ out: error.stdout, code: error.code }),
  );
}

test("a command below a client that names no session acts for the agent that typed it", async () => {
  for (const name of ["one", "two", "three"]) await plain("task", "add", name);
  await otherTypes("cora", null, "call_1", "kite task claim --json");
  expect(JSON.parse((await plain("task", "claim")).out).task).toMatchObject({
    assignee: "cora",
    assigneeAgent: null,
  });
  await otherTypes("cora", "kid", "call_2", "kite task claim 2 --json");
  expect(JSON.parse((await plain("task", "claim", "2")).out).task).toMatchObject({
    assignee: "cora",
    assigneeAgent: "kid",
  });
});

test("of several sessions in one process the one that typed the line acts; without a line nobody does", async () => {
  await plain("task", "add", "one");
  await otherTypes("cora", null, "call_1", "ls");
  await otherTypes("dora", null, "call_2", "ls");
  const refused = await plain("task", "claim");
  expect(refused).toMatchObject({ code: 1 });
  expect(JSON.parse(refused.out)).toMatchObject({ ok: false, code: "ambiguous_caller" });
  await otherTypes("dora", null, "call_3", "kite task claim --json");
  expect(JSON.parse((await plain("task", "claim")).out).task).toMatchObject({ assignee: "dora" });
});
