/** kite explain: from lines of the trail to sentences. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { explainSubject } from "../../bin/commands/explain.ts";
import { explain, explainLines } from "../../bin/view/explain.ts";
import { encode, fileName, type TrailLine } from "../../daemon/trail/line.ts";
import { type FakeWorld, fakeWorld } from "./command-world.ts";
import { now, screen } from "./view-rows.ts";

function line(name: string, secondsAgo: number, more: Partial<TrailLine> = {}): TrailLine {
  return {
    at: now - secondsAgo * 1000,
    event: "PreToolUse",
    id: `${name}-0000-4000`,
    agent: null,
    name,
    project: "/home/ana/code/shop/.git",
    type: "PreToolUse",
    file: "/home/ana/code/shop/src/auth.ts",
    decision: "allow",
    ms: 2,
    ...more,
  };
}

const told = (lines: readonly TrailLine[], wanted: (line: TrailLine) => boolean = () => true) =>
  explain(lines, wanted).flatMap(one => explainLines(one, screen(120)));

describe("the sentences", () => {
  it("tell who took a file, who waited for whom, who was denied, and how it ended", () => {
    const timeout = { decision: "deny", code: "lock_timeout", why: "lock queue timeout (50s)" } as const;
    expect(
      told([
        line("alice", 100),
        line("bob", 60, { ms: 12_300 }),
        line("carol", 10, { ...timeout, ms: 50_004 }),
        line("bob", 9, { event: "file_unlock" }),
        line("bob", 8, { event: "file_unlock", decision: "deny", why: "you do not hold it" }),
        line("alice", 5, { event: "SessionEnd", file: null, decision: "note", why: "logout" }),
        line("bob", 4, {
          event: "lock_yielded",
          decision: "note",
          why: "yielded to carol, untouched for 15s",
        }),
      ]),
    ).toEqual([
      "13:58:20  alice took src/auth.ts at once.",
      "13:59:00  bob waited 12s for src/auth.ts, then had it. alice had taken it at 13:58:20.",
      "13:59:50  carol was denied src/auth.ts after 50s: lock queue timeout (50s). bob had taken it at 13:59:00.",
      "13:59:51  bob released src/auth.ts.",
      "13:59:52  bob could not release src/auth.ts: you do not hold it.",
      "13:59:55  alice's session ended (logout).",
      "13:59:56  bob, src/auth.ts: yielded to carol, untouched for 15s.",
    ]);
  });

  it("name the git command that was stopped or let run", () => {
    const index = { type: "git add -A", file: null } as const;
    const wipe = {
      type: "git stash push",
      decision: "deny",
      why: "would reach uncommitted work: src/auth.ts (bob)",
    } as const;
    expect(
      told([
        line("bob", 50),
        line("carol", 40, wipe),
        line("carol", 30, index),
        line("carol", 29, { ...index, ms: 2000 }),
      ]),
    ).toEqual([
      "13:59:10  bob took src/auth.ts at once.",
      "13:59:20  carol was denied `git stash push`: would reach uncommitted work: src/auth.ts (bob).",
      "13:59:30  carol ran `git add -A`, and again 1 time until 13:59:31.",
    ]);
    expect(told([line("carol", 29, { ...index, ms: 2000 })])).toEqual([
      "13:59:31  carol ran `git add -A` after 2s.",
    ]);
  });

  it("tell of a row of the same once, and of waits each", () => {
    expect(told([line("bob", 30), line("bob", 20), line("bob", 10), line("eve", 5), line("bob", 1)])).toEqual(
      [
        "13:59:30  bob took src/auth.ts at once, and again 2 times until 13:59:50.",
        "13:59:55  eve took src/auth.ts at once.",
        "13:59:59  bob took src/auth.ts at once.",
      ],
    );
    expect(told([line("bob", 30, { ms: 500 }), line("bob", 20, { ms: 500 })])).toHaveLength(2);
  });

  it("know from the others' lines who had the file, and forget who released it", () => {
    const isBob = (one: TrailLine) => one.name === "bob";
    const release = line("alice", 20, { event: "file_unlock" });
    const waited = line("bob", 10, { ms: 3_000, file: "src/auth.ts" });
    expect(told([line("alice", 30), waited], isBob)).toEqual([
      "13:59:50  bob waited 3s for src/auth.ts, then had it. alice had taken it at 13:59:30.",
    ]);
    expect(told([line("alice", 30), release, waited], isBob)).toEqual([
      "13:59:50  bob waited 3s for src/auth.ts, then had it.",
    ]);
  });

  it("name agents, strangers and files elsewhere, and nothing that moves the cursor", () => {
    expect(
      told([
        line("bob", 3, { agent: "a1b2c3d4e5", file: "/home/ana/x" }),
        line("", 2, { name: null, file: "/etc/\u001b[2Jhosts\u202e", project: null }),
        line("bob/Explore", 1, { agent: "a1b2c3d4e5", decision: "deny", why: "a\nb\u0007" }),
      ]),
    ).toEqual([
      "13:59:57  bob/a1b2c3d4 took ~/x at once.",
      "13:59:58  -0000-40 took /etc/ [2Jhosts at once.",
      "13:59:59  bob/Explore was denied src/auth.ts: a b.",
    ]);
  });

  it("keep to the width", () => {
    const [one] = explain([line("bob", 10, { ms: 3_000 })], () => true);
    expect(one && explainLines(one, screen(40))).toEqual([
      "13:59:50  bob waited 3s for src/auth.ts,",
      "          then had it.",
    ]);
  });
});

describe("kite explain", () => {
  let root: string;
  let world: FakeWorld;
  const flags = { lines: "20" };

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "kite-explain-"));
    world = { ...fakeWorld({ home: root }), cwd: "/home/ana/code/shop" };
    mkdirSync(world.paths.trail, { recursive: true });
    const lines = [line("alice", 30), line("bob", 20, { ms: 4_000 }), line("bob", 10, { file: "src/bob" })];
    appendFileSync(join(world.paths.trail, fileName(1)), lines.map(encode).join(""));
  });

  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it("takes a file as typed here, and a directory", async () => {
    expect(await explainSubject(world, "src/auth.ts", flags)).toBe(0);
    expect(world.out()).toBe(
      "13:59:30  alice took src/auth.ts at once.\n" +
        "13:59:40  bob waited 4s for src/auth.ts, then had it. alice had taken it at 13:59:30.\n",
    );
    expect(await explainSubject(world, "src/", { lines: "1" })).toBe(0);
    expect(world.out()).toMatch(/bob took src\/bob at once\.\n$/);
  });

  it("takes a session by its name or how its id begins, before a file of that name", async () => {
    expect(await explainSubject({ ...world, cwd: "/home/ana/code/shop/src" }, "bob", flags)).toBe(0);
    expect(world.out().split("\n")).toHaveLength(3);
    const again = { ...fakeWorld({ home: root }), cwd: "/home/ana/code/shop/src" };
    expect(await explainSubject(again, "./bob", { ...flags, json: true })).toBe(0);
    expect(JSON.parse(again.out())).toMatchObject({
      about: "file",
      name: "./bob",
      explained: [{ who: "bob", what: "took", file: "/home/ana/code/shop/src/bob", again: 0 }],
    });
  });

  it("says where nothing is known, and what -n takes", async () => {
    expect(await explainSubject(world, "nobody", flags)).toBe(1);
    expect(world.err()).toContain("no decision about a file or session nobody");
    expect(await explainSubject(world, "bob", { lines: "0" })).toBe(1);
    expect(world.err()).toContain("-n takes a number from 1 to");
  });
});
