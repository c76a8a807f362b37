/** Requests for locks of all kinds, by few actors for few files, so that they meet. */
import fc from "fast-check";
import type { Actor, FileRef } from "../../daemon/core/frame/actors.ts";
import type { Command, CommandOf } from "../../daemon/core/tables/entries.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { lockTerms } from "../lock-terms.ts";

const node = "n";

/** Files under their own names, a link and its target, a path folded by case, a folder and a file in it. */
export const files: readonly FileRef[] = [
  { file: "a.ts", lexical: "/p/a.ts", key: `${node}:/p/a.ts`, dir: false },
  { file: "./b.ts", lexical: "/p/b.ts", key: `${node}:/p/b.ts`, dir: false },
  { file: "link.ts", lexical: "/p/link.ts", key: `${node}:/p/a.ts`, dir: false },
  { file: "a.ts", lexical: "/p/a.ts", key: `${node}:/p/moved.ts`, dir: false },
  { file: "README", lexical: "/p/README", key: `${node}:/p/readme`, dir: false, path: "/p/README" },
  { file: "src", lexical: "/p/src", key: `${node}:/p/src`, dir: true },
  { file: "src/c.ts", lexical: "/p/src/c.ts", key: `${node}:/p/src/c.ts`, dir: false },
  { file: "/", lexical: "/", key: `${node}:`, dir: true },
];

function isOneOfThree({ key, lexical }: FileRef): boolean {
  return [key, lexical].some(text => text.endsWith("/p/a.ts"));
}

/** The actor of most of them. */
export const main: Actor = { session: "s1", agent: null, incarnation: 0 };

/** Mostly a session and an agent of it, who lend each other locks. */
const actor = fc.constantFrom<Actor[]>(
  ...Array.from({ length: 3 }, () => main),
  ...Array.from({ length: 3 }, () => ({ session: "s1", agent: "a1", incarnation: 0 })),
  { session: "s1", agent: null, incarnation: 1 },
  { session: "s2", agent: null, incarnation: 0 },
  { session: "stranger", agent: null, incarnation: 0 },
);
/** Mostly one that has several names. */
const file = fc.oneof(fc.constantFrom(...files), fc.constantFrom(...files.filter(one => isOneOfThree(one))));
const some = fc.oneof(
  { arbitrary: fc.tuple(file), weight: 6 },
  { arbitrary: fc.uniqueArray(file, { maxLength: 3, selector: ({ key }) => key }), weight: 1 },
);
const retry = fc.constantFrom(
  ...Array.from({ length: 8 }, () => undefined),
  { by: "s1", requestId: "r1", digest: "d1" },
  { by: "s1", requestId: "r1", digest: "d2" },
);

/** A request that does not wait, with these terms. */
export function lockOf(
  of: Pick<LockRequest, "actor" | "files"> & Partial<LockRequest>,
): CommandOf<"lock_request"> {
  const { retry: kept, ...terms } = of;
  return {
    type: "lock_request",
    ...lockTerms,
    single: of.files.length === 1,
    project: "/p",
    cwd: "/p",
    wallMs: 0,
    ...terms,
    ...(kept === undefined ? {} : { retry: kept }),
  };
}

const lock: fc.Arbitrary<Command> = fc
  .record({
    actor,
    files: some,
    kind: fc.constantFrom<LockRequest["kind"]>(
      ...Array.from({ length: 5 }, () => "explicit" as const),
      "turn",
    ),
    flight: fc.constantFrom(...Array.from({ length: 7 }, () => null), "t1"),
    bound: fc.constantFrom(null, null, { node, epoch: 1, connection: 1 }),
    retry,
  })
  .map(({ retry: kept, ...rest }) => {
    const of = { ...rest, ancestors: rest.actor.agent === null ? [] : [null] };
    return lockOf(kept === undefined ? of : { ...of, retry: kept });
  });

const release: fc.Arbitrary<Command> = fc.record({ actor, files: some, isByKey: fc.boolean(), retry }).map(
  ({ actor: by, files: named, isByKey, retry: kept }): CommandOf<"lock_release"> => ({
    type: "lock_release",
    actor: by,
    files: named.map(one => ({ file: one.file, lexical: one.lexical, key: isByKey ? one.key : null })),
    ...(kept === undefined ? {} : { retry: kept }),
  }),
);

const rest: fc.Arbitrary<Command> = fc.oneof(
  actor.map((by): Command => ({ type: "lock_release", actor: by, files: "all" })),
  actor.map((by): Command => ({ type: "turn_end", actor: by, keepPrompt: null })),
  fc.constant<Command>({ type: "lock_unbind", bound: { node, epoch: 1, connection: 1 } }),
);

/** Some of them, in any order. */
export const commands = fc.array(
  fc.oneof({ arbitrary: lock, weight: 5 }, { arbitrary: release, weight: 5 }, { arbitrary: rest, weight: 1 }),
  { maxLength: 40, size: "max" },
);

/** Begins a session that has no process. */
export function begin(session: string): Command {
  const place = { cwd: "/p", project: "/p", worktree: "/p", branch: "main" };
  return { type: "session_begin", session, anchor: null, ...place, name: null, revive: false, wallMs: 0 };
}
