/** Rows for the tests of views: complete, with what a test does not care about filled in. */

import type { StatusData } from "../../bin/view/status.ts";
import type { Screen } from "../../bin/view/text.ts";
import { numberIn } from "../../daemon/core/tables/tasks.ts";
import type { DeclarationRow } from "../../protocol/schemas/declaration.ts";
import type { LockRow, WaiterRow } from "../../protocol/schemas/lock.ts";
import type { DependencyRow, TaskRow, TaskStatus } from "../../protocol/schemas/task.ts";
import type { SessionRow } from "../../protocol/session-rows.ts";

process.env["TZ"] = "UTC";

export const now = Date.UTC(2026, 4, 20, 14, 0, 0);

export function screen(width: number, more: Partial<Screen> = {}): Screen {
  return { width, color: false, now, home: "/home/ana", ...more };
}

export function session(name: string, more: Partial<SessionRow> = {}): SessionRow {
  return {
    id: `${name}-0000-4000`,
    name,
    project: "/home/ana/code/shop/.git",
    worktree: "/home/ana/code/shop",
    branch: "main",
    cwd: "/home/ana/code/shop",
    pid: 4800,
    status: "active",
    registeredAt: now - 3_900_000,
    lastSeenMs: 500,
    incarnations: 1,
    agents: [],
    files: [],
    locks: 0,
    waitingFor: null,
    waitingForPath: null,
    attention: null,
    task: null,
    ...more,
  };
}

/** What a row of a task says of one that it needs. */
export function needed(id: string, status: TaskStatus): DependencyRow {
  return { task: id, number: numberIn(id), status };
}

/** A task that is ready. */
export function task(id: string, description: string, more: Partial<TaskRow> = {}): TaskRow {
  return {
    id,
    number: numberIn(id),
    description,
    project: "/home/ana/code/shop/.git",
    priority: "normal",
    status: "pending",
    assignee: null,
    assigneeAgent: null,
    assigneeName: null,
    labels: [],
    dependsOn: [],
    blockedBy: [],
    createdBy: null,
    createdAt: now,
    updatedAt: now,
    result: null,
    attempts: 0,
    debate: null,
    risk: "green",
    approved: false,
    held: null,
    ...more,
  };
}

function waiter(name: string, waitedMs: number, more: Partial<WaiterRow> = {}): WaiterRow {
  return { id: `${name}-0000-4000`, agent: null, name, waitedMs, attached: true, ...more };
}

export function lock(file: string, holder: string, more: Partial<LockRow> = {}): LockRow {
  return {
    file,
    path: `/home/ana/code/shop/${file.replace(/\/$/, "")}`,
    project: "/home/ana/code/shop/.git",
    kind: "turn",
    holder: { id: `${holder}-0000-4000`, agent: null, name: holder },
    token: "k1.3.17",
    heldMs: 12_000,
    waiters: [],
    ...more,
  };
}

export function declaration(name: string, more: Partial<DeclarationRow> = {}): DeclarationRow {
  return {
    id: `${name}-0000-4000`,
    agent: null,
    name,
    project: "/home/ana/code/shop/.git",
    role: "",
    team: "",
    task: "",
    confidence: null,
    reason: "",
    plan: [],
    files: [],
    uncertainties: [],
    mismatches: [],
    declaredAt: now - 600_000,
    updatedAt: now - 60_000,
    endedMs: null,
    ...more,
  };
}

const blog = {
  project: "/home/ana/code/blog/.git",
  worktree: "/home/ana/code/blog",
  cwd: "/home/ana/code/blog",
};

const noTasks = { active: 0, ready: 0, blocked: 0, failed: 0, done: 0 };

/** Two projects, a second worktree, agents, a line, somebody who asks a person. */
export const busy: StatusData = {
  stats: { version: "0.1.0", pid: 4711, upMs: 7_500_000, sessions: 5, locks: 4, tasks: noTasks },
  socket: "/home/ana/.kite/kite.sock",
  sessions: [
    session("alice", {
      locks: 2,
      agents: [
        {
          agent: "a1b2c3d4e5",
          name: "a1b2c3d4",
          status: "active",
          locks: 0,
          waitingFor: null,
          waitingForPath: null,
        },
        {
          agent: "f6a7b8c9d0",
          name: "f6a7b8c9",
          status: "idle",
          locks: 0,
          waitingFor: null,
          waitingForPath: null,
        },
      ],
    }),
    session("bob", {
      worktree: "/home/ana/code/shop-pay",
      branch: "pay",
      waitingFor: "src/auth.ts",
      lastSeenMs: 4_000,
    }),
    session("carol", { attention: "Bash: npm publish", lastSeenMs: 125_000, locks: 1 }),
    session("dave", { status: "idle", lastSeenMs: 540_000 }),
    session("hana", { ...blog, status: "idle", lastSeenMs: 3_900_000 }),
  ],
  locks: [
    lock("README.md", "alice", { heldMs: 3_000 }),
    lock("src/pay/", "carol", { kind: "explicit", heldMs: 300_000 }),
    lock("src/auth.ts", "alice", {
      waiters: [waiter("bob", 4_000), waiter("dave", 2_000, { name: "dave/1f3a2b4c", attached: false })],
    }),
    lock("posts/kite.md", "hana", { ...blog, path: "/home/ana/code/blog/posts/kite.md", heldMs: 61_000 }),
  ],
  risks: [],
  watched: [],
  holds: [],
  refusals: [
    {
      at: now - 130_000,
      type: "file_lock",
      id: "dave-0000-4000",
      name: "dave",
      file: "src/auth.ts",
      code: "lock_queue_full",
      error: "file locked by alice-00, queue full",
      holder: "alice",
    },
  ],
  warnings: [],
};

/** Fifty sessions, most of them idle; the busy ones are spread among them. */
export const crowd: StatusData = {
  ...busy,
  stats: { ...busy.stats, sessions: 50, locks: 3 },
  sessions: Array.from({ length: 50 }, (_, i) =>
    session(`s${i}`, {
      ...(i % 5 === 0 ? blog : {}),
      status: i % 10 === 3 ? "active" : i === 44 ? "lost" : "idle",
      lastSeenMs: i * 61_000,
      locks: i === 23 ? 3 : 0,
      attention: i === 31 ? "Edit: src/auth.ts" : null,
      waitingFor: i === 40 ? "src/auth.ts" : null,
    }),
  ),
  locks: Array.from({ length: 20 }, (_, i) =>
    lock(`src/part-${i}.ts`, "s23", {
      heldMs: i * 1_000,
      waiters: i === 19 ? [waiter("s40", 7_000), waiter("s12", 3_000), waiter("s7", 1_000)] : [],
    }),
  ),
};
