/** Context, messages and freezes over the wire and through hooks, against the built daemon. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { type Client, Home, type Message } from "./daemon.ts";

const kills = Number(process.env["KITE_KILLS"] ?? 20);

let home: Home;

beforeEach(async () => {
  home = new Home();
  await home.start();
});
afterEach(() => home.dispose());

const session = (id: string, more: Message = {}) => home.session(id, { project: home.work, ...more });

async function inboxOf(
  client: Client,
  id: string,
): Promise<{ readonly text: string; readonly state: string }[]> {
  const reply = await client.ask({ type: "message_list", id });
  expect(reply).toMatchObject({ ok: true });
  return (reply["messages"] as { text: string; state: string }[]).map(({ text, state }) => ({ text, state }));
}

describe("messages", () => {
  test("are sent, answered, acknowledged, and there after kill -9", async () => {
    const ann = await session("ann");
    await session("bob", { name: "Bob" });
    const sent = await ann.ask({ type: "message_send", id: "ann", to: "Bob", text: "the schema\nis done" });
    expect(sent).toMatchObject({ ok: true, message: { id: "m-1", to: [{ id: "bob", name: "Bob" }] } });
    await home.daemon.kill();
    await home.start();
    const bob = await home.connect();
    expect(await bob.ask({ type: "message_list", id: "bob" })).toMatchObject({
      unread: 1,
      messages: [{ id: "m-1", text: "the schema\nis done", from: { id: "ann" }, state: "unread" }],
    });
    const answer = { type: "message_send", id: "bob", replyTo: "m-1", text: "thanks" };
    expect(await bob.ask(answer)).toMatchObject({ message: { thread: "m-1", to: [{ id: "ann" }] } });
    expect(await bob.ask({ type: "message_ack", id: "bob", message: "m-1" })).toMatchObject({ ok: true });
    expect(await inboxOf(bob, "bob")).toEqual([]);
    const rows = await bob.ask({ type: "query", target: "messages", id: "bob" });
    expect(rows["rows"]).toMatchObject([{ id: "m-2", to: [{ id: "ann", state: "unread" }] }]);
  });

  test("go to nobody of another project, and to nobody who is gone", async () => {
    const ann = await session("ann");
    await session("far", { project: "/elsewhere", name: "dan" });
    const gone = await session("eve");
    await gone.ask({ type: "deregister", id: "eve" });
    for (const to of ["far", "dan", "eve", "everyone"]) {
      const reply = await ann.ask({ type: "message_send", id: "ann", to, text: "hi" });
      expect(reply, to).toMatchObject({ ok: false, code: "recipient_gone" });
    }
    const by = { type: "message_send", to: "ann", text: "from a person", project: home.work };
    expect(await ann.ask(by)).toMatchObject({ ok: true });
  });

  test("too long ones, and values too large, are refused by name; the wire lives on", async () => {
    const ann = await session("ann");
    const text = "ü".repeat(limits.messageBytes / 2);
    expect(await ann.ask({ type: "message_send", id: "ann", to: "ann", text })).toMatchObject({ ok: true });
    const long = { type: "message_send", id: "ann", to: "ann", text: `${text}!` };
    expect(await ann.ask(long)).toMatchObject({ code: "message_too_long", bytes: limits.messageBytes + 1 });
    const value = "x".repeat(limits.contextValueBytes - 2);
    expect(await ann.ask({ type: "context_set", id: "ann", key: "k", value })).toMatchObject({ ok: true });
    expect(await ann.ask({ type: "context_get", id: "ann", key: "k" })).toMatchObject({ ok: true, value });
    const large = { type: "context_set", id: "ann", key: "k", value: `${value}!` };
    expect(await ann.ask(large)).toMatchObject({ code: "context_too_large" });
    expect(await ann.ask({ type: "context_set", id: "ann", key: "k" })).toMatchObject({ path: "value" });
  });

  test(`none that was acknowledged is lost, doubled or out of order over ${kills} kills`, {
    timeout: 240_000,
  }, async () => {
    await session("reader");
    const expected: string[] = [];
    for (let round = 0; round < kills; round += 1) {
      // A session may send so many a minute: a new one each time.
      const id = `sender-${round}`;
      const texts = Array.from({ length: 8 }, (_, n) => `${round}.${n}`);
      const requests = texts.map((text, n) => ({
        type: "message_send",
        id,
        to: "reader",
        text,
        rid: n,
        requestId: `${id}-${n}`,
      }));
      const first = await session(id);
      const acknowledged = round % texts.length;
      const heard = Promise.all(texts.slice(0, acknowledged).map((_, n) => first.replyTo(n)));
      for (const request of requests) first.send(request);
      expect((await heard).every(reply => reply["ok"] === true)).toBe(true);
      await home.daemon.kill();
      await home.start();
      const again = await session(id);
      for (const request of requests) {
        again.send(request);
        expect(await again.replyTo(request.rid)).toMatchObject({ ok: true });
      }
      expected.push(...texts);
      const inbox = await inboxOf(again, "reader");
      expect(inbox.map(({ text }) => text)).toEqual(expected);
      const done = await again.ask({ type: "message_list", id: "reader", limit: 5 });
      const messages = (done["messages"] as { id: string }[]).map(one => one.id);
      expect(await again.ask({ type: "message_ack", id: "reader", messages })).toMatchObject({ ok: true });
      expected.splice(0, messages.length);
    }
    expect(expected.length).toBe(kills * 3);
  });
});

test("context in memory is gone with the daemon, durable context is not, and who watches hears of both", async () => {
  const ann = await session("ann");
  await ann.ask({ type: "subscribe", events: ["context_changed"], project: home.work });
  await ann.ask({ type: "context_set", id: "ann", key: "memory", value: { a: [1, null] } });
  expect(await ann.event("context_changed")).toMatchObject({ key: "memory", version: 1, deleted: false });
  await ann.ask({ type: "context_set", id: "ann", key: "disk", value: 1, durable: true });
  expect(await ann.event("context_changed")).toMatchObject({ key: "disk", version: 1 });
  // Without the field the key stays as durable as it is.
  await ann.ask({ type: "context_set", id: "ann", key: "disk", value: 2 });
  expect(await ann.event("context_changed")).toMatchObject({
    key: "disk",
    version: 2,
    from: { name: "ann" },
  });
  await home.daemon.kill();
  await home.start();
  const later = await home.connect();
  const get = (key: string) => later.ask({ type: "context_get", id: "ann", key });
  expect(await get("memory")).toMatchObject({ ok: false, code: "context_absent" });
  expect(await get("disk")).toMatchObject({ ok: true, value: 2, version: 2, durable: true, from: "ann" });
  const again = { type: "context_set", id: "ann", key: "memory", value: 3, ifVersion: 0, ttlMs: 1 };
  expect(await later.ask(again)).toMatchObject({ ok: true, version: 2 });
  await later.ask({ type: "subscribe", events: ["context_changed"] });
  const brief = { type: "context_set", id: "ann", key: "brief", value: 1, ttlMs: 1 };
  await later.ask(brief);
  expect(await later.event("context_changed", event => event["deleted"] === true)).toMatchObject({
    from: null,
  });
});

describe("behind hooks", () => {
  let wire: Client;

  beforeEach(async () => {
    wire = await home.connect();
  });

  /** One event of a session's main agent, or of an agent in it; what the hook is to print. */
  async function hook(id: string, name: string, fields: Message = {}): Promise<Record<string, string>> {
    const common = { session_id: id, cwd: home.work, prompt_id: "p1", hook_event_name: name };
    const client = await home.connect();
    const reply = await client.ask({ type: "hook", event: { ...common, ...fields } });
    client.destroy();
    expect(reply).toMatchObject({ ok: true });
    const output = String(reply["output"]);
    return output === "" ? {} : JSON.parse(output).hookSpecificOutput;
  }

  const prompt = (id: string) => hook(id, "UserPromptSubmit", { prompt: "go on" });
  let uses = 0;
  const editOf = (file: string) => {
    uses += 1;
    return {
      tool_name: "Edit",
      tool_use_id: `use-${uses}`,
      tool_input: { file_path: `${home.work}/${file}` },
    };
  };
  const say = (to: string, text: string, more: Message = {}) =>
    wire.ask({ type: "message_send", project: home.work, to, text, ...more });

  test("messages come with prompts and edits, at most three, each once", async () => {
    await hook("bob", "SessionStart", { source: "startup" });
    for (const text of ["one", "two", "three", "four"]) await say("bob", text);
    const start = await hook("bob", "SessionStart", { source: "compact" });
    expect(start["additionalContext"]).toBe(
      "Kite: 4 messages for you are unread. Some come with your next prompt or edit. To read all: kite message inbox",
    );
    const first = await prompt("bob");
    expect(first["additionalContext"]).toMatch(/"one"\n.*"two"\n.*"three"\n/);
    expect(first["additionalContext"]).not.toContain("four");
    const second = await hook("bob", "PreToolUse", editOf("a.txt"));
    expect(second["additionalContext"]).toContain('"four"');
    expect(await prompt("bob")).toEqual({});
    const states = (await inboxOf(wire, "bob")).map(({ state }) => state);
    expect(states).toEqual(["read", "read", "read", "read"]);
  });

  test("an interrupted turn shows nothing twice, and nothing is lost that no client got", async () => {
    await hook("bob", "SessionStart", { source: "startup" });
    await say("bob", "once");
    expect((await prompt("bob"))["additionalContext"]).toContain("once");
    // Esc: no event. Then a daemon that was killed in between, and a new prompt. That the answer was taken is stored
    // before the daemon answers anything that is asked later.
    await wire.ask({ type: "stats" });
    await home.daemon.kill();
    await home.start();
    wire = await home.connect();
    expect(await prompt("bob")).toEqual({});
    // A hook that is gone before its answer: it waits for a lock, and is killed there.
    await say("bob", "lost and found");
    const ann = await session("ann");
    await ann.ask({ type: "file_lock", id: "ann", file: `${home.work}/a.txt`, bind: true });
    const client = await home.connect();
    const event = { session_id: "bob", cwd: home.work, prompt_id: "p1", hook_event_name: "PreToolUse" };
    client.send({ type: "hook", event: { ...event, ...editOf("a.txt") } });
    await client.blank();
    client.destroy();
    await client.closed;
    await ann.ask({ type: "file_unlock", id: "ann", file: `${home.work}/a.txt` });
    expect((await prompt("bob"))["additionalContext"]).toContain("lost and found");
  });

  test("an agent within a session has an inbox of its own, by its name", async () => {
    await hook("bob", "SessionStart", { source: "startup" });
    const agent = { agent_id: "a0954b2b04fdf61ec", agent_type: "Explore" };
    await hook("bob", "SubagentStart", agent);
    expect(await say("Explore", "for the explorer")).toMatchObject({
      message: { to: [{ agent: agent.agent_id }] },
    });
    expect(await prompt("bob")).toEqual({});
    const edit = await hook("bob", "PreToolUse", { ...agent, ...editOf("b.txt") });
    expect(edit["additionalContext"]).toContain("for the explorer");
  });

  test("what an agent did not read before it ended comes back to who wrote it", async () => {
    await hook("bob", "SessionStart", { source: "startup" });
    const ann = await session("ann");
    const agent = { agent_id: "a0954b2b04fdf61ec", agent_type: "Explore" };
    await hook("bob", "SubagentStart", agent);
    await ann.ask({ type: "message_send", id: "ann", to: "Explore", text: "too late" });
    await ann.ask({ type: "subscribe", events: ["message_undelivered"] });
    await hook("bob", "PostToolUse", {
      tool_name: "Agent",
      tool_use_id: "u",
      tool_response: { status: "completed", agentId: agent.agent_id },
    });
    await ann.event("message_undelivered");
    expect((await ann.ask({ type: "message_list", id: "ann" }))["messages"]).toMatchObject([
      { text: "too late", undelivered: expect.stringContaining("Explore") },
    ]);
  });

  test("an edit of a frozen file is denied with the reason until resume, reading never is", async () => {
    await hook("bob", "SessionStart", { source: "startup" });
    const ann = await session("ann", { name: "Ann" });
    const hold = { files: ["db/"], ttlMs: 60_000 };
    const held = await ann.ask({ type: "broadcast", id: "ann", message: "migrating <now>", hold });
    expect(held).toMatchObject({ ok: true, hold: { hold: "h-1", paths: [`${home.work}/db`] } });
    const denied = await hook("bob", "PreToolUse", editOf("db/schema.sql"));
    expect(denied).toMatchObject({ permissionDecision: "deny" });
    expect(denied["permissionDecisionReason"]).toMatch(
      /"Ann" froze edits of "db\/schema.sql" by other agents/,
    );
    expect(denied["permissionDecisionReason"]).toContain('"migrating ‹now›"');
    // The broadcast itself comes beside the denial.
    expect(denied["additionalContext"]).toContain("(to everyone)");
    expect(await hook("bob", "PreToolUse", editOf("src/a.ts"))).toEqual({});
    expect(await wire.ask({ type: "resume", project: home.work })).toMatchObject({ code: "person_only" });
    const person = await home.connectPerson();
    expect(await person.ask({ type: "resume", project: home.work })).toEqual({ ok: true, resumed: ["h-1"] });
    expect(await hook("bob", "PreToolUse", editOf("db/schema.sql"))).toEqual({});
  });

  test("who wrote a file before another one is told of it, once until it writes the file again", async () => {
    await wire.ask({ type: "subscribe", events: ["file_conflict"] });
    const write = async (id: string, more: Message = {}) => {
      const edit = { ...editOf("shared.txt"), ...more };
      const before = (await hook(id, "PreToolUse", edit))["additionalContext"];
      const after = (await hook(id, "PostToolUse", edit))["additionalContext"];
      return [before, after].filter(text => text !== undefined).join("\n");
    };
    const read = { tool_name: "Read", tool_input: { file_path: `${home.work}/shared.txt` } };
    for (const id of ["ann", "bob"]) await hook(id, "SessionStart", { source: "startup" });
    await write("ann");
    await hook("bob", "PostToolUse", { ...read, tool_use_id: "r1" });
    // A main agent and its own agents work together.
    await write("ann", { agent_id: "a0954b2b04fdf61ec", agent_type: "Explore" });
    await hook("ann", "Stop", { background_tasks: [] });
    const structuredPatch = [{ oldStart: 3, oldLines: 1, newStart: 3, newLines: 1, lines: ["-a", "+b"] }];
    // The last writer is told nothing.
    expect(await write("bob", { tool_response: { structuredPatch } })).toBe("");
    expect(await write("bob")).toBe("");
    const conflict = await wire.event("file_conflict");
    expect(conflict).toMatchObject({ path: `${home.work}/shared.txt`, sessions: ["ann", "bob"] });
    await hook("bob", "Stop", { background_tasks: [] });
    const told = (await prompt("ann"))["additionalContext"];
    expect(told).toContain(
      '- "bob" changed line 3 of "shared.txt" after your last write of it: read it again before your next one.',
    );
    await write("bob");
    await hook("bob", "Stop", { background_tasks: [] });
    expect(await prompt("ann")).toEqual({});
    expect(await write("ann")).toBe("");
    expect(await wire.event("file_conflict")).toMatchObject({ sessions: ["bob", "ann"] });
    expect((await prompt("bob"))["additionalContext"]).toContain(
      '"ann" changed "shared.txt" after your last write',
    );
    await wire.ask({ type: "ping" });
    expect(wire.kept).toEqual([]);
  });

  test("nothing is shown where Kite is off, and nothing is lost", async () => {
    await hook("bob", "SessionStart", { source: "startup" });
    await say("bob", "later");
    await home.kite("off");
    expect(await prompt("bob")).toEqual({});
    await home.kite("on");
    expect((await prompt("bob"))["additionalContext"]).toContain("later");
  });
});
