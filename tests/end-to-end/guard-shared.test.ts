/**
 * What all who work in a repository share: git's lock files, as shell lines remove them while git runs, the settings
 * that say where the working tree is, and folders of dependencies.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { nameOfId } from "../session-name.ts";
import { LineWorld, type SceneKind } from "./guard-scene.ts";
import { firstCommit } from "./guard-world.ts";

const w = new LineWorld();
const running: number[] = [];

beforeAll(() => w.start());
afterAll(() => w.dispose());
afterEach(() => {
  for (const pid of running.splice(0)) stop(pid);
});

const both: SceneKind = {
  committed: { "a.ts": "a\n", "b.ts": "b\n", "yarn.lock": "#\n" },
  made: firstCommit,
  ann: { "a.ts": "ann's\n" },
  bob: { "b.ts": "bob's\n" },
};

function stop(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The test has ended it.
  }
  while (existsSync(`/proc/${pid}`));
}

/**
 * Starts a shell outside of this process that runs git, and returns the shell's pid: the daemon leaves out what it started
 * itself. Git holds the index's lock while its hook waits.
 */
function gitRuns(dir: string, line: string): number {
  const { environment: env } = w;
  const begins = `setsid bash -c '${line}; true' </dev/null >/dev/null 2>&1 & echo $!`;
  const pid = Number(execFileSync("bash", ["-c", begins], { cwd: dir, env, encoding: "utf8" }).trim());
  running.push(pid);
  return pid;
}

/** A commit of all changes that waits in its hook: it has the lock of the index meanwhile. */
function commits(dir: string, line = "git commit -qam slow --allow-empty"): number {
  const hook = `${dir}/.git/hooks/pre-commit`;
  mkdirSync(`${dir}/.git/hooks`, { recursive: true });
  writeFileSync(hook, "#!/bin/sh\ntouch .git/waits\nexec sleep 600\n", { mode: 0o755 });
  const pid = gitRuns(dir, line);
  while (!existsSync(`${dir}/.git/waits`));
  return pid;
}

/** The session's client is this process. */
const anchored = (session: string, dir: string, pid: number) =>
  w.event(session, dir, { hook_event_name: "SessionStart", source: "startup" }, { CLAUDE_PID: String(pid) });

/** Where a process table tells who runs, as this test starts them. */
const kinds = process.platform === "linux" ? ["of git"] : [];

describe.each(kinds)("a lock file %s", () => {
  it("of a running commit is not removed, whichever way the line does it", async () => {
    const { dir, ann, bob } = await w.scene(both);
    const pid = commits(dir);
    await anchored(ann, dir, pid);
    const said = await w.asks(bob, dir, "rm -f .git/index.lock");
    expect(said.split("\n")).toEqual([
      "Kite: this command line did not run: `rm` in it would remove a lock file of git that a running git command may hold.",
      expect.stringMatching(
        new RegExp(
          `".git/index.lock" is (?:less than a second|\\d+ s) old; "git commit" \\(process \\d+\\) of "${nameOfId(ann)}" has run for`,
        ),
      ),
      `What to do: wait until that command has ended. Git then removes the lock file itself. Send the same command again if the file is still there: it will run. If the command hangs, tell "${nameOfId(ann)}" or your user.`,
    ]);
    for (const line of [
      "rm -f .git/index.lock",
      "mv .git/index.lock /tmp/x",
      "unlink .git/index.lock",
      "rm .git/*.lock",
      "cd .git && rm -f index.lock HEAD.lock",
      "git status; rm -f .git/index.lock && git add b.ts",
    ])
      expect(await w.asks(bob, dir, line), line).toContain("did not run: `");
    expect(existsSync(`${dir}/.git/index.lock`)).toBe(true);
    expect(await w.trail(bob)).toContainEqual(
      expect.objectContaining({
        type: "rm",
        decision: "deny",
        rule: "guard",
        file: `${dir}/.git/index.lock`,
        why: `would remove a lock file that git commit of ${nameOfId(ann)} may hold`,
      }),
    );
    stop(pid);
    expect(await w.line(bob, dir, "rm -f .git/index.lock")).toBe("");
    expect(existsSync(`${dir}/.git/index.lock`)).toBe(false);
  });

  it("is anybody's to remove if it is older than each process, or if git runs elsewhere", async () => {
    const { dir, bob } = await w.scene(both);
    const other = w.repo("shared-other");
    commits(other);
    writeFileSync(`${dir}/.git/index.lock`, "");
    expect(await w.line(bob, dir, "rm .git/index.lock")).toBe("");
    writeFileSync(`${dir}/.git/packed-refs.lock`, "");
    // Its age is that of its last change of any kind.
    while (!isOlder(dir, "packed-refs.lock", 300));
    gitRuns(dir, "git -c core.pager=cat hash-object --stdin < /dev/zero");
    expect(await w.line(bob, dir, "rm .git/packed-refs.lock")).toBe("");
  });

  it("of what all worktrees share is held by a command in any of them", async () => {
    const { dir, bob } = await w.scene(both);
    const tree = `${dir}-tree`;
    w.git(dir, "worktree", "add", "-q", tree);
    gitRuns(tree, "git hash-object --stdin < /dev/zero");
    await gitRunsIn(tree);
    for (const file of ["refs/heads/topic.lock", "packed-refs.lock", "config.lock", "shallow.lock"]) {
      writeFileSync(`${dir}/.git/${file}`, "");
      expect(await w.asks(bob, dir, `rm .git/${file}`), file).toContain('"git hash-object"');
    }
    expect(await w.asks(bob, dir, "rm .git/refs/heads/*.lock")).toContain("of your user has run for");
    // The index is the other worktree's own.
    writeFileSync(`${dir}/.git/index.lock`, "");
    expect(await w.asks(bob, dir, "rm .git/index.lock")).toBe("");
    writeFileSync(`${dir}/.git/worktrees/${tree.slice(tree.lastIndexOf("/") + 1)}/index.lock`, "");
    expect(await w.asks(bob, dir, "rm .git/worktrees/*/index.lock")).toBe("");
    expect(await w.asks(bob, tree, 'rm "$(git rev-parse --git-dir)/index.lock"')).toBe("");
    const named = `${dir}/.git/worktrees/${tree.slice(tree.lastIndexOf("/") + 1)}/index.lock`;
    expect(await w.asks(bob, tree, `rm ${named}`)).toContain('"git hash-object"');
  });

  it("is not held by what only reads or tidies, nor by the actor's own command", async () => {
    const { dir, bob } = await w.scene(both);
    gitRuns(dir, "git cat-file --batch < <(sleep 600)");
    writeFileSync(`${dir}/.git/index.lock`, "");
    expect(await w.asks(bob, dir, "rm .git/index.lock")).toBe("");
    rmSync(`${dir}/.git/index.lock`);
    const pid = commits(dir);
    await anchored(bob, dir, pid);
    expect(await w.asks(bob, dir, "rm .git/index.lock")).toBe("");
    // One of its agents may run it, too.
    await w.event(bob, dir, { hook_event_name: "SubagentStart", agent_id: "helper", agent_type: "Explore" });
    expect(await w.asks(bob, dir, "rm .git/index.lock")).toContain("of an agent of your own session");
  });

  it("of an actor alone in the repository is its own, and other files of that name are no lock files", async () => {
    const dir = w.repo("shared-alone");
    commits(dir);
    await w.work("only", dir, { "a.ts": "only's\n" });
    expect(await w.asks("only", dir, "rm -f .git/index.lock")).toBe("");
    const { dir: shared, bob } = await w.scene(both);
    commits(shared);
    expect(await w.line(bob, shared, "rm yarn.lock")).toBe("");
  });
});

describe("where git finds the working tree", () => {
  it("is not changed for others unasked; the same line runs", async () => {
    const { dir, ann, bob } = await w.scene(both);
    const said = await w.line(bob, dir, "git config core.bare true");
    expect(said.split("\n")).toEqual([
      `Kite: this command line did not run yet: \`git config core.bare\` in it would change the repository of "${dir}" for everyone: git fails in a checkout in which others work.`,
      expect.stringContaining(`"${nameOfId(ann)}" works in`),
      `What to do: leave it. For a bare repository of your own: git clone --bare ${dir} DIRECTORY`,
      "If you mean all of them, send exactly the same command again: it will run.",
    ]);
    expect(w.git(dir, "config", "core.bare")).toBe("false\n");
    expect(await w.line(bob, dir, "git config core.bare true")).toBe("");
    expect(w.git(dir, "config", "core.bare")).toBe("true\n");
    expect(await w.line(bob, dir, "git config --unset core.bare")).toBe("");
    const trail = await w.trail(bob);
    expect(trail).toContainEqual(
      expect.objectContaining({
        type: "git config core.bare",
        decision: "deny",
        why: `would reach core.bare of a repository where others work: ${nameOfId(ann)}`,
      }),
    );
    expect(trail).toContainEqual(
      expect.objectContaining({
        type: "git config core.bare",
        decision: "allow",
        why: expect.stringContaining("was told and sent it again"),
      }),
    );
  });

  it("is asked about in each form that sets it, from each worktree, and once with all else against the line", async () => {
    const { dir, ann, bob } = await w.scene(both);
    const tree = `${dir}-tree`;
    w.git(dir, "worktree", "add", "-q", tree);
    for (const [line, at, word] of [
      ["git config --local core.bare yes", dir, "git clone --bare"],
      ["git config set core.bare true", dir, "git clone --bare"],
      ["git config -f .git/config CORE.Bare true", dir, "git clone --bare"],
      [`cd / && git -C ${dir} config core.bare 1`, dir, "git clone --bare"],
      ["git config core.worktree /elsewhere", dir, "git --work-tree=/elsewhere COMMAND"],
      ['git config core.worktree "$(pwd)/x"', dir, "COMMAND"],
      ['git config core.worktree "$SOMEWHERE"', dir, "git --work-tree=DIRECTORY COMMAND"],
      ["git config core.bare true", tree, "git clone --bare"],
    ] as const) {
      const said = await w.asks(bob, at, line);
      expect(said, line).toContain("did not run yet: `git config core.");
      expect(said, line).toContain(word);
    }
    const all = await w.asks(bob, dir, "git config core.bare true; git add -A");
    expect(all).toContain("`git config core.bare` in it");
    expect(all).toContain("would include work of another agent");
    expect(await w.asks(bob, dir, "git config core.bare true; git add -A")).toBe("");
    // Another value, or other agents there, is another line or nothing new.
    expect(await w.asks(bob, dir, "git config core.worktree /other")).toContain("did not run yet");
    await w.ends(ann, dir);
    expect(await w.asks(bob, dir, "git config core.worktree /third")).toBe("");
  });

  it.each([
    "git config core.bare",
    "git config get core.bare",
    "git config --get core.bare true",
    "git config core.bare false",
    "git config --unset core.worktree",
    "git config --global core.bare true",
    "git config -f other.ini core.bare true",
    "git -c core.bare=true rev-parse --git-dir",
    "git config user.name bob",
    'git config core.bare "$UNKNOWN"',
  ])("is left alone by: %s", async line => {
    const { dir, bob } = await w.scene(both);
    expect(await w.asks(bob, dir, line)).toBe("");
  });

  it("is an agent's own to change where it is alone", async () => {
    const dir = w.repo("bare-alone");
    await w.work("single", dir, { "a.ts": "x\n" });
    expect(await w.line("single", dir, "git config core.bare true")).toBe("");
  });
});

describe("a folder of dependencies that is a link out of the worktree", () => {
  /** Bob works in a worktree whose dependencies are those of the first one, in which ann works. */
  async function linked() {
    const { dir, ann, bob } = await w.scene(both);
    const tree = `${dir}-linked`;
    w.git(dir, "worktree", "add", "-q", tree);
    for (const name of ["node_modules", "target", "vendor", ".venv"]) {
      w.put(dir, `${name}/x/a.js`, "a\n");
      symlinkSync(`${dir}/${name}`, `${tree}/${name}`);
    }
    const guest = `${bob}-guest`;
    await w.event(guest, tree, { hook_event_name: "SessionStart", source: "startup" });
    return { dir, tree, ann, guest };
  }

  it("is not emptied for others unasked; the same line runs", async () => {
    const { dir, tree, ann, guest } = await linked();
    const said = await w.line(guest, tree, "rm -rf node_modules/*");
    expect(said.split("\n")).toEqual([
      `Kite: this command line did not run yet: \`rm -r\` in it would empty a folder that others use, of the worktree "${dir}".`,
      expect.stringMatching(
        new RegExp(
          `"node_modules" is a link to "${dir}/node_modules"; "${nameOfId(ann)}" works in "[^"]*"; "[^"]*" works in`,
        ),
      ),
      "What to do: have a folder of your own first: rm node_modules && mkdir node_modules",
      "If you mean the folder that they use, send exactly the same command again: it will run.",
    ]);
    expect(existsSync(`${dir}/node_modules/x/a.js`)).toBe(true);
    expect(await w.line(guest, tree, "rm -rf node_modules/*")).toBe("");
    expect(existsSync(`${dir}/node_modules/x/a.js`)).toBe(false);
    // What the refusal says, word for word.
    expect(await w.line(guest, tree, "rm target && mkdir target")).toBe("");
    expect(existsSync(`${dir}/target/x/a.js`)).toBe(true);
    expect(await w.line(guest, tree, "rm -rf target/*")).toBe("");
    expect(existsSync(`${dir}/target/x/a.js`)).toBe(true);
  });

  it("is asked about whatever empties it, in one answer with all else against the line", async () => {
    const { tree, guest } = await linked();
    w.put(tree, "src/c.ts", "c\n");
    for (const [line, name, at] of [
      ["npm ci", "npm ci", tree],
      ["cd src && npm ci", "npm ci", tree],
      ["cargo clean", "cargo clean", tree],
      ["go mod vendor", "go mod vendor", tree],
      ["uv venv", "uv venv", tree],
      ["rm -rf node_modules/", "rm -r", tree],
      ["rm -rf ./node_modules/. ", "rm -r", tree],
      ["cd node_modules && rm -rf *", "rm -r", tree],
      [`rm -rf ${tree}/node_modules/*`, "rm -r", "/"],
      ["find node_modules/ -delete", "find -delete", tree],
    ] as const)
      expect(await w.asks(guest, at, line), line).toContain(
        `\`${name}\` in it would empty a folder that others use`,
      );
    const all = await w.asks(guest, tree, "npm ci && git config core.bare true");
    expect(all).toContain("`npm ci` in it would empty");
    expect(all).toContain("`git config core.bare` in it would change");
    expect(await w.asks(guest, tree, "npm ci && git config core.bare true")).toBe("");
  });

  it("is left alone by what removes the link itself, a part of it, or what is the worktree's own", async () => {
    const { dir, tree, ann, guest } = await linked();
    w.put(tree, "own/node_modules/x.js", "x\n");
    for (const line of [
      "rm -rf node_modules",
      "rm node_modules",
      "rm -rf node_modules/x",
      "rm -rf own/node_modules/*",
      "npm install",
      "npm ci --prefix own",
      "cargo build",
      "find node_modules/ -name a.js",
    ])
      expect(await w.asks(guest, tree, line), line).toBe("");
    // In the worktree whose folders they are, nothing leads out.
    expect(await w.asks(ann, dir, "rm -rf node_modules/* && cargo clean")).toBe("");
  });

  it("is an agent's own to empty where it is alone", async () => {
    const dir = w.repo("linked-alone");
    const tree = `${dir}-tree`;
    w.git(dir, "worktree", "add", "-q", tree);
    w.put(dir, "node_modules/a.js", "a\n");
    symlinkSync(`${dir}/node_modules`, `${tree}/node_modules`);
    expect(await w.line("linked-only", tree, "rm -rf node_modules/* && npm ci --version; true")).toBe("");
  });
});

describe("where the guard does not refuse", () => {
  it.each(["warn", "off"] as const)("%s: the line runs, with a word or without", async mode => {
    await w.restart(mode);
    const { dir, ann, bob } = await w.scene(both);
    const tree = `${dir}-warned`;
    w.git(dir, "worktree", "add", "-q", tree);
    w.put(dir, "node_modules/a.js", "a\n");
    symlinkSync(`${dir}/node_modules`, `${tree}/node_modules`);
    const words = (said: string) => (said === "" ? [] : said.split("\n").map(line => line.slice(0, 40)));
    const said = [
      await w.asks(bob, dir, "git config core.bare true"),
      await w.asks(bob, tree, "rm -rf node_modules/*"),
    ];
    if (mode === "off") return expect(said).toEqual(["", ""]);
    for (const one of said) {
      expect(words(one)).toHaveLength(3);
      expect(one).toContain(nameOfId(ann));
      expect(one).toMatch(/^Kite: `[^`]*` will .*The command line runs anyway\.\n.*\nNext time: /);
    }
  });
});

/** Whether the file has not changed for so long, in milliseconds. */
function isOlder(dir: string, file: string, ms: number): boolean {
  const changed = Number(execFileSync("stat", ["-c", "%.3Z", `${dir}/.git/${file}`], { encoding: "utf8" }));
  return Date.now() - changed * 1000 > ms;
}

/** Resolves when a git process works in the folder. */
async function gitRunsIn(dir: string): Promise<void> {
  const find =
    'for p in /proc/[0-9]*; do [ "$(cat $p/comm)" = git ] && readlink $p/cwd; done 2>/dev/null; true';
  while (!execFileSync("bash", ["-c", find], { encoding: "utf8" }).split("\n").includes(dir));
}
