/** The real OpenCode beside the real Claude Code in one repository: whoever comes second waits, or is told. */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import { KiteClient } from "../../client/client.ts";
import { programs } from "../claude/programs.ts";
import { call, Moment, say } from "../claude/script.ts";
import { World } from "../claude/world.ts";
import type { Script, Turn } from "../clients/model.ts";
import { ClientSession, type SessionOptions } from "../clients/session.ts";
import { opencode } from "./opencode.ts";

/** A hold that lasts as long as its turn, however slow the machine is. */
const patient = { KITE_YIELD_MS: "45000" };

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  for (const name of ["a.ts", "b.ts"]) world.write(name, "one\ntwo\nthree\n");
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-C", world.repository, "-c", "user.name=t", "-c", "user.email=t@t", ...args]);
  git("add", "-A");
  git("commit", "-qm", "first");
  return () => world.dispose();
});

const read = (id: string, file: string) => call(id, "Read", { file_path: world.path(file) });
const claudeEdit = (id: string, file: string, from: string, to: string) =>
  call(id, "Edit", { file_path: world.path(file), old_string: from, new_string: to });

const calls = (id: string, name: string, input: Readonly<Record<string, unknown>>): Turn => ({
  calls: [{ id, name, input }],
});
const edit = (id: string, file: string, from: string, to: string): Turn => ({
  calls: [opencode.edit(id, world.path(file), from, to)],
});
const bash = (id: string, command: string): Turn => ({ calls: [opencode.line(id, command)] });
const start = (script: Script, options?: SessionOptions) =>
  ClientSession.start(opencode, world, "open", script, options);
const done: Turn = { say: "Done." };

/** The session came to its end, and its script was played to the end. */
async function endsWell(session: ClientSession): Promise<void> {
  expect(await session.ended).toBe(0);
  expect(session.model.surprises).toEqual([]);
}

test("an edit waits for the end of Claude Code's turn, and both changes are in the file", async () => {
  const watch = await world.up(patient);
  const [waits, begins] = [new Moment(), new Moment()];
  const claude = await world.session("claude", [
    read("toolu_1", "a.ts"),
    claudeEdit("toolu_2", "a.ts", "three", "THREE"),
    waits.before(say("Done.")),
  ]);
  await claude.asked(3);
  const open = await start([
    bash("call_1", "echo $KITE_SESSION"),
    begins.before(edit("call_2", "a.ts", "one", "ONE")),
    done,
  ]);
  await open.model.asked(2);
  const id = await open.id;
  expect(open.model.text).toMatch(/holds "a\.ts"/);
  expect(open.model.result("call_1")).toContain(id);
  expect(await world.kite("status")).toContain("opencode");
  begins.reached();
  await watch.queued(id);
  expect(world.read("a.ts")).toBe("one\ntwo\nTHREE\n");
  waits.reached();
  expect(await claude.ended).toBe(0);
  await endsWell(open);
  expect(world.read("a.ts")).toBe("ONE\ntwo\nTHREE\n");
  expect(await world.status()).toMatchObject({ refusals: [], locks: [] });
});

test("Claude Code waits for OpenCode's subagent, whose lock is its own", async () => {
  const watch = await world.up(patient);
  const waits = new Moment();
  const open = await start(
    [
      calls("call_1", "task", { description: "a part", prompt: "[[kid]] do it", subagent_type: "general" }),
      done,
    ],
    {
      agents: {
        kid: [edit("call_2", "a.ts", "one", "ONE"), waits.before<Turn>(done)],
      },
    },
  );
  await open.model.asked(2, "kid");
  const id = await open.id;
  const { locks } = await world.status();
  expect(locks.map(({ holder }) => [holder?.id, holder?.agent?.startsWith("ses_")])).toEqual([[id, true]]);
  const claude = await world.session("claude", [
    read("toolu_1", "a.ts"),
    claudeEdit("toolu_2", "a.ts", "three", "THREE"),
    say("Done."),
  ]);
  await watch.queued(claude.id);
  waits.reached();
  await endsWell(open);
  expect(await claude.ended).toBe(0);
  expect(world.read("a.ts")).toBe("ONE\ntwo\nTHREE\n");
});

test("an edit of a file that another agent keeps is refused with the reason, and the session goes on", async () => {
  await world.up();
  const keeper = await KiteClient.connect({ paths: world.paths });
  await keeper.request("register", { id: "keeper", cwd: world.repository, name: "keeper" });
  await keeper.request("file_lock", { id: "keeper", file: world.path("a.ts") });
  const open = await start([
    edit("call_1", "a.ts", "one", "ONE"),
    edit("call_2", "missing.ts", "one", "ONE"),
    edit("call_3", "b.ts", "one", "ONE"),
    done,
  ]);
  await endsWell(open);
  keeper.close();
  expect(open.model.result("call_1")).toMatch(/Kite: .*"a\.ts" is held by "keeper"/s);
  expect(world.read("a.ts")).toBe("one\ntwo\nthree\n");
  expect(world.read("b.ts")).toBe("ONE\ntwo\nthree\n");
  expect((await world.status()).locks.map(({ path }) => path)).toEqual([world.path("a.ts")]);
});

test("a write of the whole file loses none of Claude Code's lines: it is refused until the file is read again", async () => {
  await world.up();
  const [writes, ends] = [new Moment(), new Moment()];
  const whole = (id: string, content: string) =>
    calls(id, "write", { filePath: world.path("a.ts"), content });
  const reads = (id: string) => calls(id, "read", { filePath: world.path("a.ts") });
  const open = await start([
    reads("call_1"),
    writes.before(whole("call_2", "one\ntwo\nopen\n")),
    reads("call_3"),
    whole("call_4", "one\ntwo\nTHREE\nopen\n"),
    ends.before(done),
  ]);
  await open.model.asked(2);
  const claude = await world.session("claude", [
    read("toolu_1", "a.ts"),
    claudeEdit("toolu_2", "a.ts", "three", "THREE"),
    say("Done."),
  ]);
  expect(await claude.ended).toBe(0);
  writes.reached();
  await open.model.asked(5);
  expect(open.model.result("call_2")).toMatch(/^Kite: this write did not run: .*changed line 3 of "a\.ts"/s);
  expect(world.read("a.ts")).toBe("one\ntwo\nTHREE\nopen\n");
  ends.reached();
  await endsWell(open);
});

test("a write runs at once over what its agent has read, and Claude Code itself refuses its own over that", async () => {
  await world.up();
  const [reads, writes] = [new Moment(), new Moment()];
  const open = await start([
    bash("call_1", "true"),
    reads.before(calls("call_2", "read", { filePath: world.path("a.ts") })),
    calls("call_3", "write", { filePath: world.path("a.ts"), content: "one\ntwo\nTHREE\nopen\n" }),
    done,
  ]);
  await open.model.asked(2);
  const first = await world.session("first", [
    read("toolu_1", "a.ts"),
    claudeEdit("toolu_2", "a.ts", "three", "THREE"),
    say("Done."),
  ]);
  expect(await first.ended).toBe(0);
  const second = await world.session("second", [
    read("toolu_3", "a.ts"),
    writes.before(call("toolu_4", "Write", { file_path: world.path("a.ts"), content: "second\n" })),
    say("Done."),
  ]);
  await second.asked(2);
  reads.reached();
  await endsWell(open);
  expect(world.read("a.ts")).toBe("one\ntwo\nTHREE\nopen\n");
  writes.reached();
  expect(await second.ended).toBe(0);
  const text = expect.stringContaining("modified since read");
  expect(second.model.result("toolu_4")).toMatchObject({ isError: true, text });
  expect(world.read("a.ts")).toBe("one\ntwo\nTHREE\nopen\n");
});

test("a stash is stopped over Claude Code's uncommitted work", async () => {
  await world.up();
  const ends = new Moment();
  const claude = await world.session("claude", [
    read("toolu_1", "a.ts"),
    claudeEdit("toolu_2", "a.ts", "three", "THREE"),
    ends.before(say("Done.")),
  ]);
  await claude.asked(3);
  const open = await start([bash("call_1", "git stash"), bash("call_2", "git status --short"), done]);
  await endsWell(open);
  expect(open.model.result("call_1")).toMatch(/Kite.*a\.ts/s);
  expect(open.model.result("call_2")).toContain("M a.ts");
  expect(world.read("a.ts")).toBe("one\ntwo\nTHREE\n");
  ends.reached();
  expect(await claude.ended).toBe(0);
});

test("Kite's tools act for the session that calls them", async () => {
  await world.up();
  const ends = new Moment();
  const open = await start(
    [calls("call_1", "kite_kite_lock", { files: [world.path("a.ts")] }), ends.before(done)],
    { tools: [process.execPath, programs.kite, "mcp"] },
  );
  await open.model.asked(2);
  const { locks } = await world.status();
  expect(locks.map(({ path, holder }) => [path, holder?.id])).toEqual([[world.path("a.ts"), await open.id]]);
  ends.reached();
  await endsWell(open);
});

describe("OpenCode goes on working", () => {
  const works = async () => {
    const open = await start([
      edit("call_1", "a.ts", "one", "ONE"),
      bash("call_2", "git stash list; echo ran"),
      done,
    ]);
    await endsWell(open);
    expect(readFileSync(world.path("a.ts"), "utf8")).toBe("ONE\ntwo\nthree\n");
    expect(open.model.result("call_2")).toContain("ran");
  };

  test("where the daemon was killed", async () => {
    await world.up();
    await world.kill();
    await works();
  });

  test("where the daemon does not answer", async () => {
    await world.up();
    world.freeze();
    await works();
  });

  test("where Kite was removed, and its plugin was not", async () => {
    await world.kite("uninstall", "--project", world.repository);
    rmSync(world.paths.home, { recursive: true, force: true });
    await works();
  });
});
