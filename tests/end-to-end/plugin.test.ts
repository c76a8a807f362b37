/** kite plugin and kite install --shared as they are typed: what they write, say and undo. */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const program = fileURLToPath(new URL("../../dist/kite.mjs", import.meta.url));

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "kite-plugin-")));
  mkdirSync(join(root, "shop/.git"), { recursive: true });
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function kite(...args: readonly string[]) {
  const env = { PATH: process.env["PATH"] ?? "", HOME: root };
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    env,
    cwd: root,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
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
  it("makes a plugin that names no path of this machine, says how to install it, and is undone", () => {
    const made = kite("plugin", "plugin");
    expect(made).toMatchObject({ status: 0, stderr: "" });
    expect(made.stdout).toContain(`install it: claude plugin marketplace add ${at("plugin")}\n`);
    expect(made.stdout).toContain("claude plugin install kite@kite\n");
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
    expect(kite("plugin", "plugin").stdout).toContain("nothing changed\n");
    const undone = kite("uninstall", "--all");
    expect(undone.stdout).toContain(`removed the plugin in: ${at("plugin")}\n`);
    expect(existsSync(at("plugin"))).toBe(false);
    expect(existsSync(at(".kite/bin"))).toBe(false);
  });

  it("teaches an agent on at most 60 lines", () => {
    kite("plugin", "plugin");
    const skill = read("plugin/kite/skills/kite/SKILL.md");
    expect(skill.split("\n").length).toBeLessThanOrEqual(60);
    const tools = new Set(skill.match(/kite_[a-z_]+/g));
    expect(tools.size).toBeGreaterThan(5);
  });

  it("leaves a folder with other files as it is, and files that somebody changed", () => {
    mkdirSync(at("mine"));
    writeFileSync(at("mine/notes.txt"), "mine");
    const refused = kite("plugin", "mine");
    expect(refused.status).toBe(1);
    expect(refused.stderr).toBe(
      `kite: ${at("mine")} holds other files; Kite changed nothing. Choose a new or an empty folder\n`,
    );
    expect(filesIn("mine")).toEqual(["notes.txt"]);
    kite("plugin", "plugin");
    writeFileSync(at("plugin/kite/README.md"), "ours");
    kite("uninstall", "--all");
    expect(filesIn("plugin")).toEqual(["kite/README.md"]);
  });

  it("keeps its programs when the hooks in settings go, and the other way round", () => {
    kite("plugin", "plugin");
    kite("install");
    kite("uninstall");
    expect(existsSync(at(".kite/bin/hook"))).toBe(true);
    kite("uninstall", "--all");
    expect(existsSync(at(".kite/bin"))).toBe(false);
  });
});

describe("kite install --shared", () => {
  const settings = "shop/.claude/settings.json";

  it("writes entries that name no path, and takes them out again, with no copy beside a committed file", () => {
    const text = '{\n  "model": "opus"\n}\n';
    mkdirSync(at("shop/.claude"));
    writeFileSync(at(settings), text);
    const done = kite("install", "--shared", "shop");
    expect(done).toMatchObject({ status: 0, stderr: "" });
    expect(done.stdout).toContain(`installed: ${at(settings)}\n`);
    expect(done.stdout).toContain("commit this file: ");
    expect(done.stdout).toMatch(/undo: kite uninstall --shared\n$/);
    expect(read(settings)).not.toContain(root);
    expect(filesIn("shop")).toEqual([".claude/settings.json"]);
    expect(JSON.parse(read(".claude.json")).projects[at("shop")].mcpServers.kite.command).toBe(
      at(".kite/bin/mcp"),
    );
    // A colleague who took the commit: nothing changes there but their own programs and tools.
    rmSync(at(".kite"), { recursive: true });
    const committed = read(settings);
    expect(kite("install", "--shared", "shop").status).toBe(0);
    expect(read(settings)).toBe(committed);
    expect(existsSync(at(".kite/bin/hook"))).toBe(true);
    expect(kite("uninstall", "--shared", "shop").status).toBe(0);
    expect(read(settings)).toBe(text);
    expect(existsSync(at(".kite/bin"))).toBe(false);
  });

  it("stays for the team when one of them uninstalls everything", () => {
    kite("install", "--shared", "shop");
    const committed = read(settings);
    expect(kite("uninstall", "--all").stdout).toContain(`left for your team: ${at(settings)}; `);
    expect(read(settings)).toBe(committed);
    expect(existsSync(at(".kite/bin"))).toBe(false);
  });

  it("refuses the person's own settings, and --project beside it", () => {
    const own = kite("install", "--shared", root);
    expect(own).toMatchObject({ status: 1, stdout: "" });
    expect(own.stderr).toContain(
      "is your own settings file, not a project's; run kite install without --shared",
    );
    const both = kite("install", "--shared", "--project");
    expect(both.stderr).toBe(
      "kite: give either --project (for you) or --shared (for the team); Kite changed nothing\n",
    );
    expect(existsSync(at(".claude"))).toBe(false);
  });
});
