/** A store that is not what its machines knew of it: a backup was put back, or the tables are gone for a while. */
import { afterAll, describe, expect, it } from "vitest";
import { withServer } from "../../journal/postgres-world.ts";
import { buildNode } from "./history.ts";
import type { Machine } from "./machine.ts";
import { project, SmallWorld, tasksIn, until } from "./small-world.ts";

const timeout = 120_000;

/** Waits until the machine has asked its store for something, and for something more. */
async function looked({ proxies }: Machine): Promise<void> {
  const passed = async () => proxies.reduce((sum, proxy) => sum + proxy.bytes, 0);
  for (let n = 0; n < 2; n += 1) {
    const before = await passed();
    await until(passed, now => now > before);
  }
}

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
      }
    });

    it("piece by piece, under machines that stay connected", { timeout }, async () => {
      const world = await make();
      const { database } = world;
      const [ash, elm] = await world.startAll("ash", "elm");
      await world.create(ash, "before 1", "before 2");
      const path = world.backup("pieces");
      await database.backUp(path);
      await world.create(elm, "after 1");
      expect(await world.settled(ash, elm)).toEqual([]);
      await database.drop();
      // They look meanwhile at tables that have no rows yet, or no indexes.
      const pieces = ["format", "nodes", "projects", "projects_id_seq", "rows", "steps"].map(table => [
        "-a",
        "-t",
        table,
      ]);
      for (const piece of [["--section=pre-data"], ...pieces, ["--section=post-data"]]) {
        await database.putBack(path, ...piece);
        await Promise.all([ash, elm].map(looked));
      }
      await Promise.all([ash, elm].map(machine => machine.reached()));
      expect(await world.settled(ash, elm)).toEqual([]);
      expect(tasksIn(await elm.dump(project))).toEqual(["before 1", "before 2"]);
    });

    it("and others wrote past the version that a machine knows before it looks again", {
      timeout,
    }, async () => {
      const world = await make();
      const [ash, elm] = await world.startAll("ash", "elm");
      await world.create(ash, "before");
      const path = world.backup("two");
      await world.database.backUp(path);
      await world.create(elm, "lost");
      expect(await world.settled(ash, elm)).toEqual([]);
      const { version } = await ash.dump(project);
      ash.isCutOff = true;
      await world.database.restore(path);
      elm.cut();
      await until(
        () => world.ask(elm, { what: "create", text: "past 1", dependsOn: [] }),
        ({ ok }) => ok,
      );
      // The version that it knows is there again, and it is another one.
      const texts = Array.from({ length: 8 }, (_, i) => `past ${i + 2}`);
      await world.create(elm, ...texts);
      expect((await world.database.contents(project)).version).toBeGreaterThan(version);
      ash.isCutOff = false;
      expect(await world.settled(ash, elm)).toEqual([]);
      expect(tasksIn(await ash.dump(project))).not.toContain("lost");
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
      expect(tasksIn(await ash.dump(project))).toEqual(["before"]);
    });
  });

  it("tables that are gone for a while are a store that is away", { timeout }, async () => {
    const world = await make();
    const [ash, elm] = await world.startAll("ash", "elm");
    await world.create(ash, "kept");
    expect(await world.settled(ash, elm)).toEqual([]);
    await world.database.sql("ALTER SCHEMA kite RENAME TO elsewhere");
    // Nobody asks this one for anything: it looks by itself.
    await looked(elm);
    const refused = await world.ask(ash, { what: "create", text: "lost", dependsOn: [] });
    expect(refused).toMatchObject({
      ok: false,
      code: expect.stringMatching(/^(?:store_away|outcome_unknown)$/),
    });
    // What it has can be read meanwhile, and its process goes on.
    await until(
      () => ash.dump(project),
      dump => tasksIn(dump).join() === "kept",
    );
    await world.database.sql("DROP SCHEMA IF EXISTS kite CASCADE");
    await world.database.sql("ALTER SCHEMA elsewhere RENAME TO kite");
    await until(
      () => world.ask(ash, { what: "create", text: "later", dependsOn: [] }),
      ({ ok }) => ok,
    );
    expect(await world.settled(ash, elm)).toEqual([]);
    expect(tasksIn(await elm.dump(project))).toEqual(["kept", "later"]);
    expect(ash.ends).toEqual([]);
  });
});
