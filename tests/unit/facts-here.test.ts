import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BudgetedFs, type Look } from "../../daemon/facts/filesystem.ts";
import { type Mount, nodeProber, nodeProberHere, type Prober } from "../../daemon/facts/prober.ts";
import { limits } from "../../protocol/limits.ts";

let top = "";

beforeAll(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "kite-here-")));
  mkdirSync(join(top, "share", "disk"), { recursive: true });
  mkdirSync(join(top, "plain"));
  symlinkSync(join(top, "plain"), join(top, "link"));
  for (const folder of ["share", "share/disk", "plain"]) writeFileSync(join(top, folder, "a.txt"), folder);
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

/** A filesystem with these mounts beside a local root, and the thread that each question to it ran in. */
function world(mounts: readonly Mount[] = []) {
  const mountsNow = () => [{ point: "/", local: true }, ...mounts];
  const table = async () => mountsNow();
  const asked: ("pool" | "here")[] = [];
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
    readSmall: noting("here", nodeProberHere.readSmall),
  };
  const fs = new BudgetedFs(pool, () => performance.now(), { here });
  const read = (path: string, how?: Look) =>
    fs.fact(budget => fs.look(path, null, budget, (prober, at) => prober.readSmall(at, 100), how));
  return { fs, asked, read };
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
