/** kite rescue, as people and agents use it: what was wiped, its way back, and the removal of what is kept. */
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  watch,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Mcp } from "./mcp-client.ts";
import { RestoreWorld } from "./restore-world.ts";

const world = new RestoreWorld();
beforeAll(() => world.start());
afterAll(() => world.dispose());

/** A repository in which an agent wrote a file, and another agent's script wiped it. */
async function wiped(name: string, session: string): Promise<{ dir: string; id: string }> {
  const dir = world.repo(name);
  await world.write(session, dir, "a.ts", "a.ts\none\ntwo\n");
  await world.write(session, dir, "src/new.ts", "new\n");
  const id = await world.wipe(dir, () => {
    world.git(dir, "checkout", "-q", "a.ts");
    rmSync(join(dir, "src/new.ts"));
  });
  await world.agent(session, dir);
  return { dir, id };
}

describe("kite rescue", () => {
  test("lists what was wiped in the project, by which command of whom, whose lines, how many", async () => {
    const { dir, id } = await wiped("list", "r-ann");
    const other = world.repo("list-other");
    const { out, code } = await world.kite(dir, ["rescue"]);
    expect(code).toBe(0);
    const [head, first, second, line] = out.split("\n");
    expect(head).toMatch(new RegExp(`^${id}  python3 by r-bob, \\d\\S* ago: 2 files, 3 lines of r-ann$`));
    expect(first).toMatch(/^ {2}v-\d+ +a\.ts +2 lines +r-ann$/);
    expect(second).toMatch(/^ {2}v-\d+ +src\/new\.ts +1 line +r-ann$/);
    expect(line).toBe(`  bring it back: kite rescue restore ${id}`);
    expect((await world.kite(other, ["rescue"])).out).toMatch(/^Kite saw nothing wiped here lately\.\n/);
    expect((await world.kite(other, ["rescue", "--all"])).out).toContain(id);
    expect(await world.json(dir, ["rescue"], "r-ann")).toMatchObject({
      ...{ ok: true, wipes: [{ wipe: id, command: "python3" }], state: { on: true } },
    });
    await world.agent("r-alien", other);
    expect(await world.json(dir, ["rescue"], "r-alien")).toMatchObject({ wipes: [] });
  });
});

describe("kite rescue restore", () => {
  test("brings all of it back, with folders and modes, and once more finds nothing to do", async () => {
    const dir = world.repo("back");
    await world.write("r-back", dir, "src/deep/er/run.sh", "run\n");
    chmodSync(join(dir, "src/deep/er/run.sh"), 0o755);
    await world.write("r-back", dir, "src/deep/er/run.sh", "run it\n");
    await world.write("r-back", dir, "a.ts", "a.ts\nmine\n");
    const id = await world.wipe(dir, () => {
      rmSync(join(dir, "src"), { recursive: true });
      world.git(dir, "checkout", "-q", "a.ts");
    });
    const { out, code } = await world.kite(dir, ["rescue", "restore", id]);
    expect([code, world.read(dir, "a.ts"), world.read(dir, "src/deep/er/run.sh")]).toEqual([
      ...[0, "a.ts\nmine\n", "run it\n"],
    ]);
    expect(out).toMatch(/^v-\d+ is back in a\.ts; what it had is v-\d+: kite undo a\.ts --to v-\d+\n/);
    expect(statSync(join(dir, "src/deep/er/run.sh")).mode & 0o777).toBe(0o755);
    const again = await world.kite(dir, ["rescue", "restore", id]);
    expect([again.code, again.out]).toEqual([
      0,
      expect.stringMatching(/^all of v-\d+ is in a\.ts already\n/),
    ]);
    expect(readdirSync(dir).sort()).toEqual([".git", "a.ts", "b.ts", "src"]);
  });

  test("of one file leaves the others", async () => {
    const { dir, id } = await wiped("one-file", "r-one");
    expect((await world.kite(dir, ["rescue", "restore", id, "src/new.ts"], "r-one")).code).toBe(0);
    expect([world.read(dir, "a.ts"), world.read(dir, "src/new.ts")]).toEqual(["a.ts\n", "new\n"]);
    const none = await world.kite(dir, ["rescue", "restore", id, "b.ts"]);
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining("wiped no file b.ts") });
    const [latest] = await world.versions({ file: join(dir, "src/new.ts") });
    expect(latest).toMatchObject({ by: { id: "r-one" }, kind: "write" });
  });

  test("merges into a file that went on, and never overwrites newer work", async () => {
    const { dir, id } = await wiped("merged", "r-mer");
    world.put(dir, "a.ts", "// newer\na.ts\n");
    const merged = await world.json(dir, ["rescue", "restore", id, "a.ts"]);
    expect(merged).toMatchObject({ ok: true, files: [{ file: "a.ts", is: "merged" }] });
    expect(world.read(dir, "a.ts")).toBe("// newer\na.ts\none\ntwo\n");
    const [{ before }] = merged["files"] as [{ before: string }];
    expect((await world.kite(dir, ["undo", "a.ts", "--to", before, "--yes"])).code).toBe(0);
    expect(world.read(dir, "a.ts")).toBe("// newer\na.ts\n");
  });

  test("says what is in conflict and leaves the file alone, unless asked", async () => {
    const { dir, id } = await wiped("conflict", "r-con");
    world.put(dir, "a.ts", "a.ts\nother\n");
    const said = await world.kite(dir, ["rescue", "restore", id, "a.ts"]);
    expect(said.code).toBe(1);
    expect(said.out).toMatch(
      /^! a\.ts stays as it is: the file went on since and 1 place would be in conflict; --conflicts /,
    );
    expect(world.read(dir, "a.ts")).toBe("a.ts\nother\n");
    expect((await world.kite(dir, ["rescue", "restore", id, "a.ts", "--conflicts"])).out).toContain(
      "with marks at 1 conflict",
    );
    expect(world.read(dir, "a.ts")).toContain("=======\none\ntwo\n>>>>>>> v-");
    expect((await world.kite(dir, ["rescue", "restore", id, "a.ts", "--whole"])).code).toBe(0);
    expect(world.read(dir, "a.ts")).toBe("a.ts\none\ntwo\n");
    expect((await world.kite(dir, ["rescue", "restore", id, "--whole", "--patch"])).err).toContain(
      "give one of",
    );
  });

  test("takes what a script left of a file for no newer work", async () => {
    const dir = world.repo("script");
    const text = Array.from({ length: 40 }, (_, i) => `line ${i}\n`).join("");
    await world.write("r-scr", dir, "a.ts", text);
    const id = await world.wipe(dir, () => world.put(dir, "a.ts", "line 3\nrest\n"));
    const done = await world.json(dir, ["rescue", "restore", id]);
    expect(done).toMatchObject({ files: [{ is: "restored", why: null }] });
    expect(world.read(dir, "a.ts")).toBe(text);
  });

  test("of a version brings its lines back, and takes none away", async () => {
    const dir = world.repo("version");
    await world.write("r-ver", dir, "a.ts", "a.ts\none\n");
    const [{ version = "" } = {}] = await world.versions({ file: join(dir, "a.ts") });
    await world.write("r-ver", dir, "a.ts", "zero\na.ts\n");
    expect((await world.kite(dir, ["rescue", "restore", version], "r-ver")).code).toBe(0);
    expect(world.read(dir, "a.ts")).toBe("zero\na.ts\none\n");
    expect((await world.kite(dir, ["rescue", "restore", "v-99999"])).err).toContain(
      "keeps no version v-99999",
    );
  });

  test("is held back by a gate", async () => {
    const { dir, id } = await wiped("gated", "r-gate");
    world.put(dir, ".kite/config.json", JSON.stringify({ gates: { identity: "enforce" } }));
    // Settings are read anew after a while.
    await world.stop();
    await world.start();
    await world.event("r-gate", dir, { hook_event_name: "SessionStart", source: "startup" });
    const held = await world.kite(dir, ["rescue", "restore", id, "a.ts"], "r-gate");
    expect(held).toMatchObject({
      code: 1,
      out: expect.stringMatching(/a gate of this project \(identity\)/),
    });
    expect(world.read(dir, "a.ts")).toBe("a.ts\n");
    // A person needs no gate's word.
    expect((await world.kite(dir, ["rescue", "restore", id, "a.ts"])).code).toBe(0);
  });

  test("into a directory, or as a patch, touches no file of the project", async () => {
    const { dir, id } = await wiped("into", "r-into");
    const into = join(world.folder, "lost");
    expect((await world.kite(dir, ["rescue", "restore", id, "--into", into])).code).toBe(0);
    expect([
      readFileSync(join(into, "a.ts"), "utf8"),
      readFileSync(join(into, "src/new.ts"), "utf8"),
    ]).toEqual([...["a.ts\none\ntwo\n", "new\n"]]);
    writeFileSync(join(into, "a.ts"), "other\n");
    const over = await world.kite(dir, ["rescue", "restore", id, "a.ts", "--into", into]);
    expect(over).toMatchObject({ code: 1, out: expect.stringContaining("is there already") });
    expect(readFileSync(join(into, "a.ts"), "utf8")).toBe("other\n");
    const { out } = await world.kite(dir, ["rescue", "restore", id, "--patch"]);
    expect(world.read(dir, "a.ts")).toBe("a.ts\n");
    writeFileSync(join(world.folder, "lost.patch"), out);
    world.git(dir, "apply", "../lost.patch");
    expect([world.read(dir, "a.ts"), world.read(dir, "src/new.ts")]).toEqual(["a.ts\none\ntwo\n", "new\n"]);
  });

  test("of an agent ends at its worktrees and its project", async () => {
    const { dir, id } = await wiped("reach", "r-reach");
    const into = join(world.folder, "outside");
    const beyond = await world.kite(dir, ["rescue", "restore", id, "a.ts", "--into", into], "r-reach");
    expect(beyond).toMatchObject({ code: 1, out: expect.stringContaining("outside of your project") });
    expect(existsSync(into)).toBe(false);
    const inside = ["rescue", "restore", id, "a.ts", "--into", "kept"];
    expect((await world.kite(dir, inside, "r-reach")).code).toBe(0);
    expect(world.read(dir, "kept/a.ts")).toBe("a.ts\none\ntwo\n");
    await world.agent("r-foreign", world.repo("reach-other"));
    const foreign = await world.kite(dir, ["rescue", "restore", id], "r-foreign");
    expect(foreign).toMatchObject({ code: 1, err: expect.stringContaining(`knows no wipe ${id}`) });
    expect(world.read(dir, "a.ts")).toBe("a.ts\n");
  });

  test("is held back by a freeze, and by the lock of another agent", async () => {
    const { dir, id } = await wiped("frozen", "r-ice");
    const person = await world.person();
    const file = join(dir, "a.ts");
    await person.ask({
      type: "broadcast",
      project: dir,
      message: "wait",
      hold: { files: [file], ttlMs: 60_000 },
    });
    const words = ["rescue", "restore", id, "a.ts", "--wait", "0"];
    const frozen = await world.kite(dir, words, "r-ice");
    expect(frozen).toMatchObject({ code: 1, out: expect.stringContaining("! a.ts stays as it is: ") });
    await person.ask({ type: "resume", project: dir });
    const holder = await world.agent("r-holder", dir);
    expect(await holder.ask({ type: "file_lock", id: "r-holder", file })).toMatchObject({ ok: true });
    const held = await world.kite(dir, words, "r-ice");
    expect(held).toMatchObject({ code: 1, out: expect.stringContaining("r-holder has") });
    expect(world.read(dir, "a.ts")).toBe("a.ts\n");
    await holder.ask({ type: "file_unlock", id: "r-holder", file });
    expect((await world.kite(dir, words, "r-ice")).code).toBe(0);
  });

  test("merges into a file that was made anew from the commit", async () => {
    const dir = world.repo("anew");
    const text = (second: string, end = "") => `one\n${second}\nthree\nfour\nfive\n${end}`;
    world.put(dir, "long.ts", text("two"));
    world.git(dir, "add", "long.ts");
    world.git(dir, "commit", "-qm", "long");
    await world.write("r-anew", dir, "long.ts", text("2"));
    const id = await world.wipe(dir, () => rmSync(join(dir, "long.ts")));
    // What the wipe left is nothing: the commit is what both sides come from.
    await world.write("r-anew", dir, "long.ts", text("two", "six\n"));
    const said = await world.kite(dir, ["rescue", "restore", id]);
    expect(said).toMatchObject({ code: 0, out: expect.stringContaining("is merged into what long.ts had") });
    expect(world.read(dir, "long.ts")).toBe(text("2", "six\n"));
  });

  test("follows no link, and replaces nothing that is no file", async () => {
    const { dir, id } = await wiped("links", "r-link");
    const victim = join(world.folder, "victim");
    writeFileSync(victim, "untouched\n");
    rmSync(join(dir, "a.ts"));
    symlinkSync(victim, join(dir, "a.ts"));
    const away = join(world.folder, "away");
    mkdirSync(away);
    rmSync(join(dir, "src"), { recursive: true });
    symlinkSync(away, join(dir, "src"));
    const said = await world.kite(dir, ["rescue", "restore", id]);
    expect(said.code).toBe(1);
    expect(said.out).toContain("! a.ts stays as it is: it is a link now; move that away, or use --into DIR");
    expect(said.out).toContain("! src/new.ts stays as it is: ");
    expect(readFileSync(victim, "utf8")).toBe("untouched\n");
    expect(readdirSync(away)).toEqual([]);
  });

  test("says that a content is gone, or that the whole store is", async () => {
    const { dir, id } = await wiped("gone", "r-gone");
    const [row] = await world.versions({ file: join(dir, "src/new.ts") });
    unlinkSync(row?.object ?? "");
    const said = await world.kite(dir, ["rescue", "restore", id]);
    expect(said.out).toContain("! src/new.ts stays as it is: the content of ");
    expect(world.read(dir, "a.ts")).toBe("a.ts\none\ntwo\n");
    world.git(dir, "checkout", "-q", "a.ts");
    rmSync(world.paths.rescue, { recursive: true });
    expect(await world.kite(dir, ["rescue", "restore", id])).toMatchObject({ code: 1 });
    expect(world.read(dir, "a.ts")).toBe("a.ts\n");
    await world.write("r-gone", dir, "a.ts", "kept again\n");
    expect(await world.texts({ file: join(dir, "a.ts"), limit: 1 })).toEqual(["kept again\n"]);
  });

  test("that is killed leaves whole files alone, and no lock that nobody gives back", async () => {
    const dir = world.repo("killed");
    const names = Array.from({ length: 60 }, (_, i) => `f${i}.txt`);
    const text = "x".repeat(200_000);
    for (const name of names) await world.write("r-kill", dir, name, `${name}${text}`);
    const id = await world.wipe(dir, () => {
      for (const name of names) rmSync(join(dir, name));
    });
    await world.agent("r-kill", dir);
    const seen = new Promise<void>(resolve => {
      const watcher = watch(dir, (_, name) => {
        if (name === "f5.txt") {
          watcher.close();
          resolve();
        }
      });
    });
    const child = world.startKite(dir, ["rescue", "restore", id], "r-kill");
    const closed = once(child, "close");
    await Promise.race([seen, closed]);
    child.kill("SIGKILL");
    await closed;
    const there = names.filter(name => existsSync(join(dir, name)));
    expect(there.length).toBeGreaterThan(4);
    expect(there.length).toBeLessThan(names.length);
    for (const name of there) expect(world.read(dir, name)).toBe(`${name}${text}`);
    await world.event("r-kill", dir, { hook_event_name: "Stop" });
    const other = await world.agent("r-next", dir);
    const files = names.map(name => join(dir, name));
    const asked = { type: "file_lock", id: "r-next", files, waitMs: 20_000 };
    expect(await other.ask(asked)).toMatchObject({ ok: true });
    await other.ask({ type: "file_unlock", id: "r-next", files });
    expect((await world.kite(dir, ["rescue", "restore", id])).code).toBe(0);
    expect(names.every(name => existsSync(join(dir, name)))).toBe(true);
  });
});

describe("kite rescue purge", () => {
  test("removes what is kept of a file for good, and is a person's", async () => {
    const dir = world.repo("purge");
    await world.write("r-pur", dir, "a.ts", "purged marker\n");
    await world.write("r-pur", dir, "b.ts", "stays\n");
    await world.write("r-pur", dir, "lost.ts", "lost\n");
    await world.wipe(dir, () => rmSync(join(dir, "lost.ts")));
    const refused = await world.kite(dir, ["rescue", "purge", "a.ts"], "r-pur");
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining("only a person removes kept versions"),
    });
    const { out } = await world.kite(dir, ["rescue", "purge", "a.ts"]);
    expect(out).toMatch(/^Removed for good: 1 version, 1 content, \d+ B\.\n$/);
    expect(world.stored()).not.toContain("purged marker");
    // Neither its hash nor its name is left.
    expect(world.stored()).not.toContain(join(dir, "a.ts"));
    expect(await world.json(dir, ["history", "a.ts"])).toMatchObject({ versions: [] });
    expect((await world.json(dir, ["history", "b.ts"]))["versions"]).toHaveLength(1);
    expect((await world.kite(dir, ["rescue", "purge"])).err).toContain("say what to remove");
    expect((await world.kite(dir, ["rescue", "purge", "--before", "tea"])).err).toContain("--before takes");
    // The same content under another name stays, and is named.
    await world.write("r-pur", dir, "c d.ts", "stays\n");
    const shared = (await world.kite(dir, ["rescue", "purge", "b.ts"])).out;
    expect(shared).toContain("! The same content is kept of c d.ts: kite rescue purge 'c d.ts'\n");
    expect(world.stored()).toContain("stays\n");
    expect((await world.kite(dir, ["rescue"])).out).toContain("bring it back: kite rescue restore ");
    expect(await world.json(dir, ["rescue", "purge", "--before", "2099-01-01"])).toMatchObject({ ok: true });
    expect(await world.versions()).toEqual([]);
    // Of what nothing is kept there is no line that would bring it back.
    const { out: listed } = await world.kite(dir, ["rescue"]);
    expect(listed).toContain("nothing of it is kept any more");
    expect(listed).not.toContain("bring it back");
  });
});

describe("kite_rescue", () => {
  test("lists what was wiped, and brings it back as an edit of the agent", async () => {
    const { dir, id } = await wiped("mcp", "r-mcp");
    const home = { environment: world.env(), work: dir };
    const mcp = await Mcp.start(home as never, { cwd: dir, env: { KITE_SESSION: "r-mcp" } });
    const listed = await mcp.call("kite_rescue", {});
    expect(listed.text).toContain(`- ${id}: "python3" by "r-bob", `);
    expect(listed.text).toContain('"src/new.ts", 1 lines of "r-mcp"');
    const back = await mcp.call("kite_rescue", { restore: id });
    expect(back.text).toMatch(/"a\.ts" has v-\d+ again; what it had is v-\d+\. Read it before you edit it\./);
    expect(world.read(dir, "a.ts")).toBe("a.ts\none\ntwo\n");
    expect((await mcp.call("kite_rescue", { restore: "r-999" })).text).toContain("Refused (unknown_version)");
    await mcp.client.close();
  });
});
