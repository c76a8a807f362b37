/** kite plugin and kite install --shared as they are typed: what they write, say and undo. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Home } from "./daemon.ts";
import { kite as kiteAt, type Ran } from "./kite.ts";

let home: Home;
let root: string;

beforeEach(() => {
  home = new Home({ kite: ".kite", work: "shop" });
  ({ root } = home);
  mkdirSync(join(home.work, ".git"));
});

afterEach(() => home.dispose());

/** Without KITE_HOME: where people have it. */
function kite(...args: readonly string[]): Promise<Ran> {
  return kiteAt({ cwd: root, env: { PATH: process.env["PATH"], HOME: root } }, args);
}

const at = (name: string) => join(root, name);
const read = (name: string) => readFileSync(at(name), "utf8");
const filesIn = (name: string) =>
  readdirSync(at(name), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(at(name).length + 1))
    .sort();

const files = [
  ".claude-plugin/marketplace.json",
  "kite/.claude-plugin/plugin.json",
  "kite/.mcp.json",
  "kite/README.md",
  "kite/commands/claim.md",
  "kite/commands/status.md",
  "kite/commands/tasks.md",
  "kite/hooks/hooks.json",
  "kite/skills/kite/SKILL.md",
];

describe("kite plugin", () => {
  it("makes a plugin that names no path of this machine, says how to install it, and is undone", async () => {
    const made = await kite("plugin", "plugin");
    expect(made).toMatchObject({ code: 0, err: "" });
    expect(made.out).toContain(`install it: claude plugin marketplace add ${at("plugin")}\n`);
    expect(made.out).toContain("claude plugin install kite@kite\n");
    expect(filesIn("plugin")).toEqual(files);
    for (const name of files) expect(read(join("plugin", name))).not.toContain(root);
    expect(JSON.parse(read("plugin/kite/.mcp.json")).mcpServers.kite.command).toBe(`\${HOME}/.kite/bin/mcp`);
    expect(readdirSync(at(".kite/bin")).sort()).toEqual([
      "hook",
      "hook.cjs",
      "hook.pl",
      "mcp",
      "node",
      "start",
      "statusline",
    ]);
    expect((await kite("plugin", "plugin")).out).toContain("nothing changed\n");
    const undone = await kite("uninstall", "--all");
    expect(undone.out).toContain(`removed the plugin in: ${at("plugin")}\n`);
    expect(existsSync(at("plugin"))).toBe(false);
    expect(existsSync(at(".kite/bin"))).toBe(false);
  });

  it("teaches an agent on at most 60 lines", async () => {
    await kite("plugin", "plugin");
    const skill = read("plugin/kite/skills/kite/SKILL.md");
    expect(skill.split("\n").length).toBeLessThanOrEqual(60);
    const tools = new Set(skill.match(/kite_[a-z_]+/g));
    expect(tools.size).toBeGreaterThan(5);
  });

  it("leaves a folder with other files as it is, and files that somebody changed", async () => {
    mkdirSync(at("mine"));
    writeFileSync(at("mine/notes.txt"), "mine");
    const refused = await kite("plugin", "mine");
    expect(refused.code).toBe(1);
    expect(refused.err).toBe(
      `kite: ${at("mine")} holds other files; Kite changed nothing. Choose a new or an empty folder\n`,
    );
    expect(filesIn("mine")).toEqual(["notes.txt"]);
    await kite("plugin", "plugin");
    writeFileSync(at("plugin/kite/README.md"), "ours");
    await kite("uninstall", "--all");
    expect(filesIn("plugin")).toEqual(["kite/README.md"]);
  });

  it("keeps its programs when the hooks in settings go, and the other way round", async () => {
    await kite("plugin", "plugin");
    await kite("install");
    await kite("uninstall");
    expect(existsSync(at(".kite/bin/hook"))).toBe(true);
    await kite("uninstall", "--all");
    expect(existsSync(at(".kite/bin"))).toBe(false);
  });
});

describe("kite install --shared", () => {
  const settings = "shop/.claude/settings.json";

  it("writes entries that name no path, and takes them out again, with no copy beside a committed file", async () => {
    const text = '{\n  "model": "opus"\n}\n';
    mkdirSync(at("shop/.claude"));
    writeFileSync(at(settings), text);
    const done = await kite("install", "--shared", "shop");
    expect(done).toMatchObject({ code: 0, err: "" });
    expect(done.out).toContain(`installed: ${at(settings)}\n`);
    expect(done.out).toContain("commit this file: ");
    expect(done.out).toMatch(/undo: kite uninstall --shared\n$/);
    expect(read(settings)).not.toContain(root);
    expect(filesIn("shop")).toEqual([".claude/settings.json"]);
    expect(JSON.parse(read(".claude.json")).projects[at("shop")].mcpServers.kite.command).toBe(
      at(".kite/bin/mcp"),
    );
    // A colleague who took the commit: nothing changes there but their own programs and tools.
    rmSync(at(".kite"), { recursive: true });
    const committed = read(settings);
    expect((await kite("install", "--shared", "shop")).code).toBe(0);
    expect(read(settings)).toBe(committed);
    expect(existsSync(at(".kite/bin/hook"))).toBe(true);
    expect((await kite("uninstall", "--shared", "shop")).code).toBe(0);
    expect(read(settings)).toBe(text);
    expect(existsSync(at(".kite/bin"))).toBe(false);
  });

  it("stays for the team when one of them uninstalls everything", async () => {
    await kite("install", "--shared", "shop");
    const committed = read(settings);
    expect((await kite("uninstall", "--all")).out).toContain(`left for your team: ${at(settings)}; `);
    expect(read(settings)).toBe(committed);
    expect(existsSync(at(".kite/bin"))).toBe(false);
  });

  it("refuses the person's own settings, and --project beside it", async () => {
    const own = await kite("install", "--shared", root);
    expect(own).toMatchObject({ code: 1, out: "" });
    expect(own.err).toContain(
      "is your own settings file, not a project's; run kite install without --shared",
    );
    const both = await kite("install", "--shared", "--project");
    expect(both.err).toBe(
      "kite: give either --project (for you) or --shared (for the team); Kite changed nothing\n",
    );
    expect(existsSync(at(".claude"))).toBe(false);
  });
});
