/**
 * README's first ten minutes, step by step: what each step says happens, with two sessions of which the hooks alone are
 * played. A step that README words anew has to be played anew.
 */
import { execFileSync } from "node:child_process";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";

const readme = readFileSync(fileURLToPath(new URL("../../README.md", import.meta.url)), "utf8");
const home = new Home();
const [first, second] = ["aaaa0001-0000-4000-8000-000000000001", "bbbb0002-0000-4000-8000-000000000002"];
const notes = join(home.work, "notes.md");
const git = (...words: readonly string[]) =>
  execFileSync("git", words, { cwd: home.work, env: home.environment });
let client: Client;

beforeAll(async () => {
  git("init", "-q", "-b", "main");
  writeFileSync(notes, "notes\n");
  git("add", "notes.md");
  git("-c", "user.name=ana", "-c", "user.email=ana@example.org", "commit", "-qm", "first");
  await home.start();
  client = await home.connect();
  for (const session of [first, second])
    await event(session, { hook_event_name: "SessionStart", source: "startup" });
});
afterAll(() => home.dispose());

/** What the hook of an event answers; each event has a connection of its own, as a hook's process has. */
async function event(session: string, fields: object): Promise<Message> {
  const whole = { session_id: session, cwd: home.work, prompt_id: `${session}-p`, ...fields };
  return (await home.connect()).ask({ type: "hook", event: whole, env: {} });
}

const edit = (id: string) => ({
  tool_name: "Edit",
  tool_use_id: id,
  tool_input: { file_path: notes, old_string: "notes", new_string: "notes" },
});
const before = (session: string, call: object) => event(session, { hook_event_name: "PreToolUse", ...call });

/** The edit's tool has run. */
async function wrote(session: string, id: string): Promise<void> {
  appendFileSync(notes, `${session}\n`);
  await event(session, { hook_event_name: "PostToolUse", ...edit(id), tool_response: {} });
}

async function kite(...words: readonly string[]): Promise<string> {
  const { out, err } = await home.command(words, { COLUMNS: "400" });
  expect(err).toBe("");
  return out;
}

async function namesOf(): Promise<readonly string[]> {
  const { rows } = await client.ask({ type: "query", target: "sessions" });
  return Object.values(rows ?? {}).map(row => String(row.name));
}

/** README has this step in these words, line breaks aside. */
function told(step: string): void {
  expect(readme.replace(/\s+/g, " ")).toContain(step);
}

test("2: both sessions appear, each with a name", async () => {
  told("Both sessions appear, each with a name.");
  const names = await namesOf();
  expect(new Set(names).size).toBe(2);
  const status = await kite("status");
  for (const name of names) expect(status).toContain(name);
});

test("3, 4: an edit waits until the other one has answered, and explain says who has it and wrote it", async () => {
  told("Its edit waits until the first one has answered; `kite watch` shows for whom.");
  told("`kite explain notes.md` says who has it, who waits, and who wrote it last.");
  const [one = "", two = ""] = await namesOf();
  expect(await before(first, edit("t1"))).toMatchObject({ output: "" });
  await wrote(first, "t1");
  await client.ask({ type: "subscribe", events: ["lock_queued"] });
  const waits = before(second, edit("t2"));
  await client.event("lock_queued");
  const why = await kite("explain", "notes.md");
  expect(why).toMatch(
    new RegExp(`${one} holds notes\\.md .*\\n${two} waits for notes\\.md .* behind ${one}`),
  );
  expect(why).toContain(`${one} wrote notes.md last`);
  await event(first, { hook_event_name: "Stop" });
  expect(String((await waits)["output"])).not.toContain('"deny"');
  await wrote(second, "t2");
  await event(second, { hook_event_name: "Stop" });
  told("Both sessions' lines are in the file afterwards.");
  expect(readFileSync(notes, "utf8")).toBe(`notes\n${first}\n${second}\n`);
});

test("5: git stash is stopped, with whose work it would have taken", async () => {
  told(
    "The file has the first one's uncommitted work, so Kite stops the command, and tells the agent whose work it would have taken.",
  );
  const [one = ""] = await namesOf();
  const stash = { tool_name: "Bash", tool_use_id: "t3", tool_input: { command: "git stash" } };
  const { output } = await before(second, stash);
  const { hookSpecificOutput: said } = JSON.parse(String(output));
  expect(said.permissionDecision).toBe("deny");
  expect(said.permissionDecisionReason).toContain(`"notes.md" has uncommitted changes of "${one}"`);
});

test("6: two tasks go to two sessions", async () => {
  told("Each gets another one, and `kite task list` shows whose it is.");
  for (const task of ["Write the tests", "Write the documentation"]) await kite("task", "add", task);
  for (const id of [first, second])
    expect(await client.ask({ type: "task_claim", id })).toMatchObject({ ok: true });
  const list = await kite("task", "list");
  for (const name of await namesOf()) expect(list).toContain(name);
});

test("7: off lets everything through, and on ends it", async () => {
  told("`kite off --for 1h` lets everything through for an hour; `kite on` ends it earlier.");
  expect(String((await before(first, edit("t4")))["output"])).not.toContain('"deny"');
  await kite("off", "--for", "1h");
  expect(await before(second, edit("t5"))).toMatchObject({ output: "" });
  expect(await kite("on")).toContain("Kite is on.");
});
