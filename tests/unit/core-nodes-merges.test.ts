/** A merge of one machine that comes back, and the tasks of its author in the log that machines share. */
import { describe, expect, it } from "vitest";
import { relaysOf } from "../../daemon/core/outbox/publish.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { MergeRow } from "../../protocol/lead/merge.ts";
import { actor, bounded } from "./core-world.ts";
import { end, Local, type Store, shared, two } from "./nodes-world.ts";

const cancelled = { code: "asked", text: "x", files: [], more: 0, output: null } as const;
const one = { name: null, description: "one", priority: "normal", labels: [], dependsOn: [] } as const;
const oneTask = { tasks: [one], many: false, project: "/p", wallMs: 5 } as const;
const ref = (name: string) => `refs/heads/${name}`;

function done(store: Store, node: string, session: string, task: string): void {
  const none = { dependsOn: null, description: null, priority: null, labels: null };
  const place = { project: shared, cwd: "", wallMs: 7 };
  const update = { type: "task_update", by: actor(session), task, status: "done", result: "did it" } as const;
  expect(store.as(node, { ...update, ...none, ...place })).toMatchObject({ ok: true });
}

/** A merge of the branch of `author` in the node's own log comes back. `name`: what its daemon found in the shared log. */
function comesBack(
  local: Local,
  author: string,
  tasks: readonly string[],
  { file = "a.ts", name }: { readonly file?: string; readonly name?: string } = {},
): void {
  const runner = { name: "r1", bound: { node: local.node, epoch: local.epoch, connection: 1 } };
  const place = { project: "/p", base: ref("main"), by: null, wallMs: 8 };
  const whose = { session: author, agent: null, ...(name === undefined ? {} : { name }) };
  const merges = [{ branch: ref("work"), author: whose, tasks, after: [] }];
  local.do({ type: "merge_queue", runner, ...place, rebase: false, checkOnly: false, merges });
  const taken = local.do({ type: "merge_take", runner, ...place, drain: false });
  const { id, runs } = (taken as unknown as { readonly merge: MergeRow }).merge;
  const reason = {
    code: "conflict",
    text: `${file} conflicts`,
    files: [file],
    more: 0,
    output: null,
  } as const;
  const outcome = { is: "returned", reason } as const;
  local.do({
    type: "merge_report",
    by: null,
    runner,
    merge: id,
    run: runs,
    outcome,
    shared: tasks,
    wallMs: 9,
  });
}

function statusOf(store: Store, task: string): string {
  return store.state.tasks.all.get(task)?.state.status ?? "none";
}

interface Done {
  readonly store: Store;
  readonly a: Local;
  readonly b: Local;
  readonly task: string;
}

/** `alice` of node a did a task of the shared log. */
function worked(): Done {
  const { store, a, b } = two();
  a.begin("s1", { name: "alice" });
  store.take("a", a);
  const task = store.add("a", null);
  store.claim("a", a.idOf("s1"), task);
  done(store, "a", a.idOf("s1"), task);
  return { store, a, b, task };
}

describe("a merge that comes back", () => {
  it("makes its author's task of the shared log pending, and says why without a file's name", () => {
    const { store, a, task } = worked();
    comesBack(a, "s1", [task], { file: "secret.ts" });
    expect(a.rows).toEqual(["task_return", "node_part"]);
    expect(JSON.stringify([...relaysOf(a.state.outbox)])).not.toContain("secret");
    store.take("a", a);
    expect(statusOf(store, task)).toBe("pending");
    const released = store.steps
      .flatMap(({ events }) => events)
      .find(({ event }) => event.event === "task_released");
    const cause = expect.stringMatching(/^the merge mg-\S+ came back: its branch conflicts/);
    expect(released).toMatchObject({ event: { task, cause } });
    const [message] = a.state.messages.all.values();
    expect(message?.text).toContain(
      `Pending again as soon as the shared store has it, claim it first: ${task}.`,
    );
  });

  it("names no task that no row gives back, and gives back what this log has still", () => {
    const { a, task } = worked();
    a.do({ type: "sharing_set", node: "a", projects: [["/p", shared]], level: 2 });
    const own = a.do({ type: "task_create", by: null, ...oneTask });
    const before = (own as unknown as { readonly task: { readonly id: string } }).task.id;
    const claim = { type: "task_claim", actor: actor("s1"), task: before, labels: [], cwd: "" } as const;
    a.do({ ...claim, project: "/p", wallMs: 6 });
    comesBack(a, "s1", [task, before]);
    expect(a.rows).not.toContain("task_return");
    expect(a.state.tasks.all.get(before)?.state.status).toBe("pending");
    const [message] = a.state.messages.all.values();
    expect(message?.text).toContain(`Pending again, claim it first: ${before}. Mend it`);
  });

  it("gives a task back here when the machine leaves a store that never heard of it", () => {
    const { a } = worked();
    const own = a.do({ type: "task_create", by: null, ...oneTask });
    const task = (own as unknown as { readonly task: { readonly id: string } }).task.id;
    comesBack(a, "s1", [task]);
    // As a leave copies it back.
    const claim = { type: "task_claim", actor: actor("s1"), task, labels: [], cwd: "" } as const;
    a.do({ ...claim, project: "/p", wallMs: 6 });
    a.do({ type: "sharing_set", node: "", projects: [] });
    expect(a.state.tasks.all.get(task)?.state.status).toBe("pending");
  });

  it("says so once, however often the row comes and the daemon starts", () => {
    const { store, a, task } = worked();
    comesBack(a, "s1", [task]);
    for (const row of relaysOf(a.state.outbox)) store.as("a", row);
    // The author did it again before its own log heard that the row had come.
    store.claim("a", a.idOf("s1"), task);
    done(store, "a", a.idOf("s1"), task);
    expect(writeState(readState(writeState(a.state)))).toBe(writeState(a.state));
    a.start();
    expect(a.rows).toEqual(["task_return", "session_begin", "node_part", "node_sessions_are"]);
    store.take("a", a, 3);
    expect(statusOf(store, task)).toBe("done");
    expect(a.rows).toEqual([]);
  });

  it("waits for a store that is away over starts, and for others' rows before it", () => {
    const { store, a, task } = worked();
    comesBack(a, "s1", [task]);
    for (let starts = 0; starts < 3; starts += 1) a.start();
    a.do({ type: "session_rename", by: null, of: "s1", name: "carol", project: "/p" });
    store.take("a", a);
    expect([statusOf(store, task), store.names]).toEqual(["pending", ["carol@a-machine"]]);
  });

  it("finds an author whose session has ended, and no other node's", () => {
    const { store, a, b, task } = worked();
    a.do(end("s1"));
    b.begin("s1", { name: "bob" });
    store.take("b", b);
    const other = store.add("b", null);
    store.claim("b", b.idOf("s1"), other);
    comesBack(a, "s1", [task, other], { name: "alice" });
    store.take("a", a);
    expect([statusOf(store, task), statusOf(store, other)]).toEqual(["pending", "active"]);
  });

  it("gives back what an agent of another machine did whose branch it is", () => {
    const { store, a, b } = worked();
    b.begin("s2", { name: "bob" });
    store.take("b", b);
    const task = store.add("b", null);
    store.claim("b", b.idOf("s2"), task);
    done(store, "b", b.idOf("s2"), task);
    a.do({ type: "role_set", by: null, name: "alice", role: "lead", project: "/p" });
    comesBack(a, b.idOf("s2"), [task], { name: "bob@b-machine" });
    store.take("a", a);
    expect(statusOf(store, task)).toBe("pending");
    const [message] = a.state.messages.all.values();
    expect(message?.text).toContain("bob@b-machine, whose branch it is, works on another machine");
  });

  it("leaves a task on which one builds that is worked on", () => {
    const { store, a, task } = worked();
    const plain = { name: null, description: "next", priority: "normal", labels: [] } as const;
    const tasks = [{ ...plain, dependsOn: [task] }];
    store.as("a", { type: "task_create", by: null, tasks, many: false, project: shared, wallMs: 5 });
    store.claim("a", a.idOf("s1"));
    comesBack(a, "s1", [task]);
    store.take("a", a);
    expect(statusOf(store, task)).toBe("done");
  });

  it("is told for a bounded number, the latest ones", () => {
    const { store } = worked();
    const c = new Local("c", bounded({ outboxOnceMax: 2, outboxMax: 4 }));
    store.join("c");
    c.begin("s1");
    store.take("c", c);
    for (const task of ["t-1", "t-2", "t-3"]) comesBack(c, "s1", [task]);
    for (const name of ["x", "y", "z"])
      c.do({ type: "session_rename", by: null, of: "s1", name, project: "/p" });
    const told = [...c.state.outbox.rows.values()].flatMap(({ command }) =>
      command.type === "task_return" ? command.tasks : [],
    );
    expect(told).toEqual(["t-2", "t-3"]);
  });
});

describe("merges of other machines", () => {
  const part = (store: Store, node: string) =>
    (store.state.mergesThere.get(node) ?? []).map(({ branch, state, authorName }) => [
      branch,
      state,
      authorName,
    ]);

  /** What was told with events since the latest of these calls. */
  const events = ({ steps }: Store) =>
    steps.splice(0).flatMap(step =>
      step.events.flatMap(({ event, from }) => {
        if (event.event !== "merge_elsewhere_changed") return [];
        const { machine, project, branch, base, state } = event;
        expect(project).toBe(shared);
        return [`${from} ${machine}: ${branch} into ${base} ${state}`];
      }),
    );

  it("are seen as rows while they wait or run, and when they came back, without a path or a reason", () => {
    const { store, a, task } = worked();
    comesBack(a, "s1", [task], { file: "secret.ts" });
    const runner = { name: "r3", bound: { node: a.node, epoch: a.epoch, connection: 3 } };
    const place = { project: "/p", base: ref("main"), by: null, wallMs: 8, rebase: false, checkOnly: false };
    const merges = [{ branch: ref("next"), author: null, tasks: [], after: [] }];
    a.do({ type: "merge_queue", runner, ...place, merges });
    a.do({ type: "merge_queue", runner, ...place, project: "/own", merges });
    expect(JSON.stringify([...relaysOf(a.state.outbox)])).not.toMatch(/secret|"\/p"|\/own/);
    store.take("a", a, 2);
    const seen = [
      ["work", "returned", "alice"],
      ["next", "queued", null],
    ];
    expect(part(store, "a")).toEqual(seen);
    expect(events(store)).toEqual([
      "a a-machine: work into main returned",
      "a a-machine: next into main queued",
    ]);
    expect(store.state.mergesThere.get("a")?.[0]).toMatchObject({ project: shared, author: a.idOf("s1") });
    expect(readState(writeState(store.state)).mergesThere).toEqual(store.state.mergesThere);
    // What did not change is not told again, but at a start.
    const { last } = a.state.outbox;
    a.do({ type: "merge_take", runner: { ...runner, name: "r4" }, ...place, drain: false });
    expect(a.state.outbox.last).toEqual(last);
    a.start();
    store.take("a", a);
    expect(part(store, "a")).toEqual(seen);
    expect(events(store)).toEqual([]);
    a.do({ type: "merge_cancel", by: null, merge: null, runner: "r3", reason: cancelled, wallMs: 9 });
    store.take("a", a);
    expect(part(store, "a")).toEqual(seen.slice(0, 1));
    expect(events(store)).toEqual(["a a-machine: next into main null"]);
  });

  it("go with their node, and with what a power cut took back", () => {
    const { store, a } = worked();
    const runner = { name: "r3", bound: { node: a.node, epoch: a.epoch, connection: 3 } };
    const place = { project: "/p", base: ref("main"), by: null, wallMs: 8, rebase: false, checkOnly: false };
    const merges = [{ branch: ref("next"), author: null, tasks: [], after: [] }];
    const before = readState(writeState(a.state));
    a.do({ type: "merge_queue", runner, ...place, merges });
    store.take("a", a);
    expect(part(store, "a")).toHaveLength(1);
    const cut = new Local("a", before);
    store.take("a", cut);
    expect(part(store, "a")).toEqual([]);
    a.do({ type: "sharing_set", node: "a", projects: [["/p", shared]], relayed: { epoch: 9_000_000, n: 1 } });
    store.take("a", a);
    expect(part(store, "a")).toHaveLength(1);
    events(store);
    store.as("a", { type: "node_leave" });
    expect(store.state.mergesThere.size).toBe(0);
    expect(events(store)).toEqual(["a a-machine: next into main null"]);
  });

  it("that make no sense are not kept", () => {
    const { store } = worked();
    const number = { epoch: 9_000_000, n: 1 };
    const command = { type: "node_part", part: "merges", value: [{ id: "mg-1" }, 3, null] } as const;
    store.as("a", { type: "relayed", number, command });
    expect(store.state.mergesThere.size).toBe(0);
  });
});

it("a node enters no such command by itself", () => {
  const { store, task } = worked();
  const command: Command = {
    type: "task_return",
    tasks: [task],
    author: "s1",
    cause: "x",
    by: null,
    wallMs: 1,
  };
  expect(store.as("a", command)).toMatchObject({ code: "not_shared" });
});
