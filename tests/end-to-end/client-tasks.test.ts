import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ClientTaskRow } from "../../protocol/schemas/task.ts";
import {
  type Payload,
  type Replay,
  ReplayWorld,
  type Sequence,
  teamOf,
  type Watcher,
} from "./hook-replay.ts";

/** Recorded teams, and what the daemon knows of their own task list at the end. */
let world: ReplayWorld;
let watch: Watcher;

beforeEach(async () => {
  world = await ReplayWorld.make();
  await world.home.start();
  watch = await world.watch();
});

afterEach(() => world.remove());

async function rows(more: { readonly limit?: number; readonly after?: string } = {}) {
  const reply = await watch.client.request("query", { target: "client_tasks", ...more });
  if (!reply.ok) throw new Error(reply.error);
  return { ...reply, rows: reply.rows as readonly ClientTaskRow[] };
}

const shown = async () =>
  (await rows()).rows.map(r => `${r.task} ${r.resting ? "resting" : r.state} ${r.owner ?? "-"}`);

const isEndOf = (replay: Replay) => (p: Payload) =>
  p.hook_event_name === "SessionEnd" && p.session_id === replay.id;

describe("at the end of a recorded team", () => {
  test.each<[Sequence, string[]]>([
    ["d-team-in-process", ["1 completed alice", "2 completed bob", "3 open -"]],
    ["d-team-panes", ["1 completed alice", "2 completed bob", "3 open -"]],
    // Another hook refused that 5 and 6 are created. No event says so.
    [
      "r-team-hooks-refuse",
      ["1 completed alice", "2 open -", "3 resting alice", "4 completed alice", "5 open -", "6 open -"],
    ],
    ["r-team-panes-teammate-killed", ["1 open -", "2 resting bob"]],
  ])("%s: what was completed in a turn is completed, and only that", async (name, expected) => {
    const replay = world.replay(name);
    await replay.until(isEndOf(replay));
    await replay.settled();
    expect(await shown()).toEqual(expected);
    expect(new Set((await rows()).rows.map(r => r.list))).toEqual(new Set([teamOf(replay.id)]));
    const first = await rows({ limit: 1 });
    expect(first.rows.map(r => r.task)).toEqual(["1"]);
    expect((await rows({ after: first.next ?? "" })).rows).toEqual((await rows()).rows.slice(1));
  });
});

test("at each event a task is completed only after its owner completed it in a turn", async () => {
  const replay = world.replay("r-team-hooks-refuse");
  const inTurn = new Set<unknown>();
  let isTurnOver = false;
  await replay.until(p => p.hook_event_name === "TaskCreated");
  await replay.toTheEnd(async p => {
    if (p.hook_event_name === "SessionEnd") return;
    if (p["agent_type"] === "alice")
      isTurnOver =
        p.hook_event_name === "SubagentStop" || (isTurnOver && p.hook_event_name !== "SubagentStart");
    if (p.hook_event_name === "TaskCompleted" && !isTurnOver) inTurn.add(p["task_id"]);
    const completed = (await rows()).rows.filter(r => r.state === "completed").map(r => r.task);
    expect(completed).toEqual([...inTurn].sort());
  });
  expect([...inTurn]).toEqual(["1", "4"]);
});

test("a person sees them below the queue, claims none, and the trail says how many were open at the end", async () => {
  const replay = world.replay("d-team-in-process");
  await replay.until(isEndOf(replay));
  const list = teamOf(replay.id);
  const text = await world.run("task", "list", "--project", world.repo);
  expect(text.replaceAll(/\s+/g, " ")).toContain(
    `project: 1 open, 2 completed, in Claude Code's own list ${list}; not claimable 1 completed first task by alice`,
  );
  const json = JSON.parse(await world.run("task", "list", "--project", world.repo, "--json"));
  expect(json).toMatchObject({ tasks: [], clientTasks: [{ task: "1" }, { task: "2" }, { task: "3", list }] });
  expect(await world.run("task", "list", "--all-projects", "--status", "done")).not.toContain(list);

  const claim = { id: replay.id, project: world.repo };
  expect(await watch.client.request("task_claim", { ...claim, task: "3" })).toEqual({
    ok: false,
    code: "unknown_task",
    error: `no task 3 in the queue; "task by bob" is task 3 of the client's own list ${list}, which only the client gives out; to have it in the queue: kite task add`,
    task: "3",
    nearest: null,
    list,
  });
  const unknown = await watch.client.request("task_claim", { ...claim, task: "9" });
  expect(unknown).toMatchObject({ code: "unknown_task" });
  expect(unknown).not.toHaveProperty("list");

  await replay.toTheEnd();
  expect(await shown()).toEqual([]);
  await world.run("down");
  const trail = readFileSync(join(world.paths.trail, "trail-1.ndjson"), "utf8");
  const ends = trail.split("\n").filter(line => line.includes('"client_task"'));
  expect(ends.map(line => JSON.parse(line))).toMatchObject([
    { id: replay.id, why: `the client's own task list ${list} ended with 1 of 3 tasks open` },
  ]);
});
