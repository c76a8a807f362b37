/**
 * `main ROOT [--json FILE] [NAME...]`: runs the measurements named; unless any is, all but those that take minutes or
 * make the machine busy. Prints one page, and writes it as JSON to `FILE` or below the temporary directory. `ROOT` is
 * the folder of the project.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { actor } from "./actor.ts";
import { context } from "./context.ts";
import { death } from "./death.ts";
import { flood } from "./flood.ts";
import { gates } from "./gates.ts";
import { grant } from "./grant.ts";
import { growth } from "./growth.ts";
import { guard } from "./guard.ts";
import { guardLoad } from "./guard-load.ts";
import { hands } from "./hands.ts";
import { heldInCore, heldInDaemon } from "./held.ts";
import { hook } from "./hook.ts";
import { afterIdle, idle } from "./idle.ts";
import { journal } from "./journal.ts";
import { read } from "./read.ts";
import { heads, rendered, type Table, type Tables } from "./report.ts";
import { rescue } from "./rescue.ts";
import { restart } from "./restart.ts";
import { stall } from "./stall.ts";
import { storeDaemon } from "./store-daemon.ts";
import { tasks, tasksInCore } from "./tasks.ts";
import { throughput } from "./throughput.ts";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: "string" } } });
const [root = "", ...asked] = positionals;
const measurements: Readonly<Record<string, () => Tables>> = {
  throughput,
  grant,
  flood,
  held: heldInCore,
  "held-daemon": heldInDaemon,
  growth,
  journal,
  tasks,
  "tasks-core": tasksInCore,
  death,
  restart,
  rescue: () => rescue(root),
  gates,
  idle,
  "after-idle": afterIdle,
  read,
  actor,
  context: () => context(join(root, "tests", "fixtures", "payloads")),
  guard: () => guard(join(root, "dist")),
  hands: () => hands(join(root, "dist")),
  hook: () => hook(join(root, "dist"), join(root, "tests", "fixtures", "payloads")),
};

const busy: typeof measurements = {
  stall,
  "store-daemon": () => storeDaemon(join(root, "tests", "fixtures", "payloads")),
  "guard-load": () => guardLoad(join(root, "dist")),
};

const names = [...Object.keys(measurements), ...Object.keys(busy)];
const unknown = asked.find(name => !names.includes(name));
if (unknown !== undefined) throw new Error(`${unknown} is none of ${names.join(", ")}`);
const page: (Table & { readonly measurement: string })[] = [];
process.stdout.write(`${heads()}\n`);
for (const name of asked.length > 0 ? asked : Object.keys(measurements)) {
  for await (const one of (measurements[name] ?? busy[name])?.() ?? []) {
    page.push({ measurement: name, ...one });
    process.stdout.write(rendered(one));
  }
}
const path = values.json ?? join(mkdtempSync(join(tmpdir(), "kite-bench-page-")), "page.json");
const machine = { processors: cpus().length, load: loadavg(), node: process.version };
writeFileSync(path, `${JSON.stringify({ at: new Date().toISOString(), ...machine, page }, null, 2)}\n`);
process.stdout.write(`as JSON: ${path}\n`);
