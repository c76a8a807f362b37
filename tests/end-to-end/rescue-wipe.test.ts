/** What a shell line wipes is kept before the line runs, and noted when it has run. */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { checksum } from "../../daemon/journal/batch.ts";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { readTrail } from "../../daemon/trail/read.ts";
import { limits } from "../../protocol/limits.ts";
import type { WipeRow } from "../../protocol/schemas/rescue.ts";
import { RescueWorld } from "./rescue-world.ts";

/** A disk on which looks at some files end when the test says so. */
class SlowFs extends BudgetedFs {
  #slow: string | null = null;
  #looks = 0;
  #waiting: (() => void)[] = [];

  /** Holds so many looks at the file. */
  slow(path: string, looks = Number.POSITIVE_INFINITY): void {
    this.#slow = path;
    this.#looks = looks;
  }

  /** Looks that are held. */
  get held(): number {
    return this.#waiting.length;
  }

  quick(): void {
    this.#slow = null;
    for (const go of this.#waiting.splice(0)) go();
  }

  override async look<T>(...args: Parameters<BudgetedFs["look"]>): Promise<T | null> {
    if (args[0] === this.#slow && this.#looks > 0) {
      this.#looks -= 1;
      await new Promise<void>(resolve => void this.#waiting.push(resolve));
    }
    return (await super.look(...args)) as T | null;
  }
}

const fs = new SlowFs();
const world = new RescueWorld({ outside: fs });
beforeAll(() => world.start());
afterAll(() => world.dispose());

/** What the versions that a wipe names would bring back, by file. */
async function broughtBack(wipe: WipeRow | undefined): Promise<Record<string, string>> {
  const versions = await world.versions({ project: wipe?.project });
  const texts = (wipe?.files ?? []).map(({ file, version }) => {
    const object = versions.find(one => one.version === version)?.object ?? null;
    return [file, object === null ? "gone" : inflateSync(readFileSync(object)).toString()];
  });
  return Object.fromEntries(texts);
}

describe("a wipe", () => {
  type Way = readonly [
    line: string,
    command: string,
    does: (dir: string) => void,
    how: string,
    lines: number,
  ];
  const ways: readonly Way[] = [
    ["git checkout a.ts", "git checkout", dir => world.git(dir, "checkout", "-q", "a.ts"), "reverted", 2],
    ["git restore .", "git restore", dir => world.git(dir, "restore", "."), "reverted", 2],
    ["git reset --hard", "git reset --hard", dir => world.git(dir, "reset", "-q", "--hard"), "reverted", 2],
    ["rm a.ts", "rm", dir => rmSync(join(dir, "a.ts")), "gone", 3],
    ["cd src && rm -rf ../a.ts", "rm -r", dir => rmSync(join(dir, "a.ts")), "gone", 3],
    ["cp b.ts a.ts", "cp", dir => world.shell(dir, "cp b.ts a.ts"), "changed", 3],
    // No hook sees what a script does; the end of the line does.
    ["./script.sh", "script.sh", dir => world.git(dir, "checkout", "-q", "a.ts"), "reverted", 2],
    ["make clean", "make", dir => rmSync(join(dir, "a.ts")), "gone", 3],
  ];

  test.each(ways)("by %s is noted, and comes back byte for byte", async (line, command, does, how, lines) => {
    const n = ways.findIndex(([one]) => one === line);
    const dir = world.repo(`way-${n}`);
    const session = `s-way-${n}`;
    await world.write(session, dir, "a.ts", "a.ts\none\ntwo\n");
    expect(await world.line(session, dir, line, () => does(dir))).toBe("");
    const [wipe, ...more] = await world.wipes({ project: dir });
    expect(more).toEqual([]);
    expect(wipe).toMatchObject({ project: dir, worktree: dir, by: { id: session }, command, more: 0 });
    const file = { file: "a.ts", path: join(dir, "a.ts"), writers: [{ id: session }], how, lines };
    expect(wipe?.files).toMatchObject([file]);
    expect(await broughtBack(wipe)).toEqual({ "a.ts": "a.ts\none\ntwo\n" });
  });

  test("keeps what was not kept yet, before the line runs", async () => {
    const dir = world.repo("not-yet");
    await world.write("s-not-yet", dir, "a.ts", "one\n");
    // Nobody told of this change.
    world.put(dir, "a.ts", "by an editor\n");
    await world.line("s-not-yet", dir, "git checkout .", () => world.git(dir, "checkout", "-q", "."));
    const [wipe] = await world.wipes({ project: dir });
    expect(await broughtBack(wipe)).toEqual({ "a.ts": "by an editor\n" });
    expect((await world.versions({ project: dir })).map(({ kind }) => kind)).toContain("before_wipe");
  });

  test("is none where a commit or the stash has the work", async () => {
    const dir = world.repo("committed");
    await world.write("s-commit", dir, "a.ts", "one\n");
    const line = "git commit -qam one && git checkout -q HEAD~1";
    await world.line("s-commit", dir, line, () => world.shell(dir, line));
    await world.write("s-commit", dir, "b.ts", "two\n");
    await world.line("s-commit", dir, "git stash", () => world.git(dir, "stash", "-q"));
    await world.write("s-commit", dir, "src/c.ts", "src/c.ts\nmore\n");
    await world.line("s-commit", dir, "git checkout a.ts", () => world.git(dir, "checkout", "-q", "a.ts"));
    expect(world.read(dir, "src/c.ts")).toBe("src/c.ts\nmore\n");
    expect(await world.wipes({ project: dir })).toEqual([]);
  });

  test("of several files at once is one, and of two agents it names both", async () => {
    const dir = world.repo("several");
    await world.write("s-one", dir, "a.ts", "one\n");
    await world.write("s-two", dir, "b.ts", "two\n");
    for (const session of ["s-one", "s-two"]) await world.event(session, dir, { hook_event_name: "Stop" });
    // A script that the guard does not see.
    await world.line("s-two", dir, "./deploy.sh", () => world.git(dir, "checkout", "-q", "."));
    const [wipe, ...more] = await world.wipes({ project: dir });
    expect(more).toEqual([]);
    expect(wipe?.command).toBe("deploy.sh");
    const whose = wipe?.files.map(({ file, writers }) => [file, writers.map(({ id }) => id)]);
    expect(Object.fromEntries(whose ?? [])).toEqual({ "a.ts": ["s-one"], "b.ts": ["s-two"] });
    expect(await world.rows("wipes", { id: "s-one", project: dir })).toHaveLength(1);
    expect(await world.rows("wipes", { reader: "s-one" })).toHaveLength(1);
    expect(await world.rows("wipes", { file: join(dir, "b.ts") })).toHaveLength(1);
  });

  test.each([
    ["that began before it", 1],
    ["that waits since before it", 2],
  ])("is the line's, whatever a comparison %s finds", async (_, comparisons) => {
    const dir = world.repo(`compared-${comparisons}`);
    const [ann, bob] = [`s-ann-${comparisons}`, `s-bob-${comparisons}`];
    for (const session of [ann, bob])
      await world.event(session, dir, { hook_event_name: "SessionStart", source: "startup" });
    for (const file of ["a.ts", "z.ts"])
      await world.write(ann, dir, file, `${file}\none\ntwo\nthree\nfour\nfive\nsix\n`);
    await world.event(ann, dir, { hook_event_name: "Stop" });
    // The comparison looks at the latest file first, and is held there.
    fs.slow(join(dir, "z.ts"), 1);
    for (let n = 0; n < comparisons; n += 1) {
      await world.event(ann, dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" });
      while (fs.held === 0) await new Promise(setImmediate);
    }
    await world.event(ann, dir, { hook_event_name: "Stop" });
    const call = world.call("Bash", { command: "python3 gen.py" });
    await world.event(bob, dir, { hook_event_name: "PreToolUse", ...call });
    world.put(dir, "a.ts", "generated\n");
    await world.event(bob, dir, { hook_event_name: "PostToolUse", duration_ms: 1, ...call });
    fs.quick();
    await world.settled();
    const [wipe, ...more] = await world.wipes({ project: dir });
    expect(more).toEqual([]);
    expect(wipe).toMatchObject({ by: { id: bob }, command: "python3", files: [{ file: "a.ts" }] });
  });

  test("of what still waits to be kept has the text that the tool sent", async () => {
    const dir = world.repo("waiting");
    for (const session of ["s-many", "s-fast"])
      await world.event(session, dir, { hook_event_name: "SessionStart", source: "startup" });
    const files = Array.from({ length: 60 }, (_, n) => `f${n}.ts`);
    for (const file of files) {
      const call = world.call("Write", { file_path: join(dir, file), content: `${file}\none\n` });
      await world.event("s-many", dir, { hook_event_name: "PreToolUse", ...call });
      world.put(dir, file, `${file}\none\n`);
      await world.event("s-many", dir, { hook_event_name: "PostToolUse", ...call });
    }
    await world.event("s-fast", dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" });
    const last = files.at(-1) ?? "";
    const call = world.call("Bash", { command: "python3 gen.py" });
    await world.event("s-fast", dir, { hook_event_name: "PreToolUse", ...call });
    world.put(dir, last, "generated\n");
    await world.event("s-fast", dir, { hook_event_name: "PostToolUse", duration_ms: 1, ...call });
    await world.settled();
    const [wipe, ...more] = await world.wipes({ project: dir });
    expect(more).toEqual([]);
    expect(wipe).toMatchObject({ by: { id: "s-fast" }, files: [{ file: last }] });
    expect(await broughtBack(wipe)).toEqual({ [last]: `${last}\none\n` });
    expect((await world.texts({ file: join(dir, last) }))[0]).toBe("generated\n");
  });

  const places: Readonly<Record<string, (path: string) => void>> = {
    "a link": path => symlinkSync("b.ts", path),
    "a folder": path => void mkdirSync(path),
    "a FIFO": path => void execFileSync("mkfifo", [path]),
  };
  test.each(Object.keys(places))("that leaves %s in the file's place is noted once", async what => {
    const n = Object.keys(places).indexOf(what);
    const [dir, ann] = [world.repo(`place-${n}`), `s-place-${n}`];
    await world.write(ann, dir, "a.ts", "one\n");
    await world.event(ann, dir, { hook_event_name: "Stop" });
    await world.event("s-swap", dir, { hook_event_name: "SessionStart", source: "startup" });
    await world.line("s-swap", dir, "./swap.sh", () => {
      rmSync(join(dir, "a.ts"));
      places[what]?.(join(dir, "a.ts"));
    });
    for (let round = 0; round < 2; round += 1) {
      await world.event(ann, dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" });
      await world.settled();
    }
    const wipes = await world.wipes({ project: dir });
    expect(wipes).toMatchObject([{ by: { id: "s-swap" }, files: [{ file: "a.ts", how: "gone" }] }]);
  });

  test.each([
    ["git -C", "still runs", (dir: string) => `git -C ${dir} checkout a.ts`],
    ["cd", "has just ended", (dir: string) => `cd ${dir} && git checkout a.ts`],
  ])(
    "in another worktree by %s is the line's, also at a look there while it %s",
    async (way, when, lineFor) => {
      const dir = world.repo(`far-${way.replace(/\W/g, "")}`);
      const near = `${dir}-near`;
      world.git(dir, "worktree", "add", "-q", near);
      const [here, there] = [`s-here-${when}`, `s-there-${when}`];
      await world.event(there, dir, { hook_event_name: "SessionStart", source: "startup" });
      await world.event(here, near, { hook_event_name: "SessionStart", source: "startup" });
      const path = join(dir, "a.ts");
      const call = world.call(
        "Write",
        { file_path: path, content: "one\n" },
        { filePath: path, content: "one\n" },
      );
      await world.event(here, near, { hook_event_name: "PreToolUse", ...call });
      world.put(dir, "a.ts", "one\n");
      await world.event(here, near, { hook_event_name: "PostToolUse", ...call });
      await world.settled();
      const line = world.call("Bash", { command: lineFor(dir) });
      expect(await world.event(here, near, { hook_event_name: "PreToolUse", ...line })).toBe("");
      world.git(dir, "checkout", "-q", "a.ts");
      const look = world.event(there, dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" });
      const end = () => world.event(here, near, { hook_event_name: "PostToolUse", duration_ms: 1, ...line });
      if (when === "still runs") {
        await look;
        await world.settled();
        await end();
      } else await Promise.all([look, end()]);
      const wipes = await world.wipes({ project: dir });
      expect(wipes).toMatchObject([{ worktree: dir, by: { id: here }, command: "git checkout" }]);
    },
  );

  test("is none that can be told where a long file took the place", async () => {
    const dir = world.repo("long");
    await world.write("s-long", dir, "a.ts", "one\n");
    await world.event("s-other", dir, { hook_event_name: "SessionStart", source: "startup" });
    await world.line("s-other", dir, "./grow.sh", () => {
      world.put(dir, "a.ts", "one\nmore\n");
      truncateSync(join(dir, "a.ts"), limits.rescueFileBytes + 1);
    });
    expect(await world.wipes({ project: dir })).toEqual([]);
    expect(await world.texts({ project: dir })).toEqual(["one\n"]);
  });

  test("is none of an agent's own change of its own file", async () => {
    const dir = world.repo("own-change");
    await world.write("s-own", dir, "a.ts", "one\ntwo\n");
    await world.line("s-own", dir, "python3 gen.py", () => world.put(dir, "a.ts", "three\n"));
    expect(await world.wipes({ project: dir })).toEqual([]);
    expect(await world.texts({ project: dir })).toEqual(["three\n", "one\ntwo\n"]);
  });
});

describe("a line that wipes", () => {
  test("does not run before its files are kept; sent again it runs", async () => {
    const dir = world.repo("late");
    await world.write("s-late", dir, "a.ts", "one\n");
    world.put(dir, "a.ts", "not kept yet\n");
    fs.slow(join(dir, "a.ts"));
    const call = world.call("Bash", { command: "git checkout a.ts" });
    const said = await world.event("s-late", dir, { hook_event_name: "PreToolUse", ...call });
    expect(said).toContain('"permissionDecision":"deny"');
    expect(said).toContain('a.ts\\", and Kite has not stored a copy of it yet');
    expect(said).toContain("send exactly the same command again");
    const { rows: locks } = await (await world.client()).ask({ type: "query", target: "locks" });
    // It does not keep others from their git commands: the index is free.
    expect(JSON.stringify(locks)).not.toContain(join(dir, ".git"));
    fs.quick();
    await world.settled();
    const again = await world.line("s-late", dir, "git checkout a.ts", () =>
      world.git(dir, "checkout", "-q", "a.ts"),
    );
    expect(again).toBe("");
    expect(await broughtBack((await world.wipes({ project: dir }))[0])).toEqual({ "a.ts": "not kept yet\n" });
    const filter = (one: TrailLine) => one.id === "s-late" && one.type === "git checkout";
    const decided = () => readTrail(world.paths.trail, { limit: 10, filter });
    await expect.poll(decided, { timeout: 60_000 }).toMatchObject([
      { decision: "deny", rule: "rescue", file: join(dir, "a.ts") },
      { decision: "allow", rule: "guard" },
    ]);
  });

  test("runs when it is sent again even if its files still cannot be kept", async () => {
    const dir = world.repo("never");
    await world.write("s-never", dir, "a.ts", "one\n");
    fs.slow(join(dir, "a.ts"));
    const ask = () => {
      const call = world.call("Bash", { command: "rm a.ts" });
      return world.event("s-never", dir, { hook_event_name: "PreToolUse", ...call });
    };
    try {
      expect(await ask()).toContain('"permissionDecision":"deny"');
      expect(await ask()).toBe("");
    } finally {
      fs.quick();
    }
  });

  test("runs at once if what it wipes is secret or ignored, or nobody's work", async () => {
    const dir = world.repo("secret");
    world.put(dir, "b.ts", "a person's own\n");
    await world.write("s-secret", dir, ".env", "marker-env\n");
    expect(await world.line("s-secret", dir, "rm .env b.ts", () => rmSync(join(dir, ".env")))).toBe("");
    expect(await world.wipes({ project: dir })).toEqual([]);
    expect(world.stored()).not.toContain("marker-env");
  });
});

describe("an edit of uncommitted work", () => {
  const edit = (dir: string, content: string) =>
    world.call("Write", { file_path: join(dir, "a.ts"), content }, { filePath: join(dir, "a.ts"), content });
  const asks = (session: string, dir: string, call: object) =>
    world.event(session, dir, { hook_event_name: "PreToolUse", ...call });
  const textsAtOnce = async (dir: string) => {
    const versions = await world.versions({ project: dir });
    return versions.map(({ object, by }) => [
      object === null ? "gone" : inflateSync(readFileSync(object)).toString(),
      by?.id ?? null,
    ]);
  };

  test("runs when what it replaces is a version, also if nobody heard the last write's end", async () => {
    const dir = world.repo("unheard");
    expect(await asks("s-unheard", dir, edit(dir, "one\n"))).toBe("");
    world.put(dir, "a.ts", "one\n");
    const second = edit(dir, "two\n");
    expect(await asks("s-unheard", dir, second)).toBe("");
    world.put(dir, "a.ts", "two\n");
    await world.event("s-unheard", dir, { hook_event_name: "PostToolUse", ...second });
    await world.settled();
    expect(await textsAtOnce(dir)).toEqual([
      ["two\n", "s-unheard"],
      ["one\n", "s-unheard"],
    ]);
  });

  test("keeps a person's change before it, as nobody's", async () => {
    const dir = world.repo("by-hand");
    await world.write("s-hand", dir, "a.ts", "one\n");
    world.put(dir, "a.ts", "by hand\n");
    expect(await asks("s-hand", dir, edit(dir, "two\n"))).toBe("");
    world.put(dir, "a.ts", "two\n");
    expect((await textsAtOnce(dir)).slice(-2)).toEqual([
      ["by hand\n", null],
      ["one\n", "s-hand"],
    ]);
  });

  test("keeps as nobody's what came after the turn of a write that a person refused", async () => {
    const dir = world.repo("refused-edit");
    expect(await asks("s-refused", dir, edit(dir, "never\n"))).toBe("");
    await world.event("s-refused", dir, { hook_event_name: "Stop" });
    world.put(dir, "a.ts", "pulled\n");
    await asks("s-later", dir, edit(dir, "two\n"));
    expect(await textsAtOnce(dir)).toEqual([["pulled\n", null]]);
  });

  test("by a shell line that names the file waits, too", async () => {
    const dir = world.repo("in-place");
    await world.write("s-place", dir, "a.ts", "one\n");
    world.put(dir, "a.ts", "by hand\n");
    const said = await world.line("s-place", dir, "sed -i s/hand/line/ a.ts", () =>
      world.put(dir, "a.ts", "by line\n"),
    );
    expect(said).toBe("");
    expect((await textsAtOnce(dir)).map(([text]) => text)).toEqual(["by line\n", "by hand\n", "one\n"]);
  });

  test("that is denied waits for no copy, and nobody is told that there is none", async () => {
    const dir = world.repo("denied-edit");
    await world.write("s-first", dir, "a.ts", "one\n");
    const first = edit(dir, "first\n");
    await asks("s-first", dir, first);
    const waits = async () => JSON.stringify(await world.rows("sessions", { project: dir }));
    const said = asks("s-second", dir, edit(dir, "second\n"));
    await expect.poll(waits, { timeout: 60_000 }).toContain('"waitingForPath":"');
    world.put(dir, "a.ts", "first\n");
    fs.slow(join(dir, "a.ts"));
    try {
      await world.event("s-first", dir, { hook_event_name: "Stop" });
      expect(await said).toContain('"permissionDecision":"deny"');
      expect(await said).not.toContain("has no copy");
    } finally {
      fs.quick();
    }
  });

  test("is not kept under the name of the write before it if the disk answers late", async () => {
    const dir = world.repo("late-edit");
    const path = join(dir, "a.ts");
    const part = (text: string) =>
      world.call("Edit", { file_path: path, old_string: "a", new_string: text }, { filePath: path });
    expect(await asks("s-before", dir, part("one\n"))).toBe("");
    world.put(dir, "a.ts", "one\n");
    // Nobody hears the end of that write, and its agent's turn ends.
    fs.slow(path);
    await world.event("s-before", dir, { hook_event_name: "Stop" });
    const second = part("two\n");
    expect(await asks("s-after", dir, second)).toContain("has no copy");
    world.put(dir, "a.ts", "two\n");
    fs.quick();
    await world.event("s-after", dir, { hook_event_name: "PostToolUse", ...second });
    await world.settled();
    expect(await textsAtOnce(dir)).toEqual([["two\n", "s-after"]]);
  });

  test("runs after a short while, and its agent and the person are told that there is no copy", async () => {
    const dir = world.repo("slow-edit");
    await world.write("s-slow", dir, "a.ts", "one\n");
    const missed = async () => Number((await (await world.person()).ask({ type: "rescue_state" }))["missed"]);
    const missedBefore = await missed();
    world.put(dir, "a.ts", "not kept\n");
    fs.slow(join(dir, "a.ts"));
    try {
      const said = await asks("s-slow", dir, edit(dir, "two\n"));
      expect(said).toContain('has no copy of the uncommitted work in \\"a.ts\\"');
      expect(said).not.toContain("permissionDecision");
    } finally {
      fs.quick();
    }
    expect(await missed()).toBe(missedBefore + 1);
  });
});

test("where Kite only observes, what a second writer's edit replaces is kept beside it", async () => {
  const observing = new RescueWorld();
  mkdirSync(observing.paths.home, { mode: 0o700 });
  writeFileSync(observing.paths.config, JSON.stringify({ mode: "observe" }));
  await observing.start();
  try {
    const dir = observing.repo("observed");
    await observing.write("s-first", dir, "a.ts", "one\n");
    observing.put(dir, "a.ts", "by hand\n");
    const input = { file_path: join(dir, "a.ts"), content: "two\n" };
    const call = observing.call("Write", input);
    await observing.event("s-second", dir, { hook_event_name: "PreToolUse", ...call });
    await expect.poll(() => observing.texts({ project: dir })).toEqual(["by hand\n", "one\n"]);
  } finally {
    await observing.dispose();
  }
});

describe("while no daemon runs", () => {
  test("what a person writes is nobody's, also if the agent's last write changed nothing", async () => {
    const dir = world.repo("same-again");
    await world.write("s-same", dir, "a.ts", "one\n");
    await world.write("s-same", dir, "a.ts", "one\n");
    const writtenMs = Date.now();
    await world.stop();
    // A file that changed within the slack of a write's time counts as that write's.
    await expect.poll(() => Date.now() - writtenMs).toBeGreaterThan(2 * limits.rescueStampSlackMs);
    world.put(dir, "a.ts", "by hand\n");
    await world.start();
    await world.settled();
    expect((await world.versions({ project: dir })).map(({ by }) => by?.id ?? null)).toEqual([
      null,
      "s-same",
    ]);
  });

  test("what a write left is kept, also if the end of its turn is taken before the store is read", async () => {
    const dir = world.repo("turn-end");
    const path = join(dir, "a.ts");
    const first = world.call(
      "Edit",
      { file_path: path, old_string: "a", new_string: "b" },
      { filePath: path },
    );
    await world.event("s-turn", dir, { hook_event_name: "PreToolUse", ...first });
    world.put(dir, "a.ts", "one\n");
    await world.stop();
    const event = { hook_event_name: "Stop", session_id: "s-turn" };
    writeFileSync(world.paths.unheardEnds, `${JSON.stringify({ at: Date.now(), pid: 1, event })}\n`);
    const line = JSON.stringify({ next: [1, 1] });
    appendFileSync(join(world.paths.rescue, "index"), `${checksum(line)} ${line}\n`.repeat(50_000));
    await world.start();
    await world.settled();
    expect(await world.texts({ project: dir })).toEqual(["one\n"]);
  });

  test("what a write of before the start left is looked at before the next edit, also if a look waits", async () => {
    const dir = world.repo("look-waits");
    const path = join(dir, "a.ts");
    const part = (text: string) =>
      world.call("Edit", { file_path: path, old_string: "a", new_string: text }, { filePath: path });
    await world.event("s-open", dir, { hook_event_name: "PreToolUse", ...part("one\n") });
    await world.stop();
    await world.start();
    // What is known of the folder makes the look at its file the only one that is held.
    await world.write("s-next", dir, "b.ts", "b\n");
    world.put(dir, "a.ts", "one\n");
    fs.slow(path);
    const second = part("two\n");
    try {
      await world.event("s-open", dir, { hook_event_name: "Stop" });
      const said = await world.event("s-next", dir, { hook_event_name: "PreToolUse", ...second });
      expect(said).toContain("has no copy");
      world.put(dir, "a.ts", "two\n");
    } finally {
      fs.quick();
    }
    await world.event("s-next", dir, { hook_event_name: "PostToolUse", ...second });
    await world.settled();
    expect((await world.versions({ file: path }))[0]?.by).toMatchObject({ id: "s-next" });
  });

  test("what a person wipes is noted at the next start as changed outside Kite", async () => {
    const dir = world.repo("outside");
    await world.write("s-outside", dir, "a.ts", "a.ts\none\n");
    await world.write("s-outside", dir, "b.ts", "two\n");
    await world.write("s-outside", dir, "new.ts", "three\n");
    await world.stop();
    world.git(dir, "checkout", "-q", "a.ts");
    rmSync(join(dir, "new.ts"));
    // An edit by hand is no loss.
    world.put(dir, "b.ts", "2\n");
    await world.start();
    const [wipe, ...more] = await world.wipes({ project: dir });
    expect(more).toEqual([]);
    expect(wipe).toMatchObject({ by: null, command: "changed outside Kite" });
    const how = wipe?.files.map(({ file, how: what, writers }) => [file, what, writers[0]?.id]);
    expect(Object.fromEntries(how?.map(([file, ...rest]) => [file, rest]) ?? [])).toEqual({
      "a.ts": ["reverted", "s-outside"],
      "new.ts": ["gone", "s-outside"],
    });
    expect(await broughtBack(wipe)).toEqual({ "a.ts": "a.ts\none\n", "new.ts": "three\n" });
    expect((await world.versions({ file: join(dir, "b.ts") }))[0]).toMatchObject({
      kind: "outside",
      by: null,
    });
    // It is noted once.
    await world.stop();
    await world.start();
    expect(await world.wipes({ project: dir })).toHaveLength(1);
  });
});
