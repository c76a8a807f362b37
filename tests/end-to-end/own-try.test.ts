/** kite try: an agent runs a command on the last commit with its own lines alone, while others work in the same checkout. */

import { existsSync, lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ended, textOf } from "./kite.ts";
import { RestoreWorld } from "./restore-world.ts";

const world = new RestoreWorld();
beforeAll(() => world.start());
afterAll(() => world.dispose());

const committed = {
  "a.txt": "1\n2\n3\n",
  "b.txt": "b\n",
  "src/c.txt": "c\n",
  ".gitignore": "node_modules/\nout/\n",
};

function repository(name: string): string {
  return world.copy(name, committed, "git init -q -b main && git add -A && git commit -qm first");
}

/** Runs a try as a process, as an agent does. */
function tries(dir: string, session: string | undefined, ...words: string[]) {
  return ended(world.startKite(dir, ["try", ...words], session));
}

function sh(dir: string, session: string, line: string, ...flags: string[]) {
  return tries(dir, session, ...flags, "--", "sh", "-c", line);
}

/** What the checkout, its index and its refs are. */
function stateOf(dir: string): string {
  return ["status --porcelain", "diff", "ls-files --stage", "for-each-ref", "rev-parse HEAD", "stash list"]
    .map(line => world.git(dir, ...line.split(" ")))
    .join("\n");
}

describe("kite try", () => {
  test("runs on the last commit with the caller's lines alone, in the folder in which it was typed", async () => {
    const dir = repository("lines");
    await world.write("l-ann", dir, "a.txt", "ann\n2\n3\n");
    await world.write("l-bob", dir, "a.txt", "ann\n2\nbob\n");
    await world.write("l-bob", dir, "src/new.txt", "bob's\n");
    await world.write("l-ann", dir, "b.txt", "broken\n");
    const before = stateOf(dir);
    const { out, code, err } = await sh(
      join(dir, "src"),
      "l-bob",
      "cat ../a.txt ../b.txt new.txt; git status --short; pwd",
    );
    expect(out).toMatch(/^1\n2\nbob\nb\nbob's\n/);
    expect(out).toMatch(/\/src\n$/);
    expect(out).toContain(`${world.paths.tries}/`);
    expect([code, err]).toEqual([0, ""]);
    expect(stateOf(dir)).toBe(before);
    expect((await sh(dir, "l-bob", "cat a.txt b.txt", "--with", "l-ann")).out).toBe("ann\n2\nbob\nbroken\n");
    expect((await sh(dir, "l-ann", "cat a.txt b.txt; ls src")).out).toBe("ann\n2\n3\nbroken\nc.txt\n");
  });

  test("uses the tree again, writes only what differs, and follows the commit", async () => {
    const dir = repository("again");
    await world.write("g-bob", dir, "a.txt", "bob\n2\n3\n");
    const first = await sh(
      dir,
      "g-bob",
      "pwd; echo built >x.o; mkdir -p out; echo kept >out/log; echo changed >b.txt; rm src/c.txt",
    );
    const tree = first.out.trim();
    expect(first.err).toContain(`the command changed b.txt, src/c.txt in its own tree alone`);
    const time = statSync(join(tree, "a.txt"), { bigint: true }).mtimeNs;
    await world.write("g-bob", dir, "new.txt", "new\n");
    const second = await sh(dir, "g-bob", "cat b.txt src/c.txt new.txt out/log; ls");
    expect(second.out).toBe("b\nc\nnew\nkept\na.txt\nb.txt\nnew.txt\nout\nsrc\n");
    expect(second.err).toBe("");
    expect(statSync(join(tree, "a.txt"), { bigint: true }).mtimeNs).toBe(time);
    world.git(dir, "commit", "-qm", "second", "--only", "a.txt");
    await world.write("g-bob", dir, "new.txt", "newer\n");
    expect((await sh(dir, "g-bob", "cat a.txt new.txt; pwd")).out).toBe(`bob\n2\n3\nnewer\n${tree}\n`);
  });

  test("gives back the command's exit code and signal, and JSON after its output", async () => {
    const dir = repository("codes");
    await world.write("c-bob", dir, "a.txt", "bob\n2\n3\n");
    expect((await sh(dir, "c-bob", "exit 7")).code).toBe(7);
    expect((await tries(dir, "c-bob", "--", "no-such-command-here")).code).toBe(127);
    expect((await tries(dir, "c-bob", "npm", "test")).err).toContain("kite try -- npm test");
    const { out } = await sh(dir, "c-bob", "echo said; echo x >>a.txt; exit 3", "--json");
    const [said, json = ""] = out.split("\n");
    expect(said).toBe("said");
    expect(JSON.parse(json)).toMatchObject({
      ok: true,
      exit: 3,
      signal: null,
      wrote: ["a.txt"],
      commit: null,
    });
    const child = world.startKite(dir, ["try", "--", "sh", "-c", "kill -TERM $$"], "c-bob");
    const [code, signal] = await new Promise<[number | null, string | null]>(resolve =>
      child.once("close", (...end) => resolve(end)),
    );
    expect([code, signal]).toEqual([null, "SIGTERM"]);
  });

  test("passes a signal on to the command", async () => {
    const dir = repository("signal");
    await world.write("s-bob", dir, "a.txt", "bob\n2\n3\n");
    const line = "trap 'echo got it; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    const child = world.startKite(dir, ["try", "--", "sh", "-c", line], "s-bob");
    const text = textOf(child);
    await new Promise<void>(resolve =>
      child.stdout.on("data", () => {
        if (text.out.includes("ready")) resolve();
      }),
    );
    child.kill("SIGTERM");
    const code = await new Promise(resolve => child.once("close", resolve));
    expect([code, text.out]).toEqual([9, "ready\ngot it\n"]);
  });

  test("has the folders of dependencies, of which nothing is copied into the checkout", async () => {
    const dir = repository("modules");
    mkdirSync(join(dir, "node_modules/one"), { recursive: true });
    writeFileSync(join(dir, "node_modules/one/index.js"), "module.exports = 1;\n");
    await world.write("m-bob", dir, "a.txt", "bob\n2\n3\n");
    const { out, err } = await sh(dir, "m-bob", "cat node_modules/one/index.js; pwd");
    expect(out).toMatch(/^module\.exports = 1;\n/);
    expect(err).toBe("");
    const place = lstatSync(join(out.trim().split("\n").at(-1) ?? "", "node_modules"));
    expect(place.isSymbolicLink() || place.isDirectory()).toBe(true);
    expect(lstatSync(join(dir, "node_modules")).isDirectory()).toBe(true);
    expect((await sh(dir, "m-bob", "cat node_modules/one/index.js")).out).toBe("module.exports = 1;\n");
  });

  test("what git commands in it do reaches that tree alone", async () => {
    const dir = repository("git");
    await world.write("t-ann", dir, "b.txt", "ann\n");
    await world.write("t-bob", dir, "a.txt", "bob\n2\n3\n");
    const before = stateOf(dir);
    const { err } = await sh(
      dir,
      "t-bob",
      "git switch -q -c side; git commit -q --allow-empty -m kept; git switch -q --detach; git reset -q --hard; git clean -qfd; git commit -q --allow-empty -m x",
    );
    expect(err).toMatch(
      /the command made a commit that no branch has; to keep it: git branch NAME [0-9a-f]{40}/,
    );
    await sh(dir, "t-bob", "git switch -q side");
    world.git(dir, "branch", "-q", "-D", "--", "side");
    expect(stateOf(dir)).toBe(before);
    expect((await sh(dir, "t-bob", "cat a.txt; git symbolic-ref -q HEAD || echo detached")).out).toBe(
      "bob\n2\n3\ndetached\n",
    );
  });

  test("two at once have each a tree of their own; the kill of one leaves nothing in the way", async () => {
    const dir = repository("twice");
    await world.write("w-bob", dir, "a.txt", "bob\n2\n3\n");
    const child = world.startKite(dir, ["try", "--", "sh", "-c", "pwd; exec sleep 60"], "w-bob");
    const text = textOf(child);
    await new Promise<void>(resolve =>
      child.stdout.on("data", () => {
        if (text.out.endsWith("\n")) resolve();
      }),
    );
    const other = (await sh(dir, "w-bob", "pwd")).out;
    expect(other).not.toBe(text.out);
    child.kill("SIGKILL");
    await new Promise(resolve => child.once("exit", resolve));
    world.git(dir, "worktree", "list");
    writeFileSync(
      join(world.git(text.out.trim(), "rev-parse", "--absolute-git-dir").trim(), "index.lock"),
      "",
    );
    expect((await sh(dir, "w-bob", "pwd; cat a.txt")).out).toBe(`${text.out}bob\n2\n3\n`);
  });

  test("goes with the session whose tree it is", async () => {
    const dir = repository("ended");
    await world.write("e-bob", dir, "a.txt", "bob\n2\n3\n");
    const tree = (await sh(dir, "e-bob", "pwd")).out.trim();
    expect(existsSync(tree)).toBe(true);
    await world.event("e-bob", dir, { hook_event_name: "SessionEnd", reason: "other" });
    await world.write("e-ann", dir, "b.txt", "ann\n");
    expect((await sh(dir, "e-ann", "cat a.txt")).out).toBe("1\n2\n3\n");
    expect(existsSync(tree)).toBe(false);
    expect(world.git(dir, "worktree", "list")).not.toContain(tree);
  });

  test("is in no view of Kite, and a person says whose lines count", async () => {
    const dir = repository("person");
    await world.write("p-bob", dir, "a.txt", "bob\n2\n3\n");
    expect((await tries(dir, undefined, "--", "true")).err).toContain("kite try --with NAME -- COMMAND");
    expect((await tries(dir, undefined, "--with", "p-bob", "--", "cat", "a.txt")).out).toBe("bob\n2\n3\n");
    const status = await world.kite(dir, ["status", "--json", "--all"]);
    expect(status.out).not.toContain(world.paths.tries);
    expect(existsSync(world.paths.tries)).toBe(true);
    expect(readFileSync(join(dir, "a.txt"), "utf8")).toBe("bob\n2\n3\n");
  });
});
