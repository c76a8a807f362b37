/** Which checks a project names, which of them a person trusts, and what a hostile file cannot do. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Config, loadConfig, tighten } from "../../daemon/config/config.ts";
import { ProjectRules } from "../../daemon/config/project-rules.ts";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { nodeProber } from "../../daemon/facts/prober.ts";
import { GitFacts } from "../../daemon/facts/repositories.ts";
import { concerning } from "../../daemon/lead/checks.ts";
import { ProjectChecks } from "../../daemon/lead/services.ts";
import {
  type Check,
  checksIn,
  commandHash,
  parseTrusted,
  TrustedReader,
  trustedText,
  trustHash,
} from "../../daemon/lead/settings.ts";
import { gatePresets, gatesText } from "../../protocol/lead/roles.ts";
import { limits } from "../../protocol/limits.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const top = temporaryFolder("kite-checks-");
let config: Config;
let count = 0;

beforeAll(async () => {
  config = await loadConfig({ env: {}, paths: { config: join(top, "none.json") } });
});

function read(value: unknown): { checks: readonly Check[]; problems: string[] } {
  const problems: string[] = [];
  return { checks: checksIn(value, "F", problems), problems };
}

/** The setting as the file's text has it: `__proto__` is then a key like any other. */
const parsed = (text: string) => read(JSON.parse(text));

describe("the checks of a file", () => {
  test("are read in its order, with one glob or several, or none", () => {
    const { checks, problems } = read({
      test: { command: "npm test" },
      lint: { command: "npm run lint", when: "*.ts" },
      docs: { command: "make docs", when: ["docs/**", "*.md"] },
    });
    expect(problems).toEqual([]);
    expect(checks).toEqual([
      { name: "test", command: "npm test", when: null },
      { name: "lint", command: "npm run lint", when: ["*.ts"] },
      { name: "docs", command: "make docs", when: ["docs/**", "*.md"] },
    ]);
    expect(read(undefined)).toEqual({ checks: [], problems: [] });
  });

  test.each([
    ["no object", '{"a":"npm test"}', "expected an object"],
    ["no command", '{"a":{}}', "command must be a shell line"],
    ["an empty command", '{"a":{"command":" "}}', "command must be a shell line"],
    ["a command with a NUL", '{"a":{"command":"a\\u0000b"}}', "command must be a shell line"],
    ["a list as a command", '{"a":{"command":["rm"]}}', "command must be a shell line"],
    [
      "a long command",
      JSON.stringify({ a: { command: "x".repeat(limits.checkCommandChars + 1) } }),
      "at most 2000",
    ],
    ["an unknown field", '{"a":{"command":"x","env":{}}}', "'env' is not known".replaceAll("'", '"')],
    ["a number as glob", '{"a":{"command":"x","when":1}}', "when must be a glob"],
    ["no glob", '{"a":{"command":"x","when":[]}}', "when must be a glob"],
    [
      "many globs",
      JSON.stringify({ a: { command: "x", when: Array(limits.checkGlobsMax + 1).fill("*") } }),
      "1 to 32",
    ],
    ["a glob of more than it may have", '{"a":{"command":"x","when":"{a,b}"}}', "only *, ** and ? are known"],
    [
      "a long glob",
      JSON.stringify({ a: { command: "x", when: "x".repeat(limits.globBytes + 1) } }),
      "256 characters",
    ],
    ["a name like an option", '{"--yes":{"command":"x"}}', "a name begins with a letter"],
    ["a name like a short option", '{"-q":{"command":"x"}}', "a name begins with a letter"],
    ["a name with a blank", '{"a b":{"command":"x"}}', "a name begins with a letter"],
    ["a name like a path", '{"../a":{"command":"x"}}', "a name begins with a letter"],
    ["an empty name", '{"":{"command":"x"}}', "a name begins with a letter"],
    ["a name that changes the line", '{"a\\u001b[2K\\r":{"command":"x"}}', "a name begins with a letter"],
    ["a name of letters that look alike", '{"t\\u0435st":{"command":"x"}}', "a name begins with a letter"],
    ["the prototype", '{"__proto__":{"command":"x"}}', "a name begins with a letter"],
    ["a long name", JSON.stringify({ ["x".repeat(41)]: { command: "x" } }), "a name begins with a letter"],
  ])("leave out one with %s, and keep the rest", (_, text, why) => {
    const { checks, problems } = parsed(`${text.slice(0, -1)},"good":{"command":"npm test"}}`);
    expect(checks).toEqual([{ name: "good", command: "npm test", when: null }]);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(why);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be in a sentence for people
    expect(problems[0]).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });

  test("may have names that every object has, which are names like any other", () => {
    const { checks, problems } = parsed(
      '{"constructor":{"command":"a"},"toString":{"command":"b"},"hasOwnProperty":{"command":"c"}}',
    );
    expect(problems).toEqual([]);
    expect(checks.map(({ name }) => name)).toEqual(["constructor", "toString", "hasOwnProperty"]);
  });

  test("are so many at most, and an object", () => {
    const many = Object.fromEntries(
      Array.from({ length: limits.checksMax + 2 }, (_, n) => [`n${n}`, { command: "x" }]),
    );
    expect(read(many).checks).toHaveLength(limits.checksMax);
    expect(read(many).problems).toHaveLength(2);
    for (const value of [null, [], "npm test", 1, [{ command: "x" }]])
      expect(read(value), JSON.stringify(value)).toMatchObject({
        checks: [],
        problems: [expect.stringContaining("checks is ignored")],
      });
  });

  test("have a hash of all that they say", () => {
    const of = (value: unknown) => trustHash({ checks: read(value).checks, gates: null });
    const hashes = [
      {},
      { a: { command: "x" } },
      { b: { command: "x" } },
      { a: { command: "x " } },
      { a: { command: "x", when: "*" } },
      { a: { command: "x", when: ["*", "*"] } },
      { a: { command: "x" }, b: { command: "y" } },
      { b: { command: "y" }, a: { command: "x" } },
      { a: { command: "x\ud800" } },
      { a: { command: "x\ud801" } },
    ].map(of);
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(of({ a: { when: ["*"], command: "x" } })).toBe(of({ a: { command: "x", when: "*" } }));
    expect(commandHash("npm test")).toMatch(/^[0-9a-f]{64}$/);
  });

  test("are a project's: in the user's own file they count for nothing", async () => {
    const file = join(top, "user.json");
    writeFileSync(file, JSON.stringify({ treeGuard: "warn", setup: "x", checks: { a: { command: "x" } } }));
    const { values, problems } = await loadConfig({ env: {}, paths: { config: file } });
    expect(values.treeGuard).toBe("warn");
    expect(problems).toEqual([
      `${file}: checks belong to a project: name them in its .kite/config.json`,
      `${file}: a setup belongs to a project: name it in its .kite/config.json`,
    ]);
  });

  test("do not keep other settings of the file from counting, nor let more of them", () => {
    const problems: string[] = [];
    const text = '{"treeGuard":"off","ignore":["gen/"],"checks":{"-x":{},"test":{"command":"x"}}}';
    const found = tighten(config, "F", text, problems);
    expect(found.values).toMatchObject({ treeGuard: "deny", ignore: ["gen/"] });
    expect(found.sections.checks).toEqual([{ name: "test", command: "x", when: null }]);
    expect(problems).toHaveLength(2);
  });
});

describe("when", () => {
  const of = async (when: readonly string[] | null, ...files: string[]) =>
    (await concerning([{ when }], files)).length === 1;

  test("limits a check to changes of its files", async () => {
    expect(await of(["*.ts"], "docs/a.md")).toBe(false);
    expect(await of(["*.ts"], "docs/a.md", "src/deep/a.ts")).toBe(true);
    expect(await of(["src/*.ts"], "src/deep/a.ts")).toBe(false);
    expect(await of(["docs/", "*.md"], "docs/x/y")).toBe(true);
    expect(await of(["*.ts"])).toBe(false);
  });

  test("absent means always", async () => {
    expect(await of(null)).toBe(true);
    expect(await of(null, "a")).toBe(true);
  });

  test("of all checks together takes so many steps, and checks beyond that matter", async () => {
    const when = Array<string>(limits.checkGlobsMax).fill(`${"*a".repeat(127)}b`);
    const files = Array<string>(6).fill(`${"a".repeat(200)}/${"a".repeat(200)}`);
    const steps = when.join("").length * files.join("").length;
    const fitting = Math.floor(limits.checkGlobSteps / steps);
    const checks = Array.from({ length: limits.checksMax }, (_, n) => ({ n, when }));
    const matter = await concerning(checks, files);
    expect(matter.map(({ n }) => n)).toEqual(checks.slice(fitting).map(({ n }) => n));
    // What takes no steps, or few, is still told.
    const small = [...checks.slice(0, fitting), { n: -1, when: ["*.ts"] }];
    expect(await concerning(small, files)).toEqual([]);
  });

  test("takes so many steps in one turn of the event loop", async () => {
    const when = Array<string>(8).fill("*a*b");
    const files = Array.from({ length: 5000 }, (_, n) => `${"a".repeat(40)}${n}`);
    const steps = when.join("").length * files.join("").length;
    let turns = 0;
    const next = async () => {
      turns += 1;
    };
    expect(await concerning([{ when }, { when }], files, next)).toEqual([]);
    expect(turns).toBeGreaterThanOrEqual(Math.floor((2 * steps) / limits.checkGlobTurnSteps));
    expect(turns).toBeGreaterThan(1);
    turns = 0;
    await concerning([{ when }], files.slice(0, 10), next);
    expect(turns).toBe(0);
  });
});

/** A repository with a file of settings, what a person trusts, and the service over both with a clock of its own. */
function world() {
  const project = join(top, `p${count++}`);
  repositoryAt(project);
  mkdirSync(join(project, ".kite"));
  const trustedFile = `${project}-trusted.json`;
  const clock = { now: 0 };
  const problems: string[] = [];
  const outside = new BudgetedFs(nodeProber, () => clock.now);
  const git = new GitFacts({ outside });
  const repository = (directory: string) => git.repositoryOf(directory);
  const configFile = join(top, "home", ".kite", "config.json");
  const onProblem = (problem: string) => problems.push(problem);
  const trusted = new TrustedReader(outside, trustedFile);
  const rules = new ProjectRules({ config, configFile, trusted, outside, repository, onProblem });
  const service = new ProjectChecks({ rules, trusted, configFile, outside, repository });
  const file = `${project}/.kite/config.json`;
  const later = () => {
    clock.now += limits.repositoryKeptMs;
  };
  return {
    project,
    file,
    trustedFile,
    problems,
    service,
    rules,
    later,
    write: (checks: unknown, at = file) => {
      writeFileSync(at, JSON.stringify({ checks }));
      later();
    },
    /** What `kite check --trust` writes. */
    trust: (checks: unknown, of = file) => {
      const text = {
        version: 1,
        files: { [of]: { hash: trustHash({ checks: read(checks).checks, gates: null }), at: 1 } },
      };
      writeFileSync(trustedFile, JSON.stringify(text));
      later();
    },
    trustAt: async (directory = project) => {
      const found = await service.for(directory);
      return "unreachable" in found ? found : found.trust;
    },
    names: async (directory = project) => {
      const found = await service.for(directory);
      return "unreachable" in found ? found : found.checks.map(({ name }) => name);
    },
  };
}

/** The files by which a repository is known. */
function repositoryAt(directory: string): void {
  for (const part of ["objects", "refs"]) mkdirSync(join(directory, ".git", part), { recursive: true });
  writeFileSync(join(directory, ".git", "HEAD"), "ref: refs/heads/main\n");
}

const two = { test: { command: "npm test" }, docs: { command: "make docs", when: "*.md" } };

describe("a project's checks count", () => {
  test("once a person trusts their text, for all of the project", async () => {
    const w = world();
    expect([await w.trustAt(), await w.names()]).toEqual(["none", []]);
    w.write(two);
    expect([await w.trustAt(), await w.names()]).toEqual(["untrusted", []]);
    w.trust(two);
    mkdirSync(`${w.project}/src`);
    expect(await w.service.for(`${w.project}/src`)).toEqual({
      project: w.project,
      worktree: w.project,
      file: w.file,
      trust: "trusted",
      checks: read(two).checks,
    });
    expect(w.problems).toEqual([]);
  });

  test("until any of their text changes, even if it comes back from before the latest trust", async () => {
    const w = world();
    const weak = { test: { command: "true" } };
    w.write(weak);
    w.trust(weak);
    expect(await w.trustAt()).toBe("trusted");
    w.write(two);
    expect([await w.trustAt(), await w.names()]).toEqual(["changed", []]);
    w.trust(two);
    expect(await w.trustAt()).toBe("trusted");
    w.write(weak);
    expect(await w.trustAt()).toBe("changed");
    w.write({ ...two, docs: { command: "make docs", when: "never" } });
    expect(await w.trustAt()).toBe("changed");
  });

  test("and no longer switch themselves off: their absence is a change", async () => {
    const w = world();
    w.write(two);
    w.trust(two);
    for (const gone of [{}, null, { "--yes": { command: "x" } }]) {
      w.write(gone);
      expect(await w.trustAt()).toBe("changed");
    }
    rmSync(w.file);
    w.later();
    expect(await w.trustAt()).toBe("changed");
    // Too large to be read, and no file at all: neither counts as "no checks".
    writeFileSync(w.file, JSON.stringify({ checks: two, ignore: ["x".repeat(limits.smallFileBytes)] }));
    w.later();
    expect(await w.trustAt()).toBe("changed");
    rmSync(w.file);
    execFileSync("mkfifo", [w.file]);
    w.later();
    expect(await w.trustAt()).toBe("changed");
  });

  test("not through a link to what is trusted elsewhere", async () => {
    const w = world();
    w.write(two);
    const other = world();
    other.trust(two, w.file);
    symlinkSync(w.file, other.file);
    other.later();
    expect([await other.trustAt(), await other.names()]).toEqual(["untrusted", []]);
  });

  test("through a link as long as its text is what was trusted here", async () => {
    const w = world();
    const target = join(top, `target${count++}`);
    writeFileSync(target, JSON.stringify({ checks: two }));
    symlinkSync(target, w.file);
    w.trust(two);
    expect(await w.trustAt()).toBe("trusted");
    writeFileSync(target, JSON.stringify({ checks: { test: { command: "evil" } } }));
    w.later();
    expect(await w.trustAt()).toBe("changed");
  });

  test("not those of a folder, or of another repository, within a trusted one", async () => {
    const w = world();
    w.write(two);
    w.trust(two);
    const [folder, inner] = [`${w.project}/folder`, `${w.project}/inner`];
    repositoryAt(inner);
    for (const directory of [folder, inner]) {
      mkdirSync(`${directory}/.kite`, { recursive: true });
      w.write({ evil: { command: "evil" } }, `${directory}/.kite/config.json`);
    }
    expect(await w.names(folder)).toEqual(["test", "docs"]);
    expect(await w.service.for(inner)).toMatchObject({ project: inner, trust: "untrusted", checks: [] });
  });

  test("as the project's one file has them, not as a worktree's own copy does", async () => {
    const w = world();
    w.write(two);
    w.trust(two);
    const tree = `${w.project}-tree`;
    const gitDir = `${w.project}/.git/worktrees/tree`;
    mkdirSync(gitDir, { recursive: true });
    writeFileSync(`${gitDir}/commondir`, "../..\n");
    writeFileSync(`${gitDir}/HEAD`, "ref: refs/heads/other\n");
    mkdirSync(`${tree}/.kite`, { recursive: true });
    writeFileSync(`${gitDir}/gitdir`, `${tree}/.git\n`);
    writeFileSync(`${tree}/.git`, `gitdir: ${gitDir}\n`);
    w.write({ test: { command: "true" } }, `${tree}/.kite/config.json`);
    expect(await w.service.for(tree)).toMatchObject({ worktree: tree, file: w.file, trust: "trusted" });
    expect(await w.names(tree)).toEqual(["test", "docs"]);
  });

  test("not where a folder only says that it is a worktree of the project", async () => {
    const w = world();
    w.write(two);
    w.trust(two);
    const gitDir = `${w.project}/.git/worktrees/tree`;
    mkdirSync(gitDir, { recursive: true });
    writeFileSync(`${gitDir}/commondir`, "../..\n");
    writeFileSync(`${gitDir}/HEAD`, "ref: refs/heads/other\n");
    const tree = `${w.project}-tree`;
    writeFileSync(`${gitDir}/gitdir`, `${tree}/.git\n`);
    for (const [folder, target] of [
      ["main", `${w.project}/.git`],
      ["linked", gitDir],
    ]) {
      const strange = `${w.project}/${folder}`;
      mkdirSync(strange);
      writeFileSync(`${strange}/.git`, `gitdir: ${target}\n`);
      expect(await w.service.for(strange)).toEqual({
        unreachable: `${strange} names the repository of ${w.project}, which does not know it as a worktree; no checks count in it`,
      });
    }
    const link = `${w.project}/link`;
    mkdirSync(link);
    symlinkSync(`${w.project}/.git`, `${link}/.git`);
    expect(await w.service.for(link)).toHaveProperty("unreachable");
    expect(await w.trustAt()).toBe("trusted");
  });

  test("not in the user's own directory, whose file is the user's", async () => {
    const w = world();
    const home = join(top, "home");
    mkdirSync(join(home, ".kite"), { recursive: true });
    w.write(two, join(home, ".kite", "config.json"));
    w.trust(two, join(home, ".kite", "config.json"));
    expect(await w.service.for(home)).toMatchObject({ trust: "none", checks: [] });
  });
});

describe("a project's gates", () => {
  const gatesAt = async (w: ReturnType<typeof world>) => {
    const { gates, own } = await w.rules.at({ project: w.project, worktree: w.project });
    const projectGates = own.gates ?? null;
    return [gatesText(gates), projectGates === null ? null : gatesText(projectGates)];
  };

  test("that a person trusted stay in force when the line or the file is gone, and are a change of what is trusted", async () => {
    const w = world();
    const write = (text: unknown) => {
      writeFileSync(w.file, JSON.stringify(text));
      w.later();
    };
    write({ checks: two, gates: "strict" });
    expect([await gatesAt(w), await w.trustAt()]).toEqual([["strict", "strict"], "untrusted"]);
    const { checks } = read(two);
    const gates = gatePresets.strict;
    const known = { hash: trustHash({ checks, gates }), at: 1, gates, checks };
    writeFileSync(w.trustedFile, trustedText(new Map([[w.file, known]]), false));
    w.later();
    expect(await w.trustAt()).toBe("trusted");
    for (const text of [
      { checks: two },
      { checks: two, gates: "team" },
      { checks: two, gates: "often" },
      {},
    ]) {
      write(text);
      expect([(await gatesAt(w))[0], await w.trustAt()]).toEqual(["strict", "changed"]);
    }
    rmSync(w.file);
    w.later();
    expect([await gatesAt(w), await w.trustAt()]).toEqual([["strict", null], "changed"]);
    rmSync(w.trustedFile);
    w.later();
    expect([await gatesAt(w), await w.trustAt()]).toEqual([["off", null], "none"]);
  });

  test("stay in force while trusted.json cannot be read", async () => {
    const w = world();
    const gates = gatePresets.team;
    const known = { hash: trustHash({ checks: [], gates }), at: 1, gates, checks: [] };
    writeFileSync(w.trustedFile, trustedText(new Map([[w.file, known]]), true));
    expect(await gatesAt(w)).toEqual(["team", null]);
    writeFileSync(w.trustedFile, "{");
    w.later();
    expect(await gatesAt(w)).toEqual(["team", null]);
    expect(w.problems).toEqual([expect.stringContaining("are not known")]);
  });

  test("a setup counts as they do: it is trusted, or has changed", async () => {
    const w = world();
    const write = (text: unknown) => {
      writeFileSync(w.file, JSON.stringify(text));
      w.later();
    };
    const { checks } = read(two);
    write({ checks: two, setup: "npm ci" });
    expect(await w.trustAt()).toBe("untrusted");
    const known = { hash: trustHash({ checks, gates: null, setup: "npm ci" }), at: 1, gates: null, checks };
    const text = trustedText(new Map([[w.file, { ...known, setup: "npm ci" }]]), false);
    expect(parseTrusted(text)?.get(w.file)).toEqual({ ...known, setup: "npm ci" });
    writeFileSync(w.trustedFile, text);
    w.later();
    expect(await w.trustAt()).toBe("trusted");
    for (const setup of [
      "npm ci ",
      "npm ci; ./x",
      undefined,
      "",
      7,
      "x".repeat(limits.checkCommandChars + 1),
    ]) {
      write({ checks: two, setup });
      expect(await w.trustAt()).toBe("changed");
    }
    expect(w.problems.filter(one => one.includes("setup is ignored"))).toHaveLength(3);
    write({ setup: "npm ci" });
    rmSync(w.trustedFile);
    w.later();
    expect(await w.trustAt()).toBe("untrusted");
    expect(new Set([null, "a", "b"].map(setup => trustHash({ checks: [], gates: null, setup }))).size).toBe(
      3,
    );
  });

  test("count in the hash, so that checks alone have the one that they always had", () => {
    const { checks } = read(two);
    const hashes = [null, gatePresets.off, gatePresets.team, gatePresets.strict].map(gates =>
      trustHash({ checks, gates }),
    );
    expect(new Set(hashes).size).toBe(4);
    expect(trustHash({ checks: [], gates: null })).toBe(
      "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945",
    );
  });
});

describe("trusted.json", () => {
  test("comes back as it was written, and without checks if it is to be short", () => {
    const { checks } = read(two);
    const known = { hash: "h", at: 1, gates: gatePresets.team, checks };
    const files = new Map([["/p/.kite/config.json", known]]);
    expect(parseTrusted(trustedText(files, false))).toEqual(files);
    const short = new Map([["/p/.kite/config.json", { ...known, checks: null }]]);
    expect(parseTrusted(trustedText(files, true))).toEqual(short);
    expect(parseTrusted('{"files":{"/p":{"hash":"h","at":1,"gates":"some"}}}')).toBeNull();
  });

  test("that is damaged is known to be so: nothing counts as untrusted by it", async () => {
    const w = world();
    w.write(two);
    for (const text of ["", "{", "[]", '{"files":[]}', '{"files":{"/p":1}}', '{"files":{"/p":{"hash":1}}}']) {
      writeFileSync(w.trustedFile, text);
      w.later();
      expect(await w.service.for(w.project), text).toEqual({
        unreachable: `${w.trustedFile} is not as Kite writes it; remove it`,
      });
    }
    w.trust(two);
    expect(await w.trustAt()).toBe("trusted");
  });

  test("names files, and has no prototype", () => {
    const one = '{"hash":"h","at":1}';
    const files = parseTrusted(`{"version":1,"files":{"__proto__":${one},"/p/.kite/config.json":${one}}}`);
    expect([...(files ?? [])]).toEqual([
      ["__proto__", { hash: "h", at: 1, gates: null, checks: null }],
      ["/p/.kite/config.json", { hash: "h", at: 1, gates: null, checks: null }],
    ]);
    expect(files?.get("constructor")).toBeUndefined();
  });
});
