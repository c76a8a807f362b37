/** Several `kite lock` of one session, as its agent runs them at the same time, against the real daemon. */
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Home } from "./daemon.ts";
import { ended, type KiteProcess, kiteProgram, textOf } from "./kite.ts";

let home: Home;

beforeEach(async () => {
  home = new Home({ work: "shop", kite: "kite" });
  await home.start();
  await home.session("s-1", { name: "s-1", cwd: home.work });
});

afterEach(async () => {
  await home.dispose();
});

/** Runs lines of a shell under the lock of a file, for one session. */
function lock(file: string, ...lines: readonly string[]): KiteProcess {
  return home.startKite(["lock", file, "--", "sh", "-c", lines.join("\n")], { KITE_SESSION: "s-1" });
}

const kite = `${process.execPath} ${kiteProgram}`;
const path = (name: string) => join(home.work, name);
const until = (name: string) => `until [ -e ${name} ]; do sleep 0.05; done`;
const locks = async () => JSON.parse((await home.command(["locks", "--json"])).out).locks;

describe("two kite lock of one session", () => {
  test("run one after the other, and each sees what the other did", async () => {
    const first = lock("a.ts", "echo begun >> log", until("go"), "echo done >> log");
    const firstSaid = textOf(first);
    await expect.poll(() => existsSync(path("log"))).toBe(true);
    const second = lock("a.ts", "cat log", "echo second >> log");
    const secondSaid = textOf(second);
    await expect
      .poll(() => secondSaid.err)
      .toBe("kite: waiting for a.ts, held by another command of this session, queue position 1\n");
    writeFileSync(path("go"), "");
    const ends = await Promise.all([once(first, "close"), once(second, "close")]);
    expect(ends).toEqual([
      [0, null],
      [0, null],
    ]);
    expect([firstSaid.err, secondSaid.out]).toEqual(["", "begun\ndone\n"]);
    expect(readFileSync(path("log"), "utf8")).toBe("begun\ndone\nsecond\n");
    expect(await locks()).toEqual([]);
  });

  test("that wait for each other crosswise: one is refused with the cycle, the other goes on", async () => {
    const sides = [
      ["a.ts", "one", "two", "b.ts"],
      ["b.ts", "two", "one", "a.ts"],
    ] as const;
    const both = sides.map(([own, mine, theirs, other]) =>
      ended(lock(own, `touch ${mine}`, until(theirs), `exec ${kite} lock ${other} -- true`)),
    );
    const ran = (await Promise.all(both)).sort((x, y) => (x.code ?? -1) - (y.code ?? -1));
    expect(ran.map(({ code }) => code)).toEqual([0, 75]);
    expect(ran[1]?.err).toMatch(
      /deadlock: a command of s-1 waits for \S+ behind a command of s-1, a command of s-1 waits for \S+ behind a command of s-1; release what you hold first/,
    );
    expect(await locks()).toEqual([]);
  });
});

describe("kite lock within kite lock", () => {
  test.each([
    ["knows it by the environment", ""],
    ["knows it by the process above", "env -u KITE_LOCK "],
  ])("%s: it does not wait, and leaves the outer one its lock", async (_, without) => {
    const outer = lock(
      "a.ts",
      `${without}${kite} lock --wait 0 a.ts -- true || exit 1`,
      `${without}${kite} lock --wait 0 a.ts -- true || exit 1`,
      "touch inner-done",
      until("go"),
    );
    const said = textOf(outer);
    await expect.poll(() => existsSync(path("inner-done")) || said.err).toBe(true);
    const [held, ...others] = await locks();
    expect([held.file, others]).toEqual([path("a.ts"), []]);
    expect(held.holder).toMatchObject({ id: "s-1", command: expect.stringMatching(`^${outer.pid}[.]`) });
    const late = await home.command(["lock", "--wait", "0", "a.ts", "--", "true"], { KITE_SESSION: "s-1" });
    expect([late.code, late.err]).toEqual([
      75,
      expect.stringContaining("another command of this session has"),
    ]);
    writeFileSync(path("go"), "");
    expect(await once(outer, "close")).toEqual([0, null]);
    expect(await locks()).toEqual([]);
  });

  test("keeps its lock over a restart of the daemon, and so does the outer one", async () => {
    const outer = lock(
      "a.ts",
      `${kite} lock a.ts -- sh -c 'touch inner; until [ -e go ]; do sleep 0.05; done'`,
      "touch inner-done",
      until("end"),
    );
    const said = textOf(outer);
    await expect.poll(() => existsSync(path("inner"))).toBe(true);
    const [before] = await locks();
    await home.daemon.kill();
    await home.start();
    await expect.poll(locks).toMatchObject([{ token: before.token, holder: before.holder }]);
    writeFileSync(path("go"), "");
    await expect.poll(() => existsSync(path("inner-done"))).toBe(true);
    expect((await locks())[0].holder.command).toBe(before.holder.command.replace(/\/.*/, ""));
    writeFileSync(path("end"), "");
    expect(await once(outer, "close")).toEqual([0, null]);
    expect([said.err, await locks()]).toEqual(["", []]);
  });
});
