/** The journal's folder vanished, or what is in it: nobody begins anew without a word. */
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lostStoreProblem } from "../../daemon/journal/store-mark.ts";
import { limits } from "../../protocol/limits.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { Home } from "./daemon.ts";

let home: Home;
beforeEach(() => {
  home = new Home();
});
afterEach(() => home.dispose());

const aside = () => `${home.paths.journal}.aside`;
const epoch = () => Number(JSON.parse(readFileSync(home.paths.storeMark, "utf8")).epoch);

/** A daemon that acknowledged a task, and ended without a stop. */
async function killed(): Promise<void> {
  const daemon = await home.start();
  const ann = await home.session("ann");
  expect(await ann.ask({ type: "task_create", id: "ann", description: "keep me" })).toMatchObject({
    ok: true,
  });
  await daemon.kill();
}

async function tasks(): Promise<unknown> {
  const client = await home.connect();
  return (await client.ask({ type: "query", target: "tasks" }))["rows"];
}

const missing = /the journal is missing: \S+journal held \d+ records? or more, and nothing of it is there/i;
const ways: readonly (readonly [string, () => void])[] = [
  ["its folder is gone", () => renameSync(home.paths.journal, aside())],
  [
    "its folder is empty",
    () => {
      renameSync(home.paths.journal, aside());
      mkdirSync(home.paths.journal, { mode: 0o700 });
    },
  ],
];

test.each(ways)("%s: no start begins anew, and all who look say so", async (_what, take) => {
  await killed();
  take();
  for (const flags of [[], ["--unless-down"]]) {
    const up = await home.command(["up", ...flags]);
    expect([up.code, up.err]).toEqual([1, expect.stringMatching(missing)]);
    expect(up.err).toContain("kite up --empty");
  }
  expect((await home.command(["status"])).out.replaceAll(/\s+/g, " ")).toMatch(missing);
  expect(JSON.parse((await home.command(["status", "--json"])).out).warnings[0]).toMatch(missing);
  const { checks } = JSON.parse((await home.command(["doctor", "--json"])).out);
  const journal = checks.find(({ check }: { check: string }) => check === "journal");
  expect(journal).toMatchObject({ result: "fail", detail: expect.stringMatching(missing) });
  const repair = await home.command(["repair"]);
  expect([repair.code, repair.err]).toEqual([1, expect.stringMatching(missing)]);
  // Nothing was made in its place meanwhile: who puts it back has it again.
  rmSync(home.paths.journal, { recursive: true, force: true });
  renameSync(aside(), home.paths.journal);
  expect((await home.command(["up"])).code).toBe(0);
  expect(await tasks()).toMatchObject([{ description: "keep me" }]);
});

test("a person begins anew, and no agent does", async () => {
  await killed();
  renameSync(home.paths.journal, aside());
  const before = epoch();
  const agent = await home.command(["up", "--empty", "--json"], { CLAUDECODE: "1" });
  expect([agent.code, JSON.parse(agent.out)]).toMatchObject([1, { ok: false, code: "person_only" }]);
  expect(readdirSync(home.paths.home)).not.toContain("journal");
  expect((await home.command(["up", "--empty"])).code).toBe(0);
  expect(await tasks()).toEqual([]);
  // A token or a cursor of before belongs to an earlier epoch.
  expect(epoch()).toBeGreaterThan(before);
  const again = await home.command(["up", "--empty"]);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining("the daemon runs")]);
  await home.kite("down");
  const there = await home.command(["up", "--empty"]);
  expect([there.code, there.err]).toEqual([1, expect.stringContaining("no journal is missing")]);
});

test("a stop says that the journal went meanwhile", async () => {
  const daemon = await home.start();
  rmSync(home.paths.journal, { recursive: true, maxRetries: 9 });
  const { checks } = JSON.parse((await home.command(["doctor", "--json"])).out);
  const journal = checks.find(({ check }: { check: string }) => check === "journal");
  expect(journal).toMatchObject({ result: "fail", detail: expect.stringMatching(missing) });
  const down = await home.command(["down", "--yes"]);
  expect([down.code, down.out]).toEqual([0, expect.stringMatching(missing)]);
  await daemon.exited;
});

/** What status and doctor say of the journal; `null`: nothing is wrong with it. */
async function said(): Promise<{ status: string | null; doctor: Record<string, unknown> | null }> {
  const { warnings = [] } = JSON.parse((await home.command(["status", "--json"])).out);
  const { checks } = JSON.parse((await home.command(["doctor", "--json"])).out);
  const found = checks.find(({ check }: { check: string }) => check === "journal");
  const status = warnings.find((text: string) => text.includes("journal")) ?? null;
  return { status, doctor: found.result === "ok" ? null : found };
}

/** A daemon that acknowledged a task and decided on a lock, and was stopped. */
async function stopped(): Promise<void> {
  await killed();
  await home.start();
  const ann = await home.session("ann");
  const file = join(home.work, "a.txt");
  expect(await ann.ask({ type: "file_lock", id: "ann", file })).toMatchObject({ ok: true });
  expect(await ann.ask({ type: "file_unlock", id: "ann", file })).toMatchObject({ ok: true });
  await home.kite("down", "--yes");
}

const unmarked =
  /the journal is missing: (\S+) shows that there was one, and nothing of it is in\s+\S+journal; put the folder back/i;

test("journal and mark are gone: refused as well, and the same way out leads on for good", async () => {
  await stopped();
  const before = JSON.parse(readFileSync(home.paths.daemonFile, "utf8")).epoch;
  rmSync(home.paths.journal, { recursive: true });
  rmSync(home.paths.storeMark);
  for (const flags of [[], ["--unless-down"]]) {
    rmSync(home.paths.downFile, { force: true });
    const up = await home.command(["up", ...flags]);
    expect([up.code, up.err]).toEqual([1, expect.stringMatching(unmarked)]);
    expect(up.err).toContain("kite up --empty");
  }
  const repair = await home.command(["repair"]);
  expect([repair.code, repair.err]).toEqual([1, expect.stringMatching(unmarked)]);
  expect(await said()).toEqual({
    status: expect.stringMatching(unmarked),
    doctor: expect.objectContaining({
      result: "fail",
      detail: expect.stringMatching(/shows that there was one/),
    }),
  });
  expect((await home.command(["up", "--empty"])).code).toBe(0);
  expect(await tasks()).toEqual([]);
  // The daemon's own file told the epoch.
  expect(epoch()).toBeGreaterThan(before);
  await home.kite("down");
  const again = await home.command(["up"]);
  expect([again.code, again.out]).toEqual([0, expect.not.stringContaining("journal")]);
  expect(await said()).toEqual({ status: null, doctor: null });
});

test("each file of a daemon shows alone that there was a journal", async () => {
  await stopped();
  writeFileSync(home.paths.storeMark, "damaged");
  const KITE_HOME = join(home.root, "other");
  for (const sign of ["store.json", "daemon.json", "events.ndjson", "presence.json", "trail", "rescue"]) {
    cpSync(join(home.paths.home, sign), join(KITE_HOME, sign), { recursive: true });
    const found = unmarked.exec(lostStoreProblem(kitePaths({ KITE_HOME })) ?? "")?.[1];
    expect(found).toBe(join(KITE_HOME, sign));
    rmSync(KITE_HOME, { recursive: true });
  }
});

test("a folder with only what `kite install` writes is new", async () => {
  await home.kite("install", "--client", "claude-code");
  const names = readdirSync(home.paths.home);
  expect(names).toContain("installs.json");
  expect(lostStoreProblem(home.paths)).toBeNull();
  await stopped();
  // As installed, by hand.
  for (const name of readdirSync(home.paths.home))
    if (!names.includes(name)) rmSync(join(home.paths.home, name), { recursive: true });
  const up = await home.command(["up"]);
  expect([up.code, up.out]).toEqual([0, expect.not.stringContaining("journal")]);
  expect(await said()).toEqual({ status: null, doctor: null });
});

test("a folder with only what `kite log --follow` makes is new", () => {
  mkdirSync(home.paths.trail, { recursive: true });
  expect(lostStoreProblem(home.paths)).toBeNull();
});

test("a file in its place: repair names the start that goes on from there", async () => {
  await killed();
  rmSync(home.paths.journal, { recursive: true });
  writeFileSync(home.paths.journal, "");
  expect((await home.command(["repair"])).err).toContain("put it aside, then start Kite: kite up --empty");
});

test("a folder of Kite that was removed whole begins anew", async () => {
  await killed();
  rmSync(home.paths.home, { recursive: true, maxRetries: 9 });
  expect((await home.command(["up"])).code).toBe(0);
  expect(await tasks()).toEqual([]);
});

const cameBack =
  /journal with which Kite started at .* ended with record \d+, of about .*; what came after that is missing/;

/** Who starts it, and who looks later, reads that the daemon began with less than there was; and not for ever. */
async function expectStands(pattern: RegExp): Promise<void> {
  const looks = async () => {
    const up = await home.command(["up"]);
    expect(up.code).toBe(0);
    return { ...(await said()), up: /^note: (.*)$/m.exec(up.out)?.[1] ?? null };
  };
  const stands = {
    up: expect.stringMatching(pattern),
    status: expect.stringMatching(pattern),
    doctor: expect.objectContaining({ result: "warn", detail: expect.stringMatching(pattern) }),
  };
  expect(await looks()).toEqual(stands);
  await home.kite("down", "--yes");
  expect(await looks()).toEqual(stands);
  await home.kite("down", "--yes");
  const mark = JSON.parse(readFileSync(home.paths.storeMark, "utf8"));
  mark.short.at -= limits.shortStartToldMs;
  writeFileSync(home.paths.storeMark, JSON.stringify(mark));
  expect(await looks()).toEqual({ up: null, status: null, doctor: null });
}

test("an older copy in its place is told, and a start goes on with it", async () => {
  await killed();
  cpSync(home.paths.journal, aside(), { recursive: true });
  await (await home.start()).kill();
  rmSync(home.paths.journal, { recursive: true });
  renameSync(aside(), home.paths.journal);
  const older = /journal is an older copy: the last one went to record \d+ or further/;
  expect(await said()).toEqual({
    status: expect.stringMatching(older),
    doctor: expect.objectContaining({ result: "warn", detail: expect.stringMatching(older) }),
  });
  const { epoch: marked } = JSON.parse(readFileSync(home.paths.storeMark, "utf8"));
  // A hook starts it, so nobody reads what the start says.
  const daemon = await home.start();
  // No token of the life that the copy does not know comes back.
  expect(JSON.parse(readFileSync(home.paths.daemonFile, "utf8")).epoch).toBeGreaterThan(marked);
  expect(await tasks()).toMatchObject([{ description: "keep me" }]);
  await expectStands(cameBack);
  await daemon.exited;
});

test("a copy made while the daemon ran is told, too", async () => {
  await home.start();
  const ann = await home.session("ann");
  const create = (description: string) => ann.ask({ type: "task_create", id: "ann", description });
  expect(await create("keep me")).toMatchObject({ ok: true });
  cpSync(home.paths.journal, aside(), { recursive: true });
  expect(await create("lost")).toMatchObject({ ok: true });
  await home.kite("down", "--yes");
  rmSync(home.paths.journal, { recursive: true });
  renameSync(aside(), home.paths.journal);
  expect((await home.command(["up"])).out).toMatch(cameBack);
  expect(await tasks()).toMatchObject([{ description: "keep me" }]);
});

test("without its manifest nobody knows whether the journal is whole, and that is told", async () => {
  await killed();
  const names = readdirSync(home.paths.journal).filter(name => name.endsWith(".manifest"));
  expect(names).toHaveLength(1);
  rmSync(join(home.paths.journal, names.join("")));
  const unsure = /has no manifest, so records at its end may be missing/;
  expect(await said()).toEqual({
    status: expect.stringMatching(unsure),
    doctor: expect.objectContaining({ result: "warn", detail: expect.stringMatching(unsure) }),
  });
  await home.start();
  expect(await tasks()).toMatchObject([{ description: "keep me" }]);
  expect((await home.command(["up"])).out).toMatch(
    /ended with record \d+, of about .*; what came after that may be missing/,
  );
});

test("what a person gave up for a repair is not told again", async () => {
  await killed();
  await (await home.start()).kill();
  const last = readdirSync(home.paths.journal).filter(name => name.endsWith(".log"));
  rmSync(join(home.paths.journal, last.sort().at(-1) ?? ""));
  expect((await home.command(["up"])).err).toContain("kite repair");
  const [, entry = ""] = /--discard-after (\d+)/.exec((await home.command(["repair"])).out) ?? [];
  expect((await home.command(["repair", "--discard-after", entry])).code).toBe(0);
  expect((await home.command(["up"])).out).not.toContain("note:");
  expect(await tasks()).toMatchObject([{ description: "keep me" }]);
  expect(await said()).toEqual({ status: null, doctor: null });
});

test("the daemon's file tells of an older copy where the mark is gone", async () => {
  await killed();
  cpSync(home.paths.journal, aside(), { recursive: true });
  await (await home.start()).kill();
  rmSync(home.paths.journal, { recursive: true });
  rmSync(home.paths.storeMark);
  renameSync(aside(), home.paths.journal);
  expect((await home.command(["up"])).out).toMatch(cameBack);
});

test("a start that finds no mark, as of an earlier version, goes on with what is there", async () => {
  await killed();
  rmSync(home.paths.storeMark);
  expect((await home.command(["up"])).code).toBe(0);
  expect(await tasks()).toMatchObject([{ description: "keep me" }]);
  expect(readdirSync(home.paths.home)).toContain("store.json");
  expect(readdirSync(join(home.paths.home, "journal"))).not.toEqual([]);
});
