/** Who makes room where there are as many sessions as may be. */
import { describe, expect, it } from "vitest";
import { apply } from "../../daemon/core/apply.ts";
import type { Actor } from "../../daemon/core/frame/actors.ts";
import { check } from "../../daemon/core/slices.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, bounded, lockOf, World, waits } from "./core-world.ts";

// Who makes room where there are as many sessions as may be: the bounds are small here, and every invariant is checked.

const bounds = { sessionsMax: 4, sessionsAnchoredMax: 7, sessionsPerProcessMax: 3 };
const world = () => new World(bounded(bounds));

const names = (w: World) => [...w.state.sessions.live.keys()];
const anchor = (pid: number) => ({ anchor: { pid, startTime: "1" } });

/** `sessionsMax` sessions without a process: s1, s2, s3, s4. */
function full(): World {
  const w = world();
  for (const id of ["s1", "s2", "s3", "s4"]) w.begin(id);
  expect(w.state.sessions.live.size).toBe(bounds.sessionsMax);
  return w;
}

function send(w: World, from: string, to: string) {
  const of = { project: "/p", agents: [], text: "hello", bytes: 5, replyTo: null, urgent: false, wallMs: 1 };
  return w.do({ type: "message_send", actor: actor(from), to, ...of });
}

function read(w: World, of: string | Actor) {
  for (let n = 0; n < 2; n += 1) {
    const reply = w.do({ type: "inbox_take", actor: actor(of), max: 3, chars: 100 });
    const ids = (reply as unknown as { messages: { id: string }[] }).messages.map(m => m.id);
    w.do({ type: "inbox_told", actor: actor(of), messages: ids, heard: true });
  }
}

function task(w: World): string {
  const tasks = [{ name: null, description: "it", priority: "normal", labels: [], dependsOn: [] }] as const;
  const reply = w.do({ type: "task_create", by: null, tasks, many: false, project: "/p", wallMs: 1 });
  return (reply as unknown as { task: { id: string } }).task.id;
}

const claim = (w: World, session: string, id: string) =>
  w.do({
    type: "task_claim",
    actor: actor(session),
    task: id,
    labels: [],
    project: "/p",
    cwd: "/p",
    wallMs: 1,
  });

describe("a session that begins where there is no room", () => {
  it.each([
    ["with a process", (w: World) => w.begin("new", anchor(1))],
    ["without one", (w: World) => w.begin("new")],
    ["by a lock", (w: World) => w.lock("new", "x")],
    ["by a claim", (w: World) => claim(w, "new", task(w))],
  ])("%s gets that of the one that has had nothing for longest", (_, begin) => {
    const w = full();
    expect(begin(w)).toMatchObject({ ok: true });
    expect(names(w)).toEqual(["s2", "s3", "s4", "new"]);
    expect(w.steps.at(-1)?.events.map(e => e.event)).toContainEqual({
      event: "session_ended",
      id: "s1",
      name: "s1",
      project: "/p",
      cause: "made room",
    });
  });

  it("and again, as often as there are such", () => {
    const w = full();
    for (let n = 0; n < 50; n += 1) expect(w.lock(`n${n}`, "x", { waitMs: 0 })).toBeDefined();
    for (let n = 0; n < 50; n += 1) expect(w.begin(`m${n}`)).toMatchObject({ ok: true });
    expect(w.state.sessions.live.size).toBe(bounds.sessionsMax);
  });

  it("does not make an end of it that is remembered: what made room comes back with its next event", () => {
    const w = full();
    w.begin("new");
    expect(w.begin("s1", { revive: false })).toMatchObject({ ok: true });
    expect(w.lock("s2", "x")).toMatchObject({ ok: true });
  });

  it("costs nobody else anything where it goes on from one that was suspended", () => {
    const w = world();
    w.begin("a", anchor(1));
    for (const id of ["s1", "s2", "s3"]) w.begin(id);
    w.do({ type: "session_suspend", session: "a" });
    w.begin("b", anchor(1));
    expect(names(w)).toEqual(["s1", "s2", "s3", "b"]);
  });
});

describe("a session keeps its place", () => {
  const child = { session: "s1", agent: "child", incarnation: 0 };
  const turn: Partial<LockRequest> = { kind: "turn", ancestors: [null] };

  it.each<readonly [string, (w: World) => (() => void) | null]>([
    [
      "with a process",
      w => {
        w.begin("s1", anchor(9));
        return null;
      },
    ],
    [
      "with a lock",
      w => {
        w.lock("s1", "x");
        return () => w.unlock("s1", "x");
      },
    ],
    [
      "with a lock of its agent's",
      w => {
        w.lock(child, "x", turn);
        return () => w.unlock(child, "x");
      },
    ],
    [
      "while it waits",
      w => {
        w.lock("s2", "x");
        expect(w.lock("s1", "x")).toBe(waits);
        w.do({ type: "lock_revoke", by: "p", files: [{ file: "x", lexical: "/p/x", key: "n:/p/x" }] });
        w.lock("s3", "y");
        w.lock("s1", "y");
        return () => {
          w.unlock("s1", "all");
          w.unlock("s1", "y");
        };
      },
    ],
    [
      "while it works on a task",
      w => {
        const id = task(w);
        claim(w, "s1", id);
        return () => w.do({ type: "task_release", by: actor("s1"), task: id, wallMs: 2 });
      },
    ],
    [
      "while it has an unread message",
      w => {
        send(w, "s2", "s1");
        return () => read(w, "s1");
      },
    ],
    [
      "while an agent of it has one",
      w => {
        const of = { project: "/p", text: "hello", bytes: 5, replyTo: null, urgent: false, wallMs: 1 };
        w.do({ type: "agent_begin", session: "s1", agent: "child", name: "child" });
        w.do({ type: "message_send", actor: actor("s2"), to: "child", ...of });
        return () => w.do({ type: "agent_end", actor: child });
      },
    ],
    [
      "while it holds edits back",
      w => {
        const hold = { files: [{ file: "h", lexical: "/p/h", key: "n:/p/h", dir: false }], ttlMs: 60_000 };
        const of = { project: "/p", text: "wait", bytes: 4, wallMs: 1 };
        w.do({ type: "broadcast", actor: actor("s1"), hold, ...of });
        for (const id of ["s2", "s3", "s4"]) read(w, id);
        return () => w.do({ type: "resume", actor: actor("s1"), project: "/p", hold: null });
      },
    ],
  ])("%s, and no longer", (_, have) => {
    const w = full();
    const lose = have(w);
    for (let n = 0; n < 2 * bounds.sessionsMax; n += 1) {
      expect(w.begin(`more-${n}`)).toMatchObject({ ok: true });
      expect(names(w)).toContain("s1");
    }
    const back = readState(writeState(w.state));
    expect([...back.sessions.idle]).toEqual([...w.state.sessions.idle]);
    if (lose === null) return;
    lose();
    expect([...w.state.sessions.idle].at(-1)).toBe("s1");
    for (let n = 0; names(w).includes("s1"); n += 1) {
      expect(n).toBeLessThan(bounds.sessionsMax);
      expect(w.begin(`new-${n}`)).toMatchObject({ ok: true });
    }
  });
});

describe("where every session has something to lose", () => {
  function busy(): World {
    const w = full();
    for (const id of names(w)) w.lock(id, id);
    return w;
  }

  it("one without a process is refused, and changes nothing", () => {
    const w = busy();
    const id = task(w);
    // All but the first line, which has the number of the entry.
    const plain = () => writeState(w.state).split("\n").slice(1);
    const before = plain();
    for (const refused of [w.begin("new"), w.lock("new", "x"), claim(w, "new", id)])
      expect(refused).toMatchObject({
        code: "too_many_sessions",
        error: expect.stringContaining("register with the pid"),
      });
    expect(names(w)).toEqual(["s1", "s2", "s3", "s4"]);
    expect(plain()).toEqual(before);
  });

  it("one with a process begins all the same, up to a bound of those", () => {
    const w = busy();
    for (let pid = 1; w.state.sessions.live.size < bounds.sessionsAnchoredMax; pid += 1)
      expect(w.begin(`real-${pid}`, anchor(pid))).toMatchObject({ ok: true, anchored: true });
    expect(w.begin("more", anchor(99))).toMatchObject({ code: "too_many_sessions" });
    w.unlock("s3", "s3");
    expect(w.begin("more", anchor(99))).toMatchObject({ ok: true });
    expect(names(w)).not.toContain("s3");
  });

  it("those above the bound leave no room for one without", () => {
    const w = busy();
    w.begin("real", anchor(1));
    w.do({ type: "session_end", session: "s1", incarnation: null, cause: "ended" });
    expect(w.begin("new")).toMatchObject({ code: "too_many_sessions" });
    w.do({ type: "session_end", session: "s2", incarnation: null, cause: "ended" });
    expect(w.begin("new")).toMatchObject({ ok: true });
  });

  it("one whose silence was noticed loses its locks in time, and makes room then", () => {
    const w = busy();
    const begun = w.state.sessions.live.get("s2")?.begun ?? -1;
    w.do({ type: "session_lost", session: "s2", begun });
    w.pass(limits.explicitLeaseMs);
    expect(w.begin("new")).toMatchObject({ ok: true });
    expect(names(w)).not.toContain("s2");
  });
});

it("one that has just had something goes after one that had nothing all along", () => {
  const w = full();
  w.lock("s1", "x");
  w.unlock("s1", "x");
  w.begin("s2");
  w.begin("new-1");
  w.begin("new-2");
  expect(names(w).sort()).toEqual(["new-1", "new-2", "s1", "s2"]);
});

it("names that were given up are given out again, the lowest number first", () => {
  const w = world();
  const begin = (id: string) =>
    (w.begin(id, { name: "ann", ...anchor(Number(id)) }) as unknown as { name: string }).name;
  const end = (id: string) => w.do({ type: "session_end", session: id, incarnation: null, cause: "ended" });
  expect(["1", "2", "3"].map(begin)).toEqual(["ann", "ann-2", "ann-3"]);
  end("2");
  expect(begin("4")).toBe("ann-2");
  expect(begin("5")).toBe("ann-4");
  end("1");
  end("3");
  expect(["6", "7", "8"].map(begin)).toEqual(["ann", "ann-3", "ann-5"]);
});

describe("sessions of one process", () => {
  it("make room for its next one, the oldest that has nothing", () => {
    const w = world();
    for (const id of ["p1", "p2", "p3"]) w.begin(id, anchor(1));
    w.lock("p1", "x");
    w.begin("p4", anchor(1));
    expect(names(w)).toEqual(["p1", "p3", "p4"]);
    w.begin("other", anchor(2));
    expect(names(w)).toEqual(["p1", "p3", "p4", "other"]);
  });

  it("are refused where all have something, and nobody else is", () => {
    const w = world();
    for (const id of ["p1", "p2", "p3"]) {
      w.begin(id, anchor(1));
      w.lock(id, id);
    }
    expect(w.begin("p4", anchor(1))).toMatchObject({ ok: false, code: "too_many_sessions" });
    expect(w.begin("other", anchor(2))).toMatchObject({ ok: true });
    const text = writeState(w.state);
    expect(writeState(readState(text))).toBe(text);
  });
});

// As many sessions as may be, and many more: nobody with a process is shut out, and no request looks at all.
describe("many more sessions than may be", () => {
  const sessionsMax = 500;

  function world() {
    const state = bounded({ sessionsMax });
    const step = (command: Command): Reply | null => {
      const origin = { node: "n", epoch: 1, n: state.seq + 1 };
      return apply(state, { seq: state.seq + 1, at: state.seq, origin, command }).reply;
    };
    const begin = (session: string, pid: number | null = null, name: string | null = null) =>
      step({
        type: "session_begin",
        session,
        anchor: pid === null ? null : { pid, startTime: "1" },
        cwd: "/p",
        project: "/p",
        worktree: "/p",
        branch: null,
        name,
        revive: true,
        wallMs: 0,
      });
    const lock = (session: string, file: string) => step(lockOf(session, file, 0));
    step({ type: "daemon_started", epoch: 1, storeId: "store" });
    return { state, step, begin, lock };
  }

  /** From here on who walks over all sessions throws; returns how often a name was looked up since. */
  function watched({ sessions }: State): () => number {
    const walk = () => {
      throw new Error("all sessions were walked over");
    };
    for (const name of ["values", "keys", "entries", "forEach", Symbol.iterator] as const)
      Object.defineProperty(sessions.live, name, { value: walk });
    let lookups = 0;
    const get = sessions.names.get.bind(sessions.names);
    Object.defineProperty(sessions.names, "get", {
      value: (name: string) => {
        lookups += 1;
        return get(name);
      },
    });
    return () => lookups;
  }

  it("ids of scripts make room for each other and for whoever has a process", () => {
    const { state, begin, lock, step } = world();
    for (let n = 0; n < sessionsMax; n += 1) expect(begin(`script-${n}`)?.ok).toBe(true);
    const lookups = watched(state);
    const more = 200;
    for (let n = 0; n < more; n += 1) {
      expect(begin(`again-${n}`)?.ok).toBe(true);
      expect(lock(`locks-${n}`, "x")?.ok).toBe(true);
      expect(
        step({
          type: "lock_release",
          actor: { session: `locks-${n}`, agent: null, incarnation: 0 },
          files: "all",
        })?.ok,
      ).toBe(true);
      expect(begin(`real-${n}`, n + 1, "real")?.ok).toBe(true);
      expect(state.sessions.live.size).toBe(sessionsMax);
    }
    expect(lookups() / (3 * more)).toBeLessThan(4);
    const whole = readState(writeState(copyable(state)));
    expect(check(whole)).toEqual([]);
    const real = [...whole.sessions.live.keys()].filter(id => id.startsWith("real-"));
    expect(real).toHaveLength(more);
  });

  it("scripts that all hold something shut each other out, and nobody with a process", () => {
    const { state, begin, lock } = world();
    for (let n = 0; n < sessionsMax; n += 1) expect(lock(`script-${n}`, `f${n}`)?.ok).toBe(true);
    watched(state);
    expect(lock("one-more", "x")).toMatchObject({ code: "too_many_sessions" });
    expect(begin("one-more")).toMatchObject({ code: "too_many_sessions" });
    for (let n = 0; n < 100; n += 1) expect(begin(`real-${n}`, n + 1)?.ok).toBe(true);
  });

  /** The same with sessions that may be walked over again. */
  function copyable(state: State): State {
    const live: State["sessions"]["live"] = new Map();
    Map.prototype.forEach.call(state.sessions.live, (session, id) => live.set(id, session));
    return { ...state, sessions: { ...state.sessions, live } };
  }
});
