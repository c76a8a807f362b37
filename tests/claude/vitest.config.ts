import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** `npm run test:claude`: files that `npm test` does not pick up, since they need the real client. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["tests/claude/*.claude.ts"],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: "forks",
    maxWorkers: 1,
  },
});
