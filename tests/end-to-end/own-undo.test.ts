/** kite undo --all: an agent takes its own lines back in a checkout that others work in. */

import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { WriteRow } from "../../protocol/work.ts";
import { RestoreWorld } from "./restore-world.ts";

const world = new RestoreWorld();
beforeAll(() => world.start());
afterAll(() => world.dispose());

const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
const committed = {
  "a.txt": ten,
  "b.txt": "b\n",
  "src/c.txt": "c\n",
  "run.sh": "#!/bin/sh\n",
  "old name.txt": "renamed\nlines\nof\ntext\n",
};

function repository(name: string): string {
  return world.copy(name, committed, "git init -q -b main && git add -A && git commit -qm first");
}

/** All files but git's own, byte by byte, with modes and links. Git has no empty folders. */
function treeOf(dir: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(dir.length + 1);
    if (name === ".git" || name.startsWith(".git/")) continue;
    if (entry.isSymbolicLink()) found[name] = `link ${readlinkSync(path)}`;
    if (entry.isFile()) found[name] = `${statSync(path).mode & 0o777} ${readFileSync(path, "latin1")}`;
  }
  return found;
}

/** The index and the refs. */
function gitOf(dir: string): string {
  return [
    world.git(dir, "ls-files", "--stage"),
    world.git(dir, "for-each-ref"),
    world.git(dir, "rev-parse", "HEAD"),
  ].join();
}

interface Answer {
  readonly ok: boolean;
  readonly undo: string | null;
  readonly back: string | null;
  readonly files: readonly {
    readonly file: string;
    readonly is: string;
    readonly why: string | null;
    readonly mixed: readonly { readonly who: readonly string[]; readonly lines: number | null }[];
  }[];
}

async function undone(dir: string, session: string, ...words: string[]): Promise<Answer> {
  return (await world.json(dir, ["undo", "--all", ...words], session)) as unknown as Answer;
}

describe("kite undo --all", () => {
  test("leaves others' lines where the file had at first what was committed later", async () => {
    const dir = repository("early");
    const bobs = ten.replace("3\n", "bob\n");
    const cyds = bobs.replace("1\n", "cyd\n");
    await world.write("e-bob", dir, "a.txt", bobs);
    await world.write("e-cyd", dir, "a.txt", cyds);
    await world.write("e-dan", dir, "a.txt", cyds.replace("7\n", "dan\n"));
    expect((await world.kite(dir, ["commit", "-m", "bob's", "a.txt"], "e-bob")).code).toBe(0);
    await undone(dir, "e-cyd");
    expect(world.read(dir, "a.txt")).toBe(bobs.replace("7\n", "dan\n"));
    await undone(dir, "e-cyd");
    expect(world.read(dir, "a.txt")).toBe(bobs.replace("7\n", "dan\n"));
  });

  test("takes the caller's lines alone, of a file that two write, and brings them back by its one line", async () => {
    const dir = repository("lines");
    const anns = ten.replace("3\n", "ann\n");
    await world.write("l-ann", dir, "a.txt", anns);
    await world.write("l-bob", dir, "a.txt", anns.replace("4\n", "bob\n").replace("10\n", "10\nbob's end\n"));
    await world.write("l-bob", dir, "b.txt", "bob's b\n");
    await world.write("l-bob", dir, "src/new/bob.txt", "bob's new\n");
    await world.write("l-ann", dir, "ann.txt", "ann's new\n");
    const [before, index] = [treeOf(dir), gitOf(dir)];
    const { out, code } = await world.kite(dir, ["undo", "--all"], "l-bob");
    expect(code).toBe(0);
    expect(world.read(dir, "a.txt")).toBe(anns);
    expect(world.read(dir, "b.txt")).toBe("b\n");
    expect(existsSync(join(dir, "src/new"))).toBe(false);
    expect(world.read(dir, "ann.txt")).toBe("ann's new\n");
    expect(gitOf(dir)).toBe(index);
    const [, line = ""] = /To have them back: kite (.*)\n/.exec(out) ?? [];
    expect(line).toMatch(/^undo --all --back u-\d+$/);
    // Brought back by another one, they would count as that one's.
    const after = treeOf(dir);
    const other = await world.kite(dir, line.split(" "), "l-ann");
    expect([other.code, treeOf(dir)]).toEqual([1, after]);
    expect((await world.kite(dir, line.split(" "), "l-bob")).code).toBe(0);
    expect(treeOf(dir)).toEqual(before);
    expect(gitOf(dir)).toBe(index);
  });

  test("leaves the caller no writer of what it took back, and others free to wipe their own", async () => {
    const dir = repository("writers");
    const anns = ten.replace("3\n", "ann\n");
    await world.write("w-ann", dir, "a.txt", anns);
    await world.write("w-bob", dir, "a.txt", anns.replace("9\n", "bob\n"));
    await undone(dir, "w-bob");
    const rows = await world.rows<WriteRow>("writes");
    const writers = rows
      .filter(({ worktree }) => worktree === dir)
      .map(row => row.writers.map(({ id }) => id));
    expect(writers).toEqual([["w-ann"]]);
    const wipe = () => world.git(dir, "checkout", "--", "a.txt");
    expect(await world.line("w-ann", dir, "git checkout -- a.txt", wipe)).not.toContain("did not run");
    expect(world.read(dir, "a.txt")).toBe(ten);
  });

  test("what it took stays taken if it is sent again, which says what was done", async () => {
    const dir = repository("again");
    await world.write("g-ann", dir, "a.txt", ten.replace("1\n", "ann\n"));
    await world.write("g-bob", dir, "b.txt", "bob\n");
    const first = await undone(dir, "g-bob");
    expect(first.files.map(({ file, is }) => [file, is])).toEqual([["b.txt", "taken"]]);
    const tree = treeOf(dir);
    const again = await world.kite(dir, ["undo", "--all"], "g-bob");
    expect(again).toMatchObject({ code: 0 });
    expect(again.out).toContain(`to have them back: ${first.back}`);
    expect(treeOf(dir)).toEqual(tree);
  });

  test("takes new files, deleted ones, modes, renames and links, and what is staged of them", async () => {
    const dir = repository("kinds");
    const tree = treeOf(dir);
    const index = gitOf(dir);
    await world.write("k-ann", dir, "b.txt", "ann\n");
    const line = (command: string, does: () => void) => world.line("k-bob", dir, command, does);
    await line("rm src/c.txt", () => rmSync(join(dir, "src/c.txt")));
    await line("chmod +x run.sh", () => chmodSync(join(dir, "run.sh"), 0o755));
    await line("git mv 'old name.txt' 'new name.txt'", () =>
      world.git(dir, "mv", "old name.txt", "new name.txt"),
    );
    await line("ln -s b.txt link", () => symlinkSync("b.txt", join(dir, "link")));
    await line("cp x bytes.bin", () => writeFileSync(join(dir, "bytes.bin"), Buffer.from([0, 1, 2, 255])));
    await world.write("k-bob", dir, "deep/er/new.txt", "new\n");
    world.git(dir, "add", "new name.txt", "link", "deep", "src");
    const [before, staged] = [treeOf(dir), gitOf(dir)];
    const shell = ["bytes.bin", "link", "new name.txt", "run.sh", "src/c.txt"];
    // Kite does not see all that a shell line writes: what may be anybody's stays unless it is named.
    const dry = await undone(dir, "k-bob", "--dry-run");
    expect(dry.files.filter(({ is }) => is === "left").map(({ file }) => file)).toEqual(shell);
    const { files, back } = await undone(dir, "k-bob", ".", ...shell);
    expect(files.filter(({ is }) => is !== "taken")).toEqual([]);
    expect(treeOf(dir)).toEqual({ ...tree, "b.txt": before["b.txt"] });
    expect(gitOf(dir)).toBe(index);
    expect(await world.kite(dir, (back ?? "").split(" ").slice(1), "k-bob")).toMatchObject({ code: 0 });
    expect(treeOf(dir)).toEqual(before);
    expect(lstatSync(join(dir, "link")).isSymbolicLink()).toBe(true);
    expect(gitOf(dir)).toBe(staged);
  });

  test("takes only what the paths name, from where it is typed", async () => {
    const dir = repository("paths");
    await world.write("p-ann", dir, "a.txt", ten.replace("1\n", "ann\n"));
    await world.write("p-bob", dir, "b.txt", "bob\n");
    await world.write("p-bob", dir, "src/c.txt", "bob\n");
    await world.write("p-bob", dir, "src/d.txt", "bob\n");
    expect((await undone(join(dir, "src"), "p-bob", "c.*")).files.map(({ file }) => file)).toEqual([
      "src/c.txt",
    ]);
    expect((await undone(dir, "p-bob", "src")).files.map(({ file }) => file)).toEqual(["src/d.txt"]);
    expect(world.read(dir, "b.txt")).toBe("bob\n");
  });

  test("what is mixed stays, and is named with who", async () => {
    const dir = repository("mixed");
    const anns = ten.replace("3\n", "ann\n");
    await world.write("m-ann", dir, "a.txt", anns);
    const bobs = anns.replace("ann\n", "ann, said bob\n").replace("9\n", "bob\n");
    await world.write("m-bob", dir, "a.txt", bobs);
    const { out, code } = await world.kite(dir, ["undo", "--all"], "m-bob");
    expect(code).toBe(0);
    expect(world.read(dir, "a.txt")).toBe(bobs.replace("bob\n10", "9\n10"));
    expect(out).toMatch(/of a\.txt stays?: you and m-ann changed what the other wrote there/);
  });

  test("what cannot be kept first stays, and says why", async () => {
    const dir = repository("unkept");
    await world.write("u-ann", dir, "a.txt", ten.replace("3\n", "ann\n"));
    await world.write("u-bob", dir, ".env.local", "TOKEN=1\n");
    await world.write("u-bob", dir, "b.txt", "bob\n");
    const { out, code } = await world.kite(dir, ["undo", "--all"], "u-bob");
    expect(code).toBe(1);
    expect(out).toContain(
      ".env.local stays as it is: Kite cannot keep what it has now (files of this name hold secrets).",
    );
    expect(world.read(dir, ".env.local")).toBe("TOKEN=1\n");
    expect(world.read(dir, "b.txt")).toBe("b\n");
  });

  test("--dry-run changes nothing and shows what it would", async () => {
    const dir = repository("dry");
    await world.write("d-bob", dir, "b.txt", "bob\n");
    const tree = treeOf(dir);
    const { out } = await world.kite(dir, ["undo", "--all", "--dry-run"], "d-bob");
    expect(out).toMatch(/-bob\n.*\+b\n/);
    expect(treeOf(dir)).toEqual(tree);
  });

  test("a person names the agent", async () => {
    const dir = repository("person");
    await world.write("q-ann", dir, "a.txt", ten.replace("1\n", "ann\n"));
    await world.write("q-bob", dir, "b.txt", "bob\n");
    expect((await world.kite(dir, ["undo", "--all"])).err).toContain("kite undo --all --of NAME");
    expect((await world.kite(dir, ["undo", "--all", "--of", "q-bob"])).err).toContain("--yes");
    expect(world.read(dir, "b.txt")).toBe("bob\n");
    const { code, out } = await world.kite(dir, ["undo", "--all", "--of", "q-bob", "--yes"]);
    expect([code, world.read(dir, "b.txt")]).toEqual([0, "b\n"]);
    expect(world.read(dir, "a.txt")).toBe(ten.replace("1\n", "ann\n"));
    const [, line = ""] = /To have them back: kite (.*)\n/.exec(out) ?? [];
    expect((await world.kite(dir, line.split(" "))).code).toBe(0);
    expect(world.read(dir, "b.txt")).toBe("bob\n");
  });

  test("comes back by a merge where others wrote since", async () => {
    const dir = repository("since");
    await world.write("s-bob", dir, "a.txt", ten.replace("9\n", "bob\n"));
    const { back } = await undone(dir, "s-bob");
    await world.write("s-ann", dir, "a.txt", ten.replace("1\n", "ann\n"));
    expect((await world.kite(dir, (back ?? "").split(" ").slice(1), "s-bob")).code).toBe(0);
    expect(world.read(dir, "a.txt")).toBe(ten.replace("1\n", "ann\n").replace("9\n", "bob\n"));
  });

  test("two at once take each their own", async () => {
    const dir = repository("both");
    const anns = ten.replace("1\n", "ann\n");
    await world.write("t-ann", dir, "a.txt", anns);
    await world.write("t-bob", dir, "a.txt", anns.replace("10\n", "bob\n"));
    const both = await Promise.all(["t-ann", "t-bob"].map(one => undone(dir, one, "--wait", "10")));
    expect(both.map(({ files }) => files.map(({ is, why }) => [is, why]))).toEqual([
      [["taken", null]],
      [["taken", null]],
    ]);
    expect(world.read(dir, "a.txt")).toBe(ten);
  });
});

test("the guard does not hold kite's own forms, and one that is alone is told nothing", async () => {
  const dir = repository("alone");
  await world.write("a-bob", dir, "b.txt", "bob\n");
  for (const line of ["kite undo --all", "kite try -- npm test", "kite move", "kite undo --all --back u-1"])
    expect(await world.line("a-bob", dir, line, () => undefined)).toBe("");
  expect((await undone(dir, "a-bob")).files.map(({ file, is }) => [file, is])).toEqual([["b.txt", "taken"]]);
  expect(world.git(dir, "status", "--porcelain")).toBe("");
  expect(await world.json(dir, ["undo", "--all", "nowhere.txt"], "a-bob")).toMatchObject({
    ok: false,
    code: "nothing_to_undo",
  });
});
