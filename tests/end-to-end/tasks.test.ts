/** Tasks through the real daemon: over the wire, from the terminal, and both at once. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import { Home, type Message } from "./daemon.ts";

let home: Home;

beforeEach(async () => {
  home = new Home();
  await home.start();
});
afterEach(() => home.dispose());

/** What `kite task ...` prints as JSON. */
async function task(...args: string[]): Promise<Message> {
  const printed: Message = JSON.parse(await home.kite("task", ...args, "--json"));
  return printed;
}

const taskOf = (reply: Message) => reply["task"] as TaskRow;

describe("a graph of ten tasks", () => {
  const needs: Readonly<Record<string, readonly string[]>> = {
    a: [],
    b: [],
    c: ["a"],
    d: ["a", "b"],
    e: ["c"],
    f: ["c", "d"],
    g: ["d"],
    h: ["e", "f"],
    i: ["f", "g"],
    j: ["h", "i"],
  };

  test("is finished by two sessions and a terminal, each task once and in its time", async () => {
    const first = await home.session("first");
    const tasks = Object.entries(needs).map(([name, dependsOn]) => ({ name, description: name, dependsOn }));
    const made = await first.ask({ type: "task_create", id: "first", tasks });
    expect(made).toMatchObject({ ok: true, tasks: { length: 10 } });
    const watcher = await home.connect();
    await watcher.ask({ type: "subscribe", events: ["task_claimed", "task_completed"] });
    let left = 10;
    const session = async (id: string) => {
      const client = id === "first" ? first : await home.session(id);
      await terminalBegan;
      while (left > 0) {
        const claimed = await client.ask({ type: "task_claim", id });
        if (claimed["ok"] !== true) continue;
        const { id: name } = taskOf(claimed);
        const ended = await client.ask({ type: "task_update", id, task: name, status: "done", result: id });
        expect(ended).toMatchObject({ ok: true });
        left -= 1;
      }
    };
    let begin: () => void = () => {};
    // A command takes longer than all ten tasks do: it has the first one before they begin.
    const terminalBegan = new Promise<void>(resolve => {
      begin = resolve;
    });
    const terminal = async () => {
      while (left > 0) {
        const printed = await home.kite("task", "ready", "--json", "--project", "test");
        const { tasks: ready } = JSON.parse(printed) as { readonly tasks: readonly TaskRow[] };
        const [wanted] = ready;
        if (wanted === undefined) continue;
        // Somebody else may be faster: then the command fails.
        const claimed = await task("claim", wanted.id).catch(() => null);
        begin();
        if (claimed === null) continue;
        await task("done", wanted.id, "by hand");
        left -= 1;
      }
    };
    await Promise.all([session("first"), session("second"), terminal()]);
    // What happened, in the order in which it did.
    const done: string[] = [];
    const claimed: string[] = [];
    while (done.length < 10) {
      const event = await watcher.next(message => message["type"] === "event");
      const name = String(event["description"]);
      if (event["event"] === "task_completed") done.push(name);
      else {
        claimed.push(name);
        for (const needed of needs[name] ?? []) expect(done, `${name} was begun`).toContain(needed);
      }
    }
    expect([...done].sort()).toEqual(Object.keys(needs));
    expect([...claimed].sort()).toEqual(Object.keys(needs));
    const { rows } = await first.ask({ type: "query", target: "tasks", status: "done" });
    expect(rows).toHaveLength(10);
  });
});

describe("kite task", () => {
  test("goes from add to done, and says what is refused with what to do", async () => {
    expect(await home.kite("task", "add", "Write", "the", "schema", "--priority", "high")).toMatch(
      /^task 1 is ready: Write the schema\n$/,
    );
    await home.kite("task", "add", "Build the API", "--needs", "1", "--label", "web");
    expect(await home.kite("task", "list")).toMatch(
      /1 +ready +high +Write the schema\n +2 +blocked .*after 1\n/,
    );
    await expect(home.kite("task", "claim", "2")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^kite: task 2 waits for #1 to be done; kite task ready lists/),
    });
    // A terminal is a session while it works on a task, no longer.
    const sessions = async () => JSON.parse(await home.kite("sessions", "--json")).sessions.length;
    expect(await sessions()).toBe(0);
    expect(await home.kite("task", "claim")).toMatch(/^task 1 is active for .*: Write the schema\n$/);
    expect(await sessions()).toBe(1);
    expect(await home.kite("task", "done", "1", "four", "tables")).toMatch(
      /^task 1 is done: Write the schema\n$/,
    );
    expect(await sessions()).toBe(0);
    expect(await home.kite("task", "graph")).toContain("1  ✓ Write the schema\n2  ↓ ○ Build the API\n");
    expect(await home.kite("task", "graph", "--mermaid")).toMatch(
      /^graph TD\n {2}t_\w+_1\["1: Write the schema"\]:::done/,
    );
    expect(await home.kite("task", "fail", "2", "no", "server")).toMatch(/^task 2 is failed/);
    expect(await home.kite("task", "retry", "2")).toMatch(/^task 2 is ready/);
    expect(taskOf(await task("cancel", "2"))).toMatchObject({ status: "failed", result: "cancelled" });
    expect(await task("rm", "--finished")).toMatchObject({ removed: { length: 2 } });
    expect(await home.kite("task", "list")).toBe("No tasks. To add one: kite task add DESCRIPTION\n");
  });

  test("takes numbers as decimal with or without #, and the old forms as they were", async () => {
    const client = await home.connect();
    const tasks = Array.from({ length: 11 }, (_, n) => ({ description: `No. ${n + 1}` }));
    await client.ask({ type: "task_create", project: home.work, tasks });
    for (const name of ["10", "#10", "010", "a"])
      expect(taskOf(await task("show", name)), name).toMatchObject({ number: 10, description: "No. 10" });
    expect(await home.kite("task", "show", "10")).toMatch(/^task 10 {2}ready\n(?:.*\n)+ {2}id +t-\w+-a\n/);
    expect(await home.kite("task", "edit", "#11", "--needs", "10")).toMatch(/^task 11 is blocked by 10: /);
    expect(await home.kite("task", "list")).toMatch(/^ {2}11 +blocked .*after 10$/m);
    // The wire takes digits alone for the last part of an id, as published: that is base 36.
    const onWire = await client.ask({ type: "task_get", project: home.work, task: "10" });
    expect(onWire).toMatchObject({ ok: false, code: "unknown_task" });
    await expect(home.kite("task", "claim", "12")).rejects.toMatchObject({
      stderr: expect.stringContaining("kite: no task #12 in this project; kite task list shows them"),
    });
    await expect(home.kite("task", "done", "11")).rejects.toMatchObject({
      stderr: "kite: task 11 waits for #10 to be done; kite task ready lists those that can begin now\n",
    });
    const far = await client.ask({ type: "task_create", project: "/elsewhere", description: "Far" });
    const { id } = taskOf(far);
    expect(await home.kite("task", "fail", id)).toBe(`task ${id} is failed: Far\n`);
  });

  test("lists ready, blocked and all tasks by the words that it shows", async () => {
    await home.kite("task", "add", "One");
    await home.kite("task", "add", "Two", "--needs", "1");
    await home.kite("task", "add", "Three");
    await home.kite("task", "done", "3");
    const numbers = async (...flags: string[]) =>
      ((await task("list", ...flags))["tasks"] as readonly TaskRow[]).map(row => row.number);
    expect(await numbers("--status", "ready")).toEqual([1]);
    expect(await numbers("--status", "blocked")).toEqual([2]);
    expect(await home.kite("task", "list")).toContain("and 1 done task: kite task list --all\n");
    expect(await home.kite("task", "list", "--all")).toMatch(/^ {2}3 +done .*Three/m);
    expect(await home.kite("task", "retry", "3")).toMatch(/^task 3 is ready: Three\n$/);
  });

  test("acts for the session that the environment names", async () => {
    const client = await home.session("someone");
    const { task: made } = await client.ask({ type: "task_create", id: "someone", description: "it" });
    expect(made).toMatchObject({ project: "test", createdBy: "someone" });
    const env = { ...home.environment, KITE_SESSION: "someone", KITE_AGENT: "helper" };
    const claimed = JSON.parse(await home.kiteIn(env, "task", "claim", "--project", "test", "--json"));
    expect(claimed.task).toMatchObject({ assignee: "someone", assigneeAgent: "helper" });
    const { rows } = await client.ask({ type: "query", target: "sessions" });
    expect(rows).toMatchObject([{ id: "someone", task: { description: "it" } }]);
  });

  test("imports what was published, as a list or by id, and exports what import reads", async () => {
    const file = join(home.work, "tasks.json");
    const one = {
      id: "t-lk0-2",
      description: "Needs the other",
      dependsOn: ["t-lk0-1"],
      status: "active",
      assignee: "x",
    };
    const other = {
      id: "t-lk0-1",
      description: "Was done",
      status: "done",
      result: "fine",
      createdAt: 1_600_000_000_000,
    };
    writeFileSync(file, JSON.stringify([one, other]));
    expect(await home.kite("task", "import", file)).toBe("imported 2 tasks\n");
    writeFileSync(
      file,
      JSON.stringify({ "t-lk0-2": { ...one, id: undefined }, "t-lk0-3": { description: "New" } }),
    );
    expect(await home.kite("task", "import", file)).toBe("imported 1 task; 1 already existed\n");
    await home.kite("task", "export", file);
    const exported: unknown = JSON.parse(readFileSync(file, "utf8"));
    expect(exported).toMatchObject([
      { id: "t-lk0-1", status: "done", result: "fine", createdAt: 1_600_000_000_000 },
      { id: "t-lk0-2", status: "pending", assignee: null, dependsOn: ["t-lk0-1"], blockedBy: [] },
      { id: "t-lk0-3", description: "New", project: home.work },
    ]);
    expect(await task("import", file)).toMatchObject({ imported: 0, skipped: { length: 3 } });
    writeFileSync(file, JSON.stringify([{ id: "t-lk0-4", description: "Was debated", debate: "d-lk0-1" }]));
    expect(await home.kite("task", "import", file)).toBe(
      "imported 1 task\n1 task required debates that are not here, and were imported without: #4\n",
    );
    writeFileSync(file, "{");
    await expect(home.kite("task", "import", file)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("not JSON"),
    });
  });
});

describe("over the wire", () => {
  test("what was answered is there after the daemon was killed, with whoever had claimed it", async () => {
    const client = await home.session("s", { pid: process.pid });
    await client.ask({ type: "task_create", id: "s", description: "it", requestId: "r" });
    await client.ask({ type: "task_claim", id: "s" });
    await home.daemon.kill();
    await home.start();
    const again = await home.connect();
    const { rows } = await again.ask({ type: "query", target: "tasks" });
    expect(rows).toMatchObject([{ description: "it", status: "active", assignee: "s" }]);
    const retried = await again.ask({ type: "task_create", id: "s", description: "it", requestId: "r" });
    expect(retried).toMatchObject({ ok: true, task: { status: "pending" } });
    expect((await again.ask({ type: "query", target: "tasks" }))["rows"]).toHaveLength(1);
  });

  test("a claim ends with the process of its session", async () => {
    const child = await home.bystander();
    const client = await home.session("s", { pid: child.pid });
    const watcher = await home.connect();
    await watcher.ask({ type: "subscribe", events: ["task_released"] });
    await client.ask({ type: "task_create", id: "s", description: "it" });
    await client.ask({ type: "task_claim", id: "s" });
    child.kill("SIGKILL");
    expect(await watcher.event("task_released")).toMatchObject({ description: "it", cause: "anchor_gone" });
    const { rows } = await watcher.ask({ type: "query", target: "task_ready" });
    expect(rows).toMatchObject([{ description: "it", attempts: 1 }]);
  });

  test("an agent is told that a person took its task, and of nothing that it did itself", async () => {
    const client = await home.session("s", { project: home.work });
    await client.ask({
      type: "task_create",
      id: "s",
      tasks: [{ description: "it" }, { description: "more" }],
    });
    const texts = async () => {
      const { messages } = await client.ask({ type: "message_list", id: "s" });
      return (messages as { text: string }[]).map(({ text }) => text);
    };
    const { id } = taskOf(await client.ask({ type: "task_claim", id: "s" }));
    await client.ask({ type: "task_release", id: "s", task: id });
    await client.ask({ type: "task_claim", id: "s", task: id });
    await home.kite("task", "release", "1");
    await expect.poll(texts).toHaveLength(1);
    await client.ask({ type: "task_claim", id: "s", task: id });
    await client.ask({ type: "task_update", id: "s", task: id, status: "done" });
    await client.ask({ type: "task_claim", id: "s" });
    await home.kite("release", "s");
    await client.ask({ type: "task_claim", id: "s" });
    await home.kite("task", "cancel", "2");
    await expect.poll(texts).toHaveLength(2);
    const [first, second] = await texts();
    const user = "your user \\S+|the user";
    expect(first).toMatch(
      new RegExp(`^Kite: task #1 "it" is no longer yours: (?:${user}) gave it back\\. Look`),
    );
    expect(second).toMatch(new RegExp(`^Kite: task #2 "more" is no longer yours: (?:${user}) ended it\\.`));
  });

  test("queries filter, and page without a gap", async () => {
    const client = await home.session("s");
    const tasks = Array.from({ length: 25 }, (_, n) => {
      return {
        description: `number ${n}`,
        labels: n % 2 === 0 ? ["even"] : [],
        priority: n === 20 ? "high" : "low",
      };
    });
    await client.ask({ type: "task_create", id: "s", tasks });
    const seen: unknown[] = [];
    let after: unknown;
    do {
      const more = after === undefined ? {} : { after };
      const page = await client.ask({
        type: "query",
        target: "task_ready",
        project: "test",
        label: "even",
        limit: 4,
        ...more,
      });
      const { rows } = page as { readonly rows: readonly TaskRow[] };
      seen.push(...rows.map(({ description }) => description));
      after = page["next"];
    } while (after !== undefined);
    const evens = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 22, 24].map(n => `number ${n}`);
    expect(seen).toEqual(["number 20", ...evens]);
    const texts = await client.ask({ type: "query", target: "tasks", text: "NUMBER 1", status: "pending" });
    expect(texts["rows"]).toHaveLength(11);
    const nobody = await client.ask({ type: "query", target: "tasks", assignee: "nobody" });
    expect(nobody["rows"]).toEqual([]);
  });

  test("wrong parameters are refused by name", async () => {
    const client = await home.session("s");
    const refused = async (request: Message) => (await client.ask({ id: "s", ...request }))["error"];
    expect(await refused({ type: "task_create" })).toContain("exactly one of description and tasks");
    expect(await refused({ type: "task_create", description: " " })).toContain("description: a task needs");
    expect(await refused({ type: "task_create", description: "x", priority: "urgent" })).toContain(
      "priority",
    );
    expect(await refused({ type: "task_update", task: "t-1", status: "cancelled" })).toContain("status");
    expect(await refused({ type: "task_claim", id: undefined })).toContain("id");
  });
});
