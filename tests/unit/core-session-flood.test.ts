/** As many sessions as may be, and many more: nobody with a process is shut out, and no request looks at all. */
import { expect, it } from "vitest";
import { apply } from "../../daemon/core/apply.ts";
import { check } from "../../daemon/core/slices.ts";
import { readState, writeState } from "../../daemon/core/snapshot.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import { bounded, lockOf } from "./core-world.ts";

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
