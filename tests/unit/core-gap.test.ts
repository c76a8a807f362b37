/** The numbers in ids, which a log with gaps counts on with. */
import { expect, it } from "vitest";
import { numberedKinds, numbersOf, passNumbers } from "../../daemon/core/gap.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { World } from "./core-world.ts";
import { openOf } from "./debate-world.ts";

const wallMs = 36 ** 3;
const task = { name: null, description: "d", priority: "normal", labels: [], dependsOn: [] } as const;
const branch = (name: string) => ({ branch: `refs/heads/${name}`, author: null, tasks: [], after: [] });

const makers: readonly Command[] = [
  { type: "task_create", by: null, tasks: [task, task], many: true, project: "/p", wallMs },
  openOf(null, { wallMs, participants: [] }),
  {
    type: "spawn_create",
    ...{ by: null, project: "/p", name: null, role: null, task: null, base: null, replaces: null },
    ...{ backend: "background", client: "claude-code", reportsEnd: true, prompt: null, model: null },
    ...{ liveMax: 8, depthMax: 1, wallMs },
  },
  {
    type: "merge_queue",
    ...{ by: null, project: "/p", base: "refs/heads/main", rebase: false, checkOnly: false, wallMs },
    runner: { name: "r", bound: { node: "n", epoch: 1, connection: 1 } },
    merges: [branch("a"), branch("b")],
  },
];

/** The numbers of the ids that the command makes. */
function made(w: World, command: Command): number[] {
  const { kind = "" } = numbersOf(command) ?? {};
  const ids = JSON.stringify(w.do(command)).matchAll(new RegExp(`"${kind}-1000-([0-9a-z]+)"`, "g"));
  return [...new Set([...ids].map(([, n = ""]) => Number.parseInt(n, 36)))].sort((a, b) => a - b);
}

it.each(makers)("$type: as many as it makes, and none twice if they are used up", command => {
  const w = new World();
  const { count = 0 } = numbersOf(command) ?? {};
  const first = made(w, command);
  expect(first).toEqual(Array.from({ length: count }, (_, i) => i + 1));
  passNumbers(w.state, command);
  const again = command.type === "merge_queue" ? { ...command, merges: [branch("c"), branch("d")] } : command;
  expect(made(w, again)).toEqual(first.map(n => n + 2 * count));
});

it("are of kinds of which each command here has one", () => {
  expect(makers.map(command => numbersOf(command)?.kind).sort()).toEqual([...numberedKinds].sort());
});
