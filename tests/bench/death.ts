/** A session with ten thousand locks is killed: how long another connection's ping waits meanwhile. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { quantile } from "./measure.ts";
import { Bench, work } from "./processes.ts";
import { figure, plain, type Tables, table } from "./report.ts";
import { ask, Conversation } from "./talk.ts";
import { sessionId } from "./wire-words.ts";

const locks = 10_000;
/** Files that somebody waits for when their holder dies. */
const awaited = 200;
const rounds = 7;
const windowMs = 2_500;

export async function* death(): Tables {
  const bench = new Bench();
  try {
    const cwd = bench.repository();
    const home = join(bench.dir, "home");
    await bench.start("kite-daemon", [home, "file"]);
    const socket = join(home, "kite.sock");
    const generator = await bench.start("load-generator", []);
    const pings = async () => (await work(generator, { kind: "pings", socket, ms: windowMs })).pingUs;
    await pings();
    const quiet: number[] = [];
    const dying: number[] = [];
    const passedOn: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      quiet.push(quantile(await pings(), 1) / 1000);
      const scene = await prepare(socket, cwd, round);
      const pinging = pings();
      passedOn.push(await scene.kill());
      dying.push(quantile(await pinging, 1) / 1000);
      scene.close();
    }
    yield table(
      `a session killed while it holds ${locks} locks, ${awaited} of them awaited, ${rounds} rounds`,
      [
        plain("longest ping of another connection without it, median of the rounds", quiet, " ms"),
        figure("longest ping meanwhile, median of the rounds", dying, { atMost: 50 }, " ms"),
        plain("longest ping without it, of all rounds", quantile(quiet, 1), " ms"),
        plain("longest ping meanwhile, of all rounds", quantile(dying, 1), " ms"),
        plain("from the kill to the last grant, median", passedOn, " ms"),
      ],
    );
  } finally {
    await bench.end();
  }
}

/** A session that lives as long as a process of its own, holding the locks, and another one that waits for some. */
async function prepare(socket: string, cwd: string, round: number) {
  const anchor = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "ignore" });
  await once(anchor, "spawn");
  const id = sessionId(round * 2);
  const waiter = sessionId(round * 2 + 1);
  const names = Array.from({ length: locks }, (_, n) => `held/part-${n % 100}/file-${n}.ts`);
  await ask(socket, [{ type: "register", id, cwd, pid: anchor.pid }]);
  for (let from = 0; from < locks; from += 1_000) {
    await ask(socket, [{ type: "file_lock", id, files: names.slice(from, from + 1_000) }]);
  }
  await ask(socket, [{ type: "register", id: waiter, cwd }]);
  const waiting = await Conversation.at(socket);
  const queued = waiting.replies(awaited);
  for (let n = 0; n < awaited; n += 1) {
    const file = names[n * (locks / awaited)];
    waiting.send({ type: "file_lock", rid: n, id: waiter, file, waitMs: 60_000, progress: true });
  }
  await queued;
  return {
    /** Kills the session's process; resolves with the milliseconds until everybody who waited was granted. */
    async kill(): Promise<number> {
      const granted = waiting.replies(awaited);
      const began = performance.now();
      anchor.kill("SIGKILL");
      await granted;
      return performance.now() - began;
    },
    close(): void {
      waiting.send({ type: "file_unlock", id: waiter, all: true });
      waiting.close();
    },
  };
}
