/** What the guard adds to a git command of a session, in a repository of 100,000 files: the hook's whole process. */
import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { median, quantile } from "./measure.ts";
import { Bench } from "./processes.ts";
import { figure, plain, type Tables, table } from "./report.ts";
import { ask } from "./talk.ts";

const folders = 100;
const filesEach = 1000;
const rounds = 40;
const addedMs = 15;

export async function* guard(dist: string): Tables {
  const bench = new Bench();
  try {
    const home = join(bench.dir, "home");
    const cwd = largeRepository(bench.dir);
    await bench.start("kite-daemon", [home, "file"]);
    const socket = join(home, "kite.sock");
    let uses = 0;
    const event = (session: string, fields: object) => {
      uses += 1;
      const common = { session_id: session, cwd, prompt_id: "p", permission_mode: "default" };
      return { ...common, tool_use_id: `toolu_${uses}`, ...fields };
    };
    /** A git command's hook, as the client starts it; resolves with its time and what it says. */
    const before = (session: string, command: string) => {
      const input = { hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command } };
      const asked = event(session, input);
      const env = { PATH: process.env["PATH"], KITE_HOME: home };
      const args = ["-T", join(dist, "hook.pl"), String(limits.hookWriteBudgetMs)];
      const began = performance.now();
      const { status, stdout } = spawnSync("/usr/bin/perl", args, { env, input: JSON.stringify(asked) });
      const ms = performance.now() - began;
      if (status !== 0) throw new Error(`the hook ended with ${status}`);
      return { ms, said: stdout.toString("utf8"), asked };
    };
    const measure = async (session: string, command: string, denied: boolean, isFresh = false) => {
      const ms: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        // To git an index that was touched is another one, and so it is to the daemon.
        if (isFresh) utimesSync(join(cwd, ".git", "index"), round, round);
        const { ms: took, said, asked } = before(session, command);
        if (said.includes('"deny"') !== denied) throw new Error(`${command}: ${said || "nothing"} was said`);
        ms.push(took);
        const after = { ...asked, hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 1 };
        await ask(socket, [{ type: "hook", event: after }]);
      }
      return ms;
    };
    const edit = async (session: string, file: string) => {
      const asked = event(session, { tool_name: "Edit", tool_input: { file_path: join(cwd, file) } });
      await ask(socket, [{ type: "hook", event: { ...asked, hook_event_name: "PreToolUse" } }]);
      appendFileSync(join(cwd, file), "more\n");
      const done = { ...asked, hook_event_name: "PostToolUse", tool_response: {} };
      const stop = { ...event(session, {}), hook_event_name: "Stop" };
      await ask(socket, [
        { type: "hook", event: done },
        { type: "hook", event: stop },
      ]);
    };

    const plainLine = await measure("ann", "echo", false);
    await edit("ann", "part-1/file-1.txt");
    const alone = await measure("ann", "git stash push", false);
    await edit("bob", "part-2/file-2.txt");
    const limited = await measure("ann", "git stash push -- part-1/file-1.txt", false);
    const denied = await measure("ann", "git stash push", true);
    const fresh = await measure("ann", "git stash push", true, true);
    const over = (ms: readonly number[]) => median(ms.map((took, i) => took - (plainLine[i] ?? 0)));
    yield table(
      `a guarded git command among ${(folders * filesEach).toLocaleString("en-US")} files, ${rounds} rounds`,
      [
        plain("the hook of a line without git", plainLine, " ms"),
        figure("git stash, nobody else works here", alone, { atMost: addedMs }, " ms"),
        plain("the same, the slowest of 20", quantile(alone, 0.95), " ms"),
        figure("git stash -- OWN, another one has work here", over(limited), { atMost: addedMs }, " ms more"),
        figure("git stash, denied for another one's work", over(denied), { atMost: addedMs }, " ms more"),
        figure("the same after each change of the index", over(fresh), { atMost: addedMs }, " ms more"),
      ],
    );
  } finally {
    await bench.end();
  }
}

function largeRepository(dir: string): string {
  const cwd = join(dir, "large");
  for (let part = 0; part < folders; part += 1) {
    const folder = join(cwd, `part-${part}`);
    mkdirSync(folder, { recursive: true });
    for (let n = 0; n < filesEach; n += 1) writeFileSync(join(folder, `file-${n}.txt`), `${part} ${n}\n`);
  }
  const env = { PATH: process.env["PATH"], HOME: dir, GIT_CONFIG_NOSYSTEM: "1" };
  const who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"];
  for (const args of [
    ["init", "-q"],
    ["add", "-A"],
    [...who, "commit", "-qm", "all"],
  ])
    execFileSync("git", args, { cwd, env });
  return cwd;
}
