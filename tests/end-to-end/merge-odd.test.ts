/** kite merge where something is in its way: other people's work, other processes, odd repositories. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MergeHome } from "./merge-world.ts";

let home: MergeHome;
beforeEach(async () => {
  home = new MergeHome();
  await home.prepare();
});
afterEach(() => home.dispose());

const inRepo = (file: string) => join(home.repo, file);
const sessionEnv = (name: string) => ({ KITE_SESSION: `id-${name}` });

describe("a base that is checked out", () => {
  test("does not move over somebody's work, and says whose", async () => {
    home.branch("one", { "a.ts": "one\n", "new.ts": "one\n", "kept.ts": "one\n" });
    home.branch("two", { "two.ts": "2\n" });
    await home.author("lead", home.repo);
    await home.author("zoe", home.repo);
    home.write(home.repo, { "a.ts": "mine\n", "other.ts": "not tracked\n" });
    const stopped = await home.run(["one", "two"]);
    expect(stopped).toMatchObject({
      code: 1,
      out: expect.stringMatching(
        /one {2}into main .*\n {2}main is checked out in \S+, where the merge would change a\.ts \(uncommitted work\); commit or stash/,
      ),
    });
    expect(await home.states()).toEqual(["one cancelled", "two cancelled"]);
    expect(home.git(home.repo, "rev-parse", "main")).toBe(home.git(home.repo, "rev-parse", "HEAD"));
    expect(readFileSync(inRepo("a.ts"), "utf8")).toBe("mine\n");

    // What the merge does not touch stays as it is.
    expect(await home.run(["two"])).toMatchObject({ code: 0 });
    expect(readFileSync(inRepo("a.ts"), "utf8")).toBe("mine\n");
    expect(readFileSync(inRepo("two.ts"), "utf8")).toBe("2\n");

    // Hidden from git status, and in the way of git all the same.
    home.git(home.repo, "checkout", "-q", "a.ts");
    home.git(home.repo, "update-index", "--assume-unchanged", "a.ts");
    home.write(home.repo, { "a.ts": "hidden\n" });
    expect((await home.run(["one"])).out).toMatch(/a\.ts \(assumed to be unchanged\)/);
    expect(readFileSync(inRepo("a.ts"), "utf8")).toBe("hidden\n");
    home.git(home.repo, "update-index", "--no-assume-unchanged", "a.ts");
    home.git(home.repo, "checkout", "-q", "a.ts");

    // Git by itself overwrites ignored files.
    writeFileSync(inRepo(".git/info/exclude"), "new.ts\n");
    home.write(home.repo, { "new.ts": "ignored\n" });
    expect((await home.run(["one"])).out).toMatch(/new\.ts \(not tracked, and in its place\)/);
    expect(readFileSync(inRepo("new.ts"), "utf8")).toBe("ignored\n");
    home.git(home.repo, "clean", "-qfdx", "new.ts");

    const locker = await home.connect();
    await locker.ask({ type: "file_lock", id: "id-zoe", file: inRepo("a.ts") });
    expect((await home.run(["one"], { env: sessionEnv("lead") })).out).toMatch(/a\.ts \(zoe holds it\)/);
    // Of its own locks none is in the way.
    expect(await home.run(["one"], { env: sessionEnv("zoe") })).toMatchObject({ code: 0 });
    expect(readFileSync(inRepo("a.ts"), "utf8")).toBe("one\n");
    expect(home.leftovers).toEqual([]);
  });

  test("names the agent whose work it is, to an agent too: no way around the guard", async () => {
    home.branch("one", { "a.ts": "one\n" });
    await home.author("lead", home.repo);
    await home.author("zoe", home.repo);
    const hook = (event: string) => ({
      type: "hook",
      event: {
        session_id: "id-zoe",
        cwd: home.repo,
        transcript_path: "/dev/null",
        hook_event_name: event,
        tool_name: "Write",
        tool_use_id: "use-1",
        tool_input: { file_path: inRepo("a.ts"), content: "zoe\n" },
        ...(event === "PostToolUse" ? { tool_response: { type: "update" } } : {}),
      },
    });
    await home.client.ask(hook("PreToolUse"));
    home.write(home.repo, { "a.ts": "zoe\n" });
    await home.client.ask(hook("PostToolUse"));
    await home.client.ask({
      type: "hook",
      event: {
        session_id: "id-zoe",
        cwd: home.repo,
        transcript_path: "/dev/null",
        hook_event_name: "Stop",
        stop_hook_active: false,
      },
    });
    const stopped = await home.run(["one"], { env: sessionEnv("lead") });
    expect(stopped).toMatchObject({
      code: 1,
      out: expect.stringMatching(/a\.ts \(zoe's uncommitted work\)/),
    });
    expect(readFileSync(inRepo("a.ts"), "utf8")).toBe("zoe\n");
  });

  test("in two worktrees, or in a rebase, stays where it is; one in no worktree moves alone", async () => {
    home.branch("one", { "one.ts": "1\n" });
    home.branch("two", { "a.ts": "2\n" });
    home.git(home.repo, "worktree", "add", "-qf", home.tree("twin"), "main");
    expect((await home.run(["one"])).out).toMatch(/main is checked out in \S+ and \S+, and the files of one/);
    home.git(home.repo, "worktree", "remove", home.tree("twin"));
    home.write(home.repo, { "a.ts": "1\n" });
    home.commit(home.repo, "clash");
    expect(() => home.git(home.repo, "rebase", "two")).toThrow();
    expect((await home.run(["one", "--into", "main"])).out).toMatch(/a rebase of main is in progress/);
    home.git(home.repo, "rebase", "--abort");
    home.git(home.repo, "switch", "-qc", "elsewhere");
    expect(await home.run(["one", "--into", "main"])).toMatchObject({ code: 0 });
    expect(home.history).toEqual(["Merge branch 'one' into main", "clash", "first"]);
    expect(existsSync(inRepo("one.ts"))).toBe(false);
    expect(home.git(home.repo, "reflog", "-1", "--format=%gs", "main")).toBe("kite merge one\n");
  });

  test("amid a merge or a cherry-pick stays where it is, and no check runs first", async () => {
    home.branch("one", { "one.ts": "1\n" });
    home.branch("two", { "a.ts": "two\n" });
    home.write(home.repo, { "a.ts": "main\n" });
    home.commit(home.repo, "clash");
    const ran = join(home.work, "ran");
    await home.trust({ test: `touch ${ran}` });
    for (const what of ["merge", "cherry-pick"]) {
      expect(() => home.git(home.repo, what, "two")).toThrow();
      expect((await home.run(["one"])).out).toMatch(
        new RegExp(`main is checked out in \\S+, where a ${what} is in progress; finish it, or abort it`),
      );
      home.git(home.repo, what, "--abort");
    }
    expect(existsSync(ran)).toBe(false);
    expect(await home.run(["one"])).toMatchObject({ code: 0 });
  });

  test("moves whatever the person's settings say of merges, and remembers no conflict", async () => {
    home.branch("one", { "one.ts": "1\n" });
    home.branch("two", { "a.ts": "two\n" });
    home.git(home.repo, "config", "branch.main.mergeOptions", "--squash --autostash");
    expect(await home.run(["one"])).toMatchObject({ code: 0 });
    expect(home.git(home.repo, "status", "--porcelain")).toBe("");
    expect(home.history).toEqual(["Merge branch 'one' into main", "first"]);

    // With a memory of how the person resolved the same conflict, git leaves no file of it unmerged.
    home.git(home.repo, "config", "rerere.enabled", "true");
    home.git(home.repo, "config", "rerere.autoUpdate", "true");
    home.git(home.repo, "config", "--unset", "branch.main.mergeOptions");
    home.write(home.repo, { "a.ts": "main\n" });
    home.commit(home.repo, "clash");
    expect(() => home.git(home.repo, "merge", "two")).toThrow();
    home.write(home.repo, { "a.ts": "both\n" });
    home.commit(home.repo, "resolved");
    home.git(home.repo, "reset", "-q", "--hard", "HEAD~1");
    for (const more of [[], ["--rebase"]]) {
      await home.run(["two", ...more]);
      expect((await home.rows()).at(-1)).toMatchObject({
        state: "returned",
        reason: { code: "conflict", files: ["a.ts"] },
      });
    }
  });

  test("that moves meanwhile is merged with anew", async () => {
    const gate = home.gate();
    await home.trust({ test: gate.command });
    home.branch("one", { "one.ts": "1\n" });
    const merge = home.merge(["merge", "one"]);
    await gate.begun();
    home.write(home.repo, { "b.ts": "b\n" });
    home.commit(home.repo, "meanwhile");
    await gate.end();
    await gate.begun();
    await gate.end();
    expect(await merge.done).toMatchObject({ code: 0 });
    expect(home.history).toEqual(["Merge branch 'one' into main", "meanwhile", "first"]);
  });
});

describe("several commands", () => {
  test("merge one after the other, in the order of asking", async () => {
    const gate = home.gate();
    await home.trust({ test: gate.command });
    for (const name of ["one", "two", "three", "four"]) home.branch(name, { [`${name}.ts`]: "x\n" });
    const first = home.merge(["merge", "one", "two"]);
    await gate.begun();
    const second = home.merge(["merge", "three"]);
    await home.becomes("three", "queued");
    expect(await home.run(["two"])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/two waits for main already/),
    });
    for (const _ of [1, 2]) {
      await gate.end();
      await gate.begun();
    }
    // The first command has nothing left to do with the third branch.
    expect(await first.done).toMatchObject({ code: 0 });
    expect(await home.states()).toEqual(["one merged", "two merged", "three running"]);
    await gate.end();
    expect(await second.done).toMatchObject({ code: 0 });
    expect(home.history.slice(0, 3)).toEqual(
      ["three", "two", "one"].map(n => `Merge branch '${n}' into main`),
    );
  });

  test("take a merge that nobody attends to and that cannot move out of the queue, and go on", async () => {
    const gate = home.gate();
    await home.trust({ test: gate.command });
    for (const name of ["one", "two"]) home.branch(name, { [`${name}.ts`]: "x\n" });
    const killed = home.merge(["merge", "one"]);
    await gate.begun();
    killed.child.kill("SIGKILL");
    await killed.done;
    await home.becomes("one", "queued");
    // The first merge cannot move the base, and nobody attends to it.
    home.write(home.repo, { "one.ts": "not tracked\n" });
    const [first] = await home.rows();
    await home.trust({});
    const ran = await home.run(["two"]);
    // As for all that it runs: one of them was not merged.
    expect(ran).toMatchObject({ code: 1 });
    const words = `${ran.out} ${ran.err}`.replace(/\s+/g, " ");
    expect(words).toContain(`one (${first?.id}) leaves the queue: main is checked out in`);
    expect(words).toContain("one.ts (not tracked, and in its place)");
    expect(words).toContain("To queue it again: kite merge one");
    expect(await home.states()).toEqual(["one cancelled", "two merged"]);
    expect((await home.rows()).map(({ reason }) => reason?.code)).toEqual(["base", undefined]);
  });

  test("end by Ctrl-C with what they queued; what they ran for others waits again", async () => {
    const { lost, gate, command } = home.gates();
    await home.trust({ test: command });
    for (const name of ["one", "two", "three"]) home.branch(name, { [`${name}.ts`]: "x\n" });
    const killed = home.merge(["merge", "one"]);
    await lost.begun();
    killed.child.kill("SIGKILL");
    await killed.done;
    await home.becomes("one", "queued");
    const merge = home.merge(["merge", "two", "three"]);
    await gate.begun();
    merge.child.kill("SIGINT");
    expect(await merge.done).toMatchObject({ code: 130 });
    expect(await home.states()).toEqual(["one queued", "two cancelled", "three cancelled"]);
    expect((await home.rows()).map(({ reason }) => reason?.code)).toEqual([
      undefined,
      "interrupted",
      "interrupted",
    ]);
    expect(home.leftovers).toEqual([]);
    // Without names, a command takes what nobody attends to.
    const last = home.merge(["merge"]);
    await gate.begun();
    await gate.end();
    expect(await last.done).toMatchObject({ code: 0 });
    expect(await home.states()).toEqual(["one merged", "two cancelled", "three cancelled"]);
    expect(await home.run([])).toMatchObject({ code: 0, out: "Nothing waits to be merged into main.\n" });
  });

  test("go on with the next when somebody cancels what they run", async () => {
    const gate = home.gate();
    await home.trust({ test: gate.command });
    for (const name of ["one", "two"]) home.branch(name, { [`${name}.ts`]: "x\n" });
    const merge = home.merge(["merge", "one", "two"]);
    await gate.begun();
    const [one] = await home.rows();
    // Elsewhere a short name needs the project.
    const [cwd, short] = [tmpdir(), one?.id.split("-").at(-1) ?? ""];
    expect(await home.run(["--cancel", short], { cwd })).toMatchObject({ code: 1 });
    const listed = await home.run(["--list", "--project", home.repo], { cwd });
    expect(listed.out).toMatch(/^running +one +into main/m);
    expect(await home.run(["--cancel", short, "--project", home.repo], { cwd })).toMatchObject({
      code: 0,
      out: `cancelled ${one?.id}\n`,
    });
    await gate.begun();
    await gate.end();
    expect(await merge.done).toMatchObject({ code: 1 });
    expect(await home.states()).toEqual(["one cancelled", "two merged"]);
    expect(home.leftovers).toEqual([]);
  });

  test("outlive a daemon that is killed while they run", async () => {
    const gate = home.gate();
    await home.trust({ test: gate.command });
    home.branch("one", { "one.ts": "x\n" });
    const merge = home.merge(["merge", "one"]);
    await gate.begun();
    await home.daemon.kill();
    await home.start();
    await home.reconnect();
    await gate.end();
    expect(await merge.done).toMatchObject({ code: 0 });
    expect(await home.states()).toEqual(["one merged"]);
    expect(home.history).toEqual(["Merge branch 'one' into main", "first"]);
  });
});

describe("a check", () => {
  test("that commits, or removes its worktree, is red: what it looked at is not what would be merged", async () => {
    home.branch("one", { "one.ts": "1\n" });
    for (const [command, how] of [
      ["echo x >> one.ts; git commit -qam formatted", "it committed, or moved HEAD"],
      ['rm -rf "$PWD"', "it removed the worktree that it ran in"],
      ["echo x >> one.ts", "it changed tracked files (one.ts)"],
    ] as const) {
      await home.trust({ test: command });
      await home.run(["one"]);
      expect((await home.rows()).at(-1)).toMatchObject({
        state: "returned",
        reason: { code: "red_check", text: `the check test is red: ${how}` },
      });
      expect(home.leftovers).toEqual([]);
    }
    expect(home.history).toEqual(["first"]);
  });
});

describe("the setup of a project", () => {
  test("runs once before the checks, is trusted with them, and sends the branch back if it fails", async () => {
    home.write(home.repo, { ".gitignore": ".kite/\ndeps\n" });
    home.commit(home.repo, "ignore");
    home.branch("one", { "one.ts": "1\n" });
    const log = join(home.work, "log");
    const name = (setup: string) => {
      const checks = {
        a: { command: `test -f deps && echo a >> ${log}` },
        b: { command: `echo b >> ${log}` },
      };
      writeFileSync(inRepo(".kite/config.json"), JSON.stringify({ setup, checks }));
    };
    await home.trust({ a: "true" });
    const works = `echo setup >> ${log}; touch deps`;
    name(works);
    expect((await home.run(["one"])).err).toContain("have changed since a person trusted them");
    const shown = await home.merge(["trust", "--yes"]).done;
    expect(shown.out).toContain(`  setup: ${works}\n`);
    expect(shown.out).toContain("! This has changed since you trusted it");

    name("exit 3");
    expect((await home.run(["one"])).err).toContain("have changed since a person trusted them");
    for (const [setup, how] of [
      ["echo no network; exit 3", "exit code 3"],
      ["echo x >> one.ts", "it changed tracked files (one.ts)"],
    ] as const) {
      name(setup);
      await home.merge(["trust", "--yes"]).done;
      await home.run(["one"]);
      expect((await home.rows()).at(-1)).toMatchObject({
        state: "returned",
        reason: { code: "red_check", text: `the setup is red: ${how}` },
      });
    }
    expect(existsSync(log)).toBe(false);

    name(works);
    await home.merge(["trust", "--yes"]).done;
    expect(await home.run(["one"])).toMatchObject({
      code: 0,
      err: expect.stringMatching(/kite: setup\n.*check a/),
    });
    expect(readFileSync(log, "utf8")).toBe("setup\na\nb\n");
    expect(home.leftovers).toEqual([]);
  });
});

describe("an odd repository", () => {
  test("has names of any kind, and branches without a common history", async () => {
    const odd = "a\nb \u202e.ts";
    home.branch("one", { [odd]: "1\n" });
    home.branch("two", { [odd]: "2\n" });
    home.git(home.repo, "update-ref", "refs/heads/-x", "one");
    const orphan = home.git(home.repo, "commit-tree", "-m", "alien", "main^{tree}").trim();
    home.git(home.repo, "branch", "alien", orphan);
    const done = await home.run(["--into", "main", "--json", "--", "-x", "two", "alien", "one"]);
    const { merges } = JSON.parse(done.out);
    expect(merges).toMatchObject([
      { branch: "refs/heads/-x", state: "merged" },
      { state: "returned", reason: { code: "conflict", files: ["a b .ts"] } },
      { state: "returned", reason: { code: "unmergeable", text: "alien and main have no common history" } },
      { state: "merged" },
    ]);
    expect(home.history).toEqual(["Merge branch '-x' into main", "first"]);
    expect(await home.run(["main"])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/main is main itself/),
    });
    expect(await home.run(["nobody"])).toMatchObject({
      code: 1,
      err: "kite: there is no local branch nobody, and no agent of that name; no agent is active here\n",
    });
    expect(await home.run(["one~0"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("there is no local branch one~0,"),
    });
    expect(await home.run(["one"], { cwd: home.work })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is in no git repository/),
    });
    expect(await home.run(["one", "--into", "nowhere"])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/there is no branch nowhere to merge into/),
    });
    // A commit is no base, however it is written.
    for (const base of ["main~0", "main@{0}", "refs/heads/main^"])
      expect(await home.run(["one", "--into", base])).toMatchObject({
        code: 1,
        err: `kite: there is no branch ${base} to merge into; name one: --into main\n`,
      });
  });

  test("has no commit yet, or its main worktree is on no branch", async () => {
    const bare = join(home.work, "new");
    home.git(home.work, "init", "-q", "-b", "main", bare);
    expect(await home.run(["one"], { cwd: bare })).toMatchObject({
      code: 1,
      err: "kite: the base main has no commit yet; commit to it first, or name another base: --into BRANCH\n",
    });
    home.git(home.repo, "switch", "-q", "--detach");
    expect(await home.run(["one"])).toMatchObject({
      code: 1,
      err: "kite: the main worktree is on no branch; name the base: --into main\n",
    });
  });

  test("has hooks, of which none runs, and submodules, which are merged as commits", async () => {
    const hooks = join(home.work, "hooks");
    mkdirSync(hooks);
    const names = [
      "post-checkout",
      "pre-merge-commit",
      "commit-msg",
      "post-merge",
      "reference-transaction",
      "pre-rebase",
    ];
    for (const name of names) {
      writeFileSync(join(hooks, name), `#!/bin/sh\ntouch ${join(home.work, "ran")}\nexit 1\n`);
      chmodSync(join(hooks, name), 0o755);
    }
    const sub = join(home.work, "sub");
    home.git(home.work, "init", "-q", "-b", "main", sub);
    home.write(sub, { "s.ts": "s\n" });
    home.commit(sub, "sub");
    home.branch("one", { "one.ts": "1\n" });
    home.git(home.tree("one"), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "lib");
    home.commit(home.tree("one"), "with a submodule");
    home.git(home.repo, "config", "core.hooksPath", hooks);
    home.git(home.repo, "config", "submodule.recurse", "true");
    expect(await home.run(["one"])).toMatchObject({ code: 0 });
    expect(existsSync(join(home.work, "ran"))).toBe(false);
    expect(home.git(home.repo, "ls-tree", "main", "lib")).toMatch(/^160000 commit /);
    expect(home.leftovers).toEqual([]);
  });

  test("needs a program of the repository's own configuration, which a person trusts first", async () => {
    const ran = join(home.work, "ran");
    home.branch("one", { ".gitattributes": "*.f filter=up\n", "b.f": "b\n" });
    home.git(home.repo, "config", "filter.up.smudge", `touch ${ran}; tr b B`);
    const stopped = await home.run(["one"]);
    expect(stopped.code).toBe(1);
    expect(stopped.out.replace(/\s+/g, " ")).toMatch(
      /needs filter\.up\.smudge of .* \(touch \S+ran; tr b B\), which no person has trusted; read and trust it: kite check --trust/,
    );
    expect(existsSync(ran)).toBe(false);
    expect(home.leftovers).toEqual([]);
    const trusted = await home.merge(["trust", "--yes"]).done;
    expect(trusted.out).toContain(`+ filter.up.smudge  touch ${ran}; tr b B`);
    expect(await home.run(["one"])).toMatchObject({ code: 0 });
    expect(existsSync(ran)).toBe(true);
    expect(await home.merge(["trust", "--yes"]).done).toMatchObject({
      code: 0,
      out: expect.stringContaining("trusted already"),
    });
  });

  test("has no room: the command stops, cleans up, and says so", async () => {
    home.branch("big", { "big.bin": "x".repeat(3_000_000) });
    home.branch("two", { "two.ts": "2\n" });
    const before = home.git(home.repo, "rev-parse", "main");
    const stopped = await home.run(["big", "two"], { shell: "ulimit -f 2000" });
    expect(stopped).toMatchObject({
      code: 1,
      out: expect.stringMatching(/big {2}into main .*\n {2}git merge of big failed: exit code 153\n/),
    });
    expect(await home.states()).toEqual(["big cancelled", "two cancelled"]);
    expect(home.git(home.repo, "rev-parse", "main")).toBe(before);
    expect(home.leftovers).toEqual([]);
  });
});
