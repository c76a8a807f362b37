/** The client's settings and its own file: put there and taken out. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { lock } from "proper-lockfile";
import { beforeEach, describe, expect, test } from "vitest";
import {
  addTools,
  placesWithTools,
  projectServers,
  projectSettings,
  removeTools,
  userServers,
} from "../../hooks/claude-code/settings/files.ts";
import {
  addAllow,
  install,
  installedFiles,
  preview,
  removeAllow,
  toolsRule,
  uninstall,
} from "../../hooks/claude-code/settings/install.ts";
import { linkTarget } from "../../hooks/install/file.ts";
import { addServer, removeServer } from "../../hooks/install/json-text.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { temporaryFolder } from "../temporary-folder.ts";

describe("settings", () => {
  const original = '{\n    "permissions": {"allow": ["Bash(ls)"]},\n    "hooks": {"Stop": []}\n}';

  let root: string;
  let project: string;
  let settings: string;
  let dist: string;
  let paths: ReturnType<typeof kitePaths>;

  beforeEach(() => {
    root = temporaryFolder("kite-install-");
    project = join(root, "project");
    mkdirSync(join(project, ".git"), { recursive: true });
    settings = projectSettings(project);
    dist = join(root, "dist");
    mkdirSync(dist);
    writeFileSync(join(dist, "hook.cjs"), "// the client\n");
    writeFileSync(join(dist, "hook.pl"), "# the client\n");
    paths = kitePaths({ KITE_HOME: join(root, "kite") });
  });

  const options = () => ({
    paths,
    settings,
    dist,
    node: process.execPath,
    env: { HOME: root, SECRET: "k" },
    hookProgram: "node" as const,
    home: null,
    everyEvent: false,
    allow: false,
    shared: false,
    statusLine: false,
  });
  const put = (fields: Partial<Parameters<typeof install>[0]> = {}) => install({ ...options(), ...fields });

  function have(text: string, file = settings): void {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  const read = (file = settings) => readFileSync(file, "utf8");
  const beside = () => readdirSync(dirname(settings)).sort();

  describe("install", () => {
    test("writes the settings, the program and the record", async () => {
      const done = await put();
      expect(done).toMatchObject({ file: settings, changed: true, backup: null });
      expect(Object.keys(JSON.parse(read()).hooks)).toEqual(done.events);
      expect(read()).toBe(preview(options()));
      expect(read(join(paths.bin, "hook.cjs"))).toBe("// the client\n");
      expect(read(join(paths.bin, "hook.pl"))).toBe("# the client\n");
      expect(readlinkSync(join(paths.bin, "node"))).toBe(process.execPath);
      expect(read(join(paths.bin, "start"))).toContain(`'${join(dist, "kite.cjs")}' up`);
      expect(statSync(join(paths.bin, "hook.cjs")).mode & 0o777).toBe(0o755);
      for (const dir of [paths.home, paths.bin]) expect(statSync(dir).mode & 0o777).toBe(0o700);
      expect(statSync(paths.installs).mode & 0o777).toBe(0o600);
      expect(beside()).toEqual(["settings.local.json"]);
    });

    test("a second time changes nothing and says so", async () => {
      have(original);
      const first = await put();
      const files = [settings, paths.installs, join(paths.bin, "hook.cjs")];
      const before = files.map(f => [lstatSync(f).ino, read(f)]);
      expect(await put()).toEqual({ ...first, changed: false });
      expect([lstatSync(settings).ino, read()]).toEqual(before[0]);
      expect(files.map(f => read(f))).toEqual(before.map(([, text]) => text));
      expect(beside()).toEqual(["settings.local.json", "settings.local.json.before-kite"]);
    });

    test("keeps the file's mode, and the file as it was beside it", async () => {
      have(original);
      chmodSync(settings, 0o640);
      const { backup } = await put();
      expect(backup).toBe(`${settings}.before-kite`);
      expect(read(backup ?? "")).toBe(original);
      for (const file of [settings, backup ?? ""]) expect(statSync(file).mode & 0o777).toBe(0o640);
    });

    test("never takes a name that is there", async () => {
      have(original);
      writeFileSync(`${settings}.before-kite`, "mine");
      expect((await put()).backup).toBe(`${settings}.before-kite-2`);
      await uninstall(paths, settings);
      expect(read(`${settings}.before-kite`)).toBe("mine");
      expect(beside()).toEqual(["settings.local.json", "settings.local.json.before-kite"]);
    });

    test("a newer client, or another Node, is put in the old one's place", async () => {
      await put();
      const text = read();
      writeFileSync(join(dist, "hook.cjs"), "// newer\n");
      expect((await put({ node: "/usr/bin/other-node" })).changed).toBe(true);
      expect(read(join(paths.bin, "hook.cjs"))).toBe("// newer\n");
      expect(readlinkSync(join(paths.bin, "node"))).toBe("/usr/bin/other-node");
      expect(read()).toBe(text);
    });

    test.each([
      ["{ not json", "is not valid JSON"],
      ["[]", "does not hold a JSON object"],
      ['{"hooks": 1}', '"hooks" is not an object'],
    ])("%j is refused and left alone", async (text, why) => {
      have(text);
      await expect(put()).rejects.toThrow(`Kite did not change ${settings}`);
      await expect(put()).rejects.toThrow(why);
      expect(() => preview(options())).toThrow(why);
      expect(read()).toBe(text);
      expect(beside()).toEqual(["settings.local.json"]);
      expect(existsSync(paths.home)).toBe(false);
    });

    test("bytes that could not be written back are refused", async () => {
      mkdirSync(dirname(settings));
      writeFileSync(settings, Buffer.from('{"a":"\xff"}', "latin1"));
      await expect(put()).rejects.toThrow("is not UTF-8");
    });

    test("through a link to its target, which stays a file of its own", async () => {
      const target = join(root, "dotfiles.json");
      have(original, target);
      mkdirSync(dirname(settings));
      symlinkSync("../../dotfiles.json", settings);
      expect(await put()).toMatchObject({ file: target, backup: `${target}.before-kite` });
      expect(lstatSync(settings).isSymbolicLink()).toBe(true);
      expect(JSON.parse(read(target)).hooks).toHaveProperty("PreToolUse");
      expect(await uninstall(paths, settings)).toEqual({ file: target, result: "restored" });
      expect(read(target)).toBe(original);
      expect(lstatSync(settings).isSymbolicLink()).toBe(true);
    });

    test("a link that leads nowhere yet is followed, one that leads in a cycle is refused", async () => {
      mkdirSync(dirname(settings));
      symlinkSync("../later.json", settings);
      expect((await put()).file).toBe(join(project, "later.json"));
      symlinkSync("b", join(root, "a"));
      symlinkSync("a", join(root, "b"));
      expect(() => linkTarget(join(root, "a"))).toThrow("a link without a target");
    });

    test("waits for a writer who holds the file's lock", async () => {
      have(original);
      const release = await lock(settings);
      let done = false;
      const installing = put().then(() => {
        done = true;
      });
      await new Promise(resolve => setImmediate(resolve));
      expect(done).toBe(false);
      expect(read()).toBe(original);
      await release();
      await installing;
      expect(JSON.parse(read()).hooks).toHaveProperty("PreToolUse");
    });

    test("ten at once leave the settings as one does", async () => {
      have(original);
      await put();
      const one = read();
      await uninstall(paths, settings);
      await Promise.all(Array.from({ length: 10 }, () => put()));
      expect(read()).toBe(one);
      await uninstall(paths, settings);
      expect(read()).toBe(original);
    });

    test("a home that is a link is refused", async () => {
      mkdirSync(join(root, "elsewhere"));
      symlinkSync(join(root, "elsewhere"), paths.home);
      await expect(put()).rejects.toThrow("is not a folder that you own");
      expect(existsSync(settings)).toBe(false);
    });
  });

  describe("uninstall", () => {
    test.each([
      ["as people write them", original],
      ["on one line", '{"a":{},"hooks":{"Stop":[]}}'],
      ["empty", "{ \n\n }"],
      ["with CRLF and a byte order mark", '\ufeff{\r\n  "a": 1.0\r\n}\r\n'],
    ])("brings settings back byte for byte: %s", async (_, text) => {
      have(text);
      await put();
      expect(read()).not.toBe(text);
      expect(await uninstall(paths, settings)).toEqual({ file: settings, result: "restored" });
      expect(read()).toBe(text);
      expect(beside()).toEqual(["settings.local.json"]);
      expect(readdirSync(paths.home)).toEqual([]);
    });

    test("also after a later Kite wrote other entries", async () => {
      have(original);
      await put();
      await put({ home: paths.home });
      expect(await uninstall(paths, settings)).toMatchObject({ result: "restored" });
      expect(read()).toBe(original);
    });

    test("removes file and folder that were not there", async () => {
      await put();
      expect(await uninstall(paths, settings)).toMatchObject({ result: "restored" });
      expect(readdirSync(project)).toEqual([".git"]);
      expect(readdirSync(paths.home)).toEqual([]);
    });

    test("what others wrote meanwhile stays, Kite's entries go", async () => {
      have(original);
      await put();
      writeFileSync(settings, read().replace("Bash(ls)", "Bash(pwd)"));
      expect(await uninstall(paths, settings)).toMatchObject({ result: "edited" });
      expect(read()).toBe(original.replace("Bash(ls)", "Bash(pwd)"));
      expect(beside()).toEqual(["settings.local.json"]);
    });

    test("a later install over others' changes does not bring the old file back", async () => {
      have(original);
      await put();
      writeFileSync(settings, read().replace("Bash(ls)", "Bash(pwd)"));
      await put({ home: paths.home });
      expect(await uninstall(paths, settings)).toMatchObject({ result: "edited" });
      expect(read()).toBe(original.replace("Bash(ls)", "Bash(pwd)"));
    });

    test("a file that Kite made and others filled stays theirs; emptied by others it goes", async () => {
      await put();
      writeFileSync(settings, read().replace("{", '{\n  "env": {},'));
      expect(await uninstall(paths, settings)).toMatchObject({ result: "edited" });
      expect(JSON.parse(read())).toEqual({ env: {} });
      rmSync(settings);
      await put();
      writeFileSync(settings, `${read()}\n`);
      await uninstall(paths, settings);
      expect(existsSync(settings)).toBe(false);
    });

    test("knows Kite's entries without any record", async () => {
      have('{\n  "a": 1\n}\n');
      await put();
      rmSync(paths.installs);
      expect(await uninstall(paths, settings)).toMatchObject({ result: "edited" });
      expect(read()).toBe('{\n  "a": 1\n}\n');
    });

    test("a record is made for entries that were found", async () => {
      have('{\n  "a": 1\n}\n');
      await put();
      rmSync(paths.installs);
      expect((await put()).changed).toBe(false);
      expect(installedFiles(paths)).toEqual([settings]);
      await uninstall(paths, settings);
      expect(read()).toBe('{\n  "a": 1\n}\n');
    });

    test("the program stays while another project uses it", async () => {
      const other = join(root, "other", ".claude", "settings.local.json");
      await put();
      await put({ settings: other });
      expect(installedFiles(paths)).toEqual([settings, other]);
      await uninstall(paths, settings);
      expect(existsSync(join(paths.bin, "hook.cjs"))).toBe(true);
      await uninstall(paths, other);
      expect(existsSync(paths.bin)).toBe(false);
    });

    test("nothing there: nothing happens, and a project that is gone is forgotten", async () => {
      expect(await uninstall(paths, settings)).toMatchObject({ result: "nothing_there" });
      have(original);
      expect(await uninstall(paths, settings)).toMatchObject({ result: "nothing_there" });
      expect(read()).toBe(original);
      await put();
      rmSync(project, { recursive: true });
      expect(await uninstall(paths, settings)).toMatchObject({ result: "nothing_there" });
      expect(installedFiles(paths)).toEqual([]);
    });

    test("settings that became invalid are refused, and still known", async () => {
      await put();
      writeFileSync(settings, "{");
      await expect(uninstall(paths, settings)).rejects.toThrow("Kite did not change");
      expect(read()).toBe("{");
      expect(installedFiles(paths)).toEqual([settings]);
    });

    test("a record that cannot be read is said, not guessed", async () => {
      await put();
      for (const text of ["{", "[]", '{"installs":[{}]}', '{"installs":[{"file":1}]}']) {
        writeFileSync(paths.installs, text);
        await expect(uninstall(paths, settings)).rejects.toThrow("cannot be read");
      }
    });
  });

  describe("the project", () => {
    test("is the worktree around a folder, else the folder", () => {
      const deep = join(project, "a", "b");
      mkdirSync(deep, { recursive: true });
      expect(projectSettings(deep)).toBe(settings);
      const worktree = join(root, "worktree");
      mkdirSync(join(worktree, "sub"), { recursive: true });
      writeFileSync(join(worktree, ".git"), "gitdir: ../project/.git/worktrees/worktree\n");
      expect(projectSettings(join(worktree, "sub"))).toBe(join(worktree, ".claude", "settings.local.json"));
      const plain = join(root, "plain");
      mkdirSync(plain);
      expect(projectSettings(plain)).toBe(join(plain, ".claude", "settings.local.json"));
      expect(() => projectSettings(join(root, "absent"))).toThrow("does not exist");
    });
  });
});

// Kite's tools in the client's own file: put there and taken out, and nothing else is touched.

const bin = "/home/ana/.kite/bin";
const entry = { type: "stdio", command: `${bin}/mcp`, args: [], env: {} } as const;
const user = ["mcpServers"];
const project = ["projects", "/home/ana/shop", "mcpServers"];

const texts = [
  "{}",
  "{ }\n",
  "{\n}\n",
  '{"a":1}',
  '{\n  "numStartups": 4,\n  "projects": {}\n}',
  '{\n\t"mcpServers": { },\n\t"b": [1,2]\n}\n',
  '{"mcpServers":{"other":{"command":"x"}},"projects":{"/home/ana/shop":{"mcpServers":{},"allowedTools":[]}}}',
  '{\n  "projects": {\n    "/home/ana/shop": {\n      "allowedTools": []\n    }\n  },\n  "userID": "x"\n}',
  '\ufeff{\r\n  "a": 1.0\r\n}\r\n',
];

describe("the entry of the server", () => {
  for (const path of [user, project]) {
    test.each(texts)(`goes in ${path[0]} and out byte for byte: %j`, text => {
      const put = addServer(text, path, entry, bin);
      const there = JSON.parse(put.text.replace(/^\ufeff/, ""));
      expect(path.reduce((at, name) => at[name], there).kite).toEqual(entry);
      expect(addServer(put.text, path, entry, bin)).toEqual({ text: put.text, made: null });
      expect(removeServer(put.text, path, bin, put.made)).toBe(text);
    });
  }

  test("goes in and out of whatever JSON there is", () => {
    const spaces = fc.constantFrom(undefined, 1, 2, 4, "\t");
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        spaces,
        fc.boolean(),
        (object, space, inUser) => {
          const { mcpServers: _, projects: __, ...rest } = object;
          const text = JSON.stringify(rest, null, space);
          const path = inUser ? user : project;
          const put = addServer(text, path, entry, bin);
          expect(removeServer(put.text, path, bin, put.made)).toBe(text);
        },
      ),
    );
  });

  test("keeps what the client wrote meanwhile, around it too", () => {
    const put = addServer("{}", project, entry, bin);
    const written = JSON.parse(put.text);
    written.projects["/home/ana/shop"].allowedTools = [];
    const text = JSON.stringify(written, null, 2);
    expect(JSON.parse(removeServer(text, project, bin, put.made))).toEqual({
      projects: { "/home/ana/shop": { allowedTools: [] } },
    });
  });

  test("is replaced where an older Kite put another one, and left alone where it is somebody else's", () => {
    const older = JSON.stringify({ mcpServers: { kite: { command: `${bin}/kite-mcp` } }, a: 1 });
    expect(JSON.parse(addServer(older, user, entry, bin).text)).toEqual({
      mcpServers: { kite: entry },
      a: 1,
    });
    const foreign = JSON.stringify({ mcpServers: { kite: { command: "/usr/bin/kite" } } });
    expect(() => addServer(foreign, user, entry, bin)).toThrow("a server of another kind");
    expect(removeServer(foreign, user, bin, null)).toBe(foreign);
  });

  test.each(["", "[]", "{", '{"mcpServers":[]}', '{"mcpServers":7}'])("is refused in %j", text => {
    expect(() => addServer(text, user, entry, bin)).toThrow();
  });
});

describe("the rule that allows the tools", () => {
  test.each([
    ...texts,
    '{"permissions":{}}',
    '{"permissions":{"allow":[]}}',
    '{"permissions":{"allow":["a"]}}',
  ])("goes in and out: %j", text => {
    const put = addAllow(text, toolsRule);
    expect(JSON.parse(put.text.replace(/^\ufeff/, "")).permissions.allow).toContain("mcp__kite");
    expect(addAllow(put.text, toolsRule)).toEqual({ text: put.text, made: null });
    if (put.made === null) throw new Error("nothing was made");
    const plain = (json: string) => JSON.stringify(JSON.parse(json.replace(/^\ufeff/, "")));
    expect(plain(removeAllow(put.text, toolsRule, put.made))).toBe(plain(text));
  });

  test("stays where somebody added to it", () => {
    const put = addAllow("{}", toolsRule);
    const more = put.text.replace('"mcp__kite"', '"mcp__kite", "Bash(ls)"');
    if (put.made === null) throw new Error("nothing was made");
    expect(JSON.parse(removeAllow(more, toolsRule, put.made))).toEqual({
      permissions: { allow: ["Bash(ls)"] },
    });
  });
});

describe("the file", () => {
  let root: string;
  let env: Record<string, string>;
  let paths: ReturnType<typeof kitePaths>;
  let file: string;

  beforeEach(() => {
    root = temporaryFolder("kite-server-");
    env = { HOME: root };
    paths = kitePaths({ KITE_HOME: join(root, "kite") });
    file = join(root, ".claude.json");
  });

  test("is as before when all is undone, and gone where it was not there", async () => {
    const text = '{\n  "numStartups": 3\n}';
    writeFileSync(file, text, { mode: 0o600 });
    expect(await addTools(paths, userServers(env))).toBe(true);
    expect(await addTools(paths, userServers(env))).toBe(false);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      numStartups: 3,
      mcpServers: { kite: { type: "stdio", command: join(paths.bin, "mcp"), args: [], env: {} } },
    });
    expect(placesWithTools(paths)).toEqual([{ file, project: null }]);
    expect(await removeTools(paths, userServers(env))).toBe(true);
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(placesWithTools(paths)).toEqual([]);
    expect(existsSync(paths.servers)).toBe(false);

    const other = { CLAUDE_CONFIG_DIR: join(root, "config") };
    expect(await addTools(paths, userServers(other))).toBe(true);
    expect(statSync(join(root, "config", ".claude.json")).mode & 0o777).toBe(0o600);
    expect(await removeTools(paths, userServers(other))).toBe(true);
    expect(existsSync(join(root, "config", ".claude.json"))).toBe(false);
  });

  test("keeps one project's tools apart from another's, and all worktrees together", async () => {
    const shop = join(root, "shop");
    const tree = join(root, "tree");
    mkdirSync(join(shop, ".git", "worktrees", "tree"), { recursive: true });
    mkdirSync(join(tree, "src"), { recursive: true });
    writeFileSync(join(tree, ".git"), `gitdir: ${shop}/.git/worktrees/tree\n`);
    expect(projectServers(env, join(tree, "src"))).toEqual({ file, project: shop });
    await addTools(paths, projectServers(env, tree));
    await addTools(paths, userServers(env));
    expect(placesWithTools(paths)).toHaveLength(2);
    expect(await removeTools(paths, projectServers(env, shop))).toBe(true);
    const { mcpServers, ...rest } = JSON.parse(readFileSync(file, "utf8"));
    expect(Object.keys(mcpServers)).toEqual(["kite"]);
    expect(rest).toEqual({});
  });

  test("is written while the client does not write it", async () => {
    writeFileSync(file, "{}");
    const release = await lock(file, { realpath: false });
    const adding = addTools(paths, userServers(env));
    writeFileSync(file, '{"numStartups":1}');
    await release();
    await adding;
    expect(Object.keys(JSON.parse(readFileSync(file, "utf8")))).toEqual(["numStartups", "mcpServers"]);
  });

  test("is left alone where it cannot be used", async () => {
    writeFileSync(file, "{ oops");
    await expect(addTools(paths, userServers(env))).rejects.toThrow(": it is not valid JSON");
    expect(readFileSync(file, "utf8")).toBe("{ oops");
    expect(placesWithTools(paths)).toEqual([]);
  });

  test("is not even looked for twice where nothing was installed", async () => {
    expect(await removeTools(paths, userServers(env))).toBe(false);
    writeFileSync(file, "{}");
    expect(await removeTools(paths, userServers(env))).toBe(false);
    expect(existsSync(paths.home)).toBe(false);
  });
});
