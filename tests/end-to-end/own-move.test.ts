/** kite move: an agent takes its own lines out of a checkout that others work in, into a worktree of its own. */

import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RestoreWorld } from "./restore-world.ts";

const world = new RestoreWorld();
beforeAll(() => world.start());
afterAll(() => world.dispose());

const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
const committed = { "a.txt": ten, "b.txt": "b\n", "src/c.txt": "c\n", "run.sh": "#!/bin/sh\n" };

function repository(name: string): string {
  return world.copy(name, committed, "git init -q -b main && git add -A && git commit -qm first");
}

interface Answer {
  readonly ok: boolean;
  readonly dir: string;
  readonly branch: string;
  readonly back: string | null;
  readonly files: readonly { readonly file: string; readonly is: string; readonly why: string | null }[];
}

async function moved(dir: string, session: string, ...words: string[]): Promise<Answer> {
  return (await world.json(dir, ["move", ...words], session)) as unknown as Answer;
}

function listOf(dir: string): readonly string[] {
  return world
    .git(dir, "worktree", "list", "--porcelain")
    .split("\n")
    .filter(line => line.startsWith("worktree "));
}

describe("kite move", () => {
  test("puts the caller's lines into a new worktree on a new branch, and leaves others' as they are", async () => {
    const dir = repository("lines");
    const anns = ten.replace("3\n", "ann\n");
    await world.write("v-ann", dir, "a.txt", anns);
    await world.write("v-bob", dir, "a.txt", anns.replace("9\n", "bob\n"));
    await world.write("v-bob", dir, "src/new.txt", "bob's\n");
    await world.line("v-bob", dir, "rm src/c.txt", () => rmSync(join(dir, "src/c.txt")));
    await world.write("v-ann", dir, "ann.txt", "ann's\n");
    world.git(dir, "add", "src/new.txt");
    const [head, branch] = [world.git(dir, "rev-parse", "HEAD"), world.git(dir, "symbolic-ref", "HEAD")];
    const { out, code } = await world.kite(dir, ["move"], "v-bob");
    const [, there = ""] = /Work there from now on: cd (.*)\n/.exec(out) ?? [];
    expect(code).toBe(0);
    expect(basename(there)).toBe("lines-kite-v-bob");
    expect(readFileSync(join(there, "a.txt"), "utf8")).toBe(ten.replace("9\n", "bob\n"));
    expect(readFileSync(join(there, "src/new.txt"), "utf8")).toBe("bob's\n");
    expect(world.git(there, "status", "--porcelain")).toBe(" M a.txt\n?? src/new.txt\n");
    expect(world.git(there, "rev-parse", "HEAD", "--abbrev-ref", "HEAD")).toBe(`${head}kite/v-bob\n`);
    expect(world.read(dir, "a.txt")).toBe(anns);
    expect(existsSync(join(dir, "src/new.txt"))).toBe(false);
    expect(world.git(dir, "status", "--porcelain")).toBe(" M a.txt\n D src/c.txt\n?? ann.txt\n");
    expect([world.git(dir, "rev-parse", "HEAD"), world.git(dir, "symbolic-ref", "HEAD")]).toEqual([
      head,
      branch,
    ]);
    const again = await world.kite(dir, ["move"], "v-bob");
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining(`cd ${there}\n`) });
    expect(listOf(dir)).toHaveLength(2);
  });

  test("takes the next free name, or the one that is given", async () => {
    const dir = repository("names");
    await world.write("n-ann", dir, "a.txt", ten.replace("1\n", "ann\n"));
    await world.write("n-bob", dir, "b.txt", "bob\n");
    world.git(dir, "branch", "kite/n-bob");
    expect(await moved(dir, "n-bob")).toMatchObject({ branch: "kite/n-bob-2" });
    await world.write("n-bob", dir, "b.txt", "bob again\n");
    const named = await moved(dir, "n-bob", "--branch", "fix/it");
    expect(named).toMatchObject({ ok: true, branch: "fix/it", files: [{ file: "b.txt", is: "moved" }] });
    expect(basename(named.dir)).toBe("names-fix-it");
    expect(await moved(dir, "n-bob", "--branch", "fix/it")).toMatchObject({ dir: named.dir, files: [] });
    await world.write("n-bob", dir, "b.txt", "bob once more\n");
    expect((await world.kite(dir, ["move", "--branch", "fix/it"], "n-bob")).err).toContain(
      "there is a branch fix/it",
    );
    expect((await world.kite(dir, ["move", "--branch", "a..b"], "n-bob")).err).toContain(
      "is no name of a branch",
    );
  });

  test("makes a worktree also for who has no uncommitted lines", async () => {
    const dir = repository("none");
    await world.write("e-ann", dir, "a.txt", ten.replace("1\n", "ann\n"));
    await world.agent("e-bob", dir);
    const { dir: there, files } = await moved(dir, "e-bob");
    expect(files).toEqual([]);
    expect(readFileSync(join(there, "a.txt"), "utf8")).toBe(ten);
  });

  test("moves modes and links, keeps what is mixed, and brings all back by one line", async () => {
    const dir = repository("kinds");
    const anns = ten.replace("3\n", "ann\n");
    await world.write("k-ann", dir, "a.txt", anns);
    await world.write("k-bob", dir, "a.txt", anns.replace("ann\n", "both\n").replace("8\n", "bob\n"));
    await world.write("k-bob", dir, "tool.sh", "#!/bin/sh\n");
    await world.line("k-bob", dir, "chmod +x tool.sh", () => chmodSync(join(dir, "tool.sh"), 0o755));
    await world.write("k-ann", dir, "b.txt", "ann\n");
    await world.write("k-bob", dir, ".env.local", "TOKEN=1\n");
    symlinkSync("a.txt", join(dir, "by hand"));
    const before = world.git(dir, "status", "--porcelain");
    const text = world.read(dir, "a.txt");
    const { out, code } = await world.kite(dir, ["move"], "k-bob");
    expect(code).toBe(1);
    expect(out).toMatch(/of a\.txt stays?: you and k-ann changed what the other wrote there\./);
    expect(out).toMatch(/\.env\.local stays as it is: Kite cannot keep what it has now/);
    expect(out).toMatch(/by hand stays as it is: Kite saw nobody write it\./);
    const [, there = ""] = /Work there from now on: cd (.*)\n/.exec(out) ?? [];
    expect(readFileSync(join(there, "a.txt"), "utf8")).toBe(ten.replace("8\n", "bob\n"));
    expect(statSync(join(there, "tool.sh")).mode & 0o111).toBe(0o111);
    expect(world.read(dir, "a.txt")).toBe(text.replace("bob\n", "8\n"));
    const [, line = ""] = /To have the lines back here as well: kite (.*)\n/.exec(out) ?? [];
    expect((await world.kite(dir, line.split(" "), "k-bob")).code).toBe(0);
    expect(world.git(dir, "status", "--porcelain")).toBe(before);
    expect(world.read(dir, "a.txt")).toBe(text);
  });

  test("two at once move each their own", async () => {
    const dir = repository("both");
    const anns = ten.replace("1\n", "ann\n");
    await world.write("t-ann", dir, "a.txt", anns);
    await world.write("t-bob", dir, "a.txt", anns.replace("10\n", "bob\n"));
    const [ann, bob] = await Promise.all(["t-ann", "t-bob"].map(one => moved(dir, one)));
    expect(readFileSync(join(ann?.dir ?? "", "a.txt"), "utf8")).toBe(anns);
    expect(readFileSync(join(bob?.dir ?? "", "a.txt"), "utf8")).toBe(ten.replace("10\n", "bob\n"));
    expect(world.read(dir, "a.txt")).toBe(ten);
    expect(world.git(dir, "status", "--porcelain")).toBe("");
  });

  test("a person names the agent", async () => {
    const dir = repository("person");
    await world.write("p-ann", dir, "a.txt", ten.replace("1\n", "ann\n"));
    await world.write("p-bob", dir, "b.txt", "bob\n");
    expect((await world.kite(dir, ["move"])).err).toContain("kite move --of NAME");
    expect((await world.kite(dir, ["move", "--of", "p-bob"])).err).toContain("--yes");
    const { out } = await world.kite(dir, ["move", "--of", "p-bob", "--yes"]);
    expect(out).toContain("on the new branch kite/p-bob");
    expect(world.git(dir, "status", "--porcelain")).toBe(" M a.txt\n");
    expect(readdirSync(join(dir, "..")).filter(name => name.startsWith("person-"))).toEqual([
      "person-kite-p-bob",
    ]);
  });
});
