/** A day of four sessions with a daemon, and what `kite report` says of it: each figure is counted by hand beside its step. */
import { execFileSync } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Report } from "../../bin/trail/report-counter.ts";
import { type Client, Home, type Message } from "./daemon.ts";

const home = new Home();
let watch: Client;
let uses = 0;
/** Characters of all answers of hooks, and how many had any. */
const said = { chars: 0, answers: 0 };

/** One event of a session, as its hook sends it, on a connection of its own; what the hook prints. */
async function hook(session_id: string, hook_event_name: string, fields: Message = {}): Promise<string> {
  const event = { session_id, hook_event_name, cwd: home.work, prompt_id: session_id, ...fields };
  const reply = await (await home.connect()).ask({ type: "hook", event });
  expect(reply).toMatchObject({ ok: true });
  const output = String(reply["output"]);
  said.chars += output.length;
  if (output !== "") said.answers += 1;
  return output;
}

function call(tool_name: string, tool_input: object): Message {
  uses += 1;
  return { tool_name, tool_input, tool_use_id: `toolu_${uses}` };
}

function edit(session: string, file: string) {
  const fields = call("Edit", { file_path: join(home.work, file), old_string: "x", new_string: "y" });
  return {
    before: () => hook(session, "PreToolUse", fields),
    after: () => hook(session, "PostToolUse", { ...fields, tool_response: {} }),
  };
}

/** The answer before a shell line. */
function shell(session: string, command: string): Promise<string> {
  return hook(session, "PreToolUse", call("Bash", { command }));
}

async function ask(message: Message): Promise<Message> {
  return (await home.connect()).ask(message);
}

function put(file: string, text: string): void {
  writeFileSync(join(home.work, file), text);
}

async function reported(...args: readonly string[]): Promise<Report> {
  return JSON.parse(await home.kite("report", "--json", ...args));
}

beforeAll(async () => {
  await home.start();
  watch = await home.connect();
  await watch.ask({ type: "subscribe" });
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], {
      cwd: home.work,
      env: home.environment,
    });
  git("init", "-q");
  for (const file of ["a.ts", "b.ts", "c.ts"]) put(file, "first\n");
  git("add", ".");
  git("commit", "-qm", "first");

  // Four answers.
  for (const name of ["ann", "bob", "cem", "dee"]) await hook(name, "SessionStart", { source: "startup" });
  // The first edit: two answers.
  const anns = edit("ann", "a.ts");
  await anns.before();
  put("a.ts", "first\nann 1\nann 2\n");
  await anns.after();
  // The first wait, the first collision, the second edit: one answer that waited, and two that did not.
  const bobs = edit("bob", "a.ts");
  const waiting = bobs.before();
  await watch.event("lock_queued");
  await hook("ann", "Stop", { background_tasks: [] });
  await waiting;
  put("a.ts", "first\nann 1\nann 2\nbob 1\n");
  await bobs.after();
  // Three denials of the guard, each of which spares three lines in one file: three answers.
  for (const line of ["git stash", "git reset --hard", "rm a.ts"])
    expect(await shell("cem", line)).toContain('"deny"');
  // They are counted in the file as it is then, behind the answers.
  await vi.waitUntil(async () => (await reported()).stops.counted === 3, { timeout: 60_000 });
  // She goes on elsewhere, with the third edit: two answers.
  const cems = edit("cem", "c.ts");
  await cems.before();
  put("c.ts", "first\ncem 1\n");
  await cems.after();
  // Two denials, the second one after the second wait, and the second collision. Then the file, on request: one answer.
  const lock = { type: "file_lock", id: "dee", file: join(home.work, "a.ts") };
  expect(await ask({ ...lock, waitMs: 0 })).toMatchObject({ code: "lock_held" });
  expect(await ask({ ...lock, waitMs: 20 })).toMatchObject({ code: "lock_timeout" });
  await hook("bob", "Stop", { background_tasks: [] });
  expect(await ask({ ...lock, waitMs: 0 })).toMatchObject({ ok: true });
  // A shell command writes over the held file: one answer.
  const make = call("Bash", { command: "make" });
  appendFileSync(join(home.work, "a.ts"), "made\n");
  await hook("cem", "PostToolUse", { ...make, tool_response: {}, duration_ms: 0 });
  await watch.event("bypassed");
  // A denial that spares five lines in two files, after which he gives up: two answers.
  expect(await shell("bob", "git checkout .")).toContain('"deny"');
  await hook("bob", "SessionEnd", { reason: "other" });
  // Three tasks, of which one is done and one has failed.
  const created = await ask({ type: "task_create", id: "dee", description: "one" });
  await ask({ type: "task_create", id: "dee", tasks: [{ description: "two" }, { description: "three" }] });
  const first = String((created["task"] as Message)["id"]);
  expect(await ask({ type: "task_claim", id: "ann", task: first })).toMatchObject({ ok: true });
  expect(await ask({ type: "task_update", id: "ann", task: first, status: "done" })).toMatchObject({
    ok: true,
  });
  const claimed = await ask({ type: "task_claim", id: "dee" });
  const second = String((claimed["task"] as Message)["id"]);
  const failed = { type: "task_update", id: "dee", task: second, status: "failed", result: "no" };
  expect(await ask(failed)).toMatchObject({ ok: true });
  // Two messages; one request that is refused, and no denial.
  await ask({ type: "message_send", id: "ann", to: "dee", text: "SECRET" });
  await ask({ type: "broadcast", id: "dee", message: "SECRET" });
  expect(await ask({ type: "task_claim", id: "dee", task: first })).toMatchObject({ ok: false });
  // Kite is off for one session, which edits past it: two answers.
  await home.kite("off", "--session", "cem");
  const past = edit("cem", "b.ts");
  expect(await past.before()).toBe("");
  put("b.ts", "first\ncem 2\n");
  await past.after();
  // The trail is written behind the answers, and lines are counted behind the denials.
  const isWhole = async () => {
    const { stops, hooks } = await reported();
    return stops.counted === 4 && hooks.events.reduce((sum, { count }) => sum + count, 0) === 19;
  };
  await vi.waitUntil(isWhole, { timeout: 60_000 });
});

afterAll(() => home.dispose());

describe("kite report", () => {
  test("says what was counted by hand", async () => {
    const { lines: _, from, until, waits, tasks, hooks, ...rest } = await reported();
    expect(rest).toMatchObject({
      sessions: 4,
      edits: { count: 3, waited: 1, onRequest: 1 },
      denials: {
        count: 6,
        rules: [
          { name: "guard", count: 4 },
          { name: "lock", count: 2 },
        ],
        fates: { got: 2, elsewhere: 3, gaveUp: 1, open: 0 },
      },
      collisions: 2,
      stops: {
        kinds: { stash: 1, reset: 2, removal: 1, commit: 0, other: 0 },
        ...{ count: 4, counted: 4, countedLines: 4, files: 5, lines: 14 },
      },
      pastKite: { shell: 1, unhooked: 0, late: 0, off: 1, wiped: 0, taken: 0 },
      messages: { sent: 1, broadcasts: 1 },
      context: said,
      ...{ project: null, logFrom: from },
    });
    expect(rest).not.toHaveProperty("observed");
    expect(waits).toMatchObject({ count: 2, refused: 1 });
    expect(waits.longestMs).toBeGreaterThanOrEqual(20);
    expect(tasks).toMatchObject({ created: 3, claimed: 2, done: 1, failed: 1, medianMs: expect.any(Number) });
    expect(Object.fromEntries(hooks.events.map(({ event, count }) => [event, count]))).toEqual({
      ...{ PreToolUse: 7, PostToolUse: 5, SessionStart: 4, Stop: 2, SessionEnd: 1 },
    });
    expect(hooks.totalMs / hooks.sessionsMs).toBe(hooks.share);
    expect(hooks.sessionsMs).toBeLessThanOrEqual(4 * (Number(until) - Number(from)));
  });

  test("reads the log alone, in its forms, of one project or of all", async () => {
    const other = home.folder();
    execFileSync("git", ["init", "-q", other]);
    expect(await reported("--project", other)).toMatchObject({ edits: { count: 0 }, sessions: 0 });
    // Requests of a session say whose project they are about.
    expect(await reported("--project", home.work)).toMatchObject({ edits: { count: 3 }, collisions: 2 });
    expect(await reported("--since", "2099-01-01")).toMatchObject({ lines: 0 });
    await home.daemon.kill();
    const text = await home.kite("report");
    for (const line of text.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(text).toMatch(/^Denials {5}6 \(guard 4, lock 2\): 2 had later what they were denied, 3 went on/m);
    expect(text.replace(/\n +/g, " ")).toContain("; 14 lines in 5 files would have been lost\n");
    const markdown = await home.kite("report", "--markdown");
    expect(markdown).toMatch(/^\| Collisions \| 2 kept from happening/m);
    expect(markdown + text).not.toContain("SECRET");
    expect(markdown + text).not.toContain(home.root);
  });
});
