/** A rescue store whose disk is full: nothing is lost that it named, nothing throws, and it goes on when there is room. */
import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Archive } from "../../daemon/rescue/archive.ts";
import { hashOf } from "../../daemon/rescue/contents.ts";
import type { Version } from "../../daemon/rescue/versions.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const disk = temporaryFolder("kite-full-");
const { PATH = "" } = process.env;
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", disk], {
  env: { PATH },
  stdio: "ignore",
});
const isMounted = mounted.status === 0;
afterAll(() => {
  if (isMounted) spawnSync("umount", ["-l", disk], { env: { PATH }, stdio: "ignore" });
});

/** Takes the room that is left, down to the last byte; without a disk of its own a file takes the place of the folder. */
function fill(): () => void {
  const objects = join(disk, "rescue", "objects");
  if (!isMounted) {
    renameSync(objects, `${objects}.aside`);
    writeFileSync(objects, "");
    return () => {
      rmSync(objects);
      renameSync(`${objects}.aside`, objects);
    };
  }
  const filler = join(disk, "filler");
  mkdirSync(filler);
  for (let n = 0; ; n += 1) {
    try {
      writeFileSync(join(filler, `${n}`), randomBytes(4_096));
    } catch {
      // Full.
      break;
    }
  }
  return () => rmSync(filler, { recursive: true });
}

async function start(troubles: string[]): Promise<Archive> {
  const archive = new Archive({
    dir: join(disk, "rescue"),
    wall: () => 1_000_000,
    dirtyPaths: () => new Set(),
    onTrouble: message => troubles.push(message),
  });
  await archive.open();
  return archive;
}

async function keep(archive: Archive, n: number, content: Buffer): Promise<Version | null> {
  const file = `file-${n}.ts`;
  const place = { path: `/w/${file}`, file, worktree: "/w", project: "/w", base: null, mode: 0o644 };
  const what = {
    by: null,
    tool: null,
    kind: "write",
    atMs: 1_000_000,
    added: 1,
    taken: 0,
    asSent: false,
  } as const;
  return (await archive.keep({ ...place, ...what }, content, await hashOf(content)))?.version ?? null;
}

test("what was named stays whole, and keeping goes on when there is room", async () => {
  const troubles: string[] = [];
  const archive = await start(troubles);
  const named: Version[] = [];
  for (let n = 0; n < 5; n += 1) {
    const version = await keep(archive, n, randomBytes(3_000));
    if (version !== null) named.push(version);
  }
  expect(named.length).toBe(5);
  const freed = fill();
  for (let n = 5; n < 30; n += 1) {
    // Some are so short that only the line does not fit.
    const version = await keep(archive, n, randomBytes(n % 2 === 0 ? 9_000 : 10));
    if (version !== null) named.push(version);
  }
  expect(troubles.length).toBeGreaterThan(0);
  expect(archive.trouble).toContain("could not be kept");
  freed();
  const again = await keep(archive, 99, Buffer.from("room again\n"));
  expect(again).not.toBeNull();
  expect(archive.trouble).toBeNull();
  await archive.close();
  const next = await start(troubles);
  for (const version of named) {
    const content = await next.contentOf(version);
    expect(content === null ? null : createHash("sha256").update(content).digest("hex")).toBe(version.hash);
    expect(next.versions.get(version.n)).toEqual(version);
  }
  expect([...next.versions.oldestFirst()].length).toBe(named.length + 1);
  // No half of a content stays behind.
  const left = readdirSync(join(disk, "rescue", "objects"));
  expect(left.filter(name => name.startsWith("new-"))).toEqual([]);
  expect(statSync(join(disk, "rescue", "index")).size).toBeGreaterThan(0);
  await next.close();
});
