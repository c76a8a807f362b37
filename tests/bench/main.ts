/**
 * `main ROOT [NAME...]`: runs the measurements named; unless any is, all but those that make the machine busy. `ROOT` is
 * the folder of the project.
 */
import { join } from "node:path";
import { context } from "./context.ts";
import { death } from "./death.ts";
import { flood } from "./flood.ts";
import { gates } from "./gates.ts";
import { grant } from "./grant.ts";
import { growth } from "./growth.ts";
import { guard } from "./guard.ts";
import { guardLoad } from "./guard-load.ts";
import { heldInCore, heldInDaemon } from "./held.ts";
import { hook } from "./hook.ts";
import { afterIdle, idle } from "./idle.ts";
import { restart } from "./restart.ts";
import { tasks, tasksInCore } from "./tasks.ts";
import { throughput } from "./throughput.ts";

const [, , root = "", ...asked] = process.argv;
const measurements: Readonly<Record<string, () => Promise<void>>> = {
  throughput,
  grant,
  flood,
  held: heldInCore,
  "held-daemon": heldInDaemon,
  growth,
  tasks,
  "tasks-core": tasksInCore,
  death,
  restart,
  gates,
  idle,
  "after-idle": afterIdle,
  context: () => context(join(root, "tests", "fixtures", "payloads")),
  guard: () => guard(join(root, "dist")),
  hook: () => hook(join(root, "dist"), join(root, "tests", "fixtures", "payloads")),
};

const busy: typeof measurements = {
  "guard-load": () => guardLoad(join(root, "dist")),
};

for (const name of asked.length > 0 ? asked : Object.keys(measurements)) {
  const measure = measurements[name] ?? busy[name];
  const names = [...Object.keys(measurements), ...Object.keys(busy)];
  if (measure === undefined) throw new Error(`${name} is none of ${names.join(", ")}`);
  await measure();
}
