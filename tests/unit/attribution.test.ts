/** Whose the lines of a file are, and what of it is whose. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Attribution, type FileEvent } from "../../bin/rescue/attribution.ts";
import { Texts } from "../../bin/rescue/texts.ts";

let texts: Texts;
beforeAll(() => {
  const opened = Texts.open({ env: process.env, cwd: "/nowhere" });
  if (opened === null) throw new Error("no git");
  texts = opened;
});
afterAll(() => texts.close());

const hunks = (before: Buffer, after: Buffer) => texts.hunks(before, after);

function attribution(base: string, events: readonly (readonly [string, string])[]) {
  const all = events.map(([by, content]): FileEvent<string> => {
    const bytes = Buffer.from(content);
    return by === "HEAD" ? { is: "committed", content: bytes } : { is: "written", by, content: bytes };
  });
  return Attribution.of(hunks, by => by, Buffer.from(base), all);
}

/** What the commit has with the changes of this one alone, and the writers of what is mixed. */
async function owns(base: string, ...events: readonly (readonly [string, string])[]) {
  const found = await attribution(base, events);
  const own = (who: string) => found.content(({ writers }) => writers.every(one => one === who)).toString();
  const mixed = found.groups().filter(({ writers }) => writers.length > 1);
  return { ann: own("ann"), bob: own("bob"), mixed: mixed.map(({ writers }) => writers.join("+")) };
}

describe("An attribution", () => {
  test("does not mix lines that lie beside each other", async () => {
    expect(await owns("1\n2\n3\n", ["ann", "1\na\nb\n3\n"], ["bob", "1\na\nbob\nb\n3\nbob2\n"])).toEqual({
      ...{ ann: "1\na\nb\n3\n", bob: "1\n2\nbob\n3\nbob2\n", mixed: [] },
    });
    expect(await owns("1\n2\n3\n", ["ann", "one\n2\n3\n"], ["bob", "one\ntwo\n3\n"])).toEqual({
      ...{ ann: "one\n2\n3\n", bob: "1\ntwo\n3\n", mixed: [] },
    });
  });

  test("mixes a line that one wrote and another changed or removed, and no other", async () => {
    expect(await owns("1\n2\n", ["ann", "1\na\nb\nc\n2\n"], ["bob", "1\na\nbob\nc\n2\n"])).toEqual({
      ...{ ann: "1\na\nc\n2\n", bob: "1\n2\n", mixed: ["ann+bob"] },
    });
    // What bob removed of ann's insertion changes nothing against the commit.
    expect(await owns("1\n2\n", ["ann", "1\na\nb\n2\n"], ["bob", "1\nb\n2\n"])).toEqual({
      ...{ ann: "1\nb\n2\n", bob: "1\n2\n", mixed: [] },
    });
    expect(await owns("1\n2\n", ["ann", "one\n2\n"], ["bob", "2\n"])).toEqual({
      ...{ ann: "1\n2\n", bob: "1\n2\n", mixed: ["ann+bob"] },
    });
  });

  test("does not give both of what one wrote and of what a hook made of it in the commit", async () => {
    const [file, hooked] = ["1\nann x\n3\nbob\n", "1\nann X\n3\n"];
    const mixed = { ann: hooked, bob: `${hooked}bob\n`, mixed: ["+ann"] };
    const events = [
      ["ann", "1\nann x\n3\n"],
      ["bob", file],
      ["HEAD", hooked],
      ["", file],
    ] as const;
    expect(await owns("1\n2\n3\n", ...events)).toEqual(mixed);
    expect(await owns("1\n3\n", ...events)).toEqual(mixed);
  });

  test("does not mix those who append to a file whose last line has no end", async () => {
    expect(await owns("1", ["ann", "1\na"], ["bob", "1\na\nb"])).toEqual({
      ...{ ann: "1\na", bob: "1\nb", mixed: [] },
    });
    expect(await owns("1", ["ann", "1\n"], ["bob", "1\nb\n"])).toEqual({
      ann: "1\n",
      bob: "1\nb",
      mixed: [],
    });
  });

  test("gives a removed line that comes back to who wrote it", async () => {
    const [cut, more] = ["1\n3\n", "1\n2\n3\nmore\n"];
    expect(await owns("1\n2\n3\n", ["ann", cut], ["bob", more])).toEqual({
      ...{ ann: "1\n2\n3\n", bob: "1\n2\n3\nmore\n", mixed: [] },
    });
  });

  test("knows what is left after a commit of one writer's lines", async () => {
    const [base, both] = ["1\n2\n3\n", "a\n2\nb\n"];
    const events = [
      ["ann", "a\n2\n3\n"],
      ["bob", both],
      ["HEAD", "a\n2\n3\n"],
    ] as const;
    expect(await owns(base, ...events)).toEqual({ ann: "a\n2\n3\n", bob: both, mixed: [] });
    expect(await owns(base, ...events, ["ann", "a\n2\nb\nann\n"])).toEqual({
      ...{ ann: "a\n2\n3\nann\n", bob: both, mixed: [] },
    });
    const all = [...events, ["HEAD", both]] as const;
    expect(await owns(base, ...all)).toEqual({ ann: both, bob: both, mixed: [] });
  });

  test("follows a commit of some of the lines, and one that brings others", async () => {
    const both = "a\n2\na2\n3\nb\n";
    const events = [
      ["ann", "a\n2\na2\n3\n"],
      ["bob", both],
    ] as const;
    expect(await owns("1\n2\n3\n", ...events, ["HEAD", "a\n2\n3\n"])).toEqual({
      ...{ ann: "a\n2\na2\n3\n", bob: "a\n2\n3\nb\n", mixed: [] },
    });
    const pulled = [
      ["HEAD", "1\n2\n3\n\nnew\n"],
      ["cat", "a\n2\na2\n3\nb\n\nnew\n"],
    ] as const;
    expect(await owns("1\n2\n3\n", ...events, ...pulled)).toMatchObject({
      ...{ ann: "a\n2\na2\n3\n\nnew\n", bob: "1\n2\n3\nb\n\nnew\n" },
    });
  });

  test("takes a commit that a hook changed, and the file with it, as the new beginning", async () => {
    const events = [
      ["ann", "1\nann x\n"],
      ["HEAD", "1\nann  x\n"],
      ["bob", "1\nbob\n"],
    ] as const;
    expect(await owns("1\n", ...events)).toEqual({ ann: "1\nann  x\n", bob: "1\nbob\n", mixed: [] });
  });

  const line = fc.constantFrom("a\n", "b\n", "c\n", "d\n", "e\n", "f\n");
  const text = fc
    .tuple(fc.array(line, { maxLength: 9 }), fc.constantFrom("", "", "x"))
    .map(([lines, end]) => lines.join("") + end);
  const names = ["ann", "bob", "cat"];
  const history = fc.tuple(
    text,
    fc.array(fc.tuple(fc.constantFrom(...names, "HEAD"), text), { maxLength: 6, minLength: 1 }),
  );

  test("of all groups is the file, of none the commit, and a choice and the rest make the file", async () => {
    await fc.assert(
      fc.asyncProperty(history, async ([start, writes]) => {
        const now = writes.findLast(([by]) => by !== "HEAD")?.[1] ?? start;
        const head = writes.findLast(([by]) => by === "HEAD")?.[1] ?? start;
        const found = await attribution(start, [...writes, ["", now]]);
        expect(found.content(() => true).toString()).toBe(now);
        expect(found.content(() => false).toString()).toBe(head);
        const isEnded = [head, now, ...writes.map(([, content]) => content)].every(one => /\n$|^$/.test(one));
        for (const who of names) {
          const isOwn = ({ writers }: { readonly writers: readonly string[] }) =>
            writers.every(one => one === who);
          const [own, rest] = [found.content(isOwn), found.content(group => !isOwn(group))];
          const lines = (...all: readonly (Buffer | string)[]) => all.join("").split("\n").sort();
          if (isEnded) expect(lines(own, rest)).toEqual(lines(head, now));
        }
      }),
      { numRuns: 60 },
    );
  });

  test("has no line of another in one's own, and all of one's own that nobody else changed", async () => {
    let n = 0;
    // Each writer marks its lines with its name; it inserts, changes and removes lines anywhere.
    const step = fc.record({
      by: fc.constantFrom(...names),
      at: fc.nat(12),
      removed: fc.nat(2),
      inserted: fc.nat(3),
      commits: fc.option(fc.constantFrom(...names), { nil: null, freq: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8, minLength: 1 }), async steps => {
        const base = ["base 0\n", "base 1\n", "base 2\n", "base 3\n"];
        let lines = base;
        const events: [string, string][] = [];
        for (const { by, at, removed, inserted, commits } of steps) {
          const fresh = Array.from({ length: inserted }, () => `${by} ${n++}\n`);
          const start = Math.min(at, lines.length);
          lines = [...lines.slice(0, start), ...fresh, ...lines.slice(start + removed)];
          events.push([by, lines.join("")]);
          if (commits === null) continue;
          const now = await attribution(base.join(""), events);
          const own = now.content(({ writers }) => writers.every(one => one === commits));
          events.push(["HEAD", own.toString()]);
        }
        const found = await attribution(base.join(""), events);
        const head = events.findLast(([by]) => by === "HEAD")?.[1] ?? base.join("");
        expect(found.content(() => true).toString()).toBe(lines.join(""));
        expect(found.content(() => false).toString()).toBe(head);
        const [was, now] = [new Set(head.split("\n")), new Set(lines.map(one => one.trim()))];
        for (const who of names) {
          const own = found
            .content(({ writers }) => writers.every(one => one === who))
            .toString()
            .split("\n");
          const fresh = own.filter(one => !was.has(one));
          expect(fresh.filter(one => !one.startsWith(who))).toEqual([]);
          const mixed = found.groups().some(({ writers }) => writers.length > 1 && writers.includes(who));
          const mine = [...now].filter(one => one.startsWith(who) && !was.has(one));
          if (!mixed) expect([...fresh].sort()).toEqual(mine.sort());
        }
      }),
      { numRuns: 60 },
    );
  });
});
