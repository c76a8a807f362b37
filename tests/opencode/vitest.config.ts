import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** `npm run test:opencode`: files that `npm test` does not pick up, since they need the real clients. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["tests/opencode/*.opencode.ts"],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: "forks",
    maxWorkers: 1,
  },
});
