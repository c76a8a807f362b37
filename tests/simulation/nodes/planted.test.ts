import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { loadAnew } from "../modules.ts";
import { misquoted, withBug } from "../quotes.ts";
import { plantedInNodes } from "./planted.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const seedsMax = 60;

describe("a planted bug of two logs is caught", () => {
  it.each(plantedInNodes.map(bug => [bug.bug, bug] as const))("%s", { timeout: 300_000 }, (_, bug) => {
    const path = join(root, bug.file);
    const source = readFileSync(path, "utf8");
    expect([...misquoted(bug, new Map([[bug.file, source]]))]).toEqual([]);
    const { TwoLogs } = loadAnew(join(root, "tests/simulation/nodes/two-logs.ts"), {
      path,
      text: withBug(bug, source),
    }) as typeof import("./two-logs.ts");
    let last = "nothing";
    for (let seed = 1; seed <= seedsMax; seed += 1) {
      last = failureOf(() => {
        const world = new TwoLogs(seed, bug.also);
        world.run(400);
        return [...world.wrong(), ...world.outboxes()].join("; ");
      });
      if (bug.tells.test(last)) return;
    }
    expect.fail(`${last} was found, not ${bug.tells}`);
  });
});

function failureOf(run: () => string): string {
  try {
    return run();
  } catch (error) {
    return String(error);
  }
}
