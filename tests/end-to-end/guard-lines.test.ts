/**
 * Shell lines as agents write them, through the hooks of their client, on real repositories: what is let through is
 * run by a real shell, and nobody's uncommitted work may be another one afterwards.
 */

import { execFileSync } from "node:child_process";
import { existsSync, symlinkSync } from "node:fs";
import { basename } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import { nameOfId } from "../session-name.ts";
import { GuardWorld } from "./guard-world.ts";

const w = new GuardWorld();
let count = 0;
let uses = 0;

beforeAll(() => w.start("deny", claudeCode));
afterAll(() => w.dispose());

const hook = w.event.bind(w);

async function edit(session: string, dir: string, file: string, text: string): Promise<void> {
  expect(await w.wholeEdit(session, dir, file, text)).toBe("");
}

/** The hook's answer to a line; where it is let through, it is run, and its end is told. */
async function line(session: string, dir: string, command: string): Promise<string> {
  uses += 1;
  const call = { tool_name: "Bash", tool_input: { command }, tool_use_id: `b${uses}` };
  const said = await hook(session, dir, { hook_event_name: "PreToolUse", ...call });
  if (said.includes('"deny"')) {
    const { hookSpecificOutput } = JSON.parse(said);
    return String(hookSpecificOutput.permissionDecisionReason);
  }
  const who = { GIT_AUTHOR_NAME: session, GIT_AUTHOR_EMAIL: "x@x", GIT_COMMITTER_NAME: session };
  const env = { PATH: process.env["PATH"], HOME: w.folder, GIT_CONFIG_NOSYSTEM: "1", ...who };
  const shell = { cwd: dir, env: { ...env, GIT_COMMITTER_EMAIL: "x@x" }, stdio: "pipe" } as const;
  execFileSync("bash", ["-c", command], shell);
  const ended = { hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 5, ...call };
  await hook(session, dir, ended);
  return said;
}

/** Two sessions with work in one checkout: of each a file that was there and a new one. */
async function checkout() {
  count += 1;
  const dir = w.repo(`r${count}`);
  // A branch that changes what ann is to work in.
  w.git(dir, "switch", "-qc", "other");
  w.put(dir, "a.ts", "other\n");
  w.git(dir, "commit", "-qam", "other");
  w.git(dir, "switch", "-q", "main");
  w.git(dir, "branch", "same");
  w.git(dir, "config", "alias.wipe", "reset --hard");
  w.git(dir, "config", "alias.outer", "wipe");
  w.git(dir, "config", "alias.shell", "!git outer");
  w.git(dir, "config", "alias.round", "back");
  w.git(dir, "config", "alias.back", "round");
  const [ann, bob] = [`ann${count}`, `bob${count}`];
  await edit(ann, dir, "a.ts", "ann's\n");
  await edit(ann, dir, "ann.ts", "ann's new\n");
  await edit(bob, dir, "b.ts", "bob's\n");
  await edit(bob, dir, "bob.ts", "bob's new\n");
  const isWhole = () => {
    const has = w.read(dir, "a.ts") === "ann's\n" && existsSync(`${dir}/ann.ts`);
    return has && w.read(dir, "ann.ts") === "ann's new\n";
  };
  return { dir, ann, bob, isWhole };
}

describe("denied where another one has work", () => {
  it.each([
    "git stash",
    "git stash push -m later",
    "git stash -u",
    "git stash pop",
    "git stash drop",
    "git checkout other",
    "git checkout -- .",
    "git checkout HEAD -- a.ts b.ts",
    "git switch other",
    "git restore .",
    "git restore --source=HEAD --staged --worktree a.ts",
    "git restore '*.ts'",
    "git reset --hard",
    "git reset --merge other",
    "git reset --keep other",
    "git clean -fd",
    "git clean -f ann.ts",
    "git rebase other",
    "git merge other",
    "git cherry-pick other",
    "git revert HEAD",
    "git pull --autostash",
    "git rm -f a.ts",
    "git wipe",
    "git outer",
    "git shell",
    "/usr/bin/git stash",
    "bash <<'X'\ngit stash\nX",
    "find . -name a.ts -exec git checkout -- {} \\;",
    "echo stash | xargs git",
    "git config alias.s2 stash; git s2",
    "git -c alias.x=outer x",
    "printf 'git %s' stash | bash",
    'g() { git "$@"; }; g stash',
    "cd src && git reset --hard",
    "git -C src stash",
    "git --git-dir=.git --work-tree=. reset --hard",
    "FOO=1 git stash; echo done",
    "cd nowhere; git checkout .",
    "cd nowhere 2>/dev/null; git stash",
    "cd nowhere; cd further; git stash",
    "cd nowhere\ngit stash",
    "pushd nowhere; git stash",
    "(cd nowhere; git stash)",
    "cd src/nowhere && make; git checkout .",
    "npm test; cd nowhere; git stash",
    "[ -d nowhere ] && cd nowhere; git checkout .",
    "cd nowhere || true; git checkout .",
    "if [ -d src ]; then cd src; fi; git stash",
    "env -i git stash",
    "for i in 1 2; do git stash; done",
    "echo $(git stash)",
    "(git stash)",
    "git status && git 'stash' || true",
    "true | git stash",
    "if true; then git checkout -f; fi",
    'git commit -m "a ; b" -- b.ts && git reset --hard',
    "git stash << EOF\nb.ts\nEOF",
  ])("%s", async command => {
    const { dir, ann, bob, isWhole } = await checkout();
    const said = await line(bob, dir, command);
    expect(said).toContain("may wipe uncommitted work of another agent");
    expect(said).toContain(nameOfId(ann));
    expect(isWhole()).toBe(true);
  });
});

/** In place of REPO stands the checkout's name in the user's home directory. */
const inHome = (dir: string, command: string) => command.replaceAll("REPO", basename(dir));

describe("denied where the line says in other words where it runs", () => {
  it.each([
    "cd ~/REPO && git stash",
    'cd "$HOME/REPO" && git stash',
    "git -C ~/REPO reset --hard",
    "cd; git -C REPO stash",
    'cd "$(git rev-parse --show-toplevel)" && git reset --hard',
    "ROOT=$(git rev-parse --show-toplevel); cd $ROOT; git stash",
    "cd src; cd $(git rev-parse --show-toplevel)/src; git checkout -- ../a.ts",
    "cd src && git -C $(git rev-parse --show-toplevel) checkout -- a.ts",
    "cd $(pwd) && git stash",
    'git -C "$(cd src && pwd)" stash',
    "cd $(dirname src/c.ts) && git reset --hard",
    "cd src; cd $OLDPWD; git checkout a.ts",
    "cd ~/REPO && git wipe",
    'ROOT=$(git rev-parse --show-toplevel); git checkout -- "$ROOT/a.ts"',
    'cd src && git restore "$(git rev-parse --show-toplevel)"/*.ts',
    'cd src && git stash push -- b.ts "$(git rev-parse --show-toplevel)"',
    'git --work-tree="$(git rev-parse --show-toplevel)" checkout -- a.ts',
    'git --git-dir="$(git rev-parse --show-toplevel)/.git" checkout -- a.ts',
    "ROOT=$(git rev-parse --show-toplevel); GIT_DIR=$ROOT/.git GIT_WORK_TREE=$ROOT git reset --hard",
    'git --git-dir="$(git rev-parse --show-toplevel)/.git" wipe',
    "cd ..; git --git-dir=REPO/.git --work-tree=REPO checkout -- a.ts",
    "cd / && GIT_DIR=~/REPO/.git GIT_WORK_TREE=~/REPO git restore '*.ts'",
    "cd .git/refs && git --git-dir=.. --work-tree=../.. checkout -- ../../a.ts",
    'git mv -f b.ts "$(git rev-parse --show-toplevel)/ann.ts"',
  ])("%s", async command => {
    const { dir, ann, bob, isWhole } = await checkout();
    const said = await line(bob, dir, inHome(dir, command));
    expect(said).toContain("may wipe uncommitted work of another agent");
    expect(said).not.toContain("cannot be told");
    expect(said).toContain(nameOfId(ann));
    expect(isWhole()).toBe(true);
  });

  it("in the home and the project of the agent's own client", async () => {
    const { dir, bob } = await checkout();
    const asks = (command: string, env: object) => {
      const call = { tool_name: "Bash", tool_input: { command }, tool_use_id: `b${++uses}` };
      return hook(bob, w.folder, { hook_event_name: "PreToolUse", ...call }, env);
    };
    expect(await asks("cd ~ && git stash", { HOME: dir })).toContain('"deny"');
    expect(await asks("cd ~ && git stash", {})).toBe("");
    const inProject = 'cd "$CLAUDE_PROJECT_DIR" && git stash';
    expect(await asks(inProject, { CLAUDE_PROJECT_DIR: dir })).toContain('"deny"');
    expect(await asks(inProject, { CLAUDE_PROJECT_DIR: "/" })).toBe("");
  });

  it.each([
    "cd $(git rev-parse --show-toplevel)/src && git checkout -- ../b.ts",
    "cd src && git -C $(git rev-parse --show-toplevel) checkout -- b.ts",
    "cd ~/REPO/src && git checkout -- ../b.ts",
    'git checkout -- "$(git rev-parse --show-toplevel)/b.ts"',
    "cd .. && git --git-dir=REPO/.git --work-tree=REPO checkout -- b.ts src",
    "cd / && GIT_DIR=~/REPO/.git GIT_WORK_TREE=~/REPO git restore b.ts",
    'cd src && git stash push -u -- "$(git rev-parse --show-toplevel)"/b*',
    'git --work-tree="$(git rev-parse --show-toplevel)" checkout -- b.ts',
    "cd $(dirname src/c.ts) && git checkout .",
    "cd $(mktemp -d) && git init -q && git reset -q --hard",
    "git clone -q . ~/REPO-clone && cd ~/REPO-clone && git reset -q --hard",
  ])("what is the agent's own, or elsewhere, passes: %s", async command => {
    const { dir, bob, isWhole } = await checkout();
    expect(await line(bob, dir, inHome(dir, command))).toBe("");
    expect(isWhole()).toBe(true);
  });
});

describe("a line of which it cannot be told where it runs", () => {
  const lines = [
    'cd "$X" && git stash',
    "cd $X. && git reset --hard",
    "GIT_DIR=$X git stash",
    "git --work-tree=$X checkout -f",
    "cd $(cat where) && git checkout .",
    "for d in */; do (cd $d && git checkout -- ../a.ts); done",
    "cd sr$X; git reset --hard",
    "cd $(cat where) && git wipe",
    "cd $(cat where) && git shell",
  ];

  it.each(lines)("is denied where others have work, with the folder to be written out: %s", async command => {
    const { dir, ann, bob, isWhole } = await checkout();
    w.put(dir, "where", ".\n");
    const said = await line(bob, dir, command);
    expect(said).toContain("may wipe uncommitted work of another agent");
    expect(said).toContain(`runs. It may be in "${dir}": write the folder out`);
    expect(said).toContain(nameOfId(ann));
    expect(isWhole()).toBe(true);
  });

  it.each([
    "cd $(cat where) && git checkout -- b.ts",
    "cd $(cat where) && git stash push -- ./src/../b.ts",
    "cd $(cat where) && git switch -q same",
    "cd $(cat where) && git status",
    "cd $(cat where) && git commit -qm own -- b.ts",
    "cd /dev/n$X && git reset -q --hard || true",
  ])("passes where it leaves theirs alone: %s", async command => {
    const { dir, bob, isWhole } = await checkout();
    w.put(dir, "where", ".\n");
    expect(await line(bob, dir, command)).not.toContain("deny");
    expect(isWhole()).toBe(true);
  });

  it("may run in any worktree of the project, and in what lies below", async () => {
    const { dir, bob } = await checkout();
    w.git(dir, "add", "-A");
    w.git(dir, "commit", "-qm", "all");
    w.git(dir, "worktree", "add", "-q", `../side${count}`, "same");
    await edit(`cy${count}`, `${w.folder}/side${count}`, "a.ts", "cy's\n");
    const said = await line(bob, dir, 'git -C "$X" reset --hard');
    expect(said).toContain(`It may be in "${w.folder}/side${count}": write the folder out`);
    expect(await line(bob, dir, "git reset -q --hard")).toBe("");
    expect(await line(bob, dir, "cd src/$X && git reset -q --hard")).not.toContain("deny");
    // One that takes in counts for where the session works.
    expect(await line(bob, dir, "cd $X. && git add -A")).not.toContain("deny");
    const other = w.repo(`${count}-far`);
    await edit(`dan${count}`, other, "a.ts", "dan's\n");
    await line(`cy${count}`, `${w.folder}/side${count}`, "git commit -qam own");
    expect(await line(bob, dir, "cd $(cat .git/none) . && git reset -q --hard || true")).not.toContain(
      "deny",
    );
    const below = await line(`eve${count}`, w.folder, "for d in */; do (cd $d && git reset --hard); done");
    expect(below).toContain("runs. It may be in");
  });

  it("passes where nobody else has work, however it is written", async () => {
    const { dir, ann, bob } = await checkout();
    await line(ann, dir, "git add a.ts ann.ts && git commit -qm ann");
    w.put(dir, "where", ".\n");
    for (const command of lines.filter(each => /where/.test(each) && !/shell/.test(each))) {
      expect(await line(bob, dir, command)).not.toContain("deny");
    }
  });
});

describe("an absolute path through a symbolic link", () => {
  it.each(["link/a.ts", "link", "link/*.ts", "link/./src/../a.ts", "l?nk/a.ts"])(
    "is denied where it leads to another one's work: %s",
    async path => {
      const { dir, bob, isWhole } = await checkout();
      symlinkSync(dir, `${dir}-link`);
      expect(await line(bob, dir, `git checkout -- ${dir}-${path}`)).toContain(
        "may wipe uncommitted work of another agent",
      );
      expect(isWhole()).toBe(true);
    },
  );

  it("passes where it leads to what is the agent's own", async () => {
    const { dir, bob, isWhole } = await checkout();
    symlinkSync(dir, `${dir}-link`);
    expect(await line(bob, dir, `git checkout -- ${dir}-link/b.ts ${dir}-link/src/*.ts`)).toBe("");
    expect(isWhole()).toBe(true);
  });
});

describe("a line of very many git commands", () => {
  const many = "git add b.ts; git checkout -- b.ts; ".repeat(40);

  it.each(["git checkout -- a.ts", "cd src; git stash", "git wipe"])(
    "is denied if it ends in %s",
    async end => {
      const { dir, bob, isWhole } = await checkout();
      const said = await line(bob, dir, many + end);
      expect(said).toContain("may wipe uncommitted work of another agent");
      expect(isWhole()).toBe(true);
    },
  );

  it("passes if all of them are on files of its own", async () => {
    const { dir, bob, isWhole } = await checkout();
    const own = `for i in {1..60}; do git checkout -- b.ts; done; ${"git checkout -- b.ts; ".repeat(60)}git status`;
    expect(await line(bob, dir, own)).toBe("");
    expect(isWhole()).toBe(true);
  });
});

describe("let through, and nothing of the other one's is touched or taken in", () => {
  it.each([
    "git status",
    "git switch same",
    "git checkout -q main",
    "git checkout HEAD~0",
    "git merge same && git rebase --abort || git merge --abort || true",
    "git reset -q --merge",
    "git pull || git am fix.patch || true",
    "git round || true",
    "echo status | xargs git",
    "bash <<'X'\ngit status\nX",
    "git log --oneline | head -1",
    "git diff; git stash list",
    "git branch topic && git checkout -b topic2",
    "git stash push -- b.ts",
    "git stash push -u -- b.ts bob.ts",
    "git restore b.ts",
    "git checkout -- b.ts",
    "git checkout HEAD b.ts src",
    "git clean -f bob.ts",
    "cd src && git restore ../b.ts",
    "git -C src checkout -- ../b.ts",
    "git reset",
    "git add b.ts bob.ts && git commit -qm 'own; git stash'",
    "git commit -qm own -- b.ts",
    "cat > notes.txt << 'EOF'\ngit stash\ngit reset --hard\nEOF",
    "echo git reset --hard # git stash",
    "cd nowhere && git stash || true",
    "cd nowhere; git checkout b.ts",
    "cd src; git checkout -- ../b.ts",
    "git -C nowhere stash || true",
    "mkdir -p ../made-one; cd ../made-one; git init -q; git reset -q --hard || true",
    "git init -q ../made-two\ncd ../made-two\ngit reset -q --hard || true",
    "git worktree add -q ../side-two; cd ../side-two; git reset -q --hard",
    "git worktree add -q ../side-one && cd ../side-one && git reset -q --hard",
  ])("%s", async command => {
    const { dir, bob, isWhole } = await checkout();
    expect(await line(bob, dir, command)).toBe("");
    expect(isWhole()).toBe(true);
    const committed = w.git(dir, "show", "--name-only", "--format=", "HEAD").trim().split("\n");
    const first = w.git(dir, "rev-list", "--count", "HEAD").trim() === "1";
    if (!first) expect(committed.filter(file => !["b.ts", "bob.ts"].includes(file))).toEqual([]);
  });
});

describe("told first where it would take in the other one's work", () => {
  it.each([
    "git add -A",
    "git add .",
    "git add -u",
    "git add '*.ts'",
    "git add a.ts",
    "git commit -qam all",
    "git commit -qm theirs -- a.ts",
    "git add -A && git commit -qm all",
  ])("%s", async command => {
    const { dir, bob } = await checkout();
    expect(await line(bob, dir, command)).toContain("would include work of another agent");
    expect(w.git(dir, "diff", "--cached", "--name-only")).toBe("");
    expect(await line(bob, dir, command)).toBe("");
  });

  it("a commit of what the other one has staged", async () => {
    const { dir, ann, bob } = await checkout();
    expect(await line(ann, dir, "git add -- a.ts")).toBe("");
    expect(await line(bob, dir, "git add b.ts && git commit -qm both")).toContain("would include work");
    expect(await line(bob, dir, "git commit -qm own -- b.ts")).toBe("");
    expect(w.git(dir, "show", "--name-only", "--format=", "HEAD").trim()).toBe("b.ts");
    expect(w.git(dir, "diff", "--cached", "--name-only").trim()).toBe("a.ts");
  });
});

it("everything passes where nobody else works, and where all is committed", async () => {
  const { dir, ann, bob } = await checkout();
  expect(await line(ann, dir, "git add a.ts ann.ts && git commit -qm ann")).toBe("");
  for (const command of ["git stash -u", "git stash pop", "git checkout -q other", "git reset --hard"]) {
    expect(await line(bob, dir, command)).toBe("");
  }
  expect(existsSync(`${dir}/bob.ts`)).toBe(true);
});
