import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { loadConfig, tighten } from "../../daemon/config/config.ts";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { nodeProber } from "../../daemon/facts/prober.ts";
import { GitFacts } from "../../daemon/facts/repositories.ts";
import { originIn, originName, sharedProject } from "../../daemon/store/shared-project.ts";
import { limits } from "../../protocol/limits.ts";
import { plain } from "../../protocol/text.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** The name that an address gives; null: none. */
function nameOf(address: string): string | null {
  const found = originName(address);
  return "name" in found ? found.name : null;
}

describe("the name that an address gives", () => {
  it.each([
    ["https://github.com/team/shop.git", "github.com/team/shop"],
    ["https://GitHub.com/Team/Shop", "github.com/Team/Shop"],
    ["https://ada:hunter2@github.com:443/team/shop.git/", "github.com/team/shop"],
    ["HTTP://github.com//team///shop/", "github.com/team/shop"],
    ["ssh://git@github.com/team/shop.git", "github.com/team/shop"],
    ["ssh://git@ssh.github.com:443/team/shop.git", "github.com/team/shop"],
    ["git+ssh://github.com/team/shop", "github.com/team/shop"],
    ["git://github.com:9418/team/shop", "github.com/team/shop"],
    ["git@github.com:team/shop.git", "github.com/team/shop"],
    ["git@github.com:/team/shop.git", "github.com/team/shop"],
    ["github.com:team/shop", "github.com/team/shop"],
    ["github.com.:team/shop", "github.com/team/shop"],
    ["[git@github.com:22]:team/shop.git", "github.com/team/shop"],
    ["ada@example@github.com:team/shop", "github.com/team/shop"],
    ["ssh://ada@server:2222/~/shop", "server/shop"],
    ["ada@server:shop", "server/shop"],
    ["ada@server:~bob/shop", "server/~bob/shop"],
    ["server:work/shop/.git", "server/work/shop"],
    ["https://dev.example.com/team/my%20shop", "dev.example.com/team/my shop"],
    ["dev.example.com:team/my shop", "dev.example.com/team/my shop"],
    ["https://müller.example/shop", "xn--mller-kva.example/shop"],
    ["https://xn--mller-kva.example/shop", "xn--mller-kva.example/shop"],
    ["git@[2001:DB8:0::1]:team/shop", "[2001:db8::1]/team/shop"],
    ["ssh://git@[2001:db8::1]:22/team/shop", "[2001:db8::1]/team/shop"],
    ["https://10.0.0.5:8443/team/shop.git", "10.0.0.5/team/shop"],
    ["git@my_host:team/shop.git", "my_host/team/shop"],
    ["https://github.com/team/u\u0308ber", "github.com/team/über"],
    ["https://github.com/team/%C3%BCber", "github.com/team/über"],
  ])("%s is %s", (address, name) => {
    expect(originName(address)).toEqual({ name });
  });

  it.each([
    ["/srv/git/shop.git", /folder of this machine/],
    ["../shop", /folder of this machine/],
    ["./a:b", /folder of this machine/],
    ["shop", /folder of this machine/],
    ["~/shop", /folder of this machine/],
    ["", /folder of this machine/],
    ["file:///srv/git/shop.git", /folder of this machine/],
    ["FILE://server/shop", /folder of this machine/],
    ["C:\\work\\shop", /folder of this machine/],
    ["c:/src/shop", /folder of this machine/],
    ["git@localhost:team/shop", /folder of this machine/],
    ["ssh://127.0.0.1:2222/team/shop", /folder of this machine/],
    ["http://127.1/team/shop", /folder of this machine/],
    ["http://[::1]/team/shop", /folder of this machine/],
    ["http://0.0.0.0/team/shop", /folder of this machine/],
    ["ext::sh -c hunter2", /no host and path/],
    ["codecommit::eu-west-1://shop", /no host and path/],
    ["s3://bucket/shop", /no host and path/],
    ["https:///team/shop", /no host and path/],
    ["https://github.com", /no host and path/],
    ["https://github.com/", /no host and path/],
    ["https://github.com/.git", /no host and path/],
    ["git@github.com:", /no host and path/],
    ["git@:team/shop", /no host and path/],
    ["https://github.com/../shop", /no host and path/],
    ["https://github.com/team/%zz", /no host and path/],
    ["https://git hub.com/team/shop", /no host and path/],
    ["ssh://[fe80::1%25eth0]/shop", /no host and path/],
    ["ssh://[::g]/shop", /no host and path/],
    ["https://github.com/team/a\nb", /characters/],
    ["https://github.com/team/%00", /characters/],
    ["https://github.com/team/%E2%80%AEa", /characters/],
    ["https://github.com/team/<b>", /characters/],
    [`https://github.com/${"a".repeat(limits.sharedProjectChars)}`, /too long/],
  ])("%s gives none", (address, why) => {
    expect(originName(address)).toEqual({ why: expect.stringMatching(why) });
  });

  it("takes no long time for an address of any length", () => {
    for (const text of ["ssh://", "a@", "[", ":", "%", "/", "[a:", "https://a/"].map(word =>
      word.repeat(200_000),
    ))
      expect(originName(text)).toEqual({ why: expect.stringMatching(/too long/) });
    for (const text of [":", "@", "[:", "a:1", "%20", "/", "[a:"])
      for (const before of ["", "ssh://", "a@[", "https://a/"])
        expect(originName((before + text.repeat(limits.pathBytes)).slice(0, limits.pathBytes))).toBeDefined();
  });
});

/** A label that begins with xn-- stands for other letters, and most such words stand for none. */
const label = fc
  .stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/)
  .filter(text => !text.startsWith("xn--"));
const host = fc
  .tuple(label, label, fc.constantFrom("com", "example", "internal"))
  .map(parts => parts.join("."));
/** Parts that need no escape in any form of address, and are cut in none. */
const part = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,12}$/).filter(text => !/\.git$/i.test(text));
const path = fc.array(part, { minLength: 1, maxLength: 4 }).map(parts => parts.join("/"));
const user = fc.constantFrom("", "git@", "ada@", "ada:hunter2@", "a@b@");
const port = fc.constantFrom("", ":22", ":443", ":2222", ":");
const end = fc.constantFrom("", ".git", "/", ".git/", "//", "/.git", ".GIT");

describe("addresses of one repository", () => {
  it("give one name, whatever the way, the user and the port", () => {
    const scheme = fc.constantFrom("https://", "http://", "ssh://", "git://", "git+ssh://", "HTTPS://");
    fc.assert(
      fc.property(host, path, scheme, user, port, end, (at, name, way, who, door, tail) => {
        const address = `${way}${who}${at}${door}/${name}${tail}`;
        expect(nameOf(address), address).toBe(`${at}/${name}`);
        expect(nameOf(`${way}${who}${at.toUpperCase()}${door}//${name}${tail}`)).toBe(`${at}/${name}`);
      }),
    );
  });

  it("give one name in the short form, too", () => {
    const who = user.filter(text => !text.includes(":"));
    fc.assert(
      fc.property(host, path, who, end, fc.constantFrom("", "/", "~/"), (at, name, login, tail, root) => {
        expect(nameOf(`${login}${at}:${root}${name}${tail}`)).toBe(`${at}/${name}`);
        expect(nameOf(`[${login}${at}:22]:${root}${name}${tail}`)).toBe(`${at}/${name}`);
      }),
    );
  });

  it("of two repositories give two names", () => {
    fc.assert(
      fc.property(fc.tuple(host, path), fc.tuple(host, path), ([at, name], [otherHost, otherName]) => {
        fc.pre(at !== otherHost || name !== otherName);
        expect(nameOf(`https://${at}/${name}`)).not.toBe(nameOf(`git@${otherHost}:${otherName}`));
      }),
    );
  });

  it("give a clean and bounded name or none, and a reason that repeats nothing", () => {
    const word = fc.oneof(
      fc.integer({ min: 0, max: 0x10ffff }).map(point => String.fromCodePoint(point)),
      fc.constantFrom(":", "/", "@", "://", "[", "]", "hunter2", "https", "%", ".git", "..", "~", "\\"),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), words => {
        const found = originName(words.join(""));
        if ("why" in found) {
          expect(found.why).not.toContain("hunter2");
          return;
        }
        expect(found.name).toBe(plain(found.name, limits.sharedProjectChars));
        expect(found.name).toMatch(/^[^/]+\/[^/]/);
        // A name is the name of its own address.
        if (!/[%?#]|\.git(?:$|\/)/i.test(found.name))
          expect(nameOf(`https://${found.name}`)).toBe(found.name);
      }),
      { numRuns: 500 },
    );
  });
});

describe("the address of origin in a repository's configuration", () => {
  const texts: readonly [text: string, address: string | null][] = [
    ["", null],
    [
      '[core]\n\tbare = false\n[remote "origin"]\n\turl = git@h:p\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
      "git@h:p",
    ],
    ['[remote "origin"]\nurl=git@h:p', "git@h:p"],
    ['[remote "origin"] url = git@h:p # here\n', "git@h:p"],
    ['\uFEFF[Remote "origin"]\r\n\tURL\t=\tgit@h:p \t\r\n', "git@h:p"],
    ["[remote.ORIGIN]\nurl = git@h:p\n", "git@h:p"],
    ['[remote "Origin"]\nurl = git@h:p\n', null],
    ['[remote "ori\\gin"]\nurl = git@h:p\n', "git@h:p"],
    ['[remote "other"]\nurl = git@h:p\n[remote "origin"]\npushurl = git@h:q\n', null],
    ['[remote "origin"]\nurl\n', null],
    ['[remote "origin"]\nurl = a\nurl = b\n', "a"],
    ['[remote "origin"]\n; url = a\n# url = b\nurl = c\n', "c"],
    ['[remote "origin"]\nurl = "a;b#c" ; d\n', "a;b#c"],
    ['[remote "origin"]\nurl = " a " b\n', " a  b"],
    ['[remote "origin"]\nurl = a\\\n  b\n', "a  b"],
    ['[remote "origin"]\nurl = a\\\\b\\"c\\t"d"\n', 'a\\b"c\td'],
    ['[include]\npath = /elsewhere\n[remote "origin"]\nurl = a\n', "a"],
    ['[alias]\nx = "!f() { echo \\"[remote]\\"; }; f"\n[remote "origin"]\nurl = a\n', "a"],
  ];

  it.each(texts)("%j has %j", (text, address) => {
    expect(originIn(text)).toEqual(address === null ? { is: "none" } : { is: "found", address });
  });

  it("is what git says", () => {
    const file = join(temporaryFolder(), "config");
    for (const [text, address] of texts) {
      writeFileSync(file, text);
      const args = [
        "config",
        "-z",
        "--no-includes",
        "--file",
        file,
        "--get-regexp",
        "^remote\\.origin\\.url$",
      ];
      const found = execFileSync("sh", ["-c", 'git "$@" || :', "sh", ...args], { encoding: "utf8" });
      const [first] = found.split("\0").flatMap(entry => entry.split("\n").slice(1));
      // An older git makes a blank of a tab within a value.
      expect(first?.replaceAll("\t", " ") ?? null, text).toBe(address?.replaceAll("\t", " ") ?? null);
    }
  });

  it("begins anew behind an empty one", () => {
    expect(originIn('[remote "origin"]\nurl = a\nurl =\n')).toEqual({ is: "none" });
    expect(originIn('[remote "origin"]\nurl = a\nurl = ""\nurl = b\n')).toEqual({
      is: "found",
      address: "b",
    });
  });

  it.each([
    "[remote",
    '[remote "origin]',
    "[remote\norigin]",
    '[remote "origin"\n]',
    "= a",
    "1 = a",
    "[a]\nb c",
    '[a]\nb = "c',
    "[a]\nb = \\q",
    "\0",
  ])("is not looked for in what git does not read: %j", text => {
    expect(originIn(`[remote "origin"]\nurl = a\n${text}`)).toEqual({ is: "damaged" });
  });

  it("takes no long time for a text of any form", () => {
    const pieces = ['\\"', 'a"', "[a]", "[a]\nb=", " ", "a", "#", '"\\\\"', "b = c\n", " \t"];
    for (const piece of pieces) {
      const text = `[remote "origin"]\nurl = ${piece.repeat(limits.gitConfigBytes / 4 / piece.length)}`;
      expect(["found", "none", "damaged"]).toContain(originIn(text).is);
    }
  });
});

describe("the key project of a project's file", () => {
  const read = async (value: unknown) => {
    const user = await loadConfig({ env: {}, paths: { config: "/none" } });
    const problems: string[] = [];
    const { sections } = tighten(user, "/p/.kite/config.json", JSON.stringify({ project: value }), problems);
    return { project: sections.project, problems };
  };

  it.each([
    ["shop", "shop"],
    ["github.com/team/shop", "github.com/team/shop"],
    ["u\u0308ber uns", "über uns"],
    ["s".repeat(limits.sharedProjectChars), "s".repeat(limits.sharedProjectChars)],
    [undefined, null],
  ])("%j is %j", async (value, project) => {
    expect(await read(value)).toEqual({ project, problems: [] });
  });

  it.each([
    "",
    " ",
    " shop",
    "shop ",
    "a\nb",
    "a\tb",
    "a\u202eb",
    "a\u200bb",
    "a\0b",
    "<b>",
    "s".repeat(limits.sharedProjectChars + 1),
    null,
    1,
    ["shop"],
    { name: "shop" },
  ])("is not %j", async value => {
    expect(await read(value)).toEqual({
      project: null,
      problems: [
        expect.stringMatching(/^\/p\/\.kite\/config\.json: project is ignored: expected a name on one line/),
      ],
    });
  });

  it("is no setting of the user", async () => {
    const file = join(temporaryFolder(), "config.json");
    writeFileSync(file, JSON.stringify({ project: "shop" }));
    const { problems } = await loadConfig({ env: {}, paths: { config: file } });
    expect(problems).toEqual([
      `${file}: project is the name of one project: write it into that project's .kite/config.json`,
    ]);
  });
});

describe("the name that machines share", () => {
  /** A repository with this configuration, and one reader for it. */
  function repository(config: string | null) {
    const top = join(temporaryFolder(), "shop");
    for (const folder of ["objects", "refs"]) mkdirSync(join(top, ".git", folder), { recursive: true });
    writeFileSync(join(top, ".git", "HEAD"), "ref: refs/heads/main\n");
    if (config !== null) writeFileSync(join(top, ".git", "config"), config);
    return { top, ...reader() };
  }

  function reader() {
    const outside = new BudgetedFs(nodeProber);
    const git = new GitFacts({ outside });
    const at = async (cwd: string, setting: string | null = null) => {
      const found = await git.lookUp(cwd);
      if ("unreachable" in found) throw new Error(found.unreachable);
      return sharedProject({ outside, git }, found, setting);
    };
    return { at };
  }

  const config = '[remote "origin"]\n\turl = git@github.com:team/shop.git\n';

  test("is that of the setting, else that of origin", async () => {
    const { top, at } = repository(config);
    expect(await at(top)).toEqual({ name: "github.com/team/shop", from: "origin" });
    expect(await at(top, "our shop")).toEqual({ name: "our shop", from: "setting" });
    const plainFolder = temporaryFolder();
    expect(await at(plainFolder, "our shop")).toEqual({ name: "our shop", from: "setting" });
  });

  test("is one in all worktrees, which read what they have in common", async () => {
    const { top, at } = repository(config);
    const own = join(top, ".git", "worktrees", "pay");
    const worktree = `${top}-pay`;
    for (const folder of [own, worktree]) mkdirSync(folder, { recursive: true });
    writeFileSync(join(worktree, ".git"), `gitdir: ${own}\n`);
    writeFileSync(join(own, "HEAD"), "ref: refs/heads/pay\n");
    writeFileSync(join(own, "commondir"), "../..\n");
    writeFileSync(join(own, "config"), '[remote "origin"]\nurl = git@github.com:no/no\n');
    expect(await at(worktree)).toEqual({ name: "github.com/team/shop", from: "origin" });
  });

  test("follows nothing that the configuration includes", async () => {
    const { top, at } = repository("[include]\n\tpath = more\n");
    writeFileSync(join(top, ".git", "more"), config);
    expect(await at(top)).toMatchObject({ name: null });
  });

  test("is read as it is now", async () => {
    const { top, at } = repository(config);
    await at(top);
    writeFileSync(join(top, ".git", "config"), config.replace("shop", "store"));
    expect(await at(top)).toMatchObject({ name: "github.com/team/store" });
  });

  test.each([
    [null, /has no remote called origin/],
    ["", /has no remote called origin/],
    ['[remote "origin"', /damaged, or too long/],
    [`${config}#${"x".repeat(limits.gitConfigBytes)}`, /damaged, or too long/],
    ['[remote "origin"]\nurl = /srv/shop\n', /leads to a folder of this machine/],
    ['[remote "origin"]\nurl = s3://ada:hunter2@x/y\n', /names no host and path/],
  ])("is none, and the sentence says how to name it: %#", async (text, because) => {
    const { top, at } = repository(text);
    const found = await at(top);
    expect(found).toEqual({ name: null, why: expect.stringMatching(because) });
    expect(JSON.stringify(found)).not.toContain("hunter2");
    expect(found).toMatchObject({
      why: expect.stringContaining(`name it in ${top}/.kite/config.json: {"project": "NAME"}`),
    });
  });

  test("is none without a repository, also at the root", async () => {
    const { at } = reader();
    expect(await at(temporaryFolder())).toMatchObject({
      name: null,
      why: expect.stringMatching(/no repository of git/),
    });
    const git = { commonDirOf: async () => "/none" };
    const found = await sharedProject(
      { outside: new BudgetedFs(nodeProber), git },
      { project: "/", gitDir: null },
      null,
    );
    expect(found).toMatchObject({
      why: expect.stringMatching(/^\/ is no repository of git; .*kite store share$/),
    });
  });

  test("is not known while the disk does not answer", async () => {
    const mounts = async () => [{ point: "/", local: false }];
    const hung = { ...nodeProber, mounts, readSmall: () => new Promise<never>(() => {}) };
    const outside = new BudgetedFs(hung, undefined, { here: null, factMs: 20 });
    const { top } = repository(config);
    const git = { commonDirOf: async () => join(top, ".git") };
    const found = await sharedProject({ outside, git }, { project: top, gitDir: join(top, ".git") }, null);
    expect(found).toEqual({ unreachable: expect.stringContaining(".git/config") });
    const none = { commonDirOf: async () => ({ unreachable: "no answer" }) };
    expect(await sharedProject({ outside, git: none }, { project: top, gitDir: top }, null)).toEqual({
      unreachable: "no answer",
    });
  });
});
