/** Kite's tools in the client's own file: put there and taken out, and nothing else is touched. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { lock } from "proper-lockfile";
import { beforeEach, describe, expect, test } from "vitest";
import {
  addTools,
  placesWithTools,
  projectServers,
  removeTools,
  userServers,
} from "../../hooks/claude-code/settings/files.ts";
import { addAllow, removeAllow, toolsRule } from "../../hooks/claude-code/settings/install.ts";
import { addServer, removeServer } from "../../hooks/install/json-text.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { temporaryFolder } from "../temporary-folder.ts";

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
