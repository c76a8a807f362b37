/** Spawned agents under odd prompts, names, places and callers, and in races with those who stop them. */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { Mcp } from "./mcp-client.ts";
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

/** Panes of this world's tmux. */
function panes(): string[] {
  const words = ["list-panes", "-a", "-F", "#{@kite_spawn} #{window_name} #{pane_dead}"];
  const { stdout } = spawnSync("tmux", words, { env: world.environment, encoding: "utf8" });
  return stdout.split("\n").filter(line => line !== "");
}

/** A client that writes down its words and its directory, one a line, and runs until it is stopped. */
function teller(): string {
  const file = join(dirname(world.home.work), "teller");
  writeFileSync(
    file,
    `#!/bin/sh\n{ pwd; for word; do printf '%s\\n' "$word"; done; } > '${file}.said'\nexec cat '${file}.pipe'\n`,
  );
  chmodSync(file, 0o755);
  execFileSync("mkfifo", [`${file}.pipe`]);
  mkdirSync(dirname(world.home.paths.config), { recursive: true });
  writeFileSync(world.home.paths.config, JSON.stringify({ spawn: { teller: [file, "{prompt}", "end"] } }));
  return `${file}.said`;
}

/** What the client has written down by now: it begins when its window is there, beside Kite. */
function told(said: string): string {
  return existsSync(said) ? readFileSync(said, "utf8") : "";
}

test("without the client there is no record, whoever asks for it", async () => {
  const few = join(dirname(world.home.work), "few");
  mkdirSync(few);
  for (const name of ["git", "sh"]) {
    const real = execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    symlinkSync(real, join(few, name));
  }
  const said = await world.kite(["spawn", "mend it", "--name", "bob"], { PATH: few });
  expect(said).toMatchObject({ code: 1, err: expect.stringContaining("claude is not installed") });
  const inWindow = await world.kite(["spawn", "mend it", "--tmux"], { PATH: few });
  expect(inWindow.err).toContain("claude is not installed");
  const mcp = await Mcp.start(world.home, { env: { ...world.environment, PATH: few } });
  const tool = await mcp.call("kite_spawn", { prompt: "mend it", here: true });
  expect(tool.text).toMatch(/^Refused \(program_failed\): claude is not installed/);
  await mcp.close();
  expect(await world.agents()).toEqual([]);
  expect(world.git("worktree", "list").trim().split("\n")).toHaveLength(1);
});

describe("a prompt", () => {
  test.each([["--help me"], ["-"], ["two\nlines"], ["日本 🪁 'x' \"y\" $(z) `w` \\"], ["mend it;"]])(
    "%j reaches the client as one word",
    async prompt => {
      const said = await world.kite(["spawn", "--name", "bob", "--", prompt]);
      expect(said).toMatchObject({ code: 0 });
      expect(world.calls[0]?.argv[1]?.trimStart()).toBe(prompt);
    },
  );

  test("of blanks is none", async () => {
    const said = await world.kite(["spawn", "   ", "--name", "bob"]);
    expect(said.err).toContain("say what the agent is to do");
    expect(await world.agents()).toEqual([]);
  });

  test("that is too long, or that no program can get, is refused before anything is recorded", async () => {
    const mcp = await Mcp.start(world.home, { env: world.environment });
    const zero = await mcp.call("kite_spawn", { prompt: "a\u0000b" });
    expect(zero).toMatchObject({ isError: true, text: expect.stringContaining("NUL") });
    expect(await world.agents()).toEqual([]);
    await mcp.close();
    const long = await world.kite(["spawn", "--name", "bob", "x".repeat(limits.spawnPromptBytes + 1)]);
    expect(long.err).toContain("put the rest into a file");
    expect(await world.agents()).toEqual([]);
  });

  test.each([["mend it;"], ["a\\;"], ["x;;"], [";"]])(
    "%j reaches a client in a window as one word",
    async prompt => {
      if (!hasTmux) return;
      const said = teller();
      const ran = await world.kite(["spawn", prompt, "--client", "teller", "--here"]);
      expect(ran).toMatchObject({ code: 0 });
      await expect.poll(() => told(said)).toBe(`${world.home.work}\n${prompt}\nend\n`);
    },
  );

  test("is read in a directory whose name tmux would expand", async () => {
    if (!hasTmux) return;
    const said = teller();
    const odd = join(world.home.work, "a #S b #(touch x) é;");
    mkdirSync(odd);
    await world.home.kiteAt(odd, world.environment, "spawn", "mend it", "--client", "teller", "--here");
    await expect.poll(() => told(said)).toBe(`${odd}\nmend it\nend\n`);
    expect(existsSync(join(odd, "x"))).toBe(false);
  });

  test("too long for tmux fails with words, and leaves no window", async () => {
    if (!hasTmux) return;
    teller();
    const ran = await world.kite([
      "spawn",
      "x".repeat(30_000),
      "--client",
      "teller",
      "--here",
      "--name",
      "bob",
    ]);
    expect(ran).toMatchObject({ code: 1 });
    expect(ran.err).toContain("tmux takes 15360; put the prompt into a file");
    expect(panes()).toEqual([]);
    expect(await world.agent("bob")).toMatchObject({ state: "failed" });
  });
});

describe("a caller", () => {
  test("that hides its session's variables is no person", async () => {
    const ann = await world.home.session("ann", { project: world.home.work, name: "Ann" });
    await world.kite(["spawn", "TURN", "--name", "bob", "--wait"]);
    const hidden = { CLAUDECODE: "1" };
    for (const words of [
      ["spawn", "TURN"],
      ["stop", "bob"],
      ["replace", "bob"],
      ["agents", "prune"],
    ])
      expect(await world.kite([...words, "--json"], hidden)).toMatchObject({
        code: 1,
        out: expect.stringContaining('"person_only"'),
      });
    expect(await world.agents()).toMatchObject([{ name: "bob", state: "idle" }]);
    ann.destroy();
  });

  test("of another project means no agent of this one by its name", async () => {
    await world.kite(["spawn", "TURN", "--name", "bob", "--wait"]);
    const { id } = await world.agent("bob");
    const other = join(dirname(world.home.work), "other-project");
    mkdirSync(other);
    execFileSync("git", ["init", "-q", other]);
    const there = (...words: string[]) => world.kite(words, {}, other);
    const foreign = await there("stop", "bob");
    expect(foreign).toMatchObject({ code: 1 });
    expect(foreign.err).toContain(`use its id, ${id}`);
    expect(await world.agent("bob")).toMatchObject({ state: "idle" });
    expect(await there("stop", id)).toMatchObject({ code: 0 });
    const kept = await there("agents", "prune", id);
    expect(kept).toMatchObject({ code: 1 });
    expect(kept.out).toContain("run kite agents prune there");
    expect((await world.kite(["agents", "prune"])).out).toBe("removed bob\n");
  });
});

describe("an agent that is stopped", () => {
  test("while its client starts does not go on", async () => {
    const spawning = world.kite(["spawn", "TURN", "--name", "bob"], world.holding());
    await world.held();
    expect((await world.kite(["stop", "bob"])).out).toBe("bob: stopped\n");
    await world.release();
    expect(await spawning).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        "bob has ended (stopped) while its client started, so its client was ended",
      ),
    });
    expect(world.calls.map(({ argv }) => argv[0])).toContain("stop");
  });

  test("keeps why it failed when its work is not removed, and a live one gets no reason", async () => {
    const watcher = await world.watcher();
    await world.kite(["spawn", "WRITE", "--name", "bob", "--wait"]);
    await world.kite(["agents", "prune", "bob"]);
    expect(await world.agent("bob")).toMatchObject({ state: "idle", reason: null });
    process.kill(world.sessions[0] ?? 0, "SIGKILL");
    await world.reached(watcher, "bob", "failed");
    expect((await world.kite(["agents", "prune"])).out).toContain("has uncommitted changes");
    expect(await world.agent("bob")).toMatchObject({ reason: "its process ended" });
  });
});

test("a base that moves with whoever reads it is kept as the commit that it was", async () => {
  const commit = world.git("rev-parse", "HEAD").trim();
  await world.kite(["spawn", "COMMIT", "--name", "bob", "--from", "HEAD", "--wait"]);
  expect(await world.agent("bob")).toMatchObject({ base: commit });
  expect((await world.kite(["agent", "bob", "--diff"])).out).toContain("+new");
});
