/** What agents and people are told unasked, through their hooks, and what not. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, type Daemon, Home, type Message } from "./daemon.ts";

let home: Home;
let client: Client;
let daemon: Daemon;
let uses = 0;

beforeEach(async () => {
  home = new Home();
  // With it other words tell of lost work: tests/end-to-end/rescue-told.test.ts.
  mkdirSync(home.paths.home, { recursive: true, mode: 0o700 });
  writeFileSync(home.paths.config, '{"rescue":"off"}');
  daemon = await home.start();
  client = await home.connect();
});
afterEach(() => home.dispose());

/** One event of a session, as its hook sends it; what the hook prints. */
async function hook(session_id: string, hook_event_name: string, fields: Message = {}): Promise<unknown> {
  const event = { session_id, hook_event_name, cwd: home.work, prompt_id: session_id, ...fields };
  const reply = await client.ask({ type: "hook", event });
  expect(reply).toMatchObject({ ok: true });
  return reply["output"];
}

test("fifty edits with a formatter behind each, while another session's commands run: no note at all", async () => {
  const watcher = await home.connect();
  await watcher.ask({ type: "subscribe" });
  const file = join(home.work, "a.ts");
  writeFileSync(file, "0\n");
  execFileSync("git", ["init", "-q"], { cwd: home.work, env: home.environment });
  await hook("alice", "SessionStart", { source: "startup" });
  await hook("bob", "SessionStart", { source: "startup" });
  const said: unknown[] = [];
  for (let n = 1; n <= 50; n += 1) {
    uses += 1;
    const edit = { tool_name: "Edit", tool_input: { file_path: file }, tool_use_id: `toolu_${uses}` };
    const bash = { tool_name: "Bash", tool_input: { command: "npm test" }, tool_use_id: `toolu_b${uses}` };
    said.push(await hook("alice", "PreToolUse", edit));
    writeFileSync(file, `${"x".repeat(n)}\n`);
    said.push(await hook("alice", "PostToolUse", edit));
    // Her own formatter, as her client runs it after the edit, beside Kite's hook.
    writeFileSync(file, `${"x ".repeat(n)}\n`);
    said.push(await hook("bob", "PostToolUse", { ...bash, duration_ms: 30_000 }));
  }
  said.push(await hook("alice", "Stop", { background_tasks: [] }));
  expect(said.filter(output => output !== "")).toEqual([]);
  await client.ask({ type: "ping" });
  await watcher.ask({ type: "ping" });
  const names = watcher.kept.map(message => message["event"]);
  expect(names.filter(name => !/^(?:session_started|lock_granted|lock_released)$/.test(`${name}`))).toEqual(
    [],
  );
});

test("a shell command that changes another's file is told to both, once", async () => {
  const file = join(home.work, "a.ts");
  writeFileSync(file, "0\n");
  execFileSync("git", ["init", "-q"], { cwd: home.work, env: home.environment });
  await hook("alice", "SessionStart", { source: "startup" });
  await hook("bob", "SessionStart", { source: "startup" });
  const edit = (tool_use_id: string) => ({ tool_name: "Edit", tool_input: { file_path: file }, tool_use_id });
  await hook("alice", "PreToolUse", edit("toolu_1"));
  writeFileSync(file, "alice\n");
  await hook("alice", "PostToolUse", edit("toolu_1"));
  writeFileSync(file, "bob was here\n");
  const bash = { tool_name: "Bash", tool_input: { command: "sed" }, tool_use_id: "toolu_2", duration_ms: 0 };
  // It may have been a command of alice's: what is told is when the file changed, at once.
  expect(await hook("bob", "PostToolUse", bash)).toContain("changed while your shell command ran");
  expect(await hook("alice", "PreToolUse", edit("toolu_3"))).toContain(
    'changed while a shell command of \\"bob\\" ran',
  );
  expect(await hook("bob", "UserPromptSubmit")).toBe("");
  expect(await hook("alice", "PreToolUse", edit("toolu_4"))).toBe("");
});

/** Alice has written a file, which is not committed, and rests; bob's command overwrites it. */
async function overwritten(tool_use_id: string): Promise<Message> {
  const file = join(home.work, "a.ts");
  writeFileSync(file, "0\n");
  execFileSync("git", ["init", "-q"], { cwd: home.work, env: home.environment });
  await hook("alice", "SessionStart", { source: "startup" });
  await hook("bob", "SessionStart", { source: "startup" });
  const edit = { tool_name: "Edit", tool_input: { file_path: file }, tool_use_id: "toolu_1" };
  await hook("alice", "PreToolUse", edit);
  writeFileSync(file, "alice\n");
  await hook("alice", "PostToolUse", edit);
  await hook("alice", "Stop", { background_tasks: [] });
  writeFileSync(file, "bob was here\n");
  return { tool_name: "Bash", tool_input: { command: "sed" }, tool_use_id, duration_ms: 0 };
}

const bobsFault = "changed while your shell command ran";

test("an owner that only reads and runs hears of it with a line that waits, or is woken when it stops", async () => {
  const bash = await overwritten("toolu_2");
  await hook("bob", "PostToolUse", bash);
  const env = { CLAUDE_CODE_SESSION_ATTENDED: "1" };
  const event = { hook_event_name: "Stop", session_id: "alice", cwd: home.work, background_tasks: [] };
  const waking = { type: "hook", wake: true, ppid: process.pid, env, event };
  const woken = {
    exitCode: 2,
    stderr: expect.stringContaining("other agents changed or removed work of yours"),
  };
  expect(await client.ask(waking)).toMatchObject(woken);
  // At most once a minute.
  expect(await client.ask(waking)).toMatchObject({ output: "" });
  const line = { tool_name: "Bash", tool_input: { command: "git status" }, tool_use_id: "toolu_4" };
  const told = 'changed while a shell command of \\"bob\\" ran';
  expect(await hook("alice", "PreToolUse", line)).toContain(told);
  expect(await hook("alice", "PreToolUse", { ...line, tool_use_id: "toolu_5" })).toBe("");
  expect(await client.ask(waking)).toMatchObject({ output: "" });
});

test("whose shell command changed another's file is told with the answer of its end, once", async () => {
  const bash = await overwritten("toolu_2");
  const said = JSON.parse(String(await hook("bob", "PostToolUse", bash)));
  expect(said).toEqual({
    hookSpecificOutput: {
      hookEventName: "PostToolUse",
      additionalContext: expect.stringContaining(`"a.ts", in which "alice" has work, ${bobsFault}`),
    },
  });
  expect(await hook("bob", "UserPromptSubmit")).toBe("");
  // Its owner, too, hears of it with whatever comes next.
  const read = { tool_name: "Bash", tool_input: { command: "ls" }, tool_use_id: "toolu_3", duration_ms: 0 };
  expect(await hook("alice", "PostToolUse", read)).toContain(
    'changed while a shell command of \\"bob\\" ran',
  );
  expect(await hook("alice", "UserPromptSubmit")).toBe("");
});

test("what an answer that nobody got was to tell comes with the next event", async () => {
  const bash = await overwritten("toolu_2");
  const watcher = await home.connect();
  await watcher.ask({ type: "subscribe", events: ["bypassed"] });
  const event = { session_id: "bob", hook_event_name: "PostToolUse", cwd: home.work, ...bash };
  const killed = await home.connect();
  killed.send({ type: "hook", event });
  killed.destroy();
  await watcher.event("bypassed", () => true);
  // That the answer found nobody has no event of its own: this asks again.
  let said: unknown = "";
  while (said === "") said = await hook("bob", "PostToolUse", { ...bash, tool_use_id: "toolu_3" });
  expect(said).toContain(bobsFault);
});

test("an agent within a session is told with its own next event that waits, and its main agent nothing", async () => {
  const bash = { ...(await overwritten("toolu_2")), agent_id: "a0954b2b04fdf61ec", agent_type: "Explore" };
  await hook("bob", "SubagentStart", { agent_id: bash.agent_id, agent_type: "Explore" });
  expect(await hook("bob", "PostToolUse", bash)).toBe("");
  expect(await hook("bob", "PostToolUse", { ...bash, agent_id: undefined })).toBe("");
  const edit = {
    tool_name: "Edit",
    tool_input: { file_path: join(home.work, "b.ts") },
    tool_use_id: "toolu_4",
  };
  expect(await hook("bob", "PreToolUse", { ...edit, agent_id: bash.agent_id })).toContain(bobsFault);
});

test("a session that is open in two terminals: both people are told, once", async () => {
  const [first, second] = [await home.bystander(), await home.bystander()];
  const prompt = async ({ pid }: { readonly pid: number }) => {
    const event = { hook_event_name: "UserPromptSubmit", session_id: "twice", cwd: home.work };
    return (await client.ask({ type: "hook", event, env: { CLAUDE_PID: `${pid}` } }))["output"];
  };
  expect(await prompt(first)).toBe("");
  expect(await prompt(second)).toContain("open in 2 terminals");
  expect(await prompt(first)).toContain("open in 2 terminals");
  expect([await prompt(first), await prompt(second)]).toEqual(["", ""]);
});

test("who wrote a file before another one is told so once, over a restart of the daemon", async () => {
  const file = join(home.work, "a.ts");
  writeFileSync(file, "0\n");
  execFileSync("git", ["init", "-q"], { cwd: home.work, env: home.environment });
  for (const session of ["alice", "bob"]) await hook(session, "SessionStart", { source: "startup" });
  const write = async (session: string) => {
    uses += 1;
    const tool = { tool_name: "Edit", tool_input: { file_path: file }, tool_use_id: `toolu_${uses}` };
    const before = await hook(session, "PreToolUse", tool);
    writeFileSync(file, `${session} ${uses}\n`);
    const said = `${before}${await hook(session, "PostToolUse", tool)}`;
    // The next one need not wait for the end of a turn.
    const person = await home.connectPerson();
    await person.ask({ type: "file_unlock", file, force: true });
    person.destroy();
    return said;
  };
  expect(await write("alice")).toBe("");
  expect(await write("bob")).toBe("");
  // What alice was not told yet she is told by the next daemon.
  await daemon.kill();
  daemon = await home.start();
  client = await home.connect();
  const changed = (other: string) =>
    new RegExp(`"${other}\\\\" changed .*\\\\"a.ts\\\\" after your last write of it`);
  expect(await write("alice")).toMatch(changed("bob"));
  // The next daemon does not know who wrote before alice, but it knows that she has read what bob changed.
  expect(await write("bob")).toBe("");
  expect(await write("alice")).toMatch(changed("bob"));
  expect(await write("alice")).toBe("");
  expect(await write("bob")).toMatch(changed("alice"));
  expect(await write("bob")).toBe("");
});

test("a denial says what the holder edited last: not what it only opened, locked or was let edit", async () => {
  writeFileSync(home.paths.config, JSON.stringify({ lockWaitMs: 400, yieldMs: 200 }));
  daemon.signal("SIGTERM");
  await daemon.exited;
  daemon = await home.start();
  client = await home.connect();
  execFileSync("git", ["init", "-q"], { cwd: home.work, env: home.environment });
  const edit = (name: string, tool_use_id: string) => {
    writeFileSync(join(home.work, name), `${tool_use_id}\n`);
    return { tool_name: "Edit", tool_input: { file_path: join(home.work, name) }, tool_use_id };
  };
  await hook("alice", "SessionStart", { source: "startup" });
  await hook("bob", "SessionStart", { source: "startup" });
  expect(await client.ask({ type: "file_touch", id: "alice", file: "open.ts" })).toMatchObject({ ok: true });
  expect(await client.ask({ type: "file_lock", id: "alice", file: "locked.ts" })).toMatchObject({ ok: true });
  expect(await hook("alice", "PreToolUse", edit("begun.ts", "toolu_1"))).toBe("");
  const denied = await hook("bob", "PreToolUse", edit("locked.ts", "toolu_2"));
  expect(denied).toContain("is held by");
  expect(denied).not.toContain("What it does");

  expect(await hook("alice", "PreToolUse", edit("done.ts", "toolu_3"))).toBe("");
  expect(await hook("alice", "PostToolUse", edit("done.ts", "toolu_3"))).toBe("");
  expect(await hook("bob", "PreToolUse", edit("locked.ts", "toolu_4"))).toContain(
    'What it does: \\"last edited done.ts\\"',
  );
});
