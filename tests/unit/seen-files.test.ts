/** The copies that tell who changed Kite's own files, where the system does not let anybody look at them. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { isChanged, markSeen, SeenFiles } from "../../daemon/config/off-switch.ts";

let home: string;
const paths = () => ({
  seen: join(home, "seen"),
  config: join(home, "config.json"),
  trusted: join(home, "trusted.json"),
});

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "kite-seen-"));
  writeFileSync(paths().config, "{}");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

it("nothing is known where the folder of copies cannot be opened, and the daemon goes on", () => {
  const told: unknown[] = [];
  markSeen(paths(), "config");
  const files = new SeenFiles(
    paths(),
    () => null,
    row => told.push(row),
  );
  writeFileSync(paths().config, '{"mode":"observe"}');
  expect(files.changed()).toHaveLength(1);
  rmSync(paths().seen, { recursive: true });
  // As a folder without permission, but for root, too: a stat of what is below it fails.
  symlinkSync(paths().seen, paths().seen);
  expect(files.changed()).toEqual([]);
  expect(isChanged(paths(), "config")).toBe(false);
  expect(told).toHaveLength(1);
});
