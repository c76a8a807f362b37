/** Entries of any commands, with the locks and unlocks of one file that have a short form, and those that nearly do. */
import fc from "fast-check";
import type { Actor, FileName, FileRef } from "../../daemon/core/frame/actors.ts";
import type { Command, Entry } from "../../daemon/core/tables/entries.ts";
import type { LockRelease, LockRequest } from "../../daemon/core/tables/locks.ts";
import { wants } from "./commands.ts";

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
  command: text,
  incarnation: mostly(0, fc.nat({ max: 9 })),
};
const actor = fc.oneof(
  fc.record(actors, { requiredKeys: ["session", "agent", "incarnation"] }),
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
  untoldMs: count,
  beside: fc.constant(true as const),
  yieldMs: mostly(15_000, count),
  ancestors: fc.array(orNull(text), { maxLength: 2 }),
  bound,
  project: text,
  cwd: text,
  wallMs: fc.oneof(fc.nat(), fc.double({ noNaN: true, noDefaultInfinity: true })),
  retry,
};
const optionalFields: ReadonlySet<string> = new Set<keyof LockRequest>(["retry", "untoldMs", "beside"]);
const requiredFields = (Object.keys(requestFields) as (keyof LockRequest)[]).filter(
  name => !optionalFields.has(name),
);

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
export const entries = fc
  .array(proposal, { minLength: 1, maxLength: 6 })
  .map(list => list.map((one, i): Entry => ({ seq: 5 + i, ...one })));
