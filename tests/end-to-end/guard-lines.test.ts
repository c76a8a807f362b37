/**
 * Shell lines that say what they do in other words: what is let through is run by a real shell, and nobody's
 * uncommitted work may be another one afterwards.
 */
import { symlinkSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { both, LineWorld, rows } from "./guard-scene.ts";

const w = new LineWorld();

beforeAll(() => w.start());
afterAll(() => w.dispose());

describe("git behind other words", () => {
  rows(w, both, [
    ["git outer", "denied"],
    ["git shell", "denied"],
    ["/usr/bin/git stash", "denied"],
    ["bash <<'X'\ngit stash\nX", "denied"],
    ["find . -name a.ts -exec git checkout -- {} \\;", "denied"],
    ["echo stash | xargs git", "denied"],
    ["git config alias.s2 stash; git s2", "denied"],
    ["git -c alias.x=outer x", "denied"],
    ["printf 'git %s' stash | bash", "denied"],
    ['g() { git "$@"; }; g stash', "denied"],
    ["cd src && git reset --hard", "denied"],
    ["git -C src stash", "denied"],
    ["git --git-dir=.git --work-tree=. reset --hard", "denied"],
    ["FOO=1 git stash; echo done", "denied"],
    ["cd nowhere; git checkout .", "denied"],
    ["cd nowhere 2>/dev/null; git stash", "denied"],
    ["cd nowhere; cd further; git stash", "denied"],
    ["cd nowhere\ngit stash", "denied"],
    ["pushd nowhere; git stash", "denied"],
    ["(cd nowhere; git stash)", "denied"],
    ["cd src/nowhere && make; git checkout .", "denied"],
    ["npm test; cd nowhere; git stash", "denied"],
    ["[ -d nowhere ] && cd nowhere; git checkout .", "denied"],
    ["cd nowhere || true; git checkout .", "denied"],
    ["if [ -d src ]; then cd src; fi; git stash", "denied"],
    ["env -i git stash", "denied"],
    ["for i in 1 2; do git stash; done", "denied"],
    ["echo $(git stash)", "denied"],
    ["(git stash)", "denied"],
    ["git status && git 'stash' || true", "denied"],
    ["true | git stash", "denied"],
    ["if true; then git checkout -f; fi", "denied"],
    ['git commit -m "a ; b" -- b.ts && git reset --hard', "denied"],
    ["git stash << EOF\nb.ts\nEOF", "denied"],
    ["git checkout HEAD~0", "runs"],
    ["git merge same && git rebase --abort || git merge --abort || true", "runs"],
    ["git reset -q --merge", "runs"],
    ["git pull || git am fix.patch || true", "runs"],
    ["git round || true", "runs"],
    ["echo status | xargs git", "runs"],
    ["bash <<'X'\ngit status\nX", "runs"],
    ["cd src && git restore ../b.ts", "runs"],
    ["git -C src checkout -- ../b.ts", "runs"],
    ["cat > notes.txt << 'EOF'\ngit stash\ngit reset --hard\nEOF", "runs"],
    ["echo git reset --hard # git stash", "runs"],
    ["cd nowhere && git stash || true", "runs"],
    ["cd nowhere; git checkout b.ts", "runs"],
    ["cd src; git checkout -- ../b.ts", "runs"],
    ["git -C nowhere stash || true", "runs"],
    ["mkdir -p ../made-one; cd ../made-one; git init -q; git reset -q --hard || true", "runs"],
    ["git init -q ../made-two\ncd ../made-two\ngit reset -q --hard || true", "runs"],
    ["git worktree add -q ../side-two; cd ../side-two; git reset -q --hard", "runs"],
    ["git worktree add -q ../side-one && cd ../side-one && git reset -q --hard", "runs"],
  ]);
});

describe("a line that says in other words where it runs", () => {
  rows(w, both, [
    ["cd ~/REPO && git stash", "denied"],
    ['cd "$HOME/REPO" && git stash', "denied"],
    ["git -C ~/REPO reset --hard", "denied"],
    ["cd; git -C REPO stash", "denied"],
    ['cd "$(git rev-parse --show-toplevel)" && git reset --hard', "denied"],
    ["ROOT=$(git rev-parse --show-toplevel); cd $ROOT; git stash", "denied"],
    ["cd src; cd $(git rev-parse --show-toplevel)/src; git checkout -- ../a.ts", "denied"],
    ["cd src && git -C $(git rev-parse --show-toplevel) checkout -- a.ts", "denied"],
    ["cd $(pwd) && git stash", "denied"],
    ['git -C "$(cd src && pwd)" stash', "denied"],
    ["cd $(dirname src/c.ts) && git reset --hard", "denied"],
    ["cd src; cd $OLDPWD; git checkout a.ts", "denied"],
    ["cd ~/REPO && git wipe", "denied"],
    ['ROOT=$(git rev-parse --show-toplevel); git checkout -- "$ROOT/a.ts"', "denied"],
    ['cd src && git restore "$(git rev-parse --show-toplevel)"/*.ts', "denied"],
    ['cd src && git stash push -- b.ts "$(git rev-parse --show-toplevel)"', "denied"],
    ['git --work-tree="$(git rev-parse --show-toplevel)" checkout -- a.ts', "denied"],
    ['git --git-dir="$(git rev-parse --show-toplevel)/.git" checkout -- a.ts', "denied"],
    [
      "ROOT=$(git rev-parse --show-toplevel); GIT_DIR=$ROOT/.git GIT_WORK_TREE=$ROOT git reset --hard",
      "denied",
    ],
    ['git --git-dir="$(git rev-parse --show-toplevel)/.git" wipe', "denied"],
    ["cd ..; git --git-dir=REPO/.git --work-tree=REPO checkout -- a.ts", "denied"],
    ["cd / && GIT_DIR=~/REPO/.git GIT_WORK_TREE=~/REPO git restore '*.ts'", "denied"],
    ["cd .git/refs && git --git-dir=.. --work-tree=../.. checkout -- ../../a.ts", "denied"],
    ['git mv -f b.ts "$(git rev-parse --show-toplevel)/ann.ts"', "denied"],
    ["cd $(git rev-parse --show-toplevel)/src && git checkout -- ../b.ts", "runs"],
    ["cd src && git -C $(git rev-parse --show-toplevel) checkout -- b.ts", "runs"],
    ["cd ~/REPO/src && git checkout -- ../b.ts", "runs"],
    ['git checkout -- "$(git rev-parse --show-toplevel)/b.ts"', "runs"],
    ["cd .. && git --git-dir=REPO/.git --work-tree=REPO checkout -- b.ts src", "runs"],
    ["cd / && GIT_DIR=~/REPO/.git GIT_WORK_TREE=~/REPO git restore b.ts", "runs"],
    ['cd src && git stash push -u -- "$(git rev-parse --show-toplevel)"/b*', "runs"],
    ['git --work-tree="$(git rev-parse --show-toplevel)" checkout -- b.ts', "runs"],
    ["cd $(dirname src/c.ts) && git checkout .", "runs"],
    ["cd $(mktemp -d) && git init -q && git reset -q --hard", "runs"],
    ["git clone -q . ~/REPO-clone && cd ~/REPO-clone && git reset -q --hard", "runs"],
  ]);

  it("in the home and the project of the agent's own client", async () => {
    const { dir, bob } = await w.scene(both);
    let asks = 0;
    const answer = (command: string, env: object) => {
      asks += 1;
      const call = { tool_name: "Bash", tool_input: { command }, tool_use_id: `client${asks}` };
      return w.event(bob, w.folder, { hook_event_name: "PreToolUse", ...call }, env);
    };
    expect(await answer("cd ~ && git stash", { HOME: dir })).toContain('"deny"');
    expect(await answer("cd ~ && git stash", {})).toBe("");
    const inProject = 'cd "$CLAUDE_PROJECT_DIR" && git stash';
    expect(await answer(inProject, { CLAUDE_PROJECT_DIR: dir })).toContain('"deny"');
    expect(await answer(inProject, { CLAUDE_PROJECT_DIR: "/" })).toBe("");
  });
});

describe("a line of which it cannot be told where it runs", () => {
  rows(w, { ...both, loose: { where: ".\n" } }, [
    ['cd "$X" && git stash', "denied", 'runs. It may be in "~/REPO": write the folder out'],
    ["cd $X. && git reset --hard", "denied", 'runs. It may be in "~/REPO": write the folder out'],
    ["GIT_DIR=$X git stash", "denied", 'runs. It may be in "~/REPO": write the folder out'],
    ["git --work-tree=$X checkout -f", "denied", 'runs. It may be in "~/REPO": write the folder out'],
    ["cd $(cat where) && git checkout .", "denied", 'runs. It may be in "~/REPO": write the folder out'],
    [
      "for d in */; do (cd $d && git checkout -- ../a.ts); done",
      "denied",
      'runs. It may be in "~/REPO": write the folder out',
    ],
    ["cd sr$X; git reset --hard", "denied", 'runs. It may be in "~/REPO": write the folder out'],
    ["cd $(cat where) && git wipe", "denied", 'runs. It may be in "~/REPO": write the folder out'],
    ["cd $(cat where) && git shell", "denied", 'runs. It may be in "~/REPO": write the folder out'],
    ["cd $(cat where) && git checkout -- b.ts", "runs", "let a git command run without checking"],
    ["cd $(cat where) && git stash push -- ./src/../b.ts", "runs", "let a git command run without checking"],
    ["cd $(cat where) && git switch -q same", "runs", "let a git command run without checking"],
    ["cd $(cat where) && git status", "runs"],
    ["cd $(cat where) && git commit -qm own -- b.ts", "runs", "let a git command run without checking"],
    ["cd /usr/n$X && git reset -q --hard || true", "runs", "let a git command run without checking"],
  ]);

  it("may run in any worktree of the project, and in what lies below", async () => {
    const { dir, bob } = await w.scene(both);
    const side = `${dir}-side`;
    w.git(dir, "add", "-A");
    w.git(dir, "commit", "-qm", "all");
    w.git(dir, "worktree", "add", "-q", side, "same");
    await w.work("cy", side, { "a.ts": "cy's\n" });
    const said = await w.line(bob, dir, 'git -C "$X" reset --hard');
    expect(said).toContain(`It may be in "${side}": write the folder out`);
    expect(await w.line(bob, dir, "git reset -q --hard")).toBe("");
    expect(await w.line(bob, dir, "cd src/$X && git reset -q --hard")).not.toContain("did not run");
    // One that takes in counts for where the session works.
    expect(await w.line(bob, dir, "cd $X. && git add -A")).not.toContain("did not run");
    const other = w.repo("far");
    await w.work("dan", other, { "a.ts": "dan's\n" });
    await w.line("cy", side, "git commit -qam own");
    expect(await w.line(bob, dir, "cd $(cat .git/none) . && git reset -q --hard || true")).not.toContain(
      "did not run",
    );
    const below = await w.line("eve", w.folder, "for d in */; do (cd $d && git reset --hard); done");
    expect(below).toContain("runs. It may be in");
  });

  it("passes where nobody else has work, however it is written", async () => {
    const { dir, ann, bob } = await w.scene(both);
    await w.line(ann, dir, "git add a.ts ann.ts && git commit -qm ann");
    w.put(dir, "where", ".\n");
    for (const command of ["cd $(cat where) && git checkout .", "cd $(cat where) && git wipe"]) {
      expect(await w.line(bob, dir, command)).not.toContain("did not run");
    }
  });
});

describe("an absolute path through a symbolic link", () => {
  it.each(["link/a.ts", "link", "link/*.ts", "link/./src/../a.ts", "l?nk/a.ts"])(
    "is denied where it leads to another one's work: %s",
    async path => {
      const { dir, bob, isWhole } = await w.scene(both);
      symlinkSync(dir, `${dir}-link`);
      expect(await w.line(bob, dir, `git checkout -- ${dir}-${path}`)).toContain(
        "may wipe uncommitted work of another agent",
      );
      expect(isWhole()).toBe(true);
    },
  );

  it("passes where it leads to what is the agent's own", async () => {
    const { dir, bob, isWhole } = await w.scene(both);
    symlinkSync(dir, `${dir}-link`);
    expect(await w.line(bob, dir, `git checkout -- ${dir}-link/b.ts ${dir}-link/src/*.ts`)).toBe("");
    expect(isWhole()).toBe(true);
  });
});

describe("a line of very many git commands", () => {
  const many = "git add b.ts; git checkout -- b.ts; ".repeat(40);

  it.each(["git checkout -- a.ts", "cd src; git stash", "git wipe"])(
    "is denied if it ends in %s",
    async end => {
      const { dir, bob, isWhole } = await w.scene(both);
      const said = await w.line(bob, dir, many + end);
      expect(said).toContain("may wipe uncommitted work of another agent");
      expect(isWhole()).toBe(true);
    },
  );

  it("passes if all of them are on files of its own", async () => {
    const { dir, bob, isWhole } = await w.scene(both);
    const own = `for i in {1..60}; do git checkout -- b.ts; done; ${"git checkout -- b.ts; ".repeat(60)}git status`;
    expect(await w.line(bob, dir, own)).toBe("");
    expect(isWhole()).toBe(true);
  });
});
