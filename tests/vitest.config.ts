import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./longest-first.ts";

export default defineConfig({
  test: {
    root: fileURLToPath(new URL("..", import.meta.url)),
    include: ["tests/**/*.test.ts"],
    globalSetup: ["tests/build-once.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    // More than two cores: end-to-end tests wait for the processes that they start.
    maxWorkers: Math.max(4, availableParallelism()),
    sequence: { sequencer: LongestFirst },
    // What one process made of a source file the others take over: each file runs in a process of its own.
    experimental: { fsModuleCache: true },
  },
});
