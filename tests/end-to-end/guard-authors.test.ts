/**
 * Whose commits a line may rewrite, drop or publish: through the hooks of the client, on real repositories, with what is let
 * through run by a real shell. Each row is a line and what becomes of it.
 */
import { spawnSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LineWorld, read } from "./guard-scene.ts";
import { firstCommit } from "./guard-world.ts";

const w = new LineWorld();
let count = 0;
let uses = 0;

beforeAll(() => w.start());
afterAll(() => w.dispose());

/** A line that may fail, as a person or an agent runs it. */
function shell(dir: string, command: string): void {
  const who = {
    GIT_AUTHOR_NAME: "t",
    GIT_AUTHOR_EMAIL: "t@t",
    GIT_COMMITTER_NAME: "t",
    GIT_COMMITTER_EMAIL: "t@t",
  };
  const env = {
    PATH: process.env["PATH"],
    HOME: w.folder,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_EDITOR: "true",
    FILTER_BRANCH_SQUELCH_WARNING: "1",
    ...who,
  };
  spawnSync("bash", ["-c", command], { cwd: dir, env, stdio: "ignore" });
}

interface Call {
  readonly tool_name: string;
  readonly tool_input: { readonly command: string };
  readonly tool_use_id: string;
}

function call(command: string): Call {
  uses += 1;
  return { tool_name: "Bash", tool_input: { command }, tool_use_id: `c${uses}` };
}

const begin = async (session: string, dir: string, of: Call) =>
  read(await w.event(session, dir, { hook_event_name: "PreToolUse", ...of }));
const finish = (session: string, dir: string, of: Call) =>
  w.event(session, dir, { hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 5, ...of });

/** What the agent reads before its line; if the line is let through, it runs and its end is told. */
async function line(session: string, dir: string, command: string): Promise<string> {
  const of = call(command);
  const said = await begin(session, dir, of);
  if (said.includes("did not run")) return said;
  shell(dir, command);
  await finish(session, dir, of);
  return said;
}

/** The same until it runs; returns how often it was refused. */
async function until(session: string, dir: string, command: string): Promise<number> {
  for (let refused = 0; refused < 4; refused += 1)
    if (!(await line(session, dir, command)).includes("did not run")) return refused;
  throw new Error(`${command} never runs`);
}

const prompt = async (session: string, dir: string) =>
  read(await w.event(session, dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" }));
const stops = (session: string, dir: string) => w.event(session, dir, { hook_event_name: "Stop" });
const id = (dir: string, revision = "HEAD") => w.git(dir, "rev-parse", revision).trim();
const short = (commit: string) => commit.slice(0, 10);

/** A repository of its own with a remote that has its first commit, and two sessions. */
async function pair() {
  count += 1;
  const files = { "a.ts": "a\n", "b.ts": "b\n" };
  const dir = w.copy(`r${count}`, files, firstCommit);
  const remote = join(w.folder, `remote${count}.git`);
  shell(dir, `git init -q --bare ${remote} && git remote add origin ${remote} && git push -qu origin main`);
  const [ann, bob] = [`ann${count}`, `bob${count}`];
  await prompt(ann, dir);
  await prompt(bob, dir);
  return { dir, remote, ann, bob };
}

/** One session commits a file of its own. */
async function commits(session: string, dir: string, file: string, subject: string): Promise<string> {
  await w.wholeEdit(session, dir, file, `${subject}\n`);
  expect(await until(session, dir, `git add ${file} && git commit -qm "${subject}" -- ${file}`)).toBe(0);
  expect(w.git(dir, "log", "-1", "--format=%s").trim()).toBe(subject);
  return id(dir);
}

describe("a commit of another live session", () => {
  it.each([
    ["git commit --amend --no-edit", "rewrite a commit of another agent"],
    ["git commit -q --amend -m other", "rewrite a commit of another agent"],
    ["git reset --soft HEAD~1", "take off its branch a commit of another agent"],
    ["git reset -q HEAD^", "take off its branch a commit of another agent"],
    ["git reset --hard origin/main", "take off its branch a commit of another agent"],
    [
      "git branch -f main HEAD~1; git checkout -q -B main HEAD~1",
      "take off its branch a commit of another agent",
    ],
    ["git update-ref refs/heads/main HEAD~1", "take off its branch a commit of another agent"],
    ["git rebase -i HEAD~1", "rewrite a commit of another agent"],
    ["git filter-branch --msg-filter cat HEAD~1..HEAD", "rewrite a commit of another agent"],
    ["git push -qf origin HEAD~1:main", null],
  ] as const)("%s", async (command, words) => {
    const { dir, ann, bob } = await pair();
    const made = await commits(bob, dir, "bob.ts", "bob's part");
    const said = await line(ann, dir, command);
    if (words === null) return expect(said).not.toContain("bob's part");
    expect(said).toContain("did not run yet");
    expect(said).toContain(words);
    expect(said).toContain(`${short(made)} "bob's part" is of "${bob}"`);
    expect(said).toContain("send exactly the same command again");
    expect(id(dir)).toBe(made);
    expect(await line(ann, dir, command)).not.toContain("did not run");
    return undefined;
  });

  it("is its own session's, and what is another's is not in the way of one's own", async () => {
    const { dir, ann, bob } = await pair();
    await commits(bob, dir, "bob.ts", "bob's part");
    expect(await line(bob, dir, "git commit -q --amend --no-edit")).not.toContain("part");
    await commits(ann, dir, "ann.ts", "ann's part");
    expect(await line(ann, dir, "git commit -q --amend -m 'ann, again'")).not.toContain("bob's part");
    expect(w.git(dir, "log", "-2", "--format=%s").trim()).toBe("ann, again\nbob's part");
  });

  it("is told when it is amended all the same, and stays its author's", async () => {
    const { dir, ann, bob } = await pair();
    const made = await commits(bob, dir, "bob.ts", "bob's part");
    expect(await until(ann, dir, "git commit -q --amend -m renamed")).toBe(1);
    const now = id(dir);
    const said = await prompt(bob, dir);
    expect(said).toContain(`"${ann}" rewrote a commit of yours: ${short(made)} "bob's part"`);
    expect(said).toContain(`In its place: ${short(now)}`);
    expect(said).toContain(`git branch NAME ${short(made)}`);
    const again = await line(ann, dir, "git commit -q --amend -m once-more");
    expect(again).toContain(`${short(now)} "renamed" is of "${bob}"`);
  });

  it("is told when a reset takes it off every branch", async () => {
    const { dir, ann, bob } = await pair();
    const made = await commits(bob, dir, "bob.ts", "bob's part");
    expect(await until(ann, dir, "git reset -q --hard HEAD~1")).toBeLessThan(3);
    const said = await prompt(bob, dir);
    expect(said).toContain(`took a commit of yours off: ${short(made)} "bob's part"`);
    expect(said).toContain(`git branch NAME ${short(made)}`);
    shell(dir, `git branch rescued ${short(made)}`);
    expect(id(dir, "rescued")).toBe(made);
    expect(await prompt(ann, dir)).not.toContain("took a commit");
  });

  it("is not lost while a branch, a tag or a stash entry has it", async () => {
    const { dir, ann, bob } = await pair();
    await commits(bob, dir, "bob.ts", "bob's part");
    shell(dir, "git tag kept");
    await until(ann, dir, "git reset -q --hard HEAD~1");
    expect(await prompt(bob, dir)).not.toContain("commit of yours");
  });

  it("is told of when a script or a person takes it off", async () => {
    const { dir, ann, bob } = await pair();
    const made = await commits(bob, dir, "bob.ts", "bob's part");
    shell(dir, "git reset -q --hard HEAD~1");
    const said = await prompt(bob, dir);
    expect(said).toContain(`somebody whom Kite did not see took a commit of yours off: ${short(made)}`);
    shell(dir, `git reset -q --hard ${made}`);
    const of = call("./a-script");
    await prompt(ann, dir);
    shell(dir, "git reset -q --hard HEAD~1");
    await finish(ann, dir, of);
    expect(await prompt(bob, dir)).toContain(`"${ann}" took a commit of yours off: ${short(made)}`);
  });

  it("made in the middle of a rebase is not lost with its abort unsaid", async () => {
    const { dir, ann, bob } = await pair();
    shell(dir, "git checkout -q -b topic && echo topic >a.ts && git commit -qam topic");
    shell(dir, "git checkout -q main && echo main >a.ts && git commit -qam main && git checkout -q topic");
    shell(dir, "git rebase main");
    shell(dir, "git checkout -q --theirs a.ts && git add a.ts");
    await until(bob, dir, "git commit -qm 'in the middle'");
    const made = id(dir);
    const said = await line(ann, dir, "git rebase --abort");
    expect(said).toContain(`${short(made)} "in the middle" is of "${bob}"`);
    expect(said).toContain(`git branch NAME ${short(made)}`);
    await until(ann, dir, "git rebase --abort");
    expect(await prompt(bob, dir)).toContain(`git branch NAME ${short(made)}`);
  });

  it("stays where it is when another one ends a rebase onto it", async () => {
    const { dir, ann, bob } = await pair();
    shell(
      dir,
      "git checkout -q -b topic && echo topic >a.ts && git commit -qam topic && git checkout -q main",
    );
    const made = await commits(bob, dir, "a.ts", "bob's part");
    shell(dir, "git checkout -q topic");
    await until(ann, dir, "git rebase main");
    expect(id(dir)).toBe(made);
    expect(await line(ann, dir, "git rebase --abort")).not.toContain("did not run");
    expect(w.git(dir, "branch", "--contains", made)).toContain("main");
  });

  it("stays its author's when another one rebases it", async () => {
    const { dir, ann, bob } = await pair();
    const made = await commits(bob, dir, "bob.ts", "bob's part");
    shell(
      dir,
      "git branch base HEAD~1 && git checkout -q base && echo x >x && git add x && git commit -qm x",
    );
    shell(dir, "git checkout -q main");
    await until(ann, dir, "git rebase -q base");
    const now = id(dir);
    expect(now).not.toBe(made);
    expect(await line(ann, dir, "git commit --amend --no-edit")).toContain(
      `${short(now)} "bob's part" is of "${bob}"`,
    );
    expect(await prompt(bob, dir)).toContain(`In its place: ${short(now)}`);
  });

  it("on a branch that is deleted", async () => {
    const { dir, ann, bob } = await pair();
    shell(dir, "git checkout -q -b topic");
    const made = await commits(bob, dir, "bob.ts", "bob's part");
    shell(dir, "git checkout -q main");
    expect(await line(ann, dir, "git branch -D topic")).toContain(`${short(made)} "bob's part"`);
    shell(dir, "git merge -q topic");
    expect(await line(ann, dir, "git branch -qD topic")).not.toContain("bob's part");
  });

  it("that no ref has is not deleted unasked", async () => {
    const { dir, ann, bob } = await pair();
    const made = await commits(bob, dir, "bob.ts", "bob's part");
    expect(await line(ann, dir, "git reflog expire --expire=now --all && git gc -q --prune=now")).toBe("");
    await until(ann, dir, "git reset -q --hard HEAD~1");
    expect(await line(ann, dir, "git gc -q --prune=now")).not.toContain("bob's part");
    const command = "git reflog expire --expire=now --expire-unreachable=now --all && git gc -q --prune=now";
    expect(await line(ann, dir, command)).toContain(`${short(made)} "bob's part" is of "${bob}"`);
    shell(dir, `git cat-file -e ${made} || git init broken`);
    expect(await until(ann, dir, command)).toBe(0);
  });
});

describe("work that a reset brings back", () => {
  it("is that of its writer alone", async () => {
    const { dir, ann, bob } = await pair();
    await commits(bob, dir, "bob.ts", "bob's part");
    await until(ann, dir, "git reset -q --soft HEAD~1");
    const said = await line(ann, dir, "git commit -qam mine");
    expect(said).toContain(`uncommitted changes of "${bob}"`);
    expect(said).not.toContain("and of you");
  });
});

describe("a file of several commits that a reset brings back", () => {
  it("is the work of all who made them", async () => {
    const { dir, ann, bob } = await pair();
    const cyd = `cyd${count}`;
    await prompt(cyd, dir);
    await commits(bob, dir, "s.ts", "bob's part");
    await stops(bob, dir);
    await commits(cyd, dir, "s.ts", "cyd's part");
    await until(ann, dir, "git reset -q --soft HEAD~2");
    // Of cyd alone it would be hers to commit without a word.
    expect(await line(cyd, dir, "git commit -qam all")).toContain(
      `uncommitted changes of "${bob}" and of you`,
    );
  });
});

describe("a push", () => {
  it("of another's commits is refused once while its author is at work, each commit once", async () => {
    const { dir, ann, bob } = await pair();
    const mine = await commits(ann, dir, "ann.ts", "ann's part");
    const made = await commits(bob, dir, "bob.ts", "bob's part");
    const said = await line(ann, dir, "git push -q");
    expect(said).toContain("would publish a commit of another agent who is still at work");
    expect(said).toContain(`${short(made)} "bob's part" is of "${bob}"`);
    expect(said).toContain(`git push origin ${short(mine)}:refs/heads/main`);
    expect(await line(ann, dir, `git push origin ${short(mine)}:refs/heads/main`)).toBe("");
    expect(id(dir, "origin/main")).toBe(mine);
    // In other words, it is the same commit.
    expect(await line(ann, dir, "git push -q origin HEAD")).toBe("");
    expect(id(dir, "origin/main")).toBe(made);
    expect(await prompt(bob, dir)).toContain(`published a commit of yours: ${short(made)} "bob's part"`);
  });

  it("names no line where the other's commit is below all", async () => {
    const { dir, ann, bob } = await pair();
    await commits(bob, dir, "bob.ts", "bob's part");
    await commits(ann, dir, "ann.ts", "ann's part");
    const said = await line(ann, dir, "git push -q origin main");
    expect(said).toContain("bob's part");
    expect(said).not.toContain(":refs/heads");
  });

  it("runs where the others are idle, who are told", async () => {
    const { dir, ann, bob } = await pair();
    const made = await commits(bob, dir, "bob.ts", "bob's part");
    await stops(bob, dir);
    expect(await line(ann, dir, "git push -q")).toBe("");
    expect(await prompt(bob, dir)).toContain(`published a commit of yours: ${short(made)}`);
  });

  it.each([
    "git push -qf origin HEAD~1:main",
    "git push -q --force-with-lease origin HEAD~1:main",
    "git push -q origin +HEAD~1:main",
  ])("%s that takes another's commit off the remote is refused once", async command => {
    const { dir, ann, bob } = await pair();
    const made = await commits(bob, dir, "bob.ts", "bob's part");
    await stops(bob, dir);
    await line(bob, dir, "git push -q");
    const said = await line(ann, dir, command);
    expect(said).toContain("take off the remote's branch a commit of another agent");
    expect(said).toContain(short(made));
    expect(id(dir, "origin/main")).toBe(made);
    expect(await line(ann, dir, command)).toBe("");
    expect(id(dir, "origin/main")).not.toBe(made);
  });

  it.each(["git push -q origin :topic", "git push -q --delete origin topic"])(
    "%s likewise",
    async command => {
      const { dir, ann, bob } = await pair();
      shell(dir, "git checkout -q -b topic");
      const made = await commits(bob, dir, "bob.ts", "bob's part");
      await until(bob, dir, "git push -qu origin topic");
      expect(await line(ann, dir, command)).toContain(short(made));
      expect(id(dir, "origin/topic")).toBe(made);
    },
  );
});

describe("who made a commit", () => {
  it("is known of a script's, too", async () => {
    const { dir, ann, bob } = await pair();
    w.put(dir, "s.ts", "s\n");
    const of = call("./release.sh");
    await begin(bob, dir, of);
    shell(dir, "git add s.ts && git commit -qm scripted");
    await w.event(bob, dir, { hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 1500, ...of });
    expect(await line(ann, dir, "git commit -q --amend -m other")).toContain(`"scripted" is of "${bob}"`);
  });

  it("is not of a line that began after it was noted, in the same second", async () => {
    const { dir, ann, bob } = await pair();
    // Kite looks at HEAD's log from here on.
    await line(ann, dir, "git log -1");
    const script = call("./commit.sh");
    await begin(bob, dir, script);
    appendFileSync(join(dir, "b.ts"), "more\n");
    shell(dir, "git commit -qam scripted");
    await finish(bob, dir, script);
    const next = call("ls");
    await begin(ann, dir, next);
    await w.event(ann, dir, { hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 0, ...next });
    expect(await line(ann, dir, "git commit -q --amend -m other")).toContain(`"scripted" is of "${bob}"`);
  });

  it("is one of several where their lines ran at once", async () => {
    const { dir, ann, bob } = await pair();
    const [first, second] = [call("git merge -q nowhere"), call("git cherry-pick nothing")];
    const cyd = `cyd${count}`;
    await prompt(cyd, dir);
    await begin(bob, dir, first);
    const said = begin(cyd, dir, second);
    appendFileSync(join(dir, "b.ts"), "more\n");
    shell(dir, "git commit -qam together");
    await finish(bob, dir, first);
    await said;
    await finish(cyd, dir, second);
    const text = await line(ann, dir, "git commit -q --amend -m other");
    expect(text).toContain('"together" is of');
  });

  it("is remembered over a restart of the daemon", async () => {
    const { dir, ann, bob } = await pair();
    await commits(bob, dir, "bob.ts", "bob's part");
    await w.restart();
    await prompt(bob, dir);
    expect(await line(ann, dir, "git commit -q --amend -m other")).toContain(`is of "${bob}"`);
  });
});

describe("alone", () => {
  it("nothing is refused or said, and nothing looked at", async () => {
    count += 1;
    const dir = w.copy(`r${count}`, { "a.ts": "a\n" }, firstCommit);
    const ann = `ann${count}`;
    await prompt(ann, dir);
    await w.wholeEdit(ann, dir, "a.ts", "new\n");
    const lines = [
      "git commit -qam one",
      "git commit -q --amend -m two",
      "git reset -q --hard HEAD~1",
      "git gc -q --prune=now",
    ];
    for (const command of lines) expect(await line(ann, dir, command)).toBe("");
    expect(await prompt(ann, dir)).toBe("");
    w.put(dir, "a.ts", "again\n");
    expect(await line(ann, dir, "git commit -qam three")).toBe("");
    // What one made alone was not looked at, so it is nobody's to one who comes later.
    const bob = `bob${count}`;
    await prompt(bob, dir);
    expect(await line(bob, dir, "git commit -q --amend -m four")).not.toContain("of another agent");
    expect(w.git(dir, "log", "-1", "--format=%s").trim()).toBe("four");
  });
});
