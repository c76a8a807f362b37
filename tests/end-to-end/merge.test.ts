/** kite merge with the built program, the real daemon and real git. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { MergeRow } from "../../protocol/lead/merge.ts";
import { MergeHome, program } from "./merge-world.ts";

let home: MergeHome;
beforeEach(async () => {
  home = new MergeHome();
  await home.prepare();
});
afterEach(() => home.dispose());

const inRepo = (file: string) => join(home.repo, file);

describe("finished branches", () => {
  test("come into the base as their authors' tasks depend on each other; one that is not good goes back", async () => {
    await home.trust({ test: "! grep BAD *.ts" });
    for (const [name, text] of [
      ["alice", "x"],
      ["bob", "x"],
      ["cara", "BAD"],
      ["dan", "x"],
      ["eve", "x"],
    ] as const) {
      home.branch(name, { [`${name}.ts`]: `${text}\n` });
      await home.author(name);
    }
    // Eve wrote what Alice wrote, otherwise.
    home.write(home.tree("eve"), { "alice.ts": "y\n" });
    home.commit(home.tree("eve"), "eve");
    const made = await home.client.ask({
      type: "task_create",
      project: home.repo,
      tasks: [
        { name: "one", description: "one" },
        { name: "two", description: "two", dependsOn: ["one"] },
        { name: "three", description: "three", dependsOn: ["two"] },
        { name: "bad", description: "bad" },
        { name: "late", description: "late", dependsOn: ["bad"] },
        { name: "other", description: "other" },
      ],
    });
    const ids = (made["tasks"] as { id: string }[]).map(({ id }) => id);
    const [one = "", two = "", three = "", bad = "", late = "", other = ""] = ids;
    const work = async (name: string, task: string, status = "done") => {
      await home.client.ask({ type: "task_claim", id: `id-${name}`, task });
      if (status === "done") await home.client.ask({ type: "task_update", id: `id-${name}`, task, status });
    };
    await work("alice", one);
    // By way of a task that nobody of these did.
    await home.client.ask({ type: "task_update", task: two, status: "done" });
    await work("bob", three, "active");
    await work("cara", bad);
    await work("dan", late, "active");
    await work("eve", other, "active");

    home.write(home.tree("alice"), { "left.ts": "left\n" });
    const dry = await home.run(["bob", "dan", "alice", "eve", "cara", "--dry-run"]);
    expect(dry.out).toBe(
      [
        "Would merge into main, with 1 check (test):",
        "1. alice by alice",
        "2. bob by bob, after alice",
        "3. eve by eve",
        "4. cara by cara",
        "5. dan by dan, after cara",
        "",
      ].join("\n"),
    );
    expect(await home.rows()).toEqual([]);

    const done = await home.run(["bob", "dan", "alice", "eve", "cara"]);
    expect(done.code).toBe(1);
    expect(done.err).toMatch(/^kite: 1 file of alice not committed, and not merged$/m);
    expect(await home.states()).toEqual([
      "alice merged",
      "bob merged",
      "eve returned",
      "cara returned",
      "dan cancelled",
    ]);
    expect(home.history).toEqual(["Merge branch 'bob' into main", "Merge branch 'alice' into main", "first"]);
    // Main is checked out: its files came along.
    expect(readFileSync(inRepo("bob.ts"), "utf8")).toBe("x\n");
    expect(home.git(home.repo, "status", "--porcelain")).toBe("");
    expect(home.leftovers).toEqual([]);

    const statuses = await home.client.ask({ type: "query", target: "tasks", project: home.repo });
    const of = new Map((statuses["rows"] as { id: string; status: string }[]).map(r => [r.id, r.status]));
    // A task that an active one builds on stays done: Dan has to give his up first.
    expect(ids.map(id => of.get(id))).toEqual(["done", "done", "active", "done", "active", "pending"]);
    const letters = async (name: string) => {
      const { messages } = await home.client.ask({ type: "message_list", id: `id-${name}` });
      return (messages as { text: string }[]).map(({ text }) => text);
    };
    expect(await letters("eve")).toEqual([
      expect.stringMatching(
        new RegExp(
          `^eve was not merged into main \\(mg-[0-9a-z-]+\\): eve conflicts with main\\. Files: alice\\.ts\\. Pending again, claim it first: ${other}\\. `,
        ),
      ),
    ]);
    expect(await letters("cara")).toEqual([
      expect.stringMatching(/: the check test is red: exit code 1\. .* The end of its output: cara\.ts:BAD$/),
    ]);
    expect(await letters("alice")).toEqual([]);
    expect(done.out).toMatch(
      /\nNext: have it mended and committed on these branches, then: kite merge eve cara\n$/,
    );
    const alone = await home.run(["eve"]);
    expect(alone.out).toMatch(/\nNext: have it mended and committed on that branch, then: kite merge eve\n$/);
    const again = await home.run(["alice"]);
    expect(again.err).toContain("kite: main has all of alice already: there is nothing new to merge\n");
    expect(again.code).toBe(0);
    expect(again.out).not.toContain("Next:");
    const list = await home.run(["--list"]);
    expect(list.out).toMatch(/^cancelled {2}dan +into main/m);
    expect(list.out).toMatch(/ {2}its work builds on cara, which was returned/);
  });

  test("are only tried with --check, one on the other, and rebased with --rebase", async () => {
    await home.trust({ test: "test ! -e one.ts -o ! -e two.ts -o -e three.ts; cat a.ts" });
    home.branch("one", { "one.ts": "1\n" });
    home.branch("two", { "two.ts": "2\n", "three.ts": "3\n" });
    home.branch("four", { "one.ts": "4\n" });
    const before = home.git(home.repo, "rev-parse", "main");
    home.git(home.repo, "branch", "same", "one");
    const tried = await home.run(["one", "two", "same", "four", "--check"]);
    expect(tried).toMatchObject({ code: 1, out: expect.stringMatching(/four conflicts with main: one\.ts/) });
    expect(await home.states()).toEqual(["one checked", "two checked", "same checked", "four returned"]);
    expect(home.git(home.repo, "rev-parse", "main")).toBe(before);
    expect(existsSync(inRepo("one.ts"))).toBe(false);
    const branch = home.git(home.repo, "rev-parse", "two");
    expect(await home.run(["one", "two", "--rebase"])).toMatchObject({ code: 0 });
    expect(home.history).toEqual(["two", "one", "first"]);
    expect(home.git(home.repo, "rev-parse", "two")).toBe(branch);
    // All of it is there, though under other ids.
    const again = await home.run(["two", "--rebase", "--json"]);
    expect(JSON.parse(again.out)).toMatchObject({ merges: [{ state: "merged" }], stopped: null });
    expect(home.history).toEqual(["two", "one", "first"]);
    expect(home.leftovers).toEqual([]);
  });

  test("are not merged by checks that nobody trusts, nor from within a check", async () => {
    home.branch("one", { "one.ts": "1\n" });
    await home.trust({ test: "true" });
    home.write(inRepo(".kite"), { "config.json": '{"checks":{"test":{"command":"touch ran"}}}' });
    expect(await home.run(["one"])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/have changed since a person trusted them/),
    });
    expect(await home.rows()).toEqual([]);
    await home.trust({ test: `${process.execPath} $KITE merge one` });
    const nested = await home.run(["one"], { env: { KITE: program } });
    expect(nested).toMatchObject({ code: 1, out: expect.stringMatching(/this runs within the check test/) });
    expect(home.history).toEqual(["first"]);
  });
});

describe("a command that is gone", () => {
  test("between the move of the base and its report: the next one finds the commit, and merges nothing twice", async () => {
    home.branch("one", { "one.ts": "1\n" });
    const runner = await home.connect();
    const named = { project: home.repo, runner: "r1", base: "refs/heads/main" };
    const merges = [{ branch: "refs/heads/one" }];
    await runner.ask({ type: "merge_queue", ...named, merges, rebase: true });
    const { merge } = (await runner.ask({ type: "merge_take", ...named })) as unknown as { merge: MergeRow };
    // As rebased: the branch itself is no ancestor of it.
    const tree = home.git(home.repo, "rev-parse", "one^{tree}").trim();
    const commit = home.git(home.repo, "commit-tree", "-p", "main", "-m", "one again", tree).trim();
    const moving = { is: "moving", commit };
    await runner.ask({
      type: "merge_report",
      runner: "r1",
      merge: merge.id,
      run: merge.runs,
      outcome: moving,
    });
    home.git(home.repo, "merge", "-q", "--ff-only", commit);
    home.write(home.repo, { "later.ts": "later\n" });
    home.commit(home.repo, "later");
    runner.destroy();
    await home.becomes("one", "queued");
    expect(await home.run([])).toMatchObject({ code: 0 });
    expect(await home.rows()).toMatchObject([{ state: "merged", commit, runs: 2 }]);
    expect(home.history).toEqual(["later", "one again", "first"]);
  });

  test("leaves what a command without names shows with --dry-run, and never only checks", async () => {
    const gate = home.gate();
    await home.trust({ test: gate.command });
    for (const name of ["one", "two", "three"]) home.branch(name, { [`${name}.ts`]: "x\n" });
    expect((await home.run(["--dry-run"])).out).toBe("Nothing waits to be merged into main.\n");
    const first = home.merge(["merge", "one", "two"]);
    await gate.begun();
    await home.becomes("two", "queued");
    first.child.kill("SIGKILL");
    await first.done;
    await home.becomes("two", "queued");
    const line = (n: number, name: string) => `${n}. ${name} (mg-\\S+), which waits already\n`;
    const head = "Would merge into main, with 1 check \\(test\\):\n";
    expect((await home.run(["--dry-run"])).out).toMatch(
      new RegExp(`^${head}${line(1, "one")}${line(2, "two")}$`.replaceAll("(mg-\\S+)", "\\(mg-\\S+\\)")),
    );
    expect(JSON.parse((await home.run(["two", "three", "--dry-run", "--json"])).out)).toMatchObject({
      waiting: [{ branch: "refs/heads/one" }],
      plan: [{ branch: "refs/heads/two" }, { branch: "refs/heads/three" }],
    });
    expect(await home.run(["--check"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("--check needs the names of branches or agents"),
    });
    expect(await home.run(["--cancel", ""])).toMatchObject({
      code: 1,
      err: "kite: --cancel needs the id of a merge; kite merge --list shows them\n",
    });
    expect(home.history).toEqual(["first"]);
  });

  test("by kill -9 leaves its merges to the next one, with what it left behind", async () => {
    const { lost, gate, command } = home.gates();
    await home.trust({ test: command });
    for (const name of ["one", "two", "three"]) home.branch(name, { [`${name}.ts`]: "x\n" });
    const first = home.merge(["merge", "one", "two"]);
    await lost.begun();
    expect(await home.states()).toEqual(["one running", "two queued"]);
    const second = home.merge(["merge", "three"]);
    await home.becomes("three", "queued");
    first.child.kill("SIGKILL");
    await first.done;
    for (const _ of ["one", "two", "three"]) {
      await gate.begun();
      await gate.end();
    }
    expect(await second.done).toMatchObject({ code: 0 });
    expect(await home.states()).toEqual(["one merged", "two merged", "three merged"]);
    expect(home.history).toHaveLength(4);
    expect(home.leftovers).toEqual([]);
  });
});
