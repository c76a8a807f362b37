/** A directory that was cached too long is walked to at once, with the result of the plain walk. */
import { existsSync, lstatSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { PathFacts } from "../../daemon/facts/paths.ts";
import { nodeProber, nodeProberHere, type Prober, type ProberHere } from "../../daemon/facts/prober.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const ext4 = 0xef53;
const rested = limits.directoryKeptMs + 1;
const turn = () => new Promise<void>(resolve => setImmediate(resolve));

const top = temporaryFolder("kite-renewed-");
let count = 0;

/** A directory of its own with `a/b` and `a/c` in it, on a local filesystem that may fold case. */
function world(foldsCase = false) {
  const dir = join(top, `w${count++}`);
  const folders = ["a", "a/b", "a/c"].map(folder => join(dir, folder));
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  for (const folder of folders) writeFileSync(join(folder, "f.ts"), folder);
  const spelled = (path: string) =>
    foldsCase && path.startsWith(`${dir}/`) ? dir + path.slice(dir.length).toLowerCase() : path;
  const looked: string[] = [];
  let now = 0;
  let mounts = [{ point: "/", local: true }];
  const same = { filesystem: async () => ext4, mounts: async () => mounts };
  const pool: Prober = { ...nodeProber, ...same, lstat: path => nodeProber.lstat(spelled(path)) };
  const here: ProberHere = {
    ...nodeProberHere,
    ...same,
    lstat: path => nodeProberHere.lstat(spelled(path)),
    mountsNow: () => mounts,
    lstatNow: path => {
      looked.push(path);
      return nodeProberHere.lstatNow(spelled(path));
    },
  };
  const facts = () =>
    new PathFacts({ outside: new BudgetedFs(pool, () => now, { here }), platform: "linux" });
  return {
    dir,
    looked,
    facts,
    pass: (ms: number) => {
      now += ms;
      return turn();
    },
    mount: (point: string) => {
      mounts = [...mounts, { point, local: false }];
    },
  };
}

/** What a change puts in place of a folder, or of what is there by then. */
const changes = ["nothing", "folder", "file", "a", "a/b", "d"] as const;
const folders = ["a", "a/b", "a/c", "d"] as const;

function change(dir: string, folder: string, into: (typeof changes)[number]): void {
  const path = join(dir, folder);
  // Links may lead in a circle.
  if (!existsSync(dirname(path)) || !statSync(dirname(path)).isDirectory()) return;
  rmSync(path, { recursive: true, force: true });
  if (into === "nothing") return;
  if (into === "file") writeFileSync(path, "");
  else if (into === "folder") mkdirSync(path);
  else symlinkSync(join(dir, into), path);
}

function stampOf(path: string): string | null {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.mtimeNs}-${stat.size}-${stat.ino}`;
}

describe("a directory that was cached too long", () => {
  test.each([false, true])(
    "is what the walk finds, whatever has changed (case is folded: %s)",
    async folds => {
      let answered = 0;
      const steps = fc.array(
        fc.record({
          folder: fc.constantFrom(...folders),
          into: fc.constantFrom(...changes),
          ms: fc.constantFrom(0, limits.directoryKeptMs / 2 + 1, rested),
        }),
        { minLength: 1, maxLength: 6 },
      );
      await fc.assert(
        fc.asyncProperty(steps, async taken => {
          const { dir, facts: make, pass } = world(folds);
          const facts = make();
          // Asked in the plain way alone.
          const plain = make();
          const files = [
            "a/f.ts",
            "a/b/f.ts",
            "a/b/New.ts",
            "a/c/f.ts",
            "d/f.ts",
            ...(folds ? ["A/B/F.ts"] : []),
          ];
          for (const file of files) await facts.resolve(dir, file);
          for (const { folder, into, ms } of taken) {
            change(dir, folder, into);
            await pass(ms);
            for (const file of files) {
              const found = facts.resolveNow(dir, file);
              const walked = await plain.resolve(dir, file);
              if (found === null) continue;
              expect(found, file).toEqual(walked);
              if (!folds)
                expect(facts.stampedNow(found.lexical, found.real)?.stamp).toBe(stampOf(found.real));
              if (ms === rested) answered += 1;
            }
            for (const file of files) await facts.resolve(dir, file);
          }
        }),
        { numRuns: 25 },
      );
      expect(answered).toBeGreaterThan(0);
    },
  );

  test("is looked at part by part, and needs no other look in that turn", async () => {
    const { dir, looked, facts: make, pass } = world();
    const facts = make();
    const before = await facts.resolve(dir, "a/b/f.ts");
    await pass(rested);
    looked.length = 0;
    expect(facts.resolveNow(dir, "a/b/f.ts")).toEqual(before);
    expect(looked.slice(-3)).toEqual([dir, `${dir}/a`, `${dir}/a/b`]);
    const count = looked.length;
    expect(facts.resolveNow(dir, "a/b/other.ts")).toMatchObject({ real: `${dir}/a/b/other.ts` });
    expect(looked).toHaveLength(count);
  });

  test("is not looked at if a filesystem that may hang was mounted on the way", async () => {
    const { dir, looked, facts: make, pass, mount } = world();
    const facts = make();
    await facts.resolve(dir, "a/b/f.ts");
    mount(`${dir}/a`);
    await pass(rested);
    looked.length = 0;
    expect(facts.resolveNow(dir, "a/b/f.ts")).toBeNull();
    expect(looked.filter(path => path.startsWith(`${dir}/a`))).toEqual([]);
  });

  test("is not followed through a link", async () => {
    const { dir, looked, facts: make, pass } = world();
    const facts = make();
    await facts.resolve(dir, "a/b/f.ts");
    change(dir, "a/b", "a");
    await pass(rested);
    looked.length = 0;
    expect(facts.resolveNow(dir, "a/b/f.ts")).toBeNull();
    expect(looked.at(-1)).toBe(`${dir}/a/b`);
    expect(await facts.resolve(dir, "a/b/f.ts")).toMatchObject({ real: `${dir}/a/f.ts` });
  });

  test("waits for the next turn if this one has no questions left", async () => {
    const { dir, facts: make, pass } = world();
    const facts = make();
    const names = Array.from({ length: limits.factsPerTurnMax }, (_, n) => `n${n}`);
    for (const name of names) {
      mkdirSync(join(dir, name));
      writeFileSync(join(dir, name, "f.ts"), "");
      await facts.resolve(dir, `${name}/f.ts`);
    }
    await pass(rested);
    const found = () => names.filter(name => facts.resolveNow(dir, `${name}/f.ts`) !== null).length;
    const first = found();
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(names.length);
  });
});
