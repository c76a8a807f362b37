/** The guard against git itself: which files and folders a line reaches, known to git or not. */
import { afterAll, beforeAll, describe } from "vitest";
import { type Form, forms, OracleWorld, type Setting, work } from "./guard-oracle.ts";

const w = new OracleWorld();

beforeAll(() => w.start());
afterAll(() => w.dispose());

describe("with work in files that git does not know", () => {
  const { "a.ts": _, ...unknown } = work;
  let here: Setting;
  beforeAll(async () => {
    here = await w.setting(
      "unknown",
      dir => {
        w.git(dir, "tag", "logs-tree", "logs^{tree}");
        w.put(dir, "staged.log", "stashed\n");
        w.git(dir, "add", "-f", "staged.log");
        w.git(dir, "stash", "-q");
      },
      { "staged.log": "ann's, ignored\n", "sub/new.ts": "ann's new\n" },
      unknown,
    );
  });

  forms(
    w,
    () => here,
    [...Object.keys(unknown), "staged.log", "sub/new.ts"],
    [
      ...["near", "news", "logs", "folder", "takes"].flatMap((to): Form[] => [
        [`git checkout ${to}`],
        [`git switch ${to}`],
        [`git checkout -m ${to}`],
        [`git switch -m ${to}`],
        [`git checkout -f ${to}`],
        [`git switch -f ${to}`],
        [`git switch --discard-changes -C topic ${to}`, to === "news" ? "refuses" : undefined],
        [`git checkout -fB topic ${to}`],
        [`git reset --hard ${to}`],
        [`git reset --keep ${to}`],
        [`git reset --merge ${to}`],
        [`git merge ${to}`],
        [`git merge --autostash ${to}`],
        [`git -c merge.autostash=true merge ${to}`],
        [`git rebase --autostash ${to}`],
        [`git cherry-pick ${to}`],
        [`git checkout ${to} -- .`],
        [`git checkout ${to} .`],
        [`git restore --source=${to} .`],
        [`git restore -s ${to} -SW .`],
        [`git restore -s ${to} --staged .`],
        [`git read-tree -u --reset ${to}`],
        [`git read-tree -u -m ${to}`],
        [`git read-tree ${to}`],
      ]),
      ["git checkout -f"],
      ["git checkout -- ."],
      ["git checkout -f logs-tree -- out.log"],
      ["git checkout news -- new.ts"],
      ["git checkout news new.ts"],
      ["git checkout news -- far.ts"],
      ["git checkout news~1 -- ."],
      ["git restore --source news new.ts"],
      ["git restore --source news far.ts"],
      ["git restore ."],
      ["git restore -SW ."],
      ["git reset --hard"],
      ["git reset --hard none"],
      ["git reset -q near"],
      ["git switch -f only"],
      ["git stash"],
      ["git stash pop"],
      ["git stash apply stash@{0}"],
      ["git stash apply 0"],
      ["git mv -f far.ts new.ts"],
      ["git mv far.ts new.ts"],
      ["git mv -f far.ts ./out.log"],
      ["git mv -f far.ts sub/"],
      ["git mv -f far.ts sub"],
      ["mkdir x; git mv far.ts x/new.ts; git mv -f x/new.ts sub"],
      ["git mv -f far.ts far3.ts"],
      ["git rm -f far.ts"],
    ],
  );
});

describe("with work in folders that a pattern names", () => {
  const theirs = { "pkg/ui/src/a.ts": "ann's\n", "pkg/ui/new.ts": "ann's new\n" };
  let here: Setting;
  beforeAll(async () => {
    const known = { "pkg/ui/src/a.ts": "a\n", "pkg/core/src/c.ts": "c\n", "other/b.ts": "b\n" };
    here = await w.setting("folders", dir => w.commit(dir, known), {}, theirs);
  });

  forms(w, () => here, Object.keys(theirs), [
    ["git checkout -- pkg/*/src"],
    ["git checkout -- pkg/*/src/"],
    ["git checkout -- pkg/*/src//"],
    ["git checkout -- pkg/*/src/."],
    ["git checkout -- pkg/*/src/.."],
    ["git checkout HEAD -- */"],
    ["git restore ./*/"],
    ["git restore pkg/*/"],
    ["git restore p?g/"],
    ["git restore [op]*/"],
    ["git restore pkg/c*/"],
    ["git restore o*/"],
    ["git stash push -- pkg/*/src/"],
    ["git rm -rf pkg/*/"],
    ["git rm -rf o*/"],
    ["git clean -fdX"],
    ["git clean -fdX pkg"],
    ["git clean -fdx pkg"],
    ["git clean -fdq */"],
    ["git clean -fdq pkg/*/"],
    ["git clean -fdq o*/"],
    ["cd pkg && git checkout -- */src/"],
    ["cd pkg/ui && git checkout -- ../*/src/"],
    ["for d in p*/; do git checkout -- $d; done"],
    ['git checkout -- "$PWD"/*/'],
    ["git checkout -- pkg/{ui,core}/src/"],
  ]);
});

describe("with work in folders whose names look like patterns", () => {
  const theirs = { "app/[id]/page.tsx": "ann's\n", "app/[id]/more/new.tsx": "ann's new\n" };
  let here: Setting;
  beforeAll(async () => {
    const known = { "app/[id]/page.tsx": "a\n", "app/[id]/x/c.tsx": "c\n", "app/i/page.tsx": "c\n" };
    here = await w.setting("brackets", dir => w.commit(dir, known), {}, theirs);
  });

  forms(w, () => here, Object.keys(theirs), [
    ["git checkout -- 'app/[id]/page.tsx'"],
    ["git checkout -- app/\\[id\\]/page.tsx"],
    ["git checkout -- app/\\[id\\]/*.tsx"],
    ['git checkout -- "app/[id]"/*.tsx'],
    ['git checkout -- "app/[id]"/[op]*'],
    ["git checkout -- app/[[]id]/page.tsx"],
    ["git checkout -- app/[[:punct:]]id]/"],
    ["git checkout -- 'app/[id]/x'"],
    ['git checkout -- "app/[id]"/x/*'],
    ["D='app/[id]'; git restore \"$D\"/*.tsx"],
    ["cd 'app/[id]' && git checkout -- '*.tsx'"],
    ["cd 'app/[id]' && git checkout -- page.*"],
    ["cd 'app/[id]' && git checkout -- x/*"],
    ["cd 'app/[id]' && git clean -fdq -- '*.tsx'"],
    ["git -C 'app/[id]' checkout -- '*.tsx'"],
  ]);
});

describe("with work in a file that is out of the index", () => {
  let here: Setting;
  beforeAll(async () => {
    here = await w.setting("taken-out", () => {}, {}, { "a.ts": "ann's\n" });
    w.git(here.dir, "rm", "-q", "--cached", "a.ts");
  });

  forms(
    w,
    () => here,
    ["a.ts"],
    [
      ["git stash"],
      ["git reset --hard"],
      ["git checkout -f"],
      ["git checkout HEAD -- ."],
      ["git restore -SW ."],
      ["git restore ."],
      ["git switch near"],
    ],
  );
});

describe("with new work that a line puts into the index and takes out again", () => {
  const files = ["new.ts", "added.ts", "out.log"];
  let here: Setting;
  beforeAll(async () => {
    const theirs = Object.fromEntries(files.map(file => [file, "ann's\n"]));
    here = await w.setting("line", () => {}, {}, theirs);
    w.git(here.dir, "add", "added.ts");
  });

  forms(w, () => here, files, [
    ["git add -N new.ts && git rm -qf --cached new.ts && git stash"],
    ["git reset -q; git clean -fd -- b.ts"],
    ["git reset -q b.ts; git clean -fd -- added.ts"],
    ["git reset -q -- b.ts; git clean -fd -- added.ts"],
    ["git reset -q; git clean -fd -- added.ts"],
    ["git reset -q HEAD added.ts; git clean -fd -- added.ts"],
    ["git rm -q --cached added.ts && git clean -fd -- added.ts"],
    ["git update-index --force-remove added.ts && git clean -fd -- added.ts"],
    ["git restore --staged . && git clean -fd -- added.ts"],
    ["git restore --staged . && git stash -u -- added.ts"],
    ["git add -A && git rm -f new.ts"],
    ["git add . && git checkout -f near"],
    ["git add new.ts && git stash -- new.ts"],
    ["git add new.ts && git rm -f new.ts"],
    ["git add -f out.log && git rm -f out.log"],
    ["git add -N new.ts && git rm -f new.ts"],
    ["git update-index --add new.ts && git rm -f new.ts"],
    ["git add b.ts && git stash -- b.ts"],
    ["git add b.ts && git commit -qm b -- b.ts && git switch near"],
    ["git -C . add -A && (cd . && git rm -f new.ts)"],
  ]);
});
