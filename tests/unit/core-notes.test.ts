import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { check } from "../../daemon/core/slices.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import type { Lineage } from "../../daemon/core/tables/naming.ts";
import { tellLater } from "../../daemon/core/tables/notices.ts";
import type { WipedWork, WriteNote } from "../../daemon/core/tables/uncommitted.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World } from "./core-world.ts";

const helper: Actor = { session: "a", agent: "helper", incarnation: 0 };

class Told extends World {
  /** What an agent is to be told, in short. */
  notes(session: string, agent: string | null = null): string[] {
    const key = agent === null ? session : `${session}\n${agent}`;
    return (this.state.notes.pending.get(key)?.notes ?? []).map(({ note }) =>
      note.what === "wiped"
        ? `wiped ${note.files.join(" ")} ${note.mine ? "mine" : "theirs"} ${note.other}: ${note.command} ${note.wipe} ${note.lines}${note.isAll ? "" : " of more"}`
        : "files" in note
          ? `${note.what} ${note.files.join(" ")} by ${note.other}: ${note.command} ${note.commit}`
          : note.what === "teammate_gone"
            ? `${note.other} of ${note.team} ${note.how}`
            : note.what === "overlap"
              ? `overlap ${note.file} with ${note.other}: ${note.will}`
              : "mine" in note
                ? `${note.what} ${note.file} ${note.mine ? "mine" : "theirs"} ${note.other}`
                : note.what,
    );
  }

  numbers(session: string): number[] {
    return this.state.notes.pending.get(session)?.notes.map(({ n }) => n) ?? [];
  }

  wrote(who: string | Actor, ...files: readonly string[]): number {
    const written = files.map(file => ({ key: `n:/p/${file}`, file, worktree: "/p", project: "/p" }));
    const noted: WriteNote = { files: written, by: "edit", ancestors: [], wallMs: 1 };
    this.do({ type: "flight_end", actor: actor(who), flight: null, wrote: true, noted });
    return this.state.seq;
  }

  bypass(who: string, file: string): void {
    const files = [{ key: `n:/p/${file}`, file, worktree: "/p", project: "/p" }];
    this.do({
      type: "writes_noted",
      actor: actor(who),
      noted: { files, by: "shell", ancestors: [], wallMs: 1 },
    });
  }

  conflict(first: string, second: string, file = "x", prompts: readonly (string | null)[] = []): boolean {
    const side = (of: string, i: number) => ({ actor: actor(of), name: of, prompt: prompts[i] ?? null });
    const sides = [side(first, 0), side(second, 1)] as const;
    const reply = this.do({ type: "conflict_noted", key: `n:/p/${file}`, path: `/p/${file}`, sides });
    return reply.ok && reply["told"] === true;
  }

  told(session: string, notes: readonly number[]): void {
    this.do({ type: "notes_told", session, agent: null, notes, risks: [] });
  }
}

const notedActorsMax = 10;

function world(...sessions: readonly string[]): Told {
  const w = new Told(bounded({ notedActorsMax }));
  for (const session of sessions) w.begin(session);
  return w;
}

describe("what an agent is to be told", () => {
  it("is what went past it, to both, until an answer reached them", () => {
    const w = world("a", "b");
    w.wrote("a", "x");
    w.bypass("b", "x");
    expect(w.notes("a")).toEqual(["bypassed /p/x theirs b"]);
    expect(w.notes("b")).toEqual(["bypassed /p/x mine a"]);
    w.told("a", w.numbers("a"));
    expect([w.notes("a"), w.notes("b")]).toEqual([[], ["bypassed /p/x mine a"]]);
  });

  it("is remembered over a snapshot", () => {
    const w = world("a", "b");
    w.wrote("a", "x");
    w.bypass("b", "x");
    w.conflict("a", "b", "y");
    const text = writeState(w.state);
    const back = readState(text);
    expect(writeState(back)).toBe(text);
    expect(back.notes).toEqual(w.state.notes);
  });

  it("is said once, and bounded: the latest stay, and the rest is counted", () => {
    const w = world("a", "b");
    const files = Array.from({ length: limits.fileNotesMax + 2 }, (_, i) => `f${i}`);
    w.wrote("a", ...files);
    for (const file of [...files, files.at(-1) ?? ""]) w.bypass("b", file);
    expect(w.notes("a")).toHaveLength(limits.fileNotesMax);
    expect(w.notes("a")[0]).toBe("bypassed /p/f2 theirs b");
    expect(w.state.notes.pending.get("a")?.dropped).toBe(2);
    w.told("a", w.numbers("a").slice(0, 1));
    expect(w.state.notes.pending.get("a")?.dropped).toBe(0);
    expect(w.notes("a")).toHaveLength(limits.fileNotesMax - 1);
  });

  it("of more agents than may: those noted first are forgotten", () => {
    const { state } = world("a");
    const note = { what: "bypassed", file: "/p/x", mine: true, other: "b" } as const;
    for (let n = 0; n <= notedActorsMax; n += 1) tellLater(state, { session: "a", agent: `${n}` }, note);
    expect(state.notes.pending.size).toBe(notedActorsMax);
    expect(state.notes.pending.has("a\n0")).toBe(false);
    expect(check(state)).toEqual([]);
  });

  it("goes with its session, and passes to the id under which a cleared one goes on", () => {
    const w = world("b");
    const anchor = { pid: 7, startTime: "7" };
    w.begin("a", { anchor });
    w.wrote("a", "x");
    w.bypass("b", "x");
    w.do({ type: "session_suspend", session: "a" });
    w.begin("c", { anchor });
    expect(w.notes("c")).toEqual(["bypassed /p/x theirs b"]);
    w.do({ type: "session_end", session: "c", incarnation: null, cause: "deregistered" });
    expect([...w.state.notes.pending.keys()]).toEqual(["b"]);
  });
});

describe("two that wrote the same file", () => {
  it("the one that wrote it first is told, once until it writes the file itself", () => {
    const w = world("a", "b");
    expect(w.conflict("a", "b")).toBe(true);
    expect(w.notes("a")).toEqual(["conflict /p/x mine b"]);
    expect(w.notes("b")).toEqual([]);
    w.told("a", w.numbers("a"));
    w.do({ type: "turn_end", actor: actor("a"), keepPrompt: null });
    expect(w.conflict("a", "b")).toBe(false);
    expect(w.notes("a")).toEqual([]);
    expect(w.conflict("b", "a")).toBe(true);
    expect(w.notes("b")).toEqual(["conflict /p/x mine a"]);
    expect(w.conflict("a", "b")).toBe(true);
    expect(w.notes("b")).toEqual([]);
    expect(w.notes("a")).toEqual(["conflict /p/x mine b"]);
  });

  it("who writes the file itself has read it, whoever wrote it before", () => {
    const w = world("a", "b");
    expect(w.conflict("a", "b")).toBe(true);
    expect(w.conflict("a", "a")).toBe(false);
    expect(w.notes("a")).toEqual([]);
    expect(w.conflict("a", "b")).toBe(true);
    expect(w.notes("a")).toEqual(["conflict /p/x mine b"]);
  });

  it("are both told, once in the turns of both, as level 1 has it", () => {
    const w = world("a", "b");
    w.state.rules = 1;
    expect(w.conflict("a", "b")).toBe(true);
    expect([w.notes("a"), w.notes("b")]).toEqual([["conflict /p/x mine b"], ["conflict /p/x mine a"]]);
    for (const id of ["a", "b"]) w.told(id, w.numbers(id));
    expect([w.conflict("b", "a"), w.conflict("a", "b")]).toEqual([false, false]);
    w.do({ type: "turn_end", actor: actor("a"), keepPrompt: null });
    expect(w.conflict("b", "a")).toBe(true);
  });

  it("are not told again after a restart", () => {
    const w = world("a", "b");
    w.conflict("a", "b");
    w.start();
    expect(w.conflict("a", "b")).toBe(false);
  });

  it("are not told again for a prompt that is typed into the running turn, under level 1", () => {
    const w = world("a", "b");
    w.state.rules = 1;
    w.conflict("a", "b", "x", ["p1", "p2"]);
    w.do({ type: "turn_end", actor: actor("a"), keepPrompt: "p1" });
    expect(w.conflict("a", "b")).toBe(false);
    w.do({ type: "turn_end", actor: actor("a"), keepPrompt: "p3" });
    expect(w.conflict("a", "b")).toBe(true);
  });

  it("of which one has ended: nobody is told of it again", () => {
    const w = world("a", "b");
    w.do({ type: "session_end", session: "a", incarnation: null, cause: "deregistered" });
    expect(w.conflict("b", "a")).toBe(false);
    expect(w.conflict("a", "b")).toBe(false);
    expect(w.notes("b")).toEqual([]);
  });
});

describe("work that a git command of another one took", () => {
  const take = (w: Told, how: "committed" | "discarded", seq: number, ...files: readonly string[]) =>
    w
      .step({
        type: "work_taken",
        actor: actor("b"),
        name: "bob",
        ancestors: [],
        how,
        command: "git commit -a",
        commit: how === "committed" ? "1234567890" : null,
        files: files.map(file => ({ key: `n:/p/${file}`, seq })),
      })
      .events.map(({ event }) =>
        event.event === "work_taken"
          ? `${event.by.name} ${event.how} ${event.files.join(" ")} of ${event.owner.name}`
          : event.event,
      );

  it("is told to each whose it was, with its own files", () => {
    const w = world("a", "b", "c");
    w.wrote("a", "x", "y");
    w.wrote("c", "z");
    const seq = w.wrote("c", "y");
    expect(take(w, "committed", seq, "x", "y", "z")).toEqual([
      "bob committed x y of a",
      "bob committed y z of c",
    ]);
    expect(w.notes("a")).toEqual(["committed /p/x /p/y by bob: git commit -a 1234567890"]);
    expect(w.notes("b")).toEqual([]);
  });

  it("is nobody's loss where it is one's own, a family's, an ended one's, or was written since", () => {
    const w = world("a", "b", "c");
    const before = w.wrote("b", "own");
    w.wrote({ ...helper, session: "b" }, "family");
    w.wrote("c", "ended");
    w.do({ type: "session_end", session: "c", incarnation: null, cause: "deregistered" });
    w.wrote("a", "later");
    expect(take(w, "discarded", before, "own", "ended", "later", "unknown")).toEqual([]);
    const step = w.step({
      type: "work_taken",
      actor: actor("b"),
      name: "b",
      ancestors: [],
      how: "discarded",
      command: "git stash push",
      commit: null,
      files: [{ key: "n:/p/family", seq: w.state.seq }],
    });
    expect(step.events).toHaveLength(1);
  });

  it("is cut where it is much, and the rest is counted", () => {
    const w = world("a", "b");
    const files = Array.from({ length: limits.guardFilesMax + 3 }, (_, i) => `f${i}`);
    const seq = w.wrote("a", ...files);
    take(w, "discarded", seq, ...files);
    const [noted] = w.state.notes.pending.get("a")?.notes ?? [];
    expect(noted?.note).toMatchObject({ more: 3, files: { length: limits.guardFilesMax } });
  });
});

describe("work that was wiped and kept", () => {
  type Doer = Extract<Command, { type: "work_wiped" }>["doer"];
  const lineage = (who: string | Actor): Lineage => ({ actor: actor(who), ancestors: [] });
  const bob: Doer = { ...lineage("b"), name: "bob", isUnaware: false };
  const file = (name: string, lines: number | null, ...who: readonly (string | Actor)[]): WipedWork => ({
    file: name,
    path: `/p/${name}`,
    lines,
    writers: who.map(lineage),
  });
  const wipe = (w: Told, doer: Doer, files: readonly WipedWork[], others = 0) =>
    w
      .step({ type: "work_wiped", wipe: "r-1", project: "/p", doer, command: "make", files, others })
      .events.map(({ event }) =>
        event.event === "work_wiped"
          ? `${event.by?.name} ${event.wipe} ${event.files.join(" ")} of ${event.owner.name}: ${event.lines}`
          : event.event,
      );

  it("is told to each whose it was with its own files, and to who did it with all of theirs", () => {
    const w = world("a", "b", "c");
    const files = [file("x", 3, "a"), file("y", 4, "c", "a"), file("own", 9, "b")];
    expect(wipe(w, bob, files)).toEqual(["bob r-1 x y of a: 7", "bob r-1 y of c: 4"]);
    expect(w.notes("a")).toEqual(["wiped /p/x /p/y theirs bob: make r-1 7 of more"]);
    expect(w.notes("c")).toEqual(["wiped /p/y theirs bob: make r-1 4 of more"]);
    expect(w.notes("b")).toEqual(["wiped /p/x /p/y mine a: make r-1 7 of more"]);
    check(w.state);
  });

  it("is told to its writers alone where nobody is known to have done it", () => {
    const w = world("a", "b");
    expect(wipe(w, null, [file("x", 3, "a")])).toEqual(["undefined r-1 x of a: 3"]);
    expect(w.notes("a")).toEqual(["wiped /p/x theirs null: make r-1 3"]);
    expect(wipe(w, null, [file("x", null, "a")], 1)).toEqual(["undefined r-1 x of a: null"]);
    expect(w.notes("a").at(-1)).toBe("wiped /p/x theirs null: make r-1 null of more");
  });

  it("takes the place of what only says that the file changed, and of nothing else", () => {
    const w = world("a", "b", "c");
    const seq = w.wrote("a", "x", "y", "z");
    w.bypass("b", "x");
    w.bypass("b", "z");
    w.bypass("c", "x");
    const take = { type: "work_taken", ancestors: [], how: "discarded", command: "git stash" } as const;
    const taken = (...names: readonly string[]) => names.map(name => ({ key: `n:/p/${name}`, seq }));
    w.do({ ...take, actor: actor("b"), name: "b", commit: null, files: taken("x", "y") });
    w.do({ ...take, actor: actor("c"), name: "c", commit: null, files: taken("x") });
    wipe(w, { ...bob, name: "b" }, [file("x", 3, "a")]);
    expect(w.notes("a")).toEqual([
      "bypassed /p/z theirs b",
      "bypassed /p/x theirs c",
      "discarded /p/y by b: git stash null",
      "discarded /p/x by c: git stash null",
      "wiped /p/x theirs b: make r-1 3",
    ]);
    expect(w.notes("b")).toEqual(["bypassed /p/z mine a", "wiped /p/x mine a: make r-1 3"]);
    // Nobody is known to have done this: it says nothing of what others did.
    const other = world("a", "b");
    other.wrote("a", "z");
    other.bypass("b", "z");
    wipe(other, null, [file("z", 3, "a")]);
    expect(other.notes("a")).toEqual(["bypassed /p/z theirs b", "wiped /p/z theirs null: make r-1 3"]);
  });

  it("leaves no notice twice where it makes two of them the same", () => {
    const w = world("a", "b");
    const take = (seq: number, ...names: readonly string[]) => {
      const files = names.map(name => ({ key: `n:/p/${name}`, seq }));
      const how = { how: "discarded", command: "git stash", commit: null } as const;
      w.do({ type: "work_taken", ancestors: [], ...how, actor: actor("b"), name: "bob", files });
    };
    take(w.wrote("a", "x", "y"), "x", "y");
    take(w.wrote("a", "x"), "x");
    wipe(w, bob, [file("y", 4, "a")]);
    expect(w.notes("a")).toEqual([
      "discarded /p/x by bob: git stash null",
      "wiped /p/y theirs bob: make r-1 4",
    ]);
    expect(check(w.state)).toEqual([]);
  });

  it("is no news where it is one's own, a family's or an ended one's; unaware, one hears it of oneself", () => {
    const w = world("a", "b");
    w.do({ type: "session_end", session: "a", incarnation: null, cause: "deregistered" });
    const main: Doer = { actor: actor("b"), ancestors: [], name: "bob", isUnaware: false };
    const child = { actor: { ...helper, session: "b" }, ancestors: [null] };
    const own = [file("own", 1, "b"), { ...file("family", 2), writers: [child] }];
    expect(wipe(w, main, own)).toEqual([]);
    expect(w.notes("b")).toEqual([]);
    expect(wipe(w, { ...main, isUnaware: true }, own)).toEqual([]);
    expect(w.notes("b")).toEqual(["wiped /p/own /p/family mine null: make r-1 3"]);
    expect(wipe(w, main, [file("ended", 1, "a")])).toEqual([]);
    expect(w.notes("b").at(-1)).toBe("wiped /p/ended mine a: make r-1 1");
  });

  it("is cut where it is much, and the rest is counted", () => {
    const w = world("a", "b");
    wipe(
      w,
      bob,
      Array.from({ length: limits.guardFilesMax + 3 }, (_, i) => file(`f${i}`, 2, "a")),
    );
    const [noted] = w.state.notes.pending.get("a")?.notes ?? [];
    const lines = 2 * (limits.guardFilesMax + 3);
    expect(noted?.note).toMatchObject({
      more: 3,
      lines,
      isAll: true,
      files: { length: limits.guardFilesMax },
    });
  });
});

it("a session is told of a merge risk once, over restarts", () => {
  const w = world("a", "b");
  const at = (worktree: string, who: string) => {
    const files = [{ key: `n:${worktree}/x`, file: "x", worktree, project: "/p" }];
    const noted: WriteNote = { files, by: "edit", ancestors: [], wallMs: 1 };
    w.do({ type: "flight_end", actor: actor(who), flight: null, wrote: true, noted });
  };
  at("/p", "a");
  at("/side", "b");
  const [id] = [...w.state.risks.keys()];
  const told = (session: string) =>
    w.do({ type: "notes_told", session, agent: null, notes: [], risks: [id ?? "", "gone"] });
  for (const session of ["a", "a", "c"]) told(session);
  expect([...w.state.risks.values()].map(risk => risk.told)).toEqual([["a"]]);
});
