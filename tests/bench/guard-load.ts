/**
 * The guard on a busy machine: git commands over another one's uncommitted work, through the hook client and a daemon,
 * while far more processes want a processor than there are. What is counted is what passes, not how long it takes.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { quantile } from "./measure.ts";
import { Bench } from "./processes.ts";
import { figure, plain, type Tables, table } from "./report.ts";
import { ask } from "./talk.ts";

const commands = 300;
/** Busy processes for each processor. */
const busyEach = 10;
/** Hooks at a time. */
const atOnce = 3;

/** Each would wipe what ann wrote. */
const wiping = [
  "git stash",
  "git reset --hard",
  "git checkout .",
  "git stash -u",
  "git restore .",
  "git clean -fd",
  "cd src && git -C .. checkout -- .",
];

/** Each reaches what its session wrote alone, in a file that is called as the session is. */
const harmless = [
  "git stash push -- OWN",
  "git checkout HEAD -- OWN",
  "git restore OWN",
  "git add OWN",
  "git commit -m mine -- OWN",
];

interface Answer {
  readonly ms: number;
  readonly said: string;
}

export async function* guardLoad(dist: string): Tables {
  const bench = new Bench();
  const busy: ChildProcess[] = [];
  try {
    const home = join(bench.dir, "home");
    const cwd = repository(bench.dir);
    await bench.start("kite-daemon", [home, "file"]);
    const socket = join(home, "kite.sock");
    let uses = 0;
    const tell = (session: string, name: string, fields: object) => {
      const event = { hook_event_name: name, session_id: session, cwd, prompt_id: "p", ...fields };
      return ask(socket, [{ type: "hook", event }]);
    };
    const write = async (session: string, file: string) => {
      uses += 1;
      const tool = {
        tool_name: "Write",
        tool_use_id: `toolu_${uses}`,
        tool_input: { file_path: join(cwd, file) },
      };
      await tell(session, "PreToolUse", tool);
      writeFileSync(join(cwd, file), `${session}'s\n`);
      await tell(session, "PostToolUse", { ...tool, tool_response: {} });
      await tell(session, "Stop", { background_tasks: [] });
    };
    /** The hook of a shell line as the client runs it; the line itself does not run. */
    const hook = async (session: string, command: string): Promise<Answer> => {
      uses += 1;
      const tool = { tool_name: "Bash", tool_use_id: `toolu_${uses}`, tool_input: { command } };
      const event = { hook_event_name: "PreToolUse", session_id: session, cwd, prompt_id: "p", ...tool };
      // To git an index that was touched is another one: it is asked each time.
      utimesSync(join(cwd, ".git", "index"), uses, uses);
      const began = performance.now();
      const said = await answerOf(join(dist, "hook.pl"), home, JSON.stringify(event));
      const ms = performance.now() - began;
      await tell(session, "PostToolUse", { ...tool, tool_response: {}, duration_ms: 1 });
      return { ms, said };
    };
    /** All of these lines, of several sessions at a time. */
    const run = async (lines: readonly string[]): Promise<Answer[]> => {
      const left = Array.from({ length: commands }, (_, n) => lines[n % lines.length] ?? "");
      const answers: Answer[] = [];
      const one = async (session: string) => {
        for (let line = left.pop(); line !== undefined; line = left.pop())
          answers.push(await hook(session, line.replace("OWN", session)));
      };
      await Promise.all(Array.from({ length: atOnce }, (_, n) => one(`bob-${n}`)));
      return answers;
    };

    await write("ann", "ann.ts");
    await write("ann", "new.ts");
    for (let n = 0; n < atOnce; n += 1) await write(`bob-${n}`, `bob-${n}`);
    for (let n = 0; n < busyEach * cpus().length; n += 1) busy.push(busyProcess());
    const wiped = await run(wiping);
    const load = loadavg()[0] ?? Number.NaN;
    const harmed = await run(harmless);
    const isDenied = ({ said }: Answer) => said.includes('"deny"');
    const unseen = [...wiped, ...harmed].filter(({ said }) => said.includes("Kite could not check in time"));
    const untold = [...wiped, ...harmed].filter(({ said }) => said.includes("without checking it"));
    const times = [...wiped, ...harmed].map(({ ms }) => ms);
    yield table(`the guard among ${busy.length} busy processes on ${cpus().length} processors`, [
      plain("load average after the first half", load),
      figure(
        `of ${wiped.length} wiping commands over another one's work pass`,
        wiped.filter(a => !isDenied(a)).length,
        {
          atMost: 0,
        },
      ),
      figure(`of ${harmed.length} harmless ones are refused`, harmed.filter(isDenied).length, { atMost: 0 }),
      plain("denied because it could not be looked at", unseen.length),
      plain("let through and told so", untold.length),
      plain("a hook, median", times, " ms"),
      plain("the slowest of 20", quantile(times, 0.95), " ms"),
    ]);
  } finally {
    for (const child of busy) child.kill("SIGKILL");
    await bench.end();
  }
}

/** It ends with this process, too. */
function busyProcess(): ChildProcess {
  const loop = 'while kill -0 "$0" 2>/dev/null; do :; done';
  return spawn("/bin/sh", ["-c", loop, String(process.pid)], { stdio: "ignore" });
}

async function answerOf(program: string, home: string, event: string): Promise<string> {
  const env = { PATH: process.env["PATH"], KITE_HOME: home };
  const args = ["-T", program, String(limits.hookWriteBudgetMs)];
  const child = spawn("/usr/bin/perl", args, { env, stdio: ["pipe", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", chunk => {
    said += chunk;
  });
  child.stdin.end(event);
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`the hook ended with ${code}`);
  return said;
}

function repository(dir: string): string {
  const cwd = join(dir, "repository");
  mkdirSync(join(cwd, "src"), { recursive: true });
  for (const file of ["ann.ts", "bob-0", "bob-1", "bob-2", "src/c.ts"])
    writeFileSync(join(cwd, file), "old\n");
  const env = { PATH: process.env["PATH"], HOME: dir, GIT_CONFIG_NOSYSTEM: "1" };
  const who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
  for (const args of [
    ["init", "-q"],
    ["add", "-A"],
    [...who, "commit", "-qm", "all"],
  ])
    execFileSync("git", args, { cwd, env });
  return cwd;
}
