/** A log is replayed as it is read, also with gaps; snapshots are written in pieces. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { SortedKeys } from "../../daemon/core/frame/collections.ts";
import { numberedKinds, numbersOf, passNumbers } from "../../daemon/core/gap.ts";
import { writeState } from "../../daemon/core/snapshot.ts";
import type { Command, Entry } from "../../daemon/core/tables/entries.ts";
import { Latest, Replay, RulesUnknown, rebuild, Snapshots } from "../../daemon/engine/replay.ts";
import type { Journal, Pieces } from "../../daemon/journal/journal.ts";
import { limits } from "../../protocol/limits.ts";
import { lockOf, World } from "./core-world.ts";
import { openOf } from "./debate-world.ts";

// A log is replayed as it is read: what is void shows only on the way.

const origin = (n: number) => ({ node: "n", epoch: 1, n });
const begun: Command = { type: "daemon_started", epoch: 1, storeId: "store" };

/** Throws if session a has locked `file`, and only then. */
function throwsOn(file: string): Command {
  const actor = { session: "a", agent: null, incarnation: 0 };
  const broken: unknown = { type: "lock_undelivered", waiter: null, actor, keys: [`n:/p/${file}`] };
  // The compiler cannot be told that a command may be broken.
  return broken as Command;
}

function unlock(file: string): Command {
  const actor = { session: "a", agent: null, incarnation: 0 };
  return { type: "lock_release", actor, files: [{ file, lexical: `/p/${file}`, key: `n:/p/${file}` }] };
}

function log(...commands: readonly Command[]): Entry[] {
  return commands.map((command, i) => ({ seq: i + 1, at: 1000 + i, origin: origin(i + 1), command }));
}

describe("a replay", () => {
  it("leaves out what the log voids later, though it was applied when it was read", () => {
    const entries = log(begun, lockOf("a", "x", 0), { type: "void", seq: 2 }, lockOf("b", "x", 0));
    const { state, threw, voided } = rebuild(null, entries);
    expect([...state.locks.holds.values()].map(({ actor }) => actor.session)).toEqual(["b"]);
    expect({ threw, voided }).toEqual({ threw: [], voided: [2] });
    expect(writeState(state)).toBe(writeState(rebuild(null, entries, new Set([2])).state));
  });

  it("reports an entry that throws, and begins again without it", () => {
    const { state, threw } = rebuild(
      null,
      log(begun, lockOf("a", "x", 0), throwsOn("x"), lockOf("b", "y", 0)),
    );
    expect(threw).toEqual([3]);
    expect([...state.locks.holds.keys()]).toEqual(["n:/p/x", "n:/p/y"]);
  });

  it("does not blame an entry that threw only because a void one was applied before it", () => {
    const entries = log(begun, lockOf("a", "x", 0), throwsOn("x"), { type: "void", seq: 2 });
    const { state, threw } = rebuild(null, entries);
    expect(threw).toEqual([]);
    expect(writeState(state)).toBe(writeState(rebuild(null, entries, new Set([2])).state));
  });

  it("sorts the locks that remain, not each that came and went", () => {
    const names = Array.from({ length: 200 }, (_, n) => `f${n}`);
    const entries = log(
      begun,
      lockOf("a", "x", 0),
      ...names.flatMap(name => [lockOf("a", name, 0), unlock(name)]),
    );
    const sorted = vi.spyOn(SortedKeys.prototype, "add");
    try {
      const { state } = rebuild(null, entries);
      expect([...state.locks.heldPaths.overlapping("n:/p", true)]).toEqual(["n:/p/x"]);
      expect(sorted.mock.calls.filter(([key]) => key.startsWith("n:/p/"))).toEqual([]);
    } finally {
      sorted.mockRestore();
    }
  });

  it("makes the steps of its last pass alone", () => {
    let steps: (readonly [number, number])[] = [];
    const replay = new Replay(null, new Set(), {
      begin: () => {
        steps = [];
      },
      onStep: (entry, _step, epoch) => steps.push([entry.seq, epoch]),
    });
    const entries = log(begun, lockOf("a", "x", 0), { type: "void", seq: 2 });
    do for (const entry of entries) replay.add(entry, 0);
    while (replay.mustRepeat());
    expect(steps).toEqual([
      [1, 1],
      [3, 1],
    ]);
  });

  it.each([
    ["of the latest entries alone", 0, limits.ringEntriesMax],
    ["of none that much of the log follows", limits.ringBytes + 1, 0],
  ])("makes the steps %s", (_which, behindBytes, count) => {
    const seen: number[] = [];
    const replay = new Replay(null, new Set(), { onStep: ({ seq }) => seen.push(seq) });
    const locks = Array.from({ length: limits.ringEntriesMax + 7 }, (_, n) => lockOf("a", `f${n % 90}`, 0));
    const entries = log(begun, ...locks);
    for (const entry of entries) replay.add(entry, behindBytes);
    expect(replay.mustRepeat()).toBe(false);
    expect(seen).toEqual(entries.slice(entries.length - count).map(({ seq }) => seq));
    expect(writeState(replay.recovered.state)).toBe(writeState(rebuild(null, entries).state));
  });

  it("begins again without a late entry that throws", () => {
    const seen: number[] = [];
    const replay = new Replay(null, new Set(), {
      begin: () => void seen.splice(0),
      onStep: ({ seq }) => seen.push(seq),
    });
    const entries = log(begun, lockOf("a", "x", 0), throwsOn("x"), lockOf("b", "y", 0));
    do for (const entry of entries) replay.add(entry, 0);
    while (replay.mustRepeat());
    expect([replay.recovered.threw, seen]).toEqual([[3], [1, 2, 4]]);
    expect(writeState(replay.recovered.state)).toBe(writeState(rebuild(null, entries).state));
  });

  it("refuses rules that it does not know as soon as it reads of them", () => {
    const replay = new Replay(null, new Set(), { onStep: () => {} });
    const [first, rules] = log(begun, { type: "rules", level: 1_000_000 });
    if (first === undefined || rules === undefined) throw new Error("the log is empty");
    replay.add(first, 0);
    expect(() => replay.add(rules, 0)).toThrow(RulesUnknown);
  });

  it("refuses a log that machines had in common, and says what to do", () => {
    const [first, shared] = log(begun, { type: "relayed" } as unknown as Command);
    if (first === undefined || shared === undefined) throw new Error("the log is empty");
    for (const skipped of [[], [2]]) {
      const replay = new Replay(null, new Set(skipped));
      replay.add(first, 0);
      expect(() => replay.add(shared, 0)).toThrow(/entry 2 is relayed.*move the journal away/);
    }
    const text = `${writeState(rebuild(null, [first]).state)}\n{"leases":[{"node":"n1"}]}`;
    const snapshot = { seq: 1, bytes: Buffer.from(text) } as never;
    expect(() => new Replay(snapshot)).toThrow(/in its snapshot, it has leases.*move the journal away/);
    expect(() => new Replay(snapshot)).toThrow(RulesUnknown);
  });
});

it("the latest are as many as may be, in order, and give way to later ones in that order", () => {
  const latest = new Latest<number>(3);
  expect([1, 2, 3, 4, 5].map(n => latest.add(n))).toEqual([undefined, undefined, undefined, 1, 2]);
  expect([latest.inOrder, latest.size]).toEqual([[3, 4, 5], 3]);
  latest.clear();
  expect([latest.add(6), latest.inOrder]).toEqual([undefined, [6]]);
});

// The numbers in ids, which a log with gaps counts on with.
describe("numbers of ids behind a gap", () => {
  const wallMs = 36 ** 3;
  const task = { name: null, description: "d", priority: "normal", labels: [], dependsOn: [] } as const;
  const branch = (name: string) => ({ branch: `refs/heads/${name}`, author: null, tasks: [], after: [] });

  const makers: readonly Command[] = [
    { type: "task_create", by: null, tasks: [task, task], many: true, project: "/p", wallMs },
    openOf(null, { wallMs, participants: [] }),
    {
      type: "spawn_create",
      ...{ by: null, project: "/p", name: null, role: null, task: null, base: null, replaces: null },
      ...{ backend: "background", client: "claude-code", reportsEnd: true, prompt: null, model: null },
      ...{ liveMax: 8, depthMax: 1, wallMs },
    },
    {
      type: "merge_queue",
      ...{ by: null, project: "/p", base: "refs/heads/main", rebase: false, checkOnly: false, wallMs },
      runner: { name: "r", bound: { node: "n", epoch: 1, connection: 1 } },
      merges: [branch("a"), branch("b")],
    },
  ];

  /** The numbers of the ids that the command makes. */
  function made(w: World, command: Command): number[] {
    const { kind = "" } = numbersOf(command) ?? {};
    const ids = JSON.stringify(w.do(command)).matchAll(new RegExp(`"${kind}-1000-([0-9a-z]+)"`, "g"));
    return [...new Set([...ids].map(([, n = ""]) => Number.parseInt(n, 36)))].sort((a, b) => a - b);
  }

  it.each(makers)("$type: as many as it makes, and none twice if they are used up", command => {
    const w = new World();
    const { count = 0 } = numbersOf(command) ?? {};
    const first = made(w, command);
    expect(first).toEqual(Array.from({ length: count }, (_, i) => i + 1));
    passNumbers(w.state, command);
    const again =
      command.type === "merge_queue" ? { ...command, merges: [branch("c"), branch("d")] } : command;
    expect(made(w, again)).toEqual(first.map(n => n + 2 * count));
  });

  it("are of kinds of which each command here has one", () => {
    expect(makers.map(command => numbersOf(command)?.kind).sort()).toEqual([...numberedKinds].sort());
  });
});

// A large state is written without being in memory a second time.
describe("a large state", () => {
  afterEach(() => vi.restoreAllMocks());

  it("each line is made when the one before is stored, and none is long", async () => {
    const w = new World();
    const files = Array.from({ length: 1_000 }, (_, n) => `${"long".repeat(20)}-${n}`);
    w.lock("a", files);
    const stringify = vi.spyOn(JSON, "stringify");
    const made: number[] = [];
    const lengths: number[] = [];
    const saveSnapshot = async (_seq: number, pieces: Pieces) => {
      for await (const piece of pieces) {
        made.push(stringify.mock.calls.length);
        lengths.push(piece.length);
      }
    };
    const journal = { health: { bytes: 0, full: false }, saveSnapshot } as unknown as Journal;
    await new Snapshots(journal, task => task()).take(w.state);
    expect(made.at(-1)).toBeGreaterThan(1_000);
    // The most that one piece cost, in items.
    const steps = made.map((all, i) => all - (made[i - 1] ?? 0));
    expect(Math.max(...steps)).toBeLessThan(300);
    expect(Math.max(...lengths)).toBeLessThan(70_000);
  });
});
