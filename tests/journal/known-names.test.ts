import { expect, it } from "vitest";
import type { Command, Entry } from "../../daemon/core/tables/entries.ts";
import { BatchEncoder } from "../../daemon/journal/batch.ts";
import { scanSegment } from "../../daemon/journal/segments.ts";
import { lockTerms } from "../lock-terms.ts";

const place = { project: "p", cwd: "/p", wallMs: 1 };

function lock(session: string, file: string, above = "/p/"): Command {
  const actor = { session, agent: null, incarnation: 0 };
  const lexical = above + file;
  const files = [{ file, lexical, key: `n:${lexical}`, dir: false }];
  return { type: "lock_request", actor, files, ...lockTerms, ...place };
}

/** The locks as a journal of them is read. */
function read(commands: readonly Command[]): Command[] {
  const encoder = new BatchEncoder();
  encoder.begin();
  for (const [i, command] of commands.entries()) {
    const entry: Entry = { seq: i + 1, at: 1, origin: { node: "n", epoch: 1, n: i }, command };
    if (!encoder.add(entry, Number.POSITIVE_INFINITY)) throw new Error("it does not fit");
  }
  const found: Command[] = [];
  scanSegment([encoder.end()], 1, 0, ({ command }) => void found.push(command));
  return found;
}

/** How many different objects are among them. */
const different = (of: readonly unknown[]) => new Set(of).size;

it("names that a journal tells again are made once", () => {
  const commands = Array.from({ length: 600 }, (_, n) => lock(`s${n % 3}`, `${n % 20}.ts`));
  const found = read(commands);
  expect(found).toEqual(commands);
  const locks = found.flatMap(one => (one.type === "lock_request" ? [one] : []));
  expect(different(locks.map(({ actor }) => actor))).toBe(3);
  expect(different(locks.map(({ files }) => files[0]))).toBe(20);
});

it("files of one name in different folders stay apart", () => {
  const commands = Array.from({ length: 40 }, (_, n) => lock("s", "a.ts", n % 3 === 0 ? "/p/" : "/q/"));
  expect(read(commands)).toEqual(commands);
});

it("more names than are kept are read as they are", () => {
  const names = Array.from({ length: 40_000 }, (_, n) => `${n}.ts`);
  const found = read([...names, ...names.slice(0, 10)].map(name => lock(name, name)));
  const keys = found.map(one => (one.type === "lock_request" ? one.files[0]?.key : null));
  expect(keys.join()).toBe([...names, ...names.slice(0, 10)].map(name => `n:/p/${name}`).join());
});
