/** How long a waiter hears of its grant after the holder's unlock was sent, in round trips of a ping. */
import { join } from "node:path";
import { lockFilePairs } from "./instead.ts";
import { quantile, ratio } from "./measure.ts";
import { Bench, work } from "./processes.ts";
import { beside, figure, plain, type Tables, table } from "./report.ts";
import { ask } from "./talk.ts";
import { sessionId } from "./wire-words.ts";

const rounds = 9;
const grantsPerRound = 1_000;

export async function* grant(): Tables {
  const bench = new Bench();
  try {
    const cwd = bench.repository();
    const at = (name: string) => join(bench.dir, name);
    await bench.start("ideal-server", [at("ideal.sock")]);
    await bench.start("ideal-server", [at("logged.sock"), at("logged.log")]);
    await bench.start("kite-daemon", [at("memory"), "memory"]);
    await bench.start("kite-daemon", [at("file"), "file"]);
    const sockets = {
      ideal: at("ideal.sock"),
      logged: at("logged.sock"),
      memory: at("memory/kite.sock"),
      file: at("file/kite.sock"),
    };
    const sessions = [0, 1].map(n => ({ type: "register", id: sessionId(n), cwd }));
    await ask(sockets.memory, sessions);
    await ask(sockets.file, sessions);
    const generator = await bench.start("load-generator", []);
    const ratios = new Map<string, number[]>();
    const pings = new Map<string, number[]>();
    for (let round = 0; round <= rounds; round += 1) {
      for (const [name, socket] of Object.entries(sockets)) {
        const { pingUs, grantUs } = await work(generator, { kind: "grants", socket, count: grantsPerRound });
        // The first round is for the compilers.
        if (round === 0) continue;
        pings.set(name, [...(pings.get(name) ?? []), ...pingUs]);
        ratios.set(name, [...(ratios.get(name) ?? []), quantile(grantUs, 0.5) / quantile(pingUs, 0.5)]);
      }
    }
    const of = (name: string) => ratios.get(name) ?? [];
    yield table(`a grant in ping round trips, p50 of ${grantsPerRound}, ${rounds} rounds interleaved`, [
      plain("ping of Kite", pings.get("file") ?? [], " us"),
      plain("ideal lock server", of("ideal")),
      plain("ideal lock server with one write a command", of("logged")),
      figure("Kite, file journal", of("file"), { atMost: 1.8 }),
      plain("Kite, memory journal", of("memory")),
      plain("Kite, file journal / ideal with a write", ratio(of("file"), of("logged"))),
      plain("Kite, memory journal / ideal", ratio(of("memory"), of("ideal"))),
    ]);
    const { pairUs = [] } = await work(generator, { kind: "pairs", socket: sockets.file, ms: 2_000 });
    const pair = pairUs.map(us => us / 1_000);
    yield table("a lock and its unlock of one client, one after the other", [
      beside(
        plain("Kite, file journal", pair, " ms"),
        "proper-lockfile",
        await lockFilePairs(bench.dir, 200),
      ),
    ]);
  } finally {
    await bench.end();
  }
}
