/** kite log: what it leaves out, and how it follows a trail that is written meanwhile. */
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { decisionsIn, isAbout, isOf, sinceTime, wantedBy } from "../../bin/trail/explained.ts";
import { log } from "../../bin/trail/log.ts";
import { encode, fileName, type TrailLine } from "../../daemon/trail/line.ts";
import { temporaryFolder } from "../temporary-folder.ts";
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
  root = temporaryFolder("kite-log-");
  world = { ...fakeWorld({ home: root }), cwd: "/shop" };
});

function write(n: number, ...lines: readonly TrailLine[]): void {
  mkdirSync(world.paths.trail, { recursive: true });
  appendFileSync(join(world.paths.trail, fileName(n)), lines.map(encode).join(""));
}

const never = new AbortController().signal;
const files = () => [...world.out().matchAll(/f\d+\.ts/g)].map(String);

describe("filters", () => {
  it("know an agent by its name, its session's name, and how an id begins", () => {
    const bob = (more: Partial<TrailLine> = {}) => isOf(line("a", more), "bob");
    expect(bob()).toBe(true);
    expect(bob({ name: "bob/1f3a" })).toBe(true);
    expect(bob({ name: "bob#2" })).toBe(true);
    expect(bob({ name: "alice/bob" })).toBe(true);
    expect(bob({ name: "bobby", id: "x" })).toBe(false);
    expect(bob({ name: "alice", id: "bob" })).toBe(true);
    // So short a beginning of an id may be anybody's.
    expect(bob({ name: null, id: "bob-0000" })).toBe(false);
    expect(isOf(line("a", { name: null }), "bob-0000")).toBe(true);
    expect(isOf(line("a", { name: null, id: "x", agent: "a1b2c3" }), "a1b2")).toBe(true);
  });

  it("know a file by its path, in its project, and a directory by what is in it", () => {
    const src = (file: string | null) => isAbout(line("x", { file }), "/shop/src");
    expect(src("/shop/src/a.ts")).toBe(true);
    expect(src("src/a.ts")).toBe(true);
    expect(src("/shop/src")).toBe(true);
    expect(src("/shop/srcs/a.ts")).toBe(false);
    expect(src(null)).toBe(false);
    expect(isAbout(line("/etc/x"), "/")).toBe(true);
    const db = (project: string) => isAbout(line("x", { file: "@db", project }), "@db@/p");
    expect([db("/p"), db("/p/inner"), db("/q")]).toEqual([true, false, false]);
  });

  it("know decisions, leave out events unless asked, and join", () => {
    const decided = (decision: TrailLine["decision"]) => line("a", { decision });
    expect(wantedBy({})(decided("allow"))).toBe(true);
    expect(wantedBy({})(decided("event"))).toBe(false);
    const decisions = decisionsIn("deny, event");
    if (typeof decisions === "string") throw new Error(decisions);
    const wanted = wantedBy({ decisions, agent: "bob", paths: ["/shop/a"], since: now });
    expect(wanted(decided("event"))).toBe(true);
    expect(wanted(decided("allow"))).toBe(false);
    expect(wanted({ ...decided("deny"), at: now - 1 })).toBe(false);
    expect(wanted({ ...decided("deny"), file: "/shop/b" })).toBe(false);
    expect(wanted({ ...decided("deny"), name: "eve", id: "e" })).toBe(false);
    expect(decisionsIn("deny,allwo")).toBe(
      '--decision takes allow, deny, wait, note, event, several separated by commas, not "allwo"; did you mean allow?',
    );
  });

  it.each([
    ["90s", now - 90_000],
    ["1h30m", now - 5_400_000],
    ["3d", now - 259_200_000],
    ["2026-05-20T10:00", Date.UTC(2026, 4, 20, 10)],
    ["2026-05-20T10:00:00+02:00", Date.UTC(2026, 4, 20, 8)],
    ["2026-05-19", Date.UTC(2026, 4, 19)],
    ["13:59", now - 60_000],
    ["14:00:01", now + 1_000 - 86_400_000],
    ["25:00", null],
    ["2026-13-01", null],
    ["yesterday", null],
    ["10", null],
    ["", null],
  ])("know --since %s", (text, at) => expect(sinceTime(text, now)).toBe(at));
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

  it("says of a file that nothing is known of it, and which was perhaps meant", async () => {
    const place = join(root, "work");
    mkdirSync(join(place, "src"), { recursive: true });
    writeFileSync(join(place, "src", "index.ts"), "");
    write(1, line(join(place, "src", "auth.ts")));
    const said = async (file: string) => {
      const one = { ...fakeWorld({ home: root }), cwd: place };
      return [await log(one, { file }, never), one.out(), one.err()];
    };
    const none = (file: string, hint = "") =>
      `kite: there is no file ${file}, and the log knows none of that name${hint}\n`;
    expect(await said("src/auht.ts")).toEqual([1, "", none("src/auht.ts", "; did you mean src/auth.ts?")]);
    expect(await said("auth.ts")).toEqual([1, "", none("auth.ts", "; did you mean src/auth.ts?")]);
    expect(await said("src/indx.ts")).toEqual([1, "", none("src/indx.ts", "; did you mean src/index.ts?")]);
    expect(await said("far/from/all.md")).toEqual([1, "", none("far/from/all.md")]);
    expect(await said("src/index.ts")).toEqual([0, "", "kite: the log has no such decision yet\n"]);
    // What the other filters hide is known all the same.
    const one = { ...fakeWorld({ home: root }), cwd: place };
    expect(await log(one, { file: "src/auth.ts", decision: "deny" }, never)).toBe(0);
    expect(one.err()).toBe("kite: the log has no such decision yet\n");
  });

  it("shows all since a time, oldest first, over several files", async () => {
    const at = (secondsAgo: number) => ({ at: now - secondsAgo * 1000 });
    const event = { decision: "event", ...at(1) } as const;
    write(1, line("f1.ts", at(900)), line("f2.ts", at(700)));
    write(2, line("f3.ts", at(500)), line("f4.ts", at(400)));
    write(3, line("f5.ts", at(300)), line("f6.ts", event), line("f7.ts", at(0)));
    expect(await log(world, { since: "10m" }, never)).toBe(0);
    expect(files()).toEqual(["f3.ts", "f4.ts", "f5.ts", "f7.ts"]);
    const other = { ...fakeWorld({ home: root }), cwd: "/shop" };
    expect(await log(other, { since: "10m", lines: "2", json: true }, never)).toBe(0);
    expect(other.out().match(/f\d/g)).toEqual(["f5", "f7"]);
  });

  it("passes over a line that a crash cut off, in the middle and at the end", async () => {
    const torn = encode(line("f9.ts")).slice(0, 60);
    write(1, line("f1.ts"));
    appendFileSync(join(world.paths.trail, fileName(1)), torn);
    write(2, line("f2.ts"));
    appendFileSync(join(world.paths.trail, fileName(2)), `${torn}\n`);
    write(2, line("f3.ts"));
    appendFileSync(join(world.paths.trail, fileName(2)), torn);
    expect(await log(world, { since: "1d" }, never)).toBe(0);
    expect(await log(world, { lines: "9" }, never)).toBe(0);
    expect(files()).toEqual(["f1.ts", "f2.ts", "f3.ts", "f1.ts", "f2.ts", "f3.ts"]);
  });

  it("lists the agents that it knows if it does not know this one", async () => {
    write(1, line("f1.ts"), line("f2.ts", { name: "alice\u001b[2J", id: "a" }));
    expect(await log(world, { agent: "eve" }, never)).toBe(1);
    expect(world.err()).toBe("kite: the log knows no agent eve; it knows alice [2J, bob\n");
    expect(await log(world, { agent: "eve", json: true }, never)).toBe(1);
    expect(JSON.parse(world.out())).toMatchObject({ ok: false, code: "unknown_agent" });
    expect(await log(world, { agent: "bob", decision: "deny" }, never)).toBe(0);
  });

  it("takes a file behind a symbolic link by both of its names", async () => {
    const real = join(root, "real");
    mkdirSync(real);
    symlinkSync(real, join(root, "link"));
    write(1, line(join(real, "f1.ts")), line(join(root, "link", "f2.ts")), line("/shop/f3.ts"));
    expect(await log({ ...world, cwd: root }, { file: "link/" }, never)).toBe(0);
    expect(files()).toEqual(["f1.ts", "f2.ts"]);
  });

  it.each([
    [{ lines: "many" }, /^kite: -n takes a number from 0 to \d+, not many\n$/],
    [{ lines: "-1" }, /^kite: -n takes a number from 0 to \d+, not -1\n$/],
    [{ lines: "99999999" }, /^kite: -n takes a number from 0 to \d+, not 99999999\n$/],
    [{ decision: "refuse" }, /^kite: --decision takes allow, deny, wait, note, event, .* not "refuse"\n$/],
    [{ since: "noon" }, /^kite: --since takes a time like 90s, .*, not noon\n$/],
  ])("does not take %o", async (flags, error) => {
    expect(await log(world, flags, never)).toBe(1);
    expect(world.err()).toMatch(error);
  });

  it("follows what comes, over the end of a file, each line once and whole", async () => {
    write(1, line("f1.ts"));
    const ending = new AbortController();
    const code = log(world, { lines: "5", follow: true, agent: "bob" }, ending.signal);
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
