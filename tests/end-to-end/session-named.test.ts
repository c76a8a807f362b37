/** What KITE_SESSION names: an id, a name or the beginning of one, as everywhere; what names nothing makes no session. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";
import { kiteProgram } from "./kite.ts";

let home: Home;
let wire: Client;

beforeEach(async () => {
  home = new Home();
  await home.start();
  wire = await home.session("s-1", { name: "warm-hawk", project: home.work });
});
afterEach(() => home.dispose());

const as = (name: string, ...words: string[]) => home.command(words, { KITE_SESSION: name });

async function sessions(): Promise<unknown[]> {
  const { rows } = await wire.ask({ type: "query", target: "sessions" });
  return (rows as Message[]).map(({ id }) => id);
}

test.each(["s-1", "warm-hawk", "warm-haw"])("%s is the session", async name => {
  const made = await wire.ask({ type: "task_create", id: "s-1", description: "it", project: home.work });
  const { id } = made["task"] as Message;
  expect(await as(name, "task", "claim", String(id), "--json")).toMatchObject({ code: 0 });
  expect(await wire.ask({ type: "task_get", task: id })).toMatchObject({ task: { assignee: "s-1" } });
  expect(await as(name, "message", "inbox")).toMatchObject({ code: 0 });
  expect(await as(name, "lock", "a.ts", "--", "true")).toMatchObject({ code: 0 });
  expect(await sessions()).toEqual(["s-1"]);
});

test("an agent within it acts as that agent", async () => {
  const event = { session_id: "s-1", cwd: home.work, agent_id: "a1", agent_type: "Explore" };
  await wire.ask({ type: "hook", event: { hook_event_name: "SubagentStart", ...event } });
  expect(await as("warm-hawk/Explore", "declare", "--role", "tester", "--json")).toMatchObject({ code: 0 });
  const { rows } = await wire.ask({ type: "query", target: "declarations" });
  expect(rows).toMatchObject([{ id: "s-1", agent: "a1", role: "tester" }]);
});

test.each([
  ["task", "claim"],
  ["task", "add", "more"],
  ["message", "inbox"],
  ["message", "send", "warm-hawk", "hi"],
  ["unlock", "a.ts"],
  ["lock", "a.ts", "--", "true"],
  ["declare", "--role", "tester"],
  ["context", "set", "a", "1"],
  ["status"],
  ["off", "--session", "cold-owl"],
])("what names no session is refused with the list: kite %s %s", async (...words) => {
  const { code, err } = await as("cold-owl", ...words);
  expect([code, err]).toEqual([
    1,
    "kite: KITE_SESSION is cold-owl, and no session is called that; active: warm-hawk. Set it to one of them, or unset it to act as yourself\n",
  ]);
  const json = await as("cold-owl", "task", "claim", "--json");
  expect(JSON.parse(json.out)).toMatchObject({ ok: false, code: "unknown_session" });
  expect(await sessions()).toEqual(["s-1"]);
});

test.each(["warm-hawk", "warm-haw"])(
  "%s switches itself off as its client's agent may, and sees its status",
  async name => {
    const agents = { KITE_SESSION: name, CLAUDECODE: "1" };
    expect(await home.command(["off", "--session", name], agents)).toMatchObject({ code: 0, err: "" });
    expect(await home.command(["status"], agents)).toMatchObject({ code: 0, err: "" });
  },
);

test("what is the beginning of several says which", async () => {
  await home.session("s-2", { name: "warm-owl", project: home.work });
  const { code, err } = await as("warm", "task", "claim");
  expect([code, err]).toEqual([1, expect.stringContaining("warm can be warm-hawk (s-1), warm-owl (s-2)")]);
});

test("the child of a person's kite lock acts in its session", async () => {
  const file = join(home.work, "said");
  const line = `"${process.execPath}" "${kiteProgram}" message send warm-hawk "$KITE_SESSION" > "${file}" 2>&1`;
  expect(await home.command(["lock", "a.ts", "--", "sh", "-c", line])).toMatchObject({ code: 0 });
  expect(readFileSync(file, "utf8")).toContain("sent to warm-hawk");
  expect(await as("warm-hawk", "message", "inbox")).toMatchObject({
    out: expect.stringContaining("terminal-"),
  });
});
