/** Agents of a client that Kite knows by its adapter, in windows of tmux; the client is a stand-in. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SpawnWorld } from "./spawn-world.ts";

const hasTmux = spawnSync("tmux", ["-V"]).status === 0;
const standIn = fileURLToPath(new URL("../fixtures/fake-client/codex.mjs", import.meta.url));
let world: SpawnWorld;

beforeEach(async () => {
  world = new SpawnWorld();
  const file = join(dirname(world.home.work), "bin", "codex");
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${standIn}' "$@"\n`);
  chmodSync(file, 0o755);
  await world.home.start();
});
afterEach(async () => {
  // The server of this world alone: its socket is in this world's folder.
  if (hasTmux) spawnSync("tmux", ["kill-server"], { env: world.environment });
  await world.dispose();
});

test("an agent of a connected client has its task and its role, is stopped with its window, and merged", async () => {
  await world.kite(["install", "--client", "codex", "--no-mcp"]);
  await world.kite(["task", "add", "Write it"]);
  const words = [
    "spawn",
    "WRITE the file",
    "--client",
    "codex",
    "--name",
    "cody",
    "--task",
    "1",
    "--role",
    "tester",
  ];
  const said = await world.kite([...words, "--wait"]);
  if (!hasTmux) {
    expect(said.err).toContain("tmux is not installed");
    return;
  }
  expect(said).toMatchObject({ code: 0 });
  expect(said.err).not.toContain("not connected");
  const row = await world.agent("cody");
  expect(row).toMatchObject({ state: "idle", backend: "tmux", client: "codex", branch: "worktree-cody" });
  expect(row.session).toMatch(/^codex-\d+$/);
  expect(row.worktree).toBe(join(world.home.work, ".claude/worktrees/cody"));
  const task = JSON.parse((await world.kite(["task", "show", "1", "--json"])).out).task;
  expect(task).toMatchObject({ status: "active", assignee: row.session });
  expect((await world.kite(["status"])).out).toMatch(/cody.*codex|codex.*cody/s);
  expect((await world.kite(["explain", "cody", "--log"])).out).toContain("codex --disable daemon_auto_start");
  const asAgent = { KITE_SESSION: row.session ?? "" };
  expect(await world.kite(["task", "done", "1", "did it"], asAgent)).toMatchObject({ code: 0 });
  expect((await world.kite(["stop", "cody"])).out).toBe("cody: done\n");
  const identity = { GIT_COMMITTER_NAME: "t", GIT_COMMITTER_EMAIL: "t@localhost" };
  const author = { GIT_AUTHOR_NAME: "t", GIT_AUTHOR_EMAIL: "t@localhost" };
  expect(await world.kite(["merge", "cody"], { ...identity, ...author })).toMatchObject({ code: 0 });
  expect(world.git("show", "main:new.txt")).toBe("new\n");
  expect((await world.kite(["agents", "prune"])).out).toBe("removed cody\n");
  expect(existsSync(row.worktree ?? "")).toBe(false);
});

test("one whose client is not connected runs all the same, and Kite says that nothing holds its edits back", async () => {
  const said = await world.kite(["spawn", "do it", "--client", "codex", "--name", "cody", "--here"]);
  if (!hasTmux) return;
  expect(said.err).toContain("codex is not connected to Kite, so nothing holds its edits back");
  expect(said.err).toContain("kite install --client codex");
  const row = await world.agent("cody");
  expect(row).toMatchObject({ state: "running", session: row.id, client: "codex" });
});
