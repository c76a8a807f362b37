// Runs the simulation for as many seeds as wanted: npm run simulate -- --seeds 1000000 --host file
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const { values } = parseArgs({
  options: {
    host: { type: "string", default: "both" },
    from: { type: "string", default: "1" },
    seeds: { type: "string", default: "1000" },
    steps: { type: "string", default: "2000" },
    /** Agents send events of hooks, instead of all else. */
    hooks: { type: "boolean", default: false },
  },
});
const hosts = values.host === "both" ? ["file", "memory"] : [values.host];
const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("run.ts", import.meta.url))],
  bundle: true,
  platform: "node",
  format: "esm",
  write: false,
});
const { runSeed } = await import(
  `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`
);

const began = performance.now();
const from = Number(values.from);
for (let seed = from; seed < from + Number(values.seeds); seed += 1) {
  for (const host of hosts) {
    const { failure, transcript } = await runSeed(seed, Number(values.steps), host, values.hooks);
    if (failure === null) continue;
    console.log(transcript.join("\n"));
    console.log(`\nseed ${seed} (${host}): ${failure.split("\n")[0]}`);
    const hooks = values.hooks ? "--hooks " : "";
    console.log(
      `again: npm run simulate -- ${hooks}--host ${host} --from ${seed} --seeds 1 --steps ${values.steps}`,
    );
    process.exit(1);
  }
  if ((seed - from + 1) % 100 === 0) {
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    process.stderr.write(`${seed - from + 1} seeds, ${seconds} s\n`);
  }
}
console.log(`${values.seeds} seeds of ${values.steps} steps on ${hosts.join(" and ")}: every invariant held`);
