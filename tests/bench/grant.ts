/** How long a waiter hears of its grant after the holder's unlock was sent, in round trips of a ping. */
import { join } from "node:path";
import { median, quantile } from "./measure.ts";
import { Bench, work } from "./processes.ts";
import { figure, plain, print } from "./report.ts";
import { ask } from "./talk.ts";
import { sessionId } from "./wire-words.ts";

const rounds = 9;
const grantsPerRound = 1_000;

export async function grant(): Promise<void> {
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
    const of = (name: string) => median(ratios.get(name) ?? []);
    print(`a grant in ping round trips, p50 of ${grantsPerRound}, ${rounds} rounds interleaved`, [
      plain("ping of Kite", median(pings.get("file") ?? []), " us"),
      plain("ideal lock server", of("ideal")),
      plain("ideal lock server with one write a command", of("logged")),
      figure("Kite, file journal", of("file"), { atMost: 1.8 }),
      plain("Kite, memory journal", of("memory")),
      plain("Kite, file journal / ideal with a write", of("file") / of("logged")),
      plain("Kite, memory journal / ideal", of("memory") / of("ideal")),
    ]);
  } finally {
    await bench.end();
  }
}
