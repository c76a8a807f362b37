import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** `npm run test:web`: files that `npm test` does not pick up, since they need a browser. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["tests/web/*.web.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    maxWorkers: 1,
  },
});
