/** A daemon that was killed while its store is away: what people and agents read then, and as of when. */
import { readFileSync, rmSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { withServer } from "../store/postgres-world.ts";
import type { Message } from "./daemon.ts";
import { database, Machine, wide } from "./store-machine.ts";

await withServer("a daemon killed while its store is away", server => {
  const killed = async (machine: Machine, before: () => void = () => {}) => {
    await server.stop();
    onTestFinished(() => server.start().catch(() => {}));
    process.kill(Number(JSON.parse(readFileSync(machine.home.paths.daemonFile, "utf8")).pid), "SIGKILL");
    before();
    await machine.kite("up");
    await expect
      .poll(() => machine.kite("status"), { timeout: 60_000 })
      .toMatch(/^store not reached since the daemon began \(/);
  };
  const says = async (machine: Machine, ...words: string[]) => {
    const { code, out, err } = await machine.home.command(words, wide, machine.repo);
    return { code, out, err };
  };

  it("shows what it knew shortly before, and says in each command as of when that is", async () => {
    const url = await database(server);
    const machine = await new Machine().start();
    await machine.kite("task", "add", "kept");
    await machine.kite("context", "set", "port", "5433");
    await machine.kite("store", "join", url, "--yes");
    // A running daemon writes it.
    await expect
      .poll(() => machine.copies.some(path => readFileSync(path, "utf8").includes("kept")), {
        timeout: 150_000,
        interval: 500,
      })
      .toBe(true);
    await killed(machine);
    expect(await machine.kite("status")).toMatch(
      /^store not reached .*: tasks and messages as of \d\d:\d\d;/,
    );
    const stale = /^kite: the shared store is away: .* as of \d\d:\d\d \(kite status\)\n$/m;
    for (const words of [
      ["task", "list"],
      ["task", "ready"],
      ["task", "show", "1"],
      ["explain", "1"],
    ]) {
      const { code, out, err } = await says(machine, ...words);
      expect([words, code, out, err]).toEqual([
        words,
        0,
        expect.stringContaining("kept"),
        expect.stringMatching(stale),
      ]);
    }
    for (const words of [
      ["context", "list"],
      ["context", "get", "port"],
      ["message", "inbox"],
    ])
      expect((await says(machine, ...words)).err).toMatch(stale);
    // What is not there was not there then.
    const { err } = await says(machine, "task", "show", "7");
    expect(err).toMatch(/no task #?7[\s\S]*as of \d\d:\d\d/);
    const json = await machine.json("task", "list");
    expect(json).toMatchObject({ tasks: [{ description: "kept" }] });
    expect(await machine.kite("store", "leave", "--away", "-n")).toMatch(
      /1 open task and 1 durable context key\.[\s\S]*this is what the daemon knew of it as of \d\d:\d\d\./,
    );
    const asked = await (await machine.home.connect()).ask({
      type: "task_get",
      task: "#1",
      project: machine.repo,
    });
    expect(asked).toMatchObject({ ok: true, storeAsOf: expect.any(Number) });
  }, 300_000);

  it("says no fact of a project of which nothing is known", async () => {
    const url = await database(server);
    const machine = await new Machine().start();
    await machine.kite("task", "add", "kept");
    await machine.kite("store", "join", url, "--yes");
    await killed(machine, () => {
      for (const path of machine.copies) rmSync(path);
    });
    expect(await machine.kite("status")).toContain("tasks and messages of shared projects are not known");
    const unknown = "so tasks, messages and context of this project are not known";
    const reads = [
      ["task", "list"],
      ["task", "ready"],
      ["task", "show", "1"],
      ["explain", "--task", "1"],
      ["context", "list"],
      ["context", "get", "port"],
      ["message", "inbox"],
    ];
    for (const words of reads) {
      const { code, out, err } = await says(machine, ...words);
      const text = `${out}${err}`.replace(/\s+/g, " ");
      expect([words, text.includes(unknown)]).toEqual([words, true]);
      expect(text).not.toMatch(/No tasks|No task|No messages|No context|It was removed|has no key|no task #/);
      if (words[0] !== "explain") expect([words, code]).toEqual([words, 1]);
    }
    expect(await machine.kite("store", "leave", "--away", "-n")).toContain("nothing is copied back");
    const alice = await machine.home.session("s1", {
      cwd: machine.repo,
      project: machine.repo,
      name: "alice",
    });
    const own = (await alice.ask({ type: "message_list", id: "s1" })) as Message;
    expect(own).toMatchObject({ ok: true, storeAsOf: null });
  }, 300_000);
});
