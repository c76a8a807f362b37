/** Bugs in the rule and in the watch of agents' health, each of which the random days have to find. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { wrongOver } from "./health-random.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const judge = "daemon/core/lead/health.ts";
const watch = "daemon/lead/health-watch.ts";

const planted = [
  ["a dialog that is an alarm", judge, "if (waits !== null) return", "if (waits === undefined) return"],
  ["a tool that runs and stalls", judge, 'tool === "none" || tool === "called"', 'tool !== "unknown"'],
  ["time that passes counts as quiet", judge, "(facts.quietAt ?? now)", "(facts.quietAt ?? facts.signAt)"],
  ["silence that is never an alarm", judge, 'state: "stalled", isAlarm: true };', 'state: "stalled" };'],
  ["a stop that is never an alarm", judge, 'why: "SIGSTOP", isAlarm', 'why: "SIGSTOP"'],
  [
    "a failed turn that nobody hears of",
    judge,
    'why: "its turn ended by an error", isAlarm: true',
    'why: ""',
  ],
  ["an alarm told at each look", watch, "health.isAlarm && !watched.isAlarmed", "health.isAlarm"],
  ["an alarm that no sign takes back", watch, "if (watched?.isAlarmed === true) this.#back(watched);", ""],
  [
    "a watch that ends with the first alarm",
    watch,
    "watched.at = Number.POSITIVE_INFINITY;",
    "watched.at = 0;",
  ],
  ["a look that keeps what it found", watch, "    forgetFound(own);\n    const watched", "    const watched"],
  [
    "a freeze that counts as silence",
    watch,
    "if (this.#stoodStill(watched)) {",
    "if (this.#stoodStill === null) {",
  ],
  [
    "growth that is no sign",
    watch,
    "const signAt = Math.max(facts.signAt, Math.floor(grownAt));",
    "const signAt = facts.signAt;",
  ],
] as const;

it("random days hold without any", { timeout: 60_000 }, async () => {
  expect(await wrongOver(80)).toBeNull();
});

describe("a planted bug is found", { timeout: 60_000 }, () => {
  it.each(planted)("%s", async (_bug, file, find, put) => {
    let count = 0;
    const plant = {
      name: "plant",
      setup(setup: Parameters<NonNullable<Parameters<typeof build>[0]["plugins"]>[number]["setup"]>[0]) {
        setup.onLoad({ filter: new RegExp(`/${file.replaceAll(".", "\\.")}$`) }, async ({ path }) => {
          const text = await readFile(path, "utf8");
          count += text.split(find).length - 1;
          return { contents: text.replace(find, () => put), loader: "ts" };
        });
      },
    };
    const { outputFiles } = await build({
      absWorkingDir: root,
      entryPoints: ["tests/unit/health-random.ts"],
      bundle: true,
      platform: "node",
      format: "esm",
      write: false,
      plugins: [plant],
      logLevel: "silent",
    });
    expect(count, `"${find}" in ${file}`).toBe(1);
    const code = Buffer.from(outputFiles[0]?.contents ?? []).toString("base64");
    const broken: typeof import("./health-random.ts") = await import(`data:text/javascript;base64,${code}`);
    expect(await broken.wrongOver(80)).not.toBeNull();
  });
});
