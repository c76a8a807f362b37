/** A machine that left a store and shares its project again, over one real PostgreSQL. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Connection } from "../../daemon/store/connection.ts";
import { withServer } from "../journal/postgres-world.ts";
import type { Message } from "./daemon.ts";
import { database, Machine, wide } from "./store-machine.ts";

await withServer("a machine that comes back to a store", server => {
  describe("a machine that left and shares again", () => {
    it("brings what changed there, and says what the store's version keeps out", async () => {
      const url = await database(server);
      const [a, b] = [await new Machine().start(), await new Machine().start()];
      for (const name of ["first", "second", "third"]) await a.kite("task", "add", name);
      await a.kite("store", "join", url, "--yes");
      await b.kite("store", "join", url, "--yes");
      await a.kite("store", "leave", "--yes");
      const { tasks: mine } = (await a.json("task", "list")) as { tasks: { id: string }[] };
      const [first = "", second = "", third = ""] = mine.map(({ id }) => id);
      await a.kite("task", "edit", first, "--description", "first of a");
      await a.kite("task", "edit", second, "--description", "second of a");
      await a.kite("task", "done", third, "well");
      await b.kite("task", "edit", first, "--priority", "high");
      await b.kite("task", "edit", second, "--description", "second of b");
      const again = await a.kite("store", "join", url, "--yes");
      expect(again).toMatch(
        /^Changed here, and not taken over, since the store changed it too or refused it: #2 \(description; yours is kept as task\/2\/description@\S+\)\. Look at them: /m,
      );
      // The trail is written a moment after the answer.
      const inTrail = /changed here, and not taken over: #2 \(description; kept as (task\/2\/\S+)\)/;
      await expect.poll(() => a.kite("log"), { timeout: 30_000 }).toMatch(inTrail);
      const [, key = ""] = inTrail.exec(await a.kite("log")) ?? [];
      for (const machine of [a, b])
        await expect.poll(() => machine.kite("context", "get", key)).toBe('"second of a"\n');
      for (const machine of [a, b])
        await expect.poll(() => machine.tasks()).toEqual(["first of a", "second of b", "third"]);
      const { tasks } = (await b.json("task", "list")) as { tasks: Message[] };
      expect(tasks).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ description: "first of a", priority: "high" }),
          expect.objectContaining({ description: "third", status: "done", result: "well" }),
        ]),
      );
    });

    it("brings back what the store lost meanwhile, and says what that is", async () => {
      const url = await database(server);
      const [a, b] = [await new Machine().start(), await new Machine().start()];
      for (const name of ["stays", "goes"]) await a.kite("task", "add", name);
      await a.kite("context", "set", "port", "5433");
      await a.kite("store", "join", url, "--yes");
      await b.kite("store", "join", url, "--yes");
      await a.kite("store", "leave", "--yes");
      await expect.poll(() => b.tasks()).toEqual(["stays", "goes"]);
      await b.kite("task", "cancel", "2", "not needed");
      await b.kite("task", "rm", "2");
      await b.kite("context", "rm", "port");
      await a.kite("task", "add", "new here");
      const again = await a.kite("store", "join", url, "--yes");
      const number =
        /^The store did not have these any more, and Kite brought them back: #(\d+), key port\. If /m;
      expect(again).toMatch(number);
      // The store has the other one: the question counts what the answer does.
      for (const where of ["What moves to the store", "Shared as example.com/team/shop"])
        expect(again).toContain(`${where}: 2 open tasks and 1 durable context key`);
      const [, back = ""] = number.exec(again) ?? [];
      const said = `; the store did not have these any more, and has them again: #${back}, key port`;
      await expect.poll(() => a.kite("log"), { timeout: 30_000 }).toContain(said);
      await expect.poll(() => b.kite("task", "show", back)).toContain("goes");
      await expect.poll(() => b.kite("context", "get", "port")).toBe("5433\n");
      // Once: it is in the store now.
      expect(await a.kite("store", "share", "--yes")).not.toContain("brought them back");
    });

    it("keeps each text that is left out once, also if its daemon is killed in between", {
      timeout: 240_000,
    }, async () => {
      const url = await database(server);
      const [a, b] = [await new Machine().start(), await new Machine().start()];
      const count = 150;
      const tasks = Array.from({ length: count }, (_, i) => ({ description: `task ${i}` }));
      const client = await a.home.connect();
      const create = { type: "task_create", project: a.repo, tasks };
      expect(await client.ask(create)).toMatchObject({ ok: true });
      for (const machine of [a, b]) await machine.kite("store", "join", url, "--yes");
      await a.kite("store", "leave", "--yes");
      await expect.poll(() => b.tasks()).toHaveLength(count);
      for (const [name, machine] of [
        ["a", a],
        ["b", b],
      ] as const) {
        const { tasks: known } = (await machine.json("task", "list")) as { tasks: { id: string }[] };
        const person = await machine.home.connectPerson();
        const place = { type: "task_update", project: machine.repo };
        for (const { id: task } of known)
          expect(await person.ask({ ...place, task, description: `${task} of ${name}` })).toMatchObject({
            ok: true,
          });
      }
      await a.home.command(["store", "join", url, "--yes"], wide, a.home.work);
      const person = await a.home.connectPerson();
      person.send({ type: "store_share", cwd: a.repo });
      const look = await Connection.open(
        { ...server.address("kite"), database: url.split("/").at(-1) ?? "" },
        10_000,
        30_000,
      );
      const kept = "SELECT count(*)::int4 FROM kite.entries WHERE command LIKE '%context_set%'";
      await expect
        .poll(async () => Number((await look.query(kept))[0]?.[0]), { interval: 1 })
        .toBeGreaterThan(5);
      process.kill(Number(JSON.parse(readFileSync(a.home.paths.daemonFile, "utf8")).pid), "SIGKILL");
      await person.ended;
      await look.end();
      await a.kite("up");
      // What was left goes by itself.
      await expect.poll(() => b.shared(), { timeout: 120_000 }).toEqual([count, count]);
      const list = await b.json("context", "list", "--prefix", "task/");
      const keys = (list["rows"] as { key: string }[]).map(({ key }) => key);
      expect(new Set(keys.map(key => key.replace(/@.*/, ""))).size).toBe(count);
      const [key = ""] = keys;
      expect(await b.kite("context", "get", key)).toMatch(/^"t-\S+ of a"\n$/);
      expect(await b.tasks()).toEqual(expect.arrayContaining([expect.stringMatching(/ of b$/)]));
    });
  });
});
