/** kite history, kite diff and kite undo, as people and agents use them. */
import {
  chmodSync,
  existsSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { frame } from "../../protocol/text.ts";
import { RestoreWorld } from "./restore-world.ts";

const world = new RestoreWorld();
beforeAll(() => world.start());
afterAll(() => world.dispose());

const lines = (...all: string[]) => `${all.join("\n")}\n`;
const ten = lines("1", "2", "3", "4", "5", "6", "7", "8", "9", "10");

/** A repository with one file of ten lines. */
function tenLines(name: string): string {
  return world.copy(name, { "a.txt": ten }, "git init -q -b main && git add -A && git commit -qm first");
}

describe("kite history", () => {
  test("lists who wrote what when, with line counts, for what is not committed", async () => {
    const dir = tenLines("history");
    await world.write("h-ann", dir, "a.txt", ten.replace("1\n", "one\n"));
    await world.write("h-bob", dir, "a.txt", `${ten.replace("1\n", "one\n")}eleven\n`);
    const { out, code } = await world.kite(dir, ["history", "a.txt"]);
    expect(code).toBe(0);
    expect(out.split("\n").slice(0, 3)).toEqual([
      "What Kite keeps of a.txt, the latest first:",
      expect.stringMatching(/^ {2}v-\d+ +h-bob +Write +\d\S* ago +\+1 −0 /),
      expect.stringMatching(/^ {2}v-\d+ +h-ann +Write +\d\S* ago +\+1 −1 /),
    ]);
    world.git(dir, "commit", "-qam", "both");
    const after = await world.kite(dir, ["history", "a.txt"]);
    expect(after.out).toMatch(
      /^Of a\.txt Kite keeps 2 older versions, from before it was last as committed: kite history --all a\.txt\n/,
    );
    expect((await world.json(dir, ["history", "a.txt", "--all"]))["versions"]).toHaveLength(2);
    await world.write("h-ann", dir, "a.txt", "anew\n");
    expect(await world.json(dir, ["history", "a.txt"])).toMatchObject({
      ok: true,
      older: 2,
      versions: [{ file: "a.txt", kind: "write", by: { id: "h-ann" } }],
      now: { version: expect.stringMatching(/^v-/) },
    });
  });

  test("says why a file is not kept, and that something changed it outside of Kite", async () => {
    const dir = tenLines("history-unkept");
    await world.write("h-env", dir, ".env.local", "TOKEN=1\n");
    await world.write("h-env", dir, "a.txt", "new\n");
    const said = (await world.kite(dir, ["history", ".env.local"])).out;
    expect(said).toMatch(
      /^Kite keeps no version of \.env\.local\.\nNot kept:\n {2}- \.env\.local: not kept .* because /,
    );
    writeFileSync(join(dir, "a.txt"), "other\n");
    expect((await world.kite(dir, ["history", "a.txt"])).out).toMatch(
      /The file has changed since v-\d+, outside of Kite: kite diff a\.txt --from v-\d+\n$/,
    );
    unlinkSync(join(dir, "a.txt"));
    expect((await world.kite(dir, ["history", "a.txt"])).out).toMatch(
      /The file is gone\. To have v-\d+ back: kite undo a\.txt --to v-\d+\n$/,
    );
  });

  test("says that a content is gone, and undo refuses it", async () => {
    const dir = tenLines("history-gone");
    await world.write("h-gone", dir, "a.txt", "a content of its own\n");
    await world.write("h-gone", dir, "a.txt", "another content of its own\n");
    const [, first] = await world.versions({ file: join(dir, "a.txt") });
    unlinkSync(first?.object ?? "");
    expect((await world.kite(dir, ["history", "a.txt"])).out).toContain("its content is gone");
    const undone = await world.kite(dir, ["undo", "a.txt", "--yes"]);
    expect(undone).toMatchObject({ code: 1, err: expect.stringContaining("is no longer on the disk") });
    expect(world.read(dir, "a.txt")).toBe("another content of its own\n");
  });

  test("shows an agent its own project alone", async () => {
    const dir = tenLines("history-own");
    const other = tenLines("history-other");
    await world.write("h-own", dir, "a.txt", "secret plan\n");
    await world.agent("h-other", other);
    expect(await world.json(dir, ["history", "a.txt"], "h-other")).toMatchObject({ versions: [] });
    expect((await world.json(dir, ["history", "a.txt"], "h-own"))["versions"]).toHaveLength(1);
    const undone = await world.kite(dir, ["undo", "a.txt", "--yes"], "h-other");
    expect(undone.code).toBe(1);
    expect(world.read(dir, "a.txt")).toBe("secret plan\n");
  });
});

describe("kite diff", () => {
  test("splits a file of two writers where nothing overlaps", async () => {
    const dir = tenLines("diff-two");
    const first = ten.replace("2\n", "two\n");
    await world.write("d-ann", dir, "a.txt", first);
    await world.write("d-bob", dir, "a.txt", first.replace("9\n", "nine\nmore\n"));
    const { diffs } = (await world.json(dir, ["diff", "a.txt"])) as {
      diffs: { writers: { id: string }[]; diff: string }[];
    };
    expect(diffs.map(({ writers }) => writers.map(({ id }) => id))).toEqual([["d-ann"], ["d-bob"]]);
    expect(diffs[0]?.diff).toContain("-2\n+two\n");
    expect(diffs[0]?.diff).not.toContain("nine");
    expect(diffs[1]?.diff).toContain("-9\n+nine\n+more\n");
    expect(diffs[1]?.diff).not.toContain("two");
    // Each part stands alone for git.
    const patch = (await world.kite(dir, ["diff", "a.txt", "--by", "d-bob", "--patch"])).out;
    writeFileSync(join(dir, "../bob.patch"), patch);
    world.git(dir, "apply", "--cached", "../bob.patch");
    world.git(dir, "commit", "-qm", "bob's part");
    expect(world.git(dir, "diff", "-U0", "a.txt")).toContain("-2\n+two\n");
    expect(world.git(dir, "diff", "-U0", "a.txt")).not.toContain("nine");
  });

  test("shows lines together that two writers changed", async () => {
    const dir = tenLines("diff-same");
    await world.write("d-ann", dir, "a.txt", ten.replace("5\n", "five\n"));
    await world.write("d-bob", dir, "a.txt", ten.replace("5\n", "fünf\n"));
    const { diffs } = (await world.json(dir, ["diff", "a.txt"])) as {
      diffs: { writers: { id: string }[] }[];
    };
    expect(diffs.map(({ writers }) => writers.map(({ id }) => id).sort())).toEqual([["d-ann", "d-bob"]]);
    expect((await world.kite(dir, ["diff", "a.txt"])).out).toContain(", in the same lines");
  });

  test("shows what an agent changed and has not committed, and what changed outside of Kite", async () => {
    const dir = world.repo("diff-name");
    await world.write("d-cat", dir, "a.ts", "a.ts\ncat\n");
    await world.write("d-dan", dir, "b.ts", "b.ts\ndan\n");
    writeFileSync(join(dir, "a.ts"), "outside\na.ts\ncat\n");
    const shown = (await world.kite(dir, ["diff", "d-cat"])).out;
    expect(shown).toContain("+cat");
    expect(shown).not.toContain("dan");
    expect(shown).not.toContain("+outside");
    const all = (await world.kite(dir, ["diff"])).out;
    for (const text of ["+cat", "+dan", "+outside", "outside Kite"]) expect(all).toContain(text);
  });

  test("compares versions, and the file as it is", async () => {
    const dir = tenLines("diff-versions");
    await world.write("d-eve", dir, "a.txt", "one\n");
    await world.write("d-eve", dir, "a.txt", "two\n");
    const [second, first] = await world.versions({ file: join(dir, "a.txt") });
    const [from = "", to = ""] = [first?.version, second?.version];
    const both = (await world.kite(dir, ["diff", "a.txt", "--from", from, "--to", to])).out;
    expect(both).toMatch(/\+1 −1\n/);
    expect(both).toContain("│ -one\n  │ +two\n");
    world.put(dir, "a.txt", "three\n");
    const now = (await world.kite(dir, ["diff", "a.txt", "--from", to])).out;
    expect(now).toContain("│ -two\n  │ +three\n");
    expect((await world.kite(dir, ["diff", "a.txt", "--from", "v-99999"])).err).toContain(
      "keeps no version v-99999",
    );
  });

  test("runs no program that a project names", async () => {
    const dir = tenLines("diff-driver");
    const ran = join(dir, "ran");
    world.git(dir, "config", "diff.x.command", `touch ${ran}; true`);
    world.git(dir, "config", "diff.x.textconv", `touch ${ran}; cat`);
    world.git(dir, "config", "merge.x.driver", `touch ${ran}; true`);
    world.git(dir, "config", "core.fsmonitor", `touch ${ran}`);
    world.put(dir, ".gitattributes", "* diff=x merge=x filter=x\n");
    world.git(dir, "config", "filter.x.smudge", `touch ${ran}; cat`);
    await world.write("d-drive", dir, "a.txt", ten.replace("5\n", "five\n"));
    await world.write("d-drive", dir, "a.txt", `${ten.replace("5\n", "five\n")}end\n`);
    world.put(dir, "a.txt", `start\n${world.read(dir, "a.txt")}`);
    expect((await world.kite(dir, ["diff", "a.txt"])).out).toContain("+five");
    expect((await world.kite(dir, ["undo", "a.txt", "--yes"])).code).toBe(0);
    expect(world.read(dir, "a.txt")).toBe(`start\n${ten.replace("5\n", "five\n")}`);
    expect(existsSync(ran)).toBe(false);
  });
});

describe("kite undo", () => {
  test("takes the last write back, says how to have it again, and that is so", async () => {
    const dir = tenLines("undo-last");
    await world.write("u-ann", dir, "a.txt", "first\n");
    await world.write("u-ann", dir, "a.txt", "second\n");
    const { out, code } = await world.kite(dir, ["undo", "a.txt", "--yes"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^In a\.txt this takes back, back to v-\d+:\n {2}v-\d+ /);
    expect(out).toContain("│ -second\n  │ +first\n");
    expect(world.read(dir, "a.txt")).toBe("first\n");
    const [, line = ""] = /: kite (undo .*)\n$/.exec(out) ?? [];
    expect((await world.kite(dir, [...line.split(" "), "--yes"])).code).toBe(0);
    expect(world.read(dir, "a.txt")).toBe("second\n");
    const [latest] = await world.versions({ file: join(dir, "a.txt") });
    expect(latest).toMatchObject({ kind: "write", tool: "kite rescue restore" });
  });

  test("goes back to what the commit has before the first kept write", async () => {
    const dir = tenLines("undo-first");
    await world.write("u-bea", dir, "a.txt", "first\n");
    expect((await world.kite(dir, ["undo", "a.txt", "--yes"])).code).toBe(0);
    expect(world.read(dir, "a.txt")).toBe(ten);
    await world.write("u-bea", dir, "new.txt", "made\n");
    const fresh = await world.kite(dir, ["undo", "new.txt", "--yes"]);
    expect(fresh).toMatchObject({
      code: 1,
      err: expect.stringMatching(/if it was not there before, remove it;\s+v-\d+ stays kept/),
    });
    expect(world.read(dir, "new.txt")).toBe("made\n");
  });

  test("of one writer keeps what others wrote since", async () => {
    const dir = tenLines("undo-before");
    const ann = ten.replace("2\n", "two\n");
    const bob = ann.replace("9\n", "nine\n");
    await world.write("u-one", dir, "a.txt", ann);
    await world.write("u-two", dir, "a.txt", bob);
    await world.write("u-one", dir, "a.txt", bob.replace("5\n", "five\n"));
    expect((await world.kite(dir, ["undo", "a.txt", "--before", "u-one", "--yes"])).code).toBe(0);
    expect(world.read(dir, "a.txt")).toBe(ten.replace("9\n", "nine\n"));
  });

  test("without a file takes the last write of the named agent back", async () => {
    const dir = world.repo("undo-name");
    await world.write("u-cat", dir, "a.ts", "a.ts\ncat\n");
    await world.write("u-cat", dir, "b.ts", "b.ts\ncat\n");
    await world.write("u-dan", dir, "a.ts", "a.ts\ncat\ndan\n");
    expect((await world.kite(dir, ["undo", "--before", "u-cat", "--yes"])).code).toBe(0);
    expect([world.read(dir, "a.ts"), world.read(dir, "b.ts")]).toEqual(["a.ts\ncat\ndan\n", "b.ts\n"]);
    expect((await world.kite(dir, ["undo", "--before", "nobody"])).err).toContain("no write of nobody");
    expect((await world.kite(dir, ["undo"])).err).toContain("say what to undo");
  });

  test("leaves the file alone where lines overlap, unless asked for marks or the whole", async () => {
    const dir = tenLines("undo-conflict");
    await world.write("u-con", dir, "a.txt", ten.replace("5\n", "five\n"));
    world.put(dir, "a.txt", ten.replace("5\n", "cinque\n"));
    const said = await world.kite(dir, ["undo", "a.txt", "--yes"]);
    expect(said.code).toBe(1);
    expect(said.err.replace(/\s+/g, " ")).toMatch(
      /^kite: a\.txt stays as it is: the file went on since and 1 place would be in conflict; /,
    );
    expect(world.read(dir, "a.txt")).toBe(ten.replace("5\n", "cinque\n"));
    expect(await world.json(dir, ["undo", "a.txt", "--yes"])).toMatchObject({
      ...{ ok: false, code: "conflict", conflicts: 1 },
    });
    expect((await world.kite(dir, ["undo", "a.txt", "--yes", "--conflicts"])).code).toBe(0);
    expect(world.read(dir, "a.txt")).toContain("<<<<<<< a.txt\ncinque\n");
    const [, before] = await world.versions({ file: join(dir, "a.txt") });
    expect(before).toMatchObject({ kind: "before_restore", by: null });
    await world.write("u-con", dir, "a.txt", ten.replace("5\n", "five\n"));
    world.put(dir, "a.txt", ten.replace("5\n", "cinque\n"));
    const [latest] = await world.versions({ file: join(dir, "a.txt") });
    const to = latest?.version ?? "";
    expect((await world.kite(dir, ["undo", "a.txt", "--to", to, "--yes"])).err).toContain(
      "changed outside of Kite",
    );
    expect((await world.kite(dir, ["undo", "a.txt", "--to", to, "--yes", "--whole"])).code).toBe(0);
    expect(world.read(dir, "a.txt")).toBe(ten.replace("5\n", "five\n"));
  });

  test("asks where it takes back work of others, and not of the agent itself", async () => {
    const dir = tenLines("undo-asks");
    await world.write("u-own", dir, "a.txt", "own\n");
    await world.write("u-other", dir, "a.txt", "own\nother\n");
    const asked = await world.kite(dir, ["undo", "a.txt"], "u-own");
    expect(asked).toMatchObject({
      code: 1,
      err: expect.stringMatching(/takes back changes of others \(u-other\); nothing was changed\. .*--yes/),
    });
    expect(asked.out.split("\n")[0]).toBe(frame);
    expect(world.read(dir, "a.txt")).toBe("own\nother\n");
    expect((await world.kite(dir, ["undo", "a.txt"], "u-other")).code).toBe(0);
    expect(world.read(dir, "a.txt")).toBe("own\n");
    const [latest] = await world.versions({ file: join(dir, "a.txt") });
    expect(latest).toMatchObject({ by: { id: "u-other" }, tool: "kite rescue restore" });
    expect((await world.kite(dir, ["undo", "a.txt", "--dry-run"])).out).toContain(
      "Nothing was changed: --dry-run.",
    );
    expect(world.read(dir, "a.txt")).toBe("own\n");
  });

  test("of a file that is gone brings back what it had", async () => {
    const dir = tenLines("undo-gone");
    await world.write("u-gone", dir, "a.txt", "first\n");
    await world.write("u-gone", dir, "a.txt", "second\n");
    unlinkSync(join(dir, "a.txt"));
    const asked = await world.kite(dir, ["undo", "a.txt"]);
    expect(asked.out).toMatch(/^This puts v-\d+ into a\.txt\n/);
    expect(asked.err).toMatch(/^kite: this puts v-\d+ into a\.txt; nothing was changed\. .*--yes\n$/);
    expect((await world.kite(dir, ["undo", "a.txt", "--yes"])).code).toBe(0);
    expect(world.read(dir, "a.txt")).toBe("second\n");
  });

  test("names a person's own restore, and what nobody saw, among what it takes back", async () => {
    const dir = tenLines("undo-person");
    await world.write("u-person", dir, "a.txt", "first\n");
    world.put(dir, "a.txt", "by hand\n");
    await world.kite(dir, ["status"]);
    await world.settled();
    expect((await world.kite(dir, ["undo", "a.txt", "--to", "v-999999"])).code).toBe(1);
    const [, first] = await world.versions({ file: join(dir, "a.txt") });
    await world.kite(dir, ["undo", "a.txt", "--to", first?.version ?? "", "--whole", "--yes"]);
    await world.settled();
    const asked = await world.kite(dir, ["undo", "a.txt"]);
    expect(asked.err).toMatch(/^kite: this takes back changes of others \(\S.*\); nothing was changed\./);
  });

  test("says a line to paste that a shell reads as it is meant", async () => {
    const dir = tenLines("undo-paste");
    for (const name of ["-n", "a b", "$(touch pwned)"]) {
      await world.write("u-paste", dir, name, "kept\n");
      unlinkSync(join(dir, name));
      const { out } = await world.kite(dir, ["history", "--", name]);
      const [, line = ""] = /^The file is gone\. To have v-\d+ back: kite (.*)$/m.exec(out) ?? [];
      const words = world.shell(dir, `printf '%s\\0' ${line}`).split("\0").slice(0, -1);
      expect(await world.kite(dir, [...words, "--yes"])).toMatchObject({ code: 0 });
      expect(world.read(dir, name)).toBe("kept\n");
    }
    expect(readdirSync(dir)).not.toContain("pwned");
  });

  test("keeps the mode, takes hostile names, and leaves nothing behind", async () => {
    const dir = tenLines("undo-names");
    const names = ["-n", "a b", 'q"\\', "new\nline", "tab\t$(touch x)", "ünï", ":(top)a"];
    for (const name of names) {
      await world.write("u-names", dir, name, "first\n");
      chmodSync(join(dir, name), 0o755);
      await world.write("u-names", dir, name, "second\n");
      const ran = await world.kite(dir, ["undo", "--yes", "--", `./${name}`]);
      expect([name, ran.code, ran.err]).toEqual([name, 0, ""]);
      expect(world.read(dir, name)).toBe("first\n");
      expect(statSync(join(dir, name)).mode & 0o777).toBe(0o644);
    }
    expect(
      readdirSync(dir)
        .filter(name => name !== ".git")
        .sort(),
    ).toEqual([...names, "a.txt"].sort());
  });

  test("restores binary files whole, and does not merge them", async () => {
    const dir = tenLines("undo-binary");
    await world.write("u-bin", dir, "x.bin", "a\0b\n");
    await world.write("u-bin", dir, "x.bin", "a\0c\n");
    expect((await world.kite(dir, ["undo", "x.bin", "--yes"])).code).toBe(0);
    expect(world.read(dir, "x.bin")).toBe("a\0b\n");
    world.put(dir, "x.bin", "z\0z\n");
    await world.write("u-bin", dir, "x.bin", "a\0d\n");
    world.put(dir, "x.bin", "y\0y\n");
    const said = await world.kite(dir, ["undo", "x.bin", "--yes"]);
    expect(said).toMatchObject({ code: 1, err: expect.stringContaining("no text that can be merged") });
  });

  test("follows no link in place of the file, and none on the way to it", async () => {
    const dir = world.repo("undo-link");
    await world.write("u-link", dir, "src/c.ts", "one\n");
    await world.write("u-link", dir, "src/c.ts", "two\n");
    const victim = join(dir, "a.ts");
    rmSync(join(dir, "src/c.ts"));
    symlinkSync(victim, join(dir, "src/c.ts"));
    const [latest] = await world.versions({ file: join(dir, "src") });
    expect((await world.kite(dir, ["undo", join(dir, "src/c.ts"), "--yes"])).code).toBe(1);
    expect(world.read(dir, "a.ts")).toBe("a.ts\n");
    expect(latest).toBeDefined();
  });

  test("finds what was kept of a file in whose place, or on whose way, a link is now", async () => {
    const dir = world.repo("kept-link");
    await world.write("k-link", dir, "new.ts", "marker-linked\n");
    await world.write("k-link", dir, "lib/d.ts", "marker-behind\n");
    world.shell(
      dir,
      "mv new.ts ../moved.ts && ln -s ../moved.ts new.ts && mv lib ../moved && ln -s ../moved lib",
    );
    for (const name of ["new.ts", "lib/d.ts", "./new.ts", join(dir, "lib/d.ts")]) {
      expect((await world.json(dir, ["history", name]))["versions"]).toMatchObject([
        { by: { id: "k-link" } },
      ]);
      expect((await world.kite(dir, ["history", name])).out).toContain(
        "In its place is no regular file now.",
      );
      const undone = await world.kite(dir, ["undo", name, "--whole", "--yes"]);
      expect(undone).toMatchObject({ code: 1, err: expect.stringMatching(/link now: move it away/) });
    }
    const purged = await world.kite(dir, ["rescue", "purge", "new.ts"]);
    expect(purged.out).toMatch(/^Removed for good: 1 version, 1 content/);
    expect((await world.kite(dir, ["rescue", "purge", "lib/d.ts"])).out).toMatch(
      /^Removed for good: 1 version/,
    );
    expect(world.stored()).not.toMatch(/marker-(?:linked|behind)/);
  });
});
