/** A trail that a daemon makes of what sessions do, read by the commands that show it. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { type Client, Home, type Message } from "./daemon.ts";

const home = new Home();
let file: string;
let uses = 0;
let task: string;

/** One event of a session, as its hook sends it, on a connection of its own; what the hook prints. */
async function hook(session_id: string, hook_event_name: string, fields: Message = {}): Promise<string> {
  const event = { session_id, hook_event_name, cwd: home.work, prompt_id: session_id, ...fields };
  const reply = await (await home.connect()).ask({ type: "hook", event });
  expect(reply).toMatchObject({ ok: true });
  return String(reply["output"]);
}

function edit(session: string) {
  uses += 1;
  const tool_input = { file_path: file, old_string: "SECRET", new_string: "SECRET" };
  const fields = { tool_name: "Edit", tool_input, tool_use_id: `toolu_${uses}` };
  return {
    before: () => hook(session, "PreToolUse", fields),
    after: () => hook(session, "PostToolUse", { ...fields, tool_response: {} }),
  };
}

async function shell(session: string, command: string): Promise<string> {
  uses += 1;
  const fields = { tool_name: "Bash", tool_input: { command }, tool_use_id: `toolu_${uses}` };
  return hook(session, "PreToolUse", fields);
}

async function logged(...args: readonly string[]): Promise<TrailLine[]> {
  const text = await home.kite("log", "--json", ...args);
  return text
    .split("\n")
    .filter(line => line !== "")
    .map(line => JSON.parse(line));
}

/** The trail as its files are at this moment. */
function stored(): string {
  const { trail } = home.paths;
  return readdirSync(trail)
    .map(name => readFileSync(join(trail, name), "utf8"))
    .join("");
}

/** What a command prints on 80 columns, without its times; wrapped lines are one again. */
async function shown(...args: readonly string[]): Promise<string[]> {
  const text = (await home.kiteAt(home.work, home.environment, ...args)).trimEnd();
  for (const line of text.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
  const timeless = text.replace(/\d\d:\d\d:\d\d/g, "TIME").replace(/\b[\d.]+m?s\b/g, "AGE");
  return timeless.replace(/\n {2,}/g, " ").split("\n");
}

let watch: Client;

beforeAll(async () => {
  await home.start();
  file = join(home.work, "a.ts");
  writeFileSync(file, "0\n");
  const git = (...args: readonly string[]) =>
    execFileSync("git", args, { cwd: home.work, env: home.environment });
  git("init", "-q");
  watch = await home.connect();
  await watch.ask({ type: "subscribe" });
  for (const name of ["alice", "bob"]) await hook(name, "SessionStart", { source: "startup" });
  await hook("alice", "UserPromptSubmit", { prompt: "SECRET" });

  const first = edit("alice");
  await first.before();
  writeFileSync(file, "1\n");
  await first.after();
  const second = edit("bob");
  const waiting = second.before();
  await watch.event("lock_queued");
  await hook("alice", "Stop", { background_tasks: [] });
  await waiting;
  expect(await shell("bob", "git clean -fdx -e SECRET")).toContain("deny");

  const { pid } = await home.bystander();
  const client = await home.session("dave", { pid, name: "dave", project: home.work });
  expect(
    await client.ask({ type: "file_lock", id: "dave", files: ["b.ts", "a.ts"], waitMs: 0 }),
  ).toMatchObject({ code: "lock_held" });
  expect(
    await client.ask({ type: "file_lock", id: "dave", files: ["b.ts", "c.ts"], waitMs: 0 }),
  ).toMatchObject({ ok: true });
  const created = await client.ask({ type: "task_create", id: "dave", description: "SECRET" });
  task = String((created["task"] as Message)["id"]);
  await client.ask({ type: "task_claim", id: "dave", task });
  process.kill(pid, "SIGKILL");
  await watch.event("session_ended", event => event["id"] === "dave");
  const isLogged = async () => (await logged("--agent", "dave")).at(-1)?.event === "session_ended";
  await vi.waitUntil(isLogged, { timeout: 60_000 });
});

afterAll(() => home.dispose());

describe("kite log", () => {
  test("tells who waited for whom, what was denied, and how each lock ended after how long", async () => {
    const about = await logged("--file", "a.ts");
    expect(about.map(({ name, event, decision }) => `${name} ${event} ${decision}`)).toEqual([
      "alice PreToolUse allow",
      "bob lock_queued wait",
      "alice lock_released note",
      "bob PreToolUse allow",
      "bob PreToolUse deny",
      "dave file_lock deny",
    ]);
    const [taken, wait, released, granted, wiping, denied] = about;
    expect(taken).toMatchObject({ type: "Edit", rule: "lock", file });
    expect(taken).not.toHaveProperty("waitedMs");
    expect(wait).toMatchObject({ why: "behind alice, queue position 1" });
    expect(released).toMatchObject({ type: "turn ended", why: "its holder went idle" });
    expect([released?.heldMs, granted?.waitedMs]).toEqual([expect.any(Number), expect.any(Number)]);
    expect(wiping).toMatchObject({ rule: "guard", type: "git clean" });
    expect(denied).toMatchObject({ rule: "lock", code: "lock_held", holder: "bob" });
    const text = await home.kite("log", "--file", "a.ts");
    expect(text.trimEnd().split("\n").at(-1)).toMatch(/bob had the file$/);
    expect(text).not.toContain("waitMs");
  });

  test("names every file of a lock, and why it ended with its holder", async () => {
    const files = ["b.ts", "c.ts"].map(name => join(home.work, name));
    const lines = (await logged("--agent", "dave")).filter(line => files.includes(line.file ?? ""));
    expect(lines.map(({ file: path, decision, event }) => [path, decision, event])).toEqual([
      [files[0], "allow", "file_lock"],
      [files[1], "note", "lock_granted"],
      [files[0], "note", "lock_released"],
      [files[1], "note", "lock_released"],
    ]);
    expect(lines.slice(2).map(({ why }) => why)).toEqual(["its process ended", "its process ended"]);
  });

  test("has a write, and a time for each hook that did not wait, on request", async () => {
    const events = await logged("--decision", "event");
    const hooks = events.filter(line => line.ms !== undefined).map(({ name, event }) => `${name} ${event}`);
    expect(hooks).toEqual([
      "alice SessionStart",
      "bob SessionStart",
      "alice UserPromptSubmit",
      "alice PreToolUse",
      "alice PostToolUse",
      "alice Stop",
      "bob PreToolUse",
    ]);
    expect(events.filter(line => line.rule === "write")).toMatchObject([
      { name: "alice", file, type: "Edit" },
    ]);
    expect((await logged()).some(line => line.decision === "event")).toBe(false);
  });

  test("holds no prompt, no text of a file, and of a command nothing but git's own words", () => {
    expect(stored()).toContain("git clean");
    expect(stored()).not.toContain("SECRET");
  });
});

describe("kite explain", () => {
  test("tells of a file", async () => {
    expect(await shown("explain", "a.ts")).toEqual([
      "bob holds a.ts since TIME: its edit lock ends when bob has answered its prompt.",
      "alice wrote a.ts last, at TIME; that work is not committed.",
      "",
      "Latest decisions",
      "TIME  alice took a.ts at once.",
      "TIME  alice's lock on a.ts ended after AGE: its holder went idle.",
      "TIME  bob waited AGE for a.ts, then had it.",
      expect.stringMatching(/^TIME {2}bob was denied `git clean`: would reach uncommitted work: a\.ts/),
      "TIME  dave was denied a.ts: another agent has the file. bob had taken it at TIME.",
    ]);
  });

  test("tells of an agent that lives, and of one that ended", async () => {
    const [bob, held, refused] = await shown("explain", "bob");
    expect(bob).toMatch(/^bob is active in /);
    expect([held, refused].join(" ")).toContain("bob holds a.ts since TIME");
    const dave = await shown("explain", "dave");
    expect(dave[0]).toBe("dave's session ended at TIME (its process ended).");
    expect(dave).toContain(`TIME  dave claimed #1.`);
    expect(dave.at(-1)).toBe("TIME  dave's session ended (its process ended).");
  });

  test("tells of a task", async () => {
    expect(await shown("explain", task)).toEqual([
      `dave created #1 at TIME: SECRET.`,
      `Nothing blocks it. To claim it: kite task claim 1`,
      "",
      "Latest decisions",
      "TIME  dave created it.",
      "TIME  dave claimed it.",
      `TIME  dave lost it: its process ended, #1 can be claimed again.`,
    ]);
  });
});

test("kite stats counts it all", async () => {
  const { decisions, waits, denials, holders, hooks } = JSON.parse(await home.kite("stats", "--json"));
  const byRule = Object.fromEntries(decisions.map((one: { rule: string }) => [one.rule, one]));
  expect(byRule).toMatchObject({
    lock: { allow: 3, deny: 1, wait: 1 },
    guard: { allow: 0, deny: 1 },
    task: { allow: 2, deny: 0, note: 1 },
  });
  expect(waits).toMatchObject({ count: 1 });
  expect(denials).toEqual([
    { who: "bob", count: 1, rules: { guard: 1 } },
    { who: "dave", count: 1, rules: { lock: 1 } },
  ]);
  expect(holders.map((one: { who: string }) => one.who).sort()).toEqual(["alice", "bob", "dave", "dave"]);
  expect(hooks.map((one: { event: string }) => one.event).sort()).toEqual([
    "PostToolUse",
    "PreToolUse",
    "SessionStart",
    "Stop",
    "UserPromptSubmit",
  ]);
  expect((await shown("stats")).join("\n")).toContain("\nWaits for others 1 wait ended: median ");
});

test("a person's line has the task's project, so that a short name means a task of it alone", async () => {
  const add = ["task", "add", "elsewhere", "--project", "/elsewhere", "--json"];
  const other = JSON.parse(await home.kite(...add)).task;
  const number = (id: string) => id.slice(id.lastIndexOf("-") + 1);
  expect(number(other.id)).toBe(number(task));
  await home.kite("task", "edit", task, "--priority", "high");
  const events = async () => (await logged()).map(({ event }) => event);
  await expect.poll(events).toContain("task_update");
  const byPerson = (await logged()).filter(({ id, event }) => id === null && event.startsWith("task_"));
  expect(byPerson.map(line => [line.task, line.project])).toEqual([
    [other.id, "/elsewhere"],
    [task, home.work],
  ]);
});

test("the trail has what was answered before, once trail_flush answers", async () => {
  const erin = await home.session("erin", { name: "erin" });
  for (const name of ["first.ts", "second.ts"]) {
    expect(await erin.ask({ type: "file_lock", file: name, cwd: home.work, id: "erin" })).toMatchObject({
      ok: true,
    });
    expect(await erin.ask({ type: "trail_flush" })).toEqual({ ok: true });
    expect(stored()).toContain(name);
  }
});

test("all three read the trail of a daemon that is gone", async () => {
  const before = await logged();
  await home.daemon.kill();
  expect(await logged()).toEqual(before);
  const lines = await shown("explain", "a.ts");
  expect(lines[0]).toMatch(/^No daemon runs: this is what the log alone tells\. It ends at TIME\.$/);
  expect(lines.slice(1, 3)).toEqual([
    "bob took a.ts at TIME, and the log tells of no release.",
    "alice wrote a.ts last, at TIME.",
  ]);
  expect(await shown("explain", task)).toContain(
    "What blocks it now, only a daemon knows. Start it: kite up",
  );
  expect(await shown("explain", "--task", task.slice(task.lastIndexOf("-") + 1))).toEqual(
    await shown("explain", task),
  );
  expect((await shown("stats")).join("\n")).toContain("\nHeld longest ");
});
