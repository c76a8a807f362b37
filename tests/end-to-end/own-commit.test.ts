/** kite commit: just the caller's lines, in the commit and in the index, whatever others do at the same time. */

import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type KiteProcess, kiteProgram } from "./kite.ts";
import { RescueWorld } from "./rescue-world.ts";
import { RestoreWorld } from "./restore-world.ts";

const world = new RestoreWorld();
beforeAll(() => world.start());
afterAll(() => world.dispose());

const show = (dir: string, what: string) => world.git(dir, "show", what);
const shared = "one\ntwo\nthree\nfour\nfive\n";

/** A repository with `s.ts` besides the usual files. */
function repository(name: string): string {
  const dir = world.repo(name);
  world.put(dir, "s.ts", shared);
  world.git(dir, "add", "s.ts");
  world.git(dir, "commit", "-qm", "shared");
  return dir;
}

const hook = (dir: string, name: string, text: string) => {
  const file = join(dir, ".git/hooks", name);
  mkdirSync(join(dir, ".git/hooks"), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
};

/** The exit code of a command that runs as a process, the signal that ended it, and what it said. */
async function ran(child: KiteProcess): Promise<readonly [number | null, string | null, string]> {
  let said = "";
  child.stderr.on("data", (text: Buffer) => {
    said += text.toString();
  });
  child.stdout.resume();
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return [code, signal, said];
}

describe("kite commit", () => {
  test("commits the caller's lines, leaves the others' in the file and what they staged in the index", async () => {
    const dir = repository("lines");
    await world.write("c-bob", dir, "s.ts", "one\ntwo\nthree\nfour\nbob\n");
    world.git(dir, "add", "s.ts");
    await world.write("c-ann", dir, "s.ts", "ann\ntwo\nthree\nfour\nbob\n");
    await world.write("c-ann", dir, "new.ts", "new\n");
    await world.write("c-bob", dir, "b.ts", "b.ts\nbob\n");
    const before = world.git(dir, "rev-parse", "HEAD").trim();
    const done = await world.json(dir, ["commit", "-m", "Ann's work"], "c-ann");
    expect(done).toMatchObject({ ok: true, branch: "main" });
    expect(show(dir, "HEAD:s.ts")).toBe("ann\ntwo\nthree\nfour\nfive\n");
    expect(show(dir, "HEAD:new.ts")).toBe("new\n");
    expect(show(dir, "HEAD:b.ts")).toBe("b.ts\n");
    expect(world.git(dir, "log", "-1", "--format=%s %P").trim()).toBe(`Ann's work ${before}`);
    expect(show(dir, ":s.ts")).toBe("ann\ntwo\nthree\nfour\nbob\n");
    expect(world.read(dir, "s.ts")).toBe("ann\ntwo\nthree\nfour\nbob\n");
    expect(world.git(dir, "status", "--porcelain").split("\n").sort()).toEqual(["", " M b.ts", "M  s.ts"]);
    // What is left is known to be bob's.
    const { writes } = (await world.json(dir, ["whose", "."])) as {
      writes: { file: string; writers: { id: string }[] }[];
    };
    expect(writes.map(({ file, writers }) => [file, writers.map(({ id }) => id)])).toEqual([
      ["s.ts", ["c-bob"]],
      ["b.ts", ["c-bob"]],
    ]);
    expect((await world.kite(dir, ["diff", "c-ann"])).out).not.toContain("s.ts");
    const again = await world.json(dir, ["commit", "-m", "Bob's work"], "c-bob");
    expect(again).toMatchObject({ ok: true });
    expect(world.git(dir, "status", "--porcelain")).toBe("");
    expect(show(dir, "HEAD:s.ts")).toBe("ann\ntwo\nthree\nfour\nbob\n");
  });

  test("names what is mixed, and what nobody was seen to write, and commits neither", async () => {
    const dir = repository("mixed");
    await world.write("m-bob", dir, "s.ts", "one\nbob\nthree\nfour\nfive\n");
    await world.write("m-ann", dir, "s.ts", "one\nbob and ann\nthree\nfour\nann\n");
    world.put(dir, "by-hand.ts", "x\n");
    const done = await world.kite(dir, ["commit", "-m", "mine"], "m-ann");
    expect(done.code).toBe(0);
    expect(show(dir, "HEAD:s.ts")).toBe("one\ntwo\nthree\nfour\nann\n");
    expect(done.out).toMatch(/Not committed in s\.ts: 2 lines that you and \S+ both changed\./);
    expect(done.out).toContain("Left out, since Kite saw nobody write it: by-hand.ts.");
    expect((await world.kite(dir, ["commit", "-m", "hand", "by-hand.ts"], "m-ann")).code).toBe(0);
    expect(show(dir, "HEAD:by-hand.ts")).toBe("x\n");
  });

  test("takes new, deleted, renamed and binary files, links and the executable bit", async () => {
    const dir = repository("kinds");
    await world.write("k-ann", dir, "image", "\0binary");
    await world.line("k-ann", dir, "git mv a.ts z.ts", () => world.git(dir, "mv", "a.ts", "z.ts"));
    await world.line("k-ann", dir, "rm b.ts", () => rmSync(join(dir, "b.ts")));
    await world.write("k-ann", dir, "run.sh", "#!/bin/sh\n");
    await world.line("k-ann", dir, "chmod +x run.sh", () => chmodSync(join(dir, "run.sh"), 0o755));
    await world.line("k-ann", dir, "ln -s s.ts l", () => symlinkSync("s.ts", join(dir, "l")));
    const done = await world.json(
      dir,
      ["commit", "-m", "kinds", "image", "z.ts", "a.ts", "b.ts", "run.sh", "l"],
      "k-ann",
    );
    expect(done).toMatchObject({ ok: true });
    expect(world.git(dir, "status", "--porcelain")).toBe("");
    const listed = world
      .git(dir, "ls-tree", "-r", "HEAD")
      .split("\n")
      .map(line => line.replace(/ blob \w+\t/, " "));
    expect(listed).toEqual(
      expect.arrayContaining(["100755 run.sh", "120000 l", "100644 image", "100644 z.ts"]),
    );
    expect(listed.join()).not.toMatch(/ a\.ts| b\.ts/);
  });

  test("prints the patch, and commits nothing, with --dry-run", async () => {
    const dir = repository("dry");
    await world.write("d-bob", dir, "s.ts", "one\ntwo\nthree\nfour\nbob\n");
    await world.write("d-ann", dir, "s.ts", "ann\ntwo\nthree\nfour\nbob\n");
    const before = world.git(dir, "rev-parse", "HEAD");
    const { out } = await world.kite(dir, ["commit", "--dry-run"], "d-ann");
    expect(out.split("\n").filter(line => /^[+-][^+-]/.test(line))).toEqual(["-one", "+ann"]);
    expect(world.git(dir, "rev-parse", "HEAD")).toBe(before);
    expect(world.git(dir, "diff", "--cached")).toBe("");
  });

  test("is refused in the middle of a merge, without a message, and for a person who names nobody", async () => {
    const dir = repository("merge");
    await world.write("g-ann", dir, "s.ts", "ann\n");
    writeFileSync(join(dir, ".git/MERGE_HEAD"), `${world.git(dir, "rev-parse", "HEAD")}`);
    const refused = await world.kite(dir, ["commit", "-m", "x"], "g-ann");
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("a merge is in progress") });
    rmSync(join(dir, ".git/MERGE_HEAD"));
    expect((await world.kite(dir, ["commit"], "g-ann")).err).toContain("give a message");
    const typo = await world.kite(dir, ["commit", "-m", "x", "s.ts", "typo.ts"], "g-ann");
    expect(typo).toMatchObject({ code: 1, err: expect.stringContaining("no file typo.ts is here") });
    expect((await world.kite(dir, ["commit", "-m", "x"])).err).toContain("--of NAME");
    expect((await world.kite(dir, ["commit", "-m", "x", "--of", "g-ann"])).code).toBe(0);
    expect(show(dir, "HEAD:s.ts")).toBe("ann\n");
  });

  test("takes another's lines along only when asked twice, and that agent is told", async () => {
    const dir = repository("with");
    await world.write("w-bob", dir, "s.ts", "one\ntwo\nthree\nfour\nbob\n");
    await world.write("w-ann", dir, "s.ts", "ann\ntwo\nthree\nfour\nbob\n");
    const words = ["commit", "-m", "both", "--with", "w-bob"];
    const first = await world.kite(dir, words, "w-ann");
    expect(first).toMatchObject({ code: 1, err: expect.stringContaining("nothing was committed") });
    expect((await world.kite(dir, words, "w-ann")).code).toBe(0);
    expect(show(dir, "HEAD:s.ts")).toBe("ann\ntwo\nthree\nfour\nbob\n");
    const inbox = await world.json(dir, ["message", "inbox"], "w-bob");
    expect(JSON.stringify(inbox)).toContain("committed s.ts with whatever lines you had there, too");
  });

  test("says what it did when it is sent again, and never commits twice", async () => {
    const dir = repository("again");
    await world.write("a-ann", dir, "s.ts", "ann\n");
    expect((await world.kite(dir, ["commit", "-m", "once"], "a-ann")).code).toBe(0);
    const head = world.git(dir, "rev-parse", "HEAD").trim();
    const again = await world.json(dir, ["commit", "-m", "once"], "a-ann");
    expect(again).toMatchObject({ ok: true, commit: head, again: true });
    expect(await world.json(dir, ["commit", "-m", "another"], "a-ann")).toMatchObject({ ok: false });
    expect(world.git(dir, "rev-parse", "HEAD").trim()).toBe(head);
  });

  test("runs hooks against just what is committed; what they change is committed", async () => {
    const dir = repository("hooks");
    world.git(dir, "branch", "-q", "-m", "topic");
    const seen = join(dir, "../hooks-seen");
    hook(
      dir,
      "pre-commit",
      `cat s.ts > ${seen}; git diff --cached --name-only >> ${seen}; git symbolic-ref --short HEAD >> ${seen}
      echo formatted >> a.ts; git add a.ts`,
    );
    hook(dir, "commit-msg", `echo >> "$1"; echo "Ticket: 1" >> "$1"`);
    hook(dir, "post-commit", `git log -1 --format=%s >> ${seen}`);
    await world.write("h-bob", dir, "s.ts", "one\ntwo\nthree\nfour\nbob\n");
    await world.write("h-ann", dir, "s.ts", "ann\ntwo\nthree\nfour\nbob\n");
    await world.write("h-ann", dir, "a.ts", "a.ts\nann\n");
    const done = await world.kite(dir, ["commit", "-m", "hooked"], "h-ann");
    expect(done).toMatchObject({ code: 0 });
    expect(world.read(dir, "../hooks-seen")).toBe("ann\ntwo\nthree\nfour\nfive\na.ts\ns.ts\ntopic\nhooked\n");
    expect(show(dir, "HEAD:a.ts")).toBe("a.ts\nann\nformatted\n");
    expect(world.read(dir, "a.ts")).toBe("a.ts\nann\nformatted\n");
    expect(world.git(dir, "log", "-1", "--format=%B").trim()).toBe("hooked\n\nTicket: 1");
    expect(world.git(dir, "status", "--porcelain").trim()).toBe("M s.ts");
    hook(dir, "pre-commit", "echo 'no good'; exit 1");
    await world.write("h-ann", dir, "a.ts", "more\n");
    const head = world.git(dir, "rev-parse", "HEAD");
    const refused = await world.kite(dir, ["commit", "-m", "more"], "h-ann");
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("no good") });
    expect(world.git(dir, "rev-parse", "HEAD")).toBe(head);
    expect((await world.kite(dir, ["commit", "-m", "more", "--no-verify"], "h-ann")).code).toBe(0);
  });

  test("writes through the filters of git, and reads what they wrote", async () => {
    const dir = repository("filters");
    writeFileSync(join(dir, ".gitattributes"), "*.txt text eol=crlf\n");
    world.put(dir, "f.txt", "1\r\n2\r\n3\r\n");
    world.git(dir, "add", ".");
    world.git(dir, "commit", "-qm", "crlf");
    await world.write("f-bob", dir, "f.txt", "1\r\n2\r\nbob\r\n");
    await world.write("f-ann", dir, "f.txt", "ann\r\n2\r\nbob\r\n");
    expect((await world.kite(dir, ["commit", "-m", "ann"], "f-ann")).code).toBe(0);
    expect(show(dir, "HEAD:f.txt")).toBe("ann\n2\n3\n");
  });

  test("of ten agents at once all succeed, each with its own lines", async () => {
    const dir = repository("ten");
    const names = Array.from({ length: 10 }, (_, i) => `t-${i}`);
    world.put(dir, "all.ts", names.map(name => `${name}\n-\n`).join(""));
    world.git(dir, "add", ".");
    world.git(dir, "commit", "-qm", "ten");
    let text = world.read(dir, "all.ts");
    for (const name of names) {
      text = text.replace(`${name}\n`, `${name} wrote\n`);
      await world.write(name, dir, "all.ts", text);
    }
    const all = await Promise.all(names.map(name => ran(world.startKite(dir, ["commit", "-m", name], name))));
    expect(all).toEqual(names.map(() => [0, null, ""]));
    expect(world.git(dir, "status", "--porcelain")).toBe("");
    expect(show(dir, "HEAD:all.ts")).toBe(text);
    for (const name of names) {
      const id = world.git(dir, "log", "--format=%H", `--grep=^${name}$`).trim();
      const changed = world
        .git(dir, "show", "--format=", id)
        .split("\n")
        .filter(line => /^[+-][^+-]/.test(line));
      expect(changed.sort()).toEqual([`+${name} wrote`, `-${name}`]);
    }
    expect(readdirSync(join(dir, ".git")).filter(name => name.includes("lock"))).toEqual([]);
  });

  test("reads a file with an edit in flight after that edit", async () => {
    const dir = repository("flight");
    await world.write("i-ann", dir, "s.ts", "ann\ntwo\nthree\nfour\nfive\n");
    await world.event("i-ann", dir, { hook_event_name: "Stop" });
    const path = join(dir, "s.ts");
    const text = "ann\ntwo\nthree\nfour\nbob\n";
    const call = world.call("Write", { file_path: path, content: text }, { filePath: path, content: text });
    await world.event("i-bob", dir, { hook_event_name: "PreToolUse", ...call });
    const committing = world.kite(dir, ["commit", "-m", "ann"], "i-ann");
    // Half of what the edit writes.
    world.put(dir, "s.ts", "ann\ntwo\nbob\n");
    expect(await Promise.race([committing, world.settled().then(() => "waits")])).toBe("waits");
    world.put(dir, "s.ts", text);
    await world.event("i-bob", dir, { hook_event_name: "PostToolUse", ...call });
    expect((await committing).code).toBe(0);
    expect(show(dir, "HEAD:s.ts")).toBe("ann\ntwo\nthree\nfour\nfive\n");
  });

  test("takes the lines of a main agent's ended agents along, and not those of an active one", async () => {
    const dir = repository("agents");
    const asAgent = async (agent: string, file: string, text: string, ends: boolean) => {
      const own = { agent_id: agent, agent_type: "Explore" };
      const path = join(dir, file);
      const call = world.call("Write", { file_path: path, content: text }, { filePath: path, content: text });
      await world.event("s-ann", dir, { hook_event_name: "SubagentStart", ...own });
      await world.event("s-ann", dir, { hook_event_name: "PreToolUse", ...own, ...call });
      world.put(dir, file, text);
      await world.event("s-ann", dir, { hook_event_name: "PostToolUse", ...own, ...call });
      if (ends) await world.event("s-ann", dir, { hook_event_name: "SubagentStop", ...own });
      await world.settled();
    };
    await world.event("s-ann", dir, { hook_event_name: "SessionStart", source: "startup" });
    await asAgent("sub-1", "s.ts", "one\nended\nthree\nfour\nfive\n", true);
    await asAgent("sub-2", "a.ts", "a.ts\nactive\n", false);
    expect((await world.kite(dir, ["commit", "-m", "main"], "s-ann")).code).toBe(0);
    expect(show(dir, "HEAD:s.ts")).toContain("ended");
    expect(show(dir, "HEAD:a.ts")).toBe("a.ts\n");
  });

  test("stays beside plain git commits, and keeps a hook's change out of a file that others went on with", async () => {
    const dir = repository("beside");
    hook(dir, "pre-commit", "sed -i s/ann/Ann/ s.ts && git add s.ts");
    await world.write("b-bob", dir, "s.ts", "one\ntwo\nthree\nfour\nbob\n");
    await world.write("b-ann", dir, "s.ts", "ann\ntwo\nthree\nfour\nbob\n");
    const done = await world.kite(dir, ["commit", "-m", "ann"], "b-ann");
    expect(done.out).toContain("A hook changed s.ts in the commit; the file here stays as it is");
    expect(show(dir, "HEAD:s.ts")).toBe("Ann\ntwo\nthree\nfour\nfive\n");
    expect(world.read(dir, "s.ts")).toBe("ann\ntwo\nthree\nfour\nbob\n");
    // The branch moves while the hook runs, in another file.
    await world.write("b-ann", dir, "a.ts", "ann\n");
    const moves = "p=$(git rev-parse HEAD); t=$(git rev-parse HEAD^{tree})";
    const count = join(dir, "../hook-runs");
    hook(
      dir,
      "pre-commit",
      `echo run >> ${count}; unset GIT_INDEX_FILE; ${moves}; git update-ref refs/heads/main $(git commit-tree $t -p $p -m between)`,
    );
    expect((await world.kite(dir, ["commit", "-m", "a"], "b-ann")).code).toBe(0);
    expect(world.git(dir, "log", "--format=%s", "-3").split("\n")).toEqual(["a", "between", "ann", ""]);
    expect(world.read(dir, "../hook-runs")).toBe("run\n");
  });

  test("passes the guard and Kite's own commit hook, where git's commit of all would not", async () => {
    const dir = repository("guard");
    hook(dir, "pre-commit", `"${process.execPath}" "${kiteProgram}" commit-check || exit 1`);
    await world.write("q-ann", dir, "s.ts", "ann\ntwo\nthree\nfour\nfive\n");
    // Bob's turn goes on: it holds the file.
    await RescueWorld.prototype.write.call(world, "q-bob", dir, "s.ts", "ann\ntwo\nthree\nfour\nbob\n");
    const denied = await world.line("q-ann", dir, "git commit -qam all", () => expect.unreachable());
    expect(denied).toContain('"deny"');
    const line = 'kite commit -m "mine"';
    expect(await world.line("q-ann", dir, line, () => {})).not.toContain('"deny"');
    expect(await world.kite(dir, ["commit", "-m", "mine"], "q-ann")).toMatchObject({ code: 0 });
    expect(show(dir, "HEAD:s.ts")).toBe("ann\ntwo\nthree\nfour\nfive\n");
  });

  test("removes a lock that a killed command of Kite left, and no other", async () => {
    const dir = repository("left");
    await world.write("l-ann", dir, "s.ts", "ann\n");
    const lock = join(dir, ".git/index.lock");
    writeFileSync(lock, '{"kite":{"pid":2147483646,"startTime":"1"}}');
    expect((await world.kite(dir, ["commit", "-m", "after"], "l-ann")).code).toBe(0);
    expect(existsSync(lock)).toBe(false);
  });
});

test("without versions a file of several is one piece, which stays", async () => {
  const off = new RestoreWorld();
  mkdirSync(off.paths.home, { recursive: true, mode: 0o700 });
  writeFileSync(join(off.paths.home, "config.json"), '{"rescue": "off"}', { mode: 0o600 });
  await off.start();
  const dir = off.repo("off");
  await off.write("o-ann", dir, "a.ts", "a.ts\nann\n");
  await off.write("o-bob", dir, "a.ts", "a.ts\nann\nbob\n");
  await off.write("o-ann", dir, "b.ts", "b.ts\nann\n");
  const done = await off.kite(dir, ["commit", "-m", "mine"], "o-ann");
  expect(done).toMatchObject({
    code: 0,
    out: expect.stringContaining("Not committed in a.ts: it is one piece"),
  });
  expect(off.git(dir, "show", "HEAD:b.ts")).toBe("b.ts\nann\n");
  expect(off.git(dir, "show", "HEAD:a.ts")).toBe("a.ts\n");
  await off.dispose();
});

test("the trees of agents that have ended are removed, and no view has one", async () => {
  const dir = repository("trees");
  hook(dir, "pre-commit", "exit 0");
  await world.write("p-ann", dir, "a.ts", "ann\n");
  expect((await world.kite(dir, ["commit", "-m", "a"], "p-ann")).code).toBe(0);
  const trees = () =>
    readdirSync(world.paths.tries).filter(name => existsSync(join(world.paths.tries, name, ".git")));
  const before = trees();
  expect(before.length).toBeGreaterThan(0);
  const { out } = await world.kite(dir, ["status", "--json"]);
  expect(out).not.toContain("/tries/");
  await world.event("p-ann", dir, { hook_event_name: "SessionEnd", reason: "exit" });
  expect((await world.kite(dir, ["agents", "prune"])).code).toBe(0);
  expect(trees().length).toBeLessThan(before.length);
  expect(world.git(dir, "worktree", "list").trim().split("\n")).toHaveLength(1);
});

test("in random histories no commit has a line of another, and none of one's own is left out", async () => {
  const names = ["r-ann", "r-bob", "r-cat"];
  const base = ["base 0\n", "base 1\n", "base 2\n", "base 3\n", "base 4\n", "base 5\n"];
  let n = 0;
  const step = fc.record({
    by: fc.constantFrom(...names),
    at: fc.nat(12),
    removed: fc.nat({ max: 1 }),
    inserted: fc.nat({ max: 2 }),
    commits: fc.option(fc.constantFrom(...names), { nil: null, freq: 2 }),
  });
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 7, maxLength: 7 }), async steps => {
      runs += 1;
      const dir = repository(`random-${runs}`);
      world.put(dir, "r.ts", base.join(""));
      world.git(dir, "add", ".");
      world.git(dir, "commit", "-qm", "base");
      /** Who removed each line. */
      const removers = new Map<string, string>();
      let lines = base;
      for (const { by, at, removed, inserted, commits } of steps) {
        const fresh = Array.from({ length: inserted }, () => `${by} ${n++}\n`);
        const start = Math.min(at, lines.length);
        for (const line of lines.slice(start, start + removed)) removers.set(line, by);
        lines = [...lines.slice(0, start), ...fresh, ...lines.slice(start + removed)];
        await world.write(by, dir, "r.ts", lines.join(""));
        if (commits === null) continue;
        const head = world.git(dir, "rev-parse", "HEAD").trim();
        const done = await world.json(dir, ["commit", "-m", commits], commits);
        expect(world.read(dir, "r.ts")).toBe(lines.join(""));
        if (done["ok"] !== true || done["again"] === true) continue;
        const diff = world.git(dir, "diff", head, "HEAD", "--", "r.ts").split(/(?<=\n)/);
        const [added, taken] = ["+", "-"].map(sign =>
          diff
            .filter(line => line.startsWith(sign) && !/^(?:\+\+\+|---) /.test(line))
            .map(line => line.slice(1)),
        );
        expect(added?.filter(line => !line.startsWith(commits))).toEqual([]);
        expect(taken?.filter(line => removers.get(line) !== commits)).toEqual([]);
        // What is left of its lines is mixed with those of another.
        const left = (done["left"] as { why: string }[]).filter(({ why }) => why === "mixed");
        const committed = new Set(show(dir, "HEAD:r.ts").split(/(?<=\n)/));
        if (left.length === 0)
          expect(lines.filter(line => line.startsWith(commits) && !committed.has(line))).toEqual([]);
      }
    }),
    { numRuns: 3 },
  );
});

describe("kite commit that is killed", () => {
  const killsKite = "kill -9 $(ps -o ppid= -p $PPID)";
  const places: readonly (readonly [string, (dir: string) => void, boolean])[] = [
    ["in a hook before it", dir => hook(dir, "pre-commit", "kill -9 $PPID; exit 1"), false],
    [
      "while it signs",
      dir => {
        writeFileSync(join(dir, "../sign"), `#!/bin/sh\n${killsKite}\nexit 1\n`, { mode: 0o755 });
        world.git(dir, "config", "gpg.program", join(dir, "../sign"));
        world.git(dir, "config", "commit.gpgSign", "true");
      },
      false,
    ],
    [
      "between index and branch",
      dir => hook(dir, "reference-transaction", `[ "$1" != prepared ] || { ${killsKite}; exit 1; }`),
      false,
    ],
    [
      "before the branch's lock is gone",
      dir => hook(dir, "reference-transaction", `[ "$1" != committed ] || ${killsKite}`),
      true,
    ],
    ["in a hook after it", dir => hook(dir, "post-commit", "kill -9 $PPID"), true],
  ];

  test.each(places)(
    "%s reverts nothing, and sent again it ends as one commit",
    async (name, plant, isDone) => {
      const dir = repository(`killed-${name.replaceAll(/\W/g, "-")}`);
      const [who, other] = [`k1-${name.length}`, `k2-${name.length}`];
      await world.write(other, dir, "s.ts", "one\ntwo\nthree\nfour\nbob\n");
      world.git(dir, "add", "s.ts");
      await world.write(who, dir, "s.ts", "ann\ntwo\nthree\nfour\nbob\n");
      const before = world.git(dir, "rev-parse", "HEAD").trim();
      plant(dir);
      const [code, signal] = await ran(world.startKite(dir, ["commit", "-m", "killed"], who));
      expect([code, signal]).toEqual([null, "SIGKILL"]);
      // The next command removes the lock, whatever it does.
      expect((await world.kite(dir, ["status"])).code).toBe(0);
      expect(readdirSync(join(dir, ".git")).filter(file => file.startsWith("index.lock"))).toEqual([]);
      rmSync(join(dir, ".git/hooks"), { recursive: true, force: true });
      world.git(dir, "config", "commit.gpgSign", "false");
      expect(world.git(dir, "rev-parse", "HEAD").trim() !== before).toBe(isDone);
      expect(world.read(dir, "s.ts")).toBe("ann\ntwo\nthree\nfour\nbob\n");
      // Neither the commit nor the index takes a line of the commit back.
      expect(show(dir, ":s.ts")).toContain(isDone ? "ann\n" : "two\n");
      expect(await world.json(dir, ["commit", "-m", "killed"], who)).toMatchObject({ ok: true });
      expect(world.git(dir, "rev-list", "--count", `${before}..HEAD`).trim()).toBe("1");
      expect(show(dir, "HEAD:s.ts")).toBe("ann\ntwo\nthree\nfour\nfive\n");
      expect(show(dir, ":s.ts")).toBe("ann\ntwo\nthree\nfour\nbob\n");
      expect(readdirSync(join(dir, ".git")).filter(file => /lock|kite/.test(file))).toEqual([]);
      const { writes } = (await world.json(dir, ["whose", "."])) as {
        writes: { writers: { id: string }[] }[];
      };
      expect(writes.map(({ writers }) => writers.map(({ id }) => id))).toEqual([[other]]);
    },
  );
});
