/** Kite that only observes, with the real daemon: agents notice nothing, and the trail says what Kite would have done. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
let client: Client;
let uses = 0;

beforeEach(async () => {
  home = new Home();
  await home.start();
  client = await home.connect();
});

afterEach(() => home.dispose());

/** One event of a session, as its hook sends it: what the client gets. */
async function hook(session: string, name: string, fields: Message = {}, wake = false): Promise<Message> {
  const event = { session_id: session, hook_event_name: name, cwd: home.work, prompt_id: "p", ...fields };
  const asking = await home.connect();
  const env = { CLAUDE_CODE_SESSION_ATTENDED: "1" };
  const reply = await asking.ask({ type: "hook", event, env, ...(wake ? { wake: true } : {}) });
  asking.destroy();
  return reply;
}

function edit(session: string, file = "a.ts") {
  uses += 1;
  const tool_input = { file_path: join(home.work, file), old_string: "1", new_string: "2" };
  const call = { tool_name: "Edit", tool_use_id: `use-${uses}`, tool_input };
  return {
    before: () => hook(session, "PreToolUse", call),
    after: () => hook(session, "PostToolUse", { ...call, tool_response: {} }),
  };
}

function shell(session: string, command: string): Promise<Message> {
  uses += 1;
  const call = { tool_name: "Bash", tool_use_id: `use-${uses}`, tool_input: { command } };
  return hook(session, "PreToolUse", call);
}

const silent = { ok: true, output: "" };

async function observed(): Promise<{ readonly rules: readonly object[]; readonly files: readonly object[] }> {
  return JSON.parse(await home.kite("stats", "--json")).observed;
}

function git(...args: readonly string[]): void {
  const who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
  execFileSync("git", [...who, ...args], { cwd: home.work, env: home.environment });
}

/** Two sessions in one repository, of which each has written a file of its own. */
async function twoAtWork(): Promise<void> {
  git("init", "-q");
  for (const name of ["a.ts", "b.ts"]) writeFileSync(join(home.work, name), "1\n");
  git("add", ".");
  git("commit", "-qm", "first");
  for (const [session, file] of [
    ["ann", "a.ts"],
    ["bob", "b.ts"],
  ] as const) {
    await hook(session, "SessionStart", { source: "startup" });
    const own = edit(session, file);
    expect(await own.before()).toMatchObject({ ok: true });
    writeFileSync(join(home.work, file), "2\n");
    await own.after();
  }
}

it("holds nobody up, and counts what it would have done, by rule and file", async () => {
  await home.kite("config", "set", "mode", "observe");
  await twoAtWork();
  // The file is bob's: this edit would have waited.
  const second = edit("ann", "b.ts");
  expect(await second.before()).toEqual(silent);
  expect(await shell("ann", "git stash")).toEqual(silent);
  await home.kite("message", "send", "bob", "look at this");
  expect(await hook("bob", "UserPromptSubmit", { prompt: "go on" })).toEqual(silent);
  expect(await hook("bob", "UserPromptSubmit", { prompt: "go on" })).toEqual(silent);
  expect(await hook("ann", "Stop", { stop_hook_active: false, background_tasks: [] })).toEqual(silent);
  expect(await hook("ann", "Stop", { stop_hook_active: false, background_tasks: [] }, true)).toEqual(silent);
  await expect.poll(observed).toMatchObject({
    rules: expect.arrayContaining([
      { rule: "lock", wait: 1, deny: 0, tell: 0 },
      { rule: "guard", wait: 0, deny: 1, tell: 0 },
      { rule: "message", wait: 0, deny: 0, tell: 1 },
    ]),
    files: expect.arrayContaining([expect.objectContaining({ file: join(home.work, "b.ts"), wait: 1 })]),
  });
  const text = await home.kite("stats");
  expect(text).toMatch(/Kite only observed\n +rule +would wait +would deny +would tell\n/);
  expect((await home.kite("report")).replace(/\n +/g, " ")).toMatch(
    /Observed +Kite would have let 1 step wait, denied 1, and told agents something \d+ times?; 1 collision that it let happen; it would have stopped git stash push 1\n/,
  );
  // Nothing was refused, and nobody was told: the lock is bob's alone, and his message is unread.
  expect((await client.ask({ type: "query", target: "refusals" }))["rows"]).toEqual([]);
  const { rows: locks } = await client.ask({ type: "query", target: "locks" });
  expect(locks).toMatchObject([{ holder: { id: "bob" }, waiters: [] }]);
  expect(await home.kite("log")).toMatch(/did not wait, as Kite only observed: bob had the file/);
  expect(await home.kite("explain", "b.ts")).toMatch(/ann.*did not wait, as Kite only observed: bob had/);
  await home.kite("config", "set", "mode", "act");
  expect((await hook("bob", "UserPromptSubmit", { prompt: "go on" }))["output"]).toContain("look at this");
});

it("counts the second writer's edit as that agent's work", async () => {
  await home.kite("config", "set", "mode", "observe");
  await twoAtWork();
  const second = edit("ann", "b.ts");
  await second.before();
  writeFileSync(join(home.work, "b.ts"), "3\n");
  await second.after();
  const { rows } = await client.ask({ type: "query", target: "writes" });
  const writers = (
    rows as readonly { readonly file: string; readonly writers: readonly { readonly id: string }[] }[]
  )
    .filter(({ file }) => file === "b.ts")
    .flatMap(row => row.writers.map(({ id }) => id));
  expect(writers.sort()).toEqual(["ann", "bob"]);
});

it("changes its mode at once, and says in which it is", async () => {
  const holder = await home.session("holder", { name: "holder" });
  const lock = { type: "file_lock", id: "holder", file: join(home.work, "a.ts"), bind: true };
  expect(await holder.ask(lock)).toMatchObject({ ok: true });
  const waiting = edit("ann").before();
  const locks = async () => JSON.stringify((await client.ask({ type: "query", target: "locks" }))["rows"]);
  await expect.poll(locks).toMatch(/"waiters":\[\{"id":"ann"/);
  const said = await home.kite("config", "set", "mode", "observe");
  expect(said).toMatch(/it counts at once/);
  expect(said).not.toMatch(/restart/);
  expect(await edit("bob").before()).toEqual(silent);
  const how = "Kite only observes";
  expect((await home.kite("status")).replace(/\s+/g, " ")).toContain(
    "no edit waits or is denied. Let it act: kite config set mode act",
  );
  expect(JSON.parse(await home.kite("status", "--json")).warnings.join()).toContain(how);
  expect((await home.command(["doctor"])).out).toMatch(/warn +mode +Kite only observes/);
  expect(readFileSync(home.paths.config, "utf8")).toContain('"mode"');
  await home.kite("config", "unset", "mode");
  expect(await holder.ask({ type: "file_unlock", id: "holder", all: true })).toMatchObject({ ok: true });
  expect(await waiting).toMatchObject({ ok: true });
  expect(await home.kite("status")).not.toContain(how);
});

it("takes no mode from a project", async () => {
  await twoAtWork();
  mkdirSync(join(home.work, ".kite"), { recursive: true });
  writeFileSync(join(home.work, ".kite", "config.json"), '{"mode":"observe"}');
  const stash = await shell("ann", "git stash");
  expect(String(stash["output"])).toContain('"deny"');
  expect((await home.command(["config"])).out).toContain("a project may not set mode");
});
