/** What a lock and its unlock take while fifty others ask for long answers: clients that read them, and that do not. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { encodeLine } from "../../protocol/wire.ts";
import { median, quantile } from "./measure.ts";
import { Bench, type Started, work } from "./processes.ts";
import { figure, plain, type Tables, table } from "./report.ts";
import { ask } from "./talk.ts";
import { sessionId } from "./wire-words.ts";

const clients = 50;
const queriesEach = 200;
/** Locks to show: a page of them is about a megabyte. */
const shown = 1_000;
/** How long a flood is looked at; clients that do not read have had all they get long before. */
const floodMs = { deaf: 1_500, reading: 4_000 } as const;

export async function* flood(): Tables {
  const bench = new Bench();
  try {
    const cwd = bench.repository();
    const home = join(bench.dir, "flooded");
    await bench.start("kite-daemon", [home, "file"]);
    const socket = join(home, "kite.sock");
    const generator = await bench.start("load-generator", []);
    const long = `held/part-0/${`${"d".repeat(200)}/`.repeat(4)}`;
    await ask(socket, [
      { type: "register", id: sessionId(0), cwd },
      { type: "register", id: sessionId(1), cwd },
    ]);
    for (let from = 0; from < shown; from += 100) {
      const files = Array.from({ length: 100 }, (_, n) => `${long}file-${from + n}`);
      await ask(socket, [{ type: "file_lock", id: sessionId(1), files }]);
    }
    await pairs(generator, socket, 500);
    const alone = await pairs(generator, socket, 2_000);
    for (const reads of [false, true]) {
      const crowd = await Promise.all(Array.from({ length: clients }, () => greedy(socket, reads)));
      const beside = await pairs(generator, socket, reads ? floodMs.reading : floodMs.deaf);
      for (const one of crowd) one.destroy();
      const who = reads ? "that read" : "that do not read";
      yield table(
        `a lock and its unlock beside ${clients} clients with ${queriesEach} long queries each, ${who}`,
        [
          plain("alone, median", milliseconds(alone), " ms"),
          plain("beside them, median", milliseconds(beside), " ms"),
          plain("beside them, 99 of 100", quantile(beside, 0.99) / 1000, " ms"),
          plain("beside them, longest", Math.max(...beside) / 1000, " ms"),
          figure("beside them / alone, median", median(beside) / median(alone), { atMost: 5 }),
          figure("beside them, 99 of 100 / alone, median", quantile(beside, 0.99) / median(alone), {
            atMost: 100,
          }),
        ],
      );
    }
  } finally {
    await bench.end();
  }
}

async function pairs(generator: Started, socket: string, ms: number): Promise<readonly number[]> {
  const { pairUs = [] } = await work(generator, { kind: "pairs", socket, ms });
  return pairUs;
}

/** A client that has sent all its queries. */
async function greedy(path: string, reads: boolean): Promise<Socket> {
  const socket = connect(path);
  await once(socket, "connect");
  const query = encodeLine({ type: "query", target: "locks", limit: shown });
  if (reads) socket.resume();
  else socket.pause();
  socket.write(query.repeat(queriesEach));
  return socket;
}

function milliseconds(us: readonly number[]): number[] {
  return us.map(one => one / 1_000);
}
