/** How long a daemon takes to be ready after a crash, with a million records in its journal. */
import { join } from "node:path";
import { median } from "./measure.ts";
import { Bench } from "./processes.ts";
import { plain, print } from "./report.ts";

const records = 1_000_000;
const rounds = 3;
const megabyte = 1024 * 1024;

export async function restart(): Promise<void> {
  const bench = new Bench();
  try {
    const full = join(bench.dir, "full");
    const written = await bench.start("journal-writer", [join(full, "journal"), `${records}`]);
    const { bytes } = written.word as { readonly bytes: number };
    const times = { empty: [] as number[], full: [] as number[] };
    let rss = 0;
    for (let round = 0; round < rounds; round += 1) {
      for (const name of ["empty", "full"] as const) {
        const started = await bench.start("kite-daemon", [join(bench.dir, name), "file"]);
        times[name].push(started.readyMs / 1000);
        if (name === "full") ({ rss } = started.word as { readonly rss: number });
        await bench.stop(started);
      }
    }
    print(`a start after a crash, ${records.toLocaleString("en-US")} records since the last snapshot`, [
      plain("journal", bytes / megabyte, " MB"),
      plain("ready, empty journal", median(times.empty), " s"),
      plain("ready, full journal", median(times.full), " s"),
      plain("each record", ((median(times.full) - median(times.empty)) * 1e6) / records, " us"),
      plain("memory when ready", rss / megabyte, " MB"),
    ]);
  } finally {
    await bench.end();
  }
}
