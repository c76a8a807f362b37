import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Command } from "commander";
import { ensureDaemon } from "../../client/launch.ts";
import { stopDaemon } from "../../client/stop.ts";
import type { EventLine } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { kept, waits } from "../demo/acts.ts";
import { demoFiles, demoYieldMs, play } from "../demo/play.ts";
import { type ProcessContext, print, printJson, type Run } from "../process-context.ts";
import { daemonProgram, dist } from "../program-paths.ts";
import { eventSentence } from "../view/events.ts";
import { ask } from "../with-daemon.ts";

interface DemoFlags {
  readonly json?: boolean;
}

export function add(command: Command, run: Run): void {
  command
    .description("watch four simulated sessions share two files, for about 15 seconds")
    .option("--json", "print one JSON object at the end, and nothing else")
    .addHelpText(
      "after",
      "\nThe demo runs in a temporary directory with its own daemon and touches none of your files.\n\nExample:\n  $ kite demo",
    )
    .action((flags: DemoFlags) => run(world => demo(world, flags)));
}

async function demo(world: ProcessContext, flags: DemoFlags): Promise<number> {
  const root = await mkdtemp(join(tmpdir(), "kite-demo-"));
  try {
    const repository = join(root, "shop");
    await mkdir(join(repository, ".git"), { recursive: true });
    await writeFile(join(repository, ".git", "HEAD"), "ref: refs/heads/main\n");
    for (const file of demoFiles) await writeFile(join(repository, file), "begin\nend\n");
    const home = join(root, "kite");
    const paths = kitePaths({ KITE_HOME: home });
    const env = { PATH: world.env["PATH"], HOME: root, KITE_HOME: home, KITE_YIELD_MS: `${demoYieldMs}` };
    const { client } = await ensureDaemon({ paths, daemonProgram, env, name: "kite demo" });
    const events: EventLine[] = [];
    const say = (lines: readonly string[]) => {
      if (flags.json !== true) print(world, lines);
    };
    client.onEvent(event => {
      events.push(event);
      const sentence = eventSentence(event, path => basename(path));
      if (sentence !== null) say([`    ${sentence}`]);
    });
    await ask(client, "subscribe", { events: ["lock_granted", "lock_queued", "lock_released"] });
    const budget = `${limits.hookWriteBudgetMs}`;
    const stage = { repository, home, hook: [process.execPath, join(dist, "hook.cjs"), budget] } as const;
    const acts = await play(stage, text => say(["", text]));
    // Events come before the answer to a later request.
    await ask(client, "ping", {});
    const texts = new Map<string, string>();
    for (const file of demoFiles) texts.set(file, await readFile(join(repository, file), "utf8"));
    const lines = [...waits(acts, events), kept(acts, texts)];
    await stopDaemon(client, false);
    client.close();
    if (flags.json) printJson(world, { lines });
    else
      print(world, [
        "",
        "What happened:",
        ...lines.map(line => `  ${line}`),
        "",
        "Go on with:",
        "  kite install   connects Claude Code; then open two sessions in one repository",
        "  kite watch     shows who does what",
      ]);
    return 0;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
