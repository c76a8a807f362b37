/** A store that is not what its machines knew of it: a backup was put back, or the tables are gone for a while. */
import { afterAll, describe, expect, it } from "vitest";
import { withServer } from "../../store/postgres-world.ts";
import {
  goneForAWhile,
  purged,
  quietForLong,
  restoredInPieces,
  writtenPast,
  writtenToTheSame,
} from "./cases.ts";
import { buildNode } from "./history.ts";
import { project, SmallWorld, tasksIn, until } from "./small-world.ts";

const timeout = 120_000;

await withServer("a store that went back", async (server, bin) => {
  const { program, remove } = await buildNode();
  afterAll(remove);
  const make = () => SmallWorld.make({ server, bin, program });

  describe("a backup is put back", { timeout }, () => {
    it.each([
      ["and all connections end", true],
      // An administrator need not end them: then no new connection says that anything happened.
      ["under machines that stay connected", false],
    ])("%s", async (_, isCut) => {
      const world = await make();
      const [ash, elm] = await world.startAll("ash", "elm");
      await world.create(ash, "before 1", "before 2");
      const path = world.backup("one");
      await world.database.backUp(path);
      await world.create(elm, "after 1", "after 2", "after 3");
      expect(await world.settled(ash, elm)).toEqual([]);
      await world.database.restore(path);
      if (isCut) for (const machine of [ash, elm]) machine.cut();
      const create = () => world.ask(ash, { what: "create", text: "on the restored one", dependsOn: [] });
      // What does not know yet that the tables came back refuses; it never writes on what is gone.
      await until(create, ({ ok }) => ok);
      expect(await world.settled(ash, elm)).toEqual([]);
      for (const machine of [ash, elm]) {
        const dump = await machine.dump(project);
        expect(tasksIn(dump)).toEqual(["before 1", "before 2", "on the restored one"]);
        expect(dump.reloads).toBeGreaterThan(0);
        expect(dump.gaps).toBeGreaterThan(0);
        expect(dump.wentBack).toBe(true);
      }
    });

    it("piece by piece, under machines that stay connected", { timeout }, async () => {
      await restoredInPieces(await make());
    });

    it("and others wrote to the version that a machine knows before it looks again", {
      timeout,
    }, async () => {
      await writtenToTheSame(await make());
    });

    it("and others wrote past that version", { timeout }, async () => {
      await writtenPast(await make());
    });

    it("and a machine begins with a copy of later than that", { timeout }, async () => {
      const world = await make();
      const [ash, elm] = await world.startAll("ash", "elm");
      await world.create(ash, "before");
      const path = world.backup("three");
      await world.database.backUp(path);
      await world.create(ash, "lost");
      await ash.stop();
      await world.database.restore(path);
      elm.cut();
      ash.up();
      await ash.reached();
      expect(await world.settled(ash, elm)).toEqual([]);
      const dump = await ash.dump(project);
      expect(tasksIn(dump)).toEqual(["before"]);
      expect(dump.wentBack).toBe(true);
    });
  });

  it("tables that are gone for a while are a store that is away", { timeout }, async () => {
    await goneForAWhile(await make());
  });

  it("a project in which nothing happened for long is not read anew", { timeout }, async () => {
    await quietForLong(await make());
  });

  it("a row that is gone, and forgotten by the store, is in no copy", { timeout }, async () => {
    await purged(await make());
  });
});
