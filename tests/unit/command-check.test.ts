/** kite check --trust and kite check: what they ask of a person and of the daemon, print, write and exit with. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { isAgents } from "../../bin/context/person.ts";
import { OutputEnd } from "../../bin/context/programs.ts";
import { check, listChecks } from "../../bin/lead/check.ts";
import { nestingProblem, startCheck, whyUnrecorded, withNested } from "../../bin/lead/check-run.ts";
import { listTrusted, type Surroundings, type TrustFlags, trust } from "../../bin/lead/check-trust.ts";
import { listedLines, outcomeLines, stateWords } from "../../bin/lead/view/debates.ts";
import { config } from "../../bin/settings/config.ts";
import { TimedOut } from "../../client/errors.ts";
import { commandHash } from "../../daemon/lead/settings.ts";
import { visible } from "../../protocol/text.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type FakeDaemon, fakeDaemon, fakeWorld } from "./command-world.ts";
import { now, screen } from "./view-rows.ts";

let top = "";
let project = "";
let file = "";

beforeEach(() => {
  top = temporaryFolder("kite-check-");
  project = join(top, "shop");
  file = join(project, ".kite", "config.json");
  mkdirSync(join(project, ".kite"), { recursive: true });
});

const two = { test: { command: "true" }, lint: { command: "exit 3", when: "*.ts" } };
const write = (checks: unknown) => writeFileSync(file, JSON.stringify({ checks }));
const find = async () => ({ project, worktree: project, branch: "main", gitDir: null });
const world = (daemon?: FakeDaemon, env: Record<string, string> = {}) => ({
  ...fakeWorld({ home: join(top, "kite"), env, ...(daemon === undefined ? {} : { daemon }) }),
  cwd: project,
});
const trustedFile = () => join(top, "kite", "trusted.json");

const person: Surroundings = { find, ask: null, isAgent: async () => false };
const answering = (answer: string): Surroundings => ({ ...person, ask: async () => answer });

async function trusting(flags: TrustFlags = {}, around: Surroundings = answering("y")) {
  const w = world();
  const code = await trust(w, ".", flags, around);
  return { code, out: w.out(), err: w.err() };
}

describe("kite check --trust", () => {
  it("shows the text, asks, and writes the hash for this user alone", async () => {
    write(two);
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return "y";
    };
    const { code, out } = await trusting({}, { ...person, ask });
    expect(code).toBe(0);
    expect(asked).toEqual(["Trust them? [y/N] "]);
    expect(out).toContain('  test  true\n  lint  exit 3\n        only after a change of\n          "*.ts"\n');
    expect(out).toContain("Trusted: kite check runs them.");
    expect(statSync(trustedFile()).mode & 0o777).toBe(0o600);
    const all = { test: { command: "true" }, lint: { command: "exit 3", when: ["*.ts"] } };
    expect(JSON.parse(readFileSync(trustedFile(), "utf8"))).toEqual({
      version: 1,
      files: { [file]: { hash: expect.stringMatching(/^[0-9a-f]{64}$/), at: now, checks: all } },
    });
    expect((await trusting({}, person)).out).toContain("They are trusted already.");
  });

  it.each(["", "n", "no", "j", "yesss", " "])("takes %j for no", async answer => {
    write(two);
    const { code, out } = await trusting({}, answering(answer));
    expect(code).toBe(1);
    expect(out).toContain("Not trusted; nothing was changed.");
    expect(existsSync(trustedFile())).toBe(false);
  });

  it("without a terminal needs --yes, and says so after it has shown the text", async () => {
    write(two);
    const refused = await trusting({}, person);
    expect(refused.code).toBe(1);
    expect(refused.out).toContain("exit 3");
    // A folder with a long path makes two lines of it.
    expect(refused.err.replace(/\s+/g, " ")).toBe(
      `kite: there is no terminal to ask on; a person runs kite check --trust ${project}, or passes --yes `,
    );
    expect(existsSync(trustedFile())).toBe(false);
    expect((await trusting({ yes: true }, person)).code).toBe(0);
    expect(existsSync(trustedFile())).toBe(true);
  });

  it("asks again after any change, and says that it is one", async () => {
    write(two);
    await trusting();
    write({ ...two, lint: { command: "exit 3", when: "never" } });
    const { code, out } = await trusting({}, answering("n"));
    expect(code).toBe(1);
    expect(out).toMatch(/! This has changed since you trusted it \(.*\)\./);
    expect(out).toContain('\n  - lint  exit 3  when ["*.ts"]\n  + lint  exit 3  when ["never"]\n');
  });

  it("shows each glob on a line of its own, so that one with a comma or a blank is no two", async () => {
    write({ test: { command: "true", when: ["a, b", "c d", 'e", "f'] } });
    expect((await trusting({}, answering("n"))).out).toContain(
      '        only after a change of\n          "a, b"\n          "c d"\n          "e\\", \\"f"\n',
    );
  });

  it("accepts that all of it is gone: shows what was there, asks, and forgets it", async () => {
    write(two);
    await trusting();
    write({});
    const asked: string[] = [];
    const ask = (answer: string) => async (question: string) => {
      asked.push(question);
      return answer;
    };
    const no = await trusting({}, { ...person, ask: ask("n") });
    expect([no.code, no.out]).toEqual([1, expect.stringContaining("Nothing was changed.")]);
    expect(no.out).toMatch(
      /! All that you trusted is gone \(.*\)\.\n {2}- test {2}true\n {2}- lint {2}exit 3/,
    );
    expect((await trusting({}, person)).err).toContain("there is no terminal to ask on");
    const yes = await trusting({}, { ...person, ask: ask("y") });
    expect([yes.code, yes.out]).toEqual([0, expect.stringContaining("nothing of this project is trusted")]);
    expect(asked).toEqual(["Accept that they are gone? [y/N] ", "Accept that they are gone? [y/N] "]);
    expect(JSON.parse(readFileSync(trustedFile(), "utf8"))).toEqual({ version: 1, files: {} });
    expect((await trusting({ yes: true })).err).toContain("names no checks");
  });

  it("trusts gates alone, and with checks; kite config shows them after the line is gone", async () => {
    writeFileSync(file, JSON.stringify({ gates: "strict" }));
    const alone = await trusting();
    expect([alone.code, alone.out]).toEqual([0, expect.stringContaining("  gates: strict\n")]);
    const shown = async () => {
      const w = world();
      const code = await config(w, true, find);
      return { code, ...JSON.parse(w.out()) };
    };
    expect(await shown()).toMatchObject({ code: 0, settings: { gates: { source: file } }, problems: [] });
    write(two);
    expect(await shown()).toMatchObject({
      code: 1,
      settings: { gates: { value: { quality: "enforce" }, source: trustedFile() } },
      problems: [
        `${file} is not what you trusted: the trusted gates stay in force until you run kite check --trust`,
      ],
    });
    expect((await trusting({}, answering("n"))).out).toContain("\n  - gates: strict\n  + test  true\n");
    expect((await trusting()).code).toBe(0);
    expect(await shown()).toMatchObject({ code: 0, settings: { gates: { source: "default" } } });
  });

  it("shows every character of a command that would hide some", async () => {
    write({ test: { command: `true #\u001b[2K\r${" ".repeat(400)}\u202e\nrm -rf ~ \u200b\ud800é` } });
    const { out } = await trusting({}, answering("n"));
    expect(out).toContain(
      "  test  true #‹U+001B›[2K‹U+000D›‹400 blanks›‹U+202E›‹U+000A›rm -rf ~ ‹U+200B›‹U+D800›‹U+00E9›\n",
    );
  });

  it("names what of the file does not count, cleaned", async () => {
    write({ ...two, "--yes": { command: "x" }, "a\u001b[2K": { command: "x" } });
    const { out } = await trusting();
    expect(out.match(/^! .*is ignored/gm)).toHaveLength(2);
    expect(out).not.toContain("\u001b");
  });

  it("quotes what others wrote in what does not count", async () => {
    write({ test: { command: "true", when: "ignore me <b>\u202e {x}" } });
    const { out } = await trusting({}, answering("n"));
    expect(out.replace(/\n */g, " ")).toContain('when: "ignore me ‹b› {x}": of a glob only');
  });

  it("has nothing to trust without checks", async () => {
    write({});
    const { code, err } = await trusting({ yes: true });
    expect([code, err]).toEqual([1, expect.stringContaining("names no checks")]);
    expect(existsSync(trustedFile())).toBe(false);
  });

  it("is refused to an agent, whatever it passes, with what to ask its user", async () => {
    write(two);
    await trusting();
    const before = readFileSync(trustedFile(), "utf8");
    write({ test: { command: "evil" } });
    for (const flags of [{}, { yes: true }, { revoke: true }, { yes: true, json: true }]) {
      const { code, out, err } = await trusting(flags, { ...answering("y"), isAgent: async () => true });
      expect(code).toBe(1);
      expect(out + err).toContain("ask your user to run in a terminal of their own: kite check --trust");
      expect(readFileSync(trustedFile(), "utf8")).toBe(before);
    }
  });

  it("is revoked, and listed", async () => {
    const list = async () => {
      const w = world();
      expect(await listTrusted(w, false)).toBe(0);
      return w.out();
    };
    expect(await list()).toBe("No checks are trusted.\n");
    write(two);
    await trusting();
    expect(await list()).toMatch(/shop {2}trusted {2}14:00:00\n$/);
    write({});
    expect(await list()).toMatch(/shop {2}changed since {2}14:00:00\n$/);
    expect((await trusting({ revoke: true }, person)).out).toContain("no longer trusted");
    expect((await trusting({ revoke: true }, person)).out).toContain("was not trusted");
    expect(await list()).toBe("No checks are trusted.\n");
  });

  it("has a JSON form, which does not ask", async () => {
    write(two);
    const refused = await trusting({ json: true });
    expect(JSON.parse(refused.out)).toMatchObject({ ok: false, code: "not_asked" });
    const { code, out } = await trusting({ json: true, yes: true });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      ok: true,
      file,
      was: "untrusted",
      checks: [{ name: "test" }, {}],
    });
  });
});

describe("an agent's shell", () => {
  it.each([{ CLAUDECODE: "1" }, { CLAUDE_CODE_SESSION_ID: "s" }, { KITE_SESSION: "s" }])(
    "is known by %j",
    async env => {
      expect(await isAgents(world(undefined, env))).toBe(true);
    },
  );

  it("is known by the process above it, too, if a daemon tells", async () => {
    const refused = { ok: false, code: "unknown_session", error: "none" };
    const daemonWith = (pid: number | null, id = "ann") =>
      fakeDaemon({ whoami: ({ pids }) => (asArray(pids).includes(pid) ? { ok: true, id } : refused) });
    expect(await isAgents(world(daemonWith(process.ppid)))).toBe(true);
    expect(await isAgents(world(daemonWith(null)))).toBe(false);
    expect(await isAgents(world(daemonWith(1)), 1)).toBe(false);
    expect(await isAgents(world())).toBe(false);
    // A terminal's own session, for example of a claimed task, is a person's.
    for (const id of ["ana@pts/3", `terminal-${process.ppid}`])
      expect(await isAgents(world(daemonWith(process.ppid, id), { USER: "ana" }))).toBe(false);
  });
});

const asArray = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const clean = { commit: "8f1c2d3".padEnd(40, "0"), dirty: "0".repeat(64), files: 0, changed: [] };
const stateReply = (more: object = {}) => ({ ok: true, project, top: project, ...clean, ...more });

describe("kite check", () => {
  const checked = async (
    names: string[],
    daemon: FakeDaemon,
    flags = {},
    env: Record<string, string> = {},
  ) => {
    const w = world(daemon, env);
    const code = await check(w, names, { quiet: true, ...flags }, find);
    return { code, out: w.out(), err: w.err() };
  };
  const recording = (state: object | (() => object) = stateReply(), unneeded: readonly object[] = []) =>
    fakeDaemon({
      worktree_state: state,
      check_record: { ok: true, green: true },
      check_unneeded: { ok: true, unneeded },
    });

  it("runs what is trusted and records it for the state, red ones too", async () => {
    write(two);
    await trusting();
    const daemon = recording();
    const { code, out, err } = await checked([], daemon);
    expect(code).toBe(1);
    expect(out).toMatch(
      /^green {2}test +\d\S*s {2}at 8f1c2d3\nred {4}lint +\d\S*s {2}exit code 3, at 8f1c2d3\n$/,
    );
    expect(err).toBe("kite: test (1 of 2): true\nkite: lint (2 of 2): exit 3\n");
    const records = daemon.asked.filter(({ type }) => type === "check_record");
    const { commit, dirty, files } = clean;
    const place = { project, worktree: project, commit, dirty, files, ranMs: expect.any(Number) };
    expect(records).toEqual([
      { type: "check_record", ...place, name: "test", command: commandHash("true"), exit: 0 },
      { type: "check_record", ...place, name: "lint", command: commandHash("exit 3"), exit: 3 },
    ]);
  });

  const lint = { name: "lint", command: commandHash("exit 3"), when: ["*.ts"], since: "green" };

  it("leaves out what nothing has changed for, and says so", async () => {
    write(two);
    await trusting();
    const daemon = recording(stateReply(), [lint]);
    const { code, out, err } = await checked([], daemon);
    expect([code, err]).toEqual([0, "kite: test (1 of 1): true\n"]);
    const [, second] = out.split("\n");
    expect(second).toBe(
      "lint not needed: nothing in *.ts changed since it was last green; kite check lint runs it",
    );
    const w = world(recording(stateReply(), [{ ...lint, since: "base" }]));
    await check(w, [], { json: true }, find);
    expect(JSON.parse(w.out())).toMatchObject({
      checks: [{ name: "test" }],
      unneeded: [{ name: "lint", when: ["*.ts"], since: "base" }],
    });
  });

  it.each([
    ["--all asks for them", [], { all: true }, {}, lint],
    ["one is named", ["test", "lint"], {}, {}, lint],
    ["CI is set", [], {}, { CI: "true" }, lint],
    ["its command is another one", [], {}, {}, { ...lint, command: commandHash("exit 4") }],
    ["its globs are others", [], {}, {}, { ...lint, when: ["*.js"] }],
  ] as const)("leaves out none where %s", async (_what, names, flags, env, row) => {
    write(two);
    await trusting();
    const { code, err } = await checked([...names], recording(stateReply(), [row]), flags, env);
    expect([code, err]).toEqual([1, expect.stringContaining("kite: lint (2 of 2): exit 3\n")]);
  });

  it("runs all where the daemon does not tell", async () => {
    write(two);
    await trusting();
    const daemon = fakeDaemon({
      worktree_state: stateReply(),
      check_record: { ok: true, green: true },
      check_unneeded: { ok: false, code: "unknown_type", error: "unknown type" },
    });
    expect((await checked([], daemon)).err).toContain("lint (2 of 2)");
  });

  it("runs only the named ones, once each, and for the session whose shell it is", async () => {
    write(two);
    await trusting();
    const daemon = recording();
    const env = { CLAUDE_CODE_SESSION_ID: "s-1", KITE_AGENT: "a-1" };
    expect((await checked(["test", "test"], daemon, {}, env)).code).toBe(0);
    const [record, ...more] = daemon.asked.filter(({ type }) => type === "check_record");
    expect([record, more]).toEqual([expect.objectContaining({ name: "test", id: "s-1", agent: "a-1" }), []]);
  });

  it("knows no name that the project does not name", async () => {
    write(two);
    await trusting();
    for (const [name, hint] of [
      ["tset", "did you mean test?"],
      ["constructor", "there are test, lint"],
      ["--yes", "there are test, lint"],
    ] as const) {
      const { code, err } = await checked([name], recording());
      expect([code, err]).toEqual([1, expect.stringContaining(hint)]);
    }
  });

  it.each([
    ["are not trusted yet", () => {}],
    [
      "have changed since a person trusted them",
      () => write({ ...two, test: { command: `touch ${top}/ran` } }),
    ],
    ["have changed since a person trusted them", () => write({})],
    ["have changed since a person trusted them", () => rmSync(file)],
  ])("runs nothing where the checks %s", async (why, change) => {
    write({ test: { command: `touch ${top}/ran` } });
    if (why.includes("changed")) await trusting();
    if (why.includes("changed")) write(two);
    if (why.includes("changed")) await trusting();
    change();
    const daemon = recording();
    const { code, err } = await checked([], daemon);
    expect(code).toBe(1);
    expect(err.replace(/\n +/g, " ")).toContain(
      `kite: the checks of ${project} ${why}; read and trust them: kite check --trust ${project}\n`,
    );
    expect((await checked([], daemon, {}, { KITE_SESSION: "s" })).err).toContain("ask your user to run");
    expect(existsSync(join(top, "ran"))).toBe(false);
    expect(daemon.asked).toEqual([]);
  });

  it("says what there is to do where no checks are named, or no daemon runs", async () => {
    const { code, err } = await checked([], recording());
    expect([code, err]).toEqual([1, expect.stringContaining("names no checks")]);
    write(two);
    await trusting();
    const w = world();
    expect(await check(w, [], {}, find)).toBe(3);
    expect(w.err()).toContain("kite up");
  });

  it.each(["0", "-1", "1e3", "21601", "x"])("refuses --timeout %s", async timeout => {
    write(two);
    await trusting();
    const { code, err } = await checked([], recording(), { timeout });
    expect([code, err]).toEqual([1, expect.stringContaining("--timeout takes seconds from 1 to 21600")]);
  });

  it("records no result if files changed while it ran, names them, tells when it began, and fails", async () => {
    write({ test: { command: "true" } });
    await trusting();
    let n = 0;
    const daemon = recording(() => {
      n += 1;
      const changed = n === 1 ? [] : [{ file: "out/a.txt", content: "1" }];
      return stateReply({ dirty: String(n).repeat(64).slice(0, 64), files: changed.length, changed });
    });
    const { code, out } = await checked([], daemon);
    expect(code).toBe(1);
    expect(out).toContain("not recorded: files changed while test ran (out/a.txt); run it again");
    const [, , record, ...more] = daemon.asked;
    expect(more).toEqual([]);
    expect(record).toMatchObject({ type: "check_record", dirty: "2".repeat(64) });
    expect(record).toHaveProperty("began", { commit: stateReply()["commit"], dirty: "1".repeat(64) });
  });

  it.each([
    ["before the check, which does not run", 1],
    ["after it, of which nothing is recorded", 2],
  ])("ends at a signal while it waits for the state %s", async (_, at) => {
    const ran = join(top, "ran");
    write({ test: { command: `touch ${ran}` } });
    await trusting();
    let n = 0;
    const daemon = recording(() => {
      n += 1;
      if (n < at) return stateReply();
      process.listeners("SIGINT").at(-1)?.("SIGINT");
      return new Promise(() => {});
    });
    expect((await checked([], daemon)).code).toBe(130);
    expect([daemon.asked.length, existsSync(ran)]).toEqual([at, at === 2]);
  });

  it("runs all the same where the state cannot be told, and says why it is not recorded", async () => {
    write({ test: { command: "true" } });
    await trusting();
    const unknown = { ok: true, project, top: project, commit: null, dirty: null, files: 0, changed: [] };
    const { code, out } = await checked([], recording({ ...unknown, reason: "it is in no git repository" }));
    expect([code, out]).toEqual([0, expect.stringContaining("! not recorded: it is in no git repository")]);
    const away = fakeDaemon({
      worktree_state: () => {
        throw new TimedOut("no answer to worktree_state within 30 s");
      },
    });
    expect((await checked([], away)).out).toContain("! not recorded: no answer to worktree_state");
    const full = fakeDaemon({
      worktree_state: stateReply(),
      check_record: { ok: false, code: "store_full", error: "the disk is full" },
    });
    expect((await checked([], full)).out).toContain("! not recorded: the disk is full");
  });

  it("has a JSON form with the end of the output", async () => {
    write({ test: { command: "echo out; echo err >&2; exit 1" } });
    await trusting();
    const { code, out, err } = await checked([], recording(), { json: true });
    expect([code, err]).toEqual([1, ""]);
    expect(JSON.parse(out)).toMatchObject({
      file,
      problems: [],
      checks: [
        { name: "test", green: false, exit: 1, timedOut: false, output: "out\nerr\n", unrecorded: null },
      ],
    });
  });

  it("refuses to run within a check of the same project", async () => {
    write(two);
    await trusting();
    const env = withNested({}, project, "test") as Record<string, string>;
    const { code, err } = await checked([], recording(), {}, env);
    expect([code, err]).toEqual([1, expect.stringContaining("this runs within the check test")]);
    expect(nestingProblem(env, "/other")).toBeNull();
    expect(nestingProblem(withNested(env, "/other", "x"), "/other")).toContain("the check x");
    expect(nestingProblem(withNested(env, "/other", "x"), project)).toContain("the check test");
    for (const KITE_CHECK of ["", "{", "1", "[1]", '{"project":1}'])
      expect(nestingProblem({ KITE_CHECK }, project)).toBeNull();
  });
});

describe("kite check --list", () => {
  const row = (name: string, more: object = {}) => ({
    project,
    worktree: project,
    name,
    command: commandHash("true"),
    exit: 0,
    ranMs: 5,
    commit: clean.commit,
    dirty: clean.dirty,
    files: 2,
    by: null,
    at: now - 300_000,
    ...more,
  });

  it("shows each check with its status for this state, whether or not it is trusted", async () => {
    write({
      a: { command: "true" },
      b: { command: "true" },
      c: { command: "true" },
      d: { command: "x" },
      e: { command: "true" },
    });
    const by = { id: "s", agent: null, name: "ali\u001b[2Jce" };
    const rows = [
      row("a"),
      row("b", { exit: 2, by }),
      row("c", { commit: "1234567".padEnd(40, "0") }),
      row("d"),
      row("e", { worktree: "/elsewhere" }),
    ];
    const daemon = fakeDaemon({ worktree_state: stateReply(), "query checks": { ok: true, rows } });
    const w = world(daemon);
    expect(await listChecks(w, false, find)).toBe(0);
    expect(w.out().split("\n").slice(1)).toEqual([
      "State: 8f1c2d3",
      "  a  green                              at 8f1c2d3 + 2 changed files, 5m ago",
      "  b  red                                at 8f1c2d3 + 2 changed files, exit code 2, 5m ago, by ali [2Jce",
      "  c  not run for this state             last green at 1234567 + 2 changed files, 5m ago",
      "  d  not run since its command changed  last green at 8f1c2d3 + 2 changed files, 5m ago",
      "  e  never run",
      "",
    ]);
    expect(w.out()).toContain("shop: not trusted yet: kite check --trust\n");
    const json = world(daemon);
    await listChecks(json, true, find);
    expect(JSON.parse(json.out())).toMatchObject({
      trust: "untrusted",
      state: { commit: clean.commit, files: 0, reason: null },
      checks: [
        { status: "green" },
        { status: "red" },
        { status: "stale" },
        { status: "stale" },
        { status: "never_run", last: null },
      ],
    });
  });

  it("says why the state is not known", async () => {
    write(two);
    const reason = "more than 5000 files differ";
    const daemon = fakeDaemon({
      worktree_state: stateReply({ dirty: null, reason }),
      "query checks": { ok: true, rows: [row("test")] },
    });
    const w = world(daemon);
    await listChecks(w, false, find);
    expect(w.out()).toContain(`! The state of the worktree is not known: ${reason}\n`);
    expect(w.out()).toContain("  test  unknown    last green at 8f1c2d3 + 2 changed files, 5m ago\n");
  });
});

describe("a check's process", () => {
  const run = (command: string, more: Partial<Parameters<typeof startCheck>[0]> = {}) =>
    startCheck({ command, cwd: project, env: process.env, timeoutMs: 60_000, streams: false, ...more });

  it("is the system's shell at the given place, without input, whatever its line begins with", async () => {
    expect(await run("pwd; cat; echo $0").done).toMatchObject({ exit: 0, output: `${project}\n/bin/sh\n` });
    expect((await run("-x").done).exit).toBe(127);
    expect((await run("kill -9 $$").done).exit).toBe(137);
  });

  it("is no program of the project, though PATH may name it", async () => {
    for (const name of ["sh", "git"])
      writeFileSync(join(project, name), `#!/bin/sh\ntouch ${top}/ran\n`, { mode: 0o755 });
    const env = { ...process.env, PATH: `${project}:${process.env["PATH"]}` };
    expect(await run("echo fine", { env }).done).toMatchObject({ exit: 0, output: "fine\n" });
    expect(existsSync(join(top, "ran"))).toBe(false);
  });

  it("is killed at its time limit with everything that it started, even if that ignores a request to end", async () => {
    const left = join(top, "left");
    const stubborn = `sh -c 'trap "" TERM; echo $$ > ${left}; while :; do sleep 0.05; done' & wait`;
    const ran = await run(stubborn, { timeoutMs: 4000 }).done;
    expect(ran).toMatchObject({ exit: 124, timedOut: true });
    const pid = readFileSync(left, "utf8").trim();
    // A zombie may wait for the system to collect it; nothing of it runs.
    const state = () => {
      try {
        return execFileSync("ps", ["-o", "stat=", "-p", pid], { encoding: "utf8" }).trim();
      } catch {
        return "gone";
      }
    };
    await expect.poll(state).toMatch(/^(gone|Z.*)$/);
  });

  it("is red at its time limit though it ends as if all were well", async () => {
    const ran = await run("trap 'exit 0' TERM; while :; do sleep 0.05; done", { timeoutMs: 300 }).done;
    expect(ran).toMatchObject({ exit: 124, timedOut: true });
  });

  it("has ended when its shell has, though something in the background holds its output open", async () => {
    const ran = await run(`sleep 1000 & echo $! > ${top}/left; echo done`).done;
    expect(ran).toMatchObject({ exit: 0, output: "done\n" });
    process.kill(Number(readFileSync(join(top, "left"), "utf8")), "SIGKILL");
  });

  it("is ended as a group, and killed if it does not go", async () => {
    for (const [trap, exit] of [
      ["", 143],
      ["trap '' TERM; ", 137],
    ] as const) {
      const running = run(`${trap}echo > ${top}/began; while :; do sleep 0.05; done`);
      await expect.poll(() => existsSync(join(top, "began"))).toBe(true);
      running.end("SIGTERM");
      expect((await running.done).exit).toBe(exit);
      rmSync(join(top, "began"));
    }
  });
});

describe("words", () => {
  it("of the output keep its end, in whatever pieces it came", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40 })),
        fc.integer({ min: 1, max: 100 }),
        (pieces, max) => {
          const end = new OutputEnd(max);
          for (const piece of pieces) end.push(Buffer.from(piece));
          const whole = Buffer.concat(pieces);
          expect(end.text).toBe(whole.subarray(Math.max(0, whole.length - max)).toString("utf8"));
        },
      ),
    );
  });

  it("of a text that a person decides on show every character, and no two texts look alike", () => {
    const nasty = fc.string({
      unit: fc.constantFrom("a", " ", "‹", "›", "\u202e", "\n", "\u001b", "U", "+", "3", "b"),
    });
    fc.assert(
      fc.property(nasty, nasty, (a, b) => {
        expect(visible(a)).toMatch(/^(?:[ -~]|‹(?:U\+[0-9A-F]{4,6}|\d+ blanks)›)*$/);
        if (a !== b) expect(visible(a)).not.toBe(visible(b));
      }),
    );
    expect(visible("npm test > log < in")).toBe("npm test > log < in");
  });

  it("of a state name the commit and how many files differ", () => {
    expect(stateWords({ commit: clean.commit, files: 0 })).toBe("8f1c2d3");
    expect(stateWords({ commit: clean.commit, files: 1 })).toBe("8f1c2d3 + 1 changed file");
    expect(stateWords({ commit: null, files: 3 })).toBe("no commit yet + 3 changed files");
  });

  it("of why a result does not count name commit or files", () => {
    const state = { project, top: project, ...clean };
    const other = (more: object) => ({ ...state, ...more });
    expect(whyUnrecorded("test", state, state)).toBeNull();
    expect(whyUnrecorded("test", state, other({ commit: "1" }))).toContain(
      "another commit came while test ran",
    );
    const changed = ["a", "b", "c", "d"].map(name => ({ file: name, content: "1" }));
    expect(whyUnrecorded("test", state, other({ dirty: "1", changed }))).toContain("(a, b, c, 1 more)");
    expect(whyUnrecorded("test", state, other({ dirty: "1" }))).toMatch(/while test ran; run it again/);
    expect(whyUnrecorded("test", state, other({ dirty: null, reason: "late" }))).toBe("late");
  });

  it("of a run fit the terminal, and show the end of a red one's output, cleaned", () => {
    const ran = { ranMs: 65_000, timedOut: true, exit: 124, output: `${"x\n".repeat(30)}\u001b[2Jlast\n` };
    const outcome = {
      ...ran,
      name: "test",
      green: false,
      unrecorded: "files changed",
      isUnsure: true,
      state: clean,
    };
    const lines = outcomeLines([outcome], screen(60));
    expect(lines.slice(0, 2)).toEqual([
      "red  test  1m  killed at the time limit",
      "  ! not recorded: files changed",
    ]);
    expect(lines).toHaveLength(22);
    expect(lines.at(-1)).toBe("  | [2Jlast");
    expect(listedLines([], screen(60))).toEqual([]);
  });
});
