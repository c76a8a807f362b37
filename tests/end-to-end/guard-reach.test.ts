import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addAll, command, commit, commitAll, GuardWorld, reset, stash } from "./guard-world.ts";

const w = new GuardWorld();
let count = 0;
/** A repository of its own with two sessions in it. */
async function pair(files?: readonly string[] | null) {
  count += 1;
  const dir = w.repo(`r${count}`, files);
  const [ann, bob] = [`ann${count}`, `bob${count}`];
  await w.begin(ann, dir);
  await w.begin(bob, dir);
  return { dir, ann, bob };
}

beforeAll(() => w.start());
afterAll(() => w.dispose());

describe("a command that may wipe the working tree", () => {
  it("is denied where another one has work in it, until that is committed", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.stopped(ann);
    expect(await w.found(bob, dir, [stash])).toEqual([`0 deny: a.ts of ${ann}`]);
    expect(await w.found(bob, dir, [reset])).toEqual([`0 deny: a.ts of ${ann}`]);
    w.git(dir, "commit", "-qam", "ann's");
    expect(await w.found(bob, dir, [stash])).toEqual([]);
  });

  it("is denied where another one holds a file, changed or not", async () => {
    const { dir, ann, bob } = await pair();
    const client = await w.client();
    await client.ask({ type: "file_lock", id: ann, file: "a.ts" });
    expect(await w.found(bob, dir, [reset])).toEqual([`0 deny: a.ts held by ${ann}`]);
    await client.ask({ type: "file_unlock", id: ann, file: "a.ts" });
    await client.ask({ type: "file_lock", id: ann, file: "src/" });
    expect(await w.found(bob, dir, [reset])).toEqual([`0 deny: src/ held by ${ann}`]);
    const one = command("git checkout", { paths: ["src/c.ts"] });
    expect(await w.found(bob, dir, [one])).toEqual([`0 deny: src/ held by ${ann}`]);
    expect(await w.found(bob, dir, [command("git checkout", { paths: ["a.ts"] })])).toEqual([]);
  });

  it("passes alone, with own work; with that of an ended session when it is sent again", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(bob, dir, "a.ts", "bob\n");
    expect(await w.found(bob, dir, [stash])).toEqual([]);
    await w.edit(ann, dir, "b.ts", "ann\n");
    await w.act({ do: "end", session: ann, cause: "test" });
    expect(await w.found(bob, dir, [stash])).toEqual([`0 tell_first: b.ts of ${ann}; own a.ts`]);
    expect(await w.found(bob, dir, [stash])).toEqual([]);
  });

  it("passes where it is limited to other paths", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "src/c.ts", "ann\n");
    await w.edit(bob, dir, "a.ts", "bob\n");
    const to = (...paths: string[]) => [command("git stash push", { paths })];
    expect(await w.found(bob, dir, to("a.ts"))).toEqual([]);
    expect(await w.found(bob, dir, to("a.ts", "src/deep"))).toEqual([]);
    const denied = [`0 deny: src/c.ts held by ${ann}`];
    const withOwn = [`${denied}; own a.ts`];
    expect(await w.found(bob, dir, to("src"))).toEqual(denied);
    expect(await w.found(bob, dir, to("."))).toEqual(withOwn);
    expect(await w.found(bob, dir, to("*.ts"))).toEqual(withOwn);
    expect(await w.found(bob, `${dir}/src`, to("c.ts"))).toEqual(denied);
    expect(await w.found(bob, `${dir}/src`, to("../a.ts"))).toEqual([]);
    expect(await w.found(bob, `${dir}/src/deep`, to(`${dir}/src`))).toEqual(denied);
  });

  it("counts files that git does not know only where they are in reach", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "new.ts", "new\n");
    await w.stopped(ann);
    expect(await w.found(bob, dir, [stash])).toEqual([]);
    const denied = [`0 deny: new.ts of ${ann}`];
    expect(await w.found(bob, dir, [command("git stash push", { untracked: true })])).toEqual(denied);
    expect(await w.found(bob, dir, [command("git clean", { untracked: true })])).toEqual(denied);
    w.git(dir, "add", "new.ts");
    expect(await w.found(bob, dir, [command("git clean", { untracked: true })])).toEqual([]);
    expect(await w.found(bob, dir, [reset])).toEqual(denied);
  });

  it("counts what the line itself adds before it, until that is committed", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "new.ts", "new\n");
    await w.stopped(ann);
    const rest = { by: "files", orPath: false, during: [], stashes: [], loses: "tracked" } as const;
    const to = (revision: string) =>
      command("git reset --hard", { changes: { ...rest, revisions: [revision], isForced: true } });
    const both = [`0 tell_first: new.ts of ${ann}`];
    expect(await w.found(bob, dir, [addAll, stash])).toEqual([`1 deny: new.ts of ${ann}`]);
    expect(await w.found(bob, dir, [stash, addAll])).toEqual([`1 tell_first: new.ts of ${ann}`]);
    expect(await w.found(bob, dir, [addAll, commit, stash])).toEqual(both);
    expect(await w.found(bob, dir, [addAll, commit, to("HEAD")])).toEqual(both);
    expect(await w.found(bob, dir, [addAll, commit, to("HEAD~1")])).toEqual([`2 deny: new.ts of ${ann}`]);
    const other = command("git add", { ...addAll, paths: ["b.ts"] });
    expect(await w.found(bob, dir, [other, stash])).toEqual([]);
  });

  it("does not care for what git ignores", async () => {
    const { dir, ann, bob } = await pair();
    w.put(dir, ".gitignore", "build/\n");
    await w.edit(ann, dir, "build/out.js", "x\n");
    expect(await w.found(bob, dir, [command("git clean", { untracked: true })])).toEqual([]);
    expect(await w.found(bob, dir, [reset])).toEqual([]);
  });

  it("leaves other worktrees, submodules and repositories further in alone", async () => {
    const { dir, ann, bob } = await pair();
    const other = w.repo(`${count}-other`);
    w.git(dir, "worktree", "add", "-q", "-b", "side", "side");
    w.git(dir, "submodule", "--quiet", "add", other, "sub");
    w.git(dir, "commit", "-qm", "sub");
    await w.edit(ann, `${dir}/side`, "a.ts", "ann\n");
    await w.edit(ann, `${dir}/sub`, "b.ts", "ann\n");
    expect(await w.found(bob, dir, [reset])).toEqual([]);
    expect(await w.found(bob, `${dir}/side/src`, [reset])).toEqual([`0 deny: a.ts held by ${ann}`]);
    expect(await w.found(bob, `${dir}/sub`, [reset])).toEqual([`0 deny: b.ts held by ${ann}`]);
  });

  it("is looked at where it works, not where it is called", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    const denied = [`0 deny: a.ts held by ${ann}`];
    const git = (more: object) => [command("git reset --hard", more)];
    expect(await w.found(bob, w.folder, git({ gitDir: `${dir}/.git`, workTree: dir }))).toEqual(denied);
    expect(await w.found(bob, dir, git({ gitDir: ".git" }))).toEqual(denied);
    expect(await w.found(bob, w.folder, git({ dir: w.folder }))).toEqual([]);
    // Where it cannot be told, it may be where others work.
    expect(await w.found(bob, dir, git({ dir: null }))).toEqual([
      ...denied,
      `unchecked: git reset --hard: where it runs cannot be told, so it counts for ${dir}`,
    ]);
    await w.stopped(ann);
    w.git(dir, "checkout", "--", ".");
    await w.found(bob, dir, git({}));
    expect(await w.found(bob, dir, git({ dir: null }))).toEqual([
      "unchecked: git reset --hard: where it runs cannot be told, and nobody else is known to have work where it may run",
    ]);
  });

  it("is seen behind an alias", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    w.git(dir, "config", "alias.wipe", JSON.stringify([{ ...reset, dir }]));
    const aliases = ["wipe", "none"].map(name => ({ name, dir, gitDir: null, workTree: null }));
    const { findings, aliased } = await w.guard(bob, dir, [], { aliases });
    expect(aliased).toEqual([{ ...reset, dir }]);
    expect(findings.map(f => [f.command, f.verdict])).toEqual([[0, "deny"]]);
  });

  it("is seen on a detached head, before the first commit, and in a sparse checkout", async () => {
    const { dir, ann, bob } = await pair();
    w.git(dir, "checkout", "-q", "--detach");
    await w.edit(ann, dir, "a.ts", "ann\n");
    expect(await w.found(bob, dir, [reset])).toEqual([`0 deny: a.ts held by ${ann}`]);
    const sparse = await pair();
    w.git(sparse.dir, "sparse-checkout", "set", "--no-cone", "/src/");
    await w.edit(sparse.ann, sparse.dir, "src/c.ts", "ann\n");
    await w.stopped(sparse.ann);
    expect(await w.found(sparse.bob, sparse.dir, [reset])).toEqual([`0 deny: src/c.ts of ${sparse.ann}`]);
    w.git(sparse.dir, "commit", "-qam", "x");
    expect(await w.found(sparse.bob, sparse.dir, [reset])).toEqual([]);
    const unborn = await pair(null);
    await w.edit(unborn.ann, unborn.dir, "a.ts", "ann\n");
    await w.stopped(unborn.ann);
    expect(await w.found(unborn.bob, unborn.dir, [addAll])).toEqual([`0 tell_first: a.ts of ${unborn.ann}`]);
    w.git(unborn.dir, "add", "a.ts");
    expect(await w.found(unborn.bob, unborn.dir, [reset])).toEqual([`0 deny: a.ts of ${unborn.ann}`]);
  });

  it("knows work that was reverted by hand for what it is", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.edit(ann, dir, "a.ts", "a.ts\n");
    await w.stopped(ann);
    expect(await w.found(bob, dir, [reset])).toEqual([]);
  });

  it("runs no program that the repository names", async () => {
    const { dir, ann, bob } = await pair();
    const trap = `touch ${dir}/trapped; cat`;
    const isTrapped = () => existsSync(`${dir}/trapped`);
    w.put(dir, ".gitattributes", "*.ts filter=trap diff=trap\n");
    for (const name of ["filter.trap.clean", "filter.trap.smudge", "core.fsmonitor", "diff.trap.textconv"]) {
      w.git(dir, "config", name, trap);
    }
    w.git(dir, "config", "core.untrackedCache", "true");
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.stopped(ann);
    expect(await w.found(bob, dir, [reset])).toEqual([`0 deny: a.ts of ${ann}`]);
    expect(isTrapped()).toBe(false);
    w.git(dir, "status");
    expect(isTrapped()).toBe(true);
  });

  it("runs none where it looks for what was committed, either", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.stopped(ann);
    await w.found(bob, dir, [commitAll]);
    expect(await w.found(bob, dir, [commitAll])).toEqual([]);
    w.git(dir, "commit", "-qam", "all");
    const trap = `touch ${dir}/trapped; cat`;
    w.put(dir, ".gitattributes", "*.ts filter=trap diff=trap\n");
    const names = ["filter.trap.clean", "filter.trap.smudge", "core.fsmonitor", "diff.trap.textconv"];
    for (const name of [...names, "diff.external", "diff.trap.command"]) w.git(dir, "config", name, trap);
    const events = await w.client();
    await events.ask({ type: "subscribe", events: ["work_taken"], project: dir });
    await w.ended(bob, dir);
    expect(await events.event("work_taken")).toMatchObject({ how: "committed", files: ["a.ts"] });
    expect(existsSync(`${dir}/trapped`)).toBe(false);
  });

  it("fetches nothing that a repository lacks by a program that it names", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.stopped(ann);
    const tree = w.git(dir, "rev-parse", "HEAD^{tree}").trim();
    rmSync(join(dir, ".git/objects", tree.slice(0, 2), tree.slice(2)));
    const settings = {
      "core.repositoryFormatVersion": "1",
      "extensions.partialClone": "origin",
      "remote.origin.promisor": "true",
      "remote.origin.url": `ext::touch ${dir}/trapped`,
      "protocol.ext.allow": "always",
    };
    for (const [name, value] of Object.entries(settings)) w.git(dir, "config", name, value);
    expect(await w.found(bob, dir, [reset])).toEqual([
      `0 deny unseen: a.ts of ${ann}`,
      expect.stringMatching(/^unchecked: /),
    ]);
    expect(existsSync(`${dir}/trapped`)).toBe(false);
    expect(() => w.git(dir, "-c", "protocol.ext.allow=always", "ls-tree", "-r", "HEAD")).toThrow();
    expect(existsSync(`${dir}/trapped`)).toBe(true);
  });
});

describe("a command that takes in what others changed", () => {
  it("is told first, and passes when it is asked for again", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.edit(bob, dir, "b.ts", "bob\n");
    const told = [`0 tell_first: a.ts held by ${ann}; own b.ts`];
    expect(await w.found(bob, dir, [addAll])).toEqual(told);
    expect(await w.found(bob, dir, [addAll])).toEqual([]);
    await w.edit(ann, dir, "src/c.ts", "ann\n");
    expect(await w.found(bob, dir, [addAll])).toEqual([
      `0 tell_first: a.ts held by ${ann}, src/c.ts held by ${ann}; own b.ts`,
    ]);
    expect(await w.found(bob, dir, [commitAll])).toHaveLength(1);
  });

  it("is told once, however often the same hook asks", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    const once = { toolUseId: "twice" };
    expect(await w.found(bob, dir, [addAll], once)).toHaveLength(1);
    expect(await w.found(bob, dir, [addAll], once)).toHaveLength(1);
    expect(await w.found(bob, dir, [addAll])).toHaveLength(0);
  });

  it("is a commit too, where others' work is staged", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    await w.edit(bob, dir, "b.ts", "bob\n");
    expect(await w.found(bob, dir, [commit])).toEqual([]);
    w.git(dir, "add", "a.ts", "b.ts");
    expect(await w.found(bob, dir, [commit])).toEqual([`0 tell_first: a.ts held by ${ann}; own b.ts`]);
    const own = command("git commit", { reach: "index", commits: true, paths: ["b.ts"] });
    expect(await w.found(bob, dir, [own])).toEqual([]);
    const folder = command("git commit", { reach: "take_all", commits: true, paths: ["."] });
    expect(await w.found(bob, dir, [folder])).toEqual([`0 tell_first: a.ts held by ${ann}; own b.ts`]);
  });

  it("says which of the line's commands it is", async () => {
    const { dir, ann, bob } = await pair();
    await w.edit(ann, dir, "a.ts", "ann\n");
    const index = command("git add", { reach: "index", paths: ["b.ts"] });
    expect(await w.found(bob, dir, [index, stash])).toEqual([`1 deny: a.ts held by ${ann}`]);
  });
});
