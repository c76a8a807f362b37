import { describe, expect, test } from "vitest";
import { guardShell } from "../../hooks/git/commands.ts";
import { behind } from "../../hooks/shell/launchers.ts";
import { asValue, type Value } from "../../hooks/shell/variables.ts";
import { topFolder } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";

const env = new Map([
  ["HOME", "/h"],
  ["CLAUDE_PROJECT_DIR", "/c"],
]);

/** What a line reaches, a line of text a command: `git stash push: tree; untracked; a b`, with where if not in /p. */
function reached(line: string): readonly string[] {
  const { commands } = guardShell(line, "/p", env);
  return commands
    .filter(({ reach }) => reach !== "refs")
    .map(command => {
      const { name, reach, commits, untracked, paths, unclear, dir, isBelow, gitDir, workTree } = command;
      const where = [
        ...(dir === "/p" ? [] : [`in ${dir?.replaceAll(topFolder, "TOP") ?? "?"}`]),
        ...(isBelow ? ["or below"] : []),
        ...(gitDir === null ? [] : [`git dir ${gitDir}`]),
        ...(workTree === null ? [] : [`work tree ${workTree}`]),
      ];
      const { elsewhere, further } = command;
      if (elsewhere !== undefined) where.push(`or ${elsewhere ?? "?"}`);
      if (further !== undefined && !further.isIfSet)
        where.push(
          `further: ${further.into}${further.isWhole ? " whole" : ""}${further.isOnly ? " only" : ""}`,
        );
      const flags = [...(commits ? ["commits"] : []), ...(untracked ? ["untracked"] : [])];
      const limited = paths === null ? [unclear ? "unclear" : "all"] : [paths.join(" ")];
      return `${name}: ${[reach, ...flags, ...limited, ...where].join("; ")}`;
    });
}

const nothing: readonly string[] = [];

describe("a word in the place of a variable", () => {
  test.each<[line: string, ...commands: string[]]>([
    ["git ${x:-reset} --hard", "git reset --hard: tree; all"],
    ["git ${x-reset} ${y:=--hard}", "git reset --hard: tree; all"],
    ["${x:-git reset --hard}", "git reset --hard: tree; all"],
    ['"${x:-git}" ${y:-${z:-clean}} -f', "git clean: tree; untracked; all"],
    ["x=status; git ${x:-reset} --hard"],
    ["x=; git ${x:-reset} --hard", "git reset --hard: tree; all"],
    ["x=; git ${x-reset} --hard"],
    ["git ${HOME:-reset} --hard"],
    ["f() { git ${1:-reset} ${2---hard}; }; f", "git reset --hard: tree; all"],
    ["f() { git ${1:-reset} --hard; }; f status"],
    // The shell may know another folder or file.
    ["cd ${DIR:-/x} && git checkout -- a", "git checkout: tree; a; in ?"],
    ["git checkout -- ${F:-a}", "git checkout: tree; unclear"],
    ["D=${DIR:-/x}; cd $D && git checkout -- a", "git checkout: tree; a; in ?"],
    ["cd ${HOME:-/x} && git checkout -- a", "git checkout: tree; a; in /h"],
    ["git status > ${LOG:-a}"],
    ["shopt -s extglob\ngit checkout -- @(a|b).ts", "git checkout: tree; *.ts"],
  ])("%s", (line, ...commands) => {
    expect(reached(line)).toEqual(commands);
  });

  test("deep in each other", () => {
    const deep = (n: number): string => (n === 0 ? "reset" : `\${x:-${deep(n - 1)}}`);
    expect(reached(`git ${deep(5)} --hard`)).toEqual(["git reset --hard: tree; all"]);
    expect(reached(`git ${deep(2_000)} --hard`)).toEqual([]);
  });
});

describe("short forms of zsh", () => {
  const two = ["git checkout: tree; a.ts", "git checkout: tree; b.ts"];
  test.each<[line: string, ...commands: string[]]>([
    ["for f (a.ts b.ts) git checkout -- $f", ...two],
    ["for f (a.ts b.ts) git checkout -- $f; ls", ...two],
    ["cd .; for f ( a.ts 'b.ts' ) { git checkout -- $f }", ...two],
    ["for f (a.ts b.ts); do git checkout -- $f; done", ...two],
    ["for f (a.ts b.ts)\ndo\n  git checkout -- $f\ndone", ...two],
    ["foreach f (a.ts b.ts); git checkout -- $f; end", ...two],
    ["foreach f (a.ts b.ts)\n  git checkout -- $f\nend", ...two],
    ["for f (*.ts) git checkout -- $f", "git checkout: tree; unclear"],
    ["git checkout -- *.(ts|js)", "git checkout: tree; *.*"],
    ["git checkout -- src/(a|b)/x.ts 'c (d)'", "git checkout: tree; src/*/x.ts c (d)"],
    ["git checkout -- *.ts(N)", "git checkout: tree; *.ts*"],
    ["=git reset --hard", "git reset --hard: tree; all"],
    ["env =git reset --hard", "git reset --hard: tree; all"],
    ["git reset --hard &!", "git reset --hard: tree; all"],
    ["git reset --hard &|", "git reset --hard: tree; all"],
    ["git show HEAD:a >! a; for f (b) ls", ">: tree; untracked; a"],
    ["zsh -c 'for f (a.ts b.ts) git checkout -- $f'", ...two],
    // Bash reads these as they are.
    ["f() { git reset --hard; }; f", "git reset --hard: tree; all"],
    ["git commit -m 'for f (a b) git reset --hard' -- a", "git commit: take_all; commits; a"],
    ["echo 'x=1 &! (y' \"for f (a) git reset\"; git log"],
  ])("%s", (line, ...commands) => {
    expect(reached(line)).toEqual(commands);
  });

  test("are read in bounded time, however often they come", () => {
    for (const form of ["for f (", "foreach f (a)", "for f (a) {", "x(a", "foreach f (a) b; ", "'\\''"]) {
      expect(reached(`${form.repeat(limits.shellLineChars / form.length - 10)} )(;`).length).toBeLessThan(
        100,
      );
    }
  });
});

describe("what is overwritten without git", () => {
  test.each<[line: string, ...commands: string[]]>([
    ["git show HEAD:a.ts > a.ts", ">: tree; untracked; a.ts"],
    ["git show HEAD:a.ts >| src/a.ts", ">: tree; untracked; a.ts; in /p/src"],
    ["git show HEAD:a.ts &> ../x/a.ts", ">: tree; untracked; a.ts; in /x"],
    ["git status >& a.ts", ">: tree; untracked; a.ts"],
    ["git status 2> a.ts > b.ts", ">: tree; untracked; a.ts b.ts"],
    ["git show HEAD:a.ts >> a.ts"],
    ["git status 2>&1 >&2 1>&- </dev/null"],
    ["git status > /dev/null 2>/dev/stderr"],
    ["git status > $LOG"],
    ["git status > /dev/shm/x", ">: tree; untracked; x; in /dev/shm"],
    ["git status > $HOME/x", ">: tree; untracked; x; in /h"],
    ["cd $X; git status > x", ">: tree; untracked; x; in ?"],
    ["(git show HEAD:a.ts; echo) > a.ts", ">: tree; untracked; a.ts"],
    ["f() { cat > a.ts; }; f; git status", ">: tree; untracked; a.ts"],
    ["exec > a.ts; git status", ">: tree; untracked; a.ts"],
    [
      "for f in a.ts b/c.ts b/d.ts; do git show HEAD:$f > $f; done",
      ">: tree; untracked; a.ts",
      ">: tree; untracked; c.ts d.ts; in /p/b",
    ],
    ["for f in $(git ls-files); do git show HEAD:$f > $f; done", ">: tree; untracked; unclear"],
    ["for f in $(git ls-files); do git show HEAD:./$f | sed p > $f; done", ">: tree; untracked; unclear"],
    ["for f in $(git ls-files); do git show HEAD:$f > /t/$f; done"],
    ["for f in $(git ls-files); do git show HEAD:$f > $OUT/$f; done"],
    ["for f in $(git ls-files); do git show HEAD:$f | wc -l; done > $LOG"],
    ["git show HEAD:a.ts | tee a.ts", "tee: tree; untracked; a.ts"],
    ["git show HEAD:a.ts | tee -- a.ts - /dev/stderr b.ts", "tee: tree; untracked; a.ts b.ts"],
    ["git show HEAD:a.ts | tee -a a.ts"],
    ["git show HEAD:a.ts | sudo tee a.ts > /dev/null", "tee: tree; untracked; a.ts"],
    ["git archive HEAD | tar x", "tar -x: tree; untracked; all"],
    ["git archive HEAD a b | tar -xf - -C src", "tar -x: tree; untracked; a b; in /p/src"],
    ["git archive HEAD | tar xfC - src a.ts", "tar -x: tree; untracked; a.ts; in /p/src"],
    ["git archive --prefix out/ HEAD a | tar x", "tar -x: tree; untracked; out/"],
    ["git archive HEAD | tar x --strip-components=1", "tar -x: tree; untracked; all"],
    ["git archive HEAD | tar tf -"],
    ["git archive HEAD | tar xk"],
    ["git archive HEAD | tar xO"],
    ["git status; tar xf x.tgz"],
    ["git diff | patch -R", "patch -R: tree; untracked; all"],
    ["git diff -- a b | patch -p1 -R", "patch -R: tree; untracked; a b"],
    ["git -C x diff -- a b | patch -p1 -R", "patch -R: tree; untracked; all"],
    ["git diff -R -- a b | patch -p1", "patch: tree; untracked; a b"],
    ["git diff -R -- a b | patch -R -p1"],
    ["git diff -- a | patch -R -p1 a", "patch -R: tree; untracked; a"],
    ["git diff -- a | patch -R --dry-run"],
    ["git diff v1 | patch -p1"],
    ["git status; patch -R -p1 < x.diff", "patch -R: tree; untracked; all"],
    ["git status; patch -p1 < x.diff"],
    ["git diff --output=a", "git diff --output: tree; untracked; a"],
    ["git log --output $X"],
    ["git archive -o x/a.zip HEAD", "git archive --output: tree; untracked; x/a.zip"],
    ["git bundle create a HEAD", "git bundle create: tree; untracked; a"],
    ["git bundle verify a"],
    ["git diff -- own | git apply -R", "git apply -R: tree; own"],
    [
      "git diff HEAD own.ts | tee p | cat | git apply -R -",
      "tee: tree; untracked; p",
      "git apply -R: tree; HEAD own.ts",
    ],
    ['p=$(git diff -- own); echo "$p" | git apply -R', "git apply -R: tree; own"],
    ["git diff -- own | git apply -R p", "git apply -R: tree; all"],
    ["git diff -- own | sed p | git apply -R", "git apply -R: tree; all"],
    ["(git diff -- own; git diff) | git apply -R", "git apply -R: tree; all"],
    ["git diff -- own | git apply -R -p2", "git apply -R: tree; all"],
    ["git -C x diff -- own | git apply -R", "git apply -R: tree; all"],
    ["git -C x diff -- own | git -C x apply -R", "git apply -R: tree; own; in /p/x"],
    ["GIT_DIR=x git diff -- own | git apply -R", "git apply -R: tree; all"],
    [
      "git diff -R -- own >p; git diff -R | git apply",
      ">: tree; untracked; p",
      "git apply: tree; untracked; all",
    ],
    [
      "git diff -R -- own >p; git diff -R >p; git apply p",
      ">: tree; untracked; p p",
      "git apply: tree; untracked; all",
    ],
  ])("%s", (line, ...commands) => {
    expect(reached(line)).toEqual(commands);
  });
});

describe("every form of every command", () => {
  test.each<[line: string, ...commands: string[]]>([
    ["git checkout main", "git checkout: tree; all"],
    ["git checkout -", "git checkout: tree; all"],
    ["git checkout -f", "git checkout: tree; all"],
    ["git checkout -q --force main", "git checkout: tree; all"],
    ["git checkout -b new"],
    ["git checkout -b new HEAD"],
    ["git checkout -fb new", "git checkout: tree; all"],
    ["git checkout -b new origin/main", "git checkout: tree; all"],
    ["git checkout --orphan new"],
    ["git checkout --detach"],
    ["git checkout --detach v1", "git checkout: tree; all"],
    ["git checkout --track origin/new", "git checkout: tree; all"],
    ["git checkout"],
    ["git checkout HEAD"],
    ["git checkout -p", "git checkout: tree; all"],
    ["git checkout -- a.ts b.ts", "git checkout: tree; a.ts b.ts"],
    ["git checkout main -- a.ts", "git checkout: tree; a.ts"],
    ["git checkout main --", "git checkout: tree; all"],
    ["git checkout .", "git checkout: tree; ."],
    ["git checkout ./a.ts", "git checkout: tree; ./a.ts"],
    ["git checkout src/ '*.ts'", "git checkout: tree; src/ *.ts"],
    ["git checkout HEAD~2 a.ts", "git checkout: tree; HEAD~2 a.ts"],
    ["git checkout --ours a.ts", "git checkout: tree; a.ts"],
    ["git checkout -- :/", "git checkout: tree; all"],
    ["git checkout -- ':!a.ts'", "git checkout: tree; all"],
    ["git checkout -- $FILES", "git checkout: tree; unclear"],
    ["git checkout --pathspec-from-file=list", "git checkout: tree; unclear"],
    ["git switch main", "git switch: tree; all"],
    ["git switch -", "git switch: tree; all"],
    ["git switch -c new"],
    ["git switch --create new HEAD"],
    ["git switch -c new origin/main", "git switch: tree; all"],
    ["git switch --force main", "git switch: tree; all"],
    ["git switch --discard-changes -c new", "git switch: tree; all"],
    ["git switch --orphan new", "git switch: tree; all"],
    ["git switch --detach"],
    ["git switch"],
    ["git restore a.ts", "git restore: tree; a.ts"],
    ["git restore .", "git restore: tree; ."],
    ["git restore -s HEAD~1 -- a.ts", "git restore: tree; a.ts"],
    ["git restore --staged a.ts", "git restore --staged: index; a.ts"],
    ["git restore -SW a.ts", "git restore: tree; a.ts"],
    ["git restore --staged --worktree a.ts", "git restore: tree; a.ts"],
    ["git restore -p", "git restore: tree; all"],
    ["git restore"],
    ["git reset --hard", "git reset --hard: tree; all"],
    ["git reset --har HEAD~1", "git reset --hard: tree; all"],
    ["git reset --h", "git reset --hard: tree; all"],
    ["git --icase-pathspecs checkout -- A.ts", "git checkout: tree; all"],
    ["GIT_ICASE_PATHSPECS=1 git checkout -- A.ts", "git checkout: tree; all"],
    ["GIT_ICASE_PATHSPECS=0 git checkout -- A.ts", "git checkout: tree; A.ts"],
    ["git clean --d"],
    ["git reset -q --merge", "git reset --merge: tree; all"],
    ["git reset --keep main", "git reset --keep: tree; all"],
    ["git reset --soft HEAD~1", "git reset --soft: index; all"],
    ["git reset", "git reset: index; all"],
    ["git reset --mixed HEAD~1", "git reset: index; all"],
    ["git reset -- a.ts", "git reset: index; a.ts"],
    ["git reset --hard --soft", "git reset --soft: index; all"],
    ["git stash", "git stash push: tree; all"],
    ["git stash -m wip", "git stash push: tree; all"],
    ["git stash -u", "git stash push: tree; untracked; all"],
    ["git stash --all", "git stash push: tree; untracked; all"],
    ["git stash push", "git stash push: tree; all"],
    ["git stash push a.ts", "git stash push: tree; a.ts"],
    ["git stash push -um 'my -- message' -- a.ts 'b c.ts'", "git stash push: tree; untracked; a.ts b c.ts"],
    ["git stash -- a.ts", "git stash push: tree; a.ts"],
    ["git stash push --staged", "git stash push: tree; all"],
    ["git stash save -u my message", "git stash save: tree; untracked; all"],
    ["git stash pop", "git stash pop: tree; all"],
    ["git stash apply --index stash@{1}", "git stash apply: tree; all"],
    ["git stash drop", "git stash drop: stash; all"],
    ["git stash clear", "git stash clear: stash; all"],
    ["git stash branch new", "git stash branch: tree; all"],
    ["git stash list"],
    ["git stash show -p"],
    ["git stash create"],
    ["git clean -fd", "git clean: tree; untracked; all"],
    ["git clean -fdx -e keep src", "git clean: tree; untracked; src"],
    ["git clean -n"],
    ["git clean -fdn"],
    ["git clean --dry-run -d"],
    ["git rebase main", "git rebase: tree; all"],
    ["git rebase --continue", "git rebase --continue: index; commits; all"],
    ["git rebase --abort", "git rebase: tree; all"],
    ["git rebase --quit"],
    ["git rebase --edit-todo"],
    ["git rebase -x --quit main", "git rebase: tree; all"],
    ["git merge topic", "git merge: tree; all"],
    ["git merge --abort", "git merge: tree; all"],
    ["git merge -m --quit topic", "git merge: tree; all"],
    ["git merge --quit"],
    ["git merge --continue", "git merge --continue: index; commits; all"],
    ["git pull", "git pull: tree; all"],
    ["git pull --rebase origin main", "git pull: tree; all"],
    ["git pull --dry-run"],
    ["git cherry-pick -n abc", "git cherry-pick: tree; all"],
    ["git cherry-pick --skip", "git cherry-pick: tree; all"],
    ["git cherry-pick --quit"],
    ["git revert HEAD", "git revert: tree; all"],
    ["git am x.patch", "git am: tree; all"],
    ["git am --show-current-patch=diff"],
    [
      "git worktree remove ../other",
      "git worktree remove: tree; untracked; all; in /other; or ../other; further: all whole",
    ],
    [
      "git worktree remove -f -f /w/other/",
      "git worktree remove: tree; untracked; all; in /w/other; or /w/other/; further: all whole",
    ],
    [
      "git worktree remove --force $W",
      "git worktree remove: tree; untracked; all; in ?; or ?; further: all whole",
    ],
    ["git worktree move ../other ../there", "git worktree move: place; all; in /other; or ../other"],
    ["git worktree move -f $W ../there", "git worktree move: place; all; in ?; or ?"],
    ["git worktree move"],
    ["git worktree add ../other"],
    ["git worktree list"],
    ["git worktree prune"],
    ["git rm a.ts", "git rm: tree; a.ts"],
    ["git rm -r src", "git rm: tree; src"],
    ["git rm --cached a.ts", "git rm --cached: index; a.ts"],
    ["git rm -n a.ts"],
    ["git mv a.ts b.ts", "git mv: tree; a.ts b.ts"],
    ["git mv -n a.ts b.ts"],
    ["git apply x.patch"],
    ["git apply --check -R x.patch"],
    ["git apply -R x.patch", "git apply -R: tree; all"],
    ["git diff | git apply --reverse", "git apply -R: tree; all"],
    ["git diff -R | git apply", "git apply: tree; untracked; all"],
    ["git diff -R -- a.ts b.ts | git apply -", "git apply: tree; untracked; a.ts b.ts"],
    ["git diff -R a.ts | git apply", "git apply: tree; untracked; a.ts"],
    ["git diff -R HEAD >p; git apply p", ">: tree; untracked; p", "git apply: tree; untracked; all"],
    ["git apply <(git diff-index -p -R HEAD)", "git apply: tree; untracked; all"],
    ["git diff -R v1..HEAD | git apply"],
    ["git diff -R | git apply --check"],
    ["git diff -R | git apply --cached", "git apply --index: index; all"],
    ["git diff v1 v2 | git apply"],
    ["git diff -R; git status"],
    ["git apply <<'E'\n--- a/x.ts\n+++ b/x.ts\n@@ -1 +1,2 @@\n a\n+b\nE"],
    [
      "git apply <<'E'\n--- a/x.ts\t2020\n+++ b/x.ts\n@@ -1 +1 @@\n-a\n+b\n--- a/y/z.ts\n+++ /dev/null\n-q\nE",
      "git apply: tree; untracked; x.ts y/z.ts; in /p/TOP",
    ],
    [
      "git apply -p0 --directory=d <<'E'\n--- x.ts\n+++ x.ts\n-a\nE",
      "git apply: tree; untracked; d/x.ts; in /p/TOP",
    ],
    ["git apply --index x.patch", "git apply --index: index; all"],
    ["git apply --cached -R x.patch", "git apply --index: index; all"],
    ["git checkout-index -f -a", "git checkout-index -f: tree; all"],
    ["git checkout-index -f a.ts", "git checkout-index -f: tree; a.ts"],
    ["git checkout-index -fa --prefix=/tmp/x/", "git checkout-index -f: tree; untracked; /tmp/x/"],
    ["git checkout-index -fa --prefix=out/x-", "git checkout-index -f: tree; untracked; out/"],
    ["git checkout-index --prefix=./ -fa", "git checkout-index -f: tree; untracked; all"],
    ["git checkout-index -f --prefix=$X a.ts", "git checkout-index -f: tree; untracked; unclear"],
    ["git checkout-index --prefix=./ -a"],
    ["git checkout-index -a"],
    ["git read-tree -m -u HEAD", "git read-tree -u: tree; all"],
    ["git read-tree --reset -u HEAD", "git read-tree -u: tree; all"],
    ["git read-tree HEAD", "git read-tree: index; all"],
    ["git bisect start"],
    ["git bisect start HEAD v1", "git bisect: tree; all"],
    ["git bisect bad", "git bisect: tree; all"],
    ["git bisect reset", "git bisect: tree; all"],
    ["git bisect log"],
    ["git submodule update --init"],
    ["git submodule update --depth 1 lib"],
    ["git submodule update -f lib", "git submodule update: tree; lib; further: submodules only"],
    ["git submodule deinit lib"],
    [
      "git submodule deinit -f lib",
      "git submodule deinit: tree; untracked; lib; further: submodules whole only",
    ],
    [
      "git submodule deinit --force --all",
      "git submodule deinit: tree; untracked; all; further: submodules whole only",
    ],
    ["git submodule status"],
    ["git submodule foreach git status"],
    ["git submodule foreach git pull"],
    [
      "git submodule foreach 'git reset --hard'",
      "git submodule foreach: tree; untracked; all; further: submodules only",
    ],
    [
      "git submodule foreach --recursive git clean -fd",
      "git submodule foreach: tree; untracked; all; further: submodules whole only",
    ],
    ["git reset --hard --recurse-submodules", "git reset --hard: tree; all; further: submodules"],
    ["git checkout -f --recurse-submodules", "git checkout: tree; all; further: submodules"],
    ["git restore --recurse-submodules=yes .", "git restore: tree; .; further: submodules"],
    ["git -c submodule.recurse reset --hard", "git reset --hard: tree; all; further: submodules"],
    ["git config submodule.recurse 1; git reset --hard", "git reset --hard: tree; all; further: submodules"],
    ["git -c submodule.recurse=$X reset --hard", "git reset --hard: tree; all; further: submodules"],
    ["git -c submodule.recurse=no reset --hard", "git reset --hard: tree; all"],
    ["git clean -ffd", "git clean: tree; untracked; all; further: all whole"],
    ["git rm -rf lib", "git rm: tree; lib; further: submodules whole"],
    ["git sparse-checkout set src", "git sparse-checkout: tree; */*; in /p/TOP"],
    ["git sparse-checkout clean -f", "git sparse-checkout clean: tree; untracked; all"],
    ["git sparse-checkout list"],
    ["git filter-branch --tree-filter x", "git filter-branch: tree; all"],
    ["git filter-repo --path x", "git filter-repo: tree; all"],
    ["git add -A", "git add -A: take_all; untracked; all"],
    ["git add --all src", "git add -A: take_all; untracked; src"],
    ["git add .", "git add: take_all; untracked; ."],
    ["git add a.ts src/", "git add: take_all; untracked; a.ts src/"],
    ["git stage a.ts", "git add: take_all; untracked; a.ts"],
    ["git add -u", "git add -u: take_all; all"],
    ["git add -p", "git add: index; all"],
    ["git add -N a.ts", "git add: index; untracked; a.ts"],
    ["git add -n ."],
    ["git add"],
    ["git add -- ':!a'", "git add: take_all; untracked; all"],
    ["git commit -m x", "git commit: index; commits; all"],
    ["git commit", "git commit: index; commits; all"],
    ["git commit --amend --no-edit", "git commit: index; commits; all"],
    ["git commit -am x", "git commit -a: take_all; commits; all"],
    ["git commit --al -m x", "git commit -a: take_all; commits; all"],
    ["git commit -ma", "git commit: index; commits; all"],
    ["git commit -m -a", "git commit: index; commits; all"],
    ["git commit -m x a.ts", "git commit: take_all; commits; a.ts"],
    ["git commit -m x -o -- a.ts", "git commit: take_all; commits; a.ts"],
    ["git commit -im x a.ts", "git commit -i: take_all; commits; a.ts", "git commit: index; commits; all"],
    ["git commit -F msg.txt --author 'A <a@b>' -S", "git commit: index; commits; all"],
    ["git commit -p", "git commit: index; commits; all"],
    ["git commit --dry-run -a"],
    ["git commit -h"],
    ["git update-index --refresh"],
    ["git update-index --add a.ts", "git update-index: index; untracked; a.ts"],
    ["git status"],
    ["git log --all -- a.ts"],
    ["git diff HEAD"],
    ["git push --force"],
    ["git fetch --all"],
    ["git branch -D old"],
    ["git help stash"],
    ["git stash --help"],
    ["git"],
    ["git --version"],
  ])("%s", (line, ...commands) => {
    expect(reached(line)).toEqual(commands);
    expect(guardShell(line, "/p")).toMatchObject({ aliases: [], unread: null });
  });
});

describe("what would change is looked for", () => {
  const puts = { by: "files", loses: "tracked" };
  const nothing = { by: "target", revisions: [], orPath: false, loses: "nothing", during: [], stashes: [] };
  test.each<[line: string, changes: object | undefined]>([
    ["git switch topic", { revisions: ["topic"], orPath: true }],
    ["git switch -", { revisions: ["@{-1}"], orPath: true }],
    ["git switch -c new origin/x", { revisions: ["origin/x"] }],
    ["git switch --orphan new", { revisions: [""] }],
    ["git switch -f topic", { ...puts, revisions: ["topic"], orPath: true, isForced: true }],
    ["git switch --discard-changes topic", { ...puts, revisions: ["topic"], orPath: true, isForced: true }],
    ["git switch -m topic", { ...puts, revisions: ["topic"], orPath: true }],
    ["git switch $B", undefined],
    ["git checkout topic", { revisions: ["topic"], orPath: true }],
    ["git checkout topic --", { revisions: ["topic"] }],
    ["git checkout HEAD~0", { revisions: ["HEAD~0"], orPath: true }],
    ["git checkout -b new topic", { revisions: ["topic"] }],
    ["git checkout --conflict=diff3 topic", { ...puts, revisions: ["topic"], orPath: true }],
    ["git checkout -fq topic", { ...puts, revisions: ["topic"], orPath: true, isForced: true }],
    ["git checkout -- a.ts", undefined],
    ["git checkout topic -- a.ts", { ...puts, revisions: ["topic"], isForced: true }],
    ["git checkout topic a.ts", { ...puts, revisions: ["topic"], isForced: true }],
    ["git checkout -f", { ...puts, revisions: ["HEAD"], isForced: true }],
    ["git checkout -f $B", undefined],
    ["git restore --sou=topic .", { ...puts, revisions: ["topic"], isForced: true }],
    ["git restore -stopic .", { ...puts, revisions: ["topic"], isForced: true }],
    ["git restore -SW .", { ...puts, revisions: ["HEAD"], isForced: true }],
    ["git restore .", undefined],
    ["git read-tree -um A B", { ...puts, revisions: ["A", "B"] }],
    ["git read-tree --reset -u A", { ...puts, revisions: ["A"], isForced: true }],
    ["git stash apply -q 2", { by: "commits", revisions: ["stash@{2}"], loses: "ignored" }],
    ["git reset --keep topic", { revisions: ["topic"] }],
    ["git reset --merge", { revisions: ["HEAD"], loses: "staged" }],
    ["git reset --hard topic", { ...puts, revisions: ["topic"], isForced: true }],
    ["git add a.ts; git reset --merge", { revisions: ["HEAD"], loses: "tracked" }],
    ["git merge topic", { by: "merge", revisions: ["topic"], stashes: ["merge.autostash"] }],
    ["git merge", { by: "merge", revisions: ["@{upstream}"], stashes: ["merge.autostash"] }],
    ["git merge --no-autostash topic", { by: "merge", revisions: ["topic"] }],
    ["git merge --autostash topic", { by: "merge", revisions: ["topic"], loses: "tracked" }],
    ["git -c merge.autoStash=true merge topic", { by: "merge", revisions: ["topic"], loses: "tracked" }],
    ["git -c merge.autoStash merge topic", { by: "merge", revisions: ["topic"], loses: "tracked" }],
    ["git -c merge.autoStash=no merge topic", { by: "merge", revisions: ["topic"] }],
    ["git -c merge.autoStash=$X merge topic", { by: "merge", revisions: ["topic"], loses: "tracked" }],
    [
      "git config merge.autostash 1; git merge topic",
      { by: "merge", revisions: ["topic"], loses: "tracked" },
    ],
    ['git merge -m "$X" topic', { by: "merge", revisions: ["topic"], stashes: ["merge.autostash"] }],
    ["git merge --abort", { loses: "staged", during: ["MERGE_HEAD"] }],
    ["git rebase topic", { revisions: ["topic"], stashes: ["rebase.autostash"] }],
    ["git rebase --onto a b c", { revisions: ["a", "c"], stashes: ["rebase.autostash"] }],
    ["git rebase -x 'make' topic", undefined],
    ["git rebase --abort", { loses: "all", during: ["rebase-merge", "rebase-apply"] }],
    [
      "git pull",
      { by: "merge", revisions: ["@{upstream}"], stashes: ["merge.autostash", "rebase.autostash"] },
    ],
    ["git pull --no-autostash -q o +main:x", { by: "merge", revisions: ["refs/remotes/o/main"] }],
    ["git cherry-pick a..b c", { by: "commits", revisions: ["a..b", "c"] }],
    ["git revert -m 1 --no-edit HEAD", { by: "commits", revisions: ["HEAD"], mainline: 1 }],
    ["git cherry-pick --mainline=2 topic", { by: "commits", revisions: ["topic"], mainline: 2 }],
    ["git revert -m $N HEAD", { by: "commits", revisions: ["HEAD"] }],
    ["git show HEAD | git apply -R", { by: "commits", revisions: ["HEAD"], isForced: true }],
    ["git diff v1..v2 | git apply -R", { by: "commits", revisions: ["v1...v2"], isForced: true }],
    ["git diff v1 v2 -- a | git apply -R", { by: "commits", revisions: ["v1...v2"], isForced: true }],
    [
      "git diff v1 src | git apply -R",
      { by: "target", revisions: ["v1", "src"], orPath: true, isForced: true },
    ],
    ["git diff HEAD | git apply -R", undefined],
    ["git archive v1 | tar x", { by: "files", revisions: ["v1"], loses: "tracked", isForced: true }],
    ["git archive v1 | tar x -C src", undefined],
    ["git archive v1:src | tar x", undefined],
    ["git cherry-pick --abort", { loses: "staged", during: ["CHERRY_PICK_HEAD", "sequencer"] }],
    ["git am x.patch", {}],
    ["git bisect reset", { loses: "all", during: ["BISECT_START"] }],
    ["git stash", { ...puts, revisions: ["HEAD"], isForced: true }],
    ["git stash pop", { by: "commits", revisions: ["stash@{0}"], loses: "ignored" }],
  ])("%s", (line, changes) => {
    const command = guardShell(line, "/p").commands.at(-1);
    expect(command).toMatchObject({ reach: "tree" });
    expect(command?.changes).toEqual(changes === undefined ? undefined : { ...nothing, ...changes });
  });
});

describe("where it works", () => {
  test.each<[line: string, ...commands: string[]]>([
    ["git -C sub stash", "git stash push: tree; all; in /p/sub"],
    ["git -C a -C ../b stash", "git stash push: tree; all; in /p/b"],
    ["git -C $X stash", "git stash push: tree; all; in ?"],
    ["git --git-dir=.x --work-tree w stash", "git stash push: tree; all; git dir .x; work tree w"],
    ["git --git-dir=$X stash", "git stash push: tree; all; in ?; git dir "],
    ["GIT_DIR=/g GIT_WORK_TREE=/w git stash", "git stash push: tree; all; git dir /g; work tree /w"],
    ["export GIT_DIR=/g; git stash", "git stash push: tree; all; git dir /g"],
    ["GIT_DIR=/g; git stash", "git stash push: tree; all"],
    ["git -c core.x=y --no-pager -p stash", "git stash push: tree; all"],
    ["cd sub && git stash", "git stash push: tree; all; in /p/sub"],
    ["cd /q; git stash", "git stash push: tree; all; in /q"],
    ["cd; git stash", "git stash push: tree; all; in /h"],
    ["cd ~/x && git stash", "git stash push: tree; all; in /h/x"],
    ["cd ~ann/x && git stash", "git stash push: tree; all; in ?"],
    ["git -C ~/x stash", "git stash push: tree; all; in /h/x"],
    ["D=~/x; git -C $D stash", "git stash push: tree; all; in /h/x"],
    ['cd "$HOME/x" && git stash', "git stash push: tree; all; in /h/x"],
    ["HOME=/q; cd ~; git stash", "git stash push: tree; all; in /q"],
    ["env -i sh -c 'cd ~; git stash'", "git stash push: tree; all; in ?"],
    ["sudo sh -c 'cd ~; git stash'", "git stash push: tree; all; in ?"],
    ["su me -c 'cd ~; git stash'", "git stash push: tree; all; in ?"],
    ['cd "$CLAUDE_PROJECT_DIR" && git stash', "git stash push: tree; all; in /c"],
    ["cd ${CLAUDE_PROJECT_DIR}/a; git stash", "git stash push: tree; all; in /c/a"],
    ["cd a; cd $OLDPWD; git stash", "git stash push: tree; all"],
    ["cd a; git -C ~- stash; git -C ~+ pull", "git stash push: tree; all", "git pull: tree; all; in /p/a"],
    ["git -C $PWD/a stash", "git stash push: tree; all; in /p/a"],
    ["git -C $(pwd) stash", "git stash push: tree; all"],
    ['cd "$(cd a && pwd)"; git stash', "git stash push: tree; all; in /p/a"],
    ["cd $(dirname a/b/c.ts) && git stash", "git stash push: tree; all; in /p/a/b"],
    ["cd $(dirname /a/) && git stash", "git stash push: tree; all; in /"],
    ["cd $(dirname c.ts) && git stash", "git stash push: tree; all"],
    ['cd "$(dirname "$(pwd)")" && git stash', "git stash push: tree; all; in /"],
    ['cd "$(dirname "$0")" && git stash', "git stash push: tree; all; in ?"],
    ["cd $(realpath ../q) && git stash", "git stash push: tree; all; in /q"],
    ["cd $(readlink -f a) && git stash", "git stash push: tree; all; in /p/a"],
    ["cd $(readlink a) && git stash", "git stash push: tree; all; in ?"],
    ["cd $(git rev-parse --show-toplevel) && git stash", "git stash push: tree; all; in /p/TOP"],
    ["R=$(git -C a rev-parse --show-toplevel); cd $R; git stash", "git stash push: tree; all; in /p/a/TOP"],
    ["cd $(git rev-parse --show-toplevel)/a/.. && git stash", "git stash push: tree; all; in /p/TOP"],
    ["cd $(git rev-parse --show-toplevel)/../a && git stash", "git stash push: tree; all; in /p/TOP/../a"],
    ["cd $(GIT_DIR=/g git rev-parse --show-toplevel) && git stash", "git stash push: tree; all; in ?"],
    ["cd $(git rev-parse --git-dir) && git stash", "git stash push: tree; all; in ?"],
    ["cd $(mktemp -d) && git stash", "git stash push: tree; all; in /dev/null/new"],
    ["cd $(mktemp -d -p .) && git stash", "git stash push: tree; all; in ?"],
    // What is known of a name counts.
    ["cd a/$X && git stash", "git stash push: tree; all; in /p/a; or below"],
    ["cd a-$X && git checkout -- x.ts", "git checkout: tree; x.ts; or below"],
    ["cd /q/$X/b; git -C c stash", "git stash push: tree; all; in /q; or below"],
    ["cd /q/$X; cd ..; git stash", "git stash push: tree; all; in ?"],
    ["cd /q/$X; git -C $PWD stash", "git stash push: tree; all; in /q; or below"],
    ["cd /q/$X; cd /p; git stash", "git stash push: tree; all"],
    ["cd /q/$X; cd a; cd -; git stash", "git stash push: tree; all; in ?"],
    ["cd a/$X/../.. && git stash", "git stash push: tree; all; in ?"],
    ["cd /$X && git stash", "git stash push: tree; all; in ?"],
    ["cd ~/w/*/x && git stash", "git stash push: tree; all; in /h/w; or below"],
    ["cd a* && git stash", "git stash push: tree; all; or below"],
    ["cd ../*/x && git stash", "git stash push: tree; all; in /; or below"],
    ["cd app/[slug] && git stash", "git stash push: tree; all; in /p/app/[slug]"],
    [
      "find ../q r -name x -execdir git stash \\;",
      "git stash push: tree; all; in /q; or below",
      "git stash push: tree; all; in /p/r; or below",
    ],
    ["find -L $X -execdir git stash \\;", "git stash push: tree; all; in ?"],
    ["find -type d -execdir git stash \\;", "git stash push: tree; all; or below"],
    ["find ../q -exec git stash \\;", "git stash push: tree; all"],
    ["(cd sub; git stash); git pull", "git stash push: tree; all; in /p/sub", "git pull: tree; all"],
    ["cd a; cd - && git stash", "git stash push: tree; all"],
    ["pushd a; git stash; popd; git pull", "git stash push: tree; all; in /p/a", "git pull: tree; all"],
    ['D=/q; cd "$D/x" && git stash', "git stash push: tree; all; in /q/x"],
    ["cd x || exit 1; git stash", "git stash push: tree; all; in /p/x"],
    ["if test -d x; then cd x; fi; git stash", "git stash push: tree; all; in ?"],
    [
      "for d in a b; do (cd $d && git stash); done",
      "git stash push: tree; all; in /p/a",
      "git stash push: tree; all; in /p/b",
    ],
    ["while read d; do cd $d; git stash; done", "git stash push: tree; all; in ?"],
    ["sh -c 'cd a; git stash'; git pull", "git stash push: tree; all; in /p/a", "git pull: tree; all"],
    ["D=/q; sh -c 'cd $D; git stash'", "git stash push: tree; all; in ?"],
    ["eval 'cd a'; git stash", "git stash push: tree; all; in /p/a"],
    ["cd a | true; git stash", "git stash push: tree; all"],
    ["env -C sub git stash", "git stash push: tree; all; in /p/sub"],
  ])("%s", (line, ...commands) => {
    expect(reached(line)).toEqual(commands);
  });
});

describe("wherever it stands", () => {
  const stash = ["git stash push: tree; all"];
  test.each([
    "true; git stash",
    "return; git stash",
    "break; git stash",
    "continue 2; git stash",
    "f() { return; }; f; git stash",
    "for i in 1 2; do break; done; git stash",
    "f() { sh -c 'return; git stash'; }; f",
    "f() { break; git stash; }; for i in 1; do f; done",
    "true && git stash",
    "false || git stash",
    "yes | git stash",
    "git stash | cat",
    "git stash &",
    "! git stash",
    "time git stash",
    "(git stash)",
    "{ git stash; }",
    "if git stash; then :; fi",
    "while ! git stash; do :; done",
    "for i in 1; do git stash; done",
    "case x in x) git stash;; esac",
    "f() { git stash; }; f",
    "echo $(git stash)",
    'echo "`git stash`"',
    "cat <(git stash)",
    "cat <<E\n$(git stash)\nE",
    "x=$(git stash)",
    "[[ -n $(git stash) ]]",
    "echo ${x:-$(git stash)}",
    "echo $(( $(git stash | wc -l) + 1 ))",
    "a=($(git stash))",
    "A=1 B='2 3' git stash",
    ">/dev/null git stash 2>&1",
    "'git' \"stash\"",
    "\\git stash",
    "/usr/bin/git stash",
    "git \\\n stash",
    "env FOO=1 git stash",
    "command git stash",
    "nice -n 5 git stash",
    "nohup git stash",
    "timeout -s KILL 5s git stash",
    "sudo -u me git stash",
    "stdbuf -oL git stash",
    "exec git stash",
    "sh -c 'git stash'",
    'bash -lc "git stash"',
    "timeout 5 bash -e -c 'git stash' x",
    "eval git 'stash'",
    "true # it's\ngit stash",
    "cat <<'E'\n'\nE\ngit stash",
  ])("%s", line => {
    expect(reached(line)).toEqual(stash);
  });

  test.each([
    // Programs by other names and in other words.
    "~/bin/git stash",
    "$HOME/bin/git stash",
    '"$(brew --prefix)/bin/git" stash',
    "G=~/bin/git; $G stash",
    "$(which git) stash",
    '"$(command -v git)" stash',
    'GIT=`type -P git`; "$GIT" stash',
    "GIT=git; $GIT stash",
    'C="git stash"; $C',
    "git${IFS}stash",
    "{git,stash}",
    "x=git; x+=' stash'; $x",
    'a=(git stash); "${a[@]}"',
    "a=(git); a+=(stash); ${a[@]}",
    "a=(x git stash); ${a[1]} ${a[2]}",
    'set -- git stash; "$@"',
    'set -- x stash; shift; git "$1"',
    'g() { git "$@"; }; g stash',
    'g() { local op=$1; git "$op"; }; g stash',
    "/usr/lib/git-core/git-stash push",
    // Words that are read.
    "read c <<< stash; git $c",
    "while read c; do git $c; done <<< stash",
    'echo x stash | while read -r a b; do git "$b"; done',
    'mapfile -t m <<< stash; git "${m[0]}"',
    // Shells with a text of the line.
    "bash -c -e 'git stash'",
    "bash -euo pipefail -c 'git stash'",
    "bash --norc -c 'git stash'",
    "bash -c 'git \"$@\"' x stash",
    "sh -c '$0 stash' git",
    "bash <<'X'\ngit stash\nX",
    "bash -s a b <<X\ngit stash\nX",
    "sh -e - <<-'X'\n\tgit stash\n\tX",
    "bash <<< 'git stash'",
    "bash < <(echo git stash)",
    "bash <(echo git stash)",
    "source <(echo git stash)",
    ". /dev/stdin <<< 'git stash'",
    "bash /dev/stdin <<< 'git stash'",
    "echo git stash | sh",
    "printf 'git %s\\n' stash | bash -s",
    "echo -e 'true\\ngit stash' | bash",
    "cat <<'X' | sh\ngit stash\nX",
    "{ echo true; echo git stash; } | tee /dev/null | sh",
    "for c in git; do echo $c stash; done | sh",
    'eval "$(echo git stash)"',
    "eval \"$(cat <<'X'\ngit stash\nX\n)\"",
    "trap 'git stash' EXIT",
    // Programs that run others.
    "echo stash | xargs git",
    "echo stash | xargs -n1 -r /usr/bin/git",
    "echo stash | xargs -I{} git {}",
    "echo stash | xargs -I % sh -c 'git %'",
    "echo git stash | xargs env",
    "xargs git <<< stash",
    "xargs -a <(echo stash) git",
    "find . -exec git stash \\;",
    "find . -ok sh -c 'git stash' \\;",
    "env -i PATH=/bin git stash",
    "env -S 'A=1 git stash'",
    "sudo -iu me -- git stash",
    "busybox sh -c 'git stash'",
    "flock /tmp/l git stash",
    "flock /tmp/l -c 'git stash'",
    "su - me -c 'git stash'",
    "script -qc 'git stash' /dev/null",
    "watch -n 5 git stash",
    "kite lock a.ts -- git stash",
    "coproc NAME { git stash; }",
    // Programs that are not known, and words that may be none or one.
    "$SUDO git stash",
    "${SUDO:-} git stash",
    '"$RUN" -x git stash',
    "$SUDO /usr/bin/git stash",
    "$SUDO bash -c 'git stash'",
    "nice $N git stash",
    "fakeroot git stash",
    "unshare -r git stash",
    "systemd-run --user git stash",
    "xvfb-run -a git stash",
    "proxychains git stash",
    "direnv exec . git stash",
    "poetry run git stash",
    "mise exec -- git stash",
    "npx -- git stash",
    "npx -c 'git stash'",
    "nix-shell --run 'git stash'",
    "parallel 'git stash' ::: 1",
    "tmux new -d 'git stash'",
    "tmux new-window git stash",
    "screen -dm git stash",
    "retry 3 sh -c 'git stash'",
    'eval "$X git stash"',
    'sh -c "$(cat x) git stash"',
    // Aliases that the line makes.
    "alias g=git\ng stash",
    "alias gs='git stash'\ngs",
    "git config alias.s2 stash; git s2",
    "git config --global alias.S2 '!git stash' && git s2",
    "git config set alias.s2 'stash push'; git s2",
    "git -c alias.x=stash x",
    "git -c alias.x=y -c alias.y=stash x",
    "git config alias.a b; git config alias.b stash; git a",
    "git config alias.g '!git'; git g stash",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=stash git x",
  ])("%s", line => {
    const { commands, unread } = guardShell(line, "/p");
    expect(commands).toMatchObject([{ name: "git stash push", dir: "/p" }]);
    expect(unread).toBeNull();
  });

  test.each<[line: string, ...commands: string[]]>([
    ["find . -name a1.txt -exec git checkout -- {} \\;", "git checkout: tree; unclear"],
    ["find . -execdir git checkout -- a.ts ';'", "git checkout: tree; a.ts; or below"],
    ["find . -exec sh -c 'git checkout -- \"$1\"' _ {} +", "git checkout: tree; unclear"],
    ["find . -print0 | xargs -0 -I{} git checkout -- {}", "git checkout: tree; unclear"],
    ["echo a.ts 'b c.ts' | xargs git checkout --", "git checkout: tree; a.ts b c.ts"],
    ["printf '%s\\n' a.ts b.ts | xargs -n1 git rm", "git rm: tree; a.ts", "git rm: tree; b.ts"],
    ["parallel git checkout -- ::: a.ts", "git checkout: tree; unclear"],
    ["parallel git checkout -- {} ::: a.ts", "git checkout: tree; unclear"],
    ["git diff --name-only | parallel git checkout -- {}", "git checkout: tree; unclear"],
    ["git diff --name-only | parallel git checkout --", "git checkout: tree; unclear"],
    ["parallel 'git checkout -- {}' ::: a.ts", "git checkout: tree; unclear"],
    ["parallel git checkout -- src/{1.}.ts ::: a", "git checkout: tree; unclear"],
    ["ls | parallel git -C {} reset --hard", "git reset --hard: tree; all; in ?"],
    ["fd -e ts -x git checkout -- {}", "git checkout: tree; unclear"],
    ["fd -e ts -X git restore", "git restore: tree; unclear"],
    ["fd . -x sh -c 'git checkout -- {//}/*.ts'", "git checkout: tree; unclear"],
    ["tmux new -d 'git checkout -- {}'", "git checkout: tree; unclear"],
    ["foo git checkout -- a.ts b.ts", "git checkout: tree; a.ts b.ts"],
    ["foo git checkout stash@{1} -- a.ts", "git checkout: tree; a.ts"],
    ["printf 'a b\\n' | xargs -d '\\n' git rm", "git rm: tree; a b"],
    ['bash -c "cd $DIR && git stash"', "git stash push: tree; all; in ?"],
    ['bash -c "git checkout -- $F"', "git checkout: tree; unclear"],
    ["(echo cd sub; echo git stash) | sh", "git stash push: tree; all; in /p/sub"],
    ["git config alias.x 'checkout --'; git -C sub x a.ts", "git checkout: tree; a.ts; in /p/sub"],
  ])("%s", (line, ...commands) => {
    expect(reached(line)).toEqual(commands);
  });

  test("words that come from elsewhere may be any", () => {
    expect(reached("git ls-files | xargs git checkout --")).toEqual(["git checkout: tree; unclear"]);
    expect(reached("git ls-files | xargs -I{} git checkout -- {}")).toEqual(["git checkout: tree; unclear"]);
    expect(reached("for f in a b; do git checkout -- $f; done")).toEqual([
      "git checkout: tree; a",
      "git checkout: tree; b",
    ]);
  });
});

test.each([
  "echo git stash",
  "echo 'git stash; git clean -fd'",
  "# git stash",
  "cat <<'E'\n$(git stash)\ngit stash\nE",
  "git log --grep='git stash'",
  "git commit-tree x",
  "mygit stash",
  "git-lfs pull",
  "grep -r git stash",
  "exit; git stash",
  "f() { return; git stash; }; f",
  "source <(echo return; echo git stash)",
  "for i in 1; do break; git stash; done",
  "f() { git stash; }",
  "command -v git stash",
  "echo stash | xargs echo git",
  "echo git stash | cat",
  "echo git stash > /dev/null; cat x",
  "echo git stash >&2 | sh",
  "bash script.sh <<'X'\ngit stash\nX",
  "bash -c 'cat' <<'X'\ngit stash\nX",
  "cat >> s.sh <<'X'\ngit stash\nX",
  "echo 'git stash' | ssh host",
  "alias gs='git stash'",
  "git config alias.s2 stash",
  "git config alias.s2 stash; git config --unset alias.s2",
  "find . -name git -newer stash",
  "sudo -l git stash",
  "fakeroot git status",
  "$SUDO git log -- git stash",
  "fakeroot git x",
  "fakeroot git $X",
  "$SUDO git config alias.log stash; git log",
  "rg git stash",
  "man git stash",
  "which git stash",
  "ls git clean",
  "make git clean",
  "docker run x git stash",
  "gh pr create --body 'git stash'",
  "claude -p 'run git stash'",
  "npm run x -- --message 'git stash'",
  "kite message send bob -- git stash",
])("is no call: %s", line => {
  expect(reached(line)).toEqual(nothing);
});

/** Named as limits: what the line alone does not show. */
test.each(['sh -c "$LINE"', 'eval "$LINE"', "$GIT stash", "./run-git.sh", "ssh host git stash"])(
  "is not seen: %s",
  line => {
    expect(reached(line)).toEqual(nothing);
  },
);

describe("aliases", () => {
  const [alias] = guardShell("cd sub && git -C .. co -- a.ts", "/p").aliases;

  test("are names that git does not have", () => {
    expect(guardShell("git co x; git st; git log", "/p").aliases.map(({ name }) => name)).toEqual([
      "co",
      "st",
    ]);
    expect(alias).toMatchObject({ name: "co", dir: "/p", gitDir: null, workTree: null });
  });

  test.each([
    ["checkout", "git checkout", ["a.ts"]],
    ["checkout -q", "git checkout", ["a.ts"]],
    ["reset --hard", "git reset --hard", null],
    ["!git stash && git pull", "git stash push", null],
  ] as const)("that come to %s", (text, name, paths) => {
    expect(alias?.commandsOf(text)[0]).toMatchObject({ name, paths, dir: "/p" });
  });

  test.each(["status", "log --oneline", "!echo git stash", "", "!", "'"])(
    "that come to nothing: %s",
    text => {
      expect(alias?.commandsOf(text)).toEqual([]);
    },
  );
});

/** Counts what is copied of it. */
class Counted extends Array<Value> {
  static copied = 0;

  override slice(from?: number, to?: number): Value[] {
    const part = [...this].slice(from, to);
    Counted.copied += part.length;
    return part;
  }
}

test("words behind a program that is not known are gone through once, however many they are", () => {
  const count = 1_000;
  const words = Counted.from(Array.from({ length: count }, () => asValue("x")));
  expect(behind("foo", words)).toEqual({ command: null, lines: [] });
  expect(Counted.copied).toBeLessThanOrEqual(count);
});

describe("what cannot be read", () => {
  test.each([
    ["git stash; echo 'x", "its syntax: unterminated single quote"],
    ["git stash; echo $(x", "its syntax: unterminated command substitution"],
    ["git stash; if x", "its syntax: expected 'then'"],
    ["git stash; )", "its syntax: unexpected token ')'"],
    ["git stash; echo >", "its syntax: expected redirect target"],
  ])("passes, and it is said: %s", (line, unread) => {
    expect(reached(line)).toEqual(["git stash push: tree; all"]);
    expect(guardShell(line, "/p").unread).toBe(unread);
  });

  test("of very many git commands the last ones count for anything anywhere, if one of them may wipe", () => {
    const count = limits.guardedCommandsMax;
    const many = "git add x; git restore x; ".repeat(count);
    const all = ["git checkout: tree; untracked; unclear; in ?"];
    const behindMany = (line: string) => reached(many.slice(0, 13 * (count - 2)) + line).slice(count - 2);
    expect(behindMany("git checkout -- a.ts; git stash")).toEqual(all);
    expect(behindMany("git add -A; git checkout a.ts; git reset --hard")).toEqual(all);
    expect(behindMany("git wipe; git stash")).toEqual(["git wipe: tree; untracked; unclear; in ?"]);
    expect(behindMany("git submodule foreach git reset --hard")).toHaveLength(1);
    expect(behindMany("git log; git status; git add b.ts; foo git bar")).toEqual([]);
    expect(reached(many)).toHaveLength(count - 1);
    expect(guardShell(many, "/p").unread).toBe("it has too many git commands");
  });

  test("one git command on very many paths, one after the other, is one", () => {
    const files = Array.from({ length: 50 }, (_, i) => `${i}.ts`);
    const line = files.map(file => `git checkout -- ${file}`).join("; ");
    const { commands, unread } = guardShell(line, "/p");
    expect(commands.flatMap(({ paths }) => paths)).toEqual(files);
    expect(commands.length).toBeLessThan(limits.guardedCommandsMax);
    expect(unread).toBeNull();
  });

  test("a git command that only the shell knows", () => {
    const unread = "which git command it runs is known to the shell alone";
    expect(guardShell("git $CMD", "/p")).toEqual({ commands: [], aliases: [], unread });
  });

  test.each([
    ["a long line", `git stash ${"x".repeat(limits.shellLineChars)}`],
    ["deep brackets", `${"( ".repeat(5_000)}git stash${")".repeat(5_000)}`],
    ["deep substitutions", `${"$(".repeat(5_000)}git stash${")".repeat(5_000)}`],
    ["deep sums", `echo ${"$((".repeat(5_000)}`],
    ["sums that are none", `echo ${"$(( ".repeat(30)}x${" ) )".repeat(30)}`],
    ["deep quotes", `echo ${'"${x:-'.repeat(5_000)}`],
    ["many loops", `${"for i in 1 2 3 4 5 6 7 8 9; do ".repeat(12)}git log${"; done".repeat(12)}`],
    ["a shell in a shell", `${"sh -c 'eval ".repeat(1)}${"eval ".repeat(5_000)}git stash'`],
    ["a function that runs itself", "f() { f; f; }; f"],
    ["many git commands", "git stash;".repeat(limits.guardedCommandsMax + 1)],
    ["a text that doubles", `a=xx; ${"a=$a$a; ".repeat(5_000)}git $a`],
    ["words that double", `set -- x x; ${'set -- "$@" "$@"; '.repeat(5_000)}git $1`],
    ["an output that doubles", `e() { echo "$1$1"; }; x=y; ${'x=$(e "$x"); '.repeat(3_000)}git $x`],
    ["a text read again and again", `x='eval "$(echo "$x")"'; eval "$x"`],
    [
      "a long text in a loop",
      `B='${"x ".repeat(100_000)}'; ${"for i in 1 2 3 4 5 6 7 8; do ".repeat(2)}echo $B; done; done`,
    ],
    ["a program in a program", `${"env ".repeat(50_000)}git stash`],
    ["xargs in xargs", `echo x | ${"xargs ".repeat(40_000)}git`],
    ["many pipes", `echo git stash ${"| cat ".repeat(40_000)}| sh`],
    [
      "aliases of aliases",
      `${[...Array(90).keys()].map(i => `alias a${i}='a${i + 1}; a${i + 1}'`).join("\n")}\na0`,
    ],
    [
      "git's aliases of aliases",
      `${[...Array(90).keys()].map(i => `git config alias.a${i} '!${`git a${i + 1};`.repeat(40)}'`).join("\n")}\ngit a0`,
    ],
  ])("%s ends soon, and it is said", (_, line) => {
    const { commands, unread } = guardShell(line, "/p");
    expect(unread).not.toBeNull();
    expect(commands.length).toBeLessThanOrEqual(limits.guardedCommandsMax);
  });

  const long = limits.shellLineChars - 1_000;
  test.each([
    ["braces that open", `git stash; ${"{".repeat(long)}`],
    ["braces in braces", `git stash; ${"a{".repeat(long / 4)}${"}".repeat(long / 4)}`],
    [
      "alternatives with much around them",
      `git stash; ${"x".repeat(long / 2)}{${",".repeat(long / 2 - 100)}}`,
    ],
    ["options of a command in submodules", `git stash; git submodule foreach x ${"-x ".repeat(long / 4)}`],
    ["submodules in submodules", `git stash; ${"git submodule foreach ".repeat(long / 24)}`],
    ["brackets in a test", `git stash; [[ ${"( ".repeat(long / 3)}`],
    ["folders in folders", `git stash; ${"cd x;".repeat(long / 6)}`],
    ["a shell's text again and again", `git stash; ${"eval ".repeat(long / 6)}`],
    [
      "long words with long texts put in",
      `git stash; echo ${"x".repeat(long / 3)} | xargs -I a foo ${"a".repeat(long / 3)}`,
    ],
    [
      "many words with long texts put in",
      `git stash; echo ${"x".repeat(long / 3)} | xargs -I a foo ${"a ".repeat(long / 6)}`,
    ],
  ])("as long as a line may be, %s end soon", (_, line) => {
    const { commands } = guardShell(line, "/p");
    expect(commands[0]).toMatchObject({ name: "git stash push" });
  });

  test("many commands without an end to their brackets are no burden", () => {
    const line = `${"a && b || c; ".repeat(2_000)}git stash`;
    expect(reached(line)).toEqual(["git stash push: tree; all"]);
  });
});
