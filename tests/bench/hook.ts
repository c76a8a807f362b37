/** What a hook's whole process costs, against a Node that does nothing: both clients, with each kind of daemon. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { limits } from "../../protocol/limits.ts";
import { ratio } from "./measure.ts";
import { Bench } from "./processes.ts";
import { figure, plain, type Tables, table } from "./report.ts";

const rounds = 60;
/** Of a Node that does nothing, at most. */
const perlShare = 0.22;
const nodeShare = 1.35;
/** An edit asks even then: with `limits.hookBriefMs`, and the time that its program takes. */
const editMs = 250;
/** A socket counts as newer than failures of the second it was made in. */
const secondMs = 1_000;

/** Clients that start a process before each shell line, and an event of each; below the recorded payloads. */
const shellLines = [
  ["codex", "../codex/PreToolUse--Bash"],
  ["copilot", "../copilot/PreToolUse--Bash"],
  ["gemini", "../gemini/BeforeTool--run_shell_command"],
] as const;
const shellLineMs = 10;

type Command = readonly [string, ...string[]];

export async function* hook(dist: string, fixtures: string): Tables {
  const bench = new Bench();
  try {
    const cwd = bench.repository();
    const home = join(bench.dir, "home");
    const empty = join(bench.dir, "empty");
    mkdirSync(empty, { mode: 0o700 });
    const daemon = await bench.start("kite-daemon", [home, "file"]);
    const recorded: object = JSON.parse(readFileSync(join(fixtures, "PreToolUse--Write.json"), "utf8"));
    const tool_input = { file_path: join(cwd, "src", "part-0", "file-0.ts"), content: "hello\n" };
    let uses = 0;

    /** One call: of the whole process, in milliseconds. Every event is another tool's use. */
    const once = ([command, ...args]: Command, kiteHome: string, fields: object = {}) => {
      uses += 1;
      const input = JSON.stringify({ ...recorded, cwd, tool_use_id: `toolu_${uses}`, tool_input, ...fields });
      const env = { PATH: process.env["PATH"], KITE_HOME: kiteHome };
      const began = performance.now();
      const { status, stderr } = spawnSync(command, args, { env, input });
      const ms = performance.now() - began;
      if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}: ${stderr}`);
      return ms;
    };

    const budget = String(limits.hookWriteBudgetMs);
    const idle: Command = [process.execPath, "-e", "0"];
    const perl: Command = ["/usr/bin/perl", "-T", join(dist, "hook.pl"), budget];
    const node: Command = [process.execPath, join(dist, "hook.cjs"), budget];
    const subjects = [
      { ms: [] as number[], run: () => once(idle, home) },
      { ms: [] as number[], run: () => once(perl, home) },
      { ms: [] as number[], run: () => once(node, home) },
      { ms: [] as number[], run: () => once(perl, empty) },
      { ms: [] as number[], run: () => once(node, empty) },
    ] as const;
    const [nothing, perlOn, nodeOn, perlOff, nodeOff] = subjects;
    for (let round = 0; round < rounds; round += 1) {
      // In every order: what ran before leaves the machine's caches as it does.
      for (const { ms, run } of shuffled(subjects)) ms.push(run());
    }
    const share = ({ ms }: { readonly ms: readonly number[] }) => ratio(ms, nothing.ms);
    yield table(
      `the whole process of a hook before a write, ${rounds} rounds, median of the rounds' ratios`,
      [
        plain("node -e 0", nothing.ms, " ms"),
        plain("perl, daemon present", perlOn.ms, " ms"),
        plain("node, daemon present", nodeOn.ms, " ms"),
        figure("perl, daemon present / node -e 0", share(perlOn), { atMost: perlShare }),
        figure("node, daemon present / node -e 0", share(nodeOn), { atMost: nodeShare }),
        figure("perl, daemon absent / node -e 0", share(perlOff), { atMost: perlShare }),
        figure("node, daemon absent / node -e 0", share(nodeOff), { atMost: nodeShare }),
      ],
    );

    yield table(
      `the whole process of a hook before a shell line that Kite has nothing to say about, as the entry's shell starts it, ${rounds} rounds`,
      shellLines.map(([client, name]) => {
        const event: object = JSON.parse(readFileSync(join(fixtures, `${name}.json`), "utf8"));
        const entry = `set -- ${budget} "" "" ${client}; exec /usr/bin/perl -T ${join(dist, "hook.pl")} "$@"`;
        const ms = Array.from({ length: rounds }, (_, i) =>
          once(["/bin/sh", "-c", entry], home, { ...event, cwd, tool_use_id: `line_${i}` }),
        );
        return figure(client, ms, { atMost: shellLineMs }, " ms");
      }),
    );

    await delay(secondMs);
    daemon.child.kill("SIGSTOP");
    try {
      for (const [name, command, atMost] of [
        ["perl", perl, perlShare],
        ["node", node, nodeShare],
      ] as const) {
        rmSync(join(home, "hook-failures"), { force: true });
        const failing = Array.from({ length: limits.hookFailuresMax }, () => once(command, home));
        const prompt = { hook_event_name: "UserPromptSubmit" };
        const prompts = Array.from({ length: 20 }, () => once(command, home, prompt) / once(idle, home));
        const edits = Array.from({ length: 20 }, () => once(command, home));
        yield table(`${name}, daemon stopped (SIGSTOP)`, [
          figure("the longest of the first calls", Math.max(...failing), { atMost: 1_200 }, " ms"),
          figure("prompts of the next half minute / node -e 0", prompts, { atMost }),
          figure("edits of the next half minute", edits, { atMost: editMs }, " ms"),
        ]);
      }
    } finally {
      daemon.child.kill("SIGCONT");
    }
  } finally {
    await bench.end();
  }
}

function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map(item => [Math.random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}
