/**
 * Every transcript in this folder, played again. `UPDATE=1` records what happens now: look at the difference as at
 * any other change.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { play } from "./run.ts";

const folder = fileURLToPath(new URL(".", import.meta.url));
const names = readdirSync(folder).filter(name => name.endsWith(".txt"));

describe("scenarios", () => {
  it.each(names)("%s", async name => {
    const path = join(folder, name);
    const recorded = readFileSync(path, "utf8");
    const played = await play(recorded);
    if (process.env["UPDATE"] === "1") writeFileSync(path, played);
    else expect(played).toBe(recorded);
    expect(played.trimEnd().split("\n").length, "lines that can be read").toBeLessThanOrEqual(60);
  });

  it("are there", () => {
    expect(names.length).toBeGreaterThanOrEqual(11);
  });
});
