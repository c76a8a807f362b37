/** kite log: what it leaves out, and how it follows a trail that is written meanwhile. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { filterOf, log } from "../../bin/commands/log.ts";
import { encode, fileName, type TrailLine } from "../../daemon/trail/line.ts";
import { type FakeWorld, fakeWorld } from "./command-world.ts";
import { now } from "./view-rows.ts";

function line(file: string, more: Partial<TrailLine> = {}): TrailLine {
  return {
    at: now,
    event: "file_lock",
    id: "bob-0000-4000",
    agent: null,
    name: "bob",
    project: "/shop/.git",
    type: "file_lock",
    file,
    decision: "allow",
    ...more,
  };
}

let root: string;
let world: FakeWorld;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "kite-log-"));
  world = { ...fakeWorld({ home: root }), cwd: "/shop" };
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function write(n: number, ...lines: readonly TrailLine[]): void {
  mkdirSync(world.paths.trail, { recursive: true });
  appendFileSync(join(world.paths.trail, fileName(n)), lines.map(encode).join(""));
}

const never = new AbortController().signal;
const files = () => [...world.out().matchAll(/f\d+\.ts/g)].map(String);

describe("filters", () => {
  it("know a session by its name, its agents' names and how its id begins", () => {
    const bob = filterOf("bob", null);
    expect(bob(line("a"))).toBe(true);
    expect(bob(line("a", { name: "bob/1f3a" }))).toBe(true);
    expect(bob(line("a", { name: "bobby", id: "x" }))).toBe(false);
    expect(filterOf("bob-0000", null)(line("a", { name: null }))).toBe(true);
  });

  it("know a file by its path, in its project, and a directory by what is in it", () => {
    const src = filterOf(null, "/shop/src/");
    expect(src(line("/shop/src/a.ts"))).toBe(true);
    expect(src(line("src/a.ts"))).toBe(true);
    expect(src(line("/shop/src"))).toBe(true);
    expect(src(line("/shop/srcs/a.ts"))).toBe(false);
    expect(src(line("x", { file: null }))).toBe(false);
  });
});

describe("kite log", () => {
  it("shows the latest, oldest first, over several files", async () => {
    write(1, line("f1.ts"), line("f2.ts"));
    write(2, line("f3.ts"));
    expect(await log(world, { lines: "2" }, never)).toBe(0);
    expect(files()).toEqual(["f2.ts", "f3.ts"]);
  });

  it("is empty and well where nothing was decided", async () => {
    expect(await log(world, { lines: "2" }, never)).toBe(0);
    expect(world.out()).toBe("");
  });

  it.each(["many", "-1", "99999999"])("does not take -n %s", async lines => {
    expect(await log(world, { lines }, never)).toBe(1);
    expect(world.err()).toMatch(/^kite: -n takes a number from 0 to \d+, not /);
  });

  it("follows what comes, over the end of a file, each line once and whole", async () => {
    write(1, line("f1.ts"));
    const ending = new AbortController();
    const code = log(world, { lines: "5", follow: true, session: "bob" }, ending.signal);
    await expect.poll(files).toEqual(["f1.ts"]);
    write(1, line("f2.ts"), line("f9.ts", { name: "eve", id: "e" }));
    await expect.poll(files).toEqual(["f1.ts", "f2.ts"]);
    const text = encode(line("f3.ts"));
    const path = join(world.paths.trail, fileName(1));
    writeFileSync(path, text.slice(0, 20), { flag: "a" });
    writeFileSync(path, text.slice(20), { flag: "a" });
    write(2, line("f4.ts"));
    await expect.poll(files).toEqual(["f1.ts", "f2.ts", "f3.ts", "f4.ts"]);
    write(2, line("f5.ts"));
    await expect.poll(files).toEqual(["f1.ts", "f2.ts", "f3.ts", "f4.ts", "f5.ts"]);
    ending.abort();
    expect(await code).toBe(0);
  });
});
