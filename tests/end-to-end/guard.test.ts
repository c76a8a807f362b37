/** Everyday shell lines of agents that work in one checkout, and what they are told to run in their place. */
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { both, LineWorld, rows, type SceneKind } from "./guard-scene.ts";
import { firstCommit } from "./guard-world.ts";

const w = new LineWorld();

beforeAll(() => w.start());
afterAll(() => w.dispose());

describe("where both have changed and new files", () => {
  rows(w, both, [
    ["git stash", "denied"],
    ["git stash push -m later", "denied"],
    ["git stash -u", "denied"],
    ["git checkout other", "denied"],
    ["git checkout -- .", "denied"],
    ["git checkout HEAD -- a.ts b.ts", "denied"],
    ["git switch other", "denied"],
    ["git restore .", "denied"],
    ["git restore --source=HEAD --staged --worktree a.ts", "denied"],
    ["git restore '*.ts'", "denied"],
    ["git reset --hard", "denied"],
    ["git reset --merge other", "denied"],
    ["git reset --keep other", "denied"],
    ["git clean -fd", "denied"],
    ["git clean -f ann.ts", "denied"],
    ["git rebase other", "denied"],
    ["git merge other", "denied"],
    ["git cherry-pick other", "denied"],
    ["git revert HEAD", "denied"],
    ["git pull --autostash", "denied"],
    ["git rm -f a.ts", "denied"],
    ["git wipe", "denied"],
    ["git add -A", "told"],
    ["git add .", "told"],
    ["git add -u", "told"],
    ["git add '*.ts'", "told"],
    ["git add a.ts", "told"],
    ["git commit -qam all", "told"],
    ["git commit -qm theirs -- a.ts", "told"],
    ["git add -A && git commit -qm all", "told"],
    ["git status", "runs"],
    ["git switch same", "runs"],
    ["git checkout -q main", "runs"],
    ["git log --oneline | head -1", "runs"],
    ["git diff; git stash list", "runs"],
    ["git branch topic && git checkout -b topic2", "runs"],
    ["git stash push -- b.ts", "runs"],
    ["git stash push -u -- b.ts bob.ts", "runs"],
    ["git restore b.ts", "runs"],
    ["git checkout -- b.ts", "runs"],
    ["git checkout HEAD b.ts src", "runs"],
    ["git clean -f bob.ts", "runs"],
    ["git reset", "runs"],
    ["git add b.ts bob.ts && git commit -qm 'own; git stash'", "runs"],
    ["git commit -qm own -- b.ts", "runs"],
  ]);

  it("a commit of what the other one has staged", async () => {
    const { dir, ann, bob } = await w.scene(both);
    expect(await w.line(ann, dir, "git add -- a.ts")).toBe("");
    expect(await w.line(bob, dir, "git add b.ts && git commit -qm both")).toContain("would include work");
    expect(await w.line(bob, dir, "git commit -qm own -- b.ts")).toBe("");
    expect(w.git(dir, "show", "--name-only", "--format=", "HEAD").trim()).toBe("b.ts");
    expect(w.git(dir, "diff", "--cached", "--name-only").trim()).toBe("a.ts");
  });

  it("everything passes where nobody else works, and where all is committed", async () => {
    const { dir, ann, bob } = await w.scene(both);
    expect(await w.line(ann, dir, "git add a.ts ann.ts && git commit -qm ann")).toBe("");
    for (const command of ["git stash -u", "git stash pop", "git checkout -q other", "git reset --hard"]) {
      expect(await w.line(bob, dir, command)).toBe("");
    }
    expect(existsSync(`${dir}/bob.ts`)).toBe(true);
  });
});

/** The branch `topic` changes what ann works in. */
const topic: SceneKind = {
  committed: { "ann.ts": "old\n", "bob.ts": "old\n", "src/c.ts": "old\n" },
  made: [
    firstCommit,
    "git switch -qc topic && echo new >ann.ts && git commit -qam topic && git switch -q main",
    "git config alias.wipe 'reset --hard'",
  ].join(" && "),
  ann: { "ann.ts": "ann's\n" },
  bob: { "bob.ts": "bob's\n" },
};

const cannot = "to take your own lines into a worktree of your own, where you may run it: kite move";

describe("where each has changed a file", () => {
  rows(w, topic, [
    ["git checkout topic", "denied", cannot],
    ["git switch topic", "denied", cannot],
    ["git merge topic", "denied", cannot],
    ["git rebase topic", "denied", cannot],
    ["git add -A", "told"],
    ["git add .", "told"],
    ["git add ann.ts bob.ts && git commit -qm all", "told"],
    ["git commit -qam all", "told"],
    ["git stash -- bob.ts", "runs"],
    ["git checkout -- bob.ts src", "runs"],
    ["git restore bob.ts", "runs"],
    ["git add bob.ts", "runs"],
    ["git commit -qm x bob.ts", "runs"],
    ["git status", "runs"],
    ["git diff", "runs"],
    ["git stash list", "runs"],
    ["git log -1", "runs"],
    ["git checkout -b new", "runs"],
    ["git reset --soft HEAD", "runs"],
    ["echo git stash", "runs"],
  ]);
});

/** What a line is told to run for its agent's own part. */
function advice(reason: string): readonly string[] {
  const all = [...reason.matchAll(/: (\(?(?:cd \S+ && )?kite [^\n]*)/g)].map(([, command = ""]) => command);
  if (all.length === 0) throw new Error(`no way on: ${reason}`);
  return all;
}

describe("a line that would wipe another one's work", () => {
  it.each([
    ["git stash; true; git stash pop", "kite try -- true"],
    ["git stash -u", "kite move", "kite undo --all bob.ts"],
    ["cd src && git stash", "(cd DIR && kite move)", "(cd DIR && kite undo --all bob.ts)"],
    ["git checkout .", "kite undo --all bob.ts"],
    ["git restore .", "kite undo --all bob.ts"],
    ["git reset --hard", "kite undo --all bob.ts"],
    ["true && (cd src; git -C .. checkout -- .)", "kite undo --all bob.ts"],
    ["git stash push -m \"$(cat <<'E'\nit's mine\nE\n)\"", "kite move", "kite undo --all bob.ts"],
    ["git wipe", "kite undo --all bob.ts"],
  ])("does not run, and is told what does its own part: %s", async (line, ...own) => {
    const { dir, bob } = await w.scene(topic);
    const reason = await w.line(bob, dir, line);
    expect(reason).toContain('"ann.ts" has uncommitted changes of "ann');
    expect([w.read(dir, "ann.ts"), w.read(dir, "bob.ts")]).toEqual(["ann's\n", "bob's\n"]);
    expect(advice(reason)).toEqual(own.map(command => command.replace("DIR", dir)));
  });

  it("that names its files by a variable is told to write them out", async () => {
    const { dir, bob } = await w.scene(topic);
    expect(await w.line(bob, dir, "for f in *.ts; do git checkout -- $f; done")).toContain(
      "only the shell knows its paths, so write them out",
    );
  });

  it("is told of the worktree that it names, not of the one in which it is typed", async () => {
    const { dir, bob } = await w.scene(topic);
    const side = `${dir}/side`;
    w.git(dir, "worktree", "add", "-q", "--detach", side);
    const reason = await w.line(bob, side, `git -C ${dir} checkout -- .`);
    expect(advice(reason)).toEqual([`(cd ${dir} && kite undo --all bob.ts)`]);
  });

  it("is not told to throw away files of its own that it did not name", async () => {
    const { dir, bob } = await w.scene(topic);
    await w.work(bob, dir, { "src/c.ts": "bob's\n" });
    const all = await w.line(bob, dir, "git restore ann.ts");
    expect(all).toContain("reaches no uncommitted lines of yours");
    expect(all).not.toContain("last edited");
    expect(advice(await w.line(bob, dir, "git restore ann.ts src"))).toEqual(["kite undo --all src/c.ts"]);
  });

  it("runs when that work is committed, or the session is over and it is sent again", async () => {
    const { dir, ann, bob } = await w.scene(topic);
    expect(await w.line(ann, dir, "git add ann.ts && git commit -qm mine -- ann.ts")).toBe("");
    expect(await w.line(bob, dir, "git stash")).toBe("");
    expect([w.read(dir, "ann.ts"), w.read(dir, "bob.ts")]).toEqual(["ann's\n", "old\n"]);
    await w.work(ann, dir, { "ann.ts": "ann's again\n" });
    expect(await w.line(bob, dir, "git reset -q --hard")).toContain("did not run");
    await w.ends(ann, dir);
    expect(await w.line(bob, dir, "git reset -q --hard")).toContain("a session that has ended");
    expect(await w.line(bob, dir, "git reset -q --hard")).toBe("");
    expect(w.read(dir, "ann.ts")).toBe("ann's\n");
  });

  it("new files count where they are in reach", async () => {
    const { dir, ann, bob } = await w.scene(topic);
    await w.work(ann, dir, { "new of ann.ts": "ann's\n" });
    await w.work(bob, dir, { "new of bob.ts": "bob's\n" });
    const reason = await w.line(bob, dir, "git clean -fd");
    expect(advice(reason)).toEqual(["kite undo --all 'new of bob.ts'"]);
  });
});

it("a line that would take in another one's work is told how to commit one's own files alone", async () => {
  const { dir, bob } = await w.scene(topic);
  await w.work(bob, dir, { "src/new of bob.ts": "bob's\n" });
  const reason = await w.line(bob, dir, "git add -A && git commit -m all");
  expect(advice(reason)).toEqual(["kite commit -m all 'src/new of bob.ts' bob.ts"]);
});
