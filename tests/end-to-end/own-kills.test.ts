/** kite undo --all and kite move, killed at what one sees of them on the disk: sent again they finish, and nothing is lost. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RestoreWorld } from "./restore-world.ts";

const world = new RestoreWorld();
beforeAll(() => world.start());
afterAll(() => world.dispose());

const names = Array.from({ length: 4 }, (_, i) => `f${i}.txt`);
const committed = Object.fromEntries(names.map(name => [name, `${name}\nmiddle\nend\n`]));
const anns = (name: string) => `ann in ${name}\nmiddle\nend\n`;
const both = (name: string) => `ann in ${name}\nmiddle\nbob in ${name}\n`;
const bobs = (name: string) => `${name}\nmiddle\nbob in ${name}\n`;

/** In each file both have a line; bob has a new file, and has staged it and one of the others. */
async function scene(name: string): Promise<{ dir: string; ann: string; bob: string }> {
  const dir = world.copy(name, committed, "git init -q -b main && git add -A && git commit -qm first");
  const [ann, bob] = [`${name}-ann`, `${name}-bob`];
  for (const file of names) {
    await world.write(ann, dir, file, anns(file));
    await world.write(bob, dir, file, both(file));
  }
  await world.write(bob, dir, "new.txt", "bob's new\n");
  world.git(dir, "add", "new.txt");
  return { dir, ann, bob };
}

function text(dir: string, file: string): string | null {
  const path = join(dir, file);
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

/** Starts a command and kills it as soon as it has done what `isDone` sees; returns whether it was killed before its end. */
async function killed(
  dir: string,
  session: string,
  words: readonly string[],
  isDone: () => boolean,
): Promise<boolean> {
  const child = world.startKite(dir, words, session);
  child.stdout.resume();
  child.stderr.resume();
  let isOver = false;
  const over = new Promise<void>(resolve =>
    child.once("close", () => {
      isOver = true;
      resolve();
    }),
  );
  while (!isOver && !isDone()) await turn();
  const isFirst = !isOver;
  child.kill("SIGKILL");
  await over;
  return isFirst;
}

/** Nothing of git's or of Kite's is left beside the files. */
function leftovers(dir: string): readonly string[] {
  const files = world.git(dir, "status", "--porcelain", "--untracked-files=all").split("\n");
  return files.filter(line => line.includes(".kite-"));
}

describe("kite undo --all, killed", () => {
  test.each([0, 3])("when file %d is taken back", async n => {
    const { dir, ann, bob } = await scene(`u${n}`);
    const wasKilled = await killed(
      dir,
      bob,
      ["undo", "--all"],
      () => text(dir, names[n] ?? "") === anns(names[n] ?? ""),
    );
    expect(wasKilled).toBe(true);
    for (const name of names) expect([anns(name), both(name)]).toContain(text(dir, name));
    const { out, code } = await world.kite(dir, ["undo", "--all"], bob);
    expect(code).toBe(0);
    expect(names.map(name => text(dir, name))).toEqual(names.map(anns));
    expect(text(dir, "new.txt")).toBe(null);
    expect(world.git(dir, "diff", "--cached", "--name-only")).toBe("");
    expect(leftovers(dir)).toEqual([]);
    // The one line brings back what both calls took.
    const [, line = ""] = /To have them back: kite (.*)\n/.exec(out) ?? [];
    expect((await world.kite(dir, line.split(" "), bob)).code).toBe(0);
    expect(names.map(name => text(dir, name))).toEqual(names.map(both));
    expect(text(dir, "new.txt")).toBe("bob's new\n");
    expect(world.git(dir, "diff", "--cached", "--name-only")).toBe("new.txt\n");
    await world.write(ann, dir, "after.txt", "ann goes on\n");
  });

  test("before the index has what is left, which the same line makes good", async () => {
    const { dir, bob } = await scene("ui");
    await killed(dir, bob, ["undo", "--all"], () => text(dir, "new.txt") === null);
    expect((await world.kite(dir, ["undo", "--all"], bob)).code).toBe(0);
    expect(world.git(dir, "diff", "--cached", "--name-only")).toBe("");
    expect(world.git(dir, "ls-files", "new.txt")).toBe("");
  });
});

describe("kite move, killed", () => {
  test.each([-2, -1, 1])("at step %d", async n => {
    const { dir, bob } = await scene(`m${n + 2}`);
    const there = `${dir}-kite-m${n + 2}-bob`;
    const steps: Readonly<Record<number, () => boolean>> = {
      [-2]: () => existsSync(there),
      [-1]: () => text(there, "f0.txt") !== null,
    };
    const isDone = steps[n] ?? (() => text(dir, names[n] ?? "") === anns(names[n] ?? ""));
    expect(await killed(dir, bob, ["move"], isDone)).toBe(true);
    // Each line is in one of the two.
    for (const name of names) {
      const isHere = text(dir, name) === both(name);
      expect(isHere || (text(dir, name) === anns(name) && text(there, name) === bobs(name))).toBe(true);
    }
    expect(text(dir, "new.txt") ?? text(there, "new.txt")).toBe("bob's new\n");
    const { out, code } = await world.kite(dir, ["move"], bob);
    expect([code, out]).toEqual([0, expect.stringContaining(`cd ${there}\n`)]);
    expect(names.map(name => text(dir, name))).toEqual(names.map(anns));
    expect(names.map(name => text(there, name))).toEqual(names.map(bobs));
    expect([text(dir, "new.txt"), text(there, "new.txt")]).toEqual([null, "bob's new\n"]);
    expect(world.git(dir, "diff", "--cached", "--name-only")).toBe("");
    expect(world.git(there, "status", "--porcelain").split("\n").sort().join("\n")).toBe(
      ["", ...names.map(name => ` M ${name}`), "?? new.txt"].sort().join("\n"),
    );
    expect(leftovers(dir)).toEqual([]);
    expect(world.git(dir, "worktree", "list").trim().split("\n")).toHaveLength(2);
    expect(world.git(dir, "branch", "--list", "kite/*").trim().split("\n")).toHaveLength(1);
  });
});
