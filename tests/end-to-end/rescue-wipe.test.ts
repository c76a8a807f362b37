/** What a shell line wipes is kept before the line runs, and noted when it has run. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import type { WipeRow } from "../../protocol/rescue.ts";
import { RescueWorld } from "./rescue-world.ts";

/** A disk on which looks at some files end when the test says so. */
class SlowFs extends BudgetedFs {
  #slow: string | null = null;
  #waiting: (() => void)[] = [];

  slow(path: string): void {
    this.#slow = path;
  }

  quick(): void {
    this.#slow = null;
    for (const go of this.#waiting.splice(0)) go();
  }

  override async look<T>(...args: Parameters<BudgetedFs["look"]>): Promise<T | null> {
    if (args[0] === this.#slow) await new Promise<void>(resolve => void this.#waiting.push(resolve));
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
    fs.quick();
    await world.settled();
    const again = await world.line("s-late", dir, "git checkout a.ts", () =>
      world.git(dir, "checkout", "-q", "a.ts"),
    );
    expect(again).toBe("");
    expect(await broughtBack((await world.wipes({ project: dir }))[0])).toEqual({ "a.ts": "not kept yet\n" });
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

describe("while no daemon runs", () => {
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
