/** What kite doctor says of the client's version, and of what Kite takes on disk. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { checkClients, relation } from "../../bin/doctor/clients.ts";
import { checkDiskUse, diskUse } from "../../bin/doctor/files.ts";
import versions from "../../hooks/claude-code/client-versions.json" with { type: "json" };
import { temporaryFolder } from "../temporary-folder.ts";
import { type FakeWorld, fakeWorld } from "./command-world.ts";

let root: string;
let home: string;
let world: FakeWorld;

beforeEach(() => {
  root = temporaryFolder("kite-doctor-");
  home = join(root, "kite");
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(join(root, "bin"), { mode: 0o755 });
  world = fakeWorld({ home, env: { PATH: `${join(root, "bin")}:/usr/bin:/bin` } });
});

function client(lines: string): void {
  writeFileSync(join(root, "bin", "claude"), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
}

describe("the client's version", () => {
  const range = { tested: "2.1.30", oldest: "2.1.9" };

  it.each([
    ["2.1.30", "ok", /^Claude Code 2\.1\.30, the version that Kite is tested with$/],
    ["2.1.100", "ok", /^Claude Code 2\.1\.100, newer than 2\.1\.30, the version/],
    ["2.1.10", "ok", /^Claude Code 2\.1\.10, which Kite supports; it is tested with 2\.1\.30$/],
    ["2.1.9", "ok", /which Kite supports/],
    ["2.1.8", "warn", /2\.1\.8 is older than 2\.1\.9, the oldest that Kite supports/],
    ["2.1.9-beta.1", "warn", /older than 2\.1\.9/],
  ])("%s: %s", (installed, result, detail) => {
    expect(relation(installed, range)).toMatchObject({ result, detail: expect.stringMatching(detail) });
  });

  it("is the one that the program on the PATH says", async () => {
    client(`echo "${versions.tested} (Claude Code)"`);
    expect(await checkClients(world)).toEqual({
      check: "client",
      result: "ok",
      detail: `Claude Code ${versions.tested}, the version that Kite is tested with`,
    });
    client("echo 1.0.3");
    expect(await checkClients(world)).toMatchObject({ result: "warn", todo: "update it: claude update" });
  });

  it("is not made up if the program says none", async () => {
    client("echo what; exit 1");
    expect(await checkClients(world)).toMatchObject({
      result: "warn",
      detail: expect.stringContaining("does not say its version"),
    });
  });

  it("is the one that README names", () => {
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8").replaceAll(/\s+/g, " ");
    expect(readme).toContain(`tested with Claude Code ${versions.tested}`);
    expect(readme).toContain(`no event that ${versions.oldest} does not know`);
  });
});

describe("what Kite takes on disk", () => {
  const block = (n: number) => "x".repeat(n * 4096);

  it("is named by part, the largest first", () => {
    mkdirSync(join(home, "journal", "deep"), { recursive: true });
    writeFileSync(join(home, "journal", "deep", "a"), block(200));
    mkdirSync(join(home, "trail"));
    writeFileSync(join(home, "trail", "trail-1.ndjson"), block(100));
    writeFileSync(join(home, "daemon.log"), block(30));
    writeFileSync(join(home, "daemon.log.1"), block(30));
    writeFileSync(join(home, "config.json"), "{}");
    expect(diskUse(home).parts.map(([name]) => name)).toEqual(["journal", "trail", "log", "other files"]);
    const { result, detail } = checkDiskUse(world);
    expect(result).toBe("ok");
    expect(detail).toMatch(
      /takes 1\.\d MiB: journal 8\d\d KiB, decisions 4\d\d KiB, log 240 KiB, other files \d/,
    );
  });

  it("follows no link out of the directory, or in a circle", () => {
    mkdirSync(join(root, "far"));
    writeFileSync(join(root, "far", "large"), block(500));
    symlinkSync(join(root, "far"), join(home, "far"));
    symlinkSync(home, join(home, "circle"));
    const { total, isWhole } = diskUse(home);
    expect([total < 100 * 4096, isWhole]).toEqual([true, true]);
  });

  it("ends at a bound, says so, and still names every part", () => {
    mkdirSync(join(home, "aaa"));
    for (let n = 0; n < 20; n += 1) writeFileSync(join(home, "aaa", `f${n}`), block(1));
    mkdirSync(join(home, "journal"));
    writeFileSync(join(home, "daemon.log"), block(3));
    const found = diskUse(home, 10);
    expect(found.isWhole).toBe(false);
    expect(found.parts.map(([name]) => name)).toContain("log");
    expect(diskUse(home, 1000).isWhole).toBe(true);
  });

  it("says that it is more than what was counted", () => {
    mkdirSync(join(home, "merges"));
    for (let n = 0; n <= 5_000; n += 1) writeFileSync(join(home, "merges", String(n)), "");
    expect(checkDiskUse(world).detail).toMatch(/takes more than /);
  });
});
