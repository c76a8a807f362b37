/** Sessions of Codex and of Claude Code in one project: hooks that name their client, and hooks that name none. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
let watch: Client;

beforeEach(async () => {
  home = new Home();
  await home.start();
  watch = await home.connect();
  await watch.ask({ type: "subscribe" });
  mkdirSync(join(home.work, "src"));
  for (const file of ["auth.ts", "pay.ts"]) writeFileSync(join(home.work, "src", file), "old\n");
  await (await codex("cora", "SessionStart", { source: "startup" })).answer();
  await (await claude("clay", "SessionStart", { source: "startup" })).answer();
});
afterEach(() => home.dispose());

/** One hook on a connection of its own. */
async function hook(event: Message, more: Message) {
  const client = await home.connect();
  client.send({ type: "hook", event: { cwd: home.work, ...event }, ppid: process.pid, ...more });
  return {
    answer: async () => {
      const reply = await client.next(({ ok }) => ok !== undefined);
      expect(reply).toMatchObject({ ok: true });
      return reply["output"] === "" ? null : JSON.parse(String(reply["output"])).hookSpecificOutput;
    },
    /** It has heard that it waits. */
    waits: async () => {
      if (client.blanks === 0) await client.blank();
    },
  };
}

const codex = (session_id: string, hook_event_name: string, fields: Message = {}) =>
  hook({ session_id, hook_event_name, turn_id: `turn of ${session_id}`, ...fields }, { client: "codex" });
const claude = (session_id: string, hook_event_name: string, fields: Message = {}) =>
  hook({ session_id, hook_event_name, prompt_id: session_id, ...fields }, {});

const patch = (...lines: readonly string[]) => ({
  tool_name: "apply_patch",
  tool_input: { command: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") },
});
const three = patch(
  ...["*** Update File: src/auth.ts", "@@", "-old", "+new"],
  ...["*** Update File: src/pay.ts", "@@", "-old", "+new"],
  ...["*** Add File: src/fresh.ts", "+fresh"],
);
const edit = (file: string) => ({ tool_name: "Edit", tool_input: { file_path: join(home.work, file) } });

/** Who holds what. */
async function held(): Promise<readonly string[]> {
  const { rows } = await watch.ask({ type: "query", target: "locks" });
  return (rows as { path: string; holder: { id: string } | null }[])
    .flatMap(({ path, holder }) =>
      holder === null ? [] : [`${holder.id} ${path.slice(path.lastIndexOf("/") + 1)}`],
    )
    .sort();
}

describe("a patch over three files", () => {
  test("waits for one that the other client's session writes, and gets all", async () => {
    await (await claude("clay", "PreToolUse", { ...edit("src/pay.ts"), tool_use_id: "c1" })).answer();
    const waiting = await codex("cora", "PreToolUse", { ...three, tool_use_id: "x1" });
    await waiting.waits();
    expect(await held()).toEqual(["clay pay.ts"]);
    await (await claude("clay", "PostToolUse", { ...edit("src/pay.ts"), tool_use_id: "c1" })).answer();
    await (await claude("clay", "Stop", { background_tasks: [] })).answer();
    expect(await waiting.answer()).toBeNull();
    expect(await held()).toEqual(["cora auth.ts", "cora fresh.ts", "cora pay.ts"]);
  });

  test("keeps the other client's session from each of them, until the turn ends", async () => {
    await (await codex("cora", "PreToolUse", { ...three, tool_use_id: "x1" })).answer();
    const waiting = await claude("clay", "PreToolUse", { ...edit("src/fresh.ts"), tool_use_id: "c1" });
    await waiting.waits();
    await (await codex("cora", "PostToolUse", { ...three, tool_use_id: "x1", tool_response: "" })).answer();
    await (await codex("cora", "Interrupt")).answer();
    expect(await waiting.answer()).toBeNull();
    expect(await held()).toEqual(["clay fresh.ts"]);
  });

  test("what changed while it waited is told, by the file's name", async () => {
    await (await claude("clay", "PreToolUse", { ...edit("src/pay.ts"), tool_use_id: "c1" })).answer();
    const waiting = await codex("cora", "PreToolUse", {
      ...patch(
        "*** Update File: src/auth.ts",
        "@@",
        "-old",
        "+new",
        "*** Update File: src/pay.ts",
        "@@",
        "-old",
        "+n",
      ),
      tool_use_id: "x1",
    });
    await waiting.waits();
    writeFileSync(join(home.work, "src", "pay.ts"), "other and longer\n");
    await (await claude("clay", "PostToolUse", { ...edit("src/pay.ts"), tool_use_id: "c1" })).answer();
    await (await claude("clay", "Stop", { background_tasks: [] })).answer();
    const said = await waiting.answer();
    expect(said).not.toHaveProperty("permissionDecision");
    expect(said.additionalContext).toContain('changed "src/pay.ts"');
  });

  test.each([
    ["the file that it updates does not keep the patch from being applied", ["pay.ts"], "pay.ts", false],
    ["the file that it deletes does", ["auth.ts"], "auth.ts", true],
    ["both does, and the deleted one is named", ["pay.ts", "auth.ts"], "auth.ts", true],
  ])("a change during the wait of %s", async (_does, all, named, isDenied) => {
    const its = (file: string) => ({ ...edit(`src/${file}`), tool_use_id: file });
    for (const file of all) await (await claude("clay", "PreToolUse", its(file))).answer();
    const waiting = await codex("cora", "PreToolUse", {
      ...patch("*** Update File: src/pay.ts", "@@", "-old", "+new", "*** Delete File: src/auth.ts"),
      tool_use_id: "x1",
    });
    await waiting.waits();
    for (const file of all) {
      writeFileSync(join(home.work, "src", file), "other and longer\n");
      await (await claude("clay", "PostToolUse", its(file))).answer();
    }
    await (await claude("clay", "Stop", { background_tasks: [] })).answer();
    const said = await waiting.answer();
    expect(said.permissionDecision).toBe(isDenied ? "deny" : undefined);
    expect(said.permissionDecisionReason ?? said.additionalContext).toContain(`changed "src/${named}"`);
  });

  test("counts as written when it has been applied", async () => {
    await (await codex("cora", "PreToolUse", { ...three, tool_use_id: "x1" })).answer();
    for (const file of ["auth.ts", "pay.ts", "fresh.ts"])
      writeFileSync(join(home.work, "src", file), "new\n");
    await (await codex("cora", "PostToolUse", { ...three, tool_use_id: "x1", tool_response: "" })).answer();
    await (await codex("cora", "Stop")).answer();
    expect(await held()).toEqual([]);
    // All lines are written once the daemon has stopped.
    home.daemon.signal("SIGTERM");
    await home.daemon.exited;
    const trail = readFileSync(join(home.paths.trail, "trail-1.ndjson"), "utf8");
    for (const file of ["auth.ts", "pay.ts", "fresh.ts"]) expect(trail).toContain(`src/${file}`);
  });
});

test("several sessions may run in one process: the end of one is not the other's", async () => {
  await (await codex("cyra", "SessionStart", { source: "clear" })).answer();
  await (await codex("cora", "SessionEnd", { reason: "other" })).answer();
  const { rows } = await watch.ask({ type: "query", target: "sessions" });
  expect((rows as { id: string }[]).map(({ id }) => id).sort()).toEqual(["clay", "cyra"]);
});

test("a client that the daemon does not know is refused by its name", async () => {
  const client = await home.connect();
  const reply = await client.ask({ type: "hook", event: {}, client: "nobody" });
  expect(reply).toMatchObject({
    ok: false,
    code: "not_available",
    error: expect.stringContaining('"nobody"'),
  });
});

describe("after /clear", () => {
  /** The client's sessions of the project, and who has the task. */
  async function now() {
    const { rows } = await watch.ask({ type: "query", target: "sessions" });
    const ids = (rows as { id: string; name: string }[]).map(({ id, name }) => `${id} ${name}`);
    const { rows: tasks } = await watch.ask({ type: "query", target: "tasks", project: home.work });
    return { ids: ids.sort(), assignee: (tasks as { assignee: string }[])[0]?.assignee };
  }

  /** The session works at a task; then its person clears the conversation, and the next session begins. */
  async function cleared(ppid: number, source: string): Promise<void> {
    const begins = (id: string, from: string) =>
      hook({ session_id: id, hook_event_name: "SessionStart", source: from }, { client: "codex", ppid });
    await (await begins("cody", "startup")).answer();
    await watch.ask({ type: "register", id: "cody", cwd: home.work, name: "cody", pid: ppid });
    const { task } = await watch.ask({ type: "task_create", project: home.work, description: "it" });
    await watch.ask({ type: "task_claim", id: "cody", task: (task as { id: string }).id });
    await (await begins("next", source)).answer();
  }

  /** A process with this word in its command line. */
  async function processWith(word: string) {
    const child = spawn("/bin/sh", ["-c", "cat; :", word]);
    await once(child, "spawn");
    onTestFinished(() => void child.stdin.destroy());
    return Number(child.pid);
  }

  test("the next session of the client's own process goes on with name and task of the one before", async () => {
    await cleared(await processWith("codex"), "clear");
    expect(await now()).toEqual({
      ids: ["clay clay", "cora cora", "next cody"],
      assignee: "next",
    });
  });

  test.each([
    ["where one process runs the sessions of all windows", "app-server", "clear"],
    ["where the client only began another session", "codex", "startup"],
  ])("the session stays as it is %s", async (_, word, source) => {
    await cleared(await processWith(word), source);
    const { ids, assignee } = await now();
    expect(ids).toContain("cody cody");
    expect(assignee).toBe("cody");
  });
});
