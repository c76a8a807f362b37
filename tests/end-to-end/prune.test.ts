/** `kite agents prune`: what an ended agent left goes only if nothing is lost, and can go later if something stayed. */
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SpawnWorld } from "./spawn-world.ts";

let world: SpawnWorld;
let place: string;

beforeEach(async () => {
  world = new SpawnWorld();
  await world.home.start();
  place = join(world.home.work, ".claude/worktrees/bob");
});
afterEach(() => world.dispose());

/** An agent that has ended, in its worktree. */
async function ended(...more: string[]): Promise<void> {
  expect(await world.kite(["spawn", "TURN", "--name", "bob", "--wait", ...more])).toMatchObject({ code: 0 });
  expect(await world.kite(["stop", "bob"])).toMatchObject({ code: 0 });
}

function inside(...words: string[]): string {
  return world.git("-C", place, "-c", "user.name=t", "-c", "user.email=t@localhost", ...words);
}

function commit(name: string): string {
  writeFileSync(join(place, `${name}.txt`), `${name}\n`);
  inside("add", `${name}.txt`);
  inside("commit", "-qm", name);
  return inside("rev-parse", "HEAD").trim();
}

async function prune(): Promise<string> {
  const { out } = await world.kite(["agents", "prune"]);
  expect(out).not.toMatch(/--force|--discard|-D\b/);
  return out;
}

/** What the client was asked to remove. */
function removals(): number {
  return world.calls.filter(({ argv }) => argv[0] === "rm").length;
}

async function staysUntouched(why: RegExp): Promise<void> {
  expect(await prune()).toMatch(why);
  expect(removals()).toBe(0);
  expect(existsSync(place)).toBe(true);
}

async function goes(): Promise<void> {
  expect(await prune()).toBe("removed bob\n");
  expect(existsSync(place)).toBe(false);
  expect(world.git("worktree", "list", "--porcelain").match(/^worktree /gm)).toHaveLength(1);
  expect(await world.agents()).toEqual([]);
}

describe.each([[[]], [["--from", "main"]]])("an agent of spawn %j", more => {
  test("that was kept once is removed later", async () => {
    await ended(...more);
    writeFileSync(join(place, "late.txt"), "late\n");
    await staysUntouched(/^kept {4}bob: its worktree has uncommitted changes \(late\.txt\); commit/);
    rmSync(join(place, "late.txt"));
    await goes();
    expect(world.git("branch", "--list", "worktree-*")).toBe("");
  });

  test("whose session its client no longer knows is removed", async () => {
    await ended(...more);
    const { handle } = await world.agent("bob");
    world.forget(handle ?? "");
    await goes();
  });

  test("whose worktree and branch a person removed is removed", async () => {
    await ended(...more);
    world.git("worktree", "remove", place);
    world.git("branch", "-D", "worktree-bob");
    await goes();
  });

  test("whose folder is gone keeps the commits that only git's record of it has", async () => {
    await ended(...more);
    inside("checkout", "-q", "--detach");
    const lost = commit("one");
    rmSync(place, { recursive: true });
    expect(await prune()).toContain(`git branch NAME ${lost.slice(0, 12)}`);
    world.git("branch", "kept", lost);
    await goes();
  });
});

describe("commits that no branch has", () => {
  test.each([
    ["on a detached HEAD", ["checkout", "-q", "--detach"]],
    ["on a tag", ["checkout", "-q", "v1"]],
    ["in a bisect", ["bisect", "start", "HEAD", "first"]],
  ])("%s keep the worktree, until a branch has them", async (_, words) => {
    world.git("tag", "first");
    for (const name of ["b", "c", "d"])
      world.git(
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@localhost",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        name,
      );
    world.git("tag", "v1");
    await ended();
    inside(...words);
    const id = commit("one");
    const advice = `what is wanted of that needs a branch: git branch NAME ${id.slice(0, 12)}`;
    await staysUntouched(new RegExp(`its worktree has 1 commit that no branch has; ${advice}`));
    world.git("branch", "kept", id);
    await goes();
  });

  test("of a branch that the agent deleted keep the worktree", async () => {
    await ended();
    const id = commit("one");
    inside("checkout", "-q", "--detach", "main");
    inside("branch", "-D", "worktree-bob");
    await staysUntouched(/its worktree's reflog alone has 1 commit that it left behind/);
    world.git("branch", "kept", id);
    await goes();
  });

  test("that a reset left behind keep the worktree", async () => {
    await ended();
    const id = commit("one");
    inside("reset", "-q", "--hard", "HEAD~1");
    await staysUntouched(new RegExp(`reflog alone .* git branch NAME ${id.slice(0, 12)}`));
  });

  test("that its agent amended, rebased or put together are replaced, so they keep nothing", async () => {
    await ended();
    commit("one");
    writeFileSync(join(place, "one.txt"), "better\n");
    inside("commit", "-qa", "--amend", "-m", "better");
    world.git(
      "-c",
      "user.name=t",
      "-c",
      "user.email=t@localhost",
      "commit",
      "-q",
      "--allow-empty",
      "-m",
      "m",
    );
    inside("rebase", "-q", "main");
    commit("two");
    commit("three");
    inside("reset", "-q", "--soft", "HEAD~2");
    inside("commit", "-qm", "two and three");
    world.git("merge", "-q", "--ff-only", "worktree-bob");
    await goes();
  });

  test("on a branch of another name stay there", async () => {
    await ended();
    inside("checkout", "-q", "-b", "other");
    const id = commit("one");
    await goes();
    expect(world.git("rev-parse", "other").trim()).toBe(id);
  });

  test("of another worktree whose folder is gone stay known to git", async () => {
    await ended();
    const other = join(world.home.work, "..", "other");
    world.git("worktree", "add", "-q", "--detach", other);
    rmSync(other, { recursive: true });
    expect(await prune()).toBe("removed bob\n");
    expect(world.git("worktree", "list", "--porcelain").match(/^worktree /gm)).toHaveLength(2);
  });
});

describe("files", () => {
  test.each([["--assume-unchanged"], ["--skip-worktree"]])(
    "that are changed and marked %s are work",
    async mark => {
      await ended();
      inside("update-index", mark, "a.ts");
      writeFileSync(join(place, "a.ts"), "changed\n");
      expect(inside("status", "--porcelain")).toBe("");
      await staysUntouched(/uncommitted changes \(a\.ts\)/);
      // The look changes no mark.
      expect(inside("status", "--porcelain")).toBe("");
      writeFileSync(join(place, "a.ts"), "one\n");
      await goes();
    },
  );

  test("that a sparse checkout leaves out are none", async () => {
    await ended();
    inside("sparse-checkout", "set", "--no-cone", "/nothing");
    expect(existsSync(join(place, "a.ts"))).toBe(false);
    await goes();
  });

  test("that are ignored keep it only as configuration without an equal copy, and are never copied", async () => {
    await ended();
    const ignored = [".env.local", "node_modules/", "*.log", "certs/", "link.key"];
    writeFileSync(join(world.home.work, ".git/info/exclude"), `${ignored.join("\n")}\n.claude\n`);
    for (const folder of ["node_modules/x", "certs"]) mkdirSync(join(place, folder), { recursive: true });
    for (const name of ["node_modules/x/.env", "all.log", "certs/readme"])
      writeFileSync(join(place, name), "made\n");
    symlinkSync(join(world.home.work, "a.ts"), join(place, "link.key"));
    writeFileSync(join(place, ".env.local"), "KEY=1\n");
    writeFileSync(join(place, "certs/own.pem"), "pem\n");
    await staysUntouched(
      /git ignores \.env\.local, certs\/own\.pem in its worktree, and the main worktree has no equal/,
    );
    expect(existsSync(join(world.home.work, ".env.local"))).toBe(false);
    writeFileSync(join(world.home.work, ".env.local"), "KEY=2\n");
    rmSync(join(place, "certs/own.pem"));
    await staysUntouched(/git ignores \.env\.local in its worktree/);
    writeFileSync(join(world.home.work, ".env.local"), "KEY=1\n");
    await goes();
  });

  test("in the stash of an unfinished rebase are work", async () => {
    await ended();
    commit("one");
    world.git("merge", "-q", "--ff-only", "worktree-bob");
    writeFileSync(join(place, "a.ts"), "changed\n");
    expect(() => inside("rebase", "-q", "--autostash", "-x", "false", "HEAD~1")).toThrow();
    expect(inside("status", "--porcelain")).toBe("");
    await staysUntouched(/a rebase is not finished in its worktree/);
  });
});

test("a worktree that somebody locked, or works in, stays", async () => {
  await ended();
  world.git("worktree", "lock", "--reason", "on a stick", place);
  await staysUntouched(/somebody has locked its worktree \(on a stick\)/);
  world.git("worktree", "unlock", place);
  const ann = await world.home.session("ann", { project: world.home.work, worktree: place, name: "Ann" });
  await staysUntouched(/Ann works in its worktree; stop that session first/);
  await ann.ask({ type: "deregister", id: "ann" });
  world.git("worktree", "lock", "--reason", "claude session bob (pid 1)", place);
  await goes();
  ann.destroy();
});

test("a worktree that is a later agent's now is not touched for the earlier one", async () => {
  await ended();
  world.git("worktree", "remove", place);
  world.git("branch", "-D", "worktree-bob");
  await world.kite(["spawn", "TURN", "--name", "bob", "--wait"]);
  await staysUntouched(/its worktree is that of a later agent now/);
});
