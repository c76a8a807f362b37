/** What is asked of a world, a row for each request of the wire. The bench names those that have none. */
import { randomBytes } from "node:crypto";
import { limits } from "../../../protocol/limits.ts";
import { queryTargets } from "../../../protocol/schemas/daemon.ts";
import type { RequestType } from "../../../protocol/schemas/requests.ts";
import { debateProbes } from "./debates.ts";
import { each, inTurn, type Probe } from "./probe.ts";
import type { Fields, Talk } from "./talk.ts";
import { upTo, type World } from "./world.ts";

const own = (i: number) => `src/part-${i % 10}/own-${i}.ts`;
const person = (world: World) => ({ project: world.cwd });

const locks = {
  file_lock: [
    inTurn("and its unlock", 10, async ({ talk, world, i }) => {
      await talk.ask({ type: "file_lock", id: world.session(i), file: own(i) });
      await talk.ask({ type: "file_unlock", id: world.session(i), file: own(i) });
    }),
    inTurn("in a new folder, and its unlock", 10, async ({ talk, world, i }) => {
      const file = `src/new-${i}/${randomBytes(4).toString("hex")}/file.ts`;
      await talk.ask({ type: "file_lock", id: world.session(i), file });
      await talk.ask({ type: "file_unlock", id: world.session(i), file });
    }),
    inTurn("of 1,000 files, and their unlock", 1, async ({ talk, world, i }) => {
      const files = upTo(limits.filesMax, k => `src/part-${k % 10}/set-${k}.ts`);
      await talk.ask({ type: "file_lock", id: world.session(i), files });
      await talk.ask({ type: "file_unlock", id: world.session(i), files });
    }),
    each("that another holds", 20, ({ world, i }) => lockOf(world, i, free(world, i), 0), ["lock_held"]),
    each("a folder above all locks", 5, ({ world, i }) => lockOf(world, i, "held/", 0), ["lock_held"]),
    inTurn("that waits, and gives up", 10, async ({ talk, world, i }) => {
      const file = free(world, i);
      const waited = talk.ask(lockOf(world, i, file, 60_000), ["lock_given_up"]);
      await talk.ask({ type: "file_unlock", id: stranger(world, i), file });
      await waited;
    }),
  ],
  file_unlock: [
    each("of what nobody has", 20, ({ world, i }) => unlockOf(world, i, own(i)), ["not_held"]),
    each("of what another has", 20, ({ world, i }) => unlockOf(world, i, free(world, i)), ["not_held"]),
    inTurn("of all", 5, async ({ talk, world, i }) => {
      const id = `unlocks-${i}`;
      await talk.ask({ type: "file_lock", id, file: `/tmp/kite-bench-${i}` });
      await talk.ask({ type: "file_unlock", id, all: true });
      await talk.ask({ type: "deregister", id });
      void world;
    }),
    inTurn("by force", 10, async ({ talk, world, i }) => {
      await talk.ask({ type: "file_lock", id: world.session(i), file: own(i) });
      await talk.ask({ type: "file_unlock", file: `${world.cwd}/${own(i)}`, force: true });
    }),
  ],
  file_check: [
    each(
      "of a lost token",
      20,
      ({ world, i }) => ({ type: "file_check", id: world.session(i), file: own(i), token: "x.1.1" }),
      ["lease_lost"],
    ),
  ],
  file_touch: [each("", 20, ({ world, i }) => ({ type: "file_touch", id: world.session(i), file: own(i) }))],
} satisfies Partial<Record<RequestType, readonly Probe[]>>;

const sessions = {
  hello: [each("", 20, () => ({ type: "hello", protocol: 1 }))],
  register: [
    each("again", 20, ({ world, i }) => ({ type: "register", id: world.session(i), cwd: world.cwd })),
  ],
  deregister: [
    inTurn("of a new one", 10, async ({ talk, world, i }) => {
      await talk.ask({ type: "register", id: `new-${i}`, cwd: world.cwd, name: "worker" });
      await talk.ask({ type: "deregister", id: `new-${i}` });
    }),
  ],
  heartbeat: [each("", 20, ({ world, i }) => ({ type: "heartbeat", id: world.session(i) }))],
  whoami: [
    each("by process", 20, ({ world, i }) => ({
      type: "whoami",
      pid: world.processes[i % world.processes.length]?.pid,
    })),
  ],
  session_rename: [
    each("", 10, ({ world, i }) => ({
      type: "session_rename",
      ...person(world),
      of: world.session(i),
      name: `agent-${i % world.counts.sessions}`,
    })),
  ],
  role_set: [
    each("", 10, ({ world, i }) => ({
      type: "role_set",
      ...person(world),
      name: world.session(i),
      role: i % 2 === 0 ? "reviewer" : null,
    })),
  ],
  declare: [
    each("", 10, ({ world, i }) => ({
      type: "declare",
      id: world.session(i),
      identity: { role: "implementer", team: "shop" },
      understanding: { task: "Move the orders to their own table", confidence: 0.8, plan: ["read", "move"] },
      codeView: [{ file: own(i % 10), sees: "a table", will: "move it" }],
    })),
  ],
  agent_release: [
    each("of what it has, nothing", 10, ({ world, i }) => ({
      type: "agent_release",
      ...person(world),
      of: world.session(i),
    })),
  ],
} satisfies Partial<Record<RequestType, readonly Probe[]>>;

const tasks = {
  task_create: [
    each("", 20, ({ world, i }) => ({ type: "task_create", id: world.session(i), description: "x" })),
  ],
  task_get: [
    each("", 20, ({ world, i }) => ({
      type: "task_get",
      ...person(world),
      task: world.tasks[i % world.tasks.length],
    })),
  ],
  task_update: [
    each("of the description", 20, ({ world, i }) => ({
      type: "task_update",
      ...person(world),
      task: world.tasks[i % world.tasks.length],
      description: `Task ${i}, written anew`,
    })),
  ],
  task_claim: [
    inTurn("of the best, and its release", 10, async ({ talk, world, i }) => {
      const { task } = await talk.ask({ type: "task_claim", id: world.session(i) });
      await talk.ask({ type: "task_release", id: world.session(i), task: (task as { id: string }).id });
    }),
    each(
      "with a label that no task has",
      10,
      ({ world, i }) => ({ type: "task_claim", id: world.session(i), labels: ["none"] }),
      ["no_ready_task"],
    ),
    inTurn("with a label that some have, and its release", 10, async ({ talk, world, i }) => {
      const { task } = await talk.ask({ type: "task_claim", id: world.session(i), labels: ["part-99"] });
      await talk.ask({ type: "task_release", id: world.session(i), task: (task as { id: string }).id });
    }),
  ],
  task_release: [
    each(
      "of what it has not",
      10,
      ({ world, i }) => ({
        type: "task_release",
        id: world.session(i),
        task: world.tasks[i % world.tasks.length],
      }),
      ["task_state", "task_claimed"],
    ),
  ],
  task_remove: [
    inTurn("of 100 that are done", 1, async ({ talk, world }) => {
      await importAndRemove(talk, world.cwd, 100);
    }),
  ],
  task_import: [
    inTurn("of 1,000, and their removal", 1, async ({ talk, world }) => {
      await importAndRemove(talk, world.cwd, 1_000);
    }),
  ],
  task_approve: [
    each(
      "of a green one",
      10,
      ({ world, i }) => ({
        type: "task_approve",
        ...person(world),
        task: world.tasks[i % world.tasks.length],
      }),
      ["task_state"],
    ),
  ],
} satisfies Partial<Record<RequestType, readonly Probe[]>>;

const talks = {
  context_set: [
    each("", 20, ({ world, i }) => ({
      type: "context_set",
      ...person(world),
      key: `key/${i % 100}`,
      value: i,
    })),
  ],
  context_get: [
    each("", 20, ({ world, i }) => ({ type: "context_get", ...person(world), key: `key/${i % 100}` })),
  ],
  context_list: [
    {
      ...each("a row of a page", 5, ({ world }) => ({
        type: "context_list",
        ...person(world),
        prefix: "key/",
      })),
      units: (world: World) => 5 * Math.min(limits.rowsDefault, world.counts.context),
    },
  ],
  context_delete: [
    inTurn("of a new one", 10, async ({ talk, world, i }) => {
      await talk.ask({ type: "context_set", ...person(world), key: `gone/${i}`, value: i });
      await talk.ask({ type: "context_delete", ...person(world), key: `gone/${i}` });
    }),
  ],
  message_send: [
    each("to one", 20, ({ world, i }) => ({ ...said(world, i), to: world.session(i + 1) })),
    each("to one by its name", 20, ({ world, i }) => ({
      ...said(world, i),
      to: `agent-${i % world.counts.sessions}`,
    })),
  ],
  message_list: [each("", 10, ({ world, i }) => ({ type: "message_list", id: world.session(i), limit: 10 }))],
  message_ack: [
    inTurn("of a new one", 10, async ({ talk, world, i }) => {
      const { message } = await talk.ask({ ...said(world, i + 3), to: world.session(i) });
      const { id } = message as { readonly id: string };
      await talk.ask({ type: "message_ack", id: world.session(i), message: id });
    }),
  ],
  broadcast: [
    {
      ...each("to all, a recipient", 1, ({ world, i }) => ({
        type: "broadcast",
        id: world.session(i),
        message: "The tests are red.",
      })),
      units: (world: World) => world.counts.sessions,
    },
  ],
  resume: [each("without a freeze", 10, ({ world, i }) => ({ type: "resume", id: world.session(i) }))],
} satisfies Partial<Record<RequestType, readonly Probe[]>>;

const work = {
  worktree_state: [each("", 2, ({ world }) => ({ type: "worktree_state", cwd: world.cwd }))],
  check_unneeded: [each("", 2, ({ world }) => ({ type: "check_unneeded", cwd: world.cwd }))],
  check_record: [each("", 10, ({ world, i }) => checkOf(world, i))],
  spawn_create: [
    inTurn("until it failed, and its removal", 5, async ({ talk, world }) => {
      const { spawn } = await talk.ask({
        type: "spawn_create",
        ...person(world),
        backend: "background",
        client: "claude-code",
        role: "implementer",
      });
      const { id } = spawn as { readonly id: string };
      await talk.ask({ type: "spawn_update", ...person(world), spawn: id, state: "failed" });
      await talk.ask({ type: "spawn_remove", ...person(world), spawns: [id] });
    }),
  ],
  spawn_update: [each("of none", 10, ({ world }) => spawnOf(world, "spawn_update"), ["unknown_spawn"])],
  spawn_replace: [
    each("of none", 10, ({ world }) => ({ ...spawnOf(world, "spawn_replace"), resumable: false }), [
      "unknown_spawn",
    ]),
  ],
  spawn_remove: [
    each("of none", 10, ({ world }) => ({ type: "spawn_remove", ...person(world), spawns: ["s-none"] }), [
      "unknown_spawn",
    ]),
  ],
  merge_queue: [
    inTurn("until it is cancelled", 5, async ({ talk, world, i }) => {
      await talk.ask(mergeOf(world, i));
      await talk.ask({ type: "merge_cancel", ...person(world), runner: `runner-${i}` });
    }),
  ],
  merge_take: [
    inTurn("until it is merged", 5, async ({ talk, world, i }) => {
      const runner = `runner-${i}`;
      await talk.ask(mergeOf(world, i));
      const { merge } = await talk.ask({
        type: "merge_take",
        ...person(world),
        runner,
        base: "refs/heads/main",
      });
      const { id, runs } = merge as { readonly id: string; readonly runs: number };
      const outcome = { is: "merged", commit: "a".repeat(40) };
      await talk.ask({ type: "merge_report", ...person(world), runner, merge: id, run: runs, outcome });
    }),
  ],
  merge_attach: [each("", 10, ({ i }) => ({ type: "merge_attach", runner: `none-${i}` }))],
  merge_report: [
    each(
      "of none",
      10,
      ({ world }) => ({
        type: "merge_report",
        ...person(world),
        runner: "none",
        merge: "m-none",
        run: 1,
        outcome: { is: "queued" },
      }),
      ["unknown_merge", "merge_state"],
    ),
  ],
  merge_cancel: [
    each("of none", 10, ({ world }) => ({ type: "merge_cancel", ...person(world), merge: "m-none" }), [
      "unknown_merge",
      "merge_state",
    ]),
  ],
  hook: [
    each("SessionStart", 5, ({ world, i }) => world.hook(i, "SessionStart", { source: "startup" })),
    each("UserPromptSubmit", 10, ({ world, i }) => world.hook(i, "UserPromptSubmit", { prompt: "go on" })),
    each("PreToolUse of an edit", 10, ({ world, i }) => editOf(world, i)),
    each("PostToolUse of an edit", 10, ({ world, i }) => world.wrote(i)),
    each("PreToolUse of git", 3, ({ world, i }) =>
      world.hook(i, "PreToolUse", {
        tool_name: "Bash",
        tool_use_id: `toolu_git_${i}`,
        tool_input: { command: "git add -A" },
      }),
    ),
    each("Stop", 10, ({ world, i }) => world.hook(i, "Stop", { stop_hook_active: false })),
    each("the status line", 10, ({ world, i }) => ({
      type: "hook",
      statusLine: true,
      event: { session_id: world.session(i), cwd: world.cwd },
    })),
  ],
} satisfies Partial<Record<RequestType, readonly Probe[]>>;

const looks = {
  query: queryTargets.map(target => ({
    ...each(
      `${target}, a row of a full page`,
      2,
      ({ world, i }) => ({
        type: "query",
        target,
        project: world.cwd,
        id: world.session(i),
        limit: limits.rowsMax,
      }),
      ["not_available"],
    ),
    units: (world: World) => 2 * Math.min(limits.rowsMax, world.n),
  })),
  subscribe: [
    inTurn("and the connection's end", 5, async ({ world }) => {
      const talk = await world.connect();
      await talk.ask({ type: "subscribe", events: ["session_duplicated"] });
      talk.close();
    }),
  ],
  overview: [each("", 10, ({ world }) => ({ type: "overview", cwd: world.cwd }))],
  stats: [each("", 10, () => ({ type: "stats" }))],
  ping: [each("", 20, () => ({ type: "ping" }))],
  // The step `stop` measures it.
  shutdown: [],
} satisfies Partial<Record<RequestType, readonly Probe[]>>;

/** What is asked, by the request. */
export const probes: { readonly [T in RequestType]?: readonly Probe[] } = {
  ...locks,
  ...sessions,
  ...tasks,
  ...talks,
  ...debateProbes,
  ...work,
  ...looks,
};

/** A session that neither holds nor waits for `free` files. */
function stranger(world: World, i: number): string {
  return world.session(20 + (i % 20));
}

/** A file that a session holds and nobody waits for. */
function free(world: World, i: number): string {
  return world.locked(world.n - 1 - (i % 20));
}

function lockOf(world: World, i: number, file: string, waitMs: number): Fields {
  return { type: "file_lock", id: stranger(world, i), file, waitMs };
}

function unlockOf(world: World, i: number, file: string): Fields {
  return { type: "file_unlock", id: stranger(world, i), file };
}

function said(world: World, i: number): Fields {
  return { type: "message_send", id: world.session(i), text: "Done, and tested." };
}

/** Imports as many done tasks, and removes them. */
async function importAndRemove(talk: Talk, project: string, count: number): Promise<void> {
  const done = { description: "x", status: "done", project } as const;
  const tasks = upTo(count, i => ({ id: `t-zzzzzzzz-${i.toString(36)}`, ...done }));
  await talk.ask({ type: "task_import", tasks });
  await talk.ask({ type: "task_remove", tasks: tasks.map(({ id }) => id) });
}

function checkOf(world: World, i: number): Fields {
  const hash = "b".repeat(64);
  const of = { worktree: world.cwd, name: `check-${i % 10}`, command: hash, exit: 0, ranMs: 1 };
  return { type: "check_record", id: world.session(i), ...of, commit: null, dirty: hash, files: 0 };
}

function spawnOf(world: World, type: string): Fields {
  return { type, ...person(world), spawn: "s-none" };
}

function mergeOf(world: World, i: number): Fields {
  const merges = [{ branch: `refs/heads/work-${i}` }];
  return { type: "merge_queue", ...person(world), runner: `runner-${i}`, base: "refs/heads/main", merges };
}

function editOf(world: World, i: number): Fields {
  return world.hook(i, "PreToolUse", {
    tool_name: "Write",
    tool_use_id: `toolu_edit_${i}`,
    tool_input: { file_path: `${world.cwd}/src/part-${i % 10}/edit-${i}.ts`, content: "x" },
  });
}
