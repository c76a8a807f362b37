/** Gates, from a hook's event or a request to the answer, through the built daemon. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { gateNames } from "../../protocol/lead/roles.ts";
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

/** Sends an event of session `ann`, and returns what the client of the agent reads. `ppid` is that client. */
async function hook(event: Message, ppid?: number): Promise<Message> {
  const reply = await client.ask({
    type: "hook",
    ...(ppid === undefined ? {} : { ppid }),
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
  ppid?: number,
): Promise<{ denied: string | null; told: string | null }> {
  count += 1;
  const tool_input = { file_path: join(home.work, file), old_string: "old", new_string: "new" };
  const event = { hook_event_name: "PreToolUse", tool_name: "Edit", tool_use_id: `use-${count}`, tool_input };
  const said = await hook({ ...event, ...more }, ppid);
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

/** Sends the event before a shell line; returns why it was denied, or what its agent is told beside it. */
async function bash(command: string) {
  return edit("", { tool_name: "Bash", tool_input: { command } });
}

describe("with the gate of roles", () => {
  beforeEach(async () => {
    await start({ role: "enforce" });
    await client.ask({ type: "register", id: "bob", cwd: home.work, name: "bob" });
  });

  test("an alias is what it stands for, wherever it is set", async () => {
    await client.ask({ type: "register", id: "ann", cwd: home.work });
    await declare({ identity: { role: "researcher" } });
    const git = (...words: readonly string[]) =>
      execFileSync("git", words, { cwd: home.work, stdio: "pipe" });
    git("init", "-q");
    git("config", "alias.ci", "commit -v");
    git("config", "alias.save", "!git ci -m saved");
    git("config", "alias.tree", "log --graph");
    for (const line of ["git ci -m x", "git save", "git -c alias.x=commit x", "cd . && git -C . ci"])
      expect((await bash(line)).denied).toContain("runs no git command that writes (git commit);");
    expect(await bash("git tree; git nothing-like-it")).toEqual({ denied: null, told: null });
  });

  test("a researcher reads, and is told whom to leave the rest to", async () => {
    expect((await edit("a.ts")).denied).toBe(null);
    expect((await bash("git commit -m x")).denied).toBe(null);
    await declare({ identity: { role: "researcher" } });
    const way =
      "; leave the change to bob (kite message send), or declare another identity.role if that is not what you are, for example implementer.";
    expect((await edit("b.ts")).denied).toBe(
      `Kite: this Edit did not run. role: you are researcher (you declared it), which changes no files${way}`,
    );
    expect((await edit("b.ts")).denied).toContain("changes no files");
    expect((await bash("git add b.ts && git commit -m x && npm test")).denied).toContain(
      "this command line did not run. role: you are researcher (you declared it), which runs no git command that writes (git add, git commit);",
    );
    expect(await bash("git status && npm install")).toEqual({ denied: null, told: null });
    expect(await edit("", { tool_name: "Read", tool_input: { file_path: join(home.work, "b.ts") } })).toEqual(
      {
        denied: null,
        told: null,
      },
    );
    const refused = await client.ask({ type: "task_create", id: "ann", description: "more" });
    expect(refused).toMatchObject({ code: "role_limit", error: expect.stringContaining("creates no tasks") });
    await declare({ identity: { role: "implementer" } });
    expect((await edit("b.ts")).denied).toBe(null);
    const lines = await trail();
    expect(lines.filter(({ decision }) => decision === "deny").map(({ type, why }) => [type, why])).toEqual([
      ["Edit", "the agent's role does not allow it"],
      ["Edit", "the agent's role does not allow it"],
      ["Bash", "the agent's role does not allow it"],
      ["task_create", "the agent's role does not allow it"],
    ]);
  });

  test("a role that a person gave counts at once, whatever the agent declares, and over a restart", async () => {
    await edit("a.ts");
    const person = await home.connectPerson();
    expect(await person.ask({ type: "role_set", name: "zoe", role: "tester" })).toMatchObject({
      code: "recipient_gone",
    });
    const [session] = (await client.ask({ type: "query", target: "sessions" }))["rows"] as Message[];
    const project = session?.["project"];
    const set = { type: "role_set", name: "ann", project };
    expect(await client.ask({ ...set, role: "tester", id: "bob" })).toMatchObject({ code: "person_only" });
    expect(await client.ask({ ...set, role: "tester" })).toMatchObject({ code: "person_only" });
    expect(await person.ask({ ...set, role: "tester" })).toMatchObject({ role: "tester", by: "person" });
    const reply = await declare({ identity: { role: "architect" } });
    expect(reply).toMatchObject({
      role: "tester",
      warnings: [expect.stringContaining("your user gave you the role tester, and that stands")],
    });
    const { denied, told } = await edit("b.ts");
    expect(denied).toContain(
      "b.ts is none; leave the change to bob (kite message send), or ask your user: kite role",
    );
    expect(told).toContain(
      "your user gave you the role tester: you change tests only; you run git add and git commit in a worktree",
    );
    mkdirSync(join(home.work, "tests"));
    expect((await edit("tests/a.ts")).denied).toBe(null);
    expect((await edit("b.test.ts")).denied).toBe(null);
    home.daemon.signal("SIGTERM");
    await home.daemon.exited;
    await home.start();
    client = await home.connect();
    expect((await edit("b.ts")).denied).toContain("changes tests only");
    expect(await (await home.connectPerson()).ask({ ...set, role: null })).toMatchObject({
      role: "architect",
      by: "declared",
    });
    expect((await edit("b.ts")).denied).toBe(null);
  });

  test("a denied line takes no index, and a repository of another project is nobody's business", async () => {
    await edit("a.ts");
    await declare({ identity: { role: "reviewer" } });
    const other = join(home.paths.home, "..", "other");
    mkdirSync(other);
    execFileSync("git", ["init", "-q"], { cwd: other });
    expect((await bash("git add a.ts")).denied).toContain("role: you are reviewer");
    expect(await bash(`git -C ${other} add a.ts`)).toEqual({ denied: null, told: null });
    const rows = await client.ask({ type: "query", target: "locks" });
    expect(JSON.stringify(rows["rows"])).not.toContain(`${home.work}/.git/index`);
    expect(await client.ask({ type: "task_create", id: "ann", description: "mend it" })).toMatchObject({
      ok: true,
    });
  });
});

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
    const more = (await edit("b.ts")).denied;
    expect(more).toMatch(/codeView: .*b\.ts/);
    // Whoever copies it keeps what it declared before.
    expect(more).toContain("kite declare - <<'EOF'\ncodeView: ");
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
      expect.stringMatching(/^checks: test was not run in .*; run there: kite check test/),
    ]);
    writeFileSync(join(home.work, "a.ts"), "red\n");
    await expect(home.kite("check", "test")).rejects.toThrow();
    expect(await missing()).toEqual([
      expect.stringMatching(/^checks: test failed in .*; mend what it found/),
    ]);
    writeFileSync(join(home.work, "a.ts"), "new\n");
    expect(await missing()).toEqual([expect.stringMatching(/^checks: files changed in .* since test ran/)]);
    writeFileSync(settings, JSON.stringify({ checks: { test: { command: "true" } } }));
    await expect
      .poll(missing)
      .toEqual([expect.stringMatching(/^checks: they changed since a person trusted/)]);
    writeFileSync(settings, JSON.stringify({ checks }));
    await expect
      .poll(missing)
      .toEqual([expect.stringMatching(/^checks: files changed in .* since test ran/)]);
    await home.kite("check", "test");
    expect(await done(task, "ann")).toMatchObject({ ok: true, task: { status: "done" } });
  });

  test("needs the checks of the worktree in which its agent stands, not of its session's", async () => {
    const who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    mkdirSync(join(home.work, ".kite"));
    const checks = { test: { command: "grep -q new a.ts" } };
    writeFileSync(join(home.work, ".kite/config.json"), JSON.stringify({ checks }));
    const git = (...args: string[]) => execFileSync("git", [...who, ...args], { cwd: home.work });
    git("add", ".");
    git("commit", "-qm", "first");
    git("worktree", "add", "-q", "-b", "pay", "pay");
    const [other, elsewhere] = [join(home.work, "pay"), home.paths.home];
    await home.kite("trust", "--yes");
    const id = await claimed();
    const { task } = await client.ask({
      type: "task_create",
      id: "ann",
      project: home.work,
      description: "x",
    });
    await declare({ understanding });
    const done = (more: Message) =>
      client.ask({ type: "task_update", id: "ann", task: id, status: "done", ...more });
    const missing = async (cwd?: string) =>
      (await done({ ...(cwd === undefined ? {} : { cwd }) }))["missing"];
    const inWorktree = (at: string) => [`checks: test was not run in ${at}; run there: kite check test`];
    expect(await missing(other)).toEqual(inWorktree(other));
    // A directory of no project says nothing: the session's counts.
    for (const cwd of [undefined, home.work, elsewhere])
      expect(await missing(cwd)).toEqual(inWorktree(home.work));
    expect(await done({ cwd: "pay" })).toMatchObject({ code: "invalid_request", path: "cwd" });

    writeFileSync(join(home.work, "a.ts"), "new\n");
    await home.kite("check", "test");
    expect(await missing(other)).toEqual(inWorktree(other));
    const completed = { hook_event_name: "TaskCompleted", task_id: "1", task_subject: "paging", cwd: other };
    expect(await hook(completed)).toMatchObject({
      decision: "block",
      reason: expect.stringContaining(`test was not run in ${other}`),
    });
    expect(await done({ cwd: home.work })).toMatchObject({ ok: true });

    writeFileSync(join(home.work, "a.ts"), "red\n");
    writeFileSync(join(other, "a.ts"), "new\n");
    const agent = { ...home.environment, KITE_SESSION: "ann" };
    const own = String((task as Message)["id"]);
    await expect(home.kiteIn(agent, "task", "done", own)).rejects.toThrow(`changed in ${home.work} since`);
    await home.kiteAt(other, agent, "check", "test");
    await home.kiteAt(other, agent, "task", "claim", own);
    expect(await home.kiteAt(other, agent, "task", "done", own)).toContain("is done");
  });

  test("is done if only others changed files since its check was green, and names them", async () => {
    mkdirSync(join(home.work, ".kite"));
    writeFileSync(join(home.work, ".kite/config.json"), '{"checks":{"test":{"command":"true"}}}');
    await home.kite("trust", "--yes");
    const task = await claimed();
    await declare({ understanding });
    await home.kite("check", "test");
    const use = { session_id: "bob", tool_name: "Edit", tool_use_id: "bobs" };
    const tool_input = { file_path: join(home.work, "b.ts"), old_string: "old", new_string: "new" };
    await declare({
      id: "bob",
      identity,
      understanding,
      codeView: [{ file: "b.ts", sees: "old", will: "new" }],
    });
    await hook({ hook_event_name: "SessionStart", session_id: "bob", source: "startup" });
    await hook({ hook_event_name: "PreToolUse", ...use, tool_input });
    writeFileSync(join(home.work, "b.ts"), "new\n");
    await hook({ hook_event_name: "PostToolUse", ...use, tool_input, tool_response: {} });
    const reply = await done(task, "ann");
    expect(reply).toMatchObject({ ok: true, task: { status: "done" } });
    expect(reply["warnings"]).toEqual([
      expect.stringMatching(
        /^checks overtaken: test was green with your work; later others changed b\.ts \(/,
      ),
    ]);
    expect((await trail()).map(({ decision, why }) => [decision, why])).toContainEqual([
      "note",
      "passed with a warning: checks overtaken",
    ]);
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

  test("is not done by an agent that hides its session, nor imported as done", async () => {
    // Commands run in this process, which is below that one.
    await client.ask({ type: "register", id: "ann", cwd: home.work, pid: process.ppid });
    const task = String(await claimed());
    const hidden = { ...home.environment, CLAUDE_CODE_SESSION_ID: "", KITE_SESSION: "" };
    const refused = "only a person ends a task without a session's name";
    await expect(home.kiteIn(hidden, "task", "done", task)).rejects.toThrow(refused);
    const file = join(home.work, "tasks.json");
    writeFileSync(file, JSON.stringify([{ id: "t-old-1", description: "x", status: "done" }]));
    await expect(home.kiteIn(hidden, "task", "import", file)).rejects.toThrow("only a person imports tasks");
    const named = { ...hidden, KITE_SESSION: "ann" };
    await expect(home.kiteIn(named, "task", "import", file)).rejects.toThrow(
      "t-old-1 is not imported as done; it needs: understanding.task",
    );
    await declare({ understanding });
    expect(await home.kiteIn(named, "task", "import", file)).toContain("imported 1 task");
    await client.ask({ type: "declare", id: "ann", anew: true });
    // What is there already is not brought in again.
    expect(await home.kiteIn(named, "task", "import", file)).toContain("1 already existed");
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

  test("it tells the same of another file no more, and what is new of it", async () => {
    await start("team");
    await edit("a.ts");
    expect(await edit("b.ts")).toEqual({ denied: null, told: null });
    await declare({ identity, understanding, codeView: [{ file: "a.ts", sees: "?", will: "pages" }] });
    expect((await edit("a.ts")).told).toContain("- codeView: what is in a.ts now");
    expect(await edit("a.ts")).toEqual({ denied: null, told: null });
    expect(await edit("b.ts")).toEqual({ denied: null, told: null });
  });

  test("it tells again after a compaction, which the agent does not remember", async () => {
    await start("team");
    await edit("a.ts");
    await hook({ hook_event_name: "SessionStart", source: "compact" });
    expect((await edit("a.ts")).told).toContain("identity.role");
  });

  test("two terminals of one session are told and sent on each for itself", async () => {
    await start("team");
    const [one, two] = [(await home.bystander()).pid, (await home.bystander()).pid];
    for (const pid of [one, two]) {
      await hook({ hook_event_name: "SessionStart", source: "resume" }, pid);
      expect((await edit(pid === one ? "a.ts" : "b.ts", {}, pid)).told).toContain("identity.role");
    }
    const bash = { tool_name: "Bash", tool_input: { command: "make" } };
    const failed = { hook_event_name: "PostToolUseFailure", tool_use_id: "use-x", error: "no", ...bash };
    await hook(failed, two);
    const stop = { hook_event_name: "Stop", stop_hook_active: false };
    expect(await hook(stop, one)).toEqual({});
    expect(await hook(stop, two)).toMatchObject({ decision: "block" });
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
