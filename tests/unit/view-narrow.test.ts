/** Each list at 80 columns, and narrower: no line is wider, and no word or id is torn where there is room to wrap. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { roleRows, rolesView } from "../../bin/lead/view/features.ts";
import { mergeLines } from "../../bin/lead/view/work.ts";
import { locksView } from "../../bin/view/locks.ts";
import { sessionsView } from "../../bin/view/sessions.ts";
import { tasksView } from "../../bin/view/tasks.ts";
import { widthOf } from "../../bin/view/text.ts";
import type { MergeRow } from "../../protocol/lead/merge.ts";
import { gatesUnset } from "../../protocol/lead/roles.ts";
import type { TaskRow } from "../../protocol/schemas/task.ts";
import { lock, needed, now, task as rowOfTask, screen, session } from "./view-rows.ts";

const min = 60_000;
const path = "services/orders/src/reconciliation/very-long-module-names/invoice-reconciliation-worker.ts";
const branch = "feature/orders-page-with-a-very-long-branch-name-that-somebody-typed";

const sessions = [
  session("alice", {
    branch,
    cwd: `/home/ana/code/shop/${branch}/services/orders`,
    attention: "permission for Bash (npm run build --workspace services/orders -- --mode production)",
    health: { state: "waiting", forMs: 95 * min, on: "person", why: "permission for Bash" },
    role: { role: "architect", by: "spawn" },
    agents: [
      {
        ...{ agent: "a1", name: "general-purpose-reviewer-of-invoices", status: "active" as const },
        ...{ locks: 2, waitingFor: null, waitingForPath: null, lastSeenMs: 700 * min },
        health: { state: "stalled", forMs: 700 * min, why: "its turn ended by an error" },
        role: { role: "reviewer", by: "person" },
      },
    ],
  }),
  session("bob", {
    waitingFor: "alice",
    waitingForPath: `/home/ana/code/shop/${path}`,
    health: { state: "stopped", forMs: 26 * 60 * min, why: "SIGSTOP" },
    role: { role: "researcher", by: "declared" },
  }),
];

const locks = [
  lock(path, "alice", {
    heldMs: 700 * min,
    waiters: [{ id: "bob-0000-4000", agent: null, name: "bob", waitedMs: 61 * min, attached: true }],
  }),
  lock("src/", "bob", { kind: "explicit" }),
];

function task(id: string, more: Partial<TaskRow> = {}): TaskRow {
  return rowOfTask(id, "Move the reconciliation of invoices into a worker of its own", {
    priority: "high",
    labels: ["orders", "backend"],
    createdAt: now - 90 * min,
    updatedAt: now - 80 * min,
    attempts: 2,
    risk: "critical",
    ...more,
  });
}

const tasks = [
  task("t-lx1k2m3n-1", { status: "active", assignee: "alice-0000-4000", assigneeName: "alice" }),
  task("t-lx1k2m3n-2", {
    risk: "red",
    dependsOn: ["t-lx1k2m3n-1"],
    blockedBy: [needed("t-lx1k2m3n-1", "active")],
  }),
  task("t-lx1k2m3n-3", { risk: "green", status: "done", result: "Moved, with its tests" }),
];

const merge = (state: MergeRow["state"], more: Partial<MergeRow> = {}): MergeRow =>
  ({
    ...{ id: "m-lx1k2m3n-1", state, branch: `refs/heads/${branch}`, base: "refs/heads/release/2026-11" },
    ...{ rebase: false, author: { id: "alice-0000-4000", agent: null, name: "alice" }, reason: null },
    ...{ commit: null, changedAt: now - 3 * min, attended: true },
    ...more,
  }) as MergeRow;

const merges = [
  merge("merged", { commit: "0123456789abcdef" }),
  merge("returned", {
    reason: { text: "the merge conflicts", files: [path, "a.ts"], more: 3, output: null } as never,
  }),
  merge("returned", {
    reason: {
      text: "the check npm test is red",
      files: [],
      more: 0,
      output: `Error: expected ${path}`,
    } as never,
  }),
  merge("queued", { attended: false }),
];

const views = {
  sessions: (width: number) => sessionsView({ sessions, locks }, screen(width)),
  locks: (width: number) => locksView({ sessions, locks }, screen(width)),
  tasks: (width: number) => tasksView({ tasks, none: "" }, screen(width)),
  merges: (width: number) => mergeLines(merges, screen(width)),
  roles: (width: number) => rolesView(roleRows(sessions, gatesUnset), screen(width)),
};

describe.each(Object.entries(views))("%s", (name, view) => {
  it("reads as its fixture at 80 columns", () => {
    const file = fileURLToPath(new URL(`../fixtures/narrow/${name}.txt`, import.meta.url));
    const text = `${view(80).join("\n")}\n`;
    if (process.env["UPDATE"] === "1") writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, "utf8"));
  });

  it.each([40, 60, 80, 120])("has no line wider than %i columns", width => {
    for (const line of view(width)) expect(widthOf(line), line).toBeLessThanOrEqual(width);
  });
});
