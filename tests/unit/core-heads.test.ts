import { expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { check } from "../../daemon/core/slices.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { HeadRow } from "../../daemon/core/tables/heads.ts";
import { type HeadPlace, headWords } from "../../protocol/guard.ts";
import { actor, bounded, World } from "./core-world.ts";

const on = (name: string, commit = "c1"): HeadPlace => ({
  ref: `refs/heads/${name}`,
  commit,
  operation: null,
  of: null,
});

class Moved extends World {
  /** A look finds HEAD there. */
  at(
    head: HeadPlace | null,
    more: Partial<HeadRow> = {},
    tell: readonly string[] = [],
    by: string | null = null,
  ): void {
    const row = { worktree: "/p", head, operation: null, moved: null, ...more };
    this.do({ type: "head_moved", row, tell: tell.map(session => ({ session, agent: null })), by });
  }

  notes(session: string): readonly string[] {
    return (this.state.notes.pending.get(session)?.notes ?? []).map(({ note }) =>
      note.what === "head_moved"
        ? `${headWords(note.from)} to ${headWords(note.to)} by ${note.other} ${note.owner ?? ""}`.trim()
        : note.what,
    );
  }
}

function two(): Moved {
  const w = new Moved();
  w.begin("a");
  w.begin("b");
  return w;
}

it("tells nobody of the first look, and each of a move that comes after", () => {
  const w = two();
  w.at(on("main"), {}, ["b"]);
  expect(w.notes("b")).toEqual([]);
  w.at(on("topic"), {}, ["b"], "a");
  expect(w.notes("b")).toEqual(["main to topic by a"]);
  expect(w.notes("a")).toEqual([]);
});

it("leaves one notice of several moves, and none if HEAD is back", () => {
  const w = two();
  w.at(on("main"));
  w.at(on("topic"), {}, ["b"], "a");
  w.at(on("other"), {}, ["b"]);
  expect(w.notes("b")).toEqual(["main to other by null"]);
  w.at(on("main"), {}, ["b"], "a");
  expect(w.notes("b")).toEqual([]);
  w.at(on("main", "c0"), {}, ["b"], "a");
  expect(w.notes("b")).toEqual(["main to main by a"]);
});

it("says whose the operation is, and forgets a row that says nothing", () => {
  const w = two();
  w.at(on("main"));
  const rebasing: HeadPlace = { ref: null, commit: "c0", operation: "rebase", of: "main" };
  const operation = { kind: "rebase", by: actor("a"), name: "a", wallMs: 1 } as const;
  w.at(rebasing, { operation }, ["b"], "a");
  expect(w.notes("b")).toEqual(["main to rebasing main by a a"]);
  // One is alone there: where HEAD is does not matter, whose the operation is does.
  w.at(null, { operation });
  expect(w.state.heads.rows.get("/p")).toMatchObject({ head: null, operation });
  w.at(on("main"), {}, ["b"]);
  expect(w.notes("b")).toHaveLength(1);
  w.at(null);
  expect(w.state.heads.rows.size).toBe(0);
});

it("stays with a session that goes on under another id, and in a snapshot", () => {
  const w = two();
  const by: Actor = actor("a");
  const moved = { by, from: on("main"), to: on("topic") };
  w.at(on("topic"), { operation: { kind: "merge", by, name: "a", wallMs: 1 }, moved });
  expect(check(w.state)).toEqual([]);
  const text = writeState(w.state);
  expect(readState(text).heads.rows.get("/p")).toEqual(w.state.heads.rows.get("/p"));
});

it("keeps the rows of the latest looks", () => {
  const w = new Moved(bounded({ headRowsMax: 2 }));
  for (const worktree of ["/1", "/2", "/3"])
    w.do({
      type: "head_moved",
      row: { worktree, head: on("main"), operation: null, moved: null },
      tell: [],
      by: null,
    });
  expect([...w.state.heads.rows.keys()]).toEqual(["/2", "/3"]);
});

it.each<[HeadPlace, string]>([
  [on("x/y"), "x/y"],
  [{ ...on("x"), operation: "merge" }, "x, merging"],
  [{ ref: null, commit: "0123456789abcdef", operation: null, of: null }, "detached at 0123456789"],
  [{ ref: null, commit: "c", operation: "rebase", of: "main" }, "rebasing main"],
  [{ ref: null, commit: "c", operation: "bisect", of: "main" }, "bisecting main"],
  [{ ...on("x"), operation: "am" }, "x, applying patches"],
])("in words: %o", (place, words) => {
  expect(headWords(place)).toBe(words);
});
