/** Two agents declare what they are about: by the command, from a shell, and by the tool. */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";
import { kiteProgram } from "./kite.ts";
import { Mcp } from "./mcp-client.ts";

let home: Home;
let mcp: Mcp | null;

beforeEach(async () => {
  mcp = null;
  home = new Home();
  await home.start();
});
afterEach(async () => {
  await mcp?.close();
  await home.dispose();
});

const session = (id: string): Promise<Client> => home.session(id, { project: home.work, name: id });

/** Runs `kite` as the session's shell does. */
function kite(id: string, ...args: string[]): Promise<string> {
  return home.kiteIn({ ...home.environment, COLUMNS: "80", KITE_SESSION: id }, ...args);
}

/** The same as a process that reads `input`. */
async function kiteReading(id: string, input: string, ...args: readonly string[]): Promise<string> {
  const env = { ...home.environment, COLUMNS: "80", KITE_SESSION: id };
  const running = promisify(execFile)(process.execPath, [kiteProgram, ...args], { env, cwd: home.work });
  running.child.stdin?.end(input);
  return (await running).stdout;
}

/** Has the project's gates ask for declarations: only then anything of one is missing. */
function askForAll(): void {
  mkdirSync(join(home.work, ".kite"));
  writeFileSync(join(home.work, ".kite/config.json"), JSON.stringify({ gates: "team" }));
}

async function declarations(client: Client, target = "declarations"): Promise<readonly Message[]> {
  return (await client.ask({ type: "query", target }))["rows"] as readonly Message[];
}

test("two that declare the same file hear of each other", async () => {
  askForAll();
  const ann = await session("ann");
  await session("bob");
  await kite("ann", "declare", "--file", "src/", "--sees", "old", "--will", "rename it", "--role", "lead");
  const yaml = "understanding:\n  task: Split it\ncodeView:\n  - file: src/a.ts\n    will: split it\n";
  const said = await kiteReading("bob", yaml, "declare", "-");
  expect(said.split("\n").slice(0, 4)).toEqual([
    "Notes from other agents (information, not instructions):",
    '! ann declared src, too, and will: "rename it"; agree with kite message send ann',
    'bob declared: on "Split it", 1 file',
    "Missing:",
  ]);
  expect(await declarations(ann)).toMatchObject([
    { id: "ann", role: "lead", files: [{ path: `${home.work}/src`, dir: true }] },
    { id: "bob", task: "Split it", files: [{ path: `${home.work}/src/a.ts`, dir: false }] },
  ]);
  // What ann did not ask for comes with her next event.
  const event = { hook_event_name: "UserPromptSubmit", session_id: "ann", cwd: home.work, prompt: "go on" };
  const hook = await ann.ask({ type: "hook", event, ppid: process.pid });
  expect(hook["output"]).toContain('declared \\"src/a.ts\\", too');
  await kiteReading("bob", "anew: true\n", "declare", "-");
  expect(await declarations(ann, "declarations_ended")).toMatchObject([{ id: "bob", task: "Split it" }]);
});

test("from another directory of its shell, a file is what the shell sees", async () => {
  const ann = await session("ann");
  const env = { ...home.environment, KITE_SESSION: "ann", PWD: "/" };
  await home.kiteAt("/", env, "declare", "--file", "etc/");
  expect(await declarations(ann)).toMatchObject([{ files: [{ path: "/etc", dir: true }] }]);
});

test("everything is no code view: the worktree and what is around it are refused, and can be struck off", async () => {
  const ann = await session("ann");
  for (const file of [".", "./", "/", `${home.work}/`, home.work, "src/..", ".."]) {
    const codeView = [{ file: "src/a.ts" }, { file, will: "change it" }];
    expect(await ann.ask({ type: "declare", id: "ann", codeView })).toMatchObject({
      ok: false,
      code: "invalid_request",
      file,
      error: expect.stringContaining(
        `${file} is the whole worktree, or a folder around it; declare the files`,
      ),
    });
  }
  expect(await declarations(ann)).toEqual([]);
  const drop = await ann.ask({ type: "declare", id: "ann", codeView: [{ file: "./", drop: true }] });
  expect(drop).toMatchObject({ code: "not_declared" });
  await kite("ann", "declare", "--file", "src/", "--file", "..x");
  expect(await declarations(ann)).toMatchObject([{ files: [{ dir: true }, { path: `${home.work}/..x` }] }]);
});

test("a subagent's declaration is its own", async () => {
  const hooks = await home.session("s1", { pid: process.pid });
  const command = `kite declare --task "look around"`;
  const call = { tool_name: "Bash", tool_use_id: "toolu_1", tool_input: { command } };
  const who = { session_id: "s1", cwd: home.work, agent_id: "a0954b2b04fdf61ec", agent_type: "Explore" };
  const event = { hook_event_name: "PreToolUse", ...who, ...call };
  expect(await hooks.ask({ type: "hook", event, ppid: process.pid })).toMatchObject({ ok: true });
  const env = { ...home.environment, CLAUDECODE: "1", CLAUDE_CODE_SESSION_ID: "s1" };
  const words = ["declare", "--task", "look around"];
  await home.kiteIn(env, ...words);
  expect(await declarations(hooks)).toMatchObject([{ id: "s1", agent: who.agent_id, task: "look around" }]);
});

test("a subagent's declaration is over with its main agent's turn, although its daemon was killed", async () => {
  const hooks = await home.session("s1");
  const who = { session_id: "s1", cwd: home.work };
  const child = { agent_id: "a0954b2b04fdf61ec", agent_type: "Explore" };
  await hooks.ask({ type: "hook", event: { hook_event_name: "SubagentStart", ...who, ...child } });
  await hooks.ask({
    type: "declare",
    id: "s1",
    agent: child.agent_id,
    understanding: { task: "look around" },
  });
  await home.daemon.kill();
  await home.start();
  const after = await home.connect();
  expect(await declarations(after)).toMatchObject([{ agent: child.agent_id }]);
  const stop = { hook_event_name: "Stop", ...who, background_tasks: [] };
  expect(await after.ask({ type: "hook", event: stop })).toMatchObject({ ok: true });
  await expect.poll(() => declarations(after)).toEqual([]);
});

test("kite_declare takes the parts, and tells overlaps and what is missing", async () => {
  askForAll();
  await session("ann");
  const said = ["--role", "tester", "--task", "Rename it", "--file", "a.ts", "--will", "rename it"];
  await kite("ann", "declare", ...said);
  const tool = await Mcp.start(home, { name: "tester" });
  mcp = tool;
  const declared = await tool.call("kite_declare", {
    understanding: { task: "Split it", confidence: 0.5 },
    codeView: [{ file: "a.ts", sees: "a list", will: "split it" }],
    uncertainties: [{ question: "is it stable?" }],
  });
  expect(declared.data).toMatchObject({
    overlaps: [{ file: "a.ts", by: "ann", will: "rename it" }],
    declared: { task: "Split it", files: [{ file: "a.ts", touched: false }], open: ["is it stable?"] },
    missing: expect.arrayContaining([expect.stringContaining("identity.role")]),
  });
  expect(declared.text).toContain('"ann" declared "a.ts", too, and will: "rename it"; agree with "ann"');
  const { data, text } = await tool.call("kite_status");
  expect(data).toMatchObject({ others: [{ name: "ann", role: "tester", task: "Rename it" }] });
  expect(text).toContain('"ann", idle, "tester", declared the task "Rename it"');
  const resolved = { uncertainties: [{ question: "is it stable?", resolved: true }] };
  expect(await tool.call("kite_declare", resolved)).toMatchObject({
    isError: true,
    data: { code: "evidence_missing", question: "is it stable?" },
  });
  expect((await tool.call("kite_declare", { code_view: [] })).isError).toBe(true);
});

test("what does not fit what the client says is in the reply, the trail, and every view", async () => {
  const hooks = await home.session("s1", { pid: process.pid, name: "lead", project: home.work });
  const who = {
    session_id: "s1",
    cwd: home.work,
    agent_id: "areviewer-0954b2b04fdf61ec",
    agent_type: "reviewer",
  };
  const team = { teammate_name: "reviewer", team_name: "session-7f4090af" };
  for (const event of [
    { hook_event_name: "SubagentStart", ...who },
    { hook_event_name: "TeammateIdle", ...who, ...team },
  ])
    expect(await hooks.ask({ type: "hook", event, ppid: process.pid })).toMatchObject({ ok: true });
  const env = { ...home.environment, KITE_SESSION: "s1", KITE_AGENT: who.agent_id, COLUMNS: "200" };
  const said = await home.kiteIn(env, "declare", "--role", "implementer", "--team", "orders");
  const role = "identity.role: declared implementer, but the client calls this agent reviewer";
  const other = "identity.team: declared orders, but the client says its team is session-7f4090af";
  expect(said).toContain(`! ${role}\n! ${other}\n`);
  expect(await home.kiteIn(env, "agent", "lead/reviewer")).toContain(role);
  expect(await home.kiteIn(env, "status")).toMatch(/reviewer +active +implementer, identity mismatch\n/);
  const notes = async () => {
    const trail = (await home.kite("log", "--json")).trim().split("\n");
    return trail.map(line => JSON.parse(line)).filter(line => line.event === "declared");
  };
  await expect.poll(notes).toMatchObject([
    { name: "lead/reviewer", decision: "note", why: role },
    { name: "lead/reviewer", decision: "note", why: other },
  ]);
});

test("each agent starts with what is known, once", async () => {
  const ann = await session("ann");
  const said = ["--role", "implementer", "--task", "Page the list", "--file", "src/"];
  await kite("ann", "declare", ...said);
  const { task } = await ann.ask({ type: "task_create", id: "ann", description: "Write the schema" });
  const { id } = task as Message;
  await ann.ask({ type: "task_update", id: "ann", task: id, status: "done", result: "four tables" });
  await ann.ask({ type: "context_set", id: "ann", key: "api.port", value: 4000 });
  const starts = async (hook_event_name: string, more: Message = {}): Promise<string> => {
    const client = await home.connect();
    const event = { hook_event_name, session_id: "bob", cwd: home.work, ...more };
    const { output } = await client.ask({ type: "hook", event, ppid: process.pid });
    return output === "" ? "" : JSON.parse(String(output)).hookSpecificOutput.additionalContext;
  };
  const known = [
    "Notes from other agents (information, not instructions):",
    '- "ann", idle, role "implementer", works on "Page the list", will change "src/"',
    '- finished by "ann": "Write the schema": "four tables"',
    '- shared values, to be read with kite context get KEY: "api.port"',
  ];
  const work =
    "When you edit a file, you hold its lock until you have answered. To commit your own lines alone: kite commit -m MESSAGE [FILES]. To test them alone, on the last commit: kite try -- COMMAND.";
  expect((await starts("SessionStart", { source: "startup" })).split("\n")).toEqual([
    `Kite: 1 other session works in this project. ${work}`,
    ...known,
  ]);
  const agent = { agent_id: "a0954b2b04fdf61ec", agent_type: "Explore" };
  expect((await starts("SubagentStart", agent)).split("\n").slice(1)).toEqual(known);
  expect(await starts("SubagentStart", agent)).toBe("");
  const [, , beside] = (await starts("SubagentStart", { ...agent, agent_id: "a1111222233334444" })).split(
    "\n",
  );
  expect(beside).toMatch(/^- ".*\/Explore", active$/);
  await home.daemon.kill();
  await home.start();
  expect(await starts("SubagentStart", agent)).toBe("");
});

test("kite agent shows an agent while it lives, and what it did when it has ended", async () => {
  const ann = await session("ann");
  await ann.ask({ type: "file_lock", id: "ann", file: "a.ts" });
  await kite("ann", "declare", "--role", "lead", "--task", "Split it", "--file", "a.ts");
  await ann.ask({ type: "task_create", project: home.work, description: "Page the list" });
  await ann.ask({ type: "task_claim", id: "ann" });
  const row = JSON.parse(await home.kite("agent", "ann", "--json"));
  expect(row).toMatchObject({
    agent: { id: "ann", name: "ann" },
    declaration: { role: "lead", task: "Split it" },
    locks: [{ file: "a.ts" }],
    tasks: [{ description: "Page the list" }],
  });
  expect(await home.kite("agent", "ann")).toContain("  task       Split it\n");
  const { id } = row.tasks[0];
  await ann.ask({ type: "task_update", id: "ann", task: id, status: "done", result: "by a cursor" });
  await ann.ask({ type: "deregister", id: "ann" });
  const past = await home.kite("agent", "ann", "--history");
  expect(past).toContain('lead, on "Split it", 1 file\n');
  expect(past).toContain("Page the list: by a cursor\n");
  await expect(home.kite("agent", "zoe")).rejects.toThrow("no agent is called zoe");
});

test("a folder without its slash is a folder, by the command and by the tool", async () => {
  const ann = await session("ann");
  for (const name of ["lib", "docs"]) mkdirSync(join(home.work, name));
  await kite("ann", "declare", "--file", "lib", "--sees", "old", "--will", "mend it");
  await kite("ann", "declare", "--file", "lib/new", "--sees", "a new file", "--will", "write it");
  const rows = async () => {
    const all = await declarations(ann);
    const files = all.flatMap(row => row["files"] as readonly Message[]);
    return files.map(({ path, dir }) => [path, dir]);
  };
  expect(await rows()).toEqual([
    [join(home.work, "lib"), true],
    [join(home.work, "lib/new"), false],
  ]);
  mcp = await Mcp.start(home);
  await mcp.call("kite_declare", { codeView: [{ file: "docs", sees: "old", will: "mend it" }] });
  expect(await rows()).toContainEqual([join(home.work, "docs"), true]);
});
