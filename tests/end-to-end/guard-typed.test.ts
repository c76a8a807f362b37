/**
 * The guard against git and the shell themselves: lines as agents type them, plain and twisted, over another one's work
 * and over one's own.
 */
import { afterAll, beforeAll, describe } from "vitest";
import { forms, OracleWorld, type Setting, work } from "./guard-oracle.ts";

const w = new OracleWorld();

beforeAll(() => w.start());
afterAll(() => w.dispose());

describe("with work in files that git knows, and in new ones", () => {
  let here: Setting;
  beforeAll(async () => {
    const known = { "src/c.ts": "c\n", "src/own.ts": "own\n" };
    here = await w.setting("typed", dir => w.commit(dir, known), { "src/c.ts": "ann's c\n" });
    await w.work(here.bob, here.dir, { "src/own.ts": "bob's\n" });
  });

  const files = [...Object.keys(work), "src/c.ts"];

  describe("git's output over a file", () => {
    forms(w, () => here, files, [
      ["git show HEAD:a.ts > a.ts"],
      ["git show HEAD:a.ts >| a.ts"],
      ["git show HEAD:a.ts &> a.ts"],
      ["git show HEAD:a.ts 2>/dev/null > ./a.ts"],
      ["git show HEAD:a.ts | tee a.ts"],
      ["git show HEAD:a.ts | tee a.ts >/dev/null"],
      ["git show HEAD:a.ts | sed s/a/b/ | tee b.ts a.ts"],
      ["git cat-file -p HEAD:a.ts > a.ts"],
      ['git cat-file blob HEAD:a.ts > "$PWD/a.ts"'],
      ["git show HEAD:./c.ts > src/c.ts; git show HEAD:src/c.ts >src/c.ts"],
      ["cd src && git show HEAD:src/c.ts > c.ts"],
      ["cd src && git show HEAD:a.ts > ../a.ts"],
      ["(cd src; git show HEAD:./c.ts > c.ts)"],
      ["for f in a.ts src/c.ts; do git show HEAD:$f > $f; done"],
      ["for f in $(git diff --name-only); do git show HEAD:$f > $f; done"],
      ['git diff --name-only | while read -r f; do git show "HEAD:$f" > "$f"; done'],
      ["git diff --name-only | xargs -I{} sh -c 'git show HEAD:{} > {}'"],
      ["bash -c 'git show HEAD:a.ts > a.ts'"],
      ["{ git show HEAD:a.ts; echo more; } > a.ts"],
      ["(git show HEAD:a.ts) > a.ts"],
      ["git show HEAD:a.ts | cat > a.ts"],
      ["git show HEAD:a.ts | sed s/a/b/ > a.ts"],
      ["git show HEAD:a.ts > /tmp/$$.x && cat /tmp/$$.x > a.ts"],
      ['echo "$(git show HEAD:a.ts)" > a.ts'],
      ["cat <(git show HEAD:a.ts) > a.ts"],
      ["git status > a.ts"],
      ["git log -1 > new.ts"],
      ["git blame b.ts 2> a.ts"],
      ["echo x > a.ts && git add b.ts"],
      ["git status; : > a.ts"],
      ["git status; > a.ts"],
      ["git archive HEAD | tar x"],
      ["git archive HEAD | tar -xf -"],
      ["git archive HEAD a.ts | tar xf -"],
      ["git archive HEAD -- a.ts | tar -x"],
      ["git archive --format=tar HEAD a.ts | (tar -xf -)"],
      ["git archive HEAD src | tar -xv -C ."],
      ["cd src && git archive HEAD c.ts | tar x"],
      ["git archive HEAD:src | tar x -C src"],
      ["git archive near | tar x"],
      ["git archive HEAD b.ts far.ts | tar x"],
      ["git archive HEAD | tar x b.ts"],
      ["mkdir ../out; git archive HEAD | tar x -C ../out"],
      ["mkdir out && git archive HEAD | tar -x --directory=out"],
      ["git archive --prefix=out/ HEAD | tar x"],
      ["git archive HEAD | tar t"],
      ["git archive HEAD | gzip > ../x.tgz"],
      ["git archive -o ../x.tar HEAD"],
      ["git archive -o a.ts HEAD"],
      ["git archive --output=a.ts HEAD"],
      ["git diff --output=a.ts"],
      ["git show --output=a.ts HEAD"],
      ["git log --output=b.ts"],
      ["git format-patch -1 --output=a.ts"],
      ["git bundle create a.ts HEAD"],
      ["git show HEAD:b.ts > b.ts"],
      ["git show HEAD:src/own.ts > src/own.ts"],
      ["git show HEAD:a.ts > a.orig"],
      ["git show HEAD:a.ts > ../a.ts"],
      ["git show HEAD:a.ts > $(mktemp)"],
      ['git show HEAD:a.ts > "$TMPDIR/a.ts"'],
      ["git diff > ../my.patch"],
      ["git diff -- b.ts > b.patch"],
      ["git log --oneline -3 > /dev/null 2>&1"],
      ["git status 2>&1 | tee ../log"],
      ["git show HEAD:far.ts > far.ts"],
      ["f=$(mktemp); git show HEAD:a.ts > $f; diff $f a.ts"],
      ["diff <(git show HEAD:a.ts) a.ts"],
      ["git show HEAD:a.ts | diff - a.ts >/dev/null"],
      ["git show HEAD:a.ts > a.ts.bak 2>&1"],
      ["cat > b.ts <<'E'\nx > a.ts\nE\ngit add b.ts"],
      ["git commit -qm 'write x > a.ts' -- b.ts"],
    ]);
  });

  describe("patches", () => {
    forms(w, () => here, files, [
      ["git diff | patch -R -p1"],
      ["git diff -- a.ts | patch -R -p1"],
      ["git diff a.ts | patch -Rp1"],
      ["git diff HEAD -- a.ts | patch --reverse -p1"],
      ["git diff -R | patch -p1"],
      ["git diff -R -- a.ts | patch -p1"],
      ["git diff -- a.ts > ../p; patch -R -p1 < ../p"],
      ["git diff -- a.ts > ../p; patch -R -p1 -i ../p"],
      ["git diff -- a.ts > ../p; patch -R a.ts ../p"],
      ["git diff --no-prefix -- a.ts | patch -R -p0"],
      ["git diff -- src/c.ts | (cd src && patch -R -p2)"],
      ["cd src && git diff -- c.ts | patch -R -p2"],
      ["git diff | patch -R -p1 --dry-run"],
      ["git diff -- b.ts | patch -R -p1"],
      ["git diff b.ts | patch -R -p1"],
      ["git diff HEAD -- b.ts src/own.ts | patch -R -p1"],
      ["git diff -R -- b.ts | patch -p1"],
      ["git diff main near | patch -p1"],
      ["git diff | git apply -R"],
      ["git diff | git apply --reverse"],
      ["git diff HEAD | git apply -R"],
      ["git diff -- a.ts | git apply -R"],
      ["git diff -- a.ts b.ts | git apply -R"],
      ["git diff -- src | git apply -R"],
      ["git diff | tee ../p | git apply -R"],
      ["git diff > ../p && git apply -R ../p"],
      ["git diff -- b.ts | git apply -R"],
      ["git diff b.ts | git apply -R"],
      ["git diff HEAD -- b.ts | git apply -R -"],
      ["git diff -- b.ts src/own.ts | git apply --reverse"],
      ["git diff -- b.ts | tee ../p | git apply -R"],
      ["git diff -- b.ts | cat | git apply -R --verbose"],
      ["git diff -U5 -- b.ts | git apply -R"],
      ["cd src && git diff -- own.ts | git apply -R"],
      ["cd src && git diff -- c.ts | git apply -R"],
      ["git -C src diff -- own.ts | git apply -R", "rare"],
      ["git -C src diff -- c.ts | git apply -R"],
      ["git diff --cached -- b.ts | git apply -R --cached"],
      ["git show HEAD -- src/own.ts | git apply -R || true"],
      ["git show HEAD~1 | git apply -R"],
      ["git diff HEAD~2 HEAD~1 | git apply -R"],
      ["git show hit | git apply -R", "refuses"],
      ["git diff main near | git apply -R", "refuses"],
      ["git diff near main | git apply"],
      ["interdiff x y | git apply -R; true", "rare"],
    ]);
  });

  describe("words that the shell makes", () => {
    forms(w, () => here, files, [
      ["git ${x:-reset} --hard"],
      ["git ${x-reset} --hard"],
      ["git ${x:=reset} --hard"],
      ['git "${x:-reset}" "${y:---hard}"'],
      ["${G:-git} reset --hard"],
      ["git reset ${MODE:---hard}"],
      ["${x:-git reset --hard}"],
      ["${x:-git} ${y:-${z:-checkout}} -- ${f:-a.ts}"],
      ["f() { git ${1:-reset} --hard; }; f"],
      ["f() { git ${1:-status} ${2:-}; }; f reset --hard"],
      ["f() { git ${1:-status} ${2:-}; }; f"],
      ["x=status; git ${x:-reset}"],
      ["x=; git ${x:-reset} --hard"],
      ["x=a.js; git checkout -- ${x%.js}.ts"],
      ["x=a.js; git checkout -- ${x/js/ts}"],
      ["f=src/c.ts; cd ${f%/*} && git checkout -- ${f##*/}"],
      ["git log --oneline ${BASE:-main}..HEAD"],
      ["git checkout ${BRANCH:-near}", "refuses"],
      ['git checkout -- "${FILE:-b.ts}"', "rare"],
      ['cd "${DIR:-src}" && git checkout -- own.ts'],
      ['cd "${DIR:-src}" && git checkout -- c.ts'],
      ["cd sr[c] && git checkout -- ."],
      ["cd sr[c]; git checkout -- c.ts"],
      ["cd s?c && git checkout -- ."],
      ["cd s*c && git checkout -- c.ts"],
      ["cd s*/ && git checkout -- ."],
      ["cd [r-t]rc && git checkout -- c.ts"],
      ["cd sr[c] && git checkout -- own.ts"],
      ["git -C sr[c] checkout -- ."],
      ["git -C sr[c] checkout -- own.ts"],
      ["pushd sr[c] >/dev/null && git checkout -- c.ts"],
      ["cd {src,} 2>/dev/null; git checkout -- c.ts"],
      ["cd ./src/../s[r]c/. && git checkout -- c.ts"],
      ["git checkout -- [ab].ts"],
      ["git checkout -- [!b].ts"],
      ["git checkout -- {a,b}.ts"],
      ["git checkout -- ?.ts"],
      ["shopt -s extglob\ngit checkout -- !(b.ts|src|dir)", "refuses"],
      ["shopt -s extglob\ngit checkout -- @(a|z).ts"],
      ["shopt -s globstar\ngit checkout -- **/c.ts"],
      ['files=(a.ts b.ts); git checkout -- "${files[@]}"'],
      ['files=(b.ts src/own.ts); git checkout -- "${files[@]}"'],
      ["files='a.ts b.ts'; git checkout -- $files"],
      ["c='reset --hard'; git $c"],
      ["c=reset; git $c --hard"],
      ["git $(echo reset) --hard"],
      ["$(echo git reset --hard)"],
      ["eval git reset --hard"],
      ['g\\it reset --ha"rd"'],
      ["git re''set --hard"],
      ["command git reset --hard"],
      ["env -u X git reset --hard"],
      ["\\git reset --hard"],
      ["/usr/bin/env git reset --hard"],
      ["git -c core.pager=cat reset --hard"],
      ["git --no-pager -C . reset --hard"],
      ["if true; then git reset --hard; fi"],
      ["while true; do git reset --hard; break; done"],
      ["git status && { git fetch; git reset --hard; }"],
      ["(git reset --hard) &\nwait"],
      ["git reset --hard;"],
      ["true || git reset --hard", "rare"],
      ["false || git reset --hard"],
      ["git stash -q && git pull -q; git stash drop"],
      ["printf 'reset\\n--hard\\n' | xargs git"],
      ["git ls-files -m | xargs git checkout --"],
      ["git ls-files -mz | xargs -0 git checkout --"],
      ['git diff --name-only | while read f; do git checkout -- "$f"; done'],
      ["find . -name '*.ts' -exec git checkout -- {} +", "refuses"],
      ["bash <<'E'\ngit reset --hard\nE"],
      ["alias g=git; shopt -s expand_aliases\ng reset --hard"],
      ["git config alias.x 'reset --hard' && git x"],
      ["git -c alias.y='!git reset --hard' y"],
      ["GIT_DIR=.git GIT_WORK_TREE=. git reset --hard"],
      ["git --work-tree=. --git-dir=.git checkout -f"],
      ["time git reset --hard"],
      ["timeout 9 git reset --hard"],
      ["nice -n 5 git reset --hard"],
      ["sh -c 'git reset --hard'"],
      ["trap 'git reset --hard' EXIT"],
      ["git checkout-index -f -a"],
      ["git checkout-index -fu a.ts"],
      ["git read-tree --reset -u HEAD"],
      ["git restore --worktree --source HEAD a.ts"],
      ["git rm -qrf src"],
      ["git mv -f far.ts a.ts"],
      ["git clean -fdq"],
      ["git stash -uq"],
      ["git stash push -qm x -- a.ts"],
      ["git update-index --cacheinfo 100644,$(git rev-parse HEAD:a.ts),a.ts && git checkout-index -f a.ts"],
      ["git worktree add -q ../wt && git -C ../wt reset --hard"],
    ]);
  });

  describe("what was refused without need", () => {
    forms(w, () => here, files, [
      ["git submodule update"],
      ["git submodule update --init"],
      ["git submodule update --init --recursive"],
      ["git submodule update --init --recursive --remote"],
      ["git submodule update --init --force"],
      ["git submodule sync --recursive && git submodule update --init"],
      ["git submodule foreach git pull"],
      ["git submodule foreach --recursive 'git checkout main && git pull'"],
      ["git submodule foreach git reset --hard"],
      ["git submodule foreach git clean -fdx"],
      ["git submodule deinit --all -f"],
      ["git submodule status"],
      ["git pull --recurse-submodules"],
      ["git cherry-pick --no-commit near"],
      ["git stash push -q -- b.ts && git stash pop -q"],
      ["git checkout -- b.ts src/own.ts"],
      ["git restore --source=HEAD~1 b.ts"],
      ["git reset -q"],
      ["git add b.ts && git commit -qm x -- b.ts"],
      ["git clean -nd"],
      ["git clean -fdq nothing"],
      ["git rm -q --cached far.ts"],
      ["git rm -q far.ts"],
      ["git mv far.ts far3.ts"],
      ["git branch -D only 2>/dev/null; git branch topic"],
      ["git fetch -q --all --prune"],
      ["git rebase main"],
      ["git worktree add -q ../wt2 near"],
      ["git worktree prune"],
      ["git bisect log"],
      ["git apply --check ../none.patch"],
      ["git tag x && git tag -d x"],
      ["git gc -q"],
      ["git notes add -m x"],
      ["git config user.name x"],
      ["git remote -v; git remote prune origin"],
      ["git rev-parse HEAD~1 | xargs git show --stat"],
      ["git log -p a.ts | head -3"],
      ["git grep -n x -- a.ts"],
      ["git blame a.ts"],
      ["git push -q --dry-run origin main"],
      ["git commit -q --amend -m x --only"],
      ["git ls-files -o --exclude-standard"],
      ["git diff --stat && git diff a.ts"],
      ["git status --short | grep a.ts"],
    ]);
  });
});

describe("with work that the last commits did not touch", () => {
  let here: Setting;
  beforeAll(async () => {
    here = await w.setting(
      "reverts",
      dir => {
        w.git(dir, "branch", "side");
        w.commit(dir, { "src/c.ts": "c\n", "src/own.ts": "own\n" });
        w.git(dir, "switch", "-q", "side");
        w.commit(dir, { "far2.ts": "side\n" });
        w.git(dir, "switch", "-q", "main");
        w.git(dir, "merge", "-q", "--no-edit", "side");
        w.commit(dir, { "src/own.ts": "own 2\n" });
        w.commit(dir, { "far.ts": "far 2\n" });
      },
      { "src/c.ts": "ann's c\n" },
    );
  });

  forms(
    w,
    () => here,
    [...Object.keys(work), "src/c.ts"],
    [
      ["git revert --no-commit HEAD"],
      ["git revert -n HEAD"],
      ["git revert -n HEAD~1"],
      ["git revert --no-commit HEAD HEAD~1"],
      ["git revert --no-commit HEAD~2..HEAD"],
      ["git revert --no-commit HEAD~2..HEAD && git commit -qm x"],
      ["git revert --no-commit HEAD && git revert --abort"],
      ["git revert --no-commit HEAD && git reset -q"],
      ["git revert --no-commit --no-edit -s HEAD"],
      ["git revert --no-commit -m 1 HEAD~2"],
      ["git revert --no-commit -m1 HEAD~2 && git revert --quit"],
      ["git revert -m 1 --no-edit HEAD~2"],
      ["git revert --no-commit --mainline=1 HEAD~2"],
      ["git revert --no-commit -m 2 HEAD~2", "refuses"],
      ["git revert --no-commit HEAD^"],
      ["git revert --no-commit HEAD~3", "refuses"],
      ["git revert --no-commit $(git rev-parse HEAD)", "rare"],
      ["git revert --no-commit near || true"],
      ["git revert --no-commit hit", "refuses"],
      ["git revert --no-commit none"],
      ["git cherry-pick -m 1 HEAD~2 || git cherry-pick --skip"],
      ["git cherry-pick --no-commit near"],
    ],
  );
});

describe("where git leaves folders out", () => {
  let here: Setting;
  let ignored: Setting;
  beforeAll(async () => {
    const known = { "src/c.ts": "c\n", "pkg/p.ts": "p\n", "pkg/q.ts": "q\n" };
    const theirs = {
      "a.ts": "ann's\n",
      "new.ts": "ann's new\n",
      "out.log": "ann's, ignored\n",
      "pkg/q.ts": "ann's q\n",
    };
    here = await w.setting("sparse", dir => w.commit(dir, known), {}, theirs);
    ignored = await w.setting(
      "sparse-ignored",
      dir => w.commit(dir, known),
      {},
      { "pkg/x.log": "ann's, ignored\n" },
    );
  });

  forms(
    w,
    () => here,
    ["a.ts", "new.ts", "out.log", "pkg/q.ts"],
    [
      ["git sparse-checkout set src"],
      ["git sparse-checkout set --no-cone '/src/'"],
      ["git sparse-checkout init --cone"],
      ["git sparse-checkout init --cone && git sparse-checkout set src && git sparse-checkout disable"],
      ["git sparse-checkout set src && git sparse-checkout add pkg && git sparse-checkout reapply"],
      ["git sparse-checkout set --sparse-index src"],
      ["git sparse-checkout disable"],
      ["git sparse-checkout list"],
      ["git sparse-checkout set src && git reset --hard"],
      ["git sparse-checkout set src && git sparse-checkout disable && git checkout -- ."],
    ],
  );

  forms(
    w,
    () => ignored,
    ["pkg/x.log"],
    [
      ["git sparse-checkout set --cone src"],
      ["cd src && git sparse-checkout set src"],
      ["git sparse-checkout set src --sparse-index"],
      ["git sparse-checkout set --no-cone src"],
      ["git sparse-checkout disable"],
      ["git sparse-checkout set pkg", "rare"],
    ],
  );
});
