/** What the journal writes of an entry in its short form is what JSON would have kept of it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/actor.ts";
import type { Command, Entry, LockRelease, LockRequest } from "../../daemon/core/commands.ts";
import type { FileName, FileRef } from "../../daemon/core/file-ref.ts";
import { BatchEncoder, type Encoder } from "../../daemon/journal/batch-encoder.ts";
import { scanSegment } from "../../daemon/journal/segment.ts";
import { shorten } from "../../daemon/journal/short-records.ts";
import { wants } from "./commands.ts";
import { LineEncoder } from "./line-encoder.ts";

/** A generator for each field: a new field does not compile before it has one. */
type Fields<T> = { readonly [K in keyof Required<T>]: fc.Arbitrary<Required<T>[K]> };

const text = fc.oneof(
  fc.constantFrom(
    "",
    "a",
    "src/a.ts",
    "/p/src/a.ts",
    "n:/p/src/a.ts",
    '"\\\n\u2028\ud800',
    "ünïcödé 漢 \u{1f600}",
  ),
  fc.string({ unit: "binary", maxLength: 20 }),
);
const orNull = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: null });
const count = fc.oneof(fc.constantFrom(0, 3, 15_000, 30_000), fc.nat());
/** The value that is left out, as often as any other. */
const mostly = <T>(usual: T, other: fc.Arbitrary<T>) => fc.oneof(fc.constant(usual), other);

const actors: Fields<Actor> = {
  session: text,
  agent: orNull(text),
  incarnation: mostly(0, fc.nat({ max: 9 })),
};
const actor = fc.oneof(
  fc.record(actors),
  text.map(session => ({ session, agent: null, incarnation: 0 })),
);

/** A file whose path ends with its name and whose key ends with its path, as most do; or one of any texts. */
const likely = fc.tuple(text, text, text).map(([file, above, before]) => {
  return { file, lexical: above + file, key: before + above + file };
});
const refs: Fields<FileRef> = {
  file: text,
  lexical: text,
  key: text,
  dir: fc.boolean(),
  path: text,
};
const ref: fc.Arbitrary<FileRef> = fc.oneof(
  likely.map(file => ({ ...file, dir: false })),
  fc.tuple(likely, fc.boolean(), text).map(([file, dir, path]) => ({ ...file, dir, path })),
  fc.record(refs, { requiredKeys: ["file", "lexical", "key", "dir"] }),
);
const names: Fields<FileName> = {
  file: text,
  lexical: text,
  key: orNull(text),
  path: text,
};
const name: fc.Arbitrary<FileName> = fc.oneof(
  likely,
  fc.record(names, { requiredKeys: ["file", "lexical", "key"] }),
);

const retry = fc.record({ by: text, requestId: text, digest: text });
const bound = orNull(fc.record({ node: text, epoch: count, connection: count }));

const requestFields: Fields<LockRequest> = {
  actor,
  files: fc.array(ref, { minLength: 1, maxLength: 2 }),
  single: mostly(true, fc.boolean()),
  kind: fc.constantFrom("explicit", "turn"),
  waitMs: mostly(0, count),
  depth: mostly(3, count),
  placeMs: mostly(0, count),
  detach: mostly(false, fc.boolean()),
  progress: mostly(false, fc.boolean()),
  prompt: orNull(text),
  flight: orNull(text),
  yieldMs: mostly(15_000, count),
  ancestors: fc.array(orNull(text), { maxLength: 2 }),
  bound,
  project: text,
  cwd: text,
  wallMs: fc.oneof(fc.nat(), fc.double({ noNaN: true, noDefaultInfinity: true })),
  retry,
};
const requiredFields = (Object.keys(requestFields) as (keyof LockRequest)[]).filter(name => name !== "retry");

/** With one field that is unusual, or any. */
const request: fc.Arbitrary<LockRequest> = fc
  .tuple(
    fc.record(requestFields, { requiredKeys: requiredFields }),
    fc.constantFrom("none", "all", ...Object.keys(requestFields)),
  )
  .map(([any, unusual]) => {
    if (unusual === "all") return any;
    const { actor, files, project, cwd, wallMs } = any;
    // Written out: what is usual is part of the journal's format.
    const usual: LockRequest = {
      actor: { session: actor.session, agent: null, incarnation: 0 },
      files: files.slice(0, 1),
      single: true,
      kind: "explicit",
      waitMs: 0,
      depth: 3,
      placeMs: 0,
      detach: false,
      progress: false,
      prompt: null,
      flight: null,
      yieldMs: 15_000,
      ancestors: [],
      bound: null,
      project,
      cwd,
      wallMs,
    };
    return { ...usual, ...(unusual === "none" ? {} : { [unusual]: any[unusual as keyof LockRequest] }) };
  });
const releaseFields: Fields<LockRelease> = {
  actor,
  files: fc.oneof(fc.constant("all" as const), fc.array(name, { minLength: 1, maxLength: 2 })),
  retry,
};

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: request.map((fields): Command => ({ type: "lock_request", ...fields })) },
  {
    weight: 3,
    arbitrary: fc
      .record(releaseFields, { requiredKeys: ["actor", "files"] })
      .map((fields): Command => ({ type: "lock_release", ...fields })),
  },
  text.map(wants),
);
const proposal = fc.record({
  origin: fc.record({
    node: fc.constantFrom("local", "local", "other"),
    epoch: fc.constantFrom(1, 1, 2),
    n: fc.nat({ max: 9 }),
  }),
  at: fc.oneof(fc.nat(), fc.constantFrom(1000, 1001, 0.1, -1, 2 ** 60)),
  command,
});
const entries = fc
  .array(proposal, { minLength: 1, maxLength: 6 })
  .map(list => list.map((one, i): Entry => ({ seq: 5 + i, ...one })));

function bytesOf(encoder: Encoder, list: readonly Entry[]): Buffer {
  encoder.begin();
  for (const entry of list) expect(encoder.add(entry, Number.POSITIVE_INFINITY)).toBe(true);
  return Buffer.from(encoder.end());
}

function read(bytes: Buffer): Entry[] {
  const found: Entry[] = [];
  expect(scanSegment([bytes], 5, 0, entry => void found.push(entry)).fault).toBeNull();
  return found;
}

/** As JSON keeps it, and as text: the order of names shows in a snapshot. */
const kept = (list: readonly Entry[]) => list.map(entry => JSON.stringify(JSON.parse(JSON.stringify(entry))));
const sorted = (value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, inner]) => [name, sorted(inner)]),
      )
    : Array.isArray(value)
      ? value.map(sorted)
      : value;

describe("a batch in the journal", () => {
  const encoder = new BatchEncoder();

  it("reads back as what was proposed, and as lines of earlier versions do", () => {
    fc.assert(
      fc.property(entries, list => {
        const found = read(bytesOf(encoder, list));
        expect(found).toEqual(JSON.parse(JSON.stringify(list)));
        expect(found.map(sorted)).toEqual(read(bytesOf(new LineEncoder(), list)).map(sorted));
      }),
      { numRuns: 2000 },
    );
  });

  it("is one line, unless its entries differ in origin", () => {
    const one = (n: number, epoch: number): Entry => {
      return { seq: 4 + n, at: n, origin: { node: "n", epoch, n }, command: wants(String(n)) };
    };
    const linesOf = (list: readonly Entry[]) => bytesOf(encoder, list).toString().split("\n").length - 1;
    expect(linesOf([one(1, 1), one(2, 1), one(3, 1)])).toBe(1);
    expect(linesOf([one(1, 1), one(2, 2), one(3, 2)])).toBe(2);
  });

  it("stays within its bound: what does not fit leaves it as it was", () => {
    const bound = fc.nat({ max: 1500 });
    fc.assert(
      fc.property(entries, bound, (list, bytesMax) => {
        encoder.begin();
        const taken: Entry[] = [];
        for (const entry of list) {
          if (!encoder.add({ ...entry, seq: 5 + taken.length }, bytesMax)) continue;
          taken.push({ ...entry, seq: 5 + taken.length });
        }
        const bytes = Buffer.from(encoder.end());
        expect(bytes.length).toBeLessThanOrEqual(bytesMax);
        expect(kept(read(bytes).map(sorted) as Entry[])).toEqual(kept(taken.map(sorted) as Entry[]));
      }),
    );
  });

  it("has the short form of the lock and the unlock that are most frequent", () => {
    const session = { session: "s1", agent: null, incarnation: 0 };
    const files = [{ file: "a.ts", lexical: "/p/a.ts", key: "local:/p/a.ts", dir: false }];
    const plain = { single: true, kind: "explicit", waitMs: 0, depth: 3, placeMs: 0, detach: false } as const;
    const rest = { progress: false, prompt: null, flight: null, yieldMs: 15_000, ancestors: [], bound: null };
    const place = { project: "p", cwd: "/p", wallMs: 7 };
    const lock: Command = { type: "lock_request", actor: session, files, ...plain, ...rest, ...place };
    expect(shorten(lock)).toBe('1,"s1","a.ts","/p/","local:","p","/p",7');
    expect(shorten({ ...lock, kind: "turn", prompt: "p1" })).toBe(
      '1,"s1","a.ts","/p/","local:","p","/p",7,{"kind":"turn","prompt":"p1"}',
    );
    expect(shorten({ type: "lock_release", actor: session, files })).toBe('2,"s1","a.ts","/p/","local:"');
    expect(shorten(wants("x"))).toBeNull();
  });
});
