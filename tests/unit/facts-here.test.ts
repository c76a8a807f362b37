import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { BudgetedFs, type Look } from "../../daemon/facts/filesystem.ts";
import { type Mount, nodeProber, nodeProberHere, type Prober } from "../../daemon/facts/prober.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

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
