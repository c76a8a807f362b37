/** OpenCode's plugin and the daemon: what its calls hold, hear and are refused, beside sessions of another client. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import { type Client, Home, type Message } from "./daemon.ts";
import { OpenCode } from "./opencode-client.ts";

let home: Home;
let watch: Client;
let open: OpenCode;

beforeEach(async () => {
  home = new Home();
  await home.start();
  watch = await home.connect();
  await watch.ask({ type: "subscribe" });
  open = await OpenCode.start(home);
  for (const file of ["a.ts", "b.ts", "c.ts"]) writeFileSync(path(file), "old\n");
});
afterEach(async () => {
  await open.dispose();
  await home.dispose();
});

function git(...words: readonly string[]): void {
  execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@t", ...words], { cwd: home.work });
}

/** A program that is no daemon takes the daemon's place. */
async function instead(answer: (socket: Socket) => void): Promise<Server> {
  await home.daemon.kill();
  rmSync(home.paths.socket);
  const server = createServer(answer).listen(home.paths.socket);
  await once(server, "listening");
  return server;
}

const path = (file: string) => join(home.work, file);

/** One hook of Claude Code. */
async function claude(hook_event_name: string, fields: Message = {}): Promise<Message> {
  const client = await home.connect();
  const event = { session_id: "clay", hook_event_name, cwd: home.work, prompt_id: "p", ...fields };
  client.send({ type: "hook", event, ppid: process.pid });
  return await client.next(({ ok }) => ok !== undefined);
}
const claudeEdits = (file: string, tool_use_id: string) => ({
  ...{ tool_name: "Edit", tool_input: { file_path: path(file) }, tool_use_id },
});

/** Who holds what, and who waits for what. */
async function locks(): Promise<readonly string[]> {
  const { rows } = await watch.ask({ type: "query", target: "locks" });
  return (rows as LockRow[])
    .flatMap(({ path, holder, waiters }) => {
      const name = path.slice(path.lastIndexOf("/") + 1);
      const all = [...(holder === null ? [] : [{ ...holder, does: "has" }])];
      const queue = waiters.map(one => ({ ...one, does: "awaits" }));
      return [...all, ...queue].map(
        ({ id, agent, does }) => `${id}${agent ? `/${agent}` : ""} ${does} ${name}`,
      );
    })
    .sort();
}

/** Resolves when the locks are so; the test's time limit ends it. */
async function becomes(...wanted: readonly string[]): Promise<void> {
  while (JSON.stringify(await locks()) !== JSON.stringify([...wanted].sort()));
}

/** Sessions that live. */
async function sessions(): Promise<readonly string[]> {
  const { rows } = await watch.ask({ type: "query", target: "sessions" });
  return (rows as { id: string }[]).map(({ id }) => id).sort();
}

describe("an edit", () => {
  test("holds its file until the turn ends", async () => {
    await open.session("s1");
    await open.prompt("s1");
    expect(await open.call("s1", "edit", { filePath: path("a.ts") })).toEqual({ result: "done" });
    expect(await locks()).toEqual(["s1 has a.ts"]);
    await open.idle("s1");
    expect(await locks()).toEqual([]);
  });

  test("waits for a session of another client, goes ahead when that one's turn ends, and hears of the change", async () => {
    await claude("SessionStart", { source: "startup" });
    await claude("PreToolUse", claudeEdits("a.ts", "c1"));
    await open.prompt("s1");
    const asked = open.ask("s1", "edit", { filePath: "a.ts" });
    await becomes("clay has a.ts", "s1 awaits a.ts");
    writeFileSync(path("a.ts"), "clay wrote this\n");
    await claude("PostToolUse", claudeEdits("a.ts", "c1"));
    await claude("Stop", { background_tasks: [] });
    const call = await asked;
    expect(call.refused).toBeUndefined();
    expect(await locks()).toEqual(["s1 has a.ts"]);
    expect(await call.end()).toMatch(/^done\n\nKite: .*changed/s);
  });

  test("that the client could not make ends at once, and counts as no change", async () => {
    await open.prompt("s1");
    const call = await open.ask("s1", "edit", { filePath: path("a.ts") });
    await call.fail();
    const trail = await home.kite("log", "--json");
    expect(trail).not.toContain('"wrote"');
    const { rows } = await watch.ask({ type: "query", target: "locks" });
    expect((rows as LockRow[]).map(({ use }) => use)).toEqual([undefined]);
  });

  test("whose turn the person ends while it waits does not run, and leaves the queue", async () => {
    await claude("SessionStart", { source: "startup" });
    await claude("PreToolUse", claudeEdits("a.ts", "c1"));
    await open.prompt("s1");
    const asked = open.ask("s1", "edit", { filePath: path("a.ts") });
    await becomes("clay has a.ts", "s1 awaits a.ts");
    await open.idle("s1");
    expect((await asked).refused).toMatch(/did not run/);
    await becomes("clay has a.ts");
  });
});

describe("a write over the whole file", () => {
  const stale = /the file changed, and as far as Kite knows you have not read it since/;
  const claudeWrites = async (text: string) => {
    await claude("PreToolUse", claudeEdits("a.ts", text));
    writeFileSync(path("a.ts"), text);
    await claude("PostToolUse", claudeEdits("a.ts", text));
    await claude("Stop", { background_tasks: [] });
  };
  const read = (file: string) => open.call("s1", "read", { filePath: file });
  const write = (text: string) => {
    const does = () => writeFileSync(path("a.ts"), text);
    return open.call("s1", "write", { filePath: path("a.ts"), content: text }, does);
  };

  beforeEach(async () => {
    git("init", "-q");
    await claude("SessionStart", { source: "startup" });
    await open.prompt("s1");
    await read(path("a.ts"));
  });

  test("of which another client's session wrote lines since the read is refused once, so that none is lost", async () => {
    await claudeWrites("old\nclay\n");
    expect((await write("old\nopen\n")).refused).toMatch(stale);
    expect(readFileSync(path("a.ts"), "utf8")).toBe("old\nclay\n");
    await read(path("a.ts"));
    expect((await write("old\nclay\nopen\n")).refused).toBeUndefined();
    expect(readFileSync(path("a.ts"), "utf8")).toBe("old\nclay\nopen\n");
  });

  test.each(["a.ts", "absolute"])("runs at once where its agent has read it since by %s", async name => {
    await claudeWrites("old\nclay\n");
    // The next millisecond, which is later than the write.
    const at = Date.now();
    while (Date.now() === at);
    await read(name === "absolute" ? path("a.ts") : name);
    expect((await write("old\nclay\nopen\n")).refused).toBeUndefined();
  });

  test("is refused where the read began before the change, or failed, or was a subagent's", async () => {
    const reading = await open.ask("s1", "read", { filePath: path("a.ts") });
    const missing = await open.ask("s1", "read", { filePath: path("a.ts") });
    await claudeWrites("old\nclay\n");
    await reading.end();
    await missing.fail();
    await open.session("kid", "s1");
    await open.call("kid", "read", { filePath: path("a.ts") });
    expect((await write("old\nopen\n")).refused).toMatch(stale);
  });

  test("runs where the file is gone: there is nothing to lose", async () => {
    await claudeWrites("old\nclay\n");
    rmSync(path("a.ts"));
    expect((await write("open\n")).refused).toBeUndefined();
  });

  test("runs for an agent that was told of the change with another call", async () => {
    await write("open\n");
    await open.idle("s1");
    await claudeWrites("old\nclay\n");
    expect((await open.prompt("s1")).join("")).toContain("read it again before your next one");
    expect((await write("old\nclay\nopen\n")).refused).toBeUndefined();
  });
});

test("a patch holds all its files, and none while one of them is another's", async () => {
  await claude("SessionStart", { source: "startup" });
  await claude("PreToolUse", claudeEdits("b.ts", "c1"));
  await open.prompt("s1");
  const patchText = [
    ...["*** Begin Patch", "*** Update File: a.ts", "@@", "-old", "+new"],
    ...["*** Update File: b.ts", "*** Move to: d.ts", "@@", "-old", "+new", "*** End Patch"],
  ].join("\n");
  const asked = open.ask("s1", "apply_patch", { patchText });
  await becomes("clay has b.ts", "s1 awaits a.ts", "s1 awaits b.ts", "s1 awaits d.ts");
  await claude("PostToolUse", claudeEdits("b.ts", "c1"));
  await claude("Stop", { background_tasks: [] });
  expect((await asked).refused).toBeUndefined();
  expect(await locks()).toEqual(["s1 has a.ts", "s1 has b.ts", "s1 has d.ts"]);
});

test("a stash over another session's uncommitted work is refused, wherever the call runs", async () => {
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "first");
  mkdirSync(path("sub"));
  await claude("SessionStart", { source: "startup" });
  await claude("PreToolUse", claudeEdits("a.ts", "c1"));
  writeFileSync(path("a.ts"), "clay wrote this\n");
  await claude("PostToolUse", claudeEdits("a.ts", "c1"));
  await open.prompt("s1");
  const { refused } = await open.call("s1", "bash", { command: "git stash", workdir: "sub" });
  expect(refused).toMatch(/stash/);
  expect(refused).toContain("a.ts");
  expect(await open.call("s1", "bash", { command: "git status" })).toEqual({ result: "done" });
});

describe("what an agent reads", () => {
  test("its first prompt says who else is there; a message comes behind the next call's result", async () => {
    await claude("SessionStart", { source: "startup" });
    const told = await open.prompt("s1");
    expect(told.join("\n")).toContain("clay");
    const clay = await home.connect();
    await clay.ask({ type: "message_send", id: "clay", to: "s1", text: "the tests are red" });
    const { result } = await open.call("s1", "bash", { command: "ls" });
    expect(result).toContain("the tests are red");
    expect((await open.prompt("s1")).join("\n")).not.toContain("the tests are red");
  });

  test("after a compaction the next prompt says it again", async () => {
    await claude("SessionStart", { source: "startup" });
    await open.prompt("s1");
    expect((await open.prompt("s1")).join("\n")).not.toContain("clay");
    await open.bus("session.compacted", { sessionID: "s1" });
    expect((await open.prompt("s1")).join("\n")).toContain("clay");
  });

  test("the client's shell commands carry their session, and a subagent's its own", async () => {
    await open.session("s1");
    await open.session("kid", "s1");
    expect(await open.env("s1")).toEqual({ KITE_SESSION: "s1" });
    expect(await open.env("kid")).toEqual({ KITE_SESSION: "s1", KITE_AGENT: "kid" });
  });
});

describe("a subagent", () => {
  test("is an agent of the session that began it: that one's locks pass to it, and its own end with its turn", async () => {
    await open.session("s1");
    await open.prompt("s1");
    await open.call("s1", "edit", { filePath: path("a.ts") });
    await open.session("kid", "s1");
    await open.prompt("kid", "its task");
    expect((await open.call("kid", "edit", { filePath: path("a.ts") })).refused).toBeUndefined();
    expect((await open.call("kid", "edit", { filePath: path("b.ts") })).refused).toBeUndefined();
    expect(await locks()).toContain("s1/kid has b.ts");
    await open.idle("kid");
    expect(await locks()).not.toContain("s1/kid has b.ts");
    expect(await sessions()).toEqual(["s1"]);
  });

  test("that began before this process is known by the client's own word", async () => {
    open.earlier.set("kid", "s1");
    await open.call("kid", "edit", { filePath: path("b.ts") });
    expect(await locks()).toEqual(["s1/kid has b.ts"]);
  });
});

test("two sessions of one process wait for each other, and end with it", async () => {
  await open.prompt("s1");
  await open.prompt("s2");
  await open.call("s1", "edit", { filePath: path("a.ts") });
  const asked = open.ask("s2", "edit", { filePath: path("a.ts") });
  await becomes("s1 has a.ts", "s2 awaits a.ts");
  await open.idle("s1");
  expect((await asked).refused).toBeUndefined();
  expect(await sessions()).toEqual(["s1", "s2"]);
  await open.dispose();
  expect(await sessions()).toEqual([]);
});

test("a session that stopped after a refusal goes on when the file is free, and the prompt is no person's", async () => {
  writeFileSync(home.paths.config, '{"lockWaitMs":20,"yieldMs":10}');
  await claude("SessionStart", { source: "startup" });
  await claude("PreToolUse", claudeEdits("a.ts", "c1"));
  await open.prompt("s1");
  expect((await open.call("s1", "edit", { filePath: path("a.ts") })).refused).toMatch(/clay/);
  await open.idle("s1");
  await claude("PostToolUse", claudeEdits("a.ts", "c1"));
  await claude("Stop", { background_tasks: [] });
  const { id, text } = await open.nextPrompt();
  expect(id).toBe("s1");
  expect(text).toMatch(/^Kite: a file that you were refused is free now/);
});

describe("without the daemon's answer", () => {
  test("calls go ahead; the person is told once in a session", async () => {
    await open.prompt("s1");
    await home.daemon.kill();
    expect(await open.call("s1", "edit", { filePath: path("a.ts") })).toEqual({ result: "done" });
    expect(await open.call("s1", "edit", { filePath: path("b.ts") })).toEqual({ result: "done" });
    expect(open.toasts).toEqual([expect.stringContaining("kite doctor")]);
  });

  test("what ended meanwhile is ended when the daemon is back", async () => {
    await open.prompt("s1");
    await open.call("s1", "edit", { filePath: path("a.ts") });
    await home.daemon.kill();
    await open.idle("s1");
    await home.start();
    watch = await home.connect();
    await becomes();
    expect(await sessions()).toEqual(["s1"]);
  });

  test("a daemon that says nothing holds a call for a second at most, and after three times for a moment", async () => {
    const silent = await instead(() => {});
    try {
      for (let i = 0; i < 5; i++)
        expect(await open.call("s1", "edit", { filePath: path("a.ts") })).toEqual({ result: "done" });
    } finally {
      silent.close();
    }
  });

  test("a call in a form that nobody expects goes ahead", async () => {
    await open.hand("tool.execute.before", { input: { tool: "edit" } as never, output: {} as never });
    await open.hand("chat.message", { input: {} as never, output: { parts: null } as never });
    await open.hand("tool.execute.after", {});
    await open.hand("event.odd", { properties: { part: 7 } as never });
  });

  test("an answer of another program changes nothing", async () => {
    const odd = await instead(socket => socket.end("<html>\n"));
    try {
      expect(await open.call("s1", "edit", { filePath: path("a.ts") })).toEqual({ result: "done" });
    } finally {
      odd.close();
    }
  });

  test("a folder of Kite that is gone changes nothing, and says nothing", async () => {
    const away = await OpenCode.start(home, home.work, { KITE_HOME: join(home.root, "nowhere") });
    expect(await away.prompt("s1")).toEqual([]);
    expect(await away.call("s1", "edit", { filePath: path("a.ts") })).toEqual({ result: "done" });
    expect(away.toasts).toEqual([]);
  });

  test("where Kite is off nothing is asked", async () => {
    const off = await OpenCode.start(home, home.work, { KITE: "off" });
    await off.prompt("s1");
    expect(await off.call("s1", "edit", { filePath: path("a.ts") })).toEqual({ result: "done" });
    await home.kite("off");
    await open.prompt("s2");
    expect(await open.call("s2", "edit", { filePath: path("a.ts") })).toEqual({ result: "done" });
    expect(await sessions()).toEqual([]);
  });
});

describe("a recorded session", () => {
  const recorded = (name: string): { readonly event: string; readonly payload: Record<string, never> }[] =>
    readFileSync(new URL(`../fixtures/opencode/${name}.ndjson`, import.meta.url), "utf8")
      .replaceAll("/home/ana/shop", home.work)
      .trim()
      .split("\n")
      .map(line => JSON.parse(line));

  test.each([
    ["sequence-run", ["auth.ts", "new.ts"]],
    ["sequence-subagent", ["kid.txt"]],
  ])("%s: each file is held while it is written, and all ends", async (name, files) => {
    const held = new Set<string>();
    for (const { event, payload } of recorded(name)) {
      await open.hand(event, payload);
      if (event.startsWith("tool.execute.")) for (const row of await locks()) held.add(row);
    }
    expect([...held].map(row => row.slice(row.lastIndexOf(" ") + 1)).sort()).toEqual(files);
    expect(await locks()).toEqual([]);
    expect(await sessions()).toEqual([]);
  });
});
