/** The trail: what it writes of events, and how it is read. */
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { CoreEvent } from "../../daemon/core/tables/entries.ts";
import { trailOf } from "../../daemon/trail/from-events.ts";
import { type Place, readForward, readTrail, startBefore } from "../../daemon/trail/read.ts";
import { LineBuffer, Trail, type TrailLine } from "../../daemon/trail/trail.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { actor, lockOf, World } from "./core-world.ts";
import { claimOf, releaseOf, TaskWorld, updateOf } from "./task-world.ts";

const top = temporaryFolder("kite-trail-");
let count = 0;

const fresh = () => join(top, String(count++));

function line(at: number, more: Partial<TrailLine> = {}): TrailLine {
  return {
    at,
    event: "file_lock",
    id: "s",
    agent: null,
    name: "alice",
    project: "/p",
    type: "explicit",
    file: "/p/a.ts",
    decision: "allow",
    ...more,
  };
}

const times = (lines: readonly TrailLine[]) => lines.map(l => l.at);
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

describe("the trail", () => {
  test("is written and read, newest last", async () => {
    const dir = fresh();
    const trail = new Trail(dir);
    expect(await readTrail(dir, { limit: 10 })).toEqual([]);
    const deny = line(2, { decision: "deny", code: "lock_held", why: "alice\nholds it", ms: 1.5 });
    trail.write(line(1));
    trail.write(deny);
    await trail.flush();
    expect(await readTrail(dir, { limit: 10 })).toEqual([line(1), deny]);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(statSync(join(dir, "trail-1.ndjson")).mode & 0o777).toBe(0o600);
    await trail.close();
    trail.write(line(3));
    expect(trail.written).toBe(2);
    expect(trail.dropped).toBe(1);
  });

  test("is written by itself after a while, and at once when much waits", async () => {
    const dir = fresh();
    const trail = new Trail(dir);
    for (const at of range(0, limits.trailBatchMax)) trail.write(line(at));
    expect(trail.written).toBe(0);
    await trail.flush();
    expect(trail.written).toBe(limits.trailBatchMax);
    await trail.close();
  });

  test("never holds what it has no field for", async () => {
    const dir = fresh();
    const trail = new Trail(dir);
    const payload = { ...line(1), content: "SECRET", tool_input: { file_text: "SECRET" } };
    trail.write(payload);
    trail.write(line(2, { why: "x".repeat(limits.trailFieldChars + 1) }));
    await trail.close();
    expect(readFileSync(join(dir, "trail-1.ndjson"), "utf8")).not.toContain("SECRET");
    expect((await readTrail(dir, { limit: 1 }))[0]?.why).toHaveLength(limits.trailFieldChars);
  });

  test("moves on to the next file and keeps so many", async () => {
    const dir = fresh();
    const trail = new Trail(dir, { fileBytes: 1000, filesMax: 2 });
    for (const at of range(0, 40)) {
      trail.write(line(at));
      await trail.flush();
    }
    await trail.close();
    const names = readdirSync(dir);
    expect(names).toHaveLength(2);
    for (const name of names) expect(statSync(join(dir, name)).size).toBeLessThanOrEqual(1000);
    const read = times(await readTrail(dir, { limit: 100 }));
    expect(read).toEqual(range(40 - read.length, 40));
    expect(read.length).toBeGreaterThan(5);
  });

  test("goes on where it was, after a torn line too", async () => {
    const dir = fresh();
    const before = new Trail(dir);
    before.write(line(1));
    await before.close();
    appendFileSync(join(dir, "trail-1.ndjson"), '{"at":2,"event":"file_l');
    expect(times(await readTrail(dir, { limit: 10 }))).toEqual([1]);
    const after = new Trail(dir);
    after.write(line(3));
    await after.close();
    expect(readdirSync(dir)).toEqual(["trail-1.ndjson"]);
    expect(times(await readTrail(dir, { limit: 10 }))).toEqual([1, 3]);
  });

  test("drops and counts what is too much", async () => {
    const dir = fresh();
    const trail = new Trail(dir, { queueMax: 3 });
    for (const at of range(0, 5)) trail.write(line(at));
    expect(trail.dropped).toBe(2);
    await trail.close();
    expect(times(await readTrail(dir, { limit: 10 }))).toEqual([0, 1, 2]);
  });

  test("counts what cannot be written, says it once, and recovers", async () => {
    const dir = fresh();
    writeFileSync(dir, "in the way");
    const errors: unknown[] = [];
    const trail = new Trail(dir, { onError: error => errors.push(error) });
    for (const at of range(0, 3)) {
      trail.write(line(at));
      await trail.flush();
    }
    expect(trail.dropped).toBe(3);
    expect(errors).toHaveLength(1);
    rmSync(dir);
    trail.write(line(3));
    await trail.close();
    expect(times(await readTrail(dir, { limit: 10 }))).toEqual([3]);
  });

  test("leaves no line behind that came while it was written", async () => {
    const dir = fresh();
    const trail = new Trail(dir);
    trail.write(line(0));
    const flushed = trail.flush();
    trail.write(line(1));
    await flushed;
    expect(times(await readTrail(dir, { limit: 10 }))).toEqual([0, 1]);
    await trail.close();
  });

  test("leaves no line behind that came right after the last batch", async () => {
    const dir = fresh();
    writeFileSync(dir, "in the way");
    const onError = () =>
      queueMicrotask(() => {
        rmSync(dir);
        trail.write(line(1));
      });
    const trail: Trail = new Trail(dir, { onError });
    trail.write(line(0));
    await trail.flush();
    expect(times(await readTrail(dir, { limit: 10 }))).toEqual([1]);
    await trail.close();
  });
});

describe("reading", () => {
  test("stops at the limit and filters", async () => {
    const dir = fresh();
    const trail = new Trail(dir, { fileBytes: 2000 });
    for (const at of range(0, 50)) {
      trail.write(line(at, { decision: at % 10 === 0 ? "deny" : "allow" }));
      await trail.flush();
    }
    await trail.close();
    expect(times(await readTrail(dir, { limit: 3 }))).toEqual([47, 48, 49]);
    const denied = { limit: 3, filter: (l: TrailLine) => l.decision === "deny" };
    expect(times(await readTrail(dir, denied))).toEqual([20, 30, 40]);
    expect(await readTrail(dir, { limit: 0 })).toEqual([]);
  });

  test("finds every line wherever the pieces it reads begin", async () => {
    const dir = fresh();
    mkdirSync(dir);
    const lines = range(0, 2000).map(at => line(at, { why: "é".repeat(at % 97) }));
    writeFileSync(join(dir, "trail-7.ndjson"), lines.map(l => `${JSON.stringify(l)}\n`).join(""));
    expect(await readTrail(dir, { limit: 5000 })).toEqual(lines);
  });

  test("stops before a time, without reading what is older", async () => {
    const dir = fresh();
    mkdirSync(dir);
    const lines = range(0, 50).map(at => `${JSON.stringify(line(at))}\n`);
    writeFileSync(join(dir, "trail-1.ndjson"), lines.slice(0, 30).join(""));
    writeFileSync(join(dir, "trail-2.ndjson"), lines.slice(30).join(""));
    const seen: number[] = [];
    const filter = ({ at }: TrailLine) => seen.push(at) > 0;
    expect(times(await readTrail(dir, { limit: 100, since: 45, filter }))).toEqual(range(45, 50));
    expect(seen).toEqual(range(45, 50).reverse());
  });

  test("passes over what is no line", async () => {
    const dir = fresh();
    mkdirSync(dir);
    const good = (at: number) => JSON.stringify(line(at));
    const overlong = `{"at":9,"why":"${"x".repeat(limits.trailLineBytes * 3)}"}`;
    const padded = `${good(8)}${" ".repeat(limits.trailLineBytes * 3)}`;
    const text = [
      overlong,
      good(1),
      padded,
      "",
      "null",
      "[]",
      '{"at":"1"}',
      good(2),
      overlong,
      good(3),
      "{",
    ].join("\n");
    writeFileSync(join(dir, "trail-1.ndjson"), text);
    writeFileSync(join(dir, "trail-x.ndjson"), good(4));
    writeFileSync(join(dir, "notes.txt"), good(5));
    expect(times(await readTrail(dir, { limit: 10 }))).toEqual([1, 2, 3]);
  });
});

describe("reading forward", () => {
  const start: Place = { n: 0, offset: 0 };

  async function forward(dir: string, from: Place = start): Promise<{ lines: TrailLine[]; end: Place }> {
    const lines: TrailLine[] = [];
    let end = from;
    for await (const chunk of readForward(dir, from)) {
      lines.push(...chunk.lines);
      end = chunk.end;
    }
    return { lines, end };
  }

  test("finds every line wherever the pieces it reads begin, over several files in their order", async () => {
    const dir = fresh();
    mkdirSync(dir);
    const lines = range(0, 3000).map(at => line(at, { why: "é".repeat(at % 97) }));
    const text = (some: readonly TrailLine[]) => some.map(l => `${JSON.stringify(l)}\n`).join("");
    writeFileSync(join(dir, "trail-9.ndjson"), text(lines.slice(0, 1000)));
    writeFileSync(join(dir, "trail-10.ndjson"), text(lines.slice(1000)));
    expect((await forward(dir)).lines).toEqual(lines);
    expect(await forward(join(dir, "nowhere"))).toEqual({ lines: [], end: start });
  });

  test("goes on where it stood, with a line that was not whole before", async () => {
    const dir = fresh();
    mkdirSync(dir);
    const path = join(dir, "trail-1.ndjson");
    const next = `${JSON.stringify(line(2))}\n`;
    writeFileSync(path, `${JSON.stringify(line(1))}\n${next.slice(0, 30)}`);
    const first = await forward(dir);
    expect(times(first.lines)).toEqual([1]);
    appendFileSync(path, next.slice(30));
    writeFileSync(join(dir, "trail-2.ndjson"), `${JSON.stringify(line(3))}\n`);
    const second = await forward(dir, first.end);
    expect(times(second.lines)).toEqual([2, 3]);
    expect((await forward(dir, second.end)).lines).toEqual([]);
  });

  test("passes over what is no line, however long it is", async () => {
    const dir = fresh();
    mkdirSync(dir);
    const overlong = `{"at":9,"why":"${"x".repeat(limits.trailLineBytes * 3)}"}`;
    const wrong = JSON.stringify({ ...line(8), ms: "slow" });
    const good = (at: number) => JSON.stringify(line(at));
    const text = ["", overlong, good(1), "null", "{", wrong, good(2), overlong, good(3), "{"].join("\n");
    writeFileSync(join(dir, "trail-1.ndjson"), text);
    expect(times((await forward(dir)).lines)).toEqual([1, 2, 3]);
  });

  test("begins with the last file that begins before a time", async () => {
    const dir = fresh();
    mkdirSync(dir);
    for (const n of range(1, 4))
      writeFileSync(join(dir, `trail-${n}.ndjson`), `{\n${JSON.stringify(line(n * 10))}\n`);
    writeFileSync(join(dir, "trail-4.ndjson"), "");
    const files = await Promise.all([5, 10, 11, 21, 99].map(async at => (await startBefore(dir, at)).n));
    expect(files).toEqual([0, 0, 1, 2, 3]);
  });
});

describe("lines of events", () => {
  /** The lines about tasks, in short. */
  const tasksIn = (events: readonly CoreEvent[]) =>
    trailOf(events, 7)
      .filter(line => line.rule === "task")
      .map(({ id, name, type, why }) => [id, name, type, why]);

  it("writes down waits, and how each lock ended and after how long", () => {
    const w = new World();
    w.begin("a", { name: "alice", project: "/shop" });
    w.lock("a", "x", { kind: "turn" });
    w.lock("a", "y");
    w.lock("b", "x", { kind: "turn" });
    w.pass(15_000);
    const told = () => trailOf(w.steps.at(-1)?.events ?? [], 7);
    const lines = w.steps.flatMap(step => trailOf(step.events, 7)).filter(line => line.rule === "lock");
    expect(lines).toEqual([
      {
        at: 7,
        event: "lock_queued",
        id: "b",
        agent: null,
        name: "b",
        project: "default",
        type: null,
        file: "/p/x",
        decision: "wait",
        rule: "lock",
        why: "behind alice, queue position 1",
      },
      {
        at: 7,
        event: "lock_released",
        id: "a",
        agent: null,
        name: "alice",
        project: "/shop",
        type: "yielded",
        file: "/p/x",
        decision: "note",
        rule: "lock",
        why: "others waited and it was not touched, so it passed on",
        heldMs: 15_000,
      },
    ]);
    w.unlock("a", "y");
    expect(told()).toMatchObject([
      { name: "alice", type: "unlocked", why: "its holder unlocked it", heldMs: 15_000 },
    ]);
    w.step({ type: "session_end", session: "a", incarnation: null, cause: "anchor_gone" });
    expect(told()).toMatchObject([{ event: "session_ended", name: "alice", why: "its process ended" }]);
  });

  it("writes down who froze which file, and when that ended", () => {
    const w = new World();
    w.begin("a", { name: "alice", project: "/p" });
    const hold = { files: lockOf("a", "x", 0).files, ttlMs: 2_500 };
    const freeze = { type: "broadcast", project: "/p", text: "secret", bytes: 6, hold, wallMs: 1 } as const;
    const last = () => trailOf(w.steps.at(-1)?.events ?? [], 7);
    w.do({ ...freeze, actor: actor("a") });
    expect(last()).toMatchObject([{ name: "alice", file: "/p/x", rule: "freeze", why: "froze it for 3 s" }]);
    expect(JSON.stringify(last())).not.toContain("secret");
    w.pass(2_500);
    expect(last()).toMatchObject([{ id: null, file: "/p/x", why: "the freeze ended: its time was over" }]);
    w.do({ ...freeze, actor: actor("a") });
    w.do({ type: "resume", actor: actor("a"), project: "/p", hold: null });
    expect(last()).toMatchObject([{ file: "/p/x", why: "the freeze ended: before its time, on request" }]);
  });

  it("writes down which tasks nobody works on any more, and not what was given back", () => {
    const w = new TaskWorld();
    w.create("it");
    const ends: unknown[] = [];
    for (const cause of ["anchor_gone", "deregistered", "ended"] as const) {
      w.begin("a", { name: "alice" });
      w.do(claimOf("a"));
      const { events } = w.step({ type: "session_end", session: "a", incarnation: null, cause });
      ends.push(...tasksIn(events));
    }
    expect(ends).toEqual([
      ["a", "alice", "anchor_gone", "its process ended, t-0-1 can be claimed again"],
      ["a", "alice", "deregistered", "its session ended, t-0-1 can be claimed again"],
      ["a", "alice", "ended", "its session ended, t-0-1 has failed: too many attempts"],
    ]);
    w.do(updateOf(null, "t-0-1", { status: "pending" }));
    w.do(claimOf("b"));
    expect(trailOf(w.step(releaseOf("b", "t-0-1")).events, 8)).toEqual([]);
  });

  it("writes down what a shell command changed past its holder", () => {
    const w = new World();
    w.begin("a", { name: "alice", project: "/p" });
    w.begin("b", { name: "bob", project: "/p" });
    w.lock("a", "x");
    const files = [{ key: "n:/p/x", file: "x", worktree: "/p", project: "/p" }];
    const actor = { session: "b", agent: null, incarnation: 0 };
    const noted = { files, by: "shell", ancestors: [], wallMs: 1 } as const;
    const { events } = w.step({ type: "writes_noted", actor, noted });
    expect(trailOf(events, 9)).toEqual([
      {
        at: 9,
        event: "bypassed",
        id: "b",
        agent: null,
        name: "bob",
        project: "/p",
        type: "shell",
        file: "/p/x",
        decision: "note",
        rule: "write",
        why: "changed by a shell command while alice holds it",
      },
    ]);
  });

  it("writes down a write that came after its lock had passed", () => {
    const w = new World();
    w.begin("a", { name: "alice" });
    w.begin("b", { name: "bob" });
    w.lock("a", "x", { kind: "turn", flight: "use" });
    w.pass(600_000);
    w.lock("b", "x");
    const step = w.step({
      type: "flight_end",
      actor: { session: "a", agent: null, incarnation: 0 },
      flight: "use",
      wrote: true,
    });
    expect(trailOf(step.events, 9)).toMatchObject([
      {
        event: "lost_update",
        name: "alice",
        file: "/p/x",
        why: "wrote after its lock had passed on; bob has it now",
      },
    ]);
  });
});

describe("lines that wait as bytes", () => {
  it("come out as they went in, in order, however long they are and whenever some are taken", () => {
    const lengths = fc.constantFrom(1, 100, limits.trailPieceBytes / 3, limits.trailPieceBytes);
    const one = fc.tuple(lengths, fc.constantFrom("x", "é", "🪁"), fc.boolean());
    fc.assert(
      fc.property(fc.array(one, { maxLength: 30 }), list => {
        const buffer = new LineBuffer();
        let [sent, got, lines] = ["", "", 0];
        const take = () => {
          const piece = buffer.take();
          if (piece === null) return false;
          got += piece.bytes.toString("utf8");
          lines += piece.lines;
          buffer.giveBack(piece);
          return true;
        };
        for (const [length, letter, taken] of list) {
          sent += letter.repeat(length);
          buffer.add(letter.repeat(length));
          if (taken) take();
          expect(buffer.lines + lines).toBeGreaterThan(0);
        }
        while (take());
        expect(got === sent).toBe(true);
        expect([lines, buffer.lines]).toEqual([list.length, 0]);
      }),
      { numRuns: 200 },
    );
  });
});
