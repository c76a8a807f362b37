import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./longest-first.ts";
import { isInTier, tierOf } from "./tiers.ts";

const simulation = "tests/simulation";
const unit = "tests/unit";
const root = fileURLToPath(new URL("..", import.meta.url));

/** Unit tests that put a module in another's place: each needs a process that has loaded none. */
const replacing = readdirSync(`${root}/${unit}`)
  .filter(name => name.endsWith(".test.ts"))
  .filter(name => readFileSync(`${root}/${unit}/${name}`, "utf8").includes("vi.mock("))
  .map(name => `${unit}/${name}`);

/** The test files that this run leaves out. */
const tier = tierOf(process.env["KITE_TESTS"]);
const leftOut = readdirSync(`${root}/tests`, { recursive: true, encoding: "utf8" })
  .filter(name => name.endsWith(".test.ts") && !isInTier(`tests/${name}`, tier))
  .map(name => `tests/${name}`);

export default defineConfig({
  test: {
    root,
    setupFiles: ["tests/file-costs.ts"],
    globalSetup: ["tests/build-once.ts"],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    // A look may start a process, and a busy machine takes longer for that than the default second.
    expect: { poll: { timeout: 60_000 } },
    pool: "forks",
    // More than two cores: end-to-end tests wait for the processes that they start.
    maxWorkers: Math.max(4, availableParallelism()),
    sequence: { sequencer: LongestFirst },
    // What one process made of a source file the others take over.
    experimental: { fsModuleCache: true },
    projects: [
      {
        // The simulation loads itself once for each planted bug: such a process ends with its file.
        extends: true,
        test: { name: "own", include: [`${simulation}/**/*.test.ts`], exclude: leftOut },
      },
      { extends: true, test: { name: "replacing", include: replacing, exclude: leftOut } },
      // To start a process and load the same modules would take a good part of the time of all others.
      {
        extends: true,
        test: {
          name: "shared",
          include: ["tests/**/*.test.ts"],
          exclude: [`${simulation}/**`, `${unit}/**`, ...leftOut],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: "unit",
          include: [`${unit}/**/*.test.ts`],
          exclude: [...replacing, ...leftOut],
          isolate: false,
        },
      },
    ],
  },
});
