/**
 * Whose stash entries a line may take: through the hooks of the client, on real repositories, with what is let through run
 * by a real shell. Each row is a line and what becomes of it.
 */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isOfHeadAlone, LineWorld, read } from "./guard-scene.ts";
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
  const env = { PATH: process.env["PATH"], HOME: w.folder, GIT_CONFIG_NOSYSTEM: "1", ...who };
  spawnSync("bash", ["-c", command], { cwd: dir, env, stdio: "ignore" });
}

interface Call {
  readonly tool_name: string;
  readonly tool_input: { readonly command: string };
  readonly tool_use_id: string;
}

function call(command: string): Call {
  uses += 1;
  return { tool_name: "Bash", tool_input: { command }, tool_use_id: `b${uses}` };
}

const begin = async (session: string, dir: string, of: Call, more: object = {}) =>
  read(await w.event(session, dir, { hook_event_name: "PreToolUse", ...of, ...more }));
const finish = (session: string, dir: string, of: Call, more: object = {}) =>
  w.event(session, dir, {
    hook_event_name: "PostToolUse",
    tool_response: {},
    duration_ms: 5,
    ...of,
    ...more,
  });

/** What the agent reads before its line; if the line is let through, it runs and its end is told. */
async function line(session: string, dir: string, command: string, more: object = {}): Promise<string> {
  let of = call(command);
  let said = await begin(session, dir, of, more);
  if (isOfHeadAlone(said)) {
    of = call(command);
    said = await begin(session, dir, of, more);
  }
  if (said.includes("did not run")) return said;
  shell(dir, command);
  await finish(session, dir, of, more);
  return said;
}

/** The verdict on a line in a word. */
function verdict(said: string): "runs" | "told first" | "denied" {
  if (said.includes("did not run yet")) return "told first";
  return said.includes("did not run") ? "denied" : "runs";
}

const edit = (session: string, dir: string, file: string, text: string) =>
  w.wholeEdit(session, dir, file, text);
const prompt = async (session: string, dir: string) =>
  read(await w.event(session, dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" }));
const list = (dir: string) => w.git(dir, "stash", "list", "--format=%H").trim().split("\n").filter(Boolean);

/** A repository of its own, and two sessions. */
function alone() {
  count += 1;
  const files = { "a.ts": "a\n", "b.ts": "b\n", "src/c.ts": "c\n", "src/deep/d.ts": "d\n" };
  return { dir: w.copy(`r${count}`, files, firstCommit), ann: `ann${count}`, bob: `bob${count}` };
}

/** Two sessions in a checkout: ann has stashed `a.ts` and gone on, bob has changed `b.ts`. */
async function stashed() {
  const { dir, ann, bob } = alone();
  await edit(ann, dir, "a.ts", "ann's\n");
  expect(await line(ann, dir, "git stash push -q -- a.ts")).toBe("");
  await edit(bob, dir, "b.ts", "bob's\n");
  expect(list(dir)).toHaveLength(1);
  return { dir, ann, bob };
}

/** Each form that takes entries, whatever their position. */
const takers = [
  "git stash pop",
  "git stash pop --index -q stash@{0}",
  "git stash apply",
  "git stash apply 0",
  "git stash drop",
  "git stash drop refs/stash@{0}",
  "git stash clear",
  "git stash branch topic",
  "git stash branch topic stash@{0}",
  "git update-ref -d refs/stash",
  "git update-ref refs/stash ''",
  "echo delete refs/stash | git update-ref --stdin",
  "git reflog delete refs/stash@{0}",
  "git reflog delete --updateref stash@{0}",
  "git reflog expire --expire=now --all && git gc -q --prune=now",
  "git reflog expire --expire-unreachable=now --expire now refs/stash",
  "/usr/bin/git stash pop",
  "sh -c 'git stash pop'",
  "git config alias.back 'stash pop'; git back",
  'N=0; git stash pop "stash@{$N}"',
  'git stash drop "stash@{$(cat n)}"',
  'cd "$NOWHERE_KNOWN" && git stash pop',
  "while git stash drop -q; do :; done",
];

describe("an entry of a live session", () => {
  // Lines that are denied do not run: one list is enough for all of them.
  let shared: ReturnType<typeof stashed> | null = null;

  it.each(takers)("%s -> denied", async taker => {
    shared ??= stashed();
    const { dir, ann, bob } = await shared;
    const [commit] = list(dir);
    for (let times = 0; times < 2; times += 1) {
      const said = await line(bob, dir, taker);
      expect(verdict(said)).toBe("denied");
      expect(said).toContain(`stash@{0} was made by "${ann}"`);
    }
    expect(list(dir)).toEqual([commit]);
  });

  it.each(takers)("is its own session's: %s -> runs", async taker => {
    const { dir, ann } = await stashed();
    expect(verdict(await line(ann, dir, taker))).toBe("runs");
  });

  it.each([
    ["git stash list", "runs"],
    ["git stash show -p stash@{0}", "runs"],
    ["git stash drop stash@{1}", "runs"],
    ["git stash pop 7", "runs"],
    ["git reflog expire --all", "runs"],
    ["git reflog expire --expire=never --all", "runs"],
    ["git reflog expire --expire=now refs/heads/main", "runs"],
    ["git reflog delete -n refs/stash@{0}", "runs"],
    ["git update-ref refs/heads/x HEAD", "runs"],
    ["git gc -q --prune=now", "runs"],
    ["git stash -q -- b.ts && git stash pop -q", "runs"],
    ["git stash push -q -- b.ts && true && git stash pop -q", "runs"],
    ["cd src && git stash push -q -- ../b.ts && git -C .. stash pop -q", "runs"],
    ["git stash -qu && git stash pop -q", "runs"],
    ["git add b.ts && git stash push -q -- b.ts && git pull -q; git stash pop -q", "runs"],
    // Changed past Kite, and named: git itself says that there is something to put away.
    ["git stash push -q -- src/deep/d.ts && git stash pop -q", "runs"],
    ["git stash push -q -- b.ts && git stash drop -q stash@{0}", "runs"],
    ["git stash push -q -- b.ts && git stash drop -q stash@{1}", "denied"],
    ["git stash push -q -- b.ts && git stash pop -q && git stash pop -q", "denied"],
    ["git stash push -q -- b.ts && git stash clear", "denied"],
    // Nothing is put away: the entry that comes back is ann's.
    ["git stash push -q -- src/c.ts && git stash pop -q", "denied"],
    ["git stash push -q -- b.ts src/c.ts; git stash pop -q", "denied"],
    ["git checkout -q -- b.ts && git stash push -q -- b.ts; git stash pop -q", "denied"],
    ["git commit -qam own; git stash push -q -- b.ts; git stash pop -q", "denied"],
  ] as const)("%s -> %s", async (command, becomes) => {
    const { dir, bob } = await stashed();
    w.put(dir, "src/deep/d.ts", "by a script\n");
    const [commit] = list(dir);
    expect(verdict(await line(bob, dir, command))).toBe(becomes);
    expect(list(dir)).toContain(commit);
  });

  it("is guarded in each worktree of the repository", async () => {
    const { dir, ann, bob } = await stashed();
    const side = join(w.folder, `side${count}`);
    w.git(dir, "worktree", "add", "-q", side);
    const said = await line(bob, side, "git stash pop");
    expect(verdict(said)).toBe("denied");
    expect(said).toContain(`"${ann}"`);
    expect(verdict(await line(bob, w.folder, `git -C ${dir} stash pop`))).toBe("denied");
    expect(
      verdict(await line(bob, w.folder, `git --git-dir ${dir}/.git --work-tree ${side} stash pop`)),
    ).toBe("denied");
  });

  it("is shared by its session's agents", async () => {
    const { dir, ann, bob } = await stashed();
    const helper = { agent_id: "h1", agent_type: "Explore" };
    await w.event(ann, dir, { hook_event_name: "SubagentStart", ...helper });
    w.put(dir, "src/c.ts", "helper's\n");
    expect(await line(ann, dir, "git stash push -q -- src/c.ts", helper)).toBe("");
    expect(verdict(await line(bob, dir, "git stash pop"))).toBe("denied");
    expect(verdict(await line(ann, dir, "git stash pop -q", helper))).toBe("runs");
    expect(verdict(await line(ann, dir, "git stash pop -q", helper))).toBe("runs");
    expect(list(dir)).toEqual([]);
  });

  it("is its maker's after a restart of the daemon too", async () => {
    const { dir, ann, bob } = await stashed();
    await w.restart();
    expect(verdict(await line(bob, dir, "git stash pop"))).toBe("denied");
    expect(verdict(await line(ann, dir, "git stash pop"))).toBe("runs");
  });
});

describe("what is said of it", () => {
  it("names the entry, its maker, its age and one's own", async () => {
    const { dir, ann, bob } = await stashed();
    expect(await line(bob, dir, "git stash push -q -- b.ts")).toBe("");
    await edit(ann, dir, "a.ts", "ann's second\n");
    expect(await line(ann, dir, "git stash push -q -- a.ts")).toBe("");
    const said = await line(bob, dir, "git stash pop");
    expect(said).toMatch(
      new RegExp(
        "^Kite: this command line did not run: `git stash pop` in it would take a stash entry of another agent\\.\n" +
          `.*stash@\\{0\\} was made by "${ann}" .* ago\\.\n` +
          "What to do: name your own: git stash pop stash@\\{1\\}\n" +
          `Or tell "${ann}" what you need, or ask your user\\.$`,
      ),
    );
    expect(await line(bob, dir, "git stash clear")).toContain("drop only your own: git stash drop stash@{1}");
    expect(await line(bob, `${dir}/src`, "git -C .. stash drop")).toContain(
      `name your own: git -C ${dir} stash drop stash@{1}`,
    );
    // What it says works.
    expect(await line(bob, dir, "git stash pop -q stash@{1}")).toBe("");
    expect(w.read(dir, "b.ts")).toBe("bob's\n");
    expect(await line(bob, dir, "git stash pop")).toContain("no entry in the list is yours");
  });

  it("and that a push before it may find nothing", async () => {
    const { dir, bob } = await stashed();
    const said = await line(bob, dir, "git stash push -q -- src/c.ts && git stash pop -q");
    expect(said).toContain(
      "`git stash push` before it puts anything away: send that one in a line of its own",
    );
  });

  it("stands beside what is said of files", async () => {
    const { dir, ann, bob } = await stashed();
    await edit(ann, dir, "a.ts", "ann's again\n");
    const said = await line(bob, dir, "git stash pop; git checkout -- .");
    expect(said).toContain("may wipe uncommitted work of another agent");
    expect(said).toContain("would take a stash entry of another agent");
  });
});

describe("one's own entry", () => {
  it.each(["git stash pop", "git stash apply", "git stash branch topic"])(
    "comes back whatever a colleague has in the tree: %s",
    async back => {
      const { dir, ann, bob } = await stashed();
      await edit(bob, dir, "new.ts", "bob's new\n");
      expect(await line(ann, dir, back)).toBe("");
      expect(w.read(dir, "a.ts")).toBe("ann's\n");
      expect([w.read(dir, "b.ts"), w.read(dir, "new.ts")]).toEqual(["bob's\n", "bob's new\n"]);
    },
  );

  it("is left alone by git where a colleague has changed the same file", async () => {
    const { dir, ann, bob } = await stashed();
    await edit(bob, dir, "a.ts", "bob's\n");
    expect(verdict(await line(ann, dir, "git stash pop"))).toBe("runs");
    expect([w.read(dir, "a.ts"), list(dir).length]).toEqual(["bob's\n", 1]);
  });

  it("is denied over a colleague's ignored file, which git would overwrite", async () => {
    const { dir, ann, bob } = alone();
    w.put(dir, ".gitignore", "*.log\n");
    await edit(ann, dir, "out.log", "ann's\n");
    expect(await line(ann, dir, "git add -f out.log && git stash -q -- out.log")).toBe("");
    await edit(bob, dir, "out.log", "bob's\n");
    expect(await line(ann, dir, "git stash pop")).toContain("may wipe uncommitted work of another agent");
    rmSync(join(dir, "out.log"));
    expect(await line(ann, dir, "git stash pop")).toBe("");
  });

  it("is one's own also if it took the whole line to make it", async () => {
    const { dir, ann, bob } = await stashed();
    const push = "for f in b.ts; do git stash push -q -- $f; done; git config alias.put 'stash push -q'";
    expect(await line(bob, dir, push)).toBe("");
    expect(list(dir)).toHaveLength(2);
    expect(verdict(await line(ann, dir, "git stash pop"))).toBe("denied");
    expect(verdict(await line(bob, dir, "git stash pop -q"))).toBe("runs");
    expect(await line(bob, dir, "git put -- b.ts")).toBe("");
    expect(verdict(await line(bob, dir, "git stash pop -q"))).toBe("runs");
  });

  it.each([
    ["stored", "git stash store -m x $(git stash create)"],
    ["stored with its ref", "git update-ref --create-reflog -m x refs/stash $(git stash create)"],
    ["made by words that only the shell knows", 'L="git stash -q -- b.ts"; sh -c "$(echo "$L")"'],
    ["left by an autostash that fits no more", "git merge -q --autostash topic"],
  ])("is one's own if it is %s", async (_how, make) => {
    const { dir, ann, bob } = alone();
    shell(dir, "git switch -qc topic; echo topic >b.ts; git commit -qam topic; git switch -q main");
    await edit(bob, dir, "b.ts", "bob's\n");
    expect(await line(bob, dir, make)).toBe("");
    expect(list(dir)).toHaveLength(1);
    expect(verdict(await line(ann, dir, "git stash drop"))).toBe("denied");
    expect(verdict(await line(bob, dir, "git stash drop"))).toBe("runs");
  });
});

describe("an entry whose maker cannot be asked", () => {
  it.each(takers)("of an ended session: %s -> told first, then runs", async taker => {
    const { dir, ann, bob } = await stashed();
    await w.ends(ann, dir);
    const said = await line(bob, dir, taker);
    expect(verdict(said)).toBe("told first");
    expect(said).toContain(`stash@{0} was made by "${ann}" (session ended)`);
    expect(list(dir)).toHaveLength(1);
    expect(verdict(await line(bob, dir, taker))).toBe("runs");
  });

  it("of the person: told first, then runs, to each session", async () => {
    const { dir, ann, bob } = await stashed();
    expect(await line(ann, dir, "git stash drop -q")).toBe("");
    shell(dir, "echo person >a.ts; git stash -q -- a.ts");
    const said = await line(bob, dir, "git stash pop -q");
    expect(verdict(said)).toBe("told first");
    expect(said).toContain("Kite did not see by whom: it counts as your user's");
    expect(said).toContain("git stash show -p stash@{0}");
    expect(verdict(await line(bob, dir, "git stash pop"))).toBe("told first");
    expect(verdict(await line(ann, dir, "git stash pop -q"))).toBe("told first");
    expect(verdict(await line(bob, dir, "git stash pop -q"))).toBe("runs");
    expect(list(dir)).toEqual([]);
  });

  it("asks again for another entry", async () => {
    const { dir, bob } = await stashed();
    shell(dir, "echo person >src/c.ts; git stash -q -- src/c.ts");
    expect(verdict(await line(bob, dir, "git stash drop -q"))).toBe("told first");
    shell(dir, "echo more >src/c.ts; git stash -q -- src/c.ts");
    expect(verdict(await line(bob, dir, "git stash drop -q"))).toBe("told first");
    expect(verdict(await line(bob, dir, "git stash drop -q"))).toBe("runs");
  });

  it("beside one of a live session: denied", async () => {
    const { dir, bob } = await stashed();
    shell(dir, "echo person >src/c.ts; git stash -q -- src/c.ts");
    for (let times = 0; times < 2; times += 1)
      expect(verdict(await line(bob, dir, "git stash clear"))).toBe("denied");
  });
});

describe("lines that run at once in two worktrees", () => {
  /** Both lines begin, both stash, both end; ann's first. */
  async function both() {
    const { dir, ann, bob } = alone();
    const side = join(w.folder, `side${count}`);
    w.git(dir, "worktree", "add", "-q", side);
    await edit(ann, dir, "a.ts", "ann's\n");
    await edit(bob, side, "b.ts", "bob's\n");
    return { dir, side, ann, bob, of: [call("git stash -q"), call("git stash -q")] as const };
  }

  it("make entries that are the person's", async () => {
    const { dir, side, ann, bob, of } = await both();
    expect(await begin(ann, dir, of[0])).toBe("");
    expect(await begin(bob, side, of[1])).toBe("");
    shell(dir, "git stash -q");
    shell(side, "git stash -q");
    await finish(ann, dir, of[0]);
    await finish(bob, side, of[1]);
    expect(list(dir)).toHaveLength(2);
    for (const [session, at] of [
      [ann, dir],
      [bob, side],
    ] as const) {
      const said = await line(session, at, "git stash clear");
      expect(verdict(said)).toBe("told first");
      expect(said.match(/Kite did not see by whom/g)).toHaveLength(2);
    }
  });

  it("but what was there when the other one began is the first one's", async () => {
    const { dir, side, ann, bob, of } = await both();
    await begin(ann, dir, of[0]);
    shell(dir, "git stash -q");
    await begin(bob, side, of[1]);
    shell(side, "git stash -q");
    await finish(bob, side, of[1]);
    await finish(ann, dir, of[0]);
    const said = await line(bob, side, "git stash clear");
    expect(verdict(said)).toBe("denied");
    expect(said).toContain(`stash@{1} was made by "${ann}"`);
  });

  it("a line that never ran, of a turn that is over, hinders nobody", async () => {
    const { dir, side, ann, bob, of } = await both();
    await begin(ann, dir, of[0]);
    await w.event(ann, dir, { hook_event_name: "Stop" });
    expect(await line(bob, side, "git stash -q")).toBe("");
    expect(verdict(await line(bob, side, "git stash pop"))).toBe("runs");
  });
});

it("the maker hears of an entry that another session took, with its next event that waits", async () => {
  const { dir, ann, bob } = await stashed();
  const [commit = ""] = list(dir);
  await w.restart("warn");
  expect(await line(bob, dir, "git stash drop -q")).toContain(
    "`git stash drop` will take a stash entry that is not yours. The command line runs anyway.",
  );
  await w.restart();
  const id = commit.slice(0, 10);
  const said = await prompt(ann, dir);
  expect(said).toContain(`\`git stash drop\` of "${bob}" took a stash entry of yours (${id})`);
  expect(said).toContain(`git stash apply ${id}`);
  expect(await prompt(ann, dir)).not.toContain("stash");
});

it("a list that Kite cannot read is judged by what it knows", async () => {
  const { dir, ann, bob } = await stashed();
  const log = join(dir, ".git/logs/refs/stash");
  shell(dir, `mv ${log} kept && mkdir ${log}`);
  for (let times = 0; times < 2; times += 1) {
    const said = await line(bob, dir, "git stash drop stash@{5}");
    expect(verdict(said)).toBe("denied");
    expect(said).toContain("could not read the stash list");
  }
  await w.ends(ann, dir);
  expect(verdict(await line(bob, dir, "git stash drop -q"))).toBe("told first");
  // Nothing is known of another repository's list.
  const { dir: other } = alone();
  shell(other, "mkdir -p .git/logs/refs/stash");
  const of = call("git stash drop -q");
  const said = await w.event(bob, other, { hook_event_name: "PreToolUse", ...of });
  expect(JSON.parse(said).systemMessage).toContain("without checking it");
  shell(dir, `rmdir ${log} && mv kept ${log}`);
});
