/** What a waiter is told of changes of its file when it is granted, however late their report comes. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
let watch: Client;
let file: string;
let uses = 0;

beforeEach(async () => {
  home = new Home();
  await home.start();
  watch = await home.connect();
  await watch.ask({ type: "subscribe" });
  file = join(home.work, "a.ts");
  writeFileSync(file, "0\n");
  execFileSync("git", ["init", "-q"], { cwd: home.work, env: home.environment });
  for (const name of ["alice", "bob"]) await hook(name, "SessionStart", { source: "startup" });
});
afterEach(() => home.dispose());

/** One event of a session, as its hook sends it, on a connection of its own; what the hook prints. */
async function hook(session_id: string, hook_event_name: string, fields: Message = {}): Promise<string> {
  const event = { session_id, hook_event_name, cwd: home.work, prompt_id: session_id, ...fields };
  const reply = await (await home.connect()).ask({ type: "hook", event });
  expect(reply).toMatchObject({ ok: true });
  return String(reply["output"]);
}

const stop = (session: string) => hook(session, "Stop", { background_tasks: [] });

/** A tool's use: before it, and the report of its end. */
function use(session: string, tool_name = "Edit") {
  uses += 1;
  const fields = { tool_name, tool_input: { file_path: file }, tool_use_id: `toolu_${uses}` };
  const hunk = { oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ["-0", "+1"] };
  const report = { ...fields, tool_response: { structuredPatch: [hunk] } };
  return {
    before: () => hook(session, "PreToolUse", fields),
    after: () => hook(session, "PostToolUse", report),
    failed: () => hook(session, "PostToolUseFailure", { ...fields, error: "no" }),
  };
}

/** Bob asks for the file, and waits for it. */
async function bobWaits(tool?: string): Promise<{ readonly answer: Promise<string> }> {
  const answer = use("bob", tool).before();
  await watch.event("lock_queued");
  return { answer };
}

/** What a model reads beside its edit, or why it did not run. */
function told(output: string): string {
  if (output === "") return "";
  const { additionalContext, permissionDecisionReason } = JSON.parse(output).hookSpecificOutput;
  return additionalContext ?? permissionDecisionReason;
}

test("the holder wrote before the wait began, and nobody told of it until its turn ended", async () => {
  await use("alice").before();
  writeFileSync(file, "alice\n");
  const { answer } = await bobWaits();
  await stop("alice");
  expect(told(await answer)).toContain("the file changed while you waited");
  expect(told(await answer)).toContain('"alice" changed "a.ts".');
});

test("the same for a Write, which is to read again and has the lock then", async () => {
  await use("alice").before();
  writeFileSync(file, "alice\n");
  const { answer } = await bobWaits("Write");
  await stop("alice");
  expect(JSON.parse(await answer).hookSpecificOutput).toMatchObject({ permissionDecision: "deny" });
  expect(told(await answer)).toContain('"alice" changed "a.ts".');
  expect(await use("bob", "Write").before()).toBe("");
});

test("the report that comes during the wait names the lines", async () => {
  const edit = use("alice");
  await edit.before();
  writeFileSync(file, "alice\n");
  const { answer } = await bobWaits();
  await edit.after();
  await stop("alice");
  expect(told(await answer)).toContain('"alice" changed line 1 of "a.ts".');
});

test("the holder wrote again during the wait, and its report is still on its way", async () => {
  const first = use("alice");
  await first.before();
  writeFileSync(file, "alice\n");
  await first.after();
  const { answer } = await bobWaits();
  const second = use("alice");
  await second.before();
  writeFileSync(file, "alice again\n");
  await stop("alice");
  expect(told(await answer)).toContain('"alice" changed "a.ts".');
  // It comes late, and nothing was lost: the write was over before the turn.
  await second.after();
  await use("bob").after();
  expect(await hook("bob", "UserPromptSubmit")).not.toContain("late");
});

test("what changes the moment the wait has begun is seen, whoever does it", async () => {
  for (let n = 0; n < 20; n += 1) {
    const edit = use("alice");
    await edit.before();
    await edit.after();
    const { answer } = await bobWaits();
    writeFileSync(file, `${"x".repeat(n + 3)}\n`);
    await stop("alice");
    expect(told(await answer)).toContain('"alice" held "a.ts" before you. Kite did not see who changed it.');
    await stop("bob");
  }
});

test("both hooks of one edit hear the same", async () => {
  await use("alice").before();
  writeFileSync(file, "alice\n");
  const edit = use("bob");
  const answers = [edit.before(), edit.before()];
  await watch.event("lock_queued");
  // One that is answered after both came.
  await watch.ask({ type: "ping" });
  await stop("alice");
  const [one, other] = await Promise.all(answers);
  expect(told(String(one))).toContain('"alice" changed "a.ts".');
  expect(other).toBe(one);
});

test("nothing is said when the holder's write is under way or failed, and changed nothing", async () => {
  const edit = use("alice");
  await edit.before();
  const { answer } = await bobWaits();
  await stop("alice");
  expect(await answer).toBe("");
  await stop("bob");
  const next = use("alice");
  await next.before();
  const { answer: again } = await bobWaits();
  await next.failed();
  await stop("alice");
  expect(await again).toBe("");
});

test("nothing is said of what was reported before the wait began", async () => {
  const edit = use("alice");
  await edit.before();
  writeFileSync(file, "alice\n");
  await edit.after();
  const { answer } = await bobWaits();
  await stop("alice");
  expect(await answer).toBe("");
  expect(readFileSync(file, "utf8")).toBe("alice\n");
});

test("a late report of one who had the file takes nothing away from who waits for the next", async () => {
  const late = use("alice");
  await late.before();
  writeFileSync(file, "alice\n");
  await stop("alice");
  await use("bob").before();
  writeFileSync(file, "bob\n");
  await late.after();
  const carol = use("carol").before();
  await watch.event("lock_queued");
  await stop("bob");
  expect(told(await carol)).toContain('"bob" changed "a.ts".');
});
