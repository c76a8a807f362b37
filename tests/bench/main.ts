/** `main ROOT [NAME...]`: runs the measurements named, all unless any is. `ROOT` is the folder of the project. */
import { join } from "node:path";
import { death } from "./death.ts";
import { grant } from "./grant.ts";
import { guard } from "./guard.ts";
import { heldInCore, heldInDaemon } from "./held.ts";
import { hook } from "./hook.ts";
import { restart } from "./restart.ts";
import { tasks, tasksInCore } from "./tasks.ts";
import { throughput } from "./throughput.ts";

const [, , root = "", ...asked] = process.argv;
const measurements: Readonly<Record<string, () => Promise<void>>> = {
  throughput,
  grant,
  held: heldInCore,
  "held-daemon": heldInDaemon,
  tasks,
  "tasks-core": tasksInCore,
  death,
  restart,
  guard: () => guard(join(root, "dist")),
  hook: () => hook(join(root, "dist"), join(root, "tests", "fixtures", "payloads")),
};

for (const name of asked.length > 0 ? asked : Object.keys(measurements)) {
  const measure = measurements[name];
  if (measure === undefined) throw new Error(`${name} is none of ${Object.keys(measurements).join(", ")}`);
  await measure();
}
