/** What a lock costs where a million are held, against ten thousand. */
import { join } from "node:path";
import { interleaved, ratio } from "./measure.ts";
import { Bench, heard, rssOf, type Started, work } from "./processes.ts";
import { figure, plain, type Tables, table } from "./report.ts";
import { ask } from "./talk.ts";
import { sessionId } from "./wire-words.ts";

const few = 10_000;
const many = 1_000_000;
const rounds = 7;
const megabyte = 1024 * 1024;

export async function* heldInCore(): Tables {
  const bench = new Bench();
  try {
    const a = await bench.start("held-engine", [`${few}`]);
    const b = await bench.start("held-engine", [`${many}`]);
    const run = (started: Started) => async () => {
      started.child.send("run");
      return Number(await heard(started.child, "held-engine"));
    };
    const subjects = { few: run(a), many: run(b) };
    await interleaved(1, subjects);
    const samples = await interleaved(rounds, subjects);
    const of = (name: string) => samples.get(name) ?? [];
    yield table("a lock or unlock with many others held, engine and core over the memory journal", [
      plain("10,000 held", of("few"), " us each"),
      plain("1,000,000 held", of("many"), " us each"),
      figure("1,000,000 held / 10,000 held", ratio(of("many"), of("few")), { atMost: 3 }),
      plain("memory, 1,000,000 held", rssOf(b) / megabyte, " MB"),
    ]);
  } finally {
    await bench.end();
  }
}

export async function* heldInDaemon(): Tables {
  const bench = new Bench();
  try {
    const cwd = bench.repository();
    const a = await daemonHolding(bench, cwd, few);
    const b = await daemonHolding(bench, cwd, many);
    const generator = await bench.start("load-generator", []);
    const job = {
      kind: "throughput",
      connections: 1,
      depth: 64,
      warmMs: 300,
      ms: 1_000,
      first: 1_000,
    } as const;
    const cost = (socket: string) => async () => 1e6 / (await work(generator, { ...job, socket })).perSecond;
    const subjects = { few: cost(a), many: cost(b) };
    await interleaved(1, subjects);
    const samples = await interleaved(rounds, subjects);
    const of = (name: string) => samples.get(name) ?? [];
    yield table("a lock or unlock with many others held, real daemon at depth 64", [
      plain("10,000 held", of("few"), " us each"),
      plain("1,000,000 held", of("many"), " us each"),
      figure("1,000,000 held / 10,000 held", ratio(of("many"), of("few")), { atMost: 3 }),
      plain("slowest round, 1,000,000 held", Math.max(...of("many")), " us each"),
    ]);
  } finally {
    await bench.end();
  }
}

/** A daemon in which a hundred sessions hold `count` files together; returns its socket. */
async function daemonHolding(bench: Bench, cwd: string, count: number): Promise<string> {
  const home = join(bench.dir, `held-${count}`);
  await bench.start("kite-daemon", [home, "file"]);
  const socket = join(home, "kite.sock");
  await ask(socket, [{ type: "register", id: sessionId(1_000), cwd }]);
  for (let from = 0; from < count; from += 1_000) {
    const id = sessionId((from / 1_000) % 100);
    const names = Array.from({ length: 1_000 }, (_, n) => `held/part-${n % 100}/file-${from + n}.ts`);
    await ask(socket, [
      { type: "register", id, cwd },
      { type: "file_lock", id, files: names, waitMs: 0 },
    ]);
  }
  return socket;
}
