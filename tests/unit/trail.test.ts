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
import { describe, expect, test } from "vitest";
import { type Place, readForward, readTrail, startBefore } from "../../daemon/trail/read.ts";
import { Trail, type TrailLine } from "../../daemon/trail/trail.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

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
