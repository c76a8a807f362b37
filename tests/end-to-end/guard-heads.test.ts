/**
 * HEAD is one for all who work in a checkout: who is held back from moving it, who hears that it moved, and whose an operation
 * in progress is. Through the hooks of the client, on real repositories, with what is let through run by a real shell.
 */
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
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
function shell(dir: string, command: string): number | null {
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
    ...who,
  };
  return spawnSync("bash", ["-c", command], { cwd: dir, env, stdio: "ignore" }).status;
}

/** What the agent reads before its line; if the line is let through, it runs and its end is told. */
async function line(session: string, dir: string, command: string, more: object = {}): Promise<string> {
  uses += 1;
  const of = { tool_name: "Bash", tool_input: { command }, tool_use_id: `h${uses}`, ...more };
  const said = read(await w.event(session, dir, { hook_event_name: "PreToolUse", ...of }));
  if (said.includes("did not run")) return said;
  shell(dir, command);
  const ended = { hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 200, ...of };
  await w.event(session, dir, ended);
  return said;
}

/** The verdict on a line in a word. */
function verdict(said: string): "runs" | "told first" | "denied" {
  if (said.includes("did not run yet")) return "told first";
  return said.includes("did not run") ? "denied" : "runs";
}

const prompt = async (session: string, dir: string) =>
  read(await w.event(session, dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" }));
const stops = (session: string, dir: string) => w.event(session, dir, { hook_event_name: "Stop" });
const branch = (dir: string) => w.git(dir, "rev-parse", "--abbrev-ref", "HEAD").trim();
const head = (dir: string) => w.git(dir, "rev-parse", "HEAD").trim();

const made = [
  firstCommit,
  "git switch -qc topic && echo topic >c.ts && git commit -qam topic",
  "git switch -q main && echo more >d.ts && git commit -qam more && git tag v1",
  "git branch taken && git worktree add -q ../taken-$(basename $PWD) taken",
].join(" && ");

/** A repository of its own; ann has work in `a.ts`, bob in `b.ts`, both in a turn. */
async function scene() {
  count += 1;
  const dir = w.copy(`h ${count}`, { "a.ts": "a\n", "b.ts": "b\n", "c.ts": "c\n", "d.ts": "d\n" }, made);
  const [ann, bob] = [`ann${count}`, `bob${count}`];
  await prompt(ann, dir);
  await prompt(bob, dir);
  await w.work(ann, dir, { "a.ts": "ann's\n" });
  await w.work(bob, dir, { "b.ts": "bob's\n" });
  return { dir, ann, bob };
}

/** The line that an answer gives after these words. */
function formAfter(said: string, words: string): string {
  const [, form = ""] = new RegExp(`${words}: (.*)$`, "m").exec(said) ?? [];
  return form;
}

describe("a line that moves HEAD where others are at work", () => {
  it.each<[line: string, way: string]>([
    ["git switch topic", "worktree add '.*-topic' topic$"],
    ["git checkout topic", "worktree add '.*-topic' topic$"],
    ["git checkout topic && npm test", "worktree add '.*-topic' topic$"],
    ["git switch -c new", "worktree add -b new '.*-new'$"],
    ["git checkout -b x/new v1", "worktree add -b x/new '.*-x-new' v1$"],
    ["git switch -C topic2 main", "worktree add -B topic2 '.*-topic2' main$"],
    [
      "git checkout --orphan bare",
      "worktree add --detach '.*-bare' && git -C '.*-bare' checkout --orphan bare$",
    ],
    ["git checkout --detach", "worktree add --detach '.*-HEAD'$"],
    ["git checkout v1~1", "worktree add --detach '.*' 'v1~1'$"],
    ["git bisect start", "worktree add --detach '.*-bisect'$"],
    ["git branch -m renamed", "worktree add -b renamed '.*-renamed'$"],
  ])("%s: is refused once, with a way that works", async (command, way) => {
    const { dir, ann, bob } = await scene();
    const before = [head(dir), branch(dir), w.git(dir, "status", "--porcelain")];
    const said = await line(bob, dir, command);
    expect(verdict(said)).toBe("told first");
    expect(said).toContain(`"${ann}" has uncommitted work in "a.ts"`);
    expect(said).toMatch(/HEAD from branch "main" to|moves|move HEAD/);
    const form = formAfter(said, "in a worktree of your own");
    expect(form).toMatch(new RegExp(way));
    expect(said).toMatch(
      form.includes(" -b ")
        ? /^Or, to take your uncommitted work along: kite move --branch \S+$/m
        : /^Your uncommitted work goes to a worktree and branch of its own with: kite move$/m,
    );
    expect(shell(dir, form)).toBe(0);
    expect([head(dir), branch(dir), w.git(dir, "status", "--porcelain")]).toEqual(before);
    // Others write on: the same line runs all the same.
    await w.work(ann, dir, { "a.ts": "ann's more\n" });
    if (!command.includes("topic") && !command.includes("new") && !command.includes("renamed"))
      expect(verdict(await line(bob, dir, command))).toBe("runs");
  });

  it.each([
    "git reset --soft HEAD~1",
    "git reset HEAD~1",
    "git rebase topic",
    "git rebase -i HEAD~1",
    "git update-ref refs/heads/main HEAD~1",
    "git update-ref HEAD HEAD~1",
    "git symbolic-ref HEAD refs/heads/topic",
    "git -c pull.rebase=true pull . topic",
  ])("%s: is refused once, and a copy is the way", async command => {
    const { dir, bob } = await scene();
    const said = await line(bob, dir, command);
    expect([command, verdict(said)]).toEqual([command, "told first"]);
    expect(said).toContain("kite move");
    expect(verdict(await line(bob, dir, command))).toBe("runs");
  });

  it("names the worktree that has the branch already", async () => {
    const { dir, bob } = await scene();
    const said = await line(bob, dir, "git switch taken");
    const form = formAfter(said, "work there");
    expect(existsSync(JSON.parse(`"${form.replace(/^cd '?|'$/g, "")}"`))).toBe(true);
  });

  it.each([
    "git switch main",
    "git checkout main",
    "git checkout HEAD",
    "git reset",
    "git reset --soft HEAD",
    "git checkout -- b.ts",
    "git checkout nothing-of-this-name",
    "git branch -f topic main",
    "git branch other",
    "git commit -qm b -- b.ts",
    "git merge -q v1",
    "git rebase v1",
    "git push . main:copy",
    "git tag v2",
  ])("%s: moves nothing, and runs", async command => {
    const { dir, bob } = await scene();
    expect([command, await line(bob, dir, command)]).toEqual([command, ""]);
  });

  it("is free to go back while nothing was committed there", async () => {
    const { dir, ann, bob } = await scene();
    await line(bob, dir, "git switch topic");
    expect(verdict(await line(bob, dir, "git switch topic"))).toBe("runs");
    expect(branch(dir)).toBe("topic");
    expect(verdict(await line(bob, dir, "git switch main"))).toBe("runs");
    expect(branch(dir)).toBe("main");
    // Nobody has to know of what is over before it could be told.
    expect(await prompt(ann, dir)).toBe("");
  });

  it("is not free to go back once something was committed", async () => {
    const { dir, bob } = await scene();
    await line(bob, dir, "git switch topic");
    await line(bob, dir, "git switch topic");
    expect(verdict(await line(bob, dir, "git commit -qm b -- b.ts"))).toBe("runs");
    expect(verdict(await line(bob, dir, "git switch main"))).toBe("told first");
  });

  it("is refused once for all that stands against it", async () => {
    const { dir, ann, bob } = await scene();
    const said = await line(bob, dir, "git switch -c new && git add -A");
    expect(said).toContain("would include work of another agent");
    expect(said).toContain('move HEAD from branch "main"');
    expect(verdict(await line(bob, dir, "git switch -c new && git add -A"))).toBe("runs");
    const other = await scene();
    const wipes = "git checkout -f topic";
    expect(verdict(await line(other.bob, other.dir, wipes))).toBe("denied");
    await line(other.ann, other.dir, "git commit -qm a -- a.ts");
    expect(await line(other.bob, other.dir, wipes)).toBe("");
    expect(ann).not.toBe(other.ann);
  });

  it("is free where the others rest and have no work, and where one is alone", async () => {
    const { dir, ann, bob } = await scene();
    await line(ann, dir, "git commit -qm a -- a.ts");
    await stops(ann, dir);
    expect(verdict(await line(bob, dir, "git switch topic"))).toBe("runs");
    expect(await prompt(ann, dir)).toContain('is on branch "topic" now');
    await w.ends(ann, dir);
    for (const command of ["git switch main", "git reset -q --soft HEAD~1", "git checkout -q --detach"])
      expect([command, await line(bob, dir, command)]).toEqual([command, ""]);
  });
});

describe("whoever works there", () => {
  it("hears of a move once, from where to where and by whom, and may then commit", async () => {
    const { dir, ann, bob } = await scene();
    await line(bob, dir, "git switch topic");
    await line(bob, dir, "git switch topic");
    const said = await prompt(ann, dir);
    expect(said).toContain('is on branch "topic" now, and was on branch "main" before');
    expect(said).toContain(`"${bob}" did it`);
    expect(said).toContain('lands on branch "topic"');
    const form = formAfter(said, "a worktree of its own");
    expect(shell(dir, form)).toBe(0);
    expect(await prompt(ann, dir)).toBe("");
    expect(await prompt(bob, dir)).toBe("");
    expect(await line(ann, dir, "git commit -qm a -- a.ts")).toBe("");
  });

  it("hears of a move that a script or a person made", async () => {
    const { dir, ann, bob } = await scene();
    await prompt(ann, dir);
    writeFileSync(join(w.folder, `go${count}`), "git switch -q topic\n");
    expect(await line(bob, dir, `sh ${join(w.folder, `go${count}`)}`)).toBe("");
    expect(await prompt(ann, dir)).toContain(`"${bob}" did it`);
    expect(await prompt(bob, dir)).toBe("");
    shell(dir, "git switch -q main");
    expect(await prompt(bob, dir)).toContain("Kite did not see who did it");
    expect(await prompt(ann, dir)).toContain("Kite did not see who did it");
    expect(await prompt(ann, dir)).toBe("");
  });

  it("hears of a branch that went to another commit, and of no commit that was added", async () => {
    const { dir, ann, bob } = await scene();
    await prompt(ann, dir);
    await line(bob, dir, "git commit -qm b -- b.ts");
    expect(await prompt(ann, dir)).toBe("");
    shell(dir, "git commit -q --amend -m other");
    expect(await prompt(ann, dir)).toBe("");
    shell(dir, "git reset -q --soft HEAD~2");
    expect(await prompt(ann, dir)).toContain("which lacks commits of");
  });

  it.each([
    "git commit -qm a -- a.ts",
    "git merge -q v1",
    "git cherry-pick v1",
    "git push . HEAD:copy",
    "git rebase main",
  ])("%s as the first event after a move is refused once", async command => {
    const { dir, ann } = await scene();
    await prompt(ann, dir);
    shell(dir, "git switch -q topic");
    const said = await line(ann, dir, command);
    expect([command, verdict(said)]).toEqual([command, "told first"]);
    expect(said).toContain('is on branch "topic" now');
    expect(said.match(/was on branch "main" before/g)).toHaveLength(1);
    expect([command, verdict(await line(ann, dir, command))]).toEqual([command, "runs"]);
  });

  it("hears nothing of what happened before it came, and hears what happened while the daemon was away", async () => {
    const { dir, ann, bob } = await scene();
    await prompt(ann, dir);
    shell(dir, "git switch -q topic");
    const cyd = `cyd${count}`;
    await w.event(cyd, dir, { hook_event_name: "SessionStart", source: "startup" });
    expect(await prompt(cyd, dir)).toBe("");
    expect(await prompt(bob, dir)).toContain('on branch "topic" now');
    await w.restart();
    shell(dir, "git switch -q main");
    // She was not told yet that it was elsewhere, and it is back.
    expect(await prompt(ann, dir)).toBe("");
    expect(await prompt(cyd, dir)).toContain('on branch "main" now');
  });

  it("hears nothing of what moved while it was alone there", async () => {
    const { dir, ann, bob } = await scene();
    await prompt(ann, dir);
    await w.ends(bob, dir);
    shell(dir, "git switch -q topic");
    const cyd = `cyd${count}`;
    await w.event(cyd, dir, { hook_event_name: "SessionStart", source: "startup" });
    expect([await prompt(cyd, dir), await prompt(ann, dir)]).toEqual(["", ""]);
    shell(dir, "git switch -q main");
    expect(await prompt(ann, dir)).toContain('on branch "main" now, and was on branch "topic" before');
  });

  it("hears nothing that cannot be read, and nothing is refused", async () => {
    const { dir, ann, bob } = await scene();
    await prompt(ann, dir);
    const text = w.read(dir, ".git/HEAD");
    w.put(dir, ".git/HEAD", "ref: refs/heads/../../x\n");
    expect(await prompt(bob, dir)).toBe("");
    expect(verdict(await line(bob, dir, "git switch -c new"))).toBe("runs");
    w.put(dir, ".git/HEAD", text);
  });
});

/** Bob's rebase, merge or cherry-pick stopped at a conflict. */
async function stopped(begin: string) {
  const { dir, ann, bob } = await scene();
  await line(ann, dir, "git commit -qm a -- a.ts");
  await line(bob, dir, "git commit -qm b -- b.ts");
  shell(dir, "git switch -q topic && echo other >d.ts && git commit -qam other && git switch -q main");
  await prompt(ann, dir);
  await prompt(bob, dir);
  await line(bob, dir, begin);
  await line(bob, dir, begin);
  expect(w.git(dir, "status")).toMatch(/rebase|merg|cherry/);
  return { dir, ann, bob };
}

describe("an operation in progress", () => {
  it.each([
    ["git rebase topic", "git rebase --abort"],
    ["git merge topic", "git merge --abort"],
    ["git cherry-pick topic", "git cherry-pick --abort"],
  ])("%s belongs to the session that began it", async (begin, abort) => {
    const { dir, ann, bob } = await stopped(begin);
    await prompt(ann, dir);
    const before = [head(dir), w.git(dir, "status", "--porcelain")];
    for (const command of ["git commit -qam x", abort, "git reset", "git stash", "git switch main"]) {
      const said = await line(ann, dir, command);
      expect([command, verdict(said)]).toEqual([command, "denied"]);
      expect(said).toMatch(/in progress in this checkout that is not yours/);
      expect(said).toContain(`kite message send ${bob}`);
      expect(said).toContain(`"${bob}" began it`);
    }
    expect([head(dir), w.git(dir, "status", "--porcelain")]).toEqual(before);
    // Once the owner's turn is over, the same line runs when it is sent again.
    await stops(bob, dir);
    expect(await line(ann, dir, abort)).toContain(`"${bob}", whose turn is over, began it`);
    await prompt(bob, dir);
    expect(verdict(await line(bob, dir, abort))).toBe("runs");
    expect(branch(dir)).toBe("main");
  });

  it("of an ended session, or of nobody that Kite saw, is refused once", async () => {
    const { dir, ann, bob } = await stopped("git merge topic");
    await prompt(`cyd${count}`, dir);
    await w.ends(bob, dir);
    expect(await line(ann, dir, "git merge --abort")).toContain("whose session has ended");
    expect(verdict(await line(ann, dir, "git merge --abort"))).toBe("runs");
    shell(dir, "git merge -q topic");
    expect(await line(ann, dir, "git merge --abort")).toContain("Kite did not see who began it");
    expect(verdict(await line(ann, dir, "git merge --abort"))).toBe("runs");
  });

  it("that one began alone is its own when others come", async () => {
    count += 1;
    const dir = w.copy(`h ${count}`, { "a.ts": "a\n", "c.ts": "c\n", "d.ts": "d\n" }, made);
    const [ann, bob] = [`ann${count}`, `bob${count}`];
    await prompt(bob, dir);
    shell(dir, "echo clash >c.ts && git commit -qam clash");
    expect(await line(bob, dir, "git merge topic")).toBe("");
    await prompt(ann, dir);
    expect(await line(ann, dir, "git merge --abort")).toContain(`"${bob}" began it`);
    expect(verdict(await line(bob, dir, "git merge --abort"))).toBe("runs");
  });

  it("is its session's: its agents share it", async () => {
    const { dir, bob } = await stopped("git merge topic");
    const agent = { agent_id: "a0954b2b04fdf61ec", agent_type: "helper" };
    expect(verdict(await line(bob, dir, "git merge --abort", agent))).toBe("runs");
  });
});

describe("lists", () => {
  const rowsOf = async (dir: string) => {
    const client = await w.client();
    const reply = await client.ask({ type: "query", target: "sessions", project: dir });
    client.destroy();
    return (reply["rows"] as { branch: string | null; head?: string }[]).map(({ branch, head }) => [
      branch,
      head,
    ]);
  };

  it("show where HEAD is now, what is in progress, and whose it is", async () => {
    const { dir, bob } = await stopped("git merge topic");
    expect(await rowsOf(dir)).toEqual([
      ["main", `main, merging (of ${bob})`],
      ["main", `main, merging (of ${bob})`],
    ]);
    const cyd = `cyd${count}`;
    const begins = { hook_event_name: "SessionStart", source: "startup" };
    expect(read(await w.event(cyd, dir, begins))).toContain(`"main, merging (of ${bob})"`);
    shell(dir, "git merge --abort && git switch -q topic");
    expect((await rowsOf(dir))[0]).toEqual(["topic", undefined]);
    shell(dir, "git checkout -q --detach");
    expect((await rowsOf(dir))[0]).toEqual([null, `detached at ${head(dir).slice(0, 10)}`]);
  });
});

describe("agents of one session", () => {
  const agent = { agent_id: "a0954b2b04fdf61ec", agent_type: "helper" };

  it("do not count the main agent that waits for its subagent, but one that works beside it", async () => {
    count += 1;
    const dir = w.copy(`h ${count}`, { "a.ts": "a\n", "b.ts": "b\n", "c.ts": "c\n", "d.ts": "d\n" }, made);
    const ann = `ann${count}`;
    await prompt(ann, dir);
    await w.work(ann, dir, { "a.ts": "ann's\n" });
    await w.event(ann, dir, { hook_event_name: "SubagentStart", ...agent });
    expect(await line(ann, dir, "git switch topic", agent)).toBe("");
    expect(await prompt(ann, dir)).toContain(`"${ann}/helper" did it`);
    await w.work(ann, dir, { "b.ts": "more\n" });
    expect(verdict(await line(ann, dir, "git switch main", agent))).toBe("runs");
    expect(verdict(await line(ann, dir, "git switch -c other", agent))).toBe("told first");
  });
});

describe("where the guard only warns", () => {
  it("the line runs, and its agent is told", async () => {
    await w.restart("warn");
    const { dir, ann, bob } = await scene();
    const said = await line(bob, dir, "git switch topic");
    expect(said).toContain("will move HEAD");
    expect(said).toContain("runs anyway");
    expect(branch(dir)).toBe("topic");
    expect(await prompt(ann, dir)).toContain('on branch "topic" now');
    await w.restart();
  });
});
