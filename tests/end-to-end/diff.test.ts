/** kite diff: what each writer changed and nothing else, before commits and after them, whatever a repository names. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pagerFor } from "../../bin/diff/show.ts";
import { RestoreWorld } from "./restore-world.ts";

const world = new RestoreWorld();
beforeAll(() => world.start());
afterAll(() => world.dispose());

interface Diff {
  readonly file: string;
  readonly was: string | null;
  readonly how: string;
  readonly isWhole: boolean;
  readonly writers: readonly ({ readonly id: string; readonly agent: string | null } | null)[];
  readonly diff: string;
}

async function diffs(dir: string, ...args: string[]): Promise<readonly Diff[]> {
  const answer = await world.json(dir, ["diff", ...args]);
  expect(answer).toMatchObject({ ok: true });
  return answer["diffs"] as Diff[];
}

/** The files and who wrote them, in short. */
const short = (all: readonly Diff[]) =>
  all.map(
    ({ file, how, writers }) =>
      `${how} ${file} ${writers.map(one => one?.agent ?? one?.id ?? "-").join("+")}`,
  );

/** A subagent of a session writes a file. */
async function asAgent(
  session: string,
  dir: string,
  agent: string,
  file: string,
  text: string,
): Promise<void> {
  const own = { agent_id: agent, agent_type: "Explore" };
  const path = join(dir, file);
  const call = world.call("Write", { file_path: path, content: text }, { filePath: path, content: text });
  await world.event(session, dir, { hook_event_name: "SubagentStart", ...own });
  await world.event(session, dir, { hook_event_name: "PreToolUse", ...own, ...call });
  world.put(dir, file, text);
  await world.event(session, dir, { hook_event_name: "PostToolUse", ...own, ...call });
  await world.event(session, dir, { hook_event_name: "SubagentStop", ...own });
  await world.settled();
}

describe("kite diff of an agent", () => {
  test("shows what it wrote and nothing else: neither another session's, nor its own subagent's", async () => {
    const dir = world.repo("own");
    await world.write("e-ann", dir, "a.ts", "a.ts\nann\n");
    await world.write("e-bob", dir, "b.ts", "b.ts\nbob\n");
    await asAgent("e-ann", dir, "sub-1", "src/c.ts", "src/c.ts\nsub\n");
    expect(short(await diffs(dir, "e-ann"))).toEqual(["changed a.ts e-ann"]);
    expect(short(await diffs(dir, "sub-1"))).toEqual(["changed src/c.ts sub-1"]);
    expect(short(await diffs(dir, "e-bob"))).toEqual(["changed b.ts e-bob"]);
    expect(short(await diffs(dir, "--by", "e-bob"))).toEqual(["changed b.ts e-bob"]);
  });

  test("shows new, binary, renamed and deleted files, and names what nobody was seen to write", async () => {
    const dir = world.repo("kinds");
    await world.write("e-cat", dir, "new.ts", "new\ncat\n");
    await world.write("e-cat", dir, "a.ts", "a.ts\nbefore it was renamed\n");
    await world.write("e-cat", dir, "b.ts", "b.ts\ncat\n");
    await world.write("e-cat", dir, "image", "\0\u0001binary");
    await world.line("e-cat", dir, "git mv a.ts z.ts", () => world.git(dir, "mv", "a.ts", "z.ts"));
    await world.line("e-cat", dir, "rm b.ts", () => rmSync(join(dir, "b.ts")));
    world.put(dir, "src/c.ts", "by hand\n");
    const all = await diffs(dir, "e-cat");
    expect(short(all)).toEqual([
      "deleted b.ts e-cat",
      "added image e-cat",
      "added new.ts e-cat",
      "renamed z.ts e-cat",
    ]);
    expect(all[3]).toMatchObject({ was: "a.ts" });
    expect(all[3]?.diff).toContain("+before it was renamed");
    const { out } = await world.kite(dir, ["diff", "e-cat"]);
    expect(out).toContain("In z.ts, which was a.ts  e-cat  +1 −0\n");
    expect(out).toMatch(/^In image, added {2}e-cat: no text, 0 bytes became 8$/m);
    expect(out).toContain("1 further file differs, and Kite saw nobody write: src/c.ts");
    const stat = (await world.kite(dir, ["diff", "e-cat", "--stat"])).out.split("\n");
    expect(stat.slice(0, 5)).toEqual([
      expect.stringMatching(/^ \+0 −1 +deleted +b\.ts +e-cat$/),
      expect.stringMatching(/^ 0 → 8 bytes +added +image +e-cat$/),
      expect.stringMatching(/^ \+2 −0 +added +new\.ts +e-cat$/),
      expect.stringMatching(/^ \+1 −0 +renamed +a\.ts → z\.ts +e-cat$/),
      " 4 files, +3 −1",
    ]);
    // Git takes all of it back.
    const patch = (await world.kite(dir, ["diff", "src", "--patch"])).out;
    writeFileSync(join(dir, "../kinds.patch"), patch);
    world.git(dir, "apply", "-R", "../kinds.patch");
    expect(world.read(dir, "src/c.ts")).toBe("src/c.ts\n");
  });

  test("keeps two worktrees apart", async () => {
    const dir = world.repo("tree");
    world.git(dir, "worktree", "add", "-q", "../tree-2");
    const other = join(dir, "../tree-2");
    await world.write("e-one", dir, "a.ts", "a.ts\none\n");
    await world.write("e-two", other, "a.ts", "a.ts\ntwo\n");
    expect((await diffs(dir, "e-two"))[0]?.diff).toContain("+two");
    expect((await diffs(other, "e-one"))[0]?.diff).toContain("+one");
    expect(short(await diffs(dir))).toEqual(["changed a.ts e-one", "changed a.ts e-two"]);
    expect(short(await diffs(dir, "a.ts"))).toEqual(["changed a.ts e-one"]);
  });

  test("--commit shows what it committed since it began, and no line of another", async () => {
    const dir = world.repo("commits");
    await world.write("e-dan", dir, "a.ts", "dan\na.ts\n");
    await world.write("e-eve", dir, "a.ts", "dan\na.ts\neve\n");
    world.git(dir, "commit", "-qam", "both");
    await world.write("e-dan", dir, "a.ts", "dan\na.ts\neve\nnot yet\n");
    const [one, ...none] = await diffs(dir, "e-dan", "--commit");
    expect(none).toEqual([]);
    expect(one?.diff).toContain("+dan\n a.ts");
    expect(one?.diff).not.toContain("+eve");
    expect(one?.diff).not.toContain("not yet");
    expect((await diffs(dir, "e-dan"))[0]?.diff).toMatch(/^@@ [^\n]* @@\n dan\n a\.ts\n eve\n\+not yet\n$/);
    expect((await diffs(dir, "a.ts", "--commit", "--by", "e-eve"))[0]?.diff).toContain("+eve");
    const refused = await world.kite(dir, ["diff", "a.ts", "--commit"]);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toContain("kite diff a.ts --commit --by NAME");
  });

  test("--commit follows a file under another name, edited before it was renamed and after", async () => {
    const dir = world.repo("moved");
    await world.write("e-fay", dir, "a.ts", "fay, in many words\na.ts\n");
    await world.line("e-fay", dir, "git mv a.ts z.ts", () => world.git(dir, "mv", "a.ts", "z.ts"));
    await world.write("e-gus", dir, "z.ts", "fay, in many words\na.ts\ngus\n");
    await world.write("e-fay", dir, "z.ts", "fay, in many words\na.ts\ngus\nfay again\n");
    await world.write("e-fay", dir, "src/c.ts", "src/c.ts\nfay\n");
    world.git(dir, "mv", "src/c.ts", "y.ts");
    world.git(dir, "commit", "-qam", "all");
    const all = await diffs(dir, "e-fay", "--commit");
    expect(short(all).sort()).toEqual(["renamed y.ts e-fay", "renamed z.ts e-fay"]);
    const z = all.find(({ file }) => file === "z.ts");
    expect(z).toMatchObject({ was: "a.ts" });
    expect(z?.diff.match(/^[+-].*$/gm)).toEqual(["+fay, in many words", "+fay again"]);
    expect(all.find(({ file }) => file === "y.ts")?.diff).toContain("+fay");
    expect(short(await diffs(dir, "z.ts", "--commit", "--by", "e-fay"))).toEqual(["renamed z.ts e-fay"]);
  });

  test("takes a name for an agent before it takes it for a file; -- makes it a file", async () => {
    const dir = world.copy(
      "called",
      { "e-name": "file\n" },
      "git init -q -b main && git add -A && git commit -qm first",
    );
    await world.write("e-name", dir, "other", "other\n");
    world.put(dir, "e-name", "by hand\n");
    expect(short(await diffs(dir, "e-name"))).toEqual(["added other e-name"]);
    expect((await world.kite(dir, ["diff", "--", "e-name"])).out).toMatch(/^In e-name {2}outside Kite/);
    expect(short(await diffs(dir, "./e-name"))).toEqual(["changed e-name -"]);
    const refused = await world.kite(dir, ["diff", "e-nobody"]);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toContain("no agent is called e-nobody");
  });
});

test("a committed file or folder that a person deleted needs no --", async () => {
  const dir = world.repo("gone");
  rmSync(join(dir, "a.ts"));
  rmSync(join(dir, "src"), { recursive: true });
  expect(short(await diffs(dir, "a.ts"))).toEqual(["deleted a.ts -"]);
  expect(short(await diffs(dir, "src"))).toEqual(["deleted src/c.ts -", "deleted src/deep/d.ts -"]);
  expect((await world.kite(dir, ["diff", "never.ts"])).err).toContain("no file never.ts is here");
});

test("without versions a file stands whole below all who wrote it, and --commit says why it cannot tell", async () => {
  const off = new RestoreWorld();
  mkdirSync(off.paths.home, { recursive: true, mode: 0o700 });
  writeFileSync(join(off.paths.home, "config.json"), '{"rescue": "off"}', { mode: 0o600 });
  await off.start();
  const dir = off.repo("off");
  await off.write("o-ann", dir, "a.ts", "a.ts\nann\n");
  await off.write("o-bob", dir, "a.ts", "a.ts\nann\nbob\n");
  await off.write("o-bob", dir, "b.ts", "b.ts\nbob\n");
  const both = "In a.ts  o-bob, o-ann, not told apart: Kite keeps no versions of it  +2 −0\n";
  expect((await off.kite(dir, ["diff", "o-ann"])).out).toMatch(new RegExp(`^${both.replaceAll("+", "\\+")}`));
  expect((await off.kite(dir, ["diff"])).out).toContain("In b.ts  o-bob  +1 −0\n");
  expect(await off.kite(dir, ["diff", "o-ann", "--commit"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("the setting rescue is off"),
  });
  await off.dispose();
});

describe("what a repository names", () => {
  test("does not run: drivers, filters, monitors, hooks and pagers", async () => {
    const dir = world.repo("planted");
    const ran = join(dir, "../ran");
    const plant = (name: string, line: string) => world.git(dir, "config", name, line);
    world.put(dir, ".gitattributes", "* diff=x merge=x filter=x text\n");
    await world.write("e-pat", dir, "a.ts", "a.ts\npat\n");
    world.put(dir, "b.ts", "b.ts!\n");
    world.put(dir, "new.ts", "new\n");
    const touch = `touch ${ran}`;
    for (const name of ["diff.external", "diff.x.command", "core.fsmonitor", "core.pager", "pager.diff"])
      plant(name, touch);
    for (const name of ["diff.x.textconv", "filter.x.clean", "filter.x.smudge", "filter.x.process"])
      plant(name, `${touch}; cat`);
    plant("core.hooksPath", join(dir, "hooks"));
    mkdirSync(join(dir, "hooks"));
    for (const hook of ["post-index-change", "post-checkout"]) {
      writeFileSync(join(dir, "hooks", hook), `#!/bin/sh\n${touch}\n`);
      chmodSync(join(dir, "hooks", hook), 0o755);
    }
    for (const args of [[], ["e-pat"], ["a.ts"], ["--stat"], ["--patch"], ["e-pat", "--commit"]])
      expect((await world.kite(dir, ["diff", ...args])).code).toBe(0);
    const place = { env: world.environment, cwd: dir, projects: [dir] };
    expect(await pagerFor(place)).not.toContain("touch");
    expect(existsSync(ran)).toBe(false);
    // The plants work: git itself runs some.
    execFileSync("git", ["diff", "a.ts"], { cwd: dir, env: world.environment });
    expect(existsSync(ran)).toBe(true);
  });

  test("a pager is the person's own: by variable, by global setting, by PAGER", async () => {
    const home = join(world.folder, "pager-home");
    mkdirSync(home, { recursive: true });
    const of = (env: Record<string, string>) =>
      pagerFor({ env: { ...world.environment, HOME: home, ...env }, cwd: world.folder, projects: [] });
    expect(await of({ PAGER: "more -x" })).toBe("more -x");
    expect(await of({ PAGER: "more", GIT_PAGER: "mine" })).toBe("mine");
    expect(await of({ GIT_PAGER: "cat" })).toBeNull();
    writeFileSync(join(home, ".gitconfig"), "[core]\n\tpager = less -S\n");
    expect(await of({ PAGER: "more" })).toBe("less -S");
    writeFileSync(join(home, ".gitconfig"), "[core]\n\tpager = less -S\n[pager]\n\tdiff = fancy --x\n");
    expect(await of({})).toBe("fancy --x");
    writeFileSync(join(home, ".gitconfig"), "[pager]\n\tdiff = false\n");
    expect(await of({ PAGER: "more" })).toBeNull();
  });
});
