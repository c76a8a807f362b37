/** A role that a person or a spawn gave is enforced where nobody set the gate of roles, and every answer says what is. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Client, Home, type Message } from "./daemon.ts";

let home: Home;
let client: Client;
let count = 0;

const git = (cwd: string, ...words: readonly string[]) =>
  execFileSync("git", ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", ...words], {
    cwd,
    stdio: "pipe",
  });

beforeEach(() => {
  home = new Home();
  git(home.work, "init", "-q");
  writeFileSync(join(home.work, "a.ts"), "old\n");
  git(home.work, "add", ".");
  git(home.work, "commit", "-qm", "first");
});
afterEach(() => home.dispose());

async function start(config: Message = {}): Promise<void> {
  mkdirSync(home.paths.home, { recursive: true, mode: 0o700 });
  writeFileSync(home.paths.config, JSON.stringify(config));
  await home.start();
  client = await home.connect();
}

/** Sends the event before a tool's call of `id`; returns why it was denied, and what the agent is told beside it. */
async function before(tool_name: string, tool_input: Message, id = "ann", cwd = home.work) {
  count += 1;
  const event = {
    hook_event_name: "PreToolUse",
    session_id: id,
    prompt_id: "p1",
    cwd,
    tool_name,
    tool_use_id: `use-${count}`,
    tool_input,
  };
  const { output } = await client.ask({ type: "hook", event });
  const said = (output === "" ? {} : JSON.parse(String(output))) as Message;
  const specific = (said["hookSpecificOutput"] ?? {}) as Message;
  return {
    denied: (specific["permissionDecisionReason"] ?? null) as string | null,
    told: (specific["additionalContext"] ?? null) as string | null,
  };
}

const edit = (file: string, id?: string, cwd = home.work) =>
  before("Edit", { file_path: join(cwd, file), old_string: "old", new_string: "new" }, id, cwd);
const bash = (command: string, id?: string, cwd?: string) => before("Bash", { command }, id, cwd);

const register = (id: string, cwd = home.work, more: Message = {}) =>
  client.ask({ type: "register", id, name: id, cwd, ...more });

describe("a role that a person gave", () => {
  test("is enforced where the gate was never set, until it is taken back", async () => {
    await start();
    await register("ann");
    const said = await home.kite("role", "ann", "researcher");
    expect(said).toContain("enforced: no edits; no git writes; no new tasks; takes green");
    expect(said).toContain("advice: no tests or builds");
    expect(said).toContain("kite role ann --clear");
    const first = await edit("a.ts");
    expect(first.denied).toContain(
      "role: you are researcher (your user gave you that role), which changes no",
    );
    expect(first.told).toContain("Kite refuses edits, git commands, new tasks and claims beyond it;");
    expect((await bash("git add a.ts")).denied).toContain("runs no git command that writes");
    expect(await client.ask({ type: "task_create", id: "ann", description: "more" })).toMatchObject({
      code: "role_limit",
    });
    expect(await home.kite("role", "ann", "--clear")).toContain("ann is implementer (by default)");
    const next = await edit("a.ts");
    expect(next).toEqual({ denied: null, told: expect.stringContaining("took back the role") });
  });

  test("is advice where the gate was set to off, and every answer says so", async () => {
    await start({ gates: { role: "off" } });
    await register("ann");
    const said = await home.kite("role", "ann", "researcher");
    expect(said).toContain("enforced: takes green\n");
    expect(said).toContain("advice: no edits; no git writes; no new tasks; no tests or builds");
    expect(said).toContain("The gate role is set to off (kite config).");
    expect(await edit("a.ts")).toEqual({
      denied: null,
      told: expect.stringContaining("Kite refuses claims beyond it; to the rest you keep yourself"),
    });
    expect(await home.kite("role")).toMatch(/ann +researcher +given by a person +advice/);
    for (const command of ["explain", "agent"])
      expect(await home.kite(command, "ann")).toMatch(/role +researcher, given by a person, advice\n/);
  });

  test("stays enforced for others' gates in the project's file, which only makes more strict", async () => {
    mkdirSync(join(home.work, ".kite"));
    const file = join(home.work, ".kite/config.json");
    writeFileSync(file, JSON.stringify({ gates: { role: "warn" } }));
    await start();
    await register("ann");
    await register("bob");
    await home.kite("role", "ann", "researcher");
    await client.ask({ type: "declare", id: "bob", identity: { role: "researcher" } });
    expect((await edit("a.ts")).denied).toContain("you are researcher");
    const warned = await edit("a.ts", "bob");
    expect(warned).toEqual({ denied: null, told: expect.stringContaining("you are researcher") });
    const shown = await home.kite("role");
    expect(shown).toMatch(/ann +researcher +given by a person +enforced/);
    expect(shown).toMatch(/bob +researcher +declared +warned/);
    expect(await home.kite("explain", "ann")).toMatch(/role +researcher, given by a person, enforced\n/);
    expect(await home.kite("explain", "bob")).toMatch(/role +researcher, declared, warned\n/);
    expect(await home.kite("config")).toMatch(/gates +givenRole=enforce, else role=warn /);
  });

  test("does not hold back an agent that only declared one", async () => {
    await start();
    await register("ann");
    await client.ask({ type: "declare", id: "ann", identity: { role: "researcher" } });
    expect(await edit("a.ts")).toEqual({ denied: null, told: null });
    expect(await bash("git add a.ts")).toEqual({ denied: null, told: null });
    expect(await home.kite("role")).toMatch(/ann +researcher +declared +advice/);
  });
});

test("a spawned tester delivers: it commits in its own worktree, and there alone", async () => {
  await start();
  const own = join(home.work, "wt");
  git(home.work, "worktree", "add", "-q", own, "-b", "tests-of-a");
  const made = await client.ask({
    type: "spawn_create",
    project: home.work,
    name: "tess",
    role: "qa",
    backend: "background",
    client: "claude-code",
  });
  const { id } = made["spawn"] as Message;
  await register("tess", own, { spawn: id });
  expect(await home.kite("role")).toMatch(/tess +tester +given as it began +enforced/);
  const at = (line: string) => bash(line, "tess", own);
  expect((await edit("a.ts", "tess", own)).denied).toContain("changes tests only");
  expect((await edit("a.test.ts", "tess", own)).denied).toBe(null);
  expect(await at("git add a.test.ts && git commit -m 'Test a'")).toEqual({ denied: null, told: null });
  for (const line of [
    "git push",
    "git reset HEAD~1",
    "git stash",
    "git merge main",
    `git -C ${home.work} commit -m x`,
    `git --git-dir=${home.work}/.git commit -m x`,
  ])
    expect([line, (await at(line)).denied]).toEqual([
      line,
      expect.stringContaining(
        "runs git add and git commit in a worktree of its own, and no other git command",
      ),
    ]);
  // In the checkout that all share nobody has a branch of their own.
  await register("ann");
  await home.kite("role", "ann", "tester");
  for (const line of ["git commit -m x", "kite commit -m x"])
    expect([line, (await bash(line)).denied]).toEqual([
      line,
      expect.stringContaining("in a worktree of its own"),
    ]);
  expect(await at("kite commit -m x")).toEqual({ denied: null, told: null });
});

describe("a declaration", () => {
  const missing = async (more: Message = {}) => {
    const reply = await client.ask({ type: "declare", id: "ann", identity: { team: "web" }, ...more });
    return (reply["missing"] as string[]).map(sentence => sentence.split(":", 1)[0]);
  };

  test("lists nothing as missing while no gate asks for it", async () => {
    await start();
    await register("ann");
    expect(await missing({ codeView: [{ file: "a.ts" }] })).toEqual([]);
    const declared = await home.command(["declare", "--team", "web"], { KITE_SESSION: "ann" });
    expect(declared.out).toContain("No gate asks for more.");
  });

  test("lists what the gates of its project ask for", async () => {
    await start({ gates: { identity: "warn" } });
    await register("ann");
    expect(await missing({ codeView: [{ file: "a.ts" }] })).toEqual(["identity.role"]);
    mkdirSync(join(home.work, ".kite"));
    writeFileSync(join(home.work, ".kite/config.json"), JSON.stringify({ gates: { quality: "enforce" } }));
    await expect
      .poll(missing)
      .toEqual([
        "identity.role",
        "understanding.task",
        "understanding.confidence",
        "understanding.reason",
        "understanding.plan",
        "codeView",
        "codeView",
      ]);
  });
});
