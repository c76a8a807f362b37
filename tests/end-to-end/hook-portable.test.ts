/** Entries that several machines share: each event has one hook, however often Kite is installed. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type PortableOrigin, portableGroups } from "../../hooks/claude-code/settings/entries.ts";
import { commandsIn } from "../../hooks/claude-code/settings/files.ts";
import { programPaths, programScripts } from "../../hooks/install/program.ts";
import { answer, HookWorld, hookPrograms, payload, silent } from "./hook-clients.ts";

const event = JSON.stringify(payload);

describe.each(hookPrograms)("$name", program => {
  let world: HookWorld;
  let root: string;

  beforeEach(() => {
    world = new HookWorld(program);
    root = realpathSync(mkdtempSync(join(tmpdir(), "kite-portable-")));
  });

  afterEach(async () => {
    await world.dispose();
    rmSync(root, { recursive: true, force: true });
  });

  /** Writes a file that the client reads as settings. */
  function write(name: string, text: string): void {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }

  /** Returns whether the daemon heard of the event. */
  async function reaches(origin: PortableOrigin, more: Record<string, string> = {}): Promise<boolean> {
    const daemon = await world.daemon(socket => socket.end(answer({ output: "heard" })));
    const env = { HOME: join(root, "home"), CLAUDE_PROJECT_DIR: join(root, "project"), ...more };
    const said = await world.run({ stdin: event, env, more: ["", origin] });
    await daemon.close();
    expect(said).toEqual(daemon.requests.length === 0 ? silent : { ...silent, stdout: "heard" });
    return daemon.requests.length > 0;
  }

  const direct = () => JSON.stringify({ args: [`${world.home}/bin/hook.pl`, "1000"] });
  const groups = portableGroups({ origin: "shared", everyEvent: false });
  const shared = JSON.stringify({
    hooks: Object.fromEntries(groups.map(([name, group]) => [name, [group]])),
  });

  test("forwards the event where no other entry does", async () => {
    write("home/.claude/settings.json", '{"statusLine": {"command": "/home/ada/.kite/bin/hook.pl"}}');
    write("project/.claude/settings.json", "{}");
    expect(await reaches("plugin")).toBe(true);
    expect(await reaches("shared")).toBe(true);
  });

  test.each([
    "home/.claude/settings.json",
    "project/.claude/settings.local.json",
    "project/.claude/settings.json",
  ])("leaves it to an entry of this machine in %s", async file => {
    write(file, direct());
    expect(await reaches("plugin")).toBe(false);
    expect(await reaches("shared")).toBe(false);
  });

  test("looks into the settings that CLAUDE_CONFIG_DIR names, and not into others", async () => {
    write("config/settings.json", direct());
    expect(await reaches("plugin")).toBe(true);
    expect(await reaches("plugin", { CLAUDE_CONFIG_DIR: join(root, "config") })).toBe(false);
  });

  test("of a plugin leaves it to the project's committed entries, which forward it", async () => {
    write("project/.claude/settings.json", shared);
    expect(await reaches("plugin")).toBe(false);
    expect(await reaches("shared")).toBe(true);
  });

  test("in a worktree leaves it to the private settings of the repository", async () => {
    write("main/.claude/settings.local.json", direct());
    write("project/.git", `gitdir: ${root}/main/.git/worktrees/project\n`);
    expect(await reaches("plugin")).toBe(false);
    write("project/.git", `gitdir: ${root}/other/.git/worktrees/project\n`);
    expect(await reaches("plugin")).toBe(true);
  });

  test("runs by the words of its entry where Kite is, and does nothing where it is not", async () => {
    const [, group] = portableGroups({ origin: "shared", everyEvent: false })[0] ?? [];
    const [entry] = group?.hooks ?? [];
    if (entry === undefined) throw new Error("there is no entry");
    const run = (env: Record<string, string>) => {
      const { status, stdout, stderr } = spawnSync(entry.command, entry.args, {
        input: event,
        env,
        encoding: "utf8",
      });
      return [status, stdout, stderr];
    };
    expect(run({ HOME: join(root, "home") })).toEqual([0, "", ""]);
    expect(run({})).toEqual([0, "", ""]);
    // The file that an install writes, with a program that says what it got.
    const bin = join(root, "with 'quotes'", "bin");
    const told = programPaths(bin);
    const words =
      program.name === "perl" ? 'print "@ARGV";' : 'process.stdout.write(process.argv.slice(2).join(" "));';
    mkdirSync(bin, { recursive: true });
    writeFileSync(program.name === "perl" ? told.pl : told.cjs, words);
    const scripts = programScripts(
      { ...told, node: process.execPath },
      { hookProgram: program.name, home: null },
    );
    writeFileSync(told.portable, scripts.portable);
    expect(run({ KITE_HOME: dirname(bin) })).toEqual([0, `${entry.args[3]}  shared`, ""]);
  });

  test("is found in settings as the command that it is on this machine", () => {
    write("project/.claude/settings.json", shared);
    const bin = join(root, "bin");
    const found = commandsIn(join(root, "project/.claude/settings.json"), bin);
    expect(found.length).toBeGreaterThan(20);
    for (const { command, args } of found) expect([command, args[0]]).toEqual(["/bin/sh", join(bin, "hook")]);
    write("project/.claude/settings.json", '{"enabledPlugins": {"kite@team": true, "other@team": true}}');
    expect(commandsIn(join(root, "project/.claude/settings.json"), bin)).toHaveLength(1);
    write("project/.claude/settings.json", '{"enabledPlugins": {"kite@team": false}}');
    expect(commandsIn(join(root, "project/.claude/settings.json"), bin)).toEqual([]);
  });
});
