import { describe, expect, it } from "vitest";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { missingIn } from "../../daemon/core/lead/declarations.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { ViewedFile } from "../../daemon/core/tables/declarations.ts";
import type { CommandOf } from "../../daemon/core/tables/entries.ts";
import { takeBackOverlaps } from "../../daemon/core/work/overlaps.ts";
import { trailOf } from "../../daemon/trail/from-events.ts";
import { declarationExample } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, World } from "./core-world.ts";

const ann = actor("ann");
const bob = actor("bob");
const child: Actor = { ...ann, agent: "child" };

class Declaring extends World {
  declare(who: Actor, more: Partial<CommandOf<"declare">> = {}) {
    const nothing = { ancestors: [], anew: false, files: [], uncertainties: [], wallMs: this.now };
    return this.do({ type: "declare", actor: who, ...nothing, ...more });
  }

  of(who: Actor) {
    const key = who.agent === null ? who.session : `${who.session}\n${who.agent}`;
    return this.state.declarations.live.get(key);
  }

  /** What an agent is to be told of overlaps. */
  told(who: Actor): string[] {
    const key = who.agent === null ? who.session : `${who.session}\n${who.agent}`;
    const notes = this.state.notes.pending.get(key)?.notes ?? [];
    return notes.flatMap(({ note }) =>
      note.what === "overlap" ? [`${note.file} with ${note.other}: ${note.will}`] : [],
    );
  }

  ended() {
    return [...this.state.declarations.ended.values()].map(({ name, task }) => `${name}: ${task}`);
  }
}

const bounds = { declarationsMax: 30, declarationsEndedMax: 10 };

function world(...names: string[]): Declaring {
  const w = new Declaring(bounded(bounds));
  for (const name of names.length === 0 ? ["ann", "bob"] : names) w.begin(name, { name });
  return w;
}

function file(name: string, more: Partial<ViewedFile> = {}): ViewedFile {
  const path = `/p/${name}`.replace(/\/$/, "");
  return { ref: { file: name, lexical: path, key: `n:${path}`, dir: name.endsWith("/") }, ...more };
}

const wrote = (w: Declaring, who: Actor, name: string, ancestors: (string | null)[] = []) =>
  w.do({
    type: "writes_noted",
    actor: who,
    noted: {
      files: [{ key: `n:/p/${name}`, file: name, worktree: "/p", project: "/p" }],
      by: "shell",
      ancestors,
      wallMs: 0,
    },
  });

describe("a declaration", () => {
  it("grows part by part, and what is absent stays", () => {
    const w = world();
    w.declare(ann, { role: "implementer" });
    w.declare(ann, { task: "paging", confidence: 0.5 });
    w.declare(ann, { files: [file("a.ts", { sees: "a list" })] });
    expect(w.declare(ann, { files: [file("a.ts", { will: "pages" })] })).toMatchObject({
      ok: true,
      declaration: {
        id: "ann",
        agent: null,
        name: "ann",
        role: "implementer",
        task: "paging",
        confidence: 0.5,
        files: [{ path: "/p/a.ts", sees: "a list", will: "pages", touched: false }],
        endedMs: null,
      },
      overlaps: [],
    });
  });

  it("says what is missing until all of it is there", () => {
    const w = world();
    const all = { role: "tester", task: "test paging", confidence: 0.9, reason: "small", plan: ["write it"] };
    expect(missingIn(undefined)).toHaveLength(5);
    expect(w.declare(ann, { role: "tester" })).toMatchObject({ missing: { length: 4 } });
    expect(w.declare(ann, all)).toMatchObject({ missing: [] });
    expect(w.declare(ann, { files: [file("a.ts")] })).toMatchObject({
      missing: [expect.stringContaining("/p/a.ts now"), expect.stringContaining("will do in /p/a.ts")],
    });
  });

  it.each(["", "  ", "TODO", "todo.", "...", "…", "N/A", "???", "TBD", declarationExample.task])(
    "counts %j as missing",
    task => {
      const w = world();
      const rest = { role: "tester", confidence: 1, reason: "known", plan: ["do it"] };
      w.declare(ann, { ...rest, task });
      expect(missingIn(w.of(ann))).toEqual([expect.stringContaining("understanding.task")]);
    },
  );

  it("says why a text that is there counts as missing, and what to say of a new file", () => {
    const w = world();
    const { reason } = declarationExample;
    const all = { role: "tester", task: "tbd", confidence: 1, reason, plan: ["do it"] };
    w.declare(ann, { ...all, files: [{ ...file("a.ts"), sees: "None", will: "write it" }] });
    expect(missingIn(w.of(ann))).toEqual([
      'understanding.task: your task in your own words; "tbd" is a placeholder',
      `understanding.reason: why the confidence is as it is; "${reason}" is the example's`,
      'codeView: what is in /p/a.ts now (sees); "None" is a placeholder; if the file is new, say that it is new',
    ]);
    for (const sees of ["a new file", "it is new", "New file."]) {
      w.declare(ann, { task: "x", reason: "known", files: [{ ...file("a.ts"), sees }] });
      expect(missingIn(w.of(ann))).toEqual([]);
    }
  });

  it("is of an agent, not of its session", () => {
    const w = world();
    w.declare(ann, { task: "lead" });
    w.declare(child, { task: "help" });
    expect([w.of(ann)?.task, w.of(child)?.task]).toEqual(["lead", "help"]);
    w.do({ type: "agent_end", actor: child });
    expect([w.of(ann)?.task, w.of(child)]).toEqual(["lead", undefined]);
    expect(w.ended()).toEqual([expect.stringMatching(/^ann\/.*: help$/)]);
  });

  it("of a session that is not there is refused", () => {
    expect(world().declare(actor("eve"), { task: "x" })).toMatchObject({ code: "unknown_session" });
  });

  it("begun anew leaves the one before in the history", () => {
    const w = world();
    w.declare(ann, { task: "one", files: [file("a.ts")] });
    w.declare(ann, { anew: true, task: "two" });
    expect(w.of(ann)).toMatchObject({ task: "two", files: [] });
    expect(w.ended()).toEqual(["ann: one"]);
  });

  it("outlives its session in the history, which is bounded", () => {
    const w = world();
    for (let n = 0; n <= bounds.declarationsEndedMax; n += 1) w.declare(ann, { anew: true, task: `t${n}` });
    w.do({ type: "session_end", session: "ann", incarnation: null, cause: "ended" });
    expect(w.state.declarations.live.size).toBe(0);
    expect(w.ended()).toHaveLength(bounds.declarationsEndedMax);
    expect(w.ended().at(-1)).toBe(`ann: t${bounds.declarationsEndedMax}`);
  });

  it("goes on with the process that goes on under another id", () => {
    const w = world();
    const anchor = { pid: 7, startTime: "1" };
    w.begin("cyd", { anchor, name: "cyd" });
    w.declare(actor("cyd"), { task: "go on", files: [file("a.ts")] });
    w.do({ type: "session_suspend", session: "cyd" });
    w.begin("dan", { anchor });
    expect(w.of(actor("dan"))).toMatchObject({ session: "dan", task: "go on" });
    expect(w.of(actor("cyd"))).toBeUndefined();
  });

  it("is in a snapshot", () => {
    const w = world();
    w.declare(ann, { task: "one", files: [file("src/")] });
    w.declare(ann, { anew: true, task: "two", files: [file("src/a.ts")] });
    const read = readState(writeState(w.state));
    expect({ ...read.declarations, limits: w.state.limits }).toEqual(w.state.declarations);
  });
});

describe("an uncertainty", () => {
  const question = "is it called twice?";

  it("is resolved with evidence only, now or later", () => {
    const w = world();
    expect(w.declare(ann, { uncertainties: [{ question, resolved: true }] })).toMatchObject({
      code: "evidence_missing",
    });
    expect(w.of(ann)).toBeUndefined();
    w.declare(ann, { uncertainties: [{ question, settledBy: "a test" }] });
    w.declare(ann, { uncertainties: [{ question, evidence: "the test fails" }] });
    w.declare(ann, { uncertainties: [{ question, resolved: true }] });
    expect(w.of(ann)?.uncertainties).toEqual([
      { question, settledBy: "a test", evidence: "the test fails", resolved: true },
    ]);
  });

  it("stays open in a declaration that begins anew, until it is resolved", () => {
    const w = world();
    const found = { question: "who calls it?", evidence: "nobody", resolved: true };
    w.declare(ann, { uncertainties: [{ question, settledBy: "a test" }, found] });
    w.declare(ann, { anew: true, task: "two" });
    const open = { question, settledBy: "a test", evidence: "", resolved: false };
    expect(w.of(ann)).toMatchObject({ task: "two", uncertainties: [open] });
    const resolved = { evidence: "the test passes", resolved: true };
    w.declare(ann, { anew: true, uncertainties: [{ question, ...resolved }] });
    expect(w.of(ann)?.uncertainties).toEqual([{ ...open, ...resolved }]);
    w.declare(ann, { anew: true, task: "three" });
    expect(w.of(ann)?.uncertainties).toEqual([]);
  });

  it("is one of a bounded number", () => {
    const w = world();
    const many = Array.from({ length: limits.uncertaintiesMax + 1 }, (_, n) => ({ question: `q${n}` }));
    expect(w.declare(ann, { uncertainties: many })).toMatchObject({ code: "declaration_full" });
  });
});

describe("the code view", () => {
  it("has a file until it is struck off", () => {
    const w = world();
    w.declare(ann, { files: [file("a.ts"), file("b.ts")] });
    w.declare(ann, { files: [file("a.ts", { drop: true })] });
    expect(w.of(ann)?.files.map(({ path }) => path)).toEqual(["/p/b.ts"]);
    expect(w.declare(ann, { files: [file("a.ts", { drop: true })] })).toMatchObject({ code: "not_declared" });
  });

  it("is bounded", () => {
    const w = world();
    const many = Array.from({ length: limits.declaredFilesMax + 1 }, (_, n) => file(`f${n}`));
    expect(w.declare(ann, { files: many })).toMatchObject({ code: "declaration_full" });
    expect(w.of(ann)).toBeUndefined();
  });

  it("knows what was written: by the agent, by one that works for it, in a folder", () => {
    const w = world();
    w.declare(ann, { files: [file("a.ts"), file("src/"), file("c.ts")] });
    wrote(w, ann, "a.ts");
    wrote(w, bob, "c.ts");
    wrote(w, child, "src/deep/b.ts", [null]);
    expect(w.of(ann)?.files.map(({ touched }) => touched)).toEqual([true, true, false]);
    w.declare(ann, { files: [file("a.ts", { will: "more" })] });
    expect(w.of(ann)?.files[0]?.touched).toBe(true);
  });

  it("knows what was written before it was declared and is not committed", () => {
    const w = world();
    wrote(w, ann, "a.ts");
    wrote(w, child, "src/b.ts", [null]);
    wrote(w, bob, "c.ts");
    w.declare(ann, { files: [file("a.ts"), file("src/"), file("c.ts"), file("d.ts")] });
    expect(w.of(ann)?.files.map(({ touched }) => touched)).toEqual([true, true, false, false]);
  });

  it("knows what was written under a lock outside of every repository", () => {
    const w = world();
    w.declare(ann, { files: [file("a.ts")] });
    w.lock(ann, "a.ts", { kind: "turn", flight: "use" });
    const { key } = [...w.state.locks.holds.values()][0] ?? {};
    w.declare(ann, { files: [{ ref: { file: "a.ts", lexical: "/p/a.ts", key: key ?? "", dir: false } }] });
    w.do({ type: "flight_end", actor: ann, flight: "use", wrote: true });
    expect(w.of(ann)?.files.find(one => one.key === key)?.touched).toBe(true);
  });
});

describe("a notice of an overlap", () => {
  const will = (text: string) => ({ files: [file("a.ts", { will: text }), file("b.ts")] });
  const drop = (...names: string[]) => ({ files: names.map(name => file(name, { drop: true })) });

  it("is taken back on both sides when either one strikes the file off", () => {
    for (const who of [ann, bob]) {
      const w = world();
      w.declare(ann, will("rename it"));
      w.declare(bob, will("page it"));
      expect(w.told(ann)).toEqual(["/p/a.ts with bob: page it", "/p/b.ts with bob: "]);
      w.declare(who, drop("a.ts"));
      expect(w.told(ann)).toEqual(["/p/b.ts with bob: "]);
      expect(w.told(bob)).toEqual(["/p/b.ts with ann: "]);
      w.declare(who, drop("b.ts"));
      expect(w.state.notes.pending.size).toBe(0);
    }
  });

  it("is taken back when the other one ends, begins anew or makes room, and others' notices stay", () => {
    for (const end of [
      (w: Declaring) => w.do({ type: "session_end", session: "bob", incarnation: null, cause: "ended" }),
      (w: Declaring) => w.declare(bob, { anew: true, task: "something else" }),
      (w: Declaring) => {
        for (let i = 0; i < bounds.declarationsMax - 2; i += 1)
          w.declare({ ...actor("cyd"), agent: `a${i}` }, { task: "x" });
      },
    ]) {
      const w = world("bob", "ann", "cyd");
      w.declare(bob, will("page it"));
      w.declare(ann, will("rename it"));
      w.declare(actor("cyd"), { files: [file("a.ts")] });
      end(w);
      expect(w.told(ann)).toEqual(["/p/a.ts with cyd: "]);
    }
  });

  it("is taken back when a subagent ends", () => {
    const w = world();
    w.do({ type: "agent_begin", session: "ann", agent: "child", name: "Explore" });
    w.declare(child, { ancestors: [null], files: [file("a.ts")] });
    w.declare(bob, { files: [file("a.ts")] });
    expect(w.told(bob)).toEqual(["/p/a.ts with ann/Explore: "]);
    w.do({ type: "agent_end", actor: child });
    expect(w.told(bob)).toEqual([]);
  });

  it("is taken back when its session goes on under another id, without the agent that it names", () => {
    const w = world("bob");
    const anchor = { pid: 7, startTime: "1" };
    w.begin("ann", { name: "ann", anchor });
    w.do({ type: "agent_begin", session: "ann", agent: "child", name: "Explore" });
    w.declare(child, { files: [file("a.ts")] });
    w.declare(bob, { files: [file("a.ts")] });
    // The main agent declares for another project: that counts within a session only.
    w.begin("ann", { name: "ann", project: "/q", anchor });
    w.declare(ann, { files: [file("a.ts")] });
    expect(w.told(ann)).toEqual(["/p/a.ts with ann/Explore: "]);
    w.do({ type: "session_suspend", session: "ann" });
    w.begin("cyd", { anchor, project: "/q" });
    expect(w.of(actor("cyd"))?.name).toBe("ann");
    expect(w.told(actor("cyd"))).toEqual([]);
    expect(w.told(bob)).toEqual([]);
  });

  it("stays for a file that the folder which is left still has", () => {
    const w = world();
    w.declare(ann, { files: [file("src/"), file("src/a.ts")] });
    w.declare(bob, { files: [file("src/a.ts", { will: "page it" })] });
    w.declare(ann, drop("src/a.ts"));
    expect(w.told(ann)).toEqual(["/p/src/a.ts with bob: page it"]);
    expect(w.told(bob)).toEqual(["/p/src with ann: "]);
    w.declare(ann, drop("src/"));
    expect(w.told(ann)).toEqual([]);
    expect(w.told(bob)).toEqual([]);
  });

  it("is taken back when the other one goes to another project, where it is told of others", () => {
    const w = world();
    w.begin("cyd", { name: "cyd", project: "/q" });
    w.declare(ann, will("rename it"));
    w.declare(bob, will("page it"));
    w.declare(actor("cyd"), will("drop it"));
    w.begin("bob", { name: "bob", project: "/q" });
    w.declare(bob, { task: "the same" });
    expect(w.told(ann)).toEqual([]);
    expect(w.told(bob)).toEqual(["/p/a.ts with cyd: drop it", "/p/b.ts with cyd: "]);
    expect(w.told(actor("cyd"))).toEqual(["/p/a.ts with bob: page it", "/p/b.ts with bob: "]);
  });

  it("stays over a declaration anew of the same files", () => {
    const w = world();
    w.declare(ann, will("rename it"));
    w.declare(bob, will("page it"));
    w.declare(ann, { anew: true, ...will("rename it") });
    expect(w.told(ann)).toHaveLength(2);
    expect(w.told(bob)).toHaveLength(2);
  });
});

describe("an overlap", () => {
  it("is told to both sides when the later one declares it, and once", () => {
    const w = world();
    w.declare(ann, { files: [file("a.ts", { will: "rename it" })] });
    expect(w.declare(bob, { files: [file("a.ts", { will: "split it" })] })).toMatchObject({
      overlaps: [{ path: "/p/a.ts", with: { id: "ann" }, will: "rename it" }],
    });
    w.declare(bob, { task: "more" });
    expect(w.told(ann)).toEqual(["/p/a.ts with bob: split it"]);
    expect(w.told(bob)).toEqual(["/p/a.ts with ann: rename it"]);
  });

  it("is a folder with a file in it, both ways", () => {
    const w = world("ann", "bob", "cyd");
    w.declare(ann, { files: [file("src/")] });
    expect(w.declare(bob, { files: [file("src/a.ts")] })).toMatchObject({ overlaps: [{ path: "/p/src" }] });
    expect(w.declare(actor("cyd"), { files: [file("src/")] })).toMatchObject({ overlaps: { length: 2 } });
  });

  it("is none between an agent and those that it works for, but between two of them", () => {
    const w = world();
    const other: Actor = { ...ann, agent: "other" };
    w.declare(ann, { files: [file("a.ts")] });
    expect(w.declare(child, { ancestors: [null], files: [file("a.ts")] })).toMatchObject({ overlaps: [] });
    expect(w.declare(other, { ancestors: [null], files: [file("a.ts")] })).toMatchObject({
      overlaps: [{ with: { agent: "child" } }],
    });
  });

  it("is none with another project, or with what ended", () => {
    const w = world();
    w.begin("eve", { project: "/q" });
    w.declare(actor("eve"), { files: [file("a.ts")] });
    w.declare(bob, { files: [file("a.ts")] });
    w.do({ type: "session_end", session: "bob", incarnation: null, cause: "ended" });
    expect(w.declare(ann, { files: [file("a.ts")] })).toMatchObject({ overlaps: [] });
  });
});

describe("what the client says of an agent", () => {
  const named = (w: Declaring, who: Actor, name: string, team = "red") =>
    w.do({ type: "teammate_named", session: who.session, agent: who.agent, name, team });
  const typed = (w: Declaring, name: string | null) =>
    w.do({ type: "agent_begin", session: "ann", agent: "child", name });
  /** What the last step wrote into the trail of mismatches. */
  const trail = (w: Declaring) =>
    trailOf(w.steps.at(-1)?.events ?? [], 0).flatMap(({ event, why }) => (event === "declared" ? [why] : []));
  const role = "identity.role: declared implementer, but the client calls this agent reviewer";
  const team = "identity.team: declared blue, but the client says its team is red";

  it("is compared with what it declares: a teammate's name and team", () => {
    const w = world();
    named(w, ann, "reviewer");
    expect(w.declare(ann, { role: "implementer", team: "blue" })).toMatchObject({
      mismatches: [role, team],
      declaration: { mismatches: [role, team] },
    });
    expect(trail(w)).toEqual([role, team]);
    expect(w.declare(ann, { team: " Red " })).toMatchObject({ mismatches: [role] });
    expect(trail(w)).toEqual([]);
    expect(w.declare(ann, { role: "code reviewer" })).toMatchObject({ mismatches: [] });
  });

  it("is compared again when it becomes known, or another", () => {
    const w = world();
    w.declare(ann, { role: "implementer", team: "blue" });
    named(w, ann, "reviewer");
    expect(w.of(ann)?.mismatches).toEqual([role, team]);
    expect(trail(w)).toEqual([role, team]);
    named(w, ann, "reviewer", "blue");
    expect(w.of(ann)?.mismatches).toEqual([role]);
    expect(trail(w)).toEqual([]);
  });

  it.each([
    ["Explore", "implementer", true],
    ["Explore-2", "researcher", false],
    ["CodeReviewer", "tester", true],
    ["qa-developer", "tester", false],
    ["alice", "lead", false],
    ["general-purpose", "implementer", false],
    ["reviewer", "the one who knows", false],
    ["team-lead", "planner", true],
  ])("a subagent of type %s that declares %s: a mismatch is %s", (type, declared, differs) => {
    const w = world();
    typed(w, null);
    w.declare(child, { role: declared });
    typed(w, type);
    expect(w.of(child)?.mismatches).toHaveLength(differs ? 1 : 0);
  });

  it("is nothing if the name is only made of the agent's id", () => {
    const w = world();
    w.do({ type: "agent_begin", session: "ann", agent: "reviewer-1", name: null });
    expect(w.declare({ ...ann, agent: "reviewer-1" }, { role: "lead" })).toMatchObject({ mismatches: [] });
    expect(w.declare(bob, { role: "lead", team: "blue" })).toMatchObject({ mismatches: [] });
  });

  it("ends with the agent; what it declared keeps what did not fit", () => {
    const w = world();
    typed(w, "helper");
    named(w, child, "reviewer");
    w.declare(child, { role: "implementer" });
    w.do({ type: "agent_end", actor: child });
    expect([...w.state.declarations.ended.values()].map(one => one.mismatches)).toEqual([[role]]);
    typed(w, "helper");
    expect(w.declare(child, { role: "implementer" })).toMatchObject({ mismatches: [] });
  });

  it("is of agents that the session has, and of no session that is not there", () => {
    const w = world();
    named(w, child, "reviewer");
    expect(w.state.teammates.has("ann")).toBe(false);
    expect(named(w, actor("eve"), "reviewer")).toEqual({ ok: true });
    expect(w.state.sessions.live.has("eve")).toBe(false);
  });

  it("outlives a snapshot, and a process that goes on under another id", () => {
    const w = world();
    const anchor = { pid: 7, startTime: "1" };
    w.begin("cyd", { anchor });
    named(w, actor("cyd"), "reviewer");
    w.declare(actor("cyd"), { role: "implementer" });
    expect(readState(writeState(w.state)).sessions).toEqual(w.state.sessions);
    w.do({ type: "session_suspend", session: "cyd" });
    w.begin("dan", { anchor });
    expect(w.of(actor("dan"))?.mismatches).toEqual([role]);
    expect(w.declare(actor("dan"), { task: "go on" })).toMatchObject({ mismatches: [role] });
  });
});

it("the end of a declaration looks at so many others and no more, however many share its file", () => {
  const w = world();
  for (const who of [ann, bob]) w.declare(who, { files: [file("a.ts")] });
  expect(w.told(bob)).toEqual(["/p/a.ts with ann: "]);
  let looks = 0;
  const { byFile, live } = w.state.declarations;
  byFile.set(
    "n:/p/a.ts",
    new (class extends Set<string> {
      override *[Symbol.iterator]() {
        for (const one of super.values()) {
          looks += 1;
          yield one;
        }
        return undefined;
      }
    })(["ann", "bob", ...Array.from({ length: 2 * limits.overlapsLookedAtMax }, (_, n) => `other ${n}`)]),
  );
  const ended = live.get("ann");
  if (ended !== undefined) takeBackOverlaps(w.state, ended, ended.files);
  expect(w.told(bob)).toEqual([]);
  expect(looks).toBeGreaterThan(2);
  expect(looks).toBeLessThanOrEqual(limits.overlapsLookedAtMax + 1);
});
