/** Who may use a store: one home of a node, programs of its format, and whoever is connected to a server that takes writes. */
import { afterAll, describe, expect, it } from "vitest";
import { withServer } from "../../store/postgres-world.ts";
import { guarded, headDamaged, writtenByHand } from "./cases.ts";
import { buildNode } from "./history.ts";
import { project, SmallWorld, tasksIn, until } from "./small-world.ts";

const timeout = 120_000;
const create = { what: "create", text: "one", dependsOn: [] } as const;

await withServer("who may use a store", async (server, bin) => {
  const { program, remove } = await buildNode();
  afterAll(remove);
  const make = () => SmallWorld.make({ server, bin, program });

  it("a home that was copied is refused while the first one is there", { timeout }, async () => {
    const world = await make();
    const [ash] = await world.startAll("ash");
    const copied = await world.start("ash", { binding: "a copy", folder: world.backup("copied") });
    const reply = await until(
      () => world.ask(copied, create),
      one => !one.ok && /home/.test(one.error),
    );
    expect(reply).toMatchObject({ ok: false, code: "node_twice" });
    expect((await world.ask(ash, create)).ok).toBe(true);
    expect(await world.settled(ash)).toEqual([]);
  });

  it("a step is refused by the store that is not as its machine knows it", { timeout }, async () => {
    await guarded(await make());
  });

  it("rows that somebody wrote by hand stop neither a machine nor a project", { timeout }, async () => {
    await writtenByHand(await make());
  });

  it("counters that nobody can read stop no other project", { timeout }, async () => {
    await headDamaged(await make());
  });

  describe("a store of a later format", { timeout }, () => {
    it("is read and not written by a program that has it open", async () => {
      const world = await make();
      const [ash, elm] = await world.startAll("ash", "elm");
      await world.create(ash, "before");
      expect(await world.settled(ash, elm)).toEqual([]);
      await world.database.sql("UPDATE kite.format SET number = number + 1");
      const { version } = await world.database.contents(project);
      for (const machine of [ash, elm]) {
        const reply = await world.ask(machine, create);
        expect(reply).toMatchObject({ ok: false, error: expect.stringContaining("update Kite") });
        expect(tasksIn(await machine.dump(project))).toEqual(["before"]);
      }
      expect((await world.database.contents(project)).version).toBe(version);
      await world.database.sql("UPDATE kite.format SET number = number - 1");
      await until(
        () => world.ask(ash, create),
        ({ ok }) => ok,
      );
      expect(await world.settled(ash, elm)).toEqual([]);
    });

    it("is refused by a program that opens it, until it fits", async () => {
      const world = await make();
      const [ash] = await world.startAll("ash");
      await ash.stop();
      await world.database.sql("UPDATE kite.format SET number = number + 1");
      const late = await world.start("late");
      const refused = await until(
        () => world.ask(late, create),
        one => !one.ok && one.error.includes("update Kite"),
      );
      expect(refused.ok).toBe(false);
      await world.database.sql("UPDATE kite.format SET number = number - 1");
      await late.reached();
      expect((await world.ask(late, create)).ok).toBe(true);
      expect(await world.settled(late)).toEqual([]);
    });
  });

  it("a server that takes no writes is a store that is away", { timeout }, async () => {
    const world = await make();
    const { database } = world;
    const [ash] = await world.startAll("ash");
    await world.create(ash, "before");
    await database.sql(`ALTER DATABASE ${database.name} SET default_transaction_read_only = on`);
    ash.cut();
    const reply = await until(
      () => world.ask(ash, create),
      one => !one.ok && /no writes|read.only/.test(one.error),
    );
    expect(reply).toMatchObject({ ok: false, code: "store_away" });
    expect(tasksIn(await ash.dump(project))).toEqual(["before"]);
    await database.writable(`ALTER DATABASE ${database.name} RESET default_transaction_read_only`);
    await ash.reached();
    expect((await world.ask(ash, create)).ok).toBe(true);
    expect(await world.settled(ash)).toEqual([]);
  });
});
