/**
 * What one request costs that nothing is in the way of: how many functions are called, and how many source files somebody
 * has to read to follow it. A daemon runs in this process; the engine's own counts say which functions ran, and how often,
 * between the request and its answer. Two runs count the same, but for what waits for a disk that is busy.
 */
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RunningDaemon } from "../../daemon/options.ts";
import { type Client, Home, type Message } from "./daemon.ts";

/** What the test needs of the daemon, in one script with the names of its files. */
const entry = [
  'export { loadConfig } from "./daemon/config/config.ts";',
  'export { createLog } from "./daemon/instance/log.ts";',
  'export { startDaemon } from "./daemon/start.ts";',
  'export { claudeCode } from "./hooks/claude-code/adapter.ts";',
].join("\n");

type Built = typeof import("../../daemon/config/config.ts") &
  typeof import("../../daemon/instance/log.ts") &
  typeof import("../../daemon/start.ts") &
  typeof import("../../hooks/claude-code/adapter.ts");

/**
 * So much at most, as things stand: `edit` is the first edit of a file, `again` a further one of the same agent. The goals are
 * 450 calls in 60 files for an edit, 45 files for a lock and 50 for a claim. What counts is calls and processor time; files
 * show how far one has to read, and no files are joined for that number. A bound rises only with a feature that each such
 * request concerns. The fast ways of a lock stand in files of their own, beside the plain ones.
 */
const bounds: Readonly<Record<"edit" | "again" | "lock" | "claim", Cost>> = {
  edit: { calls: 531, files: 77 },
  again: { calls: 519, files: 74 },
  lock: { calls: 283, files: 50 },
  // 398, and 13 more where the trail writes its lines meanwhile; a claim asks which log has the task.
  claim: { calls: 411, files: 48 },
};

interface Cost {
  /** Calls of functions of this project. */
  readonly calls: number;
  /** Source files that one of these functions is in. */
  readonly files: number;
}

/** Of so many requests, the fewest calls in each file count: timers of the daemon run beside some, and on a busy machine many. */
const rounds = { fewest: 40, most: 200 };

const root = fileURLToPath(new URL("../..", import.meta.url));
const home = new Home();
const profiler = new Session();
let files: readonly Section[] = [];
let address = "";
let daemon: RunningDaemon | null = null;

beforeAll(async () => {
  const { outputFiles } = await build({
    absWorkingDir: root,
    stdin: { contents: entry, resolveDir: root, loader: "ts" },
    bundle: true,
    platform: "node",
    format: "esm",
    // Some packages are CommonJS inside, and ask for Node's own modules.
    banner: { js: 'import{createRequire as __cr}from"node:module";const require=__cr("/");' },
    write: false,
    logLevel: "silent",
  });
  const text = outputFiles[0]?.text ?? "";
  files = sectionsOf(text);
  expect(files.length).toBeGreaterThan(100);
  address = `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;
  profiler.connect();
  profiler.post("Profiler.enable");
  profiler.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const built: Built = await import(address);
  const { paths } = home;
  const config = await built.loadConfig({ env: {}, paths });
  const { logger: log } = built.createLog(paths.log);
  const started = await built.startDaemon({
    paths,
    version: "test",
    config,
    adapters: [built.claudeCode],
    log,
  });
  if (started.is !== "started") throw new Error(`not started: ${JSON.stringify(started)}`);
  daemon = started.daemon;
});

afterAll(async () => {
  profiler.disconnect();
  daemon?.stop("the test is over");
  await daemon?.done;
  await home.dispose();
});

interface Section {
  readonly path: string;
  /** Where the file's code begins in the script. */
  readonly from: number;
}

/** The bundler writes each file's path in front of its code. */
function sectionsOf(text: string): readonly Section[] {
  return [...text.matchAll(/^\/\/ (\S+)$/gm)].map(({ 1: path = "", index }) => ({ path, from: index }));
}

function fileAt(offset: number): string {
  return files.findLast(({ from }) => from <= offset)?.path ?? "";
}

/** Calls of this project's functions since this was asked last, by source file. */
function called(): ReadonlyMap<string, number> {
  const calls = new Map<string, number>();
  profiler.post("Profiler.takePreciseCoverage", (error, taken) => {
    if (error !== null) throw error;
    for (const { functions } of taken.result.filter(({ url }) => url === address)) {
      for (const { ranges } of functions) {
        const [{ count, startOffset } = { count: 0, startOffset: 0 }] = ranges;
        const path = fileAt(startOffset);
        if (count > 0 && isOurs(path)) calls.set(path, (calls.get(path) ?? 0) + count);
      }
    }
  });
  return calls;
}

function isOurs(path: string): boolean {
  return /^(?:daemon|hooks|protocol)\//.test(path);
}

function sum(calls: ReadonlyMap<string, number>): number {
  return [...calls.values()].reduce((a, b) => a + b, 0);
}

/** The calls that each of some requests makes; `makes` one that nothing is in the way of. Enough of them are within the bound. */
async function fewest(
  bound: Cost,
  client: () => Promise<Client>,
  makes: (n: number) => Message | Promise<Message>,
  isDone: (reply: Message) => boolean,
): Promise<ReadonlyMap<string, number>> {
  let least: Map<string, number> | null = null;
  for (let n = 0; n < rounds.most; n += 1) {
    if (n >= rounds.fewest && least !== null && sum(least) <= bound.calls) break;
    const asking = await client();
    const request = await makes(n);
    // By then the daemon has taken the connection.
    await asking.ask({ type: "ping" });
    called();
    const reply = await asking.ask(request);
    const calls = called();
    expect(reply).toSatisfy(isDone);
    least ??= new Map(calls);
    for (const [path, count] of least) {
      const fewer = Math.min(count, calls.get(path) ?? 0);
      if (fewer > 0) least.set(path, fewer);
      else least.delete(path);
    }
  }
  return least ?? new Map();
}

function expectWithin(calls: ReadonlyMap<string, number>, bound: Cost): void {
  const lines = [...calls].sort().map(([path, count]) => `${count} ${path}`);
  const text = `${sum(calls)} calls in ${calls.size} files:\n${lines.join("\n")}`;
  expect([...calls.keys()], text).toContain("daemon/core/apply.ts");
  expect(sum(calls), text).toBeLessThanOrEqual(bound.calls);
  expect(calls.size, text).toBeLessThanOrEqual(bound.files);
}

test("an edit's hook calls few functions of few files", async () => {
  const hook = { session_id: "alice", cwd: home.work, prompt_id: "p" };
  const start = { ...hook, hook_event_name: "SessionStart", source: "startup" };
  await (await home.connect()).ask({ type: "hook", event: start, env: {} });
  const edit = (n: number): Message => {
    const tool_input = { file_path: `${home.work}/edit-${n}.ts` };
    const call = { hook_event_name: "PreToolUse", tool_name: "Edit", tool_use_id: `t${n}`, tool_input };
    return { type: "hook", event: { ...hook, ...call }, env: {}, reply: "raw" };
  };
  const calls = await fewest(
    bounds.edit,
    () => home.connect(),
    edit,
    ({ raw }) => raw === "0 0 0 0",
  );
  expectWithin(calls, bounds.edit);
});

test("a further edit of the same file calls fewer", async () => {
  const file_path = `${home.work}/again.ts`;
  const hook = { session_id: "alice", cwd: home.work, prompt_id: "p" };
  const event = (name: string, n: number) => {
    const call = { hook_event_name: name, tool_name: "Write", tool_use_id: `again${n}` };
    const tool_input = { file_path, content: `edit ${n}\n` };
    return { type: "hook", event: { ...hook, ...call, tool_input }, env: {} };
  };
  const person = await home.connectPerson();
  // The edit before it has ended, and what it wrote is kept.
  const edit = async (n: number): Promise<Message> => {
    writeFileSync(file_path, `edit ${n - 1}\n`);
    if (n > 0) await person.ask(event("PostToolUse", n - 1));
    await person.ask({ type: "query", target: "versions", limit: 1 });
    return { ...event("PreToolUse", n), reply: "raw" };
  };
  const calls = await fewest(
    bounds.again,
    () => home.connect(),
    edit,
    ({ raw }) => raw === "0 0 0 0",
  );
  expectWithin(calls, bounds.again);
});

test("a lock's request calls few functions of few files", async () => {
  const client = await home.session("bob");
  const calls = await fewest(
    bounds.lock,
    async () => client,
    n => ({ type: "file_lock", id: "bob", file: `${home.work}/lock-${n}.ts` }),
    ({ ok }) => ok === true,
  );
  expectWithin(calls, bounds.lock);
});

test("a task's claim calls few functions of few files", async () => {
  const client = await home.session("carol");
  const calls = await fewest(
    bounds.claim,
    async () => client,
    async n => {
      await client.ask({ type: "task_create", id: "carol", description: `task ${n}` });
      return { type: "task_claim", id: "carol" };
    },
    ({ ok }) => ok === true,
  );
  expectWithin(calls, bounds.claim);
});
