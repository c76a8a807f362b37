import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { nameOfId } from "../session-name.ts";
import { atMostConflicts, quiet, ReplayWorld } from "./hook-replay.ts";

let world: ReplayWorld;

beforeEach(async () => {
  world = await ReplayWorld.make();
});

afterEach(() => world.remove());

describe("with the daemon", () => {
  test("the second session's edit waits for the first one's Stop and goes through", async () => {
    await world.home.start();
    const watch = await world.watch();
    const first = world.replay();
    const second = world.replay();

    await first.until("Stop");
    expect((await watch.locks()).map(l => [l.path, l.kind, l.holder?.id]).sort()).toEqual(
      ["a.txt", "b.txt", "n.ipynb"].map(f => [join(world.repo, f), "turn", first.id]),
    );

    let secondDone = false;
    const rest = second.toTheEnd().then(() => {
      secondDone = true;
    });
    await watch.queued(second.id);
    const waiting = (await watch.locks()).find(l => l.waiters.length > 0);
    expect(waiting).toMatchObject({ path: join(world.repo, "b.txt"), holder: { id: first.id } });
    expect(waiting?.waiters).toMatchObject([{ id: second.id, attached: true }]);
    const status = await world.run("status", "--json");
    expect(status).toContain(first.id);
    expect(status).toContain(second.id);
    expect(status).toContain(join(world.repo, "b.txt"));
    const sessions = await watch.sessions();
    expect(sessions.map(s => [s.id, s.status, s.project]).sort()).toEqual(
      [first.id, second.id].map(id => [id, "active", sessions[0]?.project]).sort(),
    );
    expect(secondDone).toBe(false);

    const [stop] = await first.next();
    expect(stop).toMatchObject({ event: "Stop", code: 0, stdout: "" });
    await rest;
    await first.toTheEnd();

    for (const ran of first.ran) atMostConflicts(ran);
    const [start, ...others] = second.ran;
    for (const ran of others) atMostConflicts(ran);
    const told = JSON.parse(start?.stdout ?? "").hookSpecificOutput;
    expect(start?.code).toBe(0);
    expect(told.hookEventName).toBe("SessionStart");
    expect(told.additionalContext).toMatch(new RegExp(`"${nameOfId(first.id)}", .*"a.txt"`));
    const waited = others.filter(r => !r.observes);
    expect(waited.map(r => [r.event, r.tool])).toEqual([
      ["UserPromptSubmit", undefined],
      ["PreToolUse", "Write"],
      ["PreToolUse", "Edit"],
      ["PreToolUse", "NotebookEdit"],
      ["PostToolUseFailure", "Bash"],
      ["Stop", undefined],
      ["SessionEnd", undefined],
    ]);
    for (const replay of [first, second]) {
      const { id } = replay;
      expect(readFileSync(replay.envFile(), "utf8")).toBe(
        `export KITE_SESSION='${id}'\nexport KITE_SOCKET='${world.paths.socket}'\n`,
      );
    }
    expect(await watch.locks()).toEqual([]);
    expect(await watch.sessions()).toEqual([]);
  });

  test("a file that changed meanwhile: an Edit is told, a Write is to read again and then goes through", async () => {
    await world.home.start();
    const watch = await world.watch();
    const [first, second, third] = [world.replay(), world.replay(), world.replay()];
    for (const session of [first, second, third]) await session.until("PreToolUse");
    await first.send(first.edit("Edit", "a.txt"));
    await first.send(first.edit("Write", "b.txt"));

    const edit = second.send(second.edit("Edit", "a.txt"));
    const write = third.send(third.edit("Write", "b.txt"));
    await Promise.all([watch.queued(second.id), watch.queued(third.id)]);
    // The file's stamp is taken when the wait begins; a hook that was answered after that has begun to wait.
    await world.run("status");
    writeFileSync(join(world.repo, "a.txt"), "ONE\ntwo\nthree\n");
    writeFileSync(join(world.repo, "b.txt"), "new\n");
    await first.until("Stop");
    await first.settled();
    await first.next();

    const [edited] = await edit;
    const [written] = await write;
    const name = nameOfId(first.id);
    expect(edited?.code).toBe(0);
    const context = JSON.parse(edited?.stdout ?? "").hookSpecificOutput;
    expect(context).not.toHaveProperty("permissionDecision");
    expect(context.additionalContext).toContain(`"${name}" changed line 2 of "a.txt".`);
    expect(written?.code).toBe(0);
    expect(JSON.parse(written?.stdout ?? "").hookSpecificOutput).toMatchObject({
      permissionDecision: "deny",
      permissionDecisionReason: expect.stringContaining(
        "read the file again, then write it. Kite keeps the lock for you.",
      ),
    });
    for (const ran of await third.send(third.edit("Write", "b.txt"))) quiet(ran);
  });

  test("the daemon restarted while an edit waits: it goes on waiting, and not past the holder", async () => {
    await world.home.start();
    let watch = await world.watch();
    const [first, second] = [world.replay(), world.replay()];
    for (const session of [first, second]) await session.until("PreToolUse");
    await first.send(first.edit("Edit", "a.txt"));
    const edit = second.send(second.edit("Edit", "a.txt"));
    const through = edit.then(ran => Promise.reject(new Error(`it went through: ${JSON.stringify(ran)}`)));
    through.catch(() => undefined);
    await watch.queued(second.id);
    watch.client.close();
    await world.run("down");
    await world.home.start();
    watch = await world.watch();
    await Promise.race([watch.attached(second.id), through]);
    await first.until("Stop");
    await first.next();
    for (const ran of await edit) quiet(ran);
    expect((await watch.locks()).map(l => l.holder?.id)).toEqual([second.id]);
  });

  test("a client that is killed lets go of what it holds", async () => {
    await world.home.start();
    const watch = await world.watch();
    const [first, second] = [world.replay(), world.replay()];
    for (const session of [first, second]) await session.until("PreToolUse");
    await first.send(first.edit("Edit", "a.txt"));
    const edit = second.send(second.edit("Edit", "a.txt"));
    await watch.queued(second.id);
    first.kill();
    await watch.ended(first.id);
    for (const ran of await edit) quiet(ran);
    expect((await watch.locks()).map(l => l.holder?.id)).toEqual([second.id]);
  });
});

test("with the daemon absent every hook exits 0; a session's first edit says so to the person, nothing else", async () => {
  // As after a clone that was moved away: nobody starts it either.
  rmSync(join(world.paths.bin, "start"));
  // Where nobody is to start one.
  world.env = { CI: "1" };
  const sessions = [world.replay(), world.replay()];
  await Promise.all(sessions.map(s => s.toTheEnd()));
  // Nothing else waits for the last of them: without a daemon it ends by itself, on a busy machine after the session's end.
  await Promise.all(sessions.map(s => s.wakingEnded()));
  for (const { ran } of sessions) {
    expect(ran).toHaveLength(14);
    const [first, ...others] = ran.filter(r => r.event === "PreToolUse");
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(first?.stdout ?? "")).toEqual({
      systemMessage: expect.stringContaining("edits in this session are not coordinated"),
    });
    expect(others).toHaveLength(2);
    for (const one of ran) if (one !== first) quiet(one);
  }
  expect(readdirSync(world.paths.home).sort()).toEqual([
    "bin",
    "installs.json",
    "servers.json",
    "unheard-ends",
    "unreached",
  ]);
});

test("uninstalled, nothing is started any more and nothing is left", async () => {
  expect(JSON.parse(await world.run("uninstall", "--all", "--json")).results).toEqual([
    { file: world.settings, result: "restored" },
  ]);
  expect(readdirSync(world.repo).sort()).toEqual([".git", "a.txt"]);
  expect(readdirSync(world.paths.home)).toEqual([]);
  expect(await world.run("uninstall", "--all")).toBe("nothing was installed\n");
});
