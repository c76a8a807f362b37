/**
 * How many source files somebody has to read to follow one request that nothing is in the way of. A daemon runs in this
 * process; the engine's own counts say in which files a function ran between the request and its answer.
 */
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
 * So many files at most, as things stand. The goals are 50 for the edit and 35 for the lock. A bound rises only with a feature
 * that each edit concerns: health, spawned agents and teams brought six files, each of which returns at once if it has
 * nothing to do; names of sessions brought one. The fast ways of a lock stand in files of their own, beside the plain ones:
 * they brought ten, and snapshots of a changing state one. Turns bounded by the cost of their entries brought one, and so did
 * the order of sessions by their latest sign of life; what looks at directories found in one turn brought one to the edit.
 */
const bounds = { edit: 114, lock: 78 };

/** Of so many requests, the one that enters the fewest files counts: timers of the daemon run beside some. */
const rounds = 40;

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
  const started = await built.startDaemon({ paths, version: "test", config, adapter: built.claudeCode, log });
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

/** Source files in which a function was called since this was asked last. */
function entered(): readonly string[] {
  const found = new Set<string>();
  profiler.post("Profiler.takePreciseCoverage", (error, taken) => {
    if (error !== null) throw error;
    for (const { functions } of taken.result.filter(({ url }) => url === address)) {
      for (const { ranges } of functions) {
        for (const { count, startOffset } of ranges) if (count > 0) found.add(fileAt(startOffset));
      }
    }
  });
  return [...found].filter(path => /^(?:daemon|hooks|protocol)\//.test(path)).sort();
}

/** The files that the cheapest of some requests enters; `makes` one that nothing is in the way of. */
async function fewest(
  client: () => Promise<Client>,
  makes: (n: number) => Message,
  isDone: (reply: Message) => boolean,
): Promise<readonly string[]> {
  const all: (readonly string[])[] = [];
  for (let n = 0; n < rounds; n += 1) {
    const asking = await client();
    // By then the daemon has taken the connection.
    await asking.ask({ type: "ping" });
    entered();
    const reply = await asking.ask(makes(n));
    all.push(entered());
    expect(reply).toSatisfy(isDone);
  }
  return all.reduce((a, b) => (b.length < a.length ? b : a));
}

function list(paths: readonly string[]): string {
  return `${paths.length} files:\n${paths.join("\n")}`;
}

test("an edit's hook enters few files", async () => {
  const hook = { session_id: "alice", cwd: home.work, prompt_id: "p" };
  const start = { ...hook, hook_event_name: "SessionStart", source: "startup" };
  await (await home.connect()).ask({ type: "hook", event: start, env: {} });
  const edit = (n: number): Message => {
    const tool_input = { file_path: `${home.work}/edit-${n}.ts` };
    const call = { hook_event_name: "PreToolUse", tool_name: "Edit", tool_use_id: `t${n}`, tool_input };
    return { type: "hook", event: { ...hook, ...call }, env: {}, reply: "raw" };
  };
  const paths = await fewest(
    () => home.connect(),
    edit,
    ({ raw }) => raw === "0 0 0 0",
  );
  expect(paths, list(paths)).toContain("daemon/core/locks/request.ts");
  expect(paths.length, list(paths)).toBeLessThanOrEqual(bounds.edit);
});

test("a lock's request enters few files", async () => {
  const client = await home.session("bob");
  const paths = await fewest(
    async () => client,
    n => ({ type: "file_lock", id: "bob", file: `${home.work}/lock-${n}.ts` }),
    ({ ok }) => ok === true,
  );
  expect(paths, list(paths)).toContain("daemon/core/locks/request.ts");
  expect(paths.length, list(paths)).toBeLessThanOrEqual(bounds.lock);
});
