/** A machine that left a store and shares its project again, over one real PostgreSQL. */
import { describe, expect, it } from "vitest";
import { withServer } from "../journal/postgres-world.ts";
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
      expect(again).toContain(
        "Changed here, and not taken over, since the store changed it too or refused it: #2 (description).",
      );
      // The trail is written a moment after the answer.
      const inTrail = "changed here, and not taken over: #2 (description)";
      await expect.poll(() => a.kite("log"), { timeout: 30_000 }).toContain(inTrail);
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
  });
});
