/** kite install and uninstall as they are typed: for the user, for a project, and what they say. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Home } from "./daemon.ts";

const original = '{\n\t"model": "opus",\n\t"hooks": {"Stop": []}\n}';

let home: Home;
let root: string;
let settings: string;

beforeEach(() => {
  home = new Home({ kite: ".kite" });
  root = home.root;
  settings = join(root, ".claude", "settings.json");
  mkdirSync(join(root, ".claude"));
  writeFileSync(settings, original);
});

afterEach(() => home.dispose());

/** Where the client keeps its servers. */
function servers(): string {
  return join(root, ".claude.json");
}

/** Without KITE_HOME: where people have it. */
function kite(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  return home.kiteAt(root, { PATH: process.env["PATH"] ?? "", HOME: root, ...env }, ...args);
}

interface Entry {
  readonly command: string;
  readonly args: readonly string[];
}

function entry(event: string, file = settings): Entry {
  return JSON.parse(readFileSync(file, "utf8")).hooks[event].at(-1).hooks[0];
}

describe("kite install", () => {
  it("writes the user's settings, says which client runs, and is undone byte for byte", async () => {
    const said = await kite(["install"]);
    expect(said).toContain(`installed: ${settings}\n`);
    expect(said).toContain("hook program: perl\n");
    expect(said).toMatch(
      /in force: running sessions of all projects .*\ntry next: .*\nundo: kite uninstall\n$/,
    );
    expect(entry("PreToolUse")).toMatchObject({ command: "/usr/bin/perl" });
    const [first, second] = JSON.parse(readFileSync(settings, "utf8")).hooks["Stop"];
    expect(first.hooks).toMatchObject([{ command: "/usr/bin/perl", timeout: 3 }]);
    expect(second.hooks).toMatchObject([{ command: "/usr/bin/perl", timeout: 14_410, asyncRewake: true }]);
    const text = readFileSync(settings, "utf8");
    expect(await kite(["install"])).toBe(`already installed: ${settings}; nothing changed\n`);
    expect(readFileSync(settings, "utf8")).toBe(text);
    expect(said).toContain(`tools for agents: ${servers()}, for new sessions\n`);
    const removed = `removed Kite's tools from: ${servers()}\n`;
    expect(await kite(["uninstall"])).toBe(`restored: ${settings}\n${removed}`);
    expect(readFileSync(settings, "utf8")).toBe(original);
    expect(existsSync(servers())).toBe(false);
    expect(readdirSync(join(root, ".claude"))).toEqual(["settings.json"]);
    expect(existsSync(join(root, ".kite", "bin"))).toBe(false);
  });

  it("only observes where it was asked to, without tools, and says how to change that", async () => {
    const said = await kite(["install", "--observe"]);
    const act = "mode: Kite only observes: .* Let it act: kite config set mode act";
    expect(said).toMatch(new RegExp(`^installed: .*\n${act} && kite install$`, "ms"));
    expect(said).toContain("tools for agents: none (--observe or --no-mcp)\n");
    expect(existsSync(servers())).toBe(false);
    const config = join(root, ".kite", "config.json");
    expect(JSON.parse(readFileSync(config, "utf8"))).toEqual({ mode: "observe" });
    expect(await kite(["install"])).toMatch(new RegExp(`${act}$`, "m"));
    expect(JSON.parse(await kite(["install", "--json"]))).toMatchObject({ mode: "observe", changed: false });
    await kite(["config", "set", "mode", "act"]);
    expect(await kite(["install"])).toBe(`already installed: ${settings}; nothing changed\n`);
    const refused = await home.command(["install", "--shared", "--observe"], {}, root);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("without --shared") });
    const agents = await home.command(["install", "--project", "--observe"], { CLAUDECODE: "1" }, root);
    expect(agents).toMatchObject({ code: 1, err: expect.stringContaining("only a person") });
  });

  it("says that it removed what Kite had made, and no line twice", async () => {
    rmSync(settings);
    await kite(["install"]);
    await kite(["install", "--project"]);
    const said = await kite(["uninstall", "--all"]);
    const lines = said.trimEnd().split("\n");
    expect(lines).toContain(`removed: ${settings}`);
    expect(said).not.toContain("restored");
    expect(lines.filter(line => line.includes(servers()))).toEqual([
      `removed Kite's tools from: ${servers()}`,
    ]);
    expect([...new Set(lines)]).toEqual(lines);
    expect(existsSync(settings)).toBe(false);
  });

  it("names with --print every file that it would write, before the new text", async () => {
    const there = () =>
      readdirSync(root, { recursive: true, withFileTypes: true })
        .filter(one => !one.isDirectory())
        .map(one => join(one.parentPath, one.name));
    const args = ["install", "--print"];
    const { out, err } = await home.command(args, { KITE_HOME: "" }, root);
    expect(JSON.parse(out)).toHaveProperty("hooks");
    const before = there();
    await kite(["install"]);
    const touched = there().filter(path => !before.includes(path));
    const named = err
      .split("\n")
      .flatMap(line => /^ {2}would (?:make|write|change): (\S+) \(/.exec(line)?.[1] ?? []);
    expect(named.sort()).toEqual([...touched, settings].sort());
    expect(err).toContain("kite install --print writes nothing.");
    const { err: again } = await home.command(args, { KITE_HOME: "" }, root);
    expect(again).toContain(`would leave as it is: ${settings} (hooks)\n`);
  });

  it("looks where CLAUDE_CONFIG_DIR says, and shows without writing", async () => {
    const env = { CLAUDE_CONFIG_DIR: join(root, "config") };
    const { hooks } = JSON.parse(await kite(["install", "--print", "--every-event"], env));
    expect(hooks).toHaveProperty("MessageDisplay");
    expect(hooks.Stop.map((group: { readonly hooks: readonly unknown[] }) => group.hooks)).toMatchObject([
      [{}],
      [{ asyncRewake: true, args: expect.arrayContaining(["14405000", "wake"]) }],
    ]);
    expect(existsSync(join(root, "config"))).toBe(false);
    expect(existsSync(join(root, ".kite"))).toBe(false);
    const done = JSON.parse(await kite(["install", "--json", "--hook-program", "node"], env));
    expect(done).toMatchObject({
      file: join(root, "config", "settings.json"),
      hookProgram: "node",
      changed: true,
    });
    expect(entry("Stop", done.file).args).toContain(join(root, ".kite", "bin", "hook.cjs"));
    expect(readFileSync(settings, "utf8")).toBe(original);
  });

  it("gives agents tools, by a command that works wherever it is started", async () => {
    await kite(["install"]);
    const { command, args } = JSON.parse(readFileSync(servers(), "utf8")).mcpServers.kite;
    expect(command).toBe(join(root, ".kite", "bin", "mcp"));
    const client = new Client({ name: "tester", version: "1.0.0" });
    const env = { PATH: process.env["PATH"] ?? "", HOME: "/", CI: "true", NODE_OPTIONS: "--no-such-option" };
    await client.connect(new StdioClientTransport({ command, args, env, cwd: "/" }));
    const names = (await client.listTools()).tools.map(({ name }) => name);
    await client.close();
    expect(names).toContain("kite_lock");
    // A second time without them takes them out again.
    const { tools } = JSON.parse(await kite(["install", "--no-mcp", "--json"]));
    expect(tools).toEqual({ file: servers(), installed: false, changed: true });
    expect(existsSync(servers())).toBe(false);
  });

  it("installs the hooks where the client's own file cannot be used, and says why there are no tools", async () => {
    writeFileSync(servers(), "{ oops");
    expect(await kite(["install"])).toContain("tools for agents: not installed, ");
    expect(readFileSync(servers(), "utf8")).toBe("{ oops");
    expect(entry("Stop").command).toBe("/usr/bin/perl");
  });

  it("allows the tools without a question only where it was asked to", async () => {
    const allowed = () => JSON.parse(readFileSync(settings, "utf8")).permissions?.allow;
    await kite(["install"]);
    expect(allowed()).toBeUndefined();
    await kite(["install", "--allow"]);
    expect(allowed()).toEqual(["mcp__kite"]);
    await kite(["uninstall"]);
    expect(readFileSync(settings, "utf8")).toBe(original);
  });

  it("takes one hook program's place with the other, also by the older option", async () => {
    await kite(["install", "--client", "node"]);
    expect(entry("Stop").command).toBe("/usr/bin/env");
    await kite(["install", "--hook-program", "perl"]);
    expect(entry("Stop").command).toBe("/usr/bin/perl");
    expect(readFileSync(settings, "utf8")).not.toContain("hook.cjs");
    await kite(["uninstall"]);
    expect(readFileSync(settings, "utf8")).toBe(original);
  });

  it.each(["perl", "node"])(
    "writes commands of %s that let everything through without a daemon",
    async client => {
      await kite(["install", "--hook-program", client]);
      const { command, args } = entry("UserPromptSubmit");
      const event = '{"hook_event_name":"UserPromptSubmit","session_id":"s"}';
      const ran = spawnSync(command, args, { input: event, env: { HOME: root }, encoding: "utf8" });
      expect([ran.status, ran.stdout, ran.stderr]).toEqual([0, "", ""]);
      // It has begun one, which ends with this test.
      await expect.poll(() => existsSync(home.paths.daemonFile)).toBe(true);
    },
  );
});

it.each(["perl", "node"])(
  "writes commands of %s that refuse nothing where Kite's folder is gone",
  async client => {
    await kite(["install", "--hook-program", client]);
    rmSync(join(root, ".kite"), { recursive: true });
    const { hooks } = JSON.parse(readFileSync(settings, "utf8"));
    const entries: Entry[] = [...hooks["PreToolUse"], ...hooks["Stop"]].flatMap(group => group.hooks);
    expect(entries.length).toBeGreaterThan(2);
    for (const { command, args } of entries) {
      const ran = spawnSync(command, args, { input: "{}", env: { HOME: root }, encoding: "utf8" });
      // Any other code says nothing to Claude Code; 2 would refuse, or wake.
      expect(ran.status).toBe(client === "perl" ? 0 : 127);
      expect(ran.stdout).toBe("");
    }
  },
);

describe("kite install --project", () => {
  it("says that git would take the file into a commit, where it would", async () => {
    const shop = join(root, "shop");
    spawnSync("git", ["init", "-q", shop], { env: { PATH: process.env["PATH"] } });
    const told = "git does not ignore this file: keep it out of commits";
    expect(await kite(["install", "--project", shop])).toContain(told);
    await kite(["uninstall", "--project", shop]);
    writeFileSync(join(shop, ".gitignore"), "settings.local.json\n");
    expect(await kite(["install", "--project", shop])).not.toContain("git does not ignore");
  });

  it("says that there is no such directory", async () => {
    const nowhere = join(root, "nowhere");
    await expect(kite(["install", "--project", nowhere])).rejects.toMatchObject({
      code: 1,
      stderr: `kite: the directory ${nowhere} does not exist; Kite changed nothing\n`,
    });
  });
});

describe("kite uninstall", () => {
  it("takes the user's settings, a project's, or all", async () => {
    const project = join(root, "shop");
    mkdirSync(join(project, ".git"), { recursive: true });
    const local = join(project, ".claude", "settings.local.json");
    await kite(["install"]);
    await kite(["install", "--project", project]);
    expect(await kite(["uninstall"])).toContain(`restored: ${settings}\n`);
    expect(JSON.parse(readFileSync(servers(), "utf8"))).toMatchObject({
      projects: { [project]: { mcpServers: { kite: { type: "stdio" } } } },
    });
    expect(entry("Stop", local).command).toBe("/usr/bin/perl");
    await kite(["install"]);
    const { results } = JSON.parse(await kite(["uninstall", "--all", "--json"]));
    expect(results.map((r: { readonly file: string }) => r.file).sort()).toEqual([settings, local].sort());
    expect(readdirSync(project)).toEqual([".git"]);
    expect(existsSync(servers())).toBe(false);
    await expect(kite(["uninstall", "--all", "--project"])).rejects.toThrow(
      "give one of --project, --shared and --all",
    );
  });
});
