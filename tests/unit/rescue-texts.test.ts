/** What the commands for kept work make of texts: whose lines they are, what is taken back, how it merges, how it is written. */
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { partsOf, type Written } from "../../bin/diff/changes.ts";
import { patchOf } from "../../bin/rescue/rescue.ts";
import { changed, leftByWipe, Texts } from "../../bin/rescue/texts.ts";
import { stepsOf } from "../../bin/rescue/undo.ts";
import { onDisk, replaceFile } from "../../bin/rescue/versions.ts";
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const labels = { now: "now", other: "other" };
let texts: Texts;
beforeAll(() => {
  const opened = Texts.open({ env: process.env, cwd: "/nowhere" });
  if (opened === null) throw new Error("no git");
  texts = opened;
});
afterAll(() => texts.close());

const hunks = (before: Buffer, after: Buffer) => texts.hunks(before, after);
const by = (id: string) => ({ id, agent: null, name: id });

function version(n: number, id: string | null, more: Partial<VersionRow> = {}): VersionRow {
  const place = { path: "/p/a", file: "a", worktree: "/p", project: "/p", base: null, bytes: 1, mode: 0o644 };
  const counts = { added: 1, taken: 0, asSent: false, hash: `h${n}`, object: null };
  const who = { by: id === null ? null : by(id), tool: "Write", kind: "write" } as const;
  return { version: `v-${n}`, at: n * 1000, ...place, ...counts, ...who, ...more };
}

describe("partsOf", () => {
  const base = Buffer.from("1\n2\n3\n4\n");
  const parts = async (...states: Written[]) =>
    (await partsOf(hunks, base, states)).map(({ writers, content }) => [
      writers.map(one => one?.id ?? null),
      content.toString(),
    ]);

  test("gives each writer what nobody else changed, also lines that lie beside each other", async () => {
    expect(
      await parts(
        { by: by("ann"), content: Buffer.from("1\n2\n3\n4\nann\n") },
        { by: by("bob"), content: Buffer.from("one\n2\n3\n4\nann\nbob\n") },
      ),
    ).toEqual([
      [["bob"], "one\n2\n3\n4\nbob\n"],
      [["ann"], "1\n2\n3\n4\nann\n"],
    ]);
  });

  test("gives a content that comes back to who wrote it, not to who brought it back", async () => {
    const mine = { by: by("ann"), content: Buffer.from("1\n2\n3\n4\nann\n") };
    const wiped = { by: null, content: base };
    expect(await parts(mine, wiped, { ...mine, by: by("bob") })).toEqual([[["ann"], "1\n2\n3\n4\nann\n"]]);
  });

  test("of one writer, or of several, together make the file", async () => {
    const text = fc
      .array(fc.constantFrom("a\n", "b\n", "c\n", "d\n"), { maxLength: 8 })
      .map(lines => lines.join(""));
    const history = fc.tuple(
      text,
      fc.array(fc.tuple(fc.constantFrom("ann", "bob"), text), { maxLength: 3, minLength: 1 }),
    );
    await fc.assert(
      fc.asyncProperty(history, async ([start, writes]) => {
        const states = writes.map(([id, content]) => ({ by: by(id), content: Buffer.from(content) }));
        const found = await partsOf(hunks, Buffer.from(start), states);
        const now = states.at(-1)?.content ?? Buffer.alloc(0);
        // Nothing is lost, and nothing is made up: the lines added and taken of all parts are those of the whole.
        const net = (content: Buffer) => content.toString().length - start.length;
        expect(found.reduce((sum, { content }) => sum + net(content), 0)).toBe(now.length - start.length);
        if (new Set(writes.map(([id]) => id)).size === 1)
          expect(found.map(({ content }) => content.toString())).toEqual(
            now.toString() === start ? [] : [now.toString()],
          );
      }),
      { numRuns: 40 },
    );
  });
});

describe("stepsOf", () => {
  const rows = [version(4, "ann"), version(3, "bob"), version(2, "ann"), version(1, "bob")];
  const names = (found: ReturnType<typeof stepsOf>) =>
    typeof found === "string" ? found : found.map(({ from, to }) => [from.version, to?.version ?? null]);

  test("takes the last write back, and none that a commit contains", () => {
    expect(names(stepsOf(rows, 4, { is: "last" }))).toEqual([["v-4", "v-3"]]);
    expect(names(stepsOf(rows, 0, { is: "last" }))).toBe(
      "Kite keeps no write of it since it was last as committed",
    );
  });

  test("goes back to a version over all since", () => {
    expect(names(stepsOf(rows, 4, { is: "to", version: "v-2" }))).toEqual([["v-4", "v-2"]]);
    expect(names(stepsOf(rows, 4, { is: "to", version: "v-9" }))).toBe("Kite keeps no version v-9 of it");
  });

  test("takes all of one writer back, the latest first", () => {
    expect(names(stepsOf(rows, 4, { is: "before", name: "ann" }))).toEqual([
      ["v-4", "v-3"],
      ["v-2", "v-1"],
    ]);
    expect(names(stepsOf(rows, 4, { is: "before", name: "bob" }))).toEqual([
      ["v-3", "v-2"],
      ["v-1", null],
    ]);
    expect(names(stepsOf(rows, 1, { is: "before", name: "bob" }))).toBe(
      "Kite keeps no write of bob in it since it was last as committed",
    );
  });
});

describe("changed", () => {
  const now = Buffer.from("a\nb\nnew\n");

  test("without git puts a version whole where nothing went on, and says so else", async () => {
    const change = { before: now, after: Buffer.from("a\n") };
    expect(await changed(null, now, [change], labels)).toEqual({ is: "whole", content: Buffer.from("a\n") });
    const other = { before: Buffer.from("a\nb\n"), after: Buffer.from("b\n") };
    expect(await changed(null, now, [other], labels)).toMatchObject({
      ...{ is: "unmerged", why: expect.stringContaining("git, which merges, is not installed") },
    });
  });

  test("never loses a line that came since, or says that it is in conflict", async () => {
    const lines = fc.array(fc.constantFrom("a", "b", "c", "d", "e"), { minLength: 4, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(lines, lines, fc.nat(7), async (base, kept, at) => {
        const buffer = (all: readonly string[]) => Buffer.from(all.map(line => `${line}\n`).join(""));
        const grown = [...base.slice(0, at), "since", ...base.slice(at)];
        const change = { before: buffer(base), after: buffer(kept) };
        const outcome = await changed(texts, buffer(grown), [change], labels);
        if (outcome.is === "merged" || outcome.is === "whole")
          expect(outcome.content.toString()).toContain("since\n");
        else if (outcome.is === "conflict") expect(outcome.marked.toString()).toContain("since\n");
        else expect(outcome.is).toBe("same");
      }),
      { numRuns: 40 },
    );
  });
});

test("what a wipe left is the version that a shell line or nobody made right after it, and no edit", () => {
  const kept = version(1, "ann");
  const wipe = { at: 2000, by: by("bob") };
  const after = (more: Partial<VersionRow>) =>
    leftByWipe([version(2, "bob", more), kept], kept, wipe)?.version;
  expect(after({ tool: "python3" })).toBe("v-2");
  expect(after({ tool: null, by: null, kind: "outside" })).toBe("v-2");
  expect(after({ tool: "Edit" })).toBeUndefined();
  expect(after({ tool: "kite rescue restore" })).toBeUndefined();
  expect(after({ tool: "python3", by: by("ann") })).toBeUndefined();
  expect(after({ tool: "python3", at: 200_000 })).toBeUndefined();
});

describe("replaceFile", () => {
  test("writes nothing over what changed meanwhile, and leaves nothing behind", () => {
    const dir = temporaryFolder("kite-disk-");
    const path = join(dir, "a");
    writeFileSync(path, "first\n");
    const was = onDisk(path);
    writeFileSync(path, "newer\n");
    expect(() => replaceFile(path, was, Buffer.from("kept\n"), 0o644)).toThrow("changed meanwhile");
    expect(() => replaceFile(path, { is: "absent" }, Buffer.from("kept\n"), 0o644)).toThrow(
      "changed meanwhile",
    );
    expect([readFileSync(path, "utf8"), readdirSync(dir)]).toEqual(["newer\n", ["a"]]);
    replaceFile(path, onDisk(path), Buffer.from("kept\n"), 0o755);
    expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["kept\n", 0o755]);
  });

  test("makes folders, and none behind a link", () => {
    const dir = temporaryFolder("kite-disk-");
    replaceFile(join(dir, "x/y/a"), { is: "absent" }, Buffer.from("a"), 0o600);
    expect(readFileSync(join(dir, "x/y/a"), "utf8")).toBe("a");
    mkdirSync(join(dir, "away"));
    symlinkSync(join(dir, "away"), join(dir, "link"));
    expect(() => replaceFile(join(dir, "link/z/a"), { is: "absent" }, Buffer.from("a"), 0o600)).toThrow(
      "behind a link",
    );
    expect(readdirSync(join(dir, "away"))).toEqual([]);
    expect(onDisk(join(dir, "link/a"))).toEqual({ is: "odd", what: "behind a link" });
  });

  test("tells a link, a directory and a long file from a file", () => {
    const dir = temporaryFolder("kite-disk-");
    symlinkSync("nowhere", join(dir, "link"));
    expect(onDisk(join(dir, "link"))).toEqual({ is: "odd", what: "a link" });
    expect(onDisk(dir)).toEqual({ is: "odd", what: "a directory" });
    expect(onDisk(join(dir, "none/a"))).toEqual({ is: "absent" });
    writeFileSync(join(dir, "long"), Buffer.alloc(8 * 1024 * 1024 + 1));
    expect(onDisk(join(dir, "long"))).toMatchObject({ is: "odd", what: expect.stringContaining("longer") });
  });
});

test("a patch has no text that it would change, and quotes names as git does", async () => {
  const file = { mode: 0o755, before: null, after: Buffer.from("x\n") };
  const quoted = await patchOf(texts, { ...file, file: 'a"\n\tü' });
  expect(quoted?.toString()).toContain('+++ "b/a\\"\\012\\011\\303\\274"\n');
  expect(quoted?.toString()).toContain("new file mode 100755\n--- /dev/null\n");
  expect(await patchOf(texts, { ...file, file: "a", after: Buffer.from([0xff, 0x0a]) })).toBeNull();
  expect(await patchOf(texts, { ...file, file: "a", after: Buffer.from("a\0b") })).toBeNull();
});
