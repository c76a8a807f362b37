/** Agents of a client that Kite knows by its adapter, in windows of tmux; the client is a stand-in. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
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

/** Notes, as the client does, that its person trusts the first of Kite's hooks. */
function trust(): void {
  const folder = join(world.environment["HOME"] ?? "", ".codex");
  const key = `${join(folder, "hooks.json")}:session_start:0:0`;
  writeFileSync(join(folder, "config.toml"), `[hooks.state."${key}"]\ntrusted_hash = "sha256:00"\n`);
}

/** Puts a script before tmux that notes each call once it has ended; returns the calls so far. */
function noteTmux(): () => string {
  const real = execFileSync("sh", ["-c", "command -v tmux"], { encoding: "utf8" }).trim();
  const [file, calls] = [join(dirname(world.home.work), "bin", "tmux"), join(world.home.work, "tmux-calls")];
  writeFileSync(file, `#!/bin/sh\n'${real}' "$@"\ncode=$?\necho "$*" >> '${calls}'\nexit $code\n`);
  chmodSync(file, 0o755);
  return () => (existsSync(calls) ? readFileSync(calls, "utf8") : "");
}

test("an agent of a connected client has its task and its role, is stopped with its window, and merged", async () => {
  await world.kite(["install", "--client", "codex", "--no-mcp"]);
  trust();
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
  expect(said.err).not.toMatch(/not connected|trust/);
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

test("one whose program ends before its session begins has failed at once, with what it printed last", async () => {
  if (!hasTmux) return;
  await world.kite(["install", "--client", "codex", "--no-mcp"]);
  trust();
  const [bin, pipe] = [join(dirname(world.home.work), "bin"), join(world.home.work, "go.pipe")];
  spawnSync("mkfifo", [pipe]);
  const program = `#!/bin/sh\necho 'Not logged in: run codex login.'\nread -r _ < '${pipe}'\nexit 1\n`;
  writeFileSync(join(bin, "codex"), program);
  const calls = noteTmux();
  const ran = world.kite(["spawn", "do it", "--client", "codex", "--name", "cody", "--here"]);
  // Kite looks at the window before and after it records where that is. From then on it follows the record alone.
  const looks = () =>
    calls()
      .split("socket_path")
      .at(-1)
      ?.match(/list-panes/g) ?? [];
  await expect.poll(() => calls().includes("socket_path") && looks().length).toBe(2);
  await writeFile(pipe, "go\n");
  const { code, out } = await ran;
  expect(code).toBe(1);
  expect(out).toMatch(/^cody \(a-\w+-1\): failed/);
  expect(out).toContain("codex ended before its session began; see what it said: kite explain cody --log");
  expect(out).toContain("  | Not logged in: run codex login.");
  expect((await world.kite(["explain", "cody", "--log"])).out).toContain("Not logged in");
});

test.each([
  ["one that ends", false, "failed"],
  ["one that is about to be stopped", true, "stopped"],
] as const)(
  "the daemon sees the end of a process that was to begin a session: %s",
  async (_, stopping, state) => {
    const watcher = await world.watcher();
    const of = { backend: "tmux", client: "codex", project: world.home.work, prompt: "do it" } as const;
    const { spawn: made } = await watcher.ask({ type: "spawn_create", name: "cody", ...of });
    const { id } = made as { readonly id: string };
    const child = spawn("/bin/cat");
    await once(child, "spawn");
    const known = { handle: "tmux", pid: child.pid, ...(stopping ? { stopping } : {}) };
    const person = await world.home.connectPerson();
    expect(await person.ask({ type: "spawn_update", spawn: id, ...known })).toMatchObject({ ok: true });
    const endedAt = performance.now();
    child.kill();
    expect(await world.reached(watcher, "cody", state)).toMatchObject({
      session: null,
      reason: stopping ? null : expect.stringContaining("codex ended before its session began"),
    });
    // Not when its time to register is over.
    expect(performance.now() - endedAt).toBeLessThan(limits.spawnRegisterMs / 2);
  },
);

test("one whose client does not trust Kite's hooks yet begins with a question, and Kite says where to answer it", async () => {
  await world.kite(["install", "--client", "codex", "--no-mcp"]);
  const said = await world.kite(["spawn", "do it", "--client", "codex", "--name", "cody", "--here"]);
  if (!hasTmux) return;
  expect(said.err).toContain("codex does not trust Kite's hooks yet");
  expect(said.err).toContain("answers its question in its window: kite agents attach cody");
  expect(said.err).toContain("kite install --client codex --trust");
});
