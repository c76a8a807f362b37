/** What agents write is kept: by edit tools, and by shell lines in files with uncommitted work. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { RescueWorld } from "./rescue-world.ts";

const world = new RescueWorld();
beforeAll(() => world.start());
afterAll(() => world.dispose());

describe("a version", () => {
  test("of each write knows file, worktree, actor, tool, time, commit, size and lines", async () => {
    const dir = world.repo("first");
    const head = world.git(dir, "rev-parse", "HEAD").trim();
    const before = Date.now();
    await world.write("s-first", dir, "a.ts", "a.ts\none\ntwo\n");
    await world.write("s-first", dir, "a.ts", "a.ts\none\n2\n3\n");
    await world.write("s-first", dir, "new.ts", "new\n");
    const versions = await world.versions({ project: dir });
    expect(versions).toMatchObject([
      { file: "new.ts", added: 1, taken: 0, bytes: 4, kind: "write" },
      { file: "a.ts", added: 2, taken: 1, bytes: 13 },
      // Against what is committed.
      { file: "a.ts", added: 2, taken: 0, bytes: 13 },
    ]);
    const [latest] = versions;
    expect(latest).toMatchObject({ path: join(dir, "new.ts"), worktree: dir, project: dir, tool: "Write" });
    expect(latest).toMatchObject({
      by: { id: "s-first", agent: null },
      base: head,
      mode: 0o644,
      asSent: false,
    });
    expect(latest?.at).toBeGreaterThanOrEqual(before);
    expect(await world.texts({ file: join(dir, "a.ts") })).toEqual(["a.ts\none\n2\n3\n", "a.ts\none\ntwo\n"]);
  });

  test("is made of a shell line's change to a file with uncommitted work, with the line's first word alone", async () => {
    const dir = world.repo("shell");
    await world.write("s-shell", dir, "a.ts", "one\n");
    await world.line("s-shell", dir, "python3 tool.py --token=hunter2hunter2", () =>
      world.put(dir, "a.ts", "two\n"),
    );
    await world.line("s-shell", dir, "TOKEN=hunter2hunter2 make", () => world.put(dir, "a.ts", "three\n"));
    const versions = await world.versions({ project: dir });
    expect(versions.map(({ tool }) => tool)).toEqual([null, "python3", "Write"]);
    expect(await world.texts({ project: dir })).toEqual(["three\n", "two\n", "one\n"]);
    expect(world.stored()).not.toContain("hunter2");
  });

  test("has the bytes of the file, whatever the tool sent", async () => {
    const dir = world.repo("formatted");
    const path = join(dir, "a.ts");
    const call = world.call("Write", { file_path: path, content: "a=1" }, { filePath: path, content: "a=1" });
    await world.event("s-format", dir, { hook_event_name: "PreToolUse", ...call });
    writeFileSync(path, "a = 1;\r\n");
    await world.event("s-format", dir, { hook_event_name: "PostToolUse", ...call });
    expect(await world.texts({ project: dir })).toEqual(["a = 1;\r\n"]);
    expect(await world.versions({ project: dir })).toMatchObject([{ asSent: false }]);
  });

  test("is the text that the tool sent where another write came before the read", async () => {
    const dir = world.repo("as-sent");
    const path = join(dir, "a.ts");
    const writes = ["one\n", "two\n", "three\n"].map(content =>
      world.call("Write", { file_path: path, content }, { filePath: path, content }),
    );
    for (const call of writes) await world.event("s-sent", dir, { hook_event_name: "PreToolUse", ...call });
    world.put(dir, "a.ts", "three\n");
    // The ends of all three come at once, when the file has the last content.
    await Promise.all(
      writes.map(call => world.event("s-sent", dir, { hook_event_name: "PostToolUse", ...call })),
    );
    await world.settled();
    const versions = await world.versions({ project: dir });
    const texts = await world.texts({ project: dir });
    // What the file had before them may have been kept, too.
    expect(texts.slice(0, 3)).toEqual(["three\n", "two\n", "one\n"]);
    // What was read from the file is not marked; what a tool sent is.
    for (const [i, text] of texts.entries())
      expect(versions[i]?.asSent).toBe(text === "one\n" || text === "two\n");
  });

  test("is none of a write that was denied, failed or changed nothing", async () => {
    const dir = world.repo("failed");
    const path = join(dir, "a.ts");
    const call = world.call("Edit", { file_path: path, old_string: "x", new_string: "y" });
    await world.event("s-fail", dir, { hook_event_name: "PreToolUse", ...call });
    await world.event("s-fail", dir, { hook_event_name: "PostToolUseFailure", error: "no match", ...call });
    await world.event("s-fail", dir, { hook_event_name: "PermissionDenied", ...call });
    expect(await world.versions({ project: dir })).toEqual([]);
    await world.write("s-fail", dir, "a.ts", "one\n");
    await world.write("s-fail", dir, "a.ts", "one\n");
    expect(await world.texts({ project: dir })).toEqual(["one\n"]);
  });

  test("outlives the daemon", async () => {
    const dir = world.repo("restart");
    await world.write("s-restart", dir, "a.ts", "one\n");
    const before = await world.versions({ project: dir });
    await world.stop();
    await world.start();
    expect(before.length).toBe(1);
    expect(await world.versions({ project: dir })).toEqual(before);
  });

  test("is shown to an agent of its own project alone, and without a session to a person alone", async () => {
    const [own, other] = [world.repo("own"), world.repo("other")];
    await world.write("s-own", own, "a.ts", "own\n");
    await world.write("s-other", other, "a.ts", "other\n");
    const seen = await world.rows<{ readonly path: string }>("versions", { reader: "s-own" });
    expect(seen.map(({ path }) => path)).toEqual([join(own, "a.ts")]);
    expect(await world.rows("versions", { reader: "s-own", file: join(other, "a.ts") })).toEqual([]);
    const client = await world.client();
    expect(await client.ask({ type: "query", target: "versions" })).toMatchObject({ code: "person_only" });
    expect(await client.ask({ type: "query", target: "wipes" })).toMatchObject({ code: "person_only" });
    const nobody = { type: "query", target: "versions", reader: "nobody" };
    expect(await client.ask(nobody)).toMatchObject({ code: "unknown_session" });
    expect(await client.ask({ type: "rescue_purge", file: own })).toMatchObject({ code: "person_only" });
  });

  test("is purged for good by a person", async () => {
    const dir = world.repo("purged");
    await world.write("s-purge", dir, "a.ts", "marker-purged-a\n");
    await world.write("s-purge", dir, "b.ts", "marker-purged-b\n");
    await world.versions();
    expect(world.stored()).toContain("marker-purged-a");
    const person = await world.person();
    expect(await person.ask({ type: "rescue_purge", file: join(dir, "a.ts") })).toMatchObject({
      versions: 1,
    });
    expect(world.stored()).not.toContain("marker-purged-a");
    expect(await world.texts({ file: dir })).toEqual(["marker-purged-b\n"]);
  });
});

describe("never kept", () => {
  const secrets: readonly (readonly [string, string])[] = [
    ["ignored.log", "marker-ignored"],
    [".env", "marker-env"],
    ["deploy/server.pem", "marker-pem"],
    ["client_secret.json", "marker-secret"],
    [".aws/config", "marker-aws"],
    ["src/key.ts", "-----BEGIN RSA PRIVATE KEY-----\nmarker-key\n"],
    ["src/token.ts", `const token = "ghp_${"m4".repeat(18)}"; // marker-token`],
    ["private/notes.md", "marker-never"],
  ];

  test("is a file that is ignored or secret by name or content: the store has no byte of it, and says why", async () => {
    const dir = world.repo("secrets");
    // The setting is read at a start.
    await world.stop();
    writeFileSync(world.paths.config, JSON.stringify({ rescueNever: ["private/"] }));
    await world.start();
    world.put(dir, ".gitignore", "*.log\n");
    world.git(dir, "add", ".gitignore");
    for (const [file, text] of secrets) await world.write("s-secret", dir, file, text);
    // A tracked one is no better.
    world.put(dir, "tracked.tfvars", "x");
    world.git(dir, "add", "tracked.tfvars");
    await world.write("s-secret", dir, "tracked.tfvars", "marker-tracked");
    await world.write("s-secret", dir, "plain.ts", "marker-plain");
    expect(await world.texts({ project: dir })).toEqual(["marker-plain"]);
    const stored = world.stored();
    expect(stored.match(/marker-[a-z]+/g)?.filter(word => !word.startsWith("marker-purged"))).toEqual([
      "marker-plain",
    ]);
    expect(stored).not.toContain("m4m4");
    const unkept = await world.unkept({ project: dir });
    expect(unkept.map(({ file, why }) => [file, why])).toEqual([
      ["tracked.tfvars", "files of this name hold secrets"],
      ["private/notes.md", "your setting rescueNever names it"],
      ["src/token.ts", "it holds a token of GitHub"],
      ["src/key.ts", "it holds a private key"],
      [".aws/config", "it lies below .aws, where secrets are"],
      ["client_secret.json", "files of this name hold secrets"],
      ["deploy/server.pem", "files of this name hold secrets"],
      [".env", "files of this name hold secrets"],
      ["ignored.log", "git ignores it"],
    ]);
  });

  test("is a secret that an edit adds to a kept file, and one that git ignores from now on", async () => {
    const dir = world.repo("becomes");
    await world.write("s-becomes", dir, "a.ts", `${"line\n".repeat(9_000)}end\n`);
    await world.write("s-becomes", dir, "a.ts", `${"line\n".repeat(5_000)}AKIA${"Z".repeat(16)}\nend\n`);
    await world.write("s-becomes", dir, "out/b.ts", "marker-before\n");
    world.put(dir, "out/.gitignore", "*\n");
    await world.write("s-becomes", dir, "out/b.ts", "marker-after\n");
    expect(await world.texts({ project: dir })).toEqual([
      "marker-before\n",
      `${"line\n".repeat(9_000)}end\n`,
    ]);
    expect(world.stored()).not.toContain("AKIAZZ");
    expect(world.stored()).not.toContain("marker-after");
  });

  test("is anything outside of a project, in a home directory, or by a shell line without git", async () => {
    const home = process.env["HOME"];
    const plain = join(world.folder, "plain");
    const asHome = world.repo("as-home");
    mkdirSync(plain);
    try {
      process.env["HOME"] = asHome;
      await world.stop();
      await world.start();
      await world.write("s-home", asHome, "a.ts", "marker-home\n");
      // Without git: by an edit tool below the session's directory.
      await world.write("s-plain", plain, "kept.txt", "marker-edit\n");
      await world.line("s-plain", plain, "make", () => world.put(plain, "kept.txt", "marker-line\n"));
      await world.write("s-plain", plain, "../outside.txt", "marker-outside\n");
      expect(await world.texts({ project: plain })).toEqual(["marker-edit\n"]);
    } finally {
      process.env["HOME"] = home;
      await world.stop();
      await world.start();
    }
    for (const marker of ["marker-home", "marker-line", "marker-outside"])
      expect(world.stored()).not.toContain(marker);
  });

  test("is anything where the project switches it off; a project cannot switch it on", async () => {
    const dir = world.repo("off");
    world.put(dir, ".kite/config.json", JSON.stringify({ rescue: "off" }));
    await world.write("s-off", dir, "a.ts", "marker-off\n");
    expect(await world.versions({ project: dir })).toEqual([]);
    // Switched off later, nothing of it is looked at any more.
    const late = world.repo("off-later");
    await world.write("s-late", late, "a.ts", "a.ts\nkept\n");
    world.put(late, ".kite/config.json", JSON.stringify({ rescue: "off" }));
    await world.stop();
    world.git(late, "checkout", "-q", "a.ts");
    await world.start();
    await world.settled();
    expect(await world.rows("wipes", { project: late })).toEqual([]);
    await world.stop();
    writeFileSync(world.paths.config, JSON.stringify({ rescue: "off" }));
    const store = `${world.paths.rescue}.aside`;
    renameSync(world.paths.rescue, store);
    try {
      await world.start();
      const other = world.repo("on");
      world.put(other, ".kite/config.json", JSON.stringify({ rescue: "on" }));
      await world.write("s-on", other, "a.ts", "marker-on\n");
      expect(await world.versions()).toEqual([]);
      // None of its code ran: there is not even a folder.
      expect(() => readFileSync(join(world.paths.rescue, "index"))).toThrow("ENOENT");
      const person = await world.person();
      expect(await person.ask({ type: "rescue_state" })).toMatchObject({ ok: true, on: false, versions: 0 });
      expect(await person.ask({ type: "rescue_purge", file: other })).toMatchObject({
        code: "not_available",
      });
    } finally {
      await world.stop();
      rmSync(world.paths.config);
      renameSync(store, world.paths.rescue);
      await world.start();
    }
  });
});

describe("what stands at a path", () => {
  test("may be a link, a FIFO, a folder, a long file, or nothing by then", async () => {
    const dir = world.repo("odd");
    const secret = join(world.folder, "elsewhere.txt");
    writeFileSync(secret, "marker-elsewhere\n");
    const made: Readonly<Record<string, (path: string) => void>> = {
      "link.ts": path => symlinkSync(secret, path),
      "fifo.ts": path => void execFileSync("mkfifo", [path]),
      "folder.ts": path => void mkdirSync(path),
      "gone.ts": () => {},
      "long.ts": path => {
        writeFileSync(path, "marker-long");
        // A hole takes no room.
        truncateSync(path, 2 * 1024 ** 3);
      },
      "locked.ts": path => {
        writeFileSync(path, "marker-locked\n");
        chmodSync(path, 0);
      },
    };
    for (const [file, make] of Object.entries(made)) {
      const call = world.call("NotebookEdit", { notebook_path: join(dir, file) });
      await world.event("s-odd", dir, { hook_event_name: "PreToolUse", ...call });
      make(join(dir, file));
      await world.event("s-odd", dir, { hook_event_name: "PostToolUse", ...call });
    }
    await world.write("s-odd", dir, "after.ts", "after\n");
    const files = (await world.versions({ project: dir })).map(({ file }) => file);
    // Root reads a file without permissions.
    expect(files.filter(file => file !== "locked.ts")).toEqual(["after.ts"]);
    expect(world.stored()).not.toContain("marker-elsewhere");
    expect(world.stored()).not.toContain("marker-long");
    const why = Object.fromEntries((await world.unkept({ project: dir })).map(row => [row.file, row.why]));
    expect(why["long.ts"]).toBe(`it is longer than ${limits.rescueFileBytes / 1024 ** 2} MiB`);
    expect(why["fifo.ts"]).toBe("it is no regular file");
  });

  test("may lie below a folder that became a link since the write", async () => {
    const dir = world.repo("moved");
    const outside = join(world.folder, "moved-away");
    mkdirSync(outside);
    writeFileSync(join(outside, "c.ts"), "marker-moved\n");
    const path = join(dir, "src", "c.ts");
    const call = world.call("NotebookEdit", { notebook_path: path });
    await world.event("s-moved", dir, { hook_event_name: "PreToolUse", ...call });
    renameSync(join(dir, "src"), join(dir, "src-before"));
    symlinkSync(outside, join(dir, "src"));
    await world.event("s-moved", dir, { hook_event_name: "PostToolUse", ...call });
    await world.versions();
    expect(world.stored()).not.toContain("marker-moved");
  });

  const names = [
    "-rf",
    "a b\n.ts",
    "$(touch x)",
    "-----",
    "ünï.ts",
    '"quoted".ts',
    ":(glob)x.ts",
    "\u202e.ts",
    " ",
  ];
  test.each(names)("may have the name %j", async name => {
    const dir = world.repo(`named-${names.indexOf(name)}`);
    await world.write("s-named", dir, name, "text\n");
    expect(await world.versions({ project: dir })).toMatchObject([{ file: name, path: join(dir, name) }]);
    expect(await world.texts({ file: join(dir, name) })).toEqual(["text\n"]);
  });
});
