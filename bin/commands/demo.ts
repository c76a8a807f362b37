import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Command } from "commander";
import { ensureDaemon, stopDaemon } from "../../client/launch.ts";
import type { EventLine } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { plain } from "../../protocol/text.ts";
import { kept, stashed, waits } from "../demo/acts.ts";
import { demoFiles, demoYieldMs, play, type Show } from "../demo/play.ts";
import { type ProcessContext, print, printJson, type Run } from "../process-context.ts";
import { daemonProgram, dist } from "../program-paths.ts";
import { neededProgram, ProgramFailed, runProgram } from "../programs.ts";
import { eventSentence } from "../view/events.ts";
import { ask } from "../with-daemon.ts";

interface DemoFlags {
  readonly json?: boolean;
}

export function add(command: Command, run: Run): void {
  command
    .description("watch four simulated sessions share a checkout, for about 20 seconds")
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
    await mkdir(repository, { recursive: true });
    for (const file of demoFiles) await writeFile(join(repository, file), "begin\nend\n");
    const git = gitIn(world, root, repository);
    await git("init", "-q");
    await git("add", ".");
    await git("-c", "user.name=kite", "-c", "user.email=kite@localhost", "commit", "-qm", "Begin a shop");
    const home = join(root, "kite");
    const paths = kitePaths({ KITE_HOME: home });
    const env = { PATH: world.env["PATH"], HOME: root, KITE_HOME: home, KITE_YIELD_MS: `${demoYieldMs}` };
    const { client } = await ensureDaemon({ paths, daemonProgram, env, name: "kite demo" });
    const events: EventLine[] = [];
    const say = (lines: readonly string[]) => {
      if (flags.json !== true) print(world, lines);
    };
    let onQueued = (_who: string) => {};
    client.onEvent(event => {
      events.push(event);
      const sentence = eventSentence(event, path => basename(path));
      // The guard locks git's own index for a moment: that is no file of the scene.
      const isGits = "paths" in event && event.paths.some(path => path.includes("/.git/"));
      if (sentence !== null && !isGits) say([`    ${sentence}`]);
      if (event.event !== "lock_queued") return;
      onQueued(event.waiter.name);
    });
    const show: Show = {
      caption: text => say(["", text]),
      tell: text => say([`    ${text}`]),
      queued: who =>
        new Promise(resolve => {
          onQueued = name => {
            if (name === who) resolve();
          };
        }),
      // Events come before the answer to a later request.
      heard: async () => {
        await ask(client, "ping", {});
      },
    };
    await ask(client, "subscribe", { events: ["lock_granted", "lock_queued", "lock_released"] });
    const budget = `${limits.hookWriteBudgetMs}`;
    const stage = {
      repository,
      home,
      git,
      hook: [process.execPath, join(dist, "hook.cjs"), budget],
    } as const;
    const played = await play(stage, show);
    const { acts } = played;
    const texts = new Map<string, string>();
    for (const file of demoFiles) texts.set(file, await readFile(join(repository, file), "utf8"));
    const lines = [...waits(acts, events), stashed(played), kept(acts, texts)];
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
        "  kite install   connects your agents; then open two sessions in one repository",
        "  kite watch     shows who does what",
      ]);
    return 0;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Runs git in the demo's repository, without the settings of whoever watches. */
function gitIn({ env }: ProcessContext, root: string, cwd: string) {
  const own = { PATH: env["PATH"], HOME: root, GIT_CONFIG_NOSYSTEM: "1" };
  const program = neededProgram("git", own, cwd);
  return async (...args: readonly string[]): Promise<void> => {
    const { code, output } = await runProgram(program, args, { cwd, env: own });
    if (code !== 0) throw new ProgramFailed(`git ${args[0]} failed in the demo: ${plain(output)}`, output);
  };
}
