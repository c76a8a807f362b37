/** kite off against the real daemon: edits that would wait go through, and do again wait after kite on. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
let client: Client;
let calls = 0;

beforeEach(async () => {
  home = new Home();
  await home.start();
  const holder = await home.session("holder", { name: "alice" });
  const lock = { type: "file_lock", id: "holder", file: `${home.work}/a`, bind: true };
  expect(await holder.ask(lock)).toMatchObject({ ok: true });
  client = await home.connect();
});

afterEach(() => home.dispose());

/** What an edit of the held file is told: nothing, or that it waits. */
async function edit(session = "s-1"): Promise<"silence" | "waits"> {
  calls += 1;
  const event = {
    hook_event_name: "PreToolUse",
    session_id: session,
    cwd: home.work,
    tool_name: "Edit",
    tool_use_id: `t-${calls}`,
    tool_input: { file_path: `${home.work}/a` },
  };
  const asking = await home.connect();
  asking.send({ type: "hook", event });
  const told = await Promise.race([
    asking.blank().then(() => "waits" as const),
    asking.reply().then(answered),
  ]);
  asking.destroy();
  return told;
}

function answered(reply: Message): "silence" {
  expect(reply).toEqual({ ok: true, output: "" });
  return "silence";
}

it("silences everything, a project or a session, and nothing else", async () => {
  expect(await edit()).toBe("waits");
  for (const scope of [[], ["--project"], ["--session", "s-1"]]) {
    await home.kite("off", ...scope);
    expect(await edit()).toBe("silence");
    expect(await home.kite("status")).toContain("! Kite is off ");
    await home.kite("on", ...scope);
    expect(await edit()).toBe("waits");
  }
  await home.kite("off", "--session", "s-1");
  expect(await edit("s-2")).toBe("waits");
  const { rows } = await client.ask({ type: "query", target: "sessions" });
  expect(rows).toHaveLength(3);
});
