/** What a daemon costs while its sessions rest, and how fast it answers a hook after that. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { limits } from "../../protocol/limits.ts";
import { Bench, heard, type Started } from "./processes.ts";
import { figure, plain, type Tables, table } from "./report.ts";
import { ask, Conversation } from "./talk.ts";
import { sessionId } from "./wire-words.ts";

const restMs = 20_000;
/** By then the daemon rests, and the garbage of the start is collected, which takes 0.1 s of a processor's time, once. */
const settleMs = 30_000;
const megabyte = 1024 * 1024;
/** By then every fact about a path and every mount table is too old to be used. */
const forgottenMs = limits.directoryKeptMs + 1_000;
const rounds = 7;

/** Processor time of the daemon while sessions of living processes rest. */
export async function* idle(): Tables {
  for (const [sessions, perProcess, atMostPercent] of [
    [50, 1, 0.05],
    [10_000, limits.sessionsPerProcessMax, 2],
  ] as const) {
    const bench = new Bench();
    const processes: ChildProcess[] = [];
    try {
      const cwd = bench.repository();
      const home = join(bench.dir, "home");
      const daemon = await bench.start("kite-daemon", [home, "file"]);
      while (processes.length < sessions / perProcess)
        processes.push(spawn("sleep", ["3600"], { stdio: "ignore" }));
      const requests = Array.from({ length: sessions }, (_, n) => {
        const { pid } = processes[Math.floor(n / perProcess)] ?? {};
        return { type: "register", id: sessionId(n), cwd, pid };
      });
      for (let from = 0; from < sessions; from += 100)
        await ask(join(home, "kite.sock"), requests.slice(from, from + 100));
      await delay(settleMs);
      const alone = await restPercents(daemon);
      const client = await Conversation.at(join(home, "kite.sock"));
      await delay(limits.anchorPollMs);
      const watched = await restPercents(daemon);
      client.close();
      yield table(`${sessions.toLocaleString("en-US")} sessions at rest`, [
        figure("processor time of the daemon, nobody connected", alone, { atMost: atMostPercent }, " %"),
        plain("the most of three times", Math.max(...alone), " %"),
        plain("processor time of the daemon, a client connected", watched, " %"),
        plain("the most of three times", Math.max(...watched), " %"),
        plain("memory", residentBytes(daemon) / megabyte, " MB"),
      ]);
    } finally {
      await Promise.all(processes.map(ended));
      await bench.end();
    }
  }
}

/** A hook before an edit, in a turn of its own, of a daemon that has rested and of one that has not. */
export async function* afterIdle(): Tables {
  const bench = new Bench();
  try {
    const cwd = bench.repository();
    const home = join(bench.dir, "home");
    const daemon = await bench.start("kite-daemon", [home, "file"]);
    const socket = join(home, "kite.sock");
    let count = 0;
    const hookMs = async (): Promise<number> => {
      count += 1;
      const event = {
        session_id: sessionId(1),
        cwd,
        hook_event_name: "PreToolUse",
        permission_mode: "default",
        tool_name: "Write",
        tool_use_id: `toolu_${count}`,
        tool_input: { file_path: join(cwd, "src", "part-0", `file-${count % 100}.ts`), content: "hello\n" },
      };
      return timed(() => ask(socket, [{ type: "hook", event }]));
    };
    const pingMs = () => timed(() => ask(socket, [{ type: "ping" }]));
    for (let n = 0; n < 100; n += 1) await hookMs();
    const busy = { hook: [] as number[], ping: [] as number[] };
    const rested = { hook: [] as number[], ping: [] as number[], used: [] as number[] };
    for (let n = 0; n < 100; n += 1) {
      busy.ping.push(await pingMs());
      busy.hook.push(await hookMs());
    }
    for (let round = 0; round < rounds; round += 1) {
      await delay(forgottenMs);
      const before = await usedMs(daemon);
      rested.hook.push(await hookMs());
      rested.used.push((await usedMs(daemon)) - before);
      await delay(forgottenMs);
      rested.ping.push(await pingMs());
    }
    yield table("the daemon's answer to the hook of an edit", [
      plain("ping, busy", busy.ping, " ms"),
      plain("hook, busy", busy.hook, " ms"),
      plain(`ping after ${forgottenMs / 1000} s of rest`, rested.ping, " ms"),
      figure(`hook after ${forgottenMs / 1000} s of rest`, rested.hook, { atMost: 2 }, " ms"),
      plain("the slowest", Math.max(...rested.hook), " ms"),
      plain("processor time of the daemon for it", rested.used, " ms"),
    ]);
  } finally {
    await bench.end();
  }
}

/** What a daemon takes of a processor, in three spells. */
async function restPercents(daemon: Started): Promise<number[]> {
  const percents: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const before = await usedMs(daemon);
    await delay(restMs);
    percents.push((((await usedMs(daemon)) - before) / restMs) * 100);
  }
  return percents;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Processor time that a daemon has used so far, in milliseconds. */
async function usedMs({ child }: Started): Promise<number> {
  child.send("cpu");
  const { user, system } = (await heard(child, "kite-daemon")) as NodeJS.CpuUsage;
  return (user + system) / 1000;
}

function residentBytes({ child }: Started): number {
  const pages = Number(readFileSync(`/proc/${child.pid}/statm`, "utf8").split(" ")[1]);
  return pages * 4096;
}

async function ended(child: ChildProcess): Promise<void> {
  const gone = once(child, "exit");
  child.kill();
  await gone;
}
