/** kite check --trust and kite check with the built program, the real daemon and a real repository. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { type Client, Home, type Message } from "./daemon.ts";
import { ended, kiteProgram, type Ran } from "./kite.ts";

let home: Home;
/** A folder of the test, and a repository in it: its project. */
let place: string;
let repo: string;
let client: Client;

beforeAll(async () => {
  home = new Home();
  await home.start();
});
beforeEach(async () => {
  place = home.folder();
  repo = join(place, "shop");
  mkdirSync(join(repo, ".kite"), { recursive: true });
  git(repo, "init", "-q", "-b", "main");
  writeFileSync(join(repo, "a.ts"), "a\n");
  writeFileSync(join(repo, ".gitignore"), "out/\n");
  git(repo, "add", "-A");
  git(repo, "commit", "-qm", "first");
  client = await home.connect();
});
afterAll(() => home.dispose());

function git(cwd: string, ...args: string[]): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
  return execFileSync("git", [...who, ...args], {
    cwd,
    env: home.environment,
    stdio: "pipe",
    encoding: "utf8",
  });
}

const file = () => join(repo, ".kite", "config.json");

/** Names checks, by their commands, and leaves them out of the worktree's state. */
function name(checks: Record<string, string | object>): void {
  const all = Object.entries(checks).map(([n, c]) => [n, typeof c === "string" ? { command: c } : c]);
  writeFileSync(file(), JSON.stringify({ checks: Object.fromEntries(all) }));
  writeFileSync(join(repo, ".git", "info", "exclude"), ".kite/\n");
}

const kite = (args: readonly string[], env: Record<string, string> = {}, cwd = repo): Promise<Ran> =>
  home.command(args, env, cwd);

/** The lines of what a command printed as one: where a line breaks depends on the length of the path in it. */
const inOneLine = (ran: Ran): Ran => ({ ...ran, err: ran.err.replace(/\s+/g, " ").trim() });

async function trusting(checks: Record<string, string | object>): Promise<void> {
  name(checks);
  expect(await kite(["trust", "--yes"])).toMatchObject({ code: 0 });
}

/** The results of the test's projects. */
async function results(): Promise<readonly Message[]> {
  const { rows } = await client.ask({ type: "query", target: "checks", limit: 1000 });
  return (rows as Message[]).filter(({ project }) => String(project).startsWith(`${place}/`));
}

const statusOf = async (check: string): Promise<unknown> => {
  const { out } = await kite(["check", "--list", "--json"]);
  const listed: { checks: { name: string; status: string }[] } = JSON.parse(out);
  return listed.checks.find(one => one.name === check)?.status;
};

describe("a check", () => {
  test("runs at the top of the worktree, and counts for the state that it ran in", async () => {
    await trusting({ test: "pwd; cat a.ts; test ! -e red" });
    mkdirSync(join(repo, "src"));
    // What the check prints goes to the output of the process.
    const ran = await ended(home.startKite(["check"], {}, join(repo, "src")));
    expect(ran).toMatchObject({ code: 0, err: "kite: test (1 of 1): pwd; cat a.ts; test ! -e red\n" });
    const head = git(repo, "rev-parse", "HEAD").trim();
    const [, ...lines] = ran.out.split("\n");
    expect(ran.out).toMatch(
      new RegExp(`^${repo}\na\ngreen {2}test {2}\\d\\S*s {2}at ${head.slice(0, 7)}\n$`),
    );
    expect(lines).toHaveLength(3);
    expect(await results()).toEqual([
      expect.objectContaining({
        project: repo,
        worktree: repo,
        name: "test",
        exit: 0,
        commit: head,
        files: 0,
        by: null,
      }),
    ]);
    // It outlives the daemon, however that ends.
    await home.daemon.kill();
    await home.start();
    client = await home.connect();
    expect(await statusOf("test")).toBe("green");
    writeFileSync(join(repo, "a.ts"), "b\n");
    expect(await statusOf("test")).toBe("stale");
    writeFileSync(join(repo, "red"), "");
    expect(await kite(["check", "-q"])).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^red .*exit code 1, at .* \+ 2 changed files\n {2}\| /),
    });
    expect(await statusOf("test")).toBe("red");
    rmSync(join(repo, "red"));
    writeFileSync(join(repo, "a.ts"), "a\n");
    expect(await statusOf("test")).toBe("stale");
  });

  test("of a linked worktree counts there alone, and is the one of the project's file", async () => {
    await trusting({ test: "true" });
    const tree = join(place, "shop-pay");
    git(repo, "worktree", "add", "-q", "-b", "pay", tree);
    mkdirSync(join(tree, ".kite"));
    writeFileSync(
      join(tree, ".kite", "config.json"),
      JSON.stringify({ checks: { evil: { command: "touch ran" } } }),
    );
    expect(await kite(["check"], {}, tree)).toMatchObject({ code: 0 });
    expect(existsSync(join(tree, "ran"))).toBe(false);
    expect((await results()).map(row => [row["project"], row["worktree"], row["name"]])).toEqual([
      [repo, tree, "test"],
    ]);
    expect(await statusOf("test")).toBe("never_run");
  });

  describe("with globs", () => {
    const docs = { command: "test ! -e red", when: ["docs/**"] };
    /** Which checks ran, and what is said of the others. */
    const ran = async (args: readonly string[] = [], cwd = repo, env: Record<string, string> = {}) => {
      const { out } = await kite(["check", "--json", ...args], { CI: "", ...env }, cwd);
      const { checks, unneeded }: Record<"checks" | "unneeded", { name: string; since: string }[]> =
        JSON.parse(out);
      return [...checks.map(one => one.name), ...unneeded.map(one => `not ${one.name}: ${one.since}`)];
    };

    test("runs only if what they name changed since it was last green", async () => {
      await trusting({ test: "true", docs });
      mkdirSync(join(repo, "docs"));
      writeFileSync(join(repo, "docs", "a.md"), "a\n");
      git(repo, "add", "-A");
      git(repo, "commit", "-qm", "docs");
      expect(await ran()).toEqual(["test", "docs"]);
      expect(await ran()).toEqual(["test", "not docs: green"]);
      writeFileSync(join(repo, "a.ts"), "b\n");
      git(repo, "commit", "-qam", "code");
      expect(await ran()).toEqual(["test", "not docs: green"]);
      expect(await kite(["check", "-q"], { CI: "" })).toMatchObject({
        code: 0,
        out: expect.stringContaining("docs not needed: nothing in docs/** changed since it was last green"),
      });
      expect(await ran(["--all"])).toEqual(["test", "docs"]);
      expect(await ran(["docs"])).toEqual(["docs"]);
      expect(await ran([], repo, { CI: "true" })).toEqual(["test", "docs"]);
      // An uncommitted change, and its commit, are one.
      writeFileSync(join(repo, "docs", "a.md"), "b\n");
      expect(await ran()).toEqual(["test", "docs"]);
      git(repo, "commit", "-qam", "docs again");
      expect(await ran()).toEqual(["test", "not docs: green"]);
    });

    test("runs again while it is red, whatever changed", async () => {
      await trusting({ docs });
      expect(await ran()).toEqual(["docs"]);
      writeFileSync(join(repo, "red"), "");
      expect(await kite(["check", "docs"])).toMatchObject({ code: 1 });
      expect(await ran()).toEqual(["docs"]);
      rmSync(join(repo, "red"));
      expect(await ran()).toEqual(["docs"]);
      expect(await ran()).toEqual(["not docs: green"]);
    });

    test("is known as green for a commit after the daemon began anew", async () => {
      await trusting({ docs });
      expect(await ran()).toEqual(["docs"]);
      await home.daemon.kill();
      await home.start();
      client = await home.connect();
      writeFileSync(join(repo, "a.ts"), "b\n");
      expect(await ran()).toEqual(["not docs: green"]);
      mkdirSync(join(repo, "docs"));
      writeFileSync(join(repo, "docs", "a.md"), "a\n");
      expect(await ran()).toEqual(["docs"]);
    });

    test("that was never green runs if its branch changed what they name; without a base it runs", async () => {
      await trusting({ docs });
      const tree = join(place, "shop-pay");
      git(repo, "worktree", "add", "-q", "-b", "pay", tree);
      writeFileSync(join(tree, "a.ts"), "c\n");
      expect(await ran([], tree)).toEqual(["not docs: base"]);
      git(tree, "commit", "-qam", "pay");
      mkdirSync(join(repo, "docs"));
      writeFileSync(join(repo, "docs", "b.md"), "b\n");
      git(repo, "add", "-A");
      git(repo, "commit", "-qm", "on the base, after the branch left it");
      expect(await ran([], tree)).toEqual(["not docs: base"]);
      mkdirSync(join(tree, "docs"));
      writeFileSync(join(tree, "docs", "c.md"), "c\n");
      expect(await ran([], tree)).toEqual(["docs"]);
      expect(await ran()).toEqual(["docs"]);
    });
  });

  test("that changes files counts for no state, unless git ignores them", async () => {
    await trusting({ made: "echo $$ > made.txt", ignored: "mkdir -p out; echo $$ > out/made.txt" });
    const ran = await kite(["check"]);
    expect(ran.code).toBe(1);
    expect(ran.out).toContain("files changed while made ran (made.txt); run it again");
    expect((await results()).map(row => row["name"])).toEqual(["ignored"]);
  });

  test("during which somebody commits counts for no state", async () => {
    const commit = "git -c user.name=t -c user.email=t@example.org commit -q --allow-empty -m next";
    await trusting({ test: commit });
    expect(await kite(["check"])).toMatchObject({
      code: 1,
      out: expect.stringContaining("another commit came while test ran"),
    });
    expect(await results()).toEqual([]);
  });

  test("is told to subscribers, with the agent that ran it", async () => {
    await trusting({ test: "exit 4" });
    await client.ask({ type: "register", id: "s-1", cwd: repo, name: "alice" });
    await client.ask({ type: "subscribe", events: ["check_recorded"] });
    await kite(["check", "-q"], { CLAUDE_CODE_SESSION_ID: "s-1" });
    await expect.poll(async () => (await kite(["log"])).out).toContain("the check test is red, exit code 4");
    expect(await client.event("check_recorded")).toMatchObject({
      project: repo,
      worktree: repo,
      check: "test",
      exit: 4,
      by: { id: "s-1", agent: null, name: "alice" },
    });
  });

  test("is ended with its command by a signal, and not recorded", async () => {
    await trusting({ test: `echo $$ > ${place}/pid; while :; do sleep 0.05; done` });
    const child = home.startKite(["check"], {}, repo);
    await expect.poll(() => existsSync(join(place, "pid"))).toBe(true);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([143, null]);
    expect(await results()).toEqual([]);
  });

  test("ends when the command that runs it is killed, with all that it started", async () => {
    const at = (pipe: string) => join(place, pipe);
    for (const pipe of ["up", "over"]) execFileSync("mkfifo", [at(pipe)]);
    // The inner shell ignores SIGTERM; both pipes end with the last process that has them open.
    const inner = "trap '' TERM; while :; do sleep 0.05; done";
    await trusting({ test: `exec >${at("over")}; echo up >${at("up")}; sh -c "${inner}" & wait` });
    const child = home.startKite(["check"], {}, repo);
    const over = readFile(at("over"));
    await readFile(at("up"));
    child.kill("SIGKILL");
    expect((await over).length).toBe(0);
  });

  test("that runs too long is killed, red, and recorded as such", async () => {
    await trusting({ test: "sleep 1000" });
    const ran = await kite(["check", "--timeout", "1"]);
    expect(ran).toMatchObject({ code: 1, out: expect.stringContaining("killed at the time limit") });
    expect(await results()).toEqual([expect.objectContaining({ exit: 124 })]);
  });

  test("does not run itself without end", async () => {
    await trusting({ test: `${process.execPath} ${kiteProgram} check` });
    const ran = await kite(["check", "-q"]);
    expect(ran).toMatchObject({ code: 1, out: expect.stringContaining("this runs within the check test") });
  });

  test("runs in a directory without git, too, but is not recorded", async () => {
    const bare = join(place, "bare");
    mkdirSync(join(bare, ".kite"), { recursive: true });
    writeFileSync(
      join(bare, ".kite", "config.json"),
      JSON.stringify({ checks: { test: { command: "true" } } }),
    );
    await kite(["trust", "--yes"], {}, bare);
    expect(await kite(["check"], {}, bare)).toMatchObject({
      code: 0,
      out: expect.stringContaining("! not recorded: ") && expect.stringContaining("is in no git repository"),
    });
    expect(await results()).toEqual([]);
  });
});

describe("trust", () => {
  /** Types an answer at a terminal of its own. */
  async function atTerminal(answer: string): Promise<string> {
    const line = `exec ${process.execPath} ${kiteProgram} trust`;
    const env = { ...home.environment, TERM: "xterm" };
    const child = home.adopt(spawn("script", ["-qec", line, "/dev/null"], { cwd: repo, env, stdio: "pipe" }));
    let shown = "";
    child.stdout.on("data", chunk => {
      const isAsked = shown.includes("[y/N]");
      shown += chunk;
      if (!isAsked && shown.includes("[y/N]")) child.stdin.write(`${answer}\r`);
    });
    await once(child, "close");
    return shown;
  }

  test("is given by a person at a terminal, who sees what is hidden in a command", async () => {
    name({ test: "true # \u001b[8mecho hidden\u001b[0m\u202e" });
    expect(await atTerminal("n")).toContain("Not trusted");
    expect((await kite(["check"])).code).toBe(1);
    const shown = await atTerminal("y");
    expect(shown).toContain("true # ‹U+001B›[8mecho hidden‹U+001B›[0m‹U+202E›");
    expect(shown).toContain("Trusted");
    expect((await kite(["check"])).code).toBe(0);
    expect(statSync(home.paths.trusted).mode & 0o777).toBe(0o600);
  });

  test("is not given by an agent: neither by its environment nor below its process", async () => {
    name({ test: "touch ran" });
    for (const env of [{ CLAUDECODE: "1" }, { CLAUDE_CODE_SESSION_ID: "s" }, { KITE_SESSION: "s" }])
      expect(inOneLine(await kite(["trust", "--yes"], env))).toMatchObject({
        code: 1,
        err: `kite: only a person trusts checks; ask your user to run in a terminal of their own: kite check --trust ${repo}`,
      });
    // An agent that clears its environment: its process is above this one.
    await client.ask({ type: "register", id: "above", cwd: repo, pid: process.ppid });
    const hidden = await kite(["trust", "--yes"]);
    await client.ask({ type: "deregister", id: "above" });
    expect(hidden).toMatchObject({ code: 1, err: expect.stringContaining("only a person") });
    const { trusted } = home.paths;
    expect(existsSync(trusted) ? readFileSync(trusted, "utf8") : "").not.toContain(repo);
    expect(await kite(["check"])).toMatchObject({ code: 1, err: expect.stringContaining("not trusted yet") });
    expect(existsSync(join(repo, "ran"))).toBe(false);
  });

  test("ends with any change of the text, also between two checks of one run", async () => {
    await trusting({
      first: `printf '{"checks":{"second":{"command":"touch ran"}}}' > .kite/config.json`,
      second: "true",
    });
    // The text that was read and compared is the one that runs.
    expect((await kite(["check"])).code).toBe(0);
    expect(existsSync(join(repo, "ran"))).toBe(false);
    expect(inOneLine(await kite(["check"]))).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        `have changed since a person trusted them; read and trust them: kite check --trust ${repo}`,
      ),
    });
    expect(existsSync(join(repo, "ran"))).toBe(false);
  });

  test("is of one project: no link, folder or inner repository takes it over", async () => {
    await trusting({ test: "touch ran" });
    const inner = join(repo, "inner");
    mkdirSync(inner);
    git(inner, "init", "-q");
    symlinkSync(join(repo, ".kite"), join(inner, ".kite"));
    expect(await kite(["check"], {}, inner)).toMatchObject({
      code: 1,
      err: expect.stringContaining("not trusted yet"),
    });
    expect(existsSync(join(inner, "ran"))).toBe(false);
    // A folder from an archive that names the repository around it.
    const strange = join(repo, "strange");
    mkdirSync(strange);
    writeFileSync(join(strange, ".git"), "gitdir: ../.git\n");
    for (const command of [["check"], ["check", "--list"], ["trust", "--yes"]])
      expect(await kite(command, {}, strange)).toMatchObject({
        code: 1,
        err: expect.stringContaining("does not know it as a worktree"),
      });
    expect(existsSync(join(strange, "ran"))).toBe(false);
    const folder = join(repo, "folder");
    mkdirSync(join(folder, ".kite"), { recursive: true });
    writeFileSync(join(folder, ".kite", "config.json"), '{"checks":{"evil":{"command":"touch evil"}}}');
    expect(await kite(["check", "evil"], {}, folder)).toMatchObject({
      code: 1,
      err: expect.stringContaining("names no check evil"),
    });
  });

  test("runs no program of the project by PATH", async () => {
    for (const tool of ["sh", "git", "env", "perl", "flock", "tty"])
      writeFileSync(join(repo, tool), `#!/bin/sh\ntouch ${place}/ran\n`, { mode: 0o755 });
    await trusting({ test: "true" });
    const PATH = `${repo}:${home.environment["PATH"]}`;
    expect((await kite(["check"], { PATH })).code).toBe(0);
    expect((await kite(["check", "--list"], { PATH })).code).toBe(0);
    expect((await kite(["trust", "--list"], { PATH })).code).toBe(0);
    expect(existsSync(join(place, "ran"))).toBe(false);
  });

  test.each([
    ["a pipe", () => execFileSync("mkfifo", [file()])],
    [
      "huge",
      () =>
        writeFileSync(file(), `${" ".repeat(limits.smallFileBytes)}{"checks":{"test":{"command":"true"}}}`),
    ],
    ["a folder", () => mkdirSync(file())],
    ["no JSON", () => writeFileSync(file(), '{"checks":{"test":')],
    ["a link to a device", () => symlinkSync("/dev/zero", file())],
    ["a link to itself", () => symlinkSync(file(), file())],
  ])("does not survive that the file became %s, and nothing hangs", async (_, make) => {
    await trusting({ test: "touch ran" });
    rmSync(file());
    make();
    for (const command of [["check"], ["check", "test"], ["trust", "--yes"]]) {
      const { code, out, err } = await kite(command);
      expect([command, code]).toEqual([command, 1]);
      expect(out + err).toMatch(/have changed|names no check/);
    }
    expect(existsSync(join(repo, "ran"))).toBe(false);
  });
});

describe("the wire", () => {
  const result = () => ({
    type: "check_record",
    project: repo,
    worktree: "/p",
    name: "test",
    command: "c".repeat(64),
    exit: 0,
    ranMs: 5,
    commit: null,
    dirty: "d".repeat(64),
    files: 0,
  });

  test("refuses results that are none, and names what is wrong", async () => {
    for (const [more, path] of [
      [{ exit: -1 }, "exit"],
      [{ exit: 256 }, "exit"],
      [{ dirty: null }, "dirty"],
      [{ dirty: "../x" }, "dirty"],
      [{ commit: "HEAD" }, "commit"],
      [{ command: "npm test" }, "command"],
      [{ name: "a\nb" }, "name"],
      [{ name: "" }, "name"],
      [{ worktree: "x".repeat(limits.pathBytes + 1) }, "worktree"],
    ] as const)
      expect(await client.ask({ ...result(), ...more }), path).toMatchObject({
        ok: false,
        code: "invalid_request",
        path,
      });
    expect(await results()).toEqual([]);
  });

  test("applies a repeated request once", async () => {
    await client.ask({ type: "subscribe", events: ["check_recorded"] });
    for (let n = 0; n < 2; n += 1)
      expect(await client.ask({ ...result(), requestId: "r1" })).toEqual({ ok: true, green: true });
    await client.ask({ ...result(), name: "other" });
    expect(await client.event("check_recorded")).toMatchObject({ check: "test" });
    expect(await client.event("check_recorded")).toMatchObject({ check: "other" });
  });

  test("shows results page by page, of one project or all", async () => {
    for (let n = 0; n < 5; n += 1)
      await client.ask({ ...result(), name: `n${n}`, project: n < 4 ? repo : `${repo}-2` });
    const page = (more: Message) =>
      client.ask({ type: "query", target: "checks", limit: 3, project: repo, ...more });
    const first = await page({});
    expect((first["rows"] as Message[]).map(row => row["name"])).toEqual(["n0", "n1", "n2"]);
    const second = await page({ after: first["next"] });
    expect([(second["rows"] as Message[]).map(row => row["name"]), second["next"]]).toEqual([
      ["n3"],
      undefined,
    ]);
    expect(await results()).toHaveLength(5);
  });

  test("tells the state of a worktree, and why it cannot", async () => {
    const state = (cwd: string) => client.ask({ type: "worktree_state", cwd });
    const head = git(repo, "rev-parse", "HEAD").trim();
    const clean = await state(repo);
    expect(clean).toEqual({
      ok: true,
      project: repo,
      top: repo,
      commit: head,
      dirty: expect.stringMatching(/^[0-9a-f]{64}$/),
      files: 0,
      changed: [],
    });
    writeFileSync(join(repo, "a.ts"), "b\n");
    const changed = await state(join(repo, ".kite"));
    expect(changed).toMatchObject({
      commit: head,
      files: 1,
      changed: [{ file: "a.ts", content: expect.stringMatching(/^[0-9a-f]{16}$/) }],
    });
    expect(changed["dirty"]).not.toBe(clean["dirty"]);
    expect(await state("shop")).toMatchObject({ ok: false, code: "invalid_request", path: "cwd" });
    expect(await state(place)).toMatchObject({
      ok: true,
      dirty: null,
      reason: `${place} is in no git repository`,
    });
    expect(await state(join(repo, ".git"))).toMatchObject({
      ok: true,
      dirty: null,
      reason: expect.stringContaining("bare"),
    });
  });

  test("does not let other requests of the connection wait for a state", async () => {
    rmSync(join(repo, ".gitignore"));
    execFileSync("mkfifo", [join(repo, ".gitignore")]);
    client.send({ type: "worktree_state", cwd: repo, rid: 1 });
    client.send({ type: "ping", rid: 2 });
    expect((await client.reply())["rid"]).toBe(2);
    expect(await client.replyTo(1)).toMatchObject({
      ok: true,
      dirty: null,
      reason: expect.stringContaining("git did not answer"),
    });
  });
});

test("a hostile file switches no guard off", async () => {
  writeFileSync(
    file(),
    JSON.stringify({
      treeGuard: "off",
      lockWaitMs: 1,
      yieldMs: 1,
      idleExitMs: 1,
      checks: { "--yes": {}, x: { command: "touch ran" } },
    }),
  );
  const { out } = await kite(["config", "--json"]);
  const { settings, problems }: { settings: Record<string, { value: unknown }>; problems: string[] } =
    JSON.parse(out);
  expect(settings["treeGuard"]?.value).toBe("deny");
  expect(problems.filter(problem => problem.includes("may not set"))).toHaveLength(3);
  expect(problems.filter(problem => problem.includes("the check"))).toHaveLength(1);
  expect(readFileSync(home.paths.log, "utf8")).not.toContain("touch ran");
  expect(existsSync(join(repo, "ran"))).toBe(false);
});
