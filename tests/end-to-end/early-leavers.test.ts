/** Clients that leave before they are answered: the daemon keeps nothing for them. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";

const leavers = 150;

let home: Home;
let observer: Client;

beforeEach(async () => {
  home = new Home();
  await home.start();
  observer = await home.connect();
});
afterEach(() => home.dispose());

function edit(session: string, file: string, tool: string): Message {
  return {
    hook_event_name: "PreToolUse",
    session_id: session,
    cwd: home.work,
    prompt_id: "p",
    tool_name: "Edit",
    tool_use_id: tool,
    tool_input: { file_path: file, old_string: "a", new_string: "b" },
  };
}

/** Its answer finds nobody, which is how the daemon learns of the end; then what comes behind it is still under way. */
const ping = `${JSON.stringify({ type: "ping" })}\n`;
/** What is read behind it waits for the disk. */
const durable: Message = { type: "context_set", project: "p", key: "k", value: 1, durable: true };

/** Each client sends its lines and is gone before the daemon reads them: it finds the lines and their end at once. */
async function leave(line: (n: number) => Message): Promise<void> {
  home.daemon.signal("SIGSTOP");
  for (let n = 0; n < leavers; n += 1) {
    const client = await home.connect();
    await client.sent(`${ping}${JSON.stringify(durable)}\n${JSON.stringify(line(n))}\n`);
    client.destroy();
  }
  home.daemon.signal("SIGCONT");
}

/** What the daemon keeps once it has seen all of them go and has done what they asked for. */
async function left(): Promise<Message> {
  // Asked for behind theirs: what their requests wait for is over when this is answered.
  for (let round = 0; round < 3; round += 1) {
    const last = await home.connect();
    await last.ask({ type: "subscribe", file: `${home.work}/last-${round}/of/all` });
    last.destroy();
  }
  for (;;) {
    const { connections, subscribers, locks, waiters } = await observer.ask({ type: "stats" });
    if (connections === 1) return { subscribers, locks, waiters };
  }
}

const nothing = { subscribers: 0, locks: 0, waiters: 0 };

/** A file in a directory that nobody asked for before: it takes the daemon a while to look it up. */
const fresh = (n: number) => `${home.work}/all/new-${n}/a`;

describe("of clients that leave early, nothing is left of", () => {
  test("a subscription", async () => {
    await leave(() => ({ type: "subscribe" }));
    expect(await left()).toEqual(nothing);
  });

  test("a subscription whose file has to be looked up", async () => {
    await leave(n => ({ type: "subscribe", file: fresh(n) }));
    expect(await left()).toEqual(nothing);
  });

  test("a lock bound to the connection", async () => {
    await leave(n => ({ type: "file_lock", id: "s", file: fresh(n), bind: true }));
    expect(await left()).toEqual(nothing);
  });

  test("a wait for a lock", async () => {
    await observer.ask({ type: "register", id: "holder", cwd: home.work });
    await observer.ask({ type: "file_lock", id: "holder", file: "all/" });
    await leave(n => ({ type: "file_lock", id: `s-${n}`, file: fresh(n), waitMs: 600_000 }));
    expect(await left()).toEqual({ ...nothing, locks: 1 });
  });

  test("a hook that waits for a lock", async () => {
    await observer.ask({ type: "register", id: "holder", cwd: home.work });
    await observer.ask({ type: "file_lock", id: "holder", file: "all/", bind: true });
    await leave(n => ({ type: "hook", event: edit(`hooked-${n}`, fresh(n), `t-${n}`) }));
    // A hook's place is kept a while for the client that comes back; nobody is attached to it.
    expect(await left()).toMatchObject({ subscribers: 0, locks: 1 });
    // A hook may still look its file up when its connection is counted no more.
    const attached = async () => {
      const { rows } = await observer.ask({ type: "query", target: "locks" });
      const waiters = (rows as { waiters: { attached: boolean }[] }[]).flatMap(row => row.waiters);
      return waiters.filter(waiter => waiter.attached);
    };
    await expect.poll(attached).toEqual([]);
  });
});

test("a hook that left while it waited may come back, and is answered", async () => {
  const holder = await home.session("holder");
  await holder.ask({ type: "file_lock", id: "holder", file: "x", bind: true });
  const hook = { type: "hook", event: edit("hooked", `${home.work}/x`, "t") };
  for (let n = 0; n < 2; n += 1) {
    const first = await home.connect();
    const told = first.blank();
    first.send(hook);
    await told;
    first.destroy();
  }
  const second = await home.connect();
  const told = second.blank();
  second.send(hook);
  await told;
  expect(await holder.ask({ type: "file_unlock", id: "holder", file: "x" })).toMatchObject({ ok: true });
  expect(await second.reply()).toMatchObject({ ok: true, output: "" });
  const { rows } = await holder.ask({ type: "query", target: "locks" });
  expect(rows).toMatchObject([{ holder: { id: "hooked" }, waiters: [] }]);
});
