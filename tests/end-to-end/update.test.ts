/** kite update: the parts that are older than the program, and the commands that update them. */
import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { changesSince } from "../../bin/install/update.ts";
import { Home } from "./daemon.ts";

let home: Home;

beforeEach(() => {
  home = new Home();
});
afterEach(() => home.dispose());

interface Part {
  readonly part: string;
  readonly now: string;
  readonly todo: string | null;
}

const parts = async (): Promise<readonly Part[]> => JSON.parse(await home.kite("update", "--json")).parts;
const todoOf = async (name: string) => (await parts()).find(({ part }) => part === name)?.todo;

test("names nothing that is not there", async () => {
  expect((await parts()).map(({ part }) => part)).toEqual(["program", "daemon"]);
  expect(await home.kite("update")).toMatch(/^daemon {3}not running$/m);
});

test("names the hooks' client and the plugin when they are of another version, until its advice is followed", async () => {
  await home.kite("install");
  await home.kite("plugin", "plugin");
  expect([await todoOf("hooks"), await todoOf("plugin")]).toEqual([null, null]);
  appendFileSync(join(home.paths.bin, "hook.pl"), "# of another version\n");
  const manifest = join(home.work, "plugin/kite/.claude-plugin/plugin.json");
  writeFileSync(manifest, readFileSync(manifest, "utf8").replace(/"version": ".*"/, '"version": "0.0.1"'));
  expect(await todoOf("hooks")).toBe("kite install, with the options of the first time");
  expect(await todoOf("plugin")).toBe(`kite plugin ${join(home.work, "plugin")}`);
  await home.kite("install");
  await home.kite("plugin", "plugin");
  expect([await todoOf("hooks"), await todoOf("plugin")]).toEqual([null, null]);
});

test("says nothing of a daemon of this version", async () => {
  await home.start();
  expect(await todoOf("daemon")).toBeNull();
});

describe("kite update --fetch in a clone", () => {
  const program = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));
  const git = (cwd: string, ...args: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=ana", "-c", "user.email=ana@x", ...args], {
      cwd,
      env: { ...home.environment, GIT_CONFIG_NOSYSTEM: "1" },
      stdio: ["ignore", "pipe", "ignore"],
      encoding: "utf8",
    });
  const at = (name: string) => join(home.work, name);

  /** A bare remote, a clone with this build, and another clone, which pushes. */
  function clones(): void {
    git(home.work, "init", "-q", "--bare", "-b", "main", at("remote.git"));
    git(home.work, "clone", "-q", at("remote.git"), at("other"));
    mkdirSync(join(at("other"), "protocol"));
    writeFileSync(join(at("other"), "protocol", "README.md"), "x");
    writeFileSync(join(at("other"), ".gitignore"), "dist\nnode_modules\npackage.json\n");
    push("first");
    git(home.work, "clone", "-q", at("remote.git"), at("clone"));
    cpSync(dirname(program), join(at("clone"), "dist"), { recursive: true });
    writeFileSync(join(at("clone"), "CHANGELOG.md"), "# Changelog\n");
    symlinkSync(join(program, "../../node_modules"), join(at("clone"), "node_modules"));
    writeFileSync(join(at("clone"), "package.json"), readFileSync(join(program, "../../package.json")));
  }

  function push(text: string): void {
    writeFileSync(join(at("other"), "a.txt"), text);
    git(at("other"), "add", "-A");
    git(at("other"), "commit", "-q", "-m", text);
    git(at("other"), "push", "-q", "origin", "HEAD:main");
  }

  async function update(...flags: readonly string[]): Promise<Part> {
    const kite = join(at("clone"), "dist", "kite.cjs");
    const { stdout } = spawnSync(process.execPath, [kite, "update", "--json", ...flags], {
      env: home.environment,
      cwd: home.work,
      encoding: "utf8",
    });
    const [part] = JSON.parse(stdout).parts;
    return part;
  }

  beforeEach(clones);

  test("counts new commits once it asked the remote, and its advice brings them", async () => {
    expect(await update("--fetch")).toMatchObject({
      now: expect.stringMatching(/a clone in \S+\/clone$/),
      todo: null,
    });
    push("second");
    expect((await update()).now).toMatch(/as of its last fetch$/);
    const behind = await update("--fetch");
    expect(behind).toMatchObject({ now: expect.stringMatching(/, 1 commit behind its remote$/) });
    expect(behind.todo).toBe(`git -C ${at("clone")} pull`);
    git(at("clone"), "pull", "-q");
    expect(await update()).toMatchObject({ todo: null });
  });

  test("says what a pull would meet: files changed by hand, and commits of one's own", async () => {
    push("second");
    writeFileSync(join(at("clone"), "a.txt"), "mine");
    const dirty = await update("--fetch");
    expect(dirty.now).toMatch(/1 commit behind its remote, with files changed by hand$/);
    expect(dirty.todo).toBe(`git -C ${at("clone")} stash && git -C ${at("clone")} pull`);
    git(at("clone"), "commit", "-aqm", "mine");
    const diverged = await update();
    expect(diverged.now).toMatch(/1 commit behind its remote and 1 of its own ahead$/);
    expect(diverged.todo).toBe(`git -C ${at("clone")} pull --rebase`);
  });

  test("says that the remote is gone, and nothing of commits", async () => {
    rmSync(at("remote.git"), { recursive: true });
    const gone = await update("--fetch");
    expect(gone).toMatchObject({ now: expect.stringContaining("its remote does not answer: "), todo: null });
    expect(gone.now).not.toContain("behind");
  });
});

describe("the changelog", () => {
  const text =
    "# Changelog\n\n## 0.10.0 (unreleased)\n\n- Ten.\n\n## 0.9.0 (2026-02-01)\n\n- Nine.\n\n## 0.1.0 (2026-01-01)\n\n- One.\n";

  test("is shown from the version after the old one on", () => {
    expect(changesSince(text, "0.1.0")).toEqual([
      "0.10.0 (unreleased)\n\n- Ten.",
      "0.9.0 (2026-02-01)\n\n- Nine.",
    ]);
    expect(changesSince(text, "0.9.0")).toEqual(["0.10.0 (unreleased)\n\n- Ten."]);
    expect(changesSince(text, "0.10.0")).toEqual([]);
  });
});
