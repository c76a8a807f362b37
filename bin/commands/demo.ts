import type { Command } from "commander";

interface DemoFlags {
  readonly json?: boolean;
}

export function add(program: Command): void {
  program
    .command("demo")
    .description("watch four simulated sessions share two files, for about 15 seconds")
    .option("--json", "print one JSON object at the end, and nothing else")
    .addHelpText(
      "after",
      "\nThe demo runs in a temporary directory with its own daemon and touches none of your files.\n\nExample:\n  $ kite demo",
    )
    .action(demo);
}

async function demo(flags: DemoFlags): Promise<void> {
  const { mkdtemp, mkdir, rm, writeFile } = await import("node:fs/promises");
  const { tmpdir } = await import("node:os");
  const { join } = await import("node:path");
  const { ensureDaemon } = await import("../../client/launch.ts");
  const { stopDaemon } = await import("../../client/stop.ts");
  const { limits } = await import("../../protocol/limits.ts");
  const { kitePaths } = await import("../../protocol/paths.ts");
  const { play, demoYieldMs } = await import("../demo/play.ts");
  const { daemonProgram, dist } = await import("../program-paths.ts");
  const { watchLocks } = await import("../watch-locks.ts");
  const { print, printJson, processWorld } = await import("../process-context.ts");

  const world = processWorld();
  const root = await mkdtemp(join(tmpdir(), "kite-demo-"));
  try {
    const repository = join(root, "shop");
    await mkdir(join(repository, ".git"), { recursive: true });
    await writeFile(join(repository, ".git", "HEAD"), "ref: refs/heads/main\n");
    for (const file of ["cart.ts", "price.ts"]) await writeFile(join(repository, file), "begin\nend\n");
    const home = join(root, "kite");
    const paths = kitePaths({ KITE_HOME: home });
    const env = { PATH: process.env["PATH"], HOME: root, KITE_HOME: home, KITE_YIELD_MS: `${demoYieldMs}` };
    const { client } = await ensureDaemon({ paths, daemonProgram, env, name: "kite demo" });
    const over = new AbortController();
    const watching = flags.json ? Promise.resolve(0) : watchLocks(world, client, false, over.signal);
    const budget = `${limits.hookWriteBudgetMs}`;
    const lines = await play({ repository, home, hook: [process.execPath, join(dist, "hook.cjs"), budget] });
    over.abort();
    await watching;
    await stopDaemon(client, false);
    client.close();
    if (flags.json) printJson(world, { lines });
    else
      print(world, [
        "",
        ...lines,
        "",
        "To use Kite: run `kite install`, and open two sessions in one repository.",
      ]);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
