/** An agent whose client has no hooks: it has Kite's tools, and writes files as any program does, beside a hooked session. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { isUnhooked } from "../../protocol/names.ts";
import { type Client, Home, type Message } from "./daemon.ts";
import { Mcp } from "./mcp-client.ts";

let home: Home;
let client: Client;
let watch: Client;
let servers: Mcp[] = [];
let uses = 0;

beforeEach(async () => {
  home = new Home();
  execFileSync("git", ["init", "-q"], { cwd: home.work });
  for (const name of ["a.ts", "b.ts"]) writeFileSync(join(home.work, name), "old\n");
  execFileSync("git", ["add", "."], { cwd: home.work });
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x"], {
    cwd: home.work,
  });
  await home.start();
  client = await home.connect();
  watch = await home.connect();
  await watch.ask({ type: "subscribe" });
  await hook({ hook_event_name: "UserPromptSubmit", prompt: "Go on." });
});
afterEach(async () => {
  await Promise.all(servers.map(server => server.close()));
  servers = [];
  await home.dispose();
});

/** Sends an event of the hooked session `ann`, and returns what its client reads. */
async function hook(event: Message): Promise<string> {
  uses += 1;
  const more = { session_id: "ann", cwd: home.work, prompt_id: "p1", tool_use_id: `use-${uses}` };
  return String((await client.ask({ type: "hook", event: { ...more, ...event } }))["output"]);
}

async function annEdits(name: string, text: string): Promise<void> {
  const path = join(home.work, name);
  const tool_input = { file_path: path, old_string: "old", new_string: "new" };
  const use = { tool_name: "Edit", tool_use_id: `edit-${name}`, tool_input };
  await hook({ hook_event_name: "PreToolUse", ...use });
  writeFileSync(path, text);
  await hook({ hook_event_name: "PostToolUse", ...use, tool_response: {} });
}

const annStops = () => hook({ hook_event_name: "Stop", background_tasks: [] });

/** Starts an agent that has Kite's tools alone, and has asked once. */
async function agent(name: string): Promise<Mcp> {
  const server = await Mcp.start(home, { name });
  servers.push(server);
  await server.call("kite_status");
  return server;
}

const write = (name: string, text: string) => writeFileSync(join(home.work, name), text);
/** Lets so much time pass after a hooked write that a change is no formatter's of that write. */
const afterFormatters = () => delay(limits.aftermathMs + 100);
const bypassed = () => watch.event("bypassed");

async function writersOf(name: string): Promise<readonly unknown[]> {
  const { rows } = await client.ask({ type: "query", target: "writes" });
  const row = (rows as Message[]).find(one => one["file"] === name);
  return ((row?.["writers"] ?? []) as Message[]).map(writer => writer["name"]);
}

function trail(): readonly Message[] {
  const files = readdirSync(home.paths.trail);
  const lines = files.flatMap(file => readFileSync(join(home.paths.trail, file), "utf8").split("\n"));
  return lines.filter(line => line !== "").map(line => JSON.parse(line));
}

/** The directories that the daemon watches, as the system counts them. */
function watches(): number {
  const folder = `/proc/${home.daemon.pid}/fdinfo`;
  const texts = readdirSync(folder).map(name => {
    try {
      return readFileSync(join(folder, name), "utf8");
    } catch {
      return ""; // Closed meanwhile.
    }
  });
  return texts.join("\n").match(/^inotify wd:/gm)?.length ?? 0;
}

test("its write is put to its account when the hooked session rests, and that session reads who it was", async () => {
  await agent("some-agent");
  await annEdits("a.ts", "ann's\n");
  await annStops();
  // The look at the directories comes a moment after the lock.
  await watched(1);
  await afterFormatters();
  write("a.ts", "another's\n");
  expect(await bypassed()).toMatchObject({
    writer: { name: "some-agent" },
    holder: { name: expect.any(String) },
  });
  const told = await hook({ hook_event_name: "UserPromptSubmit", prompt: "And?", prompt_id: "p2" });
  expect(told).toContain("some-agent");
  const status = await home.kite("status");
  expect(status).toContain("some-agent");
  expect(status).toContain("advisory");
});

test("what the hooked session's own shell line writes is that session's", async () => {
  await agent("some-agent");
  await annEdits("a.ts", "ann's\n");
  await watched(1);
  await afterFormatters();
  // No event said that the line began: it is a plain one.
  write("a.ts", "by ann's line\n");
  const line = {
    tool_name: "Bash",
    tool_input: { command: "./make.sh" },
    tool_response: {},
    duration_ms: 50,
  };
  await hook({ hook_event_name: "PostToolUse", ...line });
  await annStops();
  // Later writes are seen, so the one before was looked at, and none of them is its own.
  for (const text of ["one", "two"]) {
    write("a.ts", `another's ${text}\n`);
    await bypassed();
  }
  const seen = () => trail().filter(({ event }) => event === "write_seen").length;
  await expect.poll(seen, { timeout: 20_000 }).toBeGreaterThan(1);
  expect(seen()).toBe(2);
  expect(watch.kept.filter(({ event }) => event === "bypassed")).toEqual([]);
});

test("of two such agents none is blamed, and the trail says why", async () => {
  await agent("one");
  await agent("two");
  await annEdits("a.ts", "ann's\n");
  await annStops();
  await watched(1);
  await afterFormatters();
  write("a.ts", "another's\n");
  await expect
    .poll(() => trail().filter(({ event }) => event === "write_seen"), { timeout: 20_000 })
    .toMatchObject([{ name: null, why: expect.stringContaining("2 agents without hooks") }]);
  expect(await writersOf("a.ts")).toEqual([expect.any(String)]);
});

test("nothing is watched while there is none, and nothing any more when it has gone", async () => {
  await annEdits("a.ts", "ann's\n");
  expect(watches()).toBe(0);
  const server = await agent("some-agent");
  await watched(1);
  mkdirSync(join(home.work, "dir"));
  await annEdits("dir/x.ts", "new\n");
  await watched(2);
  servers = [];
  await server.close();
  await watch.event("session_ended");
  await watched(0);
});

async function watched(count: number): Promise<void> {
  if (process.platform !== "linux") return;
  await expect.poll(watches, { timeout: 20_000 }).toBe(count);
}

test("it locks by its tools, a hooked session waits for it, and its commit is stopped by git's hook", async () => {
  const server = await agent("some-agent");
  await home.kite("install", "--client", "git", "--project", home.work);
  expect((await server.call("kite_lock", { files: ["b.ts"] })).text).toContain("You hold");
  const { rows } = await client.ask({ type: "query", target: "locks" });
  expect(rows).toMatchObject([{ holder: { name: "some-agent" } }]);
  const [{ holder }] = rows as [{ holder: Message }];
  expect(isUnhooked(String(holder["id"]))).toBe(true);
  await annEdits("a.ts", "ann's\n");
  write("b.ts", "its own\n");
  // This process is the agent's client: the server's parent, and the parent of what the agent runs.
  const commit = (file: string) =>
    spawnSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x", file], {
      cwd: home.work,
      env: home.environment,
      encoding: "utf8",
    });
  const refused = commit("a.ts");
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain("git did not commit: other agents have files of this commit:");
  expect(refused.stderr).toContain('"a.ts": ');
  expect(commit("b.ts")).toMatchObject({ status: 0, stderr: "" });
});
