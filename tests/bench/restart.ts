/** How long a daemon takes to be ready after a crash, with a million records in its journal. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { median } from "./measure.ts";
import { Bench } from "./processes.ts";
import { figure, plain, type Tables, table } from "./report.ts";

const records = 1_000_000;
const rounds = 3;
const megabyte = 1024 * 1024;

interface Ready {
  readonly rss: number;
  /** Microseconds of the processor until then. */
  readonly cpu: NodeJS.CpuUsage;
}

/** Seconds to the start behind one that had the time to take its snapshot. */
async function second(bench: Bench, home: string): Promise<number> {
  const first = await bench.start("kite-daemon", [home, "file"]);
  const isTaken = () => readdirSync(join(home, "journal")).some(name => name.endsWith(".snapshot"));
  for (const began = Date.now(); !isTaken(); await sleep(50)) {
    if (Date.now() - began > 60_000) throw new Error("the start took no snapshot");
  }
  await bench.stop(first);
  const again = await bench.start("kite-daemon", [home, "file"]);
  await bench.stop(again);
  return again.readyMs / 1000;
}

export async function* restart(): Tables {
  const bench = new Bench();
  try {
    const full = join(bench.dir, "full");
    const written = await bench.start("journal-writer", [join(full, "journal"), `${records}`]);
    const { bytes } = written.word as { readonly bytes: number };
    const times = { empty: [] as number[], full: [] as number[] };
    const processor = { empty: [] as number[], full: [] as number[] };
    let rss = 0;
    for (let round = 0; round < rounds; round += 1) {
      for (const name of ["empty", "full"] as const) {
        const started = await bench.start("kite-daemon", [join(bench.dir, name), "file"]);
        times[name].push(started.readyMs / 1000);
        const word = started.word as Ready;
        processor[name].push((word.cpu.user + word.cpu.system) / 1e6);
        if (name === "full") ({ rss } = word);
        await bench.stop(started);
      }
    }
    const again = await second(bench, join(bench.dir, "full"));
    yield table(`a start after a crash, ${records.toLocaleString("en-US")} records since the last snapshot`, [
      plain("journal", bytes / megabyte, " MB"),
      plain("ready, empty journal", times.empty, " s"),
      figure("ready, full journal", times.full, { atMost: 2.5 }, " s"),
      plain("processor time, empty journal", processor.empty, " s"),
      plain("processor time, full journal", processor.full, " s"),
      plain("each record", ((median(processor.full) - median(processor.empty)) * 1e6) / records, " us"),
      figure("memory when ready", rss / megabyte, { atMost: 300 }, " MB"),
      plain("ready after one more crash", again, " s"),
    ]);
  } finally {
    await bench.end();
  }
}
