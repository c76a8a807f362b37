/**
 * How much runs for `kite status`: the files that it enters and the calls between functions, in the command and in the daemon.
 * Both run in this process, each from a script of its own, so that the engine's counts tell them apart.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RunningDaemon } from "../../daemon/options.ts";
import { Home } from "./daemon.ts";

/** So much at most, as things stand. */
const bounds = { command: { files: 41, calls: 1084 }, daemon: { files: 70, calls: 486 } };

/** Of so many rounds, the one with the fewest calls counts: timers of the daemon run beside some, on a busy machine beside most. */
const rounds = { fewest: 10, most: 100 };

const daemonEntry = [
  'export { loadConfig } from "./daemon/config/config.ts";',
  'export { createLog } from "./daemon/instance/log.ts";',
  'export { startDaemon } from "./daemon/start.ts";',
  'export { claudeCode } from "./hooks/claude-code/adapter.ts";',
].join("\n");

const commandEntry = [
  'export { run } from "./bin/program.ts";',
  'export * as status from "./bin/commands/status.ts";',
].join("\n");

type DaemonScript = typeof import("../../daemon/config/config.ts") &
  typeof import("../../daemon/instance/log.ts") &
  typeof import("../../daemon/start.ts") &
  typeof import("../../hooks/claude-code/adapter.ts");

type CommandScript = typeof import("../../bin/program.ts") & {
  readonly status: typeof import("../../bin/commands/status.ts");
};

interface Script {
  readonly address: string;
  /** Where each file's code begins. */
  readonly files: readonly { readonly path: string; readonly from: number }[];
}

interface Entered {
  readonly files: readonly string[];
  readonly calls: number;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const home = new Home();
const profiler = new Session();
let command: Script;
let daemonScript: Script;
let daemon: RunningDaemon | null = null;

async function scriptOf(name: string, contents: string): Promise<Script> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    stdin: { contents, resolveDir: root, loader: "ts" },
    bundle: true,
    platform: "node",
    format: "esm",
    // Some packages are CommonJS inside, and ask for Node's own modules.
    banner: { js: 'import{createRequire as __cr}from"node:module";const require=__cr("/");' },
    mainFields: ["module", "main"],
    external: ["../daemon.ts"],
    write: false,
    logLevel: "silent",
  });
  const text = outputFiles[0]?.text ?? "";
  // The test runner leaves files of packages as they are, and so their offsets.
  const folder = join(home.root, "node_modules");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, text);
  const address = pathToFileURL(file).href;
  const sections = [...text.matchAll(/^\/\/ (\S+)$/gm)];
  return {
    address,
    files: sections.map(({ 1: path = "", index }) => ({ path, from: index })),
  };
}

/** What ran of each script since this was called last. */
function entered(): readonly [command: Entered, daemon: Entered] {
  const counts = new Map<string, Map<string, number>>();
  profiler.post("Profiler.takePreciseCoverage", (error, { result }) => {
    if (error !== null) throw error;
    for (const script of [command, daemonScript]) {
      const found = new Map<string, number>();
      counts.set(script.address, found);
      const functions = result.filter(({ url }) => url === script.address).flatMap(one => one.functions);
      for (const { startOffset, count } of functions.flatMap(({ ranges }) => ranges)) {
        const path = script.files.findLast(({ from }) => from <= startOffset)?.path ?? "";
        if (count === 0 || !/^(?:bin|client|daemon|hooks|protocol)\//.test(path)) continue;
        found.set(path, (found.get(path) ?? 0) + count);
      }
    }
  });
  const of = ({ address }: Script) => {
    const found = counts.get(address) ?? new Map<string, number>();
    return { files: [...found.keys()].sort(), calls: [...found.values()].reduce((a, b) => a + b, 0) };
  };
  return [of(command), of(daemonScript)];
}

beforeAll(async () => {
  [command, daemonScript] = await Promise.all([
    scriptOf("command", commandEntry),
    scriptOf("daemon", daemonEntry),
  ]);
  profiler.connect();
  profiler.post("Profiler.enable");
  profiler.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const built: DaemonScript = await import(daemonScript.address);
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

test("a status enters few files, and asks once", async () => {
  for (const name of ["alice", "bob"]) {
    const client = await home.session(name);
    await client.ask({ type: "file_lock", id: name, file: `${home.work}/${name}.ts` });
  }
  const asking = await home.connect();
  const requests = async () => Number((await asking.ask({ type: "stats" }))["requests"]);
  const { run, status }: CommandScript = await import(command.address);
  const cost = ([a, b]: readonly [Entered, Entered]) => a.calls + b.calls;
  const most = bounds.command.calls + bounds.daemon.calls;
  let least = entered();
  for (let n = 0; n < rounds.most; n += 1) {
    if (n >= rounds.fewest && cost(least) <= most) break;
    let out = "";
    const write = (text: string) => {
      out += text;
    };
    const before = await requests();
    entered();
    const code = await run(
      {
        argv: ["node", "kite", "status"],
        env: { ...home.environment },
        stdout: { write },
        stderr: { write },
        cwd: () => home.work,
      },
      { status: { description: "", load: async () => status } },
    );
    const counts = entered();
    if (n === 0 || cost(counts) < cost(least)) least = counts;
    expect(out).toMatch(/alice[\s\S]*bob[\s\S]*Locks/);
    expect(code).toBe(0);
    // The command's hello and its overview, and the question how many there were.
    expect((await requests()) - before).toBe(3);
  }
  const [ofCommand, ofDaemon] = least;
  for (const [name, { files, calls }] of [
    ["command", ofCommand],
    ["daemon", ofDaemon],
  ] as const) {
    const list = `${name}: ${files.length} files, ${calls} calls:\n${files.join("\n")}`;
    expect(files.length, list).toBeLessThanOrEqual(bounds[name].files);
    expect(calls, list).toBeLessThanOrEqual(bounds[name].calls);
  }
});
