/** Commits whose hook stashes or rewrites files: edits of others wait for them, and whose work stays in a stash is told. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nameOfId } from "../session-name.ts";
import { LineWorld, read, type SceneKind } from "./guard-scene.ts";
import { firstCommit } from "./guard-world.ts";

const w = new LineWorld();
let uses = 0;

beforeAll(() => w.start());
afterAll(() => w.dispose());

const both: SceneKind = {
  committed: { "a.ts": "a\n", "b.ts": "b\n", "c.ts": "c\n" },
  made: firstCommit,
  ann: { "a.ts": "ann's\n", "ann.ts": "ann's new\n" },
  bob: { "b.ts": "bob's\n" },
};

const line = "git commit -qm bob -- b.ts";

function program(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
}

const hook = (dir: string, text: string, name = "pre-commit") => program(`${dir}/.git/hooks/${name}`, text);

/** The hook before a shell line; `ends` runs the line, if `runs`, and is the hook behind it. */
async function begins(session: string, dir: string, command: string) {
  uses += 1;
  const call = { tool_name: "Bash", tool_input: { command }, tool_use_id: `h${uses}` };
  expect(read(await w.event(session, dir, { hook_event_name: "PreToolUse", ...call }))).toBe("");
  const ends = async (runs = true) => {
    if (runs) spawnSync("bash", ["-c", command], { cwd: dir, env: w.environment, stdio: "ignore" });
    const ended = { hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 5, ...call };
    await w.event(session, dir, ended);
  };
  return { ends, call };
}

/** An edit that has asked; `isOver` tells whether it has its answer. */
function edits(session: string, dir: string, file: string) {
  uses += 1;
  const call = { tool_name: "Edit", tool_input: { file_path: `${dir}/${file}` }, tool_use_id: `h${uses}` };
  const state = { isOver: false };
  const answer = w.event(session, dir, { hook_event_name: "PreToolUse", ...call }).then(said => {
    state.isOver = true;
    return read(said);
  });
  const ends = async () => {
    await w.event(session, dir, { hook_event_name: "PostToolUse", tool_response: {}, ...call });
    await w.event(session, dir, { hook_event_name: "Stop" });
  };
  return { answer, state, ends };
}

/** A round trip behind which an edit that waits for nothing has its answer. */
async function settles(session: string, dir: string): Promise<void> {
  for (let i = 0; i < 3; i += 1)
    await w.event(session, dir, { hook_event_name: "UserPromptSubmit", prompt: "look" });
}

/** Whether an edit of ann's waits for bob's line, which ends then. */
async function waits(dir: string, ann: string, bob: string, command = line): Promise<boolean> {
  const commit = await begins(bob, dir, command);
  const edit = edits(ann, dir, "c.ts");
  await settles(bob, dir);
  const { isOver } = edit.state;
  await commit.ends(false);
  expect(await edit.answer).not.toContain("did not run");
  await edit.ends();
  return !isOver;
}

describe("an edit waits for a commit of another agent", () => {
  it.each<[what: string, prepares: (dir: string) => void]>([
    ["that stashes", dir => hook(dir, "git stash push -q --keep-index && npm test; git stash pop -q")],
    ["that formats", dir => hook(dir, "npx prettier --write src")],
    ["that adds", dir => hook(dir, "./format.sh; git -C . add -u")],
    ["of lint-staged", dir => hook(dir, "npx lint-staged")],
    ["of pre-commit", dir => hook(dir, 'exec "$PYTHON" -mpre_commit "$@"')],
    ["of lefthook", dir => hook(dir, 'lefthook run "pre-commit" "$@"')],
    ["of a message", dir => hook(dir, "git checkout -q -- .", "commit-msg")],
    [
      "of husky",
      dir => {
        w.git(dir, "config", "core.hooksPath", ".husky/_");
        program(`${dir}/.husky/_/pre-commit`, '. "$(dirname "$0")/h"');
        w.put(dir, ".husky/pre-commit", "npx lint-staged\n");
      },
    ],
    [
      "that the project's files name",
      dir => {
        hook(dir, "npm run precommit");
        w.put(dir, "package.json", '{"lint-staged": {"*": "prettier"}}\n');
      },
    ],
    [
      "that was there before Kite's own",
      dir => {
        hook(dir, "# Written by kite install --client git. It asks.\nexit 0");
        hook(dir, "npx lint-staged", "pre-commit.before-kite");
      },
    ],
  ])("with a hook %s", async (_, prepares) => {
    const { dir, ann, bob } = await w.scene(both);
    prepares(dir);
    expect(await waits(dir, ann, bob)).toBe(true);
    expect(await waits(dir, ann, bob, "git commit -qm bob --no-verify -- b.ts")).toBe(false);
    expect(await waits(dir, ann, bob, "git status -s -- b.ts")).toBe(false);
  });

  it.each<[what: string, prepares: (dir: string) => void]>([
    ["none", () => {}],
    ["one that looks", dir => hook(dir, "# git stash\necho running git add; npm test")],
    ["one that git skips", dir => w.put(dir, ".git/hooks/pre-commit.sample", "git stash\n")],
    ["one that is not executable", dir => w.put(dir, ".git/hooks/pre-commit", "#!/bin/sh\ngit stash\n")],
    [
      "Kite's own",
      dir => hook(dir, "# Written by kite install --client git. It asks.\nnode kite commit-check"),
    ],
  ])("but not with %s", async (_, prepares) => {
    const { dir, ann, bob } = await w.scene(both);
    prepares(dir);
    expect(await waits(dir, ann, bob)).toBe(false);
  });

  it("and reads what the hook changed", async () => {
    const { dir, ann, bob } = await w.scene(both);
    hook(dir, "sed -i s/c/formatted/ c.ts");
    const commit = await begins(bob, dir, line);
    const edit = edits(ann, dir, "c.ts");
    await settles(bob, dir);
    expect(edit.state.isOver).toBe(false);
    await commit.ends();
    expect(w.read(dir, "c.ts")).toBe("formatted\n");
    expect(await edit.answer).toContain('"c.ts"');
    await edit.ends();
  });

  it("in that worktree alone, of other agents alone, and as long as the line may run", async () => {
    const { dir, ann, bob } = await w.scene(both);
    hook(dir, "npx lint-staged");
    const tree = `${dir}/inner`;
    w.git(dir, "worktree", "add", "-q", tree);
    const guest = `${ann}-guest`;
    await w.event(guest, tree, { hook_event_name: "SessionStart", source: "startup" });
    const commit = await begins(bob, dir, line);
    for (const [session, at] of [
      [guest, tree],
      [bob, dir],
    ] as const) {
      const edit = edits(session, at, "c.ts");
      expect(await edit.answer).toBe("");
      await edit.ends();
    }
    // The end of bob's turn, which came with his edit, ends it.
    const next = edits(ann, dir, "c.ts");
    expect(await next.answer).toBe("");
    await next.ends();
    await commit.ends(false);
    const asked = await begins(bob, dir, line);
    const edit = edits(ann, dir, "c.ts");
    await settles(ann, tree);
    expect(edit.state.isOver).toBe(false);
    // While a person is asked about the line, nothing runs.
    await w.event(bob, dir, { hook_event_name: "PermissionRequest", ...asked.call });
    expect(await edit.answer).toBe("");
    await edit.ends();
    await asked.ends(false);
  });

  it("a shell line that changes a file in place waits, too", async () => {
    const { dir, ann, bob } = await w.scene(both);
    hook(dir, "npx lint-staged");
    const commit = await begins(bob, dir, line);
    uses += 1;
    const call = {
      tool_name: "Bash",
      tool_input: { command: "sed -i s/c/d/ c.ts" },
      tool_use_id: `h${uses}`,
    };
    let isOver = false;
    const said = w.event(ann, dir, { hook_event_name: "PreToolUse", ...call }).finally(() => {
      isOver = true;
    });
    await settles(bob, dir);
    expect(isOver).toBe(false);
    await commit.ends(false);
    expect(await said).toBe("");
    await w.event(ann, dir, { hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 5, ...call });
  });

  it("one that gives up while it waits leaves no lock", async () => {
    const { dir, ann, bob } = await w.scene(both);
    hook(dir, "npx lint-staged");
    const commit = await begins(bob, dir, line);
    const client = await w.client();
    const tool_input = { file_path: `${dir}/c.ts` };
    const event = {
      session_id: ann,
      cwd: dir,
      prompt_id: "p",
      hook_event_name: "PreToolUse",
      tool_name: "Edit",
    };
    void client
      .ask({ type: "hook", event: { ...event, tool_input, tool_use_id: "given-up" }, env: {} })
      .catch(() => undefined);
    await settles(bob, dir);
    client.destroy();
    await settles(bob, dir);
    await commit.ends(false);
    const { rows } = await (await w.client()).ask({ type: "query", target: "locks" });
    expect((rows as { path: string }[]).filter(({ path }) => path === `${dir}/c.ts`)).toEqual([]);
    const edit = edits(bob, dir, "c.ts");
    expect(await edit.answer).toBe("");
    await edit.ends();
  });

  it("nothing waits for an agent that is alone", async () => {
    const dir = w.repo("hook-alone");
    hook(dir, "npx lint-staged");
    await w.work("hook-only", dir, { "a.ts": "x\n" });
    const commit = await begins("hook-only", dir, "git commit -qam mine");
    const late = edits("hook-late", dir, "b.ts");
    expect(await late.answer).toBe("");
    await late.ends();
    await commit.ends(false);
  });
});

describe("a stash entry that a hook leaves", () => {
  const leaves = "git stash push -q -u && exit 1";
  const prompt = async (session: string, dir: string) =>
    read(await w.event(session, dir, { hook_event_name: "UserPromptSubmit", prompt: "go on" }));

  it("is told to those who have work in it, and is its session's", async () => {
    const { dir, ann, bob } = await w.scene(both);
    hook(dir, leaves);
    const commit = await begins(bob, dir, line);
    await commit.ends();
    expect(existsSync(`${dir}/ann.ts`)).toBe(false);
    const [entry = ""] = w.git(dir, "stash", "list", "--format=%H").trim().split("\n");
    const told = await prompt(ann, dir);
    expect(told).toMatch(
      new RegExp(
        `a hook of \`git commit\` of "${nameOfId(bob)}" put your uncommitted work into a stash entry and left it there: "(?:a.ts", "ann.ts|ann.ts", "a.ts)"\\.`,
      ),
    );
    const [, look = ""] = /: (git stash show .*)/.exec(told) ?? [];
    expect(look).toContain(entry.slice(0, 10));
    expect(w.shell(dir, look)).toMatch(/ann's\n(?:.*\n)*.*ann's new/);
    // It says all that there is to say of these files.
    expect(told).not.toContain("in which you have work, changed while");
    expect(await prompt(ann, dir)).not.toContain("stash entry");
    expect(await prompt(bob, dir)).not.toContain("left it there");
    expect(await w.asks(ann, dir, "git stash drop")).toContain("would take a stash entry of another agent");
    expect(await w.asks(bob, dir, "git stash drop")).toBe("");
  });

  it("makes the hook one that edits wait for from then on, whatever its text says", async () => {
    const { dir, ann, bob } = await w.scene(both);
    program(`${w.folder}/tool-${bob}`, leaves);
    hook(dir, `${w.folder}/tool-${bob}`);
    expect(await waits(dir, ann, bob)).toBe(false);
    const commit = await begins(bob, dir, line);
    await commit.ends();
    expect(await prompt(ann, dir)).toContain("left it there");
    expect(await waits(dir, ann, bob)).toBe(true);
    // Another text is another hook.
    hook(dir, `true; ${w.folder}/tool-${bob}`);
    expect(await waits(dir, ann, bob)).toBe(false);
  });

  it("so does a change of others' files while git commands alone run", async () => {
    const { dir, ann, bob } = await w.scene(both);
    program(`${w.folder}/change-${bob}`, "echo more >> a.ts");
    hook(dir, `${w.folder}/change-${bob}`);
    const built = await begins(bob, dir, `npm run build; ${line}`);
    w.put(dir, "a.ts", "built\n");
    await built.ends(false);
    expect(await waits(dir, ann, bob)).toBe(false);
    const commit = await begins(bob, dir, `git add b.ts && ${line}`);
    await commit.ends();
    expect(await waits(dir, ann, bob)).toBe(true);
  });
});
