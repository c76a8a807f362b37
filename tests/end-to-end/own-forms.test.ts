/** What a refusal tells an agent to run is run word for word: it does the agent's part of the line, and nothing to others. */

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LineWorld, type Scene, type SceneKind } from "./guard-scene.ts";
import { firstCommit } from "./guard-world.ts";

const w = new LineWorld();

beforeAll(async () => {
  mkdirSync(join(w.folder, "programs"));
  symlinkSync(fileURLToPath(new URL("../../bin/kite", import.meta.url)), join(w.folder, "programs/kite"));
  await w.start();
});
afterAll(() => w.dispose());

/** Both have changed a file of the first commit; the branch `topic` changes ann's. */
const kind: SceneKind = {
  committed: { "ann.ts": "old\n", "bob.ts": "old\n", "both.ts": "1\n2\n3\n", "src/c.ts": "old\n" },
  made: [
    firstCommit,
    "git switch -qc topic && echo new >ann.ts && git commit -qam topic && git switch -q main",
  ].join(" && "),
  ann: { "ann.ts": "ann's\n", "both.ts": "ann\n2\n3\n" },
  bob: { "bob.ts": "bob's\n", "both.ts": "ann\n2\nbob\n", "new of bob.ts": "bob's new\n" },
};

/** The commands that a refusal names. */
function advice(reason: string): readonly string[] {
  const all = [...reason.matchAll(/: (\(?(?:cd \S+ && )?kite [^\n]*)/g)].map(([, command = ""]) => command);
  if (all.length === 0) throw new Error(`no way on: ${reason}`);
  return all;
}

interface Ran {
  readonly code: number;
  readonly out: string;
}

/** Runs the command as the agent's shell does, without a hook of its own. */
function runs(session: string, dir: string, line: string): Promise<Ran> {
  const { PATH = "", ...environment } = w.environment;
  const path = [join(w.folder, "programs"), PATH].join(delimiter);
  const env = { ...environment, PATH: path, KITE_HOME: w.paths.home, KITE_SESSION: session };
  return new Promise(resolve => {
    execFile("bash", ["-c", line], { cwd: dir, env }, (error, out, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, out: `${out}${stderr}` });
    });
  });
}

/** What ann has in the checkout, whatever bob does. */
function annsWork({ dir }: Scene): void {
  expect(w.read(dir, "ann.ts")).toBe("ann's\n");
  expect(w.read(dir, "both.ts")).toMatch(/^ann\n2\n/);
  expect(w.git(dir, "symbolic-ref", "HEAD")).toBe("refs/heads/main\n");
  expect(w.git(dir, "stash", "list")).toBe("");
}

const undone = ({ dir }: Scene) => {
  expect([w.read(dir, "bob.ts"), w.read(dir, "both.ts")]).toEqual(["old\n", "ann\n2\n3\n"]);
  expect(existsSync(join(dir, "new of bob.ts"))).toBe(true);
};

const movedAway = ({ dir }: Scene, out: string) => {
  const [, there = ""] = /Work there from now on: cd (.*)\n/.exec(out) ?? [];
  expect([w.read(dir, "bob.ts"), w.read(dir, "both.ts")]).toEqual(["old\n", "ann\n2\n3\n"]);
  expect([w.read(there, "bob.ts"), w.read(there, "both.ts")]).toEqual(["bob's\n", "1\n2\nbob\n"]);
  expect(w.read(there, "ann.ts")).toBe("old\n");
  expect([existsSync(join(dir, "new of bob.ts")), w.read(there, "new of bob.ts")]).toEqual([
    false,
    "bob's new\n",
  ]);
};

const tried = (says: string) => (scene: Scene, out: string) => {
  expect(out).toBe(says);
  expect([w.read(scene.dir, "bob.ts"), w.read(scene.dir, "both.ts")]).toEqual(["bob's\n", "ann\n2\nbob\n"]);
};

const committed = ({ dir }: Scene) => {
  expect(w.git(dir, "log", "-1", "--format=%s")).toBe("all\n");
  expect(w.git(dir, "show", "HEAD:ann.ts")).toBe("old\n");
  expect(w.git(dir, "show", "HEAD:both.ts")).toBe("1\n2\nbob\n");
  expect(w.git(dir, "show", "HEAD:bob.ts")).toBe("bob's\n");
};

type Check = (scene: Scene, out: string) => void;

describe("what is said runs word for word, after", () => {
  it.each<[line: string, at: number, says: RegExp, check: Check]>([
    ["git stash; cat both.ts ann.ts; git stash pop", 0, /^kite try -- cat/, tried("1\n2\nbob\nold\n")],
    ["git stash && cat both.ts | head -1 && git stash pop", 0, /^kite try -- sh -c /, tried("1\n")],
    ["git stash -u", 0, /^kite move$/, movedAway],
    [
      "git stash -u",
      1,
      /^kite undo --all .*bob\.ts/,
      ({ dir }) => expect(w.read(dir, "bob.ts")).toBe("old\n"),
    ],
    ["cd src && git stash", 0, /^\(cd \S+ && kite move\)$/, movedAway],
    ["cd src && git stash", 1, /^\(cd \S+ && kite undo --all both\.ts bob\.ts\)$/, undone],
    ["git checkout .", 0, /^kite undo --all both\.ts bob\.ts$/, undone],
    ["git restore .", 0, /^kite undo --all both\.ts bob\.ts$/, undone],
    ["git reset --hard", 0, /^kite undo --all both\.ts bob\.ts$/, undone],
    ["true && (cd src; git -C .. checkout -- .)", 0, /^kite undo --all both\.ts bob\.ts$/, undone],
    ["git switch topic", 0, /^kite move$/, movedAway],
    ["git merge topic", 0, /^kite move$/, movedAway],
    ["git add -A && git commit -m all", 0, /^kite commit -m all /, committed],
    ["git commit -am all", 0, /^kite commit -m all both\.ts bob\.ts$/, committed],
  ])("%s, line %d", async (line, at, says, check) => {
    const scene = await w.scene(kind);
    const commands = advice(await w.asks(scene.bob, scene.dir, line));
    const command = commands[at] ?? "";
    expect(command).toMatch(says);
    const { code, out } = await runs(scene.bob, scene.dir, command);
    expect([code, out]).toEqual([0, out]);
    annsWork(scene);
    check(scene, out);
  });

  it("git clean, which takes new files alone", async () => {
    const scene = await w.scene({ ...kind, ann: { ...kind.ann, "new of ann.ts": "ann's new\n" } });
    const [command = ""] = advice(await w.asks(scene.bob, scene.dir, "git clean -fd"));
    expect((await runs(scene.bob, scene.dir, command)).code).toBe(0);
    annsWork(scene);
    expect(existsSync(join(scene.dir, "new of bob.ts"))).toBe(false);
    expect([w.read(scene.dir, "bob.ts"), w.read(scene.dir, "new of ann.ts")]).toEqual([
      "bob's\n",
      "ann's new\n",
    ]);
  });
});

describe("the guard reads what stands behind kite try --", () => {
  it("refuses a line that takes a shared stash entry, and lets a test run", async () => {
    const { dir, ann, bob } = await w.scene(kind);
    await w.line(ann, dir, "git stash push -q -- ann.ts");
    expect(await w.asks(bob, dir, "kite try -- git stash drop")).toContain("did not run");
    expect(await w.asks(bob, dir, "kite try -- npm test")).toBe("");
    expect(await w.asks(bob, dir, "kite try --with ann -- git status")).toBe("");
  });
});
