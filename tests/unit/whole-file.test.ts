import {
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { nodeProber } from "../../daemon/facts/prober.ts";
import { type WholeFile, wholeFile } from "../../daemon/facts/whole-file.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const dir = temporaryFolder("kite-whole-");
const bytesMax = 1024 * 1024;

/** In this thread, as on a local disk; and through the pool, as elsewhere. */
const ways = { here: new BudgetedFs(), pool: new BudgetedFs({ ...nodeProber }) };

async function read(way: keyof typeof ways, path: string): Promise<WholeFile> {
  const found = await wholeFile(ways[way], path, bytesMax);
  if ("unreachable" in found) throw new Error(found.unreachable);
  return found;
}

describe.each(["here", "pool"] as const)("a whole file, read %s", way => {
  test("has its bytes, permissions and stamp", async () => {
    const path = join(dir, `${way}-plain`);
    writeFileSync(path, "text\n", { mode: 0o640 });
    const found = await read(way, path);
    expect(found).toMatchObject({ is: "read", content: Buffer.from("text\n"), mode: 0o640 });
    writeFileSync(path, "");
    expect(await read(way, path)).toMatchObject({ is: "read", content: Buffer.alloc(0) });
  });

  test("is none if it is missing, a folder, a link, or below a link", async () => {
    const at = (name: string) => join(dir, `${way}-${name}`);
    writeFileSync(at("real"), "x");
    symlinkSync(at("real"), at("link"));
    mkdirSync(at("folder"));
    writeFileSync(join(at("folder"), "file"), "x");
    symlinkSync(at("folder"), at("linked-folder"));
    expect(await read(way, at("missing"))).toEqual({ is: "gone" });
    expect(await read(way, join(at("real"), "below"))).toEqual({ is: "gone" });
    expect(await read(way, at("folder"))).toEqual({ is: "other", what: "no regular file" });
    expect(await read(way, at("link"))).toEqual({ is: "other", what: "a link" });
    expect(await read(way, join(at("linked-folder"), "file"))).toEqual({ is: "other", what: "a link" });
    // A second name of the file is the file.
    linkSync(at("real"), at("hard"));
    expect(await read(way, at("hard"))).toMatchObject({ is: "read" });
  });

  test("is not read if it is longer than asked for", async () => {
    const path = join(dir, `${way}-long`);
    writeFileSync(path, "");
    truncateSync(path, bytesMax + 1);
    expect(await read(way, path)).toEqual({ is: "large", sizeBytes: bytesMax + 1 });
    truncateSync(path, bytesMax);
    expect(bytesMax).toBeGreaterThan(limits.readHereBytes);
    const found = await read(way, path);
    expect(found.is === "read" ? found.content.length : found).toBe(bytesMax);
  });

  test("is of one moment, whoever replaces or writes it meanwhile", async () => {
    const path = join(dir, `${way}-moving`);
    const contents = ["a", "b", "c"].map(letter => letter.repeat(500_000));
    writeFileSync(path, contents[0] ?? "");
    let isOver = false;
    let turns = 0;
    const replace = () => {
      if (isOver) return;
      const content = contents[turns % contents.length] ?? "";
      turns += 1;
      if (turns % 2 === 0) writeFileSync(path, content.slice(0, 400_000 + turns));
      else {
        writeFileSync(`${path}.new`, content);
        renameSync(`${path}.new`, path);
      }
      setImmediate(replace);
    };
    replace();
    const seen = new Set<string>();
    for (let n = 0; n < 60; n += 1) {
      const found = await read(way, path);
      seen.add(found.is);
      if (found.is === "read") {
        const [first = 0] = found.content;
        expect(found.content.every(byte => byte === first)).toBe(true);
      } else expect(found.is).toBe("changing");
    }
    isOver = true;
    expect(turns).toBeGreaterThan(10);
    expect([...seen].length).toBeGreaterThan(0);
    rmSync(path);
    expect(() => statSync(path)).toThrow("ENOENT");
  });
});
