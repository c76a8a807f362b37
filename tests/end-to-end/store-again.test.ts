/** A machine that left a store and shares its project again, over one real PostgreSQL. */
import { describe, expect, it } from "vitest";
import { withServer } from "../store/postgres-world.ts";
import type { Message } from "./daemon.ts";
import { database, Machine } from "./store-machine.ts";

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
        /^Changed here, and not taken over, since the store changed it too or refused it: #1 \([^)]*\), #2 \(description\)\. Look at them: /m,
      );
      // The trail is written a moment after the answer.
      const inTrail = /changed here, and not taken over: #1 \([^)]*\), #2 \(description\)/;
      await expect.poll(() => a.kite("log"), { timeout: 30_000 }).toMatch(inTrail);
      for (const machine of [a, b])
        await expect.poll(() => machine.tasks()).toEqual(["first", "second of b", "third"]);
      const { tasks } = (await b.json("task", "list")) as { tasks: Message[] };
      expect(tasks).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ description: "first", priority: "high" }),
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
      // The store has one of the three.
      expect(again).toContain("What moves to the store: 3 open tasks and 1 durable context key");
      expect(again).toContain("Shared as example.com/team/shop: 2 open tasks and 1 durable context key");
      const [, back = ""] = number.exec(again) ?? [];
      const said = `; the store did not have these any more, and has them again: #${back}, key port`;
      await expect.poll(() => a.kite("log"), { timeout: 30_000 }).toContain(said);
      await expect.poll(() => b.kite("task", "show", back)).toContain("goes");
      await expect.poll(() => b.kite("context", "get", "port")).toBe("5433\n");
      // Once: it is in the store now.
      expect(await a.kite("store", "share", "--yes")).not.toContain("brought them back");
    });
  });
});
