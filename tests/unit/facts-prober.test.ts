/** Questions about files: the lanes in which they run, and files read as a whole. */
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { BudgetedFs, type Look } from "../../daemon/facts/filesystem.ts";
import { PathFacts } from "../../daemon/facts/paths.ts";
import {
  type Mount,
  NotHere,
  nodeProber,
  nodeProberHere,
  PerDeviceLimit,
  type Prober,
  type ProberHere,
} from "../../daemon/facts/prober.ts";
import { type WholeFile, wholeFile } from "../../daemon/facts/whole-file.ts";
import { WorkClock } from "../../daemon/facts/work-clock.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { FakeMachine, settled } from "./work-drive.ts";

describe("questions about files", () => {
  const top = temporaryFolder("kite-here-");

  beforeAll(() => {
    mkdirSync(join(top, "share", "disk"), { recursive: true });
    mkdirSync(join(top, "plain"));
    symlinkSync(join(top, "plain"), join(top, "link"));
    for (const folder of ["share", "share/disk", "plain"]) writeFileSync(join(top, folder, "a.txt"), folder);
  });

  /**
   * A filesystem with these mounts beside a local root, the thread that each question to it ran in, and the paths (below
   * `top`) that were looked at for links.
   */
  function world(mounts: readonly Mount[] = []) {
    const mountsNow = () => [{ point: "/", local: true }, ...mounts];
    const table = async () => mountsNow();
    const asked: ("pool" | "here")[] = [];
    const looked: string[] = [];
    const noting =
      <A extends readonly unknown[], T>(thread: "pool" | "here", probe: (...args: A) => Promise<T>) =>
      (...args: A) => {
        asked.push(thread);
        return probe(...args);
      };
    const pool = {
      ...nodeProber,
      mounts: table,
      lstat: noting("pool", nodeProber.lstat),
      readSmall: noting("pool", nodeProber.readSmall),
      names: noting("pool", nodeProber.names),
    };
    const here = {
      ...nodeProberHere,
      mounts: table,
      mountsNow,
      lstat: noting("here", nodeProberHere.lstat),
      lstatNow: (path: string) => {
        looked.push(path.slice(top.length + 1));
        return nodeProberHere.lstatNow(path);
      },
      readSmall: noting("here", nodeProberHere.readSmall),
    };
    const fs = new BudgetedFs(pool, () => performance.now(), { here });
    const read = (path: string, how?: Look) =>
      fs.fact(budget => fs.look(path, null, budget, (prober, at) => prober.readSmall(at, 100), how));
    return { fs, asked, looked, read };
  }

  describe("a question about a file", () => {
    test("on a local filesystem is asked in this thread", async () => {
      const { asked, read } = world();
      expect(await read(join(top, "plain", "a.txt"))).toBe("plain");
      expect(await read(join(top, "plain", "none.txt"))).toBeNull();
      expect(asked).toEqual(["here", "here"]);
    });

    test("on another one is left to the pool", async () => {
      const { asked, read } = world([{ point: join(top, "share"), local: false }]);
      expect(await read(join(top, "share", "a.txt"))).toBe("share");
      expect(asked).toEqual(["pool"]);
    });

    test("on a local disk that is mounted below another one is left to the pool: the way to it may hang", async () => {
      const { asked, read } = world([
        { point: join(top, "share"), local: false },
        { point: join(top, "share", "disk"), local: true },
      ]);
      expect(await read(join(top, "share", "disk", "a.txt"))).toBe("share/disk");
      expect(asked).toEqual(["pool"]);
    });

    test("that a link may lead elsewhere is asked here only if the path has none", async () => {
      const { asked, read } = world();
      const how = { maybeElsewhere: true };
      expect(await read(join(top, "plain", "a.txt"), how)).toBe("plain");
      expect(await read(join(top, "link", "a.txt"), how)).toBe("plain");
      expect(await read(join(top, "link", "none.txt"), how)).toBeNull();
      expect(asked).toEqual(["here", "pool", "pool"]);
    });

    test("looks at the directories above the file once a turn", async () => {
      const { asked, looked, read } = world();
      const how = { maybeElsewhere: true };
      expect(await read(join(top, "plain", "a.txt"), how)).toBe("plain");
      looked.length = 0;
      asked.length = 0;
      expect(await read(join(top, "plain", "a.txt"), how)).toBe("plain");
      expect(await read(join(top, "plain", "none", "b.txt"), how)).toBeNull();
      expect(await read(join(top, "plain", "a.txt", "b.txt"), how)).toBeNull();
      expect(looked).toEqual(["plain/a.txt", "plain/none", "plain/a.txt"]);
      // What is known to be missing is no question.
      expect(asked).toEqual(["here"]);
    });

    test("sees in the next turn that a directory became a link", async () => {
      const { asked, read } = world();
      const folder = join(top, "was-plain");
      mkdirSync(folder);
      writeFileSync(join(folder, "a.txt"), "here");
      expect(await read(join(folder, "a.txt"), { maybeElsewhere: true })).toBe("here");
      rmSync(folder, { recursive: true });
      symlinkSync(join(top, "plain"), folder);
      await new Promise<void>(resolve => setImmediate(resolve));
      expect(await read(join(folder, "a.txt"), { maybeElsewhere: true })).toBe("plain");
      expect(asked).toEqual(["here", "pool"]);
    });

    test("that may take long is left to the pool", async () => {
      const { fs, asked } = world();
      const names = await fs.fact(budget =>
        fs.look(join(top, "plain"), null, budget, (prober, at) => prober.names(at, 10)),
      );
      expect(names).toEqual(["a.txt"]);
      expect(asked).toEqual(["pool"]);
    });
  });

  test("a table of mounts is read at once, and is the same one until it changes", async () => {
    const first = nodeProberHere.mountsNow();
    expect(first).toEqual(await nodeProber.mounts());
    expect(nodeProberHere.mountsNow()).toBe(first);
  });

  test("a mount is noticed when the table is too old", async () => {
    let now = 0;
    let mounts = [{ point: "/", local: true }];
    const asked: string[] = [];
    const pool: Prober = {
      ...nodeProber,
      lstat: path => {
        asked.push(path);
        return nodeProber.lstat(path);
      },
    };
    const here = { ...nodeProberHere, mountsNow: () => mounts };
    const fs = new BudgetedFs(pool, () => now, { here });
    const file = join(top, "share", "a.txt");
    const look = () => fs.fact(budget => fs.look(file, null, budget, (prober, at) => prober.lstat(at)));
    await look();
    mounts = [...mounts, { point: join(top, "share"), local: false }];
    now += limits.mountsKeptMs - 1;
    await look();
    expect(asked).toEqual([]);
    now += 1;
    await look();
    expect(asked).toEqual([file]);
  });

  test("so many in one turn are asked here, the next one lets other work in, and then they are again", async () => {
    const { fs, asked, read } = world();
    await read(join(top, "plain", "a.txt"));
    await new Promise<void>(resolve => setImmediate(resolve));
    asked.length = 0;
    await fs.fact(async budget => {
      for (let n = 0; n <= limits.factsPerTurnMax; n += 1)
        await fs.look(join(top, "plain"), null, budget, (prober, at) => prober.lstat(at));
    });
    expect(asked.filter(thread => thread === "pool")).toHaveLength(1);
    expect(asked.at(-1)).toBe("pool");
    await new Promise<void>(resolve => setImmediate(resolve));
    await read(join(top, "plain", "a.txt"));
    expect(asked.at(-1)).toBe("here");
  });
});

const budgetMs = 10 * limits.workBeatMs;
const longMs = 1_000_000;
const never = () => new Promise<never>(() => {});

/** A probe that ends when told to. */
function held() {
  let finish: (value: string) => void = () => {};
  const answer = new Promise<string>(resolve => {
    finish = resolve;
  });
  let started = false;
  const ask = () => {
    started = true;
    return answer;
  };
  return { ask, finish, started: () => started };
}

function world(max: number) {
  const machine = new FakeMachine();
  const lanes = new PerDeviceLimit(max, new WorkClock(machine));
  const run = <T>(name: string, ask: () => Promise<T>, askNow: (() => Promise<T>) | null = null) =>
    lanes.run(name, { ask, askNow, budgetMs, until: longMs });
  return { machine, lanes, run };
}

describe("lanes", () => {
  test("run so many at once, the others in order", async () => {
    const { run } = world(2);
    const probes = [held(), held(), held()] as const;
    const all = probes.map(p => run("disk", p.ask));
    expect(probes.map(p => p.started())).toEqual([true, true, false]);
    probes[1].finish("second");
    expect(await all[1]).toMatchObject({ late: false, value: "second" });
    expect(probes[2].started()).toBe(true);
    probes[0].finish("first");
    probes[2].finish("third");
    expect(await Promise.all(all)).toMatchObject([
      { value: "first" },
      { value: "second" },
      { value: "third" },
    ]);
  });

  test("do not stop one another", async () => {
    const { machine, run } = world(1);
    const stuck = run("hung", never);
    expect(await run("disk", async () => 7)).toMatchObject({ value: 7 });
    await machine.work(budgetMs);
    expect(await stuck).toEqual({ late: true });
  });

  test("that are stuck say so at once, to those who wait and to those who come", async () => {
    const { machine, run } = world(1);
    const first = held();
    const stuck = run("hung", first.ask);
    const waiting = run("hung", async () => "late");
    await machine.work(budgetMs);
    expect(await stuck).toEqual({ late: true });
    expect(await waiting).toEqual({ late: true });
    expect(await run("hung", async () => "come")).toEqual({ late: true });
    first.finish("at last");
    await settled();
    expect(await run("hung", async () => "again")).toMatchObject({ value: "again" });
  });

  test("come back place by place", async () => {
    const { machine, run } = world(2);
    const [first, second] = [held(), held()];
    const both = [run("slow", first.ask), run("slow", second.ask)];
    await machine.work(budgetMs);
    expect(await Promise.all(both)).toEqual([{ late: true }, { late: true }]);
    first.finish("at last");
    await settled();
    expect(await run("slow", async () => "again")).toMatchObject({ value: "again" });
    second.finish("at last");
  });

  test("pass errors on and go on", async () => {
    const { run } = world(1);
    const failing = run("disk", () => Promise.reject(new Error("no")));
    const next = run("disk", async () => "yes");
    await expect(failing).rejects.toThrow("no");
    expect(await next).toMatchObject({ value: "yes" });
  });

  test("begin nothing without a budget", async () => {
    const { lanes } = world(1);
    let begun = false;
    const ask = async () => {
      begun = true;
    };
    expect(await lanes.run("disk", { ask, askNow: null, budgetMs: 0, until: longMs })).toEqual({
      late: true,
    });
    expect(await lanes.run("disk", { ask, askNow: null, budgetMs, until: 0 })).toEqual({ late: true });
    expect(begun).toBe(false);
  });
});

describe("where the process gets no processor", () => {
  test("a probe is not late, and its lane not stuck, however long that lasts", async () => {
    const { machine, run } = world(1);
    const probe = held();
    const probed = run("disk", probe.ask);
    for (let n = 0; n < 5; n += 1) await machine.stall(budgetMs);
    machine.isPoolStarved = true;
    await machine.work(10 * budgetMs);
    probe.finish("there");
    expect(await probed).toMatchObject({ late: false, value: "there" });
    expect(await run("disk", async () => "next")).toMatchObject({ value: "next" });
  });

  test("it is late all the same when all its time is over", async () => {
    const { machine, run } = world(1);
    const probed = run("disk", never);
    await machine.stall(longMs);
    expect(await probed).toEqual({ late: true });
  });

  test("what is asked for in the pool is asked here, also what waits for a place", async () => {
    const { machine, run } = world(1);
    machine.isPoolStarved = true;
    const [first, second] = [held(), held()];
    const probed = [
      run("disk", first.ask, async () => "here"),
      run("disk", second.ask, async () => "here too"),
    ];
    await machine.work(4 * limits.workBeatMs);
    expect(await Promise.all(probed)).toMatchObject([{ value: "here" }, { value: "here too" }]);
    expect(second.started()).toBe(false);
    first.finish("too late to matter");
    await settled();
    expect(await run("disk", async () => "next")).toMatchObject({ value: "next" });
  });

  test("what comes next is asked here at once, until a processor is free again", async () => {
    const { machine, run } = world(2);
    machine.isPoolStarved = true;
    const first = held();
    const probed = run("disk", first.ask, async () => "here");
    await machine.work(4 * limits.workBeatMs);
    expect(await probed).toMatchObject({ value: "here" });
    const second = held();
    expect(await run("disk", second.ask, async () => "here at once")).toMatchObject({
      value: "here at once",
    });
    expect(second.started()).toBe(false);
    const link = run("disk", second.ask, () => Promise.reject(new NotHere("a link")));
    second.finish("from the pool");
    expect(await link).toMatchObject({ value: "from the pool" });
    machine.isPoolStarved = false;
    await machine.work(limits.starvedMs + limits.workBeatMs);
    first.finish("late");
    await settled();
    expect(
      await run(
        "disk",
        async () => "pool",
        async () => "here",
      ),
    ).toMatchObject({ value: "pool" });
  });

  test("an error found here is an answer; what may not be asked here waits for the pool", async () => {
    const { machine, run } = world(2);
    machine.isPoolStarved = true;
    const failing = run("disk", never, () => Promise.reject(new Error("no")));
    const caught = expect(failing).rejects.toThrow("no");
    const probe = held();
    const waiting = run("disk", probe.ask, () => Promise.reject(new NotHere("a link")));
    await machine.work(4 * limits.workBeatMs);
    await caught;
    probe.finish("from the pool");
    expect(await waiting).toMatchObject({ value: "from the pool" });
  });

  test("nothing is asked here while the pool answers", async () => {
    const { machine, run } = world(1);
    let asked = 0;
    const probe = held();
    const probed = run("slow", probe.ask, async () => {
      asked += 1;
      return "here";
    });
    await machine.work(budgetMs - limits.workBeatMs);
    probe.finish("slow");
    expect(await probed).toMatchObject({ value: "slow" });
    expect(asked).toBe(0);
  });
});

// A directory that was cached too long is walked to at once, with the result of the plain walk.
describe("a directory that was cached too long", () => {
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
});

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
