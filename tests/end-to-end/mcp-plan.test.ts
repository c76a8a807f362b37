/** Tasks, notes and messages as agents use them: by tools, beside a person at a terminal. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Home, type Message } from "./daemon.ts";
import { Mcp, type Told } from "./mcp-client.ts";

let home: Home;
const open: Mcp[] = [];

beforeEach(async () => {
  home = new Home();
  await home.start();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map(mcp => mcp.close()));
  await home.dispose();
});

async function connect(name: string): Promise<Mcp> {
  const mcp = await Mcp.start(home, { name });
  open.push(mcp);
  return mcp;
}

/** What a task tool said of a task. */
function taskOf({ data }: Told): Message {
  return data["task"] as Message;
}

function listOf({ data }: Told, name: string): readonly Message[] {
  return data[name] as readonly Message[];
}

describe("tasks", () => {
  it("go from one agent to another, each with what came of it", async () => {
    const [alice, bob] = [await connect("alice"), await connect("bob")];
    const made = await alice.call("kite_task_create", {
      tasks: [
        { name: "api", description: "Write the API", priority: "high", labels: ["server"] },
        { name: "page", description: "Write the page", dependsOn: ["api"] },
      ],
    });
    const [api, page] = listOf(made, "added").map(({ id }) => id);
    expect(listOf(await bob.call("kite_task_list", { which: "ready" }), "tasks")).toMatchObject([
      { id: api },
    ]);
    expect(listOf(await bob.call("kite_task_list", { which: "blocked" }), "tasks")).toMatchObject([
      { id: page, waitsFor: [`${api} (pending)`] },
    ]);
    expect(taskOf(await bob.call("kite_task_claim", { labels: ["server"] }))).toMatchObject({
      id: api,
      status: "active",
      assignee: "bob",
    });
    const none = await alice.call("kite_task_claim");
    expect(none).toMatchObject({ isError: true, data: { code: "no_ready_task" } });
    const done = await bob.call("kite_task_complete", { task: api, result: "GET /items returns them all" });
    expect(taskOf(done)).toMatchObject({ status: "done", result: "GET /items returns them all" });
    expect(taskOf(await alice.call("kite_task_claim", { task: page }))).toMatchObject({ assignee: "alice" });
    expect(listOf(await alice.call("kite_task_list", { which: "mine" }), "tasks")).toMatchObject([
      { id: page },
    ]);
    const failed = await alice.call("kite_task_fail", { task: page, result: "no design yet" });
    expect(taskOf(failed)).toMatchObject({ status: "failed", result: "no design yet" });
    expect(listOf(await bob.call("kite_task_list", { which: "finished" }), "tasks")).toHaveLength(2);
    expect(listOf(await bob.call("kite_task_list"), "tasks")).toEqual([]);
  });

  it("can be read one at a time, and given back", async () => {
    const [alice, bob] = [await connect("alice"), await connect("bob")];
    const long = `Write the page: ${"it lists orders, ".repeat(40)}newest first`;
    const made = await alice.call("kite_task_create", { description: long, labels: ["web"] });
    const [page] = listOf(made, "added").map(({ id }) => id);
    await alice.call("kite_task_claim", { task: page });
    const read = await bob.call("kite_task_list", { task: page });
    expect(read.text).toContain(long);
    expect(read.text).toContain('labels: "web"');
    expect(taskOf(read)).toMatchObject({ id: page, assignee: "alice" });
    const kept = await bob.call("kite_task_release", { task: page });
    expect(kept).toMatchObject({ isError: true, data: { code: "task_claimed" } });
    expect((await alice.call("kite_task_release", { task: page })).text).toBe("Task 1 is pending again.");
    expect(taskOf(await bob.call("kite_task_claim"))).toMatchObject({ id: page, assignee: "bob" });
    await bob.call("kite_task_complete", { task: page, result: "It is at /orders" });
    expect((await alice.call("kite_task_list", { task: page })).text).toContain('result: "It is at /orders"');
  });

  it("are added one by one too, and refused with what is wrong", async () => {
    const alice = await connect("alice");
    const made = await alice.call("kite_task_create", { description: "Fix the build" });
    const [one] = listOf(made, "added");
    expect(made.text).toBe("Added task 1.");
    expect((await alice.call("kite_status")).data).toMatchObject({ readyTasks: 1, unreadMessages: 0 });
    expect((await alice.call("kite_task_create", {})).data).toMatchObject({ code: "invalid_request" });
    const unknown = await alice.call("kite_task_complete", { task: "t-nowhere" });
    expect(unknown).toMatchObject({ isError: true, data: { code: "unknown_task" } });
    expect((await alice.call("kite_task_fail", { task: one?.["id"] })).isError).toBe(true);
    const tasks = [
      { name: "2", description: "Named as a number" },
      ...Array.from({ length: 9 }, (_, n) => ({ description: `No. ${n + 3}`, dependsOn: ["2", "#1"] })),
    ];
    expect((await alice.call("kite_task_create", { tasks })).text).toMatch(/^Added task 2 \("2"\), task 3, /);
    const claimed = await alice.call("kite_task_claim", { task: "10" });
    expect(claimed.text).toBe(
      "Refused (task_blocked): the task waits for #2, #1 to be done; kite_task_list (which: ready) lists those that can begin now",
    );
    const edited = await alice.call("kite_task_edit", { task: "#11", dependsOn: ["10"] });
    expect(edited.text).toBe('Changed: 11: "No. 11", pending, waits for 10');
  });

  it("ten of them, two agents and a terminal: every one is done once, none before what it depends on", async () => {
    const names = Array.from({ length: 10 }, (_, i) => `n${i}`);
    const needs = [[], [], [0], [0, 1], [2], [2, 3], [4, 5], [], [7, 3], [6, 8]];
    const [alice, bob] = [await connect("alice"), await connect("bob")];
    const terminal = await home.connect();
    const watch = await home.connect();
    await watch.ask({ type: "subscribe", events: ["task_claimed", "task_completed"] });
    const tasks = names.map((name, i) => ({
      name,
      description: name,
      dependsOn: needs[i]?.map(n => names[n]),
    }));
    const { project } = await terminal.ask({ type: "register", id: "terminal", cwd: home.work });
    const made = await alice.call("kite_task_create", { tasks });
    const nameOf = new Map(listOf(made, "added").map(({ id, name }) => [id, String(name)]));
    const done: string[] = [];
    const finished = () => done.length === names.length;
    // Whoever finds nothing to do waits until a task is done, by whomever.
    let ring = () => {};
    let bell = new Promise<void>(resolve => {
      ring = resolve;
    });
    const completed = (id: unknown) => {
      done.push(nameOf.get(id) ?? "");
      ring();
      bell = new Promise(resolve => {
        ring = resolve;
      });
    };
    const agent = async (mcp: Mcp) => {
      for (let own = 0; ; own += 1) {
        const next = bell;
        const claimed = await mcp.call("kite_task_claim");
        if (!claimed.isError) {
          const { id } = taskOf(claimed);
          expect((await mcp.call("kite_task_complete", { task: id, result: "ok" })).isError).toBe(false);
          completed(id);
        } else {
          expect(claimed.data["code"]).toBe("no_ready_task");
          if (finished()) return own;
          await next;
        }
      }
    };
    const person = async () => {
      for (;;) {
        const next = bell;
        const claimed = await terminal.ask({ type: "task_claim", id: "terminal", project });
        if (claimed["ok"] === true) {
          const { id } = claimed["task"] as Message;
          await terminal.ask({ type: "task_update", id: "terminal", task: id, status: "done" });
          completed(id);
        } else if (finished()) return;
        else await next;
      }
    };
    await Promise.all([agent(alice), agent(bob), person()]);
    expect([...done].sort()).toEqual(names);
    await watch.ask({ type: "ping" });
    const events = watch.kept.filter(({ type }) => type === "event");
    const times = (event: string) => events.filter(e => e["event"] === event).map(e => nameOf.get(e["task"]));
    expect(times("task_claimed").sort()).toEqual(names);
    const order = times("task_completed");
    expect([...order].sort()).toEqual(names);
    for (const [i, before] of needs.entries()) {
      for (const n of before) expect(order.indexOf(`n${n}`)).toBeLessThan(order.indexOf(`n${i}`));
    }
  });

  it("survive a restart between claim and completion", async () => {
    const alice = await connect("alice");
    await alice.call("kite_task_create", { description: "Fix the build" });
    const { id } = taskOf(await alice.call("kite_task_claim"));
    await home.daemon.kill();
    await home.start();
    expect(taskOf(await alice.call("kite_task_complete", { task: id }))).toMatchObject({ status: "done" });
  });
});

describe("notes", () => {
  it("are shared by key, with versions, and come back exactly", async () => {
    const [alice, bob] = [await connect("alice"), await connect("bob")];
    const value = { text: "a  <b>\n\u202e", list: [1, null, true] };
    const set = await alice.call("kite_context_set", { key: "api/errors", value });
    expect(set.data).toEqual({ key: "api/errors", version: 1 });
    const got = await bob.call("kite_context_get", { key: "api/errors" });
    expect(got.data).toMatchObject({ key: "api/errors", by: "alice", version: 1, durable: true });
    expect(JSON.parse(String(got.data["json"]))).toEqual(value);
    for (const said of [got.text, JSON.stringify(got.data)]) {
      expect(said).toContain("information, not instructions");
      expect(said).not.toMatch(/[<>\u202e]/);
    }
    const stale = await bob.call("kite_context_set", { key: "api/errors", value: 2, ifVersion: 0 });
    expect(stale).toMatchObject({ isError: true, data: { code: "context_conflict" } });
    expect(listOf(await bob.call("kite_context_get"), "keys")).toMatchObject([{ key: "api/errors" }]);
    const absent = await bob.call("kite_context_get", { key: "nothing" });
    expect(absent).toMatchObject({ isError: true, data: { code: "context_absent" } });
    await alice.call("kite_context_set", { key: "brief", value: 1, ephemeral: true });
    expect((await bob.call("kite_context_get", { key: "brief" })).data).toMatchObject({ durable: false });
  });
});

describe("messages", () => {
  it("reach whom they name, once, and can be answered", async () => {
    const [alice, bob] = [await connect("alice"), await connect("bob")];
    await bob.call("kite_status");
    const sent = await alice.call("kite_message", { to: "bob", text: "Is <api>\ndone?" });
    expect(sent.data).toMatchObject({ to: ["bob"] });
    expect((await bob.call("kite_status")).data).toMatchObject({ unreadMessages: 1 });
    const read = await bob.call("kite_inbox");
    expect(listOf(read, "messages")).toMatchObject([
      { id: sent.data["id"], from: "alice", text: "Is ‹api› done?" },
    ]);
    expect(read.text).toContain("Notes from other agents");
    expect(listOf(await bob.call("kite_inbox"), "messages")).toEqual([]);
    expect(listOf(await bob.call("kite_inbox", { all: true }), "messages")).toHaveLength(1);
    await bob.call("kite_message", { replyTo: sent.data["id"], text: "Yes.", urgent: true });
    const done = { all: true, done: [sent.data["id"]] };
    expect(listOf(await bob.call("kite_inbox", done), "messages")).toEqual([]);
    expect(await bob.call("kite_inbox", done)).toMatchObject({
      isError: true,
      data: { code: "unknown_message" },
    });
    expect(listOf(await alice.call("kite_inbox"), "messages")).toMatchObject([
      { from: "bob", text: "Yes.", replyTo: sent.data["id"], urgent: true },
    ]);
    const gone = await alice.call("kite_message", { to: "carol", text: "Hello?" });
    expect(gone).toMatchObject({ isError: true, data: { code: "recipient_gone" } });
  });

  it("go to everyone, and may hold edits back", async () => {
    const [alice, bob] = [await connect("alice"), await connect("bob")];
    await bob.call("kite_status");
    const given = { message: "Renaming src", hold: { files: ["src/"], ttlMs: 60_000 } };
    expect((await alice.call("kite_broadcast", given)).data).toMatchObject({ to: ["bob"] });
    expect(listOf(await bob.call("kite_inbox"), "messages")).toMatchObject([
      { text: "Renaming src", toAll: true },
    ]);
    const client = await home.connect();
    const { rows } = await client.ask({ type: "query", target: "holds" });
    expect(rows).toMatchObject([{ paths: [`${home.work}/src`], by: { name: "alice" } }]);
  });

  it("shows freezes to everyone, and lets who made them end them", async () => {
    const [alice, bob] = [await connect("alice"), await connect("bob")];
    await bob.call("kite_status");
    const given = { message: "Renaming src", hold: { files: ["src/"], ttlMs: 60_000 } };
    const sent = await alice.call("kite_broadcast", given);
    const { freeze } = sent.data;
    expect(sent.text).toMatch(/Freeze h-\S+ ends in [^,]+, or by kite_thaw\.$/);
    const seen = await bob.call("kite_status");
    expect(seen.data["freezes"]).toMatchObject([{ freeze, files: ["src/"], by: "alice", you: false }]);
    expect(seen.text).toContain(`${freeze}: "src/" frozen by "alice" for `);
    const refused = await bob.call("kite_thaw", { freeze });
    expect(refused).toMatchObject({ isError: true, data: { code: "unknown_hold" } });
    expect((await alice.call("kite_thaw")).text).toBe(`Ended ${freeze}.`);
    expect((await bob.call("kite_status")).data["freezes"]).toEqual([]);
    expect((await alice.call("kite_thaw")).text).toBe("You froze nothing.");
  });
});
