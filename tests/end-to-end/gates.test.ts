/** Gates, from a hook's event or a request to the answer, through the built daemon. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { gateNames } from "../../protocol/gates.ts";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
let client: Client;
let count = 0;

beforeEach(() => {
  home = new Home();
  execFileSync("git", ["init", "-q"], { cwd: home.work });
  for (const name of ["a.ts", "b.ts", "notes.md"]) writeFileSync(join(home.work, name), "old\n");
});
afterEach(() => home.dispose());

/** Starts the daemon with these gates in the user's settings. */
async function start(gates: unknown): Promise<void> {
  mkdirSync(home.paths.home, { recursive: true, mode: 0o700 });
  writeFileSync(home.paths.config, JSON.stringify({ gates }));
  await home.start();
  client = await home.connect();
}

/** Sends an event of session `ann`, and returns what the client of the agent reads. */
async function hook(event: Message): Promise<Message> {
  const reply = await client.ask({
    type: "hook",
    event: { session_id: "ann", cwd: home.work, prompt_id: "p1", ...event },
  });
  const { output } = reply;
  expect(typeof output).toBe("string");
  return output === "" ? {} : JSON.parse(String(output));
}

/** Sends the event before an edit. Returns why it was denied, or what its agent is told beside it; null for nothing. */
async function edit(
  file: string,
  more: Message = {},
): Promise<{ denied: string | null; told: string | null }> {
  count += 1;
  const tool_input = { file_path: join(home.work, file), old_string: "old", new_string: "new" };
  const said = await hook({
    hook_event_name: "PreToolUse",
    tool_name: "Edit",
    tool_use_id: `use-${count}`,
    tool_input,
    ...more,
  });
  const specific = (said["hookSpecificOutput"] ?? {}) as Message;
  return {
    denied: (specific["permissionDecisionReason"] ?? null) as string | null,
    told: (specific["additionalContext"] ?? null) as string | null,
  };
}

const identity = { role: "implementer" };
const understanding = { task: "paging", confidence: 0.8, reason: "I read it", plan: ["test", "code"] };
const declare = (more: Message) => client.ask({ type: "declare", id: "ann", ...more });

/** The trail's lines of gates, all written once the daemon has stopped. */
async function trail(): Promise<Message[]> {
  home.daemon.signal("SIGTERM");
  await home.daemon.exited;
  const files = readdirSync(home.paths.trail).sort();
  const lines = files.flatMap(name => readFileSync(join(home.paths.trail, name), "utf8").split("\n"));
  const all: Message[] = lines.filter(line => line !== "").map(line => JSON.parse(line));
  return all.filter(({ rule }) => gateNames.some(gate => String(rule).split(",").includes(gate)));
}

describe("with strict gates", () => {
  beforeEach(() => start("strict"));

  test("the first write tells all of it in one message, and the next one runs", async () => {
    const { denied } = await edit("a.ts");
    expect(denied).toContain("this Edit did not run");
    for (const field of ["identity.role", "understanding.task", "understanding.plan", "codeView: "])
      expect(denied).toContain(field);
    expect(denied).toContain("kite declare - <<'EOF'");
    expect((await edit("a.ts")).denied).toBe(
      "Kite: this Edit did not run, for the same reasons as before: identity.role, understanding.task, " +
        "understanding.confidence, understanding.reason, understanding.plan, codeView. " +
        "Supply them with the tool kite_declare, or: kite declare --example",
    );
    await declare({ identity, understanding, codeView: [{ file: "a.ts", sees: "a list", will: "pages" }] });
    expect(await edit("a.ts")).toEqual({ denied: null, told: null });
    expect((await edit("b.ts")).denied).toMatch(/codeView: .*b\.ts/);
    const [first] = await trail();
    expect(first).toMatchObject({
      name: "ann",
      decision: "deny",
      rule: "identity,understanding,codeView",
      type: "Edit",
    });
  });

  test("nobody waits behind an edit that a gate denied", async () => {
    await edit("a.ts");
    const other = await home.session("bob");
    expect(await other.ask({ type: "file_lock", id: "bob", file: "a.ts", waitMs: 0 })).toMatchObject({
      ok: true,
    });
  });

  test("files outside of the project, and the client's own, are nobody's business", async () => {
    const outside = { file_path: join(home.paths.home, "..", "scratch.ts"), content: "" };
    expect(await edit("", { tool_name: "Write", tool_input: outside })).toEqual({ denied: null, told: null });
    const plan = { file_path: join(home.work, ".claude/plans/plan.md"), content: "" };
    expect(await edit("", { tool_name: "Write", tool_input: plan })).toEqual({ denied: null, told: null });
  });

  test("a lead delegates code and writes documents", async () => {
    await edit("a.ts");
    await declare({
      identity: { role: "lead" },
      understanding,
      codeView: [{ file: "a.ts", sees: "x", will: "y" }],
    });
    const { denied } = await edit("a.ts");
    expect(denied).toContain("a lead delegates code: you declared that you lead");
    expect(await edit("notes.md")).toEqual({ denied: null, told: null });
    await declare({ identity });
    expect(await edit("a.ts")).toEqual({ denied: null, told: null });
  });

  test("a main agent leads while agents work that it began", async () => {
    await declare({});
    await edit("a.ts");
    await declare({ understanding, codeView: [{ file: "a.ts", sees: "x", will: "y" }] });
    await hook({ hook_event_name: "SubagentStart", agent_id: "a0954b2b04fdf61ec", agent_type: "Explore" });
    expect((await edit("a.ts")).denied).toMatch(
      /you lead the agents that you began, so give it to ann\/Explore/,
    );
  });
});

describe("a task", () => {
  beforeEach(() => start("team"));

  const done = (task: unknown, id?: string) =>
    client.ask({ type: "task_update", ...(id === undefined ? {} : { id }), task, status: "done" });

  async function claimed(): Promise<unknown> {
    await edit("a.ts");
    const { task } = await client.ask({ type: "task_create", id: "ann", description: "paging" });
    const { id } = task as Message;
    await client.ask({ type: "task_claim", id: "ann", task: id });
    return id;
  }

  test("is done when nothing is missing any more, and the refusal lists exactly what is", async () => {
    const task = await claimed();
    const refused = await done(task, "ann");
    expect(refused).toMatchObject({ ok: false, code: "not_complete" });
    expect((refused["missing"] as string[]).map(sentence => sentence.split(":", 1)[0])).toEqual([
      "understanding.task",
      "understanding.confidence",
      "understanding.reason",
      "understanding.plan",
    ]);
    const question = "is it called twice?";
    await declare({
      understanding,
      codeView: [{ file: "b.ts", sees: "x", will: "y" }],
      uncertainties: [{ question }],
    });
    expect(await done(task, "ann")).toMatchObject({
      missing: [
        expect.stringMatching(/^codeView: .*b\.ts and did not write it/),
        expect.stringContaining(question),
      ],
    });
    await declare({
      codeView: [{ file: "b.ts", drop: true }],
      uncertainties: [{ question, evidence: "the test", resolved: true }],
    });
    expect(await done(task, "ann")).toMatchObject({ ok: true, task: { status: "done" } });
  });

  test("is done when the project's checks are green for what is in the worktree now", async () => {
    const who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    mkdirSync(join(home.work, ".kite"));
    const checks = { test: { command: "grep -q new a.ts" }, docs: { command: "false", when: "*.rst" } };
    const settings = join(home.work, ".kite/config.json");
    writeFileSync(settings, JSON.stringify({ checks }));
    execFileSync("git", ["add", "."], { cwd: home.work });
    execFileSync("git", [...who, "commit", "-qm", "first"], { cwd: home.work });
    const task = await claimed();
    await declare({ understanding });
    const missing = async () => (await done(task, "ann"))["missing"];
    writeFileSync(join(home.work, "a.ts"), "newer\n");
    await home.kite("trust", "--yes");
    expect(await missing()).toEqual([
      expect.stringMatching(/^checks: test was not run; run: kite check test/),
    ]);
    writeFileSync(join(home.work, "a.ts"), "red\n");
    await expect(home.kite("check", "test")).rejects.toThrow();
    expect(await missing()).toEqual([expect.stringMatching(/^checks: test failed; mend what it found/)]);
    writeFileSync(join(home.work, "a.ts"), "new\n");
    expect(await missing()).toEqual([expect.stringMatching(/^checks: files changed since test ran/)]);
    writeFileSync(settings, JSON.stringify({ checks: { test: { command: "true" } } }));
    await expect
      .poll(missing, { timeout: 20_000 })
      .toEqual([expect.stringMatching(/^checks: they changed since a person trusted/)]);
    writeFileSync(settings, JSON.stringify({ checks }));
    await expect
      .poll(missing, { timeout: 20_000 })
      .toEqual([expect.stringMatching(/^checks: files changed since test ran/)]);
    await home.kite("check", "test");
    expect(await done(task, "ann")).toMatchObject({ ok: true, task: { status: "done" } });
  });

  test("is done after the verdict of the debate that it requires", async () => {
    await edit("a.ts");
    const hypotheses = ["race", "leak"].map(name => ({ name, claim: `a ${name}` }));
    const opened = await client.ask({ type: "debate_open", id: "ann", question: "Why?", hypotheses });
    const { task } = await client.ask({
      ...{ type: "task_create", id: "ann", description: "paging", debate: opened["debate"] },
    });
    const { id } = task as Message;
    await client.ask({ type: "task_claim", id: "ann", task: id });
    await declare({ understanding });
    expect((await done(id, "ann"))["missing"]).toEqual([expect.stringMatching(/^debate: d-.* is open/)]);
    const said = { debate: opened["debate"], id: "ann" };
    await client.ask({ type: "debate_concede", ...said, hypothesis: "leak" });
    await client.ask({ type: "debate_close", ...said, verdict: "race", because: "it is gone on one core" });
    expect(await done(id, "ann")).toMatchObject({ ok: true });
  });

  test("is done if a person says so", async () => {
    expect(await done(await claimed())).toMatchObject({ ok: true, task: { status: "done" } });
  });

  test("of the client's own list is not completed either, and at rest nobody is asked", async () => {
    await edit("a.ts");
    const task = { task_id: "1", task_subject: "paging", teammate_name: "ann", team_name: "session-1" };
    const completed = { hook_event_name: "TaskCompleted", ...task };
    const listed = () => client.ask({ type: "query", target: "client_tasks" });
    expect(await hook(completed)).toMatchObject({
      decision: "block",
      reason: expect.stringContaining("- understanding.task"),
    });
    expect(await hook(completed)).toMatchObject({
      reason: expect.stringContaining("for the same reasons as before"),
    });
    expect(await listed()).toMatchObject({ rows: [] });
    await hook({ hook_event_name: "Stop", stop_hook_active: false });
    expect(await hook(completed)).toEqual({});
    expect(await listed()).toMatchObject({
      rows: [{ task: "1", owner: "ann", state: "open", resting: true }],
    });
    await hook({ hook_event_name: "UserPromptSubmit", prompt: "go" });
    await declare({ identity, understanding });
    expect(await hook(completed)).toEqual({});
    expect(await listed()).toMatchObject({ rows: [{ state: "completed", resting: false }] });
  });
});

describe("an agent that stops on an error", () => {
  const bash = { tool_name: "Bash", tool_input: { command: "make" } };
  const failed = (id: string) =>
    hook({ hook_event_name: "PostToolUseFailure", tool_use_id: id, error: "Exit code 2", ...bash });
  const stop = (more: Message = {}) => hook({ hook_event_name: "Stop", stop_hook_active: false, ...more });

  beforeEach(async () => {
    await start("team");
    await hook({ hook_event_name: "UserPromptSubmit", prompt: "go" });
  });

  test("is sent on once with the error, and twice in a row at most", async () => {
    await failed("use-1");
    expect(await stop()).toMatchObject({ decision: "block", reason: expect.stringContaining("Exit code 2") });
    expect(await stop()).toEqual({});
    await failed("use-2");
    expect(await stop()).toMatchObject({ decision: "block" });
    await failed("use-3");
    expect(await stop()).toEqual({});
  });

  test("keeps its turn while it is sent on", async () => {
    await edit("a.ts");
    await failed("use-1");
    await stop();
    expect(await client.ask({ type: "query", target: "locks" })).toMatchObject({ rows: [{ kind: "turn" }] });
    await stop({ stop_hook_active: true });
    expect(await client.ask({ type: "query", target: "locks" })).toMatchObject({ rows: [] });
  });

  test("stops if a call succeeded since, or if a hook sent it on just now", async () => {
    await failed("use-1");
    expect(await stop({ stop_hook_active: true })).toEqual({});
    await hook({ hook_event_name: "PostToolUse", tool_use_id: "use-2", tool_response: {}, ...bash });
    expect(await stop()).toEqual({});
  });

  test("is an agent of its own", async () => {
    const agent_id = "a0954b2b04fdf61ec";
    await hook({ hook_event_name: "SubagentStart", agent_id, agent_type: "Explore" });
    await hook({
      hook_event_name: "PostToolUseFailure",
      tool_use_id: "use-1",
      error: "no",
      agent_id,
      ...bash,
    });
    expect(await stop()).toEqual({});
    const ended = {
      hook_event_name: "SubagentStop",
      agent_id,
      agent_type: "Explore",
      stop_hook_active: false,
    };
    expect(await hook(ended)).toMatchObject({ decision: "block" });
  });
});

describe("which gates count", () => {
  test("with gates off an agent is asked for nothing", async () => {
    await start("off");
    expect(await edit("a.ts")).toEqual({ denied: null, told: null });
    expect(await trail()).toEqual([]);
  });

  test("a gate that warns tells once, and the edit runs", async () => {
    await start("team");
    const { denied, told } = await edit("a.ts");
    expect(denied).toBeNull();
    expect(told).toContain("Kite: your edit runs. This project asks you for this, too:");
    expect(await edit("a.ts")).toEqual({ denied: null, told: null });
  });

  test("a project makes them stricter, and cannot switch one off", async () => {
    mkdirSync(join(home.work, ".kite"));
    const settings = join(home.work, ".kite/config.json");
    const gates = { identity: "enforce", delegation: "off" };
    writeFileSync(settings, JSON.stringify({ gates, ignore: ["*"] }));
    await start({ delegation: "enforce" });
    expect((await edit("a.ts")).denied).toContain("identity.role");
    await declare({ identity: { role: "lead" } });
    expect((await edit("a.ts")).denied).toContain("a lead delegates code");
  });
});
