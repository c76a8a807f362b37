import { describe, expect, it } from "vitest";
import { HookNotes } from "../../daemon/hook-notes.ts";
import { limits } from "../../protocol/limits.ts";

const alice = { id: "a", agent: null, name: "alice" };
const helper = { id: "a", agent: "h", name: "alice/helper" };
const bob = { id: "b", agent: null, name: "bob" };
const lost = { event: "lost_update", file: "x", path: "/p/x", writer: alice, holder: bob } as const;

describe("notes of writes past locks", () => {
  it("are told to both, each once", () => {
    const notes = new HookNotes();
    notes.heard(lost);
    expect(notes.take(alice)).toEqual([{ what: "lost_update", file: "/p/x", mine: true, other: "bob" }]);
    expect(notes.take(bob)).toEqual([{ what: "lost_update", file: "/p/x", mine: false, other: "alice" }]);
    expect([notes.take(alice), notes.take(bob)]).toEqual([[], []]);
  });

  it("are the agent's own, not its session's", () => {
    const notes = new HookNotes();
    notes.heard({ ...lost, event: "bypassed", writer: helper, holder: bob, held: true });
    expect(notes.take(alice)).toEqual([]);
    expect(notes.take(helper)).toHaveLength(1);
  });

  it("name one thing once, and are bounded: the latest stay", () => {
    const notes = new HookNotes();
    for (let n = 0; n <= limits.fileNotesMax; n += 1) notes.heard({ ...lost, path: `/p/${n}`, holder: null });
    notes.heard({ ...lost, path: `/p/${limits.fileNotesMax}`, holder: null });
    const files = notes.take(alice).map(({ file }) => file);
    expect(files).toHaveLength(limits.fileNotesMax);
    expect([files[0], files.at(-1)]).toEqual(["/p/1", `/p/${limits.fileNotesMax}`]);
  });

  it("of more actors than there may be: the oldest are forgotten", () => {
    const notes = new HookNotes();
    for (let n = 0; n <= limits.notedActorsMax; n += 1) {
      notes.heard({ ...lost, writer: { ...alice, id: `a${n}` }, holder: null });
    }
    expect(notes.take({ id: "a0", agent: null })).toEqual([]);
    expect(notes.take({ id: "a1", agent: null })).toHaveLength(1);
  });
});
