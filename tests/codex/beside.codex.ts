/** The real Codex beside the real Claude Code in one repository: whoever comes second waits, or is told. */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { KiteClient } from "../../client/client.ts";
import { programs } from "../claude/programs.ts";
import { call, Moment, say } from "../claude/script.ts";
import { World } from "../claude/world.ts";
import type { Call, Script, Turn } from "../clients/model.ts";
import { ClientSession, type SessionOptions } from "../clients/session.ts";
import { change, codex, patch as patchCall } from "./codex.ts";

/** A hold that lasts as long as its turn, however slow the machine is. */
const patient = { KITE_YIELD_MS: "45000" };

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  for (const name of ["a.ts", "b.ts", "c.ts"]) world.write(name, "one\ntwo\nthree\n");
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-C", world.repository, "-c", "user.name=t", "-c", "user.email=t@t", ...args]);
  git("add", "-A");
  git("commit", "-qm", "first");
  return () => world.dispose();
});

const read = (id: string, file: string) => call(id, "Read", { file_path: world.path(file) });
const edit = (id: string, file: string, from: string, to: string) =>
  call(id, "Edit", { file_path: world.path(file), old_string: from, new_string: to });
const patch = (id: string, ...lines: readonly string[]): Turn => ({ calls: [patchCall(id, ...lines)] });
const line = (id: string, command: string): Turn => ({ calls: [codex.line(id, command)] });
const start = (script: Script, options: SessionOptions = {}) =>
  ClientSession.start(codex, world, "codex", script, options);

/** The session came to its end, and its script was played to the end. */
async function endsWell(session: ClientSession): Promise<void> {
  expect(await session.ended).toBe(0);
  expect(session.model.surprises).toEqual([]);
}

describe("a file that both edit", () => {
  test("Claude Code waits for the end of Codex's turn, and both changes are in it", async () => {
    const watch = await world.up(patient);
    const [hasPatched, waits] = [new Moment(), new Moment()];
    const session = await start([
      patch("call_1", ...change("a.ts", "one", "ONE")),
      waits.before<Turn>({ say: "Done." }),
    ]);
    await session.model.asked(2);
    const claude = await world.session("claude", [
      read("toolu_1", "a.ts"),
      hasPatched.before(edit("toolu_2", "a.ts", "three", "THREE")),
      say("Done."),
    ]);
    await claude.asked(2);
    expect(claude.model.notes[0]).toMatch(/" \(codex\), .*holds "a\.ts"/);
    expect(await world.kite("status")).toContain("codex");
    hasPatched.reached();
    await watch.queued(claude.id);
    waits.reached();
    await endsWell(session);
    expect(await claude.ended).toBe(0);
    expect(claude.model.result("toolu_2")).toMatchObject({ isError: false });
    expect(world.read("a.ts")).toBe("ONE\ntwo\nTHREE\n");
    expect(await world.status()).toMatchObject({ refusals: [], locks: [] });
  });

  test("a patch over three files waits for the one that Claude Code writes, and gets all of them", async () => {
    const watch = await world.up(patient);
    const [waits, begins] = [new Moment(), new Moment()];
    const claude = await world.session("claude", [
      read("toolu_1", "b.ts"),
      edit("toolu_2", "b.ts", "three", "THREE"),
      waits.before(say("Done.")),
    ]);
    await claude.asked(3);
    const session = await start([
      begins.before(
        patch(
          "call_1",
          ...change("a.ts", "one", "ONE"),
          ...change("b.ts", "one", "ONE"),
          ...["*** Add File: new.ts", "+new"],
        ),
      ),
      { say: "Done." },
    ]);
    await session.model.asked(1);
    const id = await session.id;
    begins.reached();
    await watch.queued(id);
    // None of them meanwhile.
    const { locks } = await world.status();
    const held = locks.flatMap(({ path, holder }) => (holder === null ? [] : [[path, holder.id]]));
    expect(held).toEqual([[world.path("b.ts"), claude.id]]);
    expect(world.read("a.ts")).toBe("one\ntwo\nthree\n");
    waits.reached();
    expect(await claude.ended).toBe(0);
    await endsWell(session);
    expect(world.read("a.ts")).toBe("ONE\ntwo\nthree\n");
    expect(world.read("b.ts")).toBe("ONE\ntwo\nTHREE\n");
    expect(world.read("new.ts")).toBe("new\n");
    expect(session.model.text).toContain('active, holds "b.ts"');
  });
});

describe("a subagent of Codex", () => {
  const callOf = (id: string, name: string, input: Call["input"]): Turn => ({ calls: [{ id, name, input }] });
  const spawnKid = callOf("call_kid", "multi_agent_v1__spawn_agent", {
    ...{ message: "[[kid]] Do your part.", agent_type: "worker" },
  });
  /** The client tells the main agent of a subagent's end once: here, or with another turn. */
  const waitFor = (agent: string) => callOf("call_wait", "multi_agent_v1__wait_agent", { targets: [agent] });
  const isAgent = expect.stringMatching(/^[\da-f-]{36}$/);

  test("holds a file until its turn ends, and its own session waits for it", async () => {
    const watch = await world.up(patient);
    const [begins, waits, ends] = [new Moment(), new Moment(), new Moment()];
    let kid = "";
    const session = await start(
      [
        spawnKid,
        begins.before(patch("call_1", ...change("a.ts", "three", "THREE"))),
        ends.before(() => waitFor(kid)),
        { say: "Done." },
      ],
      {
        agents: {
          kid: [patch("call_2", ...change("a.ts", "one", "ONE")), waits.before<Turn>({ say: "Done." })],
        },
      },
    );
    await session.model.asked(2, "kid");
    const id = await session.id;
    const { locks } = await world.status();
    expect(locks).toMatchObject([{ path: world.path("a.ts"), holder: { id, agent: isAgent } }]);
    kid = locks[0]?.holder?.agent ?? "";
    begins.reached();
    await watch.queued(id);
    expect(world.read("a.ts")).toBe("ONE\ntwo\nthree\n");
    waits.reached();
    ends.reached();
    await endsWell(session);
    expect(world.read("a.ts")).toBe("ONE\ntwo\nTHREE\n");
    expect(await world.status()).toMatchObject({ refusals: [], locks: [] });
  });

  test("calls Kite's tools for itself", async () => {
    await world.up(patient);
    const [mainEnds, kidEnds] = [new Moment(), new Moment()];
    const lock = (id: string, file: string) =>
      callOf(id, "mcp__kite__kite_lock", { files: [world.path(file)] });
    let kid = "";
    const session = await start(
      [lock("call_1", "a.ts"), spawnKid, mainEnds.before(() => waitFor(kid)), { say: "Done." }],
      {
        // The client gives servers next to nothing of its environment.
        tools: ["/usr/bin/env", `KITE_HOME=${world.paths.home}`, process.execPath, programs.kite, "mcp"],
        agents: { kid: [lock("call_2", "b.ts"), kidEnds.before<Turn>({ say: "Done." })] },
      },
    );
    await session.model.asked(2, "kid");
    const id = await session.id;
    const locks = (await world.status()).locks.toSorted((a, b) => a.path.localeCompare(b.path));
    expect(locks).toMatchObject([
      { path: world.path("a.ts"), holder: { id, agent: null } },
      { path: world.path("b.ts"), holder: { id, agent: isAgent } },
    ]);
    kid = locks[1]?.holder?.agent ?? "";
    kidEnds.reached();
    mainEnds.reached();
    await endsWell(session);
  });
});

test("a patch of a file that another agent keeps is denied with the reason, and the session goes on", async () => {
  await world.up();
  const keeper = await KiteClient.connect({ paths: world.paths });
  await keeper.request("register", { id: "keeper", cwd: world.repository, name: "keeper" });
  await keeper.request("file_lock", { id: "keeper", file: world.path("a.ts") });
  const session = await start([
    patch("call_1", ...change("b.ts", "one", "ONE"), ...change("a.ts", "one", "ONE")),
    patch("call_2", ...change("c.ts", "one", "ONE")),
    { say: "Done." },
  ]);
  await endsWell(session);
  keeper.close();
  expect(session.model.result("call_1")).toMatch(
    /^Command blocked by PreToolUse hook: Kite: this patch did not run.*"a\.ts" is held by "keeper"/s,
  );
  expect(["a.ts", "b.ts"].map(name => world.read(name))).toEqual(Array(2).fill("one\ntwo\nthree\n"));
  expect(world.read("c.ts")).toBe("ONE\ntwo\nthree\n");
});

test("a stash by Codex is stopped over Claude Code's uncommitted work", async () => {
  await world.up();
  const ends = new Moment();
  const claude = await world.session("claude", [
    read("toolu_1", "a.ts"),
    edit("toolu_2", "a.ts", "three", "THREE"),
    ends.before(say("Done.")),
  ]);
  await claude.asked(3);
  const session = await start([
    line("call_1", "git stash"),
    line("call_2", "git status --short"),
    { say: "Done." },
  ]);
  await endsWell(session);
  expect(session.model.result("call_1")).toMatch(/blocked by PreToolUse hook: Kite.*a\.ts/s);
  expect(session.model.result("call_2")).toContain("M a.ts");
  expect(world.read("a.ts")).toBe("one\ntwo\nTHREE\n");
  ends.reached();
  expect(await claude.ended).toBe(0);
});

describe("Codex goes on working", () => {
  const works = async (options?: SessionOptions) => {
    const script: Script = [
      patch("call_1", ...change("a.ts", "one", "ONE")),
      line("call_2", "git stash list; echo ran"),
      { say: "Done." },
    ];
    const session = await start(script, options);
    await endsWell(session);
    expect(world.read("a.ts")).toBe("ONE\ntwo\nthree\n");
    expect(session.model.result("call_2")).toContain("ran");
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

  test("where it ends a hook that waits, by its own time limit", async () => {
    const watch = await world.up();
    const holder = await KiteClient.connect({ paths: world.paths });
    await holder.request("register", { id: "holder", cwd: world.repository });
    await holder.request("file_lock", { id: "holder", file: world.path("a.ts"), bind: true });
    await works({ hookMs: 2_000 });
    expect(watch.grants.filter(({ id }) => id !== "holder")).toEqual([]);
    holder.close();
  });

  test("where Kite was removed, and its entries were not", async () => {
    await world.kite("uninstall", "--project", world.repository);
    rmSync(join(world.paths.home, "bin"), { recursive: true, force: true });
    await works();
  });
});
