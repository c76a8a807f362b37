/** Rows of all projects, page by page over two logs; and what an agent's own doings in the shared log count as. */
import { beforeEach, describe, expect, it, test } from "vitest";
import type { State } from "../../daemon/core/state.ts";
import { SessionWorks } from "../../daemon/hooks/session-work.ts";
import { actor, type World } from "./core-world.ts";
import { shared } from "./nodes-world.ts";
import { ReadersWorld, type Row, setOf, wallMs } from "./readers-world.ts";
import { claimOf, createOf, releaseOf, updateOf } from "./task-world.ts";

let w: ReadersWorld;

beforeEach(() => {
  w = new ReadersWorld();
});

interface Page {
  readonly rows: readonly Row[];
  readonly next?: string;
}

async function pageOf(target: string, limit: number, after?: string): Promise<Page> {
  const request = { target, limit, ...(after === undefined ? {} : { after }) };
  return (await w.ask("query", request)) as unknown as Page;
}

describe("pages of all projects", () => {
  const both = (names: readonly string[]) =>
    ["own", "kept"].flatMap(word => names.map(one => `${word}${one}`));
  it.each([
    ["tasks", "description", both([" ready", " claimed", " red", " done"])],
    ["task_ready", "description", both([" ready", " red"])],
    ["task_watched", "description", both([" red"])],
    ["context", "key", both([".host", ".port"])],
    ["messages", "text", ["of a merge", "own text", "kept text"]],
  ])("have each row of both logs once, the own log's first: %s", async (target, field, expected) => {
    for (const limit of [1, 2, 3, expected.length, 1_000]) {
      const shown: unknown[] = [];
      let after: string | undefined;
      do {
        const { rows, next } = await pageOf(target, limit, after);
        expect(rows.length).toBeLessThanOrEqual(limit);
        shown.push(...rows.map(row => row[field]));
        after = next;
      } while (after !== undefined);
      expect([limit, shown]).toEqual([limit, expected]);
    }
  });

  it("go on behind the last row, whatever came to either log meanwhile", async () => {
    const task = (log: World, description: string, project: string) =>
      log.do({ ...createOf([{ description }], null, wallMs), project } as never);
    const { next: inOwn } = await pageOf("tasks", 3);
    w.logs.enter({ ...createOf([{ description: "kept late" }], null, wallMs), project: shared } as never);
    task(w.logs.local, "own late", "/q");
    const { rows, next } = await pageOf("tasks", 3, inOwn);
    expect(rows.map(({ description }) => description)).toEqual(["own done", "own late", "kept ready"]);
    task(w.logs.local, "own later", "/q");
    const rest = await pageOf("tasks", 1_000, next);
    expect(rest.rows.map(({ description }) => description)).toEqual([
      "kept claimed",
      "kept red",
      "kept done",
      "kept late",
    ]);
    expect(rest.next).toBeUndefined();
  });

  it.each(["tasks", "messages"])("refuse a place in a log that is shared no more: %s", async target => {
    const refused = await w.ask("query", { target, after: "\n7 1 x" });
    expect(refused).toMatchObject({ ok: false, code: "invalid_request", path: "after" });
  });
});

describe("an agent of a project that machines share", () => {
  const hers = () => actor(w.logs.idOf("alice"));
  const told = () => w.does({ do: "list_peers", session: "alice", changesOnly: true });

  it("is not told of what it finished or shared itself", async () => {
    await told();
    w.logs.enter(setOf(shared, "hers", hers().session, wallMs + 100));
    w.logs.enter(setOf(shared, "his", w.logs.carol, wallMs + 100), "b");
    const task = w.task("active");
    const done = {
      ...updateOf(hers(), task, { status: "done", result: "x" }, wallMs + 100),
      project: shared,
    };
    w.logs.enter(done as never);
    expect(await told()).toMatchObject({ keys: ["his"], moreKeys: 0, finished: [] });
  });

  it("has another mark of its work after a claim there", () => {
    const works = new SessionWorks();
    const session = w.logs.state.sessions.live.get("alice");
    const mark = () => works.of(w.services, session as never).mark;
    const before = mark();
    w.logs.enter({ ...releaseOf(hers().session, w.task("active")), project: shared } as never);
    const free = mark();
    w.logs.enter({ ...claimOf(hers(), null, [], wallMs), project: shared } as never);
    expect(new Set([before, free, mark()]).size).toBe(3);
  });

  it("takes its messages under its own name", async () => {
    await w.does({ do: "inbox", session: "alice", take: true });
    const taken = w.logs.proposed.filter(({ type }) => type.startsWith("inbox"));
    const [take, tell] = [{ type: "inbox_take" }, { type: "inbox_told", heard: true }];
    const hersHere = { actor: actor("alice") };
    expect(taken).toMatchObject([take, take, tell, tell].map(one => ({ ...one, ...hersHere })));
    expect(await w.does({ do: "inbox", session: "alice", take: true })).toMatchObject({ messages: [] });
  });

  it("has a read of a value noted under the project's own name", async () => {
    w.logs.store.now += 86_400_000;
    await w.ask("context_get", { id: "alice", key: "kept.port" });
    expect(w.logs.proposed).toEqual([{ type: "context_read", project: "/p", key: "kept.port" }]);
  });

  it("has nothing waiting when it has read all in both logs", () => {
    const waits = (session: string) => w.services.notes.pending.has(w.logs, actor(session));
    const idsIn = (state: State, key: string) =>
      [...(state.messages.inboxes.get(key)?.all ?? [])].map(place => place.split(" ")[1] ?? "");
    const { local, store } = w.logs;
    const messages = idsIn(store.state, hers().session);
    w.logs.enter({ type: "message_ack", actor: hers(), messages });
    expect(waits("alice")).toBe(true);
    local.do({ type: "message_ack", actor: actor("alice"), messages: idsIn(local.state, "alice") });
    expect([waits("alice"), waits("dave")]).toEqual([false, true]);
  });
});

test("a reply that was made while a log was rebuilt is made again", async () => {
  let tries = 0;
  const reply = await new Promise(resolve => {
    const connection = {
      view: null,
      isClosed: false,
      room: () => undefined,
      replyJson: (_: unknown, text: string) => resolve(text),
    };
    const call = w.call("query", connection);
    void call.replyLong(function* () {
      tries += 1;
      if (tries === 1) w.logs.rebuildShared();
      yield 1;
      return `"${tries}"`;
    });
  });
  expect(reply).toBe('"2"');
});
