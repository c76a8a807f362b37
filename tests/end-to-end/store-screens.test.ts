/** What screens learn of a store and of other machines, over one real PostgreSQL: events, rows, the trail. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import type { StoreState } from "../../protocol/schemas/store.ts";
import { withServer } from "../store/postgres-world.ts";
import type { Client, Message } from "./daemon.ts";
import { database, Machine, wide } from "./store-machine.ts";

/** Every event of the daemon from now on. */
async function follower({ home }: Machine): Promise<Client> {
  const client = await home.connect();
  await client.ask({ type: "subscribe" });
  return client;
}

const isBobs = ({ name, session }: Message) => /^bob@/.test(String(name ?? session));

await withServer("what screens show of a store", server => {
  it("the daemon tells of the store and its machines as they change", { timeout: 240_000 }, async () => {
    const url = await database(server);
    const [a, b] = [await new Machine().start(), await new Machine().start()];
    await a.kite("store", "join", url, "--yes");
    const looker = await follower(a);
    await b.kite("store", "join", url, "--yes");
    const two = [{ is: "here" }, { is: "here" }];
    await looker.event("store_changed", ({ store }) => (store as StoreState).nodes.length === 2);

    const bob = await b.home.connect();
    await bob.ask({ type: "register", id: "bob", cwd: b.repo, name: "bob" });
    await looker.event("session_started", isBobs);
    // Its own machine's log has it once, although the store tells of it, too.
    const began = (await b.kite("log")).split("\n").filter(line => /\bbob\b.*session started/.test(line));
    expect(began).toHaveLength(1);
    await b.kite("role", "bob", "reviewer");
    expect(await looker.event("elsewhere_changed", isBobs)).toMatchObject({ project: a.repo });
    const rows = async () => (await looker.ask({ type: "query", target: "elsewhere" }))["rows"];
    // The first event may be that of the session's beginning.
    await expect
      .poll(rows, { timeout: 60_000 })
      .toMatchObject([{ id: expect.stringMatching(/^bob@/), role: "reviewer", state: "there" }]);
    expect(await a.kite("status")).toMatch(/^ +bob@\S+ +reviewer/m);

    await server.stop();
    onTestFinished(() => server.start().catch(() => {}));
    await looker.event("store_changed", ({ store }) => (store as StoreState).is === "away");
    const [store] = (await looker.ask({ type: "query", target: "store" }))["rows"] as Message[];
    expect(store).toMatchObject({ is: "away", since: expect.any(Number), nodes: two });
    await server.start();
    const back = await looker.event("store_changed", ({ store }) => (store as StoreState).is === "open");
    expect(back).toMatchObject({ store: { since: null, why: null } });
  });

  it("a move to the store and back is told as no end of tasks and values", { timeout: 240_000 }, async () => {
    const machine = await new Machine().start();
    const { home, repo } = machine;
    await home.command(["store", "join", await database(server), "--yes"], wide, home.work);
    await machine.kite("task", "add", "one");
    await machine.kite("context", "set", "port", "1");
    const looker = await follower(machine);
    await machine.kite("store", "share", "--yes");
    await machine.kite("task", "add", "behind the share");
    const person = await home.connectPerson();
    expect(await person.ask({ type: "store_leave" })).toMatchObject({ ok: true, tasks: 2, context: 1 });
    await machine.kite("task", "add", "behind the leave");
    const heard: string[] = [];
    while (!heard.includes("behind the leave")) {
      const event = await looker.next(({ type }) => type === "event");
      const { event: name, project, deleted, description } = event;
      expect([name, deleted]).not.toContainEqual(
        expect.stringMatching(/^task_(?:failed|removed|completed)$/),
      );
      expect([name, deleted]).not.toEqual(["context_changed", true]);
      if (project === repo) heard.push(String(description ?? name));
    }
    expect(heard).toContain("behind the share");
  });

  it("the trail tells what a person did and what became of the store", { timeout: 240_000 }, async () => {
    const machine = await new Machine().start();
    const log = async () => (await machine.kite("log")).split("\n").filter(line => / store/.test(line));
    await machine.kite("task", "add", "one");
    await machine.kite("store", "join", await database(server), "--yes");
    // The trail is written a moment after the answer.
    await expect.poll(async () => (await log()).join("\n")).toContain("store share");
    const [joined, opened, shared, ...more] = await log();
    expect(joined).toMatch(/ note .* store joined .*: this machine is in it as \S+, node [0-9a-f]{8}$/);
    expect(opened).toMatch(/ note .* store +\S+ is open$/);
    expect(shared).toMatch(
      / allow .* store share +shared as example\.com\/team\/shop; copied: tasks 1, context keys 0/,
    );
    expect(more).toEqual([]);

    await server.stop();
    onTestFinished(() => server.start().catch(() => {}));
    const last = async () => (await log()).at(-1);
    await expect
      .poll(last, { timeout: 60_000 })
      .toMatch(/ store +\S+ does not answer: .*; locks and edits go on without it$/);
    await server.start();
    await expect.poll(last, { timeout: 60_000 }).toMatch(/ store +\S+ is open again after /);
    await machine.kite("store", "rejoin", "--yes");
    expect((await log()).join("\n")).toMatch(/ allow .* store rejoin +this home has an id of its own/);
    await machine.kite("store", "leave", "--yes");
    expect(await last()).toMatch(
      / allow .* store leave +this machine left the store; back here: tasks 1, context keys 0; numbers that changed: #1 is #2 now$/,
    );
    // A stop is no change of the store.
    expect((await log()).filter(line => /not reached|does not answer/.test(line))).toHaveLength(1);
    expect(await machine.kite("stats")).toMatch(/store/);
    expect(await machine.kite("report")).not.toMatch(/store/i);
  });

  it("a machine is gone after the silence that it set, and not before", { timeout: 120_000 }, async () => {
    const url = await database(server);
    const [a, b] = [await new Machine().start(), await new Machine().start()];
    await b.kite("config", "set", "storeGoneMs", "10000");
    for (const machine of [a, b]) await machine.kite("store", "join", url, "--yes");
    const bob = await b.home.connect();
    await bob.ask({ type: "register", id: "bob", cwd: b.repo, name: "bob" });
    await b.kite("task", "add", "his");
    await bob.ask({ type: "task_claim", id: "bob" });
    const seen = async () => {
      const { nodes } = (await a.json("store")) as { nodes: { is: string }[] };
      const { tasks } = (await a.json("task", "list")) as { tasks: { status: string }[] };
      return [nodes.map(({ is }) => is), tasks.map(({ status }) => status)];
    };
    await expect.poll(seen).toEqual([["here", "here"], ["active"]]);
    // One that lives says so more often than it would by default, which is less often than that.
    const ends = Date.now() + 24_000;
    for (; Date.now() < ends; await delay(500)) expect(await seen()).toEqual([["here", "here"], ["active"]]);
    process.kill(Number(JSON.parse(readFileSync(b.home.paths.daemonFile, "utf8")).pid), "SIGKILL");
    await expect.poll(seen, { timeout: 60_000 }).toEqual([["here", "gone"], ["pending"]]);
    await expect.poll(() => a.kite("log")).toMatch(/ is gone, and its agents' claims are free$/m);
  });

  it("nothing is told and asked where no store is set", async () => {
    const machine = await new Machine().start();
    const looker = await follower(machine);
    expect(await looker.ask({ type: "query", target: "store" })).toEqual({ ok: true, rows: [] });
    expect(await looker.ask({ type: "query", target: "elsewhere" })).toEqual({ ok: true, rows: [] });
  });
});
