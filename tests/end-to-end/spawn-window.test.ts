/** Agents in windows of tmux: Claude Code, and another client by a command of the user's configuration. */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ended } from "./kite.ts";
import { SpawnWorld } from "./spawn-world.ts";

const hasTmux = spawnSync("tmux", ["-V"]).status === 0;
let world: SpawnWorld;

beforeEach(async () => {
  world = new SpawnWorld();
  await world.home.start();
});
afterEach(async () => {
  // The server of this world alone: its socket is in this world's folder.
  if (hasTmux) spawnSync("tmux", ["kill-server"], { env: world.environment });
  await world.dispose();
});

/** Panes of this world's tmux, by the agents that they carry. */
function panes(): string[] {
  const words = ["list-panes", "-a", "-F", "#{@kite_spawn} #{window_name} #{pane_dead}"];
  const { stdout } = spawnSync("tmux", words, { env: world.environment, encoding: "utf8" });
  return stdout.split("\n").filter(line => line !== "");
}

/** Resolves once the agent's pane shows the text: its program, tmux and Kite are three processes. */
async function shows(name: string, text: string): Promise<void> {
  let shown = "";
  while (!shown.includes(text)) shown = (await world.kite(["agent", name, "--log"])).out;
}

/**
 * From now on, Kite looks at the agent's window, which it opened, only once that window's program has failed. Tmux 3.3 does not
 * always run its hook `pane-died` when a program fails at once, but it always shows that the pane is dead.
 */
function looksLate(name: string): void {
  const isDead = `'${realTmux()}' list-panes -a -F '#{window_name} #{pane_dead}' | grep -qx '${name} 1'`;
  const waits = `case "$*" in *socket_path*) until ${isDead}; do sleep 0.05; done ;; esac`;
  wrapTmux([waits, `exec '${realTmux()}' "$@"`]);
}

function realTmux(): string {
  return execFileSync("sh", ["-c", "command -v tmux"], { encoding: "utf8" }).trim();
}

/** Puts a shell script before tmux. */
function wrapTmux(lines: readonly string[]): void {
  const file = join(dirname(world.home.work), "bin", "tmux");
  writeFileSync(file, `${["#!/bin/sh", ...lines].join("\n")}\n`);
  chmodSync(file, 0o755);
}

/** Another agent's client: it says which words and variables it got, and runs until it is told to end. */
function other(...words: string[]): void {
  const file = join(dirname(world.home.work), "other");
  const lines = [
    "#!/bin/sh",
    `echo "$KITE_SPAWN|$KITE_SESSION|$CLAUDECODE|$PWD|$*" > '${file}.said'`,
    'echo "on it: $1"',
    // Tmux may lose the last words of a program that ends, so it asks tmux how it is, and ends with the answer: by then tmux
    // has read all before.
    `[ "$1" = FAIL ] && { echo 'cannot \u001b[31mdo\u001b[0m it'`,
    "stty raw -echo; printf '\\033[5n'; head -c 4 > '/dev/null'; exit 3; }",
    `exec cat '${file}.pipe'`,
  ];
  writeFileSync(file, `${lines.join("\n")}\n`);
  chmodSync(file, 0o755);
  execFileSync("mkfifo", [`${file}.pipe`]);
  mkdirSync(dirname(world.home.paths.config), { recursive: true });
  writeFileSync(world.home.paths.config, JSON.stringify({ spawn: { other: [file, ...words] } }));
}

describe("another client", () => {
  test("runs in a window, in a worktree, as a session of its own, until it is stopped", async () => {
    other("{prompt}", "--cd={worktree}", "{model}", "{name}");
    const said = await world.kite(["spawn", "mend it", "--client", "other", "--name", "bob"]);
    if (!hasTmux) {
      expect(said.err).toContain("tmux is not installed");
      return;
    }
    expect(said).toMatchObject({ code: 0 });
    const row = await world.agent("bob");
    const place = join(world.home.work, ".claude/worktrees/bob");
    expect(row).toMatchObject({
      ...{ state: "running", backend: "tmux", client: "other", worktree: place, branch: "worktree-bob" },
      session: row.id,
    });
    await shows("bob", "on it: mend it");
    const told = execFileSync("cat", [join(dirname(world.home.work), "other.said")], { encoding: "utf8" });
    expect(told).toBe(`${row.id}|${row.id}||${place}|mend it --cd=${place} bob\n`);
    expect(panes()).toEqual([`${row.id} bob 0`]);
    expect((await world.kite(["stop", "bob"])).out).toBe("bob: stopped\n");
    expect(panes()).toEqual([]);
    expect((await world.kite(["agents", "prune"])).out).toBe("removed bob\n");
    expect(existsSync(place)).toBe(false);
    expect(world.git("branch", "--list", "worktree-*")).toBe("");
  });

  test("that ends by itself is done; one that fails stays in its window to be read, until it is pruned", async () => {
    other("{prompt}");
    const watcher = await world.watcher();
    const said = await world.kite(["spawn", "mend it", "--client", "other", "--name", "bob", "--here"]);
    if (!hasTmux) {
      expect(said.err).toContain("tmux is not installed");
      return;
    }
    writeFileSync(join(dirname(world.home.work), "other.pipe"), "");
    expect(await world.reached(watcher, "bob", "done")).toMatchObject({
      worktree: world.home.work,
      reason: null,
    });
    looksLate("carol");
    const failed = await world.kite(["spawn", "FAIL", "--client", "other", "--name", "carol", "--here"]);
    expect(failed).toMatchObject({ code: 1, err: expect.stringContaining("failed at once") });
    expect(await world.agent("carol")).toMatchObject({ state: "failed" });
    expect((await world.agent("carol")).output).toContain("on it: FAIL\ncannot do it");
    expect(panes().at(-1)).toMatch(/ carol 1$/);
    await world.kite(["agents", "prune"]);
    expect(panes()).toEqual([]);
  });

  test("has its agent's mark whenever Kite is killed, so that kite agents stop closes it", async () => {
    if (!hasTmux) return;
    other("{prompt}");
    // Kite is killed as soon as tmux has opened the window.
    const kills = 'case "$*" in *new-session*) kill -9 $PPID ;; esac';
    wrapTmux([`'${realTmux()}' "$@"`, "code=$?", kills, "exit $code"]);
    const words = ["spawn", "mend it", "--client", "other", "--name", "bob", "--here"];
    const killed = world.home.startKite(words, world.environment);
    expect(await ended(killed)).toMatchObject({ code: null, err: "" });
    rmSync(join(dirname(world.home.work), "bin", "tmux"));
    const row = await world.agent("bob");
    expect(row).toMatchObject({ state: "starting", handle: null });
    expect(panes()).toEqual([`${row.id} bob 0`]);
    expect(await world.kite(["stop", "bob"])).toMatchObject({ code: 0, out: "bob: stopped\n" });
    expect(panes()).toEqual([]);
  });

  test("has to be in the user's own configuration", async () => {
    mkdirSync(join(world.home.work, ".kite"));
    const hostile = { spawn: { other: ["/bin/sh", "-c", "{prompt}"] } };
    writeFileSync(join(world.home.work, ".kite", "config.json"), JSON.stringify(hostile));
    const said = await world.kite(["spawn", "touch x", "--client", "other"]);
    expect(said).toMatchObject({ code: 1 });
    expect(said.err).toContain("no client is called other; known are claude-code");
    expect(await world.agents()).toEqual([]);
  });
});
