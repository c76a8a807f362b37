/** For whom a call of a tool acts: its client's hook named the call before, and the call carries that name. */
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { LockRow } from "../../protocol/schemas/lock.ts";
import { type Client, Home } from "./daemon.ts";
import { Mcp } from "./mcp-client.ts";
import { OpenCode } from "./opencode-client.ts";

let home: Home;
let watch: Client;
let mcp: Mcp;

beforeEach(async () => {
  home = new Home();
  await home.start();
  watch = await home.connect();
  mcp = await Mcp.start(home);
});
afterEach(async () => {
  await mcp.close();
  await home.dispose();
});

async function holders(): Promise<readonly string[]> {
  const { rows } = await watch.ask({ type: "query", target: "locks" });
  return (rows as LockRow[])
    .map(
      ({ file, holder }) =>
        `${holder?.id}/${holder?.agent ?? "main"} ${file.slice(file.lastIndexOf("/") + 1)}`,
    )
    .sort();
}

test("one server for all sessions of OpenCode: each call acts for the session or subagent that made it", async () => {
  const open = await OpenCode.start(home);
  await open.session("s1");
  await open.session("kid", "s1");
  await open.session("s2");
  for (const [who, file] of [
    ["s1", "a.ts"],
    ["s2", "b.ts"],
    ["kid", "c.ts"],
  ] as const) {
    await open.prompt(who);
    const call = await open.ask(who, "kite_kite_lock", { files: [join(home.work, file)] });
    expect(call.refused).toBeUndefined();
    expect(await mcp.call("kite_lock", call.args)).toMatchObject({ isError: false });
  }
  expect(await holders()).toEqual(["s1/kid c.ts", "s1/main a.ts", "s2/main b.ts"]);
  await open.dispose();
});

test("Codex names the call in the request: a subagent's server acts for the subagent", async () => {
  const hook = async (event: object) => {
    const client = await home.connect();
    const common = { session_id: "cora", turn_id: "t", cwd: home.work };
    client.send({ type: "hook", event: { ...common, ...event }, ppid: process.pid, client: "codex" });
    expect(await client.reply()).toMatchObject({ ok: true });
  };
  await hook({ hook_event_name: "SessionStart", source: "startup" });
  const call = { hook_event_name: "PreToolUse", tool_name: "mcp__kite__kite_lock", tool_input: {} };
  await hook({ ...call, tool_use_id: "call_1" });
  await hook({ ...call, tool_use_id: "call_2", agent_id: "kid", agent_type: "worker" });
  for (const [callId, file] of [
    ["call_1", "a.ts"],
    ["call_2", "b.ts"],
  ] as const)
    expect(
      await mcp.call("kite_lock", { files: [join(home.work, file)] }, { meta: { callId } }),
    ).toMatchObject({
      isError: false,
    });
  expect(await holders()).toEqual(["cora/kid b.ts", "cora/main a.ts"]);
});

test("a call that no hook of Codex named acts for the session and subagent that it says", async () => {
  for (const id of ["cora", "cyra"]) {
    const client = await home.connect();
    const event = { hook_event_name: "SessionStart", source: "startup", session_id: id, cwd: home.work };
    client.send({ type: "hook", event, ppid: process.pid, client: "codex" });
    expect(await client.reply()).toMatchObject({ ok: true });
  }
  const lock = (file: string, meta: Record<string, unknown>) =>
    mcp.call("kite_lock", { files: [join(home.work, file)] }, { meta: { callId: "unheard", ...meta } });
  for (const [file, sessionId, threadId] of [
    ["a.ts", "cora", "cora"],
    ["b.ts", "cora", "kid"],
    ["c.ts", "cyra", "cyra"],
  ] as const)
    expect(await lock(file, { sessionId, threadId })).toMatchObject({ isError: false });
  expect(await holders()).toEqual(["cora/kid b.ts", "cora/main a.ts", "cyra/main c.ts"]);
  // A session that no hook registered is none, whatever a call says; the server stands for itself.
  expect(await lock("d.ts", { sessionId: "nobody", threadId: "nobody" })).toMatchObject({ isError: false });
  expect((await holders()).find(one => one.endsWith("d.ts"))).toMatch(/^mcp-\w+\/main d\.ts$/);
});

test("a client that says nothing of a call: its server acts for the session of the process that started it", async () => {
  const client = await home.connect();
  const event = { session_id: "gina", hook_event_name: "SessionStart", source: "startup", cwd: home.work };
  client.send({ type: "hook", event, ppid: process.pid, client: "gemini" });
  expect(await client.reply()).toMatchObject({ ok: true });
  expect(await mcp.call("kite_lock", { files: [join(home.work, "a.ts")] })).toMatchObject({ isError: false });
  expect(await holders()).toEqual(["gina/main a.ts"]);
});
