/** Two sessions of the real client with work in one checkout, and git commands of the second one. */
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, test } from "vitest";
import type { Turn } from "./model.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import type { ClaudeSession } from "./session.ts";
import { World } from "./world.ts";

const settings = { permissions: { allow: ["Bash"] } };
const annsText = "ann's work, not committed\n";

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  for (const file of ["ann.txt", "bob.txt"]) world.write(file, `${file}\n`);
  git("add", "ann.txt", "bob.txt");
  git("commit", "-qm", "first");
  await world.up();
  return () => world.dispose();
});

function git(...args: string[]): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
  const env = { PATH: process.env["PATH"], HOME: tmpdir(), GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", [...who, ...args], { cwd: world.repository, env, encoding: "utf8" });
}

const bash = (id: string, command: string): Turn => call(id, "Bash", { command, description: "git" });
const write = (id: string, file: string, content: string): readonly Turn[] => [
  call(`${id}_read`, "Read", { file_path: world.path(file) }),
  call(id, "Write", { file_path: world.path(file), content }),
];

/** Two sessions; the first has changed its file and is still there, its turn not over. */
async function pair(
  script: readonly Turn[],
): Promise<{ ann: ClaudeSession; bob: ClaudeSession; end: () => void }> {
  const bobIsDone = new Moment();
  const ann = await world.session("ann", [
    ...write("toolu_ann", "ann.txt", annsText),
    bobIsDone.before(say("Done.")),
  ]);
  await ann.asked(3);
  const bob = await world.session("bob", [...write("toolu_bob", "bob.txt", "bob's work\n"), ...script], {
    settings,
  });
  return { ann, bob, end: () => bobIsDone.reached() };
}

test("a session that would stash another one's work is stopped, and stashes its own alone", async () => {
  const { ann, bob, end } = await pair([
    bash("toolu_all", "git stash"),
    bash("toolu_own", "git stash push -q -- bob.txt"),
    say("Done."),
  ]);
  expect(await bob.ended).toBe(0);
  const denied = bob.model.result("toolu_all");
  expect(denied.isError).toBe(true);
  expect(denied.text).toContain("may wipe uncommitted work of another agent");
  expect(denied.text).toContain('"ann.txt" is held by');
  expect(denied.text).toContain(
    "worktree of their own: kite move\nTo drop your own lines: kite undo --all bob.txt\n",
  );
  expect(bob.model.result("toolu_own").isError).toBe(false);
  expect(world.read("ann.txt")).toBe(annsText);
  expect(world.read("bob.txt")).toBe("bob.txt\n");
  expect(git("stash", "show", "--name-only").trim()).toBe("bob.txt");
  end();
  expect(await ann.ended).toBe(0);
  expect(world.read("ann.txt")).toBe(annsText);
});

test("a commit takes in one's own files only, and the other one's work stays as it was", async () => {
  const { ann, bob, end } = await pair([
    bash("toolu_all", "git add -A && git -c user.name=b -c user.email=b@localhost commit -qm all"),
    bash("toolu_own", "git -c user.name=b -c user.email=b@localhost commit -qm own -- bob.txt"),
    say("Done."),
  ]);
  expect(await bob.ended).toBe(0);
  const told = bob.model.result("toolu_all");
  expect(told.isError).toBe(true);
  expect(told.text).toContain("would include work of another agent");
  expect(bob.model.result("toolu_own").isError).toBe(false);
  expect(git("show", "--name-only", "--format=", "HEAD").trim()).toBe("bob.txt");
  expect(world.read("ann.txt")).toBe(annsText);
  expect(git("status", "--porcelain", "--", "ann.txt", "bob.txt")).toBe(" M ann.txt\n");
  end();
  expect(await ann.ended).toBe(0);
});

test("a session whose git lines are refused does its own part, and moves HEAD when it asks twice", async () => {
  const program = fileURLToPath(new URL("../../bin/kite", import.meta.url));
  const kite = `KITE_HOME=${world.paths.home} ${program}`;
  git("config", "user.name", "b");
  git("config", "user.email", "b@localhost");
  const { ann, bob, end } = await pair([
    bash("toolu_all", "git add -A && git commit -qm 'all of it'"),
    bash("toolu_commit", `${kite} commit -m 'all of it' bob.txt`),
    bash("toolu_try", `${kite} try -- cat ann.txt bob.txt`),
    bash("toolu_switch", "git switch -q -c topic"),
    bash("toolu_again", "git switch -q -c topic"),
    say("Done."),
  ]);
  expect(await bob.ended).toBe(0);
  expect(bob.model.result("toolu_all").text).toContain("kite commit -m 'all of it' bob.txt\n");
  expect(bob.model.result("toolu_commit").text).toContain("all of it\n 1 file changed");
  expect(git("log", "-1", "--format=%s", "--name-only", "HEAD").split("\n").filter(Boolean)).toEqual([
    "all of it",
    "bob.txt",
  ]);
  expect(bob.model.result("toolu_try").text).toContain("ann.txt\nbob's work");
  const asked = bob.model.result("toolu_switch");
  expect(asked.isError).toBe(true);
  expect(asked.text).toContain("would move HEAD from branch");
  expect(asked.text).toContain("git worktree add -b topic");
  expect(bob.model.result("toolu_again").isError).toBe(false);
  expect(git("branch", "--show-current").trim()).toBe("topic");
  expect(world.read("ann.txt")).toBe(annsText);
  end();
  expect(await ann.ended).toBe(0);
});

test("whose shell command overwrites another one's file reads so with the results of its next calls", async () => {
  const [bobWrote, bobWaits, annWentOn, bobIsDone] = [new Moment(), new Moment(), new Moment(), new Moment()];
  const another = (id: string) =>
    call(id, "Write", { file_path: world.path(`${id}.txt`), content: "more\n" });
  const ann = await world.session("ann", [
    ...write("toolu_ann", "ann.txt", annsText),
    bobWrote.before(another("toolu_ann_1")),
    // What bob did was told by now, and is no command's of hers.
    bobWaits.before(another("toolu_ann_2")),
    bobIsDone.before(say("Done.")),
  ]);
  await ann.asked(3);
  const script = [
    bash("toolu_over", "echo bob > ann.txt"),
    bash("toolu_sleeps", "sleep 2"),
    annWentOn.before(bash("toolu_goes_on", "true")),
    bash("toolu_sleeps_again", "sleep 2"),
    say("Done."),
  ];
  const bob = await world.session("bob", script, { settings });
  await bob.asked(2);
  bobWrote.reached();
  await Promise.all([bob.asked(3), ann.asked(4)]);
  bobWaits.reached();
  await ann.asked(5);
  annWentOn.reached();
  expect(await bob.ended).toBe(0);
  const text = "which you ran, wiped uncommitted work of";
  // The client shows it again with each request from then on.
  expect(bob.model.notes.at(-1)).toMatch(
    new RegExp(`${text} ".*": 1 line of "ann\\.txt"\\. .* kite rescue restore r-1$`, "m"),
  );
  expect(bob.hooks.filter(({ stdout }) => stdout.includes(text))).toMatchObject([{ event: "PostToolUse" }]);
  bobIsDone.reached();
  expect(await ann.ended).toBe(0);
});

test("git is seen behind whatever a line puts in front of it", async () => {
  const stashes = [
    "/usr/bin/git stash",
    "bash <<'X'\ngit stash\nX",
    "sh -e <<< 'git stash'",
    "echo stash | xargs git",
    "find . -maxdepth 0 -exec git stash \\;",
    "git config alias.s2 stash; git s2",
    'G=/usr/bin/git; "$G" stash',
    "bash -c 'cd .;git stash'",
    'eval "$(echo git stash)"',
  ];
  const { ann, bob, end } = await pair([...stashes.map((line, i) => bash(`toolu_${i}`, line)), say("Done.")]);
  expect(await bob.ended).toBe(0);
  for (const [i, line] of stashes.entries()) {
    expect(bob.model.result(`toolu_${i}`).text, line).toContain("may wipe uncommitted work of another agent");
  }
  expect(world.read("ann.txt")).toBe(annsText);
  end();
  expect(await ann.ended).toBe(0);
});

test("ordinary lines start no process that waits", async () => {
  const ordinary = [
    "ls",
    "cat ann.txt | wc -l",
    "cd . && echo x > y.txt",
    "X=1 true; test -f y.txt",
    "bash y.txt",
  ];
  const bob = await world.session(
    "bob",
    [...ordinary.map((line, i) => bash(`toolu_${i}`, line)), say("Done.")],
    {
      settings,
    },
  );
  expect(await bob.ended).toBe(0);
  expect(
    bob.hooks.filter(({ name }) => name === "PostToolUse:Bash" || name === "PostToolUseFailure:Bash"),
  ).not.toEqual([]);
  expect(bob.hooks.filter(({ name }) => name === "PreToolUse:Bash")).toEqual([]);
});
