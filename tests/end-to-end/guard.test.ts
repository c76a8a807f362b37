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

const cannot = "cannot be limited to your own files";

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

/** The command that a denied line is told to run in its place. */
function advice(reason: string): string {
  const [, command] = /run it on your own files only: ([^\n]*)/.exec(reason) ?? [];
  if (command === undefined) throw new Error(`no way on: ${reason}`);
  return command;
}

describe("a line that would wipe another one's work", () => {
  it.each([
    "git stash",
    "git stash -u",
    "cd src && git stash",
    "git checkout .",
    "git restore .",
    "git reset --hard",
    "true && (cd src; git -C .. checkout -- .)",
    "git stash push -m \"$(cat <<'E'\nit's mine\nE\n)\"",
    "for f in *.ts; do git checkout -- $f; done",
    "git wipe",
  ])("does not run, and what it is told to run in its place leaves that work alone: %s", async line => {
    const { dir, bob } = await w.scene(topic);
    const reason = await w.line(bob, dir, line);
    expect(reason).toContain('"ann.ts" has uncommitted changes of "ann');
    expect([w.read(dir, "ann.ts"), w.read(dir, "bob.ts")]).toEqual(["ann's\n", "bob's\n"]);
    expect(await w.line(bob, dir, advice(reason))).toBe("");
    expect([w.read(dir, "ann.ts"), w.read(dir, "bob.ts")]).toEqual(["ann's\n", "old\n"]);
  });

  it("is not told to throw away files of its own that it did not name", async () => {
    const { dir, bob } = await w.scene(topic);
    await w.work(bob, dir, { "src/c.ts": "bob's\n" });
    const all = await w.line(bob, dir, "git restore ann.ts");
    expect(all).toContain("it reaches none of your own uncommitted files");
    expect(all).not.toContain("last edited");
    expect(advice(await w.line(bob, dir, "git restore ann.ts src"))).toBe("git restore -- src/c.ts");
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
    expect(await w.line(bob, dir, advice(reason))).toBe("");
    expect(w.read(dir, "new of ann.ts")).toBe("ann's\n");
    expect(() => w.read(dir, "new of bob.ts")).toThrow("ENOENT");
  });
});

it("a line that would take in another one's work is told how to commit one's own files alone", async () => {
  const { dir, bob } = await w.scene(topic);
  await w.work(bob, dir, { "src/new of bob.ts": "bob's\n" });
  const reason = await w.line(bob, dir, "git add -A && git commit -m all");
  expect(reason).toContain("run it on your own files only: git add -- ");
  const own = reason.split("\n").find(line => line.includes("git commit")) ?? "";
  const command = own.slice(own.indexOf("git "));
  expect(await w.line(bob, dir, command === "" ? advice(reason) : command)).toBe("");
  expect(await w.line(bob, dir, "git commit -qm mine")).toBe("");
  expect(w.shell(dir, "git show --name-only --format= HEAD | sort")).toBe("bob.ts\nsrc/new of bob.ts\n");
  expect(w.shell(dir, "git status --porcelain")).toBe(" M ann.ts\n");
});
