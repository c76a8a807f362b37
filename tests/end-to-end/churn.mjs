// `npm run churn -- --minutes 60`: clients come and go, and the daemon's memory and descriptors are watched. Prints a
// line a minute and what came of it; ends with 1 where something has grown beyond its bound.
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "10" }, pause: { type: "string", default: "500" } },
});
/** A round takes less than a second; on a machine that is very busy, some. */
const hungMs = 300_000;
const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("churn.ts", import.meta.url))],
  bundle: true,
  platform: "node",
  format: "esm",
  write: false,
  // What it finds beside itself is beside its source.
  define: { "import.meta.url": JSON.stringify(import.meta.url) },
  absWorkingDir: dirname(fileURLToPath(import.meta.url)),
});
const { Churn, judge } = await import(
  `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`
);

const churn = await Churn.start();
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => void churn.dispose().finally(() => process.exit(1)));
}
const began = performance.now();
const minutes = Number(values.minutes);
const goneMinutes = () => (performance.now() - began) / 60_000;
const samples = [];

/** A round that waits for something that never comes would wait for ever. */
async function hung() {
  const round = churn.rounds;
  await delay(hungMs, undefined, { ref: false });
  if (round === churn.rounds) throw new Error(`round ${round} hangs`);
  return new Promise(() => {});
}

let saidAt = 0;
try {
  while (goneMinutes() < minutes) {
    const sample = await Promise.race([churn.round(), hung()]);
    // The first fifth is for warming up: what has a bound in numbers or time (ended ids, events, timers) fills up to it.
    if (goneMinutes() > minutes / 5) samples.push(sample);
    if (goneMinutes() - saidAt >= 1) {
      saidAt = goneMinutes();
      const { rssBytes, descriptors } = sample;
      const rss = (rssBytes / 1024 / 1024).toFixed(1);
      console.log(
        `${saidAt.toFixed(0)} min: ${churn.connections} connections, ${rss} MiB, ${descriptors} descriptors`,
      );
    }
    // A pace that leaves the machine to others.
    await delay(Number(values.pause));
  }
  await churn.fillsUp();
} finally {
  await churn.dispose();
}
const { lines, grown } = judge(samples);
console.log(
  `${churn.rounds} rounds, ${churn.connections} connections in ${goneMinutes().toFixed(1)} minutes`,
);
for (const line of lines) console.log(line);
for (const line of grown) console.error(`grown beyond its bound: ${line}`);
process.exitCode = grown.length > 0 || samples.length === 0 ? 1 : 0;
